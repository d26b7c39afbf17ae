"""Counts of Catch2's samples: each lies between two looks at the clock, which a preloaded library sees.

Catch2 chooses by the clock how many iterations make a sample, and tells it. That does for allocations. What a
sample executes beside its iterations is as much as a part of one, and another part from launch to launch: its
instructions are not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from tollbench.compare.adapters.catch2 import Catch2, literal, reported
from tollbench.compare.counters import (
    ALLOCATIONS,
    BY_MALLOC,
    BYTES,
    ITERATION,
    PEAK,
    RUN,
    UNDER_VALGRIND,
    Amount,
    Reading,
    asked_of,
    read_kinds,
)
from tollbench.compare.subject import Side
from tollbench.counting import instructions
from tollbench.counting.hardware import VALGRIND_COUNTS, InstructionCounter
from tollbench.counting.preloaded import Preloaded
from tollbench.counting.runs import OWN_MALLOC, Launched, Told, launched
from tollbench.launching.failure import LaunchFailed

_SAMPLES = 2  # the first one may be the first call of what it calls
_NONE_YET = 10**15
_BY_A_CLOCK = (
    "is not told how many iterations to make: Catch2 chooses by the clock, and what is executed beside them"
    " cannot be taken off exactly; --kind command counts the whole run"
)


@dataclass(frozen=True, slots=True)
class _Sample:
    """The last sample of one benchmark in one launch."""

    iterations: int
    told: Told
    at: int  # which one it is of all samples of the launch
    made: int  # how many samples those are


@dataclass
class Samples:
    """Catch2's benchmarks, one test case a launch."""

    subject: Catch2
    preloaded: Preloaded
    who: InstructionCounter = VALGRIND_COUNTS
    _skipped: dict[tuple[int, str], int] = field(default_factory=dict)  # looks at the clock before a sample

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Of one side."""
        return read_kinds(
            metrics,
            {
                BY_MALLOC: lambda: self._allocated(side, name),
                UNDER_VALGRIND: _not_under_valgrind,
            },
        )

    def _allocated(self, side: int, name: str) -> Reading:
        with self._last(side, name) as (sample, _):
            if not sample.told.counted:
                raise LaunchFailed(OWN_MALLOC)
        note = "by the mean of one sample"
        return {
            ALLOCATIONS: Amount(Fraction(sample.told.calls, sample.iterations), ITERATION, note),
            BYTES: Amount(Fraction(sample.told.bytes, sample.iterations), ITERATION, note),
            PEAK: Amount(Fraction(sample.told.peak_bytes), RUN, "in one sample"),
        }

    def under_valgrind(
        self, side: int, name: str, tool: Sequence[str]
    ) -> AbstractContextManager[tuple[_Sample, Path]]:
        """The last sample of a launch that has ended, and the folder of Valgrind's files.

        Raises LaunchFailed, Interrupted.
        """
        return self._last(side, name, tool)

    @contextmanager
    def _last(self, side: int, name: str, under: Sequence[str] = ()) -> Iterator[tuple[_Sample, Path]]:
        """One launch."""
        if (side, name) not in self._skipped:
            self._skipped[side, name] = self._looks_before(side, name)
        with self._launched(side, name, self._skipped[side, name], under) as made:
            section, iterations = self._section(self.subject.sides[side], name, made)
            samples = [told for told in made.told() if told.text.startswith("Sample ")]
            places = [at for at, told in enumerate(samples) if told.text == f"Sample {section}"]
            if len(places) != _SAMPLES:
                raise LaunchFailed("looks at the clock within its samples: they cannot be told apart")
            yield _Sample(iterations, samples[places[-1]], places[-1], len(samples)), made.scratch

    def _looks_before(self, side: int, name: str) -> int:
        """How often it looks at the clock before its first sample, by a launch of its own."""
        with self._launched(side, name, _NONE_YET) as trial:
            section, _ = self._section(self.subject.sides[side], name, trial)
            looks = [told.text.split() for told in trial.told() if told.text.startswith("Looks ")]
        found = [int(number) for _, at, number in looks if int(at) == section]
        if not found or found[0] < 2 * _SAMPLES:
            raise LaunchFailed("does not look at the clock before and after its samples, as Catch2 does")
        return found[0] - 2 * _SAMPLES

    def _section(self, side: Side, name: str, made: Launched) -> tuple[int, int]:
        """Which of a launch's benchmarks is the one called `name`, and its iterations a sample."""
        if made.ended.exit_code != 0:
            raise LaunchFailed(instructions.refusal(made.scratch) or made.ended.how())
        for at, benchmark in enumerate(reported(made.ended.whole_stdout())):
            if benchmark.name == name and benchmark.iterations:
                return at, benchmark.iterations
        raise LaunchFailed(f"gave no result for {name}: {side.label}")

    def _launched(
        self, side: int, name: str, skipped: int, under: Sequence[str] = ()
    ) -> AbstractContextManager[Launched]:
        of = self.subject.sides[side]
        arguments = [literal(self.subject.case_of(of, name)), "--reporter", "xml"]
        arguments += ["--benchmark-samples", str(_SAMPLES), "--benchmark-no-analysis"]
        arguments += ["--benchmark-warmup-time", "0"]
        libraries = [self.preloaded.marks] if under else [self.preloaded.allocations, self.preloaded.marks]
        variables = {"TOLL_COUNTS_SKIP": str(skipped)}
        return launched(asked_of(self.subject, of, arguments), libraries, variables, under)


def _not_under_valgrind() -> Reading:
    raise LaunchFailed(_BY_A_CLOCK)
