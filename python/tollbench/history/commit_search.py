"""What every search among commits does, however it looks at one: builds, two of them compared, an outcome.

`bisecting` looks by rounds of launches, `counted_search` by counts.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Subject,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters import AUTO
from tollbench.compare.adapters.read_output import KIND as READ
from tollbench.compare.subject import Keep, LookAtCode, Until
from tollbench.compare.verdicts import Lacking
from tollbench.errors import TollError
from tollbench.history.bisections import (
    Between,
    BisectionOutcome,
    Bisections,
    FoundChange,
    SearchEnd,
    SearchStep,
)
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.kept_search import ENDS, KeptSearch, launches_of
from tollbench.history.replaying import ForwardClock, Replayed
from tollbench.history.same_code import SameCode
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.failure import LaunchFailed, interruption
from tollbench.launching.meanwhile import Meanwhile
from tollbench.numbers import difference
from tollbench.stats import equivalence
from tollbench.stats.bisection import ItemRun
from tollbench.text import enumerated

ENDS_SHARE = 0.4  # the most of the time that GOOD against BAD may take
_BUDGETS = ("--budget", "--total-budget")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How commits are searched; seconds, shares (0.01 is 1 %)."""

    threshold: float = 0.01
    probability: float = 0.95
    measuring_s: float = 1200.0  # the most for launches
    total_s: float = math.inf  # the most for everything, builds included
    seed: int = 1
    kind: str = AUTO
    measuring: MeasuringOptions = field(default_factory=lambda: MeasuringOptions(1200.0))
    every: bool = False  # by counts: several changes are looked for

    def check(self) -> None:
        """Raises TollError for numbers that no search can be made with."""
        if not 0.5 <= self.probability <= 0.9999:
            raise TollError(
                f"--probability {self.probability} is not between 0.5 and 0.9999", "write for example 0.95"
            )
        self._settings(self.measuring_s).check()

    def _settings(self, seconds: float) -> ComparisonSettings:
        return ComparisonSettings(threshold=self.threshold, budget_s=seconds, total_s=seconds, seed=self.seed)

    def comparison(self, seconds: float) -> ComparisonSettings:
        """Of two commits, in so much time."""
        return self._settings(max(seconds, 0.001))


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """Where the search stands, for a progress bar."""

    spent_s: float
    budget_s: float
    told: str


Hear = Callable[[SearchProgress], None]


class Undecided(Exception):
    """The search has to end without an answer, for this reason."""


class TimeSpent(Undecided):
    """A larger budget would go on: that of `option`."""

    def __init__(self, option: str) -> None:
        super().__init__(f"the time is spent: a larger {option} narrows it")

    @classmethod
    def of(cls, left_s: tuple[float, float]) -> TimeSpent:
        """For what is left of `--budget` and of `--total-budget`: that which has less."""
        return cls(_BUDGETS[left_s.index(min(left_s))])


