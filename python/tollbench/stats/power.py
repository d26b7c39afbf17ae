"""What a second measurement costs: how much rarer both find a difference than one of the whole time does."""

from __future__ import annotations

import math

OFTEN = 0.98  # how often the difference is found by one measurement


def power_of_both(alpha: float, first_share: float, second_share: float) -> float:
    """How often two measurements both find what one of the whole time finds in 98 of 100 comparisons.

    The two have `first_share` and `second_share` of the time and may err with half of `alpha` each, the one
    with all of it. Assumption: estimates are near normal, scatter by the root of the time's inverse and are
    looked at once; of sequential intervals both powers are somewhat less, and their relation is near this.
    """
    from scipy.special import ndtr, ndtri  # late: it takes longer to import than to use

    alone = float(-ndtri(alpha / 2.0))
    difference = alone + float(ndtri(OFTEN))  # in standard errors of the whole time
    halved = float(-ndtri(alpha / 4.0))
    shares = (first_share, second_share)
    return math.prod(float(ndtr(difference * math.sqrt(share) - halved)) for share in shares)
