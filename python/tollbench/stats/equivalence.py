"""What an interval of a log ratio says about a difference, and whether measuring on could say more."""

from __future__ import annotations

import math

FINE_ENOUGH = 0.25  # of the threshold: a ratio this well known is told, on whichever side it turns out to lie


def direction(low: float, high: float) -> int:
    """1 where the whole interval lies above 0, -1 below it, 0 where it holds 0. On the log scale."""
    return int(low > 0.0) - int(high < 0.0)


def beyond(low: float, high: float, threshold: float) -> int:
    """1 where the whole interval lies above log(1 + threshold), -1 below minus that, else 0."""
    margin = math.log1p(threshold)
    return int(low > margin) - int(high < -margin)


def equivalent(low: float, high: float, threshold: float) -> bool:
    """Whether the whole interval lies within +-log(1 + threshold).

    The interval-inclusion form of two one-sided tests (Schuirmann 1987), at the interval's own level, which
    is stricter than the 1 - 2 alpha that those would need.
    """
    margin = math.log1p(threshold)
    return -margin <= low and high <= margin


def settled(low: float, high: float, threshold: float) -> bool:
    """Whether the interval leaves nothing open that more pairs would be worth their time for.

    It lies on one side of both margins, or the ratio is known to a quarter of the threshold and not 1.
    """
    if beyond(low, high, threshold) or equivalent(low, high, threshold):
        return True
    narrow = high - low <= 2.0 * FINE_ENOUGH * math.log1p(threshold)
    return narrow and direction(low, high) != 0


def bound(low: float, high: float) -> float:
    """The largest relative difference that the interval leaves possible (0.02 is 2 %), or inf."""
    widest = max(abs(low), abs(high))
    return math.expm1(widest) if widest < 700.0 else math.inf
