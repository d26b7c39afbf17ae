"""A workload's own numbers (`[details.NAME]` in suite.toml) as columns: written by their unit."""

from __future__ import annotations

from tollbench import numbers
from tollbench.analysis.results import Detail, Row, WorkloadResult
from tollbench.report.anchors import slug
from tollbench.report.showing import Column, Shown, Triple, Write, triple_of
from tollbench.text import clean

KIB = numbers.Scale("KiB", 1.0 / 1024.0)


def columns(workload: WorkloadResult) -> list[Column[Row]]:
    """In the order of suite.toml."""
    return [_column(one, workload) for one in workload.details]


def _column(detail: Detail, workload: WorkloadResult) -> Column[Row]:
    def read(row: Row) -> Triple:
        return triple_of(row.details.get(detail.name))

    scale = _scale(clean(detail.unit), [read(row)[0] for row in workload.rows])
    aligned = scale is not KIB  # a size has the unit that fits its row
    write: tuple[Write, Write] = (_text, _interval) if aligned else (size, _size_interval)
    title, head = clean(detail.title), scale.unit if aligned else ""
    title = title[:1].upper() + title[1:]
    named, name = list(filter(None, (title, head))), f"detail_{detail.name}"
    return Column(
        f"detail-{slug(detail.name)}", title, head, clean(detail.meaning), read, scale, *write,
        head=head, aligned=aligned, csv=(name, f"{name}_low", f"{name}_high"),
        terminal=Shown("\n".join(named), 2), markdown=Shown(", ".join(named), 3, joined=True),
        chart=Shown(title, 1),
    )  # fmt: skip


def _scale(unit: str, values: list[float | None]) -> numbers.Scale:
    if unit in ("bytes", "B"):
        return KIB
    if unit == "share":
        return numbers.Scale("%", 100.0)
    return numbers.time_scale(values, unit)  # other units stay as they are


def size(kib: float | None, _low: float | None = None, _high: float | None = None) -> str:
    """Bytes, given in KiB, in the unit that fits them."""
    return numbers.size(None if kib is None else kib * 1024.0)


def _size_interval(_value: float | None, low: float | None, high: float | None) -> str:
    if low is None or high is None or low == high:
        return numbers.MISSING
    return f"[{size(low)}, {size(high)}]"


def _text(value: float | None, low: float | None, high: float | None) -> str:
    if value is not None and value.is_integer() and (low is None or value == low == high):
        return numbers.fixed(value, 0)  # a count, the same in every launch or of one: in full
    return numbers.plain(value) if low is not None and low == high else numbers.quantity(value, low, high)


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    return numbers.MISSING if low == high else numbers.interval(value, low, high)
