"""A run as four flat tables (cases, launches, batches, samples), each a stream of Arrow record batches.

Every row repeats the case's names, so that one file answers a question without a join. Memory is bounded by
one case's launches and one launch's samples, whatever the size of the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tollbench.store import CaseRecord, Launch, RunFile
from tollbench.words import Batch, Purpose, canonical

_CASE = [
    pa.field("workload", pa.string()),
    pa.field("contender", pa.string()),
    pa.field("environment", pa.string()),
    pa.field("parameters", pa.string()),  # canonical JSON
]
_LAUNCH = [pa.field("launch", pa.int64()), pa.field("round", pa.int64())]


def _fields(kind: pa.DataType, *names: str) -> list[pa.Field]:
    return [pa.field(name, kind) for name in names]


CASES = pa.schema(
    [
        *_CASE,
        *_fields(pa.string(), "kind", "unit", "per", "language", "library", "library_version", "footing"),
        *_fields(pa.int64(), "iterations"),
        *_fields(pa.string(), "status", "reason"),
    ]
)
LAUNCHES = pa.schema(
    [
        *_CASE,
        *_LAUNCH,
        *_fields(pa.string(), "purpose"),
        *_fields(pa.int64(), "position", "seed"),
        *_fields(pa.string(), "status", "reason", "started_utc"),
        *_fields(pa.int64(), "started_ns", "wall_ns", "setup_ns", "overhead_ns", "steal_ns", "pressure_ns"),
        *_fields(pa.string(), "clock", "footing"),
    ]
)
BATCHES = pa.schema(
    [
        *_CASE,
        *_LAUNCH,
        *_fields(pa.int64(), "ordinal"),
        *_fields(pa.bool_(), "warmup"),
        *_fields(pa.int64(), "iterations", "units"),
        *_fields(pa.float64(), "wall_ns", "cpu_ns"),
        *_fields(pa.int64(), "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"),
        *_fields(pa.int64(), "peak_bytes"),
        *_fields(pa.string(), "counters", "details"),
    ]
)
SAMPLES = pa.schema(
    [
        *(pa.field(field.name, pa.dictionary(pa.int32(), pa.string())) for field in _CASE),
        *_LAUNCH,
        *_fields(pa.int64(), "ordinal"),
        *_fields(pa.float32(), "nanoseconds"),
    ]
)


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name, its columns, and how to read it from a run file batch by batch."""

    name: str
    schema: pa.Schema
    stream: Callable[[RunFile], Iterator[pa.RecordBatch]]

    def read(self, run_file: RunFile) -> pa.Table:
        """The whole table in memory."""
        return pa.Table.from_batches(self.stream(run_file), self.schema)


def _names(case: CaseRecord) -> dict[str, str]:
    return {
        "workload": case.workload,
        "contender": case.contender,
        "environment": case.environment,
        "parameters": canonical(case.parameters),
    }


def _text(value: Any) -> Any:
    return json.dumps(dict(value), sort_keys=True) if isinstance(value, Mapping) else value


def _batch(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(row) for row in rows], schema=schema)


def _cases(run_file: RunFile) -> Iterator[pa.RecordBatch]:
    names = [name for name in CASES.names if name not in ("parameters",)]
    rows = [_names(case) | {name: _text(getattr(case, name)) for name in names} for case in run_file.cases()]
    yield _batch(rows, CASES)


def launches_of(run_file: RunFile, case: CaseRecord) -> Iterator[Launch]:
    """All of a case's launches, in the order of the table."""
    for purpose in (Purpose.PILOT, Purpose.REHEARSAL, Purpose.MEASURE, Purpose.ALLOCATIONS):
        yield from run_file.launches(case.id, purpose)


def launch_records(case: CaseRecord | None, launches: Sequence[Launch]) -> pa.RecordBatch:
    """Rows of table `launches`. The canary belongs to no case: its names are empty."""
    names = _names(case) if case is not None else dict.fromkeys((field.name for field in _CASE), "")
    known = {"launch": [launch.id for launch in launches]}
    return _columns(names, launches, known, LAUNCHES)


def batch_records(case: CaseRecord, launches: Sequence[Launch]) -> pa.RecordBatch:
    """Rows of table `batches`; of `launches` those count that were made to measure."""
    measured = [launch for launch in launches if launch.purpose is Purpose.MEASURE]
    known = {
        "launch": [launch.id for launch in measured for _ in launch.batches],
        "round": [launch.round for launch in measured for _ in launch.batches],
        "ordinal": [ordinal for launch in measured for ordinal in range(len(launch.batches))],
    }
    batches = [batch for launch in measured for batch in launch.batches]
    return _columns(_names(case), batches, known, BATCHES)


def _columns(
    names: Mapping[str, str],
    records: Sequence[Launch] | Sequence[Batch],
    known: Mapping[str, list[int]],
    schema: pa.Schema,
) -> pa.RecordBatch:
    """By columns: a run has tens of thousands of batches, and a mapping for each takes longer."""
    columns = []
    for field in schema:
        if field.name in names:
            values: list[Any] = [names[field.name]] * len(records)
        elif field.name in known:
            values = known[field.name]
        else:
            values = [getattr(record, field.name) for record in records]
            if values and isinstance(values[0], Mapping):  # most records say the same
                texts = {id(value): _text(value) for value in values}
                values = [texts[id(value)] for value in values]
        columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _launches(run_file: RunFile) -> Iterator[pa.RecordBatch]:
    for case in run_file.cases():
        yield launch_records(case, [*launches_of(run_file, case)])
    yield launch_records(None, run_file.canary())


def _batches(run_file: RunFile) -> Iterator[pa.RecordBatch]:
    for case in run_file.cases():
        yield batch_records(case, run_file.launches(case.id, Purpose.MEASURE))


def _samples(run_file: RunFile) -> Iterator[pa.RecordBatch]:
    for case in run_file.cases():
        names = _names(case)
        for launch in run_file.launches(case.id, Purpose.MEASURE, ok_only=True):
            values = run_file.samples(launch.id)
            if len(values):
                yield _sample_batch(names, launch, values)


def _sample_batch(names: Mapping[str, str], launch: Launch, values: np.ndarray[Any, Any]) -> pa.RecordBatch:
    count = len(values)
    zeros = pa.array(np.zeros(count, np.int32))
    return pa.RecordBatch.from_arrays(
        [
            *(pa.DictionaryArray.from_arrays(zeros, pa.array([names[field.name]])) for field in _CASE),
            pa.array(np.full(count, launch.id, np.int64)),
            pa.array(np.full(count, launch.round, np.int64)),
            pa.array(np.arange(count, dtype=np.int64)),
            pa.array(values),
        ],
        schema=SAMPLES,
    )


TABLES: tuple[Table, ...] = (
    Table("cases", CASES, _cases),
    Table("launches", LAUNCHES, _launches),
    Table("batches", BATCHES, _batches),
    Table("samples", SAMPLES, _samples),
)
