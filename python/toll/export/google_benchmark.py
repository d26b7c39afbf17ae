"""A run in Google Benchmark's JSON format, for its compare.py and for what else reads it.

A launch becomes a repetition: its `real_time` is the launch's value in the report, per unit of work. The
aggregates carry Google Benchmark's names and definitions. Cases that were not measured become entries with
`error_occurred`, as Google Benchmark writes a benchmark that was skipped.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from toll.analysis.results import Results, Row, WorkloadResult


def document(results: Results) -> dict[str, Any]:
    """The whole file: `context` and `benchmarks`. Times are in the workload's unit."""
    benchmarks: list[dict[str, Any]] = []
    family = 0
    for workload in results.workloads:
        for row in workload.rows:
            benchmarks += _entries(workload, row, family)
            family += 1
    return {"context": _context(results), "benchmarks": benchmarks}


def _context(results: Results) -> dict[str, Any]:
    machine, conditions = results.machine, results.conditions
    frequency = machine.get("frequency_mhz")
    now = frequency.get("now") if isinstance(frequency, Mapping) else None
    return {
        "date": results.run.started_utc,
        "host_name": "",
        "executable": results.run.command_line,
        "num_cpus": machine.get("cpus"),
        "mhz_per_cpu": round(now) if isinstance(now, int | float) else 0,
        "cpu_scaling_enabled": conditions.get("governor") not in (None, "performance"),
        "caches": [
            {
                "type": cache.get("type"),
                "level": cache.get("level"),
                "size": cache.get("bytes"),
                "num_sharing": cache.get("shared_by"),
            }
            for cache in machine.get("caches") or []
            if isinstance(cache, Mapping)
        ],
        "load_avg": [conditions["load_1min"]] if conditions.get("load_1min") is not None else [],
        "library_version": f"toll {results.run.toll_version}",
        "library_build_type": "release",
    }


def _entries(workload: WorkloadResult, row: Row, family: int) -> Iterator[dict[str, Any]]:
    name = "/".join(
        [workload.workload, row.contender, *([row.environment] if row.environment != "host" else [])]
        + [f"{key}:{value}" for key, value in sorted(row.parameters.items())]
    )
    common = {
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": name,
        "repetitions": max(len(row.launch_values), 1),
        "threads": 1,
    }
    if row.status != "ok" or not row.launch_values:
        error = {"error_occurred": True, "error_message": f"{row.status}: {row.reason}"}
        yield {"name": name, **common, "run_type": "iteration", **error}
        return
    unit = workload.unit if workload.unit in ("ns", "us", "ms", "s") else "ns"
    for index, value in enumerate(row.launch_values):
        yield {
            "name": name,
            **common,
            "run_type": "iteration",
            "repetition_index": index,
            "iterations": 1,
            "real_time": value,
            "cpu_time": row.cpu_time if row.cpu_time is not None else value,
            "time_unit": unit,
        }
    yield from _aggregates(name, common, row, unit)


def _aggregates(name: str, common: Mapping[str, Any], row: Row, unit: str) -> Iterator[dict[str, Any]]:
    values = row.launch_values
    if len(values) < 2:  # Google Benchmark gives no aggregates of one repetition
        return
    mean, spread = statistics.fmean(values), statistics.stdev(values)
    cpu = row.cpu_time if row.cpu_time is not None else mean
    aggregates = {
        "mean": ("time", mean, cpu),
        "median": ("time", statistics.median(values), cpu),
        "stddev": ("time", spread, 0.0),
        "cv": ("percentage", spread / mean if mean else 0.0, 0.0),
    }
    for aggregate, (kind, real, cpu_time) in aggregates.items():
        yield {
            "name": f"{name}_{aggregate}",
            **common,
            "run_type": "aggregate",
            "aggregate_name": aggregate,
            "aggregate_unit": kind,
            "iterations": len(values),
            "real_time": real,
            "cpu_time": cpu_time,
            "time_unit": unit,
        }
