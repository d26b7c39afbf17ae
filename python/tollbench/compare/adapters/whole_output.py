"""Executables of which every launch runs all benchmarks and prints what it found: what such kinds share."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from tollbench.compare.adapters.one_after_another import OneAfterAnother, Values
from tollbench.compare.subject import MeasuringOptions, Side
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed

Printed = Iterable[tuple[str, float]]  # a benchmark and its ns an operation, in the order of the output


class WholeOutput(OneAfterAnother):
    """A launch is the program as it is: which benchmarks run, and for how long, its own words say."""

    arguments: tuple[str, ...] = ()  # that every launch is told

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._said: dict[str, str] = {}  # benchmark -> why the last launch had no time for it
        self._without: dict[str, dict[int, str]] = {}  # benchmark -> side -> the same, of its first launch

    @abstractmethod
    def read(self, ended: Ended) -> Printed:
        """What a launch found. Raises LaunchFailed where its output cannot be understood."""

    def offered(self, side: Side) -> Sequence[str]:
        """Runs everything once: nothing else tells what there is."""
        values, _ = self._launched(side, None)
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
        values, ended = self._launched(side, seed)
        return {name: values[name] for name in names if values.get(name)}, ended

    def without_time(self, name: str, reason: str) -> None:
        """For `read`: a benchmark that the program names, and has no time for."""
        self._said[name] = reason

    def _launched(self, side: Side, seed: int | None) -> tuple[Values, Ended]:
        ended = self.run(side, self.arguments, seed)
        if ended.exit_code != 0 and not (self.options.any_exit_code and ended.exit_code > 0):
            raise LaunchFailed(ended.how())
        self._said.clear()
        values: Values = {name: [] for name in self._said}
        for name, ns in self.read(ended):
            values.setdefault(name, []).append(ns)
        return {**{name: [] for name in self._said}, **values}, ended


def numbered(printed: Printed) -> Printed:
    """Tells benchmarks apart that have one name: the second in an output is "name (2)"."""
    count: dict[str, int] = {}
    for name, ns in printed:
        count[name] = count.get(name, 0) + 1
        yield (name if count[name] == 1 else f"{name} ({count[name]})"), ns
