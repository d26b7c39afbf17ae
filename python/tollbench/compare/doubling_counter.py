"""Counts of Catch2's benchmarks, by the runs that it plans with: of 1, 2, 4, 8 ... iterations.

Catch2 doubles until a run is long enough by the clock, which a preloaded library answers for it: so every
launch makes the same runs, each between two looks at the clock, and the difference of the last two is that of
their iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tollbench.compare.adapters.catch2 import Catch2, literal, report_of
from tollbench.compare.common_length import CommonLength
from tollbench.compare.counters import asked_of, asking_for
from tollbench.compare.planned_counter import PlannedLaunch, PlannedRuns
from tollbench.compare.subject import Side
from tollbench.counting.hardware import Event
from tollbench.counting.runs import Launched, MarkedRun, launched
from tollbench.launching.failure import LaunchFailed

_MOST_DOUBLINGS = 10  # 1,024 iterations
_LONGEST_RUN_NS = 50_000_000  # without Valgrind, which takes some fifty times as long
_ITS_CLOCK = (
    "looks at the clock within its iterations, or plans its runs as no known Catch2 does: what an iteration"
    " takes cannot be told; --kind command counts the whole run"
)


@dataclass(frozen=True, slots=True)
class _Found:
    """One launch's runs of one benchmark, and which of the report's benchmarks it is."""

    section: int
    runs: Sequence[MarkedRun]


@dataclass
class Doublings(PlannedRuns):
    """Catch2's benchmarks, one test case a launch."""

    subject: Catch2
    _length: CommonLength = field(default_factory=CommonLength)  # in runs
    _section: dict[tuple[str, str], int] = field(default_factory=dict)  # by side and benchmark

    def launch(
        self, side: Side, name: str, under: Sequence[str] = (), *, event: Event | None = None
    ) -> AbstractContextManager[Launched]:
        """As many runs as all sides make before one takes too long, of this benchmark alone."""
        offering = [self.subject.sides[index] for index in self.subject.offering(name)]
        sides = {each.label: each for each in offering}
        runs = self._length.of(side.label, name, sides, lambda label: self._tried(sides[label], name))
        plan = f"{self._section[side.label, name]}:{runs - 1}"
        alone = under or event is not None
        return self._launched(side, name, plan, asking_for(event), under, alone=bool(alone))

    def _tried(self, side: Side, name: str) -> int:
        """How many runs it makes before one takes too long."""
        variables = {"TOLL_COUNTS_NEXT_NS": str(_LONGEST_RUN_NS)}
        with self._launched(side, name, f":{_MOST_DOUBLINGS}", variables) as made:
            found = self._found(side, name, made)
        self._section[side.label, name] = found.section
        return len(found.runs)

    def checked(self, side: Side, name: str, made: Launched) -> PlannedLaunch:
        """Raises LaunchFailed where the launch failed, or its runs are not what they are taken for."""
        runs = self._found(side, name, made).runs
        return PlannedLaunch(runs, range(len(runs)), len(runs))

    def _found(self, side: Side, name: str, made: Launched) -> _Found:
        """Raises LaunchFailed where the launch failed, or its runs are not what they are taken for."""
        section, iterations = self._reported(side, name, made)
        told = made.told()
        runs = [each for each in told if each.text.startswith(f"Doubled {section} ")]
        plans = [each.text for each in told if each.text.startswith(f"Planned {section} ")]
        if not told:
            raise LaunchFailed(made.silent())
        # One run more, or a look more, and a run is not what stands between two looks.
        planned_well = plans == [f"Planned {section} {2 * len(runs)} 1"]
        if not runs or not planned_well or iterations != 2 ** (len(runs) - 1):
            raise LaunchFailed(_ITS_CLOCK)
        return _Found(section, [MarkedRun(2**at, run) for at, run in enumerate(runs)])

    def _reported(self, side: Side, name: str, made: Launched) -> tuple[int, int]:
        """Which of a launch's benchmarks is the one called `name`, and its iterations a sample.

        Raises LaunchFailed where its test case failed, whatever the exit code, or the launch.
        """
        any_code = self.subject.options.any_exit_code
        report = report_of(made.ended, any_code=any_code)
        if failed := report.failed_of([self.subject.case_of(side, name)]):
            raise LaunchFailed(failed[0].told())
        if made.ended.exit_code != 0 and not any_code:
            raise LaunchFailed(made.ended.how())
        for at, benchmark in enumerate(report.benchmarks):
            if benchmark.name == name and benchmark.iterations:
                return at, benchmark.iterations
        raise LaunchFailed(f"gave no result for {name}: {side.label}")

    def _launched(
        self,
        side: Side,
        name: str,
        plan: str,
        variables: dict[str, str],
        under: Sequence[str] = (),
        *,
        alone: bool = False,
    ) -> AbstractContextManager[Launched]:
        arguments = [literal(self.subject.case_of(side, name)), "--reporter", "xml", "--rng-seed", "1"]
        arguments += ["--benchmark-samples", "1", "--benchmark-no-analysis"]
        arguments += ["--benchmark-warmup-time", "0"]
        libraries = [self.preloaded.marks] if alone else [self.preloaded.allocations, self.preloaded.marks]
        asked = asked_of(self.subject, side, arguments)
        planned = {"TOLL_COUNTS_PLAN": plan, **variables}
        return launched(asked, libraries, planned, under, named_alike=True)
