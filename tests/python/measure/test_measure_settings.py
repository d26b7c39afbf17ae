"""The rule that ends a run asks about the ratios that a report shows: those within one setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from fake_machine import plan_for, programs_for, workload

from tollbench.analysis.grouping import fastest
from tollbench.analysis.values import LaunchValue
from tollbench.launching.piloting import CaseWork
from tollbench.measure.estimate import (
    look_at,
    next_of,
    rounds_wanted,
    scatter,
    scatter_of,
    steady_rows,
)
from tollbench.measure.spending import STEADY_ROUNDS
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import FIRST_LOOK, all_tell_from, bonferroni, final_level, median_interval
from tollbench.store import Launch
from tollbench.words import Batch, Case, Kind, Purpose, Status

SETTINGS = Settings(precision=0.01, min_launches=FIRST_LOOK)
ROUNDS = np.random.default_rng(2).normal(0, 0.5, (2, FIRST_LOOK))  # what each setting met in each round


@dataclass(frozen=True)
class Measured:
    contender: str
    size: int
    value: float
    noise: np.ndarray = field(default_factory=lambda: np.zeros(FIRST_LOOK))  # of its logarithm
    footing: Mapping[str, str] = field(default_factory=dict)
    status: Status = Status.OK
    step_ns: float = 0.0  # of the clock that read single operations


def state(*measured: Measured) -> WorkloadState:
    (program, *_) = programs_for(plan_for(workload("any")))
    cases = []
    for number, one in enumerate(measured):
        case = Case("a/b", one.contender, "host", {"size": one.size}, Kind.BATCH, "ns", "task", "C++", "std",
                    7, one.footing)  # fmt: skip
        values = one.value * np.exp(one.noise)
        found = CaseState(number, case, program, one.status, "")
        if one.status is Status.OK:
            found.values = {
                at + 1: LaunchValue(float(value), step_ns=one.step_ns) for at, value in enumerate(values)
            }
        cases.append(found)
    return WorkloadState("a/b", cases, round=FIRST_LOOK)


def judged(*measured: Measured) -> str:
    made = state(*measured)
    made.judge(SETTINGS)
    return made.stopped_by


def settled() -> list[Measured]:
    """Known to each other within a size, and by no means across sizes."""
    return [
        Measured(name, size, value, ROUNDS[at])
        for name, value in (("a", 10.0), ("b", 20.0))
        for at, size in enumerate((4, 8))
    ]


def test_a_run_ends_when_ratios_within_each_setting_are_known() -> None:
    assert judged(*settled()) == "precision"


def test_one_setting_that_is_not_known_keeps_the_run_going() -> None:
    first, *others = settled()
    assert judged(Measured("a", 4, 10.0, ROUNDS[1]), *others) == ""
    assert judged(first, *others) == "precision"


def test_what_a_contender_chooses_for_itself_is_compared_and_must_be_known() -> None:
    own = [Measured("a", 4, 10.0, ROUNDS[0]), Measured("b", 8, 20.0, ROUNDS[1])]
    assert judged(*own) == ""


def test_a_failed_case_does_not_merge_the_settings() -> None:
    own = [Measured("a", 4, 10.0), Measured("b", 8, 20.0), Measured("b", 4, 0.0, status=Status.SKIPPED)]
    assert [table.logs.shape for table in state(*own).tables()] == [(FIRST_LOOK, 1), (FIRST_LOOK, 1)]


def below_the_step(size: int) -> Measured:
    """Six rounds of one tick in a thousand, six of two: on a clock of 10 ns that says nothing."""
    return Measured("tiny", size, 1.0, np.log(np.tile([0.01, 0.02], FIRST_LOOK // 2)), step_ns=10.0)


def test_rows_below_the_clocks_step_are_not_waited_for_and_nothing_is_held_against_them() -> None:
    read = [replace(one, value=2 * one.value, step_ns=10.0) for one in settled()]
    own = [*read, below_the_step(4), below_the_step(8)]
    assert [(table.logs.shape, table.column) for table in state(*own).tables()] == [((FIRST_LOOK, 2), 0)] * 2
    assert judged(*own) == "precision"
    assert rounds_wanted(state(*own), SETTINGS) == rounds_wanted(state(*read), SETTINGS)


def test_nothing_is_left_to_know_where_all_are_below_the_step() -> None:
    own = [below_the_step(4), below_the_step(8)]
    assert judged(*own) == "precision"
    assert rounds_wanted(state(*own), SETTINGS) < 30


@pytest.mark.parametrize("role", ["floor", "baseline"])
def test_ratios_are_to_the_fastest_contender_and_not_to_what_stands_aside(role: str) -> None:
    bare = Measured("bare", 4, 1.0, footing={"role": role})
    own = [bare, Measured("slow", 4, 20.0), Measured("fast", 4, 10.0)]
    (table,) = state(*own).tables()
    assert table.column == 2


def test_the_estimate_of_what_is_left_asks_the_same() -> None:
    assert rounds_wanted(state(*settled()), SETTINGS) < 30
    first, *others = settled()
    unknown = state(Measured("a", 4, 10.0, ROUNDS[1]), *others)
    assert first.noise is not ROUNDS[1]
    assert rounds_wanted(unknown, SETTINGS) == SETTINGS.max_launches


def test_the_estimate_allows_for_everything_while_no_interval_is_known() -> None:
    few = state(*settled())
    few.round = 2
    assert rounds_wanted(few, SETTINGS) == SETTINGS.max_launches


def going(name: str, rounds: int, cost_ns: int, scatter: float | None) -> WorkloadState:
    made = state(Measured("a", 4, 10.0))
    made.name, made.round, made.scatter, made.fewest = name, rounds, scatter, FIRST_LOOK
    made.cases[0].cost_ns = cost_ns
    return made


def rounds_given(*workloads: WorkloadState, count: int) -> dict[str, int]:
    for _ in range(count):
        next_of(workloads, SETTINGS).round += 1
    return {workload.name: workload.round for workload in workloads}


def test_all_have_their_fewest_rounds_first() -> None:
    given = rounds_given(going("dear", 0, 10**9, 0.01), going("cheap", 0, 10**6, 0.5), count=2 * FIRST_LOOK)
    assert given == {"dear": FIRST_LOOK, "cheap": FIRST_LOOK}


def until_the_time_ends(*workloads: WorkloadState, left_s: float, some_wait: bool = False) -> dict[str, int]:
    while (
        chosen := next_of(workloads, SETTINGS, left_s, some_wait=some_wait)
    ).round_cost_ns() <= 1e9 * left_s:
        chosen.round += 1
        left_s -= chosen.round_cost_ns() / 1e9
    return {workload.name: workload.round for workload in workloads}


@pytest.mark.parametrize(
    ("left_s", "calm", "noisy"), [(9.0, 15, 18), (16.0, 16, 24), (20.0, 20, 24), (30.0, 20, 34)]
)
def test_a_part_of_short_time_goes_where_it_narrows_most_before_all_are_steady(
    left_s: float, calm: int, noisy: int
) -> None:
    """Steady rounds of all took a loaded run's whole time: the widest rows, whose rounds are cheap, had no
    more of them than the others. Of two that take 16 s to be steady: half of the time where there is no more,
    less where there is some, and none where they leave a quarter over for it anyhow."""
    both = going("noisy", FIRST_LOOK, 10**9, 0.9), going("calm", FIRST_LOOK, 10**9, 0.001)
    assert until_the_time_ends(*both, left_s=left_s) == {"calm": calm, "noisy": noisy}


def test_nothing_is_narrowed_first_while_little_is_known_or_tables_wait_for_steady_ones() -> None:
    noisy, unknown = going("noisy", FIRST_LOOK, 10**9, 0.9), going("unknown", FIRST_LOOK, 10**9, None)
    assert until_the_time_ends(noisy, unknown, left_s=16.0) == {"noisy": 20, "unknown": 20}
    noisy, waited_for = going("noisy", FIRST_LOOK, 10**9, 0.9), going("calm", FIRST_LOOK, 10**9, 0.001)
    assert until_the_time_ends(noisy, waited_for, left_s=16.0, some_wait=True) == {"noisy": 20, "calm": 20}
    noisy, never = going("noisy", FIRST_LOOK, 10**9, 0.9), going("large", FIRST_LOOK, 10**12, None)
    never.fewest = FIRST_LOOK + 4
    calm = going("calm", FIRST_LOOK, 10**9, 0.001)
    assert next_of([noisy, never, calm], SETTINGS, 16.0) in (never, noisy, calm)
    noisy.round = calm.round = FIRST_LOOK + 1
    never.round = FIRST_LOOK + 1
    assert next_of([noisy, never, calm], SETTINGS, 14.0) is noisy, "whoever does not get there hinders nobody"


def test_with_the_steady_rounds_no_interval_reaches_to_the_extremes() -> None:
    level = bonferroni(final_level(BUDGETED.max_launches, 0.95), 45)
    outliers = np.concatenate([[-9.0, -8.0], np.linspace(-0.1, 0.1, STEADY_ROUNDS - 4), [8.0, 9.0]])
    known = median_interval(outliers, level)
    assert known is not None
    assert -1 < known.low < known.high < 1


def test_then_rounds_go_where_they_narrow_most() -> None:
    given = rounds_given(
        going("plain", FIRST_LOOK, 10**8, 0.05),
        going("dear", FIRST_LOOK, 8 * 10**8, 0.05),
        going("noisy", FIRST_LOOK, 10**8, 0.4),
        count=2000,
    )
    assert given["plain"] / given["dear"] == pytest.approx(4, rel=0.1)  # 8 ** (2 / 3)
    assert given["noisy"] / given["plain"] == pytest.approx(4, rel=0.1)


def scattering(*measured: Measured) -> float:
    found = scatter(state(*measured), SETTINGS)
    assert found is not None
    return found


def test_a_round_that_narrows_more_intervals_is_worth_more() -> None:
    few = scattering(Measured("a", 4, 10.0, ROUNDS[0]), Measured("b", 4, 20.0, ROUNDS[1]))
    settings = [Measured("a", size, 10.0, ROUNDS[0]) for size in range(4)]
    others = [Measured("b", size, 20.0, ROUNDS[1]) for size in range(4)]
    assert scattering(*settings, *others) == pytest.approx(4 * few)


BUDGETED = Settings(precision=0.01, min_launches=FIRST_LOOK, budget_s=60.0)


def with_works(*begin_ns: float, settings: Settings = BUDGETED) -> WorkloadState:
    made = state(*(Measured(f"c{number}", 4, 10.0) for number in range(len(begin_ns))))
    for case, one in zip(made.cases, begin_ns, strict=True):
        case.work = CaseWork(1, 30e6, 0, one)  # whose batches are long: launched alone
    made.plan_turns(2**30, settings)
    return made


def turns_of(made: WorkloadState, rounds: int) -> list[list[int]]:
    """In which rounds each case is launched."""
    due = {number: [case.id for case in made.due(number)] for number in range(1, rounds + 1)}
    return [[number for number, cases in due.items() if case.id in cases] for case in made.cases]


def test_dear_cases_are_launched_in_fewer_rounds_once_all_have_what_any_needs() -> None:
    made = with_works(1e6, 1e6, 1e6, 400e6, 60e9)
    turns = turns_of(made, FIRST_LOOK + 12)
    first, later = list(range(1, FIRST_LOOK + 1)), range(FIRST_LOOK + 1, FIRST_LOOK + 13)
    assert turns[0] == turns[2] == [*first, *later]
    assert turns[3] == [*first, *(number for number in later if (number - FIRST_LOOK) % 2 == 0)]
    assert turns[4] == [*first, *(number for number in later if (number - FIRST_LOOK) % 4 == 0)]
    assert set(turns[4]) <= set(turns[3]), "rare ones meet each other"
    for case, cost_ns in zip(made.cases, (10, 10, 10, 20, 400), strict=True):
        case.cost_ns = cost_ns
    assert made.round_cost_ns() == 450
    assert made.later_round_cost_ns() == 10 + 10 + 10 + 10 + 100


def costing(*costs_ns: int) -> WorkloadState:
    """Rows with a turn in each, every second and every fourth round, which has had the fewest rounds."""
    made = with_works(1e6, 1e6, 1e6, 400e6, 60e9)
    for case, cost_ns in zip(made.cases, costs_ns, strict=True):
        case.cost_ns = cost_ns
    made.round = FIRST_LOOK
    return made


def test_dear_cases_have_all_turns_up_to_the_steady_rounds_where_there_is_time() -> None:
    """Of nine rows, 20 launches leave out two at each end of an interval, and 14 none."""
    made = costing(10, 10, 10, 20, 400)
    more = STEADY_ROUNDS - FIRST_LOOK
    needed_ns = more * (10 + 10 + 10 + 10 + 100)
    for spare_ns, last in ((0, {0, 1, 2}), (2 * 80, {0, 1, 2, 3}), (2 * (80 + 2400), {0, 1, 2, 3, 4})):
        for short_ns, steadied in ((0, last), (1, last - {max(last)} if spare_ns else last)):
            steady_rows([made], (needed_ns + spare_ns - short_ns) / 1e9)
            turns = turns_of(made, STEADY_ROUNDS + 8)
            assert [number in steadied for number in range(5)] == [
                set(range(1, STEADY_ROUNDS + 1)) <= set(of_case) for of_case in turns
            ]
    assert len(turns_of(made, STEADY_ROUNDS + 8)[4]) == FIRST_LOOK + 4  # the last was a nanosecond short
    steady_rows([made], 1.0)
    later = range(STEADY_ROUNDS + 1, STEADY_ROUNDS + 9)
    for often, rare in ((turns_of(made, STEADY_ROUNDS + 8)[case], every) for case, every in ((3, 2), (4, 4))):
        assert often[STEADY_ROUNDS:] == [number for number in later if (number - FIRST_LOOK) % rare == 0]


def test_the_time_goes_to_the_cheapest_of_dear_cases_whichever_workload_is_theirs() -> None:
    cheap, dear = costing(1, 1, 1, 2, 40), costing(10, 10, 10, 20, 400)
    for number, case in enumerate(dear.cases, 10):
        dear.every[number] = dear.every.pop(case.id)
        case.id = number
    left_ns = sum(one.rounds_cost_ns(STEADY_ROUNDS) for one in (cheap, dear)) + 2 * (8 + 80 + 240)
    steady_rows([dear, cheap], left_ns / 1e9)
    assert cheap.steadied == {3, 4}
    assert dear.steadied == {13}


def test_companions_have_all_turns_together() -> None:
    made = costing(10, 10, 10, 20, 30)
    made.every = {3: 2, 4: 2}
    made.companions = {3: frozenset({3, 4}), 4: frozenset({3, 4})}
    needed_ns, more_ns = made.rounds_cost_ns(STEADY_ROUNDS), (STEADY_ROUNDS - FIRST_LOOK) * (20 + 30) / 2
    for left_ns, steadied in ((needed_ns + 2 * more_ns - 1, set()), (needed_ns + 2 * more_ns, {3, 4})):
        steady_rows([made], left_ns / 1e9)
        assert made.steadied == steadied


def test_rows_that_are_not_known_have_the_time_before_those_that_are() -> None:
    """Intervals of a dear row end at its farthest launches; those that are known lack nothing."""
    made = costing(10, 10, 10, 20, 400)
    made.known_rows = frozenset({0, 1, 2})
    of_dear_ns = (STEADY_ROUNDS - FIRST_LOOK) * 20 / 2
    needed_ns = made.rounds_cost_ns(STEADY_ROUNDS)
    steady_rows([made], (needed_ns + 2 * of_dear_ns) / 1e9)
    assert made.steadied == {3}
    steady_rows([made], 1.0)
    assert made.steadied == {0, 1, 2, 3, 4}


def test_what_rounds_take_counts_the_turns_that_rows_have() -> None:
    made = costing(10, 10, 10, 20, 400)
    assert made.rounds_cost_ns(FIRST_LOOK - 1) == 0
    assert made.rounds_cost_ns(FIRST_LOOK + 4) == 4 * (30 + 10 + 100)
    made.steadied = frozenset({3})
    assert made.rounds_cost_ns(STEADY_ROUNDS + 4) == 8 * (30 + 20 + 100) + 4 * (30 + 10 + 100)
    made.round = FIRST_LOOK - 2
    assert made.rounds_cost_ns(FIRST_LOOK) == 2 * made.round_cost_ns()


def looked_at(*noises: float, settings: Settings = BUDGETED) -> WorkloadState:
    """Rows of 1, 1.02, 4 and 47 whose launches scatter by so much, after the first look; all are launched
    alone."""
    steps = np.random.default_rng(3).uniform(-1, 1, (len(noises), FIRST_LOOK))
    made = state(
        *(
            Measured(f"c{number}", 4, value, noise * step)
            for number, (value, noise, step) in enumerate(
                zip((1.0, 1.02, 4.0, 47.0), noises, steps, strict=True)
            )
        )
    )
    for case in made.cases:
        case.work = CaseWork(1, 30e6, 0, 1e6)
    made.plan_turns(2**30, settings)
    made.round = FIRST_LOOK
    look_at(made, settings)
    return made


def test_rows_that_are_known_well_enough_for_what_they_say_have_rare_turns() -> None:
    """A row that is far away when it is known less precisely than one that is near."""
    made = looked_at(0.001, 0.02, 0.015, 0.05)
    assert made.known_rows == {2, 3}, "1.02 is known to 2 %, 4 to 1.6 %, 47 to 5 %"
    turns = turns_of(made, FIRST_LOOK + 8)
    assert [number for number in turns[3] if number > FIRST_LOOK] == [FIRST_LOOK + 4, FIRST_LOOK + 8]
    assert turns[0] == turns[1] == list(range(1, FIRST_LOOK + 9)), "ratios are to the fastest: it has all"
    for case in made.cases:
        case.cost_ns = 10
    steady_rows([made], 1e-9 * made.rounds_cost_ns(STEADY_ROUNDS))
    assert turns_of(made, FIRST_LOOK + 8) == turns, "there is no time left over"
    steady_rows([made], 1.0)
    assert set(range(1, STEADY_ROUNDS + 1)) <= set(turns_of(made, STEADY_ROUNDS + 8)[3])
    assert looked_at(0.001, 0.02, 0.03, 0.1).known_rows == frozenset()
    assert looked_at(0.001, 0.001, 0.001, 0.001).known_rows == {0, 1, 2, 3}
    assert looked_at(0.001, 0.02, 0.015, 0.05, settings=replace(BUDGETED, budget_s=0.0)).known_rows == set()


def test_who_is_launched_with_one_that_needs_rounds_has_them_too() -> None:
    """A company of others would be another condition."""
    made = looked_at(0.001, 0.02, 0.015, 0.05)
    made.companions = {3: frozenset({1, 3}), 1: frozenset({1, 3})}
    assert turns_of(made, FIRST_LOOK + 8)[3] == list(range(1, FIRST_LOOK + 9))
    assert turns_of(made, FIRST_LOOK + 8)[2][-1] == FIRST_LOOK + 8
    assert len(turns_of(made, FIRST_LOOK + 8)[2]) == FIRST_LOOK + 2


@pytest.mark.parametrize("dear", [2, 4])
def test_where_all_others_are_known_a_dear_row_has_all_rounds(dear: int) -> None:
    """A round in which nobody had a turn was one of all: known rows had three of four."""
    made = looked_at(0.001, 0.02, 0.015, 0.05)
    made.every = {0: 1, 1: dear, 2: 1, 3: 1}  # 1 is launched with nobody
    made.note_known(frozenset({2, 3}), made.references)
    turns = turns_of(made, FIRST_LOOK + 8)
    assert made.references == {0}
    assert turns[0] == turns[1] == list(range(1, FIRST_LOOK + 9))
    for known in (2, 3):
        assert [number - FIRST_LOOK for number in turns[known] if number > FIRST_LOOK] == [4, 8]
    for case in made.cases:
        case.cost_ns = 10
    assert made.rounds_cost_ns(FIRST_LOOK + 8) == 10 * (2 * 8 + 2 * 2)
    made.note_known(frozenset({0, 1, 2, 3}), made.references)
    assert turns_of(made, FIRST_LOOK + 3)[2] == list(range(1, FIRST_LOOK + 4)), "where others of them wait"
    assert made.rounds_cost_ns(FIRST_LOOK + 8) == 10 * 4 * 8


def test_dear_is_who_is_so_among_those_it_is_compared_with() -> None:
    """A table of four threads is launched alone, in long batches: all of its rows were dear beside others."""
    made = state(*(Measured(name, size, 10.0) for size in (4, 8) for name in "abc"))
    for case in made.cases:
        case.work = CaseWork(1, 30e6, 0, 1e6 if case.case.parameters["size"] == 4 else 600e6)
    made.plan_turns(2**30, BUDGETED)
    assert set(made.every.values()) == {1}
    made.cases[0].work = CaseWork(1, 30e6, 0, 5000e6)
    made.plan_turns(2**30, BUDGETED)
    assert made.every == {0: 4} | dict.fromkeys(range(1, 6), 1)


def test_one_slow_launch_makes_no_row_dear() -> None:
    """A start of a thread that waited for a processor took ten times as long, and its table had no turns."""
    (case,) = state(Measured("a", 4, 10.0)).cases
    case.values = {}

    def launched(number: int, wall_ns: int, status: Status = Status.OK) -> int:
        timed = Batch(1, 1, wall_ns, wall_ns, 0, 0, 0, 0, 0, 7)
        made = Launch(0, Purpose.MEASURE, number, 0, 1, status, "", "", number, wall_ns, batches=(timed,))
        case.take(made, None)
        return case.cost_ns

    assert [launched(number, 10) for number in range(1, 10)] == [10] * 9
    assert launched(10, 110) == 20
    assert launched(11, 20_000, Status.TIMED_OUT) == 27, "which counts for five"


def test_a_workload_whose_ratios_are_known_well_enough_leaves_its_time_to_others() -> None:
    """The same noise: a ratio of 47 is known well enough by what a ratio of 1.1 is not. Until then both count
    by what they are known to: ratios of 190 were left at +-10 to 20 %, ratios of 1.15 had twice their rounds.
    """

    def to(value: float, share: float) -> float:
        return scattering(
            Measured("a", 4, 10.0, share * ROUNDS[0]), Measured("b", 4, value, share * ROUNDS[1])
        )

    near = to(11.0, 0.2)
    assert to(470.0, 0.2) == pytest.approx(near)
    assert to(11.0, 0.02) == pytest.approx(near / 10, rel=0.01)
    assert to(470.0, 0.02) == 0.0
    done, others = going("done", STEADY_ROUNDS, 10**6, 0.0), going("others", STEADY_ROUNDS, 10**9, 0.001)
    assert rounds_given(done, others, count=50)["done"] == STEADY_ROUNDS
    assert rounds_given(done, count=1)["done"] == STEADY_ROUNDS + 1, "where nobody else is left"


@pytest.mark.parametrize("rows", [2, 6, 20, 43])
def test_there_are_as_many_rounds_as_its_largest_table_needs_for_an_interval(rows: int) -> None:
    """Of 43 rows 903 pairs share what looks have left of 5 %: 12 rounds are too few for any of them."""
    made = with_works(*[1e6] * rows)
    level = bonferroni(final_level(BUDGETED.max_launches, made.level), rows * (rows - 1) // 2)

    def known(rounds: int) -> bool:
        return median_interval(np.arange(rounds, dtype=np.float64), level) is not None

    assert known(made.fewest - 2)
    assert known(made.fewest - 3) is (rows < 20 and rows != 6)
    assert (made.fewest == FIRST_LOOK) is (rows < 20)
    assert len(turns_of(made, made.fewest)[-1]) == made.fewest


def test_a_check_and_a_short_limit_have_no_more_rounds_than_they_may() -> None:
    assert with_works(*[1e6] * 43, settings=replace(BUDGETED, min_launches=1, max_launches=1)).fewest == 1
    assert with_works(1e6).fewest == FIRST_LOOK
    alone = state(*(Measured("a", size, 10.0) for size in range(30)))
    for case in alone.cases:
        case.work = CaseWork(1, 30e6, 0, 1e6)
    alone.plan_turns(2**30, BUDGETED)
    assert alone.fewest == FIRST_LOOK  # thirty tables of one row


def test_a_workload_that_needs_more_rounds_has_them_before_others_have_more_than_theirs() -> None:
    large = going("large", 0, 10**8, 0.05)
    large.fewest = 16
    given = rounds_given(large, going("plain", 0, 10**8, 0.05), count=16 + FIRST_LOOK)
    assert given == {"large": 16, "plain": FIRST_LOOK}


def test_a_large_table_that_cannot_get_its_rounds_does_not_cost_others_theirs() -> None:
    large, small = going("large", FIRST_LOOK, 10 * 10**9, 0.05), going("small", FIRST_LOOK, 10**9, 0.05)
    large.fewest = 17
    assert next_of([large, small], SETTINGS, 50.0) is large
    small.round = FIRST_LOOK + 1
    assert next_of([large, small], SETTINGS, 49.0) is large  # its turn among all that have few
    large.round = FIRST_LOOK + 2
    assert next_of([large, small], SETTINGS, 29.0) is small
    large.round, small.round = 3, FIRST_LOOK
    assert next_of([large, small], SETTINGS, 29.0) is large  # the profile's fewest come first all the same


def test_a_resumed_run_launches_nobody_into_rounds_that_it_has_gone_through() -> None:
    """Files of a toll whose fewest rounds were fewer have rare rows that lack some."""
    made = with_works(1e6, 1e6, 60e9)
    made.fewest, made.resumed_at = 17, 30
    for case in made.cases[:2]:
        case.values = dict.fromkeys(range(1, 31))
    made.cases[2].values = dict.fromkeys([*range(1, 13), 16, 20, 24, 28])
    turns = turns_of(made, 40)
    assert {number for number in turns[2] if number < 30} <= made.cases[2].values.keys()
    assert max(turns[2]) > 30
    assert set(range(30, 41)) <= set(turns[0])


def test_where_all_cost_alike_or_no_budget_ends_the_run_each_has_all_rounds() -> None:
    assert set(with_works(5e6, 6e6, 5e6).every.values()) == {1}
    assert with_works().every == {}
    assert with_works(1e6, 1e6, 1e6, 60e9, settings=replace(BUDGETED, budget_s=0.0)).every == {}


def test_where_none_but_dear_ones_are_left_they_have_all_rounds() -> None:
    made = with_works(1e6, 1e6, 1e6, 60e9)
    for case in made.cases[:3]:
        case.status = Status.FAILED
    assert turns_of(made, FIRST_LOOK + 6)[3] == list(range(1, FIRST_LOOK + 7))


def test_a_resumed_run_gives_the_same_turns_though_a_case_has_failed_since() -> None:
    unbroken = with_works(1e6, 1e6, 1e6, 1500e6, 1500e6)
    resumed = with_works(1e6, 1e6, 1e6, 1500e6, 1500e6)
    resumed.cases[0].status = Status.FAILED
    resumed.plan_turns(2**30, BUDGETED)
    assert resumed.every == unbroken.every
    assert set(unbroken.every.values()) == {1, 4}


def test_rounds_that_were_gone_through_are_not_made_up_for() -> None:
    """An hour later they would be paired with values from before."""
    made = with_works(1e6, 1e6, 1e6)
    late, *others = made.cases
    for case in others:
        case.values |= {number: LaunchValue(5.0) for number in range(1, 31)}
    late.values = {number: LaunchValue(5.0) for number in (*range(1, FIRST_LOOK + 1), 14)}
    made.plan_turns(2**30, BUDGETED)
    assert turns_of(made, 32)[0] == [*range(1, FIRST_LOOK + 1), 14, 30, 31, 32]


def test_a_row_with_rare_turns_is_the_fastest_where_it_is() -> None:
    rare = np.full(60, np.nan)
    rare[:FIRST_LOOK], rare[FIRST_LOOK + 3 :: 4] = 0.0, 0.0
    logs = np.column_stack([np.full(60, 0.2), rare])
    assert fastest([{}, {}], logs) == 1
    logs[FIRST_LOOK - 1 :, 1] = np.nan  # eleven launches: fewer than any needs
    assert fastest([{}, {}], logs) == 0


def test_scatter_is_that_of_ratios_within_rounds() -> None:
    wild = ROUNDS[0]
    assert scattering(Measured("a", 4, 10.0, wild), Measured("b", 4, 20.0, wild)) == 0.0
    assert scattering(Measured("a", 4, 10.0, wild), Measured("b", 4, 20.0, ROUNDS[1])) > 0.2


def test_a_ratio_without_an_interval_counts_as_those_do_that_are_not_known() -> None:
    few = np.full(len(ROUNDS[0]), np.nan)
    few[:3] = [1.0, 1.1, 0.9]
    known, unknown = Measured("a", 4, 10.0), Measured("c", 4, 30.0, few)
    assert scatter(state(known, Measured("b", 4, 20.0)), SETTINGS) == 0.0
    assert scatter(state(known, Measured("b", 4, 20.0), unknown), SETTINGS) is None
    assert scatter_of([0.1, 0.3], 0, 16) == pytest.approx(2 * 4 * 0.2)
    assert scatter_of([0.1, 0.3], 1, 16) == pytest.approx(3 * 4 * 0.2)


def of_layouts(name: str, rounds: int, scatter: float = 0.1) -> WorkloadState:
    made = going(name, rounds, 10**9, scatter)
    made.layouts = 20
    return made


def test_rounds_that_narrow_nothing_are_had_together_or_not_at_all() -> None:
    """Layouts' first second launches: of two workloads that had 25 rounds each none was known better."""
    end = all_tell_from(20, final_level(STEADY_ROUNDS, SETTINGS.level))
    assert end > 22
    given = rounds_given(of_layouts("one", 20), of_layouts("other", 20), count=end - 20)
    assert sorted(given.values()) == [20, end]
    plain = going("plain", 20, 10**9, 0.1)
    assert rounds_given(of_layouts("one", 20), plain, count=5) == {"one": 20, "plain": 25}
    assert rounds_given(of_layouts("one", 24), plain, count=1)["one"] == 24 + (end <= 28)

    def has_the_next(left_s: float) -> str:
        return next_of([of_layouts("one", 22), going("calm", 21, 10**9, 0.001)], SETTINGS, left_s).name

    assert has_the_next(end - 22.0) == "one"
    assert has_the_next(end - 22.5) == "calm", "there is no time for what narrows it"


