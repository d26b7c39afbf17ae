"""From what a user writes to sides that can be launched."""

from __future__ import annotations

import mmap
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tollbench.compare.words import Side, own_environment
from tollbench.errors import TollError


class Kind(StrEnum):
    """How a side is asked for its benchmarks."""

    AUTO = "auto"
    COMMAND = "command"
    GOOGLE_BENCHMARK = "google-benchmark"
    CATCH2 = "catch2"
    TOLL = "toll"


# What the bytes of an executable say about it: options that it must know, or the library that it loads.
# Reading it runs nothing, and so harms nothing.
_MARKS: tuple[tuple[Kind, tuple[bytes, ...]], ...] = (
    (Kind.GOOGLE_BENCHMARK, (b"benchmark_list_tests", b"libbenchmark.so")),
    (Kind.CATCH2, (b"benchmark-no-analysis", b"libCatch2.so")),
    (Kind.TOLL, (b"TOLL_CLOCK_HZ", b"TOLL_PADDING", b"involuntary_switches")),
)
_SHELL_SYNTAX = re.compile(r"[|&;<>()$`\\*?\[\]#~!\n]|^\s*\w+=")
_NAMES = {
    Kind.GOOGLE_BENCHMARK: "a Google Benchmark executable",
    Kind.CATCH2: "a Catch2 executable",
    Kind.TOLL: "a toll program",
    Kind.COMMAND: "a command line",
}


@dataclass(frozen=True, slots=True)
class Written:
    """One side as it was written: a text, where relative paths begin, and where it is to run."""

    text: str
    label: str = ""
    base: Path = field(default_factory=Path.cwd)
    folder: Path | None = None  # None: a fresh folder for executables, `base` for command lines
    preload: tuple[str, ...] = ()  # shared libraries, by path; the first serves malloc


def resolve(written: Sequence[Written], kind: Kind = Kind.AUTO) -> tuple[Kind, tuple[Side, ...]]:
    """What all sides are, and each ready to be launched. Raises TollError where they do not fit together."""
    if len(written) < 2:
        raise TollError("a comparison needs two sides", "for example: toll compare ./bench_old ./bench_new")
    kinds = [kind_of(item) for item in written] if kind is Kind.AUTO else [kind]
    if len(set(kinds)) > 1:
        other = next(index for index, found in enumerate(kinds) if found is not kinds[0])
        raise TollError(
            f"{written[0].text} is {_NAMES[kinds[0]]}, {written[other].text} is {_NAMES[kinds[other]]}",
            "compare like with like; --kind command times both as whole processes",
        )
    found = kinds[0]
    labels = _labels(written)
    if found is Kind.COMMAND:
        shell = any(_needs_shell(item) for item in written)
        return found, tuple(
            _command_line(item, label, shell=shell) for item, label in zip(written, labels, strict=True)
        )
    return found, tuple(_executable(item, label) for item, label in zip(written, labels, strict=True))


def kind_of(written: Written) -> Kind:
    """What a side is, by the bytes of its executable; a command line where nothing speaks for more."""
    if _SHELL_SYNTAX.search(written.text):
        return Kind.COMMAND
    file = _file(written)
    if file is None:
        return Kind.COMMAND
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for kind, marks in _MARKS:
                if any(content.find(mark) >= 0 for mark in marks):
                    return kind
    except (OSError, ValueError):  # unreadable or empty: the launch will say so
        pass
    return Kind.COMMAND


def _words(written: Written) -> list[str]:
    try:
        return shlex.split(written.text)
    except ValueError as error:
        raise TollError(f"{written.text!r} cannot be split into words: {error}", "mend its quotes") from None


def _file(written: Written) -> Path | None:
    """The executable that the text begins with; a bare name is looked for in PATH first, then here."""
    words = _words(written)
    if not words:
        raise TollError("a side is empty", "name an executable, or write a command line in quotes")
    if "/" not in words[0] and (found := shutil.which(words[0])):
        return Path(found)
    here = written.base / words[0]
    return here.absolute() if here.is_file() and os.access(here, os.X_OK) else None


def _needs_shell(written: Written) -> bool:
    return bool(_SHELL_SYNTAX.search(written.text)) or _file(written) is None


def _command_line(written: Written, label: str, *, shell: bool) -> Side:
    folder = written.folder or written.base
    if shell:
        return Side(label, ("/bin/sh", "-c", written.text), folder, _environment(written))
    words = _words(written)
    return Side(label, (str(_file(written)), *words[1:]), folder, _environment(written))


def _executable(written: Written, label: str) -> Side:
    file = _file(written)
    words = _words(written)
    if file is None:
        there = (written.base / words[0]).exists()
        raise TollError(
            f"{words[0]} is there, but cannot be run" if there else f"there is no executable {words[0]}",
            "build it, or name another one",
        )
    malloc = Path(written.preload[0]).name if written.preload else ""
    return Side(label, (str(file), *words[1:]), written.folder, _environment(written), malloc)


def _environment(written: Written) -> dict[str, str]:
    environment = own_environment()
    if written.preload:
        already = environment.get("LD_PRELOAD", "")
        environment["LD_PRELOAD"] = ":".join([*written.preload, *([already] if already else [])])
    return environment


def _labels(written: Sequence[Written]) -> list[str]:
    """The texts; one that stands there twice gets a number."""
    labels: list[str] = []
    for item in written:
        label = item.label or item.text
        count = sum(other == label or other.startswith(f"{label} (") for other in labels)
        labels.append(f"{label} ({count + 1})" if count else label)
    return labels
