"""System calls of a command from start to end, by strace: under Valgrind, starting takes others too."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tollbench.launching.answers import MAX_PROFILE_BYTES, read_report
from tollbench.launching.failure import LaunchFailed

STRACE = ("strace", "-f", "-qq", "-o", "{}/calls")
# "4711  openat(...) = 3"; a call that another thread's line interrupts is resumed on a line of its own.
_CALL = re.compile(rb"^\d+ +\w+\(", re.MULTILINE)


def missing_tool() -> str:
    """What has to be installed first; "" where nothing is missing."""
    return "" if shutil.which("strace") else "needs strace to be counted (apt-get install strace)"


def system_calls(scratch: Path) -> int:
    """Of all processes. Raises LaunchFailed where strace may not look."""
    try:
        found = len(_CALL.findall(read_report(Path(scratch, "calls"), MAX_PROFILE_BYTES)))
    except OSError:
        found = 0
    if not found:
        raise LaunchFailed("cannot be watched by strace here (containers may forbid ptrace)")
    return found
