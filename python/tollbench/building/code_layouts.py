"""A contender's program linked several times, each time with its functions at other places.

Where the linker puts a function decides which cache lines its loops cross and which branches share a slot of
the predictor. In a table of prices that is no property of a contender: an edit anywhere before it puts it
elsewhere, and of two copies of one source one was 1.6 % dearer than the other in every launch. So launches
of a case go through these layouts, and rows are told apart by what holds over them
(`tollbench.analysis.rounds`). Source: Mytkowicz et al., "Producing Wrong Data Without Doing Anything
Obviously Wrong!" (2009); Curtsinger and Berger, "Stabilizer" (2013).

Functions of the contender's own objects move, templates of its libraries among them: their order is drawn,
and up to 48 bytes before each. What is compiled into toll's library or a shared one stays as it is. Unlike
`tollbench.linking`, which compares revisions of a user's program, nothing is recorded or read from maps: the
link is ninja's own, each of its layouts costs one link, and two programs have no place in common.
"""

from __future__ import annotations

import glob
import os
import random
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import NamedTuple

from tollbench.catalog.machine import usable_cpus
from tollbench.catalog.tools import run_tool
from tollbench.interpreters import environment_of_tools
from tollbench.writing import write_own

FOLDER = "layouts"  # of linker scripts, in a build folder
SECTION = ".text.toll_layout"  # where functions that are moved stand
BEGINNING = "toll_layout_begins"  # of that section
STEP_BYTES = 16  # compilers begin functions at multiples of it
LINE_BYTES = 64
PAGE_BYTES = 4096
_LONGEST_WORDS = 300
_READ_BYTES = 1 << 20
_SCHEME = 1  # of how layouts are made; a new number has those of before made anew
# The compiler's own classes stay together: what hardly ever runs shall not lie between what does.
_CLASSES = re.compile(r"\.text\.(unlikely|startup|hot|exit|split)(\.|$)")
_EXECUTABLE, _IN_GROUP = 0x4, 0x200  # SHF_EXECINSTR, SHF_GROUP


class InLayouts(NamedTuple):
    """What became of one program's layouts."""

    files: tuple[Path, ...] = ()  # layout 1, 2, ...; none where it runs as it was linked
    reason: str = ""  # why there are none


@dataclass(frozen=True, slots=True)
class MovedFunction:
    """Code that moves as a whole: a section of an object."""

    file: str  # as the link names it; "" where the name alone tells which it is
    section: str
    size: int


@dataclass(frozen=True, slots=True)
class LinkedBuild:
    """A build folder whose programs are linked again."""

    folder: Path
    enter: tuple[str, ...] = ()  # goes before commands of a root
    stopped: Event = field(default_factory=Event)

    def run(self, command: str) -> str:
        """What a shell's command in the folder prints. Raises _Refused where it fails, OSError."""
        words = (*self.enter, "sh", "-c", f"cd {shlex.quote(str(self.folder))} && {command}")
        environment = environment_of_tools(entered=bool(self.enter))
        done = run_tool(words, cwd=self.folder, env=environment)
        if done.returncode != 0:
            # The linker's own words come before its driver's, which say no more than that it failed.
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise _Refused(said[0][:_LONGEST_WORDS])
        return done.stdout


class _Refused(Exception):
    """Why a program has no layouts."""


def file_of(executable: Path, layout: int) -> Path:
    """Where layout 1, 2, ... of a program lies."""
    return executable.with_name(f"{executable.name}.layout-{layout:02d}")


