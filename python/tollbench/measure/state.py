"""Where a run stands: what each case has had, read from a run file or grown launch by launch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tollbench.analysis.comparison import table_of
from tollbench.analysis.grouping import by_setting, swept_parameters
from tollbench.analysis.own_core import moved_by_others, on_own_core
from tollbench.analysis.rounds import rounds_of
from tollbench.analysis.values import (
    ByRound,
    LaunchValue,
    below_step_ns,
    by_one_clock,
    launch_value,
)
from tollbench.launching.piloting import CaseWork, after_rehearsal, alike, work_after
from tollbench.measure.company import LONGEST_TURN_NS, REHEARSED_TURNS, TURN_BATCHES
from tollbench.measure.program_files import PROGRAMS, begun_with, digests
from tollbench.measure.spending import KNOWN_EVERY, ROUNDS_OF_EACH, STEADY_ROUNDS, rounds_between
from tollbench.plan import Plan, Settings
from tollbench.stats import (
    RatioTable,
    all_precise,
    final_level,
    level_at_look,
    look_number,
    next_look,
    rounds_needed,
)
from tollbench.store import BatchSamples, Launch, RunFile
from tollbench.words import (
    LONGEST_CENSUS_NS,
    LONGEST_GAUGED_NS,
    NOT_HALTED,
    ONE_CODE_LAYOUT,
    SHARED_CORE,
    WAITED_NS,
    Case,
    Kind,
    Program,
    Purpose,
    Status,
    one_thread,
    times_own_thread,
)

# Resident. A bare C++ process has 3.3 MB; pointer chases over 2.5 MB each took up to 560 % longer together.
HOLDS_LITTLE_BYTES = 5_000_000
LONGEST_BLOCK_NS = 150e6  # in a longer one the first and the last are no neighbours in time
_SPARE_ROUNDS = 2
MOST_TOGETHER = 64  # alive at the same time: each takes four of toll's 1,024 open files
COUNTING_PASSES = 2  # a count is exact where launches with different layouts agree on it
_MOST_FAILED_SHARE = 0.2
_FEWEST_FAILURES = 2
_DEAREST_FAILURE = 5  # times what a launch of the case takes
_MOVED = 1.25  # times what it takes without others: what takes no more is not worth waiting for
_IN_WORDS = 2  # threads that work at a time, where they are told in words: "one at a time beside ..."
_MOST_WAITED_NS = 400_000_000  # that a file is believed: twice what toll waits
_AGREED = 1.5  # times as many iterations, at most
_AGREEING_ON_ONE = 4  # pilots
_WITH_ONE_ABOVE = 4  # pilots, of which one may fit more than two that agree: two unlucky ones agree soon


@dataclass(slots=True)
class CaseState:
    """One case: its values by round (None: that launch failed) and what its launches cost."""

    id: int
    case: Case
    program: Program
    status: Status
    reason: str
    work: CaseWork | None = None
    fits: list[CaseWork] = field(default_factory=list)  # of each pilot that went well
    counted: int = 0  # counting passes made; all of them, where one failed
    values: dict[int, LaunchValue | None] = field(default_factory=dict)
    # Of a launch: the mean of all, before the first the quickest pilot's. Not the last one's: a start of a
    # thread may wait for a processor, ten times as long, and its workload had no round for that.
    cost_ns: int = 0
    went_well: int = 0  # measuring launches
    went_well_ns: int = 0  # what those took together
    peak_bytes: int = 0  # of its pilot, resident
    one_thread: bool = True  # by its pilot; threads that are a load beside the timed one do not count
    gauged: bool = True  # by its pilots: their batches tell whether somebody else worked on the core
    threads: int = 1  # by its pilot and what is declared of it; 0 where that is in words
    rehearsed: bool = False
    not_halted: str = ""  # why it takes no turns with others: it works out of turn, and may not be halted
    has_turn: bool = True  # False: the time for pilots was over before its own

    @property
    def active(self) -> bool:
        """Whether it is still launched."""
        return self.has_turn and self.status in (Status.OK, Status.PLANNED)

    def wants_census(self, cpus: int) -> bool:
        """Whether others may be in its way, of whom two instants around its batches tell: not where it has
        more threads than there are processors, nor where launches of a run that is gone on with had none."""
        if self.work is None or not self.work.beside_threads or self.work.batch_ns > LONGEST_CENSUS_NS:
            return False
        had_one = all(value.others.size for value in self.values.values() if value is not None)
        return self.threads != 1 and (self.threads or _IN_WORDS) <= cpus and had_one

    @property
    def fit_agreed(self) -> bool:
        """Whether two of its pilots fit about as many iterations into a batch, and none more, or one of four.

        One that was beside a neighbour fits fewer, and a lucky one more: threads that contend are quicker
        where a neighbour has them run one after the other. Where none fits more than one iteration, four of
        them have to say so: for a start of a thread that took 3.5 ms, as the new one waited for a processor,
        two did.
        """
        fits = [work.iterations for work in self._by_fit()]
        if fits[:1] == [1]:
            return len(fits) >= _AGREEING_ON_ONE
        highest = fits[:3] if len(fits) >= _WITH_ONE_ABOVE else fits[:2]
        return any(more <= _AGREED * fewer for more, fewer in pairwise(highest) if more > 1)

    @property
    def pilots_apart(self) -> float:
        """Iterations of the pilot that fits most, over those of the next one; 1 of fewer than two pilots."""
        fits = [work.iterations for work in self._by_fit()]
        return fits[0] / fits[1] if len(fits) > 1 else 1.0

    def _by_fit(self) -> list[CaseWork]:
        """Pilots, most iterations first."""
        return sorted(self.fits, key=lambda work: work.iterations, reverse=True)

    def _confirmed(self) -> CaseWork:
        """Of all pilots the one with the most iterations that another one confirms.

        Where none is confirmed, the second of three or more, unless that says one.
        """
        works = self._by_fit()
        for more, fewer in pairwise(works[:3]):  # below these, few agree by chance
            if 1 < more.iterations <= _AGREED * fewer.iterations:
                return more
        return works[1] if len(works) > 2 and works[1].iterations > 1 else works[0]

    def take_pilot(self, pilot: Launch, settings: Settings) -> None:
        """What all measuring launches of the case will do, from a pilot that went well.

        Of several, from the one that asks for the shortest batches: what one saw alone was the machine's. Of
        a program that waits or has threads from one that fits many iterations into a batch (`_confirmed`): a
        neighbour makes each longer, and batches of few are another footing.
        """
        self.cost_ns = min(pilot.wall_ns, self.cost_ns) if self.fits else pilot.wall_ns
        self.one_thread = one_thread(pilot.footing) or times_own_thread(pilot.footing)
        self.threads = _threads({**self.case.footing, **pilot.footing})
        self.gauged = self.gauged and one_thread(pilot.footing) and all(one.gauge_ns for one in pilot.batches)
        self.peak_bytes = max(self.peak_bytes, *(batch.peak_bytes for batch in pilot.batches))
        self.fits.append(work_after(pilot, self.case.kind, settings.launch_s))
        if all(work.beside_threads for work in self.fits):
            self.work = self._confirmed()
        else:
            self.work = min(self.fits, key=lambda work: work.iterations)

    def take_rehearsal(self, launch: Launch) -> None:
        """What being together asks for, from a launch among others that went well."""
        self.rehearsed = True
        timed = [batch for batch in launch.batches if not batch.warmup]
        limit_ns = math.inf
        if one_thread(launch.footing):
            limit_ns = SHARED_CORE * min((batch.gauge_ns for batch in timed), default=0.0)
        costs = [batch.on_cpu_ns if batch.gauge_ns <= limit_ns else math.nan for batch in timed]
        length = launch.footing.get(TURN_BATCHES)
        if self.work is None or not isinstance(length, int) or not 0 < length * REHEARSED_TURNS < len(costs):
            return
        turns = [costs[start : start + length] for start in range(0, length * REHEARSED_TURNS, length)]
        # The batches were those of the whole company: what goes before one that counts is time, not batches.
        found = after_rehearsal(self.work, turns, costs[length * REHEARSED_TURNS :])
        batch = next(one for one in launch.batches if not one.warmup)
        again = found.again // self.work.iterations * batch.iterations
        self.work = replace(found, again=again)

    def take(self, launch: Launch, samples: Sequence[BatchSamples] | None) -> None:
        """Takes in one measuring launch and the samples of each batch, warm-up left out.

        Too many failures end the case, a wrong answer at once.
        """
        self._take_cost(launch)
        self.not_halted = self.not_halted or str(launch.footing.get(NOT_HALTED, ""))
        self.values[launch.round] = None
        if launch.status is Status.OK:
            self.went_well += 1
            self.went_well_ns += spent_ns(launch)
            self.values[launch.round] = launch_value(launch, samples)
            self.status, self.reason = Status.OK, ""
            return
        failures = sum(value is None for value in self.values.values())
        hopeless = failures >= _FEWEST_FAILURES and failures > _MOST_FAILED_SHARE * len(self.values)
        if hopeless or launch.status in (Status.WRONG_ANSWER, Status.UNSUPPORTED):
            self.status, self.reason = launch.status, launch.reason

    def _take_cost(self, launch: Launch) -> None:
        """The mean of all launches; one that failed counts for some of those that went well, at most: a
        time-out says what it may cost again, and no more than that."""
        wall_ns = spent_ns(launch)
        if launch.status is not Status.OK:
            wall_ns = min(wall_ns, _DEAREST_FAILURE * self.cost_ns)
        self.cost_ns = (self.cost_ns * len(self.values) + wall_ns) // (len(self.values) + 1)


@dataclass(slots=True)
class WorkloadState:
    """The cases of one workload, which share their rounds."""

    name: str
    cases: list[CaseState]
    round: int = 0  # the last complete one
    known: float | None = None  # half-width of its median ratio, 0.01 is 1 %, at the last look
    # Of its intervals together that are not known well enough, log units of one round; None: not known yet.
    scatter: float | None = None
    resumed_at: int = 0  # the last round of which launches were stored when this run began
    every: dict[int, int] = field(default_factory=dict)  # by id: launched in every so many rounds
    steadied: frozenset[int] = frozenset()  # ids of rare ones that have all turns up to `STEADY_ROUNDS`
    companions: dict[int, frozenset[int]] = field(default_factory=dict)  # by id: who is launched with it
    once: frozenset[int] = frozenset()  # ids: those who have one launch only where they wait
    waiting: frozenset[int] = frozenset()  # ids: they have few launches, as time is short (`fitting`)
    known_rows: frozenset[int] = frozenset()  # ids: their ratio was known well enough at the last look
    fewest: int = 1  # rounds that each of its tables needs before any ratio has an interval
    rounds_wanted: int = 0  # at which it will probably have had enough
    stopped_by: str = ""  # "" while it goes on
    level: float = 0.95  # of the run
    layouts: int = 0  # of its programs' code; 0: all have one
    most_rows: int = 1  # of one of its tables
    longer_in_vain: int = 0  # the last launches that went on for a core of their own, and had none
    rests: frozenset[int] = frozenset()  # ids: their launches wait for others to rest, which move their table
    waited_in_vain: int = 0  # the last launches, since the run was begun or gone on with, that waited in vain
    # Of rows of tables of which each row's batches have a census, by id: for how many threads it is taken,
    # the same for a whole table.
    census: dict[int, int] = field(default_factory=dict)
    references: frozenset[int] = frozenset()  # ids: ratios are to them, as of the last look
    least_between: int = 1  # `every` of those that are not known and have the most turns; 0: all are known

    @property
    def active_cases(self) -> list[CaseState]:
        """The cases that are launched, were it a few times only."""
        return [case for case in self.cases if case.active]

    @property
    def going_cases(self) -> list[CaseState]:
        """The cases that rounds after the first few launch."""
        return [case for case in self.active_cases if case.id not in self.waiting]

    def companies(self, memory_bytes: int) -> list[list[list[CaseState]]]:
        """Active cases that are launched together, by setting: those that live together in `memory_bytes`.

        Alone are those who would be moved by others (`CaseWork.apart`) or move them, as they may not be
        halted, whose batches are long, and who hold much: data that a rehearsal of some turns may find in the
        caches, and a launch next to others not.
        """
        return _together(self.cases, self.active_cases, memory_bytes)

    def plan_turns(self, memory_bytes: int, settings: Settings, cpus: int = 0) -> None:
        """How many rounds there are at least, and who is launched in every second or fourth of the later ones
        only, because its launch is dear. And whose batches have a census, of all rows of a table or of none,
        on a machine of so many `cpus`; 0: nobody's.

        Of all that have a pilot, those too that failed since: a resumed run decides alike. Without a budget
        nobody is rare: a run that ends when all is known waits for the rarest.
        """
        known = [case for case in self.cases if case.work is not None]
        self.fewest = self._fewest_rounds(known, settings)
        self.every = {}
        by_setting_of = _together(self.cases, known, memory_bytes)
        companies = [company for setting in by_setting_of for company in setting]
        for setting in by_setting_of if settings.budget_s else ():
            self.every |= rounds_between(map(_works_by_id, setting), settings)
        self._note_least_between()
        self.companions = {
            one.id: frozenset(each.id for each in company) for company in companies for one in company
        }
        self.census = {}
        for rows in _by_setting(self.cases, known):
            if all(row.wants_census(cpus) and self.companions[row.id] == {row.id} for row in rows):
                threads = max(_IN_WORDS, *(row.threads for row in rows))
                self.census |= dict.fromkeys((row.id for row in rows), threads)
        stored = [number for case in self.cases for number in case.values]
        self.resumed_at = max(stored, default=0)

    def _fewest_rounds(self, known: Sequence[CaseState], settings: Settings) -> int:
        """Those of the profile, or what the largest table needs, and two more: a launch may fail, and batches
        that others disturbed are left out only where so many are left (`tollbench.analysis.own_core`).

        In a standard run of everything 279 of 465 ratios, in tables of 17 to 43 rows, had 12 rounds, where
        their intervals begin at 13 to 16.
        """
        swept = swept_parameters([case.case for case in self.cases])
        rows = max((len(group) for group in by_setting([case.case for case in known], swept)), default=1)
        self.most_rows = rows
        needed = rounds_needed(final_level(settings.max_launches, settings.level), rows * (rows - 1) // 2)
        needed = needed + _SPARE_ROUNDS if rows > 1 else 1
        return min(settings.max_launches, max(settings.min_launches, needed))

    def due(self, number: int) -> list[CaseState]:
        """Who is launched in round `number`: all in the first ones (`all_turns_until`), and where it would be
        nobody; of rounds that a resumed run has gone through, nobody who had no turn in them: what a launch
        is held against would be hours old."""
        self._note_least_between()
        going = self._launched_in(number)
        found = [
            case
            for case in going
            if number <= self.all_turns_until(case) or (number - self.fewest) % self.rounds_between(case) == 0
        ] or going
        return [case for case in found if number >= self.resumed_at or number in case.values]

    def _launched_in(self, number: int) -> list[CaseState]:
        return [
            case for case in self.active_cases if case.id not in self.waiting or number <= self.few_of(case)
        ]

    def few_of(self, case: CaseState) -> int:
        """The rounds that it has though it waits."""
        return 1 if case.id in self.once else ROUNDS_OF_EACH

    def round_cost_ns(self) -> int:
        """What a round takes in which nobody's turn is rare, judged by the launches so far."""
        return sum(case.cost_ns for case in self._launched_in(self.round + 1))

    def all_turns_until(self, case: CaseState) -> int:
        """The last round until which it is launched in each: those that any interval needs, and as far as
        there is time (`estimate.steady_rows`) those that leave out the farthest launches."""
        return max(self.fewest, STEADY_ROUNDS) if case.id in self.steadied else self.fewest

    def is_known(self, case: CaseState) -> bool:
        """Whether it and all who are launched with it need no more rounds for what their ratios say."""
        return self.companions.get(case.id, frozenset([case.id])) <= self.known_rows

    def rounds_between(self, case: CaseState) -> int:
        """Rounds from one launch to the next once turns may be rare: 1, or more for one that is dear, or
        known well enough. Where all that are not known are dear, they are less so alike: a round without
        anybody is none."""
        if not self.least_between:
            return 1
        between = max(1, self.every.get(case.id, 1) // self.least_between)
        return max(between, KNOWN_EVERY) if self.is_known(case) else between

    def _note_least_between(self) -> None:
        """Once it is known anew who is dear, known, or there at all.

        Rows that ratios are to are open as long as any other is, and have a turn wherever that has one.
        """
        unknown = [case for case in self.going_cases if not self.is_known(case)]
        asked = [self.every.get(case.id, 1) for case in unknown if case.id not in self.references]
        self.least_between = min(
            asked, default=min((self.every.get(case.id, 1) for case in unknown), default=0)
        )

    def note_known(self, rows: frozenset[int], references: frozenset[int] = frozenset()) -> None:
        """Rows, by id, whose ratio was known well enough at this look, and those that ratios are to."""
        self.known_rows, self.references = rows, references
        self._note_least_between()

    def note_rests(self) -> None:
        """Whose launches are worth waiting for moments without others: rows of tables that these move.

        Beside a process that worked half of the time, a thread was started in half of its time or a third,
        and two that contend took up to three times theirs; wake-ups were moved by 3 to 13 %, and would have
        waited for 8 of 165 s.
        """
        rests = set[int]()
        for rows in _by_setting(self.cases, self.going_cases):
            values = [
                {at: value for at, value in row.values.items() if value is not None and at <= self.round}
                for row in rows
            ]
            if all(row.id in self.census for row in rows) and moved_by_others(values) >= _MOVED:
                rests |= {row.id for row in rows}
        self.rests = frozenset(rests)

    def takes_own_core(self) -> bool:
        """Whether a report may leave out batches of its cases that somebody else worked beside, by what
        pilots say (`tollbench.analysis.own_core`): of all of them, or of none."""
        works = [(case, case.work) for case in self.active_cases if case.work is not None]
        return all(case.gauged and work.batch_ns <= LONGEST_GAUGED_NS for case, work in works)

    def rounds_cost_ns(self, end: float) -> float:
        """What the rounds after this one take, up to round `end`, judged by the launches so far."""
        return sum(case.cost_ns * self._turns_until(case, end) for case in self.active_cases)

    def steady_cost_ns(self, had: int | None = None) -> float:
        """What the rounds after `had` (those so far) take up to the steady ones, rare turns as rare as ever.

        By which it is decided whether there is time for more of them (`estimate.steady_rows`), or less.
        """
        begin = self.round if had is None else had
        return sum(
            case.cost_ns * self._turns_between(case, begin, STEADY_ROUNDS, self.fewest)
            for case in self.active_cases
        )

    def _turns_until(self, case: CaseState, end: float) -> float:
        """Of the rounds after this one, in the mean."""
        return self._turns_between(case, self.round, end, self.all_turns_until(case))

    def _turns_between(self, case: CaseState, begin: int, end: float, all_until: int) -> float:
        if case.id in self.waiting:
            return max(0.0, min(end, self.few_of(case)) - begin)
        often = max(begin, min(end, all_until))
        return often - begin + max(0.0, end - often) / self.rounds_between(case)

    def later_round_cost_ns(self) -> int:
        """What a round takes on average once dear cases have rare turns (`plan_turns`)."""
        return sum(case.cost_ns // self.rounds_between(case) for case in self.going_cases)

    def tables(self) -> list[RatioTable]:
        """What a report will compare: for each setting of what is swept, the logs of the values of its cases
        that go on, shape (rounds, cases), NaN where a launch failed, and the column that ratios are to. Cases
        below the clock's step have no value there, so they are left out, and settings that have no others.

        Of the rounds so far alone: a resumed run has later ones already, and decides as the unbroken one did.
        """
        return [table for _, table in self.tables_of_cases()]

    def tables_of_cases(self) -> list[tuple[list[CaseState], RatioTable]]:
        """`tables`, each with the cases of its columns."""
        swept, active = swept_parameters([case.case for case in self.cases]), self.going_cases
        known = by_one_clock(
            [
                {number: value for number, value in case.values.items() if value and number <= self.round}
                for case in active
            ]
        )
        groups = by_setting([case.case for case in active], swept)
        counting = on_own_core(known, [case.case.environment for case in active], groups, self.level)
        seen = [[at for at in group if not below_step_ns(counting[at].values())] for group in groups]
        return [
            (of_group, self._table(of_group, [counting[at] for at in group]))
            for group in seen
            if (of_group := [active[at] for at in group])
        ]

    def _table(self, cases: Sequence[CaseState], counting: Sequence[ByRound]) -> RatioTable:
        return table_of(rounds_of(counting, self.round), [case.case.footing for case in cases])

    def judge(self, settings: Settings) -> None:
        """After a complete round: decides whether the workload has had enough.

        Never by its values where some wait: a report looks at all of its tables, and would take the run for
        one that no value has ended.
        """
        cases = self.active_cases
        if not cases:
            self.stopped_by = "failures"
        elif not self.waiting and self._precise(settings):
            self.stopped_by = "precision"
        elif self.round >= settings.max_launches:
            self.stopped_by = "launches"

    def _precise(self, settings: Settings) -> bool:
        """Only at the looks that the stopping rule foresees, so that looking often costs no coverage."""
        if self.round < settings.min_launches or next_look(self.round - 1) != self.round:
            return False
        level = level_at_look(look_number(self.round), settings.level)
        return all_precise(self.tables(), settings.precision, level)


def _threads(footing: Mapping[str, object]) -> int:
    """That a program says to have, or that are declared of it; 0 of those that say it in words."""
    if one_thread(footing) or times_own_thread(footing):
        return 1
    told = str(footing.get("threads", ""))
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 8 else 0


def spent_ns(launch: Launch) -> int:
    """What a launch took of the run's time, with what it waited for others to rest."""
    waited = launch.footing.get(WAITED_NS, 0)
    told = isinstance(waited, int) and not isinstance(waited, bool) and waited > 0
    return launch.wall_ns + (min(waited, _MOST_WAITED_NS) if told else 0)


def _works_by_id(company: Sequence[CaseState]) -> dict[int, CaseWork]:
    """What launches of the company do for each of it."""
    known = [(state.id, state.work, state.case.kind) for state in company if state.work is not None]
    works = alike([work for _, work, _ in known], known[0][2]) if known else []
    return {state: work for (state, _, _), work in zip(known, works, strict=True)}


def _together(
    planned: Sequence[CaseState], launched: Sequence[CaseState], memory_bytes: int
) -> list[list[list[CaseState]]]:
    """The companies of those that are launched, by setting of what all that was planned sweeps."""
    return [_living_together(setting, memory_bytes) for setting in _by_setting(planned, launched)]


def _by_setting(planned: Sequence[CaseState], rows: Sequence[CaseState]) -> list[list[CaseState]]:
    """The rows of each table, by what all that was planned sweeps."""
    swept = swept_parameters([case.case for case in planned])
    return [[rows[at] for at in group] for group in by_setting([row.case for row in rows], swept)]


def _living_together(setting: Sequence[CaseState], memory_bytes: int) -> list[list[CaseState]]:
    found: list[list[CaseState]] = []
    company: list[CaseState] = []
    for state in setting:
        if state.work is None:
            continue
        apart = state.work.apart or state.peak_bytes > HOLDS_LITTLE_BYTES
        if apart or state.not_halted or state.work.batch_ns > LONGEST_TURN_NS:
            found.append([state])
            continue
        together_bytes = sum(one.peak_bytes for one in [*company, state])
        # As long batches for all as the longest of them.
        longest_ns = max(one.work.batch_ns for one in [*company, state] if one.work)
        block_ns = longest_ns * (len(company) + 1)
        if company and (
            together_bytes > memory_bytes or len(company) == MOST_TOGETHER or block_ns > LONGEST_BLOCK_NS
        ):
            found.append(company)
            company = []
        company.append(state)
    return [*found, company] if company else found


def begin(plan: Plan, programs: Sequence[Program], run_file: RunFile) -> list[WorkloadState]:
    """Stores the plan in a new run file, or finds in an interrupted one where it stood.

    Raises TollError where none of its programs is the one that it was begun with.
    """
    if run_file.cases():
        programs = begun_with(programs, run_file.header().plan.get(PROGRAMS))
    by_key = {(p.workload, p.contender, p.environment): p for p in programs}
    chosen = [(case, _program(case, by_key)) for case in plan.cases]
    chosen = [(_on_footing_of(case, program), program) for case, program in chosen]
    stored = {record.key: record for record in run_file.cases()}
    if not stored:
        rows = [(case, _first_status(p), p.reason, p.library_version) for case, p in chosen]
        run_file.add_plan(plan.workloads, plan.environments, rows)
        run_file.note_in_plan(PROGRAMS, digests(programs))
        stored = {record.key: record for record in run_file.cases()}
    else:
        run_file.declare_details(plan.workloads)
    states: dict[str, WorkloadState] = {}
    for case, program in chosen:
        record = stored[case.key]
        state = CaseState(record.id, case, program, record.status, record.reason)
        if state.active and program.status is not Status.OK:  # it was there when the run began
            state.status, state.reason = program.status, program.reason
        _restore(state, run_file, plan.settings)
        workload = WorkloadState(
            case.workload, [], fewest=plan.settings.min_launches, level=plan.settings.level
        )
        workload = states.setdefault(case.workload, workload)
        workload.cases.append(state)
        workload.layouts = max(workload.layouts, len(program.layouts))
    return list(states.values())


def _on_footing_of(case: Case, program: Program) -> Case:
    """The case with the flags that its program was built with, and why that has one layout of its code: the
    build tells them, not suite.toml."""
    told = {"flags": program.flags, ONE_CODE_LAYOUT: program.one_layout}
    return replace(case, footing={**case.footing, **{name: text for name, text in told.items() if text}})


def _program(case: Case, programs: Mapping[tuple[str, str, str], Program]) -> Program:
    found = programs.get((case.workload, case.contender, case.environment))
    if found is not None:
        return found
    reason = "no program was built for it; run `toll run` again, which builds it"
    return Program(case.workload, case.contender, case.environment, (), Status.SKIPPED, reason)


def _first_status(program: Program) -> Status:
    return Status.PLANNED if program.status is Status.OK else program.status


def _restore(state: CaseState, run_file: RunFile, settings: Settings) -> None:
    pilots = run_file.launches(state.id, Purpose.PILOT, ok_only=True)
    for pilot in pilots:
        state.take_pilot(pilot, settings)
    for launch in run_file.launches(state.id, Purpose.REHEARSAL, ok_only=True):
        if not state.rehearsed:  # the run took each case's first one
            state.take_rehearsal(launch)
    passes = run_file.launches(state.id, Purpose.ALLOCATIONS)
    failed = any(launch.status is not Status.OK for launch in passes)
    state.counted = COUNTING_PASSES if failed else len(passes)
    for launch in run_file.launches(state.id) if state.active else ():
        sampled = state.case.kind is Kind.SAMPLES
        state.take(launch, run_file.counted_samples(launch.id)[1] if sampled else None)
