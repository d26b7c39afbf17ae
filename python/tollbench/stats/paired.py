"""Ratios of two cases measured in the same rounds.

The interval is the sign-test (order-statistic) interval of the median log ratio. Signed-rank
(Hodges-Lehmann) intervals are about a quarter narrower for symmetric noise, but they assume that
symmetry: between a skewed and a steady contender their coverage of the median fell from 95 % to
76 % at 50 rounds, and that of Student's interval to 34 % (docs/method-record.md has the table).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tollbench.stats.clustered import (
    Integers,
    clustered_interval,
    independent_of_each,
    made_of,
    nan_median,
    ranks_of,
    whole_of,
)
from tollbench.stats.order_statistics import Floats, Interval, fewest_values, quantile_ranks


def log_ratios(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """log(numerator / denominator) of the rounds in which both were measured.

    Both have shape (rounds,), one positive value a round, NaN where a round has none. What the
    machine did to a whole round (drift, a busy neighbour) cancels. Shape of the result: (pairs,).
    """
    above: Floats = np.log(np.asarray(numerator, dtype=np.float64))
    below: Floats = np.log(np.asarray(denominator, dtype=np.float64))
    return paired_differences(above, below)


def paired_differences(first: Floats, second: Floats) -> Floats:
    """`log_ratios` of values that are logarithms already."""
    return pairs_in(first, second).logs


class Pairs(NamedTuple):
    """Paired log ratios, shape (pairs,), and which cluster each belongs to."""

    logs: Floats
    clusters: Integers | None = None

    def interval(self, level: float) -> tuple[float, Interval | None]:
        """`ratio_interval` of them."""
        return ratio_interval(self.logs, level, self.clusters)


def pairs_in(first: Floats, second: Floats, clusters: Integers | None = None) -> Pairs:
    """`paired_differences` of the rounds that have both, whose `clusters` these are, shape (rounds,)."""
    differences = first - second
    kept = np.isfinite(differences)
    return Pairs(differences[kept], None if clusters is None else clusters[kept])


def without_block_effects(logs: Floats) -> Floats:
    """One log value for each case from blocks in which all took turns: shape (..., blocks, cases) to (...,
    cases).

    What befell a block (a neighbour, a change of frequency) is the median over cases of how far each one is
    from its own median there; without it, each case's median over blocks is taken. Of two cases the
    difference is exactly the median of the blocks' differences. What befell one case alone in a block is an
    outlier to both medians. One step of Tukey's median polish (Exploratory Data Analysis, 1977, chapter 11).
    """
    own = np.median(logs, axis=-2, keepdims=True)
    effects = np.median(logs - own, axis=-1, keepdims=True)
    found: Floats = np.median(logs - effects, axis=-2)
    return found


def ratio_interval(
    logs: ArrayLike, level: float, clusters: Integers | None = None
) -> tuple[float, Interval | None]:
    """Median ratio and its interval from paired log ratios, shape (pairs,).

    Assumption: the pairs are independent and share one median; no shape, no equal variance. Those of one
    of the `clusters`, numbers above 0 of the same shape, may be alike (`tollbench.stats.clustered`).
    The ratio is exp(median log ratio), NaN without pairs; the interval is None where the pairs
    are too few for `level` (`rounds_needed`). Source: Dixon and Mood (1946), the sign test.
    """
    values = np.asarray(logs, dtype=np.float64)
    if values.size == 0:
        return float("nan"), None
    found = clustered_interval(values, clusters, level)
    point = float(np.exp(np.median(values)))
    if found is None:
        return point, None
    return point, Interval(float(np.exp(found.low)), float(np.exp(found.high)), found.level)


def rounds_needed(level: float, comparisons: int) -> int:
    """Fewest rounds in which `comparisons` simultaneous intervals at `level` exist (Bonferroni)."""
    return fewest_values(1.0 - (1.0 - level) / max(1, comparisons))


def separated_pairs(
    logs: Floats, level: float, clusters: Integers | None = None
) -> tuple[NDArray[np.bool_], bool]:
    """Which pairs of columns differ: their paired interval at `level` (already corrected) excludes 1.

    `logs` has shape (rounds, cases), log values, NaN where a round lacks a case, and `clusters` shape
    (rounds,), as for `ratio_interval`. Returns a symmetric boolean matrix (cases, cases) and whether any
    pair had enough rounds to be judged.
    False says "not told apart", never "equal".
    """
    signs, judged = signs_of_many(logs[None], level, None if clusters is None else clusters[None])
    return signs[0] != 0, bool(judged.any())


def signs_of_many(
    logs: Floats, level: float, clusters: Integers | None = None
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Which pairs of columns differ within rounds, and to which side, in each of several tables.

    `logs` has shape (tables, rounds, cases), log values, NaN where a round lacks a case; `clusters` shape
    (tables, rounds), as for `ratio_interval`; `level` is that of one pair's interval, corrected already.
    Returns signs of shape (tables, cases, cases): 1 where the first (row) is above the second (column), -1
    where it is below, 0 where they are not told apart; and whether the pair had enough rounds to be judged.
    The interval is that of `ratio_interval`; a 0 never says "equal".
    """
    tables, _, cases = logs.shape
    signs = np.zeros((tables, cases, cases), dtype=np.int8)
    judged = np.zeros((tables, cases, cases), dtype=bool)
    for members, order, alike in _tables_alike(clusters, logs.shape[:2]):
        ordered = logs[members] if order is None else np.take_along_axis(logs[members], order[:, :, None], 1)
        for i in range(1, cases):  # each column against all before it: a thousand make half a million pairs
            differences = np.moveaxis(ordered[:, :, [i]] - ordered[:, :, :i], 1, 0)
            told, known = _signs_of_columns(differences.reshape(len(differences), -1), level, alike)
            signs[members, i, :i] = told.reshape(-1, i)
            judged[members, i, :i] = known.reshape(-1, i)
    # Mirrored: what is above from one side is below from the other.
    return signs - signs.swapaxes(1, 2), judged | judged.swapaxes(1, 2)


