"""The runner's own clock, injected so that tests can hold time still."""

from __future__ import annotations

import time
from typing import Protocol

from tollbench.store import now_utc


class Clock(Protocol):
    """Monotonic nanoseconds for intervals, UTC for people."""

    def now_ns(self) -> int:
        """Monotonic nanoseconds since boot."""

    def utc(self) -> str:
        """This instant in ISO 8601."""

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""


class SystemClock:
    """The machine's monotonic clock."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def utc(self) -> str:
        return now_utc()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
