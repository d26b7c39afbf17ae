"""ankerl::nanobench executables as they are, by the table that they print: a launch runs all that is in them.

nanobench has no command line of its own, so that a launch can be told neither what to run nor for how long;
what the program's own arguments choose is written with the side. A row of the table has ns/op and op/s, each
with two digits behind the point. One of them has seven digits that count or more, and that one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, numbered
from tollbench.compare.subject import Adapter

KIND = "nanobench"
_UNTITLED = "benchmark"  # the title of a table whose author gave none
_UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"([^\s/]+)/(\S.*)")  # "ns/op", "ms/byte"; "op/s" is looked for by the unit
_RULE = re.compile(r"\|[-:|]+")
_ADVICE = re.compile(r"\(?Unstable with ~([\d.,]+) iters\. Increase .*$")
_CODE = re.compile(r"`(.*)`")  # greedy: a backtick in a name is doubled
_NO_TIME = re.compile(r":boom:\s*(.*?)\s*\((.*)\)$")


class TableRow(NamedTuple):
    """A benchmark in a table."""

    name: str
    ns: float | None  # none is told of what takes none
    iterations: Fraction | None  # of an epoch in the mean, where its author is advised to have more
    line: int  # of the output


class Nanobench(WholeOutput):
    """Existing executables, unchanged. A benchmark is called "title / name", in an untitled table "name"."""

    if_none = (
        ": it prints no table of nanobench's; next: choose its benchmarks by its own arguments"
        " ('./tests -ns -tc=bench_*' for doctest), read another output by --read, or say --kind"
    )

    def read(self, report: bytes) -> Printed:
        """All tables of the output, whatever else stands between them."""
        text = report.decode("utf-8", "replace")
        return [(row.name, row.ns) for row in self.rows(text.splitlines()) if row.ns is not None]

    def rows(self, lines: Sequence[str]) -> Sequence[TableRow]:
        """All but those of benchmarks that failed, called as `read` calls them."""
        found = list(self._rows(lines))
        names = numbered((row.name, 0.0) for row in found)
        return [row._replace(name=name) for row, (name, _) in zip(found, names, strict=True)]

    def _rows(self, lines: Sequence[str]) -> Iterator[TableRow]:
        header: list[str] = []
        for at, (line, following) in enumerate(pairwise([*lines, ""])):
            if not line.startswith("|"):
                continue  # of the program itself: the table may go on behind it, without another header
            if _RULE.fullmatch(following.rstrip()) and _RULE.fullmatch(line.rstrip()) is None:
                header = _cells(line, following.count("|"))  # a title may hold one
            elif header and not _RULE.fullmatch(line.rstrip()):
                yield from self._row(header, _cells(line, len(header)), at)

    def _row(self, header: Sequence[str], cells: Sequence[str], line: int) -> Iterator[TableRow]:
        title = header[-1]
        if len(cells) != len(header):
            return
        told = cells[-1]
        name = _name(told)
        if title != _UNTITLED:
            name = f"{title} / {name}"
        if failed := _NO_TIME.search(told):
            self.without_time(name, f"has no time for it: {failed[2]}")
            return
        if any(map(_is_time, header[:-1])):
            yield TableRow(name, _ns(header, cells), _iterations(told), line)


def _cells(line: str, count: int) -> list[str]:
    """The cells of a row; a name may hold more of what separates them."""
    return [cell.strip() for cell in line.rstrip().split("|", count)[1:]]


def _iterations(cell: str) -> Fraction | None:
    if (match := _ADVICE.search(cell)) is None or (number := _number(match[1])) is None:
        return None
    return Fraction(str(number[1]))


def _name(cell: str) -> str:
    cell = _ADVICE.sub("", cell).rstrip()
    if code := _CODE.search(cell):
        return code[1].replace("``", "`")
    return re.sub(r"^(:\w+:\s*)+", "", cell)


def _is_time(title: str) -> bool:
    """Whether a column has times, or how many in a second."""
    match = _TIME.fullmatch(title)
    return match is not None and (match[2] == "s" or match[1] in _UNITS_NS)


def _ns(header: Sequence[str], cells: Sequence[str]) -> float | None:
    """Of the time and of its inverse what was printed with more digits; None: neither is a number but 0."""
    found: list[tuple[int, float]] = []
    for title, cell in zip(header[:-1], cells, strict=False):
        if (match := _TIME.fullmatch(title)) is None:
            continue
        number = _number(cell)
        if number is None:
            continue
        digits, value = number
        if match[2] == "s":
            found.append((digits, 1e9 / value))
        elif match[1] in _UNITS_NS:
            found.append((digits, value * _UNITS_NS[match[1]]))
    return max(found)[1] if found else None


def _number(cell: str) -> tuple[int, float] | None:
    """How many digits of a number count, and the number; None for what is none, or is 0."""
    text = cell.replace(",", "")
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
        return None
    return len(text.replace(".", "").lstrip("0")), float(text)


ADAPTER = Adapter(
    KIND,
    "a nanobench executable",
    (b"NANOBENCH_ENDLESS",),
    Nanobench,
    priority=1,  # within the test cases of doctest or Catch2, which brings benchmarks of its own
)