def test_where_all_are_known_each_has_as_much_time() -> None:
    dear, cheap = going("dear", STEADY_ROUNDS, 4 * 10**6, 0.0), going("cheap", STEADY_ROUNDS, 10**6, 0.0)
    given = rounds_given(dear, cheap, count=3 * STEADY_ROUNDS)
    assert given == {"dear": STEADY_ROUNDS, "cheap": 4 * STEADY_ROUNDS}


def test_scatter_sees_the_tails_that_an_interval_ends_at() -> None:
    tails = np.zeros(FIRST_LOOK)
    tails[[2, 5]] = 0.8, -0.8
    assert scattering(Measured("a", 4, 10.0), Measured("b", 4, 20.0, tails)) == 0.0
    tails[[1, 7]] = 0.7, -0.7
    tails[[0, 8]] = 0.6, -0.6
    assert scattering(Measured("a", 4, 10.0), Measured("b", 4, 20.0, tails)) > 1.0


def company_sizes(*peaks: int, batch_ns: float = 0.25e6) -> list[int]:
    made = state(*(Measured(f"c{number}", 4, 10.0) for number in range(len(peaks))))
    for case, peak in zip(made.cases, peaks, strict=True):
        case.work, case.peak_bytes = CaseWork(1, batch_ns, 1, 4e6), peak
    return [len(company) for setting in made.companies(2**30) for company in setting]


