"""Rows of one workload in a lake: read once, checked as they are read, the newest run of each machine."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tollbench.analysis.rounds import one_layout
from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.lake.lake_answers import LakeCase, LakeMachine
from tollbench.lake.opened_lake import OpenedLake
from tollbench.stats import Pairs, pairs_in
from tollbench.text import clean

Floats = NDArray[np.float64]
Key = tuple[str, str, str]  # contender, environment, its parameters as they are stored
MOST_TEXT: Final = 4096
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_HIGHEST: Final = 1e18
_HIGHEST_LOG: Final = 60.0  # of a time in ns
_USUAL_LEVEL: Final = 0.95
# Of what a question is about: the newest run of each machine that has any of it, and of each case its newest.
NEWEST: Final = "QUALIFY rank() OVER (PARTITION BY machine ORDER BY started_utc DESC, run DESC) = 1"
NEWEST_OF_EACH: Final = NEWEST.replace("machine", "machine, contender, environment, work")
# Runs that have the case: another run's being newer says nothing of it.
HAS_CASE: Final = """run IN (SELECT run FROM summary WHERE workload = $workload
    AND contender = $contender AND environment = $environment AND work = $work)"""
_DAMAGED: Final = "take the file out of the lake, and add its run again"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which rows a question is about: "tasks/skynet" or "tasks/skynet/contender", and parameters."""

    workload: str
    contender: str = ""
    environment: str = "host"
    parameters: Mapping[str, int | str] = ()  # type: ignore[assignment]

    @classmethod
    def of(cls, name: str, *, environment: str = "host", parameters: Sequence[str] = ()) -> Asked:
        """From what a user types. Raises TollError."""
        parts = name.split("/", 2)  # a stranger's contender may have any name
        if len(parts) < 2 or not all(parts):
            raise TollError(
                f"{name} names no workload", "name one as topic/workload or topic/workload/contender"
            )
        return cls(
            "/".join(parts[:2]), parts[2] if len(parts) > 2 else "", environment, _parameters(parameters)
        )

    def matches(self, work: Mapping[str, int | str]) -> bool:
        """Whether a case's parameters have the values that were asked for; "" asks for one that has none."""
        return all(work.get(name, "") == value for name, value in dict(self.parameters).items())


def _parameters(told: Sequence[str]) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for each in told:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise TollError(f"{each} is no parameter", "give it as NAME=VALUE, for example tasks=100000")
        found[name] = int(value) if _WHOLE.fullmatch(value) else value
    return found


_TEXTS: Final = ("run", "setting", "status", "reason", "role", "unit", "per", "commit", "toll_version")


@dataclass(frozen=True, slots=True)
class LakeRow:
    """One case in one run, with the values that ratios are made of."""

    run: str
    setting: str
    status: str
    reason: str
    role: str
    unit: str
    per: str
    commit: str
    toll_version: str
    machine: LakeMachine
    started: datetime
    case: LakeCase
    key: Key  # what makes it the same case in another run
    fastest: bool
    level: float
    value: Estimate | None
    rounds: NDArray[np.int64]
    log_ns: Floats
    layouts: NDArray[np.int64]  # of each of these rounds; 0: none that is known

    def ratio_to(self, other: LakeRow, level: float) -> Estimate | None:
        """This row's value over another's of the same run, paired by round; None where they share none."""
        pairs = self.pairs(other)
        if not pairs.logs.size:
            return None
        ratio, interval = pairs.interval(level)
        return Estimate(value=ratio, low=interval and interval.low, high=interval and interval.high)

    def pairs(self, other: LakeRow) -> Pairs:
        """log(this / other) of the rounds that both have."""
        if np.array_equal(self.rounds, other.rounds):
            return pairs_in(self.log_ns, other.log_ns, one_layout(self.layouts, other.layouts))
        _, mine, others = np.intersect1d(self.rounds, other.rounds, assume_unique=True, return_indices=True)
        layouts = one_layout(self.layouts[mine], other.layouts[others])
        return pairs_in(self.log_ns[mine], other.log_ns[others], layouts)


_COLUMNS: Final = (
    "machine, host, cpu, product, cpus, memory_bytes, kernel, run, started_utc, contender, environment, work,"
    " setting, status, reason, role, fastest, unit,"
    ' per, "commit", toll_version, level, value, low, high, rounds, log_ns, layouts'
)


