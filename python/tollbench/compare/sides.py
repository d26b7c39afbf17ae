"""From what a user writes to sides that can be launched."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from tollbench.compare.adapters import AUTO, COMMAND, adapters, check_kind
from tollbench.compare.subject import Adapter, Side
from tollbench.errors import TollError
from tollbench.launching.answers import open_plain
from tollbench.launching.command import run_command
from tollbench.launching.environment import own_environment, with_malloc_of
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import breakable
from tollbench.text import as_text
from tollbench.words import serving_malloc

# What only a shell understands, outside of quotes. Characters that stand for file names are not among them:
# in the arguments of a benchmark executable they are part of a pattern.
_OPERATORS = re.compile(r"[|&;<>()`\n]|\$[\w{(?#@!*$-]|^\s*\w+=|(?:^|\s)[~#]")
_QUOTED = re.compile(r"""'[^']*'|\\[^\n]|"(?:[^"$`\\]|\\["\\])*\"""")
# `--filter=BM_(sort|map)/[0-9]+`: parentheses within a word are a mistake to every shell, and so a pattern.
_GROUP = re.compile(r"(?<=[\w.=^/:*+?|()\[\]\\-])\([\w.|/:^$*+?\\\[\]{},=-]*\)")
_PIECE_BYTES, _LONGEST_MARK = 2**22, 64
_LOOK_S = 10.0  # of a shell that is asked for a name
_SHELL_SYNTAX = re.compile(r"[|&;<>()$`\\*?\[\]#~!\n]|^\s*\w+=")


@dataclass(frozen=True, slots=True)
class WrittenSide:
    """One side as it was written: a text, where relative paths begin, and where it is to run."""

    text: str
    label: str = ""
    base: Path = field(default_factory=Path.cwd)
    folder: Path | None = None  # None: a fresh folder for executables, `base` for command lines
    preload: tuple[str, ...] = ()  # shared libraries, by path; the first serves malloc
    glibc_tunables: tuple[str, ...] = ()  # settings of glibc's own malloc
    layouts: tuple[str, ...] = ()  # the executable with its functions elsewhere, by path
    unusable: str = ""  # as Side has it
    is_checkout: bool = False  # `base` is this side's own, and words mean what lies there, wherever it runs

    @property
    def runs_elsewhere(self) -> bool:
        """Whether it runs in a folder that other checkouts share."""
        return self.is_checkout and self.folder not in (None, self.base)


def resolve(
    written: Sequence[WrittenSide], kind: str = AUTO, *, as_typed: bool = False
) -> tuple[str, tuple[Side, ...]]:
    """What all sides are, and each ready to be launched. Raises TollError where they do not fit together.

    `as_typed`: a path to nothing is a mistake, also where a shell might be asked for it. What was built and
    is gone is no mistake of whoever typed it: a launch tells that.
    """
    check_kind(kind)
    if len(written) < 2:
        raise TollError("a comparison needs two sides", "for example: toll compare ./bench_old ./bench_new")
    usable = [item for item in written if not item.unusable]
    if as_typed:
        for item in usable:
            _refuse_path_to_nothing(item)
    kinds = [kind_of(item) for item in usable] if kind == AUTO else [kind]
    if len(set(kinds)) > 1:
        other = next(index for index, found in enumerate(kinds) if found != kinds[0])
        named = [adapters()[found].name for found in kinds]
        raise TollError(
            f"{usable[0].text} is {named[0]}, {usable[other].text} is {named[other]}",
            "compare like with like; --kind command times both as whole processes",
        )
    shell = any(map(_needs_shell, usable)) if adapters()[kinds[0]].is_command_line else None
    here = bool(adapters()[kinds[0]].interpreters)  # a script or an archive lies beside what it needs
    sides = []
    for item, label in zip(written, _labels(written), strict=True):
        if item.unusable:
            sides.append(Side(label, (label,), item.folder, _environment(item), unusable=item.unusable))
        elif shell is not None:
            sides.append(_command_line(item, label, shell=shell))
        else:
            sides.append(_executable(item, label, runs_here=here))
    return kinds[0], tuple(sides)


