"""Ratios of two cases measured in the same rounds.

The interval is the sign-test (order-statistic) interval of the median log ratio. Signed-rank
(Hodges-Lehmann) intervals are about a quarter narrower for symmetric noise, but they assume that
symmetry: between a skewed and a steady contender their coverage of the median fell from 95 % to
76 % at 50 rounds, and that of Student's interval to 34 % (docs/method.md has the table).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tollbench.stats.clustered import (
    Integers,
    clustered_interval,
    independent_of_each,
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
    cases = logs.shape[1]
    apart = np.zeros((cases, cases), dtype=bool)
    judged = False
    for i in range(1, cases):  # each column against all before it: a thousand make half a million pairs
        differences = logs[:, [i]] - logs[:, :i]
        known = np.isfinite(differences)
        ordered = np.sort(np.where(known, differences, np.inf), axis=0)
        pairs = known.sum(axis=0)
        counts_as = pairs.astype(np.float64)
        if clusters is not None:
            counts_as = independent_of_each(differences, clusters)
        whole = whole_of(counts_as)
        for number, independent in set(zip(pairs.tolist(), whole.tolist(), strict=True)):
            ranks = quantile_ranks(independent, 0.5, level)
            if ranks is None:
                continue
            judged, columns = True, np.flatnonzero((pairs == number) & (whole == independent))
            lower = ranks_of(ranks[0], number, counts_as[columns])
            low, high = ordered[lower - 1, columns], ordered[number - lower, columns]
            apart[i, columns] = apart[columns, i] = ~((low <= 0.0) & (high >= 0.0))
    return apart, judged
