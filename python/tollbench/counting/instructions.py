"""Instructions and system calls of a program's own code, by Valgrind's callgrind, for each of its runs.

Valgrind's manual, "Callgrind: a call-graph generating cache and branch prediction profiler", describes the
format: after "calls=" comes a line with what the called function took, which is told there a second time.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tollbench.launching.answers import MAX_PROFILE_BYTES, open_plain, read_report, reading
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed
from tollbench.text import shown

# Valgrind also takes options from .valgrindrc of the current folder, unless it is told not to.
VALGRIND = ("valgrind", "--command-line-only=yes")
_OBJECT = re.compile(rb"c?ob=\((\d+)\)(?: (.*))?")  # a number is named where it first stands
_COST = b"0123456789+-*"
CALLGRIND = (
    *VALGRIND,
    "--tool=callgrind",
    "--collect-systime=yes",
    "--trace-children=yes",
    "--callgrind-out-file={}/cost.%p",
    "--log-file={}/log.%p",
)
_UNREADABLE = "under Valgrind left counts that cannot be read"
_OTHER_RIGHTS = b"Can't execute setuid/setgid/setcap executable"
_UNKNOWN_INSTRUCTION = b"Unrecognised instruction"
# Valgrind's own end: "Callgrind: threads.c:247 (post_signal): Assertion '...' failed."
_OWN_FAULT = re.compile(
    rb"^[^\n]*: Assertion '[^\n]* failed\.|^[^\n]*the 'impossible' happened[^\n]*", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What ran between two marks."""

    instructions: int
    system_calls: int


def missing_tool() -> str:
    """What has to be installed first; "" where nothing is missing."""
    return "" if shutil.which("valgrind") else "needs Valgrind to be counted (apt-get install valgrind)"


def costs_of_runs(scratch: Path, but_for: Path) -> list[Cost]:
    """Of each run, in order; what the library `but_for` executed itself is left out."""
    return [cost_in(path, but_for) for path in files_of_runs(scratch)]


def files_of_runs(scratch: Path) -> list[Path]:
    """Callgrind's files of marked runs, in order."""
    parts = [path for path in scratch.glob("cost.*") if path.name.count(".") == 2]
    parts = [path for path in parts if path.suffix[1:].isdecimal()]
    parts.sort(key=lambda path: int(path.suffix[1:]))
    return [path for path in parts if _is_run(path)]


def cost_of_all(scratch: Path) -> Cost:
    """Of all processes of a launch, from the start to the end of each. Raises LaunchFailed: there is none."""
    parts = [cost_in(path) for path in sorted(scratch.glob("cost.*"))]
    if not parts:
        raise LaunchFailed("under Valgrind left no counts")
    return Cost(sum(cost.instructions for cost in parts), sum(cost.system_calls for cost in parts))


def how_it_ended(ended: Ended, scratch: Path) -> str:
    """A reason for a launch that ended badly, by what Valgrind wrote about it."""
    return refusal(scratch, ended) or f"under Valgrind {ended.how()}"


def refusal(scratch: Path, ended: Ended | None = None) -> str:
    """Why Valgrind's counts are not to be had, by what it wrote of any process; "" where they are."""
    logs = b"".join(read_report(path, MAX_PROFILE_BYTES) for path in sorted(scratch.glob("log.*")))
    if _UNKNOWN_INSTRUCTION in logs:
        return "executes an instruction that Valgrind does not know, such as those of AVX-512"
    if own := _OWN_FAULT.search(logs):
        told = shown(own[0].decode("utf-8", "replace").strip(), 200)
        return f"cannot be run by this version of Valgrind, which fails itself: {told}"
    # Of the first process it is told before there is a log.
    if _OTHER_RIGHTS in logs or (ended is not None and _OTHER_RIGHTS in ended.stderr):
        return "is set-uid or set-gid, or has capabilities, or runs such a program, and Valgrind runs none"
    return ""


def cost_in(path: Path, but_for: Path | None = None) -> Cost:
    """The sum over all lines of one file, without what the library `but_for` executed."""
    left_out = str(but_for).encode() if but_for is not None else None
    names: dict[bytes, bytes] = {}
    instructions = calls = 0
    with open_plain(path) as lines, reading(_UNREADABLE):
        current, inclusive = b"", False
        for line in lines:
            if line[0] in _COST:
                if not inclusive and current != left_out:
                    fields = line.split()
                    instructions += int(fields[1]) if len(fields) > 1 else 0
                    calls += int(fields[2]) if len(fields) > 2 else 0
                inclusive = False
            elif line.startswith(b"calls="):
                inclusive = True
            elif line.startswith((b"ob=", b"cob=")) and (match := _OBJECT.match(line.rstrip(b"\n"))):
                if match[2] is not None:
                    names[match[1]] = match[2]
                if line.startswith(b"ob="):
                    current = names.get(match[1], b"")
    return Cost(instructions, calls)


def _is_run(path: Path) -> bool:
    with open_plain(path) as lines:
        return any(line.startswith(b"desc: Trigger: Client Request: toll") for line in _first(lines))


def _first(lines: Iterable[bytes], most: int = 40) -> Iterable[bytes]:
    for _, line in zip(range(most), lines, strict=False):
        yield line
