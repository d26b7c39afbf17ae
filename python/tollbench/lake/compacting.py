"""Many small files become few: all when somebody asks for it, those that questions read by themselves.

Readers see either: which files count stands in one manifest, which is replaced as a whole once all new files
lie there. Only then are the old ones removed. Runs that can still grow keep files of their own.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from tollbench.errors import TollError
from tollbench.lake.lake_folder import ALL, COMPACTING, MANIFEST, LakeFile, LakeFolder, Manifest, telling
from tollbench.lake.lake_schema import BRIEF, MARKER, TABLES, VERSION, columns_in, schema_of
from tollbench.text import shown
from tollbench.writing import alone, write_own
from tollbench.writing.whole import whole

_HELD_BYTES: Final = 96 << 20  # in memory at once: it bounds what compacting takes
_ORDER: Final = ("workload", "contender", "environment", "parameters", "machine", "started_utc")
_GROUPS: Final = 32  # row groups of what is held at once
_LEAST_GROUP: Final = 2048  # rows
_LARGE_BYTES: Final = 8 << 20  # of a file that nothing more is put to by itself: somebody waits for it
MOST_LOOSE: Final = 64  # runs with files of their own, of which each costs a question a millisecond
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was done."""

    runs: int  # that lie in compacted files now and did not before
    files_before: int
    files_after: int


def compact(lake: LakeFolder, on_file: Progress = lambda *_: None) -> Compacted:
    """Compacts every month that has runs of files of their own. Raises TollError; then all is as it was.

    `on_file` is told how many files have been read, of how many.
    """
    with telling(lake.root), alone(lake.root / COMPACTING):
        before = lake.manifest()
        _sweep(lake, before)
        # Before the files are looked at that are taken: a run that comes in right now has its claim last. One
        # whose claim was seen behind the listing was taken without the table that came between, and lost it.
        finished = lake.finished(file.name for table in TABLES for file in lake.files(table) if _is_own(file))
        there = {table: lake.files(table) for table in TABLES}
        months = {file.month for file in _own(there) if file.name in finished}
        wanted = {
            table: [
                file
                for file in files
                if file.month in months and (file.machine == ALL or file.name in finished)
            ]
            for table, files in there.items()
        }
        runs = frozenset(file.name for file in _own(wanted))
        merged, names = _merged(lake, before, wanted, on_file)
        after = Manifest(names, before.runs | runs, before.brief - runs)
        _told(lake, after, merged)
        _sweep(lake, after)
        return Compacted(len(runs), sum(map(len, wanted.values())), len(merged))


def tidy(lake: LakeFolder, most: int = MOST_LOOSE, on_file: Progress = lambda *_: None) -> int:
    """Puts what questions read of many runs together, once more than `most` have files of their own.

    Only the small tables, and of what was put together before no more than as much again: so each row is
    written a few times at most, however many runs come. Returns how many runs were put together; 0 too
    where another toll compacts right now. Raises TollError; then all is as it was.
    """
    with telling(lake.root), suppress(BlockingIOError), alone(lake.root / COMPACTING, wait=False):
        there = {table: lake.files(table) for table in BRIEF}  # the marker first: it is written last
        loose = {file.name for file in there[MARKER] if _is_own(file)}
        if len(loose) <= most or len(runs := lake.finished(loose)) <= most:
            return 0
        before = lake.manifest()
        wanted = {table: _as_much_again(files, runs) for table, files in there.items()}
        merged, names = _merged(lake, before, wanted, on_file)
        _told(lake, Manifest(names, before.runs, before.brief | runs), merged)
        for file in (file for files in wanted.values() for file in files):
            _remove(file)
        return len(runs)
    return 0


def _own(files: Mapping[str, Sequence[LakeFile]]) -> Iterator[LakeFile]:
    """Those of one run each."""
    return (file for of_table in files.values() for file in of_table if _is_own(file))


def _is_own(file: LakeFile) -> bool:
    return file.machine != ALL