def read_rows(
    opened: OpenedLake,
    workload: str,
    where: str = "true",
    newest: str = NEWEST,
    arguments: Mapping[str, str | Sequence[str]] | None = None,
) -> list[LakeRow]:
    """The rows of the workload that fulfil `where`, and of them those that `newest` leaves, with "" all.

    `arguments` are what `where` names. Raises TollError for impossible rows.
    """
    sql = f"""
        WITH of_it AS (SELECT {_COLUMNS} FROM summary WHERE workload = $workload AND {where} {newest})
        SELECT * FROM of_it ORDER BY machine, started_utc, run, contender, environment, work"""
    return rows_of_table(opened.ask(sql, {"workload": workload, **(arguments or {})}), workload)


def read_case(opened: OpenedLake, asked: Asked) -> tuple[LakeRow, list[LakeRow]]:
    """A row of the one case that was asked for, and all rows of each machine's newest run that has the case.

    Raises TollError where the lake has no such case, or several.
    """
    works = opened.ask(
        """SELECT DISTINCT work FROM summary WHERE workload = $workload AND contender = $contender
        AND environment = $environment""",
        {"workload": asked.workload, "contender": asked.contender, "environment": asked.environment},
    )["work"].to_pylist()
    fitting = [work for work in works if asked.matches(checked_parameters(work, asked.workload))]
    if len(fitting) != 1:  # of none and of several the rows tell what there is
        fitting = [chosen_case(read_rows(opened, asked.workload), asked).key[2]]
    of_case = {"contender": asked.contender, "environment": asked.environment, "work": fitting[0]}
    rows = read_rows(opened, asked.workload, HAS_CASE, arguments=of_case)
    return _by_key(rows)[asked.contender, asked.environment, fitting[0]], rows


def rows_of_table(table: pa.Table, workload: str) -> list[LakeRow]:
    """Each value is checked, as a file may be a stranger's. Raises TollError.

    By columns: of ten thousand rows most say the same.
    """
    (rounds, logs, layouts), ends = _values(table, workload)
    starts = [0, *ends.tolist()]
    machines, cases = _machines(table), _cases(table, workload)
    texts = {name: _texts(table[name]) for name in _TEXTS}
    numbers = zip(*(_times(table[name], workload) for name in ("value", "low", "high")), strict=True)
    levels, fastest = table["level"].to_pylist(), table["fastest"].to_pylist()
    started = table["started_utc"].to_pylist()
    if None in started:
        raise without_a_start(f"a run of {_line(workload)}")
    found = []
    for at, ((value, low, high), (key, case)) in enumerate(zip(numbers, cases, strict=True)):
        level = levels[at]
        found.append(
            LakeRow(
                run=texts["run"][at],
                setting=texts["setting"][at],
                status=texts["status"][at],
                reason=texts["reason"][at],
                role=texts["role"][at],
                unit=texts["unit"][at],
                per=texts["per"][at],
                commit=texts["commit"][at],
                toll_version=texts["toll_version"][at],
                machine=machines[at],
                started=started[at],
                case=case,
                key=key,
                fastest=fastest[at] is True,
                level=level if level is not None and 0.5 <= level < 1.0 else _USUAL_LEVEL,
                value=None if value is None else Estimate(value=value, low=low, high=high),
                rounds=rounds[starts[at] : starts[at + 1]],
                log_ns=logs[starts[at] : starts[at + 1]],
                layouts=layouts[starts[at] : starts[at + 1]],
            )
        )
    return found


