"""The run's own floor: the smallest difference that it could have resolved."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.clustered import ranks_by_chance

FEWEST_PAIRS = 10


def resolvable_log_ratio(
    pairs: ArrayLike, rounds: int, level: float, power: float = 0.8, layouts: int = 0
) -> float | None:
    """The smallest true log ratio that `rounds` paired rounds at `level` find in a share `power` of trials.

    `pairs` has shape (pairs,): log ratios of two launches of one program, which were measured as the sides of
    a comparison are. The true ratio is 1, so the absolute log ratios r are this machine's noise and nothing
    else. Which of the two came first says nothing, so the noise is taken as symmetric. A comparison separates
    the sides when the k-th smallest of its `rounds` log ratios lies above 0 (k from `quantile_ranks`); with a
    true log ratio d that happens with probability P(Binomial(rounds, q) < k), q = P(r > d) / 2. Setting it to
    `power` gives q, and d is the (1 - 2 q)-quantile of r. Where so many `layouts` of the code come again in
    these rounds, fewer may count, and k is smaller where chance makes those of one layout look alike: the
    probability is then the mean over what chance does (`ranks_by_chance`).

    Assumption: cases are as noisy as the canary, and layouts make no difference. Contenders with threads are
    noisier; those that need no cache may be calmer. None where there are fewer than 10 pairs, or `rounds` are
    too few for any interval.
    """
    noise = np.abs(np.asarray(pairs, dtype=np.float64))
    kept, ranks = ranks_by_chance(rounds, layouts, level)
    lower = np.array([rank for rank in ranks if rank], dtype=np.float64)
    if lower.size < power * len(ranks) or noise.size < FEWEST_PAIRS:
        return None
    # P(Binomial(n, q) < k), which falls as q grows.
    from scipy.special import bdtr

    low, high = 0.0, 0.5
    for _ in range(50):
        q = (low + high) / 2
        found = float(bdtr(lower - 1, kept, q).sum()) / len(ranks)
        low, high = (q, high) if found >= power else (low, q)
    return float(np.quantile(noise, max(0.0, 1.0 - 2.0 * low), method="higher"))
