"""Criterion.rs executables as they are (target/release/deps/NAME-HASH): one launch runs one benchmark.

Criterion can be told how long to warm up and to measure, and not how many iterations to make: it finds that
by the clock. The times that are compared are those of its samples, each by its own iterations, from the file
that it writes for itself; its analysis is made as short as it can be. What a benchmark's group fixes in the
source (number of samples, times) holds, whatever a launch is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
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
_NUMBER = re.compile(r" #[0-9]+$")  # behind the title of the second benchmark of one
_CUT, _CUT_BYTES = "...", range(97, 101)  # behind a title of so many bytes, which a longer name begins with
_WITH_VALUE = (
    *("-c", "--color", "--colour", "-s", "--save-baseline", "-b", "--baseline", "--baseline-lenient"),
    *("--load-baseline", "--sample-size", "--warm-up-time", "--measurement-time", "--nresamples", "--format"),
    *("--noise-threshold", "--confidence-level", "--significance-level", "--profile-time", "--output-format"),
    "--plotting-backend",
)
_BENCH = "--bench"  # as `cargo bench` says it; without it nothing is timed


class Criterion(OneAfterAnother):
    """Existing executables, unchanged."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._exact: set[str] = set()  # labels of sides that know --exact
        self._patterns: set[str] = set()  # and of those whose filter is a regular expression
        self._times: dict[str, tuple[str, ...]] = {}  # side -> how it is told how long to measure
        self._titles: dict[str, frozenset[str]] = {}  # side -> as it lists them
        self._unfiltered: dict[str, tuple[str, ...]] = {}  # side -> its words without a filter of its own

    def offered(self, side: Side) -> Sequence[str]:
        """Names as --list prints them; a side is found out, too: what its filter is, and its clock."""
        names = self._listed(side)
        self._titles[side.label] = frozenset(names)
        if names and self._has_own_filter(side, names):
            self._unfiltered[side.label] = unfiltered(side.command)
            side = self._free(side)
        helped = self.run(side, [_BENCH, "--help"]).stdout
        if b"--exact" in helped:
            self._exact.add(side.label)
        elif names and names[0] in self._listed(side, _regular(names[0])):
            self._patterns.add(side.label)
        asked = self.run(side, [_BENCH, "--list", *_FRACTIONS])
        self._times[side.label] = _FRACTIONS if asked.exit_code == 0 else _WHOLE_SECONDS
        return [name for name in names if re.search(self.options.pattern, name)]

    def completed(self, offers: list[Sequence[str] | LaunchFailed]) -> list[Sequence[str] | LaunchFailed]:
        """A side of version 0.3.0 has all others measure whole seconds: warmer caches are no difference."""
        if _WHOLE_SECONDS in self._times.values():
            self._times = dict.fromkeys(self._times, _WHOLE_SECONDS)
        return super().completed(offers)

    def alone(self, side: Side, name: str) -> Sequence[str] | None:
        """Once, as a test; what is timed is the same code. Not beside a filter of the side's own."""
        if side.label in self._unfiltered:
            return None
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
            free = self._free(side)
            ended = self.run(replace(free, environment={**side.environment, **told}), arguments, seed)
            if ended.exit_code != 0:
                raise LaunchFailed(ended.how())
            values = _written(folder)
        if not values:
            raise LaunchFailed("ended well, but wrote no samples that Criterion would write")
        return {names[0]: values.get(names[0], [])}, ended

    def _has_own_filter(self, side: Side, names: Sequence[str]) -> bool:
        """Whether its own words hold one: beside it, Criterion takes no other."""
        if unfiltered(side.command) == side.command:
            return False
        if self.run(side, [_BENCH, "--list", "--", _regular(names[0])]).exit_code == 0:
            return False
        try:
            return set(names) <= set(self._listed(replace(side, command=unfiltered(side.command))))
        except LaunchFailed:  # then they are something else, of a script around it
            return False

    def _free(self, side: Side) -> Side:
        """Without its own filter, in whatever layout it is."""
        if side.label not in self._unfiltered:
            return side
        return replace(side, command=(side.command[0], *self._unfiltered[side.label][1:]))

    def _listed(self, side: Side, *arguments: str) -> list[str]:
        listed = self.run(side, [_BENCH, "--list", *arguments])
        if listed.exit_code != 0:
            raise LaunchFailed(f"does not list its benchmarks: it {listed.how()}")
        text = listed.whole_stdout().decode("utf-8", "replace")
        return [match[1] for match in _LISTED.finditer(text)]

    def _chosen(self, side: Side, name: str) -> list[str]:
        """Arguments that choose one benchmark, and with it those that its listed name does not tell apart.

        That is its title: cut, and with a number where another one's is the same, while a filter is held
        against the full name. In old versions those are chosen too whose names hold its name.
        """
        numbered = _NUMBER.search(name)
        number = numbered[0] if numbered and name[: numbered.start()] in self._titles[side.label] else ""
        title = name.removesuffix(number)
        if side.label not in self._exact | self._patterns:
            return ["--", title.removesuffix(_CUT) if _is_cut(title) else title]
        if side.label in self._exact and not number and not _is_cut(title):
            return ["--exact", "--", name]
        return ["--", _regular(title, number)]


def _is_cut(title: str) -> bool:
    return title.endswith(_CUT) and len(title.removesuffix(_CUT).encode()) in _CUT_BYTES


def _regular(title: str, number: str = "") -> str:
    """What names of this title match; `number` is of the title alone, or of the name itself."""
    if _is_cut(title):
        return f"^{_escaped(title.removesuffix(_CUT))}"
    return f"^{_escaped(title)}({_escaped(number)})?$" if number else f"^{_escaped(title)}$"


def unfiltered(command: Sequence[str]) -> tuple[str, ...]:
    """The words of an executable without those that are its filter."""
    kept = list(command[:1])
    words = iter(command[1:])
    for word in words:
        if word == "--":
            break
        if word.startswith("-") and word != "--exact":
            kept.append(word)
            if word in _WITH_VALUE:
                kept += [value for value in [next(words, None)] if value is not None]
    return tuple(kept)


def _escaped(name: str) -> str:
    """A name as a regular expression of Rust, which knows no escaped space."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", name)


def _written(folder: Path) -> dict[str, list[float]]:
    """Every benchmark of a launch with ns an iteration of each sample, by its title, which is listed.

    By its full name, too, where that is no other one's title, and no other one's full name.
    """
    by_title: dict[str, list[float]] = {}
    by_full_name: dict[str, list[float]] = {}
    twice: set[str] = set()
    for file in folder.rglob("new/sample.json"):
        try:
            sample: Any = json.loads(read_report(file))
            about: Any = json.loads(read_report(file.with_name("benchmark.json")))
            iterations, times = (sample["iters"], sample["times"]) if isinstance(sample, dict) else sample
            values = [time / count for time, count in zip(times, iterations, strict=True)]
            title, full_name = str(about["title"]), str(about["full_id"])
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise LaunchFailed(f"wrote samples that are not Criterion's: {shown(str(error), 100)}") from None
        if title in by_title:
            raise LaunchFailed(f"wrote samples of several benchmarks called {shown(title, 200)}")
        twice |= {full_name} & by_full_name.keys()
        by_title[title] = by_full_name[full_name] = values
    return {name: values for name, values in by_full_name.items() if name not in twice} | by_title


ADAPTER = Adapter(KIND, "a Criterion.rs executable", (b"is a Criterion.rs benchmark",), Criterion)
