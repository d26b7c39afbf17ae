"""One case on one machine over months: its ratio to one reference, its time, and since when they changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import NormalDist
from typing import Any, Final, Literal

from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.lake.across_machines import reference_of
from tollbench.lake.lake_answers import LakeTrend, TrendBreak, TrendPoint, TrendStep
from tollbench.lake.lake_rows import Asked, Key, LakeRow, chosen_case, in_one_unit, read_rows, utc
from tollbench.lake.opened_lake import OpenedLake
from tollbench.stats.change_points import FALSE_ALARM, find_steps
from tollbench.text import clean, said, shown

_SHORTEST_ID: Final = 4


def trend(opened: OpenedLake, asked: Asked, machine: str = "", against: str = "") -> LakeTrend:
    """All runs of `machine`: a host's name, or the beginning of an identity; "" where there is but one.

    A host that states another machine than before (a new kernel) is gone on with behind a break. Raises
    TollError where that names no machine or several.
    """
    meant = _machines_meant(opened, asked.workload, machine)
    # Of these machines alone: of all of them, months of a thousand would have to be held.
    where = "machine IN (SELECT unnest($machines))"
    rows = read_rows(opened, asked.workload, where, newest="", arguments={"machines": meant})
    wanted = chosen_case(rows, asked)
    rows = in_one_unit(rows, wanted, opened.notes)
    reference = reference_of(rows, wanted.key, against)
    by_run: dict[str, dict[Key, LakeRow]] = {}
    for row in sorted(rows, key=lambda row: (row.started, row.run)):
        by_run.setdefault(row.run, {})[row.key] = row
    points = []
    for of_run in by_run.values():
        mine = of_run.get(wanted.key)
        if mine is not None and mine.value is not None:
            other = None if reference is None else of_run.get(reference.key)
            points.append(_point(mine, other))
    if not points:
        raise TollError(f"no run of that machine has a time of {asked.workload}/{asked.contender}", "")
    parts = _parts(points)
    levels = {run: of_run[wanted.key].level for run, of_run in by_run.items() if wanted.key in of_run}
    return LakeTrend(
        notes=opened.notes,
        case=wanted.case,
        unit=wanted.unit,
        per=wanted.per,
        machine=next(row.machine for row in rows if row.run == points[-1].run),
        reference=None if reference is None else reference.case,
        points=points,
        steps=[
            step
            for part in parts
            for of in ("ratio", "value")
            for step in _steps(part, levels, of, FALSE_ALARM / (2 * len(parts)))
        ],
        breaks=_breaks(points, opened),
    )


def _machines_meant(opened: OpenedLake, workload: str, machine: str) -> list[str]:
    """Their identities. Raises TollError where that is none, or several."""
    sql = "SELECT DISTINCT machine, host FROM summary WHERE workload = $workload"
    there = opened.ask(sql, {"workload": workload}).to_pylist()
    named = {row["machine"]: clean(row["host"] or "") for row in there if row["machine"]}
    if not named:
        raise TollError(f"the lake has no workload {workload}", "what it has: toll lake runs")
    hosts = {name for name, host in named.items() if machine and host == machine}
    begun = {name for name in named if len(machine) >= _SHORTEST_ID and name.startswith(machine)}
    chosen = hosts or begun or (set() if machine else set(named))
    if len(chosen) == 1 or hosts:
        return sorted(chosen)
    offered = ", ".join(sorted({host or clean(name) for name, host in named.items()})[:20])
    what = (
        "several machines measured it" if not machine or chosen else f"{shown(machine, 60)} names no machine"
    )
    raise TollError(what, f"name one of them: --machine NAME; there are: {offered}")


def _stated(opened: OpenedLake, ids: set[str]) -> dict[str, dict[str, Any]]:
    """All that these machines state, by identity."""
    sql = """SELECT DISTINCT ON (machine) machine, stated FROM machine
        WHERE machine IN (SELECT unnest($ids)) ORDER BY machine"""
    found: dict[str, dict[str, Any]] = {name: {} for name in ids}
    for row in opened.ask(sql, {"ids": sorted(ids)}).to_pylist():
        try:
            told = json.loads(row["stated"] or "{}")
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict):
            found[row["machine"]] = told
    return found


def _point(mine: LakeRow, other: LakeRow | None) -> TrendPoint:
    assert mine.value is not None
    comparable = other is not None and other is not mine and other.setting == mine.setting
    return TrendPoint(
        run=mine.run,
        started_utc=utc(mine.started),
        machine=mine.machine.machine,
        commit=mine.commit,
        toll_version=mine.toll_version,
        value=mine.value,
        ratio=mine.ratio_to(other, mine.level) if comparable and other is not None else None,
    )


def _parts(points: Sequence[TrendPoint]) -> list[list[TrendPoint]]:
    """Runs of one machine in a row: what lies on both sides of a break is never compared."""
    return [list(part) for _, part in groupby(points, key=lambda point: point.machine)]


def _steps(
    points: Sequence[TrendPoint], levels: Mapping[str, float], of: Literal["ratio", "value"], alarm: float
) -> Iterator[TrendStep]:
    known = [
        (point, told)
        for point in points
        if (told := point.ratio if of == "ratio" else point.value) is not None and told.value > 0
    ]
    logs = [math.log(told.value) for _, told in known]
    errors = [_error(told, levels[point.run]) for point, told in known]
    found = find_steps(logs, errors, alarm=alarm)
    for step in found.steps:
        yield TrendStep(
            of=of,
            run=known[step.place][0].run,
            started_utc=known[step.place][0].started_utc,
            first_utc=known[step.first][0].started_utc,
            last_utc=known[step.last][0].started_utc,
            change=Estimate(value=math.exp(step.size), low=math.exp(step.low), high=math.exp(step.high)),
            certainty=step.certainty,
        )


def _error(told: Estimate, level: float) -> float:
    """Standard error of the logarithm, from the interval at its run's level; NaN where there is none."""
    if told.low is None or told.high is None or told.low <= 0:
        return math.nan
    return math.log(told.high / told.low) / (2.0 * NormalDist().inv_cdf(0.5 + level / 2.0))


def _breaks(points: Sequence[TrendPoint], opened: OpenedLake) -> list[TrendBreak]:
    changes = [(one, other) for one, other in pairwise(points) if one.machine != other.machine]
    stated = _stated(opened, {point.machine for pair in changes for point in pair}) if changes else {}
    return [
        TrendBreak(
            run=after.run,
            started_utc=after.started_utc,
            before=before.machine,
            after=after.machine,
            differs=_differs(stated[before.machine], stated[after.machine]),
        )
        for before, after in changes
    ]


def _differs(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [
        f"{clean(name)}: {said(old.get(name)) or '-'} -> {said(new.get(name)) or '-'}"[:400]
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
