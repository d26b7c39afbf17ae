"""`toll bisect --all` by time: a search for one change, then one on either side of what it found, and so on.

A search assumes one change. Where a row has several it mostly ends at one of them, and else without an
answer: then the row is cut near its middle, and each part, which has fewer, is searched as a row of its own.
A row whose ends do not differ ends there. So each commit that is named rests on a search of its own, with its
own probability, and each stretch that is said to have no change on a comparison of its own; docs/bisect.md
has how often that is right. Parts share builds, budgets and the file, in which `part` begins each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tollbench.compare.subject import Keep
from tollbench.errors import TollError
from tollbench.history.bisecting import Search
from tollbench.history.bisections import BisectionOutcome, Bisections, SearchEnd
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.commit_search import Hear, SearchProgress, SearchSettings, TimeSpent
from tollbench.history.kept_search import PART, CutRecord, KeptSearch
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.numbers import difference
from tollbench.text import several

SHORTEST_CUT = 12  # commits of a row that is cut: halves of fewer tell too little of how builds scatter
_SHARE_SPENT = "its share of the time is spent: a larger {} goes on"
_ENDS_OPEN = "whether its ends differ was not settled in its share of the time: a larger {} goes on"
_BY_ENDS_ALONE = (
    "no build between the two was measured, so that it is open whether it is the code or where the code lies"
)
_MANY_SMALL = "the ends differ by more than {}, but those of neither half do: many small changes may share it"


@dataclass(slots=True)
class _Part:
    """A stretch of the row, by the places of its GOOD and its BAD; what its search came to, what followed."""

    first: int
    last: int
    outcome: BisectionOutcome | None = None
    share_s: float = 0.0  # of the time for launches, that its search was given
    spent_s: float = 0.0
    cut: CutRecord | None = None  # by an earlier start
    inner: list[_Part] = field(default_factory=list)

    @property
    def commits(self) -> int:
        """How many may have changed it."""
        return self.last - self.first

    @property
    def can_be_cut(self) -> bool:
        """Then its search leaves time for both halves, as between two changes it finds no end of its own."""
        return self.commits >= SHORTEST_CUT

    @property
    def found_out(self) -> BisectionOutcome:
        """What its own search came to."""
        assert self.outcome is not None, "it has been searched"
        return self.outcome


class SeveralSearches:
    """One `toll bisect --all` that times. Prints nothing."""

    def __init__(
        self,
        commits: CommitRange,
        builds: TreeBuilds,
        settings: SearchSettings,
        *,
        keep: Keep = lambda _record: None,
        hear: Hear = lambda _progress: None,
        before: KeptSearch | None = None,
        search: Callable[..., Search] = Search,
        **more: Any,
    ) -> None:
        """`more` is what every search is given, as `CommitSearch` takes it. The row has no merges."""
        self._listed = commits.last
        self._commits = commits.without_repeats()
        self._places = {commit.commit: place for place, commit in enumerate(self._commits.commits)}
        self._builds = builds
        self._settings = settings
        self._keep = keep
        self._hear = hear
        self._before = before or KeptSearch()
        self._search = search
        self._more = more
        self._all: list[BisectionOutcome] = []  # of every search, in order of time
        self._measured_s = self._seconds = 0.0
        self._launches = 0
        self._name = ""  # of the benchmark that is searched, once that is known

    def run(self) -> BisectionOutcome:
        """All of it. Raises as the first search does; what ends a later one leaves its part open."""
        whole = _Part(0, self._commits.last)
        waiting = deque([whole])
        while waiting:
            part = waiting.popleft()
            self._make_room(part, waiting)
            part.outcome = self._searched(part, len(waiting))
            self._all.append(part.outcome)
            part.inner = self._parts_of(part)
            waiting.extend(part.inner)
        return self._told(whole)

    def _make_room(self, part: _Part, waiting: Sequence[_Part]) -> None:
        """Drops builds that no search will ask for; those of the ends of what waits are kept meanwhile."""
        ends = [self._commits.commits[place] for one in waiting for place in (one.first, one.last)]
        self._builds.pinned = ends
        if self._all:
            inner = () if self._builds.room_is_short else range(part.first + 1, part.last)
            places = (part.first, *inner, part.last)
            self._builds.keep_only([self._commits.commits[place] for place in places])

    # One part.

    def _searched(self, part: _Part, waiting: int) -> BisectionOutcome:
        """The end of a search in it, or why there was none; `waiting` more parts are to be searched."""
        ends = self._commits.commits[part.first], self._commits.commits[part.last]
        nothing = Bisections(found=())
        unsearched = BisectionOutcome(
            SearchEnd.UNDECIDED, nothing, (), commits=part.commits, goes_on=True, ends=ends, part=True
        )
        if self._all and self._all[-1].end is SearchEnd.INTERRUPTED:
            why = self._all[-1].no_room or "interrupted"
            return replace(unsearched, end=SearchEnd.INTERRUPTED, reason=why)
        if min(self._left()) <= 0.0:
            return replace(unsearched, reason=str(TimeSpent.of(self._left())))
        row = replace(self._commits, commits=self._commits.commits[part.first : part.last + 1])
        before = self._before.parts.pop(row.named(1, row.last), KeptSearch())
        search = self._made(part, row, before, waiting)
        try:
            self._keep({PART: row.named(1, row.last)})
            outcome = self._in_its_place(search.run(), before.cut, search.scarce)
        except (Interrupted, LaunchFailed, TollError) as error:
            if not self._all:
                raise
            outcome = search.stopped(*_ended_by(error))
        finally:
            part.share_s = search.budget_s
            part.spent_s = max(search.measured_s, before.cut.spent_s if before.cut is not None else 0.0)
            self._measured_s += part.spent_s
            self._seconds += search.seconds
            self._launches += search.launches
        part.cut = before.cut
        self._name = self._name or (outcome.changes[0].benchmark if outcome.changes else before.searching)
        return replace(outcome, part=bool(self._all))

    def _made(self, part: _Part, row: CommitRange, before: KeptSearch, waiting: int) -> Search:
        """The search in a part, with its share of the time, or that which it had when it was cut."""
        spent_s, left = self._measured_s, self._left()
        share = 1.0 / (1 + waiting + part.can_be_cut)
        measuring_s = before.cut.measuring_s if before.cut is not None else left[0] * share
        budget_s = self._settings.measuring_s
        return self._search(
            row,
            self._builds,
            replace(
                self._settings,
                measuring_s=measuring_s,
                total_s=left[1] * share,
                seed=self._settings.seed + len(self._all),
            ),
            keep=self._keep,
            hear=lambda at: self._hear(SearchProgress(spent_s + at.spent_s, budget_s, at.told)),
            before=before,
            only=self._name,
            **self._more,
        )

    def _in_its_place(
        self, outcome: BisectionOutcome, cut: CutRecord | None, scarce: str
    ) -> BisectionOutcome:
        """As it is told beside others, of a part whose time is a share: of `scarce` there was less."""
        if cut is not None:
            undecided = [one.model_copy(update={"decided": False}) for one in outcome.printed.found]
            told = Bisections(found=tuple(undecided))
            return replace(outcome, end=SearchEnd.UNDECIDED, reason=cut.reason, goes_on=False, printed=told)
        if not self._all:
            return outcome
        if outcome.end is SearchEnd.UNDECIDED and not outcome.changes:
            # The forecast of the comparison of its ends is for a budget that nobody asked for.
            return replace(outcome, reason=_ENDS_OPEN.format(scarce), goes_on=True)
        if outcome.end is SearchEnd.UNDECIDED and outcome.goes_on and min(self._left()) > 0.0:
            return replace(outcome, reason=_SHARE_SPENT.format(scarce))
        if outcome.end is SearchEnd.FOUND and not any(step.rounds or step.same_as for step in outcome.path):
            # It was chosen by nothing but how two builds differ, which may be where their code lies.
            (found,) = outcome.printed.found
            found = found.model_copy(update={"probability": None, "decided": False})
            told = Bisections(found=(found,))
            return replace(outcome, end=SearchEnd.UNDECIDED, reason=_BY_ENDS_ALONE, printed=told)
        return outcome

    def _left(self) -> tuple[float, float]:
        """Of both budgets."""
        return self._settings.measuring_s - self._measured_s, self._settings.total_s - self._seconds

    def _parts_of(self, part: _Part) -> list[_Part]:
        """What is searched next: both sides of what was found, or both halves of what stayed open."""
        outcome = part.found_out
        if outcome.end is SearchEnd.FOUND:
            (suspects,) = outcome.suspects
            sides = (
                _Part(part.first, self._places[suspects[0].commit] - 1),
                _Part(self._places[suspects[-1].commit], part.last),
            )
            return [side for side in sides if side.commits]
        place = self._place_to_cut(part, outcome)
        return [] if place is None else [_Part(part.first, place), _Part(place, part.last)]

    def _place_to_cut(self, part: _Part, outcome: BisectionOutcome) -> int | None:
        """The measured commit nearest to the middle, where halves can be searched; the file says so.

        What was cut stays so: with other halves all that was measured in these would be of no use.
        """
        if part.cut is not None:
            place = self._places.get(part.cut.cut, -1)
            if not part.first < place < part.last:
                raise TollError(
                    f"the file is damaged: {part.cut.cut[:10]}, where a part was cut, is not in that part",
                    "begin anew, without --resume",
                )
            return place
        measured = [self._places[step.commit] for step in outcome.path if step.rounds]
        differs = outcome.end is SearchEnd.UNDECIDED and bool(outcome.changes)
        if not differs or not part.can_be_cut or not measured or min(self._left()) <= 0.0:
            return None
        place = min(measured, key=lambda one: abs(2 * one - part.first - part.last))
        cut = CutRecord(
            cut=self._commits.commits[place].commit,
            measuring_s=part.share_s,
            spent_s=part.spent_s,
            reason=outcome.reason,
        )
        try:
            self._keep(cut.model_dump(mode="json"))
        except Interrupted as ended:
            end, reason, full = _ended_by(ended)
            part.outcome = replace(outcome, end=end, reason=reason, no_room=full, goes_on=True)
            self._all[-1] = part.outcome
            return None
        return place

    # All parts together.

    def _ended(self, part: _Part) -> list[BisectionOutcome]:
        """What is told of a part: its answer and what is beside it, what its halves found, or its own end."""
        own = part.found_out
        below = [one for inner in part.inner for one in self._ended(inner)]
        if own.end is SearchEnd.FOUND or not below:
            return [own, *below]
        ends = {one.end for one in below}
        if SearchEnd.FOUND in ends:
            return below
        if ends == {SearchEnd.NO_CHANGE}:
            told = _MANY_SMALL.format(difference(self._settings.threshold))
            nothing = Bisections(found=())
            return [replace(own, reason=told, printed=nothing, suspects=(), goes_on=False)]
        # What its own search knows of all of it is more than what its halves do.
        interrupted = SearchEnd.INTERRUPTED in ends
        end = SearchEnd.INTERRUPTED if interrupted else own.end
        return [replace(own, end=end, goes_on=own.goes_on or any(one.goes_on for one in below))]

    def _told(self, whole: _Part) -> BisectionOutcome:
        ended = sorted(self._ended(whole), key=self._place)
        alone = len(ended) == 1 and ended[0].end is not SearchEnd.FOUND  # as without --all
        end = self._end_of(ended)
        launches = self._launches + sum(kept.launches for kept in self._before.parts.values())
        cost = {"launches": launches, "seconds": self._seconds}
        found = [change.model_copy(update=cost) for one in ended for change in one.printed.found]
        return replace(
            self._all[0],
            end=end,
            printed=Bisections(found=tuple(found)),
            suspects=tuple(suspects for one in ended for suspects in one.suspects),
            reason=ended[0].reason if alone else self._reason(end, ended),
            left_out=tuple({step.commit: step for one in self._all for step in one.left_out}.values()),
            commits=self._listed,
            launches=launches,
            seconds=self._seconds,
            notes=max((one.notes for one in self._all), key=len),
            path=tuple(step for one in self._all for step in one.path),
            goes_on=any(one.goes_on for one in ended),
            no_room=next((one.no_room for one in self._all if one.no_room), ""),
            places=self._places,
            searches=() if alone else tuple(ended),
        )

    def _place(self, outcome: BisectionOutcome) -> int:
        """Where what it tells of begins: what was found, else its part."""
        commit = outcome.suspects[0][0] if outcome.end is SearchEnd.FOUND else _ends(outcome)[0]
        return self._places[commit.commit]

    @staticmethod
    def _end_of(ended: Sequence[BisectionOutcome]) -> SearchEnd:
        ends = {one.end for one in ended}
        worst = (SearchEnd.INTERRUPTED, SearchEnd.UNDECIDED, SearchEnd.FOUND, SearchEnd.NO_CHANGE)
        return next(end for end in worst if end in ends)

    def _reason(self, end: SearchEnd, ended: Sequence[BisectionOutcome]) -> str:
        """What is open; where nothing is, what the ends of the other stretches are."""
        if end is SearchEnd.FOUND:
            alike = sum(one.end is SearchEnd.NO_CHANGE for one in ended)
            stretches = f"{several(alike, 'stretch', 'stretches')} of commits"
            threshold = difference(self._settings.threshold)
            return f"the ends of {stretches} beside do not differ by more than {threshold}" if alike else ""
        unsettled = next(one for one in ended if one.end is end)
        good, bad = _ends(unsettled)
        return f"from {good.short} to {bad.short}: {unsettled.reason}"


def _ends(outcome: BisectionOutcome) -> tuple[Commit, Commit]:
    """GOOD and BAD of its part."""
    assert outcome.ends is not None, "every search tells them"
    return outcome.ends


def _ended_by(error: Interrupted | LaunchFailed | TollError) -> tuple[SearchEnd, str, str]:
    """How a part ended, why it stays open, and which disk was full, where that is why."""
    if isinstance(error, Interrupted):
        full = lacking_room(error)
        return SearchEnd.INTERRUPTED, full or "interrupted", full
    return SearchEnd.UNDECIDED, error.what if isinstance(error, TollError) else error.reason, ""
