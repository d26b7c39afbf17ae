"""Applies the statistics to a run file. `results` is all that the reports read."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from tollbench import numbers
from tollbench.analysis.beside import efficiencies, within_environments
from tollbench.analysis.case_data import CaseData, read_alike
from tollbench.analysis.cautions import cautions
from tollbench.analysis.claim_numbers import Place, SideNumber, numbers_in, sides_not_below_floor
from tollbench.analysis.comparison import (
    Compared,
    TableSize,
    comparable,
    compare_settings,
    level_left,
    table_sizes,
)
from tollbench.analysis.environment_changes import environment_changes
from tollbench.analysis.grid import grids
from tollbench.analysis.grouping import settings, swept_parameters
from tollbench.analysis.judged_claims import judged
from tollbench.analysis.percentile_ratios import beside_fastest
from tollbench.analysis.published import beside_today
from tollbench.analysis.pulse import floor, machine_warnings, seconds_between
from tollbench.analysis.results import Detail, Problem, Results, Row, RunInfo, WorkloadResult
from tollbench.analysis.rows import latency, order, row_with_numbers, row_without_numbers
from tollbench.analysis.spells import following, not_below_floor
from tollbench.analysis.units import DAMAGED, checked_json, nanoseconds_per
from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.home import COMMAND
from tollbench.stats import GoneOn
from tollbench.store import Launch, RunFile, RunHeader, WorkloadRecord
from tollbench.text import as_text
from tollbench.words import Claim, Kind, Purpose

__all__ = ["results"]

LONGEST_GAP_S = 60.0
MOST_CASES = 2000  # of a report: more makes no table that anybody reads, and pages of many megabytes


def results(
    run_file: RunFile,
    on_launch: Callable[[int, int], None] = lambda *_: None,
    claims: Sequence[Claim] = (),
    in_batches: Mapping[str, str] = MappingProxyType({}),
    on_cases: Callable[[str, Sequence[CaseData], float], None] = lambda *_: None,
) -> Results:
    """What the run says, every number with its interval; TollError where the file holds the impossible.

    `claims` are judged as far as their workload is in the run. `in_batches` names, for a workload that times
    operations one by one, the one that times many at once. `on_cases` is given each workload's cases and
    the level of a table of theirs, for what needs more than one run.

    Memory is bounded by one launch's samples plus a few megabytes a case, whatever the file's size.
    `on_launch` is told how many measured launches have been read, of how many.
    """
    with run_file.at_one_moment():
        return _results(run_file, on_launch, claims, in_batches, on_cases)


def _results(
    run_file: RunFile,
    on_launch: Callable[[int, int], None],
    claims: Sequence[Claim],
    in_batches: Mapping[str, str],
    on_cases: Callable[[str, Sequence[CaseData], float], None],
) -> Results:
    total, done = run_file.launch_count(Purpose.MEASURE), itertools.count(1)

    def read() -> None:
        on_launch(next(done), total)

    header = _checked_header(run_file.header())
    gone_on = GoneOn(run_file.looks(), header.finished_utc is not None)
    canary = run_file.canary()
    cases: list[CaseData] = []
    workloads: list[WorkloadResult] = []
    tables: list[TableSize] = []
    warnings: list[str] = []
    stored = run_file.workloads()
    asked = [claim for claim in claims if any(claim.workload == workload.name for workload in stored)]
    sides: dict[Place, SideNumber] = {}
    for workload in stored:
        data = read_alike(run_file, run_file.cases(workload.name, MOST_CASES), header, read)
        level = level_left(data, header, gone_on)
        tables += table_sizes(data, level)
        found = _workload(workload, data, header, level, warnings)
        many = in_batches.get(workload.name, "")
        workloads.append(found.model_copy(update={"in_batches": many}))
        sides |= numbers_in(workload, data, header, level, asked, many)
        kept = [_kept(case) for case in data]
        on_cases(workload.name, kept, level)
        cases += kept
    launches = [*canary, *(launch for case in cases for launch in case.everything)]
    canary_floor, drifted = floor(canary, tables, header)
    return Results(
        run=_run_info(header, launches, gone_on.times),
        machine=checked_json(dict(header.machine), "the machine's description"),
        conditions=checked_json(dict(header.conditions), "the machine's conditions"),
        floor=canary_floor,
        workloads=[not_below_floor(workload, canary_floor) for workload in workloads],
        problems=[_problem(case) for case in cases if not case.measured],
        warnings=[
            *_interrupted(header, run_file, gone_on),
            *_left_out(run_file),
            *machine_warnings(canary_floor, drifted, launches, header),
            *warnings,
        ],
        claims=judged(asked, sides_not_below_floor(sides, canary_floor), header),
    )


def _kept(case: CaseData) -> CaseData:
    """What is asked of a case when its workload is done: no samples, and no batches."""
    groups = (case.launches, case.failures, case.others)
    launches, failures, others = (tuple(one._replace(batches=()) for one in group) for group in groups)
    return replace(case, counts=(), launches=launches, failures=failures, others=others)


def _workload(
    workload: WorkloadRecord, data: Sequence[CaseData], header: RunHeader, level: float, warnings: list[str]
) -> WorkloadResult:
    """`level` is that of one row's interval; `warnings` gets those of this workload."""
    nanoseconds_per(workload.unit, workload.name)  # of a file without a number too: its unit is shown
    measured = [case for case in data if case.measured]
    records = [case.record for case in data]
    swept = swept_parameters(records)
    told_apart = comparable(data)
    comparisons = compare_settings(told_apart, swept, level)
    by_value = sorted(measured, key=lambda case: float(np.median(case.values_ns)))
    one_by_one = {case.record.id: latency(case, level) for case in by_value if workload.kind is Kind.SAMPLES}
    latencies = beside_fastest(one_by_one, comparisons, level)
    rows = {case.record.id: row_without_numbers(case) for case in data if not case.measured}
    declared = {one.name: one for one in workload.details}
    alike = following(told_apart)
    for comparison in comparisons:
        for case, compared in zip(comparison.cases, comparison.compared, strict=True):
            rows[case.record.id] = row_with_numbers(
                case, compared, level, declared, following=case.record.id in alike
            )
    for case in measured:
        if case.below_step_ns:
            rows[case.record.id] = row_with_numbers(case, Compared(), level, declared)
    part_of, within = efficiencies(told_apart, level), within_environments(told_apart, swept, level)
    rows = {number: _beside(row, part_of.get(number), within.get(number)) for number, row in rows.items()}
    in_plan_order = [rows[case.record.id] for case in data]
    told = {name for row in in_plan_order for name in row.details}
    positions = {at for at, case in enumerate(data) if case.record.id in alike}
    environments = list(dict.fromkeys(record.environment for record in records))
    warnings += cautions(workload.name, comparisons, in_plan_order, swept, header, positions)
    return WorkloadResult(
        workload=workload.name,
        question=workload.question,
        kind=str(workload.kind),
        unit=workload.unit,
        per=workload.per,
        rows=sorted(in_plan_order, key=order),
        latencies=latencies,
        grids=[one for case in by_value for one in grids(case.record, case.cells, header)],
        published=beside_today(workload, in_plan_order, latencies, told_apart, level),
        details=[Detail(**asdict(one)) for name, one in declared.items() if name in told],
        swept=list(swept),
        settings=[dict(setting) for setting in settings(records, swept)] if swept else [],
        environments=environments,
        environment_changes=environment_changes(told_apart, environments, level),
    )


