"""How cost changes along a numeric parameter: which rows make a line, and which lines a chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toll.analysis.results import Row, WorkloadResult
from toll.report.cases import Naming
from toll.report.text import clean


@dataclass(frozen=True, slots=True)
class Line:
    """Rows that differ in one parameter alone, in its order."""

    name: str
    points: tuple[tuple[int, Row], ...]  # the parameter's value, the row


@dataclass(frozen=True, slots=True)
class Slope:
    """One chart: what happens to every line along one parameter."""

    parameter: str
    lines: tuple[Line, ...]  # in the order of the table: the one with the fastest row first


def slopes(workload: WorkloadResult, naming: Naming) -> list[Slope]:
    """A chart for each numeric parameter along which some contender has at least two measured rows."""
    measured = [row for row in workload.rows if _measured(row)]
    found = [Slope(name, _lines(name, measured, naming)) for name in naming.varying]
    return [slope for slope in found if slope.lines]


def _measured(row: Row) -> bool:
    return row.status == "ok" and row.value is not None and math.isfinite(row.value) and row.value > 0


def _lines(name: str, rows: Sequence[Row], naming: Naming) -> tuple[Line, ...]:
    shorter = replace(naming, varying=tuple(other for other in naming.varying if other != name))
    groups: dict[tuple[str, str, str], list[tuple[int, Row]]] = {}
    for row in rows:
        value = row.parameters.get(name)
        if isinstance(value, int):
            others = sorted((key, str(other)) for key, other in row.parameters.items() if key != name)
            groups.setdefault((row.contender, row.environment, repr(others)), []).append((value, row))
    return tuple(
        Line(shorter.label(points[0][1]), tuple(sorted(points, key=lambda point: point[0])))
        for points in groups.values()
        if len(points) > 1
    )


def heading(slope: Slope) -> str:
    """What the chart is called: "Time over threads"."""
    return f"Time over {clean(slope.parameter)}"
