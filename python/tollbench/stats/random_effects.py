"""One change seen on several hosts: its mean over hosts, what a further host would show, whether hosts agree.

Hosts count alike. Weights by each host's precision (Hartung-Knapp-Sidik-Jonkman upon Paule and Mandel's
estimate, and Higgins' prediction interval, as meta-analyses have them) covered less than their level where
hosts differ in precision: 68 % in place of 95 with two hosts, 82 % for a prediction with 50 (the table is in
docs/fleet.md). The plain t statistic errs to the safe side whatever the hosts' precisions are, for levels of
91.7 % and more (Bakirov and Szekely, "Student's t-test for Gaussian scale mixtures", 2006; Ibragimov and
Mueller, "t-statistic based correlation and heterogeneity robust inference", 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

FEWEST_HOSTS = 2  # of which something can be said about a third


@dataclass(frozen=True, slots=True)
class AcrossHosts:
    """Of logarithms of ratios, one a host."""

    mean: float
    low: float  # of the interval of the mean over all hosts there might be
    high: float
    predicted_low: float  # of what one more host would show
    predicted_high: float
    between: float  # standard deviation of the true values between hosts, as estimated; 0: none is seen
    agree_p: float  # how often hosts that agree differ by as much; NaN where a precision is unknown


def across_hosts(logs: ArrayLike, errors: ArrayLike, level: float) -> AcrossHosts:
    """Summary of `logs`, shape (hosts,), with standard errors of the same shape, NaN or 0 where not known.

    Assumption: hosts are drawn from those that the answer is about, their true values are normal, and so is
    the error of each. At least two hosts.
    """
    values: NDArray[np.float64] = np.asarray(logs, dtype=np.float64)
    if values.size < FEWEST_HOSTS:
        raise ValueError("a summary over hosts takes two of them")
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    beyond = float(stats.t.ppf(0.5 + level / 2, values.size - 1)) * spread
    half, next_half = beyond / np.sqrt(values.size), beyond * np.sqrt(1 + 1 / values.size)
    between, p = _heterogeneity(values, np.asarray(errors, dtype=np.float64))
    return AcrossHosts(mean, mean - half, mean + half, mean - next_half, mean + next_half, between, p)


def _heterogeneity(values: NDArray[np.float64], errors: NDArray[np.float64]) -> tuple[float, float]:
    """(Standard deviation between hosts, p value of Cochran's Q); p is NaN where an error is not known."""
    spread = float(values.var(ddof=1))
    if not (np.isfinite(errors).all() and (errors > 0).all()):
        return float(np.sqrt(spread)), float("nan")
    weights = errors**-2.0
    q = float((weights * (values - (weights * values).sum() / weights.sum()) ** 2).sum())
    # Of equal weights too (Hedges and Olkin): it needs no iteration, and is unbiased before it is cut at 0.
    between = float(np.sqrt(max(0.0, spread - float((errors**2).mean()))))
    return between, float(stats.chi2.sf(q, values.size - 1))
