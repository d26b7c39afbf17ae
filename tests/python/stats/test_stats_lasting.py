"""Noise of one side that lasts over pairs: seen, widened for, and not seen where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pair_noise import SCENARIOS, one_sided, ordered_pairs_of, stopped

from tollbench.stats import equivalence
from tollbench.stats.lasting import ENOUGH_PAIRS, factor_to_end, lasting_noise, widened
from tollbench.stats.sequential import Bounds

MOST_CALLED = 0.08  # of equal sides under noise of one side that lasts
MOST_DECLINED = 0.05  # under independent noise
QUESTIONS = {"direction": equivalence.direction_settled, "estimate": equivalence.estimate_settled}


def called(trials: int, correlation: float, question: str, *, lasting: bool) -> float:
    logs = one_sided(np.random.default_rng(31), trials, 300, correlation)
    ends = stopped(logs, 0.05, 0.01, settled=QUESTIONS[question], lasting=lasting)
    return ends.called_different() / trials


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("correlation", [0.5, 0.8, 0.95])
def test_lasting_noise_of_one_side_is_no_difference(correlation: float, question: str) -> None:
    trials = 400
    slack = 3.0 * math.sqrt(MOST_CALLED * (1.0 - MOST_CALLED) / trials)
    assert called(trials, correlation, question, lasting=True) <= MOST_CALLED + slack


def test_without_looking_for_it_most_equal_sides_differ() -> None:
    """What the simulation above is able to see."""
    assert called(200, 0.5, "direction", lasting=False) > 0.2
    assert called(200, 0.95, "direction", lasting=False) > 0.6


@pytest.mark.parametrize("effect", [0.0, 0.02])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_independent_noise_is_rarely_declined(scenario: str, effect: float) -> None:
    """Declined: a verdict that there would have been, and that the search for lasting noise has taken."""
    trials = 150
    logs, led = ordered_pairs_of(np.random.default_rng(32), SCENARIOS[scenario], trials, 200, effect)
    plain, searched = (stopped(logs, 0.05, 0.01, first_led=led, lasting=lasting) for lasting in (False, True))
    known = [
        [
            bool(equivalence.direction(*ends)) or equivalence.equivalent(*ends, 0.01)
            for ends in zip(each.low, each.high, strict=True)
        ]
        for each in (plain, searched)
    ]
    declined = np.count_nonzero(np.array(known[0]) & ~np.array(known[1])) / trials
    assert declined <= MOST_DECLINED + 2.0 * math.sqrt(MOST_DECLINED * (1.0 - MOST_DECLINED) / trials)


def test_the_direction_is_still_known_within_34_pairs() -> None:
    logs = np.random.default_rng(21).normal(math.log(1.01), 0.01, (300, 400))
    known = stopped(logs, 0.05, 0.01, settled=equivalence.direction_settled, lasting=True)
    assert np.median(known.pairs) <= 34
    assert known.called_different() >= 290


def test_few_independent_series_seem_to_last() -> None:
    rng = np.random.default_rng(33)
    found = [lasting_noise(rng.standard_t(2, 60)) for _ in range(1000)]
    assert 20 <= sum(each is not None for each in found) <= 140


def test_sizes_that_last_are_none_where_the_coin_decides_the_signs() -> None:
    """A neighbour that comes and goes and that both sides feel: quiet pairs and noisy ones in turns."""
    rng = np.random.default_rng(34)
    sizes = np.repeat(np.tile([0.001, 0.03], 5), 12)
    found = [lasting_noise(rng.normal(size=120) * sizes) for _ in range(500)]
    assert sum(each is not None for each in found) <= 80


def test_the_more_it_lasts_the_wider() -> None:
    factors = []
    for correlation in (0.5, 0.8, 0.95):
        found = lasting_noise(one_sided(np.random.default_rng(35), 1, 200, correlation)[0])
        assert found is not None
        assert found.correlation == pytest.approx(correlation, abs=0.15)
        factors.append(found.factor)
    assert factors == sorted(factors)
    assert factors[0] > math.sqrt(3.0)


def test_ties_and_few_values_show_nothing() -> None:
    assert lasting_noise([0.0] * 50) is None
    assert lasting_noise([0.1, 0.2, 0.3]) is None
    assert lasting_noise([0.0, 1.0] * 40) is None


def test_few_pairs_have_to_be_far_from_open() -> None:
    assert factor_to_end(ENOUGH_PAIRS) == factor_to_end(ENOUGH_PAIRS + 50) == 1.0
    assert factor_to_end(9) > 5.0
    assert widened(Bounds(0.02, 0.05), 0.03, 2.0) == pytest.approx((0.01, 0.07))
    assert widened(Bounds(-math.inf, math.inf), 0.03, 2.0) == (-math.inf, math.inf)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_two_thousand_comparisons_under_noise_that_lasts(
    question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table of docs/compare-method.md: `pytest -m slow -s tests/python/stats/test_stats_lasting.py`."""
    for correlation in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
        before, now = (called(2000, correlation, question, lasting=lasting) for lasting in (False, True))
        with capsys.disabled():
            print(f"\n| {correlation} | {question} | {before:.1%} | {now:.1%} |", end="")
        assert now <= MOST_CALLED + 0.02


@pytest.mark.parametrize("middle", [0.045, 0.01, 0.03])
def test_a_wider_interval_holds_the_narrower_one(middle: float) -> None:
    """Also where the middle of the last look lies outside of what all looks have in common."""
    low, high = widened(Bounds(0.02, 0.04), middle, 17.0)
    assert low <= 0.02
    assert high >= 0.04
