"""The interval of a median whose values come in clusters: launches of one layout of a program's code.

Order statistics take the number of values below the median for that of tossed coins. Where values of a
cluster lie on the same side more often than chance makes them, that number strays farther: for the signs of n
values in clusters of n1, n2, ... it has 1 + (sum of ni^2 / n - 1) r times the variance of independent ones,
where r is the correlation of two signs of a cluster (Kish, Survey Sampling, 1965, section 5.4). So n values
count as fewer independent ones, and the ranks are taken at the same shares of n as for as many, as
`tollbench.stats.serial` does for values that follow each other. Clusters of one size count for as many as
there are at least; where some have more values than others, values that are their clusters count for fewer.

How alike they are is estimated twice, and the larger counts: by signs, which assume nothing, and by ranks,
which know it better, as if noise were Gaussian (Pearson 1907, Sheppard 1898). Both are distances from the
middle of the values themselves, which takes a part of it; that is given back, and `CAUTION` standard errors
of what chance makes them are added. docs/method-record.md has the simulations behind the constant.

Clusters' first second values would widen an interval: of a few pairs nobody knows how alike they are. Until
all values make a narrower one, it is made of each cluster's first value alone, which are independent. That
is decided by how many values each cluster has and by the level, never by what the values are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.lasting import centred_ranks
from tollbench.stats.order_statistics import Floats, Interval, quantile_ranks

CAUTION = 0.5  # standard errors
# Standard errors by which values that are not alike look so, with the caution: by simulation each in one case
# of six; and somewhat more, for what must not be wider.
_BY_CHANCE = (0.0, 0.4, 0.6, 0.9, 1.2, 1.9)
_LARGER = (0.5, 1.0, 1.5, 2.0)
_ROUNDING = 1e-9
Integers = NDArray[np.int64]


def clustered_interval(values: Floats, clusters: Integers | None, level: float) -> Interval | None:
    """Interval of the median of `values`, shape (n,), any unit; None where they count for too few.

    `clusters` has the number of each one's cluster, 0: it is alone in its own; values of one are in the order
    in which they were measured. Without any, or where none has two values, that of `median_interval`,
    exactly. The median of all values lies in it, were it made of each cluster's first ones alone.
    """
    values = np.asarray(values, dtype=np.float64)
    taken = values if clusters is None else made_of(values[:, None], clusters, level)[:, 0]
    kept = ~np.isnan(taken)
    ordered = np.sort(taken[kept])
    counts_as = independent(taken[kept], None if clusters is None else clusters[kept])
    found = clustered_ranks(ordered.size, counts_as, level)
    if found is None:
        return None
    lower, upper, achieved = found
    low, high = float(ordered[lower - 1]), float(ordered[upper - 1])
    if ordered.size < values.size:
        middle = float(np.median(values))
        low, high = min(low, middle), max(high, middle)
    return Interval(low, high, achieved)


def made_of(values: Floats, clusters: Integers, level: float) -> Floats:
    """Of several columns, shape (n, columns), NaN where one has no value, what their intervals are made of:
    the same, or NaN also for all but each cluster's first value."""
    known = np.isfinite(values)
    numbers, members = np.unique(clusters[clusters > 0], return_inverse=True)
    if numbers.size == members.size:
        return values
    places = [np.flatnonzero(clusters == number) for number in numbers]
    sizes = np.array([known[each].sum(axis=0) for each in places])
    counts = known.sum(axis=0)
    seconds = counts - known[clusters <= 0].sum(axis=0) - (sizes > 0).sum(axis=0)
    pairs = (sizes**2 - sizes).sum(axis=0)
    kinds, of_kind = np.unique(np.stack([counts, counts - seconds, pairs]), axis=1, return_inverse=True)
    told = [of_firsts_alone(count, firsts, pair, level) for count, firsts, pair in kinds.T.tolist()]
    alone = np.array(told)[of_kind.reshape(-1)]
    if not alone.any():
        return values
    columns = np.flatnonzero(alone)
    left_out = np.zeros(known.shape, dtype=bool)
    for each in places:
        here = known[np.ix_(each, columns)]
        left_out[np.ix_(each, columns)] = here & (np.cumsum(here, axis=0) > 1)
    return np.where(left_out, np.nan, values)


