"""Rows of a run file, each to be checked as it is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from tollbench.store.untrusted import CheckedRow, has_table, refuse, version_of
from tollbench.text import shown


class Rows:
    """An open run file, asked by queries."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @cached_property
    def _version(self) -> int:
        """Asked at the first reading: a new file has its schema by then, a resumed one its upgrade."""
        return version_of(self._connection)

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """All that is asked meanwhile is answered from one state of the file, though a run may go on in it.

        SQLite else looks at each question who writes, which takes as long as a short answer does.
        """
        try:
            self._connection.execute("BEGIN")
        except sqlite3.Error as error:
            raise refuse(self.path, f"cannot be read: {shown(str(error))}") from None
        try:
            yield
        finally:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):  # nothing was written, and a first error says more than this
                    self._connection.execute("ROLLBACK")

    def _rows(
        self, table: str, columns: tuple[str, ...], query: str, arguments: tuple[Any, ...] = ()
    ) -> list[CheckedRow]:
        if not has_table(table, self._version):
            return []
        return [CheckedRow(self.path, table, columns, values) for values in self._iterate(query, arguments)]

    def _iterate(self, query: str, arguments: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(query, arguments)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise refuse(self.path, f"cannot be read: {shown(str(error))}") from None
