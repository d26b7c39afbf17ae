"""Percentiles of operations timed one by one: which are shown, and how."""

from __future__ import annotations

from collections.abc import Iterable

from tollbench import numbers
from tollbench.analysis.results import Latency

PERCENTILES = (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99.9", "p999"), ("p99.99", "p9999"))
MAX_NOTE = (
    "max is the longest of all operations that were timed: it grows with their number, so no interval bounds "
    "it; beside it stands the interval of the longest in one launch"
)

Triple = tuple[float | None, float | None, float | None]


def shown(entries: Iterable[Latency]) -> list[tuple[str, str]]:
    """(title, field) of the percentiles that some entry has."""
    kept = list(entries)
    return [(title, name) for title, name in PERCENTILES if any(getattr(e, name) is not None for e in kept)]


def triple(entry: Latency, name: str, scale: numbers.Scale) -> Triple:
    """Value and interval in the scale's unit."""
    value, low, high = (scale.of(getattr(entry, name + end)) for end in ("", "_low", "_high"))
    return value, low, high


def longest(entry: Latency, scale: numbers.Scale) -> tuple[str, str]:
    """The longest operation, and the interval of the longest in one launch ("–" without)."""
    told = entry.launch_max
    low, high = (scale.of(told.low), scale.of(told.high)) if told else (None, None)
    if low is None or high is None:
        return numbers.plain(scale.of(entry.max)), numbers.MISSING
    return numbers.plain(scale.of(entry.max)), f"[{numbers.plain(low)}, {numbers.plain(high)}]"
