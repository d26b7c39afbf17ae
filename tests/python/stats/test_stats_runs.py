"""The runs test: exact where it can be counted, at its level, with power where rounds follow each other."""

from __future__ import annotations

from itertools import combinations, pairwise

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