def of_firsts_alone(count: int, firsts: int, pairs: int, level: float) -> bool:
    """Whether an interval is made of the `firsts` of `count` values alone; `pairs` as below.

    Also where those tell more of a few values more, evenly from as many clusters: ranks are whole, so that
    all values would tell more at 31, and less again at 32, and the interval go to and fro.
    """
    return firsts != count and (
        count < all_tell_from(firsts, level) or firsts_tell_more(count, firsts, pairs, level)
    )


@lru_cache(maxsize=4096)
def firsts_tell_more(count: int, firsts: int, pairs: int, level: float) -> bool:
    """Whether an interval of the `firsts` of `count` values, one of each cluster, is to be expected narrower
    than one of all, were clusters all the same; `pairs` is twice the number of two values of one cluster."""
    lower = _lower_ranks(count, pairs, level, _LARGER)
    return _place(firsts, float(firsts), level) > sum(lower) / len(lower) / (count + 1)


def _lower_ranks(count: int, pairs: int, level: float, looks: Sequence[float]) -> list[int]:
    """The lower rank where values look alike by each of so many standard errors; 0: there is no interval."""
    found = []
    for errors in looks:
        alike = min(1.0, errors * math.sqrt(2.0 / pairs)) if pairs else 0.0
        ranks = clustered_ranks(count, count / (1.0 + pairs / count * alike), level)
        found.append(0 if ranks is None else ranks[0])
    return found


def ranks_by_chance(count: int, clusters: int, level: float) -> tuple[int, list[int]]:
    """(How many values an interval will be made of, what its lower rank may be), of `count` values, evenly
    from so many clusters (0: each is one) that make no difference.

    Each rank is as probable; 0: there is no interval.
    """
    kept = int(planned(count, clusters, 0.0, level).kept)
    pairs = round(_pairs(kept, clusters)) if clusters else 0
    return kept, _lower_ranks(kept, pairs, level, _BY_CHANCE) if kept else [0]


def _place(count: int, counts_as: float, level: float) -> float:
    """The share of the distribution below the lower end; 0: there is no interval."""
    found = clustered_ranks(count, counts_as, level)
    return 0.0 if found is None else found[0] / (count + 1)


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


class MadeOf(NamedTuple):
    """What an interval of some values will be made of."""

    kept: float  # of the values
    counts_as: float  # independent ones


def planned(count: float, clusters: int, alike: float, level: float) -> MadeOf:
    """Of so many values, evenly from so many clusters (0: each is one), at this level."""
    whole = int(whole_of(np.array(count)))
    if 0 < clusters < whole and of_firsts_alone(whole, clusters, round(_pairs(whole, clusters)), level):
        return MadeOf(float(clusters), float(clusters))
    return MadeOf(count, independent_at(count, clusters, alike) if clusters else count)


@lru_cache(maxsize=4096)
def all_tell_from(clusters: int, level: float) -> int:
    """The number of values, evenly from so many clusters, from which on an interval of all is narrower than
    one of each cluster's first, and stays so."""
    for count in range(3 * clusters - 1, clusters, -1):
        if firsts_tell_more(count, clusters, round(_pairs(count, clusters)), level):
            return count + 1
    return clusters + 1


def independent_at(count: float, clusters: int, alike: float) -> float:
    """For how many independent values so many will count, evenly from so many clusters: with the caution that
    there will be then."""
    pairs = _pairs(count, clusters)
    if not pairs > 0.0:
        return count
    cautious = alike + CAUTION * math.sqrt(2.0 / max(1.0, pairs))
    return count / (1.0 + pairs / count * min(1.0, cautious))


def _pairs(count: float, clusters: int) -> float:
    """Twice the number of two values of one cluster, were `count` evenly from so many."""
    passes = math.floor(count / clusters)
    more = count - passes * clusters
    return passes * ((clusters - more) * (passes - 1) + more * (passes + 1))


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
    found: Floats = np.nan_to_num(np.sign(values - nan_median(values)))
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


def nan_median(values: Floats) -> Floats:
    """Of each column, without what it lacks."""
    ordered = np.sort(values, axis=0)  # NaN last
    counts = np.isfinite(values).sum(axis=0)
    columns = np.arange(values.shape[1])
    low, high = np.maximum(counts - 1, 0) // 2, np.maximum(counts, 1) // 2
    found: Floats = (ordered[low, columns] + ordered[high, columns]) / 2
    return found
