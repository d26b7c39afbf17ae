"""A contender's program linked several times, each time with its functions at other places.

Where the linker puts a function decides which cache lines its loops cross and which branches share a slot of
the predictor. In a table of prices that is no property of a contender: an edit anywhere before it puts it
elsewhere, and of two copies of one source one was 1.6 % dearer than the other in every launch. So launches
of a case go through these layouts, and rows are told apart by what holds over them
(`tollbench.analysis.replicates`). Source: Mytkowicz et al., "Producing Wrong Data Without Doing Anything
Obviously Wrong!" (2009); Curtsinger and Berger, "Stabilizer" (2013).

Functions of the contender's own objects move, templates of its libraries among them: their order is drawn,
and up to 48 bytes before each. What is compiled into toll's library or a shared one stays as it is. Unlike
`tollbench.linking`, which compares revisions of a user's program, nothing is recorded or read from maps: the
link is ninja's own, each of its layouts costs one link, and two programs have no place in common.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from tollbench.catalog.machine import usable_cpus
from tollbench.catalog.tools import run_tool
from tollbench.interpreters import environment_of_tools

FOLDER = "layouts"  # of linker scripts, in a build folder
SECTION = ".text.toll_layout"  # where functions that are moved stand
STEP_BYTES = 16  # compilers begin functions at multiples of it
LINE_BYTES = 64
PAGE_BYTES = 4096
_LINK_LIMIT_S = 120.0
_LONGEST_WORDS = 300
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


class _Program(NamedTuple):
    """A program that is to be linked again."""

    executable: Path
    link: str
    functions: tuple[MovedFunction, ...]


def file_of(executable: Path, layout: int) -> Path:
    """Where layout 1, 2, ... of a program lies."""
    return executable.with_name(f"{executable.name}.layout-{layout:02d}")


def linked(
    folder: Path,
    executables: Mapping[str, Path],
    layouts: int,
    enter: tuple[str, ...] = (),
    on_progress: Callable[[int, int, str], None] = lambda _done, _total, _what: None,
) -> dict[str, InLayouts]:
    """Each program of a build folder in `layouts` layouts, by target; those that are newer than it are kept.

    A program that cannot be linked so is measured all the same, as it was linked, and a reason says so.
    `enter` goes before commands of a root. Raises nothing but KeyboardInterrupt.
    """
    if layouts < 2:
        return {}
    found: dict[str, InLayouts] = {}
    lacking: dict[str, Path] = {}
    for target, executable in executables.items():
        files = tuple(file_of(executable, layout) for layout in range(1, layouts + 1))
        if all(_is_newer(file, executable) for file in files):
            found[target] = InLayouts(files)
        else:
            lacking[target] = executable
    if not lacking:
        return found
    links = _links(folder, lacking, enter)
    done = 0
    with ThreadPoolExecutor(len(usable_cpus())) as pool:
        futures = {
            pool.submit(_linked, folder, target, executable, links.get(target, ""), layouts, enter): target
            for target, executable in lacking.items()
        }
        try:
            for future in as_completed(futures):
                done += 1
                on_progress(done, len(lacking), f"code layouts of {lacking[futures[future]].name}")
                found[futures[future]] = future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def _is_newer(file: Path, executable: Path) -> bool:
    try:
        return file.stat().st_mtime_ns >= executable.stat().st_mtime_ns
    except OSError:
        return False


def _links(folder: Path, executables: Mapping[str, Path], enter: tuple[str, ...]) -> dict[str, str]:
    """The command that linked each program, by target, as ninja would run it."""
    names = {target: os.path.relpath(executable, folder) for target, executable in executables.items()}
    command = [*enter, "ninja", "-C", str(folder), "-t", "commands", *names.values()]
    try:
        told = run_tool(command, cwd=folder, env=environment_of_tools(entered=bool(enter)))
    except OSError:
        return {}
    # A link is `: && c++ ... -o NAME ... && :`, with what is done after linking in the last part.
    parts = [part for line in told.stdout.splitlines() for part in line.split(" && ")]
    by_output = {name: part for part in parts if (name := _output_of(part))}
    return {target: by_output[name] for target, name in names.items() if name in by_output}


def _output_of(command: str) -> str:
    found = re.search(r" -o (\S+)", command)
    return found.group(1) if found and " -c " not in command else ""


def _linked(
    folder: Path, target: str, executable: Path, link: str, layouts: int, enter: tuple[str, ...]
) -> InLayouts:
    try:
        if not link:
            return InLayouts(reason="ninja does not tell its link")
        functions = tuple(_functions(folder, target, link))
        if not functions:
            return InLayouts(reason="its objects hold no functions yet, as code is made when it is linked")
        program = _Program(executable, link, functions)
        for layout in range(1, layouts + 1):
            if reason := _link(folder, target, program, layout, enter):
                return InLayouts(reason=reason)
    except (OSError, ELFError, subprocess.TimeoutExpired) as error:
        return InLayouts(reason=f"cannot be linked again: {' '.join(str(error).split())}")
    return InLayouts(tuple(file_of(executable, layout) for layout in range(1, layouts + 1)))


def _functions(folder: Path, target: str, link: str) -> Iterator[MovedFunction]:
    """Of the program's own objects, those of one name in a group once."""
    seen = set()
    for word in shlex.split(link):
        if not (word.endswith(".o") and f"{target}.dir/" in word):
            continue
        with (folder / word).open("rb") as file:
            for section in ELFFile(file).iter_sections():
                name, flags, size = section.name, section["sh_flags"], section["sh_size"]
                moves = name.startswith(".text") and not _CLASSES.match(name)
                if not (moves and size and flags & _EXECUTABLE):
                    continue
                if flags & _IN_GROUP and name in seen:
                    continue
                seen.add(name)
                yield MovedFunction("" if flags & _IN_GROUP else word, name, size)


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
            *(f"    . += {gap}; {_pattern(one)}" for one, gap in zip(order, gaps, strict=True)),
            f'    ASSERT(. >= {least}, "functions are not where the layout has them");',
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


