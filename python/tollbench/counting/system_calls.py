"""What strace sees of a command: its system calls, and which of its processes became other programs."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

from tollbench.launching.answers import MAX_PROFILE_BYTES, read_report
from tollbench.launching.command import run_command
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed

STRACE = ("strace", "-f", "-qq", "-o", "{}/calls")
# Nothing else is stopped for, by a filter in the kernel.
_PROGRAMS = ("strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=execve,execveat", "-e", "signal=none")
PROGRAMS_SEEN = (*_PROGRAMS, "-o", "{}/programs")
# "4711  openat(...) = 3"; a call that another thread's line interrupts is resumed on a line of its own.
_CALL = re.compile(rb"^\d+ +\w+\(", re.MULTILINE)
_BECAME = re.compile(rb"^(\d+) +(?:<\.\.\. )?execve(?:at)?\b.*= 0$", re.MULTILINE)


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


@cache
def sees_programs() -> bool:
    """Whether strace is there and may look: containers may forbid ptrace."""
    if missing_tool():
        return False
    try:
        command = [*_PROGRAMS, "-o", "/dev/null", "true"]
        return run_command(command, own_environment(), Path("/"), 10.0).exit_code == 0
    except LaunchFailed:
        return False


def programs(scratch: Path) -> set[int]:
    """Processes that became another program. Raises LaunchFailed where strace tells of none."""
    try:
        found = {int(pid) for pid in _BECAME.findall(read_report(scratch / "programs", MAX_PROFILE_BYTES))}
    except OSError:
        found = set()
    if not found:
        raise LaunchFailed("cannot be watched by strace here (containers may forbid ptrace)")
    return found
