"""Ratios within rounds and tables of them: coverage counted by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from simulate import LEVELS, SHAPES, SIZES, Population, Shape, assert_covers, covers_too_little

from tollbench.stats import (
    bonferroni,
    fewest_values,
    log_ratios,
    paired_differences,
    ratio_interval,
    rounds_needed,
    separated_pairs,
    without_block_effects,
)

TRIALS = 2000
TRUE_LOG_RATIO = 0.05


def pairs_of(shape: Shape, rng: np.random.Generator, trials: int, size: int) -> tuple[np.ndarray, float]:
    """Log ratios of a contender of this shape to a steady one in the same rounds, and their median."""
    population = Population(shape)
    first = population.draw(rng, trials, size) + TRUE_LOG_RATIO
    # Both sides see what the machine does to a round.
    second = 1e-6 * rng.normal(size=first.shape) + population.trend(size)
    truth = population.quantile(0.5, 1) if shape != "drifting" else 0.0
    return first - second, truth + TRUE_LOG_RATIO


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("level", LEVELS)
def test_ratio_intervals_cover_what_they_claim(shape: Shape, size: int, level: float) -> None:
    logs, truth = pairs_of(shape, np.random.default_rng([size, int(100 * level)]), TRIALS, size)
    found = [ratio_interval(row, level)[1] for row in logs]
    if size < fewest_values(level):
        assert found == [None] * TRIALS
        return
    hits = sum(one.low <= np.exp(truth) <= one.high for one in found if one is not None)
    claimed = found[0].level if found[0] is not None else 0.0
    assert claimed >= level
    assert_covers(hits, TRIALS, claimed)
    assert_covers(TRIALS - hits, TRIALS, 1.0 - claimed)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_count_notices_a_biased_ratio(shape: Shape) -> None:
    logs, truth = pairs_of(shape, np.random.default_rng(4), TRIALS, 50)
    off = truth + 0.6 * np.std(logs[0])
    hits = sum(one.low <= np.exp(off) <= one.high for row in logs if (one := ratio_interval(row, 0.95)[1]))
    assert covers_too_little(hits, TRIALS, 0.95)


def test_pairing_resolves_what_drift_hides_from_unpaired_medians() -> None:
    rng = np.random.default_rng(8)
    weather = np.cumsum(rng.normal(0, 0.1, 20))
    fast = np.exp(weather + rng.normal(0, 0.001, 20))
    slow = 1.01 * np.exp(weather + rng.normal(0, 0.001, 20))
    ratio, interval = ratio_interval(log_ratios(slow, fast), 0.95)
    assert interval is not None
    assert 1.005 < interval.low < ratio < interval.high < 1.015


def test_rounds_without_both_values_are_left_out() -> None:
    logs = log_ratios([2.0, np.nan, 8.0], [1.0, 1.0, 2.0])
    assert logs == pytest.approx(np.log([2.0, 4.0]))
    assert paired_differences(np.array([1.0, np.nan]), np.array([0.5, 1.0])).tolist() == [0.5]


def test_the_ratio_is_the_median_of_the_ratios_not_their_mean() -> None:
    assert ratio_interval(np.log([1.0, 1.1, 30.0]), 0.95)[0] == pytest.approx(1.1)


def test_no_pairs_give_no_ratio() -> None:
    ratio, interval = ratio_interval([], 0.95)
    assert np.isnan(ratio)
    assert interval is None


@pytest.mark.parametrize(("comparisons", "rounds"), [(1, 6), (3, 7), (10, 9), (45, 11)])
def test_larger_tables_need_more_rounds(comparisons: int, rounds: int) -> None:
    assert rounds_needed(0.95, comparisons) == rounds
    logs = np.zeros(rounds)
    assert ratio_interval(logs, bonferroni(0.95, comparisons))[1] is not None
    assert ratio_interval(logs[1:], bonferroni(0.95, comparisons))[1] is None


def table_false_alarms(shape: Shape, level: float, trials: int) -> int:
    """Trials in which any of six equal rows of one table is separated from any other."""
    rng = np.random.default_rng(11)
    rows, rounds = 6, 20
    alarms = 0
    for _ in range(trials):
        logs = Population(shape).draw(rng, rows, rounds).T + rng.normal(0, 0.1, (rounds, 1))
        alarms += bool(separated_pairs(logs, level)[0].any())
    return alarms


@pytest.mark.parametrize("shape", SHAPES)
def test_a_whole_table_of_equal_rows_raises_few_false_alarms(shape: Shape) -> None:
    trials = 500
    alarms = table_false_alarms(shape, bonferroni(0.95, 15), trials)
    assert_covers(trials - alarms, trials, 0.95)


def test_without_correction_a_table_raises_too_many_false_alarms() -> None:
    alarms = table_false_alarms("skewed", 0.95, 500)
    assert covers_too_little(500 - alarms, 500, 0.95)


def test_correcting_for_the_rows_alone_would_not_do_as_the_fastest_is_chosen_by_the_data() -> None:
    rng = np.random.default_rng(12)
    rows, rounds, trials = 15, 150, 300
    level = bonferroni(0.9, rows - 1)
    misses = 0
    for _ in range(trials):
        logs = rng.normal(size=(rounds, rows))
        fastest = int(np.argmin(np.median(logs, axis=0)))
        others = [j for j in range(rows) if j != fastest]
        found = [ratio_interval(logs[:, j] - logs[:, fastest], level)[1] for j in others]
        misses += any(one is not None and not one.low <= 1.0 <= one.high for one in found)
    assert covers_too_little(trials - misses, trials, 0.9)


def test_separation_is_symmetric_and_knows_when_it_could_not_judge() -> None:
    logs = np.column_stack([np.zeros(10), np.full(10, 0.1), np.full(10, np.nan)])
    apart, judged = separated_pairs(logs, 0.95)
    assert judged
    assert apart.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    apart, judged = separated_pairs(logs[:5], 0.95)
    assert not judged
    assert not apart.any()
    assert all(not apart[i, j] for i, j in itertools.product(range(3), repeat=2))


def blocks_of_a_launch(rng: np.random.Generator, cases: int, blocks: int, own: float) -> np.ndarray:
    """Log values, shape (blocks, cases): a machine that wanders and is hit by bursts, and noise of each case.

    A burst hits a whole block, or one case's batch alone.
    """
    wandering = np.cumsum(rng.normal(0, 0.03, (blocks, 1)), axis=0)
    bursts = (rng.random((blocks, 1)) < 0.1) * rng.exponential(0.5, (blocks, 1))
    alone = (rng.random((blocks, cases)) < 0.05) * rng.exponential(1.0, (blocks, cases))
    return wandering + bursts + alone + rng.normal(0, own, (blocks, cases))


def test_what_befalls_blocks_is_taken_out_of_all_cases() -> None:
    rng = np.random.default_rng(9)
    launches = [blocks_of_a_launch(rng, 5, 7, 0.01) for _ in range(300)]
    cleaned = np.array([without_block_effects(logs) for logs in launches])
    plain = np.array([np.median(logs, axis=0) for logs in launches])
    assert np.std(cleaned[:, 1] - cleaned[:, 0]) < 0.5 * np.std(plain[:, 1] - plain[:, 0])


def test_of_two_cases_the_difference_is_the_median_of_the_blocks_differences() -> None:
    logs = blocks_of_a_launch(np.random.default_rng(10), 2, 9, 0.05)
    found = without_block_effects(logs)
    assert found[1] - found[0] == pytest.approx(np.median(logs[:, 1] - logs[:, 0]))


@pytest.mark.parametrize("cases", [2, 4, 9])
def test_ratios_of_twins_that_took_turns_are_covered(cases: int) -> None:
    """Launches differ, each case in its own way, which is what rounds replicate."""
    rng = np.random.default_rng(cases)
    misses = trials = 0
    for _ in range(400):
        rounds = [
            without_block_effects(blocks_of_a_launch(rng, cases, 5, 0.01) + rng.standard_t(3, cases) * 0.03)
            for _ in range(20)
        ]
        logs = np.array(rounds)
        _, found = ratio_interval(logs[:, 1] - logs[:, 0], 0.95)
        assert found is not None
        misses += not found.low <= 1.0 <= found.high
        trials += 1
    assert misses / trials <= 0.07
