"""Intervals of medians of rounds that follow each other: how often they cover, and how wide they are."""

from __future__ import annotations

import numpy as np
import pytest
from serial_noise import MACHINES, Machine, half_of_it_lasts, of_first_order, skewed

from tollbench.stats import Serial, median_interval, serial_median_interval
from tollbench.stats.serial import times_the_variance

LEVEL = 0.95


def found_of(machine: Machine, rounds: int, trials: int, seed: int = 1) -> tuple[np.ndarray, list[Serial]]:
    drawn = machine.draw(np.random.default_rng(seed), trials, rounds)
    found = [serial_median_interval(values, LEVEL) for values in drawn]
    return drawn, [one for one in found if one is not None]


def covered(found: list[Serial], truth: float) -> float:
    return float(np.mean([one.interval.low <= truth <= one.interval.high for one in found]))


def wider(drawn: np.ndarray, found: list[Serial]) -> float:
    """Median of widths over the median of those that order statistics of independent values have."""
    plain = [median_interval(values, LEVEL) for values in drawn]
    known = [one for one in plain if one is not None]
    assert len(known) == len(found)
    now = np.median([one.interval.high - one.interval.low for one in found])
    return float(now / np.median([one.high - one.low for one in known]))


@pytest.mark.parametrize(
    ("machine", "rounds", "least"),
    [
        pytest.param(of_first_order(0.5), 50, 0.93, marks=pytest.mark.slow),
        (skewed(0.5), 50, 0.93),
        pytest.param(of_first_order(0.5), 200, 0.93, marks=pytest.mark.slow),
        (of_first_order(0.8), 200, 0.90),
        pytest.param(of_first_order(0.95), 400, 0.90, marks=pytest.mark.slow),
        pytest.param(half_of_it_lasts(0.9), 200, 0.90, marks=pytest.mark.slow),  # hardly seen in neighbours
    ],
)
def test_rounds_that_follow_each_other_are_covered(machine: Machine, rounds: int, least: float) -> None:
    drawn, found = found_of(machine, rounds, 600)
    assert covered(found, machine.truth()) >= least
    plain = [median_interval(values, LEVEL) for values in drawn]
    inside = [one is not None and one.low <= machine.truth() <= one.high for one in plain]
    assert np.mean(inside) < 0.9  # that of independent values does not hold here


@pytest.mark.parametrize("rounds", [12, 20, 50, 200])
def test_independent_rounds_keep_level_and_width(rounds: int) -> None:
    machine = of_first_order(0.0)
    drawn, found = found_of(machine, rounds, 1500)
    assert covered(found, machine.truth()) >= 0.945
    assert wider(drawn, found) <= 1.1
    assert np.mean([one.counts_as is None for one in found]) >= 0.88
    for values, one in zip(drawn, found, strict=True):
        if one.counts_as is None:
            assert one.interval == median_interval(values, LEVEL)


@pytest.mark.parametrize(("rounds", "correlation"), [(20, 0.8), (49, 0.8), (50, 0.95)])
def test_too_few_rounds_say_so(rounds: int, correlation: float) -> None:
    _, found = found_of(of_first_order(correlation), rounds, 300)
    alike = [one for one in found if one.counts_as is not None]
    assert len(alike) >= 0.85 * len(found)
    assert np.mean([one.resolved for one in alike]) <= 0.05


def test_long_runs_know_how_long_spells_last() -> None:
    _, found = found_of(of_first_order(0.5), 200, 300)
    assert np.mean([one.resolved for one in found]) >= 0.97


@pytest.mark.parametrize("correlation", [0.5, 0.8])
def test_the_variance_of_long_series_is_found(correlation: float) -> None:
    """The estimate leans to more, and not by much."""
    lags = np.arange(1, 200)
    exact = 1 + 2 * (2 / np.pi * np.arcsin(correlation**lags)).sum()
    drawn = of_first_order(correlation).draw(np.random.default_rng(3), 60, 5000)
    found = np.median([times_the_variance(values) for values in drawn])
    assert exact <= found <= 1.6 * exact


@pytest.mark.parametrize("values", [[], [1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]])
def test_few_values_have_no_interval(values: list[float]) -> None:
    assert serial_median_interval(values, LEVEL) is None


@pytest.mark.parametrize("rounds", [6, 12, 50, 300])
def test_values_that_are_all_equal_have_that_as_their_interval(rounds: int) -> None:
    found = serial_median_interval([3.0] * rounds, LEVEL)
    assert found is not None
    assert (found.interval.low, found.interval.high, found.counts_as) == (3.0, 3.0, None)


def test_a_trend_reaches_from_end_to_end() -> None:
    values = np.linspace(100.0, 120.0, 60)
    found = serial_median_interval(values, LEVEL)
    assert found is not None
    assert (found.interval.low, found.interval.high) == (100.0, 120.0)
    assert not found.resolved


def test_two_values_alone_are_read_as_any_others() -> None:
    """Most signs are those of the median itself: nothing divides by what is not there."""
    values = np.array([1.0] * 30 + [2.0] * 30 + [1.0] * 30)
    found = serial_median_interval(values, LEVEL)
    assert found is not None
    assert found.counts_as is not None
    assert (found.interval.low, found.interval.high) == (1.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [12, 20, 50, 100, 200, 400])
def test_the_table_of_the_method(rounds: int) -> None:
    """With -s it prints what docs/method-record.md shows."""
    for machine in MACHINES:
        drawn, found = found_of(machine, rounds, 2000)
        truth = machine.truth()
        plain = [one for values in drawn if (one := median_interval(values, LEVEL)) is not None]
        before = np.mean([one.low <= truth <= one.high for one in plain])
        within = [one for one in found if not one.resolved]
        share = covered(found, truth)
        print(
            f"{rounds} rounds, {machine.name}: {100 * before:.1f} % before, {100 * share:.1f} % now,"
            f" {wider(drawn, found):.2f} times as wide, {100 * len(within) / len(found):.0f} % marked"
        )
        if machine.name == "correlation 0":
            assert share >= 0.945
        assert share >= before
