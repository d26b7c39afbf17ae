"""A workload's table for the page: columns that hold anything, rows of formatted cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toll.analysis.results import Row, WorkloadResult
from toll.report import numbers
from toll.report.anchors import Anchors
from toll.report.cases import Naming, shared_ties
from toll.report.sentences import status_words
from toll.report.text import clean, commands, headline, humanise, said


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
    below: _Column | None = None  # a second number in the same cell, in small


def table(workload: WorkloadResult, naming: Naming, anchors: Anchors, level: float) -> dict[str, Any]:
    """Columns and rows as page.html.j2 sets them. Columns in which no row has a number are left out."""
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    columns = _present(
        _columns(workload.rows, scale, clean(workload.per), numbers.percent(level)), workload.rows
    )
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


def _present(columns: Sequence[_Column], rows: Sequence[Row]) -> list[_Column]:
    """The columns in which some row has a number; of a pair, the one that has."""

    def known(column: _Column) -> bool:
        return column.always or any(column.raw(row) is not None for row in rows)

    kept = []
    for column in columns:
        below = column.below if column.below and known(column.below) else None
        if known(column):
            kept.append(replace(column, below=below))
        elif below:
            kept.append(below)
    return kept


def _columns(rows: Sequence[Row], scale: numbers.Scale, per: str, level: str) -> list[_Column]:
    def triple(row: Row) -> tuple[float | None, float | None, float | None]:
        return scale.of(row.value), scale.of(row.low), scale.of(row.high)

    def ratio(row: Row) -> tuple[float | None, float | None, float | None]:
        return row.ratio, row.ratio_low, row.ratio_high

    time = f"{scale.unit} per {per}"
    switches = numbers.count_scale(
        [count for row in rows for count in (row.voluntary_switches, row.involuntary_switches)], per
    )
    return [
        _Column(
            "value",
            "Time",
            time,
            f"wall clock, median over launches, with its {level} interval",
            lambda row: row.value,
            lambda row: numbers.quantity(*triple(row)),
            lambda row: numbers.interval(*triple(row)),
            always=True,
        ),
        _Column(
            "ratio",
            "Ratio",
            "to fastest",
            f"to the fastest row, paired by round; {level} interval",
            lambda row: row.ratio,
            lambda row: numbers.ratio(*ratio(row)),
            lambda row: numbers.ratio_interval(*ratio(row)),
            always=True,
        ),
        _Column(
            "cpu",
            "CPU time",
            time,
            "of all threads",
            lambda row: row.cpu_time,
            lambda row: numbers.plain(scale.of(row.cpu_time)),
        ),
        _Column(
            "cold",
            "First batch",
            time,
            "the first batch of a launch, before anything is warm",
            lambda row: row.cold,
            lambda row: numbers.plain(scale.of(row.cold)),
        ),
        replace(
            _Column(
                "voluntary",
                "Waits",
                switches.unit,
                "voluntary context switches: the thread blocked; in small, "
                "involuntary ones: the kernel took the CPU away",
                lambda row: row.voluntary_switches,
                lambda row: numbers.plain(switches.of(row.voluntary_switches)),
            ),
            below=_Column(
                "involuntary",
                "preempted",
                switches.unit,
                "involuntary context switches",
                lambda row: row.involuntary_switches,
                lambda row: numbers.plain(switches.of(row.involuntary_switches)),
            ),
        ),
        _events("faults", "Page faults", "minor and major", lambda row: row.faults, rows, per),
        replace(
            _events(
                "calls",
                "Allocations",
                "calls of malloc and its family, in a launch of their own; in small, "
                "the bytes they asked for",
                lambda row: row.memory.calls,
                rows,
                per,
            ),
            below=_Column(
                "bytes",
                "bytes",
                f"per {per}",
                "bytes asked of malloc and its family",
                lambda row: row.memory.bytes,
                lambda row: numbers.size(row.memory.bytes),
            ),
        ),
        _Column(
            "heap",
            "Heap peak",
            "",
            "most bytes allocated at once in one iteration; in small, the highest resident set of any launch",
            lambda row: row.memory.heap_peak_bytes,
            lambda row: numbers.size(row.memory.heap_peak_bytes),
            below=_Column(
                "rss",
                "resident",
                "",
                "highest resident set of any launch",
                lambda row: row.memory.peak_bytes,
                lambda row: numbers.size(row.memory.peak_bytes),
            ),
        ),
        _Column(
            "launches",
            "Launches",
            "",
            "fresh processes that measured this row",
            lambda row: row.launches,
            _launches,
            always=True,
        ),
    ]


def _events(
    key: str, title: str, hint: str, raw: Callable[[Row], float | None], rows: Sequence[Row], per: str
) -> _Column:
    """A column that counts events, per as many units of work as make the counts readable."""
    scale = numbers.count_scale(map(raw, rows), per)
    return _Column(key, title, scale.unit, hint, raw, lambda row: numbers.plain(scale.of(raw(row))))


def _launches(row: Row) -> str:
    return f"{row.launches:,}" if row.launches or row.status == "ok" else numbers.MISSING


def _head(column: _Column) -> dict[str, Any]:
    return {
        "key": column.key,
        "title": column.title,
        "unit": column.unit,
        "hint": column.hint,
        "below": _head(column.below) if column.below else None,
    }


def _fraction(column: _Column, rows: Sequence[Row]) -> int:
    """Digits after the point that the column must leave room for."""
    if column.key in ("heap", "rss", "bytes"):
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
        "search": " ".join(
            map(clean, (row.contender, library, row.language, row.environment, row.status))
        ).casefold(),
    }


def _cell(column: _Column, row: Row, width: int) -> dict[str, Any]:
    raw = column.raw(row)
    text = column.write(row)
    mark = "×" if text.endswith("×") else ""
    number = text.removesuffix("×")
    whole, fraction = numbers.split(number) if width else (number, "")
    return {
        "key": column.key,
        "title": column.title,
        "unit": column.unit,
        "raw": "" if raw is None else repr(raw),
        "whole": whole,
        "fraction": fraction,
        "mark": mark,
        "width": min(width, 9),
        "missing": text == numbers.MISSING,
        "interval": column.interval(row) if column.interval else "",
        "below": (column.below.title, column.below.write(row)) if column.below else None,
    }


def _footing(row: Row) -> list[tuple[str, str]]:
    """On what terms the contender ran, and what no column shows."""
    pairs = [
        ("library", f"{clean(row.library)} {clean(row.library_version)}".strip()),
        ("language", clean(row.language)),
        ("environment", clean(row.environment)),
        *((f"{clean(name)}", clean(value)) for name, value in row.parameters.items()),
        *((humanise(name).lower(), said(value)) for name, value in row.footing.items()),
        *((humanise(name).lower(), said(value)) for name, value in row.counters.items()),
        ("spread between launches", numbers.percent(row.spread) if row.spread is not None else ""),
    ]
    return [(label, value) for label, value in pairs if value]
