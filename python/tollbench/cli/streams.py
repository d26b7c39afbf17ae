"""Standard streams that cost nobody an answer: closed, full, or with a reader that has left.

What cannot be written to standard error is told to nobody, and the work goes on. A reader of standard output
that has left wants no more, and the exit code stays the verb's own. Where results find no room, that is said,
with a code that means nothing else.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any

from tollbench.errors import REFUSALS, TollError

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2


def guard_streams() -> None:
    """Once, before anything is opened: a file that gets the number of a closed stream would be written to."""
    for number in (STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR):
        _open_if_closed(number)
    sys.stdin = sys.stdin or os.fdopen(STANDARD_INPUT, closefd=False)
    sys.stdout = _guarded(_Results(STANDARD_OUTPUT, "w", closefd=False), sys.stdout)
    sys.stderr = _guarded(_Remarks(STANDARD_ERROR, "w", closefd=False), sys.stderr)


def _open_if_closed(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
        os.set_inheritable(opened, True)


def _guarded(raw: io.FileIO, before: Any) -> io.TextIOWrapper:
    """As Python would have made it. At a terminal, and for remarks, a line is seen as soon as it is whole."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", None),
        errors="backslashreplace" if isinstance(raw, _Remarks) else "replace",
        line_buffering=raw.isatty() or isinstance(raw, _Remarks),
    )


class _Patient(io.FileIO):
    """Waits where somebody has made the descriptor one that does not, and it takes nothing now."""

    def write(self, data: Any) -> int:
        """All that can be written at once, at least one byte. Raises OSError."""
        while (written := super().write(data)) is None:
            select.select([], [self], [])
        return written


class _Remarks(_Patient):
    """Progress and errors: whoever cannot hear them does without."""

    def write(self, data: Any) -> int:
        """Never refuses."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _Results(_Patient):
    """What was asked for."""

    def write(self, data: Any) -> int:
        """Raises TollError, once, where it finds no room; what follows goes nowhere."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _send_nowhere(self.fileno())
            return len(data)
        except OSError as error:
            _send_nowhere(self.fileno())
            advice = REFUSALS.get(error.errno or 0, "send it elsewhere: > FILE")
            raise TollError(f"cannot write the output: {error.strerror}", advice) from None


def _send_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
