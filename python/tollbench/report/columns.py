"""The numbers of a row, one column each: what a column is called, what it means, how it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report import details
from tollbench.report.anchors import slug
from tollbench.report.sentences import harness_note
from tollbench.text import clean

Number = Callable[[Row], float | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One number a row."""

    key: str
    title: str
    unit: str
    hint: str
    raw: Number
    write: Callable[[Row], str]
    interval: Callable[[Row], str] | None = None
    always: bool = False  # stands even where no row has a number
    head: str = ""  # the unit as the table's head says it, under a caption that says what it is per
    note: str = ""  # what a reader must know before comparing this number
    below: Column | None = None  # a second number in the same cell, in small
    aligned: bool = True  # every row in the same unit, so that decimal points stand below each other


def columns(workload: WorkloadResult, level: str) -> list[Column]:
    """The columns in which some row has a number; of a pair, the one that has."""
    rows, per = workload.rows, clean(workload.per)
    scale = numbers.time_scale((row.value for row in rows), workload.unit)
    note = harness_note(workload)
    candidates = [
        *_times(scale, per, level, note),
        _created(scale),
        *(_detail(one) for one in details.written(workload)),
        *_switches(rows, per, note),
        *_memory(rows, per),
        Column("launches", "Launches", "", "fresh processes that measured this row",
               lambda row: row.launches, _launches, always=True),
    ]  # fmt: skip
    return [column for candidate in candidates if (column := _present(candidate, rows)) is not None]


def _present(column: Column, rows: Sequence[Row]) -> Column | None:
    def known(one: Column) -> bool:
        return one.always or any(one.raw(row) is not None for row in rows)

    below = column.below if column.below and known(column.below) else None
    return replace(column, below=below) if known(column) else below


def _times(scale: numbers.Scale, per: str, level: str, note: str) -> list[Column]:
    def value(row: Row) -> tuple[float | None, float | None, float | None]:
        return scale.of(row.value), scale.of(row.low), scale.of(row.high)

    def ratio(row: Row) -> tuple[float | None, float | None, float | None]:
        return row.ratio, row.ratio_low, row.ratio_high

    unit = f"{scale.unit} per {per}"
    return [
        Column("value", "Time", unit, f"wall clock, median over launches, with its {level} interval",
               lambda row: row.value, lambda row: numbers.quantity(*value(row)),
               lambda row: numbers.interval(*value(row)), always=True, head=scale.unit),
        Column("ratio", "Ratio", "to fastest", f"to the fastest row, paired by round; {level} interval",
               lambda row: row.ratio, lambda row: numbers.ratio(*ratio(row)),
               lambda row: numbers.ratio_interval(*ratio(row)), always=True, head="to fastest"),
        Column("efficiency", "Efficiency", "%", "the floor's time over this row's, paired by round: which "
               "part of it the bare work would take; several threads may do better than 100 %",
               lambda row: row.efficiency.value if row.efficiency else None,
               lambda row: numbers.quantity(*efficiency(row)), lambda row: numbers.interval(*efficiency(row)),
               head="% floor"),
        replace(_scaled("cpu", "CPU time", "of all threads", lambda row: row.cpu_time,
                        replace(scale, unit=unit)), head=scale.unit, note=note),
        replace(_scaled("cold", "First batch", "the first batch of a launch, before anything is warm",
                        lambda row: row.cold, replace(scale, unit=unit)), head=scale.unit),
    ]  # fmt: skip


def efficiency(row: Row) -> tuple[float | None, float | None, float | None]:
    """Floor over row in percent, with its interval."""
    told, percent = row.efficiency, numbers.Scale("%", 100.0)
    return (percent.of(told.value), percent.of(told.low), percent.of(told.high)) if told else (None,) * 3


def exact_calls(row: Row) -> str:
    """Allocation calls of one iteration: the exact number, or the range where launches differ."""
    counted = row.memory.calls_in_passes
    if row.memory.exact_calls is not None:
        return f"{row.memory.exact_calls:,}"
    if len(set(counted)) > 1:
        return f"{numbers.plain(min(counted), 4)} to {numbers.plain(max(counted), 4)}"
    return numbers.MISSING


