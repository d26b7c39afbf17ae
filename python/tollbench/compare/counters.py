"""What is counted of one benchmark on one side, by kind of side: launches natively, and under callgrind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

from tollbench.compare.adapters.command_line import Commands
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark, exactly
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.common_length import CommonLength
from tollbench.compare.subject import Side
from tollbench.counting import hardware, instructions, system_calls
from tollbench.counting.hardware import VALGRIND_COUNTS, Event, InstructionCounter
from tollbench.counting.preloaded import Preloaded
from tollbench.counting.runs import OWN_MALLOC, Launched, Launching, MarkedRun, executed_in, launched
from tollbench.launching.answers import understood
from tollbench.launching.failure import LaunchFailed

INSTRUCTIONS, SYSCALLS = "instructions", "syscalls"
ALLOCATIONS, BYTES, PEAK = "allocations", "bytes", "peak"
UNDER_VALGRIND = frozenset((INSTRUCTIONS, SYSCALLS))
BY_MALLOC = frozenset((ALLOCATIONS, BYTES, PEAK))
ITERATION, RUN, PROCESS = "iteration", "run", "process"

ALL = "from start to end"
ALL_UNDER_VALGRIND = "from start to end, with Valgrind's own part of the start"
UNWATCHED = "but for programs that take no preloaded library, which strace would find"
ALL_PEAK = "of the process that needs most"
MOST_RUNS = 4  # 1, 10, 100 and 1,000 iterations
_LONGEST_RUN_NS = 100_000_000  # without Valgrind, which takes some fifty times as long
_NEVER_LONG_ENOUGH_S = 1_000_000
_OWN_LENGTH = re.compile(r"/iterations:\d")
_THREADS = re.compile(r"/threads:(\d+)")
_LOOKED_AT = re.compile(r"/(threads|iterations):\d")  # or an argument of that name


@dataclass(frozen=True, slots=True)
class Amount:
    """One count as it is: no rounding, so that two may be held against each other exactly.

    A difference of two runs that scatter may be below zero.
    """

    value: Fraction
    per: str = PROCESS  # iteration, run or process
    note: str = ""
    by: str = ""  # who counted, where that may be one of two: hardware or valgrind
    again: bool = False  # of a stored baseline with too few launches: a value that was there before


Reading = Mapping[str, Amount | str]  # by metric; a text is the reason why there is none


class Counter(Protocol):
    """Counts what one side does for one benchmark."""

    @property
    def who(self) -> InstructionCounter:
        """Counts instructions."""

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Launches as often as `metrics` need, once each. Raises Interrupted."""


