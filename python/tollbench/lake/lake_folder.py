"""A lake as it lies on the disk: which files it has, and how a run comes into it.

    toll-lake.json                                        the folder's format, and the newest schema in it
    TABLE/by_machine=ID/by_month=2026-11/RUN.v1.parquet   one run; v1 is the version of its schema
    TABLE/by_machine=all/by_month=2026-11/compacted-ID.v1.parquet
    runs/RUN.json                                         where the run is: at first that it comes there,
                                                          at last that it has come
    compacted.json                                        compacted files that count, and the runs in them:
                                                          of all tables, or of those that questions read

A file comes under a name of its own, is brought to the disk and then renamed, so that whoever reads sees all
of it or nothing. Nobody waits for anybody: runs have different names. Two who add the same run wait for each
other at its file in runs/.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from tollbench.errors import REFUSALS, TollError
from tollbench.lake.lake_schema import BRIEF, MARKER, TABLES, VERSION
from tollbench.lake.placed_together import place_together
from tollbench.lake.tables_of_run import RUN_ID, LakeRun
from tollbench.text import shown
from tollbench.writing import alone, write_own

FORMAT: Final = 1
HEAD: Final = "toll-lake.json"
RUNS: Final = "runs"
MANIFEST: Final = "compacted.json"
ALL: Final = "all"
SAMPLES: Final = "sample"
COMPACTING: Final = "compacting.lock"
_COMING: Final = "coming"
_MACHINE: Final = re.compile(r"by_machine=(m[0-9a-f]{20}|all)")
_MONTH: Final = re.compile(r"by_month=(\d{4}-\d\d)")
_FILE: Final = re.compile(rf"({RUN_ID.pattern}|compacted-[0-9a-f]{{16}})\.v([1-9]\d{{0,3}})\.parquet")
MOST_JSON_BYTES: Final = 64 << 20
_MAKE: Final = "make one: toll lake add runs/*.toll --lake"


class Added(StrEnum):
    """What became of a run that was to be added."""

    ADDED = "added"
    GROWN = "grown"  # it was there, with fewer launches or without samples: now it stands there as it is
    ALREADY = "already"  # it is there as it is


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One Parquet file of a lake."""

    path: Path
    machine: str  # "all" where it was compacted
    month: str
    name: str  # the run, or the compacted file's own
    version: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which compacted files count: table -> names; and which runs are in them."""

    files: Mapping[str, frozenset[str]]
    runs: frozenset[str]  # of all tables
    brief: frozenset[str]  # of those alone that questions read: `BRIEF`

    def holds(self, table: str, run: str) -> bool:
        """Whether a compacted file of the table has the run."""
        return run in self.runs or (table in BRIEF and run in self.brief)

    def counts(self, table: str, machine: str, name: str) -> bool:
        """Whether a file counts, or another one has its rows by now."""
        if machine == ALL:
            return name in self.files.get(table, ())
        return not self.holds(table, name)


def head_text() -> str:
    """Of the file that makes a folder a lake."""
    return json.dumps({"toll_lake": FORMAT, "schema": VERSION}) + "\n"


def coming_text(run: LakeRun) -> str:
    """Of the claim of a run whose tables are on their way: by it what a kill leaves of them is found."""
    return json.dumps({"machine": run.machine, "month": run.month, _COMING: True}) + "\n"


def write_in_place(claim: Path, text: str) -> None:
    """Under another file of that name nobody would wait for us any more: `alone` holds this one."""
    with claim.open("r+b") as file:
        file.truncate()
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def told_by_key(key: str) -> tuple[str, str, str, str, int] | None:
    """(table, machine, month, name, version) of a file's place in its lake; None where it is no such file."""
    parts = key.split("/")
    if len(parts) != 4 or parts[0] not in TABLES:
        return None
    found = [names.fullmatch(part) for names, part in zip((_MACHINE, _MONTH, _FILE), parts[1:], strict=True)]
    machine, month, file = found
    if machine is None or month is None or file is None:
        return None
    return parts[0], machine[1], month[1], file[1], int(file[2])


