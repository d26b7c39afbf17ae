"""One page without network, server or script: the answer, a drawing of all intervals, the table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tollbench.compare.verdicts import Comparisons
from tollbench.report.comparisons import count_lines, why_html, why_lines
from tollbench.report.comparisons.comparison_lines import (
    ComparisonLine,
    change,
    footnotes,
    headline,
    order_of,
    timed,
)
from tollbench.report.comparisons.comparison_page import FILES
from tollbench.text import clean

_LEAST_SHOWN = 0.02  # of the ratio axis to each side, so that noise does not fill it
_MOST_SHOWN = 1.0
_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """Log ratios from -reach to reach as percentages of the drawing's width."""

    reach: float

    def at(self, ratio: float | None, otherwise: float = 0.0) -> float:
        """Where a ratio lies, 0 to 100; `otherwise` for an end that is open."""
        if ratio is None:
            return otherwise
        return round(min(100.0, max(0.0, 50.0 + 50.0 * math.log(ratio) / self.reach)), 3)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and texts: no change, and one step to each side."""
        step = max((tick for tick in _TICKS if math.log1p(tick) <= 0.8 * self.reach), default=_TICKS[0])
        ratios = (1.0 / (1.0 + step), 1.0, 1.0 + step)
        return [(self.at(ratio), "0" if ratio == 1.0 else change(ratio)) for ratio in ratios]


def axis_for(found: Comparisons) -> Axis:
    """Wide enough for the threshold and most intervals; what goes beyond it ends at the edge."""
    ends = [
        abs(math.log(end)) for item in found.comparisons for end in (item.low, item.ratio, item.high) if end
    ]
    wanted = max([2.0 * math.log1p(found.threshold), math.log1p(_LEAST_SHOWN), *ends]) * 1.05
    return Axis(min(wanted, math.log1p(_MOST_SHOWN)))


def render(found: Comparisons) -> str:
    """The whole page as one text."""
    axis = axis_for(found)
    bars = [(line, _bar(line, axis)) for line in timed(found)]
    margin = (axis.at(1.0 / (1.0 + found.threshold)), axis.at(1.0 + found.threshold))
    return FILES.templates.get_template("compare.html.j2").render(
        found=found,
        headline=headline(found),
        footnotes=footnotes(found),
        lines=bars,
        any_beyond=any(bar is not None and (bar.left or bar.right) for _, bar in bars),
        orders=[(clean(order.benchmark), order_of(order)) for order in found.orders],
        counted=count_lines.any_counts(found),
        changed_counts=count_lines.changed(found),
        equal_counts=list(count_lines.equal(found)),
        several=len(found.sides) > 2,
        margin=margin,
        ticks=axis.ticks(),
        style=FILES.text("compare.css") + (FILES.text("why.css") if found.why else ""),
        why=why_html.parts(found.why),
        why_notes=why_lines.footnotes(found.why),
        regression=any(
            [item.regression for item in found.comparisons]
            + [bool(count.fails) for count in found.all_counts()]
        ),
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval in the drawing; percentages of its width."""

    low: float
    high: float
    ratio: float | None  # None: beyond the edge
    left: bool  # whether the interval goes on beyond this edge, or is open there
    right: bool


def _bar(line: ComparisonLine, axis: Axis) -> Bar | None:
    item = line.item
    if item.ratio is None:
        return None
    return Bar(
        axis.at(item.low, 0.0),
        axis.at(item.high, 100.0),
        axis.at(item.ratio) if abs(math.log(item.ratio)) <= axis.reach else None,
        left=item.low is None or math.log(item.low) < -axis.reach,
        right=item.high is None or math.log(item.high) > axis.reach,
    )
