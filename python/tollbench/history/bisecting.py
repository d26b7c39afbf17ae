"""The search for the commit that changed a benchmark: compares both ends, then launches where it tells most.

A round launches GOOD, a commit and BAD, as a comparison of three sides would, so that what the machine does
to all of them cancels. What a round says of the commit, and which commit is next, is
`tollbench.stats.bisection`'s.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tollbench.compare import (
    Comparison,
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
from tollbench.compare.subject import Keep
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
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.meanwhile import Meanwhile
from tollbench.numbers import difference
from tollbench.stats import equivalence
from tollbench.stats.bisection import Bisection, ItemRun
from tollbench.text import enumerated

ENDS_SHARE = 0.4  # the most of the time that GOOD against BAD may take
FINAL_SHARE = 0.15  # of the time, kept for the commit against the one before it
_TRIES = 5  # of a round, for kinds whose benchmarks have to come again alone
_NOTHING_MORE = (
    "no launch would tell more: commits lie between the times of GOOD and BAD, or the place of their code"
    " moves them by as much as what is searched"
)
_SCATTERED = (
    "builds may differ among each other by so much, against the change, that no probability would hold"
)
_CHANCES = 2  # of a commit to be measured: whatever fails once may have been the machine
_COMMIT = 1  # of the sides of a round: GOOD, the commit, BAD


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


class _Undecided(Exception):  # an outcome, not a fault
    """The search has to end without an answer, for this reason."""


class _EndFailed(LaunchFailed):
    """GOOD or BAD failed beside a commit, which is not to blame for it."""


class _Refuted(_Undecided):
    """What the posterior says was contradicted at the end: it names nobody any more."""


class Search:
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
    ) -> None:
        settings.check()
        self._listed = commits.last
        self._commits = commits.without_repeats()
        self._builds = builds
        self._settings = settings
        self._clock = clock or SystemClock()
        self._keep = keep
        self._hear = hear
        self._meanwhile = meanwhile or Meanwhile()
        self._random = random.Random(settings.seed)
        self._started_ns = self._clock.now_ns()
        self._measured_s = 0.0
        self._launches = 0
        self._unbuilt = 0  # commits that did not build
        self._builds_doubted = False  # one did not build since GOOD was built last
        self._subjects: dict[int, Subject] = {}
        self._pairs: dict[str, list[tuple[float, float]]] = {}  # benchmark -> logs of GOOD and BAD
        self._path: list[SearchStep] = []
        self._changes: tuple[Comparison, ...] = ()
        self._lacking: tuple[Lacking, ...] = ()

    def run(self) -> BisectionOutcome:
        """All of it. Raises TollError where an end cannot be built or measured.

        And Interrupted where somebody asks to stop before it is known whether there is a change.
        """
        first, last = self._commits.commits[0], self._commits.commits[-1]
        if first.tree == last.tree:
            return self._outcome(SearchEnd.NO_CHANGE, reason="both have the same files")
        self._changes, unknown = self._compare_ends(self._end_builds())
        if not self._changes:
            end = SearchEnd.UNDECIDED if unknown else SearchEnd.NO_CHANGE
            return self._outcome(end, reason=unknown or self._no_change())
        bisection = Bisection(self._commits.last, self._settings.probability)
        for pair in self._pairs[self._name]:
            bisection.pair(*pair)
        try:
            found = self._search(bisection)
            change = self._final(found)
        except _Refuted as told:
            return self._outcome(SearchEnd.UNDECIDED, reason=str(told))
        except _Undecided as told:
            return self._undecided(bisection, str(told), SearchEnd.UNDECIDED)
        except Interrupted:
            return self._undecided(bisection, "interrupted", SearchEnd.INTERRUPTED)
        return self._outcome(SearchEnd.FOUND, [found], change)

    @property
    def _name(self) -> str:
        return self._changes[0].benchmark

    # The ends.

    def _end_builds(self) -> list[WrittenSide]:
        """GOOD and BAD. Raises TollError where one does not build."""
        try:
            return [self._builds.of(self._commits.commits[place]) for place in (0, -1)]
        except LaunchFailed as failure:
            raise TollError(
                failure.reason, "GOOD and BAD have to build: name others, or mend --build"
            ) from None

    def _compare_ends(self, sides: Sequence[WrittenSide]) -> tuple[tuple[Comparison, ...], str]:
        """Benchmarks that changed beyond the threshold, the largest certain change first; else what is open.

        Raises TollError where nothing could be compared, Interrupted.
        """
        subject = self._subject(sides)
        before_s = self._seconds()
        settings = self._settings.comparison(ENDS_SHARE * self._left_s())
        found = compare(
            subject,
            settings,
            clock=self._clock,
            keep=self._keep_ends,
            on_step=lambda at: self._tell(f"GOOD against BAD  {at.benchmark}", at.elapsed_s),
            meanwhile=self._meanwhile,
        )
        self._measured_s += self._seconds() - before_s
        if found.interrupted:
            raise Interrupted
        rows, self._lacking = found.comparisons, found.lacking
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
        open_rows = [row for row in rows if not self._beyond(row) and not self._equivalent(row)]
        told = f"{open_rows[0].benchmark}: {open_rows[0].reason}" if open_rows else ""
        alone = [item.benchmark for item in found.lacking]
        if alone and not told:
            told = f"{enumerated(alone[:3])} {'is' if len(alone) == 1 else 'are'} on one side alone"
        return tuple(changes), told

    def _no_change(self) -> str:
        return f"GOOD and BAD do not differ by more than {difference(self._settings.threshold)}"

    def _beyond(self, row: Comparison) -> int:
        """1 for slower, -1 for faster, 0 where that is not certain."""
        return equivalence.beyond(*_bounds(row), self._settings.threshold)

    def _equivalent(self, row: Comparison) -> bool:
        return equivalence.equivalent(*_bounds(row), self._settings.threshold)

    # The search.

    def _search(self, bisection: Bisection) -> ItemRun:
        """The commits that brought the change. Raises _Undecided, Interrupted, TollError."""
        reserved_s = FINAL_SHARE * min(self._settings.measuring_s, self._settings.total_s)
        while (found := bisection.answer()) is None:
            if self._left_s() <= reserved_s:
                raise _Undecided("the time is spent: a larger --budget narrows it")
            place = bisection.next_item()
            if place is None:
                if self._builds_doubted:
                    self._check_builds()
                raise _Undecided(_SCATTERED if bisection.too_scattered else _NOTHING_MORE)
            leading = bisection.leading()
            self._tell(
                f"{self._commits.commits[place].short}  {difference(leading.probability)} for"
                f" {self._commits.commits[leading.last].short}"
            )
            reason = self._visit(bisection, place)
            if reason:
                bisection.leave_out(place)
                self._note(bisection, place, 0, reason)
        if self._builds_doubted and found.first < found.last:  # it has commits that did not build
            self._check_builds()
        return found

    def _visit(self, bisection: Bisection, place: int) -> str:
        """Some rounds of one commit; the reason where it cannot be measured."""
        commit = self._commits.commits[place]
        try:
            written = self._builds.of(commit)
        except LaunchFailed as failure:
            self._unbuilt += 1
            self._builds_doubted = True
            if self._unbuilt.bit_count() == 1:  # the first failure, the second, the fourth and so on
                self._check_builds()
            return failure.reason
        failed = LaunchFailed("")
        for _ in range(_CHANCES):
            before_s = self._seconds()
            rounds = 0
            try:
                if place not in self._subjects:
                    self._subjects[place] = self._of_three(written)
                for _ in range(bisection.looks_at_once()):
                    if self._left_s() <= 0.0:
                        break
                    first, value, last = self._round(self._subjects[place], commit)
                    bisection.look(place, first, value, last)
                    rounds += 1
                self._note(bisection, place, rounds)
                return ""
            except LaunchFailed as error:
                self._subjects.pop(place, None)  # it remembers who failed
                self._check_ends()
                failed = error
            finally:
                self._measured_s += self._seconds() - before_s
        if isinstance(failed, _EndFailed):
            raise TollError(
                f"{failed.reason}, twice", "see what it does by hand: toll compare --build ... GOOD BAD"
            )
        return failed.reason

    def _check_builds(self) -> None:
        """Raises TollError where GOOD, which was built, no longer builds: then it is no commit's fault."""
        good = self._commits.commits[0]
        try:
            self._builds.anew(good)
        except LaunchFailed as failure:
            raise TollError(
                f"{good.short} was built before, and now it is not: {failure.reason}",
                "look at the room on the disk and at what the build needs; then start again",
            ) from None
        self._builds_doubted = False

    def _of_three(self, written: WrittenSide) -> Subject:
        """Raises LaunchFailed where the commit lacks the benchmark, or says nothing of it."""
        good, bad = self._end_builds()
        try:
            subject = self._subject([good, written, bad])
        except TollError as error:  # the ends fit together: it is a program of another kind
            raise LaunchFailed(f"{written.label} does not fit: {error.what}") from None
        if written.label in subject.survey().missing.get(self._name, ()):
            raise LaunchFailed(f"{written.label} has no benchmark {self._name}")
        return subject

    def _round(self, subject: Subject, commit: Commit) -> tuple[float, float, float]:
        """Logarithms of ns an operation of GOOD, the commit and BAD. Raises LaunchFailed, with a sentence."""
        for _ in range(_TRIES):
            found = subject.round([self._name], self._random.randrange(2**31))
            for launch in found.raw:
                self._kept({"commit": commit.commit, **launch})
            if failures := found.failures.get(self._name):
                side = _COMMIT if _COMMIT in failures else min(failures)
                told = f"{subject.labels[side]} {failures[side]}"
                if side != _COMMIT:
                    raise _EndFailed(f"{told} (beside {commit.short})")
                raise LaunchFailed(told)
            values = found.values.get(self._name, ())
            if values and all(0.0 < value < math.inf for value in values):
                self._keep({"commit": commit.commit, "values": values, "order": found.order[self._name]})
                self._meanwhile.look()
                first, value, last = (math.log(value) for value in values)
                return first, value, last
        raise LaunchFailed(f"{commit.short} gave no result for {self._name}")

    def _check_ends(self) -> None:
        """Raises TollError where GOOD and BAD no longer run: then it is no commit's fault."""
        subject = self._subject(self._end_builds())
        try:
            subject.survey()
            found = subject.round([self._name], self._random.randrange(2**31))
        except LaunchFailed as failure:
            failures = {0: failure.reason}
        else:
            failures = found.failures.get(self._name, {})
            for launch in found.raw:
                self._kept({"ends": True, **launch})
        if failures:
            side, reason = min(failures.items())
            raise TollError(
                f"{subject.labels[side]} ran before, and now it does not: {reason}",
                "see what became of the machine: toll doctor; then start again",
            )

    def _note(self, bisection: Bisection, place: int, rounds: int, reason: str = "") -> None:
        """What is known now; visits to one commit in a row are one step."""
        leading = bisection.leading()
        commit = self._commits.commits[place].commit
        if self._path and self._path[-1].commit == commit and not reason:
            rounds += self._path.pop().rounds
        step = SearchStep(
            commit=commit,
            rounds=rounds,
            changed=bisection.changed_by(place),
            leading=self._commits.named(leading.first, leading.last),
            probability=leading.probability,
            reason=reason,
        )
        self._path.append(step)
        self._keep({"step": step.model_dump(mode="json")})

    # The answer.

    def _final(self, found: ItemRun) -> Comparison:
        """The commit against the one before it; GOOD against BAD where that is not known well enough.

        Raises _Undecided where the two cannot be measured, _Refuted where they do not differ.
        """
        if (found.first, found.last) == (1, self._commits.last):
            return self._changes[0]
        before, commit = (self._commits.commits[place] for place in (found.first - 1, found.last))
        subject = self._subject([self._builds.of(before), self._builds.of(commit)])
        before_s = self._seconds()
        compared = compare(
            subject,
            self._settings.comparison(self._left_s()),
            clock=self._clock,
            keep=self._kept,
            on_step=lambda at: self._tell(f"{commit.short} against {before.short}", at.elapsed_s),
            names=[self._name],
            meanwhile=self._meanwhile,
        )
        self._measured_s += self._seconds() - before_s
        if compared.interrupted:
            raise Interrupted
        row = next((row for row in compared.comparisons if row.benchmark == self._name), None)
        if row is None or row.verdict is Verdict.FAILED:
            why = row.reason if row is not None else "not measured"
            raise _Undecided(f"{commit.short} against {before.short}: {why}")
        towards = self._beyond(self._changes[0])
        if self._equivalent(row) or equivalence.direction(*_bounds(row)) == -towards:
            raise _Refuted(
                f"the search led to {commit.short}, but measured against {before.short} alone it is"
                f" {row.reason}: several commits may share the change"
            )
        if row.low is None or row.high is None or equivalence.direction(*_bounds(row)) == 0:
            return self._changes[0]  # too little time was left
        return row

    def _undecided(self, bisection: Bisection, reason: str, end: SearchEnd) -> BisectionOutcome:
        suspects = bisection.smallest_set(self._settings.probability)
        return self._outcome(end, suspects, self._changes[0], reason)

    def _outcome(
        self,
        end: SearchEnd,
        runs: Sequence[ItemRun] = (),
        change: Comparison | None = None,
        reason: str = "",
    ) -> BisectionOutcome:
        seconds = round(self._seconds(), 3)
        found = tuple(
            FoundChange(
                commit=self._commits.named(run.first, run.last),
                probability=min(run.probability, 1.0),
                benchmark=change.benchmark,
                ratio=change.ratio,
                low=change.low,
                high=change.high,
                between=self._between(run, change),
                launches=self._launches,
                seconds=seconds,
                path=tuple(self._path),
            )
            for run in runs
            if change is not None
        )
        return BisectionOutcome(
            end,
            Bisections(found=found),
            tuple(self._commits.commits[run.first : run.last + 1] for run in runs),
            reason,
            self._changes,
            tuple(step for step in self._path if step.reason),
            self._listed,
            self._launches,
            seconds,
            self._meanwhile.look(),
            lacking=self._lacking,
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
        if "side" in record:
            self._launches += 1
        elif isinstance(record.get("order"), list) and "ns" in record:
            self._launches += len(record["order"])
        self._keep(record)

    def _keep_ends(self, record: Mapping[str, Any]) -> None:
        """The pairs of GOOD and BAD too: they tell how far the levels lie apart and how rounds scatter."""
        self._kept(record)
        values = record.get("values")
        if isinstance(values, Mapping):
            for name, (good, bad) in values.items():
                if good > 0 and bad > 0:  # False for NaN
                    self._pairs.setdefault(name, []).append((math.log(good), math.log(bad)))

    def _seconds(self) -> float:
        return (self._clock.now_ns() - self._started_ns) / 1e9

    def _left_s(self) -> float:
        return min(self._settings.measuring_s - self._measured_s, self._settings.total_s - self._seconds())

    def _tell(self, told: str, more_s: float = 0.0) -> None:
        self._hear(SearchProgress(self._measured_s + more_s, self._settings.measuring_s, told))


def _bounds(row: Comparison) -> tuple[float, float]:
    """Of the log ratio, infinite where the row has none."""
    low = math.log(row.low) if row.low is not None else -math.inf
    high = math.log(row.high) if row.high is not None else math.inf
    return low, high


def _least(row: Comparison) -> float:
    """How large the change is at least."""
    low, high = _bounds(row)
    return max(low, -high)
