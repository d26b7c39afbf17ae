"""The scale of few values: right on average, and hardly moved by some that are far off."""

from __future__ import annotations

import numpy as np
import pytest

from tollbench.stats import qn_scale


@pytest.mark.parametrize("count", [5, 8, 12, 13, 24, 100])
def test_it_is_the_standard_deviation_of_normal_values(count: int) -> None:
    values = np.random.default_rng(count).normal(7.0, 2.0, (2000, count))
    assert np.mean([qn_scale(row) for row in values]) == pytest.approx(2.0, rel=0.04)


def test_it_scatters_less_than_the_median_absolute_deviation() -> None:
    values = np.random.default_rng(3).normal(0.0, 1.0, (2000, 12))
    own = [np.log(qn_scale(row)) for row in values]
    other = [np.log(np.median(np.abs(row - np.median(row)))) for row in values]
    assert np.std(own) < 0.85 * np.std(other)


def test_a_tenth_of_the_values_may_be_anything() -> None:
    values = np.random.default_rng(4).normal(0.0, 1.0, 200)
    values[:20] = 1e9
    assert qn_scale(values) < 1.4


@pytest.mark.parametrize("values", [[], [3.0], [3.0] * 12])
def test_what_does_not_scatter_has_none(values: list[float]) -> None:
    assert qn_scale(values) == 0.0
