"""The page's section of claims as formatted text, linked to the tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tollbench.analysis.results import Results
from tollbench.report.anchors import Anchors, slug
from tollbench.report.claim_lines import (
    TITLE,
    VERDICTS,
    ClaimLine,
    claim_lines,
    count_sentence,
    of_verdict,
)
from tollbench.text import commands
from tollbench.words import Ruling

_MOST_OPEN = 6  # so many lines leave room for the first workload on the first screen
_MARKS = {Ruling.DOES_NOT_HOLD: "no", Ruling.HOLDS: "yes"}


def claim_section(results: Results, anchors: Anchors) -> dict[str, Any]:
    """What claims.html.j2 sets: decided claims by verdict, then those that cannot be told."""
    lines = claim_lines(results)
    tables = {workload.workload: workload for workload in results.workloads}

    def told(line: ClaimLine) -> dict[str, Any]:
        first = line.cases[0] if line.cases else None
        row = anchors.case(tables[first.workload], first) if first else None
        return asdict(line) | {
            "anchor": f"claim-{slug(line.name)}",
            "link": row or anchors.workloads.get(line.workload, "workloads"),
            "reason": commands(line.reason),
        }

    decided: list[dict[str, Any]] = []
    unfolded = 0
    for ruling, mark in _MARKS.items():
        if found := of_verdict(lines, ruling):
            unfolded += len(found)
            title, members = VERDICTS[ruling].capitalize(), [told(line) for line in found]
            decided.append({"title": title, "mark": mark, "lines": members, "open": unfolded <= _MOST_OPEN})
    return {
        "title": TITLE,
        "told": bool(lines),
        "sentence": count_sentence(lines),
        "decided": decided,
        "open": [told(line) for line in of_verdict(lines, Ruling.CANNOT_BE_TOLD)],
    }
