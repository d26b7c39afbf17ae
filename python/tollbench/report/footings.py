"""On what footing the contenders of a workload stand, side by side."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.anchors import Anchors
from tollbench.report.cases import Naming
from tollbench.text import clean, humanise, said

# First what every reader compares; what else the launches told follows in their own order.
_FIRST = (
    "units_created", "units_alive_peak", "stack_bytes", "stack", "threads", "pinning", "pinned_cpus",
    "malloc", "allocator", "results", "leaves", "waits",
)  # fmt: skip
_LEFT_OUT = ("clock_offset_ns", "warmup_batches", "role")  # differ from launch to launch, or stand elsewhere
_MOST_ROWS = 150  # each row tells its footing beside its name; this table is for comparing


def footings(workload: WorkloadResult, naming: Naming, anchors: Anchors) -> dict[str, Any]:
    """A column for each entry in which rows differ; what all share is said once. {} where nothing differs."""
    rows = [row for row in workload.rows if row.status == "ok"]
    if not 1 < len(rows) <= _MOST_ROWS:
        return {}
    told = Counter(name for row in rows for name in row.footing if name not in _LEFT_OUT)
    names = [name for name in _FIRST if name in told] + [name for name in told if name not in _FIRST]
    apart = [name for name in names if len({_text(row, name) for row in rows}) > 1]
    shared = [name for name in names if name not in apart]
    if not apart:
        return {}
    return {
        "shared": [f"{_label(name)} {_text(rows[0], name)}" for name in shared],
        "columns": [_label(name) for name in apart],
        "rows": [
            {
                "anchor": anchors.row(workload, row),
                "name": clean(row.contender),
                "qualifiers": naming.qualifiers(row),
                "cells": [_text(row, name) for name in apart],
            }
            for row in rows
        ],
    }


def _label(name: str) -> str:
    return humanise(name.removesuffix("_bytes"))


def _text(row: Row, name: str) -> str:
    value = row.footing.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return said(value)
    return numbers.size(value) if name.endswith("_bytes") else f"{value:,}"
