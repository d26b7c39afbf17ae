"""Machines of a lake beside each other, as `toll report` shows several runs: the newest run of each."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from tollbench.analysis.results import Floor, Results, Row, RunInfo, WorkloadResult
from tollbench.analysis.several import MOST_RUNS, ReadRun, beside_each_other
from tollbench.analysis.several_results import SeveralRuns
from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.lake.lake_answers import LakeCase
from tollbench.lake.lake_rows import (
    LakeRow,
    StoredIdentity,
    checked_parameters,
    rows_of_table,
    utc,
    without_a_start,
)
from tollbench.lake.opened_lake import OpenedLake
from tollbench.text import clean, shown
from tollbench.words import SETTINGS_OF

TABLES: Final = ("summary", "run", "machine", "case")
_SHORTEST_ID: Final = 4
_WARNINGS: Final = TypeAdapter(list[str])
_DAMAGED: Final = "take the file out of the lake, and add its run again"


@dataclass(frozen=True, slots=True)
class _StoredCase:
    record: StoredIdentity
    row: LakeRow


def machines_beside(
    opened: OpenedLake, names: Sequence[str] = (), machines: Sequence[str] = ()
) -> SeveralRuns:
    """Tables of the workloads that `names` name (all, if none), a column for each machine.

    `machines` are hosts' names or beginnings of identities. Raises TollError where there are none, or more
    than there are letters, or where a name names nothing.
    """
    newest = _with_any(_newest(opened, names, machines))
    if not newest:
        raise TollError("the lake holds no run", "add some: toll lake add runs/*.toll")
    if len(newest) > MOST_RUNS:
        raise TollError(
            f"the lake has {len(newest):,} machines, and a report has columns for {MOST_RUNS}",
            "name some: --machine NAME --machine NAME; or ask toll lake machines WORKLOAD/CONTENDER",
        )
    read = [_read(opened, run, names) for run in newest]
    there = {workload.workload for one in read for workload in one.results.workloads}
    for name in names:
        if not any(_fits(workload, name) for workload in there):
            raise TollError(f"these machines have no workload {name}", "what the lake has: toll lake runs")
    return beside_each_other(read, lambda one, other, level: _over(one.row, other.row, level))


def _over(one: LakeRow, other: LakeRow, level: float) -> Estimate | None:
    """None where their run kept them in tables apart: what it took out of their rounds is not alike."""
    return one.ratio_to(other, level) if one.setting == other.setting else None


def _fits(workload: str, name: str) -> bool:
    return fnmatchcase(workload, name) or fnmatchcase(workload, f"{name}/*")


def _newest(opened: OpenedLake, names: Sequence[str], machines: Sequence[str]) -> list[Mapping[str, Any]]:
    """A row of table `run` for each machine that is meant, by host and identity.

    Of the newest that compares rows of what `names` name, else of the newest that has any of it: a run of one
    contender, made to try it, does not take the place of its machine's table.
    """
    there = opened.ask("SELECT DISTINCT workload FROM summary")["workload"].to_pylist()
    fitting = [one for one in there if not names or any(_fits(clean(one or ""), each) for each in names)]
    sql = """
        WITH rows_of AS (SELECT run, count(*) FILTER (value IS NOT NULL AND coalesce(role, '') = '') AS most
            FROM summary WHERE workload IN (SELECT unnest($workloads)) GROUP BY run, workload, setting),
        of_run AS (SELECT run, max(most) AS most FROM rows_of GROUP BY run)
        SELECT run.*, of_run.most AS most FROM run LEFT JOIN of_run ON run.run = of_run.run
        QUALIFY row_number() OVER (PARTITION BY run.machine ORDER BY coalesce(of_run.most, 0) > 1 DESC,
            of_run.most IS NOT NULL DESC, run.started_utc DESC, run.run DESC) = 1
        ORDER BY run.host, run.machine"""
    found: list[Mapping[str, Any]] = opened.ask(sql, {"workloads": fitting}).to_pylist()
    for row in found:
        if not row["run"] or not row["machine"]:
            raise TollError("a run in the lake does not say which it is, or of which machine", _DAMAGED)
        if row["started_utc"] is None:
            raise without_a_start(f"run {clean(row['run'])}")
    if not machines:
        return found
    chosen: dict[str, Mapping[str, Any]] = {}
    for name in machines:
        fitting = [
            row
            for row in found
            if row["host"] == name or (len(name) >= _SHORTEST_ID and row["machine"].startswith(name))
        ]
        if not fitting:
            raise TollError(f"{shown(name, 60)} names no machine of the lake", "its machines: toll lake runs")
        chosen.update({row["machine"]: row for row in fitting})
    return list(chosen.values())


def _with_any(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that have any of what is named; all of them where none has, which is told."""
    return [row for row in runs if row["most"] is not None] or list(runs)


