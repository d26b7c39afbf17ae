"""The stopping rule: coverage must survive looking early."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simulate import Population, Shape, assert_covers, covers_too_little

from tollbench.stats import (
    FIRST_LOOK,
    GoneOn,
    RatioTable,
    bonferroni,
    final_level,
    level_at_look,
    level_shown,
    look_number,
    median_interval,
    next_look,
    precise_enough,
    ratio_interval,
    well_known,
)
from tollbench.stats.order_statistics import Interval

MOST_ROUNDS = 93
CASES = 3
TRUE_LOGS = np.array([0.0, 0.02, 0.3])


def table(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Log values, shape (rounds, cases): equal noise about different true values, common weather."""
    population = Population(shape)
    noise = population.draw(rng, CASES, MOST_ROUNDS).T
    weather = np.cumsum(rng.normal(0, 0.02, (MOST_ROUNDS, 1)), axis=0)
    # Noise of equal shape on all sides: the median of a log ratio is the true one.
    logs: np.ndarray = noise + TRUE_LOGS + weather
    return logs


def run_until_precise(logs: np.ndarray, precision: float) -> int:
    """Rounds after which the rule stops, or all of them: the budget."""
    rounds = next_look(0)
    while rounds <= MOST_ROUNDS:
        if precise_enough(RatioTable(logs[:rounds]), precision, level_at_look(look_number(rounds), 0.95)):
            return rounds
        rounds = next_look(rounds)
    return MOST_ROUNDS


def all_ratios_covered(logs: np.ndarray, level: float, true_logs: np.ndarray) -> bool:
    corrected = bonferroni(level, CASES * (CASES - 1) // 2)
    for i in range(CASES):
        for j in range(i):
            _, found = ratio_interval(logs[:, i] - logs[:, j], corrected)
            if found is not None and not found.low <= np.exp(true_logs[i] - true_logs[j]) <= found.high:
                return False
    return True


def count_covered(shape: Shape, precision: float, trials: int) -> tuple[int, int, int]:
    """Trials in which all ratios are covered, the same for the first row's value, and early stops."""
    rng = np.random.default_rng(int(1000 * precision))
    covered = value_covered = early = 0
    for _ in range(trials):
        logs = table(shape, rng)
        rounds = run_until_precise(logs, precision)
        early += rounds < MOST_ROUNDS
        level = level_shown([RatioTable(logs[:rounds])], rounds, precision, 0.95)
        covered += all_ratios_covered(logs[:rounds], level, TRUE_LOGS)
        steady = Population("skewed").draw(rng, 1, MOST_ROUNDS)[0, :rounds]
        value = median_interval(steady, level)
        value_covered += value is None or value.low <= 0.1 <= value.high
    return covered, value_covered, early


# Chosen so that the rule stops at various looks, and not always.
PRECISIONS: list[tuple[Shape, float]] = [
    ("skewed", 0.12), ("skewed", 0.3), ("bimodal", 0.05), ("bimodal", 0.2),
    ("drifting", 0.05), ("drifting", 0.08),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "precision"), PRECISIONS)
def test_coverage_survives_early_stopping(shape: Shape, precision: float) -> None:
    covered, value_covered, early = count_covered(shape, precision, 1000)
    assert early > 50
    assert_covers(covered, 1000, 0.95)
    assert_covers(value_covered, 1000, 0.95)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("shape", "precision"), PRECISIONS)
def test_coverage_survives_early_stopping_in_many_trials(shape: Shape, precision: float) -> None:
    covered, _, early = count_covered(shape, precision, 10_000)
    print(f"{shape:9} ±{precision:.0%}: covered {covered / 10_000:.4f}, stopped early {early / 100:.1f} %")
    assert_covers(covered, 10_000, 0.95)


