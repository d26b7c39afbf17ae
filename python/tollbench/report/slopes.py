"""How cost changes along a numeric parameter: which rows make a line, and which lines a chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report import details
from tollbench.report.cases import Naming, in_settings
from tollbench.report.columns import created
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


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a row besides its time that can be drawn over a parameter."""

    title: str
    unit: str
    of: Callable[[Row], tuple[float | None, float | None, float | None]]  # value and interval, in `unit`
    text: Callable[[Row], str]

    def along(self, slope: Slope) -> bool:
        """Whether some line has it at two points."""
        return any(sum(self.of(row)[0] is not None for _, row in line.points) > 1 for line in slope.lines)


def metrics(workload: WorkloadResult) -> list[Metric]:
    """The workload's own details, then what every workload may have."""
    per = clean(workload.per)
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    return [
        *(Metric(one.title, one.unit, one.triple, one.with_unit) for one in details.written(workload)),
        Metric("Time per unit created", scale.unit, lambda row: created(row, scale),
               lambda row: f"{numbers.quantity(*created(row, scale))} {scale.unit}"),
        _alone("Memory per unit", "KiB", lambda row: row.memory_per_unit_bytes, 1 / 1024,
               lambda row: numbers.size(row.memory_per_unit_bytes)),
        _alone("CPU time of all threads", f"{scale.unit} per {per}", lambda row: row.cpu_time, scale.factor,
               lambda row: f"{numbers.plain(scale.of(row.cpu_time))} {scale.unit}"),
        _alone("CPUs busy", "CPUs", lambda row: row.cpus_busy, 1.0,
               lambda row: f"{numbers.plain(row.cpus_busy)} CPUs"),
    ]  # fmt: skip


def _alone(
    title: str, unit: str, raw: Callable[[Row], float | None], factor: float, text: Callable[[Row], str]
) -> Metric:
    """A number without an interval."""

    def of(row: Row) -> tuple[float | None, float | None, float | None]:
        value = raw(row)
        return None if value is None else value * factor, None, None

    return Metric(title, unit, of, text)


def heading(slope: Slope) -> str:
    """What the chart is called: "Time over threads"."""
    return f"Time over {clean(slope.parameter)}"