class Refuted(Undecided):
    """What the posterior says was contradicted at the end: it names nobody any more."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """What brought a change, and how large it is; `probability` stands in the run."""

    run: ItemRun
    change: Comparison
    known: bool = True  # False: it is open in which of these commits, and no probability is known


class CommitSearch:
    """One `toll bisect` from its ends to its answer. Prints nothing."""

    def __init__(
        self,
        commits: CommitRange,
        builds: TreeBuilds,
        settings: SearchSettings,
        *,
        clock: Clock | None = None,
        keep: Keep = lambda _record: None,
        hear: Hear = lambda _progress: None,
        meanwhile: Meanwhile | None = None,
        before: KeptSearch | None = None,
        same_code: SameCode | None = None,
        only: str = "",
    ) -> None:
        """`only`: the one benchmark that is searched, of a row that is part of another; "": any."""
        settings.check()
        self._only = only
        self._listed = commits.last
        self._commits = commits.without_repeats()
        self._places = {commit.commit: place for place, commit in enumerate(self._commits.commits)}
        self._builds = builds
        self._settings = settings
        self._clock = ForwardClock(clock or SystemClock())
        self._keep_record = keep
        self._hear = hear
        self._meanwhile = meanwhile or Meanwhile()
        self._before = before or KeptSearch()
        self._same_code = same_code
        self._random = random.Random(settings.seed)
        self._started_ns = self._clock.now_ns()
        self._measured_s = 0.0  # of launches
        self._launches = self._before.launches
        self._unbuilt = 0  # commits that did not build
        self._builds_doubted = False  # one did not build since GOOD was built last
        self._path: list[SearchStep] = []
        self._changes: tuple[Comparison, ...] = ()
        self._lacking: tuple[Lacking, ...] = ()

    def run(self) -> BisectionOutcome:
        """All of it. Raises TollError where an end cannot be built or measured.

        And Interrupted where somebody asks to stop before it is known whether there is a change.
        """
        raise NotImplementedError

    @property
    def budget_s(self) -> float:
        """What it was given for launches."""
        return self._settings.measuring_s

    @property
    def scarce(self) -> str:
        """The option whose time has less left."""
        left = self._left()
        return _BUDGETS[left.index(min(left))]

    @property
    def measured_s(self) -> float:
        """What launches took, those of earlier starts as well."""
        return self._measured_s

    @property
    def seconds(self) -> float:
        """Since the first start."""
        return max(self._seconds(), self._before.seconds)

    @property
    def launches(self) -> int:
        """Of all programs, in all starts."""
        return self._launches

    @property
    def _name(self) -> str:
        return self._changes[0].benchmark

    def _keep(self, record: Mapping[str, Any]) -> None:
        self._keep_record({**record, "at_s": round(self._seconds(), 3)})

    def _place_of(self, commit: str, *, of_end: bool = False) -> int:
        """Of a commit in the file of an earlier start. Raises TollError where it is none to look at."""
        place = self._places.get(commit, -1)
        if not (0 <= place <= self._commits.last if of_end else 0 < place < self._commits.last):
            raise TollError(
                f"the file has launches of {commit[:10]}, which is no commit between GOOD and BAD",
                "begin anew, without --resume",
            )
        return place

    def _made_from(self, first: int, last: int) -> list[int]:
        """Places of what a commit was made from: of the one before it, where no branches were merged.

        A step of the row from one branch to another one is no commit's. Raises Undecided for several commits
        among which there is such a step.
        """
        parents = [
            [self._places[one] for one in commit.parents if one in self._places] or [place - 1]
            for place, commit in enumerate(self._commits.commits[first : last + 1], first)
        ]
        if first < last and any(of != [place - 1] for place, of in enumerate(parents, first)):
            raise Undecided(
                "commits of several branches, one of which it may be, stand here one behind the other:"
                " --first-parent searches without them"
            )
        return parents[0] if first == last else [first - 1]

    def _not_by_merging(self, place: int, parent: int) -> Refuted:
        """For a commit that does not differ from one that it was made from."""
        commit, other = (self._commits.commits[one] for one in (place, parent))
        good = self._commits.commits[0].revision.label
        return Refuted(
            f"the search led to {commit.short}, but it was made from {other.short}, which does not differ"
            " from it in the same way: branches stand one behind the other in the row; search that with the"
            f" change: toll bisect {good} {other.short}"
        )

    def stopped(self, end: SearchEnd, reason: str, no_room: str = "") -> BisectionOutcome:
        """What is known where something ended it from outside; --resume goes on."""
        return replace(self._outcome(end, reason=reason), goes_on=True, no_room=no_room)

    # Two commits against each other.

    def _end_builds(self) -> list[WrittenSide]:
        """GOOD and BAD. Raises TollError where one does not build."""
        try:
            return [self._builds.of(self._commits.commits[place]) for place in (0, -1)]
        except LaunchFailed as failure:
            raise TollError(
                failure.reason, "GOOD and BAD have to build: name others, or mend --build"
            ) from None

    def _compared(
        self,
        sides: Sequence[WrittenSide],
        of: str,
        told: str,
        share: float,
        keep: Keep | None = None,
        until: Until = Until.ESTIMATE,
        **more: Any,
    ) -> Comparisons:
        """Two builds, in a share of the time that is left; what an earlier start saw of them comes first."""
        subject = Replayed(self._subject(sides), self._before.rounds.pop(of, deque()), self._clock)
        self._keep({"begin": of})  # also of one that is known: new rounds of it stand below

        def keep_new(record: Mapping[str, Any]) -> None:
            if keep is not None:
                keep(record)
            if not subject.again:
                self._kept(record)

        before_s = self._seconds()
        found = compare(
            subject,
            replace(self._settings.comparison(share * self._left_s()), until=until),
            clock=self._clock,
            keep=keep_new,
            on_step=lambda at: self._tell(f"{told}  {at.benchmark}", at.elapsed_s),
            meanwhile=self._meanwhile,
            **more,
        )
        self._measured_s += self._seconds() - before_s
        if found.interrupted:
            raise interruption(found.no_room)
        return found

    def _compare_ends(
        self,
        sides: Sequence[WrittenSide],
        keep: Keep | None = None,
        look_at_code: LookAtCode | None = None,
    ) -> tuple[tuple[Comparison, ...], str]:
        """Benchmarks that changed beyond the threshold, the largest certain change first; else what is open.

        Raises TollError where nothing could be compared, Interrupted.
        """
        # An estimate may end astride the threshold, with which neither a search nor "no change" is known.
        found = self._compared(
            sides,
            ENDS,
            "GOOD against BAD",
            ENDS_SHARE,
            keep,
            until=Until.THRESHOLD,
            look_at_code=look_at_code,
            names=[self._only] if self._only else None,
        )
        rows = found.comparisons
        self._lacking = tuple(one for one in found.lacking if self._only in ("", one.benchmark))
        if not rows:
            lacking = ", ".join(item.benchmark for item in found.lacking[:3])
            raise TollError(
                f"GOOD and BAD share no benchmark: {lacking} on one side alone",
                "choose ends that have it, or another --filter",
            )
        if all(row.verdict is Verdict.FAILED for row in rows):
            told = f"{rows[0].benchmark}: {rows[0].reason}"
            raise TollError(told, "see both by hand: toll compare --build ... GOOD BAD")
        changes = sorted((row for row in rows if self._beyond(row)), key=_least, reverse=True)
        known = {Verdict.UNCHANGED_CODE}
        open_rows = [
            row
            for row in rows
            if not self._beyond(row) and not self._equivalent(row) and row.verdict not in known
        ]
        told = f"{open_rows[0].benchmark}: {open_rows[0].reason}" if open_rows else ""
        return tuple(changes), told or self._told_of_lacking()

    def _searched_first(self, changes: Sequence[Comparison]) -> tuple[Comparison, ...]:
        """With the one that an earlier start searched in front: what it saw is of no other.

        Raises TollError where that one did not change any more.
        """
        name = self._before.searching
        if not changes:
            return ()
        if not name:
            self._keep({"searching": changes[0].benchmark})
            return tuple(changes)
        first = [row for row in changes if row.benchmark == name]
        if not first:
            raise TollError(
                f"the earlier start searched {name}, which does not differ between GOOD and BAD by now",
                "begin anew, without --resume",
            )
        return (*first, *(row for row in changes if row.benchmark != name))

    def _told_of_lacking(self) -> str:
        """That there are benchmarks which one side alone has; "" where there is none."""
        alone = [item.benchmark for item in self._lacking]
        if not alone:
            return ""
        return f"{enumerated(alone[:3])} {'is' if len(alone) == 1 else 'are'} on one side alone"

    def _no_change(self) -> str:
        return f"GOOD and BAD do not differ by more than {difference(self._settings.threshold)}"

    def _beyond(self, row: Comparison) -> int:
        """1 for slower, -1 for faster, 0 where that is not certain."""
        return equivalence.beyond(*bounds(row), self._settings.threshold)

    def _equivalent(self, row: Comparison) -> bool:
        return equivalence.equivalent(*bounds(row), self._settings.threshold)

    # Builds of commits.

    def _built(self, commit: Commit) -> WrittenSide:
        """Raises LaunchFailed where it does not build, TollError where that may be no commit's fault."""
        try:
            return self._builds.of(commit)
        except LaunchFailed:
            self._unbuilt += 1
            self._builds_doubted = True
            if self._unbuilt.bit_count() == 1:  # the first failure, the second, the fourth and so on
                self._check_builds()
            raise

    def _check_builds(self) -> None:
        """Raises TollError where GOOD, which was built, no longer builds: then it is no commit's fault."""
        good = self._commits.commits[0]
        try:
            self._builds.anew(good)
        except LaunchFailed as failure:
            raise TollError(
                f"{good.short} was built before, and now it is not: {failure.reason}",
                "look at the room on the disk and at what the build needs; then go on with --resume",
            ) from None
        self._builds_doubted = False

    def _same_as(self, place: int, known: Sequence[int]) -> int | None:
        """The nearest known commit on either side that executes the same code for the benchmark."""
        if self._same_code is None:
            return None
        near = [*[one for one in known if one < place][-1:], *[one for one in known if one > place][:1]]
        commits = [self._commits.commits[one] for one in (place, *near)]
        self._tell(f"{commits[0].short}: is it the same code?")
        same = self._same_code.among(self._name, [self._builds.of(commit) for commit in commits])
        self._keep_looking()
        return None if same is None else near[same]

    def _keep_looking(self) -> None:
        """Time for looking at code is spent once, in however many starts."""
        if self._same_code is not None:
            self._keep({"looking_s": round(self._same_code.spent_s, 3)})

    # The path of the search.

    def _add_step(self, step: SearchStep, *, kept: bool = True) -> None:
        """Visits to one commit in a row are one step."""
        plain = not (step.reason or step.same_as)
        if self._path and self._path[-1].commit == step.commit and plain:
            step = step.model_copy(update={"rounds": step.rounds + self._path.pop().rounds})
        self._path.append(step)
        if kept:
            self._keep({"step": step.model_dump(mode="json")})

    # The answer.

    def _outcome(
        self, end: SearchEnd, found: Sequence[FoundRun] = (), reason: str = "", **more: Any
    ) -> BisectionOutcome:
        seconds = self.seconds
        told = tuple(
            FoundChange(
                commit=self._commits.named(run.first, run.last),
                probability=run.probability if known else None,
                benchmark=change.benchmark,
                ratio=change.ratio,
                low=change.low,
                high=change.high,
                between=self._between(run, change),
                decided=known and (end is SearchEnd.FOUND or bool(more.get("by_counts"))),
                ends=(self._commits.commits[0].commit, self._commits.commits[-1].commit),
                launches=self._launches,
                seconds=seconds,
                path=tuple(self._path),
            )
            for run, change, known in ((one.run, one.change, one.known) for one in found)
        )
        return BisectionOutcome(
            end,
            Bisections(found=told),
            tuple(self._commits.commits[one.run.first : one.run.last + 1] for one in found),
            reason,
            self._changes,
            tuple(step for step in self._path if step.reason),
            self._listed,
            self._launches,
            seconds,
            self._meanwhile.look(),
            lacking=self._lacking,
            path=tuple(self._path),
            places=self._places,
            ends=(self._commits.commits[0], self._commits.commits[-1]),
            goes_on=end is SearchEnd.INTERRUPTED or reason in map(str, map(TimeSpent, _BUDGETS)),
            **more,
        )

    def _between(self, run: ItemRun, change: Comparison) -> Between:
        """GOOD and BAD are what a run of all commits lies between."""
        own = change is not self._changes[0] or (run.first, run.last) == (1, self._commits.last)
        return Between.COMMITS if own else Between.ENDS

    # What all of it needs.

    def _subject(self, sides: Sequence[WrittenSide]) -> Subject:
        measuring = self._settings.measuring
        kind, resolved = resolve(sides, READ if measuring.read else self._settings.kind)
        return subject_of(kind, resolved, measuring)

    def _kept(self, record: Mapping[str, Any]) -> None:
        """Counts a launch, or the launches of programs that took turns. Raises Interrupted as `keep` does."""
        self._launches += launches_of(record)
        self._keep(record)

    def _seconds(self) -> float:
        return (self._clock.now_ns() - self._started_ns) / 1e9

    def _left_s(self) -> float:
        return min(self._left())

    def _left(self) -> tuple[float, float]:
        """Of each budget."""
        return self._settings.measuring_s - self._measured_s, self._settings.total_s - self._seconds()

    def _time_spent(self) -> TimeSpent:
        """That of the two budgets which has less left is."""
        return TimeSpent.of(self._left())

    def _tell(self, told: str, more_s: float = 0.0) -> None:
        self._hear(SearchProgress(self._measured_s + more_s, self._settings.measuring_s, told))


def bounds(row: Comparison) -> tuple[float, float]:
    """Of the log ratio, infinite where the row has none."""
    low = math.log(row.low) if row.low is not None else -math.inf
    high = math.log(row.high) if row.high is not None else math.inf
    return low, high


def _least(row: Comparison) -> float:
    """How large the change is at least."""
    low, high = bounds(row)
    return max(low, -high)
