"""How a file says that toll made it, and for what.

Each kind is known by how it begins (a table of Parquet by how it ends), so that a file which merely quotes
such a line is not taken for one. CSV has no place for a mark: its header line is it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

_HEAD_BYTES: Final = 8192
_MOST_FOOTER_BYTES: Final = 1 << 20
_PARQUET: Final = b"PAR1"
PARQUET_KEY: Final = b"toll_export"


@dataclass(frozen=True, slots=True)
class Mark:
    """One kind of file: `what` completes "toll did not make it as ...", `begins` is a regular expression."""

    what: str
    begins: bytes = b""
    footer: bytes = b""  # of a Parquet file: a regular expression for somewhere in it

    @property
    def never_replaced(self) -> bool:
        """Whether no file bears it: what holds measured data stays whatever is asked for."""
        return not (self.begins or self.footer)

    def on(self, descriptor: int) -> bool:
        """Whether the open file bears it. Reads its head or its foot alone. Raises OSError."""
        head = os.pread(descriptor, _HEAD_BYTES, 0)
        if self.footer:
            return head[:4] == _PARQUET and re.search(self.footer, _footer(descriptor), re.DOTALL) is not None
        return not self.never_replaced and re.match(self.begins, head) is not None


def _footer(descriptor: int) -> bytes:
    """https://parquet.apache.org/docs/file-format/: the metadata, its length in four bytes, PAR1."""
    size = os.fstat(descriptor).st_size
    end = os.pread(descriptor, 8, max(0, size - 8))
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _PARQUET or not 0 < length <= min(size - 12, _MOST_FOOTER_BYTES):
        return b""
    return os.pread(descriptor, length, size - 8 - length)


def _page(of: bytes) -> bytes:
    return rb'\s*<!doctype html>\s*<html lang="en">\s*<head>\s*<meta name="generator" content="' + of + rb'">'


_COMPARISON_XML = rb'<\?xml version="1.0" encoding="UTF-8"\?>\s*<testsuites>\s*<testsuite name="toll compare"'
_HISTORY_FEED = (
    rb'<\?xml version="1.0" encoding="UTF-8"\?>\s*<feed xmlns="http://www.w3.org/2005/Atom">'
    rb"<generator>toll history</generator>"
)

# By the form that a user asks for.
OF_RUN: Final = {
    "terminal": Mark("the text of a run", rb"toll report: a run\n"),
    "html": Mark("the page of a run", _page(b"toll report")),
    "markdown": Mark("the Markdown of a run", rb"<!-- toll report -->\n"),
    "json": Mark("the JSON of a run", rb'\{"schema":"toll-report/'),
    "csv": Mark("the table of a run", rb"workload,contender,environment,parameters,language,library,"),
}
OF_SEVERAL: Final = {
    "terminal": Mark("the text of several runs", rb"toll report: several runs\n"),
    "html": Mark("the page of several runs", _page(b"toll report of several runs")),
    "markdown": Mark("the Markdown of several runs", rb"<!-- toll report of several runs -->\n"),
    "json": Mark("the JSON of several runs", rb'\{"schema":"toll-report-several/'),
}
OF_COMPARISON: Final = {
    "terminal": Mark("the text of a comparison", rb"toll report: a comparison\n"),
    "html": Mark("the page of a comparison", _page(b"toll compare")),
    "markdown": Mark("the Markdown of a comparison", rb"<!-- toll compare -->\n"),
    "json": Mark("the JSON of a comparison", rb'\{\s*"made_by": ?"toll compare"'),
    "junit": Mark("the JUnit XML of a comparison", _COMPARISON_XML),
}
OF_EXPLANATION: Final = {
    "html": Mark("the page of an explanation", _page(b"toll why")),
    "markdown": Mark("the Markdown of an explanation", rb"<!-- toll why -->\n"),
}
OF_SEARCH: Final = {"html": Mark("the page of a search", _page(b"toll bisect"))}
OF_HISTORY: Final = {
    "html": Mark("the page of a history", _page(b"toll history")),
    "markdown": Mark("the Markdown of a history", rb"<!-- toll history -->\n"),
    "feed": Mark("the feed of a history", _HISTORY_FEED),
}
OF_EXPORT: Final = {
    "json": Mark("the JSON of an export", rb'\{"toll_export": 1,'),
    "google-benchmark": Mark(
        "Google Benchmark's JSON of a run", rb'\{\s*"context": \{\s*"library_version": "toll '
    ),
}
BASELINE: Final = Mark("a baseline", rb'\{\s*"toll_baseline": 1,')
# Measured data: whatever is there, it stays.
RUN_FILE: Final = Mark("a run file")
RAW_FILE: Final = Mark("a raw file")
# Measured data where something else is to be written: a run file by its application identity, at byte 68 of
# the header (https://www.sqlite.org/fileformat2.html#the_database_header), a raw file by its first line.
MEASURED: Final = Mark(
    "measured data",
    rb'(?s)SQLite format 3\0.{52}toll|\{"toll_(compare|trust|trust_rebuild|bisect|history)": ?',
)
CONTENDER: Final = Mark("a contender's source")
SUITE: Final = Mark("a suite, to which a line is added", rb"(?s).*")


def parquet_of(table: str) -> Mark:
    """A table of an export: its name is in the file's metadata, as `PARQUET_KEY`."""
    return Mark(
        f"the table {table} of an export", footer=PARQUET_KEY + rb".{1,4}" + re.escape(table.encode())
    )


def csv_of(table: str, columns: list[str]) -> Mark:
    """A table of an export, by the whole of its header line."""
    header = ",".join(f'"{name}"' for name in columns).encode()
    return Mark(f"the table {table} of an export", re.escape(header) + rb"\r?\n")
