"""Which compiler a build folder's cache names: the file behind the name, and the GCC that Clang goes by."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tollbench.catalog.tools import run_tool

# They stand in compilers' places, by links of their names, and start the same name further down on PATH.
LAUNCHERS = ("ccache", "distcc", "icecc")


def cached_compiler(folder: Path) -> str:
    """The name in CMake's cache; "" where there is none yet."""
    return _cached(folder, "CMAKE_CXX_COMPILER")


def compiler_identity(folder: Path, *, entered: bool) -> list[str]:
    """The file behind the compiler's name; nothing where there is no cache yet, where the file is in a root,
    or is not there: what it compiled is kept while a disk is not mounted.

    Clang compiles with the libstdc++ of a GCC that it looks for each time: another GCC is another compiler.
    That stands last, and is left out where Clang does not tell it.
    """
    name = "" if entered else cached_compiler(folder)
    if not name:
        return []
    behind = _behind_launcher(name, _cached(folder, "CMAKE_CXX_COMPILER_ARG1"))
    place = Path(os.path.realpath(behind))
    try:
        found = place.stat()
    except OSError:
        return []
    identity = [name, str(place), str(found.st_size), str(found.st_mtime_ns)]
    return [*identity, *_gcc_of_clang(behind, place)]


def _cached(folder: Path, variable: str) -> str:
    try:
        cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    known = re.search(rf"^{variable}:\w+=(.*)$", cache, re.MULTILINE)
    return known.group(1).strip() if known else ""


def _behind_launcher(name: str, words: str) -> str:
    """What a launcher would start, by its own rule; the name itself where it is none, or finds nothing.

    `words` are those behind the name, as of CXX="ccache g++".
    """
    if not _is_launcher(name):
        return name
    wanted = words.split()[:1] if Path(name).name in LAUNCHERS else [Path(name).name]
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = (shutil.which(one, path=folder) for one in wanted for folder in folders if folder)
    return next((place for place in found if place and not _is_launcher(place)), name)


def _is_launcher(name: str) -> bool:
    return Path(os.path.realpath(name)).name in LAUNCHERS


def _gcc_of_clang(name: str, place: Path) -> list[str]:
    if "clang" not in place.name:
        return []
    try:
        said = run_tool([name, "-v"], limit_s=10).stderr
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^Selected GCC installation: .*$", said, re.MULTILINE)