@dataclass
class Ladder:
    """Google Benchmark's own runs of 1, 10, 100 ... iterations: the last two tell what one iteration takes.

    What happens once a run, such as filling a vector before the loop, is in both and so in neither result.
    """

    subject: GoogleBenchmark
    preloaded: Preloaded
    who: InstructionCounter = VALGRIND_COUNTS
    _length: CommonLength = field(default_factory=CommonLength)  # in runs
    _threads: dict[tuple[str, str], int] = field(default_factory=dict)  # side and benchmark -> threads

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Of one side."""
        return read_kinds(
            metrics,
            {
                BY_MALLOC: lambda: self._allocated(self.subject.sides[side], name),
                **user_code(
                    self.who,
                    lambda: self._by_hardware(self.subject.sides[side], name),
                    lambda: self._executed(self.subject.sides[side], name),
                ),
            },
        )

    def _allocated(self, side: Side, name: str) -> Reading:
        with self.launch(side, name, self.runs_of(side, name)) as made:
            runs = self._runs_in(made, side, name)
            if not runs[-1].told.counted:
                raise LaunchFailed(OWN_MALLOC)
            made.check_allocator()
        last = runs[-1]
        threads = self.asked_threads_of(side, name)
        return {
            ALLOCATIONS: per_iteration(threads, runs, [run.told.calls for run in runs]),
            BYTES: per_iteration(threads, runs, [run.told.bytes for run in runs]),
            PEAK: Amount(Fraction(last.told.peak_bytes), RUN, f"in a run of {counted(last.iterations)}"),
        }

    def _by_hardware(self, side: Side, name: str) -> Reading:
        event = self.who.granted()
        with self.launch(side, name, self.runs_of(side, name), event=event) as made:
            runs = self._runs_in(made, side, name)
            found = executed_in(made.scratch)
        if len(found) != len(runs):
            raise LaunchFailed(f"made {len(runs)} runs, of which the kernel counted {len(found)}")
        each = per_iteration(self.asked_threads_of(side, name), runs, found)
        return {INSTRUCTIONS: replace(each, by=hardware.HARDWARE)}

    def _executed(self, side: Side, name: str) -> Reading:
        if told := instructions.missing_tool():
            raise LaunchFailed(told)
        with self.launch(side, name, self.runs_of(side, name), instructions.CALLGRIND) as made:
            if made.ended.exit_code != 0:
                raise LaunchFailed(instructions.how_it_ended(made.ended, made.scratch))
            runs = self._runs_in(made, side, name)
            costs = instructions.costs_of_runs(made.scratch, self.preloaded.marks)
        if len(costs) != len(runs):
            raise LaunchFailed(
                f"made {len(runs)} runs under Valgrind, which counted {len(costs)} (is valgrind/callgrind.h"
                " installed? apt-get install valgrind)"
            )
        threads = self.asked_threads_of(side, name)
        return {
            INSTRUCTIONS: by_valgrind(
                per_iteration(threads, runs, [cost.instructions for cost in costs]), self.who
            ),
            SYSCALLS: per_iteration(threads, runs, [cost.system_calls for cost in costs]),
        }

    def _runs_in(self, made: Launched, side: Side, name: str) -> list[MarkedRun]:
        """Raises LaunchFailed where the process did not end well, or the benchmark reports an error."""
        if made.ended.exit_code != 0:
            raise LaunchFailed(made.ended.how())
        runs = made.runs(name)
        if not made.cut():  # it came to an end by itself, and may tell why where that is not counted
            self._look_at(side, name, _options(name))
        return runs

    def asked_threads_of(self, side: Side, name: str) -> int:
        """How many threads run it. Raises LaunchFailed where the benchmark reports an error."""
        if _LOOKED_AT.search(name):
            self._look_at(side, name, ())
        return self._threads.get((side.label, name), 1)

    def _look_at(self, side: Side, name: str, options: Sequence[str]) -> None:
        """By a launch of its own: what a report needs of the heap depends on the program's name.

        Raises LaunchFailed where the benchmark reports an error.
        """
        if (side.label, name) not in self._threads:
            self._threads[side.label, name] = self.subject.threads_of(side, name, options)

    def runs_of(self, asking: Side, name: str) -> int:
        """As many as all sides make before one takes too long. Raises LaunchFailed: `asking` has none."""
        offering = [self.subject.sides[index] for index in self.subject.offering(name)]
        sides = {side.label: side for side in offering}

        def trial(label: str) -> int:
            self.subject.check_only_one(sides[label], name)
            with self.launch(sides[label], name, MOST_RUNS, longest=True) as made:
                return len(self._runs_in(made, sides[label], name))

        return self._length.of(asking.label, name, sides, trial)

    def launch(
        self,
        side: Side,
        name: str,
        runs: int,
        under: Sequence[str] = (),
        *,
        longest: bool = False,
        event: Event | None = None,
    ) -> AbstractContextManager[Launched]:
        """One launch that makes so many runs and ends. Raises LaunchFailed, Interrupted."""
        arguments = [f"--benchmark_filter={exactly([name])}", *_options(name), "--v=2"]
        if any(word.startswith("--benchmark_out=") for word in side.command):
            arguments.append("--benchmark_out=/dev/null")  # else every launch would write over it
        asked = asked_of(self.subject, side, arguments)
        variables = {"TOLL_COUNTS_RUNS": str(runs)}
        if longest:
            variables["TOLL_COUNTS_NEXT_NS"] = str(_LONGEST_RUN_NS)
        alone = under or event is not None  # what counts allocations executes instructions
        libraries = [self.preloaded.marks] if alone else [self.preloaded.allocations, self.preloaded.marks]
        return launched(asked, libraries, variables | asking_for(event), under)


@dataclass
class WholeProcess:
    """A command line from its start to its end, all of its processes; starting them is a part of it."""

    subject: Commands
    preloaded: Preloaded
    who: InstructionCounter = VALGRIND_COUNTS

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:  # noqa: ARG002 -- there is only one
        """Of one side."""
        return read_kinds(
            metrics,
            {
                BY_MALLOC: lambda: self._allocated(self.subject.sides[side]),
                frozenset((INSTRUCTIONS,)): lambda: (
                    self._by_hardware if self.who.by_hardware else self._executed
                )(self.subject.sides[side]),
                frozenset((SYSCALLS,)): lambda: self._called(self.subject.sides[side]),
            },
        )

    def _allocated(self, side: Side) -> Reading:
        if hardware.takes_rights(side.command[0], side.environment):
            raise LaunchFailed(hardware.TAKES_RIGHTS)
        libraries = [self.preloaded.allocations, self.preloaded.marks]
        watcher = system_calls.PROGRAMS_SEEN if system_calls.sees_programs() else ()
        asked, whole = asked_of(self.subject, side), {"TOLL_COUNTS_WHOLE": "1"}
        with launched(asked, libraries, whole, watched_by=watcher) as made:
            self._check(made)
            ends = made.whole(system_calls.programs(made.scratch) if watcher else frozenset())
        note = ALL if watcher else f"{ALL}; {UNWATCHED}"
        return {
            ALLOCATIONS: Amount(Fraction(sum(end.calls for end in ends)), note=note),
            BYTES: Amount(Fraction(sum(end.bytes for end in ends)), note=note),
            PEAK: Amount(
                Fraction(max(end.peak_bytes for end in ends)),
                note=note if len(ends) == 1 else note.replace(ALL, ALL_PEAK),
            ),
        }

    def _executed(self, side: Side) -> Reading:
        if told := instructions.missing_tool():
            raise LaunchFailed(told)
        with launched(asked_of(self.subject, side), [], {}, instructions.CALLGRIND) as made:
            if reason := instructions.refusal(made.scratch, made.ended):
                raise LaunchFailed(reason)
            self._check(made)
            cost = instructions.cost_of_all(made.scratch)
        return {
            INSTRUCTIONS: by_valgrind(Amount(Fraction(cost.instructions), note=ALL_UNDER_VALGRIND), self.who)
        }

    def _by_hardware(self, side: Side) -> Reading:
        event = self.who.granted()
        if hardware.takes_rights(side.command[0], side.environment):
            raise LaunchFailed(hardware.TAKES_RIGHTS)
        launcher = hardware.launching(event, self.preloaded.launcher, "{}")
        with launched(asked_of(self.subject, side), [], {}, launcher) as made:
            found = hardware.executed(made.scratch).checked()
            self._check(made)
        return {INSTRUCTIONS: Amount(Fraction(found), note=ALL, by=hardware.HARDWARE)}

    def _called(self, side: Side) -> Reading:
        if told := system_calls.missing_tool():
            raise LaunchFailed(told)
        if hardware.takes_rights(side.command[0], side.environment):
            raise LaunchFailed(hardware.TAKES_RIGHTS)
        with launched(asked_of(self.subject, side), [], {}, system_calls.STRACE) as made:
            self._check(made)
            return {SYSCALLS: Amount(Fraction(system_calls.system_calls(made.scratch)), note=ALL)}

    def _check(self, made: Launched) -> None:
        code = made.ended.exit_code
        if code != 0 and not (self.subject.options.any_exit_code and code > 0):
            raise LaunchFailed(made.ended.how())


def asked_of(subject: OneAfterAnother, side: Side, arguments: Sequence[str] = ()) -> Launching:
    """How a side is launched to be counted, or explained: what stands around a launch does so here, too."""
    options = subject.options
    return Launching(
        [*side.command, *arguments],
        side.environment,
        side.folder,
        options.limit_s,
        options.interrupt,
        partial(subject.surrounded, side),
    )


def asking_for(event: Event | None) -> dict[str, str]:
    """Variables by which a preloaded library has the kernel count."""
    return {} if event is None else {"TOLL_COUNTS_EVENT": str(event)}


def user_code(
    who: InstructionCounter, by_hardware: Callable[[], Reading], under_valgrind: Callable[[], Reading]
) -> dict[frozenset[str], Callable[[], Reading]]:
    """Which launches tell instructions and system calls."""
    if not who.by_hardware:
        return {UNDER_VALGRIND: under_valgrind}
    return {frozenset((INSTRUCTIONS,)): by_hardware, frozenset((SYSCALLS,)): under_valgrind}


def by_valgrind(found: Amount, who: InstructionCounter) -> Amount:
    """Instructions, with who counted them, and why nobody better did."""
    return replace(found, by=hardware.VALGRIND, note="; ".join(filter(None, (found.note, who.note()))))


def read_kinds(metrics: Set[str], kinds: Mapping[frozenset[str], Callable[[], Reading]]) -> Reading:
    """Launches once for each kind that `metrics` need; a launch that fails is the reason of all it tells."""
    found: dict[str, Amount | str] = {}
    for wanted, count in kinds.items():
        if metrics & wanted:
            try:
                with understood("told counts that make no sense"):
                    found |= {metric: told for metric, told in count().items() if metric in wanted}
            except OSError as error:  # a stranger may put anything in the place of a file with counts
                found |= dict.fromkeys(wanted, f"left counts that cannot be read: {error.strerror}")
            except LaunchFailed as failure:
                found |= dict.fromkeys(wanted, failure.reason)
    return {metric: amount for metric, amount in found.items() if metric in metrics}


def _options(name: str) -> Sequence[str]:
    """For the same runs on all sides."""
    options = [f"--benchmark_min_time={_NEVER_LONG_ENOUGH_S}"]
    if _OWN_LENGTH.search(name):  # its only run would be the process's first one
        options.append(f"--benchmark_repetitions={MOST_RUNS}")
    return options


def counted(iterations: int) -> str:
    """In words."""
    return f"{iterations:,} iteration{'s' * (iterations != 1)}"


def shorter_run(runs: Sequence[MarkedRun]) -> int:
    """The place of the run that the last one is held against, for what iterations alone take; 0: of none.

    Never the first one, which also does what is done once. A source may fix the number of iterations, and
    have several runs of as many.
    """
    last = runs[-1].iterations
    return next((at for at in range(len(runs) - 2, 0, -1) if runs[at].iterations < last), 0)


def per_iteration(threads: int, runs: Sequence[MarkedRun], totals: Sequence[int]) -> Amount:
    """What one iteration takes: by the last two runs, or by the last one alone.

    The process's first run is no part of a difference: it also does what is done once.
    """
    last = runs[-1].iterations
    at = shorter_run(runs)
    if not at:
        told = f"by one run of {counted(last)}, with what surrounds its loop"
        return Amount(Fraction(totals[-1], last * threads), ITERATION, told)
    before = runs[at].iterations
    more = Fraction(totals[-1] - totals[at], (last - before) * threads)
    return Amount(more, ITERATION, f"by runs of {before:,} and {last:,} iterations")


def threads_of(name: str) -> int:
    """How many threads run a benchmark, each of them its number of iterations."""
    return int(match[1]) if (match := _THREADS.search(name)) else 1
