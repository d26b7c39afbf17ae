"""Steps in series whose steps are known; the figures of docs/history.md come from change_point_trials.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
from change_point_trials import LEAST, calibrated, counted, drawn, intervals, own, steps_of

from tollbench.stats.change_points import FALSE_ALARM, FEWEST, MOST_CERTAIN, Together, find_steps


def test_steps_of_two_percent_are_found_and_few_that_are_none() -> None:
    """A part of the proof: 60 series with noise of 0.3 to 1 %, outliers and drift."""
    rng = np.random.default_rng(7)
    series = [drawn(rng, float(rng.uniform(0.003, 0.01)), 2, size=0.02) for _ in range(60)]
    result = counted(own, series)
    assert sum(result.found[0.02]) >= 0.9 * len(result.found[0.02])
    assert result.false <= 0.002 * result.commits
    inside, covered = intervals(series)
    assert sum(inside) >= 0.92 * len(inside)
    assert sum(covered) >= 0.85 * len(covered)


def test_without_a_step_none_is_found() -> None:
    rng = np.random.default_rng(8)
    series = [drawn(rng, 0.01, 0) for _ in range(40)]
    assert counted(own, series).false <= 8


def test_a_step_has_its_place_size_and_certainty() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.0, 0.002, 60)
    values[40:] += math.log(1.02)
    (step,) = find_steps(values, np.full(60, 0.001)).steps
    assert step.place == 40
    assert step.first <= 40 <= step.last
    assert step.last - step.first <= 2
    assert step.low < math.log(1.02) < step.high
    assert step.high - step.low < 0.005
    assert step.certainty == MOST_CERTAIN


@pytest.mark.parametrize("off", [0.05, 0.5, 5.0])
def test_one_bad_day_is_no_step_and_is_named(off: float) -> None:
    values = np.random.default_rng(2).normal(0.0, 0.003, 50)
    values[20:22] += off
    found = find_steps(values, np.zeros(50))
    assert found.steps == ()
    assert found.outliers == (20, 21)


@pytest.mark.parametrize("off", [0.03, -0.03])
def test_the_last_values_off_are_no_step_yet_and_are_told(off: float) -> None:
    values = np.random.default_rng(3).normal(0.0, 0.003, 50)
    values[-2:] += off
    found = find_steps(values, np.zeros(50))
    assert (found.steps, found.recent) == ((), 2)
    assert find_steps(values[:-2], np.zeros(48)).recent == 0


def test_a_value_of_which_no_error_is_known_is_not_exact() -> None:
    """Where measuring explains all scatter: every fifth value is of few launches, and none is a step."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        errors = np.where(np.arange(60) % 5 == 4, math.nan, 0.02)
        values = rng.normal(0.0, np.where(np.isnan(errors), 0.03, 0.02))
        found += len(find_steps(values, errors).steps)
        assert find_steps(values, np.full(60, math.nan)) == find_steps(values, np.zeros(60))
    assert found == 0


def test_a_known_error_of_measuring_counts() -> None:
    """The same values, of which the last are known to be measured badly."""
    values = np.random.default_rng(4).normal(0.0, 0.003, 40)
    values[30:] += 0.02
    assert len(find_steps(values, np.zeros(40)).steps) == 1
    badly = np.where(np.arange(40) < 30, 0.0, 0.05)
    assert find_steps(values, badly).steps == ()


def test_smaller_steps_than_asked_for_are_left_out() -> None:
    values = np.random.default_rng(5).normal(0.0, 0.001, 80)
    values[40:] += 0.006
    assert len(find_steps(values, np.zeros(80), least=LEAST).steps) == 1
    assert find_steps(values, np.zeros(80), least=0.01).steps == ()


@pytest.mark.parametrize("count", range(2 * FEWEST + 2))
def test_few_values_are_no_trouble(count: int) -> None:
    found = find_steps(np.linspace(0.0, 0.001, count), np.zeros(count))
    assert found.steps == ()


def test_two_values_tell_no_scatter() -> None:
    assert find_steps([0.0, 0.1], [0.01, 0.01]).scatter is None
    assert find_steps([0.0, 0.1, 0.0], [0.001, 0.001, 0.001]).scatter == pytest.approx(0.1, rel=0.5)


