"""CSV: one row a case, for spreadsheets and scripts.

Numbers are unrounded, in the row's `unit` per `per`; a missing number, also one below the clock's step, is
an empty cell. Parameters and footing are JSON. Spreadsheets run a cell that begins with = + - @, a tab or a
carriage return as a formula, and run files come from strangers: a text that begins so gets an apostrophe in
front, which spreadsheets read as "this is text". Numbers are never changed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from tollbench.analysis.results import NamedCase, Results, Row, WorkloadResult
from tollbench.report import percentiles
from tollbench.report.columns import columns
from tollbench.report.showing import C, Column, each
from tollbench.text import clean
from tollbench.words import PERCENTILES

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FULLWIDTH = ("＝", "＋", "－", "＠")  # some spreadsheets read these as formulas too
_TEXTS = (
    "contender", "environment", "language", "library", "library_version", "status", "reason", "unit", "per",
    "within_run",
)  # fmt: skip
# Scripts count on this order. A column that is not in it stands behind, before the workloads' details.
COLUMNS = (
    "workload", "contender", "environment", "parameters", "language", "library", "library_version", "status",
    "reason", "value", "low", "high", "unit", "per", "ratio", "ratio_low", "ratio_high", "fastest",
    "tie_groups", "cpu_time", "voluntary_switches", "involuntary_switches", "faults", "memory_calls",
    "memory_bytes", "memory_heap_peak_bytes", "memory_peak_bytes", "cold", "launches", "failed_launches",
    "spread", "count", "p50", "p90", "p99", "p999", "max", "created_value", "memory_per_unit_bytes",
    "footing", "p9999", "cpus_busy", "efficiency", "efficiency_low", "efficiency_high", "environment_ratio",
    "environment_ratio_low", "environment_ratio_high", "environment_fastest", "memory_exact_calls",
    "claims", "counts_as", "within_run",
    *(f"{one.key}_ratio{end}" for one in PERCENTILES[1:] for end in ("", "_low", "_high")),
    "layout_spread",
)  # fmt: skip


def render(results: Results) -> str:
    """A header line and one line a case, comma-separated, quoted as RFC 4180 says, lines ended by LF."""
    level = results.run.level
    nothing = WorkloadResult(workload="", question="", kind="", unit="", per="", rows=[])
    shown = [list(each(columns(workload, level))) for workload in (nothing, *results.workloads)]
    told = [_safe(name) for table in shown for one in table for name in one.csv]
    names = dict.fromkeys([*COLUMNS, *(percentile.key for percentile in PERCENTILES), *told])
    claimed = _claims(results)
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for workload, table in zip(results.workloads, shown[1:], strict=True):
        timed = list(each(percentiles.columns(workload.latencies)))
        latencies = {_identity(entry): _numbers(timed, entry) for entry in workload.latencies}
        for row in workload.rows:
            cells = _texts(workload, row) | _numbers(table, row) | latencies.get(_identity(row), {})
            cells |= {"claims": "; ".join(claimed.get((workload.workload, *_identity(row)), []))}
            writer.writerow({name: _safe(cell) for name, cell in cells.items()})
    return out.getvalue()


def _claims(results: Results) -> dict[tuple[str, str, str, str], list[str]]:
    """Of each row, the checks that it is a side of: "spinlock_ten_times_sooner/1=holds 49.1 45.0 53.2".

    Behind the verdict stand ratio, low and high of the left side to the right one, where there are any.
    """
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for claim in results.claims:
        for number, part in enumerate(claim.parts, 1):
            ends = [f"{end!r}" for end in (part.ratio, part.low, part.high) if end is not None]
            told = " ".join([f"{claim.name}/{number}={part.verdict}", *ends])
            rows = {(one.workload, *_identity(one)) for one in (part.left, part.right) if one.contender}
            for row in rows:
                found.setdefault(row, []).append(told)
    return found


def _identity(case: NamedCase) -> tuple[str, str, str]:
    return case.contender, case.environment, _json(case.parameters)


def _numbers(shown: Iterable[Column[C]], case: C) -> dict[str, float | None]:
    """None also where every other format writes something instead: what is below the clock's step."""
    return {
        _safe(name): None if one.instead and one.instead(case) else number
        for one in shown
        for name, number in zip(one.csv, one.read(case), strict=False)
    }


def _texts(workload: WorkloadResult, row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _TEXTS} | {
        "workload": workload.workload,
        "parameters": _json(row.parameters),
        "footing": _json(row.footing),
        "tie_groups": " ".join(row.tie_groups),
        "fastest": "yes" if row.fastest else "no",
        "environment_fastest": "yes" if row.environment_fastest else "no",
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = clean(cell, lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA + _FULLWIDTH) else text
