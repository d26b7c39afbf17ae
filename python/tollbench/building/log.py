"""Finds in a build's log what failed, and the one line that says why."""

from __future__ import annotations

import re

FAILED = re.compile(r"^FAILED: (?:\[code=\d+\] )?(.*)$")
STUCK = "ninja: build stopped: cannot make progress"  # the last line of ninja -k 0 where steps failed
STEP = re.compile(r"^(\[\d+/\d+\] |ninja: )")
# GCC and Clang: "file:line:column: error: ..."; the linkers and CMake scripts have their own words.
ERROR = re.compile(
    r"(\berror: |undefined reference to|ld returned|cannot find -l|No such file|Killed|fatal error)"
)


def split_failures(log: str) -> list[tuple[str, str]]:
    """Each failed step of a ninja log as (its outputs, what it printed)."""
    failures: list[tuple[str, list[str]]] = []
    inside = False
    for line in log.splitlines():
        if failed := FAILED.match(line):
            failures.append((failed.group(1).strip(), []))
            inside = True
        elif STEP.match(line):
            inside = False
        elif inside:
            failures[-1][1].append(line)
    return [(outputs, "\n".join(lines)) for outputs, lines in failures]


def tried_all(log: str) -> bool:
    """Whether a ninja that goes on after failures (-k 0) has tried each step that it could."""
    return any(line.startswith(STUCK) for line in log.splitlines()[-5:])


def first_error(text: str) -> str:
    """The first line that is an error in a compiler's or linker's words; at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next(
        (line for line in lines if ERROR.search(line)), lines[-1] if lines else "the build said nothing"
    )
    return told[:300]
