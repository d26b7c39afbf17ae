"""A history as lines of text."""

from __future__ import annotations

from tollbench.history.histories import BenchmarkLine, Histories, HistoryChange
from tollbench.report.histories import history_lines
from tollbench.report.histories.thinned import latest_points
from tollbench.text import clean, several

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDE = 32  # blocks of a line
_MOST_CHANGES, _MOST_LINES, _MOST_UNBUILT = 20, 40, 3
_LEAST_SPAN = 0.02  # of a line from its lowest block to its highest, so that noise does not fill it


def lines(found: Histories) -> list[str]:
    """The changes first, then each benchmark, then what a reader has to know."""
    told = [f"{history_lines.headline(found)}."]
    changes = history_lines.change_lines(found)
    for change in changes[:_MOST_CHANGES]:
        by = f" by {change.author}: {change.subject}" if found.rows_are == "commits" else f": {change.what}"
        told.append(f"{change.commit}{by}")
        told.append(
            f"  {change.benchmark} is {change.word} by {change.size} ({change.span}) since then;"
            f" certainty {change.certainty}"
        )
        if change.where:
            told.append(f"  it came {change.where}: {change.range}")
    if len(changes) > _MOST_CHANGES:
        told.append(f"... {len(changes) - _MOST_CHANGES} older ones: --json has all")
    changed = {change.benchmark for change in found.changes}
    ordered = sorted(found.lines, key=lambda line: (line.benchmark not in changed, not line.recent))
    wide = max((len(clean(line.benchmark)) for line in ordered[:_MOST_LINES]), default=0)
    told += [_line(found, line, wide) for line in ordered[:_MOST_LINES]]
    if len(ordered) > _MOST_LINES:
        told.append(f"... {several(len(ordered) - _MOST_LINES, 'more benchmark')}: --html shows all")
    told += [f"break: {one}" for one in history_lines.break_lines(found)]
    told += _unbuilt(found)
    told += [f"note: {note}" for note in found.notes]
    told.append(f"{history_lines.footing(found)}.")
    return told


def _line(found: Histories, line: BenchmarkLine, wide: int) -> str:
    own = [change for change in found.changes if change.benchmark == line.benchmark]
    scatter = history_lines.scatter(line)
    told = [
        f"{clean(line.benchmark):{wide}}  {blocks(line, own)}",
        f"{history_lines.now(line)} to {history_lines.against(line)}"
        + (f", {history_lines.noun(found)}s scatter by {scatter}" if scatter else ""),
        *history_lines.states(found, line),
    ]
    return "  ".join(told[:2]) + "".join(f"; {state}" for state in told[2:])


def blocks(line: BenchmarkLine, own: list[HistoryChange]) -> str:
    """The latest part, drawn by block characters."""
    points = latest_points(line, own, _WIDE)
    ratios = [point.ratio for point in points]
    low, high = min(ratios), max(ratios)
    span = max(high - low, _LEAST_SPAN)
    begin = (high + low) / 2.0 - span / 2.0
    return "".join(_BLOCKS[min(7, int(8.0 * (ratio - begin) / span))] for ratio in ratios)


def _unbuilt(found: Histories) -> list[str]:
    broken = history_lines.unbuilt(found)
    told = [
        f"not measured: {history_lines.short(found, commit.commit)}: {clean(commit.reason)}"
        for commit in broken[:_MOST_UNBUILT]
    ]
    if len(broken) > _MOST_UNBUILT:
        told.append(f"not measured: {len(broken) - _MOST_UNBUILT} more commits, for such reasons")
    return told
