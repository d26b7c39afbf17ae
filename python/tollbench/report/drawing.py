"""What the page's scripts draw: results as plain lists, rounded to what a screen can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tollbench import numbers
from tollbench.analysis.results import Grid, Latency, PublishedValue, Results, Row, WorkloadResult
from tollbench.report import grids, percentiles
from tollbench.report.anchors import Anchors
from tollbench.report.cases import Group, Naming, by_setting, groups
from tollbench.report.sentences import alike_launches
from tollbench.report.showing import ALIKE, Column
from tollbench.report.slopes import Slope, metrics, slopes
from tollbench.text import clean

# Numbers of all curves, bins and replicates together: with what the rows of the tables take, they keep the
# page under 5 MB up to some 1,700 rows.
MOST_NUMBERS, NUMBERS_A_ROW, LEAST_NUMBERS = 120_000, 80, 16_000


def drawing(results: Results) -> dict[str, Any]:
    """The data block: {canary, workloads: [{id, unit, rows, libraries, slopes, latencies}]}."""
    anchors = Anchors.of(results)
    total = sum(
        sum(len(row.launch_values) for row in workload.rows)
        + sum(2 * len(entry.cdf.value) + _bins(entry) for entry in workload.latencies)
        for workload in results.workloads
    )
    rows = sum(len(workload.rows) for workload in results.workloads)
    step = max(1, math.ceil(total / max(LEAST_NUMBERS, MOST_NUMBERS - NUMBERS_A_ROW * rows)))
    return {
        "canary": _canary(results),
        "workloads": [
            _workload(workload, anchors, step, results.run.level) for workload in results.workloads
        ],
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


def _workload(workload: WorkloadResult, anchors: Anchors, step: int, level: float) -> dict[str, Any]:
    naming = Naming.of(workload)
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    within, together = naming.within(workload), groups(workload)
    rows = [
        _row(row, workload, scale, step)
        | {"id": anchors.row(workload, row), "name": within.label(row), "tied": tied, "group": number}
        for number, group in enumerate(together)
        for row, tied in group.with_ties
        if row.status == "ok" and row.value is not None and math.isfinite(row.value)
    ]
    latency_scale = percentiles.scale_of(workload.latencies)
    latencies = by_setting(workload, workload.latencies)
    curves = [[within.label(entry) for entry in entries] for _, entries in latencies]
    return {
        "id": anchors.workload(workload),
        "unit": f"{scale.unit} per {clean(workload.per)}",
        "rows": rows,
        "libraries": _libraries(together),
        "slopes": [
            _slope(slope, workload, anchors, metrics(workload, level, slope))
            for slope in slopes(workload, naming)
        ],
        "grids": [
            _grid(grid, title)
            for grid, title in zip(workload.grids, grids.titles(workload.grids), strict=True)
        ],
        "latencyUnit": latency_scale.unit,
        "latencies": [
            _curve(entry, latency_scale, step)
            | {"id": anchors.row(workload, entry), "name": name, "line": line, "setting": setting}
            for (setting, entries), names, lines in zip(latencies, curves, _lines(curves), strict=True)
            for entry, name, line in zip(entries, names, lines, strict=True)
        ],
    }


def _libraries(together: Sequence[Group]) -> list[int]:
    """The library of each row of the table, in the table's order, as a number that rows of one library share.

    Of the name the page shows its version too, so that names would have to be told once more, for each row.
    """
    names = [row.library for group in together for row in group.rows]
    numbered = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbered[name] for name in names]


def _row(row: Row, workload: WorkloadResult, scale: numbers.Scale, step: int) -> dict[str, Any]:
    value, low, high = scale.of(row.value), scale.of(row.low), scale.of(row.high)
    return {
        "value": _short(value),
        "low": _short(low),
        "high": _short(high),
        "launches": [_short(each * scale.factor) for each in numbers.finite(row.launch_values)[::step]],
        "fastest": row.fastest,
        "text": f"{numbers.quantity(value, low, high)} {scale.unit}",
        "interval": numbers.interval(value, low, high) + (ALIKE if alike_launches(row) else ""),
        "ratio": numbers.ratio(row.ratio, row.ratio_low, row.ratio_high),
        "cpu": _short(scale.of(row.cpu_time)),
        "busy": numbers.plain(row.cpus_busy, 2),
        "published": [
            band
            for entry in workload.published
            if _stands_for(row, entry)
            and entry.per == workload.per
            and (band := _published(entry, scale)) is not None
        ],
    }


def _slope(
    slope: Slope, workload: WorkloadResult, anchors: Anchors, others: Sequence[Column[Row]]
) -> dict[str, Any]:
    """Points name their row, which holds the numbers of time; those of other metrics come with the point."""
    numbered = _lines([[line.name for line in chart.lines] for chart in slope.charts])
    return {
        "parameter": clean(slope.parameter),
        "metrics": [
            {"title": one.chart.title, "unit": one.scale.unit}
            | ({"caption": one.chart.caption} if one.chart.caption else {})
            for one in others
            if one.chart
        ],
        "charts": [
            {
                "setting": chart.setting,
                "lines": [
                    {
                        "line": number,
                        "name": line.name,
                        "points": [
                            [value, anchors.row(workload, row), *(_metric(one, row) for one in others)]
                            for value, row in line.points
                        ],
                    }
                    for line, number in zip(chart.lines, lines, strict=True)
                ],
            }
            for chart, lines in zip(slope.charts, numbered, strict=True)
        ],
    }


def _lines(charts: Sequence[Sequence[str]]) -> list[list[int]]:
    """A number for each line of each chart: what is called the same looks the same in every setting."""
    numbers_of: dict[tuple[str, int], int] = {}
    return [
        [
            numbers_of.setdefault((name, names[:at].count(name)), len(numbers_of))
            for at, name in enumerate(names)
        ]
        for names in charts
    ]


def _metric(one: Column[Row], row: Row) -> list[Any] | None:
    value, low, high = one.triple(row)
    if value is None or not math.isfinite(value):
        return None
    return [*map(_short, (value, low, high)), one.with_unit(row)]


def _grid(grid: Grid, title: str) -> dict[str, Any]:
    """Values row by row; three digits are more than a colour shows."""
    return {
        "title": title,
        "unit": clean(grid.unit),
        "labels": [clean(label) for label in grid.labels],
        "groups": [group for level in grid.levels for group in level.groups],
        "sentence": clean(grid.sentence),
        "values": [
            None if value is None or not math.isfinite(value) else float(f"{value:.3g}")
            for row in grid.values
            for value in row
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


def _curve(entry: Latency, scale: numbers.Scale, step: int) -> dict[str, Any]:
    points = [
        [_short(value * scale.factor), _tail(p)]
        for value, p in zip(entry.cdf.value, entry.cdf.p, strict=False)
        if math.isfinite(value) and math.isfinite(p)
    ]
    kept = points[::step] + ([points[-1]] if points and (len(points) - 1) % step else [])
    return {
        "points": kept,
        "count": entry.count,
        "histogram": _histogram(entry, scale, step),
    }  # fmt: skip


def _bins(entry: Latency) -> int:
    return len(entry.histogram.share) if entry.histogram else 0


def _histogram(entry: Latency, scale: numbers.Scale, step: int) -> dict[str, Any] | None:
    """Its ends and shares: the bins between are equally wide on a logarithmic axis. In very large reports
    neighbouring bins are joined, as many as divide their number."""
    found = entry.histogram
    if found is None or not found.share or not math.isfinite(found.edges[-1]):
        return None
    joined = max(size for size in range(1, step + 1) if len(found.share) % size == 0)
    shares = [sum(found.share[at : at + joined]) for at in range(0, len(found.share), joined)]
    return {
        "low": _short(found.edges[0] * scale.factor),
        "high": _short(found.edges[-1] * scale.factor),
        "shares": [float(f"{share:.3g}") for share in shares],
        "beyond": f"{numbers.percent(found.beyond)}" if found.beyond > 0 else "",
    }


def _tail(p: float) -> float:
    """A probability with digits enough for its tail: 0.99999 must not become 1."""
    return 1.0 if p >= 1.0 else round(p, max(4, 3 - math.floor(math.log10(1.0 - p))))


def _short(value: float | None) -> float | None:
    """Five significant digits: finer than any screen."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")
