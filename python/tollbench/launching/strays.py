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
from pathlib import Path

from tollbench.text import shown

_PR_SET_CHILD_SUBREAPER = 36
_TASKS = Path("/proc/self/task")
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


def children_before() -> frozenset[int]:
    """To be kept from before a program starts until it has ended."""
    return frozenset(_children() or ()) if _Adopting.heard is not None else frozenset()


def began(pid: int) -> None:
    """A program that toll started, and that it will end itself; to be told while `STARTING` is held."""
    _own.add(pid)


def end_strays(pid: int, before: frozenset[int]) -> None:
    """Ends what the program `pid`, which has been reaped, left behind; `before` are the children of then."""
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


def _strays(before: frozenset[int]) -> set[int]:
    """Children that toll did not start: none of its programs, and of another session than its own tools."""
    with STARTING:
        return {pid for pid in set(_children() or ()) - before - _own if _left_our_session(pid)}


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
