"""Operations timed one by one: the columns of their percentiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from tollbench import numbers
from tollbench.analysis.results import Latency
from tollbench.report.showing import IN_FULL, Column, Shown, Triple, below, each, triple_of
from tollbench.words import PERCENTILES, Percentile

MAX_NOTE = (
    "max is the longest of all operations that were timed: it grows with their number, so no interval bounds "
    "it; beside it stands the interval of the longest in one launch"
)
RATIO_NOTE = "a percentile's ratio is to that of the row that the ratios of times are to, in the same rounds"
_RANKS = {"p90": 2, "p9999": 1}  # which a narrow terminal does without


def scale_of(entries: Sequence[Latency]) -> numbers.Scale:
    """One unit for all of a workload's latencies, by their medians."""
    medians = (entry.quantiles["p50"].value for entry in entries)
    return numbers.time_scale(medians, entries[0].unit if entries else "ns")


def columns(entries: Sequence[Latency]) -> list[Column[Latency]]:
    """The percentiles that some entry has, the longest operation, and how many there were."""
    scale = scale_of(entries)
    told = {key for entry in entries for key in entry.quantiles}
    ratios = Counter(key for entry in entries for key in entry.ratios)
    compared = {key for key, times in ratios.items() if times > 1}  # the fastest row's own says nothing
    return [
        *(
            _column(percentile, scale, compared=percentile.key in compared)
            for percentile in PERCENTILES
            if percentile.key in told
        ),
        Column(
            "max", "max", scale.unit, MAX_NOTE, _longest, scale, write_interval=_longest_interval,
            csv=("max",), terminal=Shown("max"), markdown=Shown("max", joined=True),
        ),
        Column(
            "count", "count", "", "operations", lambda entry: (entry.count, None, None),
            write=IN_FULL, page=False, csv=("count",),
            terminal=Shown("count", 2), markdown=Shown("count"),
        ),
    ]  # fmt: skip


def note(entries: Sequence[Latency]) -> str:
    """What is said of all of these columns."""
    ratios = any(column.key.endswith("_ratio") for column in each(columns(entries)))
    return "; ".join([*([RATIO_NOTE] if ratios else []), MAX_NOTE])


def _column(percentile: Percentile, scale: numbers.Scale, *, compared: bool) -> Column[Latency]:
    key, title = percentile.key, percentile.title
    return Column(
        key, title, scale.unit, "", lambda entry: triple_of(entry.quantiles.get(key)), scale,
        numbers.quantity, numbers.interval, instead=partial(_below, key, scale), csv=(key,),
        below=_ratio(percentile) if compared else None,
        terminal=Shown(title, _RANKS.get(key, 0)), markdown=Shown(title, joined=True),
    )  # fmt: skip


def _ratio(percentile: Percentile) -> Column[Latency]:
    key, title = percentile.key, f"{percentile.title} ratio"
    return Column(
        f"{key}_ratio", title, "", RATIO_NOTE, lambda entry: triple_of(entry.ratios.get(key)),
        write=numbers.ratio, write_interval=numbers.ratio_interval,
        csv=(f"{key}_ratio", f"{key}_ratio_low", f"{key}_ratio_high"),
        terminal=Shown(title, 3), markdown=Shown(title, joined=True),
    )  # fmt: skip


def _below(key: str, scale: numbers.Scale, entry: Latency) -> str:
    found = entry.quantiles.get(key)
    seen = found is None or entry.step is None or found.value >= entry.step
    return "" if seen else below(entry.step, scale)


def _longest(entry: Latency) -> Triple:
    """The longest operation, with the interval of the longest in one launch."""
    _, low, high = triple_of(entry.launch_max)
    return entry.max, low, high


def _longest_interval(_value: float | None, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return numbers.MISSING
    return f"[{numbers.plain(low)}, {numbers.plain(high)}]"
