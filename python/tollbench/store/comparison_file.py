"""By what the raw file of a comparison is known, without what it takes to read one.

`toll report` asks this of each file. Asking the room that compares had cost it a seventh of a second, for
machinery that a run's report never uses.
"""

from __future__ import annotations

from pathlib import Path

MARK = "toll_compare"  # the key that only the header of such a file begins with


def is_comparison(path: Path) -> bool:
    """Whether a file begins as such a raw file does; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(64).startswith(f'{{"{MARK}":'.encode())
    except OSError:
        return False
