"""Percentiles of operations timed one by one: which are shown, and how."""

from __future__ import annotations

from collections.abc import Sequence

from tollbench import numbers
from tollbench.analysis.results import Latency
from tollbench.words import PERCENTILES

MAX_NOTE = (
    "max is the longest of all operations that were timed: it grows with their number, so no interval bounds "
    "it; beside it stands the interval of the longest in one launch"
)

Triple = tuple[float | None, float | None, float | None]


def scale_of(entries: Sequence[Latency]) -> numbers.Scale:
    """One unit for all of a workload's latencies, by their medians."""
    medians = (entry.quantiles["p50"].value for entry in entries)
    return numbers.time_scale(medians, entries[0].unit if entries else "ns")


def shown(entries: Sequence[Latency]) -> list[tuple[str, str]]:
    """(title, key) of the percentiles that some entry has."""
    told = {key for entry in entries for key in entry.quantiles}
    return [(each.title, each.key) for each in PERCENTILES if each.key in told]


def triple(entry: Latency, key: str, scale: numbers.Scale) -> Triple:
    """Value and interval in the scale's unit."""
    found = entry.quantiles.get(key)
    return (scale.of(found.value), scale.of(found.low), scale.of(found.high)) if found else (None,) * 3


def longest(entry: Latency, scale: numbers.Scale) -> tuple[str, str]:
    """The longest operation, and the interval of the longest in one launch ("–" without)."""
    told = entry.launch_max
    low, high = (scale.of(told.low), scale.of(told.high)) if told else (None, None)
    if low is None or high is None:
        return numbers.plain(scale.of(entry.max)), numbers.MISSING
    return numbers.plain(scale.of(entry.max)), f"[{numbers.plain(low)}, {numbers.plain(high)}]"
