"""How a workload's own numbers (`[details.NAME]` in suite.toml) are written: by their unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tollbench import numbers
from tollbench.analysis.results import Detail, Estimate, Row, WorkloadResult
from tollbench.text import clean

Write = Callable[[float, float | None, float | None], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class WrittenDetail:
    """One detail of all rows: its words, its unit as the column says it, and each row's text."""

    name: str
    title: str
    unit: str
    meaning: str
    aligned: bool  # whether decimal points stand below each other: every row in the same unit
    _write: Write
    _factor: float = 1.0  # from the stored unit to `unit`

    @property
    def head(self) -> str:
        """The unit as a column's head says it: "" where each row has its own."""
        return self.unit if self.aligned else ""

    def estimate(self, row: Row) -> Estimate | None:
        """The row's number; None where its program did not tell it."""
        return row.details.get(self.name)

    def triple(self, row: Row) -> tuple[float | None, float | None, float | None]:
        """Value and interval in `unit` (bytes in KiB), for a chart."""
        found = self.estimate(row)
        ends = (found.value, found.low, found.high) if found else (None, None, None)
        value, low, high = (None if end is None else end * self._factor for end in ends)
        return value, low, high

    def with_unit(self, row: Row) -> str:
        """The text with its unit and interval, where both are there."""
        spread = self.interval(row)
        told = f"{self.text(row)} {self.head}".rstrip()
        return told if spread == numbers.MISSING else f"{told} {spread}"

    def text(self, row: Row) -> str:
        """The value with the digits that its interval supports."""
        found = self.estimate(row)
        return self._write(found.value, found.low, found.high)[0] if found else numbers.MISSING

    def interval(self, row: Row) -> str:
        """The interval in the value's own digits."""
        found = self.estimate(row)
        return self._write(found.value, found.low, found.high)[1] if found else numbers.MISSING


def written(workload: WorkloadResult) -> list[WrittenDetail]:
    """The workload's details in the order of suite.toml."""
    return [_written(one, (row.details.get(one.name) for row in workload.rows)) for one in workload.details]


def _written(detail: Detail, estimates: Iterable[Estimate | None]) -> WrittenDetail:
    values = [found.value for found in estimates if found]
    unit, aligned, factor = clean(detail.unit), True, 1.0
    if unit in ("bytes", "B"):
        unit, aligned, factor = "KiB", False, 1.0 / 1024.0
    elif unit == "share":
        unit, factor = "%", 100.0
    elif numbers.convert(1.0, unit, "ns") is not None:
        scale = numbers.time_scale(values, unit)
        unit, factor = scale.unit, scale.factor
    write = _scaled(factor) if aligned else _as_size
    title, meaning = clean(detail.title), clean(detail.meaning)
    title = title[:1].upper() + title[1:]
    return WrittenDetail(detail.name, title, unit, meaning, aligned, write, factor)


def _scaled(factor: float) -> Write:
    def write(value: float, low: float | None, high: float | None) -> tuple[str, str]:
        return _plainly(*(None if each is None else each * factor for each in (value, low, high)))

    return write


def _plainly(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    if value is not None and value.is_integer() and (low is None or value == low == high):
        return numbers.fixed(
            value, 0
        ), numbers.MISSING  # a count, the same in every launch or of one: in full
    if low is not None and low == high:
        return numbers.plain(value), numbers.MISSING
    return numbers.quantity(value, low, high), numbers.interval(value, low, high)


def _as_size(value: float, low: float | None, high: float | None) -> tuple[str, str]:
    if low is None or high is None or low == high:
        return numbers.size(value), numbers.MISSING
    return numbers.size(value), f"[{numbers.size(low)}, {numbers.size(high)}]"
