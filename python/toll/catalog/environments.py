"""Where programs can be run: the machine as it is, and the same with another allocator in front of malloc.

An allocator is preloaded into programs that were built once, so that environments differ in nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from toll.catalog.packages import command_for, shared_libraries, table
from toll.words import HOST, Environment

PRELOADABLE = ("C", "C++")  # other runtimes manage memory without malloc, or are linked statically
_PROBE_LIMIT_S = 20.0


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

OFFERED: tuple[Environment, ...] = (
    HOST,
    *(Environment(item.name, allocator=item.name, languages=PRELOADABLE) for item in _ALLOCATORS),
)


def names() -> tuple[str, ...]:
    """Of every environment on offer, whether it can be used here or not; the host is the first."""
    return tuple(environment.name for environment in OFFERED)


def located(environment: Environment) -> Environment:
    """The environment with what this machine has for it: the allocator's version and its library's path.

    Where the library is missing or cannot be loaded, `unavailable` says why and what to do.
    """
    allocator = next((item for item in _ALLOCATORS if item.name == environment.name), None)
    if allocator is None:
        return replace(environment, allocator=_of_the_machine())
    need = table()[allocator.name]
    unusable = ""
    for path in shared_libraries(need.shared):
        version = _version(allocator, path)
        if version:
            shown = f"{allocator.name} {version} ({path.name})"
            return replace(environment, allocator=shown, preload=(str(path),), unavailable="")
        unusable = unusable or f"{path} cannot be preloaded into a program of this machine"
    why = unusable or f"{' or '.join(need.shared)} not found"
    return replace(environment, preload=(), unavailable=f"{why}; next: {command_for([need])}")


def _of_the_machine() -> str:
    """What malloc is in a program that toll preloads nothing into."""
    try:
        library = os.confstr("CS_GNU_LIBC_VERSION") or "the C library's"
    except ValueError:  # another C library
        library = "the C library's"
    preloaded = os.environ.get("LD_PRELOAD", "")
    return f"{library} malloc" + (f", behind LD_PRELOAD={preloaded}" if preloaded else "")


def _version(allocator: _Allocator, path: Path) -> str:
    """The version that the loaded library reports; "" where it cannot be loaded.

    In a process of its own: a library of another architecture, or a broken one, must not end this one.
    """
    code = f"import ctypes\nloaded = ctypes.CDLL(None)\n{allocator.version}"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            env={**os.environ, "LD_PRELOAD": str(path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
