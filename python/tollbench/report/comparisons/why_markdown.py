"""Explanations for a pull-request comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tollbench.compare.explanations import Explanation, Explanations, Hunk
from tollbench.report.comparisons import why_lines
from tollbench.report.comparisons.markdown_text import escaped
from tollbench.report.comparisons.side_names import which_sides
from tollbench.text import clean

_SHOWN = 5  # functions of a benchmark


def render(found: Explanations) -> str:
    """The answer, and a table for each benchmark."""
    first, *others = [escaped(clean(side)) for side in found.sides]
    head = ["<!-- toll why -->", f"**toll why: {escaped(why_lines.headline(found))}**", ""]
    head += [f"{side} is held against {first}." for side in others] + [""]
    tail = [f"{escaped(note)}  " for note in why_lines.closing(found)]
    return "\n".join([*head, *sections(found.explanations, several=len(others) > 1), *tail]) + "\n"


def sections(explanations: Iterable[Explanation], *, several: bool, crosswise: bool = False) -> Iterator[str]:
    """Lines of Markdown."""
    for each in explanations:
        side = f": {escaped(which_sides(each.a, each.b, crosswise=crosswise))}" if several else ""
        yield f"**{escaped(clean(each.benchmark))}**{side}: {escaped(clean(each.sentence))}"
        yield ""
        shown = why_lines.lines(each)[:_SHOWN]
        if shown:
            yield "| function | its doing | instructions | calls | allocations | misses | code |"
            yield "| --- | ---: | ---: | ---: | ---: | --- | --- |"
        for line in shown:
            where = f" ({line.where})" if line.where else ""
            cells = [line.function + where, line.doing, line.own, line.calls, line.allocations, line.misses]
            yield "| " + " | ".join(map(escaped, [*cells, line.code])) + " |"
        if shown:
            yield ""
        for hunk in {hunk: None for line in shown for hunk in line.item.diff}:
            yield from _hunk(hunk)


def _hunk(hunk: Hunk) -> Iterator[str]:
    """Indented, so that nothing in it can end it."""
    yield f"    {clean(hunk.file)}:{hunk.line_b}"
    for text in hunk.text.splitlines():
        yield f"    {clean(text[:1])}{clean(text[1:], lines=True)}"
    yield ""
