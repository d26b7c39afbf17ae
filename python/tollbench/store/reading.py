"""Typed queries on a run file; each value is checked as it is read, as the file may come from a stranger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from math import inf
from typing import Any, TypeVar

from tollbench.store.records import CaseRecord, Launch, RunHeader, WorkloadRecord
from tollbench.store.sample_reading import SampleReader
from tollbench.store.untrusted import MAX_ROUND, MAX_TEXT, CheckedRow, has_table
from tollbench.words import (
    Allocations,
    Batch,
    DeclaredDetail,
    Environment,
    Kind,
    ParameterValue,
    Published,
    Purpose,
    Status,
)

_LAUNCH_COLUMNS = (
    "id", "case_id", "purpose", "round", "position", "seed", "status", "reason", "started_utc", "started_ns",
    "wall_ns", "setup_ns", "overhead_ns", "steal_ns", "pressure_ns", "clock", "footing",
)  # fmt: skip
_MEASURED = Batch._fields[: Batch._fields.index("checksum")]  # what a batch's row has as the batch has it
_BATCH_COLUMNS = ("id", "launch_id", *_MEASURED, "warmup", "counters")
_CASE_COLUMNS = (
    "id", "workload", "environment", "contender", "parameters", "kind", "unit", "per", "language", "library",
    "library_version", "footing", "answer", "iterations", "status", "reason",
)  # fmt: skip
MAX_DETAIL = 1e18
_NOTHING: Mapping[str, float] = {}
# How a column is read, by the type of the record's field, as it is written there.
_BY_TYPE: Mapping[object, Callable[[CheckedRow, str], Any]] = {
    "int": CheckedRow.integer,
    "int | None": CheckedRow.optional_integer,
    "float": CheckedRow.number,
    "str": CheckedRow.text,
    "str | None": CheckedRow.optional_text,
    "bool": lambda row, name: bool(row.integer(name)),
    "Mapping[str, Any]": CheckedRow.json_object,
    "Kind": lambda row, name: row.choice(name, Kind),
    "Purpose": lambda row, name: row.choice(name, Purpose),
    "Status": lambda row, name: row.choice(name, Status),
}


def _types(kind: type) -> dict[str, str]:
    """The type of each field, as it is written at the record."""
    return {name: str(getattr(told, "__forward_arg__", told)) for name, told in kind.__annotations__.items()}


R = TypeVar("R", RunHeader, WorkloadRecord, CaseRecord, Launch, Batch)
# The fields of each record that a column holds, and how it is read.
_READERS: Mapping[type, Sequence[tuple[str, Callable[[CheckedRow, str], Any]]]] = {
    kind: [(name, _BY_TYPE[told]) for name, told in _types(kind).items() if told in _BY_TYPE]
    for kind in (RunHeader, WorkloadRecord, CaseRecord, Launch, Batch)
}
_RUN_COLUMNS = tuple(field.name for field in fields(RunHeader))


class Reader(SampleReader):
    """The reading half of a run file."""

    def header(self) -> RunHeader:
        """The run: what was asked, where and when."""
        (row,) = self._rows("run", _RUN_COLUMNS, f"SELECT {', '.join(_RUN_COLUMNS)} FROM run")
        return _record(row, RunHeader)

    def looks(self) -> int:
        """How often the run was gone on with after launches of it could be read.

        0 for files before version 6, which did not note it.
        """
        return sum(
            row.integer("looks") for row in self._rows("look", ("looks",), "SELECT count(*) FROM look")
        )

    def workloads(self) -> tuple[WorkloadRecord, ...]:
        """Every workload of the run, in the order of the plan."""
        columns = ("id", "name", "question", "kind", "unit", "per", "published")
        rows = self._rows("workload", columns, f"SELECT {', '.join(columns)} FROM workload ORDER BY id")
        return tuple(
            _record(row, WorkloadRecord, published=_published(row), details=self._details(row.integer("id")))
            for row in rows
        )

    def _details(self, workload_id: int) -> tuple[DeclaredDetail, ...]:
        columns = ("name", "title", "unit", "meaning")
        query = f"SELECT {', '.join(columns)} FROM detail WHERE workload_id = ? ORDER BY rowid"
        rows = self._rows("detail", columns, query, (workload_id,))
        return tuple(DeclaredDetail(**{name: row.text(name) for name in columns}) for row in rows)

    def environments(self) -> tuple[Environment, ...]:
        """Where the programs were built and ran."""
        columns = ("name", "compiler", "compiler_version", "standard_library", "flags", "allocator")
        rows = self._rows("environment", columns, f"SELECT {', '.join(columns)} FROM environment ORDER BY id")
        found: list[dict[str, Any]] = [{name: row.text(name) for name in columns} for row in rows]
        return tuple(Environment(**each) for each in found)

    def cases(self, workload: str | None = None, most: int | None = None) -> tuple[CaseRecord, ...]:
        """Every case in the order of the plan, or those of one workload (its name).

        With `most`, that many of the whole run at most: those that were launched before all others.
        """
        query = """
            SELECT c.id, w.name, e.name, c.contender, c.parameters, w.kind, w.unit, w.per, c.language,
                   c.library, c.library_version, c.footing, c.answer, c.iterations, c.status, c.reason
            FROM "case" c JOIN workload w ON w.id = c.workload_id
                          JOIN environment e ON e.id = c.environment_id
            WHERE (?1 IS NULL OR w.name = ?1) AND (?2 OR c.id IN (SELECT id FROM "case" ORDER BY
                NOT EXISTS (SELECT 1 FROM launch l WHERE l.case_id = "case".id), id LIMIT ?3))
            ORDER BY c.id"""
        everything = most is None or self.case_count() <= most
        return tuple(
            _record(row, CaseRecord, parameters=_parameters(row), answer=row.decimal("answer"))
            for row in self._rows("case", _CASE_COLUMNS, query, (workload, everything, most or 0))
        )

    def case_count(self) -> int:
        """How many cases were planned."""
        ((count,),) = self._iterate('SELECT count(*) FROM "case"', ())
        return int(count)

    def launches(
        self, case_id: int, purpose: Purpose = Purpose.MEASURE, *, ok_only: bool = False
    ) -> tuple[Launch, ...]:
        """The launches of a case in the order of rounds, each with its batches; failed ones have none."""
        if self._lies_still and case_id not in self._launched:
            return ()
        where = "l.case_id = ? AND l.purpose = ?" + (" AND l.status = 'ok'" if ok_only else "")
        return self._launches(where, (case_id, str(purpose)), "l.round, l.position, l.id")

    def launches_by_purpose(self, case_id: int) -> Mapping[Purpose, Sequence[Launch]]:
        """All launches of a case, of each purpose as `launches` has them, asked for at once."""
        found: dict[Purpose, list[Launch]] = {purpose: [] for purpose in Purpose}
        if self._lies_still and case_id not in self._launched:
            return found
        for launch in self._launches("l.case_id = ?", (case_id,), "l.round, l.position, l.id"):
            found[launch.purpose].append(launch)
        return found

    @cached_property
    def _launched(self) -> set[Any]:
        """Which cases have launches: most of many thousand planned ones may have none."""
        return {case_id for (case_id,) in self._iterate("SELECT DISTINCT case_id FROM launch", ())}

    def canary(self) -> tuple[Launch, ...]:
        """The canary's launches in the order of time."""
        return self._launches("l.purpose = ?", (str(Purpose.CANARY),), "l.id")

    def all_launches(self) -> tuple[Launch, ...]:
        """Every launch of the run in the order in which it was stored, with its batches."""
        return self._launches("1 = ?", (1,), "l.id")

    def launch_count(self, purpose: Purpose | None = None) -> int:
        """How many launches are stored."""
        query = "SELECT count(*) FROM launch WHERE ?1 IS NULL OR purpose = ?1"
        ((count,),) = self._iterate(query, (purpose and str(purpose),))
        return int(count)

    def allocations(self, case_id: int) -> Allocations | None:
        """What the counting pass of a case saw; None where it has not succeeded."""
        found = self._launches(
            "l.case_id = ? AND l.purpose = ? AND l.status = 'ok'", (case_id, str(Purpose.ALLOCATIONS)), "l.id"
        )
        return found[-1].allocations if found else None

    def _launches(self, where: str, arguments: tuple[Any, ...], order: str) -> tuple[Launch, ...]:
        names = ", ".join(f"l.{name}" for name in _LAUNCH_COLUMNS)
        query = f'SELECT {names}, c.answer FROM launch l LEFT JOIN "case" c ON c.id = l.case_id'
        rows = self._rows(
            "launch", (*_LAUNCH_COLUMNS, "answer"), f"{query} WHERE {where} ORDER BY {order}", arguments
        )
        answers = {row.integer("id"): _answer(row) for row in rows}
        batches: dict[int, list[Batch]] = defaultdict(list)
        details = self._batch_details(where, arguments)
        counters: _Counters = {"{}": _NOTHING}  # texts that were found sound: as a rule all batches have one
        # One at a time: there may be millions.
        for values in self._iterate(self._batch_query(where), arguments):
            number, text = values[1], values[-3]
            batch = _usual_batch(values, answers.get(number, 0), details, counters)
            if batch is None:
                row = CheckedRow(self.path, "batch", _BATCH_COLUMNS, values[:-2])
                gauge = CheckedRow(self.path, "gauge", ("ns",), values[-2:-1])
                census = CheckedRow(self.path, "census", ("others",), values[-1:])
                number = row.integer("launch_id")
                batch = _batch(row, gauge, census, answers.get(number, 0), details)
                if len(counters) < _MOST_COUNTERS and len(text) < _LONGEST_COUNTERS:
                    counters[text] = batch.counters
            batches[number].append(batch)
        counted, companies = self._allocations(where, arguments), self._companies(where, arguments)
        return tuple(
            _launch(
                row,
                tuple(batches.pop(row.integer("id"), ())),
                allocations=counted.get(row.integer("id")),
                company=companies.get(row.integer("id"), 0),
            )
            for row in rows
        )

    def _batch_query(self, where: str) -> str:
        """_BATCH_COLUMNS, the gauge in ns where the batch's program told one, and the tasks
        that were in its way where a census was taken."""
        names = ", ".join(f"b.{name}" for name in _BATCH_COLUMNS)
        gauge, others, joined = "NULL", "NULL", ""
        if has_table("gauge", self._version):
            gauge, joined = "g.ns", "LEFT JOIN gauge g ON g.batch_id = b.id"
        if has_table("census", self._version):
            others, joined = "s.others", f"{joined} LEFT JOIN census s ON s.batch_id = b.id"
        return f"""SELECT {names}, {gauge}, {others} FROM batch b
            JOIN launch l ON l.id = b.launch_id {joined} WHERE {where} ORDER BY b.launch_id, b.ordinal"""

    def _companies(self, where: str, arguments: tuple[Any, ...]) -> dict[int, int]:
        columns = ("launch_id", "first_id")
        query = f"""SELECT y.launch_id, y.first_id FROM company y JOIN launch l ON l.id = y.launch_id
            WHERE {where}"""
        rows = self._rows("company", columns, query, arguments)
        return {row.integer("launch_id"): row.integer("first_id", low=1) for row in rows}

    def _batch_details(self, where: str, arguments: tuple[Any, ...]) -> _Details:
        """There may be millions: the usual row is looked at in one expression, any other by all the rules."""
        query = f"""SELECT d.batch_id, d.name, d.value FROM launch l JOIN batch b ON b.launch_id = l.id
            JOIN batch_detail d ON d.batch_id = b.id WHERE {where} ORDER BY d.batch_id, d.name"""
        found: dict[int, dict[str, float]] = defaultdict(dict)
        for values in self._iterate(query, arguments) if has_table("batch_detail", self._version) else ():
            number, name, value = values
            if not (
                (type(number), type(name), type(value)) == (int, str, float)
                and number >= 0
                and len(name) <= MAX_TEXT
                and -MAX_DETAIL <= value <= MAX_DETAIL
            ):
                row = CheckedRow(self.path, "batch_detail", ("batch_id", "name", "value"), values)
                number, name = row.integer("batch_id"), row.text("name")
                value = row.number("value", -MAX_DETAIL, MAX_DETAIL)
            found[number][name] = value
        return found

    def _allocations(self, where: str, arguments: tuple[Any, ...]) -> dict[int, Allocations]:
        columns = ("launch_id", "iterations", "units", "calls", "bytes", "peak_bytes")
        names = ", ".join(f"a.{name}" for name in columns)
        query = f"SELECT {names} FROM allocation a JOIN launch l ON l.id = a.launch_id WHERE {where}"
        return {
            row.integer("launch_id"): Allocations(**{name: row.integer(name) for name in columns[1:]})
            for row in self._rows("allocation", columns, query, arguments)
        }


