"""What --read understands: JSON or CSV, with a name and a time, in any program's output."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tollbench.errors import TollError
from tollbench.text import shown

UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
A_SECOND = "/s"  # a unit too: operations a second
_FORMS = ("json", "csv")
_DELIMITERS = ",;\t"
_HOW = "write FORM:NAME,TIME,UNIT, for example --read 'json:name,stats.median,us' or --read csv:name,time,ms"


@dataclass(frozen=True, slots=True)
class Reading:
    """Where names and times stand."""

    form: str  # json, csv
    name: tuple[str, ...]  # fields or columns; several make one name, with " / " between them
    time: str
    unit: str

    @staticmethod
    def of(text: str) -> Reading:
        """From FORM[:NAME,TIME[,UNIT]]; by default "name", "ns", and ns. Raises TollError."""
        form, _, rest = text.partition(":")
        fields = rest.split(",") if rest else ["name", "ns"]
        name, time, unit = (*fields, "ns")[:3] if len(fields) > 1 else ("", "", "")
        if form not in _FORMS or len(fields) > 3 or not name or not time or not all(name.split("+")):
            raise TollError(f"--read {shown(text, 100)} cannot be understood", _HOW)
        if unit not in (*UNITS_NS, A_SECOND):
            raise TollError(
                f"--read {shown(text, 100)} has an unknown unit",
                f"one of: {', '.join([*UNITS_NS, A_SECOND])}",
            )
        return Reading(form, tuple(name.split("+")), time, unit)

    def results(self, text: str) -> list[tuple[str, float]]:
        """Every name with its ns an operation (NaN for what is no number), in the order of the output."""
        records = _json_records(text) if self.form == "json" else self._csv_records(text)
        found: list[tuple[str, float]] = []
        for record in records:
            values = [_field(record, field) for field in (*self.name, self.time)]
            if all(value is not None for value in values):
                found.append((" / ".join(map(str, values[:-1])), self._ns(values[-1])))
        return found

    def _ns(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            return math.nan
        if self.unit == A_SECOND:
            return 1e9 / number if number > 0.0 else math.nan
        return number * UNITS_NS[self.unit]

    def _csv_records(self, text: str) -> Iterator[Mapping[str, Any]]:
        """Rows below a header that names all columns; lines with other numbers of cells are words between."""
        wanted = {*self.name, self.time}
        header: list[str] = []
        delimiter = ","
        for line in text.splitlines():
            found = next((one for one in _DELIMITERS if wanted <= set(_cells(line, one))), None)
            if found is not None:
                delimiter, header = found, _cells(line, found)
            elif header and len(cells := _cells(line, delimiter)) == len(header):
                yield dict(zip(header, cells, strict=True))


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return []


def _json_records(text: str) -> Iterator[Mapping[str, Any]]:
    """Every object at any depth of every JSON value that a line of the output begins with."""
    decoder = json.JSONDecoder()
    at = 0
    starts = re.compile(r"^\s*(?=[\[{])", re.MULTILINE)
    while (start := starts.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            at = start.end() + 1
            continue
        yield from _objects(value)


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        inner: Sequence[Any] = (
            list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else ()
        )
        waiting += reversed(inner)


def _field(record: Mapping[str, Any], path: str) -> Any:
    """A field of an object; dots lead into objects within it, unless a field has that very name."""
    value: Any = record
    for step in [path] if path in record else path.split("."):
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return value if not isinstance(value, dict | list) else None
