"""Measures a plan: pilots, then rounds in random order until every workload has had enough."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tollbench.launching.calibrating import LaunchLength, LaunchWork, piloting, work_after
from tollbench.launching.child import Launcher, Limits
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.conversation import Errand
from tollbench.launching.disturbance import Disturbance, read_disturbance, spare_memory_bytes
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import Interrupted
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.starting import Starter
from tollbench.measure.errands import Canary, Errands
from tollbench.measure.estimate import left_s, rounds_wanted
from tollbench.measure.events import CaseEnded, Event, LaunchDone
from tollbench.measure.recording import LaunchOutcome, LaunchPlace, Recorder, Talk, counting, measuring
from tollbench.measure.state import COUNTING_PASSES, CaseState, WorkloadState, begin
from tollbench.plan import Plan, Settings, layout_seed, round_order
from tollbench.store import RunFile
from tollbench.words import Kind, Program, Purpose, Status

CANARY_WORK = LaunchWork(iterations=1, batches=4, warmup=True)
_SHORTEST_LIMIT_S = 5.0
_MEMORY_SHARE = 0.8
_DEARER = 1.25  # than the round before; on a shared machine rounds vary by as much
_MOST_FAILED_BEATS = 2  # a canary that does not work is left alone


class _OutOfBudget(Exception):  # the run's own way out, never an error
    """The budget ended before the launch did."""


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
    disturbance: Callable[[], Disturbance] = read_disturbance,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Measures until enough is known, the budget is spent or somebody interrupts; stores each launch at once.

    A run file that holds launches already is gone on with. Returns what ended the run: "precision",
    "launches", "budget" or "interrupt". Raises TollError where the disk takes no more. The caller holds the
    machine (`tollbench.launching.machine_lock`). `environment` is what programs get; None: our own.
    """
    with ExitStack() as stack:
        stop = interrupt or stack.enter_context(Interrupt())
        starter = Starter(launcher or ProcessLauncher(stop), clock or SystemClock())
        variables = own_environment() if environment is None else environment
        errands = Errands(plan, variables, allocations_library)
        recorder = Recorder(starter, disturbance)
        return _Run(plan, programs, run_file, recorder, errands, stop, canary, on_event).go()


