"""The table in a terminal or a pipe."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tollbench.compare.verdicts import Comparisons, Verdict
from tollbench.report.comparisons.comparison_lines import ComparisonLine, footnotes, headline, lines
from tollbench.text import clean

_STYLES = {
    Verdict.SLOWER: "yellow",
    Verdict.FASTER: "green",
    Verdict.FAILED: "red",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.NO_DIFFERENCE: "",
    Verdict.UNCHANGED_CODE: "dim",
}


_PIPE_WIDTH = 120  # rich would take 80 where it cannot ask


class _Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich itself would exit with 1, which says: a regression


def show(found: Comparisons, console: Console | None = None) -> None:
    """Prints the table, what it rests on, and the answer as the last line."""
    console = console or _Output(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    shown = lines(found)
    several = len(found.sides) > 2
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("benchmark", overflow="fold")
    if several:
        table.add_column("side", overflow="fold")
    for title in ("first side", "this side" if several else "second side", "change", "interval"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for line in shown:
        table.add_row(*_cells(line, several=several))
    console.print()
    for index, side in enumerate(found.sides):
        which = "first" if not index else "other" if several else "second"
        console.print(Text(f"{which} side: {clean(side)}"))
    console.print()
    console.print(table)
    console.print()
    for line in shown:
        console.print(Text(f"{line.benchmark}{': ' + line.b if several else ''}: {line.reason}"))
    for note in footnotes(found):
        console.print(Text(note, style="dim"))
    console.print(Text(headline(found), style="bold"))


def _cells(line: ComparisonLine, *, several: bool) -> list[Text]:
    style = "bold red" if line.item.regression else _STYLES[line.item.verdict]
    cells = [
        line.benchmark,
        *([line.b] if several else []),
        line.a_time,
        line.b_time,
        line.change,
        line.interval,
    ]
    return [*map(Text, cells), Text(line.verdict, style=style)]
