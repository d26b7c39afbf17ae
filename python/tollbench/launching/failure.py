"""How a launch may end without numbers: the one failure that measuring and comparing share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tollbench.words import Status


class LaunchFailed(Exception):  # an outcome, not a fault of toll
    """A launch that yields no numbers: a reason for people to read, which follows on the program's name.

    `side` tells whose fault it is where several programs are compared: their index, None where nobody asked.
    """

    def __init__(self, reason: str, status: Status = Status.FAILED, side: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.side = side


class HaltingRefused(LaunchFailed):  # nothing that the program did
    """toll may send it no signal: a filter of system calls refuses that, or it runs as another user."""


class Interrupted(Exception):  # somebody asked the run to stop
    """Ctrl-C or SIGTERM came while a program ran; the program is gone."""


class NoRoom(Interrupted):  # a disk without room, which asks the same
    """The place where programs run is full, or not there: `reason` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def lacking_room(ended: Interrupted) -> str:
    """Which place is full, where that is what ended it; "" where somebody asked."""
    return ended.reason if isinstance(ended, NoRoom) else ""


def interruption(no_room: str = "") -> Interrupted:
    """The same once more, of what was told of it."""
    return NoRoom(no_room) if no_room else Interrupted()


@contextmanager
def fault_of(side: int) -> Iterator[None]:
    """What a program does wrong meanwhile is this side's fault. Raises the same LaunchFailed with `side`."""
    try:
        yield
    except LaunchFailed as failure:
        raise type(failure)(failure.reason, failure.status, side) from None
