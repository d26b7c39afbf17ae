"""toll: what C++ threads, fibers, locks, frameworks and containers cost on this machine.

In a notebook, after `import tollbench as toll`, `toll.open("runs/x.toll")` gives a run's samples as NumPy,
Arrow or pandas (`tollbench.notebook`).
"""

from __future__ import annotations

# Nothing is imported here: this runs before `__main__` can leave the current folder.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from tollbench.compare.stored import StoredComparison
    from tollbench.notebook import Run

__version__ = "0.1.0"


def open(path: str | Path) -> Run:
    """Opens a run file for reading; see `tollbench.notebook.Run`. Raises `tollbench.errors.TollError`."""
    from pathlib import Path

    from tollbench.notebook import Run

    return Run(Path(path))


def open_comparison(path: str | Path) -> StoredComparison:
    """Reads the raw file of `toll compare`: what was found, its launches, the values of its rounds.

    See `tollbench.compare.stored.StoredComparison`. Raises `tollbench.errors.TollError`.
    """
    from pathlib import Path

    from tollbench.compare.stored import StoredComparison

    return StoredComparison.read(Path(path))
