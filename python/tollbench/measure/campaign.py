"""Measures a plan: pilots, then rounds in random order until every workload has had enough."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path

from tollbench.launching.census import Census, own_cpus
from tollbench.launching.child import Launcher, Limits
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.conversation import Errand
from tollbench.launching.disturbance import Disturbance, read_disturbance, spare_memory_bytes
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import Interrupted
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.meanwhile import Meanwhile
from tollbench.launching.piloting import CaseWork, alike, piloting
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.starting import Starter
from tollbench.measure.company import MOST_TIMES, REHEARSED_TURNS, Member, NotHalted, OutOfTime, blocks_of
from tollbench.measure.conversing import LaunchPlace
from tollbench.measure.errands import Canary, Errands
from tollbench.measure.estimate import (
    PREPARING_SHARE,
    left_s,
    look_at,
    next_of,
    rounds_wanted,
    steady_rows,
)
from tollbench.measure.events import CaseEnded, Event, FileIsFull, LaunchDone, Shortage, TimePlanned
from tollbench.measure.fitting import let_wait
from tollbench.measure.forecast import forecast, guessed, launch_costs_ns, shortage
from tollbench.measure.recording import LaunchOutcome, Recorder, Talk, counting, noting_unasked_work
from tollbench.measure.spending import ROUNDS_OF_EACH
from tollbench.measure.state import COUNTING_PASSES, CaseState, WorkloadState, begin, spent_ns
from tollbench.plan import Plan, Settings, code_layout, headline_cases, layout_seed, quick_cases, round_order
from tollbench.stats import next_look
from tollbench.store import Launch, RunFile
from tollbench.words import Case, Kind, Program, Purpose, Status

# An untimed beat goes before each that counts: the other canary had 128 KiB of the same cache.
CANARY_WORK = CaseWork(iterations=1, batch_ns=1e6, warmup=2, begin_ns=8e6, again=1)
_CANARY_BLOCKS = 6
_REHEARSALS = 2  # tries: a program may fail once
_SHORTEST_LIMIT_S = 5.0
_MEMORY_SHARE = 0.8
_DEARER = 1.25  # than rounds so far in the mean; on a shared machine they vary by as much
_TO_SPARE = 1.5  # times what the least launches will take
_REHEARSING = 3.0  # times what pilots took
_WORTH_TELLING = 0.25  # of the budget: what less of it buys is seen soon
_THINNED_ROUNDS = 3  # of those that are left where a round of all does not fit
_MOST_PILOTS = 3
_MOST_PILOTS_OF_THREADS = 6
_PILOTING_SHARE = 0.1  # of the time, for the third to the sixth
_DEAREST_SECOND_PILOT_NS = 2e8  # of a program with threads: 40 of the headline's take 3 s together
_SHORT_ITERATION_NS = 1e7  # of what takes no longer a dear pilot was one beside a neighbour
_MOST_IN_VAIN = 3  # launches in a row that were longer, or waited, and others were there all the same
# For others to rest, before a launch of a program that they move. Who works a tenth of a second at a time has
# rested by then; who works all the time is waited for three times a workload.
_LONGEST_WAIT_NS = 200_000_000
_WAITING_STEP_S = 0.001
_NOTING_RESTS = (6, 9)  # rounds, besides the looks at intervals: whose launches are worth waiting for
_OVER = "the time was over"
_FULL = "The run ended because its file holds as many launches as is read of one file."
_MOST_FAILED_BEATS = 2  # a canary that does not work is left alone


class _OutOfBudget(Exception):  # the run's own way out, never an error
    """The budget ended before the launch did."""


class _FileIsFull(Exception):  # likewise
    """The run file holds as many launches as is read of one."""


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
    census: Census | None = None,
    environment: Mapping[str, str] | None = None,
    meanwhile: Meanwhile | None = None,
) -> str:
    """Measures until enough is known, the budget is spent or somebody interrupts; stores each launch at once.

    A run file that holds launches already is gone on with. Returns what ended the run: "precision",
    "launches", "budget" or "interrupt". Raises TollError where the disk takes no more. The caller holds the
    machine (`tollbench.launching.machine_lock`). `environment` is what programs get; None: our own.
    `census` counts who is in the way of programs; None: by what the kernel tells.
    """
    with ExitStack() as stack:
        stop = interrupt or stack.enter_context(Interrupt())
        starter = Starter(launcher or ProcessLauncher(stop), clock or SystemClock())
        variables = own_environment() if environment is None else environment
        errands = Errands(plan, variables, allocations_library)
        recorder = Recorder(starter, disturbance, census or Census(starter.clock, cpus=own_cpus()))
        watch = stack.enter_context(meanwhile or Meanwhile())
        return _Run(plan, programs, run_file, recorder, errands, stop, canary, on_event, watch).go()


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
        meanwhile: Meanwhile,
    ) -> None:
        self._settings: Settings = plan.settings
        memory = plan.settings.memory_limit_bytes or int(_MEMORY_SHARE * spare_memory_bytes())
        self._limits = Limits(plan.settings.time_limit_s, memory)
        self._file = run_file
        self._recorder = recorder
        self._errands = errands
        self._interrupt = interrupt
        self._canary = canary
        self._tell = on_event
        self._meanwhile = meanwhile
        self._befell_before = run_file.header().meanwhile  # of a run that is gone on with
        self._befell: tuple[str, ...] = ()
        self._headline, self._quick = headline_cases(plan), quick_cases(plan)
        self._ranks: dict[int, int] = {}  # of cases by id: who comes first where time is short
        self._clock = recorder.starter.clock
        self._workloads: list[WorkloadState] = begin(plan, programs, run_file)
        self._costs_ns: dict[int, float] = {}  # of a launch of each case, by id, as pilots say
        self._gone_on_with = False
        self._rounds_began_s = 0.0
        self._forecast_due_s = 0.0  # after that
        for workload in self._workloads:
            workload.rounds_wanted = rounds_wanted(workload, plan.settings)
        stored = run_file.all_launches()
        self._launches = len(stored)
        self._beats = max((one.round for one in stored if one.purpose is Purpose.CANARY), default=0)
        self._canary_ns = sum(launch.wall_ns for launch in stored if launch.purpose is Purpose.CANARY)
        self._spent_before_ns = sum(spent_ns(launch) for launch in stored)
        self._started_ns = self._clock.now_ns()
        self._failed_beats = 0

    def go(self) -> str:
        cases = [case for workload in self._workloads for case in workload.active_cases]
        try:
            self._beat()
            until_s = self._elapsed_s() + PREPARING_SHARE * self._left_s()
            self._prepare(cases, until_s)
            self._rehearse(until_s)
            self._rounds()
            self._beat()
            stopped_by = self._reason()
        except _OutOfBudget:
            stopped_by = "budget"
        except _FileIsFull:
            stopped_by = "launches"
            self._tell(FileIsFull())
            self._file.set_meanwhile([*self._befell_before, *self._befell, _FULL])
        except Interrupted:
            stopped_by = "interrupt"
        if stopped_by != "interrupt":
            self._settle()
        self._file.finish(stopped_by)
        return stopped_by

    def _settle(self) -> None:
        """A case whose program was there when the run began and is gone on resuming says so in the file;
        one that has launches keeps them, and says why it has no more.

        Only at the end: until then another resume may find the program again.
        """
        stored = {record.id: record.status for record in self._file.cases()}
        for state in (case for workload in self._workloads for case in workload.cases):
            if not state.has_turn or state.active:
                continue
            if stored[state.id] is Status.PLANNED:
                self._file.set_status(state.id, state.status, state.reason)
            elif stored[state.id] is Status.OK and state.program.status is not Status.OK:
                why = f"no more launches since the run was gone on with: {state.reason}"
                self._file.set_status(state.id, Status.OK, why)

    def _prepare(self, cases: Sequence[CaseState], until_s: float) -> None:
        """Pilots and counting passes, of what comes first where not all may have their turn.

        They take half of the time at most: who has no pilot by then has no turn in this run. Where all of the
        time went into pilots, a run of 65 cases in 25 s, on a busy machine, had not one value.
        """
        self._ranks = {cases[index].id: rank for rank, index in enumerate(self._first(cases))}
        pilots_until_s = until_s if len(cases) > 1 else math.inf
        for index in sorted(range(len(cases)), key=lambda index: self._ranks[cases[index].id]):
            state = cases[index]
            if state.work is None:
                if self._elapsed_s() > until_s and any(case.work is not None for case in cases):
                    state.has_turn = False
                    continue
                self._pilot(state, index, pilots_until_s)
            else:  # resumed: a kill may have come between the pilot and its result, or the next pilot
                self._file.set_iterations(state.id, state.work.iterations)
                if state.work.lengthened and not (state.values or state.rehearsed):
                    self._pilot(state, index, pilots_until_s)
            errand = self._errands.counting(state)
            while errand and state.active and state.counted < COUNTING_PASSES:
                self._count(state, errand, index, pilots_until_s)
        self._pilot_again(cases, until_s)

    def _pilot_again(self, cases: Sequence[CaseState], until_s: float) -> None:
        """Programs that wait or have threads, when all have had a pilot, until two say the same of each.

        A neighbour works in bursts, and the whole of a pilot may lie in one. Pass by pass, so that pilots of
        one program are apart in time; in the passes that may have a share of the time alone, those come first
        whose pilots are farthest apart.
        """
        if self._settings.max_launches < 2:
            return
        failed: set[int] = set()
        for number in range(1, _MOST_PILOTS_OF_THREADS):
            if number == 2:
                until_s = min(until_s, self._elapsed_s() + _PILOTING_SHARE * self._left_s())
            by_rank = sorted(range(len(cases)), key=lambda index: self._ranks[cases[index].id])
            for index in sorted(by_rank, key=lambda index: -cases[index].pilots_apart):
                state = cases[index]
                if self._elapsed_s() >= until_s or index in failed or not _needs_a_pilot(state):
                    continue
                launch = self._pilot_once(state, index, until_s)
                if launch.status is not Status.OK:
                    failed.add(index)
                if launch.status is Status.WRONG_ANSWER:
                    self._end_case(state, launch.status, launch.reason)

    def _first(self, cases: Sequence[CaseState]) -> list[int]:
        """Positions in `cases`: the headline first, a case of each workload in turn, otherwise at random."""
        drawn = round_order(self._settings.seed, 0, len(cases))
        before: Counter[tuple[str, bool]] = Counter()
        ranks: dict[int, tuple[bool, int]] = {}
        for index in drawn:
            case = cases[index].case
            other = case.key not in self._headline
            ranks[index] = other, before[case.workload, other]
            before[case.workload, other] += 1
        return sorted(drawn, key=lambda index: ranks[index])

    def _pilot(self, state: CaseState, position: int, until_s: float) -> None:
        """Up to three: one that saw a neighbour would make the batches of its whole company long.

        One that fails behind one that went well costs no row: launches that fail now and then do not either.
        One that takes half of what is left until `until_s`, the end of all pilots, is given up, and nobody is
        blamed: one that hung took all of a run.
        """
        while len(state.fits) < _MOST_PILOTS:
            share_s = self._within_budget(until_s).time_s
            launch = self._pilot_once(state, position, until_s)
            if launch.status is Status.OK:
                assert state.work is not None
                if not state.work.lengthened or self._settings.max_launches < 2:
                    return
                continue
            given_up = launch.status is Status.TIMED_OUT and share_s < self._limits.time_s
            if state.work is None and given_up:
                state.has_turn = False
                when = "its pilot's share of the time was over"
                self._say_who_did_not_end([state.id], launch.wall_ns / 1e9, when)
            elif state.work is None or launch.status in (Status.WRONG_ANSWER, Status.UNSUPPORTED):
                self._end_case(state, launch.status, launch.reason)
            return

    def _pilot_once(self, state: CaseState, position: int, until_s: float) -> Launch:
        """What came of it; a pilot that went well counts."""
        talk = noting_unasked_work(piloting(state.case.kind, self._settings.launch_s))
        place = self._place(state, Purpose.PILOT, len(state.fits), position)
        outcome = self._launch(state, place, self._errands.piloting(state), talk, until_s)
        if outcome.launch.status is Status.OK:
            state.take_pilot(outcome.launch, self._settings)
            assert state.work is not None
            self._file.set_iterations(state.id, state.work.iterations)
        return outcome.launch

    def _count(self, state: CaseState, errand: Errand, position: int, until_s: float) -> None:
        place = self._place(state, Purpose.ALLOCATIONS, state.counted, position)
        iterations = 100 if state.case.kind is Kind.SAMPLES else 1
        outcome = self._launch(state, place, errand, counting(iterations), until_s)
        state.counted = state.counted + 1 if outcome.launch.status is Status.OK else COUNTING_PASSES
        if outcome.launch.status is Status.WRONG_ANSWER:
            self._end_case(state, outcome.launch.status, outcome.launch.reason)

    def _rehearse(self, until_s: float) -> None:
        """Each company once, to see what being together costs. Who fails here is judged by its launches.

        Where time is short, pilots alone say what launches will do.
        """
        if self._settings.max_launches < 2:
            return  # a check asks whether all work, not what they cost
        for workload in self._workloads:
            companies = chain.from_iterable(workload.companies(self._limits.memory_bytes))
            for index, company in enumerate(companies):
                rng = random.Random(f"rehearsal/{self._settings.seed}/{workload.name}/{index}")
                for _ in range(_REHEARSALS):
                    going = [state for state in company if state.active and not state.not_halted]
                    costs_s = _REHEARSING * sum(state.cost_ns for state in going) / 1e9
                    in_time = self._elapsed_s() + costs_s <= until_s
                    begun = any(state.values for state in going)  # resumed: launches do what they did
                    if len(going) > 1 and in_time and not begun and not all(one.rehearsed for one in going):
                        self._rehearse_once(going, rng)

    def _rehearse_once(self, company: Sequence[CaseState], rng: random.Random) -> None:
        """All of them, as a turn among fewer is another one; who is known already learns nothing new."""
        members = self._members(company, Purpose.REHEARSAL, 0)
        try:
            outcomes = self._together(company, members, REHEARSED_TURNS, rng, rehearsing=True)
        except NotHalted as refused:
            _apart(company, refused)
            return
        for state, outcome in outcomes:
            if outcome.launch.status is Status.OK and not state.rehearsed:
                state.take_rehearsal(outcome.launch)
            elif outcome.launch.status is Status.WRONG_ANSWER:
                self._end_case(state, outcome.launch.status, outcome.launch.reason)

    def _rounds(self) -> None:
        """Round after round, of the workload whose turn it is, until each has had enough."""
        rng = random.Random(f"workloads/{self._settings.seed}")
        for workload in self._workloads:
            workload.plan_turns(self._limits.memory_bytes, self._settings, self._recorder.census.cpus)
        self._rounds_began_s = self._elapsed_s()
        self._tell_guess()
        looked_at = 0  # the round that all have had
        while going := self._going():
            if (had := min(workload.round for workload in going)) != looked_at:
                self._let_wait_by_what_launches_took(more=had <= ROUNDS_OF_EACH)
                looked_at = had
            steady_rows(going, self._left_s())
            some_wait = any(one.waiting for one in self._workloads if not one.stopped_by)
            drawn = rng.sample(going, len(going))
            workload = next_of(drawn, self._settings, self._left_s(), some_wait=some_wait)
            if not workload.active_cases:
                workload.stopped_by = "failures"
            elif self._affordable(workload) or (not workload.round and self._thinned(workload)):
                self._round(workload, workload.round + 1)
                self._tell_plan()
            else:
                workload.stopped_by = "budget"

    def _going(self) -> list[WorkloadState]:
        """Workloads that have rounds; those of which all wait go on when no other does."""
        going = [workload for workload in self._workloads if not workload.stopped_by]
        found = [
            one for one in going if one.round < ROUNDS_OF_EACH or one.going_cases or not one.active_cases
        ]
        if found or not going:
            return found
        self._let_wait(more=True)
        return [one for one in going if one.going_cases]

    def _let_wait(self, *, more: bool) -> None:
        """By what pilots say of each launch, and what a workload's launches took in all so far.

        Not by what each took: a table whose first launches happened to be quick would be chosen for them.
        """
        if not self._settings.budget_s or self._settings.max_launches < 2:
            return
        going = [one for one in self._workloads if not one.stopped_by]
        left_s = self._left_s() * (1.0 - self._settings.canary_share)
        let_wait(going, left_s, self._quick, self._costs_by_now_ns(going), more=more)

    def _costs_by_now_ns(self, workloads: Sequence[WorkloadState]) -> dict[int, float]:
        """Of a launch of each active case, by id."""
        found: dict[int, float] = {}
        for workload in workloads:
            launched = [case for case in workload.cases if case.went_well and case.id in self._costs_ns]
            expected_ns = sum(case.went_well * self._costs_ns[case.id] for case in launched)
            took_ns = sum(case.went_well_ns for case in launched)
            dearer = took_ns / expected_ns if expected_ns else 1.0
            found |= {case.id: dearer * self._costs_ns.get(case.id, 0.0) for case in workload.active_cases}
        return found

    def _let_wait_by_what_launches_took(self, *, more: bool) -> None:
        """And says so, where pilots had promised time for all."""
        waited = self._waiting()
        self._let_wait(more=more)
        if waited or not self._waiting() or self._gone_on_with:
            return
        going = [one for one in self._workloads if not one.stopped_by]
        short = self._shortage(going, self._rounds_began_s)
        if short is not None:
            left_s = self._settings.budget_s - self._rounds_began_s
            self._tell(TimePlanned((), left_s, 0, None, replace(short, waiting=self._waiting())))

    def _waiting(self) -> int:
        return sum(len(workload.waiting) for workload in self._workloads)

    def _shortage(self, going: Sequence[WorkloadState], spent_s: float) -> Shortage | None:
        return shortage(going, self._settings, spent_s, self._costs_by_now_ns(going)) if going else None

    def _tell_guess(self) -> None:
        """Before the first round; who goes on with a run has been told better already."""
        going = [one for one in self._workloads if one.active_cases]
        self._gone_on_with = any(case.values for one in going for case in one.cases)
        self._costs_ns = launch_costs_ns(going, self._settings, self._limits.memory_bytes)
        short = self._shortage(going, self._elapsed_s())
        self._let_wait(more=True)
        if not going or self._gone_on_with or self._settings.max_launches < 2:
            return
        left = self._left_s()
        found = guessed(going, self._settings, left, self._limits.memory_bytes)
        short = short and replace(short, waiting=self._waiting())
        self._tell(TimePlanned(tuple(found), left, 0, None, short))

    def _tell_plan(self) -> None:
        """When each workload has had what intervals need, and whenever rounds have taken twice as long."""
        going = [one for one in self._workloads if not one.stopped_by and one.going_cases]
        if not going or self._settings.max_launches < 2 or any(one.round < one.fewest for one in going):
            return
        since_s = self._elapsed_s() - self._rounds_began_s
        left = self._left_s()
        if since_s < self._forecast_due_s or left < _WORTH_TELLING * self._settings.budget_s:
            return
        self._forecast_due_s = 2.0 * since_s
        steady_rows(going, left)  # the last look may have made some known
        found = forecast(self._workloads, self._settings, left)
        had = min(one.round for one in going)
        self._tell(TimePlanned(found.workloads, left, had, self._elapsed_s() + found.needed_s))

    def _round(self, workload: WorkloadState, number: int) -> None:
        """Launches what this round still lacks: after a resume that may be a part of it, or nothing."""
        settings = workload.companies(self._limits.memory_bytes)
        seed = self._settings.seed
        due = {state.id for state in workload.due(number)}
        # One setting after the other: what is compared are neighbours in time.
        for setting in round_order(seed, number, len(settings)):
            for index in round_order(f"{seed}/{setting}", number, len(settings[setting])):
                company = settings[setting][index]
                lacking = [state for state in company if state.id in due and number not in state.values]
                if lacking:
                    place = f"{seed}/{workload.name}/{number}/{setting}/{index}"
                    self._measure(workload, lacking, number, random.Random(f"turns/{place}"))
        workload.round = number
        workload.judge(self._settings)
        if number in _NOTING_RESTS or next_look(number - 1) == number:
            workload.note_rests()
        # Looking after each round would cost more than it tells.
        if number == workload.fewest or next_look(number - 1) == number:
            look_at(workload, self._settings)

    def _measure(
        self, workload: WorkloadState, states: Sequence[CaseState], number: int, rng: random.Random
    ) -> None:
        """One launch of each, taking turns."""
        waited_ns = self._await_rest(workload, states)
        states = rng.sample(states, len(states))  # the order in which they start
        members = self._members(states, Purpose.MEASURE, number)
        if len(states) == 1 and (threads := workload.census.get(states[0].id)):
            members = [replace(members[0], threads=threads, waited_ns=waited_ns)]
        blocks = blocks_of([member.work for member in members], self._settings)
        longer = (
            workload.takes_own_core()
            and workload.longer_in_vain < _MOST_IN_VAIN
            and self._has_time_to_spare()
        )
        most = MOST_TIMES * blocks if longer else blocks
        made = 0
        try:
            outcomes = self._together(states, members, blocks, rng, most_blocks=most, at_once=waited_ns > 0)
        except NotHalted as refused:
            for company in _apart(states, refused):
                self._measure(workload, company, number, rng)
            return
        for state, outcome in outcomes:
            made = max(made, sum(not batch.warmup for batch in outcome.launch.batches))
            state.take(outcome.launch, outcome.timed_samples())
            if not state.active:
                self._end_case(state, state.status, state.reason)
        if longer:
            workload.longer_in_vain = workload.longer_in_vain + 1 if made >= most else 0

    def _await_rest(self, workload: WorkloadState, states: Sequence[CaseState]) -> int:
        """Lets others finish before a program that they move begins; returns how long that took, ns.

        Where they do not rest three times in a row, launches of the workload begin at once from then on.
        """
        alone = len(states) == 1 and states[0].id in workload.rests
        if not alone or workload.waited_in_vain >= _MOST_IN_VAIN or not self._has_time_to_spare():
            return 0
        self._may_launch()  # a canary that is due has its turn before
        began_ns = self._clock.now_ns()
        longest_ns = min(_LONGEST_WAIT_NS, 1e9 * self._left_s())
        threads = workload.census[states[0].id]
        while self._recorder.census.in_the_way(threads) and not self._interrupt.requested:
            waited_ns = self._clock.now_ns() - began_ns
            if waited_ns >= longest_ns:
                workload.waited_in_vain += 1
                return waited_ns
            self._clock.sleep(_WAITING_STEP_S)
        workload.waited_in_vain = 0
        return self._clock.now_ns() - began_ns

    def _members(self, states: Sequence[CaseState], purpose: Purpose, number: int) -> list[Member]:
        works = [work for state in states if (work := state.work) is not None]
        assert len(works) == len(states), "a company has those whose pilots went well"
        return [
            Member(
                place := self._place(state, purpose, number, position),
                self._errands.measuring(state, place.code_layout),
                work,
                state.not_halted,
            )
            for position, (state, work) in enumerate(
                zip(states, alike(works, states[0].case.kind), strict=True)
            )
        ]

    def _together(
        self,
        states: Sequence[CaseState],
        members: Sequence[Member],
        blocks: int,
        rng: random.Random,
        *,
        most_blocks: int = 0,
        rehearsing: bool = False,
        at_once: bool = False,
    ) -> list[tuple[CaseState, LaunchOutcome]]:
        self._may_launch(at_once=at_once)
        limits = self._within_budget()
        try:
            outcomes = self._recorder.together(
                members,
                blocks,
                limits,
                rng,
                most_blocks=most_blocks,
                rehearsing=rehearsing,
                over=lambda: self._left_s() <= 0,
            )
        except OutOfTime as late:
            self._say_who_did_not_end([states[late.side].id], limits.time_s, _OVER)
            raise _OutOfBudget from None
        return list(zip(states, self._keep([one.case for one in states], outcomes, limits), strict=True))

    def _affordable(self, workload: WorkloadState) -> bool:
        """Whether a whole round fits into what is left: a part of one would pair with nothing."""
        number = workload.round + 1
        due = workload.due(number)
        missing_ns = sum(case.cost_ns for case in due if number not in case.values)
        if due and not missing_ns:
            return True  # a resumed run has them all
        reserved_ns = self._reserved_ns(workload)
        # The next round may be dearer than the others; what is too much would be taken from the reserve.
        expected_ns = missing_ns * (_DEARER if reserved_ns else 1.0)
        return expected_ns + reserved_ns <= 1e9 * self._left_s()

    def _thinned(self, workload: WorkloadState) -> bool:
        """Leaves out those that come last until a few rounds of the others fit; False where none would."""
        left_ns = (1e9 * self._left_s() - self._reserved_ns(workload)) / (_DEARER * _THINNED_ROUNDS)
        first_ones = sorted(workload.active_cases, key=lambda state: self._ranks[state.id])
        totals_ns = accumulate(state.cost_ns for state in first_ones)
        fitting = sum(total_ns <= left_ns for total_ns in totals_ns)
        for state in first_ones[fitting:] if fitting else ():
            state.has_turn = False
        return fitting > 0

    def _has_time_to_spare(self) -> bool:
        """Whether what is left is more than the least launches of all will take."""
        if any(workload.waiting for workload in self._workloads):
            return False
        needed_ns = sum(
            workload.rounds_cost_ns(workload.fewest)
            for workload in self._workloads
            if not workload.stopped_by
        )
        return _TO_SPARE * needed_ns <= 1e9 * self._left_s()

    def _reserved_ns(self, workload: WorkloadState) -> float:
        """What cheaper workloads still need for their least launches: one dear round more of this one would
        cost each of them several, and with them the intervals of their ratios.

        Up to the first rounds, each is kept no more than those: of a dear workload some values are worth more
        than the intervals of a cheap one. On a busy machine the dearest two of a quick run had no turn.
        """
        cost_ns = workload.round_cost_ns()
        most = ROUNDS_OF_EACH if workload.round < ROUNDS_OF_EACH else self._settings.max_launches
        cheaper = [
            other for other in self._workloads if not other.stopped_by and other.round_cost_ns() < cost_ns
        ]
        return sum(other.rounds_cost_ns(min(most, other.fewest)) for other in cheaper)

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
        layouts = len(state.program.layouts) if purpose is Purpose.MEASURE else 0
        layout = code_layout(self._settings.seed, number, layouts) if layouts else 0
        return LaunchPlace(state.id, purpose, number, position, seed, layout)

    def _launch(
        self, state: CaseState, place: LaunchPlace, errand: Errand, talk: Talk, until_s: float
    ) -> LaunchOutcome:
        """One launch alone, stored. It may take half of the time until `until_s`."""
        self._may_launch()
        limits = self._within_budget(until_s)
        outcome = self._recorder.launch(place, errand, limits, talk)
        if until_s < math.inf:  # its limit was not the run's end
            limits = self._limits
        self._keep([state.case], [outcome], limits)
        return outcome

    def _may_launch(self, *, at_once: bool = False) -> None:
        """The canary first, where its turn has come, but not in a moment that was waited for."""
        if not at_once:
            self._beat_if_due()
        if self._interrupt.requested:
            raise Interrupted
        if self._left_s() <= 0:
            raise _OutOfBudget
        if self._file.is_full:
            raise _FileIsFull

    def _keep(
        self, cases: Sequence[Case | None], outcomes: Sequence[LaunchOutcome], limits: Limits
    ) -> list[LaunchOutcome]:
        """Stores launches that were made together, and tells of each; returns them as they are stored."""
        late = [one.launch.case_id for one in outcomes if one.launch.status is Status.TIMED_OUT]
        if late and limits != self._limits:
            self._say_who_did_not_end(late, limits.time_s, _OVER)
            raise _OutOfBudget  # the contender is not to blame for the little time that was left
        stored = self._file.append_company([(outcome.launch, outcome.samples) for outcome in outcomes])
        self._note_what_befell()
        left = left_s(self._workloads, self._left_s())
        known = {workload.name: workload.known for workload in self._workloads}
        for case, launch in zip(cases, stored, strict=True):
            self._launches += 1
            told = known[case.workload] if case else None
            self._tell(LaunchDone(case, launch, self._launches, self._elapsed_s(), left, told))
        return [replace(outcome, launch=launch) for outcome, launch in zip(outcomes, stored, strict=True)]

    def _say_who_did_not_end(self, ids: Sequence[int | None], took_s: float, when: str) -> None:
        """Nobody is blamed, and yet the rows say which program was at work when the time was over."""
        statuses = {record.id: record.status for record in self._file.cases()}
        remedy = "it hangs, or needs a larger budget (--budget)"
        why = f"was still running after {took_s:.0f} s when {when}: {remedy}"
        for number in ids:
            if number is not None:
                self._file.set_status(number, statuses[number], why)

    def _note_what_befell(self) -> None:
        """At once: a killed run says it too."""
        if (befell := self._meanwhile.look()) != self._befell:
            self._befell = befell
            self._file.set_meanwhile([*self._befell_before, *befell])

    def _within_budget(self, until_s: float = math.inf) -> Limits:
        """The launch's limits, whose time the budget's end may make shorter, or half of that to `until_s`."""
        limit_s = max(_SHORTEST_LIMIT_S, min(self._left_s(), (until_s - self._elapsed_s()) / 2.0))
        return replace(self._limits, time_s=min(limit_s, self._limits.time_s))

    def _beat_if_due(self) -> None:
        if self._canary_ns < 1e9 * self._settings.canary_share * self._elapsed_s():
            self._beat()

    def _beat(self) -> None:
        """Two launches of the canary, which take turns as the sides of any ratio do."""
        if self._canary is None or self._failed_beats >= _MOST_FAILED_BEATS or self._left_s() <= 0:
            return
        if self._interrupt.requested:
            raise Interrupted
        self._beats += 1
        errand = self._errands.beating(self._canary)
        members = []
        for position in range(2):
            seed = layout_seed(self._settings.seed, Purpose.CANARY, 2 * self._beats + position, "")
            place = LaunchPlace(None, Purpose.CANARY, self._beats, position, seed)
            members.append(Member(place, errand, CANARY_WORK))
        limits = self._within_budget()
        rng = random.Random(f"canary/{self._settings.seed}/{self._beats}")
        most = MOST_TIMES * _CANARY_BLOCKS if self._has_time_to_spare() else _CANARY_BLOCKS
        began_ns = self._clock.now_ns()
        try:
            outcomes = self._recorder.together(members, _CANARY_BLOCKS, limits, rng, most_blocks=most)
        except NotHalted:  # on a busy machine it was still at work; the next one says more
            self._canary_ns += self._clock.now_ns() - began_ns
            return
        self._keep([None, None], outcomes, limits)
        self._canary_ns += sum(outcome.launch.wall_ns for outcome in outcomes)
        failed = any(outcome.launch.status is not Status.OK for outcome in outcomes)
        self._failed_beats = self._failed_beats + 1 if failed else 0  # in a row: one of a thousand may fail

    def _elapsed_s(self) -> float:
        return (self._clock.now_ns() - self._started_ns + self._spent_before_ns) / 1e9

    def _left_s(self) -> float:
        return self._settings.budget_s - self._elapsed_s() if self._settings.budget_s else math.inf


def _needs_a_pilot(state: CaseState) -> bool:
    """Whether another pilot may tell more of a program that waits or has threads, and is not dear."""
    if not state.active or state.work is None or not state.work.beside_threads:
        return False
    if state.rehearsed or state.values or len(state.fits) >= _MOST_PILOTS_OF_THREADS:
        return False  # resumed: its batches stay as they were
    short = state.work.one_ns <= _SHORT_ITERATION_NS and state.work.begin_ns <= _DEAREST_SECOND_PILOT_NS
    return (state.cost_ns <= _DEAREST_SECOND_PILOT_NS or short) and not state.fit_agreed


def _apart(company: Sequence[CaseState], refused: NotHalted) -> list[list[CaseState]]:
    """From now on those who work out of turn are launched by themselves; the companies of this round."""
    for side in refused.sides:
        company[side].not_halted = refused.reason
    alone = [[state] for state in company if state.not_halted]
    others = [state for state in company if not state.not_halted]
    return [*alone, others] if others else alone
