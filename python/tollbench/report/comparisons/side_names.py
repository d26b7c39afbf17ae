"""Which sides a row is about, the same in every format."""

from __future__ import annotations

from tollbench.text import clean


def which_sides(a: str, b: str, *, crosswise: bool) -> str:
    """The one that is held against the first; in all pairs both."""
    return f"{clean(b)} against {clean(a)}" if crosswise else clean(b)
