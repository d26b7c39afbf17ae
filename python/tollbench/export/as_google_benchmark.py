"""A run in Google Benchmark's JSON format, for its compare.py and for what else reads it.

A launch becomes a repetition: its `real_time` is the launch's value in the report, in ns per unit of work, by
the clock and of the batches that count there, so that a launch without any is none. The aggregates carry
Google Benchmark's names and definitions. Cases that were not measured become entries with `error_occurred`,
as Google Benchmark writes a benchmark that was skipped. A workload's details stand where its user counters
stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench import numbers
from tollbench.analysis.case_data import CaseData, median_cpu_ns, read_alike, told_by
from tollbench.analysis.units import checked_json
from tollbench.store import CaseRecord, Launch, RunFile, RunHeader

Values = NDArray[np.float64]
_OWN = {"name", "iterations", "real_time", "cpu_time", "threads", "repetitions"}  # of the format itself


def document(run_file: RunFile, on_case: Callable[[int, int], None] = lambda *_: None) -> dict[str, Any]:
    """The whole file: `context` and `benchmarks`. Times are nanoseconds per unit of work.

    `on_case` is told how many cases are done, of how many.
    """
    with run_file.at_one_moment():
        header = run_file.header()
        records = run_file.cases()
        found: dict[int, list[dict[str, Any]]] = {}
        for workload in dict.fromkeys(record.workload for record in records):
            of_it = [record for record in records if record.workload == workload]
            for case in read_alike(run_file, of_it, header):
                found[case.record.id] = list(_entries(case))
            on_case(len(found), len(records))
    benchmarks = [
        {**entry, "family_index": family}
        for family, record in enumerate(records)
        for entry in found[record.id]
    ]
    return {"context": _context(header), "benchmarks": benchmarks}


def _context(header: RunHeader) -> dict[str, Any]:
    machine = checked_json(dict(header.machine), "the machine's description")
    conditions = checked_json(dict(header.conditions), "the machine's conditions")
    caches = machine.get("caches")
    frequency = machine.get("frequency_mhz")
    now = frequency.get("now") if isinstance(frequency, Mapping) else None
    return {
        "library_version": f"toll {header.toll_version}",  # first: by which a file is known
        "date": header.started_utc,
        "host_name": "",
        "executable": header.command_line,
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
            for cache in (caches if isinstance(caches, list) else [])
            if isinstance(cache, Mapping)
        ],
        "load_avg": [conditions["load_1min"]] if conditions.get("load_1min") is not None else [],
        "library_build_type": "release",
    }


def _entries(case: CaseData) -> Iterator[dict[str, Any]]:
    name = _name(case.record)
    counting = case.counting
    common = {
        "family_index": 0,
        "per_family_instance_index": 0,
        "run_name": name,
        "repetitions": max(len(counting), 1),
        "threads": 1,
    }
    why = f"{case.status}: {case.reason}" if not case.measured or not counting else ""
    if case.below_step_ns:
        why = f"one operation is shorter than the clock's step of {numbers.plain(case.below_step_ns)} ns"
    if why:
        error = {"error_occurred": True, "error_message": why}
        yield {"name": name, **common, "run_type": "iteration", **error}
        return
    cpu_ns = [median_cpu_ns([launch], name) or 0.0 for launch in counting]
    for index, launch in enumerate(counting):
        yield {
            "name": name,
            **common,
            "run_type": "iteration",
            "repetition_index": index,
            "iterations": _units(launch),
            "real_time": float(case.values_ns[index]),
            "cpu_time": cpu_ns[index],
            "time_unit": "ns",
            **{name: value for name, value in told_by(launch).items() if name not in _OWN},
        }
    if len(counting) > 1:  # Google Benchmark gives no aggregates of one repetition
        yield from _aggregates(name, common, case.values_ns, np.array(cpu_ns))


def _name(record: CaseRecord) -> str:
    """workload/contender/environment/key:value, as Google Benchmark writes arguments; "host" goes unsaid."""
    parts = [
        record.workload,
        record.contender,
        *([record.environment] if record.environment != "host" else []),
    ]
    return "/".join([*parts, *(f"{key}:{value}" for key, value in sorted(record.parameters.items()))])


def _units(launch: Launch) -> int:
    return sum(batch.units for batch in launch.batches if not batch.warmup)


def _aggregates(name: str, common: Mapping[str, Any], real: Values, cpu: Values) -> Iterator[dict[str, Any]]:
    def spread(values: Values) -> float:
        return float(np.std(values, ddof=1))

    def variation(values: Values) -> float:
        return spread(values) / float(np.mean(values)) if np.mean(values) else 0.0

    statistics: dict[str, tuple[str, Callable[[Values], float]]] = {
        "mean": ("time", lambda values: float(np.mean(values))),
        "median": ("time", lambda values: float(np.median(values))),
        "stddev": ("time", spread),
        "cv": ("percentage", variation),
    }
    for aggregate, (kind, compute) in statistics.items():
        yield {
            "name": f"{name}_{aggregate}",
            **common,
            "run_type": "aggregate",
            "aggregate_name": aggregate,
            "aggregate_unit": kind,
            "iterations": len(real),
            "real_time": compute(real),
            "cpu_time": compute(cpu),
            "time_unit": "ns",
        }