def _record(row: CheckedRow, kind: type[R], **known: Any) -> R:
    """What a row holds, each column read by the type of the field that it fills; `known` ones are not."""
    columns = {name: read(row, name) for name, read in _READERS[kind] if name not in known}
    return kind(**columns, **known)


def _parameters(row: CheckedRow) -> dict[str, ParameterValue]:
    parameters = row.json_object("parameters")
    for value in parameters.values():
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise row.fail("parameters", "holds a value that is neither a whole number nor text")
    return parameters


def _published(row: CheckedRow) -> tuple[Published, ...]:
    items = row.json("published")
    if not isinstance(items, list):
        raise row.fail("published", "is not a JSON array")
    return tuple(_published_value(row, item) for item in items)


def _published_value(row: CheckedRow, item: Any) -> Published:
    kinds: dict[str, type | tuple[type, ...]] = {"low": (int, float), "high": (int, float), "year": int}
    if not isinstance(item, dict):
        raise row.fail("published", "holds an entry that is not a JSON object")
    values = {field.name: item.get(field.name, field.default) for field in fields(Published)}
    for field in fields(Published):
        value = values[field.name]
        if isinstance(value, bool) or not isinstance(value, kinds.get(field.name, str)):
            raise row.fail("published", f"holds an entry whose {field.name} is missing or of the wrong type")
    return Published(**values)


