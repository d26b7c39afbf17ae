"""Grids of times between CPUs as text: the values of small ones, a sentence and the ends of large ones."""

from __future__ import annotations

from tollbench import numbers
from tollbench.analysis.results import Grid
from tollbench.text import clean

SMALL = 24  # rows: a larger grid shows no values
_DIGITS = 3


def cells(grid: Grid) -> list[list[str]]:
    """Each value as text, "–" where nothing was measured."""
    return [[numbers.plain(value, _DIGITS) for value in row] for row in grid.values]


def ends(grid: Grid) -> str:
    """The lowest and the highest cell with the names of their CPUs; "" for an empty grid."""
    found = sorted(
        (value, row, column)
        for row, line in enumerate(grid.values)
        for column, value in enumerate(line)
        if value is not None
    )
    if not found:
        return ""

    def told(cell: tuple[float, int, int]) -> str:
        value, row, column = cell
        between = f"{clean(grid.labels[row])} to {clean(grid.labels[column])}"
        return f"{numbers.plain(value, _DIGITS)} {clean(grid.unit)} from {between}"

    return f"lowest {told(found[0])}, highest {told(found[-1])}"


def label(grid: Grid, *, several: bool) -> str:
    """What tells this grid from the others of its workload."""
    named = [clean(value) for value in (grid.environment,) if value not in ("", "host")]
    named += [f"{clean(name)}={clean(value)}" for name, value in grid.parameters.items()] if several else []
    return f"{clean(grid.title)} ({', '.join(named)})" if named else clean(grid.title)


def titles(grids: list[Grid]) -> list[str]:
    """A title each; parameters where titles alone would be alike."""
    several = len({(grid.title, grid.environment) for grid in grids}) < len(grids)
    return [label(grid, several=several) for grid in grids]