def test_those_who_hold_little_live_together() -> None:
    assert company_sizes(3_300_000, 3_400_000, 4_000_000) == [3]
    assert company_sizes(3_300_000, 20_000_000, 4_000_000) == [1, 2]
    assert company_sizes(*[20_000_000] * 3) == [1, 1, 1]


def test_a_company_is_no_larger_than_neighbours_in_time_are() -> None:
    assert company_sizes(*[3_300_000] * 20, batch_ns=15e6) == [10, 10]
    assert company_sizes(*[3_300_000] * 100) == [64, 36]
    assert company_sizes(*[3_300_000] * 3, batch_ns=30e6) == [1, 1, 1]


def test_a_resumed_run_chooses_its_clock_by_the_rounds_that_the_unbroken_one_had() -> None:
    """Two launches that waited are a tenth of 26, and more than that of the 12 of the first look."""
    rng = np.random.default_rng(3)

    def value(number: int, base: float) -> LaunchValue:
        on_cpu = base * np.exp(rng.normal(0, 0.001))
        wall = on_cpu * np.exp(abs(rng.normal(0, 0.3)))
        return LaunchValue(wall, on_cpu_ns=on_cpu, waited=number in (3, 7))

    made = state(Measured("x", 4, 1.0), Measured("y", 4, 1.0))
    for case, base in zip(made.cases, (10.0, 12.0), strict=True):
        case.values = {number: value(number, base) for number in range(1, 27)}
    settings = replace(SETTINGS, precision=0.02, max_launches=200)
    for number in (12, 18):
        made.round = number
        made.judge(settings)
        assert made.stopped_by == "", f"judged at {number} with rounds that come later"
    for case in made.cases:
        case.values = {number: one._replace(waited=False) for number, one in case.values.items() if one}
    made.judge(settings)
    assert made.stopped_by == "precision", "the time on the processor is known well enough"


