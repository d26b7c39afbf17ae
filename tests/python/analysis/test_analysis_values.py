"""One value a launch from operations timed one by one, and which row ratios are to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import Made, make_run
from made_runs import batch as made_batch
from made_runs import launch as made_launch

from tollbench import analysis
from tollbench.analysis.grouping import fastest
from tollbench.analysis.values import (
    LaunchValue,
    by_one_clock,
    launch_value,
    log_rounds,
    resolution_ns,
    value_of_samples,
)
from tollbench.store import BatchSamples, RunFile
from tollbench.words import Purpose


def test_samples_of_pairs_of_cpus_count_by_pair_and_not_by_number() -> None:
    samples = np.array([20.0] * 3 + [100.0] * 900 + [20.0] * 2, dtype=np.float32)
    cells = (("0>1", 3), ("1>0", 900), ("0>1", 2))
    assert value_of_samples([BatchSamples.of(samples, cells)], {}) == 60.0
    halves = [BatchSamples.of(samples[:3], cells[:1]), BatchSamples.of(samples[3:], cells[1:])]
    assert value_of_samples(halves, {}) == 60.0
    assert value_of_samples([BatchSamples.of(samples)], {}) == 100.0


def test_a_coarse_clock_is_interpolated_and_a_stranger_s_one_ignored() -> None:
    samples = [BatchSamples.of(np.array([60.0] * 30 + [70.0] * 70, dtype=np.float32))]
    found = value_of_samples(samples, {"resolution_ns": 10.0})
    assert found == pytest.approx(65 + 10 * 20 / 70)
    assert value_of_samples(samples, {"resolution_ns": 0.1}) == pytest.approx(70.0, abs=0.05)
    for odd in ("10", None, -1, float("nan"), 1e300, [10.0]):
        assert resolution_ns({"resolution_ns": odd}) == 0.0


def test_no_value_is_below_zero() -> None:
    assert value_of_samples([BatchSamples.of(np.array([-5.0, -4.0, -3.0], dtype=np.float32))], {}) == 0.0


def bistable() -> tuple[list[float], list[float]]:
    """`first` has the smaller median, but `second` is quicker in 14 of 20 rounds."""
    first = [10.0] * 11 + [20.0] * 9
    second = [value * (2.0 if number < 6 else 0.95) for number, value in enumerate(first)]
    return first, second


def test_ratios_are_to_the_row_that_is_fastest_within_rounds(tmp_path: Path) -> None:
    first, second = bistable()
    assert np.median(first) < np.median(second)
    path = make_run(tmp_path / "made.toll", [Made("first", first), Made("second", second)])
    with RunFile.open(path) as run_file:
        found = {row.contender: row for row in analysis.results(run_file).workloads[0].rows}
    assert (found["first"].fastest, found["second"].fastest) == (False, True)
    assert found["first"].ratio == pytest.approx(1 / 0.95)


@pytest.mark.parametrize("rounds", [1, 2, 3, 8, 20])
def test_nobody_beats_the_fastest(rounds: int) -> None:
    """As in a run of two rounds whose table had a contender at 0.977 of the fastest."""
    rng = np.random.default_rng(rounds)
    for _ in range(200):
        logs = rng.normal(0, 0.3, (rounds, 1)) + rng.normal(0, 0.1, (rounds, 5))
        best = fastest([{}] * 5, logs)
        assert best is not None
        ratios = np.median(logs - logs[:, [best]], axis=0)
        nobody = [column for column in range(5) if (np.median(logs - logs[:, [column]], axis=0) >= 0).all()]
        assert not nobody or best in nobody
        assert ratios.min() >= 0 or not nobody


def test_rows_that_beat_each_other_in_a_circle_have_a_fastest() -> None:
    circle = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    assert fastest([{}] * 3, circle) in (0, 1, 2)


def test_a_row_with_next_to_no_numbers_is_not_the_fastest() -> None:
    logs = np.log(np.array([[10.0, 20.0]] * 8))
    assert fastest([{}, {}], logs) == 0
    logs[1:, 0] = np.nan  # values of zero have no logarithm
    assert fastest([{}, {}], logs) == 1
    assert fastest([{}, {}], np.full((8, 2), np.nan)) is None
    assert fastest([], np.empty((0, 0))) is None


def value(blocks: list[float], company: int = 7) -> LaunchValue:
    return LaunchValue(float(np.median(blocks)), np.array(blocks), company)


def test_rounds_compare_blocks_of_those_who_took_turns() -> None:
    a, b = value([10, 20, 30]), value([20, 40, 60])
    logs = log_rounds([{1: a}, {1: b}])
    assert np.exp(logs[0, 1] - logs[0, 0]) == pytest.approx(2.0)
    # The machine became slower from block to block; who was hit in one alone is compared in the others.
    hit = value([20, 400, 60])
    assert np.exp(np.diff(log_rounds([{1: a}, {1: hit}])[0])) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (value([10, 30, 50], 0), value([20, 20, 80], 0)),  # each was alone
        (value([10, 30, 50], 7), value([20, 20, 80], 8)),  # in two companies
        (value([10, 30, 50]), value([15, 20, 20, 80])),  # another number of blocks
        (value([10, 30, 50]), LaunchValue(20.0)),  # samples that belong to pairs of CPUs
        (value([10, 30, 50]), value([0, 20, 80])),  # quicker than the clock can tell
    ],
)
def test_others_are_compared_by_their_values(one: LaunchValue, other: LaunchValue) -> None:
    logs = log_rounds([{1: one}, {1: other}])
    assert np.exp(logs[0]).tolist() == pytest.approx([one.ns, other.ns])


def test_rounds_without_a_value_are_gaps_and_later_ones_may_be_left_out() -> None:
    logs = log_rounds([{1: value([10.0]), 3: value([10.0])}, {2: value([20.0])}], last=2)
    assert np.isnan(logs).tolist() == [[False, True], [True, False]]
    assert log_rounds([{}, {}]).shape == (0, 2)


def launched(
    wall: list[float], cpu: list[float], switches: int = 0, threads: int | str | None = 1, company: int = 7
) -> LaunchValue:
    """Of a warm-up batch that waits, and one batch of each time."""
    timed = [
        made_batch(100 * at, cpu_ns=100 * on_cpu, voluntary_switches=switches)
        for at, on_cpu in zip(wall, cpu, strict=True)
    ]
    footing = {} if threads is None else {"threads": threads}
    batches = (made_batch(9e9, warmup=True), *timed)
    made = made_launch(1, Purpose.MEASURE, 1, batches=batches, footing=footing, company=company)
    return launch_value(made, None)


STEADY = launched([10, 10, 10], [10, 10, 10])
PREEMPTED = launched([20, 90, 60], [20, 21, 20])  # somebody else had the processor in two of three batches


def ratio(one: LaunchValue, other: LaunchValue) -> float:
    logs = log_rounds(by_one_clock([{1: one}, {1: other}]))[0]
    return float(np.exp(logs[1] - logs[0]))


@pytest.mark.parametrize("threads", [1, "1", None])
def test_who_never_waits_is_compared_by_the_time_on_the_processor(threads: int | str | None) -> None:
    for company in (0, 7):
        preempted = launched([20, 90, 60], [20, 21, 20], threads=threads, company=company)
        assert ratio(launched([10, 10, 10], [10, 10, 10], company=company), preempted) == pytest.approx(2.0)
        (by_clock,) = by_one_clock([{1: preempted}])
        assert (by_clock[1].ns, preempted.ns) == (20.0, 60.0)


@pytest.mark.parametrize(
    "other",
    [
        launched([30, 30, 30], [10, 10, 10], switches=1),  # it waits
        launched([30, 30, 30], [10, 10, 10], threads=2),
        launched([30, 30, 30], [60, 60, 60], threads=8),
        launched([30, 30, 30], [10, 0, 10]),  # whose CPU time nobody told
        LaunchValue(30.0),  # of single operations
    ],
)
def test_beside_who_waits_or_has_threads_all_keep_the_wall_clock(other: LaunchValue) -> None:
    """Neighbours cost both the same; by two clocks they would cost one of them alone."""
    found = by_one_clock([{1: PREEMPTED}, {1: other}])
    assert not any(value.on_cpu for case in found for value in case.values())
    assert ratio(STEADY, other) == pytest.approx(3.0)


def test_one_launch_of_many_that_waited_for_a_page_makes_nobody_wait() -> None:
    waited = launched([20, 90, 60], [20, 21, 20], switches=1)
    rounds = dict.fromkeys(range(19), PREEMPTED)
    (case,) = by_one_clock([{**rounds, 19: waited}])
    assert case[0].ns == 20.0
    assert case[19].ns == 60.0, "its own processor was given back by itself: how long it waited counts"
    (case,) = by_one_clock([{**rounds, 19: waited, 20: waited, 21: waited}])
    assert {value.on_cpu for value in case.values()} == {False}


def test_several_busy_threads_nobody_knew_of_are_never_below_the_wall_clock() -> None:
    busy = launched([10, 10, 10], [20, 20, 20], threads=None)
    (case,) = by_one_clock([{1: busy}])
    assert case[1].ns == 10.0


def test_beside_threads_that_are_a_load_the_timed_ones_own_clock_counts() -> None:
    """It waits for processors that they have, and for a mutex that they hold: not a part of its value."""
    footing = {"threads": 1, "load_threads": 4}
    timed = [made_batch(3000, cpu_ns=1000, voluntary_switches=2, gauge_ns=2000) for _ in range(3)]
    loaded = launch_value(made_launch(1, Purpose.MEASURE, 1, batches=tuple(timed), footing=footing), None)
    (case,) = by_one_clock([{1: loaded}])
    assert (case[1].on_cpu, case[1].ns) == (True, 10.0)
    assert not loaded.gauges.size, "its load shares the core with it"
    bare = made_launch(1, Purpose.MEASURE, 1, batches=tuple(timed), footing={"threads": 1, "load_threads": 0})
    (case,) = by_one_clock([{1: launch_value(bare, None)}])
    assert (case[1].on_cpu, case[1].ns) == (False, 30.0), "nobody else is there: it waits by itself"


def test_more_cpu_time_than_wall_time_is_no_threads_own() -> None:
    footing = {"threads": 1, "load_threads": 4}
    timed = tuple(made_batch(1000, cpu_ns=3000, voluntary_switches=0) for _ in range(3))
    told = launch_value(made_launch(1, Purpose.MEASURE, 1, batches=timed, footing=footing), None)
    (case,) = by_one_clock([{1: told}])
    assert case[1].ns == 10.0, "that of all threads is not believed"


def test_by_another_clock_a_value_is_otherwise_the_same() -> None:
    """Each field is another number, and none is left behind."""
    told: dict[str, Any] = {name: at + 2 for at, name in enumerate(LaunchValue._fields)}
    value = LaunchValue(**told)
    for on_cpu, own_core in ((True, None), (False, np.array([True, False]))):
        assert value.timed_by(on_cpu=on_cpu, own_core=own_core) == LaunchValue(
            **{**told, "on_cpu": on_cpu, "own_core": own_core}
        )
