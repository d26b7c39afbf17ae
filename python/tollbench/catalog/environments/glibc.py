"""glibc's own malloc with other settings than it comes with: what it keeps of the memory that is freed.

Set by GLIBC_TUNABLES for the program that is launched, so that no source calls mallopt and every language
whose programs take their memory from glibc stands on the same footing.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace

from tollbench.catalog.tools import run_tool
from tollbench.interpreters import interpreter
from tollbench.words import Environment, with_tunables

NO_TRIM = "glibc-no-trim"
# Trimming off; and the size from which on blocks are mapped, and unmapped when they are freed, at the most
# that glibc would raise it to by itself: it adjusts neither any more once one of them is set.
TUNABLES = (f"glibc.malloc.trim_threshold={2**64 - 1}", f"glibc.malloc.mmap_threshold={32 * 2**20}")
_PROBE_LIMIT_S = 20.0
_LARGE_BYTES = 50 * 1_000_000  # that the probe frees in large blocks
# Blocks for which the heap is to grow, freed again: by how many bytes it shrinks. First as the process was
# started, small blocks and large ones; then with trimming on again: what was kept before is given back, so
# that neither another malloc passes for this one, nor a heap in which nothing is ever seen to shrink.
_PROBE = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
blocks = (ctypes.c_void_p * 50)()
def given_back(size):
    for index in range(50):
        blocks[index] = libc.malloc(size)
    top = libc.sbrk(0)
    for index in range(50):
        libc.free(blocks[index])
    return top - libc.sbrk(0)
kept = [given_back(size) for size in (60_000, 1_000_000)]
assert libc.mallopt(-1, 128 * 1024) == 1
print(*kept, given_back(60_000))
"""


def not_trimming(environment: Environment) -> Environment:
    """The environment with glibc's trimming off, which a small process tries.

    Where nothing comes of it, such as with another C library, `unavailable` says so.
    """
    set_up = replace(
        environment,
        glibc_tunables=TUNABLES,
        allocator=f"{environment.allocator}, freed memory kept ({' '.join(TUNABLES)})",
    )
    if _keeps(set_up):
        return set_up
    why = f"malloc does not obey {TUNABLES[0]} here"
    if already := os.environ.get("LD_PRELOAD", ""):
        why += f", behind LD_PRELOAD={already}"
    if already := os.environ.get("GLIBC_TUNABLES", ""):
        why += f", after your GLIBC_TUNABLES={already}"
    return replace(environment, unavailable=f"{why}; it takes glibc's own, of version 2.26 or later")


def _keeps(environment: Environment) -> bool:
    """Whether a process that is started as programs will be keeps what it frees, until trimming is on again.

    Programs have the user's own tunables in front, which may undo these: newer versions heed none at all
    where one is malformed.
    """
    variables = with_tunables(os.environ, environment.glibc_tunables)
    try:
        done = run_tool(interpreter("-S", "-c", _PROBE), env=variables, limit_s=_PROBE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    told = done.stdout.split()
    if done.returncode != 0 or len(told) != 3:
        return False
    small, large, with_trimming = map(int, told)
    return small == large == 0 and with_trimming > 0.9 * _LARGE_BYTES
