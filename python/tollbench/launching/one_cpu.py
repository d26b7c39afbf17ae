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
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from tollbench.launching.halting import family, fields_of, threads_of

_STATE, _PROCESSOR = 0, 36  # proc_pid_stat(5), fields 3 and 39
# Who has just answered is about to sleep, once it has its processor back: several slices of the scheduler.
_ASLEEP_WITHIN_S = 0.02
_LOOK_EVERY_S = 50e-6
_CHILDREN = Path("/proc/thread-self/children")  # where the kernel lists them (CONFIG_PROC_CHILDREN)
_CPUS = Path("/sys/devices/system/cpu")


def tie_to_one(leaders: Sequence[int]) -> int | None:
    """Ties programs to the CPU on which the first of them ran last; None where they stay as they are.

    That is where toll itself has but one CPU, and where a thread of theirs works at this moment, has CPUs
    of its own choice or may not be tied. What wraps a program, such as a sandbox, is tied with it, so the
    kernel has to list a process's children. Programs that ran on several NUMA nodes stay as well: their
    memory lies there.
    """
    usable = os.sched_getaffinity(0)
    if len(usable) < 2 or not leaders or not _CHILDREN.exists():
        return None
    try:
        threads = _all_threads(leaders)
        if not all(map(_waits, threads)):
            return None
        # Of a wrapper and what it wraps, the last is the one that works.
        ran_on = [_ran_last_on(family(leader)[-1]) for leader in leaders]
    except (OSError, IndexError, ValueError):  # gone meanwhile
        return None
    cpu = ran_on[0]
    if cpu not in usable or len(set(map(_node_of, ran_on))) > 1 or not _tied(threads, cpu, usable):
        return None
    if _all_threads(leaders) != threads:  # somebody has begun a thread that knows nothing of it
        untie(leaders, usable)
        return None
    return cpu


def untie(leaders: Sequence[int], usable: Collection[int]) -> None:
    """Gives programs that are tied all CPUs back."""
    for thread in _all_threads(leaders):
        with suppress(OSError):
            os.sched_setaffinity(int(thread.name), usable)


def _tied(threads: Sequence[Path], cpu: int, usable: set[int]) -> bool:
    """Whether all are; else they stay as they were."""
    tied: list[int] = []
    try:
        for thread in (int(path.name) for path in threads):
            if os.sched_getaffinity(thread) != usable:  # somebody's choice: that is what is compared
                break
            os.sched_setaffinity(thread, {cpu})
            tied.append(thread)
    except OSError:  # gone, another user's, or a filter of system calls
        pass
    if len(tied) == len(threads):
        return True
    for thread in tied:
        with suppress(OSError):
            os.sched_setaffinity(thread, usable)
    return False


def _all_threads(leaders: Sequence[int]) -> list[Path]:
    return [thread for leader in leaders for process in family(leader) for thread in threads_of(process)]


def _waits(thread: Path) -> bool:
    """Whether it sleeps, or does within a moment. Raises OSError for one that is gone."""
    ends = time.monotonic() + _ASLEEP_WITHIN_S
    while fields_of(thread)[_STATE] != b"S":
        if time.monotonic() > ends:
            return False
        time.sleep(_LOOK_EVERY_S)
    return True


def _ran_last_on(process: int) -> int:
    return int(fields_of(Path(f"/proc/{process}"))[_PROCESSOR])


def _node_of(cpu: int) -> str:
    """The NUMA node of a CPU; "" on a machine that has one alone."""
    return next((path.name for path in (_CPUS / f"cpu{cpu}").glob("node[0-9]*")), "")
