"""Verdicts about regions: wrong at most as often as the level allows, given where the truth is far away."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simulate import SHAPES, Population, Shape, assert_covers, covers_too_little

from tollbench.stats import Interval, Region, quotient_interval, ratio_interval

TRIALS = 2000
SIZES = (8, 12, 20, 50)


def intervals(logs: np.ndarray, level: float = 0.95) -> list[Interval]:
    found = [ratio_interval(trial, level)[1] for trial in logs]
    return [one for one in found if one is not None]


def half_width(interval: Interval) -> float:
    """Of the logarithm."""
    return math.log(interval.high / interval.low) / 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("side", [-1, 1])
def test_what_is_false_by_twice_the_half_width_is_called_false(shape: Shape, size: int, side: int) -> None:
    population = Population(shape)
    found = intervals(population.draw(np.random.default_rng([size, 3]), TRIALS, size))
    truth = population.quantile(0.5, size)
    said = 0
    for interval in found:
        boundary = math.exp(truth + side * 2 * half_width(interval))
        region = Region(boundary, math.inf) if side > 0 else Region(0.0, boundary)
        said += region.holds(interval) is False
    assert len(found) == TRIALS
    assert_covers(said, TRIALS, 0.95)


@pytest.mark.parametrize("size", SIZES)
def test_of_even_noise_twice_the_usual_half_width_is_enough(size: int) -> None:
    """The half-width that such runs have by the median, not each run's own."""
    found = intervals(np.random.default_rng([size, 4]).normal(size=(TRIALS, size)))
    usual = float(np.median([half_width(one) for one in found]))
    region = Region(math.exp(2 * usual), math.inf)
    assert_covers(sum(region.holds(one) is False for one in found), TRIALS, 0.95)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_at_its_boundary_a_claim_is_decided_no_more_often_than_the_level_allows(
    shape: Shape, size: int
) -> None:
    population = Population(shape)
    found = intervals(population.draw(np.random.default_rng([size, 5]), TRIALS, size))
    truth = math.exp(population.quantile(0.5, size))
    for region in (Region(truth, math.inf), Region(0.0, truth)):
        assert_covers(sum(region.holds(one) is None for one in found), TRIALS, 0.95)


def test_the_counts_would_catch_a_verdict_from_the_plain_ratio() -> None:
    """The median alone, without its interval, decides a claim at its boundary always."""
    logs = np.random.default_rng(6).normal(size=(TRIALS, 12))
    plain = [Interval(float(np.exp(np.median(one))), float(np.exp(np.median(one))), 0.0) for one in logs]
    undecided = sum(Region(1.0, math.inf).holds(one) is None for one in plain)
    assert covers_too_little(undecided, TRIALS, 0.95)


@pytest.mark.parametrize(
    ("region", "interval", "holds"),
    [
        (Region(2.0, math.inf), (2.0, 3.0), True),
        (Region(2.0, math.inf), (1.9, 3.0), None),
        (Region(2.0, math.inf), (1.0, 1.9), False),
        (Region(0.0, 2.0), (1.0, 2.0), True),
        (Region(0.0, 2.0), (2.1, 3.0), False),
        (Region(0.8, 1.25), (0.9, 1.1), True),
        (Region(0.8, 1.25), (0.7, 1.1), None),
        (Region(0.8, 1.25), (0.7, 1.3), None),
        (Region(0.8, 1.25), (1.3, 1.4), False),
        (Region(0.8, 1.25), (0.1, 0.7), False),
    ],
)
def test_an_interval_lies_inside_outside_or_neither(
    region: Region, interval: tuple[float, float], holds: bool | None
) -> None:
    assert region.holds(Interval(*interval, 0.95)) is holds


def test_the_distance_is_to_the_nearest_end_that_bounds() -> None:
    assert Region(2.0, math.inf).distance(Interval(4.0, 8.0, 0.95)) == pytest.approx(math.log(2))
    assert Region(0.0, 2.0).distance(Interval(0.5, 1.0, 0.95)) == pytest.approx(math.log(2))
    assert Region(0.5, 2.0).distance(Interval(1.0, 1.5, 0.95)) == pytest.approx(math.log(2 / 1.5))


def test_a_quotient_covers_where_both_intervals_do() -> None:
    rng, level, size = np.random.default_rng(7), 0.95, 20
    each = 1 - (1 - level) / 2
    above, below = 0.3 * rng.normal(size=(2, TRIALS, size))
    below += 0.5 * above  # whatever their dependence
    found = [
        quotient_interval(one, other)
        for one, other in zip(intervals(above, each), intervals(below, each), strict=True)
    ]
    assert all(one is not None and one.level >= level - 1e-12 for one in found)
    assert_covers(sum(one is not None and one.low <= 1.0 <= one.high for one in found), TRIALS, level)


def test_a_number_that_is_exact_scales_the_other_ones_interval() -> None:
    exact, other = Interval(8.0, 8.0, 1.0), Interval(2.0, 4.0, 0.95)
    assert quotient_interval(other, exact) == pytest.approx((0.25, 0.5, 0.95))
    assert quotient_interval(Interval(0.0, 4.0, 0.95), exact) is None