def _detail(one: details.WrittenDetail) -> Column:
    def raw(row: Row) -> float | None:
        found = one.estimate(row)
        return None if found is None else found.value

    return Column(f"detail-{slug(one.name)}", one.title, one.head, one.meaning, raw, one.text, one.interval,
                  head=one.head, aligned=one.aligned)  # fmt: skip


def _created(scale: numbers.Scale) -> Column:
    """What one thread, fiber or task costs, where a unit of work takes more or fewer than one of them."""
    memory = _sized(
        "unit_memory",
        "memory",
        "",
        "the highest resident set, shared out",
        lambda row: row.memory_per_unit_bytes,
    )
    return Column(
        "created",
        "Per unit created",
        f"{scale.unit} per unit created",
        "per thread, fiber or task that was made; in small, the highest resident set shared out among those "
        "alive at the peak, or among all created where nobody counted the living",
        lambda row: row.created_value,
        lambda row: numbers.quantity(*created(row, scale)),
        head=scale.unit,
        below=memory,
    )


def created(row: Row, scale: numbers.Scale) -> tuple[float | None, float | None, float | None]:
    """Time per unit created with its interval, which is the value's own in other units."""
    if row.created_value is None or not row.value:
        return (None,) * 3
    factor = row.created_value / row.value
    low, high = (None if end is None else scale.of(end * factor) for end in (row.low, row.high))
    return scale.of(row.created_value), low, high


def _switches(rows: Sequence[Row], per: str, note: str) -> list[Column]:
    """Context switches of both kinds share a scale, so that they can be compared; faults have their own."""
    both = [count for row in rows for count in (row.voluntary_switches, row.involuntary_switches)]
    scale = numbers.count_scale(both, per)
    preempted = _scaled("involuntary", "preempted", "involuntary context switches",
                        lambda row: row.involuntary_switches, scale)  # fmt: skip
    waits = _scaled(
        "voluntary",
        "Waits",
        "voluntary context switches: the thread blocked; in small, involuntary ones: the kernel took the CPU",
        lambda row: row.voluntary_switches,
        scale,
    )
    faults = numbers.count_scale((row.faults for row in rows), per)
    return [
        replace(waits, below=preempted, note=note),
        replace(
            _scaled("faults", "Page faults", "minor and major", lambda row: row.faults, faults), note=note
        ),
    ]


def _memory(rows: Sequence[Row], per: str) -> list[Column]:
    scale = numbers.count_scale((row.memory.calls for row in rows), per)
    calls = _scaled(
        "calls",
        "Allocations",
        "calls of malloc and its family, in a launch of their own; in small, the bytes that they asked for",
        lambda row: row.memory.calls,
        scale,
    )
    exact = Column("exact_calls", "Calls", "per iteration", "allocation calls of one iteration: the same "
                   "whole number in several launches with different layouts; a range where they differed",
                   lambda row: row.memory.exact_calls, exact_calls, head="per iteration",
                   aligned=False)  # fmt: skip
    heap = _sized("heap", "Heap peak", "", "most bytes allocated at once in one iteration; in small, the "
                  "highest resident set of any launch", lambda row: row.memory.heap_peak_bytes)  # fmt: skip
    return [
        replace(calls, below=_sized("bytes", "bytes", scale.unit, "asked of malloc and its family",
                                    lambda row: scale.of(row.memory.bytes))),
        exact,
        replace(heap, below=_sized("rss", "resident", "", "highest resident set of any launch",
                                   lambda row: row.memory.peak_bytes)),
    ]  # fmt: skip


def _scaled(key: str, title: str, hint: str, raw: Number, scale: numbers.Scale) -> Column:
    return Column(key, title, scale.unit, hint, raw, lambda row: numbers.plain(scale.of(raw(row))),
                  head=numbers.rate(scale))  # fmt: skip


def _sized(key: str, title: str, unit: str, hint: str, raw: Number) -> Column:
    return Column(key, title, unit, hint, raw, lambda row: numbers.size(raw(row)), aligned=False)


def _launches(row: Row) -> str:
    return f"{row.launches:,}" if row.launches or row.status == "ok" else numbers.MISSING