class _Run:
    """One run in progress."""

    def __init__(
        self,
        plan: Plan,
        programs: Sequence[Program],
        run_file: RunFile,
        recorder: Recorder,
        errands: Errands,
        interrupt: Interrupt,
        canary: Canary | None,
        on_event: Callable[[Event], None],
    ) -> None:
        self._settings: Settings = plan.settings
        self._length = LaunchLength(plan.settings.launch_s, plan.settings.batches)
        memory = plan.settings.memory_limit_bytes or int(_MEMORY_SHARE * spare_memory_bytes())
        self._limits = Limits(plan.settings.time_limit_s, memory)
        self._file = run_file
        self._recorder = recorder
        self._errands = errands
        self._interrupt = interrupt
        self._canary = canary
        self._tell = on_event
        self._clock = recorder.starter.clock
        self._workloads: list[WorkloadState] = begin(plan, programs, run_file)
        for workload in self._workloads:
            workload.rounds_wanted = rounds_wanted(workload, plan.settings)
        stored = run_file.all_launches()
        self._launches = len(stored)
        self._canaries = sum(launch.purpose is Purpose.CANARY for launch in stored)
        self._canary_ns = sum(launch.wall_ns for launch in stored if launch.purpose is Purpose.CANARY)
        self._spent_before_ns = sum(launch.wall_ns for launch in stored)
        self._started_ns = self._clock.now_ns()
        self._failed_beats = 0

    def go(self) -> str:
        cases = [case for workload in self._workloads for case in workload.active_cases]
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
            errand = self._errands.counting(state)
            while errand and state.active and state.counted < COUNTING_PASSES:
                self._count(state, errand, index)

    def _pilot(self, state: CaseState, position: int) -> None:
        place = self._place(state, Purpose.PILOT, 0, position)
        outcome = self._launch(
            state, place, self._errands.piloting(state), piloting(state.case.kind, self._length)
        )
        if outcome.launch.status is not Status.OK:
            self._end_case(state, outcome.launch.status, outcome.launch.reason)
            return
        state.cost_ns = outcome.launch.wall_ns
        state.work = work_after(outcome.launch, state.case.kind, self._length)
        self._file.set_iterations(state.id, state.work.iterations)

    def _count(self, state: CaseState, errand: Errand, position: int) -> None:
        place = self._place(state, Purpose.ALLOCATIONS, state.counted, position)
        iterations = 100 if state.case.kind is Kind.SAMPLES else 1
        outcome = self._launch(state, place, errand, counting(iterations))
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
                    workload.stopped_by = "failures"
                elif self._affordable(workload):
                    self._round(workload, number)
                else:
                    workload.stopped_by = "budget"

    def _round(self, workload: WorkloadState, number: int) -> None:
        """Launches what this round still lacks: after a resume that may be a part of it, or nothing."""
        for position, index in enumerate(round_order(self._settings.seed, number, len(workload.cases))):
            state = workload.cases[index]
            if not state.active or state.work is None or number in state.values:
                continue
            place = self._place(state, Purpose.MEASURE, number, position)
            outcome = self._launch(state, place, self._errands.measuring(state), measuring(state.work))
            state.take(outcome.launch, outcome.timed_samples(), outcome.timed_cells())
            if not state.active:
                self._end_case(state, state.status, state.reason)
        workload.round = number
        workload.judge(self._settings)
        workload.rounds_wanted = rounds_wanted(workload, self._settings)

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

    def _reason(self) -> str:
        """What ended the run as a whole: the least satisfied workload decides."""
        reasons = {workload.stopped_by for workload in self._workloads}
        return next(
            (reason for reason in ("budget", "launches", "precision") if reason in reasons), "launches"
        )

    def _place(self, state: CaseState, purpose: Purpose, number: int, position: int) -> LaunchPlace:
        seed = layout_seed(self._settings.seed, purpose, number, state.case.key)
        return LaunchPlace(state.id, purpose, number, position, seed)

    def _launch(
        self, state: CaseState | None, place: LaunchPlace, errand: Errand, talk: Talk
    ) -> LaunchOutcome:
        """One launch, stored; before it the canary where its turn has come."""
        if state is not None:
            self._beat_if_due()
        if self._interrupt.requested:
            raise Interrupted
        if self._left_s() <= 0:
            raise _OutOfBudget
        limits = self._within_budget()
        outcome = self._recorder.launch(place, errand, limits, talk)
        if limits != self._limits and outcome.launch.status is Status.TIMED_OUT:
            raise _OutOfBudget  # the contender is not to blame for the little time that was left
        self._file.append(outcome.launch, outcome.samples)
        self._launches += 1
        left = left_s(self._workloads, self._left_s())
        case = state.case if state else None
        self._tell(LaunchDone(case, outcome.launch, self._launches, self._elapsed_s(), left))
        return outcome

    def _within_budget(self) -> Limits:
        """The launch's limits, whose time the budget's end may make shorter."""
        limit_s = max(_SHORTEST_LIMIT_S, self._left_s())
        return replace(self._limits, time_s=min(limit_s, self._limits.time_s))

    def _beat_if_due(self) -> None:
        if self._canary_ns < 1e9 * self._settings.canary_share * self._elapsed_s():
            self._beat()

    def _beat(self) -> None:
        """One launch of the canary."""
        if self._canary is None or self._failed_beats >= _MOST_FAILED_BEATS or self._left_s() <= 0:
            return
        self._canaries += 1
        seed = layout_seed(self._settings.seed, Purpose.CANARY, self._canaries, "")
        place = LaunchPlace(None, Purpose.CANARY, self._canaries, 0, seed)
        errand = self._errands.beating(self._canary)
        launch = self._launch(None, place, errand, measuring(CANARY_WORK)).launch
        self._canary_ns += launch.wall_ns
        self._failed_beats += launch.status is not Status.OK

    def _elapsed_s(self) -> float:
        return (self._clock.now_ns() - self._started_ns + self._spent_before_ns) / 1e9

    def _left_s(self) -> float:
        return self._settings.budget_s - self._elapsed_s() if self._settings.budget_s else math.inf
