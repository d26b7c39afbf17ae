"""What counting preloads: one library tells where runs begin and end, one counts allocations.

Each is compiled once for their text, with the machine's own C++ compiler, into the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench import home
from tollbench.launching.command import run_command, working_folder
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed
from tollbench.writing import write_own

SOURCES = home.SOURCES / "src"
MARKS = "counts_preload.cpp"
ALLOCATIONS = "allocations_preload.cpp"
OWN_MARKS = "marks_preload.cpp"
LAUNCHER = "counted_launch.cpp"
_HEADERS = ("allocations_preload.hpp", "perf_counter.hpp", "tenfold_runs.hpp")
_NEEDED = (MARKS, ALLOCATIONS, OWN_MARKS, LAUNCHER, *_HEADERS)
_OPTIONS = ("-std=c++20", "-O2", "-fno-builtin")
_OF_A_LIBRARY = ("-fPIC", "-shared")
_VALGRIND_HEADER = Path("/usr/include/valgrind/callgrind.h")  # libtoll_counts.so asks callgrind with it
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Preloaded:
    """Paths of the compiled libraries."""

    marks: Path  # into programs of other libraries, and command lines
    allocations: Path
    own_marks: Path  # into toll programs, in place of `allocations`
    launcher: Path  # a program that has the kernel count for another one, nothing that is preloaded

    def __post_init__(self) -> None:
        if " " in str(self.marks) or ":" in str(self.marks):
            raise LaunchFailed(
                f"nothing can be preloaded from {self.marks.parent}, whose name has a space or a colon in it:"
                " set XDG_CACHE_HOME to another folder"
            )


def compiled(sources: Path, cache: Path) -> Preloaded:
    """The libraries of the sources in `sources`, below `cache`. Raises LaunchFailed: what has to be done."""
    try:
        texts = b"".join((sources / name).read_bytes() for name in _NEEDED)
    except OSError as error:
        raise LaunchFailed(f"the sources of what counts are not there: {error}") from None
    mark = hashlib.blake2b(texts, digest_size=12)
    mark.update(b"1" if _VALGRIND_HEADER.exists() else b"0")
    # Valgrind names what it mapped by its real name, and what the marks execute is left out by that.
    folder = (cache / "preloaded" / mark.hexdigest()).resolve()
    names = ("libtoll_counts.so", "libtoll_allocations.so", "libtoll_marks.so", "toll_counted_launch")
    found = Preloaded(*(folder / name for name in names))
    sources_of = {found.marks: MARKS, found.allocations: ALLOCATIONS, found.own_marks: OWN_MARKS}
    for library, source in sources_of.items():
        if not library.exists():
            _compile(sources / source, library, _OF_A_LIBRARY)
    if not os.access(found.launcher, os.X_OK):
        _compile(sources / LAUNCHER, found.launcher)
    return found


def _compile(source: Path, library: Path, options: Sequence[str] = ()) -> None:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise LaunchFailed("counting needs a C++ compiler, once (apt-get install g++)")
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with working_folder(None) as scratch:
            made = scratch / library.name
            command = [compiler, *_OPTIONS, *options, str(source), "-o", str(made), "-ldl"]
            ended = run_command(command, own_environment(), scratch, _LIMIT_S)
            if ended.exit_code != 0:
                raise LaunchFailed(f"what counts does not compile: {compiler} {ended.how()}")
            write_own(library, made.read_bytes())
            library.chmod(0o700)
    except OSError as error:
        raise LaunchFailed(f"what counts cannot be kept in {library.parent}: {error.strerror}") from None