def without_a_start(what: str) -> TollError:
    """The error for what can be put into no order of time."""
    return TollError(f"{what} in the lake does not say when it began", _DAMAGED)


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Each harmless, and none missing."""
    return [_line(text) for text in column.to_pylist()]


# Nothing here calls what would import pyarrow.compute or pandas (`to_numpy`, `drop_null`, `fill_null`): a
# quarter of a second of each question.
_KINDS: Final = {pa.int32(): np.int32, pa.int64(): np.int64, pa.float64(): np.float64}


def _numbers(values: pa.Array) -> NDArray[Any]:
    """Of an array without nulls."""
    kind = np.dtype(_KINDS[values.type])
    if not len(values):
        return np.empty(0, kind)
    return np.frombuffer(values.buffers()[1], kind)[values.offset : values.offset + len(values)]


def _flat(lists: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """What stands in all of the lists, and how much of it in each; none where there is no list."""
    count = len(lists)
    if not count:
        return lists.values.slice(0, 0), np.zeros(0, dtype=np.int64)
    ends = np.frombuffer(lists.buffers()[1], np.int32)[lists.offset : lists.offset + count + 1]
    lengths = np.diff(ends).astype(np.int64)
    known = lists.buffers()[0]
    if known is not None:
        bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")
        lengths[bits[lists.offset : lists.offset + count] == 0] = 0
    whole = lists.values.slice(int(ends[0]), int(ends[-1] - ends[0]))
    return whole if len(whole) == lengths.sum() else lists.flatten(), lengths


def _times(column: pa.ChunkedArray, workload: str) -> list[float | None]:
    """Raises TollError for what can be no time."""
    known = np.array([time for time in column.to_pylist() if time is not None], dtype=np.float64)
    if not (np.isfinite(known) & (known >= 0.0) & (known <= _HIGHEST)).all():
        raise TollError(f"a run in the lake holds an impossible time of {_line(workload)}", _DAMAGED)
    found: list[float | None] = column.to_pylist()
    return found


def _machines(table: pa.Table) -> list[LakeMachine]:
    names = ("machine", "host", "cpu", "product", "cpus", "memory_bytes", "kernel")
    known: dict[tuple[Any, ...], LakeMachine] = {}
    found = []
    for values in zip(*(table[name].to_pylist() for name in names), strict=True):
        if values not in known:
            known[values] = machine_of(dict(zip(names, values, strict=True)))
        found.append(known[values])
    return found


def _cases(table: pa.Table, workload: str) -> list[tuple[Key, LakeCase]]:
    known: dict[Key, LakeCase] = {}
    found = []
    names = ("contender", "environment", "work")
    for texts in zip(*(table[name].to_pylist() for name in names), strict=True):
        key: Key = tuple(text or "" for text in texts)  # type: ignore[assignment]
        if key not in known:
            known[key] = LakeCase(
                workload=_line(workload),
                contender=_line(key[0]),
                environment=_line(key[1]),
                parameters=checked_parameters(key[2], workload),
            )
        found.append((key, known[key]))
    return found


_Values = tuple[NDArray[np.int64], Floats, NDArray[np.int64]]  # rounds, values and layouts of all rows


def _values(table: pa.Table, workload: str) -> tuple[_Values, NDArray[np.int64]]:
    """And where each row's end. Raises TollError for what cannot be."""
    flat, ends = {}, {}
    for name in ("rounds", "log_ns"):
        column = table[name].combine_chunks()
        flat[name], lengths = _flat(column)
        ends[name] = np.cumsum(lengths, dtype=np.int64)
    rounds, logs = flat["rounds"], flat["log_ns"]
    sound = rounds.null_count == logs.null_count == 0 and np.array_equal(ends["rounds"], ends["log_ns"])
    numbers, values = _numbers(rounds).astype(np.int64), _numbers(logs)
    if sound:
        ascending = np.diff(numbers) > 0
        inside = ends["rounds"][(ends["rounds"] > 0) & (ends["rounds"] < numbers.size)]
        ascending[inside - 1] = True  # from one row to the next
        sound = bool(ascending.all() and np.isfinite(values).all() and (np.abs(values) < _HIGHEST_LOG).all())
    if not sound:
        raise TollError(f"a run in the lake holds impossible values of {_line(workload)}", _DAMAGED)
    return (numbers, values, _layouts(table, ends["rounds"])), ends["rounds"]


