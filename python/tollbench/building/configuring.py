"""Configures a build folder: by CMake where anything that it looks at may have changed, else not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tollbench.building import sparing_others
from tollbench.building.compiler_identity import cached_compiler, compiler_identity
from tollbench.building.known import entries
from tollbench.building.room_for_processes import check_room_for_processes
from tollbench.catalog.machine import processor_mark
from tollbench.catalog.managers import DATABASES, tells_of_changes
from tollbench.catalog.tools import run_tool
from tollbench.errors import Exit, TollError
from tollbench.interpreters import PYTHON, environment_of_tools, interpreter
from tollbench.words import Toolset

OnLine = Callable[[str], None]
CONFIGURATION_FAILED = Exit.USAGE  # never 1, which says that something became slower
STAMP, TRIED = "configured.json", "tried.json"
# What is installed or removed shows here; CMake's own files and the suites are watched by ninja.
WATCHED = (
    *DATABASES,
    "/usr/include",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/local/lib/cmake",
    "/usr/local/bin",
)
# The same below each folder of the user's own, whose libraries come before all others.
WATCHED_BELOW = ("include", "lib", "lib/cmake", "lib64", "lib64/cmake")
# In front of CMake, and of ninja where that may start it.
SPARING_OTHERS = interpreter("-S", os.path.realpath(sparing_others.__file__))
# What compilers and linkers read besides their command line, which ninja does not look at.
READ_BY_COMPILERS = (
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LD_RUN_PATH",
)
FLAGS = ("CXXFLAGS", "LDFLAGS")
_NATIVE = re.compile(r"=native\b")
# Where CMake looks for libraries; what it found once it does not look for again.
SEARCHED = ("CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")
HEEDED = ("PATH", "CXX", *FLAGS, *READ_BY_COMPILERS, *SEARCHED)


def configure(
    root: Path,
    folder: Path,
    toolset: Toolset,
    on_line: OnLine,
    *,
    enter: tuple[str, ...] = (),
    file_system: str = "",
) -> None:
    """Leaves `folder` with a build.ninja that is up to date. Raises TollError where CMake cannot do it.

    `enter` goes before the commands, and `file_system` is where they find themselves then.
    """
    check_room_for_processes()  # ninja configures by itself where something changed
    command = [*enter, *_command(root, folder, toolset, "/usr/bin/python3" if enter else PYTHON)]
    command += ["-UCMAKE_*_COMPILER_LAUNCHER"] if enter else []  # which a failed attempt may have left there
    stamp, now = folder / STAMP, _marks(command, file_system)
    now["compiler"] = compiler_identity(folder, entered=bool(enter))
    found_all = tells_of_changes(file_system) or not _lacks_something(folder)
    if _told(stamp) == now and found_all and _up_to_date(folder, enter):
        return
    if '"' in f"{root}{folder}":  # CMake ends a name there, and then misses its own sources
        raise TollError(f"CMake cannot build in a folder with a quote in its name: {root}", "rename it")
    tried = folder / TRIED  # stays where the configuration fails
    before = _told(tried) or _told(stamp)
    _forget_other_compiler(folder, toolset, before, now, entered=bool(enter))
    stamp.unlink(missing_ok=True)
    said = _run(command, root, entered=bool(enter))
    # Which CMake chose, in an empty folder; while that is not there, the one that compiled.
    compiled_by = before.get("compiler", []) if isinstance(before, dict) else []
    now["compiler"] = compiler_identity(folder, entered=bool(enter)) or compiled_by
    tried.write_text(json.dumps(now), encoding="utf-8")
    log = folder / "configure.log"
    log.write_text(said.stdout, encoding="utf-8")
    for line in said.stdout.splitlines():
        on_line(line)
    if said.returncode != 0:
        told = re.search(r"CMake Error.*?\n\s*\n?\s*(\S.*)", said.stdout)
        what = told.group(1) if told else (said.stdout.strip().splitlines() or ["no message"])[-1]
        raise TollError(
            f"CMake could not configure the build: {what}",
            f"read {log}; where the build folder is from another compiler: rm -r {folder}",
            CONFIGURATION_FAILED,
        )
    stamp.write_text(json.dumps(now), encoding="utf-8")


def _command(root: Path, folder: Path, toolset: Toolset, python: str) -> list[str]:
    command = ["cmake", "--preset", "release", "-S", str(root), "-B", str(folder)]
    # toll's own tests and benchmarks need more than contenders do, and are built by other presets.
    command += ["-DTOLL_TESTS=OFF", "-DTOLL_BENCH=OFF", f"-DPython3_EXECUTABLE={python}"]
    settings = {
        "CMAKE_CXX_COMPILER": toolset.compiler,
        "TOLL_OPTIMIZATION": toolset.optimization,
        "CMAKE_AR": toolset.archiver,
    }
    # CMake reads the user's variables in an empty folder alone: flags of one run stayed for all later ones,
    # and an environment with flags of its own had none of the user's.
    link = _flags("LDFLAGS", toolset.link_flags)
    flags = {
        "CMAKE_CXX_FLAGS": _flags("CXXFLAGS", toolset.flags),
        "CMAKE_EXE_LINKER_FLAGS": link,
        "CMAKE_SHARED_LINKER_FLAGS": link,
    }
    command += [f"-D{name}={value}" for name, value in settings.items() if value]
    return command + [f"-D{name}={value}" for name, value in flags.items()]


def _flags(variable: str, own: Sequence[str]) -> str:
    """The user's, and those of the environment behind them."""
    return " ".join(filter(None, [os.environ.get(variable, "").strip(), *own]))


