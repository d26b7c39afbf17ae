"""The bars of `toll bisect`, simulated from the first launch to the last.

    PYTHONPATH=python:tests/python/compare .venv/bin/python tests/python/stats/bisection_bars.py F [SECONDS]

makes the searches that the file F does not have yet, for so many seconds (all of them if not given), and
prints the table "From the first launch to the last" of docs/bisect.md of what it has. GOOD against BAD and
the commit against the one before it are comparisons by `tollbench.compare`, whose launches count; between
them is the search by rounds of three. A bisection without noise is never wrong: it compares as many commits
as halve the row, each with as many launches as GOOD against BAD took.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from bisection_trials import Launches, Row
from fake_sides import FakeClock, FakeSubject

from tollbench.compare import Comparison, ComparisonSettings, compare
from tollbench.compare.subject import Until
from tollbench.history.bisecting import FINAL_SHARE
from tollbench.history.commit_search import ENDS_SHARE, bounds
from tollbench.stats import equivalence
from tollbench.stats.bisection import Bisection, ItemRun

THRESHOLD = 0.01
BUDGET_S = 1200.0  # the default's
LAUNCH_S = 0.25


@dataclass(frozen=True)
class Searched:
    """What one search came to; `noiseless` are the launches of a bisection that never errs."""

    end: str  # right, wrong, undecided, none (no change)
    held: bool  # undecided: the smallest set holds the commit
    launches: int
    noiseless: int
    built: int


class _Rows:
    """Rounds of two commits of a row, as a subject of a comparison."""

    def __init__(self, launches: Launches, first: int, last: int, clock: FakeClock) -> None:
        drawn: list[float] = []

        def next_of(place: int) -> Callable[[object], float]:
            def value(_rng: object) -> float:
                if place == 0:
                    drawn[:] = launches.round(first, last)
                return math.exp(drawn[place])

            return value

        self.pairs: list[tuple[float, float]] = []
        self.subject = FakeSubject(clock, {"sum": (next_of(0), next_of(1))}, round_s=2 * LAUNCH_S)

    def compared(self, seconds: float, seed: int, until: Until) -> tuple[Comparison, int]:
        """The verdict, and the launches that it took."""
        settings = ComparisonSettings(
            threshold=THRESHOLD, budget_s=seconds, total_s=seconds, seed=seed, until=until
        )
        found = compare(self.subject, settings, clock=self.subject.clock, keep=self._keep)
        return found.comparisons[0], 2 * len(self.subject.rounds)

    def _keep(self, record: object) -> None:
        if isinstance(record, dict) and "values" in record:
            first, last = record["values"]["sum"]
            self.pairs.append((math.log(first), math.log(last)))


@dataclass(frozen=True)
class Ended:
    """How a search in a part of a row ended; places in the row."""

    change: Comparison  # between the ends of the part
    launches: int
    of_ends: int  # launches, of them
    found: ItemRun | None = None
    suspects: Sequence[ItemRun] = ()  # the smallest set, where it is undecided
    spent: bool = False  # undecided, as the time was spent
    looked_at: Sequence[int] = ()

    @property
    def differs(self) -> int:
        """1 where the ends differ beyond the threshold, -1 downwards, 0 where that is not certain."""
        return equivalence.beyond(*bounds(self.change), THRESHOLD)

    @property
    def alike(self) -> bool:
        """Whether the ends differ by no more than the threshold, for certain."""
        return equivalence.equivalent(*bounds(self.change), THRESHOLD)


def search_in(launches: Launches, low: int, high: int, budget_s: float, seed: int) -> Ended:
    """One search between two places, as `tollbench.history.bisecting` goes about it."""
    clock = FakeClock()
    ends = _Rows(launches, low, high, clock)
    change, of_ends = ends.compared(ENDS_SHARE * budget_s, seed, Until.THRESHOLD)
    ended = Ended(change, of_ends, of_ends)
    if not ended.differs:
        return ended
    search = Bisection(high - low)
    for pair in ends.pairs:
        search.pair(*pair)
    looks, left = 0, budget_s * (1.0 - FINAL_SHARE) - of_ends * LAUNCH_S
    while (found := search.answer()) is None:
        item = search.next_item()
        spent = 3 * looks * LAUNCH_S >= left
        if item is None or spent:
            return replace(
                ended,
                launches=of_ends + 3 * looks,
                suspects=[_moved(run, low) for run in search.smallest_set(0.95)],
                spent=spent,
                looked_at=_places(search, low),
            )
        for _ in range(search.looks_at_once()):
            first, value, last = launches.round(low, low + item, high)
            search.look(item, first, value, last)
            looks += 1
    run = _moved(found, low)
    seconds = max(budget_s - (of_ends + 3 * looks) * LAUNCH_S, LAUNCH_S)
    last_two = _Rows(launches, run.first - 1, run.last, clock)
    final, of_final = last_two.compared(seconds, seed + 1, Until.ESTIMATE)
    refuted = equivalence.equivalent(*bounds(final), THRESHOLD)
    refuted = refuted or equivalence.direction(*bounds(final)) == -ended.differs
    return replace(
        ended,
        launches=of_ends + 3 * looks + of_final,
        found=None if refuted else run,
        suspects=[run],
        looked_at=_places(search, low),
    )


def _moved(run: ItemRun, low: int) -> ItemRun:
    return run._replace(first=low + run.first, last=low + run.last)


def _places(search: Bisection, low: int) -> list[int]:
    """In the row."""
    return [low + item for item in search.looked_at]


def searched(row: Row, seed: int) -> Searched:
    """One search in a whole row."""
    launches = Launches(row, np.random.default_rng(seed))
    ended = search_in(launches, 0, row.count, BUDGET_S, seed)
    noiseless = math.ceil(math.log2(row.count)) * ended.of_ends
    built = len(ended.looked_at)
    if not ended.differs:
        return Searched("none" if ended.alike else "undecided", True, ended.of_ends, noiseless, 0)
    held = any(run.first <= launches.truth <= run.last for run in ended.suspects)
    end = "undecided" if ended.found is None else "right" if held else "wrong"
    return Searched(end, held, ended.launches, noiseless, built)


ROWS = [
    (2000, Row(1000, 0.5, 0.1)),
    (40, Row(100_000, 0.5, 0.1)),
    (200, Row(1000, 0.5, 0.25)),
    (2000, Row(1000, 0.5, 0.1, change=1e-9)),
]


def told(row: Row, found: Sequence[Searched], layout: float) -> str:
    """A line of the table."""
    ends = {end: sum(one.end == end for one in found) for end in ("right", "wrong", "undecided", "none")}
    open_ones = [one for one in found if one.end == "undecided"]
    launches = [one.launches for one in found]
    times = [one.launches / one.noiseless for one in found]
    middle = np.percentile(launches, [50, 90])
    return (
        f"| {row.count:,} | {layout:g} | {len(found):,} | {ends['right']:,} | {ends['wrong']} |"
        f" {ends['undecided']} ({sum(one.held for one in open_ones)}) | {ends['none']} |"
        f" {middle[0]:.0f} ({middle[1]:.0f}) | {np.median(times):.2f} ({np.percentile(times, 90):.2f}) |"
        f" {np.median([one.built for one in found]):.0f} |"
    )


def main(path: Path, seconds: float) -> None:
    """Adds to the file, a search a line, and prints the table."""
    found: dict[int, list[Searched]] = {number: [] for number in range(len(ROWS))}
    if path.exists():
        for text in path.read_text().splitlines():
            number, *told_of = json.loads(text)
            found[number].append(Searched(*told_of))
    began = time.monotonic()
    # The same share of each row, so that a table that is not finished has all of them.
    left = [
        (trial / many, number, trial)
        for number, (many, _) in enumerate(ROWS)
        for trial in range(len(found[number]), many)
    ]
    with path.open("a", buffering=1) as file:  # a line is there when its search is made
        for _, number, trial in sorted(left):
            if time.monotonic() - began > seconds:
                break
            _, row = ROWS[number]
            drawn = _unchanged(row) if row.change < THRESHOLD else row
            found[number].append(searched(drawn, 1_000_000 * number + 2 * trial))
            file.write(json.dumps([number, *astuple(found[number][-1])]) + "\n")
    print(
        "| commits | layout | searches | right | wrong | undecided (in the set) | no change | launches"
        " | times those without noise | built |"
    )
    print(f"|{' ---: |' * 10}")
    for number, (_, row) in enumerate(ROWS):
        if found[number]:
            print(told(row, found[number], row.layout))


def _unchanged(row: Row) -> Row:
    """The same noise and layout, in the unit of a change of 2 %, and no change."""
    times = 0.02 / row.change
    return Row(row.count, row.noise * times, row.layout * times, change=row.change)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else math.inf)
