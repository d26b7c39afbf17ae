"""A share of trials with its interval."""

from __future__ import annotations

from typing import NamedTuple


class Share(NamedTuple):
    """Successes over trials, in [0, 1]; NaN where there were no trials, whose interval is everything."""

    value: float
    low: float
    high: float


def exact_share(successes: int, trials: int, level: float = 0.95) -> Share:
    """The exact binomial interval: covers with at least `level`, whatever the true share is.

    Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial
    (Biometrika, 1934). Raises ValueError for counts that cannot be.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if not trials:
        return Share(float("nan"), 0.0, 1.0)
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    others = trials - successes
    low = float(betaincinv(successes, others + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, others, 1.0 - tail)) if others else 1.0
    return Share(successes / trials, low, high)
