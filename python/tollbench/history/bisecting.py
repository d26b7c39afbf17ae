"""The search for the commit that changed a benchmark: compares both ends, then launches where it tells most.

A round launches GOOD, a commit and BAD, as a comparison of three sides would, so that what the machine does
to all of them cancels. What a round says of the commit, and which commit is next, is
`tollbench.stats.bisection`'s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tollbench.compare import Comparison, Subject, Verdict, WrittenSide
from tollbench.errors import TollError
from tollbench.history.bisections import BisectionOutcome, SearchEnd, SearchStep
from tollbench.history.commit_range import Commit
from tollbench.history.commit_search import CommitSearch, FoundRun, Refuted, TimeSpent, Undecided, bounds
from tollbench.history.kept_search import LeftOutRecord, LookRecord, SameRecord
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.numbers import difference
from tollbench.stats import equivalence
from tollbench.stats.bisection import Bisection, ItemRun

FINAL_SHARE = 0.15  # of the time, kept for the commit against the one before it
_TRIES = 5  # of a round, for kinds whose benchmarks have to come again alone
_NOTHING_MORE = (
    "no launch would tell more: commits lie between the times of GOOD and BAD, or the place of their code"
    " moves them by as much as what is searched"
)
_SCATTERED = (
    "builds may differ among each other by so much, against the change, that no probability would hold"
)
_SHORT = "; so few show little of how builds scatter: name a GOOD some commits older"
_SHORT_ROW = 5  # commits, GOOD not among them: docs/bisect.md has how seldom so short a row has an answer
_NOBODY = (
    "every commit that may be it executes the code of the one before it: the files differ in where their"
    " code lies, or the machine made the difference"
)
_CUT = "an earlier start has searched its halves instead"
_SHORTEST_LIMIT_S = 5.0  # of a launch, beside whatever else the machine has to do
_CHANCES = 2  # of a commit to be measured: whatever fails once may have been the machine
MOST_BUILDS = 48  # besides GOOD and BAD: more commits than one goes back to are not needed near the answer
BUILDS_WHERE_SHORT = 6  # where the disk has no room for more
_COMMIT = 1  # of the sides of a round: GOOD, the commit, BAD


class _EndFailed(LaunchFailed):
    """GOOD or BAD failed beside a commit, which is not to blame for it."""


class Search(CommitSearch):
    """By rounds of launches."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._subjects: dict[int, Subject] = {}
        self._pairs: dict[str, list[tuple[float, float]]] = {}  # benchmark -> logs of GOOD and BAD
        self._looked: set[int] = {0, self._commits.last}  # whose code is known: not that of another one

    def run(self) -> BisectionOutcome:
        """As `CommitSearch.run`."""
        first, last = self._commits.commits[0], self._commits.commits[-1]
        if first.tree == last.tree:
            return self._outcome(SearchEnd.NO_CHANGE, reason="both have the same files")
        ends = self._end_builds()
        look_at_code = self._same_code.between(ends) if self._same_code is not None else None
        changes, unknown = self._compare_ends(ends, self._keep_ends, look_at_code)
        self._changes = self._searched_first(changes)
        self._keep_looking()
        self._limit_launches()
        if not self._changes:
            end = SearchEnd.UNDECIDED if unknown else SearchEnd.NO_CHANGE
            return self._outcome(end, reason=unknown or self._no_change())
        bisection = Bisection(self._commits.last, self._settings.probability)
        for pair in self._pairs[self._name]:
            bisection.pair(*pair)
        try:
            self._see_again(bisection)
            found = self._search(bisection)
            row = self._final(found, eliminated=bisection.eliminated)
            return self._outcome(SearchEnd.FOUND, [FoundRun(found, row)])
        except Refuted as told:
            return self._outcome(SearchEnd.UNDECIDED, reason=str(told))
        except Undecided as told:
            return self._undecided(bisection, str(told), SearchEnd.UNDECIDED)
        except Interrupted as ended:
            full = lacking_room(ended)
            known = self._undecided(bisection, full or "interrupted", SearchEnd.INTERRUPTED)
            return replace(known, no_room=full)

    def _limit_launches(self) -> None:
        """No launch of a commit may take longer than all those of GOOD and BAD together did.

        One that hangs had the whole budget otherwise, and the search ended with it.
        """
        measuring = self._settings.measuring
        limit_s = min(measuring.limit_s, max(self._measured_s, _SHORTEST_LIMIT_S))
        self._settings = replace(self._settings, measuring=replace(measuring, limit_s=limit_s))

    # What an earlier start saw.

    def _see_again(self, bisection: Bisection) -> None:
        """Takes in what the file of an earlier start holds. Raises TollError for what makes no sense."""
        try:
            self._take_in(bisection)
        except ValueError as error:
            raise TollError(f"the file is damaged: {error}", "begin anew, without --resume") from None
        ahead_s = self._before.seconds - self._seconds() - self._before.seconds_of_rounds
        self._clock.forward(max(0.0, ahead_s))

    def _take_in(self, bisection: Bisection) -> None:
        """Raises ValueError for looks that no search makes, TollError for commits of another row."""
        for record in self._before.seen:
            if isinstance(record, LookRecord):
                place = self._place_of(record.commit)
                first, value, last = (math.log(value) for value in record.values)
                bisection.look(place, first, value, last)
                self._looked.add(place)
                self._clock.forward(record.took_s)
                self._measured_s += record.took_s
                self._note(bisection, place, 1, kept=False)
            elif isinstance(record, LeftOutRecord):
                place = self._place_of(record.left_out)
                bisection.leave_out(place)
                self._builds_doubted = True
                self._note(bisection, place, 0, record.reason, kept=False)
            elif isinstance(record, SameRecord):
                place, other = self._place_of(record.same), self._place_of(record.other, of_end=True)
                bisection.same(place, other)
                self._note(bisection, place, 0, same_as=record.other, kept=False)

    # The search.

    def _search(self, bisection: Bisection) -> ItemRun:
        """The commits that brought the change. Raises Undecided, Interrupted, TollError."""
        while (found := bisection.answer()) is None:
            if self._before.cut is not None:
                raise Undecided(_CUT)
            place = self._next(bisection)
            if place is None:
                if self._builds_doubted:
                    self._check_builds()
                if bisection.nobody:
                    raise Refuted(_NOBODY)
                told = _SCATTERED if bisection.too_scattered else _NOTHING_MORE
                raise Undecided(told + _SHORT * (self._commits.last <= _SHORT_ROW))
            self._take(bisection, place)
            self._drop_far_builds(bisection)
        if self._builds_doubted and found.first < found.last:  # it has commits that did not build
            self._check_builds()
        return found

    def _next(self, bisection: Bisection) -> int | None:
        """Which commit to look at. Raises Undecided where the time is spent."""
        reserved_s = FINAL_SHARE * min(self._settings.measuring_s, self._settings.total_s)
        if self._left_s() <= reserved_s:
            raise self._time_spent()
        place = bisection.next_item()
        if place is not None:
            leading = bisection.leading()
            self._tell(
                f"{self._commits.commits[place].short}  {difference(leading.probability)} for"
                f" {self._commits.commits[leading.last].short}"
            )
        return place

    def _take(self, bisection: Bisection, place: int) -> None:
        """Looks at one commit, unless it cannot be measured or executes what another one does."""
        commit = self._commits.commits[place].commit
        try:
            written = self._built(self._commits.commits[place])
            if place not in self._looked:
                other = self._same_as(place, sorted(self._looked))
                if other is not None:
                    bisection.same(place, other)
                    other_commit = self._commits.commits[other].commit
                    self._keep({"same": commit, "other": other_commit})
                    self._note(bisection, place, 0, same_as=other_commit)
                    return
            reason = self._visit(bisection, place, written)
        except LaunchFailed as failure:
            reason = failure.reason
        if reason:
            bisection.leave_out(place)
            self._keep({"left_out": commit, "reason": reason})
            self._note(bisection, place, 0, reason)

    def _drop_far_builds(self, bisection: Bisection) -> None:
        """Keeps those that are near the leading commit; one that is asked for again is built again."""
        most = BUILDS_WHERE_SHORT if self._builds.room_is_short else MOST_BUILDS
        leading = bisection.leading()
        known = {*self._subjects, *self._looked} - {0, self._commits.last}
        near = sorted(known, key=lambda place: abs(2 * place - leading.first - leading.last + 1))
        for place in near[most:]:
            self._subjects.pop(place, None)
        kept = [0, *near[:most], self._commits.last]
        self._builds.keep_only([self._commits.commits[place] for place in kept])

    def _visit(self, bisection: Bisection, place: int, written: WrittenSide) -> str:
        """Some rounds of one commit; the reason where it cannot be measured."""
        commit = self._commits.commits[place]
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
                    self._looked.add(place)
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
        before_s = self._seconds()
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
                took_s = round(self._seconds() - before_s, 6)
                order = found.order[self._name]
                self._keep({"commit": commit.commit, "values": values, "order": order, "took_s": took_s})
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
                "see what became of the machine: toll doctor; then go on with --resume",
            )

    def _note(
        self,
        bisection: Bisection,
        place: int,
        rounds: int,
        reason: str = "",
        *,
        same_as: str = "",
        kept: bool = True,
    ) -> None:
        """What is known now."""
        leading = bisection.leading()
        step = SearchStep(
            commit=self._commits.commits[place].commit,
            rounds=rounds,
            changed=bisection.changed_by(place),
            leading=self._commits.named(leading.first, leading.last),
            probability=leading.probability,
            reason=reason,
            same_as=same_as,
        )
        self._add_step(step, kept=kept)

    # The answer.

    def _final(self, found: ItemRun, *, eliminated: bool) -> Comparison:
        """The commit against the one before it; GOOD against BAD where that is not known well enough.

        `eliminated`: no look led to it, all others were ruled out. Then it has to be beyond the threshold.
        Raises Undecided where the two cannot be measured, Refuted where they do not differ.
        """
        if (found.first, found.last) == (1, self._commits.last):
            return self._changes[0]
        towards = self._beyond(self._changes[0])
        made_from = self._made_from(found.first, found.last)
        if made_from != [found.first - 1]:
            return self._against_all(found.last, made_from, towards, eliminated=eliminated)
        before, commit = (self._commits.commits[place] for place in (found.first - 1, found.last))
        row = self._against(found.first - 1, found.last, 1.0)
        if eliminated and self._beyond(row) != towards:
            raise Refuted(
                f"every other commit executes the code of one on its side, which leaves {commit.short}, but"
                f" measured against {before.short} it is {row.reason}: where code lies may have changed it"
            )
        if self._equivalent(row) or equivalence.direction(*bounds(row)) == -towards:
            raise Refuted(
                f"the search led to {commit.short}, but measured against {before.short} alone it is"
                f" {row.reason}: several commits may share the change"
            )
        if row.low is None or row.high is None or equivalence.direction(*bounds(row)) == 0:
            return self._changes[0]  # too little time was left
        return row

    def _against_all(
        self, place: int, made_from: Sequence[int], towards: int, *, eliminated: bool
    ) -> Comparison:
        """A merge, or the first commit of a branch, against what it was made from: the first of them.

        The one before it in the row is of another branch: a merge differs from it by all that it has not.
        Raises Undecided where it is not known to differ from each, Refuted where it does not from one.
        """
        rows = []
        for left, parent in zip(range(len(made_from), 0, -1), made_from, strict=True):
            row = self._against(parent, place, 1.0 / left)
            direction = 0 if row.low is None or row.high is None else equivalence.direction(*bounds(row))
            if eliminated and self._beyond(row) != towards:
                direction = 0
            if self._equivalent(row) or direction == -towards:
                raise self._not_by_merging(place, parent)
            if direction == 0:
                raise TimeSpent.of(self._left())
            rows.append(row)
        return rows[0]

    def _against(self, earlier: int, place: int, share: float) -> Comparison:
        """Two commits, in a share of the time. Raises Undecided where they cannot be measured."""
        before, commit = (self._commits.commits[one] for one in (earlier, place))
        try:  # what an earlier start built is built again
            sides = [self._builds.of(before), self._builds.of(commit)]
        except LaunchFailed as failure:
            raise Undecided(
                f"{commit.short} against {before.short}: {failure.reason}, though it was measured before"
            ) from None
        compared = self._compared(
            sides,
            f"{before.commit}..{commit.commit}",
            f"{commit.short} against {before.short}",
            share,
            names=[self._name],
        )
        row = next((row for row in compared.comparisons if row.benchmark == self._name), None)
        if row is None or row.verdict is Verdict.FAILED:
            why = row.reason if row is not None else "not measured"
            raise Undecided(f"{commit.short} against {before.short}: {why}")
        return row

    def _undecided(self, bisection: Bisection, reason: str, end: SearchEnd) -> BisectionOutcome:
        suspects = bisection.smallest_set(self._settings.probability)
        return self._outcome(end, [FoundRun(run, self._changes[0]) for run in sorted(suspects)], reason)

    # GOOD and BAD.

    def _keep_ends(self, record: Mapping[str, Any]) -> None:
        """The pairs of GOOD and BAD too: they tell how far the levels lie apart and how rounds scatter."""
        values = record.get("values")
        if isinstance(values, Mapping):
            for name, (good, bad) in values.items():
                if good > 0 and bad > 0:  # False for NaN
                    self._pairs.setdefault(name, []).append((math.log(good), math.log(bad)))
