"""Text and tables on one console: plain columns, no frames, numbers never cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tollbench import numbers

_NAME_WIDTH = 16  # a contender's name folds within this at least
_ASKED_FOR = 2  # ranks up to here: interval and CPU time
_BREAKS_AFTER = "_/-,:= "
_ASCII = str.maketrans({"×": "x", "µ": "u", "–": "-", "·": "-", "…": "...", "→": "->"})


@dataclass(slots=True)
class TextColumn:
    """One column of text; `rank` says how early it goes where the terminal is too narrow (0: never)."""

    title: str
    cells: list[str]
    rank: int = 0
    right: bool = True

    def width(self) -> int:
        return max(map(cell_len, [*self.title.split("\n"), *self.cells]))


class Writer:
    """Prints to one console; where its encoding lacks a character, a plainer one stands in."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.unicode = console.encoding.lower().replace("-", "").startswith("utf")

    def text(self, words: str, style: str = "") -> Text:
        if not self.unicode:
            encoding = self.console.encoding or "ascii"
            words = words.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
        return Text(words, style=style, overflow="fold")

    def height(self, words: str, indent: int = 0) -> int:
        """How many lines `line` takes for it."""
        return len(self._lines(words, "", indent))

    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        for line in self._lines(words, style, indent):
            line.rstrip()
            self.console.print(Text(" " * indent) + line, no_wrap=True, overflow="ignore", crop=False)

    def _lines(self, words: str, style: str, indent: int) -> list[Text]:
        text = self.text(words, style)
        if text.plain.isprintable() and text.cell_len <= max(20, self.console.width - indent):
            return [text]  # as most are; a word at a time rich takes its time
        return list(text.wrap(self.console, max(20, self.console.width - indent))) or [text]

    def table(
        self,
        columns: Sequence[TextColumn],
        first_styles: Sequence[str] = (),
        headings: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Prints the columns that fit; `headings` stand between the rows, by the row that they precede."""
        told = [column for column in columns if not column.rank or set(column.cells) != {numbers.MISSING}]
        kept = _fitting([told[0], *map(_aligned, told[1:])], self.console.width)
        room = self.console.width - sum(column.width() + 2 for column in kept[1:])
        kept[0] = replace(kept[0], cells=["\n".join(folded(cell, max(8, room))) for cell in kept[0].cells])
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
        for index, column in enumerate(kept):
            title = self.text(column.title, "dim")
            if index == 0:
                table.add_column(title, overflow="fold")
            else:
                table.add_column(title, no_wrap=True, min_width=column.width())
        for number, cells in enumerate(zip(*(column.cells for column in kept), strict=True)):
            if heading := headings.get(number):
                table.add_row(self.text("\n".join(folded(heading, max(8, room))), "bold"))
            style = first_styles[number] if first_styles else ""
            table.add_row(*(self.text(cell, style) for cell in cells))
        self.console.print(table)


def _fitting(columns: Sequence[TextColumn], width: int) -> list[TextColumn]:
    """The columns that fit beside the name; those with the highest rank go first.

    A name rather folds than push out what every reader asks for, but it is not folded for the rest.
    """
    kept = list(columns)
    while (rank := max(column.rank for column in kept)) > 0:
        room = max(_NAME_WIDTH, {1: 0, _ASKED_FOR: width // 4}.get(rank, width * 3 // 8))
        if min(columns[0].width(), room) + sum(column.width() + 2 for column in kept[1:]) <= width:
            break
        kept = [column for column in kept if column.rank != rank]
    return kept


def folded(name: str, width: int) -> list[str]:
    """The name in lines of at most `width` columns, cut after "_" and the like; all but the first set in."""
    lines: list[str] = []
    rest = name
    while cell_len(rest) > (room := max(1, width - (2 if lines else 0))):
        fits = next(end for end in range(len(rest), 0, -1) if cell_len(rest[:end]) <= room or end == 1)
        cuts = [end for end in range(1, fits + 1) if rest[end - 1] in _BREAKS_AFTER or rest[end] == "("]
        end = next((cut for cut in reversed(cuts) if cut > 1), fits)
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [line if index == 0 else f"  {line}" for index, line in enumerate([*lines, rest])]


def _aligned(column: TextColumn) -> TextColumn:
    """Numbers on the right padded so that their decimal points stand under each other."""
    if not column.right:
        return column
    ranges = any(" " in cell for cell in column.cells)  # "0.7 to 0.98", "1.5 KiB": no one decimal point
    fractions = [numbers.split(cell.removesuffix("×"))[1] for cell in column.cells]
    tails = [
        len(tail) if any(map(str.isdigit, cell)) and not ranges else 0
        for tail, cell in zip(fractions, column.cells, strict=True)
    ]
    longest = max(tails, default=0)
    padded = [cell + " " * (longest - tail) for cell, tail in zip(column.cells, tails, strict=True)]
    width = replace(column, cells=padded).width()
    return replace(
        column,
        title="\n".join(_right(line, width) for line in column.title.split("\n")),
        cells=[_right(cell, width) for cell in padded],
    )


def _right(text: str, width: int) -> str:
    """Set right by blanks in front, because rich trims those behind the text that it sets right."""
    return " " * (width - cell_len(text)) + text