def _tables_alike(
    clusters: Integers | None, shape: tuple[int, ...]
) -> Iterator[tuple[Integers, Integers | None, Integers | None]]:
    """Tables that are judged at once, by their numbers; an order of the rounds of each; and their clusters.

    Ten thousand tables have each another order of layouts, and but a few ways to share rounds out to them:
    ordered by how many rounds a cluster has, the clusters of most are the same.
    """
    everyone = np.arange(shape[0])
    if clusters is None or not clusters.any():
        yield everyone, None, None
        return
    orders = np.empty(shape, dtype=np.int64)
    found: dict[bytes, list[int]] = defaultdict(list)
    for number, own in enumerate(clusters):
        orders[number], renamed = _by_size(own)
        found[renamed.tobytes()].append(number)
    for renamed_bytes, numbers in found.items():
        members = np.array(numbers)
        yield members, orders[members], np.frombuffer(renamed_bytes, dtype=np.int64)


def _by_size(clusters: Integers) -> tuple[Integers, Integers]:
    """(Order of the rounds, clusters in it as 1, 2, ...): large ones first, last those that have none (0)."""
    names, members, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    places = np.lexsort((names, -sizes, names == 0))
    rank = np.empty(names.size, dtype=np.int64)
    rank[places] = np.arange(1, names.size + 1)
    rank[names == 0] = names.size + 1
    order = np.argsort(rank[members], kind="stable")
    renamed = rank[members][order]
    renamed[clusters[order] == 0] = 0
    return order, renamed


def _signs_of_columns(
    differences: Floats, level: float, clusters: Integers | None
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Of each column, shape (rounds, columns), NaN where it has no value: the sign, and if it was judged."""
    taken = differences if clusters is None else made_of(differences, clusters, level)
    known = np.isfinite(taken)
    ordered = np.sort(np.where(known, taken, np.inf), axis=0)
    pairs = known.sum(axis=0)
    counts_as = pairs.astype(np.float64)
    if clusters is not None:
        counts_as = independent_of_each(taken, clusters)
    whole = whole_of(counts_as)
    signs = np.zeros(pairs.size, dtype=np.int8)
    judged = np.zeros(pairs.size, dtype=bool)
    for number, independent in set(zip(pairs.tolist(), whole.tolist(), strict=True)):
        ranks = quantile_ranks(independent, 0.5, level)
        if ranks is None:
            continue
        columns = np.flatnonzero((pairs == number) & (whole == independent))
        lower = ranks_of(ranks[0], number, counts_as[columns])
        low, high = ordered[lower - 1, columns], ordered[number - lower, columns]
        judged[columns] = True
        signs[columns] = np.where(low > 0.0, 1, np.where(high < 0.0, -1, 0))
    if taken is not differences:  # the median of all rounds is in the interval
        signs[signs != np.sign(nan_median(differences))] = 0
    return signs, judged
