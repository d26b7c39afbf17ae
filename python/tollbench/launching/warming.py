"""When a runtime that speeds up while it runs has become steady: measured in each launch, never assumed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

GROUP = 3  # batches whose median is compared with the median of as many before them
TOLERANCE = 0.02  # of the earlier median
MOST_WARMUP_BATCHES = 1000  # they are stored


def steady(costs: Sequence[float]) -> bool:
    """Whether the last three batches cost what the three before them did.

    `costs` are times for each iteration, oldest first, in any unit. Medians may differ by 2 %, or by the
    smaller of both groups' ranges: a change that is not larger than the batches' own scatter is no trend. A
    straight trend moves the median by three steps while a group's range is two, so that it is never hidden.
    """
    if len(costs) < 2 * GROUP:
        return False
    earlier, later = costs[-2 * GROUP : -GROUP], costs[-GROUP:]
    scatter = min(max(group) - min(group) for group in (earlier, later))
    moved = abs(statistics.median(later) - statistics.median(earlier))
    return moved <= max(TOLERANCE * statistics.median(earlier), scatter)
