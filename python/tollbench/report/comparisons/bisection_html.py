"""What `toll bisect` found as a page: the answer as it is told, and the path of the search, a row a visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tollbench.history.bisections import BisectionOutcome, SearchEnd, SearchStep
from tollbench.report import bisection_lines
from tollbench.report.comparisons.comparison_page import FILES
from tollbench.text import clean

_SURE = 0.9  # of a commit that is like GOOD, or like BAD
_SHORT = 10  # digits


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """One visit; places are percentages of the drawing's width."""

    commit: str
    at: float
    found: tuple[float, ...]
    side: str
    rounds: str
    changed: str
    leading: str
    probability: str
    told: str


def render(outcome: BisectionOutcome, told: Mapping[str, str]) -> str:
    """The whole page as one text; `told` has machine, started_utc and command_line."""
    headline, *lines = bisection_lines.lines(outcome)
    found = tuple(
        _at(outcome, commits[-1].commit)
        for part in outcome.searches or (outcome,)
        for commits in part.suspects
        if part.end is SearchEnd.FOUND
    )
    return FILES.templates.get_template("bisect.html.j2").render(
        headline=headline,
        lines=lines,
        steps=[_drawn(outcome, step, found) for step in outcome.path],
        style=FILES.text("compare.css") + FILES.text("bisect.css"),
        **told,
    )


def _at(outcome: BisectionOutcome, commit: str) -> float:
    return round(100.0 * outcome.places.get(commit, 0) / max(1, max(outcome.places.values(), default=1)), 2)


def _drawn(outcome: BisectionOutcome, step: SearchStep, found: tuple[float, ...]) -> DrawnStep:
    known = bool(step.rounds or step.same_as)
    side = "bad" if step.changed >= _SURE else "good" if step.changed <= 1.0 - _SURE else ""
    told = clean(step.reason)
    if step.same_as:
        told = f"executes the same code as {step.same_as[:_SHORT]}, and was not launched"
    return DrawnStep(
        commit=step.commit[:_SHORT],
        at=_at(outcome, step.commit),
        found=found,
        side=side if known else "",
        rounds=str(step.rounds) if step.rounds else "",
        changed=bisection_lines.chance_of(step.changed) if known else "",
        leading="..".join(part[:_SHORT] for part in step.leading.split("..")),
        probability=bisection_lines.chance_of(step.probability),
        told=told,
    )
