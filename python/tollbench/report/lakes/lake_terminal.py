"""A lake's answer in a terminal."""

from __future__ import annotations

from rich.console import Console

from tollbench.lake.lake_answers import LakeAnswer
from tollbench.report.console_writer import TextColumn, Writer
from tollbench.report.lakes.lake_lines import SheetColumn, sheet
from tollbench.text import clean


def render(answer: LakeAnswer, console: Console) -> None:
    """Prints what is told, then the table."""
    told, writer = sheet(answer), Writer(console)
    if told.title:
        writer.line(told.title, "bold")
    for sentence in told.sentences:
        writer.line(sentence)
    for warning in told.warnings:
        writer.line(f"! {clean(warning)}", "yellow")
    if told.columns and told.columns[0].cells:
        writer.line()
        writer.table(
            [_column(one) for one in told.columns], ["yellow" if marked else "" for marked in told.marked]
        )
    if told.notes:
        writer.line()
    for note in told.notes:
        writer.line(note, "dim")


def _column(one: SheetColumn) -> TextColumn:
    cells = [cell.replace("\n", " ") for cell in one.cells]
    return TextColumn(one.title.strip().replace(" per ", "\nper "), cells, one.rank, right=one.right)