def _run(command: Sequence[str], root: Path, *, entered: bool) -> subprocess.CompletedProcess[str]:
    if shutil.which(command[0]) is None:
        raise TollError("cmake is not installed", "toll doctor names the command that brings it")
    return run_tool(
        [*SPARING_OTHERS, *command], one_stream=True, cwd=root, env=environment_of_tools(entered=entered)
    )


def _up_to_date(folder: Path, enter: tuple[str, ...]) -> bool:
    """Whether ninja finds nothing that a configuration depends on changed, or has configured again itself."""
    if not (folder / "build.ninja").exists() or (not enter and shutil.which("ninja") is None):
        return False
    command = [*SPARING_OTHERS, *enter, "ninja", "-C", str(folder), "build.ninja"]
    return run_tool(command, env=environment_of_tools(entered=bool(enter))).returncode == 0


def _forget_other_compiler(
    folder: Path, toolset: Toolset, before: object, now: Mapping[str, list[str]], *, entered: bool
) -> None:
    """CMake does not change its compiler, nor what it found out with other flags: that is of the old ones.
    So is what was compiled and found with other folders in the compiler's own variables.

    Nor does it see that another compiler came to stand in the same place, as by update-alternatives or a
    package's new version: what was compiled stayed, and its rows named the version of then beside what the
    new one had compiled. Nor that a machine woke up on another processor, for which `native` is other code.

    `before` is what the folder was configured by, or what was tried; of who knows what, by hand for one,
    nothing goes. In a root, `entered`, the user's compiler is not there.
    """
    if not (known := cached_compiler(folder)):
        return
    users = [] if entered or toolset.compiler else ["CXX"]
    names = (*users, *FLAGS, *READ_BY_COMPILERS)
    other = bool(toolset.compiler) and known != toolset.compiler
    elsewhere = False
    if isinstance(before, dict):
        other = other or any(_line(before, name) != _line(now, name) for name in names)
        both = zip(before.get("compiler") or (), now["compiler"], strict=False)  # as far as both are known
        other = other or any(one != another for one, another in both)
        # Code for `native` is this processor's, and what asked for it stands in a command as before.
        other = other or before.get("processor", []) != now["processor"]
        elsewhere = any(_line(before, name) != _line(now, name) for name in SEARCHED)
        elsewhere = elsewhere or before.get("own folders", []) != now["own folders"]
    if other or elsewhere:
        (folder / "CMakeCache.txt").unlink()
    if other:  # objects of libraries found elsewhere have other commands, and ninja sees that
        shutil.rmtree(folder / "CMakeFiles", ignore_errors=True)


def _line(marks: Mapping[str, Any], variable: str) -> str:
    lines = marks.get("environment", ())
    return next((line for line in lines if str(line).startswith(f"{variable}=")), f"{variable}=")


def _marks(command: Sequence[str], file_system: str) -> dict[str, list[str]]:
    own = filter(None, os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep))
    below = [f"{folder}/{name}" for folder in own for name in WATCHED_BELOW]
    return {
        "command": list(command),
        "environment": [f"{name}={os.environ.get(name, '')}" for name in HEEDED],
        "watched": _dated(WATCHED, file_system),
        "own folders": _dated(below, file_system),
        "processor": [processor_mark()] if any(_NATIVE.search(word) for word in command) else [],
    }


def _dated(places: Iterable[str], file_system: str) -> list[str]:
    return [f"{place} {_changed(Path(file_system + place))}" for place in places]


def _lacks_something(folder: Path) -> bool:
    """Whether CMake did not find what a contender needs, when it looked last."""
    return any("not found" in str(entry.get("reason", "")) for entry in entries(folder))


def _changed(path: Path) -> str:
    try:
        return str(path.stat().st_mtime_ns)
    except OSError:
        return "none"


def _told(stamp: Path) -> object:
    try:
        return json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
