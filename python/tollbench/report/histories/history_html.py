"""The page of a history: no network and no server; without scripts its tables and small lines are there.

A page is as large whatever number of commits there are: a line is drawn from so many points as a screen can
show (`thinned`), and of commits those alone are named that a point stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tollbench import numbers
from tollbench.history.histories import BenchmarkLine, Histories, HistoryChange
from tollbench.report import embedded
from tollbench.report.comparisons.comparison_page import FILES as COMPARISON
from tollbench.report.histories import history_lines
from tollbench.report.histories.thinned import DrawnPoint, drawn_points, most_of_a_line
from tollbench.report.page_files import PageFiles
from tollbench.text import clean

FILES = PageFiles(Path(__file__).parent / "page")
_WIDTH, _HEIGHT, _SPARKS = 240, 34, 80  # of a small line: its box, and its points at most
_SUBJECT = 90  # letters
_MOST_SMALL = 400  # benchmarks with a small line: beyond, the chart alone
_LEAST_SPAN = 0.02


def render(found: Histories) -> str:
    """The whole page as one text. Raises TollError where the checkout lacks the chart library."""
    behaviour = embedded.behaviour(FILES, "history.js")
    of_line: dict[str, list[HistoryChange]] = {line.benchmark: [] for line in found.lines}
    for change in found.changes:
        of_line[change.benchmark].append(change)
    ordered = sorted(found.lines, key=lambda line: (not of_line[line.benchmark], not line.recent))
    most = most_of_a_line(len(ordered))
    drawn = [drawn_points(line, of_line[line.benchmark], most) for line in ordered]
    rows = [
        _row(found, line, of_line[line.benchmark], small=number < _MOST_SMALL)
        for number, line in enumerate(ordered)
    ]
    return FILES.templates.get_template("history.html.j2").render(
        found=found,
        headline=history_lines.headline(found),
        footing=history_lines.footing(found),
        noun=history_lines.noun(found),
        changes=history_lines.change_lines(found),
        breaks=history_lines.break_lines(found),
        unbuilt=history_lines.unbuilt(found),
        rows=rows,
        bad=any(change.ratio > 1.0 for change in found.changes),
        box=(_WIDTH, _HEIGHT),
        thinned=any(point.commits > 1 for parts in drawn for points in parts for point in points),
        style=Markup(COMPARISON.text("compare.css") + FILES.text("history.css")),
        policy=embedded.policy(behaviour),
        charts=Markup(embedded.packed_chart_library()),
        behaviour=Markup(behaviour),
        data=Markup(embedded.packed_json(_data(found, ordered, of_line, drawn))),
    )


def _row(found: Histories, line: BenchmarkLine, own: list[HistoryChange], *, small: bool) -> dict[str, Any]:
    return {
        "benchmark": clean(line.benchmark),
        "now": history_lines.now(line),
        "scatter": history_lines.scatter(line),
        "changes": len(own),
        "states": "; ".join(history_lines.states(found, line)),
        "commits": len(line.place),
        "spark": _spark(line, own) if small else None,
    }


def _spark(line: BenchmarkLine, own: list[HistoryChange]) -> dict[str, Any]:
    """A path a part, and where changes lie; in the units of the box."""
    parts = drawn_points(line, own, _SPARKS)
    ratios = [point.ratio for points in parts for point in points]
    low, high = min(ratios), max(ratios)
    span = max(high - low, _LEAST_SPAN)
    begin = (low + high - span) / 2.0
    first, last = min(line.place), max(line.place)

    def across(place: int) -> float:
        return round(2.0 + (_WIDTH - 4.0) * (place - first) / max(1, last - first), 1)

    def down(ratio: float) -> float:
        return round(_HEIGHT - 3.0 - (_HEIGHT - 6.0) * (ratio - begin) / span, 1)

    return {
        "paths": [
            (
                "M" + "L".join(f"{across(point.place):g} {down(point.ratio):g}" for point in points),
                "" if part == line.latest else "other",
            )
            for part, points in zip(dict.fromkeys(line.part), parts, strict=True)
        ],
        "marks": [(across(change.place), "slower" if change.ratio > 1.0 else "faster") for change in own],
    }


def _data(
    found: Histories,
    lines: Sequence[BenchmarkLine],
    of_line: dict[str, list[HistoryChange]],
    drawn: Sequence[list[list[DrawnPoint]]],
) -> dict[str, Any]:
    """What the script draws: percentages against the reference, rounded to what a screen can show."""
    used = {point.place for parts in drawn for points in parts for point in points}
    used |= {place for change in found.changes for place in (change.first, change.place, change.last)}
    used |= {one.place for one in found.breaks}
    return {
        "commits": {
            place: [
                history_lines.short(found, commit.commit),
                _instant(commit.utc),
                commit.author,
                commit.subject[:_SUBJECT],
            ]
            for place in sorted(used)
            for commit in [found.commits[place]]
        },
        "count": len(found.commits),
        "noun": history_lines.noun(found),
        "breaks": [[one.place, clean(one.reason), one.of == "times"] for one in found.breaks],
        "lines": [
            {
                "time": line.is_time,
                "latest": list(dict.fromkeys(line.part)).index(line.latest),
                "parts": [[_point(point) for point in points] for points in parts],
                "changes": [_change(change) for change in of_line[line.benchmark]],
            }
            for line, parts in zip(lines, drawn, strict=True)
        ],
    }


def _instant(utc: str) -> str:
    """In UTC to the second, as a script reads it: runs of one day have an order, and none another day."""
    try:
        told = datetime.fromisoformat(utc)
    except ValueError:
        return utc[:10]
    return told.replace(tzinfo=told.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _point(point: DrawnPoint) -> list[float | None]:
    percents = [
        None if ratio is None else round(100.0 * (ratio - 1.0), 2)
        for ratio in (point.ratio, point.low, point.high)
    ]
    return [point.place, *percents, *([point.commits] if point.commits > 1 else [])]


def _change(change: HistoryChange) -> list[Any]:
    word = "slower" if change.ratio > 1.0 else "faster"
    return [
        *(change.place, change.first, change.last, word),
        f"{word} by {numbers.difference(abs(change.ratio - 1.0))}",
    ]
