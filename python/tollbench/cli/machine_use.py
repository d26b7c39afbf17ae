"""One measurement at a time on a machine, whichever verb makes it: waits or refuses, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tollbench.cli.console import say
from tollbench.cli.edition import edition
from tollbench.errors import Exit, TollError
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import Interrupted
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.machine_lock import LOCK_FILES, machine_lock
from tollbench.launching.strays import adopting

_MOST_STRAYS = 5  # that are told by name


@contextmanager
def machine_taken(interrupt: Interrupt, *, wait: bool) -> Iterator[None]:
    """The machine is ours. Raises TollError where another one measures, or when `interrupt` ends the waiting.

    `interrupt` is looked at only until the machine is there.
    """
    edition()  # read now: whoever updates toll meanwhile is not to put another one's name on what this finds
    lock = machine_lock(
        SystemClock(),
        interrupt=interrupt,
        on_wait=_say_waiting if wait else None,
        on_no_lock=lambda warning: say(f"warning: {warning}"),
        files=LOCK_FILES,
    )
    try:
        lock.__enter__()
    except Interrupted:
        raise TollError(
            "interrupted while waiting for another run", "start again when it suits", Exit.INTERRUPTED
        ) from None
    told: set[str] = set()

    def on_stray(name: str) -> None:
        if name not in told and len(told) < _MOST_STRAYS:
            told.add(name)
            say(f"note: a program left a process behind, which was ended with it: {name}")

    try:
        with adopting(on_stray):
            yield
    finally:
        lock.__exit__(None, None, None)


def _say_waiting(holder: str) -> None:
    say(f"waiting for another run on this machine: {holder}")
