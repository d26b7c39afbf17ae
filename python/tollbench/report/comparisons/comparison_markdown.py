"""A table for a pull-request comment."""

from __future__ import annotations

from collections.abc import Sequence

from tollbench.compare.verdicts import Comparisons, Verdict
from tollbench.report.comparisons import count_lines, why_markdown
from tollbench.report.comparisons.comparison_lines import ComparisonLine, footnotes, headline, order_of, timed
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
    if found.crosswise:
        parts.append(f"{', '.join([first_side, *others])} are compared with each other, in all pairs.")
    else:
        parts += [f"{side} is compared with {first_side}." for side in others]
    parts.append("")
    if first:
        parts += [_table(first, crosswise=found.crosswise), ""]
    if rest:
        parts += _folded(f"{len(rest)} more", _table(rest, crosswise=found.crosswise))
    parts += [f"{escaped(clean(order.benchmark))}: {escaped(order_of(order))}  " for order in found.orders]
    parts += [""] if found.orders else []
    parts += why_markdown.sections(found.why, several=len(found.sides) > 2, crosswise=found.crosswise)
    parts += _counts(found)
    parts += [f"{escaped(note)}  " for note in footnotes(found)]
    return "\n".join(parts) + "\n"


def _folded(summary: str, text: str) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", text, "", "</details>", ""]


def _counts(found: Comparisons) -> list[str]:
    """What differs, and what is equal folded away."""
    changed = count_lines.changed(found)
    crosswise = found.crosswise
    parts = [_count_table(changed[:_SHOWN_AT_ONCE], crosswise=crosswise), ""] if changed else []
    if more := changed[_SHOWN_AT_ONCE:]:
        parts += _folded(f"{len(more)} more counts", _count_table(more, crosswise=crosswise))
    if same := list(count_lines.equal(found)):
        rows = ["| benchmark | side | equal |", "| --- | --- | --- |"]
        rows += [f"| {escaped(line.benchmark)} | {escaped(line.b)} | {escaped(line.told)} |" for line in same]
        parts += _folded("equal counts", "\n".join(rows))
    return parts


def _heads(*, crosswise: bool) -> str:
    return "other side | this side" if crosswise else "before | after"


def _count_table(shown: Sequence[count_lines.CountLine], *, crosswise: bool) -> str:
    rows = [
        f"| benchmark | side | count | {_heads(crosswise=crosswise)} | change | verdict |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for line in shown:
        verdict = f"**{escaped(line.verdict)}**" if line.item.fails else escaped(line.verdict)
        cells = [line.benchmark, line.b, line.metric, line.a_count, line.b_count, line.change]
        rows.append("| " + " | ".join(map(escaped, cells)) + f" | {verdict}: {escaped(line.reason)} |")
    return "\n".join(rows)


def _table(shown: list[ComparisonLine], *, crosswise: bool) -> str:
    rows = [
        f"| benchmark | side | {_heads(crosswise=crosswise)} | change | interval | verdict |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for line in shown:
        verdict = f"**{line.verdict}**" if line.item.regression else line.verdict
        cells = [line.benchmark, line.b, line.a_time, line.b_time, line.change, line.interval]
        reason = escaped(line.reason)
        rows.append("| " + " | ".join(map(escaped, cells)) + f" | {verdict}: {reason} |")
    return "\n".join(rows)
