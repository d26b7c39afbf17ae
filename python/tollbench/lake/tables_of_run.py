"""A finished run as the tables of a lake: what its report says, and the launches behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tollbench.analysis import results
from tollbench.analysis.beside import NOT_OF_THE_WORK
from tollbench.analysis.case_data import CaseData
from tollbench.analysis.comparison import comparable
from tollbench.analysis.grouping import by_setting, setting_of, swept_parameters
from tollbench.analysis.results import Results, Row, WorkloadResult
from tollbench.analysis.rounds import rounds_of
from tollbench.errors import TollError
from tollbench.export.tables import BATCHES, LAUNCHES, batch_records, launch_records, launches_of
from tollbench.export.tables import TABLES as EXPORTED
from tollbench.lake.lake_schema import EVERYWHERE, JSON, QUANTILES, TABLES, VERSION, schema_of
from tollbench.lake.stated_machine import MOST_HOST, StatedMachine
from tollbench.store import Launch, RunFile
from tollbench.text import clean, shown
from tollbench.words import Purpose, canonical
from tollbench.writing.redacting import harmless, harmless_json, secrets_here

RUN_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_COMMIT: Final = 200
# What rows of several machines are held together by: the same whoever adds them, so that no variable of this
# environment is looked for here. What has the form of a secret goes all the same.
_IDENTITIES: Final = frozenset(
    {"workload", "workloads", "contender", "environment", "parameters", "work", "setting", "a", "b"}
)
Logs = tuple[list[int], list[float], list[int]]  # of a case its rounds, log(ns) and layout of each


@dataclass(frozen=True, slots=True)
class LakeRun:
    """One run, ready to be written: its place in the lake, and its tables."""

    run: str
    machine: str
    month: str  # "2026-11"
    launches: int
    finished: bool
    tables: Mapping[str, pa.Table] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _OfRun:
    """What every table of a run says alike."""

    everywhere: Mapping[str, Any]
    machine: StatedMachine
    secrets: tuple[str, ...]

    def secrets_for(self, column: str) -> tuple[str, ...]:
        """Values that no text of the column may have."""
        return () if column in _IDENTITIES else self.secrets

    def table(self, name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Of rows without the columns that all tables have. Texts are made harmless; those of JSON are."""
        told = [
            {
                **{
                    column: value if column in JSON else harmless(value, self.secrets_for(column))
                    for column, value in row.items()
                },
                **self.everywhere,
            }
            for row in rows
        ]
        return pa.Table.from_pylist(told, schema=schema_of(name))


def tables_of_run(
    run_file: RunFile,
    *,
    host: str = "",
    commit: str = "",
    samples: bool = False,
    on_launch: Callable[[int, int], None] = lambda *_: None,
) -> LakeRun:
    """Everything that a lake keeps of a run. `host` is the machine's name and `commit` what was measured.

    Raises TollError for a file that holds the impossible, or whose run has no identity.
    """
    try:
        return _tables_of_run(run_file, host, commit, samples=samples, on_launch=on_launch)
    except (pa.ArrowException, OverflowError) as error:  # a number beyond what its column holds
        raise TollError(
            f"{run_file.path} holds what no table of a lake can: {shown(str(error), 200)}",
            "ask whoever made it for a new copy",
        ) from None


def _tables_of_run(
    run_file: RunFile, host: str, commit: str, *, samples: bool, on_launch: Callable[[int, int], None]
) -> LakeRun:
    header = run_file.header()
    run, started = _identity(run_file, header.uuid), _instant(run_file, header.started_utc)
    machine = StatedMachine.of(header.machine, _label("--host", host, MOST_HOST))
    everywhere = {
        "run": run,
        "machine": machine.id,
        "commit": _label("--commit", commit, MOST_COMMIT),
        "toll_version": clean(header.toll_version)[:MOST_COMMIT],
        "schema_version": VERSION,
        "started_utc": started,
    }
    told = _OfRun(everywhere, machine, secrets_here())
    logs: dict[int, Logs] = {}
    levels: dict[str, float] = {}
    keys: dict[tuple[str, str, str, str], int] = {}

    def keep(workload: str, cases: Sequence[CaseData], level: float) -> None:
        levels[workload] = level
        keys.update({_key(workload, case.record): case.record.id for case in cases})
        swept = swept_parameters([case.record for case in cases])
        logs.update(_logs_of(comparable(cases), swept))

    found = results(run_file, on_launch, on_cases=keep)
    label = machine.label()

    def logs_of(workload: WorkloadResult, row: Row) -> Logs | None:
        return logs.get(keys.get(_key(workload.workload, row), -1))

    summary = [
        {
            **label,
            **_summary_row(workload, row, levels.get(workload.workload), logs_of(workload, row)),
        }
        for workload in found.workloads
        for row in workload.rows
    ]
    tables = {
        "run": told.table("run", [{**label, **_run_row(found)}]),
        "machine": told.table("machine", [machine.row()]),
        "environment": told.table("environment", _environment_rows(run_file)),
        "comparison": told.table("comparison", list(_comparison_rows(found, levels, summary))),
        **_exported(run_file, told),
        "summary": told.table("summary", summary),
    }
    if samples:
        tables["sample"] = _samples(run_file, told)
    month = started.strftime("%Y-%m")
    return LakeRun(run, machine.id, month, found.run.launches, header.finished_utc is not None, tables)