def test_stopping_at_the_first_difference_seen_loses_no_coverage_either() -> None:
    """The harshest use: look at every look of the schedule and stop when the interval excludes the truth.

    And at the end of a budget, which comes at none of them.
    """
    rng = np.random.default_rng(3)
    trials, missed, naive_missed = 2000, 0, 0
    looks = [FIRST_LOOK]
    while looks[-1] < 500:
        looks.append(next_look(looks[-1]))
    for _ in range(trials):
        logs = rng.normal(size=looks[-1] + 50)
        found = [ratio_interval(logs[:n], level_at_look(look_number(n), 0.95))[1] for n in looks]
        found.append(ratio_interval(logs, final_level(logs.size, 0.95))[1])
        missed += any(one is not None and not one.low <= 1.0 <= one.high for one in found)
        naive = [ratio_interval(logs[:n], 0.95)[1] for n in looks]
        naive_missed += any(one is not None and not one.low <= 1.0 <= one.high for one in naive)
    assert_covers(trials - missed, trials, 0.95)
    assert covers_too_little(trials - naive_missed, trials, 0.95)


def test_the_schedule_grows_by_half() -> None:
    looks = [next_look(0)]
    while len(looks) < 8:
        looks.append(next_look(looks[-1]))
    assert looks == [12, 18, 27, 41, 62, 93, 140, 210]
    assert [look_number(n) for n in looks] == list(range(1, 9))
    assert [look_number(n - 1) for n in looks] == list(range(8))


def test_all_looks_and_the_end_together_spend_exactly_what_there_is() -> None:
    spent = sum(1.0 - level_at_look(k, 0.95) for k in range(1, 5))
    between = next_look(next_look(next_look(next_look(0)))) + 1
    assert spent + 1.0 - final_level(between, 0.95) == pytest.approx(0.05)
    with pytest.raises(ValueError, match="counted from 1"):
        level_at_look(0, 0.95)


@pytest.mark.parametrize(
    ("rounds", "error"), [(6, 0.05), (11, 0.05), (12, 0.045), (13, 0.045), (18, 0.13 / 3), (19, 0.13 / 3)]
)
def test_the_final_level_depends_on_the_looks_that_were_possible(rounds: int, error: float) -> None:
    assert 1.0 - final_level(rounds, 0.95) == pytest.approx(error)


@pytest.mark.parametrize("rounds", [5, 12, 100, 4000])
def test_all_readings_of_a_run_that_is_gone_on_with_spend_no_more_than_there_is(rounds: int) -> None:
    scheduled = sum(1.0 - level_at_look(k, 0.95) for k in range(1, look_number(rounds) + 1))
    spent = 0.0
    for times in range(30):
        ended = 1.0 - final_level(rounds, 0.95, GoneOn(times))
        assert scheduled + spent + ended == pytest.approx(0.05)
        spent += 1.0 - final_level(rounds, 0.95, GoneOn(times, ended=False))
    assert final_level(rounds, 0.95, GoneOn(1)) < 0.97  # once costs little
    assert final_level(rounds, 0.95, GoneOn(1)) > final_level(rounds, 0.95)


def gone_on_until_different(
    rng: np.random.Generator, trials: int, spends: bool, step: float = 0.001
) -> float:
    """Share of runs of equal sides that show a difference, gone on with up to ten times while they do not.

    Each time for 8 rounds more; noise with tails, rounded to the clock's step.
    """
    alarms = 0
    for _ in range(trials):
        logs = np.round(rng.standard_t(3, 96) * 0.02 / step) * step
        for times in range(11):
            rounds = 16 + 8 * times
            level = final_level(rounds, 0.95, GoneOn(times, ended=times == 10) if spends else GoneOn())
            found = ratio_interval(logs[:rounds], level)[1]
            if found is not None and not found.low <= 1.0 <= found.high:
                alarms += 1
                break
    return alarms / trials


def test_going_on_until_a_difference_shows_raises_no_more_false_alarms_than_promised() -> None:
    assert gone_on_until_different(np.random.default_rng(8), 2000, spends=True) <= 0.05
    assert gone_on_until_different(np.random.default_rng(8), 1000, spends=False) > 0.08


