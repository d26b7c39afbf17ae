"""What a verdict rests on, and what would make it known better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tollbench.compare.subject import Two
from tollbench.compare.tracks import MEDIAN_SHARE, Track
from tollbench.stats import equivalence
from tollbench.stats.cluster_sequence import (
    centres_of,
    clusters_needed,
    fewest_clusters,
    mean_over_clusters,
    spread,
)
from tollbench.stats.sequential import fewest_pairs

BY_LAYOUTS = 0.25  # of the variance between layouts; of less, more launches narrow an interval as well
ALL_BY_LAYOUTS = 0.9  # of it: launching each layout more than twice would be wasted


@dataclass(frozen=True, slots=True)
class Needed:
    """What it takes to know a ratio to the threshold."""

    layouts: int  # 0: those that there are
    seconds: float  # wall time of this benchmark; 0: not known. Without layouts: beyond what it had


@dataclass(frozen=True, slots=True)
class TimeAllowed:
    """The time that there was, seconds."""

    budget_s: float  # a benchmark
    total_s: float  # all of them, in one measurement
    share: float = 1.0  # that this is of --total-budget, which two measurements have in common


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one verdict rests on."""

    middle: float  # log ratio; NaN without pairs
    pairs: int
    fewest: int  # pairs, or layouts, without which there is no interval
    layouts: int = 0  # of each side that were launched
    offered: int = 0  # of each side that there are; 0: the sides as they are
    spread: float | None = None  # between layouts of one side, log scale; 0: not seen, None: not known
    needed: Needed | None = None  # None: not known
    lasting: float | None = None  # correlation of neighbouring pairs where noise lasts; None: it was not seen
    limits: TimeAllowed | None = None
    seconds: float = 0.0  # that this benchmark had
    hidden: bool = False  # whether so few pairs could hide noise that lasts, and another answer


class JudgedBy(Protocol):
    """Of a judge."""

    @property
    def alpha(self) -> float:
        """What one interval may err with."""

    @property
    def threshold(self) -> float:
        """A difference beyond it matters: 0.01 is 1 %."""

    @property
    def limits(self) -> TimeAllowed | None:
        """The time that there was."""

    @property
    def layouts(self) -> int:
        """Of each side that there are; 0: the sides as they are."""


def evidence_of(track: Track, two: Two, terms: JudgedBy) -> Evidence:
    """Of one side against another."""
    logs = track.logs(two)
    if not terms.layouts:
        middle = float(np.median(logs)) if logs else math.nan
        lasts = track.lasting.get(two)
        return Evidence(
            middle,
            len(logs),
            fewest_pairs(terms.alpha * MEDIAN_SHARE),
            needed=_more(track, two, terms),
            seconds=track.seconds,
            limits=terms.limits,
            lasting=None if lasts is None else lasts.correlation,
            hidden=_hidden(track, two, terms.threshold),
        )
    numbers = track.layouts_of(two)
    return Evidence(
        mean_over_clusters(logs, numbers),
        len(logs),
        fewest_clusters(terms.alpha),
        layouts=len(set(numbers)),
        offered=terms.layouts,
        spread=_spread_of(track, two),
        needed=_needed(track, logs, numbers, terms),
        seconds=track.seconds,
        limits=terms.limits,
    )


def _hidden(track: Track, two: Two, threshold: float) -> bool:
    """Whether the answer, a direction or none that matters, is another one where noise lasts unseen."""
    wider = track.with_hidden(two)
    if equivalence.direction(*track.bounds(two)):
        return not equivalence.direction(*wider)
    return not equivalence.equivalent(*wider, threshold)


def _more(track: Track, two: Two, terms: JudgedBy) -> Needed | None:
    """The time beyond what there was until the ratio is known to the threshold, if all goes on as it did.

    An interval of pairs narrows with the root of their number, and has to lie between the margins where the
    sides are alike: what is in the middle now leaves less room. Where pairs are too few for an interval, the
    time until they are enough; a pair that did not end takes longer than what there was. None without any.
    """
    low, high = track.bounds(two)
    pairs, fewest = len(track.logs(two)), fewest_pairs(terms.alpha * MEDIAN_SHARE)
    if not track.seconds:
        return None
    if not math.isfinite(high - low):
        return Needed(0, track.seconds * (fewest / max(1, pairs) - 1.0 if pairs < fewest else 1.0))
    margin = math.log1p(terms.threshold)
    room = max(margin - abs((low + high) / 2.0), margin / 2.0)  # else a difference of about that size is told
    return Needed(0, max(0.0, track.seconds * (((high - low) / 2.0 / room) ** 2 - 1.0)))


def _spread_of(track: Track, sides: Sequence[int]) -> float | None:
    """Between layouts of one and the same side: the mean of what `sides` show."""
    found = [spread(*track.side_logs(side)) for side in sides]
    known = [one for one in found if one is not None]
    return float(np.mean(known)) if known else None


def _needed(track: Track, logs: Sequence[float], layouts: Sequence[int], terms: JudgedBy) -> Needed | None:
    between = spread(logs, layouts)
    if between is None:
        return None  # no layout was launched twice: whether more of them or more launches would do is open
    count = len(set(layouts))
    needed = clusters_needed(logs, layouts, terms.alpha, math.log1p(terms.threshold))
    share = between**2 / float(centres_of(logs, layouts).var(ddof=1)) if between else 0.0
    if share <= BY_LAYOUTS:
        return Needed(0, track.seconds * needed / count)
    visits = 2.0 if share > ALL_BY_LAYOUTS else max(2.0, len(logs) / count)
    return Needed(needed, track.seconds / len(track.values) * needed * visits)
