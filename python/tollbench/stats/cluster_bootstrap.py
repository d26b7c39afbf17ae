"""Quantiles of operations timed one by one, pooled over launches, with launches as clusters: those of one
layout of a program's code as one, once layouts come again.

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
# Steps by which an interpolated quantile may be off, times the square of the largest reading's share.
UNSEEN_MIDDLE, UNSEEN_TAIL = 0.15, 1.5
_DROPPED_BITS = 13  # of a float32's 23 bits of fraction: 1024 bins an octave, each at most 0.1 % wide


@dataclass(frozen=True, slots=True)
class LaunchCounts:
    """The samples of one launch on the shared grid: `bins` ascending, `counts` and `sums` as many."""

    bins: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: Floats  # of the samples in each bin: a bin that holds one tick of the clock keeps it exactly
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
        sums = np.add.reduceat(positive * times.astype(np.float64), starts)
        ends = float(positive[0]), float(positive[-1])
        return LaunchCounts(bins[starts].astype(np.int64), counts, sums, *ends)
    first = int(bins.min())
    counts = np.bincount(bins - np.uint32(first))
    sums = np.bincount(bins - np.uint32(first), weights=positive).astype(np.float64)
    filled = np.flatnonzero(counts)
    ends = float(positive.min()), float(positive.max())
    return LaunchCounts(filled + first, counts[filled], sums[filled], *ends)


class Pooled:
    """The samples of one case over all its launches: quantiles, their intervals, the distribution.

    A clock that reads whole steps makes one number of all operations within half a step of it. Each value so
    stands for as many on both sides, no farther than half way to its neighbours, and quantiles lie between
    these edges as the shares do (the grouped quantile: Yule and Kendall, An Introduction to the Theory of
    Statistics). What that assumes is that operations scatter over a step: docs/method-record.md has how
    far off it is where they do not.
    """

    def __init__(
        self, launches: Sequence[LaunchCounts], step: float = 0.0, layouts: Sequence[int] = ()
    ) -> None:
        """Needs at least one launch. Bins are made wider where launches x bins would take too much memory.

        `step` is the clock's, in the samples' unit; 0 where they are finer than it: then a quantile is one of
        the grid's values. `layouts` has the number of each launch's layout, 0: it is not known, or there is
        one alone.
        """
        of_cluster = _clusters(layouts) if len(layouts) == len(launches) else np.arange(len(launches))
        clusters = int(of_cluster.max()) + 1
        coarser = 0
        grid = np.unique(np.concatenate([launch.bins for launch in launches]))
        while grid.size * clusters > MOST_CELLS:
            coarser += 1
            grid = np.unique(grid >> 1)
        self.totals: Floats = np.zeros(clusters)
        np.add.at(self.totals, of_cluster, [float(launch.total) for launch in launches])
        self.count = int(self.totals.sum())
        self.maximum = max(launch.high for launch in launches)
        minimum = min(launch.low for launch in launches)
        # Bins x clusters, so that a bin's counts of all of them lie together for the bootstrap.
        counts = np.zeros((grid.size, clusters))
        sums = np.zeros(grid.size)
        for column, launch in zip(of_cluster.tolist(), launches, strict=True):
            places = np.searchsorted(grid, launch.bins >> coarser)
            counts[:, column] += np.bincount(places, weights=launch.counts, minlength=grid.size)
            sums += np.bincount(places, weights=launch.sums, minlength=grid.size)
        self.values: Floats = np.clip(sums / counts.sum(axis=1), minimum, self.maximum)
        self._cumulative: Floats = np.cumsum(counts, axis=0, out=counts)
        self.distribution: Floats = self._cumulative.sum(axis=1) / self.count
        self._edges = _edges(self.values, _width(grid, coarser), step)
        self._step = step
        self._largest_share = float(np.diff(self.distribution, prepend=0.0).max())

    def quantile(self, p: float) -> float:
        """What a share `p` of all samples does not exceed, none beyond the largest; within 0.1 %.

        Without a step the smallest such value of the grid, else between the edges of what it stands for.
        """
        index = np.array([self._index(p)])
        reached = [self._below(self.distribution, index + at) for at in (-2, -1, 0, 1)]
        return float(self._within(index, np.array([p]), reached)[0])

    def interval(self, p: float, level: float) -> Interval | None:
        """Interval of the pooled p-quantile at `level`; None where the launches cannot carry one.

        The hull of two intervals, because each alone covers too little in some situation (docs/method.md):
        * the percentile interval of the cluster bootstrap (2,000 draws of launches with
          replacement), widened for few launches by Student's quantile: Hesterberg (2015), section 5.3;
        * Woodruff's (1952): p -+ t * standard error of the share below the quantile, with launches
          as clusters (ratio estimator), read back through the distribution.
        Assumption: clusters are independent and alike in distribution, operations within them need not be.
        Each launch is one, or all launches of one layout are: they share what their code's place does.
        Where many samples read alike, operations scatter by less than the clock's step: it tells where their
        middle lies, and of their tails no more than within a step. The interval is wider by what simulations
        of that err by, as the largest reading's share squared (docs/method.md).
        None for fewer than 8 clusters (one launch in three being slow stays unseen in 12 % of sets of 6, in
        6 % of 8) and where fewer than 10 samples are expected beyond the quantile.
        """
        launches = self.totals.size
        if launches < FEWEST_LAUNCHES or self.count * min(p, 1.0 - p) < FEWEST_BEYOND - 1e-6:
            return None
        from scipy.special import ndtr, stdtrit

        t = float(-stdtrit(launches - 1, (1.0 - level) / 2.0))
        drawn = np.sort(self._bootstrap(p))
        tail = float(ndtr(-t * np.sqrt(launches / (launches - 1))))
        cut = int(tail * REPLICATES)
        low = min(float(drawn[cut]), self.quantile(p - t * self._standard_error(p)))
        high = max(float(drawn[REPLICATES - 1 - cut]), self._upper(p, t))
        reach = self._step * self._largest_share**2 * (UNSEEN_MIDDLE if p == 0.5 else UNSEEN_TAIL)
        return Interval(max(0.0, low - reach), high + reach, level)

    def _upper(self, p: float, t: float) -> float:
        """Upper end of Woodruff's interval. Where it would reach past all samples: that of a quantile ten
        times rarer, which is no smaller and so bounds this one too. Ten launches in two regimes otherwise
        gave p90 an interval up to the largest sample, far beyond that of p99.
        """
        while True:
            reach = p + t * self._standard_error(p)
            rarer = 1.0 - (1.0 - p) / 10.0
            if reach < 1.0 or self.count * (1.0 - rarer) < FEWEST_BEYOND:
                return self.quantile(reach)
            p = rarer

    def _index(self, p: float) -> int:
        # A relative tolerance: cumulated shares such as 0.7 are not exact.
        return min(int(np.searchsorted(self.distribution, p - 1e-12)), self.values.size - 1)

    @staticmethod
    def _below(cumulated: Floats, indices: NDArray[np.int64]) -> Floats:
        """What is at or below the grid values at `indices`: nothing before the first, all after the last."""
        found = cumulated.take(indices, axis=0, mode="clip")
        found[indices < 0] = 0.0
        return np.asarray(found, dtype=np.float64)

    def _within(self, indices: NDArray[np.int64], wanted: Floats, reached: Sequence[Floats]) -> Floats:
        """Where between their edges the values at `indices` have so many samples below.

        `reached` has how many are at or below the value before the last one, the last one, this one, the
        next one. The density leans as that of the neighbours does. And readings in whole steps are spread by
        a step's width more than operations, which moves a quantile outwards by its variance, halved, times
        how steeply the density falls (as in Sheppard's corrections of moments, 1898).
        """
        lower, upper = self._edges[0][indices], self._edges[1][indices]
        width = upper - lower
        inside = np.maximum(reached[2] - reached[1], 1e-15)
        part = np.clip((wanted - reached[1]) / inside, 0.0, 1.0)
        lean = (
            (
                self._density(indices + 1, reached[3] - reached[2])
                - self._density(indices - 1, reached[1] - reached[0])
            )
            * width
            / (2.0 * inside)
        )
        lean = np.clip(lean, -1.0, 1.0)  # so that it is nowhere below zero
        # part = (1 - lean / 2) x + lean / 2 x^2
        root = np.sqrt(np.maximum((1.0 - lean / 2.0) ** 2 + 2.0 * lean * part, 0.0))
        place = 2.0 * part / (1.0 - lean / 2.0 + root)
        moved = lean / 24.0 / np.maximum(1.0 + lean * (place - 0.5), 0.25)
        return np.asarray(np.clip(lower + (place + moved) * width, 0.0, self.maximum), dtype=np.float64)

    def _density(self, indices: NDArray[np.int64], inside: Floats) -> Floats:
        """Samples over the width that they stand for; none where there is no such value."""
        lower, upper = self._edges
        taken = np.clip(indices, 0, lower.size - 1)
        width = upper[taken] - lower[taken]
        there = (indices == taken) & (width > 0.0)
        return np.where(there, inside / np.where(there, width, 1.0), 0.0)

    def _standard_error(self, p: float) -> float:
        """Of the share of samples below the p-quantile; without a step, at or below it."""
        index = self._index(p)
        below, share = self._cumulative[index], self.distribution[index]
        if index and self._edges[1][index] > self._edges[0][index]:
            before = self.distribution[index - 1]
            rest = float(np.clip((share - p) / (share - before), 0.0, 1.0))
            below = (1.0 - rest) * below + rest * self._cumulative[index - 1]
            share = (1.0 - rest) * share + rest * before
        residual = below - share * self.totals
        n = self.totals.size
        return float(np.sqrt(n / (n - 1) * np.sum(residual**2)) / self.count)

    def _own_quantiles(self, p: float) -> tuple[int, int]:
        """Indices of the least and the greatest of the launches' own p-quantiles: no mixture of launches has
        its own outside."""
        found = [
            # What rounding may do to a sum of launches stays within.
            (np.searchsorted(below, wanted * (1.0 - 1e-9)), np.searchsorted(below, wanted * (1.0 + 1e-9)))
            for below, wanted in zip(self._cumulative.T, p * self.totals, strict=True)
        ]
        return int(min(found)[0]), int(min(max(high for _, high in found), self.values.size - 1))

    def _bootstrap(self, p: float) -> Floats:
        """The p-quantile of each replicate: all replicates are bisected together."""
        weights = _weights(self.totals.size)
        wanted = p * (weights @ self.totals) - 1e-9

        def reached(indices: NDArray[np.int64]) -> Floats:
            found = self._below(self._cumulative, indices)
            return np.asarray(np.einsum("rg,rg->r", weights, found), dtype=np.float64)

        lowest, highest = self._own_quantiles(p)
        low = np.full(REPLICATES, lowest, dtype=np.int64)
        high = np.full(REPLICATES, highest, dtype=np.int64)
        while np.any(low < high):
            middle = (low + high) // 2
            enough = reached(middle) >= wanted
            high = np.where(enough, middle, high)
            low = np.where(enough, low, middle + 1)
        return self._within(low, wanted, [reached(low + at) for at in (-2, -1, 0, 1)])


def _clusters(layouts: Sequence[int]) -> NDArray[np.int64]:
    """The cluster of each launch, 0, 1, ...: that of its layout; its own where nobody knows that. Of programs
    with a single layout each is its own too: what there is to know is about that one."""
    numbers = np.array(layouts, dtype=np.int64)
    if np.unique(numbers[numbers > 0]).size < 2:
        return np.arange(numbers.size)
    alone = np.where(numbers > 0, numbers, -1 - np.arange(numbers.size))
    _, first, found = np.unique(alone, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # in the order of launches
    return np.asarray(rank[found.reshape(-1)], dtype=np.int64)


def _edges(values: Floats, widths: Floats, step: float) -> tuple[Floats, Floats]:
    """Lower and upper edges of what each of `values`, ascending, stands for; the values without a step."""
    if step <= 0.0:
        return values, values
    half = np.maximum(widths, step) / 2.0
    halfway = (values[1:] + values[:-1]) / 2.0
    lower = np.maximum(values - half, np.concatenate([[-np.inf], halfway]))
    upper = np.minimum(values + half, np.concatenate([halfway, [np.inf]]))
    return lower, upper


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
    lowest, highest = _ends(bins, coarser)
    return np.where(bins == 0, 0.0, (lowest + highest) / 2.0)


def _width(bins: NDArray[np.int64], coarser: int) -> Floats:
    lowest, highest = _ends(bins, coarser)
    return np.where(bins == 0, 0.0, highest - lowest)


def _ends(bins: NDArray[np.int64], coarser: int) -> tuple[Floats, Floats]:
    shift = _DROPPED_BITS + coarser
    lowest = (bins << shift).astype(np.uint32).view(np.float32).astype(np.float64)
    highest = (((bins + 1) << shift) - 1).astype(np.uint32).view(np.float32).astype(np.float64)
    return lowest, highest
