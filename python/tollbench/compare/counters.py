"""What is counted of one benchmark on one side, by kind of side: launches natively, and under callgrind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from tollbench.compare.adapters.google_benchmark import GoogleBenchmark, exactly
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.subject import Side, Subject
from tollbench.counting import instructions
from tollbench.counting.preloaded import Preloaded, compiled
from tollbench.counting.runs import Launched, Launching, MarkedRun, launched
from tollbench.launching.failure import LaunchFailed

INSTRUCTIONS, SYSCALLS = "instructions", "syscalls"
ALLOCATIONS, BYTES, PEAK = "allocations", "bytes", "peak"
UNDER_VALGRIND = frozenset((INSTRUCTIONS, SYSCALLS))
BY_MALLOC = frozenset((ALLOCATIONS, BYTES, PEAK))
ITERATION, RUN, PROCESS = "iteration", "run", "process"

MOST_RUNS = 4  # 1, 10, 100 and 1,000 iterations
_LONGEST_RUN_NS = 100_000_000  # without Valgrind, which takes some fifty times as long
_NEVER_LONG_ENOUGH_S = 1_000_000
_THREADS = re.compile(r"/threads:(\d+)")
OWN_MALLOC = (
    "brings a malloc of its own, which comes before the counting library: its allocations are not seen"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """One count as it is: no rounding, so that two may be held against each other exactly."""

    value: Fraction
    per: str = PROCESS  # iteration, run or process
    note: str = ""


Reading = Mapping[str, Amount | str]  # by metric; a text is the reason why there is none


class Counter(Protocol):
    """Counts what one side does for one benchmark."""

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Launches as often as `metrics` need, once each. Raises Interrupted."""


def counter_for(subject: Subject, sources: Path, cache: Path) -> Counter | None:
    """None for a kind of side that is not counted.

    What is preloaded is compiled from `sources` and kept below `cache`. Raises LaunchFailed where that fails.
    """
    if isinstance(subject, GoogleBenchmark):
        return Ladder(subject, compiled(sources, cache))
    return None


@dataclass
class Ladder:
    """Google Benchmark's own runs of 1, 10, 100 ... iterations: the last two tell what one iteration takes.

    What happens once a run, such as filling a vector before the loop, is in both and so in neither result.
    """

    subject: OneAfterAnother
    preloaded: Preloaded
    _runs: dict[str, int] = field(default_factory=dict)  # benchmark -> how many runs every side makes

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Of one side."""
        found: dict[str, Amount | str] = {}
        for wanted, count in ((BY_MALLOC, self._allocated), (UNDER_VALGRIND, self._executed)):
            if not metrics & wanted:
                continue
            try:
                found |= count(self.subject.sides[side], name)
            except LaunchFailed as failure:
                found |= dict.fromkeys(wanted, failure.reason)
        return {metric: amount for metric, amount in found.items() if metric in metrics}

    def _allocated(self, side: Side, name: str) -> Reading:
        with self._launched(side, name, self._runs_of(name)) as made:
            runs = made.runs(name)
            if not runs[-1].told.counted:
                raise LaunchFailed(OWN_MALLOC)
        return {
            ALLOCATIONS: _each(name, runs, [run.told.calls for run in runs]),
            BYTES: _each(name, runs, [run.told.bytes for run in runs]),
            PEAK: Amount(
                Fraction(runs[-1].told.peak_bytes), RUN, f"in a run of {runs[-1].iterations:,} iterations"
            ),
        }

    def _executed(self, side: Side, name: str) -> Reading:
        if told := instructions.missing_tool():
            raise LaunchFailed(told)
        with self._launched(side, name, self._runs_of(name), instructions.CALLGRIND) as made:
            if made.ended.exit_code != 0:
                raise LaunchFailed(instructions.how_it_ended(made.ended, made.scratch))
            runs = made.runs(name)
            costs = instructions.costs_of_runs(made.scratch, self.preloaded.marks)
        if len(costs) != len(runs):
            raise LaunchFailed(
                f"made {len(runs)} runs under Valgrind, which counted {len(costs)} (is valgrind/callgrind.h"
                " installed? apt-get install valgrind)"
            )
        return {
            INSTRUCTIONS: _each(name, runs, [cost.instructions for cost in costs]),
            SYSCALLS: _each(name, runs, [cost.system_calls for cost in costs]),
        }

    def _runs_of(self, name: str) -> int:
        """As many as all sides make before one takes too long. Raises LaunchFailed where one makes none."""
        if name not in self._runs:
            made = []
            for index in self.subject.offering(name):
                with self._launched(self.subject.sides[index], name, MOST_RUNS, longest=True) as trial:
                    made.append(len(trial.runs(name)))
            self._runs[name] = min(made)
        return self._runs[name]

    def _launched(
        self, side: Side, name: str, runs: int, under: Sequence[str] = (), *, longest: bool = False
    ) -> AbstractContextManager[Launched]:
        arguments = [
            f"--benchmark_filter={exactly([name])}",
            f"--benchmark_min_time={_NEVER_LONG_ENOUGH_S}",
            "--v=2",
        ]
        options = self.subject.options
        asked = Launching(
            [*side.command, *arguments], side.environment, side.folder, options.limit_s, options.interrupt
        )
        variables = {"TOLL_COUNTS_RUNS": str(runs)}
        if longest:
            variables["TOLL_COUNTS_NEXT_NS"] = str(_LONGEST_RUN_NS)
        libraries = [self.preloaded.marks] if under else [self.preloaded.allocations, self.preloaded.marks]
        return launched(asked, libraries, variables, under)


def _each(name: str, runs: Sequence[MarkedRun], totals: Sequence[int]) -> Amount:
    """What one iteration takes: by the last two runs, or by the only one there is."""
    threads = int(match[1]) if (match := _THREADS.search(name)) else 1
    last = runs[-1].iterations
    if len(runs) == 1:
        told = f"by one run of {last:,} iteration{'s' * (last != 1)}, with what surrounds its loop"
        return Amount(Fraction(totals[0], last * threads), ITERATION, told)
    before = runs[-2].iterations
    more = Fraction(totals[-1] - totals[-2], (last - before) * threads)
    return Amount(more, ITERATION, f"by runs of {before:,} and {last:,} iterations")
