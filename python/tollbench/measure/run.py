"""Measures a plan: pilots, then rounds in random order until every workload has had enough."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.errors import Exit, TollError
from tollbench.measure.clock import Clock, SystemClock
from tollbench.measure.estimate import left_s, rounds_wanted
from tollbench.measure.events import (
    CaseEnded,
    Event,
    Finished,
    LaunchDone,
    LaunchStarting,
    RoundDone,
    RunStarted,
    WaitingForOtherRun,
    WorkloadDone,
)
from tollbench.measure.interrupt import Interrupt
from tollbench.measure.launch import (
    Conversation,
    Errand,
    LaunchRoom,
    Outcome,
    Work,
    counting,
    measuring,
    preloading,
)
from tollbench.measure.launcher import Interrupted, Launcher, Limits
from tollbench.measure.lock import LOCK_FILES, machine_lock
from tollbench.measure.machine import Disturbance, read_disturbance, spare_memory_bytes
from tollbench.measure.pilot import piloting, work_after
from tollbench.measure.process import ProcessLauncher
from tollbench.measure.protocol import arguments
from tollbench.measure.state import COUNTING_PASSES, CaseState, WorkloadState, begin
from tollbench.plan import Plan, Settings, layout_seed, round_order
from tollbench.store import RunFile
from tollbench.words import Kind, Program, Purpose, Status

CANARY_WORK = Work(iterations=1, batches=4, warmup=True)
CALIBRATION_MS = "100"
# Hardware events and concurrency units are counted in the pilot alone: inherited counters make each thread
# creation dearer, and counting units costs what some units cost.
COUNTING = {"TOLL_COUNTERS": "1", "TOLL_UNITS": "1"}
_SHORTEST_LIMIT_S = 5.0
_MEMORY_SHARE = 0.8
_DEARER = 1.25  # than the round before; on a shared machine rounds vary by as much
_MOST_FAILED_BEATS = 2  # a canary that does not work is left alone


class _OutOfBudget(Exception):  # the run's own way out, never an error
    """The budget ended before the launch did."""


@dataclass(frozen=True, slots=True)
class Canary:
    """The program whose speed tells how the machine fares; `answer` of one iteration, None: not checked."""

    program: Program
    answer: int | None = None


def run(
    plan: Plan,
    programs: Sequence[Program],
    run_file: RunFile,
    *,
    clock: Clock | None = None,
    launcher: Launcher | None = None,
    canary: Canary | None = None,
    allocations_library: Path | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
    interrupt: Interrupt | None = None,
    wait: bool = False,
    lock_files: Sequence[Path] = LOCK_FILES,
    disturbance: Callable[[], Disturbance] = read_disturbance,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Measures until enough is known, the budget is spent or somebody interrupts; stores each launch at once.

    A run file that holds launches already is gone on with. Returns what ended the run: "precision",
    "launches", "budget" or "interrupt". Raises TollError where another run holds the machine (unless
    `wait`) or the disk takes no more. `environment` is what programs get; by default this process's own.
    """
    clock = clock or SystemClock()
    with ExitStack() as stack:
        stop = interrupt or stack.enter_context(Interrupt())
        on_wait = (lambda holder: on_event(WaitingForOtherRun(holder))) if wait else None
        try:
            stack.enter_context(machine_lock(clock, interrupt=stop, on_wait=on_wait, files=lock_files))
        except Interrupted:
            raise TollError("Interrupted while waiting for the other run.", "", Exit.INTERRUPTED) from None
        memory = plan.settings.memory_limit_bytes or int(_MEMORY_SHARE * spare_memory_bytes())
        room = LaunchRoom(
            launcher or ProcessLauncher(stop), clock, Limits(plan.settings.time_limit_s, memory), disturbance
        )
        programs_environment = dict(os.environ if environment is None else environment)
        return _Run(
            plan, programs, run_file, room, stop, canary, allocations_library, on_event, programs_environment
        ).go()


