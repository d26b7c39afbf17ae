"""Percentiles of two programs beside each other: of launches that met in the same rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tollbench.stats.cluster_bootstrap import FEWEST_BEYOND, LaunchCounts, value_of_bin
from tollbench.stats.order_statistics import Floats

ByRound = Mapping[int, Sequence[LaunchCounts]]  # the samples of the launches of each round


def quantile_log_ratios(first: ByRound, second: ByRound, p: float) -> Floats:
    """Log of the ratio of two p-quantiles (first to second) in each block of rounds, shape (blocks,).

    A block is the fewest rounds in a row that hold 10 samples beyond the quantile of either program, as a
    rule: a p99 of a launch with 50 samples is its longest one. Only rounds that both have count, and each in
    one block. Blocks in which a quantile is zero, or that hold too few samples after all, are left out.
    Both quantiles of a block come from the same minute of the machine's day, so what befell both cancels.
    """
    rounds = sorted(first.keys() & second.keys())
    length = max((_rounds_a_block([each[one] for one in rounds], p) for each in (first, second)), default=1)
    found = []
    for start in range(0, len(rounds) - length + 1, length):
        block = rounds[start : start + length]
        quantiles = [_quantile([one for at in block for one in each[at]], p) for each in (first, second)]
        if min(quantiles) > 0.0:
            found.append(math.log(quantiles[0] / quantiles[1]))
    return np.array(found, dtype=np.float64)


def _rounds_a_block(rounds: Sequence[Sequence[LaunchCounts]], p: float) -> int:
    """How many rounds hold enough samples, judged by the usual one."""
    if not rounds:
        return 1
    usual = float(np.median([sum(launch.total for launch in launches) for launches in rounds]))
    return max(1, math.ceil(FEWEST_BEYOND / (usual * min(p, 1.0 - p)) - 1e-6))


def _quantile(launches: Sequence[LaunchCounts], p: float) -> float:
    """Of all samples together, within 0.1 %; 0 where fewer lie beyond it than half of what a block wants."""
    bins = np.concatenate([launch.bins for launch in launches])
    counts = np.concatenate([launch.counts for launch in launches])
    order = np.argsort(bins, kind="stable")
    reached = np.cumsum(counts[order])
    total = int(reached[-1])
    if total * min(p, 1.0 - p) < FEWEST_BEYOND / 2:
        return 0.0
    at = int(np.searchsorted(reached, p * total - 1e-9))
    lowest, highest = min(one.low for one in launches), max(one.high for one in launches)
    return min(max(value_of_bin(int(bins[order[at]])), lowest), highest)
