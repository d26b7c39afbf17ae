"""Counts of nanobench's benchmarks, by the runs that it plans with: of 1, 10, 100 ... iterations.

nanobench makes ten times as many iterations as before where a run took far too little time, and the fewest
there may be where it took far too much. A preloaded library answers for its clock: the first runs take no
time, all others days (tenfold_runs.hpp). Nobody is told how many iterations a run has, as an author may say
with how many they begin. But epochs whose times differ make nanobench say how many they had in the mean, and
that, of two launches of which one makes a run more, tells the iterations of both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction

from tollbench.compare.adapters.nanobench import Nanobench, TableRow
from tollbench.compare.common_length import CommonLength
from tollbench.compare.counters import MOST_RUNS, asked_of, asking_for
from tollbench.compare.planned_counter import PlannedLaunch, PlannedRuns
from tollbench.compare.subject import Side
from tollbench.counting.hardware import Event
from tollbench.counting.runs import TAKES_NOTHING, TOLD, Launched, MarkedRun, Told, launched
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed

_LONGEST_RUN_NS = 100_000_000  # without Valgrind, which takes some fifty times as long
_MARK = re.compile("\x1etoll ([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18})\x1e")
_RUN = "Tenfold"
_OF_A_LOOK = (f"{_RUN} ", "Other")
_ROUNDED = Fraction(51, 1000)  # a mean is printed with one digit behind the point
_BY_COMMAND = "; --kind command counts the whole run"
_ITS_CLOCK = (
    "looks at the clock or prints a table within its iterations, runs only once, or plans its runs as no"
    f" known nanobench does: what an iteration takes cannot be told{_BY_COMMAND}"
)
_UNSEEN = (
    "is not seen printing its table through C's stdout (after std::ios::sync_with_stdio(false) nobody sees"
    " that), or runs in another thread than the first, or is of nanobench before 4: its runs cannot be"
    f" told{_BY_COMMAND}"
)
_ITS_EPOCHS = (
    "does not say how many iterations an epoch has, as nanobench 4 does of two epochs and more: what one"
    f" takes cannot be told{_BY_COMMAND}"
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One benchmark in one launch."""

    section: int  # which of the program's benchmarks it is
    pairs: int  # how often it ran
    mean: Fraction | None  # iterations of an epoch
    runs: Sequence[Told]  # the first ones
    places: Sequence[int]  # of each among what the launch marked
    marked: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """How many iterations the runs of a benchmark have, as two launches agree."""

    iterations: Sequence[int]
    others: Fraction  # iterations of all epochs together, but for those of the last run
    epochs: int
    fixed: bool  # in the source: whatever the clock says

    def foretells(self, seen: _Seen) -> bool:
        """Whether a launch made these very runs."""
        count = len(self.iterations)
        if len(seen.runs) != count:
            return False
        if self.fixed:
            return seen.pairs == self.epochs and seen.mean == self.iterations[-1]
        if seen.mean is None or seen.pairs != self.epochs + count - 1:
            return False
        total = self.others + self.iterations[-1]
        return abs(seen.mean * self.epochs - total) <= 2 * _ROUNDED * self.epochs


