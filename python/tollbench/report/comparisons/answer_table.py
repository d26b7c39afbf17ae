"""A table with the answers below it: what `toll trust` prints, in a terminal or a pipe, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Cells as text, all rows as long as the heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    bold: int  # index of the row about everything; negative from the end
    sentences: Sequence[str]

    def show(self, console: Console | None = None) -> None:
        """Prints it."""
        console = console or Console()
        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        for index, head in enumerate(self.heads):
            table.add_column(head, justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, row), style="bold" if row is self.rows[self.bold] else "")
        console.print()
        console.print(table)
        console.print()
        for sentence in self.sentences:
            console.print(Text(sentence))

    def markdown(self) -> str:
        """The same for documents."""
        table = [self.heads, ["---", *["---:"] * (len(self.heads) - 1)], *self.rows]
        lines = ["| " + " | ".join(row) + " |" for row in table]
        return "\n".join([*lines, "", *self.sentences]) + "\n"
