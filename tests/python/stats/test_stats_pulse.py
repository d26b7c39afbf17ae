"""The run's own floor and drift, held against simulated comparisons."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tollbench.stats import (
    bonferroni,
    drift,
    final_level,
    ratio_interval,
    resolvable_log_ratio,
    separated_pairs,
)


def neighbours(canary: np.ndarray) -> np.ndarray:
    """Log ratios of values that follow each other, two by two."""
    logs = np.log(canary)
    pairs = logs.size // 2
    return logs[1 : 2 * pairs : 2] - logs[: 2 * pairs : 2]


def power(difference: float, noise: float, rounds: int, level: float, trials: int = 1500) -> float:
    """Share of comparisons of two sides with this noise that find this true log ratio."""
    rng = np.random.default_rng(rounds)
    sides = rng.standard_t(3, (2, trials, rounds)) * noise
    found = [ratio_interval(row, level)[1] for row in sides[0] - sides[1] + difference]
    return float(np.mean([one is not None and one.low > 1.0 for one in found]))


@pytest.mark.parametrize("rounds", [8, 12, 20, 50])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_floor_is_found_four_times_of_five(rounds: int, level: float) -> None:
    canary = 100 * np.exp(np.random.default_rng(1).standard_t(3, 20_000) * 0.01)
    floor = resolvable_log_ratio(neighbours(canary), rounds, level)
    assert floor is not None
    assert power(floor, 0.01, rounds, level) == pytest.approx(0.8, abs=0.05)
    assert power(floor / 2, 0.01, rounds, level) < 0.6


@pytest.mark.parametrize(("rows", "rounds"), [(5, 18), (5, 50), (10, 50)])
def test_tables_find_the_floor_of_their_own_level_four_times_of_five(rows: int, rounds: int) -> None:
    """That of one comparison at the whole level, which the floor was once, is found far less often there."""
    canary = 100 * np.exp(np.random.default_rng(1).standard_t(3, 20_000) * 0.01)
    level = bonferroni(final_level(rounds, 0.95), rows * (rows - 1) // 2)
    floors = [resolvable_log_ratio(neighbours(canary), rounds, each) for each in (level, 0.95)]
    found = []
    for floor in floors:
        assert floor is not None
        rng, times = np.random.default_rng(rounds), 0
        for _ in range(600):
            logs = rng.standard_t(3, (rounds, rows)) * 0.01
            logs[:, 1] += floor
            times += bool(separated_pairs(np.round(logs / 1e-4) * 1e-4, level)[0][0, 1])
        found.append(times / 600)
    assert found[0] == pytest.approx(0.8, abs=0.06)
    assert found[1] < 0.55


def test_a_floor_from_few_beats_is_of_the_right_size() -> None:
    rng = np.random.default_rng(2)
    exact = resolvable_log_ratio(neighbours(np.exp(rng.normal(0, 0.01, 100_000))), 20, 0.95)
    assert exact is not None
    few = [neighbours(np.exp(rng.normal(0, 0.01, 60))) for _ in range(200)]
    found = [resolvable_log_ratio(pairs, 20, 0.95) or 0.0 for pairs in few]
    assert np.median(found) == pytest.approx(exact, rel=0.15)


def test_slow_drift_hardly_raises_the_floor_because_neighbours_are_paired() -> None:
    noise = np.random.default_rng(3).normal(0, 0.01, 400)
    calm = resolvable_log_ratio(neighbours(np.exp(noise)), 20, 0.95)
    drifting = resolvable_log_ratio(neighbours(np.exp(noise + np.linspace(0, 0.5, 400))), 20, 0.95)
    assert drifting == pytest.approx(calm, rel=0.2)


@pytest.mark.parametrize(("beats", "rounds"), [(19, 20), (0, 20), (100, 5), (100, 0)])
def test_there_is_no_floor_from_too_little(beats: int, rounds: int) -> None:
    assert resolvable_log_ratio(neighbours(np.full(beats, 10.0)), rounds, 0.95) is None


def test_more_rounds_lower_the_floor() -> None:
    canary = np.exp(np.random.default_rng(4).normal(0, 0.01, 1000))
    floors = [resolvable_log_ratio(neighbours(canary), rounds, 0.95) or 0.0 for rounds in (8, 20, 50, 200)]
    assert floors == sorted(floors, reverse=True)
    assert floors[-1] < floors[0] / 3


def test_drift_raises_few_false_alarms_and_finds_a_trend() -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for seed in range(300):
        found = drift(np.exp(rng.normal(0, 0.02, 40)), seed)
        assert found is not None
        alarms += found.chance <= 0.05
    assert 2 <= alarms <= 32
    trend = drift(np.exp(rng.normal(0, 0.02, 40) + np.linspace(0, 0.1, 40)))
    assert trend is not None
    assert trend.chance <= 0.01
    assert trend.ratio == pytest.approx(1.1, abs=0.04)
    assert drift(np.ones(19)) is None


def test_drift_of_a_long_run_takes_little_memory() -> None:
    """All shuffles of 20,000 beats at once are 160 MB."""
    values = np.exp(np.random.default_rng(6).normal(0, 0.02, 20_000))
    tracemalloc.start()
    try:
        found, peak = drift(values), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == drift(values), "the same each time"
    assert peak < 8e6


@pytest.mark.parametrize(("rows", "rounds"), [(2, 20), (2, 24), (2, 40), (5, 30), (10, 60)])
def test_tables_whose_layouts_come_again_find_their_floor(rows: int, rounds: int) -> None:
    """What is not alike may look so: of as many independent rounds it would be found far less often."""
    canary = 100 * np.exp(np.random.default_rng(1).normal(0, 0.01, 20_000))
    level = bonferroni(final_level(rounds, 0.95), rows * (rows - 1) // 2)
    floor = resolvable_log_ratio(neighbours(canary), rounds, level, layouts=20)
    assert floor is not None
    rng, times, trials = np.random.default_rng(rounds), 0, 1000
    for _ in range(trials):
        layouts = np.concatenate([1 + rng.permutation(20) for _ in range(-(-rounds // 20))])[:rounds]
        logs = rng.normal([0.0, floor], 0.01, (rounds, 2))
        times += bool(separated_pairs(logs, level, layouts)[0][0, 1])
    assert times / trials == pytest.approx(0.8, abs=0.06)
