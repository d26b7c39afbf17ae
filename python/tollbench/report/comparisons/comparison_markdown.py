"""A table for a pull-request comment."""

from __future__ import annotations

import re

from tollbench.compare.verdicts import Comparisons, Verdict
from tollbench.report.comparisons.comparison_lines import ComparisonLine, footnotes, headline, lines
from tollbench.text import clean

_SHOWN_AT_ONCE = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@$&-])")


def render(found: Comparisons) -> str:
    """The answer, what differs, and everything else folded away."""
    shown = lines(found)
    fine = (Verdict.NO_DIFFERENCE, Verdict.UNCHANGED_CODE)
    first = [line for line in shown if line.item.verdict not in fine][:_SHOWN_AT_ONCE]
    rest = [line for line in shown if line not in first]
    parts = [f"**toll compare: {escaped(headline(found))}**", ""]
    first_side, *others = [escaped(clean(side)) for side in found.sides]
    parts += [f"{side} is compared with {first_side}." for side in others]
    parts.append("")
    if first:
        parts += [_table(first), ""]
    if rest:
        parts += [
            "<details><summary>" + f"{len(rest)} more" + "</summary>",
            "",
            _table(rest),
            "",
            "</details>",
            "",
        ]
    parts += [f"{escaped(note)}  " for note in footnotes(found)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown, and a mention or a link in it, cannot make anything of."""
    return _SPECIAL.sub(r"\\\1", text)


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
