"""Whether values that follow each other are more alike than chance makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.order_statistics import Floats


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
    ways = _log_ways(high, low, np.arange(2.0, seen + 1))
    return min(1.0, float(np.exp(ways - _log_comb(high + low, np.array([float(high)]))).sum()))


def _log_ways(high: int, low: int, runs: Floats) -> Floats:
    """Log of in how many orders so many high and low values stand in each number of `runs`.

    By logarithms, as whole numbers of thousands of digits take seconds: a stranger's file may have as many
    launches as it likes.
    """
    half = runs // 2
    fewer, more = half - 1, half - 1 + runs % 2  # borders inside the values of either side
    one_way = _log_comb(high - 1, more) + _log_comb(low - 1, fewer)
    other_way = _log_comb(high - 1, fewer) + _log_comb(low - 1, more)
    return np.logaddexp(one_way, other_way)


def _log_comb(count: int, chosen: Floats) -> Floats:
    """Log of the number of ways to choose so many; -inf where there are not as many."""
    from scipy.special import gammaln  # late: it takes longer to import than to use

    inside = np.minimum(chosen, count)
    ways = gammaln(count + 1) - gammaln(inside + 1) - gammaln(count - inside + 1)
    return np.where(chosen <= count, ways, -np.inf)
