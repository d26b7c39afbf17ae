"""A run in Google Benchmark's JSON format, for its compare.py and for what else reads it.

A launch becomes a repetition: its `real_time` is the launch's value in the report, per unit of work. The
aggregates carry Google Benchmark's names and definitions. Cases that were not measured become entries with
`error_occurred`, as Google Benchmark writes a benchmark that was skipped. A workload's details stand where
its user counters stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.analysis.case_data import CaseData, median_cpu_ns, read_case, told_by
from tollbench.store import CaseRecord, Launch, RunFile, RunHeader

Values = NDArray[np.float64]
_OWN = {"name", "iterations", "real_time", "cpu_time", "threads", "repetitions"}  # of the format itself


def document(run_file: RunFile, on_case: Callable[[int, int], None] = lambda *_: None) -> dict[str, Any]:
    """The whole file: `context` and `benchmarks`. Times are nanoseconds per unit of work.

    `on_case` is told how many cases are done, of how many.
    """
    header = run_file.header()
    benchmarks: list[dict[str, Any]] = []
    records = run_file.cases()
    for family, record in enumerate(records):
        benchmarks += _entries(read_case(run_file, record, header), family)
        on_case(family + 1, len(records))
    return {"context": _context(header), "benchmarks": benchmarks}


def _context(header: RunHeader) -> dict[str, Any]:
    machine, conditions = header.machine, header.conditions
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
            for cache in machine.get("caches") or []
            if isinstance(cache, Mapping)
        ],
        "load_avg": [conditions["load_1min"]] if conditions.get("load_1min") is not None else [],
        "library_build_type": "release",
    }


def _entries(case: CaseData, family: int) -> Iterator[dict[str, Any]]:
    name = _name(case.record)
    common = {
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": name,
        "repetitions": max(len(case.launches), 1),
        "threads": 1,
    }
    if not case.measured or not case.launches:
        error = {"error_occurred": True, "error_message": f"{case.status}: {case.reason}"}
        yield {"name": name, **common, "run_type": "iteration", **error}
        return
    cpu_ns = [median_cpu_ns([launch], name) or 0.0 for launch in case.launches]
    for index, launch in enumerate(case.launches):
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
    if len(case.launches) > 1:  # Google Benchmark gives no aggregates of one repetition
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