def _layouts(table: pa.Table, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 where a row does not tell one for each round, as those of before layouts do."""
    flat, lengths = _flat(table["layouts"].combine_chunks())
    told = np.diff(ends, prepend=0) == lengths
    if flat.null_count or not told.any():
        return np.zeros(int(ends[-1]) if ends.size else 0, dtype=np.int64)
    found = np.zeros(int(ends[-1]), dtype=np.int64)
    values = _numbers(flat).astype(np.int64)
    found[np.repeat(told, np.diff(ends, prepend=0))] = values[np.repeat(told, lengths)]
    return found


@lru_cache(maxsize=65536)  # most rows say the same
def _line(text: str | None) -> str:
    return clean((text or "")[:MOST_TEXT])


def checked_parameters(text: str | None, of: str) -> dict[str, int | str]:
    """From their JSON. Raises TollError for anything but names with whole numbers or texts."""
    try:
        told = json.loads(text) if text is not None and len(text) <= MOST_TEXT else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or any(
        isinstance(v, bool) or not isinstance(v, int | str) for v in told.values()
    ):
        raise TollError(f"a case of {_line(of)} in the lake has impossible parameters", _DAMAGED)
    return {_line(name): _line(value) if isinstance(value, str) else value for name, value in told.items()}


def machine_of(row: Mapping[str, Any]) -> LakeMachine:
    """From a row of a table that names it."""
    return LakeMachine(
        **{name: _line(row.get(name)) for name in ("machine", "host", "cpu", "product", "kernel")},
        cpus=_whole(row.get("cpus")),
        memory_bytes=_whole(row.get("memory_bytes")),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _by_key(rows: Sequence[LakeRow]) -> dict[Key, LakeRow]:
    """A row of each case, in the unit that most rows have."""
    units = Counter((row.unit, row.per) for row in rows)
    return {row.key: row for row in sorted(rows, key=lambda row: units[row.unit, row.per])}


def chosen_case(rows: Sequence[LakeRow], asked: Asked) -> LakeRow:
    """A row of the one case that was asked for. Raises TollError where there is none, or several."""
    there = _by_key(rows)
    if not there:
        raise TollError(f"the lake has no workload {asked.workload}", "what it has: toll lake runs")
    named = {key: row for key, row in there.items() if row.case.contender == asked.contender}
    if not named:
        names = sorted({row.case.contender for row in there.values()})
        raise TollError(
            f"the lake has no contender {asked.contender} of {asked.workload}",
            f"there are: {', '.join(names[:40])}",
        )
    fitting = {
        key: row
        for key, row in named.items()
        if row.case.environment == asked.environment and asked.matches(row.case.parameters)
    }
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    cases = [row.case for row in (fitting or named).values()]
    offered = options([{"": case.environment, **case.parameters} for case in cases])
    what = "several rows" if fitting else "no such row"
    raise TollError(
        f"{asked.workload}/{asked.contender}: the lake has {what}",
        f"choose one: {'; '.join(offered[:12])}",
    )


@dataclass(frozen=True, slots=True)
class StoredIdentity:
    """What identifies a case, as the tables of several runs ask for it."""

    contender: str
    environment: str
    parameters: Mapping[str, int | str]
    footing: Mapping[str, Any]


def in_one_unit(rows: Sequence[LakeRow], like: LakeRow, notes: list[str]) -> list[LakeRow]:
    """Those measured in the unit of `like`, for the same unit of work; `notes` is told of others."""
    kept = [row for row in rows if (row.unit, row.per) == (like.unit, like.per)]
    if len(kept) < len(rows):
        others = f"{len(rows) - len(kept)} rows that are not in {like.unit} per {like.per} are left out"
        notes.append(f"{others}: another version of the workload measured them")
    return kept


def options(rows: Sequence[Mapping[str, int | str]]) -> list[str]:
    """What to type for each of the cases; of several what tells them apart, of one all of it.

    Of each its parameters, and by the name "" its environment.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    differing = [name for name in names if len({row.get(name) for row in rows}) > 1]
    told = [
        " ".join(
            option(name, row) if name else f"--environment {shlex.quote(str(row[name]))}"
            for name in (differing or names)
        )
        for row in rows
    ]
    return sorted(set(told))


def option(name: str, parameters: Mapping[str, int | str]) -> str:
    """What to type for the parameter as a case has it, or for its having none: `-p threads=`."""
    value = parameters.get(name, "")
    return f"-p {shlex.quote(f'{name}={value}')}"


def utc(instant: datetime) -> str:
    """ISO 8601, to the second."""
    return f"{instant.isoformat(timespec='seconds')}+00:00"