@pytest.mark.parametrize("met_first", [True, False])
def test_of_two_pilots_of_threads_the_one_that_met_nobody_counts(met_first: bool) -> None:
    """A neighbour makes batches of few iterations, which are another footing."""
    (case,) = state(Measured("a", 4, 1.0)).cases
    for iterations in (1000, 5000) if met_first else (5000, 1000):
        batch = Batch(iterations, iterations, 3e6, 3e6, 1, 0, 0, 0, 1 << 20, iterations)
        pilot = Launch(
            1, Purpose.PILOT, 0, 0, 1, Status.OK, "", "2026-01-01", 0, 10**8,
            setup_ns=2_000_000, overhead_ns=1_000_000, footing={"threads": 2}, batches=(batch,) * 4,
        )  # fmt: skip
        case.take_pilot(pilot, SETTINGS)
    assert case.work is not None
    assert [work.iterations for work in case.fits] == ([1000, 5000] if met_first else [5000, 1000])
    assert case.work.iterations == 5000


@pytest.mark.parametrize(
    ("fits", "agreed"),
    [
        ([], False),
        ([100], False),
        ([100, 140], True),
        ([140, 100], True),
        ([100, 160], False),
        ([100, 160, 20, 150], True),  # what a neighbour was beside does not count
        ([100, 20, 900, 110], True),  # nor does a lucky one
        ([100, 900, 5000, 110], False),
        ([82, 5, 4], False),  # two may be unlucky
        ([1, 1], False),
        ([1, 1, 1, 1], True),
        ([1, 1, 30], False),
        ([1, 1, 30, 25], True),
    ],
)
def test_pilots_agree_where_two_fit_as_many_iterations_and_none_more(fits: list[int], agreed: bool) -> None:
    (case,) = state(Measured("a", 4, 1.0)).cases
    case.fits = [CaseWork(fit, 3e6, 1, 4e6) for fit in fits]
    assert case.fit_agreed is agreed
