"""Contenders by environments: which rows stand in which cell of the comparison of compilers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.cases import Naming, parameter_text
from tollbench.text import clean


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """One contender in each environment; None where it was not to be measured."""

    label: str
    rows: tuple[Row | None, ...]

    def best(self) -> Row | None:
        """The contender's fastest environment."""
        measured = [row for row in self.rows if row is not None and row.value is not None]
        return min(measured, key=lambda row: row.value or 0.0, default=None) if len(measured) > 1 else None

    def calls(self) -> str:
        """Allocation calls an iteration: one number where all environments agree, else the range."""
        exact = {row.memory.exact_calls for row in self.rows if row is not None and row.status == "ok"}
        known = sorted(each for each in exact if each is not None)
        if not known or None in exact:
            return numbers.MISSING
        return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """One setting of the swept parameters."""

    setting: str  # "size=1,000"; "" where nothing is swept
    environments: tuple[str, ...]
    lines: tuple[MatrixLine, ...]  # in the order of the table: the one with the lowest value first
    unit: str
    scale: numbers.Scale

    def fastest(self, column: int) -> Row | None:
        """The fastest row of an environment."""
        rows = [line.rows[column] for line in self.lines]
        return next((row for row in rows if row is not None and row.environment_fastest), None)


def matrices(workload: WorkloadResult, naming: Naming) -> list[Matrix]:
    """Where at least two contenders were measured in two environments: a matrix for each swept setting."""
    own = tuple(name for name in naming.varying if name not in workload.swept)
    shorter = replace(naming, by_environment=False, varying=own)
    settings: dict[tuple[tuple[str, int | str], ...], dict[str, dict[str, Row]]] = {}
    for row in workload.rows:
        setting = tuple((name, row.parameters[name]) for name in workload.swept if name in row.parameters)
        line = settings.setdefault(setting, {}).setdefault(shorter.label(row), {})
        line.setdefault(row.environment, row)
    # Settings in their own order: the order of rows is that of their values.
    ordered = sorted(settings.items(), key=lambda item: [(isinstance(v, str), v) for _, v in item[0]])
    found = [_matrix(setting, lines, workload) for setting, lines in ordered]
    return [matrix for matrix in found if len(matrix.lines) > 1]


def _matrix(
    setting: tuple[tuple[str, int | str], ...], lines: dict[str, dict[str, Row]], workload: WorkloadResult
) -> Matrix:
    several = {label: rows for label, rows in lines.items() if len(rows) > 1}
    place = {name: at for at, name in enumerate(workload.environments)}
    used = {name for rows in several.values() for name in rows}
    names = sorted(used, key=lambda name: (place.get(name, len(place)), name != "host", name))
    scale = numbers.time_scale(
        (row.value for rows in several.values() for row in rows.values()), workload.unit
    )
    return Matrix(
        ", ".join(f"{clean(name)}={parameter_text(value)}" for name, value in setting),
        tuple(names),
        tuple(MatrixLine(label, tuple(rows.get(name) for name in names)) for label, rows in several.items()),
        scale.unit,
        scale,
    )


def time(row: Row, matrix: Matrix) -> str:
    """The row's time in the matrix' unit."""
    return numbers.quantity(*(matrix.scale.of(each) for each in (row.value, row.low, row.high)))


def ratio(row: Row) -> str:
    """To the fastest of the same environment."""
    told = row.environment_ratio
    return numbers.ratio(told.value, told.low, told.high) if told else numbers.MISSING
