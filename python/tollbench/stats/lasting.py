"""Whether the noise of paired log ratios lasts from pair to pair, and how much wider that makes an interval.

Where noise befalls both sides, or ends before the next pair, a coin for each pair makes signs independent
(`tollbench.stats.sequential`). What befalls one side alone and lasts over pairs (a neighbour that only B
feels, a page cache that only B lost) does not turn with the coin: neighbouring pairs then lie on one side
of the truth, and 28 to 77 % of equal medians were called different.

Assumption of the test: independent pairs, of any distribution; or signs about the median that are fair coins,
whatever the sizes do. Under either the products of neighbouring ranks have no mean, and the sum of them over
the root of their squares is near a standard normal. The widening is for noise whose correlation falls off
geometrically. What lasts longer than all that was seen is no noise to anybody.

Sources: serial correlation of ranks, Wald and Wolfowitz (1943), Bartels (1982); the bias of a correlation of
few values, Kendall (1954); the variance of a mean of correlated values, Bayley and Hammersley (1946).
docs/compare-method.md has the simulations that the constants were chosen by.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.order_statistics import Floats
from tollbench.stats.sequential import Bounds

SEEN = 1.28  # standard deviations: one in ten of short independent series shows as much
SEEN_IN_FEW = 1.96  # where there may be no more pairs: one in forty
LEAST = 0.2  # correlation: of less, signs that are looked at many times stray by a fifth more
CAUTION = 4.0  # standard errors by which the correlation may be larger than it looks
MOST = 0.99  # correlation
WIDENED = 1.4  # signs of a walk that is looked at many times stray farther than its mean does
ENOUGH_PAIRS = 30  # of which the test sees what lasts
FEW_FACTOR = 16.0  # how much wider an interval of next to no pairs has to be to end a measuring


class Lasting(NamedTuple):
    """Noise that lasts."""

    correlation: float  # of neighbouring pairs, as it was seen
    factor: float  # by which an interval is to be widened, at least 1


def lasting_noise(logs: ArrayLike) -> Lasting | None:
    """Of paired log ratios in order of time, shape (pairs,); None where none is seen."""
    values = np.asarray(logs, dtype=np.float64)
    count = values.size
    if count < 4:
        return None
    ranks = centred_ranks(values)
    products = ranks[1:] * ranks[:-1]
    scale = math.sqrt(float(products @ products))
    if scale == 0.0 or float(products.sum()) <= (SEEN if count >= ENOUGH_PAIRS else SEEN_IN_FEW) * scale:
        return None
    seen = float(products.sum()) / float(ranks @ ranks)
    if seen < LEAST:
        return None
    error = math.sqrt(max(0.0, 1.0 - seen**2) / count)
    largest = min(MOST, seen + (1.0 + 3.0 * seen) / count + CAUTION * error)
    return Lasting(seen, WIDENED * math.sqrt((1.0 + largest) / (1.0 - largest)))


def widened(bounds: Bounds, middle: float, factor: float) -> Bounds:
    """Both ends `factor` times as far from `middle`, which counts as the end beyond which it lies.

    The interval of all looks together may have left the middle of the last one outside: widened about that
    it would move away from what it holds.
    """
    middle = min(max(middle, bounds.low), bounds.high)
    return Bounds(middle + factor * (bounds.low - middle), middle + factor * (bounds.high - middle))


def factor_to_end(pairs: int) -> float:
    """How much wider than it is an interval of few pairs must be able to be if it is to end a measuring.

    Few pairs on one side of 0 are a difference, or a neighbour that will have gone in ten pairs: only a
    difference that is large beside what neighbouring pairs differ by can end a measuring so early.
    """
    return 1.0 + FEW_FACTOR * max(0, ENOUGH_PAIRS - pairs) / ENOUGH_PAIRS


def centred_ranks(values: Floats) -> Floats:
    """Mid-ranks, so that ties are no order of time, minus their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle_ranks = ends - (counts - 1) / 2.0
    ranks: Floats = middle_ranks[place] - (values.size + 1) / 2.0
    return ranks
