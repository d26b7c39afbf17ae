"""Standard output as tables are printed to it."""

from __future__ import annotations

import sys

from rich.console import Console

_PIPE_WIDTH = 120  # rich would take 80 where it cannot ask


class _Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich itself would exit with 1, which says: a regression


def output() -> Console:
    """With a fixed width where it is no terminal."""
    return _Output(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
