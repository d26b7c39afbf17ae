"""How many blocks a launch of toll programs has: few, where pairs of few are precise enough for the question.

No comparison ends with much fewer than 30 pairs, however precise each of them is (`tollbench.stats.lasting`):
where the scatter of short pairs is small beside the threshold, short launches bring those 30 in less time.
Where it is not, each launch says as much as it can for what its start costs.

The choice may depend on all that was measured before: given that, a fair coin still decides on which side of
the truth the next pair lies (`tollbench.stats.sequential`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tollbench.stats.lasting import ENOUGH_PAIRS
from tollbench.stats.order_statistics import spread

SHORT_BLOCKS = 24
FIRST_PAIRS = 6  # short ones, whatever they say
# Of the median of that many pairs, in standard deviations of a pair: the median strays 1.25 times as far as a
# mean, and by simulation the interval of all looks is 2.8 standard errors wide to each side. (4.4 where a
# hundred benchmarks share the level: there launches stay short for longer than would be best.)
_HALF_WIDTH = 1.25 * 2.8 / math.sqrt(ENOUGH_PAIRS)


class LaunchLengths:
    """Of one benchmark in one comparison; `threshold` is the change that counts, as a share of the time."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._ratios: list[list[float]] = []  # a pair: of each other side to the first

    def took(self, values: Sequence[float]) -> None:
        """A launch's ns an operation of each side; not finite where a side has none."""
        first, *others = filter(math.isfinite, values)
        if self._ratios and len(self._ratios[0]) != len(others):  # a side is out from now on
            self._ratios.clear()
        self._ratios.append([other / first for other in others])

    def blocks(self, most: int) -> int:
        """Of the next launch, of which `most` are worth their time."""
        if len(self._ratios) < FIRST_PAIRS:
            return min(most, SHORT_BLOCKS)
        scatter = max((spread(ratios) or 0.0 for ratios in zip(*self._ratios, strict=True)), default=0.0)
        return min(most, SHORT_BLOCKS) if scatter * _HALF_WIDTH < self._threshold else most