def _identity(run_file: RunFile, uuid: str) -> str:
    if RUN_ID.fullmatch(uuid) is None:
        raise TollError(
            f"{run_file.path} names its run {shown(uuid, 40)!r}, which is no identity that toll makes.",
            "ask whoever made it for a new copy",
        )
    return uuid


def _instant(run_file: RunFile, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or not 2000 <= found.year < 2200:
        raise TollError(
            f"{run_file.path} says that its run began at {shown(text, 40)!r}, which is no instant.",
            "ask whoever made it for a new copy",
        )
    return found.astimezone(UTC).replace(tzinfo=None)


def _label(option: str, text: str, most: int) -> str:
    if clean(text) != text or len(text) > most:
        raise TollError(f"{option} is not one line of at most {most} plain characters", f"shorten {option}")
    return text


def _key(workload: str, case: Any) -> tuple[str, str, str, str]:
    return workload, case.contender, case.environment, canonical(case.parameters)


def _logs_of(cases: Sequence[CaseData], swept: Sequence[str]) -> dict[int, Logs]:
    """By case id: its rounds, and log(ns) of each, what befell single blocks of a setting taken out.

    Of two rows of one setting the differences within rounds are what `compare_settings` forms ratios of.
    """
    found = {}
    records = [case.record for case in cases]
    for positions in by_setting(records, swept):
        group = [cases[position].by_round for position in positions]
        rounds = rounds_of(group)
        for column, position in enumerate(positions):
            known = np.isfinite(rounds.logs[:, column])
            found[cases[position].record.id] = (
                rounds.numbers[known].tolist(),
                rounds.logs[known, column].tolist(),
                rounds.layouts[known].tolist(),
            )
    return found


def _summary_row(
    workload: WorkloadResult,
    row: Row,
    level: float | None,
    logs: Logs | None,
) -> dict[str, Any]:
    quantiles = {}
    for latency in workload.latencies:
        if _key("", latency) == _key("", row):
            quantiles = {
                f"{key}{end}": getattr(latency, f"{key}{end}")
                for key in QUANTILES
                for end in ("", "_low", "_high")
            }
    same = (
        "contender", "environment", "language", "library", "library_version", "status", "reason", "value",
        "low", "high", "below_step", "ratio", "ratio_low", "ratio_high", "fastest", "within_run", "cpu_time",
        "spread", "launches", "failed_launches", "unit", "per",
    )  # fmt: skip
    return {
        "workload": workload.workload,
        "parameters": harmless_json(row.parameters, ()),
        "work": harmless_json(_work(workload, row), ()),
        "setting": harmless_json(dict(setting_of(row, workload.swept)), ()),
        "kind": workload.kind,
        "role": "floor" if row.floor else "baseline" if row.baseline else "",
        "level": level,
        "peak_bytes": row.memory.peak_bytes,
        **{name: getattr(row, name) for name in same},
        **quantiles,
        "rounds": logs[0] if logs else None,
        "log_ns": logs[1] if logs else None,
        "layouts": logs[2] if logs else None,
    }


def _work(workload: WorkloadResult, row: Row) -> dict[str, int | str]:
    """What makes it the same question on another machine: not how many threads that one gives by default."""
    return {
        name: value
        for name, value in row.parameters.items()
        if name in workload.swept or name not in NOT_OF_THE_WORK
    }


def _run_row(found: Results) -> dict[str, Any]:
    run = found.run
    same = ("name", "profile", "seed", "level", "precision", "stopped_by", "looks", "launches")
    floor = found.floor.model_dump()
    for lengthy in ("canary_ns", "canary_at_s"):
        floor[lengthy] = []
    return {
        **{name: getattr(run, name) for name in same},
        "cases": sum(len(workload.rows) for workload in found.workloads),
        "workloads": [workload.workload for workload in found.workloads],
        "finished_utc": _known_instant(run.finished_utc),
        "seconds": run.seconds,
        "seconds_in_programs": run.seconds_in_programs,
        "floor_ratio": found.floor.ratio,
        "floor": harmless_json(floor),
        "conditions": harmless_json(found.conditions),
        "warnings": harmless_json(found.warnings),
    }


def _known_instant(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # in the year 1, east of Greenwich
        return None


def _environment_rows(run_file: RunFile) -> list[dict[str, Any]]:
    same = ("compiler", "compiler_version", "standard_library", "flags", "allocator")
    return [
        {"environment": one.name, **{name: getattr(one, name) for name in same}}
        for one in run_file.environments()
    ]


def _comparison_rows(
    found: Results, levels: Mapping[str, float], summary: Sequence[Mapping[str, Any]]
) -> Iterable[dict[str, Any]]:
    """Each measured row beside the fastest of its setting: slower, or not told apart from it."""
    rows = iter(summary)
    for workload in found.workloads:
        settings = [next(rows)["setting"] for _ in workload.rows]  # they stand in this order there
        both = list(zip(workload.rows, settings, strict=True))
        fastest = {setting: row.contender for row, setting in both if row.fastest}
        for row, setting in both:
            if row.ratio is None or row.fastest or setting not in fastest:
                continue
            yield {
                "source": "run",
                "workload": workload.workload,
                "setting": setting,
                "environment": row.environment,
                "a": fastest[setting],
                "b": row.contender,
                "ratio": row.ratio,
                "low": row.ratio_low,
                "high": row.ratio_high,
                "level": levels.get(workload.workload),
                "rounds": row.launches,
                "verdict": "slower" if row.ratio_low is not None and row.ratio_low > 1 else "inconclusive",
                "reason": row.reason,
            }


def _exported(run_file: RunFile, told: _OfRun) -> dict[str, pa.Table]:
    """The tables that `toll export` has too; launches are read once for both of theirs."""
    launches, batches = [], []
    for case in run_file.cases():
        of_case = [*launches_of(run_file, case)]
        launches.append(launch_records(case, of_case))
        batches.append(batch_records(case, of_case))
    launches.append(launch_records(None, run_file.canary()))
    cases = next(table for table in EXPORTED if table.name == "cases")
    read = {
        "case": cases.read(run_file),
        "launch": pa.Table.from_batches(launches, LAUNCHES).rename_columns(
            {"started_utc": "launched_utc"}  # `started_utc` is the run's in every table
        ),
        "batch": pa.Table.from_batches(batches, BATCHES),
    }
    return {name: _widened(name, table, run_file, told) for name, table in read.items()}


def _widened(name: str, read: pa.Table, run_file: RunFile, told: _OfRun) -> pa.Table:
    """With the columns that every table has, in the lake's types."""
    own = {field.name for field in EVERYWHERE}
    columns = []
    for wanted in TABLES[name]:
        if wanted.name in own:
            one = pa.scalar(told.everywhere[wanted.name], wanted.type)
            columns.append(pa.repeat(one, read.num_rows))
        elif wanted.name == "question":
            asked = {each.name: harmless(each.question, told.secrets) for each in run_file.workloads()}
            columns.append(
                pa.array([asked.get(each, "") for each in read["workload"].to_pylist()], wanted.type)
            )
        elif pa.types.is_timestamp(wanted.type):
            instants = [_known_instant(each) for each in read[wanted.name].to_pylist()]
            columns.append(pa.array(instants, wanted.type))
        elif pa.types.is_string(wanted.type):
            columns.append(_harmless_column(wanted.name, read[wanted.name], told.secrets_for(wanted.name)))
        else:
            columns.append(read[wanted.name].cast(wanted.type))
    return pa.Table.from_arrays(columns, schema=schema_of(name))


def _harmless_column(name: str, column: pa.ChunkedArray, secrets: tuple[str, ...]) -> pa.Array:
    """Most rows say the same: each text is looked at once."""
    coded = column.combine_chunks().dictionary_encode()
    texts = coded.dictionary.to_pylist()
    told = [
        harmless_json(json.loads(each), secrets) if name in JSON and each else harmless(each, secrets)
        for each in texts
    ]
    return pa.array(told, pa.string()).take(coded.indices)


def _samples(run_file: RunFile, told: _OfRun) -> pa.Table:
    parts = []
    for case in run_file.cases():
        names = {
            "workload": case.workload,
            "contender": case.contender,
            "environment": case.environment,
            "parameters": canonical(case.parameters),
        }
        for launch in run_file.launches(case.id, Purpose.MEASURE, ok_only=True):
            parts += _samples_of(run_file, launch, names)
    if not parts:
        return schema_of("sample").empty_table()
    return _widened("sample", pa.concat_tables(parts), run_file, told)


def _samples_of(run_file: RunFile, launch: Launch, names: Mapping[str, str]) -> list[pa.Table]:
    found = []
    for batch in run_file.counted_samples(launch.id)[1]:
        for part in batch.parts:
            count = part.values.size
            columns: dict[str, Any] = {
                name: pa.repeat(pa.scalar(text), count) for name, text in names.items()
            }
            columns |= {
                name: pa.repeat(pa.scalar(value, pa.int64()), count)
                for name, value in (("launch", launch.id), ("round", launch.round))
            }
            columns |= {"nanoseconds": pa.array(part.values), "count": pa.array(part.counts)}
            found.append(pa.table(columns))
    return found
