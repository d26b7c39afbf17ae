"""Criterion.rs executables as they are (target/release/deps/NAME-HASH): one launch runs one benchmark.

Criterion can be told how long to warm up and to measure, and not how many iterations to make: it finds that
by the clock. The times that are compared are those of its samples, each by its own iterations, from the file
that it writes for itself; its analysis is made as short as it can be. What a benchmark's group fixes in the
source (number of samples, times) holds, whatever a launch is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tollbench.compare.adapters.one_after_another import OneAfterAnother, Values
from tollbench.compare.subject import Adapter, MeasuringOptions, Side
from tollbench.launching.answers import read_report
from tollbench.launching.command import Ended, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.sandbox import writing_reports
from tollbench.text import shown

KIND = "criterion"
SAMPLES = 10  # it takes no fewer
_WARM_UP_S = 0.005
_MEASURE_S = 0.02
_WHOLE_SECONDS = ("--warm-up-time", "1", "--measurement-time", "1")  # all that version 0.3.0 understands
_FRACTIONS = ("--warm-up-time", f"{_WARM_UP_S:g}", "--measurement-time", f"{_MEASURE_S:g}")
_LISTED = re.compile(r"^(.+): bench(?:mark)?$", re.MULTILINE)
_BENCH = "--bench"  # as `cargo bench` says it; without it nothing is timed


class Criterion(OneAfterAnother):
    """Existing executables, unchanged."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._exact: set[str] = set()  # labels of sides that know --exact
        self._patterns: set[str] = set()  # and of those whose filter is a regular expression
        self._times: dict[str, tuple[str, ...]] = {}  # side -> how it is told how long to measure

    def offered(self, side: Side) -> Sequence[str]:
        """Names as --list prints them; a side is found out, too: what its filter is, and its clock."""
        names = self._listed(side)
        helped = self.run(side, [_BENCH, "--help"]).stdout
        if b"--exact" in helped:
            self._exact.add(side.label)
        elif names and names[0] in self._listed(side, f"^{_escaped(names[0])}$"):
            self._patterns.add(side.label)
        asked = self.run(side, [_BENCH, "--list", *_FRACTIONS])
        self._times[side.label] = _FRACTIONS if asked.exit_code == 0 else _WHOLE_SECONDS
        return [name for name in names if re.search(self.options.pattern, name)]

    def completed(self, offers: list[Sequence[str] | LaunchFailed]) -> list[Sequence[str] | LaunchFailed]:
        """A side of version 0.3.0 has all others measure whole seconds: warmer caches are no difference."""
        if _WHOLE_SECONDS in self._times.values():
            self._times = dict.fromkeys(self._times, _WHOLE_SECONDS)
        return super().completed(offers)

    def alone(self, side: Side, name: str) -> Sequence[str]:
        """Once, as a test; what is timed is the same code."""
        return [_BENCH, "--test", "--noplot", *self._chosen(side, name)]

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """One benchmark, ten samples."""
        arguments = [_BENCH, "--noplot", "--sample-size", str(SAMPLES), "--nresamples", "2"]
        arguments += [*self._times[side.label], *self._chosen(side, names[0])]
        with working_folder(None) as folder, writing_reports(folder):
            told = {
                "CRITERION_HOME": str(folder),
                "CARGO_TARGET_DIR": str(folder),
            }  # the latter: before version 0.3.4
            ended = self.run(replace(side, environment={**side.environment, **told}), arguments, seed)
            if ended.exit_code != 0:
                raise LaunchFailed(ended.how())
            values = dict(_written(folder))
        if not values:
            raise LaunchFailed("ended well, but wrote no samples that Criterion would write")
        return {names[0]: values.get(names[0], [])}, ended

    def _listed(self, side: Side, *arguments: str) -> list[str]:
        listed = self.run(side, [_BENCH, "--list", *arguments])
        if listed.exit_code != 0:
            raise LaunchFailed(f"does not list its benchmarks: it {listed.how()}")
        text = listed.whole_stdout().decode("utf-8", "replace")
        return [match[1] for match in _LISTED.finditer(text)]

    def _chosen(self, side: Side, name: str) -> list[str]:
        """Arguments that choose one benchmark; in old versions, those too whose names hold its name."""
        if side.label in self._exact:
            return ["--exact", "--", name]
        return ["--", f"^{_escaped(name)}$" if side.label in self._patterns else name]


def _escaped(name: str) -> str:
    """A name as a regular expression of Rust, which knows no escaped space."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", name)


def _written(folder: Path) -> Iterator[tuple[str, list[float]]]:
    """Every benchmark of a launch, by both of its names, with ns an iteration of each sample."""
    for file in folder.rglob("new/sample.json"):
        try:
            sample: Any = json.loads(read_report(file))
            about: Any = json.loads(read_report(file.with_name("benchmark.json")))
            iterations, times = (sample["iters"], sample["times"]) if isinstance(sample, dict) else sample
            values = [time / count for time, count in zip(times, iterations, strict=True)]
            names = {about["title"], about["full_id"]}
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise LaunchFailed(f"wrote samples that are not Criterion's: {shown(str(error), 100)}") from None
        for name in names:
            yield str(name), values


ADAPTER = Adapter(KIND, "a Criterion.rs executable", (b"is a Criterion.rs benchmark",), Criterion)
