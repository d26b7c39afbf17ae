"""Errors that a user meets: what happened, where, and what to do next. Never a traceback."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line."""

    FINE = 0
    REGRESSION_OR_FAILED_CHECK = 1
    USAGE = 2  # also: output that cannot be written; nothing is lost, the command can be repeated
    INCONCLUSIVE = 3  # also: the disk filled while measuring; what was measured is kept, --resume goes on
    INTERRUPTED = 130


class TollError(Exception):
    """One sentence on what happened (with the place in it) and one on what to do next."""

    def __init__(self, what: str, next_step: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step
        self.code = code
