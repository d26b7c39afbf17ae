"""A workload's table for the page: columns that hold anything, rows of formatted cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toll.analysis.results import Row, WorkloadResult
from toll.report import numbers
from toll.report.anchors import Anchors
from toll.report.cases import Naming, shared_ties
from toll.report.sentences import status_words
from toll.report.text import clean, commands, headline, humanise, said

_TieText = Callable[[Row], str]


@dataclass(frozen=True, slots=True)
class _Column:
    """One number a row: its title, what the title means, the number itself and how it is written."""

    key: str
    title: str
    unit: str
    hint: str
    raw: Callable[[Row], float | None]
    write: Callable[[Row], str]
    interval: Callable[[Row], str] | None = None
    always: bool = False


def table(workload: WorkloadResult, naming: Naming, anchors: Anchors, level: float) -> dict[str, Any]:
    """Columns and rows as page.html.j2 sets them. Columns in which no row has a number are left out."""
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    columns = [
        column
        for column in _columns(scale, clean(workload.per), numbers.percent(level))
        if column.always or any(column.raw(row) is not None for row in workload.rows)
    ]
    ties = shared_ties(row.tie_groups for row in workload.rows)
    widths = {column.key: _fraction(column, workload.rows) for column in columns}
    rows = [
        _row(row, columns, widths, letters)
        | {
            "id": anchors.row(workload, row),
            "name": clean(row.contender),
            "qualifiers": naming.qualifiers(row),
            "label": naming.label(row),
        }
        for row, letters in zip(workload.rows, ties, strict=True)
    ]
    reasons = dict.fromkeys(clean(row.memory.reason) for row in workload.rows if row.memory.reason)
    return {
        "columns": [_head(column) for column in columns],
        "rows": rows,
        "ties": any(ties),
        "memory_reasons": [commands(reason) for reason in reasons],
    }


def _columns(scale: numbers.Scale, per: str, level: str) -> list[_Column]:
    def triple(row: Row) -> tuple[float | None, float | None, float | None]:
        return scale.of(row.value), scale.of(row.low), scale.of(row.high)

    def ratio(row: Row) -> tuple[float | None, float | None, float | None]:
        return row.ratio, row.ratio_low, row.ratio_high

    time = f"{scale.unit} per {per}"
    each = f"per {per}"
    return [
        _Column("value", "Time", time, f"wall clock, median over launches, with its {level} interval",
                lambda row: row.value, lambda row: numbers.quantity(*triple(row)),
                lambda row: numbers.interval(*triple(row)), always=True),
        _Column("ratio", "Ratio", "to fastest", f"to the fastest row, paired by round, with its {level} interval",
                lambda row: row.ratio, lambda row: numbers.ratio(*ratio(row)),
                lambda row: numbers.ratio_interval(*ratio(row)), always=True),
        _Column("cpu", "CPU time", time, "of all threads",
                lambda row: row.cpu_time, lambda row: numbers.plain(scale.of(row.cpu_time))),
        _Column("cold", "First batch", time, "the first batch of a launch, before anything is warm",
                lambda row: row.cold, lambda row: numbers.plain(scale.of(row.cold))),
        _Column("voluntary", "Waits", each, "voluntary context switches: the thread blocked",
                lambda row: row.voluntary_switches, lambda row: numbers.plain(row.voluntary_switches)),
        _Column("involuntary", "Preempted", each, "involuntary context switches: the kernel took the CPU away",
                lambda row: row.involuntary_switches, lambda row: numbers.plain(row.involuntary_switches)),
        _Column("faults", "Page faults", each, "minor and major",
                lambda row: row.faults, lambda row: numbers.plain(row.faults)),
        _Column("calls", "Allocations", each, "calls of malloc and its family, in a launch of their own",
                lambda row: row.memory.calls, lambda row: numbers.plain(row.memory.calls)),
        _Column("bytes", "Allocated", each, "bytes asked of malloc and its family",
                lambda row: row.memory.bytes, lambda row: numbers.size(row.memory.bytes)),
        _Column("heap", "Heap peak", "of one iteration", "highest number of bytes allocated at once",
                lambda row: row.memory.heap_peak_bytes, lambda row: numbers.size(row.memory.heap_peak_bytes)),
        _Column("rss", "Peak memory", "of the process", "highest resident set of any launch",
                lambda row: row.memory.peak_bytes, lambda row: numbers.size(row.memory.peak_bytes)),
        _Column("launches", "Launches", "", "fresh processes that measured this row",
                lambda row: row.launches, _launches, always=True),
    ]  # fmt: skip


def _launches(row: Row) -> str:
    return f"{row.launches:,}" if row.launches or row.status == "ok" else numbers.MISSING


def _head(column: _Column) -> dict[str, Any]:
    return {"key": column.key, "title": column.title, "unit": column.unit, "hint": column.hint}


def _fraction(column: _Column, rows: Sequence[Row]) -> int:
    """Digits after the point that the column must leave room for."""
    if column.key in ("bytes", "heap", "rss"):
        return 0
    tails = (numbers.split(column.write(row).rstrip("×"))[1] for row in rows if row.status == "ok")
    return max((len(tail) - 1 for tail in tails if tail), default=0)


def _row(
    row: Row, columns: Sequence[_Column], widths: dict[str, int], letters: Sequence[str]
) -> dict[str, Any]:
    first, rest = headline(row.reason)
    library = " ".join(filter(None, (clean(row.library), clean(row.library_version))))
    return {
        "ok": row.status == "ok",
        "status": status_words(row.status),
        "kind": row.status if row.status in ("skipped", "unsupported", "planned") else "failed",
        "reason": commands(first),
        "rest": rest,
        "fastest": row.fastest,
        "ties": letters,
        "cells": [_cell(column, row, widths[column.key]) for column in columns],
        "failed_launches": row.failed_launches,
        "library": library,
        "language": clean(row.language),
        "environment": clean(row.environment),
        "footing": _footing(row),
        "search": " ".join(map(clean, (row.contender, library, row.language, row.environment,
                                       row.status))).casefold(),
    }  # fmt: skip


def _cell(column: _Column, row: Row, width: int) -> dict[str, Any]:
    raw = column.raw(row)
    text = column.write(row)
    mark = "×" if text.endswith("×") else ""
    number = text.removesuffix("×")
    whole, fraction = numbers.split(number) if width else (number, "")
    return {
        "key": column.key, "title": column.title, "unit": column.unit,
        "raw": "" if raw is None else repr(raw),
        "whole": whole, "fraction": fraction, "mark": mark, "width": min(width, 9),
        "missing": text == numbers.MISSING,
        "interval": column.interval(row) if column.interval else "",
    }  # fmt: skip


def _footing(row: Row) -> list[tuple[str, str]]:
    """On what terms the contender ran, and what no column shows."""
    pairs = [
        ("library", f"{clean(row.library)} {clean(row.library_version)}".strip()), ("language", clean(row.language)),
        ("environment", clean(row.environment)),
        *((f"{clean(name)}", clean(value)) for name, value in row.parameters.items()),
        *((humanise(name).lower(), said(value)) for name, value in row.footing.items()),
        *((humanise(name).lower(), said(value)) for name, value in row.counters.items()),
        ("spread between launches", numbers.percent(row.spread) if row.spread is not None else ""),
    ]  # fmt: skip
    return [(label, value) for label, value in pairs if value]
