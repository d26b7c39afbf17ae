"""What an interval of a log ratio says about a difference, and whether measuring on could say more."""

from __future__ import annotations

import math

FINE_ENOUGH = 0.5  # of the threshold: a ratio this well known is told, on whichever side it turns out to lie
WORTH_PRINTING = 0.1  # of an effect, or of the time: a half-width of more says little about how large it is


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


def direction_settled(low: float, high: float, threshold: float) -> bool:
    """Whether the sign is known, or that it does not matter: what a gate asks.

    What is slower (above 0) goes on until it is known to lie beyond the threshold, or to +-threshold: a gate
    that ended with "by 0.1 to 9 %" would let 5 % pass.
    """
    if beyond(low, high, threshold) or equivalent(low, high, threshold):
        return True
    side = direction(low, high)
    return side < 0 or (side > 0 and (high - low) / 2.0 <= math.log1p(threshold))


def estimate_settled(low: float, high: float, threshold: float) -> bool:
    """Whether the interval says how large a difference is, and leaves nothing open that is worth more pairs.

    It is `worth_printing`, and lies on one side of both margins, or excludes 0 and is known to half of the
    threshold.
    """
    if not worth_printing(low, high, threshold):
        return False
    if beyond(low, high, threshold) or equivalent(low, high, threshold):
        return True
    narrow = (high - low) / 2.0 <= FINE_ENOUGH * math.log1p(threshold)
    return narrow and direction(low, high) != 0


def threshold_settled(low: float, high: float, threshold: float) -> bool:
    """Whether it is known on which side of the threshold a difference lies, as a search asks of its ends."""
    return bool(beyond(low, high, threshold)) or equivalent(low, high, threshold)


def worth_printing(low: float, high: float, threshold: float) -> bool:
    """Whether half the interval of the ratio is at most the threshold, or a tenth of the effect if larger.

    In the way in which changes are written: -40 % is known to 4 points. From tenfold on a tenth of the effect
    would be more than a tenth of the time itself, which is then the rule.
    """
    half_log = (high - low) / 2.0
    if half_log <= math.log1p(threshold):
        return True
    if not half_log <= math.log1p(WORTH_PRINTING) or abs(low + high) > 600.0:  # NaN and beyond floats
        return half_log <= math.log1p(WORTH_PRINTING)
    ends = math.exp(low), math.exp(high)
    effect = abs(sum(ends) / 2.0 - 1.0)
    return (ends[1] - ends[0]) / 2.0 <= max(threshold, WORTH_PRINTING * effect)


def bound(low: float, high: float) -> float:
    """The largest relative difference that the interval leaves possible (0.02 is 2 %), or inf."""
    widest = max(abs(low), abs(high))
    return math.expm1(widest) if widest < 700.0 else math.inf
