"""An explanation in a terminal or a pipe."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tollbench.compare.explanations import Explanation, Explanations
from tollbench.report.comparisons import why_lines
from tollbench.report.comparisons.side_names import which_sides
from tollbench.report.comparisons.terminal_output import output
from tollbench.text import clean

_MOST_SHOWN = 8


def show(found: Explanations, console: Console | None = None) -> None:
    """Prints every benchmark: the sentence, then its functions."""
    console = console or output()
    console.print()
    for index, side in enumerate(found.sides):
        console.print(
            Text(f"{'first' if not index else 'second' if index == 1 else 'other'} side: {clean(side)}")
        )
    for each in found.explanations:
        show_one(console, each, several=len(found.sides) > 2)
    console.print()
    for note in why_lines.closing(found):
        console.print(Text(note, style="dim"))


def show_one(console: Console, found: Explanation, *, several: bool, crosswise: bool = False) -> None:
    """One benchmark."""
    side = f": {which_sides(found.a, found.b, crosswise=crosswise)}" if several else ""
    console.print()
    console.print(Text(f"{clean(found.benchmark)}{side}: {clean(found.sentence)}", style="bold"))
    shown = why_lines.lines(found)[:_MOST_SHOWN]
    if shown:
        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        table.add_column("function", overflow="fold", ratio=3)
        for title in ("its doing", "instructions", "calls", "allocations", "misses"):
            table.add_column(title, justify="right")
        table.add_column("code", overflow="fold", ratio=2)
        for line in shown:
            name = Text(line.function)
            if line.where:
                name.append(f"\n{line.where}", style="dim")
            cells = (line.doing, line.own, line.calls, line.allocations, line.misses)
            style = "yellow" if line.item.changed else ""
            table.add_row(name, *map(Text, cells), Text(line.code, style=style))
        console.print(table)
    for note in why_lines.notes(found):
        console.print(Text(note, style="dim"))