def _link(folder: Path, target: str, program: _Program, layout: int, enter: tuple[str, ...]) -> str:
    """One layout; why there is none, or "". An unfinished file is never taken for a layout."""
    script = folder / FOLDER / f"{target}-{layout:02d}.x"
    script.parent.mkdir(exist_ok=True)
    # By the program's name: two copies of one source stand as differently as two builds of it.
    drawn = random.Random(f"code/{target}/{layout}")
    script.write_text(script_of(program.functions, drawn), encoding="utf-8")
    output = file_of(program.executable, layout)
    part = output.with_name(f"{output.name}.part")
    name = os.path.relpath(program.executable, folder)
    words = program.link.replace(f" -o {name}", f" -o {shlex.quote(str(part))}", 1)
    # Lines for debuggers are most of a program's file, and stand in the program itself.
    more = f"-Wl,-T,{shlex.quote(str(script))} -Wl,--strip-debug"
    command = [*enter, "sh", "-c", f"cd {shlex.quote(str(folder))} && {words} {more}"]
    done = run_tool(
        command,
        one_stream=True,
        cwd=folder,
        env=environment_of_tools(entered=bool(enter)),
        limit_s=_LINK_LIMIT_S,
    )
    if done.returncode != 0:
        part.unlink(missing_ok=True)
        # The linker's own words come before its driver's, which say no more than that it failed.
        said = next(iter(done.stdout.strip().splitlines()), "it said nothing")
        return f"its linker refuses other layouts: {said[:_LONGEST_WORDS]}"
    _beside(program.executable, output)
    part.replace(output)
    return ""


def _beside(executable: Path, output: Path) -> None:
    """What the build writes beside a program, and the program reads at its start, such as what its loops are
    made of: it holds for all layouts, whose instructions are the same."""
    for file in executable.parent.glob(f"{executable.name}.*"):
        suffix = file.name.removeprefix(executable.name)
        if not suffix.startswith(".layout-"):
            copy = output.with_name(output.name + suffix)
            copy.unlink(missing_ok=True)
            copy.hardlink_to(file)
