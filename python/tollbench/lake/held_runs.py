"""What a lake holds, and what a user's own SQL says of it."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any, Final

from tollbench.errors import TollError
from tollbench.lake.lake_answers import HeldCase, LakeCase, LakeCases, LakeRunLine, LakeRuns, LakeTable
from tollbench.lake.lake_rows import Asked, checked_parameters, machine_of, utc, without_a_start
from tollbench.lake.lake_schema import LABEL
from tollbench.lake.opened_lake import OpenedLake
from tollbench.text import clean

MOST_RUNS: Final = 1000  # lines of an answer
_MOST_CELL: Final = 4096


def held_runs(opened: OpenedLake, most: int = MOST_RUNS) -> LakeRuns:
    """The newest runs, `most` of them, and what the lake has in all."""
    columns = 'run, started_utc, name, "commit", toll_version, launches, cases'
    label = ", ".join(field.name for field in LABEL)
    table = opened.ask(f"SELECT machine, {label}, {columns} FROM run ORDER BY started_utc DESC, run")
    lines = [
        LakeRunLine(
            run=clean(row["run"] or ""),
            machine=machine_of(row),
            started_utc=_began(row["started_utc"], f"run {clean(row['run'] or '')}"),
            name=clean(row["name"] or ""),
            commit=clean(row["commit"] or ""),
            toll_version=clean(row["toll_version"] or ""),
            cases=row["cases"] or 0,
            launches=row["launches"] or 0,
        )
        for row in table.slice(0, most).to_pylist()
    ]
    workloads = opened.ask("SELECT DISTINCT unnest(workloads) AS name FROM run")["name"].to_pylist()
    return LakeRuns(
        notes=opened.notes,
        runs=lines,
        left_out=table.num_rows - len(lines),
        machines=len(set(table["machine"].to_pylist())),
        workloads=sorted(clean(name) for name in workloads if name),
    )


def held_cases(opened: OpenedLake, asked: Asked) -> LakeCases:
    """What the lake has of a workload. Raises TollError where that is nothing."""
    sql = """SELECT contender, environment, work, count(DISTINCT machine) AS machines, count(*) AS runs,
            count(*) FILTER (WHERE fastest) AS fastest_in, max(started_utc) AS newest
        FROM summary WHERE workload = $workload GROUP BY contender, environment, work
        ORDER BY contender, environment, work"""
    rows = [
        HeldCase(
            case=LakeCase(
                workload=clean(asked.workload),
                contender=clean(row["contender"] or ""),
                environment=clean(row["environment"] or ""),
                parameters=checked_parameters(row["work"], asked.workload),
            ),
            machines=row["machines"],
            runs=row["runs"],
            fastest_in=row["fastest_in"],
            newest_utc=_began(row["newest"], f"a run of {clean(asked.workload)}"),
        )
        for row in opened.ask(sql, {"workload": asked.workload}).to_pylist()
    ]
    if not rows:
        raise TollError(f"the lake has no workload {asked.workload}", "what it has: toll lake runs")
    return LakeCases(notes=opened.notes, workload=clean(asked.workload), rows=rows)


def _began(instant: datetime | None, what: str) -> str:
    """Raises TollError where a stranger's file does not say it."""
    if instant is None:
        raise without_a_start(what)
    return utc(instant)


def queried(opened: OpenedLake, sql: str, most: int) -> LakeTable:
    """What one SELECT says, `most` rows of it; every value as JSON can hold it, texts made harmless."""
    kept, count = opened.query(sql, most)
    columns = [[_cell(value) for value in column.to_pylist()] for column in kept.columns]
    return LakeTable(
        notes=opened.notes,
        columns=[clean(name) for name in kept.column_names],
        rows=[list(row) for row in zip(*columns, strict=True)],
        left_out=count - kept.num_rows,
    )


def _cell(value: Any) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date):
        return value.isoformat()
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return clean(text[:_MOST_CELL], lines=True)