def _as_much_again(files: Sequence[LakeFile], runs: Collection[str]) -> list[LakeFile]:
    """The files of these runs, and by month those of several that are not larger than twice what joins."""
    found = []
    for of_month in _by_month(files).values():
        own = [file for file in of_month if file.machine != ALL and file.name in runs]
        size = sum(file.path.stat().st_size for file in own)
        together = [file for file in of_month if file.machine == ALL and own]
        for file in sorted(together, key=lambda file: file.path.stat().st_size):
            if file.path.stat().st_size > min(2 * size, _LARGE_BYTES):
                break
            own.append(file)
            size += file.path.stat().st_size
        found += own
    return found


def _merged(
    lake: LakeFolder, before: Manifest, wanted: Mapping[str, Sequence[LakeFile]], on_file: Progress
) -> tuple[list[Path], dict[str, frozenset[str]]]:
    """(New files, the names that count afterwards in each table); after an error none of them is left."""
    total, done = sum(map(len, wanted.values())), 0
    fresh: list[Path] = []
    names = dict(before.files)
    try:
        for table, files in wanted.items():
            kept = names.get(table, frozenset()) - {file.name for file in files}
            for month, of_month in _by_month(files).items():
                name = f"compacted-{secrets.token_hex(8)}"
                path = lake.place(table, ALL, month, name)
                fresh.append(path)
                _merge(lake, table, of_month, path)
                kept |= {name}
                done += len(of_month)
                on_file(done, total)
            names[table] = kept
    except BaseException:
        _unlink(fresh)
        raise
    return fresh, names


def _told(lake: LakeFolder, after: Manifest, fresh: Sequence[Path]) -> None:
    """From now on readers see the new files."""
    try:
        write_own(lake.root / MANIFEST, _text(after))
    except BaseException:
        _unlink(fresh)
        raise


def _unlink(paths: Sequence[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _by_month(files: Sequence[LakeFile]) -> dict[str, list[LakeFile]]:
    found: dict[str, list[LakeFile]] = defaultdict(list)
    for file in files:
        found[file.month].append(file)
    return found


def _merge(lake: LakeFolder, table: str, files: Sequence[LakeFile], target: Path) -> None:
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
            for piece in _pieces(lake, table, file):
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


def _pieces(lake: LakeFolder, table: str, file: LakeFile) -> Iterator[pa.Table]:
    """The file's row groups with the columns of today, one at a time: all of a month's may be gigabytes.

    Raises TollError where it is not what toll writes.
    """
    schema = schema_of(table)
    names = columns_in(table, file.version)
    try:
        with pyarrow.parquet.ParquetFile(file.path) as opened:
            for number in range(opened.num_row_groups):
                read = opened.read_row_group(number)
                columns = [
                    pa.nulls(read.num_rows, field.type)
                    if (older := names[field.name]) is None
                    else read[older].cast(field.type)
                    for field in schema
                ]
                yield pa.Table.from_arrays(columns, schema=schema)
    except (pa.ArrowException, KeyError) as error:
        raise TollError(
            f"{lake.name_of(file.path)} is not what toll writes: {shown(str(error).splitlines()[0], 200)}",
            "take the file out of the lake, and add its run again; nothing was compacted",
        ) from None


def _sweep(lake: LakeFolder, manifest: Manifest) -> None:
    """Removes what the manifest has replaced: also what a compaction left that was killed behind it."""
    for table in TABLES:
        for file in lake.everything(table):
            if not manifest.counts(table, file.machine, file.name):
                _remove(file)


def _remove(file: LakeFile) -> None:
    with suppress(OSError):
        file.path.unlink()
    for folder in (file.path.parent, file.path.parent.parent):
        with suppress(OSError):  # where nothing else is in it
            folder.rmdir()


def _text(manifest: Manifest) -> str:
    files = {table: sorted(names) for table, names in manifest.files.items()}
    runs = {"runs": sorted(manifest.runs), "brief": sorted(manifest.brief)}
    # An identity, so that in object storage each manifest has another tag than the one before.
    return json.dumps({"schema": VERSION, "id": secrets.token_hex(8), "files": files, **runs}) + "\n"
