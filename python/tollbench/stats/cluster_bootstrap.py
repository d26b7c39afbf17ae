"""Quantiles of operations timed one by one, pooled over launches, with launches as clusters.

Operations of one launch share its memory layout, its threads' placement and its minute of the machine's
day, so a launch, not an operation, is what is replicated. Each launch is kept as counts on a
grid that all share, so that 10 million operations take a few megabytes and are read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.order_statistics import Floats, Interval

FEWEST_LAUNCHES = 8
FEWEST_BEYOND = 10
REPLICATES = 2000
MOST_CELLS = 10_000_000
_DROPPED_BITS = 13  # of a float32's 23 bits of fraction: 1024 bins an octave, each at most 0.1 % wide


@dataclass(frozen=True, slots=True)
class LaunchCounts:
    """The samples of one launch on the shared grid; `bins` ascending, `counts` of the same shape."""

    bins: NDArray[np.int64]
    counts: NDArray[np.int64]
    low: float
    high: float

    @property
    def total(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())


def count_samples(samples: NDArray[np.float32], times: NDArray[np.int64] | None = None) -> LaunchCounts:
    """Counts of one launch's samples, shape (n,), n >= 1, nanoseconds, finite.

    With `times`, of the same shape, they are distinct and ascending, and each occurred so many times.

    The grid is logarithmic, bins at most 0.1 % wide: the leading bits of a float32 as a whole number
    (as in HdrHistogram, G. Tene). Values below zero (the clock's overhead was overestimated) count as zero.
    """
    positive = np.maximum(samples, np.float32(0.0)) + np.float32(0.0)  # + 0: no negative zero
    bins = positive.view(np.uint32) >> np.uint32(_DROPPED_BITS)
    if times is not None:
        starts = np.flatnonzero(np.concatenate([[True], bins[1:] != bins[:-1]]))
        counts = np.add.reduceat(times, starts)
        return LaunchCounts(bins[starts].astype(np.int64), counts, float(positive[0]), float(positive[-1]))
    first = int(bins.min())
    counts = np.bincount(bins - np.uint32(first))
    filled = np.flatnonzero(counts)
    return LaunchCounts(filled + first, counts[filled], float(positive.min()), float(positive.max()))


class Pooled:
    """The samples of one case over all its launches: quantiles, their intervals, the distribution."""

    def __init__(self, launches: Sequence[LaunchCounts]) -> None:
        """Needs at least one launch. Bins are made wider where launches x bins would take too much memory."""
        coarser = 0
        grid = np.unique(np.concatenate([launch.bins for launch in launches]))
        while grid.size * len(launches) > MOST_CELLS:
            coarser += 1
            grid = np.unique(grid >> 1)
        self.totals: Floats = np.array([launch.total for launch in launches], dtype=np.float64)
        self.count = int(self.totals.sum())
        self.maximum = max(launch.high for launch in launches)
        minimum = min(launch.low for launch in launches)
        self.values: Floats = np.clip(_middle(grid, coarser), minimum, self.maximum)
        # Bins x launches, so that a bin's counts of all launches lie together for the bootstrap.
        counts = np.zeros((grid.size, len(launches)))
        for column, launch in enumerate(launches):
            places = np.searchsorted(grid, launch.bins >> coarser)
            counts[:, column] = np.bincount(places, weights=launch.counts, minlength=grid.size)
        self._cumulative: Floats = np.cumsum(counts, axis=0, out=counts)
        self.distribution: Floats = self._cumulative.sum(axis=1) / self.count

    def quantile(self, p: float) -> float:
        """The smallest grid value that a share `p` of all samples does not exceed; within 0.1 %."""
        return float(self.values[self._index(p)])

    def interval(self, p: float, level: float) -> Interval | None:
        """Interval of the pooled p-quantile at `level`; None where the launches cannot carry one.

        The hull of two intervals, because each alone covers too little in some situation (docs/method.md):
        * the percentile interval of the cluster bootstrap (2,000 draws of launches with
          replacement), widened for few launches by Student's quantile: Hesterberg (2015), section 5.3;
        * Woodruff's (1952): p -+ t * standard error of the share below the quantile, with launches
          as clusters (ratio estimator), read back through the distribution.
        Assumption: launches are independent and alike in distribution, operations within them need not be.
        None for fewer than 8 launches (one launch in three being slow stays unseen in 12 % of sets of 6, in
        6 % of 8) and where fewer than 10 samples are expected beyond the quantile.
        """
        launches = self.totals.size
        if launches < FEWEST_LAUNCHES or self.count * min(p, 1.0 - p) < FEWEST_BEYOND - 1e-6:
            return None
        from scipy.special import ndtr, stdtrit

        t = float(-stdtrit(launches - 1, (1.0 - level) / 2.0))
        indices = self._bootstrap(p)
        tail = float(ndtr(-t * np.sqrt(launches / (launches - 1))))
        drawn = np.sort(indices)
        cut = int(tail * REPLICATES)
        low, high = drawn[cut], drawn[REPLICATES - 1 - cut]
        low = min(int(low), self._index(p - t * self._standard_error(self._index(p))))
        high = max(int(high), self._upper(p, t))
        return Interval(float(self.values[low]), float(self.values[high]), level)

    def _upper(self, p: float, t: float) -> int:
        """Upper end of Woodruff's interval. Where it would reach past all samples: that of a quantile ten
        times rarer, which is no smaller and so bounds this one too. Ten launches in two regimes otherwise
        gave p90 an interval up to the largest sample, far beyond that of p99.
        """
        while True:
            reach = p + t * self._standard_error(self._index(p))
            rarer = 1.0 - (1.0 - p) / 10.0
            if reach < 1.0 or self.count * (1.0 - rarer) < FEWEST_BEYOND:
                return self._index(reach)
            p = rarer

    def _index(self, p: float) -> int:
        # A relative tolerance: cumulated shares such as 0.7 are not exact.
        return min(int(np.searchsorted(self.distribution, p - 1e-12)), self.values.size - 1)

    def _standard_error(self, index: int) -> float:
        below = self._cumulative[index]
        residual = below - self.distribution[index] * self.totals
        n = self.totals.size
        return float(np.sqrt(n / (n - 1) * np.sum(residual**2)) / self.count)

    def _bootstrap(self, p: float) -> NDArray[np.int64]:
        """Grid index of the p-quantile in each replicate: all replicates are bisected together."""
        weights = _weights(self.totals.size)
        wanted = p * (weights @ self.totals) - 1e-9
        low = np.zeros(REPLICATES, dtype=np.int64)
        high = np.full(REPLICATES, self.values.size - 1, dtype=np.int64)
        while np.any(low < high):
            middle = (low + high) // 2
            reached = np.einsum("rg,rg->r", weights, self._cumulative[middle]) >= wanted
            high = np.where(reached, middle, high)
            low = np.where(reached, low, middle + 1)
        return low


@lru_cache(maxsize=8)
def _weights(launches: int) -> Floats:
    """How often each replicate drew each launch; the same in each report of the same run."""
    shares = np.full(launches, 1.0 / launches)
    drawn = np.random.default_rng(launches).multinomial(launches, shares, REPLICATES)
    return drawn.astype(np.float64)


def thin_cdf(values: Floats, p: Floats, most: int = 400) -> tuple[Floats, Floats]:
    """At most `most` points of a distribution function for drawing; both ends and both tails are kept.

    `values` and `p` have shape (n,), ascending, p[-1] == 1. Half of the points are spaced evenly in
    log(1 - p), which an axis of nines needs, a quarter in log(p), a quarter in p.
    """
    if values.size <= most:
        return values, p
    smallest = max(1.0 - p[-2], 1e-12)
    budget = most - 2
    wanted = np.concatenate(
        [
            1.0 - np.geomspace(1.0, smallest, budget // 2),
            np.geomspace(p[0], 1.0, budget // 4),
            np.linspace(p[0], 1.0, budget // 4),
        ]
    )
    found = np.minimum(np.searchsorted(p, wanted), values.size - 1)
    chosen = np.unique(np.concatenate([[0, values.size - 1], found]))
    return values[chosen], p[chosen]


def value_of_bin(number: int) -> float:
    """The middle of a bin of `LaunchCounts`."""
    return float(_middle(np.array([number]), 0)[0])


def _middle(bins: NDArray[np.int64], coarser: int) -> Floats:
    shift = _DROPPED_BITS + coarser
    lowest = (bins << shift).astype(np.uint32).view(np.float32).astype(np.float64)
    highest = (((bins + 1) << shift) - 1).astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(bins == 0, 0.0, (lowest + highest) / 2.0)
