"""ankerl::nanobench executables as they are, by the table that they print: a launch runs all that is in them.

nanobench has no command line of its own, so that a launch can be told neither what to run nor for how long;
what the program's own arguments choose is written with the side. A row of the table has ns/op and op/s, each
with two digits behind the point. One of them has seven digits that count or more, and that one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, numbered
from tollbench.compare.subject import Adapter

KIND = "nanobench"
_UNTITLED = "benchmark"  # the title of a table whose author gave none
_UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"([^\s/]+)/(\S.*)")  # "ns/op", "ms/byte"; "op/s" is looked for by the unit
_RULE = re.compile(r"\|[-:|]+")
_ADVICE = re.compile(r"\(?Unstable with ~[\d.,]+ iters\. Increase .*$")
_CODE = re.compile(r"`(.*)`")  # greedy: a backtick in a name is doubled
_NO_TIME = re.compile(r":boom:\s*(.*?)\s*\((.*)\)$")


class Nanobench(WholeOutput):
    """Existing executables, unchanged. A benchmark is called "title / name", in an untitled table "name"."""

    if_none = (
        ": it prints no table of nanobench's; next: choose its benchmarks by its own arguments"
        " ('./tests -ns -tc=bench_*' for doctest), read another output by --read, or say --kind"
    )

    def read(self, report: bytes) -> Printed:
        """All tables of the output, whatever else stands between them."""
        text = report.decode("utf-8", "replace")
        return list(numbered(self._rows(text.splitlines())))

    def _rows(self, lines: Sequence[str]) -> Iterator[tuple[str, float]]:
        header: list[str] = []
        for line, following in pairwise([*lines, ""]):
            if not line.startswith("|"):
                header = header if not line.strip() else []
            elif _RULE.fullmatch(following.rstrip()) and _RULE.fullmatch(line.rstrip()) is None:
                header = _cells(line, following.count("|"))  # a title may hold one
            elif header and not _RULE.fullmatch(line.rstrip()):
                yield from self._row(header, _cells(line, len(header)))

    def _row(self, header: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, float]]:
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
        ns = _ns(header, cells)
        if ns is not None:
            yield name, ns


def _cells(line: str, count: int) -> list[str]:
    """The cells of a row; a name may hold more of what separates them."""
    return [cell.strip() for cell in line.rstrip().split("|", count)[1:]]


def _name(cell: str) -> str:
    cell = _ADVICE.sub("", cell).rstrip()
    if code := _CODE.search(cell):
        return code[1].replace("``", "`")
    return re.sub(r"^(:\w+:\s*)+", "", cell)


def _ns(header: Sequence[str], cells: Sequence[str]) -> float | None:
    """Of the time and of its inverse what was printed with more digits; None: the table has neither."""
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
