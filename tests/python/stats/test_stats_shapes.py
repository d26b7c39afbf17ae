"""Mean and tail beside the median: found where a minority is slow, and not where sides are equal."""

from __future__ import annotations

import numpy as np
import pytest
from pair_noise import SCENARIOS
from scipy.stats import binom

from tollbench.stats.shapes import FEWEST_PAIRS, MOST_COUNTED, shapes_of


@pytest.mark.parametrize("pairs", [13, 60])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_equal_sides_look_as_different_as_they_may(scenario: str, pairs: int) -> None:
    """Whatever the noise is, drifting or in layouts: the coin of each pair alone decides."""
    rng = np.random.default_rng(41)
    trials, alpha = 1000, 0.1
    noise = SCENARIOS[scenario](rng, trials, 2 * pairs)
    swap = rng.random((trials, pairs)) < 0.5
    a, b = np.where(swap, noise[:, 1::2], noise[:, ::2]), np.where(swap, noise[:, ::2], noise[:, 1::2])
    found = [shapes_of(*values) for values in zip(np.exp(a), np.exp(b), strict=True)]
    called = [0, 0, 0]
    for each in found:
        assert each is not None
        called[0] += each.mean_chance <= alpha
        called[1] += each.tail_chance <= alpha
        called[2] += each.beyond(0.001, alpha)
    limit = binom.ppf(0.999, trials, alpha)
    assert max(called) <= limit


def minority(rng: np.random.Generator, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The second side is slower by 20 % in 30 % of its launches."""
    a, b = rng.normal(0.0, 0.01, (2, pairs))
    return np.exp(a), np.exp(b) * np.where(rng.random(pairs) < 0.3, 1.2, 1.0)


@pytest.mark.parametrize(("pairs", "share"), [(40, 0.2), (80, 0.95)])
def test_a_slow_minority_is_found(pairs: int, share: float) -> None:
    rng = np.random.default_rng(42)
    found = [shapes_of(*minority(rng, pairs)) for _ in range(300)]
    assert sum(each is not None and each.beyond(0.01, 0.005) for each in found) >= share * 300
    ratios = [each.mean_ratio for each in found if each is not None]
    assert np.mean(ratios) == pytest.approx(1.06, abs=0.005)
    swapped = [shapes_of(b, a) for a, b in (minority(rng, pairs) for _ in range(300))]
    assert sum(each is not None and each.beyond(0.01, 0.005) for each in swapped) >= share * 300


@pytest.mark.parametrize("pairs", [12, MOST_COUNTED + 1])
def test_few_pairs_are_counted_and_the_bound_of_many_is_no_less(pairs: int) -> None:
    rng = np.random.default_rng(43)
    coins = 1.0 - 2.0 * ((np.arange(2**pairs)[:, None] >> np.arange(pairs)) & 1)
    for _ in range(5):
        a, b = np.exp(rng.normal(0.0, 0.1, (2, pairs)))
        b *= 1.1
        exact = np.mean(np.abs(coins @ (b - a)) >= abs((b - a).sum()) - 1e-12)
        found = shapes_of(a, b)
        assert found is not None
        assert exact <= found.mean_chance
        assert bool(found.mean_chance == exact) is (pairs <= MOST_COUNTED)


def test_a_mean_that_differs_alike_in_each_of_13_pairs_is_found() -> None:
    """Thirteen launches in which a third of the repetitions was slow read 'no difference' by the bound."""
    a = np.exp(np.random.default_rng(44).normal(0.0, 0.003, 13))
    found = shapes_of(a, a * 1.16)
    assert found is not None
    assert found.mean_chance == 2.0 / 2**13
    assert found.beyond(0.02, 0.005)


def test_few_or_equal_values_are_nothing() -> None:
    assert shapes_of([1.0] * (FEWEST_PAIRS - 1), [2.0] * (FEWEST_PAIRS - 1)) is None
    same = shapes_of([1.0] * 20, [1.0] * 20)
    assert same is not None
    assert (same.mean_chance, same.tail_chance, same.beyond(0.01, 0.05)) == (1.0, 1.0, False)
