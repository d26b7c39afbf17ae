"""Counts of toll programs: the counting pass of protocol 1 has a begin and an end that a library can mark."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from tollbench.compare.adapters.toll_program import Programs
from tollbench.compare.common_length import CommonLength
from tollbench.compare.counters import (
    ALLOCATIONS,
    BY_MALLOC,
    BYTES,
    INSTRUCTIONS,
    ITERATION,
    PEAK,
    RUN,
    SYSCALLS,
    Amount,
    Reading,
    asking_for,
    by_valgrind,
    counted,
    read_kinds,
    user_code,
)
from tollbench.counting import hardware, instructions
from tollbench.counting.fixed import fixed
from tollbench.counting.hardware import VALGRIND_COUNTS, Event, InstructionCounter
from tollbench.counting.own_allocators import hidden_in
from tollbench.counting.preloaded import Preloaded
from tollbench.counting.runs import TOLD, executed_in
from tollbench.launching.child import Limits
from tollbench.launching.clock import SystemClock
from tollbench.launching.command import working_folder
from tollbench.launching.conversation import Conversation
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.sandbox import Confined
from tollbench.launching.starting import Starter
from tollbench.words import Allocations

_LONGEST_PASS_NS = 100_000_000  # without Valgrind
_MOST_ITERATIONS = 1000


@dataclass
class ProgramPasses:
    """Two counting passes of one launch, of n and of 10 n iterations: their difference is that of 9 n.

    A pass of one iteration comes before them: it also does what is done once.
    """

    subject: Programs
    preloaded: Preloaded
    who: InstructionCounter = VALGRIND_COUNTS
    _length: CommonLength = field(default_factory=CommonLength)  # in iterations of the longer pass

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Of one side."""
        return read_kinds(
            metrics,
            {
                BY_MALLOC: lambda: self._allocated(side, name),
                **user_code(
                    self.who, lambda: self._by_hardware(side, name), lambda: self._executed(side, name)
                ),
            },
        )

    def _allocated(self, side: int, name: str) -> Reading:
        if reason := hidden_in([self.subject.errand(side, name).command[0]]):
            raise LaunchFailed(reason)
        passes = self._passes_of(side, name)
        with self._started(side, name, self.preloaded.allocations) as (program, _):
            found = [program.count_allocations(count) for count in passes]
            program.stop()
        return {
            ALLOCATIONS: _each(found, [each.calls for each in found]),
            BYTES: _each(found, [each.bytes for each in found]),
            PEAK: Amount(
                Fraction(found[-1].peak_bytes), RUN, f"in a pass of {counted(found[-1].iterations)}"
            ),
        }

    def _by_hardware(self, side: int, name: str) -> Reading:
        passes = self._passes_of(side, name)
        with self._started(side, name, self.preloaded.own_marks, event=self.who.granted()) as (
            program,
            scratch,
        ):
            found = [program.count_allocations(count) for count in passes]
            program.stop()
            executed = executed_in(scratch)
        if len(executed) != len(found):
            raise LaunchFailed(f"made {len(found)} passes, of which the kernel counted {len(executed)}")
        return {INSTRUCTIONS: replace(_each(found, executed), by=hardware.HARDWARE)}

    def _executed(self, side: int, name: str) -> Reading:
        if told := instructions.missing_tool():
            raise LaunchFailed(told)
        with self.under_valgrind(side, name, instructions.CALLGRIND) as (found, scratch):
            costs = instructions.costs_of_runs(scratch, self.preloaded.own_marks)
        if len(costs) != len(found):
            raise LaunchFailed(f"made {len(found)} passes under Valgrind, which counted {len(costs)}")
        return {
            INSTRUCTIONS: by_valgrind(_each(found, [cost.instructions for cost in costs]), self.who),
            SYSCALLS: _each(found, [cost.system_calls for cost in costs]),
        }

    @contextmanager
    def under_valgrind(
        self, side: int, name: str, tool: Sequence[str]
    ) -> Iterator[tuple[list[Allocations], Path]]:
        """What each pass of a launch that has ended was, and the folder of Valgrind's files.

        Raises LaunchFailed, Interrupted.
        """
        passes = self._passes_of(side, name)
        with self._started(side, name, self.preloaded.own_marks, tool) as (program, scratch):
            try:
                found = [program.count_allocations(count) for count in passes]
                program.stop()
            except LaunchFailed as failure:
                raise LaunchFailed(instructions.refusal(scratch) or failure.reason) from None
            yield found, scratch

    def _passes_of(self, asking: int, name: str) -> tuple[int, ...]:
        """Iterations of the passes: as many as take every side little time. Raises LaunchFailed."""
        labels = self.subject.labels
        sides = {label: side for side, label in enumerate(labels) if self.subject.offers(side, name)}
        most = self._length.of(
            labels[asking], name, sides, lambda label: self._affordable(sides[label], name)
        )
        return (1, most // 10, most) if most >= 10 else (1, most)

    def _affordable(self, side: int, name: str) -> int:
        count = 1
        with self._started(side, name, self.preloaded.allocations) as (program, _):
            while count < _MOST_ITERATIONS:
                began_ns = time.monotonic_ns()
                program.count_allocations(count)
                if (time.monotonic_ns() - began_ns) * 10 > _LONGEST_PASS_NS:
                    break
                count *= 10
            program.stop()
        return count

    @contextmanager
    def _started(
        self, side: int, name: str, library: Path, under: Sequence[str] = (), event: Event | None = None
    ) -> Iterator[tuple[Conversation, Path]]:
        """A program that has begun, in the fixed environment, and the folder of the launch's files."""
        errand = self.subject.errand(side, name)
        options = self.subject.options
        with working_folder(None) as made, working_folder(errand.folder) as place:
            tool = [word.replace("{}", str(made)) for word in under]
            variables = {"TOLL_COUNTS_OUT": str(made / TOLD), **asking_for(event)} if event else {}
            environment = {**errand.environment, **variables}
            launch = fixed(errand.command, environment, libraries=[library], under=tool)
            errand = replace(
                errand, command=launch.command, environment=launch.environment, folder=place, entered=False
            )
            starter = Starter(ProcessLauncher(options.interrupt, Confined((made,))), SystemClock())
            limits, padding = Limits(options.limit_s, 0), random.Random(1)
            with starter.started(errand, limits, padding, Conversation) as program:
                program.begin()
                yield program, made


def _each(passes: Sequence[Allocations], totals: Sequence[int]) -> Amount:
    """What one iteration takes: by the last two passes, or by one where an iteration takes long."""
    last, before = passes[-1].iterations, passes[-2].iterations
    if len(passes) == 2:
        told = f"by one pass of {counted(last)}"
        return Amount(Fraction(totals[-1], last), ITERATION, told)
    told = f"by passes of {before:,} and {last:,} iterations"
    return Amount(Fraction(totals[-1] - totals[-2], last - before), ITERATION, told)
