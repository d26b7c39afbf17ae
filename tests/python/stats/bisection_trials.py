"""Searches for a change whose place is known, by looks that err as launches do.

`PYTHONPATH=python .venv/bin/python tests/python/stats/bisection_trials.py [TRIALS]` prints the tables of
docs/bisect.md, by 2,000 trials if not given.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tollbench.stats.bisection import Bisection, ItemRun

CHANGE = 0.02
MOST_LOOKS = 1500


@dataclass(frozen=True)
class Row:
    """What is searched: logarithms; `noise` is the scatter of one round's ratio of BAD to GOOD."""

    count: int  # of items behind the first
    noise: float  # as a share of the change
    layout: float  # of every item's own level, as a share of the change
    far_off: float = 0.03  # of launches, which take ten times the noise longer
    change: float = CHANGE
    broken: float = 0.0  # of items that cannot be looked at
    least: float = 0.0  # by which the ends differ with their own levels: without that nothing is searched
    most_looks: int = MOST_LOOKS

    @property
    def pairs(self) -> int:
        """Before the search: about what tells so large a change from half of it."""
        return max(12, round(60 * self.noise**2))


@dataclass(frozen=True)
class Trial:
    """What one search came to."""

    truth: int
    found: ItemRun | None  # None: undecided
    suspects: Sequence[ItemRun]  # the smallest set then
    looks: int
    built: int

    @property
    def right(self) -> bool:
        """Whether what was found holds the item that brought the change."""
        runs = self.suspects if self.found is None else [self.found]
        return any(run.first <= self.truth <= run.last for run in runs)


class Launches:
    """Draws rounds of the ends and an item."""

    def __init__(self, row: Row, rng: np.random.Generator) -> None:
        self._row, self._rng = row, rng
        self.truth = int(rng.integers(1, row.count + 1))
        self._own = rng.normal(scale=row.layout * row.change, size=row.count + 1) if row.layout else None
        while self.level(row.count) - self.level(0) < row.least and self._own is not None:
            self._own = rng.normal(scale=row.layout * row.change, size=row.count + 1)

    def level(self, item: int) -> float:
        """The true one."""
        own = float(self._own[item]) if self._own is not None else 0.0
        return (self._row.change if item >= self.truth else 0.0) + own

    def round(self, *items: int) -> list[float]:
        """One launch of each, with the drift that they share."""
        scale = self._row.noise * self._row.change / np.sqrt(2.0)
        drift = self._rng.normal(scale=0.05)
        far = 10.0 * scale * (self._rng.random(len(items)) < self._row.far_off)
        noise = self._rng.normal(scale=scale, size=len(items)) + far
        return [self.level(item) + drift + float(one) for item, one in zip(items, noise, strict=True)]


def searched(row: Row, rng: np.random.Generator, probability: float = 0.95) -> Trial:
    """One search from its pairs of the ends to its answer."""
    launches = Launches(row, rng)
    search = Bisection(row.count, probability)
    broken = rng.random(row.count + 1) < row.broken
    for _ in range(row.pairs):
        search.pair(*launches.round(0, row.count))
    looks = 0
    while (found := search.answer()) is None:
        item = search.next_item()
        if item is None or looks >= row.most_looks:
            suspects = search.smallest_set(probability)
            return Trial(launches.truth, None, suspects, looks, len(search.looked_at))
        if broken[item]:
            search.leave_out(item)
            continue
        for _ in range(search.looks_at_once()):
            first, value, last = launches.round(0, item, row.count)
            search.look(item, first, value, last)
            looks += 1
    return Trial(launches.truth, found, (), looks, len(search.looked_at))


def trials(row: Row, count: int, seed: int) -> list[Trial]:
    """So many searches."""
    rng = np.random.default_rng(seed)
    return [searched(row, rng) for _ in range(count)]


TABLE = [
    Row(count, noise, layout)
    for noise in (0.5, 2.0)
    for layout in (0.0, 0.1, 0.25)
    for count in (10, 100, 1000)
]
SCATTERED = [
    Row(count, 0.5, layout, least=0.0115, most_looks=300)
    for layout in (0.35, 0.5, 1.0, 0.0, 0.1, 0.25)  # the hardest first
    for count in (10, 100)
]
LONG = [Row(count, 0.5, 0.1) for count in (100, 1000, 10_000, 100_000)]


def line(row: Row, found: Sequence[Trial]) -> str:
    """Of a table."""
    decided = [trial for trial in found if trial.found is not None]
    right = sum(trial.right for trial in decided)
    held = sum(trial.right for trial in found if trial.found is None)
    looks = np.percentile([trial.looks for trial in found], [50, 90])
    built = np.median([trial.built for trial in found])
    return (
        f"| {row.count:,} | {row.noise:g} | {row.layout:g} | {len(decided)} of {len(found)} |"
        f" {right} of {len(decided)} | {held} of {len(found) - len(decided)} |"
        f" {looks[0]:.0f} ({looks[1]:.0f}) | {built:.0f} |"
    )


def told(rows: Iterable[Row], count: int) -> None:
    """Prints a table, a line as soon as it is known."""
    print("| commits | noise | layout | found | right | in the set, of undecided | rounds | built |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number, row in enumerate(rows):
        started = time.monotonic()
        print(line(row, trials(row, count, 100 + number)), flush=True)
        print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    told(SCATTERED, max(1, many * 3 // 50))
    told(LONG, max(1, many // 50))
    told(TABLE, -(-many // len(TABLE)))