@dataclass
class Tenfolds(PlannedRuns):
    """nanobench's benchmarks; a launch also runs those before the one that is counted, and briefly."""

    subject: Nanobench
    _length: CommonLength = field(default_factory=CommonLength)  # in runs
    _tried: dict[str, Mapping[str, _Seen] | str] = field(default_factory=dict)  # by side
    _plans: dict[tuple[str, str, int], _Plan] = field(default_factory=dict)  # by side, benchmark and runs

    def ended_well(self, ended: Ended) -> bool:
        """As the comparison judges a launch."""
        return ended.exit_code == 0 or (self.subject.options.any_exit_code and ended.exit_code > 0)

    def launch(
        self, side: Side, name: str, under: Sequence[str] = (), *, event: Event | None = None
    ) -> AbstractContextManager[Launched]:
        """As many runs as all sides make before one takes too long, of this benchmark alone."""
        runs = len(self._plan(side, name).iterations)
        alone = bool(under) or event is not None
        asked = f"{self._of_trial(side, name).section}:{runs}"
        return self._launched(side, asked, asking_for(event), under, alone=alone)

    def checked(self, side: Side, name: str, made: Launched) -> PlannedLaunch:
        """Raises LaunchFailed where the launch failed, or its runs are not what they are taken for."""
        plan, seen = self._plan(side, name), self._seen(made, name)
        if not plan.foretells(seen):
            raise LaunchFailed(_ITS_CLOCK)
        runs = [MarkedRun(count, told) for count, told in zip(plan.iterations, seen.runs, strict=True)]
        return PlannedLaunch(runs, seen.places, seen.marked)

    def _plan(self, side: Side, name: str) -> _Plan:
        """Raises LaunchFailed."""
        offering = [self.subject.sides[index] for index in self.subject.offering(name)]
        sides = {each.label: each for each in offering}
        runs = self._length.of(side.label, name, sides, lambda label: self._longest(sides[label], name))
        return self._planned(side, name, runs)

    def _longest(self, side: Side, name: str) -> int:
        """How many runs a side makes before one takes too long."""
        seen = self._of_trial(side, name)
        if not seen.runs or seen.pairs < 2:
            raise LaunchFailed(_ITS_CLOCK)
        return len(self._planned(side, name, len(seen.runs)).iterations)

    def _planned(self, side: Side, name: str, runs: int) -> _Plan:
        if (side.label, name, runs) not in self._plans:
            self._plans[side.label, name, runs] = self._agreed(side, name, runs)
        return self._plans[side.label, name, runs]

    def _agreed(self, side: Side, name: str, runs: int) -> _Plan:
        """What a launch of so many runs, or few more, and one of another run more tell."""
        fewer = max(1, runs - 1) if runs != 2 else 2  # of one run the first may be a warm-up
        before, after = self._once(side, name, fewer), self._once(side, name, fewer + 1)
        if before.pairs == after.pairs:
            return self._fixed(side, name)
        epochs = after.pairs - fewer
        if before.mean is None or after.mean is None:
            raise LaunchFailed(_ITS_EPOCHS)
        more = (after.mean - before.mean) * epochs
        first = round(more / (9 * 10 ** (fewer - 1)))
        iterations = [first * 10**at for at in range(fewer + 1)]
        unsure = 2 * _ROUNDED * epochs
        others = after.mean * epochs - iterations[-1]
        differ = abs(more - (iterations[-1] - iterations[-2])) > unsure
        too_few = others < (epochs - 1) - unsure
        # Else another number would do as well.
        precise = 2 * unsure < 9 * 10 ** (fewer - 1)
        if after.pairs != before.pairs + 1 or first < 1 or differ or too_few or not precise:
            raise LaunchFailed(_ITS_CLOCK)
        return _Plan(iterations[:runs], others, epochs, fixed=False)

    def _fixed(self, side: Side, name: str) -> _Plan:
        """Of an author who says how many iterations an epoch has: no run makes nanobench want another."""
        two, three = self._once(side, name, 2), self._once(side, name, 3)
        if two.mean is None:
            raise LaunchFailed(_ITS_EPOCHS)
        alike = two.pairs == three.pairs and three.mean in (None, two.mean)
        if not alike or two.mean.denominator != 1 or len(two.runs) != 2:
            raise LaunchFailed(_ITS_CLOCK)
        return _Plan([int(two.mean)] * 2, Fraction(0), two.pairs, fixed=True)

    def _once(self, side: Side, name: str, runs: int) -> _Seen:
        section = self._of_trial(side, name).section
        with self._launched(side, f"{section}:{runs}", {}) as made:
            return self._seen(made, name)

    def _of_trial(self, side: Side, name: str) -> _Seen:
        """In one launch of a side, of all its benchmarks."""
        if side.label not in self._tried:
            try:
                variables = {"TOLL_COUNTS_NEXT_NS": str(_LONGEST_RUN_NS)}
                with self._launched(side, f":{MOST_RUNS}", variables) as made:
                    self._tried[side.label] = self._all_seen(made)
            except LaunchFailed as failure:
                self._tried[side.label] = failure.reason
        tried = self._tried[side.label]
        if isinstance(tried, str):
            raise LaunchFailed(tried)
        if name not in tried:
            raise LaunchFailed(_UNSEEN)
        return tried[name]

    def _seen(self, made: Launched, name: str) -> _Seen:
        found = self._all_seen(made)
        if name not in found:
            raise LaunchFailed(f"gave no result for {name} in this launch")
        return found[name]

    def _all_seen(self, made: Launched) -> dict[str, _Seen]:
        """By name what ran before each row of the tables. Raises LaunchFailed where the launch failed."""
        if not self.ended_well(made.ended):
            raise LaunchFailed(made.ended.how())
        if not list(made.scratch.glob(f"{TOLD}.*")):
            raise LaunchFailed(TAKES_NOTHING)
        marks = [told for told in made.told() if told.text.startswith(_OF_A_LOOK)]
        places: dict[str, list[int]] = {}
        for at, told in enumerate(marks):
            places.setdefault(told.text.rpartition(" ")[0], []).append(at)
        found = {}
        for row, section, group, pairs in self._marked(made.ended.whole_stdout().decode("utf-8", "replace")):
            mine = places.get(f"{_RUN} {section} {group}", [])
            runs = [marks[at] for at in mine]
            found[row.name] = _Seen(section, pairs, row.iterations, runs, mine, len(marks))
        return found

    def _marked(self, output: str) -> Iterator[tuple[TableRow, int, int, int]]:
        """Rows behind a mark of their own: which benchmark it is, which of its pairs of looks, how many."""
        pieces = _MARK.split(output)
        begins, ends = [], 0
        for at in range(0, len(pieces) - 1, 4):
            ends += len((pieces[at] + ".").splitlines()) - 1
            begins.append(ends)
        begin = 0
        for row in self.subject.rows("".join(pieces[::4]).splitlines()):
            at = bisect_right(begins, row.line) - 1
            if at >= 0 and begins[at] >= begin:
                section, group, pairs = map(int, pieces[4 * at + 1 : 4 * at + 4])
                yield row, section, group, pairs
            begin = row.line + 1

    def _launched(
        self,
        side: Side,
        plan: str,
        variables: Mapping[str, str],
        under: Sequence[str] = (),
        *,
        alone: bool = False,
    ) -> AbstractContextManager[Launched]:
        libraries = [self.preloaded.marks] if alone else [self.preloaded.allocations, self.preloaded.marks]
        planned = {"TOLL_COUNTS_TENFOLD": plan, "NANOBENCH_SUPPRESS_WARNINGS": "0", **variables}
        return launched(asked_of(self.subject, side), libraries, planned, under, named_alike=True)
