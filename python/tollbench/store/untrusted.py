"""Checks on a run file that somebody else may have made: nothing in it is believed before it is checked."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import stat
import struct
import time
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.text import shown

APPLICATION_ID = 0x746F6C6C  # "toll"
VERSION = 7
_NEW_IN = {
    "detail": 2,
    "batch_detail": 2,
    "cells": 2,
    "company": 3,
    "sample_block": 4,
    "gauge": 5,
    "look": 6,
    "census": 7,
}  # lacking in older files

MAX_TEXT = 64 * 1024
MAX_JSON = 4 * 1024 * 1024
MAX_JSON_DEPTH = 32
OFTEN_TEXT = 1024  # characters of JSON that many rows may have alike
MAX_VALUE_BYTES = 64 * 1024 * 1024  # of any one value: 16 million samples a launch
MAX_ROWS = {
    "run": 1, "environment": 1_000, "workload": 10_000, "case": 100_000,
    "launch": 1_000_000, "batch": 10_000_000, "sample": 10_000_000, "allocation": 1_000_000,
    "detail": 100_000, "batch_detail": 10_000_000, "cells": 1_000_000, "company": 1_000_000,
    "sample_block": 1_000_000, "gauge": 10_000_000, "look": 1_000_000,
    "census": 10_000_000,
}  # fmt: skip
MAX_ROUND = 2**31 - 1
MAX_BATCHES = 100_000  # of one launch: 25 s of the shortest
CHECK_SECONDS = 60.0

E = TypeVar("E", bound=StrEnum)

_HEADER = struct.Struct(">16sH")
_COMMENT = re.compile(r"--[^\n]*")
_SPACE = re.compile(r"\s+")


def refuse(path: Path, problem: str, next_step: str = "") -> TollError:
    """The error for a file that cannot be read; `problem` completes "PATH ..."."""
    return TollError(
        f"{path} {problem}.",
        next_step or f"Ask whoever made it for a new copy, or measure again with `{COMMAND} run`.",
    )


@cache
def schema_text() -> str:
    """The SQL that makes an empty run file of this version."""
    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


def check_bytes(path: Path) -> None:
    """Reads the first 100 bytes without SQLite: what the file is, its version and whether its end is missing.

    Layout: https://www.sqlite.org/fileformat2.html#the_database_header
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise refuse(path, "is not a regular file", "Name a run file, for example runs/NAME.toll.")
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        raise TollError(
            f"There is no file {path}.", "Run files lie in runs/ and end in .toll; `ls runs`."
        ) from None
    except OSError as error:
        raise refuse(
            path, f"cannot be read: {error.strerror}", "Check the file's owner and permissions."
        ) from None
    if not head:
        raise refuse(path, "is empty, so it is not a run file")
    if head[:16] != b"SQLite format 3\0":
        raise refuse(path, "is not a run file of toll")
    if len(head) < 100:
        raise refuse(path, f"is truncated: it ends after {len(head)} bytes")
    _check_header(path, head, status.st_size)


def _check_header(path: Path, head: bytes, size: int) -> None:
    _, page_size = _HEADER.unpack_from(head)
    page_size = 65536 if page_size == 1 else page_size
    change, pages = struct.unpack_from(">II", head, 24)
    (version,) = struct.unpack_from(">i", head, 60)
    (application,) = struct.unpack_from(">I", head, 68)
    (valid_for,) = struct.unpack_from(">I", head, 92)
    if application != APPLICATION_ID:
        raise refuse(path, "is an SQLite file, but not a run file of toll")
    if version > VERSION:
        raise TollError(
            f"{path} was written by a newer toll: run-file version {version};"
            f" this toll reads up to {VERSION}.",
            f"Update toll to a version that reads run-file version {version} (`git pull`, then run again).",
        )
    if version < 1:
        raise refuse(path, f"has the impossible run-file version {version}")
    # A checkpoint that a full disk cut short leaves pages that are counted here in the log alone.
    has_log = Path(f"{path}-wal").exists()
    if change == valid_for and size < pages * page_size and not has_log:
        raise refuse(path, f"is truncated: {size} of {pages * page_size} bytes are there")


def harden(connection: sqlite3.Connection) -> None:
    """Settings for reading a file that may have been made to attack: no schema tricks, bounded values."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES + 4096)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")


def check_database(connection: sqlite3.Connection, path: Path) -> None:
    """Schema, content types (quick_check reads STRICT columns) and row counts; raises TollError."""
    version = version_of(connection)
    _check_schema(connection, path, version)
    deadline = time.monotonic() + CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    try:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise refuse(path, f"is damaged: {shown(str(verdict))}")
        for table, most in MAX_ROWS.items():
            if not has_table(table, version):
                continue
            (rows,) = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
            if rows > most:
                raise refuse(path, f"holds {rows} rows in table {table}; toll reads at most {most}")
        query = "SELECT count(*) FROM batch GROUP BY launch_id ORDER BY 1 DESC LIMIT 1"
        (most,) = connection.execute(query).fetchone() or (0,)
        if most > MAX_BATCHES:
            raise refuse(path, f"holds a launch of {most:,} batches; toll reads at most {MAX_BATCHES:,}")
        if connection.execute("SELECT count(*) FROM run").fetchone() != (1,):
            raise refuse(path, "holds no run: it was not completely made")
    finally:
        connection.set_progress_handler(None, 0)


def version_of(connection: sqlite3.Connection) -> int:
    """The run-file version that a database says it has."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def has_table(table: str, version: int) -> bool:
    """Whether run files of that version have the table."""
    return _NEW_IN.get(table, 1) <= version


