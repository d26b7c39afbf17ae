"""What a suite.toml leaves unsaid, for toll and for CMake alike.

CMake's script (cmake/toll_suites.py) reads the suites without toll's Python environment: what stands here,
and in the packages around it, needs the standard library alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LANGUAGES = {
    ".cpp": "C++",
    ".c": "C",
    ".go": "Go",
    ".rs": "Rust",
    ".erl": "Erlang",
    ".hs": "Haskell",
    ".java": "Java",
    ".kt": "Kotlin",
    ".py": "Python",
}
NAME = re.compile(r"[a-z][a-z0-9_]*")  # of a contender, a detail or a need
LIBRARY = "std"  # of a contender that names none


def source_of(contender: str, written: str) -> str:
    """A contender's source, relative to its suite.toml, by its name and what the file says ("": nothing)."""
    return written or f"{contender}.cpp"


def headline_of(listed: Iterable[str], contenders: Iterable[str]) -> tuple[str, ...]:
    """The contenders of a run that names nothing: those that the suite lists, or all where it lists none."""
    return tuple(listed) or tuple(contenders)