class _Run:
    """One run in progress."""

    def __init__(
        self,
        plan: Plan,
        programs: Sequence[Program],
        run_file: RunFile,
        room: LaunchRoom,
        interrupt: Interrupt,
        canary: Canary | None,
        allocations_library: Path | None,
        on_event: Callable[[Event], None],
        environment: dict[str, str],
    ) -> None:
        self._settings: Settings = plan.settings
        self._file = run_file
        self._room = room
        self._interrupt = interrupt
        self._canary = canary
        self._library = allocations_library
        self._tell = on_event
        self._environment = environment
        self._details = {item.name: frozenset(one.name for one in item.details) for item in plan.workloads}
        self._preloads = {item.name: item.preload for item in plan.environments}
        self._entered = {item.name for item in plan.environments if item.enter}
        self._counters = {item.name: Path(item.counter) for item in plan.environments if item.counter}
        self._workloads: list[WorkloadState] = begin(plan, programs, run_file)
        for workload in self._workloads:
            workload.rounds_wanted = rounds_wanted(workload, plan.settings)
        stored = run_file.all_launches()
        self._launches = len(stored)
        self._canaries = sum(launch.purpose is Purpose.CANARY for launch in stored)
        self._canary_ns = sum(launch.wall_ns for launch in stored if launch.purpose is Purpose.CANARY)
        self._spent_before_ns = sum(launch.wall_ns for launch in stored)
        self._started_ns = room.clock.now_ns()
        self._clock_hz: float | None = None
        self._failed_beats = 0

    def go(self) -> str:
        cases = [case for workload in self._workloads for case in workload.active_cases]
        self._tell(RunStarted(len(cases), self._settings.budget_s, self._launches))
        try:
            self._beat()
            self._prepare(cases)
            self._rounds()
            self._beat()
            stopped_by = self._reason()
        except _OutOfBudget:
            stopped_by = "budget"
        except Interrupted:
            stopped_by = "interrupt"
        if stopped_by != "interrupt":
            self._settle()
        self._file.finish(stopped_by)
        self._tell(Finished(stopped_by, self._launches, self._elapsed_s()))
        return stopped_by

    def _settle(self) -> None:
        """A case whose program was there when the run began and is gone on resuming says so in the file.

        Only at the end: until then another resume may find the program again.
        """
        planned = {record.id for record in self._file.cases() if record.status is Status.PLANNED}
        for state in (case for workload in self._workloads for case in workload.cases):
            if state.id in planned and not state.active:
                self._file.set_status(state.id, state.status, state.reason)

    def _prepare(self, cases: Sequence[CaseState]) -> None:
        """Pilots and counting passes, in random order."""
        for index in round_order(self._settings.seed, 0, len(cases)):
            state = cases[index]
            if state.work is None:
                self._pilot(state, index)
            else:  # resumed: a kill may have come between the pilot and its result
                self._file.set_iterations(state.id, state.work.iterations)
            while state.active and state.counted < COUNTING_PASSES and self._can_count(state):
                self._count(state, index)

    def _pilot(self, state: CaseState, position: int) -> None:
        errand = self._errand(state, Purpose.PILOT, 0, position)
        errand = replace(errand, environment={**COUNTING, **errand.environment})
        outcome = self._launch(state, errand, piloting(state.case.kind, self._settings))
        if outcome.launch.status is not Status.OK:
            self._end_case(state, outcome.launch.status, outcome.launch.reason)
            return
        state.cost_ns = outcome.launch.wall_ns
        state.work = work_after(outcome.launch, state.case.kind, self._settings)
        self._file.set_iterations(state.id, state.work.iterations)

    def _can_count(self, state: CaseState) -> bool:
        """C and C++ programs count only under the counting library; others know by themselves."""
        return self._counter(state) is not None or state.case.language not in ("C", "C++")

    def _counter(self, state: CaseState) -> Path | None:
        """The counting library of the case's own environment: programs of 32 bits cannot load another one."""
        return self._counters.get(state.case.environment, self._library)

    def _count(self, state: CaseState, position: int) -> None:
        errand = self._errand(state, Purpose.ALLOCATIONS, state.counted, position)
        counter = self._counter(state)
        if counter is not None and state.case.language in ("C", "C++"):
            environment = preloading(errand.environment, [str(counter)])
            errand = replace(errand, environment=environment)
        outcome = self._launch(state, errand, counting(100 if state.case.kind is Kind.SAMPLES else 1))
        state.counted = state.counted + 1 if outcome.launch.status is Status.OK else COUNTING_PASSES
        if outcome.launch.status is Status.WRONG_ANSWER:
            self._end_case(state, outcome.launch.status, outcome.launch.reason)

    def _rounds(self) -> None:
        """One round of every workload after another, the workloads in a new random order each time."""
        number = 0
        while going := [workload for workload in self._workloads if not workload.stopped_by]:
            number += 1
            random.Random(f"workloads/{self._settings.seed}/{number}").shuffle(going)
            for workload in going:
                if not workload.active_cases:
                    self._end_workload(workload, "failures")
                elif self._affordable(workload):
                    self._round(workload, number)
                else:
                    self._end_workload(workload, "budget")

    def _round(self, workload: WorkloadState, number: int) -> None:
        """Launches what this round still lacks: after a resume that may be a part of it, or nothing."""
        missing = False
        for position, index in enumerate(round_order(self._settings.seed, number, len(workload.cases))):
            state = workload.cases[index]
            if not state.active or state.work is None or number in state.values:
                continue
            missing = True
            errand = self._errand(state, Purpose.MEASURE, number, position)
            outcome = self._launch(state, errand, measuring(state.work))
            state.take(outcome.launch, outcome.timed_samples(), outcome.timed_cells())
            if not state.active:
                self._end_case(state, state.status, state.reason)
        workload.round = number
        if missing:
            self._tell(RoundDone(workload.name, number))
        workload.judge(self._settings)
        workload.rounds_wanted = rounds_wanted(workload, self._settings)
        if workload.stopped_by:
            self._end_workload(workload, workload.stopped_by)

    def _affordable(self, workload: WorkloadState) -> bool:
        """Whether a whole round fits into what is left: a part of one would pair with nothing."""
        number = workload.round + 1
        missing_ns = sum(case.cost_ns for case in workload.active_cases if number not in case.values)
        reserved_ns = self._reserved_ns(workload)
        # The next round may be dearer than the last one; what is too much would be taken from the reserve.
        expected_ns = missing_ns * (_DEARER if reserved_ns else 1.0)
        return expected_ns + reserved_ns <= 1e9 * self._left_s()

    def _reserved_ns(self, workload: WorkloadState) -> int:
        """What cheaper workloads still need for their least launches: one dear round more of this one would
        cost each of them several, and with them the intervals of their ratios.
        """
        cost_ns = workload.round_cost_ns()
        cheaper = [
            other for other in self._workloads if not other.stopped_by and other.round_cost_ns() < cost_ns
        ]
        return sum(
            other.round_cost_ns() * max(0, self._settings.min_launches - other.round) for other in cheaper
        )

    def _end_case(self, state: CaseState, status: Status, reason: str) -> None:
        state.status, state.reason = status, reason
        self._file.set_status(state.id, status, reason)
        self._tell(CaseEnded(state.case, status, reason))

    def _end_workload(self, workload: WorkloadState, stopped_by: str) -> None:
        workload.stopped_by = stopped_by
        self._tell(WorkloadDone(workload.name, workload.round, stopped_by))

    def _reason(self) -> str:
        """What ended the run as a whole: the least satisfied workload decides."""
        reasons = {workload.stopped_by for workload in self._workloads}
        return next(
            (reason for reason in ("budget", "launches", "precision") if reason in reasons), "launches"
        )

    def _errand(self, state: CaseState, purpose: Purpose, number: int, position: int) -> Errand:
        program, case = state.program, state.case
        preload = self._preloads.get(case.environment, ())
        return Errand(
            case_id=state.id,
            purpose=purpose,
            round=number,
            position=position,
            seed=layout_seed(self._settings.seed, purpose, number, case.key),
            command=(*program.command, *arguments(case.workload, case.contender, case.parameters)),
            environment=preloading(self._environment, preload),
            kind=case.kind,
            answer=case.answer,
            details=self._details.get(case.workload, frozenset()),
            malloc=Path(preload[0]).name if preload else "",
            entered=case.environment in self._entered,
        )

    def _launch(self, state: CaseState | None, errand: Errand, conversation: Conversation) -> Outcome:
        """One launch, stored; before it the canary where its turn has come."""
        if state is not None:
            self._beat_if_due()
        if self._interrupt.requested:
            raise Interrupted
        if self._left_s() <= 0:
            raise _OutOfBudget
        case = state.case if state else None
        self._tell(LaunchStarting(case, errand.purpose, errand.round))
        room, cut_short = self._within_budget()
        outcome = room.launch(self._with_clock(errand), conversation)
        if cut_short and outcome.launch.status is Status.TIMED_OUT:
            raise _OutOfBudget  # the contender is not to blame for the little time that was left
        self._file.append(outcome.launch, outcome.samples)
        self._launches += 1
        if self._clock_hz is None:
            self._clock_hz = _counter_hz(outcome.launch.clock)
        left = left_s(self._workloads, self._left_s())
        self._tell(LaunchDone(case, outcome.launch, self._launches, self._elapsed_s(), left))
        return outcome

    def _within_budget(self) -> tuple[LaunchRoom, bool]:
        """The launch's limits; whether the budget's end makes its time limit shorter."""
        limit_s = max(_SHORTEST_LIMIT_S, self._left_s())
        if limit_s >= self._settings.time_limit_s:
            return self._room, False
        return replace(self._room, limits=replace(self._room.limits, time_s=limit_s)), True

    def _with_clock(self, errand: Errand) -> Errand:
        """All launches share one calibration: the first program makes a long one, the others are told."""
        told = {"TOLL_CLOCK_CALIBRATION_MS": CALIBRATION_MS}
        if self._clock_hz is not None:
            told = {"TOLL_CLOCK_HZ": repr(self._clock_hz)}
        return replace(errand, environment={**told, **errand.environment})

    def _beat_if_due(self) -> None:
        if self._canary_ns < 1e9 * self._settings.canary_share * self._elapsed_s():
            self._beat()

    def _beat(self) -> None:
        """One launch of the canary."""
        if self._canary is None or self._failed_beats >= _MOST_FAILED_BEATS or self._left_s() <= 0:
            return
        self._canaries += 1
        program = self._canary.program
        errand = Errand(
            case_id=None,
            purpose=Purpose.CANARY,
            round=self._canaries,
            position=0,
            seed=layout_seed(self._settings.seed, Purpose.CANARY, self._canaries, ""),
            command=(*program.command, *arguments(program.workload, program.contender, {})),
            environment=self._environment,
            kind=Kind.BATCH,
            answer=self._canary.answer,
        )
        launch = self._launch(None, errand, measuring(CANARY_WORK)).launch
        self._canary_ns += launch.wall_ns
        self._failed_beats += launch.status is not Status.OK

    def _elapsed_s(self) -> float:
        return (self._room.clock.now_ns() - self._started_ns + self._spent_before_ns) / 1e9

    def _left_s(self) -> float:
        return self._settings.budget_s - self._elapsed_s() if self._settings.budget_s else math.inf


def _counter_hz(clock: Mapping[str, object]) -> float | None:
    """The processor's counter's frequency where programs accept it, or None: then each calibrates for itself.

    Other languages read the monotonic clock, whose 1e9 ticks a second are no counter's.
    """
    value = None if str(clock.get("source", "")).startswith("monotonic") else clock.get("frequency_hz")
    return float(value) if isinstance(value, int | float) and 1e6 <= value <= 1e11 else None
