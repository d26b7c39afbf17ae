"""The interval of a median whose values come in clusters: launches of one layout of a program's code.

Order statistics take the number of values below the median for that of tossed coins. Where values of a
cluster lie on the same side more often than chance makes them, that number strays farther: for the signs of n
values in clusters of n1, n2, ... it has 1 + (sum of ni^2 / n - 1) r times the variance of independent ones,
where r is the correlation of two signs of a cluster (Kish, Survey Sampling, 1965, section 5.4). So n values
count as fewer independent ones, at least as many as there are clusters of one size, and the ranks are taken
at the same shares of n as for as many, as `tollbench.stats.serial` does for values that follow each other.

How alike they are is estimated twice, and the larger counts: by signs, which assume nothing, and by ranks,
which know it better, as if noise were Gaussian (Pearson 1907, Sheppard 1898). Both are distances from the
middle of the values themselves, which takes a part of it; that is given back, and `CAUTION` standard errors
of what chance makes them are added. docs/method-record.md has the simulations behind the constant.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.lasting import centred_ranks
from tollbench.stats.order_statistics import Floats, Interval, quantile_ranks

CAUTION = 0.5  # standard errors
_ROUNDING = 1e-9
Integers = NDArray[np.int64]


def clustered_interval(values: Floats, clusters: Integers | None, level: float) -> Interval | None:
    """Interval of the median of `values`, shape (n,), any unit; None where they count for too few.

    `clusters` has the number of each one's cluster, 0: it is alone in its own. Without any, or where none has
    two values, that of `median_interval`, exactly.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    found = clustered_ranks(ordered.size, independent(values, clusters), level)
    if found is None:
        return None
    lower, upper, achieved = found
    return Interval(float(ordered[lower - 1]), float(ordered[upper - 1]), achieved)


def clustered_ranks(count: int, counts_as: float, level: float) -> tuple[int, int, float] | None:
    """`quantile_ranks` of the median of `count` values that count for `counts_as` independent ones."""
    found = quantile_ranks(int(whole_of(np.array(counts_as))), 0.5, level)
    if found is None:
        return None
    lower = int(ranks_of(found[0], count, np.array(counts_as)))
    return lower, count + 1 - lower, found[2]


def whole_of(counts_as: Floats) -> Integers:
    """How many of them there are in full."""
    found: Integers = np.floor(counts_as + _ROUNDING).astype(np.int64)
    return found


def ranks_of(rank: int, count: int, counts_as: Floats) -> Integers:
    """The rank among `count` values for that among as many independent ones as they count for."""
    found: Integers = np.maximum(1, np.floor(rank * count / counts_as + _ROUNDING)).astype(np.int64)
    return found


def independent(values: Floats, clusters: Integers | None) -> float:
    """For how many independent values they count, shape (n,); n where no cluster has two."""
    if clusters is None or values.size < 4:
        return float(values.size)
    return float(independent_of_each(values[:, None], clusters)[0])


def independent_of_each(values: Floats, clusters: Integers) -> Floats:
    """The same of several columns, shape (n, columns), NaN where one has no value; shape of the result
    (columns,)."""
    found = _Clustered.of(values, clusters)
    if found is None:
        counts: Floats = np.isfinite(values).sum(axis=0).astype(np.float64)
        return counts
    return found.independent()


def alike(values: Floats, clusters: Integers) -> float:
    """Correlation of the signs of two values of a cluster, shape (n,), as it is seen: without caution.

    0 where no cluster has two, or they are less alike than chance makes them.
    """
    found = _Clustered.of(values[:, None], clusters)
    return float(found.alike(0.0)[0]) if found is not None else 0.0


def independent_at(count: float, clusters: int, alike: float) -> float:
    """For how many independent values so many will count, evenly from so many clusters: with the caution that
    there will be then."""
    more = count / clusters - 1.0
    if not more > 0.0:
        return count
    cautious = alike + CAUTION * math.sqrt(2.0 / max(1.0, count * more))
    return count / (1.0 + more * min(1.0, cautious))


