"""`toll bisect --all` by time, simulated: how often are all changes of a row found, and nobody else named?

    PYTHONPATH=python:tests/python/compare .venv/bin/python tests/python/stats/several_changes_trials.py [N]

prints the table "Several changes" of docs/bisect.md, by N searches a line, 100 if not given (half an hour).
Which part is searched next is decided by `tollbench.history.several_searches` itself; each search in a part
is one of `bisection_bars`: comparisons by `tollbench.compare`, looks by rounds of three, in one budget.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bisection_bars import BUDGET_S, LAUNCH_S, THRESHOLD, search_in
from bisection_trials import Launches, Row

from tollbench.history.bisecting import Search
from tollbench.history.bisections import BisectionOutcome, SearchEnd, SearchStep
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.commit_search import FoundRun, SearchSettings
from tollbench.history.several_searches import SeveralSearches
from tollbench.history.tree_builds import TreeBuilds
from tollbench.stats.bisection import ItemRun

CHANGE = 0.02  # what shares of noise and layout are of


class SeveralLaunches(Launches):
    """Of a row in which some commits, drawn at random, changed the time: logarithms."""

    def __init__(self, row: Row, rng: np.random.Generator, changes: Sequence[float]) -> None:
        places = rng.choice(np.arange(1, row.count + 1), len(changes), replace=False)
        self.changes = dict(zip(map(int, sorted(places)), changes, strict=True))
        super().__init__(row, rng)  # with levels, which it asks for

    def level(self, item: int) -> float:
        """The true one."""
        own = float(self._own[item]) if self._own is not None else 0.0
        return own + sum(change for place, change in self.changes.items() if item >= place)


class Simulated(Search):
    """One search in a part of the row, whose launches are drawn."""

    launches_of: SeveralLaunches

    def run(self) -> BisectionOutcome:
        """As `Search.run`."""
        row = self._commits.commits
        first, last = int(row[0].commit), int(row[-1].commit)
        ended = search_in(self.launches_of, first, last, self._settings.measuring_s, self._settings.seed)
        self._launches += ended.launches
        self._measured_s += ended.launches * LAUNCH_S
        self._changes = tuple(change for change in (ended.change,) if ended.differs)
        self._path = [_step(row[place - first]) for place in ended.looked_at]
        end, told = SearchEnd.UNDECIDED, "open"
        if ended.spent:
            told = str(self._time_spent())
        elif ended.found is not None:
            run = ItemRun(ended.found.first - first, ended.found.last - first, ended.found.probability)
            return self._outcome(SearchEnd.FOUND, [FoundRun(run, ended.change)])
        elif ended.alike:
            end = SearchEnd.NO_CHANGE
        return self._outcome(end, reason=told)


def _step(commit: Commit) -> SearchStep:
    return SearchStep(commit=commit.commit, rounds=1, changed=0.5, leading=commit.commit, probability=0.5)


@dataclass(frozen=True)
class Named:
    """What came of one search for several changes; places in the row."""

    true: tuple[int, ...]
    named: tuple[tuple[int, int], ...]  # the first and the last of commits that cannot be told apart
    complete: bool  # it said that there are no others
    launches: int

    @property
    def right(self) -> int:
        """Changes that were named."""
        return sum(any(first <= place <= last for first, last in self.named) for place in self.true)

    @property
    def wrong(self) -> int:
        """Commits that were named and changed nothing."""
        return sum(not any(first <= place <= last for place in self.true) for first, last in self.named)


class NoBuilds(TreeBuilds):
    """Nothing is built."""

    room_is_short = False

    def __init__(self) -> None:
        self.pinned = ()

    def keep_only(self, commits: Sequence[Commit]) -> None:
        """Nothing is kept."""


def searched(row: Row, changes: Sequence[float], seed: int) -> Named:
    """One `toll bisect --all`."""
    launches = SeveralLaunches(row, np.random.default_rng(seed), changes)
    commits = CommitRange(
        Path(), tuple(Commit(str(place), str(place), "", "") for place in range(row.count + 1)), False
    )
    own = type("Own", (Simulated,), {"launches_of": launches})
    settings = SearchSettings(threshold=THRESHOLD, measuring_s=BUDGET_S, seed=seed)
    outcome = SeveralSearches(commits, NoBuilds(), settings, search=own).run()
    named = [
        (int(suspects[0].commit), int(suspects[-1].commit))
        for part in outcome.searches
        if part.end is SearchEnd.FOUND
        for suspects in part.suspects
    ]
    complete = outcome.end in (SearchEnd.FOUND, SearchEnd.NO_CHANGE)
    return Named(tuple(launches.changes), tuple(named), complete, outcome.launches)


LINES = [
    (count, changes, layout, 0.5)
    for changes in ((0.02, 0.02), (0.03, 0.015), (0.04, -0.02), (0.02, 0.02, 0.02), (0.02,))
    for count in (1000, 100, 20)
    for layout in (0.0, 0.1, 0.25)
] + [(count, changes, 0.1, 1.0) for changes in ((0.02, 0.02), (0.02,)) for count in (1000, 100)]


def line(count: int, changes: Sequence[float], layout: float, noise: float, found: Sequence[Named]) -> str:
    """Of the table."""
    exact = sum(one.complete and one.right == len(one.true) and not one.wrong for one in found)
    short = sum(one.complete and one.right < len(one.true) for one in found)
    launches = np.percentile([one.launches for one in found], [50, 90])
    told = ", ".join(f"{100 * change:+g} %" for change in changes)
    return (
        f"| {told} | {count:,} | {layout:g} | {noise:g} | {exact} of {len(found)} |"
        f" {sum(one.right for one in found)} of {sum(len(one.true) for one in found)} |"
        f" {sum(one.wrong for one in found)} | {short} | {launches[0]:,.0f} ({launches[1]:,.0f}) |"
    )


def main(count: int) -> None:
    """Prints the table, a line as soon as it is known."""
    print(
        "| changes | commits | layout | noise | all found, no more | changes named | wrongly named"
        " | said to be all, and was not | launches |"
    )
    print(f"|{' ---: |' * 9}")
    for number, (commits, changes, layout, noise) in enumerate(LINES):
        row = Row(commits, noise, layout, change=CHANGE)
        found = [searched(row, changes, 100_000 * number + trial) for trial in range(count)]
        print(line(commits, changes, layout, noise, found), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
