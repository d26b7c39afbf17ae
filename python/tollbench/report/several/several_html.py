"""Several runs as one page without network, server or script: each ratio in each run drawn, and the times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from tollbench import numbers
from tollbench.analysis.several_results import SeveralCell, SeveralRuns
from tollbench.report.interval_strip import log_place
from tollbench.report.page_files import PageFiles
from tollbench.report.several.several_lines import TableLines, footnotes, run_lines, table_lines

FILES = PageFiles(Path(__file__).parent / "page")
_LEAST_REACH = 1.1  # of the axis to each side: what differs by less is no drawing's matter
_MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class RatioAxis:
    """Ratios on a log scale, as percentages of the drawing's width."""

    low: float
    high: float

    def at(self, ratio: float) -> float:
        """Where a ratio lies, 0 to 100."""
        return log_place(ratio, self.low, self.high)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and texts of round ratios; 1 is one of them."""
        candidates = [
            mantissa * 10.0**power
            for power in range(math.floor(math.log10(self.low)) - 1, math.ceil(math.log10(self.high)) + 1)
            for mantissa in (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
        ]
        fitting = [ratio for ratio in candidates if self.low <= ratio <= self.high]
        step = math.ceil(len(fitting) / _MOST_TICKS)
        one = fitting.index(1.0)
        return [(self.at(ratio), f"{ratio:g}×") for ratio in fitting[one % step :: step]]


@dataclass(frozen=True, slots=True)
class RatioBar:
    """One ratio in the drawing, percentages of its width."""

    letter: str
    place: int  # of the run, from 0: its colour
    low: float
    high: float
    ratio: float
    told: str


def axis_of(told: TableLines) -> RatioAxis:
    """Wide enough for all ratios of the table and their intervals."""
    cells = [cell for line in told.lines for cell in line.row.cells if cell is not None]
    ends = numbers.finite(
        end for cell in cells for end in (cell.ratio, cell.ratio_low, cell.ratio_high) if end and end > 0
    )
    low, high = min([*ends, 1.0]), max([*ends, 1.0])
    return RatioAxis(min(low / 1.03, 1.0 / _LEAST_REACH), max(high * 1.03, _LEAST_REACH))


def bars(told: TableLines, letters: list[str]) -> list[list[RatioBar]]:
    """Of each row, those runs that have a ratio of it."""
    axis = axis_of(told)
    return [
        [
            _bar(axis, cell, letter, at)
            for at, (letter, cell) in enumerate(zip(letters, line.row.cells, strict=True))
            if cell is not None and cell.ratio
        ]
        for line in told.lines
    ]


def _bar(axis: RatioAxis, cell: SeveralCell, letter: str, place: int) -> RatioBar:
    ends = cell.ratio, cell.ratio_low, cell.ratio_high
    ratio = axis.at(cell.ratio or 1.0)
    low = ratio if cell.ratio_low is None else axis.at(cell.ratio_low)
    high = ratio if cell.ratio_high is None else axis.at(cell.ratio_high)
    text = f"{letter}: {numbers.ratio(*ends)} {numbers.ratio_interval(*ends)}"
    return RatioBar(letter, place, low, high, ratio, text)


def render(found: SeveralRuns) -> str:
    """The whole page as one text."""
    letters = [one.letter for one in found.runs]
    tables = [table_lines(table, letters) for table in found.tables]
    return FILES.templates.get_template("several.html.j2").render(
        style=Markup(FILES.text("several.css")),
        runs=run_lines(found),
        letters=letters,
        warnings=[(one.letter, warning) for one in found.runs for warning in one.warnings],
        tables=[
            (told, list(zip(told.lines, bars(told, letters), strict=True)), axis_of(told).ticks())
            for told in tables
        ],
        differing=sum(bool(line.differs) for told in tables for line in told.lines),
        notes=footnotes(found),
    )
