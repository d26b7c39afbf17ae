"""Ctrl-C as a flag and a readable descriptor instead of an exception: no step is ever cut in two."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
            self._previous = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self.fd)
        os.close(self._write_end)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.request()
