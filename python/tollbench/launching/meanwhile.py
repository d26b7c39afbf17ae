"""What befell the machine, or toll itself, in the midst of a measurement: a suspend, other CPUs, a halt.

None of it ends a measurement, and none shows in its numbers for certain: the monotonic clock stands still
while a machine sleeps, and whoever is halted knows nothing of it. So it is looked at between launches, and
told with the result. A CPU that is away and back between two looks is not noticed, nor is a frozen control
group (`docker pause`), of which a process gets no word.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from tollbench.text import several

LEAST_SUSPEND_NS = 100_000_000  # two clocks that are read one after the other differ by less
CPUS_NAMED = 16


def suspended_ns() -> int:
    """How long this machine has slept since its boot."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - before


def cpus_at_hand() -> frozenset[int]:
    """Where toll and its programs may run, without CPUs that are offline: the kernel leaves those out."""
    return frozenset(os.sched_getaffinity(0))


class Meanwhile:
    """While entered (in the main thread), being halted and let go on is noticed; the rest by `look`."""

    def __init__(
        self,
        suspended: Callable[[], int] = suspended_ns,
        cpus: Callable[[], frozenset[int]] = cpus_at_hand,
    ) -> None:
        self._suspended, self._cpus = suspended, cpus
        self._slept_ns = suspended()
        self._first = self._fewest = self._last = cpus()
        self._changes = 0
        self._sleeps, self._slept_in_all_ns = 0, 0
        self._halts = 0
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGCONT, self._continued)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGCONT, self._previous)

    def _continued(self, _number: int, _frame: FrameType | None) -> None:
        self._halts += 1

    def look(self) -> tuple[str, ...]:
        """Sentences on all that has been noticed since the beginning; one a kind, so that they stay few."""
        slept_ns = self._suspended()
        if slept_ns - self._slept_ns >= LEAST_SUSPEND_NS:
            self._sleeps += 1
            self._slept_in_all_ns += slept_ns - self._slept_ns
        self._slept_ns = slept_ns
        cpus = self._cpus()
        if cpus != self._last:
            self._changes += 1
            self._last = cpus
            self._fewest = min(self._fewest, cpus, key=len)
        return tuple(filter(None, (self._of_sleep(), self._of_cpus(), self._of_halts())))

    def _of_sleep(self) -> str:
        if not self._sleeps:
            return ""
        return (
            f"The machine was suspended in the midst of this, {several(self._sleeps, 'time')}, for"
            f" {self._slept_in_all_ns / 1e9:.0f} s in all: times do not contain that, but caches were cold"
            " and clock rates may be others since. Measure again where a number surprises."
        )

    def _of_cpus(self) -> str:
        if not self._changes:
            return ""
        least = f", {_listed(self._fewest)} at the least" if len(self._fewest) < len(self._last) else ""
        return (
            "The CPUs to run on changed in the midst of this:"
            f" {_listed(self._first)} at the beginning{least}, {_listed(self._last)} when it was last looked."
            " What needs several of them was measured on different machines. Measure again."
        )

    def _of_halts(self) -> str:
        if not self._halts:
            return ""
        return (
            f"toll was halted and let go on in the midst of this, {several(self._halts, 'time')} (Ctrl-Z,"
            " SIGSTOP): the time is spent, and a launch of then may have waited. Measure again where a number"
            " surprises."
        )


def _listed(cpus: frozenset[int]) -> str:
    named = ", ".join(map(str, sorted(cpus)[:CPUS_NAMED]))
    return f"{several(len(cpus), 'CPU')} ({named}{', ...' if len(cpus) > CPUS_NAMED else ''})"
