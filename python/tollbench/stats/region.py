"""Where an interval lies beside a region that was named before anything was measured."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

from tollbench.stats.order_statistics import Interval


class Region(NamedTuple):
    """From `low` to `high`, both inside; 0 and infinity leave an end open."""

    low: float
    high: float

    def holds(self, interval: Interval) -> bool | None:
        """True where the interval lies inside, False where it lies outside, None where it does neither.

        A true value on an end is called inside, or outside, with at most the probability that the interval
        misses it on that side; inside and outside together with at most 1 - its level.
        """
        if self.low <= interval.low and interval.high <= self.high:
            return True
        if interval.high < self.low or interval.low > self.high:
            return False
        return None

    def distance(self, interval: Interval) -> float:
        """Log ratio from the interval to the nearest end that is not open; infinite where both are."""
        ends = [end for end in self if 0.0 < end < math.inf]
        gaps = [
            abs(math.log(side / end))
            for end in ends
            for side in (interval.low, interval.high)
            if 0.0 < side < math.inf
        ]
        return min(gaps, default=math.inf)


def quotient_interval(above: Interval, below: Interval) -> Interval | None:
    """Interval of the quotient of two positive numbers, whatever their dependence.

    It covers where both intervals do: with at least their two levels, less 1 (Bonferroni). An interval of
    level 1 and no width is an exact number. None where an end is not above 0.
    """
    if not (above.low > 0.0 and below.low > 0.0):
        return None
    level = above.level + below.level - 1.0
    return Interval(above.low / below.high, min(above.high / below.low, sys.float_info.max), level)
