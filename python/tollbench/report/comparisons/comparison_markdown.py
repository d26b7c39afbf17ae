"""A table for a pull-request comment."""

from __future__ import annotations

from collections.abc import Sequence

from tollbench.compare.verdicts import Comparisons, Verdict
from tollbench.report.comparisons import count_lines, why_markdown
from tollbench.report.comparisons.comparison_lines import ComparisonLine, footnotes, headline, timed
from tollbench.report.comparisons.markdown_text import escaped
from tollbench.text import clean

_SHOWN_AT_ONCE = 20


def render(found: Comparisons) -> str:
    """The answer, what differs, and everything else folded away."""
    shown = timed(found)
    fine = (Verdict.NO_DIFFERENCE, Verdict.UNCHANGED_CODE)
    first = [line for line in shown if line.item.verdict not in fine][:_SHOWN_AT_ONCE]
    rest = [line for line in shown if line not in first]
    parts = ["<!-- toll compare -->", f"**toll compare: {escaped(headline(found))}**", ""]
    first_side, *others = [escaped(clean(side)) for side in found.sides]
    parts += [f"{side} is compared with {first_side}." for side in others]
    parts.append("")
    if first:
        parts += [_table(first), ""]
    if rest:
        parts += _folded(f"{len(rest)} more", _table(rest))
    parts += why_markdown.sections(found.why, several=len(found.sides) > 2)
    parts += _counts(found)
    parts += [f"{escaped(note)}  " for note in footnotes(found)]
    return "\n".join(parts) + "\n"


def _folded(summary: str, text: str) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", text, "", "</details>", ""]


def _counts(found: Comparisons) -> list[str]:
    """What differs, and what is equal folded away."""
    changed = count_lines.changed(found)
    parts = [_count_table(changed[:_SHOWN_AT_ONCE]), ""] if changed else []
    if more := changed[_SHOWN_AT_ONCE:]:
        parts += _folded(f"{len(more)} more counts", _count_table(more))
    if same := list(count_lines.equal(found)):
        rows = ["| benchmark | side | equal |", "| --- | --- | --- |"]
        rows += [f"| {escaped(line.benchmark)} | {escaped(line.b)} | {escaped(line.told)} |" for line in same]
        parts += _folded("equal counts", "\n".join(rows))
    return parts


def _count_table(shown: Sequence[count_lines.CountLine]) -> str:
    rows = [
        "| benchmark | side | count | before | after | change | verdict |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for line in shown:
        verdict = f"**{escaped(line.verdict)}**" if line.item.fails else escaped(line.verdict)
        cells = [line.benchmark, line.b, line.metric, line.a_count, line.b_count, line.change]
        rows.append("| " + " | ".join(map(escaped, cells)) + f" | {verdict}: {escaped(line.reason)} |")
    return "\n".join(rows)


def _table(shown: list[ComparisonLine]) -> str:
    rows = [
        "| benchmark | side | before | after | change | interval | verdict |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for line in shown:
        verdict = f"**{line.verdict}**" if line.item.regression else line.verdict
        cells = [line.benchmark, line.b, line.a_time, line.b_time, line.change, line.interval]
        reason = escaped(line.reason)
        rows.append("| " + " | ".join(map(escaped, cells)) + f" | {verdict}: {reason} |")
    return "\n".join(rows)
