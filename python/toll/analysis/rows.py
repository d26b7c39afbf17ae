"""One case becomes one row of a table, and its operations timed one by one a line of latencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from toll.analysis.comparison import Compared, is_floor
from toll.analysis.launches import CaseData, counters_per_unit, median_cpu_ns, timed_totals
from toll.analysis.results import Cdf, Latency, Memory, Row
from toll.analysis.units import checked_json, nanoseconds_per
from toll.stats import Pooled, median_interval, spread, thin_cdf
from toll.words import Status

MOST_UNITS = 2**53  # counts are JSON numbers, exact up to here


def row_without_numbers(case: CaseData) -> Row:
    """A row that says why there is no number."""
    return Row(**_identity(case), failed_launches=len(case.failures))


def row_with_numbers(case: CaseData, compared: Compared, level: float) -> Row:
    """A row in the workload's unit; `level` is that of the value's own interval."""
    record = case.record
    scale = nanoseconds_per(record.unit, record.workload)
    values = case.values_ns / scale
    interval = median_interval(values, level)
    memory, created = _memory(case), _units_per_work(case, "units_created")
    alive = _units(case, "units_alive_peak") or _units(case, "units_created")
    cpu_ns = median_cpu_ns(case.launches, f"the CPU time of {record.contender}")
    return Row(
        **_identity(case),
        value=float(np.median(values)),
        low=interval and interval.low,
        high=interval and interval.high,
        ratio=compared.ratio,
        ratio_low=compared.interval and compared.interval.low,
        ratio_high=compared.interval and compared.interval.high,
        fastest=compared.fastest,
        floor=is_floor(record),
        tie_groups=list(compared.tie_groups),
        created_value=float(np.median(values)) / created if created else None,
        memory_per_unit_bytes=memory.peak_bytes / alive if memory.peak_bytes and alive else None,
        cpu_time=None if cpu_ns is None else cpu_ns / scale,
        voluntary_switches=timed_totals(case.launches, lambda batch: batch.voluntary_switches),
        involuntary_switches=timed_totals(case.launches, lambda batch: batch.involuntary_switches),
        faults=timed_totals(case.launches, lambda batch: batch.minor_faults + batch.major_faults),
        memory=memory,
        counters=counters_per_unit(case),
        cold=None if case.cold_ns is None else case.cold_ns / scale,
        launches=len(case.launches),
        failed_launches=len(case.failures),
        spread=spread(values) if np.all(values > 0) else None,
        launch_values=values.tolist(),
    )


def latency(case: CaseData, level: float) -> Latency:
    """The distribution of a case whose operations were timed one by one, in the workload's unit."""
    record = case.record
    scale = nanoseconds_per(record.unit, record.workload)
    pooled = Pooled(case.counts)
    quantiles: dict[str, float | None] = {}
    for name, p in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        interval = pooled.interval(p, level)
        quantiles[name] = pooled.quantile(p) / scale
        quantiles[f"{name}_low"] = interval and interval.low / scale
        quantiles[f"{name}_high"] = interval and interval.high / scale
    value, p_of_value = thin_cdf(pooled.values, pooled.distribution)
    fields: dict[str, Any] = {
        "contender": record.contender,
        "environment": record.environment,
        "parameters": dict(record.parameters),
        "unit": record.unit,
        "count": pooled.count,
        "launches": len(case.counts),
        "max": pooled.maximum / scale,
        "cdf": Cdf(value=(value / scale).tolist(), p=p_of_value.tolist()),
        **quantiles,
    }
    return Latency(**fields)


def _identity(case: CaseData) -> dict[str, Any]:
    record = case.record
    footing = dict(record.footing)
    for launch in case.launches[-1:]:
        footing.update(launch.footing)
    return {
        "contender": record.contender,
        "environment": record.environment,
        "parameters": dict(record.parameters),
        "language": record.language,
        "library": record.library,
        "library_version": record.library_version,
        "footing": checked_json(footing, "a footing"),
        "status": str(case.status),
        "reason": case.reason,
        "unit": record.unit,
        "per": record.per,
    }


def _units(case: CaseData, name: str) -> float | None:
    """A count of concurrency units as the last launch observed it; None where it did not, or made none."""
    count = case.launches[-1].footing.get(name) if case.launches else None
    if isinstance(count, bool) or not isinstance(count, int | float):
        return None
    return float(count) if 1 <= count <= MOST_UNITS else None


def _units_per_work(case: CaseData, name: str) -> float | None:
    """The same for one unit of work: how many concurrency units stand behind it."""
    units = _units(case, name)
    batches = [batch for launch in case.launches for batch in launch.batches if not batch.warmup]
    work, iterations = sum(batch.units for batch in batches), sum(batch.iterations for batch in batches)
    return units * iterations / work if units and work > 0 and iterations > 0 else None


def _memory(case: CaseData) -> Memory:
    resident = max((batch.peak_bytes for launch in case.launches for batch in launch.batches), default=0)
    counted = case.allocations
    if counted is None or counted.units < 1:
        reason = case.allocations_reason or "no unit of work counted"
        return Memory(peak_bytes=resident or None, reason=reason)
    return Memory(
        calls=counted.calls / counted.units,
        bytes=counted.bytes / counted.units,
        heap_peak_bytes=counted.peak_bytes,
        peak_bytes=resident or None,
    )


def order(row: Row) -> tuple[int, float, str, str]:
    """Sort key: rows with numbers by value, then the others by status and name."""
    if row.status == Status.OK and row.value is not None:
        return 0, row.value, "", row.contender
    return 1, 0.0, row.status, row.contender
