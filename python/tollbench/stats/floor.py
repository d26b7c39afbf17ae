"""The run's own floor: the smallest difference that it could have resolved."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.order_statistics import quantile_ranks

FEWEST_PAIRS = 10


def resolvable_log_ratio(pairs: ArrayLike, rounds: int, level: float, power: float = 0.8) -> float | None:
    """The smallest true log ratio that `rounds` paired rounds at `level` find in a share `power` of trials.

    `pairs` has shape (pairs,): log ratios of two launches of one program, which were measured as the sides of
    a comparison are. The true ratio is 1, so the absolute log ratios r are this machine's noise and nothing
    else. Which of the two came first says nothing, so the noise is taken as symmetric. A comparison separates
    the sides when the k-th smallest of its `rounds` log ratios lies above 0 (k from `quantile_ranks`); with a
    true log ratio d that happens with probability P(Binomial(rounds, q) < k), q = P(r > d) / 2. Setting it to
    `power` gives q, and d is the (1 - 2 q)-quantile of r.

    Assumption: cases are as noisy as the canary. Contenders with threads are noisier; those that need no
    cache may be calmer. None where there are fewer than 10 pairs, or `rounds` are too few for any interval.
    """
    noise = np.abs(np.asarray(pairs, dtype=np.float64))
    ranks = quantile_ranks(rounds, 0.5, level)
    if ranks is None or noise.size < FEWEST_PAIRS:
        return None
    k = ranks[0]
    # P(Binomial(n, q) < k) is the regularized incomplete beta function I_{1-q}(n - k + 1, k).
    from scipy.special import betaincinv

    q = 1.0 - float(betaincinv(rounds - k + 1, k, power))
    return float(np.quantile(noise, max(0.0, 1.0 - 2.0 * q), method="higher"))
