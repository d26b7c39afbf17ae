"""On what footing the contenders of a workload stand, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.anchors import Anchors
from tollbench.report.cases import Naming, groups
from tollbench.text import clean, humanise, said
from tollbench.words import CODE_LAYOUTS, ONE_CODE_LAYOUT, SETTINGS_OF, canonical

# First what every reader compares; what else the launches told follows in their own order.
_FIRST = (
    "units_created", "units_alive_peak", "stack_bytes", "stack", "threads", "load_threads", "pinning",
    "pinned_cpus", "malloc", "allocator", "results", "leaves", "waits",
)  # fmt: skip
# What makes the same code faster or slower: where rows of one table differ in it, the table itself says so.
_UNEQUAL = (
    "threads", "pinning", "stack_bytes", "flags", "executors", "hash", "waits", "capacity", ONE_CODE_LAYOUT,
)  # fmt: skip
# They differ from launch to launch, or stand elsewhere.
_LEFT_OUT = ("clock_offset_ns", "warmup_batches", "role", SETTINGS_OF, CODE_LAYOUTS)
_MOST_LINES = 150  # each row tells its footing beside its name; this table is for comparing


Differing = dict[tuple[str, str, str], str]


def differing(workload: WorkloadResult) -> Differing:
    """By row, as `of_row` has it: what it stands on otherwise than most rows of its own table.

    Where no value is that of most rows, each row says its own.
    """
    found: Differing = {}
    for group in groups(workload):
        rows = [row for row in group.rows if row.status == "ok"]
        usual = {name: _usual([_text(row, name) for row in rows]) for name in _UNEQUAL}
        for row in rows:
            apart = [name for name in _UNEQUAL if _text(row, name) not in ("", usual[name])]
            told = "; ".join(f"{_label(name).lower()} {_text(row, name)}" for name in apart)
            if told:
                found[_key(row)] = told
    return found


def of_row(row: Row, found: Differing) -> str:
    """What `differing` found about the row."""
    return found.get(_key(row), "")


def _key(row: Row) -> tuple[str, str, str]:
    return row.contender, row.environment, canonical(row.parameters)


def _usual(values: list[str]) -> str | None:
    """The value that more rows have than any other one, None where there is none such."""
    ranked = Counter(values).most_common(2)
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None


def footings(workload: WorkloadResult, naming: Naming, anchors: Anchors) -> dict[str, Any]:
    """A column for each entry in which rows differ; what all share is said once. {} where nothing differs.

    A contender that stands on one footing in all its settings is one line, another one has a line a setting.
    """
    rows = [row for row in workload.rows if row.status == "ok"]
    if len(rows) < 2:
        return {}
    told = Counter(name for row in rows for name in row.footing if name not in _LEFT_OUT)
    names = [name for name in _FIRST if name in told] + [name for name in told if name not in _FIRST]
    apart = [name for name in names if len({_text(row, name) for row in rows}) > 1]
    shared = [name for name in names if name not in apart]
    lines = _lines(rows, apart)
    if not apart or len(lines) > _MOST_LINES:
        return {}
    return {
        "shared": [f"{_label(name)} {_text(rows[0], name)}" for name in shared],
        "columns": [_label(name) for name in apart],
        "rows": [
            {
                "anchor": anchors.row(workload, alike[0]),
                "name": clean(alike[0].contender),
                "qualifiers": _in_common([naming.qualifiers(row) for row in alike]),
                "cells": [_text(alike[0], name) for name in apart],
            }
            for alike in lines
        ],
    }


def _lines(rows: Sequence[Row], names: Sequence[str]) -> list[list[Row]]:
    """The rows of each line; contenders in the order of their first rows."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.contender, []).append(row)
    lines = []
    for settings in found.values():
        one_footing = len({tuple(_text(row, name) for name in names) for row in settings}) == 1
        lines += [settings] if one_footing else [[row] for row in settings]
    return lines


def _in_common(qualifiers: Sequence[Sequence[str]]) -> list[str]:
    """What each of them has."""
    return [one for one in qualifiers[0] if all(one in others for others in qualifiers[1:])]


def _label(name: str) -> str:
    return humanise(name.removesuffix("_bytes"))


def _text(row: Row, name: str) -> str:
    value = row.footing.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return said(value)
    return numbers.size(value) if name.endswith("_bytes") else f"{value:,}"
