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

    A line is a contender on one footing, in however many settings: which ones, it says where the contender
    has other footings elsewhere.
    """
    rows = [row for row in workload.rows if row.status == "ok"]
    if len(rows) < 2:
        return {}
    told = Counter(name for row in rows for name in row.footing if name not in _LEFT_OUT)
    names = [name for name in _FIRST if name in told] + [name for name in told if name not in _FIRST]
    apart = [name for name in names if len({_text(row, name) for row in rows}) > 1]
    shared = [name for name in names if name not in apart]
    lines = _alike(rows, apart)
    footings_of = Counter(alike[0].contender for alike in lines)
    if not apart or len(lines) > _MOST_LINES:
        return {}
    return {
        "shared": [f"{_label(name)} {_text(rows[0], name)}" for name in shared],
        "columns": [_label(name) for name in apart],
        "rows": [
            {
                "anchor": anchors.row(workload, alike[0]),
                "name": clean(alike[0].contender),
                "qualifiers": _qualifiers(naming, alike, footings_of[alike[0].contender] > 1),
                "cells": [_text(alike[0], name) for name in apart],
            }
            for alike in lines
        ],
    }


def _alike(rows: Sequence[Row], names: Sequence[str]) -> list[list[Row]]:
    """Rows of one contender whose footing has the same words, in the order of their first ones."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row.contender, *(_text(row, name) for name in names)), []).append(row)
    return list(found.values())


def _qualifiers(naming: Naming, alike: Sequence[Row], elsewhere_other: bool) -> list[str]:
    """What all these rows have or, where the contender has other footings elsewhere, what any of them has."""
    told = [naming.qualifiers(row) for row in alike]
    any_of_them = dict.fromkeys(one for qualifiers in told for one in qualifiers)
    return [one for one in any_of_them if elsewhere_other or all(one in others for others in told)]


def _label(name: str) -> str:
    return humanise(name.removesuffix("_bytes"))


def _text(row: Row, name: str) -> str:
    value = row.footing.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return said(value)
    return numbers.size(value) if name.endswith("_bytes") else f"{value:,}"
