"""Counts of benchmarks whose runs are planned: a preloaded library answers for the clock they look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.counters import (
    ALLOCATIONS,
    BY_MALLOC,
    BYTES,
    INSTRUCTIONS,
    PEAK,
    RUN,
    SYSCALLS,
    Amount,
    Reading,
    by_valgrind,
    counted,
    per_iteration,
    read_kinds,
    user_code,
)
from tollbench.compare.subject import Side
from tollbench.counting import hardware, instructions
from tollbench.counting.hardware import VALGRIND_COUNTS, Event, InstructionCounter
from tollbench.counting.preloaded import Preloaded
from tollbench.counting.runs import OWN_MALLOC, Launched, MarkedRun, executed_in
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """A launch's runs of one benchmark, which may be some of those that it marked."""

    runs: Sequence[MarkedRun]
    places: Sequence[int]  # of each run among what was marked
    marked: int

    def of(self, found: Sequence[Found], who: str) -> list[Found]:
        """What was found of each run. Raises LaunchFailed: of something that was marked nothing was."""
        if len(found) != self.marked:
            raise LaunchFailed(f"made {self.marked} runs, of which {who} {len(found)}")
        return [found[at] for at in self.places]


@dataclass
class PlannedRuns(ABC):
    """A launch makes runs of known numbers of iterations; the last two tell what one iteration takes."""

    subject: OneAfterAnother
    preloaded: Preloaded
    who: InstructionCounter = VALGRIND_COUNTS

    @abstractmethod
    def launch(
        self, side: Side, name: str, under: Sequence[str] = (), *, event: Event | None = None
    ) -> AbstractContextManager[Launched]:
        """The same runs on all sides. Raises LaunchFailed, Interrupted."""

    @abstractmethod
    def checked(self, side: Side, name: str, made: Launched) -> PlannedLaunch:
        """Its runs. Raises LaunchFailed where it failed, or they are not what they are taken for."""

    def ended_well(self, ended: Ended) -> bool:
        """Whether its runs count."""
        return ended.exit_code == 0

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Of one side."""
        of = self.subject.sides[side]
        return read_kinds(
            metrics,
            {
                BY_MALLOC: lambda: self._allocated(of, name),
                **user_code(self.who, lambda: self._by_hardware(of, name), lambda: self._executed(of, name)),
            },
        )

    def _allocated(self, side: Side, name: str) -> Reading:
        with self.launch(side, name) as made:
            runs = self.checked(side, name, made).runs
            last = runs[-1]
            if not last.told.counted:
                raise LaunchFailed(OWN_MALLOC)
            made.check_allocator()
        return {
            ALLOCATIONS: per_iteration(1, runs, [run.told.calls for run in runs]),
            BYTES: per_iteration(1, runs, [run.told.bytes for run in runs]),
            PEAK: Amount(Fraction(last.told.peak_bytes), RUN, f"in a run of {counted(last.iterations)}"),
        }

    def _by_hardware(self, side: Side, name: str) -> Reading:
        with self.launch(side, name, event=self.who.granted()) as made:
            planned = self.checked(side, name, made)
            found = planned.of(executed_in(made.scratch), "the kernel counted")
        return {INSTRUCTIONS: replace(per_iteration(1, planned.runs, found), by=hardware.HARDWARE)}

    def _executed(self, side: Side, name: str) -> Reading:
        if told := instructions.missing_tool():
            raise LaunchFailed(told)
        with self.under_valgrind(side, name, instructions.CALLGRIND) as (planned, scratch):
            costs = planned.of(instructions.costs_of_runs(scratch, self.preloaded.marks), "Valgrind counted")
        found = per_iteration(1, planned.runs, [cost.instructions for cost in costs])
        return {
            INSTRUCTIONS: by_valgrind(found, self.who),
            SYSCALLS: per_iteration(1, planned.runs, [cost.system_calls for cost in costs]),
        }

    @contextmanager
    def under_valgrind(
        self, side: Side, name: str, tool: Sequence[str]
    ) -> Iterator[tuple[PlannedLaunch, Path]]:
        """The runs of a launch that has ended, and the folder of Valgrind's files.

        Raises LaunchFailed, Interrupted.
        """
        with self.launch(side, name, tool) as made:
            if not self.ended_well(made.ended):
                raise LaunchFailed(instructions.how_it_ended(made.ended, made.scratch))
            yield self.checked(side, name, made), made.scratch
