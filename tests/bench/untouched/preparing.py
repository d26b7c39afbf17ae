"""Builds all pairs of the campaign and finds out, without toll, that they are what they should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from catalogue import Program, why_not
from compiling import Build, CannotBuild, Workshop
from moves import moves
from mutations import EQUIVALENT, BadMark, Mutation, effect, mutations


@dataclass(frozen=True, slots=True)
class Case:
    """A pair to compare."""

    program: str
    title: str  # of the move, or the mutation
    base: Path
    other: Path
    mutation: Mutation | None = None
    effect: str = ""  # how the mutation was seen

    def __str__(self) -> str:
        return f"{self.program} {self.title}"


@dataclass(slots=True)
class Prepared:
    """What there is to compare, and what not."""

    cases: list[Case] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # this machine cannot
    equivalent: list[str] = field(default_factory=list)  # the compiler made the same of it
    broken: list[str] = field(default_factory=list)  # faults of the campaign

    def add(self, more: Prepared) -> None:
        self.cases += more.cases
        self.left_out += more.left_out
        self.equivalent += more.equivalent
        self.broken += more.broken


# Moves after which executed instructions differ, seen with objdump: no moves, whatever was meant.
OTHER_INSTRUCTIONS = {
    "callables debug_information": "Clang 19 gives a function of std::map other registers with -g",
    "texts_and_maps order_of_files": "the linker takes another file's copy of a weak function",
    "whole order_of_files": "link-time optimisation joins the initialisers in another order",
}
Prepare = Callable[[Program, Workshop], Prepared]


def all_of(
    prepare: Prepare, programs: Sequence[Program], workshop: Workshop, jobs: int, benchmark: Path | None
) -> Iterator[tuple[Program, Prepared]]:
    """Program by program, `jobs` at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        made = pool.map(lambda program: _one(prepare, program, workshop, benchmark), programs)
        yield from zip(programs, made, strict=True)


def _one(prepare: Prepare, program: Program, workshop: Workshop, benchmark: Path | None) -> Prepared:
    if reason := why_not(program, benchmark):
        return Prepared(left_out=[f"{program.name}: {reason}"])
    try:
        return prepare(program, workshop)
    except (CannotBuild, BadMark) as error:
        return Prepared(broken=[f"{program.name}: {error}"])


def moved(program: Program, workshop: Workshop) -> Prepared:
    """Each move; both sides have to give the same answers."""
    prepared = Prepared()
    for move in moves(program):
        title = f"{program.name} {move.name}"
        if why_not := move.why_not or OTHER_INSTRUCTIONS.get(title):
            prepared.left_out.append(f"{title}: {why_not}")
            continue
        try:
            base, other = workshop.built(move.base), workshop.built(move.moved)
            if base.answers() != other.answers():
                prepared.broken.append(f"{title}: gives other answers")
                continue
        except CannotBuild as error:
            prepared.broken.append(f"{title}: {error}")
            continue
        if base.executable.read_bytes() == other.executable.read_bytes():
            prepared.left_out.append(f"{title}: makes the same file")  # too easy to be counted
            continue
        prepared.cases.append(Case(program.name, move.name, base.executable, other.executable))
    return prepared


def mutated(program: Program, workshop: Workshop) -> Prepared:
    """Each mutation that has an effect."""
    prepared = Prepared()
    base = workshop.built(Build(program))
    for mutation in mutations(program):
        if not mutation.holds_here:
            prepared.left_out.append(f"{mutation}: for {' '.join(mutation.cpu)}")
            continue
        if not any(mutation.concerns(benchmark) for benchmark in base.answers()):
            prepared.broken.append(f"{mutation}: no benchmark {', '.join(mutation.benchmarks)}")
            continue
        try:
            other = workshop.built(mutation.build)
            seen = effect(mutation, base, other)
        except CannotBuild as error:
            prepared.broken.append(f"{mutation}: {error}")
            continue
        if seen == EQUIVALENT:
            prepared.equivalent.append(str(mutation))
            continue
        case = Case(program.name, str(mutation), base.executable, other.executable, mutation, seen)
        prepared.cases.append(case)
    return prepared
