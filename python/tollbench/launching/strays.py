"""Processes that outlive the program that started them: a side that makes itself a daemon disturbs the next.

Killing its process group does not reach one that has left it. While toll adopts orphans (the kernel's
PR_SET_CHILD_SUBREAPER: no rights are needed, and nothing is timed meanwhile), they become its children when
their parent ends, and can be told from those that toll started. Source: prctl(2).
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tollbench.text import shown

_PR_SET_CHILD_SUBREAPER = 36
_TASKS = Path("/proc/self/task")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_ROUNDS = 100  # of killing: each takes a generation
_END_S = 1.0  # how long the end of a killed process is waited for


class _Adopting:
    """Who hears of strays; nobody where nothing is adopted. The kernel's setting is of the process too."""

    heard: Callable[[str], None] | None = None


_own: set[int] = set()  # programs that are alive, each with a turn of its own
# Held while a program starts and until it is in `_own`: several threads start linkers and compilers, and one
# of them took another's child, which had just begun, for a stray and ended it.
STARTING = threading.Lock()


@contextmanager
def adopting(on_stray: Callable[[str], None]) -> Iterator[None]:
    """What programs leave behind is ended with them, and `on_stray` is told the name of each.

    Where the kernel has no such setting or no /proc, nothing happens.
    """
    if _set(1) and _children() is not None:
        _Adopting.heard = on_stray
    try:
        yield
    finally:
        _Adopting.heard = None
        _set(0)


@dataclass(frozen=True)
class Before:
    """What there was before a program started."""

    children: frozenset[int]
    boot_ticks: int  # the time of then as the kernel counts the start of processes


def children_before() -> Before:
    """To be kept from before a program starts until it has ended."""
    if _Adopting.heard is None:
        return Before(frozenset(), 0)
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return Before(frozenset(_children() or ()), int(now_s * _TICKS_A_SECOND))


def began(pid: int) -> None:
    """A program that toll started, and that it will end itself; to be told while `STARTING` is held."""
    _own.add(pid)


def end_strays(pid: int, before: Before) -> None:
    """Ends what the program `pid`, which has been reaped, left behind; `before` is of before its start."""
    _own.discard(pid)
    if (heard := _Adopting.heard) is None:
        return
    for _ in range(_ROUNDS):  # those of a stray become ours when it ends
        strays = _strays(before)
        if not strays:
            return
        for stray in strays:
            name = _name(stray)
            if name:
                heard(name)
            if not _ended(stray):
                _own.add(stray)  # somebody else's by now, as what sudo started: never looked at again


def _strays(before: Before) -> set[int]:
    """Children that toll did not start: none of its programs, and of another session than its own tools.

    None that began earlier, either: where one thread reaps a child while another lists them, the kernel
    leaves out one that lives (77 of 100,000 listings), and a server of some minutes was ended for a stray.
    """
    with STARTING:
        found = {pid for pid in set(_children() or ()) - before.children - _own if _left_our_session(pid)}
        return {pid for pid in found if not 0 < _start_ticks(pid) < before.boot_ticks}


def _ended(pid: int) -> bool:
    """Kills and reaps a child; False for one that may not be killed, or does not end for all that."""
    try:
        os.kill(pid, signal.SIGKILL)  # ours, and not reaped: the number is nobody else's
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    ends = time.monotonic() + _END_S
    while time.monotonic() < ends:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return True
        except ChildProcessError:
            return True
        time.sleep(0.0005)
    return False


def _left_our_session(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except ProcessLookupError:
        return False


def _start_ticks(pid: int) -> int:
    """When it began, in ticks since the boot (proc_pid_stat(5), starttime); 0 where that is not told."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _set(value: int) -> bool:
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _children() -> list[int] | None:
    """Of all threads; None where the kernel does not tell."""
    found: list[int] = []
    try:
        for task in _TASKS.iterdir():
            found += map(int, (task / "children").read_text().split())
    except (OSError, ValueError):
        return None
    return found


def _name(pid: int) -> str:
    """Its command; "" for one that has ended by itself and only waits to be reaped."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
    return shown(words.strip(), 80)