def _launch(
    row: CheckedRow,
    batches: tuple[Batch, ...],
    *,
    allocations: Allocations | None,
    company: int,
) -> Launch:
    if (number := row.integer("round")) > MAX_ROUND:
        raise row.fail("round", f"is more than {MAX_ROUND}")
    return _record(row, Launch, round=number, batches=batches, allocations=allocations, company=company)


def _answer(row: CheckedRow) -> int:
    return row.decimal("answer") if row.optional_text("answer") is not None else 0


_Counters = dict[str, Mapping[str, Any]]  # what the text of a batch's counters says
_MOST_COUNTERS = 64
_LONGEST_COUNTERS = 1000  # letters of one of them


_Details = Mapping[int, Mapping[str, float]]  # by the batch's id


# Of _BATCH_COLUMNS, the gauge, which a program tells or does not, and the others that its census found.
_MEASURED_TYPES = (int, int, int, int, float, float, int, int, int, int, int, int, str)
_USUAL_TYPES = {
    (*_MEASURED_TYPES, gauge, others) for gauge in (float, type(None)) for others in (int, type(None))
}


def _usual_batch(
    values: tuple[Any, ...], answer: int, details: _Details, counters: _Counters
) -> Batch | None:
    """What `_batch` makes of a row that is as toll writes it, in a fifth of the time; None for any other."""
    types = tuple(map(type, values))
    if types not in _USUAL_TYPES:
        return None
    number, launch, *measured, warmup, text, gauge, others = values
    iterations, units, wall_ns, cpu_ns, *used = measured
    gauge_ns = gauge or 0.0
    if (
        text not in counters
        or min(number, launch, warmup, others or 0, *used) < 0
        or min(iterations, units) < 1
        or not (0 <= wall_ns < inf and 0 <= cpu_ns < inf and 0 <= gauge_ns <= MAX_DETAIL)
    ):
        return None
    checksum = answer * iterations % 2**64
    cells = ()  # read with the samples
    told = details.get(number, _NOTHING)
    return Batch._make((*measured, checksum, bool(warmup), counters[text], told, gauge_ns, cells, others))


def _batch(row: CheckedRow, gauge: CheckedRow, census: CheckedRow, answer: int, details: _Details) -> Batch:
    """The checksum was found right when it was measured, so it is the answer times the iterations."""
    iterations = row.integer("iterations", low=1)
    return _record(
        row,
        Batch,
        iterations=iterations,
        units=row.integer("units", low=1),
        checksum=answer * iterations % 2**64,
        details=details.get(row.integer("id"), {}),
        gauge_ns=gauge.optional_number("ns", 0.0, MAX_DETAIL) or 0.0,
        cells=(),  # read with the samples
        others=census.optional_integer("others"),
    )
