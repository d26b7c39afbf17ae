"""Whether two sides differ where their medians do not: in the mean, and in how often a launch is slow.

Both tests ask what the coin of each pair could have done: it decided which of the pair's two values is whose,
so for equal sides every pair might as well be the other way round. Nothing else is assumed, and for equal
sides they are exact: they err with what they say at most. Where the sides have one median and different
shapes, that is what they find. Both look once, when the measuring has ended. Where it ended because the time
was spent that is as exact; where the median's signs ended it as no difference, they were even, and the mean
that goes with them lies nearer to none.

Sources: randomisation tests for pairs, Fisher (1935), Pitman (1937). The share of all coins that make a sum
as large as the one that was seen is counted for few pairs. For many it is bounded, by exp(-t ** 2 / 2) on
either side, t being the sum over the root of the sum of squares (Hoeffding 1963, theorem 2): no drawing, and
some pairs more than by a count. Of 13 pairs that all differ alike the bound says 0.003 and the count 0.0002.
Discordant pairs: McNemar (1947).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

TAIL = 0.9  # the quantile of all launches beyond which one is slow
FEWEST_PAIRS = 10  # of fewer a tenth is nothing
MOST_COUNTED = 16  # pairs: 65,536 ways to throw their coins, a millisecond


@dataclass(frozen=True, slots=True)
class Shapes:
    """Of the second side against the first: ratios, and how likely equal sides look as different."""

    mean_ratio: float
    mean_chance: float
    tail_ratio: float  # of the quantiles TAIL
    tail_chance: float

    def beyond(self, threshold: float, alpha: float) -> bool:
        """Whether the mean or the tail differs by more than `threshold`, and by chance in `alpha` at most.

        Each has half of `alpha`.
        """
        margin = math.log1p(threshold)
        return any(
            abs(math.log(ratio)) > margin and chance <= alpha / 2.0
            for ratio, chance in ((self.mean_ratio, self.mean_chance), (self.tail_ratio, self.tail_chance))
        )


def shapes_of(first: ArrayLike, second: ArrayLike) -> Shapes | None:
    """Of values in pairs, shape (pairs,), positive; None of too few."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.size < FEWEST_PAIRS:
        return None
    from scipy.special import bdtr  # late: it takes longer to import than to use

    limit = float(np.quantile(np.concatenate([a, b]), TAIL))  # the same whichever way round the pairs are
    slow_first, slow_second = int(np.sum((a > limit) & (b <= limit))), int(np.sum((b > limit) & (a <= limit)))
    discordant = slow_first + slow_second
    return Shapes(
        float(b.mean() / a.mean()),
        _chance_of_sum(b - a),
        float(np.quantile(b, TAIL) / np.quantile(a, TAIL)),
        min(1.0, 2.0 * float(bdtr(min(slow_first, slow_second), discordant, 0.5))),
    )


def _chance_of_sum(differences: NDArray[np.float64]) -> float:
    """The share of all coins that make a sum as far from none, or a bound above it; shape (pairs,)."""
    seen = abs(float(differences.sum()))
    if differences.size <= MOST_COUNTED:
        sums = np.zeros(1)
        for difference in np.abs(differences):
            sums = np.concatenate([sums + difference, sums - difference])
        rounding = 1e-12 * float(np.abs(differences).sum())
        return float(np.mean(np.abs(sums) >= seen - rounding))
    scale = math.sqrt(float(differences @ differences))
    standard = seen / scale if scale > 0.0 else 0.0
    return min(1.0, 2.0 * math.exp(-(standard**2) / 2.0))