def test_values_that_do_not_scatter_at_all() -> None:
    values = np.zeros(40)
    assert find_steps(values, values).steps == ()
    (step,) = find_steps(np.where(np.arange(40) < 20, 0.0, 0.01), values).steps
    assert (step.place, step.first, step.last) == (20, 20, 20)


def test_a_long_series_is_read_whole() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(0.0, 0.003, 10_000)
    for place in range(500, 10_000, 500):
        values[place:] += 0.02 * (-1) ** (place // 500)
    found = find_steps(values, np.zeros(10_000), least=LEAST)
    true = {place: [s for s in found.steps if abs(s.place - place) <= 2] for place in range(500, 10_000, 500)}
    assert all(len(near) == 1 for near in true.values())
    assert len(found.steps) <= len(true) + 5


def test_commits_of_one_group_share_its_error() -> None:
    """Measuring alone, at 1 %: each group of eight is off as a whole, and no step."""
    rng = np.random.default_rng(9)
    series = [drawn(rng, 0.014, 0, plain=True, layout=0.003) for _ in range(40)]
    grouped = sum(len(steps_of(one, least=0.01)) for one in series)
    alone = sum(len(find_steps(one.values, one.errors, least=0.01).steps) for one in series)
    assert grouped <= 2
    assert alone >= 20, "the series are no proof"


def test_a_step_within_groups_is_still_found() -> None:
    rng = np.random.default_rng(10)
    series = [drawn(rng, 0.006, 1, size=0.03) for _ in range(30)]
    assert sum(counted(own, series).found[0.03]) >= 26


def test_groups_laid_through_each_other_hide_no_step() -> None:
    """Each eighth commit is of one group: what they share is scatter of neighbours, which averages out."""
    rng = np.random.default_rng(11)
    groups = np.arange(80) % 10
    values = rng.normal(0.0, 0.001, 80) + rng.normal(0.0, 0.005, 10)[groups]
    assert find_steps(values, np.full(80, 0.005), together=Together(groups, np.full(80, 0.005))).steps == ()
    values[40:] += 0.02
    (step,) = find_steps(values, np.full(80, 0.005), together=Together(groups, np.full(80, 0.005))).steps
    assert abs(step.place - 40) <= 2


def test_the_highest_certainty_is_borne_out() -> None:
    """One series in two has a step of 1 to 5 %."""
    rng = np.random.default_rng(12)
    series = [drawn(rng, float(rng.uniform(0.003, 0.01)), number % 2) for number in range(160)]
    sure = [true for certainty, true in calibrated(series) if certainty >= MOST_CERTAIN]
    assert len(sure) >= 40
    assert sum(sure) >= MOST_CERTAIN * len(sure)


def test_a_part_that_scatters_more_makes_no_steps() -> None:
    """The last third scatters five times as much as the rest."""
    rng = np.random.default_rng(13)
    false = 0
    for _ in range(30):
        scatter = np.where(np.arange(240) < 160, 0.002, 0.01)
        values = rng.normal(0.0, 1.0, 240) * scatter
        false += len(find_steps(values, np.zeros(240), least=0.005).steps)
    assert false <= 20  # 127, were there one scatter for the whole series


def test_who_looks_at_many_series_asks_for_more() -> None:
    rng = np.random.default_rng(14)
    weak = 0
    for _ in range(40):
        values = rng.normal(0.0, 0.005, 60)
        values[30:] += 0.0065
        weak += len(find_steps(values, np.zeros(60)).steps) - len(
            find_steps(values, np.zeros(60), alarm=FALSE_ALARM / 100).steps
        )
    assert weak > 3


def test_of_a_step_that_is_told_the_sign_is_known() -> None:
    """Where values scatter so much that only hundreds of them show a step, its neighbours alone do not."""
    covered = []
    for seed in range(25):
        values = np.random.default_rng(seed).normal(0.0, 0.046, 1200)
        values[600:] += math.log(1.02)
        for step in find_steps(values, np.zeros(1200), least=math.log1p(0.01)).steps:
            assert (step.low > 0.0) == (step.high > 0.0) == (step.size > 0.0)
            if abs(step.place - 600) <= 50:
                covered.append(step.low < math.log(1.02) < step.high)
    assert len(covered) >= 20, "they are found, and not left out for it"
    assert sum(covered) >= 0.85 * len(covered)
