"""The runs test: exact where it can be counted, at its level, with power where rounds follow each other."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from math import comb
from statistics import NormalDist

import numpy as np
import pytest

from tollbench.stats import few_runs


def following(rng: np.random.Generator, rounds: int, correlation: float) -> np.ndarray:
    values = [rng.standard_normal()]
    for _ in range(rounds - 1):
        values.append(correlation * values[-1] + np.sqrt(1 - correlation**2) * rng.standard_normal())
    return np.array(values)


@pytest.mark.parametrize(("high", "low"), [(4, 4), (3, 5)])
def test_probabilities_are_those_of_all_orders(high: int, low: int) -> None:
    """Values of the middle size, as many as keep the median there, are left out."""
    orders = [
        [2.0 if place in places else 0.0 for place in range(high + low)]
        for places in combinations(range(high + low), high)
    ]
    runs = [1 + sum(a != b for a, b in pairwise(one)) for one in orders]
    for values, seen in zip(orders, runs, strict=True):
        wanted = sum(other <= seen for other in runs) / len(runs)
        assert few_runs(values + [1.0] * 5) == pytest.approx(wanted)


def by_whole_numbers(high: int, low: int, seen: int) -> Fraction:
    """As Wald and Wolfowitz write it, without a rounding."""
    ways = 0
    for runs in range(2, seen + 1):
        half = runs // 2
        one, other = (half, half - 1) if runs % 2 else (half - 1, half - 1)
        ways += comb(high - 1, one) * comb(low - 1, other) + comb(high - 1, other) * comb(low - 1, one)
    return Fraction(ways, comb(high + low, high))


@pytest.mark.parametrize(
    ("rounds", "correlation"), [(2, 0.0), (41, 0.0), (400, 0.5), (1201, 0.0), (1201, 0.1)]
)
def test_logarithms_lose_nothing(rounds: int, correlation: float) -> None:
    values = following(np.random.default_rng(6), rounds, correlation)
    above = values[values != np.median(values)] > np.median(values)
    seen = 1 + int((above[1:] != above[:-1]).sum())
    wanted = by_whole_numbers(int(above.sum()), int((~above).sum()), seen)
    assert few_runs(values) == pytest.approx(float(wanted), rel=1e-9)


def test_a_great_many_values_take_no_whole_numbers_of_as_many_digits() -> None:
    """Those of a million took longer than anybody waits; the normal distribution says the same."""
    values = np.random.default_rng(7).standard_normal(1_000_000)
    above = values > np.median(values)
    seen = 1 + int((above[1:] != above[:-1]).sum())
    half = values.size / 2  # of each: runs have mean half + 1 and variance half (half - 1) / (2 half - 1)
    sigma = np.sqrt(half * (half - 1) / (2 * half - 1))
    assert few_runs(values) == pytest.approx(NormalDist(half + 1, sigma).cdf(seen + 0.5), rel=1e-3)


def test_chance_is_told_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(3)
    told = np.mean([few_runs(rng.standard_normal(40)) < 0.05 for _ in range(2000)])
    assert 0.01 < told < 0.06


@pytest.mark.parametrize(
    ("rounds", "correlation", "least"), [(50, 0.5, 0.6), (50, 0.8, 0.95), (200, 0.5, 0.99)]
)
def test_rounds_that_follow_each_other_are_told(rounds: int, correlation: float, least: float) -> None:
    rng = np.random.default_rng(4)
    told = np.mean([few_runs(following(rng, rounds, correlation)) < 0.05 for _ in range(300)])
    assert told >= least


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0], [1.0, 2.0, 1.5]])
def test_few_values_tell_nothing(values: list[float]) -> None:
    assert few_runs(values) > 0.3
