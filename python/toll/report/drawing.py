"""What the page's scripts draw: results as plain lists, rounded to what a screen can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from toll.analysis.results import Latency, PublishedValue, Results, Row, WorkloadResult
from toll.report import numbers
from toll.report.anchors import Anchors
from toll.report.cases import Naming, shared_ties
from toll.report.slopes import Slope, slopes
from toll.report.text import clean

# Points of all curves and replicates together: keeps the page under 5 MB whatever the run's size.
POINTS = 150_000


def drawing(results: Results) -> dict[str, Any]:
    """The data block: {canary, workloads: [{id, unit, rows, slopes, latencies}]}."""
    anchors = Anchors.of(results)
    total = sum(
        sum(len(row.launch_values) for row in workload.rows)
        + sum(2 * len(entry.cdf.value) for entry in workload.latencies)
        for workload in results.workloads
    )
    step = max(1, math.ceil(total / POINTS))
    return {
        "canary": _canary(results),
        "workloads": [_workload(workload, anchors, step) for workload in results.workloads],
    }


def _canary(results: Results) -> dict[str, Any]:
    floor = results.floor
    pairs = list(zip(floor.canary_at_s, floor.canary_ns, strict=False))
    step = max(1, math.ceil(len(pairs) / 2000))
    scale = numbers.time_scale(floor.canary_ns, "ns")
    return {
        "unit": scale.unit,
        "points": [[_short(at), _short(ns * scale.factor)] for at, ns in pairs[::step]],
    }


def _workload(workload: WorkloadResult, anchors: Anchors, step: int) -> dict[str, Any]:
    naming = Naming.of(workload)
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    ties = shared_ties(row.tie_groups for row in workload.rows)
    best = {
        letter for row, letters in zip(workload.rows, ties, strict=True) if row.fastest for letter in letters
    }
    rows = [
        _row(row, workload, scale, step)
        | {
            "id": anchors.row(workload, row),
            "name": naming.label(row),
            "tied": bool(best.intersection(letters)) and not row.fastest,
        }
        for row, letters in zip(workload.rows, ties, strict=True)
        if row.status == "ok" and row.value is not None and math.isfinite(row.value)
    ]
    latency_scale = _latency_scale(workload.latencies)
    return {
        "id": anchors.workload(workload),
        "unit": f"{scale.unit} per {clean(workload.per)}",
        "rows": rows,
        "slopes": [_slope(slope, workload, anchors) for slope in slopes(workload, naming)],
        "latencyUnit": latency_scale.unit,
        "latencies": [
            _curve(entry, latency_scale, step)
            | {"id": anchors.row(workload, entry), "name": naming.label(entry)}
            for entry in workload.latencies
        ],
    }


def _row(row: Row, workload: WorkloadResult, scale: numbers.Scale, step: int) -> dict[str, Any]:
    value, low, high = scale.of(row.value), scale.of(row.low), scale.of(row.high)
    return {
        "value": _short(value),
        "low": _short(low),
        "high": _short(high),
        "launches": [_short(each * scale.factor) for each in numbers.finite(row.launch_values)[::step]],
        "fastest": row.fastest,
        "text": f"{numbers.quantity(value, low, high)} {scale.unit}",
        "interval": numbers.interval(value, low, high),
        "ratio": numbers.ratio(row.ratio, row.ratio_low, row.ratio_high),
        "published": [
            band
            for entry in workload.published
            if _stands_for(row, entry)
            and entry.per == workload.per
            and (band := _published(entry, scale)) is not None
        ],
    }


def _slope(slope: Slope, workload: WorkloadResult, anchors: Anchors) -> dict[str, Any]:
    """Points name their row, which holds the numbers."""
    return {
        "parameter": clean(slope.parameter),
        "lines": [
            {
                "id": f"line{index}",
                "name": line.name,
                "points": [[value, anchors.row(workload, row)] for value, row in line.points],
            }
            for index, line in enumerate(slope.lines)
        ],
    }


def _stands_for(row: Row, entry: PublishedValue) -> bool:
    """Whether the value belongs on this row's line of the chart, which shows medians of launches."""
    matched = (entry.contender, entry.environment, entry.parameters)
    return entry.statistic in ("value", "p50") and matched == (row.contender, row.environment, row.parameters)


def _published(entry: PublishedValue, scale: numbers.Scale) -> dict[str, Any] | None:
    low = numbers.convert(entry.low, entry.unit, scale.unit)
    high = numbers.convert(entry.high, entry.unit, scale.unit)
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    text = f"{numbers.plain(low)} to {numbers.plain(high)}" if low != high else numbers.plain(low)
    return {
        "low": _short(low),
        "high": _short(high),
        "year": entry.year,
        "label": clean(entry.label),
        "text": f"{text} {scale.unit}",
    }


def _latency_scale(entries: Sequence[Latency]) -> numbers.Scale:
    return numbers.time_scale((entry.p50 for entry in entries), entries[0].unit if entries else "ns")


def _curve(entry: Latency, scale: numbers.Scale, step: int) -> dict[str, Any]:
    points = [
        [_short(value * scale.factor), _tail(p)]
        for value, p in zip(entry.cdf.value, entry.cdf.p, strict=False)
        if math.isfinite(value) and math.isfinite(p)
    ]
    kept = points[::step] + ([points[-1]] if points and (len(points) - 1) % step else [])
    return {"points": kept, "count": entry.count}


def _tail(p: float) -> float:
    """A probability with digits enough for its tail: 0.99999 must not become 1."""
    return round(p, 9)


def _short(value: float | None) -> float | None:
    """Five significant digits: finer than any screen."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")
