"""A workload's table for the page: columns that hold anything, rows of formatted cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.anchors import Anchors
from tollbench.report.cases import Group, Naming, groups
from tollbench.report.columns import columns
from tollbench.report.sentences import status_words
from tollbench.report.showing import ALIKE, Column
from tollbench.text import clean, commands, headline, humanise, said

SET_ASIDE = ("skipped", "unsupported", "planned")  # nothing went wrong: it was not tried


def table(workload: WorkloadResult, naming: Naming, anchors: Anchors, level: float) -> dict[str, Any]:
    """Columns, and rows in groups, as page.html.j2 sets them. Columns in which no row has a number are left
    out."""
    shown = _present(columns(workload, level), workload.rows)
    widths = {column.key: _fraction(column, workload.rows) for column in shown}
    within, together = naming.within(workload), groups(workload)
    names = [
        {
            "id": anchors.row(workload, row),
            "name": clean(row.contender),
            "qualifiers": within.qualifiers(row),
            "label": naming.label(row),
        }
        for group in together
        for row in group.rows
    ]
    told = [(row, letters) for group in together for row, letters in zip(group.rows, group.ties, strict=True)]
    rows = [
        name | _row(row, shown, widths, letters) for name, (row, letters) in zip(names, told, strict=True)
    ]
    footings = [_footing(row) if row.status == "ok" else [] for row, _ in told]
    shared = _shared([pairs for pairs in footings if pairs])
    for cells, pairs in zip(rows, footings, strict=True):
        cells["footing"] = [pair for pair in pairs if pair not in shared]
    remaining = iter(rows)
    reasons = dict.fromkeys(clean(row.memory.reason) for row in workload.rows if row.memory.reason)
    return {
        "columns": [_head(column) for column in shown],
        "groups": [
            {"number": number, **_group(group, within, remaining)} for number, group in enumerate(together)
        ],
        "ties": any(letters for _, letters in told),
        "labels": [
            (column.key, ", ".join(filter(None, (column.title, column.note))), column.unit)
            for column in shown
        ],
        "shared_footing": [f"{label} {value}" for label, value in shared],
        "memory_reasons": [commands(reason) for reason in reasons],
    }


def _present(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """Those of the page in which some row has a number; of a pair, the one that has."""
    found = []
    for column in columns:
        below = column.below if column.below and column.below.known(rows) else None
        if column.page and (column.always or column.known(rows)):
            found.append(replace(column, below=below))
        elif below:
            found.append(below)
    return found


def _group(group: Group, naming: Naming, rows: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return {
        "setting": group.setting,
        "best": naming.label(group.best) + group.unseen if group.best else "",
        "measured": len(group.measured),
        "rows": list(islice(rows, len(group.rows))),
    }


def _shared(footings: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """What all of several rows stand on: said once below the table, where each row would repeat it."""
    if len(footings) < 2:
        return []
    return [pair for pair in footings[0] if all(pair in pairs for pairs in footings[1:])]


def _head(column: Column[Row]) -> dict[str, Any]:
    return {
        "key": column.key,
        "title": column.title,
        "unit": column.unit,
        "head": column.head,
        "note": column.note,
        "hint": "; ".join(filter(None, (column.unit, column.hint, column.note))),
        "copied": ", ".join(filter(None, (column.title, column.unit, column.note))),
        "below": _head(column.below) if column.below else None,
    }


def _fraction(column: Column[Row], rows: Sequence[Row]) -> int:
    """Digits after the point that the column must leave room for."""
    if not column.aligned:
        return 0
    tails = (numbers.split(column.text(row).rstrip("×"))[1] for row in rows if row.status == "ok")
    return max((len(tail) - 1 for tail in tails if tail), default=0)


def _row(
    row: Row, shown: Sequence[Column[Row]], widths: dict[str, int], letters: Sequence[str]
) -> dict[str, Any]:
    first, rest = headline(row.reason)
    library = " ".join(filter(None, (clean(row.library), clean(row.library_version))))
    return {
        "ok": row.status == "ok",
        "status": status_words(row.status),
        "kind": row.status if row.status in SET_ASIDE else "failed",
        "reason": commands(first),
        "rest": rest,
        "fastest": row.fastest,
        "floor": row.floor,
        "baseline": row.baseline,
        "ties": letters,
        "cells": [_cell(column, row, widths[column.key]) for column in shown],
        "failed_launches": row.failed_launches,
        "library": library,
        "language": clean(row.language),
    }


def _cell(column: Column[Row], row: Row, width: int) -> dict[str, Any]:
    raw = column.value(row)
    text = column.text(row)
    mark = "×" if text.endswith("×") else ""
    number = text.removesuffix("×")
    whole, fraction = numbers.split(number) if width else (number, "")
    return {
        "key": column.key,
        "raw": "" if raw is None else f"{raw:.7g}",  # for sorting
        "whole": whole,
        "fraction": fraction,
        "mark": mark,
        "width": min(width, 9),
        "missing": text == numbers.MISSING,
        "interval": column.interval(row).removesuffix(ALIKE),
        "aside": column.aside(row) if column.aside else "",
        "below": (column.below.title, column.below.text(row)) if column.below else None,
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
        ("layout of its code alone", f"±{numbers.percent(row.layout_spread)}" if row.layout_spread else ""),
        ("spread between launches", numbers.percent(row.spread) if row.spread is not None else ""),
    ]
    return [(label, value) for label, value in pairs if value]
