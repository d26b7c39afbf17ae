"""Executables of which every launch runs all benchmarks and prints what it found: what such kinds share."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tollbench.compare.adapters.one_after_another import OneAfterAnother, Values
from tollbench.compare.subject import MeasuringOptions, Side
from tollbench.launching.answers import read_report
from tollbench.launching.command import Ended, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import breakable
from tollbench.launching.sandbox import writing_reports

Printed = Iterable[tuple[str, float]]  # a benchmark and its ns an operation, in the order of the output


class WholeOutput(OneAfterAnother):
    """A launch is the program as it is: which benchmarks run, and for how long, its own words say."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._said: dict[str, str] = {}  # benchmark -> why the last launch had no time for it
        self._without: dict[str, dict[int, str]] = {}  # benchmark -> side -> the same, of its first launch

    @abstractmethod
    def read(self, report: bytes) -> Printed:
        """What a launch found. Raises LaunchFailed where its report cannot be understood."""

    def told(self, _report: Path, _names: Sequence[str] | None) -> Sequence[str]:
        """Arguments for a launch; one that writes no file `report` reports on its standard output.

        `names` are the benchmarks that are wanted; None: all, as briefly as it can be.
        """
        return ()

    def offered(self, side: Side) -> Sequence[str]:
        """Runs everything once: nothing else tells what there is."""
        values, _ = self._launched(side, None, None)
        for name, reason in self._said.items():
            self._without.setdefault(name, {})[self.sides.index(side)] = reason
        return [name for name in values if re.search(self.options.pattern, name)]

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """All, as they run anyway."""
        return names

    def prepare(self, name: str) -> Mapping[int, str]:
        """Sides that name it, and have no time for it."""
        return self._without.get(name, {})

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """The program from start to end."""
        values, ended = self._launched(side, names, seed)
        return {name: values[name] for name in names if values.get(name)}, ended

    def told_besides(self, _side: Side) -> Sequence[str]:
        """What one side is told and another one would not know."""
        return ()

    def without_time(self, name: str, reason: str) -> None:
        """For `read`: a benchmark that the program names, and has no time for."""
        self._said[name] = reason

    def _launched(self, side: Side, names: Sequence[str] | None, seed: int | None) -> tuple[Values, Ended]:
        with working_folder(None) as folder, writing_reports(folder):
            file = folder / "report.json"
            ended = self.run(side, [*self.told(file, names), *self.told_besides(side)], seed)
            if ended.exit_code != 0 and not (self.options.any_exit_code and ended.exit_code > 0):
                raise LaunchFailed(ended.how())
            try:
                report = read_report(file)
            except FileNotFoundError:
                report = ended.whole_stdout()
            except OSError as error:
                raise LaunchFailed(f"wrote a report that cannot be read: {error.strerror}") from None
        self._said.clear()
        values: Values = {}
        with breakable():
            for name, ns in self.read(report):
                values.setdefault(name, []).append(ns)
        return {**{name: [] for name in self._said}, **values}, ended


def numbered(printed: Printed) -> Printed:
    """Tells benchmarks apart that have one name: the second in an output is "name (2)"."""
    pairs = list(printed)
    yield from zip(free_names([name for name, _ in pairs]), (ns for _, ns in pairs), strict=True)


def free_names(names: Sequence[str]) -> list[str]:
    """The same with "(2)" behind the second of a name, or the next number that no other one has."""
    taken, found = set(names), dict[str, int]()
    free: list[str] = []
    for name in names:
        if name not in found:
            found[name] = 1
            free.append(name)
            continue
        while (numbered := f"{name} ({found[name] + 1})") in taken:
            found[name] += 1
        taken.add(numbered)
        free.append(numbered)
    return free


def json_of(report: bytes, whose: str) -> Any:
    """A report as JSON. Raises LaunchFailed; `whose` it should have been stands in the reason."""
    try:
        return json.loads(report)
    except (ValueError, RecursionError):
        raise LaunchFailed(f"ended well, but reported nothing that {whose} would report") from None
