"""A workload's table for the page: columns that hold anything, rows of formatted cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toll.analysis.results import Row, WorkloadResult
from toll.report import numbers
from toll.report.anchors import Anchors
from toll.report.cases import Naming, shared_ties
from toll.report.columns import Column, columns
from toll.report.sentences import status_words
from toll.report.text import clean, commands, headline, humanise, said


def table(workload: WorkloadResult, naming: Naming, anchors: Anchors, level: float) -> dict[str, Any]:
    """Columns and rows as page.html.j2 sets them. Columns in which no row has a number are left out."""
    shown = columns(workload, numbers.percent(level))
    ties = shared_ties(row.tie_groups for row in workload.rows)
    widths = {column.key: _fraction(column, workload.rows) for column in shown}
    names = [
        {
            "id": anchors.row(workload, row),
            "name": clean(row.contender),
            "qualifiers": naming.qualifiers(row),
            "label": naming.label(row),
        }
        for row in workload.rows
    ]
    rows = [
        name | _row(row, shown, widths, letters)
        for name, row, letters in zip(names, workload.rows, ties, strict=True)
    ]
    reasons = dict.fromkeys(clean(row.memory.reason) for row in workload.rows if row.memory.reason)
    return {
        "columns": [_head(column) for column in shown],
        "rows": rows,
        "ties": any(ties),
        "memory_reasons": [commands(reason) for reason in reasons],
    }


def _head(column: Column) -> dict[str, Any]:
    return {
        "key": column.key,
        "title": column.title,
        "unit": column.unit,
        "head": column.head,
        "note": column.note,
        "hint": "; ".join(filter(None, (column.unit, column.hint, column.note))),
        "copy": ", ".join(filter(None, (column.title, column.unit, column.note))),
        "below": _head(column.below) if column.below else None,
    }


def _fraction(column: Column, rows: Sequence[Row]) -> int:
    """Digits after the point that the column must leave room for."""
    if column.key in ("heap", "rss", "bytes"):
        return 0
    tails = (numbers.split(column.write(row).rstrip("×"))[1] for row in rows if row.status == "ok")
    return max((len(tail) - 1 for tail in tails if tail), default=0)


def _row(row: Row, shown: Sequence[Column], widths: dict[str, int], letters: Sequence[str]) -> dict[str, Any]:
    first, rest = headline(row.reason)
    library = " ".join(filter(None, (clean(row.library), clean(row.library_version))))
    return {
        "ok": row.status == "ok",
        "status": status_words(row.status),
        "kind": row.status if row.status in ("skipped", "unsupported", "planned") else "failed",
        "reason": commands(first),
        "rest": rest,
        "fastest": row.fastest,
        "floor": row.floor,
        "ties": letters,
        "cells": [_cell(column, row, widths[column.key]) for column in shown],
        "failed_launches": row.failed_launches,
        "library": library,
        "language": clean(row.language),
        "footing": _footing(row),
        "search": " ".join(
            map(clean, (row.contender, library, row.language, row.environment, row.status))
        ).casefold(),
    }


def _cell(column: Column, row: Row, width: int) -> dict[str, Any]:
    raw = column.raw(row)
    text = column.write(row)
    mark = "×" if text.endswith("×") else ""
    number = text.removesuffix("×")
    whole, fraction = numbers.split(number) if width else (number, "")
    return {
        "key": column.key,
        "title": f"{column.title}, {column.note}" if column.note else column.title,
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