def kind_of(written: WrittenSide) -> str:
    """What a side is, by the bytes of its executable; a command line where nothing speaks for more."""
    if _needs_shell_for_more_than_patterns(written.text):
        return COMMAND
    file = _file(written)
    if file is None:
        return COMMAND
    name = Path(_words(written)[0]).name
    runs = {kind: one for kind, one in adapters().items() if name.rstrip("0123456789.") in one.interpreters}
    if runs:  # `java -jar benchmarks.jar`: what is known is known by the first file among its words
        folder = written.folder or written.base  # where it runs
        found = next((one for word in _words(written)[1:] if (one := folder / word).is_file()), None)
        return COMMAND if found is None else _kind_by_marks(found, runs)
    return _kind_by_marks(file, adapters())


def _kind_by_marks(file: Path, kinds: Mapping[str, Adapter]) -> str:
    wanted = {mark for adapter in kinds.values() for mark in adapter.marks}
    try:
        with open_plain(file) as opened, breakable():
            held = _held(opened, wanted)
    except OSError:  # unreadable: the launch will say so
        return COMMAND
    return next(
        (kind for kind, adapter in kinds.items() if any(mark in held for mark in adapter.marks)), COMMAND
    )


def _held(file: BinaryIO, marks: Set[bytes]) -> set[bytes]:
    """Which of `marks` stand in a file; holes in it, which may be larger than any disk, are passed over."""
    held: set[bytes] = set()
    before, place, end = b"", 0, os.fstat(file.fileno()).st_size
    while place < end:
        try:
            data = os.lseek(file.fileno(), place, os.SEEK_DATA)
        except OSError:  # nothing but a hole up to the end
            break
        if data > place:
            before, place = b"", data
        os.lseek(file.fileno(), place, os.SEEK_SET)
        piece = os.read(file.fileno(), _PIECE_BYTES)
        if not piece:
            break
        held |= {mark for mark in marks - held if mark in before + piece}
        before, place = piece[-_LONGEST_MARK:], place + len(piece)
    return held


def refuse_shell_elsewhere(written: WrittenSide, *, shell: bool | None = None) -> None:
    """Raises TollError where a shell would find one file for all checkouts: that in the folder they share."""
    needed = _needs_shell_for_more_than_patterns(written.text) if shell is None else shell
    if needed and written.runs_elsewhere:
        raise TollError(
            f"{written.text}: a shell in --folder finds the same files for all sides, and not those built",
            "leave out --folder, so that each runs in its own checkout, or write --program as a path and"
            " words that need no shell",
        )


def _needs_shell_for_more_than_patterns(text: str) -> bool:
    unquoted, seen = _QUOTED.sub("", text), ""
    while unquoted != seen:  # from the innermost group outwards
        unquoted, seen = _GROUP.sub("_", unquoted), unquoted
    # A quote that is left has something in it that the shell replaces, or no end.
    return bool(_OPERATORS.search(unquoted)) or "'" in unquoted or '"' in unquoted


def _words(written: WrittenSide) -> list[str]:
    try:
        words = shlex.split(written.text)
    except ValueError as error:
        raise TollError(f"{written.text!r} cannot be split into words: {error}", "mend its quotes") from None
    return _in_checkout(words, written) if written.runs_elsewhere else words


def _in_checkout(words: Sequence[str], written: WrittenSide) -> list[str]:
    """With the paths of programs in the side's own checkout: from another folder their names lead elsewhere.

    Those are the words that name executable files there (`./run.sh ./bench`); else the first that names a
    file (`python3 bench.py`), else all that name folders (`java -cp`). What stands behind may be an input,
    which is that in --folder, for all sides the same. Raises TollError where no word names any: every side
    would be the same command.
    """
    paths = [word for place, word in enumerate(words) if word and (place or "/" in word) and word[0] != "/"]
    there = [word for word in paths if os.access(written.base / word, os.F_OK)]  # words may be no names
    files = [word for word in there if (written.base / word).is_file()]
    named = [word for word in files if "/" in word and can_run(written.base / word)] or files[:1] or there
    if words and not named:
        raise TollError(
            f"--program {written.text!r} names no file in the checkout of {written.label}, so that in"
            " --folder all sides would be the same command",
            "name a file of the checkout, or leave out --folder, so that each side runs in its own checkout",
        )
    return [str(written.base / word) if word in named else word for word in words]


