"""CSV: one row a case, for spreadsheets and scripts.

Numbers are unrounded, in the row's `unit` per `per`; a missing number is an empty cell. Parameters and
footing are JSON. Spreadsheets run a cell that begins with = + - @, a tab or a carriage return as a formula,
and run files come from strangers: a text that begins so gets an apostrophe in front, which spreadsheets
read as "this is text". Numbers are never changed.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from toll.analysis.results import Results, Row, WorkloadResult
from toll.report.text import clean

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FULLWIDTH = ("＝", "＋", "－", "＠")  # some spreadsheets read these as formulas too
COLUMNS = (
    "workload",
    "contender",
    "environment",
    "parameters",
    "language",
    "library",
    "library_version",
    "status",
    "reason",
    "value",
    "low",
    "high",
    "unit",
    "per",
    "ratio",
    "ratio_low",
    "ratio_high",
    "fastest",
    "tie_groups",
    "cpu_time",
    "voluntary_switches",
    "involuntary_switches",
    "faults",
    "memory_calls",
    "memory_bytes",
    "memory_heap_peak_bytes",
    "memory_peak_bytes",
    "cold",
    "launches",
    "failed_launches",
    "spread",
    "count",
    "p50",
    "p90",
    "p99",
    "p999",
    "max",
    "created_value",
    "memory_per_unit_bytes",
    "footing",
)


def render(results: Results) -> str:
    """A header line and one line a case, comma-separated, quoted as RFC 4180 says, lines ended by LF."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for workload in results.workloads:
        percentiles = {
            (entry.contender, entry.environment, _json(entry.parameters)): {
                name: getattr(entry, name) for name in ("count", "p50", "p90", "p99", "p999", "max")
            }
            for entry in workload.latencies
        }
        for row in workload.rows:
            key = (row.contender, row.environment, _json(row.parameters))
            cells = _cells(workload, row) | percentiles.get(key, {})
            writer.writerow({name: _safe(cell) for name, cell in cells.items()})
    return out.getvalue()


def _cells(workload: WorkloadResult, row: Row) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in COLUMNS if name in Row.model_fields}
    memory = {
        f"memory_{name}": getattr(row.memory, name)
        for name in ("calls", "bytes", "heap_peak_bytes", "peak_bytes")
    }
    return (
        own
        | memory
        | {
            "workload": workload.workload,
            "parameters": _json(row.parameters),
            "footing": _json(row.footing),
            "tie_groups": " ".join(row.tie_groups),
            "fastest": "yes" if row.fastest else "no",
        }
    )


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = clean(cell, lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA + _FULLWIDTH) else text
