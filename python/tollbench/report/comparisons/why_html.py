"""Explanations as a page of their own, and as what a comparison's page is given of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tollbench.compare.explanations import Explanation, Explanations
from tollbench.report.comparisons import why_lines
from tollbench.report.comparisons.comparison_page import FILES
from tollbench.report.comparisons.flame import flame


def render(found: Explanations) -> str:
    """The whole page as one text."""
    return FILES.templates.get_template("why.html.j2").render(
        found=found,
        headline=why_lines.headline(found),
        explanations=parts(found.explanations),
        footnotes=why_lines.closing(found),
        several=len(found.sides) > 2,
        style=FILES.text("compare.css") + FILES.text("why.css"),
    )


def parts(explanations: Iterable[Explanation]) -> list[tuple[Any, ...]]:
    """What the template `explained` draws of each."""
    return [
        (
            each,
            why_lines.lines(each),
            flame(each.flame),
            [(name, why_lines.both(amounts)) for name, amounts in why_lines.totals(each)],
            why_lines.notes(each),
        )
        for each in explanations
    ]
