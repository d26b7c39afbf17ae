"""One run at a time on one machine: two would measure each other. A lock file, held through flock(2)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tollbench.errors import TollError
from tollbench.launching.clock import Clock
from tollbench.launching.failure import Interrupted
from tollbench.launching.interrupt import Interrupt
from tollbench.text import shown

# Where /run/lock may be written by root alone, other users lock the second file, and root locks both.
LOCK_FILES = (Path("/run/lock/toll.lock"), Path("/tmp/toll.lock"))
_MAX_NOTE_BYTES = 4096
_POLL_S = 0.5


@contextmanager
def machine_lock(
    clock: Clock,
    *,
    interrupt: Interrupt,
    on_wait: Callable[[str], None] | None = None,
    on_no_lock: Callable[[str], None] = lambda _: None,
    files: Sequence[Path] = LOCK_FILES,
) -> Iterator[None]:
    """Holds the machine for one run. Another run: TollError, or where `on_wait` is given, waits for its end.

    `on_wait` is called with a sentence about the holder, and again where another one was quicker than we.
    `on_no_lock` is called where none of `files` can be used: the run goes on unguarded then. The kernel lets
    go of the lock when the process ends in any way, so that a file left behind blocks nobody.
    """
    descriptors = [fd for file in files if (fd := _open(file)) is not None]
    if files and not descriptors:
        on_no_lock(_unguarded(files))
    told = ""
    try:
        while (holder := _take_all(descriptors)) is not None:
            if on_wait is None:
                raise TollError(
                    f"Another run is measuring on this machine: {holder}.",
                    "Wait for its end (`--wait` does) or stop it: two runs disturb each other.",
                )
            if holder != told:
                on_wait(holder)
                told = holder
            clock.sleep(_POLL_S)
            if interrupt.requested:
                raise Interrupted
        for fd in descriptors:
            _write_note(fd, clock)
        yield
    finally:
        for fd in descriptors:
            os.close(fd)


def _unguarded(files: Sequence[Path]) -> str:
    places = " and ".join(map(str, files))
    return (
        f"no lock file can be used here ({places}), so that toll cannot see whether another run measures;"
        f" make {files[-1].parent} writable for this user, or see to it that only one run measures at a time"
    )


def _open(file: Path) -> int | None:
    """A descriptor of the lock file; None where this place cannot be used (absent, or somebody's trap)."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    # First without O_CREAT: with it the kernel refuses files of other users in /tmp (fs.protected_regular).
    for attempt in (flags, flags | os.O_CREAT | os.O_EXCL, flags, os.O_RDONLY | flags & ~os.O_RDWR):
        with contextlib.suppress(OSError):
            fd = os.open(file, attempt, 0o666)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                with contextlib.suppress(OSError):
                    os.fchmod(fd, 0o666)  # for every user, whatever the umask; only the owner may
                return fd
            os.close(fd)
    return None


def _take_all(descriptors: Sequence[int]) -> str | None:
    """Locks every file, or none and says who holds one."""
    for index, fd in enumerate(descriptors):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            for taken in descriptors[:index]:
                fcntl.flock(taken, fcntl.LOCK_UN)
            return _read_note(fd)
    return None


def _write_note(fd: int, clock: Clock) -> None:
    note = {"pid": os.getpid(), "command": " ".join(sys.argv)[:1000], "started_utc": clock.utc()}
    with contextlib.suppress(OSError):  # the lock holds without its note too
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(note).encode(), 0)


def _read_note(fd: int) -> str:
    try:
        note = json.loads(os.pread(fd, _MAX_NOTE_BYTES, 0))
        pid, command, started = (shown(str(note[key])) for key in ("pid", "command", "started_utc"))
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that left no note"
    return f"process {pid}, `{command}`, since {started}"
