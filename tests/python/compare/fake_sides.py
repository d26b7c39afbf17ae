"""Sides without processes: a clock that stands still until a launch takes its time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tollbench.compare import Round, Survey
from tollbench.compare.layout_visits import LayoutVisits
from tollbench.launching.failure import Interrupted, LaunchFailed


class FakeClock:
    def __init__(self) -> None:
        self.ns = 0
        self.slept_s = 0.0

    def now_ns(self) -> int:
        return self.ns

    def utc(self) -> str:
        return "2030-01-01T00:00:00+00:00"

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self.ns += round(1e9 * seconds)


def steady(ns: float, spread: float = 0.01) -> Callable[[random.Random], float]:
    """A benchmark that takes `ns`, give or take."""
    return lambda rng: ns * (1.0 + rng.gauss(0.0, spread))


@dataclass
class FakeSubject:
    """Benchmarks as functions, one a side; each round takes `round_s`."""

    clock: FakeClock
    benchmarks: Mapping[str, Sequence[Callable[[random.Random], float]]]
    labels: tuple[str, ...] = ("old", "new")
    round_s: float = 0.1
    together: int = 1
    breaks: Mapping[tuple[str, int], str] = field(default_factory=dict)  # benchmark, round -> reason
    breaking: int = -1  # the side that does
    interrupt_after: int = 10**9
    ended_by: Interrupted = field(default_factory=Interrupted)
    unusable: str = ""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_asked: Mapping[int, str] = field(default_factory=dict)  # sides that say nothing, with the reason
    first_gains: float = 0.0
    kind: str = "fake"
    rounds: list[tuple[str, ...]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)  # of each round
    layouts: int = 0
    layout_spread: float = 0.0  # standard deviation between layouts, log scale; each side has its own

    def __post_init__(self) -> None:
        self._visits = LayoutVisits(self.layouts)

    def survey(self) -> Survey:
        if self.unusable:
            raise LaunchFailed(self.unusable)
        return Survey(tuple(self.benchmarks), self.missing, self.not_asked)

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        return waiting[: self.together]

    def notes(self, name: str, side: int, against: int = 0) -> Sequence[str]:
        held = f" against {self.labels[against]}" if against else ""
        return (f"{name} was noted of {self.labels[side]}{held}",) if name == "noted" else ()

    def round(self, names: Sequence[str], seed: int) -> Round:
        if len(self.rounds) >= self.interrupt_after:
            raise self.ended_by
        self.rounds.append(tuple(names))
        self.seeds.append(seed)
        self.clock.ns += round(1e9 * self.round_s)
        rng = random.Random(seed)
        drawn = rng.sample(range(len(self.labels)), len(self.labels))
        found = Round(raw=[{"benchmarks": list(names)}])
        visit = self._visits.draw(names, rng)
        order = self._visits.order(names, visit, drawn)
        for name in names:
            if reason := self.breaks.get((name, len(self.rounds)), ""):
                found.failures[name] = {self.breaking % len(self.labels): reason}
            else:
                found.order[name] = order
                lacking = (*self.missing.get(name, ()), *(self.labels[side] for side in self.not_asked))
                found.values[name] = [
                    math.nan
                    if label in lacking
                    else side(rng) * (1.0 - self.first_gains * (index == order[0]))
                    for index, (side, label) in enumerate(
                        zip(self.benchmarks[name], self.labels, strict=False)
                    )
                ]
                if visit is not None:
                    found.layouts[name] = visit
                    self._visits.visited(name, visit, order)
                    found.values[name] = [
                        value * layout(visit, index, self.layout_spread)
                        for index, value in enumerate(found.values[name])
                    ]
        return found


def layout(number: int, side: int, spread: float) -> float:
    """What the place of its functions does to a side, as a factor; the same in every launch of a layout."""
    return math.exp(random.Random(f"{number}/{side}").gauss(0.0, spread))
