"""The sentence of a report whose measuring ended before its time."""

from __future__ import annotations

from typing import Protocol

from tollbench.text import clean


class EndedEarly(Protocol):
    """What any of the reports tells of its end."""

    @property
    def interrupted(self) -> bool:
        """Whether it ended before its time."""

    @property
    def no_room(self) -> str:
        """Which disk was full, where that is what ended it."""


def early_end(found: EndedEarly) -> str:
    """The sentence; "" where nothing came before its time. A full disk is named, as nobody interrupted."""
    if not found.interrupted:
        return ""
    why = f"It ended early ({clean(found.no_room)})" if found.no_room else "It was interrupted"
    return f"{why}: this is what was known by then."
