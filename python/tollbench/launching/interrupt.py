"""Ctrl-C as a flag and a readable descriptor instead of an exception: no step is ever cut in two.

But for what only reads and computes, `breakable`: it may take long, whatever a program has answered, and is
left at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from tollbench.launching.failure import Interrupted

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_entered: list[Interrupt] = []  # the last one is asked
_breaks = False  # whether the main thread is in `breakable`, and not in `unbroken` within it


class Interrupt:
    """While entered (in the main thread), SIGINT, SIGTERM and SIGHUP set `requested` and fill `fd`."""

    def __init__(self) -> None:
        self.requested = False
        self.fd, self._write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._previous: dict[signal.Signals, Any] = {}

    def request(self) -> None:
        """Asks the run to stop after what is in flight has been dropped."""
        if not self.requested:
            self.requested = True
            os.write(self._write_end, b"!")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # nohup has SIGHUP ignored: a run goes on when its terminal ends.
            heeded = [
                number
                for number in _SIGNALS
                if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
            ]
            self._previous = {number: signal.signal(number, self._handle) for number in heeded}
        _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _entered.remove(self)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self.fd)
        os.close(self._write_end)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.request()
        if _breaks:
            raise Interrupted


def check_interrupt() -> None:
    """Raises Interrupted where somebody asked to stop: in threads, and in long loops, now and then."""
    if _entered and _entered[-1].requested:
        raise Interrupted


@contextmanager
def breakable() -> Iterator[None]:
    """For what leaves nothing behind when it is cut in two: a signal raises Interrupted in the midst of it.

    A step within the interpreter's own C code is waited for: what it is given has to be bounded.
    """
    with _breaking(True):
        yield


@contextmanager
def unbroken() -> Iterator[None]:
    """For a process, a file or a folder that is made within `breakable`. Raises Interrupted at its end."""
    with _breaking(False):
        yield


@contextmanager
def _breaking(breaks: bool) -> Iterator[None]:
    global _breaks
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _breaks
    try:
        _breaks = breaks
        if breaks:
            check_interrupt()
        yield
    finally:
        _breaks = before
    if breaks or before:
        check_interrupt()
