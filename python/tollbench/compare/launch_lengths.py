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

import numpy as np

from tollbench.stats.lasting import ENOUGH_PAIRS

SHORT_BLOCKS = 24
FIRST_PAIRS = 6  # short ones, whatever they say
# Of the median of 30 pairs, in standard deviations of a pair: the median strays 1.25 times as far as a mean,
# and the interval of all looks is 2.7 standard errors wide to each side.
_HALF_WIDTH = 1.25 * 2.7 / math.sqrt(ENOUGH_PAIRS)
_NORMAL = 1.48  # standard deviations of a normal in its median absolute deviation


class LaunchLengths:
    """Of one benchmark."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._logs: list[list[float]] = []  # a pair: log ratio of each other side to the first

    def took(self, values: Sequence[float]) -> None:
        """A launch's ns an operation of each side; not finite where a side has none."""
        logs = np.log([value for value in values if math.isfinite(value)])
        if self._logs and len(self._logs[0]) != logs.size - 1:  # a side is out from now on
            self._logs.clear()
        if logs.size > 1:
            self._logs.append((logs[1:] - logs[0]).tolist())

    def blocks(self, most: int) -> int:
        """Of the next launch, of which `most` are worth their time."""
        if len(self._logs) < FIRST_PAIRS:
            return min(most, SHORT_BLOCKS)
        pairs = np.array(self._logs)
        scatter = _NORMAL * float(np.median(np.abs(pairs - np.median(pairs, axis=0)), axis=0).max())
        return min(most, SHORT_BLOCKS) if scatter * _HALF_WIDTH < self._threshold else most
