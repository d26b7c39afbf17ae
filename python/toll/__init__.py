"""toll: what C++ threads, fibers, locks, frameworks and containers cost on this machine.

In a notebook, `toll.open("runs/x.toll")` gives a run's samples as NumPy, Arrow or pandas (`toll.notebook`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toll.notebook import Run

__version__ = "0.1.0"


def open(path: str | Path) -> Run:
    """Opens a run file for reading; see `toll.notebook.Run`. Raises `toll.errors.TollError`."""
    from toll.notebook import Run

    return Run(Path(path))
