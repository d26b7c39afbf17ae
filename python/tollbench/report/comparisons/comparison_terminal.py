"""The table in a terminal or a pipe."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tollbench.compare.verdicts import Comparisons, CountVerdict, Verdict
from tollbench.report.comparisons import count_lines, why_lines, why_terminal
from tollbench.report.comparisons.comparison_lines import ComparisonLine, footnotes, headline, order_of, timed
from tollbench.report.comparisons.terminal_output import output
from tollbench.text import clean

_STYLES = {
    Verdict.SLOWER: "yellow",
    Verdict.FASTER: "green",
    Verdict.FAILED: "red",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.NO_DIFFERENCE: "",
    Verdict.UNCHANGED_CODE: "dim",
    Verdict.COUNTED: "",
}
_COUNT_STYLES = {
    CountVerdict.MORE: "yellow",
    CountVerdict.FEWER: "green",
    CountVerdict.EQUAL: "",
    CountVerdict.OPEN: "magenta",
    CountVerdict.FAILED: "red",
}


_WIDE = 110  # columns of a terminal that need no folding of what is counted


def show(found: Comparisons, console: Console | None = None) -> None:
    """Prints the table, what it rests on, and the answer as the last line."""
    console = console or output()
    several = len(found.sides) > 2
    console.print()
    for index, side in enumerate(found.sides):
        which = "first side" if not index else "other side" if several else "second side"
        if found.crosswise:
            which = f"side {index + 1}"
        console.print(Text(f"{which}: {clean(side)}"))
    console.print()
    if (shown := timed(found)) or not count_lines.any_counts(found):
        if found.crosswise:
            _show_pairs(console, found, shown)
        else:
            _show_times(console, shown, several=several)
    if count_lines.any_counts(found):
        if shown:
            console.print()
        _show_counts(console, found, several=several)
    for each in found.why:
        why_terminal.show_one(console, each, several=several, crosswise=found.crosswise)
    for note in (*why_lines.footnotes(found.why), *footnotes(found)):
        console.print(Text(note, style="dim"))
    console.print(Text(headline(found), style="bold"))


def _show_times(console: Console, shown: list[ComparisonLine], *, several: bool) -> None:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("benchmark", overflow="fold")
    if several:
        table.add_column("side", overflow="fold")
    for title in ("first side", "this side" if several else "second side", "change", "interval"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for line in shown:
        table.add_row(*_cells(line, several=several))
    console.print(table)
    console.print()
    for line in shown:
        console.print(Text(f"{line.benchmark}{': ' + line.b if several else ''}: {line.reason}"))


def _show_pairs(console: Console, found: Comparisons, shown: list[ComparisonLine]) -> None:
    """A table for each benchmark, as a row has two names; its order, where there is one, has the times."""
    orders = {order.benchmark: order for order in found.orders}
    lines_of: dict[str, list[ComparisonLine]] = {}
    for line in shown:
        lines_of.setdefault(line.item.benchmark, []).append(line)
    for name, of_name in lines_of.items():
        console.print(Text(of_name[0].benchmark, style="bold"))
        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        table.add_column("sides", overflow="fold")
        titles = ["change", "interval"]
        if wide := console.width >= _WIDE or name not in orders:
            titles = ["other side", "this side", *titles]
        for title in titles:
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        for line in of_name:
            cells = _cells(line, several=True)[1:]
            table.add_row(*(cells if wide else [cells[0], *cells[3:]]))
        console.print(table)
        console.print()
        for line in of_name:
            console.print(Text(f"{line.b}: {line.reason}"))
        if name in orders:
            console.print(Text(order_of(orders[name]), style="bold"))
        console.print()


def _show_counts(console: Console, found: Comparisons, *, several: bool) -> None:
    """What differs as a table, what is equal in a line for each benchmark."""
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("benchmark", overflow="fold", min_width=10)
    if several:
        table.add_column("side", overflow="fold", min_width=6)
    narrow = console.width < _WIDE  # then "instructions" stands in a line, "an iteration" in the next
    table.add_column("count", no_wrap=not narrow, min_width=12)
    first = "other side" if found.crosswise else "first side"
    for title in (first, "this side" if several else "second side"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("change", justify="right", no_wrap=not narrow)
    table.add_column("verdict", overflow="fold", min_width=7)
    shown = count_lines.changed(found)
    for line in shown:
        style = "bold red" if line.item.fails else _COUNT_STYLES[line.item.verdict]
        cells = [line.benchmark, *([line.b] if several else []), line.metric]
        cells += [line.a_count, line.b_count, line.change]
        table.add_row(*map(Text, cells), Text(line.verdict, style=style))
    if shown:
        console.print(table)
        console.print()
    for line in shown:
        side = f": {line.b}" if several else ""
        console.print(Text(f"{line.benchmark}{side}: {line.metric}: {line.reason}"))
    for same in count_lines.equal(found):
        side = f": {same.b}" if several else ""
        console.print(Text(f"{same.benchmark}{side}: equal: {same.told}"))


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
