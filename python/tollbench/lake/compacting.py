"""Many small files become one a table and month, when somebody asks for it.

Readers see either: which files count stands in one manifest, which is replaced as a whole once all new files
lie there. Only then are the old ones removed. Runs that can still grow keep files of their own.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from tollbench.errors import TollError
from tollbench.lake.lake_folder import ALL, MANIFEST, LakeFile, LakeFolder, Manifest, telling
from tollbench.lake.lake_schema import MARKER, TABLES, VERSION, columns_in, schema_of
from tollbench.text import shown
from tollbench.writing import alone, write_own
from tollbench.writing.whole import whole

_HELD_BYTES: Final = 96 << 20  # in memory at once: it bounds what compacting takes
_ORDER: Final = ("workload", "contender", "environment", "parameters", "machine", "started_utc")
_GROUPS: Final = 32  # row groups of what is held at once
_LEAST_GROUP: Final = 2048  # rows
_LOCK: Final = "compacting.lock"


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was done."""

    runs: int  # that lie in compacted files now and did not before
    files_before: int
    files_after: int


def compact(lake: LakeFolder, on_file: Callable[[int, int], None] = lambda *_: None) -> Compacted:
    """Compacts every month that has runs of files of their own. Raises TollError; then all is as it was.

    `on_file` is told how many files have been read, of how many.
    """
    with telling(lake.root), alone(lake.root / _LOCK):
        before = lake.manifest()
        _sweep(lake, before)
        finished = lake.finished()
        months = {file.month for file in lake.files(MARKER) if file.machine != ALL and file.name in finished}
        wanted = {
            table: [
                file
                for file in lake.files(table)
                if file.month in months and (file.machine == ALL or file.name in finished)
            ]
            for table in TABLES
        }
        runs = {file.name for files in wanted.values() for file in files if file.machine != ALL}
        total, done = sum(map(len, wanted.values())), 0
        fresh: list[Path] = []
        names: dict[str, frozenset[str]] = {}
        try:
            for table, files in wanted.items():
                kept = {
                    file.name
                    for file in lake.files(table)
                    if file.machine == ALL and file.month not in months
                }
                for month, of_month in _by_month(files).items():
                    name = f"compacted-{secrets.token_hex(8)}"
                    path = lake.place(table, ALL, month, name)
                    fresh.append(path)
                    _merge(table, of_month, path)
                    kept.add(name)
                    done += len(of_month)
                    on_file(done, total)
                names[table] = frozenset(kept)
            after = Manifest(names, before.runs | runs)
            write_own(lake.root / MANIFEST, _text(after))
        except BaseException:
            for path in fresh:
                with suppress(OSError):
                    path.unlink()
            raise
        _sweep(lake, after)
        return Compacted(len(runs), total, len(fresh))


def _by_month(files: Sequence[LakeFile]) -> dict[str, list[LakeFile]]:
    found: dict[str, list[LakeFile]] = defaultdict(list)
    for file in files:
        found[file.month].append(file)
    return found


def _merge(table: str, files: Sequence[LakeFile], target: Path) -> None:
    """One file of all these: a few row groups, read and written piece by piece."""
    target.parent.mkdir(parents=True, exist_ok=True)
    schema = schema_of(table)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": texts, "store_schema": False}
    with (
        whole(target, lambda *_: None, of_user=False) as sink,
        pyarrow.parquet.ParquetWriter(sink, schema, **options) as writer,
    ):
        held, size = [], 0
        for file in files:
            for piece in _pieces(table, file):
                held.append(piece)
                size += piece.nbytes
                if size >= _HELD_BYTES:
                    _put(held, writer)
                    held, size = [], 0
        if held:
            _put(held, writer)


def _put(held: Sequence[pa.Table], writer: pyarrow.parquet.ParquetWriter) -> None:
    """In the order of workloads: a question about one passes over most row groups by their statistics."""
    together = pa.concat_tables(held)
    order = [(name, "ascending") for name in _ORDER if name in together.column_names]
    together = together.sort_by(order) if order else together
    writer.write_table(together, row_group_size=max(_LEAST_GROUP, together.num_rows // _GROUPS))


def _pieces(table: str, file: LakeFile) -> Sequence[pa.Table]:
    """The file's row groups with the columns of today. Raises TollError where it is not what toll writes."""
    schema = schema_of(table)
    names = columns_in(table, file.version)
    try:
        with pyarrow.parquet.ParquetFile(file.path) as opened:
            found = []
            for number in range(opened.num_row_groups):
                read = opened.read_row_group(number)
                columns = [
                    pa.nulls(read.num_rows, field.type)
                    if (older := names[field.name]) is None
                    else read[older].cast(field.type)
                    for field in schema
                ]
                found.append(pa.Table.from_arrays(columns, schema=schema))
            return found
    except (pa.ArrowException, KeyError) as error:
        raise TollError(
            f"{file.path} is not what toll writes: {shown(str(error).splitlines()[0], 200)}",
            "take the file out of the lake, and add its run again; nothing was compacted",
        ) from None


def _sweep(lake: LakeFolder, manifest: Manifest) -> None:
    """Removes what the manifest has replaced: also what a compaction left that was killed behind it."""
    for table in TABLES:
        for file in lake.everything(table):
            stale = (
                file.name not in manifest.files.get(table, ())
                if file.machine == ALL
                else file.name in manifest.runs
            )
            if stale:
                with suppress(OSError):
                    file.path.unlink()
                for folder in (file.path.parent, file.path.parent.parent):
                    with suppress(OSError):  # where nothing else is in it
                        folder.rmdir()


def _text(manifest: Manifest) -> str:
    files = {table: sorted(names) for table, names in manifest.files.items()}
    return json.dumps({"schema": VERSION, "files": files, "runs": sorted(manifest.runs)}) + "\n"
