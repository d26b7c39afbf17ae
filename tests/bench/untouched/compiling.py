"""Builds the campaign's programs, each object and each executable once for what went into it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from catalogue import HERE, Library, Program

C_COMPILERS = {"g++": "gcc", "clang++-19": "clang-19"}
STANDARDS = {".cpp": ("-std=c++20",), ".c": ("-std=c17",), ".S": ()}


class CannotBuild(Exception):
    """The compiler, the linker, or the program that came of them failed."""


@dataclass(frozen=True, slots=True)
class Added:
    """A file beside the program's own, linked before them."""

    source: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """A way to build a program."""

    program: Program
    where: str = "here"  # folder of the sources, below that of the campaign
    texts: Mapping[str, str] = field(default_factory=dict)  # file -> its text instead of that in the checkout
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    added: tuple[Added, ...] = ()
    backwards: bool = False  # objects in the opposite order

    def text(self, source: Path) -> str:
        return self.texts.get(source.name) or source.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it."""

    executable: Path
    objects: Mapping[str, Path]  # source -> object

    def answers(self) -> dict[str, str]:
        """Benchmark -> what it computes; asked once, then kept beside the executable."""
        kept = self.executable.parent / "answers.json"
        if not kept.exists():
            kept.write_text(json.dumps(_asked(self.executable)), encoding="utf-8")
        found: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
        return found


def _asked(executable: Path) -> dict[str, str]:
    command = [str(executable), "--benchmark_min_time=0.0001", "--benchmark_format=json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        rows = json.loads(done.stdout)["benchmarks"]
    except (subprocess.SubprocessError, ValueError) as error:
        raise CannotBuild(f"{executable.name} does not run: {error}") from None
    return {row["name"]: row["label"] for row in rows}


class Workshop:
    """A folder that keeps what was built. A program's builds come one after another: they share a folder."""

    def __init__(self, folder: Path, benchmark: Path | None) -> None:
        self._folder = folder
        self._benchmark = benchmark

    def built(self, build: Build) -> Built:
        sources = self._folder / build.where / build.program.name
        _put(sources, build)
        objects = {path.name: self._compiled(build, sources, path.name) for path in build.program.sources}
        shared = ("-fPIC",) if build.program.libraries else ()  # what is added goes into libraries as well
        added = [
            self._compiled(build, HERE / "moved", one.source, (*one.flags, *shared)) for one in build.added
        ]
        of_libraries = {library.source for library in build.program.libraries}
        own = [path for source, path in objects.items() if source not in of_libraries]
        if build.backwards:
            own.reverse()
        return Built(self._linked(build, [*added, *own], objects, added), objects)

    def _compiled(self, build: Build, sources: Path, source: str, flags: tuple[str, ...] = ()) -> Path:
        program, path = build.program, sources / source
        compiler = program.compiler if path.suffix == ".cpp" else C_COMPILERS[program.compiler]
        of_library = any(library.source == source for library in program.libraries)
        command = [compiler, *STANDARDS[path.suffix], *program.flags, *build.flags, *flags]
        command += ["-fPIC"] if of_library else []
        command += [f"-I{self._benchmark / 'include'}"] if self._benchmark else []
        command += ["-c", str(path)]
        texts = [path.read_text(encoding="utf-8"), *(one.read_text("utf-8") for one in program.headers)]
        target = self._folder / "objects" / f"{path.stem}-{_key(command, texts)}.o"
        if not target.exists():
            _run(command, target, cwd=sources)
        return target

    def _linked(
        self, build: Build, own: Sequence[Path], objects: Mapping[str, Path], added: Sequence[Path]
    ) -> Path:
        program = build.program
        options = [*program.link, *build.link]
        libraries = [_shared(program, one, [*added, objects[one.source]]) for one in program.libraries]
        command = [program.compiler, *map(str, own), *options]
        command += [f"-L{self._benchmark / 'lib'}"] if self._benchmark else []
        command += ["-lbenchmark", "-lpthread"]
        key = _key(command, [" ".join(one) for one in libraries])
        folder = self._folder / "built" / f"{program.name}-{key}"
        if not folder.exists():
            self._link_all(folder, program, libraries, command)
        return folder / program.name

    def _link_all(
        self, folder: Path, program: Program, libraries: Sequence[Sequence[str]], command: Sequence[str]
    ) -> None:
        """All files of a program at once or none: the folder appears when they are complete."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            making = Path(temporary) / folder.name
            for library, how in zip(program.libraries, libraries, strict=True):
                _run(how, making / library.file)
            linked = [str(making / one.file) for one in program.libraries if one.linked]
            rpath = ["-Wl,-rpath,$ORIGIN"] if program.libraries else []
            _run([*command, *linked, *rpath], making / program.name)
            making.rename(folder)


def _put(folder: Path, build: Build) -> None:
    """The sources, as this build wants them: at the same place for a program and what is changed in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in (*build.program.sources, *build.program.headers):
        (folder / source.name).write_text(build.text(source), encoding="utf-8")


def _shared(program: Program, library: Library, objects: Sequence[Path]) -> list[str]:
    return [program.compiler, "-shared", f"-Wl,-soname,{library.file}", *map(str, objects)]


def _key(command: Sequence[str], texts: Sequence[str]) -> str:
    told = json.dumps([_version(command[0]), list(command), list(texts)])
    return hashlib.sha256(told.encode()).hexdigest()[:20]


@cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def _run(command: Sequence[str], target: Path, cwd: Path | None = None) -> None:
    """Compiles or links; the target appears when it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    making = target.with_name(f"{target.name}.{threading.get_ident()}")
    done = subprocess.run([*command, "-o", str(making)], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuild(f"{' '.join(command)}: {done.stderr[-600:]}")
    making.rename(target)
