"""The interval of a median whose values come in clusters: launches of one layout of a program's code.

Order statistics take the number of values below the median for that of tossed coins. Where values of a
cluster lie on the same side more often than chance makes them, that number strays farther: for the signs of n
values in clusters of n1, n2, ... it has 1 + (sum of ni^2 / n - 1) r times the variance of independent ones,
where r is the correlation of two signs of a cluster (Kish, Survey Sampling, 1965, section 5.4). So n values
count as fewer independent ones, at least as many as there are clusters of one size, and the ranks are taken
at the same shares of n as for as many, as `tollbench.stats.serial` does for values that follow each other.

How alike they are is estimated twice, and the larger counts: by signs, which assume nothing, and by ranks,
which know it better, as if noise were Gaussian (Sheppard 1898). Both come out too small as the median is that
of the values themselves, which is corrected, and are raised by `CAUTION` standard errors of what chance makes
them. docs/method.md has the simulations that the constant was chosen by.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.order_statistics import Floats, Interval, quantile_ranks

CAUTION = 0.5
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
    if counts_as >= count:
        return quantile_ranks(count, 0.5, level)
    found = quantile_ranks(math.floor(counts_as + 1e-9), 0.5, level)
    if found is None:
        return None
    lower = max(1, math.floor(found[0] * count / counts_as))
    return lower, count + 1 - lower, found[2]


def independent(values: Floats, clusters: Integers | None) -> float:
    """For how many independent values they count, shape (n,); n where no cluster has two."""
    if clusters is None or values.size < 4:
        return float(values.size)
    return float(independent_of_each(values[:, None], clusters)[0])


def independent_of_each(values: Floats, clusters: Integers) -> Floats:
    """The same of several columns, shape (n, columns), NaN where one has no value; shape of the result
    (columns,)."""
    known = np.isfinite(values)
    counts: Floats = known.sum(axis=0).astype(np.float64)
    numbers, members = np.unique(clusters[clusters > 0], return_inverse=True)
    if not numbers.size:
        return counts
    of_cluster = np.zeros((numbers.size, clusters.size))  # who is a member of which
    of_cluster[members, np.flatnonzero(clusters > 0)] = 1.0
    sizes = of_cluster @ known
    squares = (sizes**2).sum(axis=0)
    alone = known[clusters <= 0].sum(axis=0)
    pairs = squares - sizes.sum(axis=0)  # twice those of two members of one cluster
    more = np.where(counts > 0, (squares + alone) / np.maximum(counts, 1.0) - 1.0, 0.0)
    error = np.sqrt(2.0 / np.maximum(pairs, 1.0))
    by_signs = _alike(_signs(values), of_cluster, pairs) + CAUTION * error
    by_ranks = (
        2.0
        / np.pi
        * np.arcsin(np.clip(_alike(_ranks(values), of_cluster, pairs) + CAUTION * error, -1.0, 1.0))
    )
    alike = np.clip(np.maximum(by_signs, by_ranks), 0.0, 1.0)
    found: Floats = np.where(pairs > 0, counts / (1.0 + more * alike), counts)
    return found


def _signs(values: Floats) -> Floats:
    """On which side of its column's median each lies: -1, 0 or 1; 0 where there is no value."""
    found: Floats = np.nan_to_num(np.sign(values - _nanmedian(values)))
    return found


def _ranks(values: Floats) -> Floats:
    """Ranks within each column, centred, of variance 1; 0 where there is no value. Ties as they come."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0) + 1.0  # NaN last
    found: Floats = np.where(known, ranks - (counts + 1) / 2.0, 0.0)
    scaled: Floats = found / np.sqrt(np.maximum(1.0, counts.astype(np.float64) ** 2 - 1.0) / 12.0)
    return scaled


def _nanmedian(values: Floats) -> Floats:
    ordered = np.sort(values, axis=0)  # NaN last
    counts = np.isfinite(values).sum(axis=0)
    columns = np.arange(values.shape[1])
    low, high = np.maximum(counts - 1, 0) // 2, np.maximum(counts, 1) // 2
    found: Floats = (ordered[low, columns] + ordered[high, columns]) / 2
    return found


def _alike(centred: Floats, of_cluster: Floats, pairs: Floats) -> Floats:
    """Correlation of two members of a cluster, by all such pairs; what the common middle takes is added."""
    squares = (centred**2).sum(axis=0)
    together = ((of_cluster @ centred) ** 2).sum(axis=0) - (of_cluster @ centred**2).sum(axis=0)
    counts = np.maximum((centred != 0).sum(axis=0), 2)
    mean = np.where(squares > 0, squares / counts, 1.0)
    found: Floats = together / np.maximum(pairs, 1.0) / mean + 1.0 / (counts - 1)
    return found
