"""Intervals from order statistics: exact for any distribution."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A two-sided interval in the unit of its values, with the level that it achieves."""

    low: float
    high: float
    level: float  # >= the level asked for, because order statistics are discrete


@lru_cache(maxsize=4096)
def quantile_ranks(n: int, p: float, level: float) -> tuple[int, int, float] | None:
    """Ranks (1-based) of the two order statistics that enclose the p-quantile, and the achieved level.

    Assumption: n independent values of one distribution, of any shape; nothing else. The number
    of values below the p-quantile is Binomial(n, p); each side gets at most (1 - level) / 2 of its
    mass. Ties only widen the coverage. None where n is too small for either side.
    Source: W. R. Thompson (1936); David and Nagaraja, Order Statistics, 3rd ed., section 7.1.
    """
    if n < 1 or not 0.0 < p < 1.0 or not 0.0 < level < 1.0:
        return None
    from scipy.special import bdtr, bdtrc

    tail = (1.0 - level) / 2.0 * (1.0 + 1e-12)  # 1 - level is not exact: 2**-k must not be lost to rounding
    below = bdtr(np.arange(n, dtype=np.float64), n, p)  # P(at most k of the n values lie below the quantile)
    above = bdtrc(np.arange(n, dtype=np.float64), n, p)  # P(more than k)
    lower = int(np.count_nonzero(below <= tail))
    reached = np.flatnonzero(above <= tail)
    if lower < 1 or reached.size == 0:
        return None
    upper = int(reached[0]) + 1
    return lower, upper, float(1.0 - below[lower - 1] - above[upper - 1])


def quantile_interval(values: ArrayLike, p: float, level: float) -> Interval | None:
    """Interval of the p-quantile of the distribution that `values` (shape (n,), any unit) came from.

    Assumption and source as `quantile_ranks`; with p = 0.5 and n = 8 the 95 % interval is the
    range from the smallest to the largest value. None where there are too few values.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    ranks = quantile_ranks(ordered.size, p, level)
    if ranks is None:
        return None
    lower, upper, achieved = ranks
    return Interval(float(ordered[lower - 1]), float(ordered[upper - 1]), achieved)


def tick_median(values: ArrayLike, step: float, counts: NDArray[np.int64] | None = None) -> float:
    """Median of `values`, shape (n,), n >= 1, which a clock has rounded to multiples of `step`, same unit.

    With `counts`, of the same shape, `values` are distinct and ascending and each occurred so often.

    Each value stands for all those within half a step of it: the grouped median, by linear interpolation
    within the tick that it falls into (Yule and Kendall, An Introduction to the Theory of Statistics).
    Without it 67 and 69 ns on a clock of 10 ns may read 63 and 73, and launch after launch agrees on that;
    and 1,000 and 1,003 ns read alike, with an interval without length. What it assumes is that operations
    scatter over a tick: where they scatter by a fifth of one, it is off by up to a fifth of a tick.
    """
    taken = np.asarray(values, dtype=np.float64)
    if counts is None:
        taken, counts = np.unique(taken, return_counts=True)
    below = np.cumsum(counts)  # and at each value
    total = int(below[-1])
    low, high = taken[np.searchsorted(below, [(total - 1) // 2, total // 2], side="right")]
    middle = float((low + high) / 2)
    if step <= 0:
        return middle
    # It lies within half a step of the plain median, so what is farther away than a step is only counted.
    first, last = np.searchsorted(taken, [middle - 2 * step, middle + 2 * step])
    near, often = taken[first:last], counts[first:last]
    farther = int(below[first - 1]) if first else 0
    corners, counted = _ticks_below(near.tolist(), often.tolist(), step)
    shares = [(farther + each) / total for each in counted]
    if not shares or not shares[0] < 0.5 < shares[-1]:  # between two ticks that lie far apart
        return middle
    first, last = bisect_left(shares, 0.5 - 1e-12), bisect_right(shares, 0.5 + 1e-12)
    return (_at_half(corners, shares, first) + _at_half(corners, shares, last)) / 2


def _ticks_below(
    ordered: Sequence[float], often: Sequence[int], step: float
) -> tuple[Sequence[float], Sequence[float]]:
    """The corners of the ticks, `step` wide, of `ordered`; below each corner the sum over `ordered`, each so
    `often`, of the part of its tick.

    Not by arrays: a clock has a handful of readings within two steps, a launch of many batches thousands of
    medians, and arrays of five numbers took three times as long.
    """
    half = step / 2
    numbers = [0, *accumulate(often)]
    sums = [0.0, *accumulate(value * count for value, count in zip(ordered, often, strict=True))]
    corners = sorted({*(value - half for value in ordered), *(value + half for value in ordered)})
    below = []
    for at in corners:
        whole, begun = bisect_right(ordered, at - half), bisect_left(ordered, at + half)
        parts = (numbers[begun] - numbers[whole]) * (at / step + 0.5) - (sums[begun] - sums[whole]) / step
        below.append(numbers[whole] + parts)
    return corners, below


def _at_half(corners: Sequence[float], shares: Sequence[float], upper: int) -> float:
    """Where the line from the corner before `upper` to it passes one half."""
    (start, end), (low, high) = corners[upper - 1 : upper + 1], shares[upper - 1 : upper + 1]
    return start + (0.5 - low) / (high - low) * (end - start)


def median_interval(values: ArrayLike, level: float) -> Interval | None:
    """Interval of the median; at 95 % it needs six values, at 99 % eight (`fewest_values`)."""
    return quantile_interval(values, 0.5, level)


def fewest_values(level: float) -> int:
    """Smallest n with an interval of the median at `level`: the range of n values misses it with 2**(1-n)."""
    miss = max(1.0 - level, 2.0**-53)  # a level corrected for very many comparisons may round to 1
    return max(2, math.ceil(1.0 - math.log2(miss * (1.0 + 1e-12))))


def spread(values: ArrayLike) -> float | None:
    """Robust standard deviation of log(`values`), positive: 1.4826 x the median absolute deviation.

    The factor makes it the standard deviation where the logarithms are normal; nothing relies on
    that. None for fewer than two values. Source: Rousseeuw and Croux (1993), section 1.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    if logs.size < 2:
        return None
    return float(1.4826 * np.median(np.abs(logs - np.median(logs))))
