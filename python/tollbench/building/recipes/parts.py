"""What recipes are made of, and where a compiler's log says what is wrong."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from tollbench.catalog.tools import run_tool

# "file:line: ...", "file:line:column: ..." of most; "error: ..." and "error[E...]: ..." of cargo; Maven's
# "[ERROR] ...".
_ERROR = re.compile(r"^(\[ERROR\] \S|error(\[\w+\])?:|\S+:\d+(:\d+)?: )")
_WARNING = re.compile(r"^\S+ ([Ww]arning\b|\[-W)")
_ENDS_EARLY = re.compile(r"error:(\s*\[.*\])?$")
_LONGEST = 300
_LONGEST_ANSWER_S = 20.0
_PROPERTY = re.compile(r"-D[\w.]+=")
WITHHELD = "..."  # in place of what may be a secret


@dataclass(frozen=True, slots=True)
class Tool:
    """A toolchain as it was found."""

    path: Path  # the command that builds
    version: str  # as rows show it
    too_old: str = ""  # a sentence, where it is
    identity: str = ""  # what tells two of one version apart: of nightly builds the commit and the day


@dataclass(frozen=True, slots=True)
class Job:
    """One source to be made into one program."""

    tool: Tool
    root: Path  # the checkout
    source: Path
    out: Path  # for whatever the build leaves
    program: Path  # the executable that the job is about
    tuned: bool = False  # for the most speed, not as the language's own tools have it


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One command of a build."""

    command: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = field(default_factory=dict)  # besides the user's own


class Recipe(Protocol):
    """How one language's programs are made."""

    need: str  # in packages.toml
    besides: tuple[str, ...]  # likewise, whatever else has to be there
    heeded: tuple[str, ...]  # variables of a user's that change what the tool makes, or how it runs
    plain: re.Pattern[str] | None  # words of theirs that are told as they are, where others may be secrets

    def tool(self, place: Path) -> Tool:
        """The toolchain whose command, or home, was found at `place`."""

    def version(self, job: Job) -> str:
        """As rows show it beside the library."""

    def sources(self, job: Job) -> list[Path]:
        """Every file that the program depends on."""

    def begin(self, job: Job) -> None:
        """Before the first command: away with what `finish` would take for new. Raises OSError."""

    def steps(self, job: Job) -> list[BuildStep]:
        """The commands, in order."""

    def flags(self, job: Job) -> str:
        """What of these commands, and of the files that they read, decides which code is made."""

    def wrapper(self, job: Job) -> str:
        """The shell script that starts the program; "" where the build itself leaves an executable."""

    def finish(self, job: Job) -> None:
        """Puts the executable where it belongs."""


class WithWrapper:
    """For languages whose programs need a starter."""

    besides: tuple[str, ...] = ()

    def version(self, job: Job) -> str:
        return job.tool.version

    def begin(self, job: Job) -> None:
        pass

    def wrapper(self, job: Job) -> str:
        raise NotImplementedError

    def finish(self, job: Job) -> None:
        job.program.write_text(self.wrapper(job), encoding="utf-8")
        job.program.chmod(0o755)


class WithExecutable:
    """For languages whose compiler writes the executable itself."""

    besides: tuple[str, ...] = ()
    plain: re.Pattern[str] | None = None  # compilers' flags are no secrets

    def version(self, job: Job) -> str:
        return job.tool.version

    def begin(self, job: Job) -> None:
        pass

    def wrapper(self, job: Job) -> str:  # noqa: ARG002
        return ""

    def finish(self, job: Job) -> None:
        pass


def starter(*words: str) -> str:
    """A script that becomes the program, so that signals and memory limits meet the program itself."""
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def heeded_here(recipe: Recipe, steps: Sequence[BuildStep]) -> dict[str, str]:
    """Those of the variables that the recipe heeds which are set."""
    of_ours = {name for step in steps for name in step.environment}
    return {
        name: os.environ[name]
        for name in sorted(os.environ.keys() - of_ours)
        if any(fnmatchcase(name, one) for one in recipe.heeded)
    }


def shown(recipe: Recipe, variables: Mapping[str, str]) -> str:
    """The variables as a shell writes them, fit for run files and reports, which are handed on."""
    return " ".join(
        f"{name}={shlex.quote(value if recipe.plain is None else _without_secrets(value, recipe.plain))}"
        for name, value in variables.items()
    )


def _without_secrets(value: str, plain: re.Pattern[str]) -> str:
    """Words that `plain` knows, alone or with the word before; of a property its name; "..." for others."""
    try:
        words = shlex.split(value)
    except ValueError:  # a quotation without an end
        return WITHHELD
    made = []
    for before, word in zip(["", *words], words, strict=False):
        is_known = plain.fullmatch(word) or plain.fullmatch(f"{before} {word}")
        property_ = _PROPERTY.match(word)
        made.append(word if is_known else f"{property_[0] if property_ else ''}{WITHHELD}")
    return " ".join(made)


def told(*command: str, **variables: str) -> str:
    """What a command prints, stripped, with these variables beside the user's; "" where it fails.

    Or where it does not answer: one that fetches itself first, or lies on a disk that is gone.
    """
    try:
        done = run_tool(command, env={**os.environ, **variables}, limit_s=_LONGEST_ANSWER_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def files_below(folder: Path, *endings: str) -> list[Path]:
    """All files with these endings below a folder."""
    return [path for path in folder.rglob("*") if path.suffix in endings and path.is_file()]


def first_error(text: str) -> str:
    """The first line that is an error in the words of these compilers; at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if _ERROR.match(line) and not _WARNING.match(line):
            rest = lines[number + 1 : number + 2] if _ENDS_EARLY.search(line) else []
            return " ".join([line, *rest])[:_LONGEST]
    return (lines[-1] if lines else "the build said nothing")[:_LONGEST]
