"""The run file: one run is one SQLite file, a transaction a launch (docs/runfile.md describes its tables)."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import numpy as np

from tollbench.errors import Exit, TollError
from tollbench.home import COMMAND
from tollbench.store.reading import Reader
from tollbench.store.records import MEANWHILE, MOST_SENTENCES, BatchSamples, Launch, RunHeader, Samples
from tollbench.store.sample_blocks import blocks
from tollbench.store.untrusted import (
    MAX_ROWS,
    check_bytes,
    check_database,
    harden,
    refuse,
    schema_text,
    upgrade,
)
from tollbench.store.whereabouts import OpenHere, Whereabouts
from tollbench.text import as_text, shown
from tollbench.words import Batch, Case, Environment, Purpose, Status, Workload, canonical

# Of the most rows that a reader takes: launches that were made together may be thousands, with their details.
_FULL_SHARE = 0.95
_OF_THE_PLAN = frozenset({"run", "environment", "workload", "case", "detail"})
_BESIDE = ("-journal", "-wal", "-shm")  # what waits there, SQLite would join to a new run or delete


class RunFile(Reader):
    """One run in one file: `open` it to read; `create` or `resume` it to write a launch at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool) -> None:
        super().__init__(path, connection)
        self._writable = writable
        self._lies_still = not writable
        self._whereabouts = Whereabouts(path)
        self._row_counts = Counter[str]()  # of a file that is written, by table
        self._has_ended = False  # by `finish`: a moved file may not be asked any more

    @classmethod
    def create(cls, path: Path, header: RunHeader) -> Self:
        """A new file, open for writing; raises TollError where one exists or the folder takes none."""
        _claim(path)
        connection = _connect(path, "rw")
        run_file = cls(path, connection, writable=True)
        try:
            with run_file._saving("the new run"):
                # Into the main file itself: a reader can tell what it is before any write-ahead log.
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.executescript(f"BEGIN; {schema_text()}; COMMIT;")
                run_file._insert("run", {"id": 1, **_header_columns(header)})
                _use_log(connection)
        except TollError:
            connection.close()
            path.unlink(missing_ok=True)
            raise
        return run_file

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing file, for reading only. Trusts nothing in it: TollError for whatever is not sound."""
        check_bytes(path)
        connection = _connect(path, "ro&immutable=1" if _lies_still(path) else "ro")
        try:
            harden(connection)
            check_database(connection, path)
            run_file = cls(path, connection, writable=False)
            run_file.header()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            connection.close()
            raise _unreadable(path, error) from None
        except BaseException:
            connection.close()
            raise
        return run_file

    @classmethod
    def resume(cls, path: Path) -> Self:
        """An interrupted run, open for writing; raises TollError where the run is complete.

        Its launches could be read until now, so that is noted as a look, once for the same launches.
        """
        with cls.open(path) as found:
            found.check_interrupted()
        connection = _connect(path, "rw")
        run_file = cls(path, connection, writable=True)
        try:
            with run_file._saving("the resumed run"):
                with run_file._transaction():
                    upgrade(connection)
                    run_file._note_look()
                    run_file._row_counts.update({table: run_file._count_of(table) for table in MAX_ROWS})
                _use_log(connection)
                connection.execute("UPDATE run SET stopped_by = NULL")
        except TollError:
            connection.close()
            raise
        return run_file

    def check_interrupted(self) -> None:
        """Raises TollError where the run is complete."""
        header = self.header()
        if header.finished_utc is not None:
            raise TollError(
                f"{self.path} is complete: it ended at {shown(header.finished_utc)}"
                f" ({shown(str(header.stopped_by))}).",
                f"See it with `{COMMAND} report`, or start a new run with `{COMMAND} run`.",
            )

    def _note_look(self) -> None:
        # HAVING alone would take SQLite 3.39; the rest of toll does with 3.37.
        query = """INSERT OR IGNORE INTO look (at_utc, launches) SELECT ?, counted FROM
            (SELECT count(*) AS counted FROM launch WHERE purpose = ? AND status = ?) WHERE counted > 0"""
        self._connection.execute(query, (now_utc(), str(Purpose.MEASURE), str(Status.OK)))

    def add_plan(
        self,
        workloads: Sequence[Workload],
        environments: Sequence[Environment],
        cases: Sequence[tuple[Case, Status, str, str]],
    ) -> dict[str, int]:
        """Stores what will be measured: (case, status, reason, library version). Returns ids by case key."""
        with self._saving("the plan"), self._transaction():
            workload_ids = {
                item.name: self._insert("workload", _workload_columns(item)) for item in workloads
            }
            environment_ids = {
                item.name: self._insert("environment", _environment_columns(item)) for item in environments
            }
            ids = {}
            for case, status, reason, library_version in cases:
                columns = _case_columns(case) | {
                    "workload_id": workload_ids[case.workload],
                    "environment_id": environment_ids[case.environment],
                    "library_version": library_version,
                    "status": str(status),
                    "reason": reason,
                }
                ids[case.key] = self._insert("case", columns)
        self.declare_details(workloads)
        return ids

    def declare_details(self, workloads: Sequence[Workload]) -> None:
        """Stores what each workload's details mean, where the file does not say it yet."""
        query = """INSERT OR IGNORE INTO detail (workload_id, name, title, unit, meaning)
            SELECT id, ?, ?, ?, ? FROM workload WHERE name = ?"""
        with self._saving("what the details mean"), self._transaction():
            for workload in workloads:
                for one in workload.details:
                    self._connection.execute(
                        query, (one.name, one.title, one.unit, one.meaning, workload.name)
                    )

    def append(self, launch: Launch, samples: Sequence[Samples | BatchSamples | None] = ()) -> int:
        """Stores one launch with its batches (and the samples of each) in one transaction. Returns its id.

        Samples lose their order, within each part of a batch: see docs/runfile.md.
        """
        with self._saving("the last launch"), self._transaction():
            launch_id = self._append(launch, samples)
        self._see_that_it_is_there()
        return launch_id

    def append_company(
        self, launches: Sequence[tuple[Launch, Sequence[Samples | BatchSamples | None]]]
    ) -> list[Launch]:
        """The same for launches that took turns, all or none. Returns them as they are stored."""
        with self._saving("the last launches"), self._transaction():
            ids = [self._append(launch, samples) for launch, samples in launches]
            first = ids[0] if len(ids) > 1 else 0
            for launch_id in ids if first else ():
                self._insert("company", {"launch_id": launch_id, "first_id": first})
        self._see_that_it_is_there()
        return [one._replace(id=own, company=first) for (one, _), own in zip(launches, ids, strict=True)]

    def _append(self, launch: Launch, samples: Sequence[Samples | BatchSamples | None]) -> int:
        launch_id = self._insert("launch", _launch_columns(launch))
        for ordinal, batch in enumerate(launch.batches):
            batch_id = self._insert(
                "batch", _batch_columns(batch) | {"launch_id": launch_id, "ordinal": ordinal}
            )
            for name, value in batch.details.items():
                self._insert("batch_detail", {"batch_id": batch_id, "name": name, "value": value})
            if batch.gauge_ns:
                self._insert("gauge", {"batch_id": batch_id, "ns": batch.gauge_ns})
            if batch.others is not None:
                self._insert("census", {"batch_id": batch_id, "others": batch.others})
            if batch.cells:
                self._insert("cells", {"batch_id": batch_id, "cells": json.dumps(batch.cells)})
        for first, encoding, data in blocks(_counted(launch, samples)):
            columns = {"launch_id": launch_id, "ordinal": first, "encoding": encoding, "data": data}
            self._insert("sample_block", columns)
        if launch.allocations is not None:
            self._insert("allocation", {"launch_id": launch_id, **asdict(launch.allocations)})
        if launch.purpose is Purpose.MEASURE and launch.status is Status.OK:
            query = """UPDATE "case" SET status = 'ok', reason = '' WHERE id = ? AND status = 'planned'"""
            self._connection.execute(query, (launch.case_id,))
        return launch_id

    @property
    def is_full(self) -> bool:
        """Whether it holds about as much as is read of one file: what is beyond that no report would show."""
        return any(
            self._row_counts[table] > _FULL_SHARE * most
            for table, most in MAX_ROWS.items()
            if table not in _OF_THE_PLAN
        )

    def _count_of(self, table: str) -> int:
        ((count,),) = self._iterate(f'SELECT count(*) FROM "{table}"', ())
        return int(count)

    def set_iterations(self, case_id: int, iterations: int) -> None:
        """What the pilot found: iterations per batch, or samples per request."""
        with self._saving("the pilot's result"):
            self._connection.execute('UPDATE "case" SET iterations = ? WHERE id = ?', (iterations, case_id))

    def set_status(self, case_id: int, status: Status, reason: str) -> None:
        """What became of a case."""
        with self._saving("a case's status"):
            self._connection.execute(
                'UPDATE "case" SET status = ?, reason = ? WHERE id = ?', (str(status), reason, case_id)
            )

    def note_in_plan(self, name: str, value: Any) -> None:
        """Something more that a run which is gone on with asks for."""
        plan = {**self.header().plan, name: value}
        with self._saving("the plan"):
            self._connection.execute("UPDATE run SET plan = ?", (json.dumps(plan),))

    def set_meanwhile(self, sentences: Sequence[str]) -> None:
        """What befell the machine while it measured: a part of its conditions."""
        told = list(sentences)[-MOST_SENTENCES:]
        conditions = {**self.header().conditions, MEANWHILE: told}
        with self._saving("what befell the machine"):
            self._connection.execute("UPDATE run SET conditions = ?", (json.dumps(conditions),))

    def finish(self, stopped_by: str) -> None:
        """Marks the run's end; an interrupted run has no end, so that it can be resumed."""
        finished = None if stopped_by == "interrupt" else now_utc()
        with self._saving("the run's end"):
            self._connection.execute(
                "UPDATE run SET finished_utc = ?, stopped_by = ?", (finished, stopped_by)
            )
        self._has_ended = finished is not None

    def close(self) -> None:
        """Closes the file; a written one becomes a single file again, readable from read-only media.

        Somebody who is in the midst of reading it is waited for, 5 s. Where one reads for longer, the log
        stays beside the file, as after a kill: nothing is lost.
        """
        try:
            if self._writable:
                self._see_that_it_is_there()  # first: what fails to join its log may not be read any more
                with self._saving("the last part of the write-ahead log"):
                    self._join_log()
        finally:
            self._connection.close()

    def _join_log(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # waits for readers, and says no error
        try:
            self._connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if _primary_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        try:
            self.close()
        except TollError:
            if error is None:  # the first error says more than one about closing
                raise

    def _insert(self, table: str, columns: Mapping[str, Any]) -> int:
        marks = ", ".join("?" * len(columns))
        query = f'INSERT INTO "{table}" ({", ".join(columns)}) VALUES ({marks})'
        cursor = self._connection.execute(query, tuple(columns.values()))
        self._row_counts[table] += 1
        return int(cursor.lastrowid or 0)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        before = self._row_counts.copy()
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._row_counts = before
            if self._connection.in_transaction:  # SQLite itself rolls back when the disk is full
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _saving(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._not_saved(what, error) from None

    def _not_saved(self, what: str, error: sqlite3.Error) -> TollError:
        problems = {
            sqlite3.SQLITE_FULL: "the disk is full",
            sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
            sqlite3.SQLITE_CANTOPEN: "the folder takes no new files",
            sqlite3.SQLITE_IOERR: f"the disk refused to take more ({error})",
            sqlite3.SQLITE_BUSY: "another process is writing to it",
        }
        problem = problems.get(_primary_code(error), shown(str(error)))
        failure = f"Could not save {what} to {self.path}"
        if self._whereabouts.left():
            saved, step = self._elsewhere()
            return TollError(f"{failure}: it was moved or removed. {saved}.", step, Exit.INCONCLUSIVE)
        step = f"Make room or choose a writable folder, then {self._way_on()}."
        try:
            count = self.launch_count()
            saved = f"{count} launches are saved in {self.path}"
            if not count:  # then there is nothing to go on with, and no file either
                step = "Make room or choose a writable folder, then start again."
        except TollError:
            saved = "What was saved before cannot be told"
        return TollError(f"{failure}: {problem}. {saved}.", step, Exit.INCONCLUSIVE)

    def _way_on(self, file: str = "") -> str:
        """The command for what is saved in the file; a run that ended only has to be looked at."""
        name = file or shlex.quote(str(self.path))
        if self._has_ended:
            return f"see it with `{COMMAND} report {name}`"
        return f"go on with `{COMMAND} run --resume {name}`"

    def _elsewhere(self) -> tuple[str, str]:
        """What became of the launches of a file that is no longer in its place, and what to do next."""
        now = self._whereabouts.now()
        if now is not None:
            self.path = now
            return f"What was saved is in the file, which is now {now}", _sentence(self._way_on())
        if not self._whereabouts.removed():
            found = f"Look for it, and {self._way_on('FILE')}."
            return "What was saved is where the file is now", found
        if self._save_anew():
            return f"What was saved is in a new file, {self.path}", _sentence(self._way_on())
        return "Its launches are gone with it", "Measure again, and leave the file in its place."

    def _see_that_it_is_there(self) -> None:
        """Raises TollError where somebody has removed the file: SQLite writes on, into nothing."""
        if self._whereabouts.left() and self._whereabouts.removed():
            gone = self.path
            saved, step = self._elsewhere()
            raise TollError(f"{gone} was removed while it was written. {saved}.", step, Exit.INCONCLUSIVE)

    def _save_anew(self) -> bool:
        """Of a removed file all that was saved, which SQLite still has: under its name, where that is free
        with those of its log, else beside it, else in the temporary folder. From now on that is the file.
        False where none of them takes it."""
        with suppress(OSError):
            self.path.parent.mkdir(exist_ok=True)
        beside = self.path.with_name(f"{self.path.stem}-{secrets.token_hex(4)}{self.path.suffix}")
        return any(map(self._save_as, (self.path, beside, Path(tempfile.gettempdir(), beside.name))))

    def _save_as(self, place: Path) -> bool:
        try:
            _claim(place)
        except TollError:
            return False
        try:
            connection = _connect(place, "rw")
            try:
                self._connection.backup(connection)
                connection.execute("PRAGMA journal_mode = DELETE")  # one file: a log came with what it says
            except sqlite3.Error:
                connection.close()
                raise
        except (TollError, sqlite3.Error):
            place.unlink(missing_ok=True)
            return False
        # What has its name would be played over the new file, were that renamed back.
        log = OpenHere(Path(f"{self.path}{ending}") for ending in _BESIDE)
        self._connection.close()
        log.remove()
        self._connection, self.path, self._whereabouts = connection, place, Whereabouts(place)
        return True


def _counted(launch: Launch, samples: Sequence[Samples | BatchSamples | None]) -> list[BatchSamples | None]:
    return [
        BatchSamples.of(each, batch.cells) if isinstance(each, np.ndarray) else each
        for batch, each in zip(launch.batches, samples, strict=False)
    ]


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _go_on(path: Path) -> str:
    return f"go on with `{COMMAND} run --resume {shlex.quote(str(path))}`"


def now_utc() -> str:
    """This instant in ISO 8601, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _claim(path: Path) -> None:
    """Makes the empty file: an existing one is never overwritten, and a bad folder is named plainly."""
    try:
        for ending in _BESIDE:
            if os.path.lexists(beside := f"{path}{ending}"):
                raise TollError(
                    f"{beside} exists already, and belongs to a run file {path.name}.", "Choose another name."
                )
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC, 0o666))
    except FileExistsError:
        raise TollError(
            f"{path} exists already.",
            f"Choose another name, or {_go_on(path)}.",
        ) from None
    except OSError as error:
        raise TollError(
            f"Cannot make the run file {path}: {error.strerror}.",
            "Name a folder that exists and that you may write to.",
        ) from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    try:
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5.0)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from None


def _primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without what extends it; 0: the error is of Python's module."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def _lies_still(path: Path) -> bool:
    """Whether nobody can be writing: only then may SQLite do without the files that a log needs beside it."""
    return not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()


def _use_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # NORMAL: a killed process loses nothing, a power cut at most the last launches; neither does damage.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _unreadable(path: Path, error: Exception) -> TollError:
    log = Path(f"{path}-wal")
    if log.exists() and not os.access(path.parent, os.W_OK):
        return refuse(
            path,
            f"has its last part in {log.name}, which cannot be joined in a read-only folder",
            f"Copy {path} and {log} to a folder that you may write to, and open the copy.",
        )
    return refuse(path, f"cannot be read: {shown(str(error))}")


def _header_columns(header: RunHeader) -> dict[str, Any]:
    columns = {field.name: getattr(header, field.name) for field in fields(header)}
    # What a user typed may hold bytes that are no text: names of files are free in that.
    columns |= {name: as_text(columns[name]) for name in ("name", "command_line")}
    return columns | {name: json.dumps(columns[name]) for name in ("plan", "machine", "conditions")}


def _workload_columns(workload: Workload) -> dict[str, Any]:
    return {
        "name": workload.name,
        "question": workload.question,
        "kind": str(workload.kind),
        "unit": workload.unit,
        "per": workload.per,
        "published": json.dumps([asdict(item) for item in workload.published]),
    }


def _environment_columns(environment: Environment) -> dict[str, Any]:
    names = ("name", "compiler", "compiler_version", "standard_library", "flags", "allocator")
    return {name: getattr(environment, name) for name in names}


def _case_columns(case: Case) -> dict[str, Any]:
    return {
        "contender": case.contender,
        "parameters": canonical(case.parameters),
        "language": case.language,
        "library": case.library,
        "footing": json.dumps(dict(case.footing)),
        "answer": str(case.answer),
    }


def _launch_columns(launch: Launch) -> dict[str, Any]:
    left_out = {"id", "batches", "allocations", "clock", "footing", "company"}
    columns = {name: value for name, value in launch._asdict().items() if name not in left_out}
    columns |= {"purpose": str(launch.purpose), "status": str(launch.status)}
    return columns | {"clock": json.dumps(dict(launch.clock)), "footing": json.dumps(dict(launch.footing))}


def _batch_columns(batch: Batch) -> dict[str, Any]:
    left_out = {"checksum", "counters", "warmup", "details", "gauge_ns", "cells", "others"}
    columns = {name: value for name, value in batch._asdict().items() if name not in left_out}
    return columns | {"warmup": int(batch.warmup), "counters": json.dumps(dict(batch.counters))}
