"""A lake as DuckDB sees it: a view for each table, and nothing else of this machine.

DuckDB reads the very files that were listed, by their full names, and no other; it writes none, loads no
extension, and its settings are locked once the views stand. So neither a query nor a stranger's file reaches
what lies beside the lake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from tollbench.errors import TollError
from tollbench.lake.lake_folder import LakeFile, LakeFolder
from tollbench.lake.lake_schema import TABLES, columns_in
from tollbench.text import shown

MEMORY_MB: Final = 600
_BATCH: Final = 65_536  # rows
_TRIES: Final = 5
_TAIL: Final = b"PAR1"
_LEAST_BYTES: Final = 12  # PAR1, a footer's length, PAR1
_OF_THE_QUERY: Final = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.PermissionException,
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
)


class OpenedLake:
    """Answers SQL about a lake. `notes` are sentences on what was left out."""

    def __init__(
        self, lake: LakeFolder, tables: Sequence[str] = tuple(TABLES), memory_mb: int = MEMORY_MB
    ) -> None:
        self.lake = lake
        self.notes: list[str] = []
        self._tables = tables
        self._memory_mb = memory_mb
        self._left_out: frozenset[Path] = frozenset()
        self._files: dict[str, list[LakeFile]] = {}
        self._connection = self._connected_at_last()

    def __enter__(self) -> OpenedLake:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, sql: str, arguments: Mapping[str, Any] | None = None) -> pa.Table:
        """What toll's own SQL answers. Raises TollError for files that are not what toll writes."""
        for _ in range(3):
            try:
                return self._connection.sql(sql, params=arguments or None).to_arrow_table()
            except duckdb.Error as error:
                if _is_of_memory(error):
                    raise self._too_much(
                        "question", "ask about less: name a contender, -p or --machine"
                    ) from None
                if not self._looked_again():
                    raise self._not_ours(error) from None
        raise TollError(f"{self.lake.called} changes while it is read", "ask again")

    def query(self, sql: str, most: int) -> tuple[pa.Table, int]:
        """The first `most` rows of what a user's SQL answers, and how many it has: one statement that reads.

        The other rows are counted and not held. Raises TollError, also for a statement of another kind.
        """
        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.Error as error:
            raise _refused(error) from None
        if len(statements) != 1 or statements[0].type not in (
            duckdb.StatementType.SELECT,
            duckdb.StatementType.EXPLAIN,
        ):
            raise TollError("the query is not one SELECT", "a lake is only read: SELECT ... FROM summary")
        for _ in range(3):
            try:
                return _first_rows(self._connection.sql(sql).to_arrow_reader(_BATCH), most)
            except _OF_THE_QUERY as error:
                raise _refused(error) from None
            except (duckdb.Error, pa.ArrowException, OSError) as error:  # the last two: while rows come
                if _is_of_memory(error):
                    raise self._too_much("query", "narrow it, or allow more: --memory MB") from None
                if not self._looked_again():
                    raise _refused(error) from None
        raise TollError(f"{self.lake.called} changes while it is read", "ask again")

    def _connected(self) -> duckdb.DuckDBPyConnection:
        self._files = {
            table: [file for file in self.lake.files(table) if file.path not in self._left_out]
            for table in self._tables
        }
        connection = duckdb.connect(
            ":memory:",
            config={
                "autoload_known_extensions": "false",
                "autoinstall_known_extensions": "false",
                "allow_community_extensions": "false",
                "threads": str(len(os.sched_getaffinity(0))),
                "memory_limit": f"{self._memory_mb}MB",
                "temp_directory": "",
                "preserve_insertion_order": "false",
            },
        )
        everything = [_absolute(file) for files in self._files.values() for file in files]
        allowed = dict.fromkeys(name for path in everything for name in (path, _literal(path)))
        connection.execute(f"SET allowed_paths = {_listed(allowed)}")
        connection.execute("SET enable_external_access = false")
        for table, files in self._files.items():
            connection.execute(f'CREATE VIEW "{table}" AS {_view(table, files)}')
        connection.execute("SET lock_configuration = true")
        return connection

    def _connected_at_last(self) -> duckdb.DuckDBPyConnection:
        for _ in range(_TRIES):
            try:
                return self._connected()
            except duckdb.Error as error:  # of a file's head, which is read for its columns
                gone = any(not file.path.exists() for files in self._files.values() for file in files)
                if _is_of_memory(error):
                    raise self._too_much("lake", "put its files together: toll lake compact") from None
                if not gone and not self._leave_out_broken():
                    raise self._not_ours(error) from None
        raise TollError(f"{self.lake.called} changes while it is read", "ask again")

    def _looked_again(self) -> bool:
        """Whether files came, went or are half-written since: then all is opened anew without these."""
        before = {table: [file.path for file in files] for table, files in self._files.items()}
        self._leave_out_broken()
        self._connection.close()
        self._connection = self._connected_at_last()
        return before != {table: [file.path for file in files] for table, files in self._files.items()}

    def _leave_out_broken(self) -> bool:
        """Whether there are files that are half-written, which are noted and not read from now on."""
        broken = [file.path for files in self._files.values() for file in files if _is_half(file.path)]
        self._left_out |= frozenset(broken)
        named = [self.lake.name_of(path) for path in broken]
        self.notes += [f"{name} is half-written, and left out: add its run again" for name in named]
        return bool(broken)

    def _too_much(self, what: str, step: str) -> TollError:
        return TollError(f"the {what} wants more than {self._memory_mb} MB", step)

    def _not_ours(self, error: Exception) -> TollError:
        said = _first(error).replace(f"{self.lake.root}/", "")
        return TollError(
            f"{self.lake.called} holds a file that toll did not write: {said}",
            "take the file out of the lake, and add its run again",
        )


