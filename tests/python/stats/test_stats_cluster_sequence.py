"""The mean over clusters has its interval at the level, for clusters as layouts make them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from simulate import assert_covers

from tollbench.stats.cluster_sequence import (
    ClusterSequence,
    clusters_needed,
    fewest_clusters,
    look_due,
    mean_over_clusters,
    spread,
)

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]  # clusters -> what each is, log scale, variance 1, mean 0


def normal(rng: np.random.Generator, clusters: int) -> Floats:
    return rng.normal(size=clusters)


def two_modes(share: float) -> Draw:
    """A `share` of the layouts is slow, and all others are alike: a loop across a boundary, or not."""

    def draw(rng: np.random.Generator, clusters: int) -> Floats:
        slow = (rng.random(clusters) < share).astype(np.float64)
        return (slow - share) / math.sqrt(share * (1.0 - share))

    return draw


def skewed(rng: np.random.Generator, clusters: int) -> Floats:
    return (rng.lognormal(size=clusters) - math.exp(0.5)) / math.sqrt((math.e - 1.0) * math.e)


SHAPES: dict[str, Draw] = {
    "normal": normal,
    "two modes": two_modes(0.5),
    "a rare mode": two_modes(0.1),
    "skewed": skewed,
}


def launches(rng: np.random.Generator, shape: Floats) -> Floats:
    """Noise of single launches: half a per cent, and one of thirty is hit by something."""
    noise = rng.normal(0.0, 0.005, shape.shape)
    return noise + np.where(
        rng.random(shape.shape) < 0.03, np.abs(rng.standard_t(2, shape.shape)) * 0.05, 0.0
    )


def comparison(
    rng: np.random.Generator, draw: Draw, deviation: float, clusters: int, effect: float, passes: int = 4
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Log ratios, the first side's log times, and the clusters' numbers, pass after pass."""
    a, b = (np.tile(deviation * draw(rng, clusters), (passes, 1)) for _ in range(2))
    a, b = a + launches(rng, a), b + effect + launches(rng, b)
    return (b - a).ravel(), a.ravel(), b.ravel(), np.tile(np.arange(clusters), passes)