def _beside(row: Row, efficiency: Estimate | None, compared: Compared | None) -> Row:
    """The row with what it is beside the floor and beside the others of its environment."""
    changes: dict[str, Any] = {"efficiency": efficiency}
    if compared is not None and compared.ratio is not None:
        ends = compared.interval
        ratio = Estimate(value=compared.ratio, low=ends and ends.low, high=ends and ends.high)
        changes |= {"environment_ratio": ratio, "environment_fastest": compared.fastest}
    return row.model_copy(update=changes)


def _interrupted(header: RunHeader, run_file: RunFile, gone_on: GoneOn) -> list[str]:
    """Whether it can be gone on with, and what having done so costs its intervals."""
    told = []
    if gone_on.times:
        times = "once" if gone_on.times == 1 else f"{gone_on.times} times"
        told.append(
            f"The run was gone on with {times} after launches of it could be read. Each time was a look, so"
            f" its intervals are wider: all of them together hold at {numbers.percent(header.level)}."
        )
    if gone_on.ended:
        return told
    path = shlex.quote(as_text(str(run_file.path)))
    resume = f"{COMMAND} run --resume {path} goes on with it"
    wider = "Until it has ended its intervals are wider, as going on for what they say is a look."
    if header.stopped_by is not None:
        return [*told, f"The run was interrupted; {resume}. {wider}"]
    # A toll that is killed leaves a file like one that is being written.
    return [
        *told,
        f"The run is being measured, or its toll was killed or failed ({resume} then). {wider} Reports are"
        " not counted: looking often and stopping once something differs errs more often than the level"
        " says.",
    ]


def _left_out(run_file: RunFile) -> list[str]:
    planned = run_file.case_count()
    if planned <= MOST_CASES:
        return []
    return [
        f"{planned - MOST_CASES:,} of {planned:,} cases are left out: a report holds {MOST_CASES:,}, first"
        " those that were launched. `toll export` has all of them."
    ]


def _problem(case: CaseData) -> Problem:
    record = case.record
    return Problem(
        workload=record.workload,
        contender=record.contender,
        environment=record.environment,
        parameters=dict(record.parameters),
        status=str(case.status),
        reason=case.reason,
    )


def _run_info(header: RunHeader, launches: Sequence[Launch], looks: int) -> RunInfo:
    ends = [seconds_between(header.started_utc, one.started_utc) + one.wall_ns / 1e9 for one in launches]
    if header.finished_utc is not None:
        ends = [seconds_between(header.started_utc, header.finished_utc)]
    return RunInfo(
        **{name: getattr(header, name) for name in RunInfo.model_fields if hasattr(header, name)},
        seconds=None if not ends else max(0.0, max(ends) - _pauses_s(launches)),
        seconds_in_programs=sum(one.wall_ns for one in launches) / 1e9,
        launches=len(launches),
        looks=looks,
    )


def _pauses_s(launches: Sequence[Launch]) -> float:
    """Seconds between an interruption and its resume, which are no part of what the run took.

    Nothing else keeps a run from launching for a minute: between two launches toll works for
    milliseconds, and waits for others to rest for a fifth of a second.
    """
    paused, end = 0.0, None
    for one in sorted(launches, key=lambda launch: launch.id):
        if end is not None and (gap := seconds_between(end[0], one.started_utc) - end[1]) > LONGEST_GAP_S:
            paused += gap
        end = (one.started_utc, one.wall_ns / 1e9)
    return paused


def _checked_header(header: RunHeader) -> RunHeader:
    if not 0.5 <= header.level < 1.0 or not 0.0 <= header.precision < 1.0:
        raise TollError(
            f"The run file asks for intervals at level {header.level!r} within {header.precision!r};"
            " a level lies between 0.5 and 1, a precision between 0 and 1.",
            DAMAGED,
        )
    return header