def _is_of_memory(error: Exception) -> bool:
    """Not of the files: who is told to take one out of the lake loses what it holds."""
    return isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in str(error)


def _first_rows(reader: pa.RecordBatchReader, most: int) -> tuple[pa.Table, int]:
    kept, count = [], 0
    for batch in reader:
        if count < most:
            kept.append(batch.slice(0, most - count))
        count += batch.num_rows
    return pa.Table.from_batches(kept, reader.schema), count


def _view(table: str, files: Sequence[LakeFile]) -> str:
    """One SELECT for the files of each version, so that all look as today's do."""
    versions = sorted({file.version for file in files})
    if not versions:
        types = {field.name: _type(field.type) for field in TABLES[table]}
        columns = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in types.items())
        return f"SELECT {columns} WHERE false"
    parts = []
    for version in versions:
        columns = ", ".join(
            f"CAST({'NULL' if older is None else _quoted(older)} AS {_type(TABLES[table].field(name).type)})"
            f" AS {_quoted(name)}"
            for name, older in columns_in(table, version).items()
        )
        paths = _listed(_literal(_absolute(file)) for file in files if file.version == version)
        parts.append(f"SELECT {columns} FROM read_parquet({paths}, hive_partitioning = false)")
    return " UNION ALL ".join(parts)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP_MS"
    return {
        pa.string(): "VARCHAR",
        pa.int64(): "BIGINT",
        pa.int32(): "INTEGER",
        pa.float64(): "DOUBLE",
        pa.bool_(): "BOOLEAN",
    }[kind]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(paths: Iterable[str]) -> str:
    inside = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"[{inside}]" if inside else "[]::VARCHAR[]"


def _literal(path: str) -> str:
    """The path as a pattern that it alone fits: DuckDB takes a lake's folder named lab* for lab as well."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def _absolute(file: LakeFile) -> str:
    return os.path.abspath(file.path)  # noqa: PTH100  no link is resolved: the names are what is allowed


def _is_half(path: Path) -> bool:
    """Whether a Parquet file lacks its end, or is gone."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _LEAST_BYTES:
                return True
            tail = os.pread(file.fileno(), 8, size - 8)
            length = int.from_bytes(tail[:4], "little")
            return tail[4:] != _TAIL or not 0 < length <= size - _LEAST_BYTES
    except FileNotFoundError:
        return False  # then it is not listed any more either
    except OSError:
        return True


def _first(error: Exception) -> str:
    return shown(str(error).splitlines()[0] if str(error) else type(error).__name__, 300)


def _refused(error: Exception) -> TollError:
    return TollError(f"the query cannot be answered: {_first(error)}", "tables and columns: docs/lake.md")