def bounds(
    logs: Floats, numbers: NDArray[np.int64], clusters: int, alpha: float = 0.05
) -> tuple[float, float]:
    """Of a comparison that is looked at whenever it is due."""
    sequence, looked_at = ClusterSequence(alpha), 0
    for pairs in range(1, logs.size + 1):
        if look_due(pairs, looked_at, clusters):
            sequence.look(logs[:pairs], numbers[:pairs], last=pairs == logs.size)
            looked_at = pairs
    return sequence.bounds


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("deviation", [0.0, 0.01, 0.06, 0.3])
@pytest.mark.parametrize("clusters", [8, 16, 64])
def test_the_interval_covers_the_effect(shape: str, deviation: float, clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    trials, effect = 250, 0.02
    ends = []
    for _ in range(trials):
        logs, _, _, numbers = comparison(rng, SHAPES[shape], deviation, clusters, effect)
        ends.append(bounds(logs, numbers, clusters))
    assert_covers(sum(low <= effect <= high for low, high in ends), trials, 0.95)


@pytest.mark.parametrize(("clusters", "covered"), [(8, 0.50), (16, 0.75), (32, 0.78), (64, 0.93)], ids=str)
def test_a_rare_mode_of_one_side_alone_is_known_too_late(clusters: int, covered: float) -> None:
    """A limit, told in docs/layouts.md: what no drawn cluster shows, no interval can hold."""
    rng = np.random.default_rng(clusters)
    hits = 0
    for _ in range(300):
        rare = np.tile(0.3 * two_modes(0.1)(rng, clusters), (4, 1))
        logs = (rare + launches(rng, rare)).ravel()
        low, high = bounds(logs, np.tile(np.arange(clusters), 4), clusters)
        hits += low <= 0.0 <= high
    assert covered <= hits / 300 <= covered + 0.12


@pytest.mark.parametrize(("deviation", "clusters"), [(0.0, 16), (0.01, 16), (0.03, 64)])
def test_two_per_cent_are_found(deviation: float, clusters: int) -> None:
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(300):
        logs, _, _, numbers = comparison(rng, normal, deviation, clusters, math.log(1.02))
        found += bounds(logs, numbers, clusters)[0] > 0.0
    assert found >= 0.92 * 300  # 95 % in the long run; three standard errors below


@pytest.mark.parametrize("clusters", [2, 3, 7])
def test_few_clusters_have_no_interval(clusters: int) -> None:
    logs, _, _, numbers = comparison(np.random.default_rng(1), normal, 0.01, clusters, 0.0)
    assert bounds(logs, numbers, clusters) == (-math.inf, math.inf)


def test_a_higher_level_needs_more_clusters() -> None:
    assert fewest_clusters(0.05) == 8
    assert fewest_clusters(0.05 / 100) == 12
    assert 2.0 ** (1 - fewest_clusters(0.05 / 100)) <= 0.05 / 100


@pytest.mark.parametrize("passes", [2, 4])
@pytest.mark.parametrize("deviation", [0.01, 0.1])
def test_the_spread_of_clusters_is_told_from_the_noise_of_launches(deviation: float, passes: int) -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(40):
        _, a, _, numbers = comparison(rng, normal, deviation, 64, 0.0, passes)
        found.append(spread(a, numbers) or 0.0)
    assert np.median(found) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("passes", [2, 4])
@pytest.mark.parametrize("far_off", [0.0, 0.05])
def test_launches_that_are_far_off_are_no_spread_of_clusters(passes: int, far_off: float) -> None:
    """A median of two is a mean: launches at twice the time once made it ± 9 % where there was nothing."""
    rng = np.random.default_rng(4)
    told = 0
    for _ in range(200):
        values = rng.normal(0.0, 0.005, 16 * passes) + 0.7 * (rng.random(16 * passes) < far_off)
        told += spread(values, np.tile(np.arange(16), passes)) != 0.0
    assert told <= 22  # 10 in the long run; four standard errors above


def test_a_slow_pass_is_no_spread_of_clusters() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.0, 0.005, (4, 16)) + np.array([[0.0], [0.3], [0.0], [0.1]])
    assert spread(values.ravel(), np.tile(np.arange(16), 4)) == 0.0


def test_one_value_a_cluster_says_nothing_of_the_spread() -> None:
    assert spread([0.1, 0.2, 0.3], [0, 1, 2]) is None
    assert spread([0.1, 0.2], [0, 0]) is None


def test_the_mean_is_over_clusters_not_over_launches() -> None:
    assert mean_over_clusters([0.0, 0.0, 0.0, 0.4], [0, 0, 0, 1]) == pytest.approx(0.2)
    assert math.isnan(mean_over_clusters([], []))


def test_so_many_clusters_make_the_interval_as_narrow_as_that() -> None:
    rng = np.random.default_rng(5)
    logs, _, _, numbers = comparison(rng, normal, 0.03, 16, 0.0)
    needed = clusters_needed(logs, numbers, 0.05, 0.01)
    widths = []
    for _ in range(40):
        logs, _, _, numbers = comparison(rng, normal, 0.03, needed, 0.0)
        low, high = bounds(logs, numbers, needed)
        widths.append((high - low) / 2.0)
    assert np.median(widths) == pytest.approx(0.01, rel=0.4)  # 16 clusters know their own spread to 20 %
    assert clusters_needed([0.1], [0], 0.05, 0.01) == 8


def test_the_share_that_may_err_is_never_exceeded() -> None:
    sequence = ClusterSequence(0.05)
    rng = np.random.default_rng(1)
    for visits in (2, 4, 8, 16):
        before = sequence.bounds
        numbers = np.tile(np.arange(16), visits)
        after = sequence.look(rng.normal(size=numbers.size), numbers, last=visits == 8)
    assert after == before  # all of it is spent: another look has nothing to say
    with pytest.raises(ValueError, match="alpha"):
        ClusterSequence(0.0)