class LakeFolder:
    """A folder that holds a lake. `called` is what messages name, where that is not the folder."""

    def __init__(self, root: Path, called: str = "") -> None:
        self.root = root
        self.called = called or str(root)

    def name_of(self, path: Path) -> str:
        """A file of it as messages name it: where the user has the lake, not where a copy of it lies."""
        if self.called == str(self.root) or not path.is_relative_to(self.root):
            return str(path)
        return f"{self.called}/{path.relative_to(self.root).as_posix()}"

    @classmethod
    def open(cls, root: Path, called: str = "") -> LakeFolder:
        """Raises TollError where there is no lake, or one that this toll cannot read."""
        lake = cls(root, called)
        head = lake._read_json(root / HEAD)
        if head is None:
            raise TollError(f"{lake.called} is no lake: it has no {HEAD}", f"{_MAKE} {lake.called}")
        lake._check(head)
        return lake

    @classmethod
    def make(cls, root: Path) -> LakeFolder:
        """The lake at `root`, made where there is none. Raises TollError, also where something else lies."""
        head = root / HEAD
        if head.exists():
            return cls.open(root)
        with telling(root):
            root.mkdir(parents=True, exist_ok=True)
            strangers = sorted(entry.name for entry in root.iterdir() if not entry.name.startswith("."))
            # Another toll may be making it right now.
            strangers = [name for name in strangers if name not in (HEAD, RUNS, *TABLES)]
            if strangers:
                raise TollError(
                    f"{root} is no lake, and {shown(strangers[0], 60)} lies in it",
                    "name an empty or a new folder",
                )
            (root / RUNS).mkdir(exist_ok=True)
            write_own(head, head_text())
        return cls(root)

    def add(self, run: LakeRun) -> Added:
        """Puts a run into the lake. Raises TollError; the lake then is as it was, and the run file anyway."""
        claim = self.root / RUNS / f"{run.run}.json"
        with telling(self.root):
            claim.parent.mkdir(exist_ok=True)
            with alone(claim):
                before = self._claimed(run)
                if before is Added.ALREADY and not self._lacks_samples(run):
                    return before
                if before is not Added.ALREADY:
                    self._write(run, list(run.tables), claim, fresh=before is None)
                    return before or Added.ADDED
                with alone(self.root / COMPACTING):  # compacted while they are written, they would not count
                    self._check_samples(run)
                    self._write(run, [SAMPLES], claim, fresh=False)
                return Added.GROWN

    def files(self, table: str) -> list[LakeFile]:
        """The files of a table that count, sorted. Raises TollError for one of a newer schema.

        A run that an older toll added and this one made grow may have a file of each schema, where that was
        killed between: the newest has it.
        """
        of_run = {
            (file.machine, file.month, file.name): file
            for file in sorted(self._counting(table), key=lambda file: file.version)
        }
        found = list(of_run.values())
        newer = [file for file in found if file.version > VERSION]
        if newer:
            raise _newer(self.name_of(newer[0].path), newer[0].version)
        return sorted(found, key=lambda file: str(file.path))

    def _counting(self, table: str) -> list[LakeFile]:
        """By one manifest: where it was replaced meanwhile, files that it names may be gone already."""
        while True:
            before = self._state_of_manifest()
            manifest = self.manifest()
            found = [file for file in self._listed(table) if manifest.counts(table, file.machine, file.name)]
            if self._state_of_manifest() == before:
                return found

    def _state_of_manifest(self) -> tuple[int, int] | None:
        with suppress(OSError):
            told = (self.root / MANIFEST).stat()
            return told.st_ino, told.st_mtime_ns
        return None

    def manifest(self) -> Manifest:
        """What was compacted. Raises TollError where the file does not say it."""
        path = self.root / MANIFEST
        told = self._read_json(path)
        if told is None:
            return Manifest({}, frozenset(), frozenset())
        try:
            files = {str(table): frozenset(map(str, names)) for table, names in told["files"].items()}
            runs, brief = (frozenset(map(str, told[name])) for name in ("runs", "brief"))
            return Manifest(files, runs, brief)
        except (KeyError, TypeError, AttributeError):
            raise TollError(
                f"{self.name_of(path)} does not say which files were compacted", "restore it from a copy"
            ) from None

    def everything(self, table: str) -> list[LakeFile]:
        """All files of a table, also those that do not count any more."""
        return list(self._listed(table))

    def finished(self, runs: Iterable[str]) -> frozenset[str]:
        """Those that cannot grow any more, as far as runs/ says it."""
        told = {run: self._read_json(self.root / RUNS / f"{run}.json") for run in set(runs)}
        return frozenset(run for run, said in told.items() if said and said.get("finished") is True)

    def left_behind(self, run: str) -> list[str]:
        """Where files may lie of a run that was on its way in when toll was killed; of another host too."""
        told = self._read_json(self.root / RUNS / f"{run}.json")
        if not told or told.get(_COMING) is not True:
            return []
        where = f"by_machine={told.get('machine')}/by_month={told.get('month')}"
        versions = range(1, VERSION + 1)
        keys = (f"{table}/{where}/{run}.v{version}.parquet" for table in TABLES for version in versions)
        return [key for key in keys if (known := told_by_key(key)) is not None and known[1] != ALL]

    def place(self, table: str, machine: str, month: str, name: str) -> Path:
        """Where a file of today's schema lies."""
        return (
            self.root / table / f"by_machine={machine}" / f"by_month={month}" / f"{name}.v{VERSION}.parquet"
        )

    def _claimed(self, run: LakeRun) -> Added | None:
        """Whether the run is there; None where it is not. Raises TollError where another one is."""
        told = self._read_json(self.root / RUNS / f"{run.run}.json")
        if not told or told.get(_COMING) is True:
            return None
        if told.get("machine") != run.machine or told.get("month") != run.month:
            raise TollError(
                f"run {run.run} is in {self.called} already, of machine"
                f" {shown(str(told.get('machine')), 40)}",
                "a run is kept once: give --host as it was given then, '' where it was not",
            )
        launches = told.get("launches")
        if (
            not isinstance(launches, int)
            or launches < run.launches
            or (run.finished and not told.get("finished"))
        ):
            if told.get("finished") is True and self.manifest().holds(MARKER, run.run):
                raise TollError(
                    f"run {run.run} was complete with {shown(str(launches), 20)} launches, and the file has"
                    f" {run.launches}",
                    "a complete run does not grow: ask whoever made the file",
                )
            return Added.GROWN
        if launches > run.launches:
            raise TollError(
                f"run {run.run} is in {self.called} with {launches} launches, and the file has"
                f" {run.launches}",
                "add the newest file of that run",
            )
        return Added.ALREADY

    def _lacks_samples(self, run: LakeRun) -> bool:
        """Whether it was added without the samples that it has. Raises TollError where that is settled."""
        if SAMPLES not in run.tables:
            return False
        if (told := self._read_json(self.root / RUNS / f"{run.run}.json")) and told.get("samples") is True:
            return False
        self._check_samples(run)
        return True

    def _check_samples(self, run: LakeRun) -> None:
        """Raises TollError where the run was compacted without its samples."""
        if run.run in self.manifest().runs:
            raise TollError(
                f"run {run.run} is in {self.called} without its samples, and compacted",
                "what is compacted stays as it is: add the run to another lake, with --samples",
            )

    def _write(self, run: LakeRun, names: Sequence[str], claim: Path, *, fresh: bool) -> None:
        ordered = sorted(names, key=lambda name: name == MARKER)  # questions read it: it comes last
        places = {name: self.place(name, run.machine, run.month, run.run) for name in ordered}
        try:
            if fresh:
                for key in self.left_behind(run.run):
                    (self.root / key).unlink(missing_ok=True)
                write_in_place(claim, coming_text(run))
            place_together([(path, partial(_parquet, run.tables[name])) for name, path in places.items()])
            for older in () if fresh else older_versions(places.values()):
                older.unlink(missing_ok=True)  # else whoever reads the folder as it is sees the run twice
            told = {
                "machine": run.machine,
                "month": run.month,
                "launches": run.launches,
                "finished": run.finished,
                "samples": SAMPLES in run.tables,
            }
            write_own(claim, json.dumps(told) + "\n")
        except BaseException:
            for path in places.values() if fresh else ():
                with suppress(OSError):
                    path.unlink()
            if fresh:
                with suppress(OSError):
                    write_in_place(claim, "")
            raise

    def _listed(self, table: str) -> Iterator[LakeFile]:
        for machine, folder in _below(self.root / table, _MACHINE):
            for month, months in _below(folder, _MONTH):
                with suppress(FileNotFoundError), os.scandir(months) as entries:  # emptied by compacting
                    for entry in entries:
                        match = _FILE.fullmatch(entry.name)
                        if match and entry.is_file(follow_symlinks=False):  # a link may lead anywhere
                            yield LakeFile(Path(entry.path), machine, month, match[1], int(match[2]))

    def _read_json(self, path: Path) -> dict[str, Any] | None:
        """None where there is no such file, or an empty one. Raises TollError for what is no JSON object."""
        try:
            with path.open("rb") as file:
                text = file.read(MOST_JSON_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TollError(
                f"{self.name_of(path)} cannot be read: {error.strerror}", "look at its owner and mode"
            ) from None
        if not text:
            return None
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise TollError(
                f"{self.name_of(path)} is damaged: it is no JSON object", "restore it from a copy"
            )
        return told

    def _check(self, head: Mapping[str, Any]) -> None:
        form, schema = head.get("toll_lake"), head.get("schema")
        if not isinstance(form, int) or not isinstance(schema, int) or form < 1 or schema < 1:
            raise TollError(
                f"{HEAD} of {self.called} does not say that this is a lake", "restore it from a copy"
            )
        if form > FORMAT or schema > VERSION:
            raise _newer(self.called, max(form, schema))


def older_versions(paths: Iterable[Path]) -> Iterator[Path]:
    """The places of the same runs' files as older schemas had them."""
    for path in paths:
        name, _, _ = path.name.rpartition(f".v{VERSION}.")
        yield from (path.with_name(f"{name}.v{version}.parquet") for version in range(1, VERSION))


def _newer(path: str, version: int) -> TollError:
    return TollError(
        f"{path} was written by a newer toll: version {version} of a lake; this toll reads up to {VERSION}",
        "update toll",
    )


def _below(folder: Path, names: re.Pattern[str]) -> list[tuple[str, Path]]:
    """Folders with such names, by what the name says; links are left out."""
    try:
        with os.scandir(folder) as entries:
            return [
                (match[1], Path(entry.path))
                for entry in entries
                if (match := names.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TollError(f"{folder} cannot be read: {error.strerror}", "look at its owner and mode") from None


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    write_parquet(table, sink)
    return memoryview(sink.getvalue()).tobytes()


def write_parquet(table: pa.Table, sink: Any) -> None:
    """As all files of a lake are written."""
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    pyarrow.parquet.write_table(table, sink, compression="zstd", use_dictionary=texts, store_schema=False)


@contextmanager
def telling(root: Path | str) -> Iterator[None]:
    """A full disk and a folder without permission in a sentence."""
    try:
        yield
    except OSError as error:
        step = REFUSALS.get(error.errno or 0, "look at the folder's owner and mode")
        what = error.filename if isinstance(error.filename, str) and os.sep in error.filename else root
        raise TollError(
            f"cannot write {what}: {error.strerror}; the lake is as it was, and the run file too", step
        ) from None
