"""Mutations: one place of a source changed, so that named benchmarks execute or read something else.

Sites are marked in the programs, `// MUTATE[BM_Name, BM_Other]: old => new` above the line that is changed;
a name of /proc/cpuinfo's flags behind the benchmarks, or `!name`, says on which machines that holds.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from catalogue import Program, cpu_flags
from compiling import Build, Built

MARK = re.compile(r"^\s*// MUTATE\[(?P<of>[^]]+)\]: (?P<old>.+?) => (?P<new>.+?)\s*$")
ANSWER, CODE, EQUIVALENT = "another answer", "other code or data", "equivalent"


class BadMark(Exception):
    """A mark that does not say what to change."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One changed place."""

    program: Program
    source: str
    line: int  # of what is changed, from 1
    old: str
    new: str
    benchmarks: tuple[str, ...]
    cpu: tuple[str, ...]
    text: str  # of the whole file, changed

    def __str__(self) -> str:
        return f"{self.source}:{self.line} {self.old} => {self.new}"

    @property
    def build(self) -> Build:
        return Build(self.program, texts={self.source: self.text})

    @property
    def holds_here(self) -> bool:
        flags = cpu_flags()
        return all((one.lstrip("!") in flags) is not one.startswith("!") for one in self.cpu)

    def concerns(self, benchmark: str) -> bool:
        """Of a row's name, which may have more in it: Fixture/BM_Name, BM_Name/real_time."""
        return any(part in self.benchmarks for part in benchmark.split("/"))


def mutations(program: Program) -> Iterator[Mutation]:
    for source in program.sources:
        yield from _of_file(program, source)


def _of_file(program: Program, source: Path) -> Iterator[Mutation]:
    lines = source.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines):
        if "MUTATE" not in line:
            continue
        mark = MARK.match(line)
        if mark is None:
            raise BadMark(f"{source.name}:{index + 1}: {line.strip()}")
        place = next(at for at in range(index, len(lines)) if "MUTATE" not in lines[at])
        old, new = mark["old"], mark["new"]
        if lines[place].count(old) != 1 or old == new:
            raise BadMark(
                f"{source.name}:{index + 1}: {old!r} does not stand once in {lines[place].strip()!r}"
            )
        changed = [*lines[:place], lines[place].replace(old, new), *lines[place + 1 :]]
        words = re.split(r"[,\s]+", mark["of"])
        yield Mutation(
            program=program,
            source=source.name,
            line=place + 1,
            old=old,
            new=new,
            benchmarks=tuple(word for word in words if word.startswith("BM_")),
            cpu=tuple(word for word in words if not word.startswith("BM_")),
            text="\n".join(changed) + "\n",
        )


def effect(mutation: Mutation, base: Built, mutated: Built) -> str:
    """Whether it is one: seen in the answers of its benchmarks, else in what the compiler made."""
    before, after = base.answers(), mutated.answers()
    if any(after.get(name) != answer for name, answer in before.items() if mutation.concerns(name)):
        return ANSWER
    optimised_later = any(flag == "-flto" for flag in mutation.program.flags)
    files = [
        (base.executable, mutated.executable)
        if optimised_later
        else (base.objects[mutation.source], mutated.objects[mutation.source])
    ]
    return CODE if any(_content(one) != _content(other) for one, other in files) else EQUIVALENT


def _content(path: Path) -> str:
    """Bytes of all sections and what the linker fills in: of an object, that is free of addresses."""
    done = subprocess.run(["objdump", "-s", "-r", str(path)], capture_output=True, text=True, check=True)
    return done.stdout.partition("\n\n")[2].replace(str(path), "")
