"""Units of time; the run file holds nanoseconds only."""

from __future__ import annotations

import math
from typing import Any

from tollbench.errors import TollError
from tollbench.words import NANOSECONDS

DAMAGED = "The file is damaged or not written by toll; ask for a new copy, or measure again with `toll run`."
LONGEST_NS = 1e18  # 30 years: no launch lasts longer


def nanoseconds_per(unit: str, workload: str) -> float:
    """How many nanoseconds one `unit` is; TollError where the unit is not one of time."""
    if unit not in NANOSECONDS:
        raise TollError(
            f"Workload {workload!r} gives its values in {unit!r}, which is not a unit of time known to toll.",
            f"Use one of {', '.join(NANOSECONDS)}; if the file is somebody else's, ask for a new copy.",
        )
    return NANOSECONDS[unit]


def checked_ns(value: float, what: str) -> float:
    """`value` where it can be a duration in nanoseconds; TollError for a negative or absurd one."""
    if not math.isfinite(value) or not 0.0 <= value <= LONGEST_NS:
        raise TollError(
            f"The run file holds an impossible time: {value!r} ns for {what}.",
            DAMAGED,
        )
    return value


def checked_json(value: Any, what: str) -> Any:
    """`value` where each number in it is finite; a JSON text such as 1e999 reads as infinity."""
    items = [value]
    while items:
        item = items.pop()
        if isinstance(item, float) and not math.isfinite(item):
            raise TollError(
                f"The run file holds a number that is not finite in {what}.",
                DAMAGED,
            )
        if isinstance(item, dict):
            items.extend(item.values())
        elif isinstance(item, list):
            items.extend(item)
    return value
