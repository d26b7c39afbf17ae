"""Several runs in a terminal: ratios within each run first, times behind them."""

from __future__ import annotations

from rich.console import Console

from tollbench.analysis.several_results import SeveralRuns
from tollbench.report.console_writer import TextColumn, Writer
from tollbench.report.several.several_lines import TableLines, footnotes, run_lines, table_lines
from tollbench.text import clean


def render(found: SeveralRuns, console: Console) -> None:
    """Prints the runs, then a table for each question that two of them asked."""
    writer = Writer(console)
    for letter, facts in run_lines(found):
        writer.line(f"{letter}  {' · '.join(facts)}", "bold")
    for one in found.runs:
        for warning in one.warnings:
            writer.line(f"! {one.letter}: {clean(warning)}", "yellow")
    if not found.tables:
        writer.line()
        writer.line("No question was asked in two of these runs.", "yellow")
    for table in found.tables:
        letters = [one.letter for one in found.runs]
        _table(table_lines(table, letters), letters, writer)
    writer.line()
    for note in footnotes(found):
        writer.line(note, "dim")


def _table(told: TableLines, letters: list[str], writer: Writer) -> None:
    writer.line()
    writer.line(told.title, "bold")
    writer.line(clean(told.table.question))
    columns = [TextColumn(told.unit, [line.label for line in told.lines], right=False)]
    if told.reference:
        for at, letter in enumerate(letters):
            columns.append(TextColumn(f"{letter}\nratio", [line.cells[at].ratio for line in told.lines]))
            intervals = [line.cells[at].interval for line in told.lines]
            columns.append(TextColumn("\ninterval", intervals, 2, right=False))
        if any(line.differs for line in told.lines):
            columns.append(TextColumn("\n", [line.differs for line in told.lines], right=False))
    for at, letter in enumerate(letters):
        columns.append(TextColumn(f"{letter}\ntime", [line.cells[at].value for line in told.lines]))
        spreads = [line.cells[at].spread for line in told.lines]
        columns.append(TextColumn("\ninterval", spreads, 3, right=False))
    styles = ["bold" if line.reference else "yellow" if line.differs else "" for line in told.lines]
    writer.table(columns, styles)
    for reason in told.reasons:
        writer.line(reason, "yellow")
    for warning in told.table.warnings:
        writer.line(f"! {warning.letter}: {clean(warning.text)}", "yellow")
    if told.reference:
        writer.line(f"Ratios are to {told.reference} of the same run.", "dim")
