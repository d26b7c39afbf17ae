"""Batches that count: those in which a program had its core to itself."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from made_runs import Made, make_run
from made_runs import batch as made_batch
from made_runs import launch as made_launch

from tollbench import analysis
from tollbench.analysis import beside
from tollbench.analysis.case_data import CaseData, read_case
from tollbench.analysis.comparison import Compared, table_sizes
from tollbench.analysis.own_core import FEWEST_ROUNDS, on_own_core, shared_all_the_same
from tollbench.analysis.pulse import floor
from tollbench.analysis.rows import row_with_numbers
from tollbench.analysis.values import ByRound, LaunchValue, launch_value, log_rounds
from tollbench.stats import Interval, paired_differences, ratio_interval
from tollbench.store import RunFile
from tollbench.words import LONGEST_GAUGED_NS, Purpose

QUIET, SHARED = 2000.0, 3400.0  # ns of a gauge


def value(blocks: list[float], gauges: list[float], company: int = 0) -> LaunchValue:
    return LaunchValue(float(np.median(blocks)), np.array(blocks), company, gauges=np.array(gauges))


def rounds(made: LaunchValue, count: int = 30) -> dict[int, LaunchValue]:
    """The same in each, in a company of its own."""
    return {number: made._replace(company=made.company and made.company + number) for number in range(count)}


def chosen(
    *cases: ByRound, environments: tuple[str, ...] = (), level: float = 0.95
) -> list[dict[int, LaunchValue]]:
    """Of one table."""
    return on_own_core(cases, environments or ["host"] * len(cases), [range(len(cases))], level)


def all_count(cases: list[dict[int, LaunchValue]]) -> bool:
    return all(one.own_core is None for case in cases for one in case.values())


def test_batches_on_a_shared_core_do_not_count() -> None:
    mixed = value([10.0, 19.0, 11.0, 20.0], [QUIET, SHARED, 1.01 * QUIET, 1.2 * QUIET])
    (found,) = chosen(rounds(mixed))
    assert found[3].ns == 10.5
    assert found[3].blocks.tolist() == [10.0, 11.0]
    assert found[3].counts


def test_launches_without_such_a_batch_are_gaps() -> None:
    away = value([19.0, 20.0], [SHARED, SHARED])
    case = rounds(value([10.0, 10.0], [QUIET, QUIET])) | {7: away}
    (found,) = chosen(case)
    assert not found[7].counts
    assert np.isnan(log_rounds([found])[7, 0])
    assert np.isfinite(log_rounds([found])).sum() == 29


def test_of_those_who_take_turns_a_block_counts_for_all_or_for_nobody() -> None:
    one = value([10.0, 11.0, 12.0], [QUIET, SHARED, QUIET], company=7)
    other = value([20.0, 21.0, 22.0], [QUIET, QUIET, SHARED], company=7)
    first, second = chosen(rounds(one), rounds(other))
    assert (first[0].blocks.tolist(), second[0].blocks.tolist()) == ([10.0], [20.0])
    apart = rounds(other) | {4: value([20.0, 21.0, 22.0], [SHARED, QUIET, SHARED], company=7 + 4)}
    first, second = chosen(rounds(one), apart)
    assert (first[3].counts, second[3].counts) == (True, True)
    assert (first[4].counts, second[4].counts) == (False, False)


def test_launches_of_other_lengths_are_no_neighbours_in_time_any_more() -> None:
    longer = value([10.0, 11.0, 12.0], [QUIET, SHARED, QUIET], company=7)
    shorter = value([20.0, 21.0], [QUIET, QUIET], company=7)
    first, second = chosen(rounds(longer), rounds(shorter))
    assert (first[0].blocks.tolist(), second[0].blocks.tolist()) == ([10.0, 12.0], [20.0, 21.0])
    assert (first[0].company, second[0].company) == (0, 0)


def quiet_in(numbers: set[int], count: int) -> dict[int, LaunchValue]:
    quiet, away = value([10.0], [QUIET]), value([20.0], [SHARED])
    return {number: quiet if number in numbers else away for number in range(count)}


def test_where_too_few_rounds_are_left_all_batches_count() -> None:
    whole = quiet_in(set(range(30)), 30)
    for left in (FEWEST_ROUNDS - 1, FEWEST_ROUNDS):
        some = {number * 30 // left for number in range(left)}  # all along the run
        assert all_count(chosen(quiet_in(some, 30))) is (left < FEWEST_ROUNDS)
    assert not all_count(chosen(whole, quiet_in(set(range(0, 30, 2)), 30)))
    assert all_count(chosen(whole, quiet_in(set(range(0, 30, 3)), 30))), "it could not be what ratios are to"
    assert all_count(chosen(quiet_in(set(range(0, 300, 5)), 300))), "a fifth of the rounds"


def test_batches_on_a_shared_core_that_count_all_the_same_are_told_by_their_share() -> None:
    few = quiet_in({0, 10, 20}, 30)
    assert all_count(chosen(few))
    assert shared_all_the_same([few], ["host"]) == pytest.approx(0.9)
    assert shared_all_the_same([few, quiet_in(set(range(30)), 30)], ["host", "host"]) == pytest.approx(0.45)
    assert shared_all_the_same(chosen(quiet_in(set(range(0, 30, 2)), 30)), ["host"]) == 0.0  # left out
    assert shared_all_the_same([rounds(value([10.0], []))], ["host"]) == 0.0  # no gauge tells
    assert shared_all_the_same([], []) == 0.0


@pytest.mark.parametrize(("every", "told"), [(1, False), (2, False), (10, True)])
def test_a_table_whose_batches_all_count_though_shared_says_so(
    tmp_path: Path, every: int, told: bool
) -> None:
    made = Made("a", [10.0] * 30, batches={"gauge_ns": QUIET, "cpu_ns": 500.0}, footing={"threads": 1})
    path = make_run(tmp_path / "made.toll", [made])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE gauge SET ns = ? WHERE batch_id IN (SELECT batch.id FROM batch JOIN launch ON"
            " launch.id = launch_id WHERE purpose = 'measure' AND round % ? != 0)",
            (SHARED, every),
        )
    with RunFile.open(path) as run_file:
        warnings = [line for line in analysis.results(run_file).warnings if "used the core too" in line]
    assert len(warnings) == told
    assert all("In 90 % of the batches" in line for line in warnings)


def test_what_the_tables_intervals_take_depends_on_the_runs_level() -> None:
    ten = [quiet_in(set(range(0, 42, 3)), 42)] * 10
    for level, counting in ((0.95, False), (0.999, True)):
        assert all_count(chosen(*ten, level=level)) is counting


def test_a_faster_clock_at_the_beginning_of_a_run_is_no_quieter_neighbour() -> None:
    assert all_count(chosen(quiet_in(set(range(20)), 40)))
    assert not all_count(chosen(quiet_in(set(range(0, 40, 2)), 40)))


def test_a_workload_keeps_all_batches_where_one_of_its_settings_does() -> None:
    settings = [quiet_in(set(range(30)), 30), quiet_in({3, 14, 25}, 30)]
    assert all_count(on_own_core(settings, ["host"] * 2, [[0], [1]], 0.95))
    assert not all_count(on_own_core([settings[0]] * 2, ["host"] * 2, [[0], [1]], 0.95))


def test_each_program_has_its_own_gauge() -> None:
    """The same arithmetic took 4 to 9 % longer in one program than in another."""
    here = value([10.0, 19.0], [QUIET, 1.04 * SHARED])
    there = value([30.0, 50.0], [1.09 * QUIET, 1.09 * SHARED])
    assert [case[0].ns for case in chosen(rounds(here), rounds(there))] == [10.0, 30.0]
    never = value([30.0, 50.0], [SHARED, SHARED])
    assert all_count(chosen(rounds(here), rounds(never))), "it never had its core to itself"


def test_each_environment_has_its_own_gauge() -> None:
    here, there = value([10.0, 19.0], [QUIET, SHARED]), value([30.0, 50.0], [5 * QUIET, 5 * SHARED])
    found = chosen(rounds(here), rounds(there), environments=("host", "host-O0"))
    assert [case[0].ns for case in found] == [10.0, 30.0]


def test_two_instants_do_not_vouch_for_a_long_batch() -> None:
    mixed = value([10.0, 19.0], [QUIET, SHARED])
    for batch_ns, counting in ((LONGEST_GAUGED_NS, False), (1.5 * LONGEST_GAUGED_NS, True)):
        assert all_count(chosen(rounds(mixed._replace(batch_ns=batch_ns)))) is counting


@pytest.mark.parametrize(
    ("threads", "gauge_ns", "cpus"), [(2, QUIET, 1.0), (1, 0.0, 1.0), (1, QUIET, 1.2), (1, QUIET, 1.0)]
)
def test_programs_with_threads_and_without_a_gauge_keep_all_batches(
    threads: int, gauge_ns: float, cpus: float
) -> None:
    """Also those that do not tell of their threads."""
    gauges = (gauge_ns, gauge_ns and SHARED)
    batches = tuple(
        made_batch(100.0, gauge_ns=each, cpu_ns=cpus * made_batch(100.0).wall_ns) for each in gauges
    )
    made = made_launch(1, Purpose.MEASURE, 1, batches=batches, footing={"threads": threads})
    beside = value([10.0, 19.0], [QUIET, SHARED])
    found = chosen(rounds(launch_value(made, None)), rounds(beside))
    assert all_count(found) is ((threads, gauge_ns, cpus) != (1, QUIET, 1.0))


class Host:
    """A core whose other hardware thread is busy for some time, and then idle for some."""

    def __init__(self, seed: int, busy: float, offsets: list[float]) -> None:
        self._random = np.random.default_rng(seed)
        self._busy = busy
        self._offsets = offsets  # of gauges, by program: where its code lies
        self._now = bool(self._random.random() < busy)

    def company(self, costs: list[tuple[float, float]], number: int) -> list[LaunchValue]:
        """Five blocks of programs that take (alone, beside somebody) ns; states last some three batches."""
        blocks: list[list[float]] = [[] for _ in costs]
        gauges: list[list[float]] = [[] for _ in costs]
        layouts = self._random.normal(0, 0.005, len(costs))
        for _ in range(5):
            for at, pair in enumerate(costs):
                before, during = self._now, self._step()
                after = self._step()
                cost = pair[during] * np.exp(layouts[at] + self._random.normal(0, 0.01))
                blocks[at].append(float(cost))
                slow = 1.7 if before or after else 1.0
                gauge = self._offsets[at] * QUIET * slow
                gauges[at].append(gauge * float(np.exp(self._random.normal(0, 0.005))))
        return [value(*made, company=number) for made in zip(blocks, gauges, strict=True)]

    def _step(self) -> bool:
        if self._random.random() < 0.15:
            self._now = bool(self._random.random() < self._busy)
        return self._now


LOOP, MUTEX = (0.28, 0.53), (5.8, 7.8)  # as seen on a virtual machine: ns alone, and beside somebody


def compared(
    seed: int, costs: list[tuple[float, float]], busy: float, offset: float = 1.0, *, choosing: bool = True
) -> tuple[Interval, bool]:
    """The interval of the second over the first, and whether batches were left out for it."""
    host = Host(seed, busy, [offset] + [1.0] * (len(costs) - 1))
    launched = [host.company(costs, number + 1) for number in range(24)]
    cases = [{number: each[at] for number, each in enumerate(launched)} for at in range(len(costs))]
    if choosing:
        cases = chosen(*cases)
    logs = log_rounds(cases)
    _, interval = ratio_interval(paired_differences(logs[:, 1], logs[:, 0]), 0.95)
    assert interval is not None
    return interval, cases[0][1].own_core is not None


@pytest.mark.parametrize(
    ("busy", "narrower"), [pytest.param(0.2, 0.5, marks=pytest.mark.slow), (0.5, 5.0), (0.7, 1.2)]
)
def test_a_ratio_is_that_of_cores_that_nobody_shares(busy: float, narrower: float) -> None:
    """Where most batches are shared some runs keep all of them, and say what a mixture of both costs."""
    truth = MUTEX[0] / LOOP[0]
    found = [one for seed in range(300) for one, left in [compared(seed, [LOOP, MUTEX], busy)] if left]
    before = [compared(seed, [LOOP, MUTEX], busy, choosing=False)[0] for seed in range(300)]
    assert len(found) >= 100
    assert sum(one.low <= truth <= one.high for one in found) >= 0.92 * len(found)
    narrow, wide = (np.median([one.high / one.low - 1 for one in each]) for each in (found, before))
    assert narrow < 0.05
    assert wide > narrower * narrow


@pytest.mark.parametrize("offset", [pytest.param(1.0, marks=pytest.mark.slow), 1.05, 1.09])
@pytest.mark.parametrize("busy", [0.2, pytest.param(0.5, marks=pytest.mark.slow), 0.9])
def test_equal_programs_are_not_called_different(busy: float, offset: float) -> None:
    """Also where so few batches are left that now the one and now the other choice is made, and where one's
    gauge is slower by where its code lies."""
    found = [compared(seed, [MUTEX, MUTEX], busy, offset)[0] for seed in range(400)]
    assert sum(not one.low <= 1.0 <= one.high for one in found) <= 0.075 * len(found)


def test_rows_of_two_tables_that_had_their_cores_in_other_rounds_are_compared_by_all_batches() -> None:
    """Each has enough in its own table: the one in even rounds, the other in odd ones."""
    mixed = value([10.0, 19.0], [QUIET, SHARED])
    own = {number: mixed._replace(own_core=np.array([number % 2 == 0, False])) for number in range(30)}
    other = {number: mixed._replace(own_core=np.array([number % 2 == 1, False])) for number in range(30)}
    rows = [SimpleNamespace(by_round=each) for each in (own, other)]
    found = beside.quotient(cast(CaseData, rows[0]), cast(CaseData, rows[1]), 0.95)
    assert found is not None
    assert (found.low, found.value, found.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("every", "own_alone"), [(2, True), (4, False)])
def test_the_floor_is_of_pairs_on_a_core_of_their_own_where_these_are_enough(
    tmp_path: Path, every: int, own_alone: bool
) -> None:
    """Of 24 pairs those on a shared core differ by a factor of two."""
    canary = []
    for number in range(48):
        pair = number // 2
        away = pair % every > 0
        slow = 2.0 if away and number % 2 else 1.0
        batches = (made_batch(1e4 * slow, gauge_ns=SHARED if away else QUIET, cpu_ns=1e3 * slow),)
        footing = {"threads": 1}
        canary.append(
            made_launch(None, Purpose.CANARY, number, batches=batches, company=1 + pair, footing=footing)
        )
    with RunFile.open(make_run(tmp_path / "made.toll", [Made("a", [10.0] * 12)])) as run_file:
        header = run_file.header()
        case = read_case(run_file, run_file.cases()[0], header)
        found, _ = floor(canary, table_sizes([case], header.level), header)
    assert found.ratio is not None
    assert (found.ratio < 1.01) is own_alone


def test_cpu_time_and_launches_are_of_batches_that_count(tmp_path: Path) -> None:
    made = Made("a", [10.0] * 12, batches={"gauge_ns": QUIET, "cpu_ns": 500.0}, footing={"threads": 1})
    with RunFile.open(make_run(tmp_path / "made.toll", [made])) as run_file:
        case = read_case(run_file, run_file.cases()[0], run_file.header())
    dear = case.launches[0].batches[1]._replace(cpu_ns=900.0)
    assert not dear.warmup
    launches = [one._replace(batches=(one.batches[0], dear, dear, one.batches[3])) for one in case.launches]
    last = np.array([False, False, True])
    values = [one._replace(own_core=last & (at > 0)) for at, one in enumerate(case.values)]
    chosen_from = replace(case, launches=tuple(launches), values=tuple(values))
    assert len(chosen_from.counting) == 11
    assert {len(one.batches) for one in chosen_from.counting} == {2}  # with the warm-up
    assert all(dear not in one.batches for one in chosen_from.counting)
    row = row_with_numbers(chosen_from, Compared(), 0.95)
    assert row.cpu_time == 5.0


def test_two_of_many_equal_programs_are_not_called_different() -> None:
    """Of ten that take turns a block counts where all of them had their core: rarely enough of them."""
    found = [compared(seed, [MUTEX] * 10, 0.35) for seed in range(100)]
    assert 10 <= sum(left for _, left in found) <= 90
    assert sum(not one.low <= 1.0 <= one.high for one, _ in found) <= 0.05 * 100 + 2 * 2.2


def test_a_row_says_what_was_left_out(tmp_path: Path) -> None:
    made = [
        Made("a", [10.0] * 12, batches={"gauge_ns": QUIET, "cpu_ns": 500.0}, footing={"threads": 1}),
        Made("b", [20.0] * 12, footing={"threads": 1}),
    ]
    told = "0 % of batches, whose core was slow, or that of one in turns with it; 12 of 12 launches count"
    for cases, expected in ((made[:1], told), (made, None)):
        path = make_run(tmp_path / f"{len(cases)}.toll", cases)
        with RunFile.open(path) as run_file:
            rows = analysis.results(run_file).workloads[0].rows
        assert [row.footing.get("left_out") for row in rows] == [expected] * len(cases)


@pytest.mark.parametrize("every", [2, 4])
def test_a_row_with_rare_turns_does_not_make_all_batches_count(every: int) -> None:
    """It has fewer rounds than others, of which it has lost no more."""
    quiet, shared = value([10.0, 10.0], [QUIET, QUIET]), value([19.0, 19.0], [SHARED, SHARED])
    plain = {number: shared if number % 3 == 2 else quiet for number in range(1, 94)}
    rare = {number: one for number, one in plain.items() if number <= 12 or (number - 12) % every == 0}
    found = chosen(plain, rare)
    assert not all_count(found)
    assert found[1][24].ns == 10.0 if plain[24] is quiet else not found[1][24].counts
    lost = {number: one if number % 5 else shared for number, one in rare.items()}
    poor = {number: one if number in (1, 4, 7) else shared for number, one in lost.items()}
    assert all_count(chosen(plain, poor)), "of its own launches nearly none counts"
