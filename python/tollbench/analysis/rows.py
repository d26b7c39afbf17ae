"""One case becomes one row of a table, and its operations timed one by one a line of latencies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tollbench.analysis.case_data import CaseData, counters_per_unit, median_cpu_ns, timed_totals, told_by
from tollbench.analysis.comparison import Compared, is_floor
from tollbench.analysis.grouping import stands_aside
from tollbench.analysis.results import Cdf, DetailEstimate, Histogram, Latency, Memory, Row, flat
from tollbench.analysis.spells import valued
from tollbench.analysis.units import checked_json, nanoseconds_per
from tollbench.analysis.values import resolution_ns
from tollbench.estimates import Estimate
from tollbench.stats import Pooled, log_histogram, spread, thin_cdf
from tollbench.stats.cluster_sequence import spread as spread_of_clusters
from tollbench.words import (
    CODE_LAYOUT,
    CODE_LAYOUTS,
    PERCENTILES,
    TURNS_ON_CPU,
    WAITED_NS,
    Purpose,
    Status,
    times_own_thread,
)

UNLIKELY = 0.002  # a share of dealings: a run has a hundred rows, and none shall be named by chance
FEWEST_TELLING = 8  # layouts with two launches each, before they say how far layouts lie apart
FEWEST_ALIVE = 1000  # the process itself, some MiB, would be most of what fewer units seem to hold
_TIMES = (
    "value",
    "low",
    "high",
    "created_value",
    "cpus_busy",
    "cold",
    "spread",
    "layout_spread",
    "counts_as",
)  # of the operation itself
MOST_UNITS = 2**53  # counts are JSON numbers, exact up to here


def row_without_numbers(case: CaseData) -> Row:
    """A row that says why there is no number."""
    return Row(**_identity(case), failed_launches=len(case.failures))


def row_with_numbers(
    case: CaseData,
    compared: Compared,
    level: float,
    declared: Collection[str] = (),
    *,
    following: bool = False,
) -> Row:
    """A row in the workload's unit; `level` is that of the value's own interval, `following`
    says that the runs test told of its rounds.

    `declared` names the details that the workload declares: others have no meaning and are left out.
    What is shorter than the clock's step has no times of its own.
    """
    row = _row_with_times(case, compared, level, declared, following)
    if not case.below_step_ns:
        return row
    step = case.below_step_ns / nanoseconds_per(case.record.unit, case.record.workload)
    return row.model_copy(
        update=dict.fromkeys(_TIMES)
        | {"within_run": "", "few_rounds": False, "launch_values": [], "below_step": step}
    )


def _row_with_times(
    case: CaseData, compared: Compared, level: float, declared: Collection[str], following: bool
) -> Row:
    record = case.record
    scale = nanoseconds_per(record.unit, record.workload)
    values = case.values_ns / scale
    own = valued(values, level, following=following, layouts=case.layouts)
    memory, created = _memory(case), _units_per_work(case, "units_created")
    # A sample of a pair of CPUs is the mean of several hand-offs: what its request used is not that of one.
    one_by_one = not case.cells.launches
    # Its CPU time is one thread's, and its counters are those of all threads.
    load = any(times_own_thread(launch.footing) for launch in case.launches)
    cpu_ns = median_cpu_ns(case.counting, f"the CPU time of {record.contender}") if one_by_one else None
    return Row(
        **_identity(case),
        value=float(np.median(values)),
        low=own.interval and own.interval.low,
        high=own.interval and own.interval.high,
        counts_as=own.counts_as,
        within_run=own.within_run,
        few_rounds=own.few_rounds,
        ratio=compared.ratio,
        ratio_low=compared.interval and compared.interval.low,
        ratio_high=compared.interval and compared.interval.high,
        fastest=compared.fastest,
        floor=is_floor(record),
        baseline=stands_aside(record.footing) and not is_floor(record),
        tie_groups=list(compared.tie_groups),
        created_value=float(np.median(values)) / created if created else None,
        memory_per_unit_bytes=_memory_per_unit(memory, case),
        cpu_time=None if cpu_ns is None else cpu_ns / scale,
        cpus_busy=cpu_ns / median_ns
        if cpu_ns is not None and not load and (median_ns := np.median(case.wall_ns)) > 0
        else None,
        voluntary_switches=timed_totals(case.launches, lambda batch: batch.voluntary_switches)
        if one_by_one
        else None,
        involuntary_switches=timed_totals(case.launches, lambda batch: batch.involuntary_switches)
        if one_by_one
        else None,
        faults=timed_totals(case.launches, lambda batch: batch.minor_faults + batch.major_faults)
        if one_by_one
        else None,
        memory=memory,
        counters={} if load else counters_per_unit(case),
        cold=None if case.cold_ns is None else case.cold_ns / scale,
        launches=len(case.launches),
        failed_launches=len(case.failures),
        spread=spread(values) if np.all(values > 0) else None,
        layout_spread=_layout_spread(case),
        launch_values=values.tolist(),
        details=details(case, level, declared),
    )


def _layout_spread(case: CaseData) -> float | None:
    values, layouts = case.values_ns, np.array(case.layouts)
    numbers, launches = np.unique(layouts, return_counts=True)
    told = numbers[(launches > 1) & (numbers > 0)]
    if told.size < FEWEST_TELLING or not np.all(values > 0):
        return None
    often = np.isin(layouts, told)
    return spread_of_clusters(np.log(values[often]), layouts[often], UNLIKELY)


def details(case: CaseData, level: float, declared: Collection[str]) -> dict[str, DetailEstimate]:
    """Each declared detail over the launches that told it, with its interval."""
    told: dict[str, list[float]] = {}
    layouts: dict[str, list[int]] = {}
    for launch, timed in zip(case.launches, case.values, strict=True):
        for name, value in told_by(launch).items():
            told.setdefault(name, []).append(value)
            layouts.setdefault(name, []).append(timed.code_layout)
    return {name: _estimate(told[name], level, layouts[name]) for name in declared if name in told}


def _estimate(values: list[float], level: float, layouts: Sequence[int] = ()) -> DetailEstimate:
    found = valued(values, level, layouts=layouts)
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return DetailEstimate(value=float(np.median(values)), low=low, high=high, within_run=found.within_run)


def latency(case: CaseData, level: float) -> Latency:
    """The distribution of a case whose operations were timed one by one, in the workload's unit."""
    record = case.record
    scale = nanoseconds_per(record.unit, record.workload)
    pooled = case.pooled
    value, p_of_value = thin_cdf(pooled.values, pooled.distribution)
    return Latency(
        contender=record.contender,
        environment=record.environment,
        parameters=dict(record.parameters),
        unit=record.unit,
        count=pooled.count,
        launches=len(case.counts),
        step=case.tick_ns / scale or None,
        max=pooled.maximum / scale,
        launch_max=_longest(case, scale, level),
        histogram=_histogram(case, pooled, scale),
        cdf=Cdf(value=(value / scale).tolist(), p=p_of_value.tolist()),
        **flat(_quantiles(pooled, scale, level)),
    )