def upgrade(connection: sqlite3.Connection) -> None:
    """Gives a file of an older version, which is checked already, the tables that it lacks.

    The caller opens and ends the transaction.
    """
    version = version_of(connection)
    for (kind, name), (table, sql) in _expected_schema().items():
        if kind == "table" and name == table and not has_table(table, version):
            connection.execute(sql)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """The schema must be ours word for word, which leaves no room for triggers, views, computed columns."""
    expected = {key: sql for key, (table, sql) in _expected_schema().items() if has_table(table, version)}
    found = {key: sql for key, (_, sql) in _schema_of(connection).items()}
    for (kind, name), sql in found.items():
        if (kind, name) not in expected:
            raise refuse(path, f"holds a {shown(kind)} that toll does not make, {shown(name)}")
        if sql != expected[kind, name]:
            raise refuse(path, f"defines {kind} {name} otherwise than toll does")
    for kind, name in expected.keys() - found.keys():
        raise refuse(path, f"lacks {kind} {name}")


def _schema_of(connection: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """(type, name) -> (the table that it belongs to, its SQL)."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 100").fetchall()
    return {(str(kind), str(name)): (str(table), _normal(str(sql))) for kind, name, table, sql in rows}


@cache
def _expected_schema() -> Mapping[tuple[str, str], tuple[str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema_text())
        return _schema_of(connection)
    finally:
        connection.close()


def _normal(sql: str) -> str:
    return _SPACE.sub(" ", _COMMENT.sub("", sql)).strip()


class CheckedRow:
    """One row of a query whose every field is checked as it is read."""

    def __init__(self, path: Path, table: str, columns: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self._path = path
        self._table = table
        self._values = dict(zip(columns, values, strict=True))

    def _bad(self, column: str, problem: str) -> TollError:
        return refuse(self._path, f"is not sound: {self._table}.{column} {problem}")

    def integer(self, column: str, low: int = 0) -> int:
        value = self._values[column]
        if not isinstance(value, int) or value < low:
            raise self._bad(column, f"is not a whole number of at least {low}")
        return value

    def optional_integer(self, column: str) -> int | None:
        return None if self._values[column] is None else self.integer(column)

    def number(self, column: str, low: float = 0.0, high: float = math.inf) -> float:
        value = self._values[column]
        if not isinstance(value, int | float) or not math.isfinite(value) or not low <= value <= high:
            most = f" and at most {high:g}" if math.isfinite(high) else ""
            raise self._bad(column, f"is not a finite number of at least {low:g}{most}")
        return float(value)

    def optional_number(self, column: str, low: float = 0.0, high: float = math.inf) -> float | None:
        return None if self._values[column] is None else self.number(column, low, high)

    def text(self, column: str, limit: int = MAX_TEXT) -> str:
        value = self._values[column]
        if not isinstance(value, str) or len(value) > limit:
            raise self._bad(column, f"is not text of at most {limit} characters")
        return value

    def optional_text(self, column: str) -> str | None:
        return None if self._values[column] is None else self.text(column)

    def choice(self, column: str, choices: type[E]) -> E:
        try:
            return choices(self.text(column))
        except ValueError:
            raise self._bad(
                column, f"is {shown(self.text(column), 40)!r}, which toll does not know"
            ) from None

    def blob(self, column: str) -> bytes:
        value = self._values[column]
        if not isinstance(value, bytes) or len(value) > MAX_VALUE_BYTES:
            raise self._bad(column, f"is not a blob of at most {MAX_VALUE_BYTES} bytes")
        return value

    def json(self, column: str) -> Any:
        text = self.text(column, MAX_JSON)
        try:
            return (_parsed_often if len(text) <= OFTEN_TEXT else _parsed)(text)
        except (ValueError, RecursionError):
            raise self._bad(column, "is not JSON") from None
        except _TooDeep:
            raise self._bad(column, f"is nested deeper than {MAX_JSON_DEPTH} levels") from None

    def json_object(self, column: str) -> dict[str, Any]:
        value = self.json(column)
        if not isinstance(value, dict):
            raise self._bad(column, "is not a JSON object")
        return value

    def decimal(self, column: str) -> int:
        """An unsigned 64-bit number as decimal text: SQLite's integers are signed."""
        text = self.text(column, 20)
        if not (text.isascii() and text.isdigit()) or int(text) >= 2**64:
            raise self._bad(column, "is not an unsigned 64-bit number")
        return int(text)

    def fail(self, column: str, problem: str) -> TollError:
        """The error for a value that breaks a rule only the caller knows."""
        return self._bad(column, problem)


class _TooDeep(Exception):
    pass


def _parsed(text: str) -> Any:
    value = json.loads(text, parse_constant=_no_constant, parse_int=_whole)
    if "\\u" in text:  # half a character can be written so, and no report could print it
        json.dumps(value, ensure_ascii=False).encode()
    if _depth(value) > MAX_JSON_DEPTH:
        raise _TooDeep
    return value


# Most batches and launches say the same: nobody changes what has been read.
_parsed_often = lru_cache(maxsize=256)(_parsed)


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _whole(digits: str) -> int:
    if len(digits) > 20:  # beyond 64 bits; what computes with it later takes floating-point numbers
        raise ValueError(digits)
    return int(digits)


def _depth(value: Any) -> int:
    """Levels of nesting; iterative, because the value comes from outside."""
    deepest, queue = 0, [(value, 1)]
    while queue:
        item, level = queue.pop()
        deepest = max(deepest, level)
        if level <= MAX_JSON_DEPTH and isinstance(item, dict | list):
            children = item.values() if isinstance(item, dict) else item
            queue.extend((child, level + 1) for child in children)
    return deepest
