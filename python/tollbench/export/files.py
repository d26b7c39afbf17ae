"""Writes a run's tables: a folder of Parquet or CSV files, or one JSON document. Streams throughout.

All files of a folder are written beside those of an older export, and take their places together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tollbench.analysis.units import checked_json
from tollbench.export.tables import TABLES, Table
from tollbench.store import RunFile
from tollbench.words import Kind, Purpose
from tollbench.writing import Mark, Output
from tollbench.writing.marks import PARQUET_KEY, csv_of, parquet_of

# A spreadsheet runs a cell that starts like this, behind blanks and in the wide forms too, and a terminal
# what is not seen; names in a run file may come from strangers.
FORMULA = "^( *[=+@\\-\t\r＝＋－＠])"
UNSEEN = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\x{2028}\x{2029}]"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One table that was written, and where."""

    table: str
    path: Path
    rows: int


OnBatch = Callable[[str], None]  # told the table's name after each record batch


def record_batches(run_file: RunFile) -> int:
    """How many record batches the writers here go through: what `on_batch` counts."""
    cases = run_file.cases()
    sampled = sum(
        len(run_file.launches(case.id, Purpose.MEASURE, ok_only=True))
        for case in cases
        if case.kind is Kind.SAMPLES
    )
    return 2 + 2 * len(cases) + sampled  # cases, the canary; launches and batches of each case; samples


def table_outputs(folder: Path, form: str, *, force: bool = False) -> list[Output]:
    """The files that `parquet` or `csv` (which `form` names) writes in `folder`: one of each table."""
    marks = {"parquet": _parquet_mark, "csv": _csv_mark}
    return [Output(folder / f"{table.name}.{form}", marks[form](table), force=force) for table in TABLES]


def _parquet_mark(table: Table) -> Mark:
    return parquet_of(table.name)


def _csv_mark(table: Table) -> Mark:
    return csv_of(table.name, table.schema.names)


def parquet(
    run_file: RunFile, outputs: Sequence[Output], on_batch: OnBatch = lambda _: None
) -> list[WrittenFile]:
    """One file a table, as `table_outputs` has them; their folder must exist. Raises TollError."""
    written = []
    with ExitStack() as stack:
        for table, output in zip(TABLES, outputs, strict=True):
            schema = table.schema.with_metadata({PARQUET_KEY: table.name})
            file = stack.enter_context(output.opened())
            with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
                rows = 0
                for batch in table.stream(run_file):
                    writer.write_batch(batch)
                    rows += batch.num_rows
                    on_batch(table.name)
            written.append(WrittenFile(table.name, output.path, rows))
    return written


def csv(
    run_file: RunFile, outputs: Sequence[Output], on_batch: OnBatch = lambda _: None
) -> list[WrittenFile]:
    """One file a table, as `table_outputs` has them; their folder must exist. Raises TollError."""
    written = []
    with ExitStack() as stack:
        for table, output in zip(TABLES, outputs, strict=True):
            schema = pa.schema([pa.field(field.name, _plain(field.type)) for field in table.schema])
            file = stack.enter_context(output.opened())
            with pyarrow.csv.CSVWriter(file, schema) as writer:
                rows = 0
                for batch in table.stream(run_file):
                    writer.write_batch(_for_spreadsheets(batch, schema))
                    rows += batch.num_rows
                    on_batch(table.name)
            written.append(WrittenFile(table.name, output.path, rows))
    return written


def json_document(
    run_file: RunFile, file: BinaryIO, path: Path, on_batch: OnBatch = lambda _: None
) -> list[WrittenFile]:
    """Writes one object {"run", "cases", "launches", "batches", "samples"} to `file`, which lies at `path`.

    `toll_export`, its first field, says that toll made it.

    Each table is an array of objects. Samples are an array of {case, launch, round, nanoseconds: [...]}, one
    entry a launch.
    """

    def put(text: str) -> None:
        file.write(text.encode())

    run = checked_json(asdict(run_file.header()), "the run's description")
    written = []
    put('{"toll_export": 1, "run": ' + json.dumps(run, default=str))
    for table in TABLES:
        put(f',\n"{table.name}": [')
        separator, rows = "\n", 0
        for batch in table.stream(run_file):
            for line in _lines(table.name, batch):
                put(separator + line)
                separator = ",\n"
            rows += batch.num_rows
            on_batch(table.name)
        put("]")
        written.append(WrittenFile(table.name, path, rows))
    put("}\n")
    return written


def _lines(name: str, batch: pa.RecordBatch) -> Iterator[str]:
    return _launch_of_samples(batch) if name == "samples" else map(json.dumps, batch.to_pylist())


def _launch_of_samples(batch: pa.RecordBatch) -> Iterator[str]:
    """One record batch holds the samples of exactly one launch."""
    first = batch.slice(0, 1).drop_columns(["ordinal", "nanoseconds"]).to_pylist()[0]
    yield json.dumps(first | {"nanoseconds": batch.column("nanoseconds").to_pylist()})


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _for_spreadsheets(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field, column in zip(schema, batch.columns, strict=True):
        plain = column.cast(field.type)
        if pa.types.is_string(field.type):
            plain = pa.compute.replace_substring_regex(plain, pattern=UNSEEN, replacement="\ufffd")
            plain = pa.compute.replace_substring_regex(plain, pattern=FORMULA, replacement="'\\1")
        columns.append(plain)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
