"""Programs that take turns are tied to one CPU, so that whoever slows that down slows all of them down.

The kernel spreads programs that are alive together over CPUs, and leaves each where it is while it sleeps
between turns. So one side worked on a CPU whose other hardware thread somebody used, and the other side did
not: all blocks of that launch said the same, those of the next launch something else. Equal sides of
five reference operations, launched with and without this by turns (25 November 2026, 2 CPUs of a
shared machine, nothing else in the guest): ratios of launches scattered by 3.2 to 31 %, on one CPU by 0.07
to 0.75 %.

Only programs whose threads all wait for their turn meanwhile are tied. Whoever asks for it knows that no more
than one of them works in a turn: several would be slower on one CPU than on all, and unlike each other. (The
locks have a second thread that always sleeps, without which glibc leaves atomic operations out.)
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tollbench.launching.halting import family

_STATE, _PROCESSOR = 0, 36  # proc_pid_stat(5), fields 3 and 39; the name before them may hold anything
_ASLEEP_WITHIN_S = 0.002  # who has just answered is about to sleep; who spins never does
_LOOK_EVERY_S = 50e-6


def tie_to_one(leaders: Sequence[int]) -> int | None:
    """Ties programs to the CPU on which the first of them ran last; None where they stay as they are.

    That is where toll itself has but one CPU, and where a thread of theirs works at this moment, has CPUs
    of its own choice or may not be tied. What wraps a program, such as a sandbox, is tied with it.
    """
    usable = os.sched_getaffinity(0)
    families = [family(leader) for leader in leaders]
    if len(usable) < 2 or not families:
        return None
    try:
        threads = [thread for each in families for process in each for thread in _threads_of(process)]
        if not all(map(_waits, threads)):
            return None
        # Of a wrapper and what it wraps, the last is the one that works.
        cpu = int(_stat(families[0][-1])[_PROCESSOR])
    except (OSError, IndexError, ValueError):  # gone meanwhile
        return None
    return cpu if cpu in usable and _tied(threads, cpu, usable) else None


def _tied(threads: Sequence[int], cpu: int, usable: set[int]) -> bool:
    """Whether all are; else they stay as they were."""
    before: dict[int, set[int]] = {}
    try:
        for thread in threads:
            cpus = os.sched_getaffinity(thread)
            if cpus != usable:
                raise PermissionError  # it, or who started it, has chosen its CPUs: that is what is compared
            before[thread] = cpus
            os.sched_setaffinity(thread, {cpu})
    except OSError:  # gone, another user's, or a filter of system calls
        for thread, cpus in before.items():
            with suppress(OSError):
                os.sched_setaffinity(thread, cpus)
        return False
    return True


def _threads_of(process: int) -> list[int]:
    return [int(path.name) for path in Path(f"/proc/{process}/task").iterdir()]


def _waits(thread: int) -> bool:
    ends = time.monotonic() + _ASLEEP_WITHIN_S
    while _stat(thread)[_STATE] != b"S":
        if time.monotonic() > ends:
            return False
        time.sleep(_LOOK_EVERY_S)
    return True


def _stat(thread: int) -> list[bytes]:
    """What proc_pid_stat(5) tells after the name. Raises OSError where there is no such thread."""
    return Path(f"/proc/{thread}/stat").read_bytes().rpartition(b")")[2].split()
