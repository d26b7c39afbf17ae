"""Errors that a user meets: what happened, where, and what to do next. Never a traceback."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import IntEnum

# What a disk or a folder may answer to a writer, and what helps.
REFUSALS = {
    errno.ENOSPC: "make room on that disk, or write elsewhere",
    errno.EDQUOT: "make room within your quota, or write elsewhere",
    errno.EROFS: "it is read-only: write elsewhere, or work in a copy of the checkout",
    errno.EACCES: "it is not yours to write: write elsewhere, or work in a copy of the checkout",
}

MORE_PROCESSES = "raise the limit: ulimit -u, --pids-limit of a container, TasksMax of systemd"


class Exit(IntEnum):
    """Exit codes of the command line."""

    FINE = 0
    REGRESSION_OR_FAILED_CHECK = 1
    USAGE = 2  # also: what cannot be written, built, installed or fetched; the command can be repeated
    INCONCLUSIVE = 3  # also: the disk filled while measuring what can be gone on with; a comparison cannot
    BUG = 70  # of toll itself, as sysexits.h has it: a gate lets 3 pass, and nothing was judged
    INTERRUPTED = 130


class TollError(Exception):
    """One sentence on what happened (with the place in it) and one on what to do next."""

    def __init__(self, what: str, next_step: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step
        self.code = code


def joined(errors: Sequence[TollError]) -> TollError:
    """One error of several: what all say happened, and what helps with the first, whose code it has."""
    return TollError("; ".join(error.what for error in errors), errors[0].next_step, errors[0].code)


def no_room(reason: str) -> TollError:
    """Where the temporary folder, in which programs run, is full or not there."""
    return TollError(reason, "make room there, or name another folder: TMPDIR=FOLDER toll ...")