def _longest(case: CaseData, scale: float, level: float) -> Estimate:
    layouts = [value.code_layout for value in case.values]
    found = _estimate([launch.high / scale for launch in case.counts], level, layouts)
    return Estimate(value=found.value, low=found.low, high=found.high)


def _quantiles(pooled: Pooled, scale: float, level: float) -> dict[str, Estimate]:
    quantiles = {}
    for each in PERCENTILES:
        beyond = round(pooled.count * (1.0 - each.probability), 6)  # 1 - 0.9999 is a little below 0.0001
        if beyond >= each.fewest_beyond:
            interval = pooled.interval(each.probability, level)
            quantiles[each.key] = Estimate(
                value=pooled.quantile(each.probability) / scale,
                low=interval and interval.low / scale,
                high=interval and interval.high / scale,
            )
    return quantiles


def _histogram(case: CaseData, pooled: Pooled, scale: float) -> Histogram | None:
    found = log_histogram(pooled.values, pooled.distribution, resolution_ns(case.launches[-1].clock))
    if found is None:
        return None
    return Histogram(
        edges=(found.edges / scale).tolist(),
        share=found.shares.tolist(),
        below=found.below,
        beyond=found.beyond,
    )


def _identity(case: CaseData) -> dict[str, Any]:
    record = case.record
    footing = {**record.footing, **_observed(case)}
    if case.on_cpu:
        footing["timed_by"] = "CPU time"
    footing.pop(WAITED_NS, None)  # before that one launch
    if tied := sum(TURNS_ON_CPU in launch.footing for launch in case.launches):
        footing.pop(TURNS_ON_CPU, None)  # another one in each launch
        of_launches = "" if tied == len(case.launches) else f", in {tied} of {len(case.launches)} launches"
        footing["turns_on"] = f"one CPU for all{of_launches}"
    for name in (CODE_LAYOUT, CODE_LAYOUTS):  # another one in each launch; counted here, whatever a file says
        footing.pop(name, None)
    if layouts := {value.code_layout for value in case.values} - {0}:
        footing[CODE_LAYOUTS] = len(layouts)
    if case.left_out is not None:
        of_launches = f"{len(case.counting)} of {len(case.launches)} launches count"
        shared = "whose core was slow, or that of one in turns with it"
        if any(value.others.size for value in case.values):
            shared = "that others were in the way of"
        footing["left_out"] = f"{100 * case.left_out:.0f} % of batches, {shared}; {of_launches}"
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


