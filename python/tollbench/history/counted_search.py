"""The search by counted instructions: exact, two launches a commit under Valgrind, and nothing is timed.

A count does not scatter, so that no commit is looked at twice: each halves what is left. Which half: with one
change the one whose ends are the one like GOOD and the other like BAD; looking for every change, each half
whose ends differ by more than the threshold. Who is named changed the count by more than the threshold alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tollbench.compare import Comparison, Subject, Verdict, WrittenSide
from tollbench.compare.counters import INSTRUCTIONS, Amount
from tollbench.compare.counting_sides import counter_for
from tollbench.compare.verdicts import Lacking
from tollbench.errors import TollError
from tollbench.history.bisections import BisectionOutcome, SearchEnd, SearchStep
from tollbench.history.commit_search import CommitSearch, FoundRun, Refuted, Undecided
from tollbench.history.kept_search import CountRecord, LeftOutRecord, SameRecord
from tollbench.home import cache_folder
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.numbers import difference
from tollbench.stats.bisection import ItemRun
from tollbench.words import CountBy

LAUNCHES = 2  # of a commit: they agree, or nothing is known of it
_GOOD, _BAD = 0, -1  # places among sides, the commit's own is between
Stretch = tuple[int, int]  # two places whose counts are known, and differ


class CountedSearch(CommitSearch):
    """By counts."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._counts: dict[int, Fraction] = {}  # by place, of the benchmark that is searched
        self._how = ""  # the ends were counted
        self._unmeasurable: set[int] = set()
        self._made_of: dict[int, int] = {}  # a commit that is told -> its first parent
        self._known = {
            (record.counted, record.benchmark): record
            for record in self._before.seen
            if isinstance(record, CountRecord)
        }
        self._measured_s = sum(record.counting_s for record in self._known.values())

    def run(self) -> BisectionOutcome:
        """As `CommitSearch.run`."""
        first, last = self._commits.commits[0], self._commits.commits[-1]
        if first.tree == last.tree:
            return self._outcome(SearchEnd.NO_CHANGE, reason="both have the same files")
        self._clock.forward(self._before.seconds)
        unknown = self._count_ends()
        if not self._changes:
            end = SearchEnd.UNDECIDED if unknown else SearchEnd.NO_CHANGE
            told = unknown or f"{self._no_change()} in instructions"
            return self._outcome(end, reason=told, by_counts=True)
        left: list[Stretch] = [(0, self._commits.last)]
        found: list[Stretch] = []
        try:
            self._see_again()
            while left:
                self._halve(left, found)
                ends = {0, self._commits.last, *(place for stretch in left for place in stretch)}
                self._builds.keep_only([self._commits.commits[place] for place in sorted(ends)])
            if self._builds_doubted and any(after - before > 1 for before, after in found):
                self._check_builds()
            self._check_parents(left, found)
        except Refuted as told:
            return self._ended(SearchEnd.UNDECIDED, [], [], str(told))
        except Undecided as told:
            return self._ended(SearchEnd.UNDECIDED, found, left, str(told))
        except Interrupted as ended:
            full = lacking_room(ended)
            return replace(
                self._ended(SearchEnd.INTERRUPTED, found, left, full or "interrupted"), no_room=full
            )
        large = self._large(found)
        if not large:
            return self._ended(SearchEnd.UNDECIDED, [], [], self._told_of_many(found))
        return self._ended(SearchEnd.FOUND, large, [], "")

    def _check_parents(self, left: list[Stretch], found: list[Stretch]) -> None:
        """That a commit differs from all that it was made from: a merge differs from the one before it in the
        row by all that its branch has not.

        Raises Undecided, with the stretch among those left, Interrupted.
        """
        for before, after in self._large(found):
            if (before, after) == (0, self._commits.last):  # one of all, whichever
                continue
            found.remove((before, after))
            left.append((before, after))
            towards = self._beyond(self._change(before, after))
            made_from = self._made_from(before + 1, after)
            for parent in made_from:
                if parent not in self._counts and parent not in self._unmeasurable:
                    self._look(parent)
                if parent in self._unmeasurable:
                    commit, other = (self._commits.commits[place].short for place in (after, parent))
                    raise Undecided(f"{commit} was made from {other}, which cannot be counted")
                if self._beyond(self._change(parent, after)) != towards:
                    raise self._not_by_merging(after, parent)
            self._made_of[after] = made_from[0]
            found.append(left.pop())

    def _large(self, stretches: Sequence[Stretch]) -> list[Stretch]:
        """Those whose change is beyond the threshold."""
        return [stretch for stretch in stretches if self._beyond(self._change(*stretch))]

    def _told_of_many(self, found: Sequence[Stretch]) -> str:
        """Why nobody is named, where the search came to its end."""
        told = f"no single commit changed it by more than {difference(self._settings.threshold)}"
        if self._settings.every:
            return told
        (stretch,) = found  # it was halved to this one
        own = difference(abs((self._change(*stretch).ratio or 1.0) - 1.0))
        return (
            f"{told} where the search led: {self._commits.commits[stretch[1]].short}, by which half of the"
            f" change has come, changed it by {own}; --all looks for each that did by more"
        )

    def _ended(
        self, end: SearchEnd, found: Sequence[Stretch], left: Sequence[Stretch], reason: str
    ) -> BisectionOutcome:
        """`found` are known; in each of `left` something changed it, wherever."""
        found = self._large(found)
        runs = [
            FoundRun(ItemRun(before + 1, after, 1.0), self._change(before, after), known=known)
            for before, after, known in sorted(
                [(*each, True) for each in found] + [(*each, False) for each in left]
            )
        ]
        whole = math.log(self._counts[self._commits.last] / self._counts[0])
        own = sum(
            math.log(self._counts[after] / self._counts[self._made_of.get(after, before)])
            for before, after in found
        )
        explained = own / whole if end is SearchEnd.FOUND else None
        return self._outcome(end, runs, reason, by_counts=True, explained=explained)

    # The ends.

    def _count_ends(self) -> str:
        """Finds what changed beyond the threshold, the most first; why something is not known, or "".

        Raises TollError where nothing can be counted, Interrupted.
        """
        sides = self._end_builds()
        subject = self._subject(sides)
        try:
            survey = subject.survey()
        except LaunchFailed as failure:
            raise TollError(failure.reason, "see both by hand: toll compare --build ... GOOD BAD") from None
        self._lacking = Lacking.of(survey.missing)
        same = self._proved_same(sides, survey.common)
        failed: dict[str, str] = {}
        spent = ""
        rows: list[tuple[Comparison, Fraction, Fraction, str]] = []
        for name in survey.common:
            if name in same:
                continue
            if self._left_s() <= 0.0 and not self._ends_known(name):
                spent = str(self._time_spent())
                break
            try:
                good, how = self._counted(subject, 0, 0, name)
                bad, how_bad = self._counted(subject, 1, self._commits.last, name)
            except LaunchFailed as failure:
                failed[name] = failure.reason
                continue
            if how != how_bad:
                failed[name] = "GOOD and BAD cannot be counted alike"
                continue
            rows.append((self._row(name, good, bad), good, bad, how))
        if not rows and not same and not spent:
            name, reason = next(iter(failed.items()), ("*", self._told_of_lacking() or "nothing is offered"))
            raise TollError(f"{name}: {reason}", "search without --count")
        rows.sort(key=lambda row: abs(float(row[2] / row[1]) - 1.0), reverse=True)
        changed = [row for row in rows if self._beyond(row[0])]
        self._changes = self._searched_first([row[0] for row in changed])
        if changed:
            _, good, bad, self._how = next(row for row in changed if row[0] is self._changes[0])
            self._counts = {0: good, self._commits.last: bad}
        told = spent or next((f"{name}: {reason}" for name, reason in failed.items()), "")
        return told or self._told_of_lacking()

    def _ends_known(self, name: str) -> bool:
        """Whether an earlier start counted both."""
        return all((self._commits.commits[place].commit, name) in self._known for place in (0, -1))

    def _proved_same(self, sides: Sequence[WrittenSide], names: Sequence[str]) -> set[str]:
        """Benchmarks for which GOOD and BAD execute the same code."""
        if self._same_code is None:
            return set()
        standings = self._same_code.between(sides)({name: [1] for name in names})
        return {name for (name, _), standing in standings.items() if standing.unchanged}

    def _row(self, name: str, a: Fraction, b: Fraction) -> Comparison:
        labels = [self._commits.commits[place].revision.label for place in (0, -1)]
        ratio = float(b / a)
        return Comparison(
            benchmark=name,
            a=labels[0],
            b=labels[1],
            ratio=ratio,
            low=ratio,
            high=ratio,
            level=self._settings.probability,
            verdict=Verdict.COUNTED,
            launches=LAUNCHES,
            seconds=0.0,
            reason=f"{float(a):,.6g} to {float(b):,.6g} instructions",
            regression=ratio > 1.0 + self._settings.threshold,
        )

    # The search.

    def _see_again(self) -> None:
        """Takes in what an earlier start saw of commits. Raises TollError for commits of another row."""
        for record in self._before.seen:
            if isinstance(record, LeftOutRecord):
                place = self._place_of(record.left_out)
                if place not in self._unmeasurable:  # its count may have told so already
                    self._leave_out(place, record.reason, kept=False)
                self._builds_doubted = True
            elif isinstance(record, SameRecord):
                other = self._place_of(record.other, of_end=True)
                if other in self._counts:
                    self._take_same(self._place_of(record.same), other, kept=False)
            elif isinstance(record, CountRecord) and record.benchmark == self._name:
                place = self._places.get(record.counted, 0)
                if 0 < place < self._commits.last:
                    try:
                        self._take(place, self._like_ends(place, *self._agreed(record)), kept=False)
                    except LaunchFailed as failure:
                        self._leave_out(place, failure.reason, kept=False)

    def _halve(self, left: list[Stretch], found: list[Stretch]) -> None:
        """Looks at the middle of a stretch, which leaves smaller ones. Raises Undecided, Interrupted."""
        before, after = left.pop()
        middle = (before + after) / 2.0
        inner = [place for place in range(before + 1, after) if place not in self._unmeasurable]
        if not inner:
            found.append((before, after))
            return
        place = min(inner, key=lambda one: abs(one - middle))
        try:
            if place not in self._counts:
                self._look(place)
        except BaseException:
            left.append((before, after))
            raise
        if place not in self._counts:
            left.append((before, after))
        elif self._settings.every:
            left += [each for each in ((before, place), (place, after)) if self._beyond(self._change(*each))]
        else:
            left.append((before, place) if self._is_like_bad(place) else (place, after))

    def _look(self, place: int) -> None:
        """Knows its count afterwards, or that it has none. Raises Undecided, Interrupted, TollError."""
        commit = self._commits.commits[place]
        if self._left_s() <= 0.0:
            raise self._time_spent()
        self._tell(f"{commit.short}  {len(self._counts)} commits known")
        try:
            written = self._built(commit)
            other = self._same_as(place, sorted(self._counts))
            if other is not None:
                self._take_same(place, other)
                return
            good, bad = self._end_builds()
            try:
                subject = self._subject([good, written, bad])
            except TollError as error:
                raise LaunchFailed(f"{written.label} does not fit: {error.what}") from None
            if written.label in subject.survey().missing.get(self._name, ()):
                raise LaunchFailed(f"{written.label} has no benchmark {self._name}")
            value = self._like_ends(place, *self._counted(subject, 1, place, self._name))
        except LaunchFailed as failure:
            self._leave_out(place, failure.reason)
            return
        self._take(place, value)

    def _counted(self, subject: Subject, side: int, place: int, name: str) -> tuple[Fraction, str]:
        """Instructions, and how they were counted. Raises LaunchFailed, Interrupted."""
        commit = self._commits.commits[place].commit
        known = self._known.get((commit, name))
        if known is None:
            counter = counter_for(subject, cache_folder(), CountBy.VALGRIND)
            if counter is None:
                raise TollError(f"{subject.kind} is not counted", "add --kind command, or leave out --count")
            before_s = self._seconds()
            amounts = [self._amount(counter.read(side, name, {INSTRUCTIONS})) for _ in range(LAUNCHES)]
            took_s = self._seconds() - before_s
            self._measured_s += took_s
            known = CountRecord(
                counting_s=round(took_s, 6),
                counted=commit,
                benchmark=name,
                how=amounts[0].note,
                amounts=tuple((each.value.numerator, each.value.denominator) for each in amounts),
            )
            self._known[commit, name] = known
            self._kept(known.model_dump(mode="json"))
        return self._agreed(known)

    def _agreed(self, record: CountRecord) -> tuple[Fraction, str]:
        """What all launches of a commit counted, and how. Raises LaunchFailed where they disagree."""
        short = self._commits.commits[self._places[record.counted]].short
        low, *_, high = sorted(Fraction(*amount) for amount in (*record.amounts, record.amounts[0]))
        if low != high:
            raise LaunchFailed(
                f"instructions of {short} scatter from launch to launch ({float(low):,.0f} and"
                f" {float(high):,.0f})"
            )
        if not low > 0:
            raise LaunchFailed(f"{short} was counted as no instruction at all")
        return low, record.how

    def _like_ends(self, place: int, value: Fraction, how: str) -> Fraction:
        """The count of a commit. Raises LaunchFailed where it was counted otherwise than the ends."""
        if how != self._how:
            short = self._commits.commits[place].short
            raise LaunchFailed(f"{short} is counted {how}, and GOOD and BAD {self._how}")
        return value

    def _amount(self, reading: Mapping[str, Amount | str]) -> Amount:
        found = reading[INSTRUCTIONS]
        if isinstance(found, str):
            raise LaunchFailed(found)
        return found

    # What is known.

    def _take(self, place: int, value: Fraction, *, kept: bool = True) -> None:
        self._counts[place] = value
        self._note(place, LAUNCHES, kept=kept)

    def _take_same(self, place: int, other: int, *, kept: bool = True) -> None:
        self._counts[place] = self._counts[other]
        commit, same = (self._commits.commits[one].commit for one in (place, other))
        if kept:
            self._keep({"same": commit, "other": same})
        self._note(place, 0, same_as=same, kept=kept)

    def _leave_out(self, place: int, reason: str, *, kept: bool = True) -> None:
        self._unmeasurable.add(place)
        commit = self._commits.commits[place].commit
        if kept:
            self._keep({"left_out": commit, "reason": reason})
        self._note(place, 0, reason, kept=kept)

    def _note(self, place: int, rounds: int, reason: str = "", same_as: str = "", *, kept: bool) -> None:
        """How far the change has come at this commit, where that is known."""
        before, after = self._first_change()
        step = SearchStep(
            commit=self._commits.commits[place].commit,
            rounds=rounds,
            changed=float(self._is_like_bad(place)) if place in self._counts else 0.5,
            leading=self._commits.named(before + 1, after),
            probability=1.0,
            reason=reason,
            same_as=same_as,
        )
        self._add_step(step, kept=kept)

    def _is_like_bad(self, place: int) -> bool:
        good, bad = self._counts[0], self._counts[self._commits.last]
        return abs(self._counts[place] - good) >= abs(self._counts[place] - bad)

    def _first_change(self) -> Stretch:
        """The last commit that is like GOOD, and the next one of known count, which is like BAD."""
        before = 0
        for place in sorted(self._counts):
            if place and self._is_like_bad(place):
                return before, place
            before = place
        raise AssertionError("BAD is like BAD")

    def _change(self, before: int, after: int) -> Comparison:
        before = self._made_of.get(after, before)
        return self._row(self._name, self._counts[before], self._counts[after])
