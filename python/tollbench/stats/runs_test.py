"""Whether values that follow each other are more alike than chance makes them."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike


def few_runs(values: ArrayLike) -> float:
    """Probability of as few runs above and below the median, or fewer, were the order of `values` chance.

    The exact distribution; values at the median are left out. 1 where nothing can be told. Source: A. Wald
    and J. Wolfowitz, On a Test Whether Two Samples are from the Same Population, Annals of Mathematical
    Statistics 11 (1940).
    """
    taken = np.asarray(values, dtype=np.float64)
    if not taken.size:
        return 1.0
    middle = np.median(taken)
    above = taken[taken != middle] > middle
    high = int(above.sum())
    low = above.size - high
    if not high or not low:
        return 1.0
    seen = 1 + int(np.count_nonzero(above[1:] != above[:-1]))
    ways = sum(_ways(high, low, runs) for runs in range(2, seen + 1))
    return ways / comb(high + low, high)


def _ways(high: int, low: int, runs: int) -> int:
    """In how many orders so many high and low values stand in `runs` runs."""
    half = runs // 2
    if runs % 2 == 0:
        return 2 * comb(high - 1, half - 1) * comb(low - 1, half - 1)
    return comb(high - 1, half) * comb(low - 1, half - 1) + comb(high - 1, half - 1) * comb(low - 1, half)
