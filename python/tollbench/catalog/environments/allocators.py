"""Allocators that can be preloaded in front of malloc: where this machine has them, and in which version."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.catalog.packages import command_for, shared_libraries, table
from tollbench.catalog.tools import run_tool
from tollbench.interpreters import interpreter
from tollbench.words import Environment

# Whose programs take memory from malloc, and say what serves it: other runtimes manage it by themselves.
WITH_MALLOC = ("C", "C++", "Rust")
_PROBE_LIMIT_S = 20.0
_SETS_GLIBC = re.compile(r"GLIBC_TUNABLES$|MALLOC_\w+_$")


@dataclass(frozen=True, slots=True)
class _Allocator:
    """One that can be preloaded; packages.toml knows its library's names under the same name."""

    name: str
    version: str  # Python that prints it, in a process into which the library `loaded` is preloaded


_ALLOCATORS = (
    _Allocator(
        "tcmalloc",
        "loaded.tc_version.restype = ctypes.c_char_p\n"
        "print(loaded.tc_version(None, None, None).decode().removeprefix('gperftools '))",
    ),
    _Allocator(
        "jemalloc",
        "text, size = ctypes.c_char_p(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_char_p))\n"
        "loaded.mallctl(b'version', ctypes.byref(text), ctypes.byref(size), None, 0)\n"
        "print(text.value.decode().partition('-')[0])",
    ),
    _Allocator(
        "mimalloc",
        # A digit each for minor and patch, in newer versions two: 209 is 2.0.9, 20302 is 2.3.2.
        "number = loaded.mi_version()\n"
        "base = 10 if number < 10_000 else 100\n"
        "print(number // base**2, number // base % base, number % base, sep='.')",
    ),
)

NAMES: tuple[str, ...] = tuple(item.name for item in _ALLOCATORS)


def preloaded(environment: Environment, name: str) -> Environment:
    """The environment with the allocator `name` as this machine has it: its version and its library's path.

    Where the library is missing or cannot be loaded, `unavailable` says why and what to do.
    """
    allocator = next(item for item in _ALLOCATORS if item.name == name)
    need = table()[name]
    unusable = ""
    for path in shared_libraries(need.shared):
        version = _version(allocator, path)
        if version:
            shown = f"{name} {version} ({path.name})"
            return replace(environment, allocator=shown, preload=(str(path),), unavailable="")
        unusable = unusable or f"{path} cannot be preloaded into a program of this machine"
    why = unusable or f"{' or '.join(need.shared)} not found"
    return replace(environment, preload=(), unavailable=f"{why}; next: {command_for([need])}")


def of_the_machine() -> str:
    """What malloc is in a program that toll preloads nothing into."""
    try:
        library = os.confstr("CS_GNU_LIBC_VERSION") or "the C library's"
    except ValueError:  # another C library
        library = "the C library's"
    already = os.environ.get("LD_PRELOAD", "")
    told = f"{library} malloc" + (f", behind LD_PRELOAD={already}" if already else "")
    # Whoever sets these for toll sets them for what it launches.
    changed = [f"{name}={value}" for name, value in sorted(os.environ.items()) if _SETS_GLIBC.match(name)]
    return f"{told}, with {' '.join(changed)}" if changed else told


def _version(allocator: _Allocator, path: Path) -> str:
    """The version that the loaded library reports; "" where it cannot be loaded.

    In a process of its own: a library of another architecture, or a broken one, must not end this one.
    """
    code = f"import ctypes\nloaded = ctypes.CDLL(None)\n{allocator.version}"
    try:
        environment = {**os.environ, "LD_PRELOAD": str(path)}
        done = run_tool(interpreter("-S", "-c", code), env=environment, limit_s=_PROBE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
