"""A workload as a small drawing without script: a line a row, its interval on one logarithmic axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.answer_lines import aside, value_text
from tollbench.report.cases import Naming, groups
from tollbench.text import several

MOST_BARS = 18  # more would make a folded workload higher than its three lines of text
_LEAST_SPREAD = 1.1  # of the axis: what differs by less fills no drawing


def log_place(value: float, low: float, high: float, digits: int = 2) -> float:
    """Where a value lies between two others on a logarithmic axis, 0 to 100; beyond them at their end."""
    if value <= low:
        return 0.0
    return round(100.0 * min(1.0, math.log(value / low) / math.log(high / low)), digits)


@dataclass(frozen=True, slots=True)
class StripBar:
    """One row: percentages of the drawing's width, and how it stands to the others."""

    low: float
    high: float
    place: float
    kind: str  # "fastest", "tied" with it, "aside" of the comparison, "" for any other
    begins: bool  # another setting than the row above it
    told: str


@dataclass(frozen=True, slots=True)
class IntervalStrip:
    """Rows in the order of their table, with the least and the most of their values as texts."""

    bars: tuple[StripBar, ...]
    least: str
    most: str
    more: str  # of rows that are not drawn

    @property
    def told(self) -> str:
        """The drawing in words."""
        return "\n".join(bar.told for bar in self.bars) + (f"\n{self.more}" if self.more else "")


def interval_strip(workload: WorkloadResult) -> IntervalStrip | None:
    """None where fewer than two rows have a time: that is no picture."""
    naming = Naming.of(workload)
    found = [
        (number, _kind(row, tied), row)
        for number, group in enumerate(groups(workload))
        for row, tied in group.with_ties
        if row.status == "ok" and row.value is not None and 0.0 < row.value < math.inf
    ]
    shown = found[:MOST_BARS]
    if len(shown) < 2:
        return None
    rows = [row for _, _, row in shown]
    ends = [
        end for end in numbers.finite(e for row in rows for e in (row.low, row.value, row.high)) if end > 0
    ]
    spare = max(_LEAST_SPREAD / (max(ends) / min(ends)), 1.0) ** 0.5
    low, high = min(ends) / spare, max(ends) * spare
    bars = tuple(
        StripBar(
            low=log_place(row.value if row.low is None else row.low, low, high, 1),
            high=log_place(row.value if row.high is None else row.high, low, high, 1),
            place=log_place(row.value, low, high, 1),
            kind=kind,
            begins=at > 0 and number != shown[at - 1][0],
            told=f"{naming.label(row)} {value_text(row, workload)}",
        )
        for at, (number, kind, row) in enumerate(shown)
        if row.value is not None
    )
    by_value = sorted(rows, key=lambda row: row.value or 0.0)
    rest = len(found) - len(shown)
    return IntervalStrip(
        bars,
        value_text(by_value[0], workload),
        value_text(by_value[-1], workload),
        several(rest, "more row") if rest else "",
    )


def _kind(row: Row, tied: bool) -> str:
    if row.fastest:
        return "fastest"
    return "tied" if tied else "aside" if aside(row) else ""