def _observed(case: CaseData) -> dict[str, Any]:
    """The footing that the last launch observed, with the units that the pilot counted."""
    observed = dict(case.launches[-1].footing) if case.launches else {}
    for launch in case.others:
        if launch.purpose is Purpose.PILOT and launch.status is Status.OK:
            counted = {name: count for name, count in launch.footing.items() if name.startswith("units_")}
            observed.update(counted)
    return observed


def _units(case: CaseData, name: str) -> float | None:
    """A count of concurrency units in one iteration; None where nobody knows it, or none was made."""
    count = _observed(case).get(name)
    if isinstance(count, bool) or not isinstance(count, int | float):
        return None
    return float(count) if 1 <= count <= MOST_UNITS else None


def _units_per_work(case: CaseData, name: str) -> float | None:
    """The same for one unit of work: how many concurrency units stand behind it."""
    units = _units(case, name)
    batches = [batch for launch in case.launches for batch in launch.batches if not batch.warmup]
    work, iterations = sum(batch.units for batch in batches), sum(batch.iterations for batch in batches)
    return units * iterations / work if units and work > 0 and iterations > 0 else None


def _memory_per_unit(memory: Memory, case: CaseData) -> float | None:
    alive = _units(case, "units_alive_peak") or _units(case, "units_created")
    return memory.peak_bytes / alive if memory.peak_bytes and alive and alive >= FEWEST_ALIVE else None


def _memory(case: CaseData) -> Memory:
    resident = max((batch.peak_bytes for launch in case.launches for batch in launch.batches), default=0)
    counted = case.allocations
    if counted is None or counted.units < 1:
        reason = case.allocations_reason or "no unit of work counted"
        return Memory(peak_bytes=resident or None, reason=reason)
    passes = [one.calls / one.iterations for one in case.passes if one.iterations > 0]
    return Memory(
        calls_in_passes=passes,
        exact_calls=_exactly(passes),
        calls=counted.calls / counted.units,
        bytes=counted.bytes / counted.units,
        heap_peak_bytes=counted.peak_bytes,
        peak_bytes=resident or None,
    )


def _exactly(passes: Sequence[float]) -> int | None:
    """The whole number that several passes agree on."""
    first = passes[0] if len(passes) > 1 else 0.5
    agreed = first.is_integer() and all(each == first for each in passes)
    return int(first) if agreed and first <= MOST_UNITS else None


def order(row: Row) -> tuple[int, float, str, str]:
    """Sort key: rows below the clock's step by name, those with values by value, the others by status."""
    if row.below_step is not None:
        return 0, 0.0, "", row.contender
    if row.status == Status.OK and row.value is not None:
        return 0, row.value, "", row.contender
    return 1, 0.0, row.status, row.contender
