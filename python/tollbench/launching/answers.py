"""Files that programs leave: read as far as they are looked at, whatever they have become.

A program may put a pipe, a link to /dev/zero or a file of 50 GB without content where its report is expected.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import breakable

MAX_REPORT_BYTES = 16 * 2**20  # a launch has 64 benchmarks of 63 repetitions at most: 3 MB
MAX_PROGRAM_BYTES = 2**30  # what is looked at is in memory at once
MAX_PROFILE_BYTES = 2**30  # of a run under Valgrind
# What Python makes of a text in place of a number, a list in place of a name, ten thousand levels of nesting.
NONSENSE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


@contextmanager
def understood(told: str) -> Iterator[None]:
    """Around reading what a program answered. Raises LaunchFailed(`told`) for what makes no sense."""
    try:
        yield
    except NONSENSE:
        raise LaunchFailed(told) from None


@contextmanager
def reading(told: str) -> Iterator[None]:
    """The same for what only reads and computes: an interrupt ends it at once."""
    with breakable(), understood(told):
        yield


def open_plain(path: Path) -> BinaryIO:
    """A file with content. Raises OSError, also for what is no plain file, and never waits for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no plain file", str(path))
    return os.fdopen(descriptor, "rb")


def read_report(path: Path, most: int = MAX_REPORT_BYTES) -> bytes:
    """All of a report that a program wrote. Raises OSError; LaunchFailed where it is longer than `most`."""
    with open_plain(path) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise LaunchFailed(f"wrote a report of more than {most // 2**20} MiB")
    return found