def _file(written: WrittenSide) -> Path | None:
    """The executable that the text begins with; a bare name is looked for in PATH first, then here."""
    words = _words(written)
    if not words:
        raise TollError("a side is empty", "name an executable, or write a command line in quotes")
    if "/" not in words[0] and (found := shutil.which(words[0])):
        return Path(found)
    here = written.base / words[0]
    if len(words) == 1 and here.is_dir():  # the shell takes "." for a command, and ends well
        raise TollError(f"{words[0]} is a folder", "name an executable in it")
    return here.absolute() if can_run(here) else None


def _needs_shell(written: WrittenSide) -> bool:
    return bool(_SHELL_SYNTAX.search(written.text)) or _file(written) is None


def _command_line(written: WrittenSide, label: str, *, shell: bool) -> Side:
    folder = written.folder or written.base
    if shell:
        refuse_shell_elsewhere(written, shell=True)
        if written.layouts:
            raise TollError(
                f"{written.text}: a shell starts the program, so that its layout cannot be chosen",
                "with --layouts, write --program as a path and words that need no shell",
            )
        return Side(label, ("/bin/sh", "-c", written.text), folder, _environment(written))
    words = _words(written)
    command = (str(_file(written)), *words[1:])
    return Side(label, command, folder, _environment(written), layouts=written.layouts)


def _executable(written: WrittenSide, label: str, *, runs_here: bool) -> Side:
    file = _file(written)
    words = _words(written)
    if file is None:
        raise _no_executable(words[0], written.base)
    malloc = serving_malloc(written.preload, written.glibc_tunables)
    command = (str(file), *words[1:])
    folder = written.folder or (written.base if runs_here else None)
    return Side(label, command, folder, _environment(written), malloc, written.layouts)


def _refuse_path_to_nothing(written: WrittenSide) -> None:
    """Raises TollError for one: taken for a command line it would be no kind of executable that is here."""
    try:
        shlex.split(written.text)
    except ValueError:  # a shell may make something of it; who is no command line is told
        return
    if _needs_shell_for_more_than_patterns(written.text) or _file(written) is not None:
        return
    first = _words(written)[0]
    folders = [written.base, *([written.folder] if written.folder else [])]
    if "{" in first or _SHELL_SYNTAX.search(first) or any((folder / first).exists() for folder in folders):
        return
    if "/" in first or not _is_command(first, written):
        raise _no_executable(first, written.base)


def _is_command(name: str, written: WrittenSide) -> bool:
    """Whether a shell knows a bare name: a program, one of its own commands, or a word of its language."""
    asked = ("/bin/sh", "-c", 'command -v -- "$1"', "sh", name)
    try:
        return (
            run_command(asked, _environment(written), written.folder or written.base, _LOOK_S).exit_code == 0
        )
    except LaunchFailed:  # no shell, or no folder: its launch will say so
        return True


def can_run(file: Path) -> bool:
    """Whether it is a file that may be executed."""
    return file.is_file() and os.access(file, os.X_OK)


def _no_executable(name: str, base: Path) -> TollError:
    if (base / name).is_file():
        return TollError(
            f"{name} is there, but cannot be run", f"chmod +x {name}, or name what runs it before it"
        )
    folder = (base / name).parent
    near = get_close_matches(Path(name).name, [one.name for one in folder.glob("*") if can_run(one)], 1)
    meant = f"build it, or name another one: is {Path(name).with_name(near[0])} meant?" if near else ""
    return TollError(f"there is no executable {name}", meant or "build it, or name another one")


def _environment(written: WrittenSide) -> dict[str, str]:
    return with_malloc_of(own_environment(), written.preload, written.glibc_tunables)


def _labels(written: Sequence[WrittenSide]) -> list[str]:
    """The texts; one that stands there twice gets a number, and no label is another side's text."""
    texts = [as_text(item.label or item.text) for item in written]
    labels: list[str] = []
    for text in texts:
        label, number = text, 1
        while label in labels or (number > 1 and label in texts):
            number += 1
            label = f"{text} ({number})"
        labels.append(label)
    return labels