def test_the_level_shown_is_the_looks_own_only_where_the_rule_stops_at_it() -> None:
    rng = np.random.default_rng(1)
    calm = rng.normal(0, 0.001, (19, 3)) + TRUE_LOGS
    at_look = 1.0 - 0.2 * 0.05 / 6
    for rounds, precision, level in (
        (18, 0.01, at_look), (18, 0.0001, final_level(18, 0.95)), (19, 0.01, final_level(19, 0.95)),
    ):  # fmt: skip
        assert level_shown([RatioTable(calm[:rounds])], rounds, precision, 0.95) == level
    wild = calm + rng.normal(0, 0.1, (19, 3))
    assert level_shown([RatioTable(calm[:18]), RatioTable(wild[:18])], 18, 0.01, 0.95) == final_level(
        18, 0.95
    )


def test_precise_enough_asks_every_ratio() -> None:
    rng = np.random.default_rng(1)
    calm = rng.normal(0, 0.001, (30, 3)) + TRUE_LOGS
    assert precise_enough(RatioTable(calm), 0.01, 0.95)
    assert not precise_enough(RatioTable(calm), 0.0001, 0.95)
    assert not precise_enough(RatioTable(calm[:6]), 0.01, 0.95)
    wild = calm.copy()
    wild[:, 2] += rng.normal(0, 0.1, 30)
    assert not precise_enough(RatioTable(wild), 0.01, 0.95)
    gaps = calm.copy()
    gaps[3:, 1] = np.nan
    assert not precise_enough(RatioTable(gaps), 0.01, 0.95)


def test_precision_is_half_the_length_of_the_interval_on_the_log_scale() -> None:
    ends = np.log(1.05) * np.linspace(-1.0, 1.0, 8)  # the 95 % interval of eight values is their range
    logs = np.column_stack([np.zeros(8), 0.5 + ends])
    assert precise_enough(RatioTable(logs), 0.0501, 0.95)
    assert not precise_enough(RatioTable(logs), 0.0499, 0.95)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("nearest", "times"), [(1.0, 1.0), (1.99, 1.0), (4.0, 2.0), (47.0, 5.5546)])
def test_a_ratio_is_known_well_enough_for_what_it_says(side: float, nearest: float, times: float) -> None:
    """From 2 on so many times the precision as it has doublings, by the nearest ratio that is possible."""
    for half, enough in ((0.9999, True), (1.0001, False)):
        length = 2.0 * half * times * math.log1p(0.01)
        near = math.log(nearest)
        low, high = sorted((side * near, side * (near + length)))
        assert well_known(Interval(low, high, 0.95), 0.01) is enough
    assert not well_known(Interval(-math.log(4.0), math.log(4.0), 0.95), 0.01)


def test_cases_without_any_value_are_left_out() -> None:
    logs = np.column_stack([np.zeros(8), np.full(8, 0.3), np.full(8, np.nan)])
    assert precise_enough(RatioTable(logs), 0.01, 0.95)
    assert not precise_enough(RatioTable(logs[:, 2:]), 0.01, 0.95)


def test_a_single_case_must_know_its_own_median() -> None:
    assert precise_enough(RatioTable(np.full((8, 1), 3.0)), 0.01, 0.95)
    assert not precise_enough(RatioTable(np.linspace(0, 1, 8)[:, None]), 0.01, 0.95)


def test_a_single_case_whose_rounds_are_alike_is_known_less_precisely() -> None:
    """The same values in the order of time: they count for fewer than as many that are mixed."""
    values = np.linspace(-0.1, 0.1, 101)
    mixed = values[np.arange(101) * 37 % 101][:, None]
    assert precise_enough(RatioTable(mixed), 0.03, 0.95)
    assert not precise_enough(RatioTable(values[:, None]), 0.03, 0.95)
