"""A share of trials with its interval."""

from __future__ import annotations

from typing import NamedTuple

from scipy.stats import binomtest


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
    interval = binomtest(successes, trials).proportion_ci(confidence_level=level, method="exact")
    return Share(successes / trials, float(interval.low), float(interval.high))
