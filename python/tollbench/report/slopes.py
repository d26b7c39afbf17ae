"""How cost changes along a numeric parameter: which rows make a line, and which lines a chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.cases import Naming, in_settings
from tollbench.report.columns import columns
from tollbench.report.showing import Column, each
from tollbench.text import clean


@dataclass(frozen=True, slots=True)
class SlopeLine:
    """Rows that differ in one parameter alone, in its order."""

    name: str
    points: tuple[tuple[int, Row], ...]  # the parameter's value, the row


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines that may be compared with each other: of one setting of what else is swept."""

    setting: str  # "mode=hot"; "" where nothing else is swept
    lines: tuple[SlopeLine, ...]  # in the order of the table: the one with the lowest value first


@dataclass(frozen=True, slots=True)
class Slope:
    """What happens to every line along one parameter: a chart a setting."""

    parameter: str
    charts: tuple[Chart, ...]

    @property
    def lines(self) -> list[SlopeLine]:
        """Of all charts."""
        return [line for chart in self.charts for line in chart.lines]


def slopes(workload: WorkloadResult, naming: Naming) -> list[Slope]:
    """Charts for each numeric parameter along which some contender has at least two measured rows."""
    measured = [row for row in workload.rows if _measured(row)]
    found = [Slope(name, _charts(name, measured, workload, naming)) for name in naming.varying]
    return [slope for slope in found if slope.charts]


def _measured(row: Row) -> bool:
    return row.status == "ok" and row.value is not None and math.isfinite(row.value) and row.value > 0


def _charts(name: str, rows: Sequence[Row], workload: WorkloadResult, naming: Naming) -> tuple[Chart, ...]:
    """Settings apart, unless none has two lines: with nothing to compare, one chart shows all."""
    others = [other for other in workload.swept if other != name]
    apart = replace(naming, varying=tuple(each for each in naming.varying if each not in others))
    found = [
        Chart(setting, lines)
        for setting, members in in_settings(workload, others, rows)
        if (lines := _lines(name, members, apart))
    ]
    if all(len(chart.lines) == 1 for chart in found):
        together = _lines(name, rows, naming)
        return (Chart("", together),) if together else ()
    return tuple(found)


def _lines(name: str, rows: Sequence[Row], naming: Naming) -> tuple[SlopeLine, ...]:
    shorter = replace(naming, varying=tuple(other for other in naming.varying if other != name))
    groups: dict[tuple[str, str, str], list[tuple[int, Row]]] = {}
    for row in rows:
        value = row.parameters.get(name)
        if isinstance(value, int):
            others = sorted((key, str(other)) for key, other in row.parameters.items() if key != name)
            groups.setdefault((row.contender, row.environment, repr(others)), []).append((value, row))
    return tuple(
        SlopeLine(shorter.label(points[0][1]), tuple(sorted(points, key=lambda point: point[0])))
        for points in groups.values()
        if len(points) > 1
    )


def metrics(workload: WorkloadResult, level: float, slope: Slope) -> list[Column[Row]]:
    """What else can be drawn over the parameter: the numbers that some line has at two points."""
    charted = [(one.chart.rank, one) for one in each(columns(workload, level)) if one.chart]
    found = [one for _, one in sorted(charted, key=lambda pair: pair[0])]
    return [
        one
        for one in found
        if any(sum(one.value(row) is not None for _, row in line.points) > 1 for line in slope.lines)
    ]


def heading(slope: Slope) -> str:
    """What the chart is called: "Time over threads"."""
    return f"Time over {clean(slope.parameter)}"