def _read(opened: OpenedLake, run: Mapping[str, Any], names: Sequence[str]) -> ReadRun[_StoredCase]:
    known = {"run": run["run"]}
    (described,) = opened.ask(
        "SELECT described FROM machine WHERE run = $run LIMIT 1", known
    ).to_pylist() or [{}]
    asked = opened.ask('SELECT DISTINCT workload, question FROM "case" WHERE run = $run', known).to_pylist()
    questions = {row["workload"]: clean(row["question"] or "") for row in asked}
    table = opened.ask("SELECT * FROM summary WHERE run = $run ORDER BY workload, value", known)
    if None in table["workload"].to_pylist():
        raise TollError(f"run {clean(run['run'])} in the lake has a row of no workload", _DAMAGED)
    workloads: list[WorkloadResult] = []
    data: dict[str, list[_StoredCase]] = defaultdict(list)
    levels: dict[str, float] = {}
    stored = table.to_pylist()
    for name in dict.fromkeys(row["workload"] for row in stored):
        if names and not any(_fits(name, each) for each in names):
            continue
        positions = [at for at, row in enumerate(stored) if row["workload"] == name]
        of_it = rows_of_table(table.take(positions), name)
        rows = [_row(stored[at], of) for at, of in zip(positions, of_it, strict=True)]
        first = of_it[0]
        workloads.append(
            WorkloadResult(
                workload=clean(name),
                question=questions.get(name, ""),
                kind=clean(stored[positions[0]]["kind"] or ""),
                unit=first.unit,
                per=first.per,
                rows=rows,
            )
        )
        levels[clean(name)] = first.level
        data[clean(name)] = [
            _StoredCase(
                StoredIdentity(
                    row.contender, row.environment, row.parameters, {**row.footing, "role": of.role}
                ),
                of,
            )
            for row, of in zip(rows, of_it, strict=True)
            if of.log_ns.size and of.value is not None and of.value.value > 0
        ]
    return ReadRun(_results(run, described, workloads), dict(data), levels)


def _row(stored: Mapping[str, Any], of: LakeRow) -> Row:
    names = ("language", "library", "library_version", "within_run")
    texts: dict[str, Any] = {name: clean(stored[name] or "") for name in names}
    case: LakeCase = of.case
    return Row(
        contender=case.contender,
        environment=case.environment,
        parameters=checked_parameters(stored["parameters"], case.workload),
        **texts,
        footing=_kept_apart(of.setting, case.workload),
        status=of.status,
        reason=of.reason,
        value=of.value.value if of.value else None,
        low=of.value.low if of.value else None,
        high=of.value.high if of.value else None,
        unit=of.unit,
        per=of.per,
        below_step=stored["below_step"],
        fastest=of.fastest,
        floor=of.role == "floor",
        baseline=of.role == "baseline",
    )


def _kept_apart(setting: str, workload: str) -> dict[str, str]:
    """A lake keeps no footing; what the workload keeps apart stands in the setting, with what was swept."""
    names = checked_parameters(setting or "{}", workload)
    return {SETTINGS_OF: ", ".join(names)} if names else {}


def _results(
    run: Mapping[str, Any], described: Mapping[str, Any], workloads: list[WorkloadResult]
) -> Results:
    identity = clean(run["run"])
    try:
        info = RunInfo(
            name=clean(run["host"] or run["name"] or identity),
            uuid=identity,
            toll_version=clean(run["toll_version"] or ""),
            command_line="",  # is not kept in a lake
            profile=clean(run["profile"] or ""),
            level=run["level"],
            precision=run["precision"],
            seed=run["seed"],
            started_utc=utc(run["started_utc"]),
            finished_utc=utc(run["finished_utc"]) if isinstance(run["finished_utc"], datetime) else None,
            stopped_by=clean(run["stopped_by"]) if run["stopped_by"] else None,
            seconds=run["seconds"],
            seconds_in_programs=run["seconds_in_programs"],
            launches=run["launches"],
            looks=run["looks"] or 0,
        )
        return Results(
            run=info,
            machine=json.loads(described.get("described") or "{}"),
            conditions=json.loads(run["conditions"] or "{}"),
            floor=Floor.model_validate_json(run["floor"] or "{}"),
            workloads=workloads,
            warnings=[clean(each) for each in _WARNINGS.validate_json(run["warnings"] or "[]")],
        )
    except (ValidationError, ValueError, RecursionError):
        raise TollError(f"run {identity} in the lake says of itself what cannot be", _DAMAGED) from None
