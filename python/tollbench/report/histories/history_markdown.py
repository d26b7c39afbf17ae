"""A summary for a chat or a wiki: what changed, and what a reader has to know."""

from __future__ import annotations

from tollbench.history.histories import Histories
from tollbench.report.comparisons.markdown_text import escaped
from tollbench.report.histories import history_lines
from tollbench.text import clean

_MOST = 20


def render(found: Histories) -> str:
    """The changes, newest first, and a line on what they rest on."""
    parts = ["<!-- toll history -->", f"**toll history: {escaped(history_lines.headline(found))}**", ""]
    changes = history_lines.change_lines(found)
    if changes:
        parts += [
            f"| {history_lines.noun(found)} | benchmark | change | certainty | what |",
            "| --- | --- | ---: | ---: | --- |",
        ]
    for change in changes[:_MOST]:
        where = f" ({change.where})" if change.where else ""
        cells = (
            f"{change.commit} {change.date}{where}",
            change.benchmark,
            f"{change.size} {change.word} ({change.span})",
            change.certainty,
            change.what,
        )
        parts.append(f"| {' | '.join(map(escaped, cells))} |")
    if changes:
        parts.append("")
    if len(changes) > _MOST:
        parts.append(f"{len(changes) - _MOST} older ones are on the page.  ")
    parts += [f"Break: {escaped(one)}  " for one in history_lines.break_lines(found)]
    broken = history_lines.unbuilt(found)
    if broken:
        parts.append(f"Not measured: {', '.join(commit.commit[:10] for commit in broken[:_MOST])}  ")
    parts += [f"{escaped(clean(note))}  " for note in found.notes]
    parts.append(f"{escaped(history_lines.footing(found))}.")
    return "\n".join(parts) + "\n"