class _Clustered(NamedTuple):
    """Columns of values, and who belongs together."""

    values: Floats
    of_cluster: Floats  # shape (clusters, n): 1 where a value is a member
    counts: Floats  # of each column
    more: Floats  # other members of a value's cluster, in the mean, of each column
    pairs: Floats  # twice those of two members of one cluster

    @classmethod
    def of(cls, values: Floats, clusters: Integers) -> _Clustered | None:
        """None where no two values share a cluster."""
        known = np.isfinite(values)
        numbers, members = np.unique(clusters[clusters > 0], return_inverse=True)
        if numbers.size == members.size:
            return None
        of_cluster = np.zeros((numbers.size, clusters.size))
        of_cluster[members, np.flatnonzero(clusters > 0)] = 1.0
        sizes = of_cluster @ known
        pairs = (sizes**2 - sizes).sum(axis=0)
        counts = known.sum(axis=0).astype(np.float64)
        return cls(values, of_cluster, counts, pairs / np.maximum(counts, 1.0), pairs)

    def independent(self) -> Floats:
        found: Floats = self.counts / (1.0 + self.more * self.alike(CAUTION))
        return found

    def alike(self, caution: float) -> Floats:
        """So many standard errors more than is seen, 0 to 1."""
        error = caution * np.sqrt(2.0 / np.maximum(self.pairs, 1.0))
        by_signs = self._correlation(_signs(self.values)) + error
        of_ranks = np.clip(self._correlation(_ranks(self.values)) + error, -1.0, 1.0)
        pearson = np.clip(2.0 * np.sin(np.pi / 6.0 * of_ranks), -1.0, 1.0)
        by_ranks = 2.0 / np.pi * np.arcsin(pearson)
        found: Floats = np.where(self.pairs > 0, np.clip(np.maximum(by_signs, by_ranks), 0.0, 1.0), 0.0)
        return found

    def _correlation(self, centred: Floats) -> Floats:
        """Of two members of a cluster, by all such pairs. What the common middle takes of it, (1 + more r)
        / n, is given back."""
        squares = (centred**2).sum(axis=0)
        together = ((self.of_cluster @ centred) ** 2).sum(axis=0) - (self.of_cluster @ centred**2).sum(axis=0)
        counts = np.maximum(self.counts, 2.0)
        scale = np.where(squares > 0, squares / counts, 1.0)
        seen = together / np.maximum(self.pairs, 1.0) / scale
        found: Floats = (seen + 1.0 / counts) / np.maximum(1.0 - self.more / counts, 1.0 / counts)
        return found


def _signs(values: Floats) -> Floats:
    """On which side of its column's median each lies: -1, 0 or 1; 0 where there is no value."""
    found: Floats = np.nan_to_num(np.sign(values - _nanmedian(values)))
    return found


def _ranks(values: Floats) -> Floats:
    """Mid-ranks within each column, centred; 0 where there is no value."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    order = np.argsort(values, axis=0, kind="stable")  # NaN last
    found = np.argsort(order, axis=0).astype(np.float64) + 1.0
    ordered = np.take_along_axis(values, order, axis=0)
    for column in np.flatnonzero((ordered[1:] == ordered[:-1]).any(axis=0)):
        here = known[:, column]
        found[here, column] = centred_ranks(values[here, column]) + (counts[column] + 1) / 2.0
    centred: Floats = np.where(known, found - (counts + 1) / 2.0, 0.0)
    return centred


def _nanmedian(values: Floats) -> Floats:
    ordered = np.sort(values, axis=0)  # NaN last
    counts = np.isfinite(values).sum(axis=0)
    columns = np.arange(values.shape[1])
    low, high = np.maximum(counts - 1, 0) // 2, np.maximum(counts, 1) // 2
    found: Floats = (ordered[low, columns] + ordered[high, columns]) / 2
    return found