def linked(
    build: LinkedBuild,
    executables: Mapping[str, Path],
    layouts: int,
    on_progress: Callable[[int, int, str], None] = lambda _done, _total, _what: None,
) -> dict[str, InLayouts]:
    """Each program of a build folder in `layouts` layouts, by target; those that it has already are kept.

    A program that cannot be linked so is measured all the same, as it was linked, and a reason says so.
    Raises nothing but KeyboardInterrupt.
    """
    if layouts < 2:
        return {}
    found: dict[str, InLayouts] = {}
    lacking: dict[str, Path] = {}
    for target, executable in executables.items():
        files = tuple(file_of(executable, layout) for layout in range(1, layouts + 1))
        if _are_kept(build, target, executable, files):
            found[target] = InLayouts(files)
        else:
            lacking[target] = executable
    if not lacking:
        return found
    links = _links(build, lacking)
    with ThreadPoolExecutor(len(usable_cpus())) as pool:
        futures = {
            pool.submit(_linked, build, target, executable, links, layouts): target
            for target, executable in lacking.items()
        }
        try:
            for done, future in enumerate(as_completed(futures), 1):
                on_progress(done, len(lacking), f"code layouts of {lacking[futures[future]].name}")
                found[futures[future]] = future.result()
        except BaseException:
            build.stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def _stamp(build: LinkedBuild, target: str) -> Path:
    return build.folder / FOLDER / f"{target}.made"


def _mark(executable: Path) -> str:
    """Of the program that they are layouts of, and of how they are made."""
    told = executable.stat()
    return f"{_SCHEME} {told.st_size} {told.st_mtime_ns}"


def _are_kept(build: LinkedBuild, target: str, executable: Path, files: Sequence[Path]) -> bool:
    """Whether they are there, of this very program. They are read once: else the first launch of each would,
    and its set-up would be the disk's."""
    try:
        if _stamp(build, target).read_text(encoding="utf-8") != _mark(executable):
            return False
        for file in files:
            with file.open("rb") as opened:
                while opened.read(_READ_BYTES):
                    pass
    except OSError:
        return False
    return True


def _links(build: LinkedBuild, executables: Mapping[str, Path]) -> dict[str, list[str]]:
    """By target the command that linked the program, and those that followed it, as ninja would run them.

    Under "" why there are none, where ninja does not tell.
    """
    names = {os.path.relpath(executable, build.folder): target for target, executable in executables.items()}
    asked = " ".join(shlex.quote(name) for name in names)
    try:
        told = build.run(f"ninja -t commands {asked}")
    except (_Refused, OSError) as error:
        return {"": [f"ninja does not tell its link: {error}"]}
    found: dict[str, list[str]] = {}
    for line in told.splitlines():
        # `: && c++ ... -o NAME ... && cd ... && ... && :`
        parts = [part for part in line.split(" && ") if part not in (":", "")]
        output = re.search(r" -o (\S+)", parts[0]) if parts else None
        if output and output.group(1) in names and " -c " not in parts[0]:
            found[names[output.group(1)]] = parts
    return found


def _linked(
    build: LinkedBuild, target: str, executable: Path, links: Mapping[str, list[str]], layouts: int
) -> InLayouts:
    try:
        if target not in links:
            raise _Refused((links.get("") or ["ninja does not tell its link"])[0])
        link, *afterwards = links[target]
        functions = tuple(_functions(build.folder, target, link))
        if not functions:
            raise _Refused("its objects hold no functions yet, as code is made when it is linked")
        # Until all are made: what is killed in between leaves no stamp that fits.
        _stamp(build, target).unlink(missing_ok=True)
        # Those that nobody asks for now, too: with the stamp of sixteen that are made anew, four of an older
        # program passed for this one's once twenty were asked for.
        for old in executable.parent.glob(f"{glob.escape(executable.name)}.layout-*"):
            old.unlink()
        for layout in range(1, layouts + 1):
            script = build.folder / FOLDER / f"{target}-{layout:02d}.x"
            script.parent.mkdir(exist_ok=True)
            # By the program's name: two copies of one source stand as differently as two builds of it.
            drawn = random.Random(f"code/{target}/{layout}")
            script.write_text(script_of(functions, drawn), encoding="utf-8")
            _link(build, executable, link, afterwards, layout, script)
        write_own(_stamp(build, target), _mark(executable))
    except _Refused as refused:
        return InLayouts(reason=str(refused))
    except (OSError, ValueError) as error:
        return InLayouts(reason=f"cannot be linked again: {' '.join(str(error).split())}")
    return InLayouts(tuple(file_of(executable, layout) for layout in range(1, layouts + 1)))


