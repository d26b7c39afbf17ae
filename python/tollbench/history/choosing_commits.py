"""Which commits a history measures next: what is new, what lies around a change, and the middle of gaps.

Old commits that nothing happened at are measured last, and thinly; pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import NamedTuple

MOST_VISITS = 3  # of a commit whose value is doubted
MOST_BESIDE_A_CHANGE = 4  # likewise, of those that decide with which commit a change came
_BESIDE = 3  # measured commits on either side of where a change may lie, at 95 %
_HALF_LIFE = 0.25  # of the row: a gap that lies further back by so much counts half


class CommitRun(NamedTuple):
    """Places in the row, both included: a change came with one of them."""

    first: int
    last: int


def order_of_measuring(
    count: int,
    visits: Sequence[int],
    changes: Sequence[CommitRun] = (),
    doubted: Set[int] = frozenset(),
    failed: Set[int] = frozenset(),
    suspected: Sequence[CommitRun] = (),
) -> list[int]:
    """Places of commits, the most important first; each once, and no more than are worth a visit.

    `visits` says of each place in how many sessions it was measured. First the newest and the oldest; then
    the middle of what a change may have come with, again and again; then those whose value is `doubted`, and
    those that a change of several commits lies between, with some on either side; then those around a change
    that is only `suspected`, and those that `failed` to build or to run; then the middles of gaps, in which a
    recent commit counts more. What was measured is visited three times at most, around a change four times.
    """
    order: dict[int, None] = {}
    known = {place for place in range(count) if visits[place]}
    for place in (count - 1, 0):
        if count and place not in known:
            order[place] = None
            known.add(place)
    for place in _halving(changes, known):
        order[place] = None
    measured = [place for place in range(count) if visits[place] and place not in failed]
    near = [place for run in changes for place in _near(run, measured)]
    maybe = (place for run in suspected for place in range(run.first, run.last + 1) if place not in failed)
    for again, most in (
        (sorted(doubted, reverse=True), MOST_VISITS),
        (near, MOST_BESIDE_A_CHANGE),
        ([*maybe, *sorted(failed, reverse=True)], MOST_VISITS),
    ):
        order |= dict.fromkeys(place for place in again if 0 < visits[place] < most)
    for place in _middles(count, known | set(order)):
        order[place] = None
    return list(order)


def _near(run: CommitRun, measured: Sequence[int]) -> Sequence[int]:
    """The commits that decide with which of several a change came, which need not be one of these several."""
    if run.first == run.last:
        return ()
    begin, end = bisect_left(measured, run.first - 1), bisect_right(measured, run.last)
    return measured[max(0, begin - _BESIDE) : end + _BESIDE]


def _halving(changes: Sequence[CommitRun], known: Set[int]) -> list[int]:
    """Of each change in turn the commit that halves the longest run of unmeasured ones it may lie in."""
    found: list[int] = []
    seen = set(known)
    left = list(changes)
    while left:
        again = []
        for run in left:
            place = _middle_of_longest(run.first - 1, run.last + 1, seen)
            if place is not None:
                seen.add(place)
                found.append(place)
                again.append(run)
        left = again
    return found


def _middle_of_longest(before: int, after: int, seen: Set[int]) -> int | None:
    """The middle of the longest run between both that nobody has seen."""
    ends = [before, *(place for place in range(before + 1, after) if place in seen), after]
    begin, end = max(pairwise(ends), key=lambda ends: ends[1] - ends[0])
    return (begin + end) // 2 if end - begin > 1 else None


def _middles(count: int, known: Set[int]) -> list[int]:
    """The middles of gaps, the most important first, until none is left."""
    import heapq

    ends = sorted(known)
    gaps = [_Gap.of(begin, end, count) for begin, end in pairwise(ends) if end - begin > 1]
    heapq.heapify(gaps)
    found = []
    while gaps:
        gap = heapq.heappop(gaps)
        middle = (gap.begin + gap.end) // 2
        found.append(middle)
        for begin, end in ((gap.begin, middle), (middle, gap.end)):
            if end - begin > 1:
                heapq.heappush(gaps, _Gap.of(begin, end, count))
    return found


class _Gap(NamedTuple):
    """Between two commits that are measured; the most important one sorts first."""

    rank: float
    begin: int
    end: int

    @staticmethod
    def of(begin: int, end: int, count: int) -> _Gap:
        age = (count - end) / max(1.0, _HALF_LIFE * count)
        return _Gap(-(end - begin) * 0.5**age, begin, end)
