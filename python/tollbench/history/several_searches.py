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
from dataclasses import replace
from typing import Any

from tollbench.compare.subject import Keep
from tollbench.errors import TollError
from tollbench.history.bisecting import Search
from tollbench.history.bisections import BisectionOutcome, Bisections, SearchEnd
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.commit_search import Hear, SearchProgress, SearchSettings, TimeSpent
from tollbench.history.kept_search import PART, KeptSearch
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.failure import Interrupted
from tollbench.numbers import difference
from tollbench.text import several

SHORTEST_CUT = 12  # commits of a row that is cut: halves of fewer tell too little of how builds scatter
_ALONE = (
    "it is a single commit, and no build beside it tells whether its code or the place of its code changed it"
)
_Part = tuple[int, int]  # the places of its GOOD and its BAD in the whole row


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
        """`more` is what every search is given, as `CommitSearch` takes it."""
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

    def run(self) -> BisectionOutcome:
        """All of it. Raises as the first search does; what ends a later one leaves its part open."""
        waiting: deque[_Part] = deque([(0, self._commits.last)])
        ended: list[BisectionOutcome] = []
        while waiting:
            part = waiting.popleft()
            outcome = self._searched(part)
            self._all.append(outcome)
            inner = self._parts_of(part, outcome)
            if outcome.end is SearchEnd.FOUND or not inner:  # else its parts stand for it
                ended.append(outcome)
            waiting.extend(inner)
        return self._whole(ended)

    # One part.

    def _searched(self, part: _Part) -> BisectionOutcome:
        """The end of a search in it, or why there was none."""
        if self._all and self._all[-1].end is SearchEnd.INTERRUPTED:
            return self._open(part, "interrupted", SearchEnd.INTERRUPTED)
        left = self._settings.measuring_s - self._measured_s, self._settings.total_s - self._seconds
        if min(left) <= 0.0:
            return self._open(part, str(TimeSpent.of(left)), SearchEnd.UNDECIDED, goes_on=True)
        row = replace(self._commits, commits=self._commits.commits[part[0] : part[1] + 1])
        name = row.named(1, row.last)
        spent_s = self._measured_s
        search = self._search(
            row,
            self._builds,
            replace(
                self._settings,
                measuring_s=left[0],
                total_s=left[1],
                seed=self._settings.seed + len(self._all),
            ),
            keep=self._keep,
            hear=lambda at: self._hear(
                SearchProgress(spent_s + at.spent_s, self._settings.measuring_s, at.told)
            ),
            before=self._before.parts.pop(name, None),
            only=self._all[0].changes[0].benchmark if self._all else "",
            **self._more,
        )
        try:
            self._keep({PART: name})
            outcome = search.run()
        except (Interrupted, TollError) as error:
            if not self._all:
                raise
            outcome = self._open(part, *_told(error))
        finally:
            self._measured_s += search.measured_s
            self._seconds += search.seconds
            self._launches += search.launches
        if self._all and part[1] - part[0] == 1 and outcome.end is SearchEnd.FOUND:
            # Alone it was chosen by nothing but how its two builds differ, which may be where code lies.
            return replace(outcome, end=SearchEnd.UNDECIDED, reason=_ALONE)
        return outcome

    def _open(self, part: _Part, reason: str, end: SearchEnd, *, goes_on: bool = False) -> BisectionOutcome:
        """A part that was not searched to its end."""
        ends = self._commits.commits[part[0]], self._commits.commits[part[1]]
        goes_on = goes_on or end is SearchEnd.INTERRUPTED
        return BisectionOutcome(
            end, Bisections(found=()), (), reason, commits=part[1] - part[0], goes_on=goes_on, ends=ends
        )

    def _parts_of(self, part: _Part, outcome: BisectionOutcome) -> list[_Part]:
        """What is searched next: both sides of what was found, or both halves of what stayed open."""
        first, last = part
        if outcome.end is SearchEnd.FOUND:
            (suspects,) = outcome.suspects
            sides = (first, self._places[suspects[0].commit] - 1), (self._places[suspects[-1].commit], last)
            return [side for side in sides if side[0] < side[1]]
        differs = outcome.end is SearchEnd.UNDECIDED and bool(outcome.changes) and not outcome.goes_on
        measured = [self._places[step.commit] for step in outcome.path if step.rounds]
        if not differs or last - first < SHORTEST_CUT or not measured:
            return []
        cut = min(measured, key=lambda place: abs(2 * place - first - last))
        return [(first, cut), (cut, last)]

    # All parts together.

    def _whole(self, ended: Sequence[BisectionOutcome]) -> BisectionOutcome:
        first = self._all[0]
        if len(self._all) == 1 and first.end is not SearchEnd.FOUND:
            return first
        ended = sorted(ended, key=self._place)
        end = self._end_of(ended)
        launches = self._launches + sum(kept.launches for kept in self._before.parts.values())
        return replace(
            first,
            end=end,
            printed=Bisections(
                found=tuple(
                    found.model_copy(update={"launches": launches, "seconds": self._seconds})
                    for one in ended
                    for found in one.printed.found
                )
            ),
            suspects=tuple(suspects for one in ended for suspects in one.suspects),
            reason=self._reason(end, ended),
            left_out=tuple({step.commit: step for one in self._all for step in one.left_out}.values()),
            commits=self._listed,
            launches=launches,
            seconds=self._seconds,
            notes=max((one.notes for one in self._all), key=len),
            path=tuple(step for one in self._all for step in one.path),
            goes_on=any(one.goes_on for one in ended),
            places=self._places,
            searches=tuple(ended),
        )

    def _place(self, outcome: BisectionOutcome) -> int:
        """Where what it tells of begins: what was found, else its part."""
        commit = outcome.suspects[0][0] if outcome.end is SearchEnd.FOUND else _ends(outcome)[0]
        return self._places[commit.commit]

    @staticmethod
    def _end_of(ended: Sequence[BisectionOutcome]) -> SearchEnd:
        ends = {one.end for one in ended}
        worst = (SearchEnd.INTERRUPTED, SearchEnd.UNDECIDED, SearchEnd.FOUND)
        # Without a change in any part, though the whole row's ends differ, it is open who did it.
        return next((end for end in worst if end in ends), SearchEnd.UNDECIDED)

    def _reason(self, end: SearchEnd, ended: Sequence[BisectionOutcome]) -> str:
        """What is open; where nothing is, what the ends of the other stretches are."""
        alike = [one for one in ended if one.end is SearchEnd.NO_CHANGE]
        stretches = f"{several(len(alike), 'stretch', 'stretches')} of commits"
        threshold = difference(self._settings.threshold)
        if end is SearchEnd.FOUND:
            return f"the ends of {stretches} beside do not differ by more than {threshold}" if alike else ""
        unsettled = [one for one in ended if one.end in (SearchEnd.UNDECIDED, SearchEnd.INTERRUPTED)]
        if not unsettled:
            return f"GOOD and BAD differ, but the ends of none of {stretches} by more than {threshold}"
        good, bad = _ends(unsettled[0])
        return f"from {good.short} to {bad.short} {unsettled[0].reason}"


def _ends(outcome: BisectionOutcome) -> tuple[Commit, Commit]:
    """GOOD and BAD of its part."""
    assert outcome.ends is not None  # every search tells them
    return outcome.ends


def _told(error: Interrupted | TollError) -> tuple[str, SearchEnd]:
    """Why a part stays open, and how it ended."""
    if isinstance(error, TollError):
        return f"{error.what} ({error.next_step})", SearchEnd.UNDECIDED
    return "interrupted", SearchEnd.INTERRUPTED