def _functions(folder: Path, target: str, link: str) -> Iterator[MovedFunction]:
    """Of the program's own objects, those of one name in a group once. Raises OSError, ValueError."""
    own = [word for word in shlex.split(link) if word.endswith(".o") and f"{target}.dir/" in word]
    if not own:
        raise _Refused("its link names no objects of its own")
    seen = set()
    for word in own:
        for name, flags, size in _sections(folder / word):
            moves = name.startswith(".text") and not _CLASSES.match(name)
            if moves and size and flags & _EXECUTABLE and not (flags & _IN_GROUP and name in seen):
                seen.add(name)
                yield MovedFunction("" if flags & _IN_GROUP else word, name, size)


def _sections(path: Path) -> list[tuple[str, int, int]]:
    """Names, flags and sizes of an object's sections."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as file:
            sections = ELFFile(file).iter_sections()
            return [(one.name, int(one["sh_flags"]), int(one["sh_size"])) for one in sections]
    except ELFError as error:
        raise ValueError(f"{path.name}: {error}") from None


def script_of(functions: Sequence[MovedFunction], drawn: random.Random) -> str:
    """A linker script that puts the functions, in an order that is drawn, before all other code.

    GNU ld and LLD heed it beside their own script, as it ends in INSERT. It fails where a linker puts
    functions elsewhere. Source: the manual of GNU ld, "Miscellaneous Commands".
    """
    order = drawn.sample(functions, len(functions))
    gaps = [drawn.randrange(0, LINE_BYTES, STEP_BYTES) for _ in order]
    least = sum(one.size for one in functions) + sum(gaps)
    return "\n".join(
        [
            "SECTIONS {",
            f"  {SECTION} : ALIGN({LINE_BYTES}) {{",
            f"    {BEGINNING} = .;",
            *(f"    . += {gap}; {_pattern(one)}" for one, gap in zip(order, gaps, strict=True)),
            # Less where it begins: to LLD the place is an address, to GNU ld a distance.
            f'    ASSERT(. - {BEGINNING} >= {least}, "functions are not where the layout has them");',
            # What follows keeps its places within a page: the gauge of toll's library took 4 to 9 % longer at
            # some than at others, and would tell of a neighbour in one layout and of none in the next.
            f"    . = ALIGN({PAGE_BYTES});",
            "  }",
            "} INSERT BEFORE .text;",
            "",
        ]
    )


def _pattern(function: MovedFunction) -> str:
    file = f'"{function.file}"' if function.file else "*"
    return f"{file}({function.section})"


def _link(
    build: LinkedBuild, executable: Path, link: str, afterwards: Sequence[str], layout: int, script: Path
) -> None:
    """One layout, with what the build does after a link. Raises _Refused, OSError."""
    if build.stopped.is_set():
        raise _Refused("interrupted")
    name, output = os.path.relpath(executable, build.folder), file_of(executable, layout)
    moved = link.replace(f" -o {name}", f" -o {shlex.quote(str(output))}", 1)
    # Lines for debuggers are most of a program's file, and stand in the program itself.
    relink = f"{moved} -Xlinker -T -Xlinker {shlex.quote(str(script))} -Wl,--strip-debug"
    itself = re.compile(re.escape(str(executable)) + r"(?![\w.-])")  # and no file whose name begins with it
    later = [itself.sub(lambda _: str(output), command) for command in afterwards]
    try:
        build.run(" && ".join([relink, *later]))
    except _Refused as refused:
        output.unlink(missing_ok=True)
        raise _Refused(f"linking it again failed: {refused}") from None
