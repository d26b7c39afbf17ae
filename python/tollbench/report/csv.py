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

from tollbench.analysis.results import Estimate, Results, Row, WorkloadResult
from tollbench.text import clean

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
    "p9999",
    "cpus_busy",
    "efficiency",
    "efficiency_low",
    "efficiency_high",
    "environment_ratio",
    "environment_ratio_low",
    "environment_ratio_high",
    "environment_fastest",
    "memory_exact_calls",
)


def render(results: Results) -> str:
    """A header line and one line a case, comma-separated, quoted as RFC 4180 says, lines ended by LF."""
    out = io.StringIO()
    names = dict.fromkeys(detail.name for workload in results.workloads for detail in workload.details)
    told = [f"detail_{name}{end}" for name in names for end in ("", "_low", "_high")]
    writer = csv.DictWriter(out, [*COLUMNS, *map(_safe, told)], lineterminator="\n")
    writer.writeheader()
    for workload in results.workloads:
        percentiles = {
            (entry.contender, entry.environment, _json(entry.parameters)): {
                "count": entry.count,
                **{key: found.value for key, found in entry.quantiles.items()},
                "max": entry.max,
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
        for name in ("calls", "bytes", "heap_peak_bytes", "peak_bytes", "exact_calls")
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
            "environment_fastest": "yes" if row.environment_fastest else "no",
        }
        | _estimate("efficiency", row.efficiency)
        | _estimate("environment_ratio", row.environment_ratio)
        | _details(row)
    )


def _details(row: Row) -> dict[str, float | None]:
    cells: dict[str, float | None] = {}
    for name, found in row.details.items():
        cells |= _estimate(_safe(f"detail_{name}"), found)
    return cells


def _estimate(name: str, found: Estimate | None) -> dict[str, float | None]:
    value, low, high = (found.value, found.low, found.high) if found else (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = clean(cell, lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA + _FULLWIDTH) else text
