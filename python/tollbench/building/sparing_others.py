"""Runs a command that cannot send a signal to everybody: `PYTHON -I -S sparing_others.py COMMAND WORD ...`.

CMake 3.25.1 does where a fork is refused: its clean-up sends SIGKILL to process -1, which is everybody that
its user may signal. In here kill(-1) answers EPERM, for the command and all that it starts: by a filter of
the kernel's (seccomp), for which no rights are needed, as they would be for a PID namespace in a container.
In return what is started as another user than root gets no rights from set-user-ID programs, such as sudo.
Where the kernel has no such filter, or the processor is none of those below, the command runs as it is. It
imports nothing of toll.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import NamedTuple


class KillCall(NamedTuple):
    """How kill(2) is called on a kind of processor: linux/audit.h, and the number of the system call."""

    architecture: int
    number: int


CALLS = {
    "x86_64": KillCall(0xC000003E, 62),
    "aarch64": KillCall(0xC00000B7, 129),
    "riscv64": KillCall(0xC00000F3, 129),
    "loongarch64": KillCall(0xC0000102, 129),
    "ppc64le": KillCall(0xC0000015, 37),
    "s390x": KillCall(0x80000016, 37),
}
EVERYBODY = 0xFFFFFFFF  # -1, in the lower half of the first argument
COULD_NOT_START = 127  # as shells say it

# linux/filter.h, linux/seccomp.h, linux/prctl.h, asm-generic/errno-base.h
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1  # with EPERM
AT_NUMBER, AT_ARCHITECTURE, AT_FIRST = 0, 4, 16  # of struct seccomp_data
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def instructions(call: KillCall) -> bytes:
    """What the kernel asks of each system call: whether it is kill(-1)."""
    lower_half = AT_FIRST + (4 if sys.byteorder == "big" else 0)
    steps = [  # code, steps to skip where it holds and where not, operand
        (LOAD, 0, 0, AT_ARCHITECTURE),
        (IF_EQUAL, 0, 5, call.architecture),
        (LOAD, 0, 0, AT_NUMBER),
        (IF_EQUAL, 0, 3, call.number),
        (LOAD, 0, 0, lower_half),
        (IF_EQUAL, 0, 1, EVERYBODY),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def spare_others() -> bool:
    """From now on, for this process and its children; False where this kernel or processor has no way to."""
    call = CALLS.get(os.uname().machine)
    if call is None:
        return False
    code = instructions(call)
    program = _Filter(len(code) // 8, code)
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    if prctl(SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) == 0:
        return True  # as root: sudo and its like stay what they are
    unprivileged = prctl(SET_NO_NEW_PRIVILEGES, 1, None, 0, 0) == 0
    return bool(unprivileged and prctl(SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) == 0)


def main(command: list[str]) -> int:
    """Becomes the command."""
    spare_others()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return COULD_NOT_START


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
