"""The programs of the campaign: what in each is hard to compare, and how it is built."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "programs"


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library of the program's own, in the program's folder."""

    source: str
    file: str
    linked: bool  # else the program opens it while it runs


@dataclass(frozen=True, slots=True)
class Program:
    """Its sources are NAME.cpp and NAME_*.cpp or .c; NAME*.hpp goes with them."""

    name: str
    covers: str
    compiler: str = "g++"
    flags: tuple[str, ...] = ("-O2",)
    link: tuple[str, ...] = ()
    libraries: tuple[Library, ...] = ()
    cpu: tuple[str, ...] = ()  # flags of /proc/cpuinfo without which it does not run

    @property
    def sources(self) -> tuple[Path, ...]:
        """Its translation units, those of its libraries included."""
        return tuple(path for path in self._files() if path.suffix in (".cpp", ".c"))

    @property
    def headers(self) -> tuple[Path, ...]:
        own = (path for path in self._files() if path.suffix == ".hpp")
        return (SOURCES / "answers.hpp", *own)

    def _files(self) -> list[Path]:
        return sorted((*SOURCES.glob(f"{self.name}.*"), *SOURCES.glob(f"{self.name}_*")))

    @property
    def own_linker(self) -> bool:
        """Whether another linker would make another program, or none."""
        return any(flag.startswith(("-fuse-ld", "-flto")) for flag in (*self.flags, *self.link))


PROGRAMS = (
    Program("switches", "jump tables, trees of comparisons", link=("-Wl,-z,now",)),
    Program("dispatch", "tables of functions and of labels, pointers to members"),
    Program("virtuals", "tables of virtual functions, thunks, casts by type"),
    Program("tables", "tables of constants, reached from before their begin and from their end"),
    Program(
        "anonymous",
        "constants without a name, texts that share tails",
        flags=("-O2", "-ffunction-sections", "-fdata-sections"),
        link=("-Wl,--gc-sections",),
    ),
    Program("initialised", "initial values, static and computed, set by main and by other files"),
    Program("own_to_threads", "thread_local variables"),
    Program("thrown", "exceptions: handlers' types and clean-up in tables beside the code"),
    Program("callables", "std::function, comparators, a registry on the heap", compiler="clang++-19"),
    Program("lookups", "switches as tables of values and of distances", compiler="clang++-19"),
    Program(
        "templates",
        "equal functions folded by the linker, names of types",
        flags=("-O2", "-ffunction-sections"),
        link=("-fuse-ld=gold", "-Wl,--icf=all"),
    ),
    Program("texts_and_maps", "containers, an operator new of its own; stripped", link=("-s",)),
    Program("concurrent", "atomics, locks, threads"),
    Program("clones", "versions of a function for several machines, chosen by the loader"),
    Program(
        "maths",
        "libm and vectors, for a recent machine",
        flags=("-O3", "-march=x86-64-v3"),
        cpu=("avx2", "bmi2", "fma"),
    ),
    Program("cold_paths", "cold code, recursion, calls that are jumps, bodies exchanged"),
    Program(
        "own_library",
        "libraries of its own, linked and opened; copied variables, interposed functions",
        link=("-ldl",),
        libraries=(
            Library("own_library_shared.cpp", "libowned.so", linked=True),
            Library("own_library_plugged.cpp", "libplugged.so", linked=False),
        ),
    ),
    Program("asserts", "texts with the path of the source"),
    Program("mixed", "C beside C++, not optimised", flags=("-O0",)),
    Program("copies", "large frames, alloca, constants copied as a whole"),
    Program(
        "absolute",
        "a fixed address; numbers that look like pointers",
        flags=("-O2", "-fno-pie"),
        link=("-no-pie",),
    ),
    Program("whole", "link-time optimisation", flags=("-O2", "-flto"), link=("-O2", "-flto")),
    Program("standing_alone", "linked statically, libc included", link=("-static",)),
    Program("seldom", "paths that one launch need not take"),
    Program(
        "registered",
        "benchmarks made by main, fixtures; no procedure linkage table",
        flags=("-O2", "-fno-plt"),
        link=("-Wl,-z,now",),
    ),
)


@cache
def cpu_flags() -> frozenset[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())


def why_not(program: Program, benchmark: Path | None) -> str:
    """Why this machine cannot build or run it; empty where it can."""
    if shutil.which(program.compiler) is None:
        return f"no {program.compiler} here"
    if lacking := set(program.cpu) - cpu_flags():
        return f"this processor lacks {', '.join(sorted(lacking))}"
    if "-static" in program.link and not _has_archive(program.compiler, benchmark):
        return "no libbenchmark.a here (Debian has none; --benchmark FOLDER names another)"
    if "-fuse-ld=gold" in program.link and shutil.which("ld.gold") is None:
        return "no ld.gold here"
    return ""


def _has_archive(compiler: str, benchmark: Path | None) -> bool:
    if benchmark is not None and (benchmark / "lib/libbenchmark.a").is_file():
        return True
    asked = subprocess.run(
        [compiler, "-print-file-name=libbenchmark.a"], capture_output=True, text=True, check=False
    )
    return "/" in asked.stdout
