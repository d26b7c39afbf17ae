"""A census: how many tasks of others want a processor that a program could use now.

It tells whether others work beside a program with several threads, which a gauge of one thread cannot.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.launching.clock import Clock, SystemClock

_COUNTS = 4
_APART_S = 1e-4  # between counts: a thread that has just done its work takes a moment to fall asleep
_RUNNABLE = 3  # of the words of /proc/loadavg: "runnable/all" tasks, proc(5)


def runnable_tasks(file: Path = Path("/proc/loadavg")) -> int:
    """Tasks of the whole machine that run or could, whoever asks too; 0 where the kernel does not tell.

    A kernel of a container's own (gVisor) tells of no task at all: 0 as well.
    """
    try:
        with file.open("rb", buffering=0) as opened:
            return int(opened.read(128).split()[_RUNNABLE].partition(b"/")[0])
    except (OSError, ValueError, IndexError):
        return 0


def own_cpus() -> int:
    """The machine's processors; 0 where toll may not use all of them: tasks are counted wherever they are."""
    cpus = os.cpu_count() or 0
    return cpus if len(os.sched_getaffinity(0)) == cpus else 0


@dataclass(frozen=True, slots=True)
class Census:
    """Counts from outside of the program that is timed, while it waits for its next request."""

    clock: Clock = field(default_factory=SystemClock)
    runnable: Callable[[], int] = runnable_tasks
    cpus: int = 0  # all that the machine has; 0: no census is taken

    def in_the_way(self, threads: int, own: Callable[[], int] = lambda: 0) -> int | None:
        """Tasks of others beyond the processors that a program of so many threads leaves free; None: unknown.

        The fewest of up to four counts, which end with 0: who is there for a moment is not seen by all.
        `own` says how many of the program's threads want a processor now: some poll for their next request,
        or take a while to fall asleep, and nobody is in their way by that.
        """
        fewest: int | None = None
        for number in range(_COUNTS if self.cpus else 0):
            if number:
                self.clock.sleep(_APART_S)
            tasks = self.runnable()
            if not tasks:
                return None
            spare = max(0, self.cpus - threads)
            others = max(0, tasks - 1 - spare)  # without toll, which counts
            if others:
                others = max(0, others - own())
            fewest = others if fewest is None else min(others, fewest)
            if not fewest:
                break
        return fewest
