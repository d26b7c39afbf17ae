"""Intervals of medians whose values come in clusters."""

from __future__ import annotations

import numpy as np
import pytest

from tollbench.stats import (
    alike,
    all_tell_from,
    bonferroni,
    clustered_interval,
    independent,
    independent_at,
    median_interval,
    planned,
    separated_pairs,
)
from tollbench.stats.clustered import clustered_ranks, independent_of_each, made_of


def clusters(rng: np.random.Generator, count: int, of: int) -> np.ndarray:
    """Each of `of` once before any comes again."""
    passes = [1 + rng.permutation(of) for _ in range(-(-count // of))]
    return np.concatenate(passes)[:count]


def test_values_without_clusters_count_for_themselves() -> None:
    values = np.random.default_rng(1).standard_normal(30)
    for none in (None, np.zeros(30, dtype=np.int64), 1 + np.arange(30)):
        assert independent(values, none) == 30.0
        assert clustered_interval(values, none, 0.95) == median_interval(values, 0.95)


def test_values_that_are_their_clusters_count_for_as_many_as_these() -> None:
    rng = np.random.default_rng(2)
    numbers = clusters(rng, 100, 20)
    values = rng.standard_normal(21)[numbers]
    assert independent(values, numbers) == pytest.approx(20.0)
    found, of_clusters = clustered_interval(values, numbers, 0.95), median_interval(np.unique(values), 0.95)
    assert found is not None
    assert of_clusters is not None
    assert found.low <= of_clusters.low
    assert found.high >= of_clusters.high


def test_too_few_clusters_have_no_interval_however_many_values() -> None:
    rng = np.random.default_rng(3)
    numbers = clusters(rng, 100, 4)
    assert clustered_interval(rng.standard_normal(5)[numbers], numbers, 0.95) is None
    assert clustered_ranks(100, 4.0, 0.95) is None


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_they_count_for_what_their_variance_says(share: float) -> None:
    """In the mean over trials, but for the caution: 1 + (values a cluster - 1) x correlation of signs."""
    rng = np.random.default_rng(4)
    seen = []
    for _ in range(200):
        numbers = clusters(rng, 100, 20)
        own = np.sqrt(1.0 - share) * rng.standard_normal(100)
        seen.append(100.0 / independent(np.sqrt(share) * rng.standard_normal(21)[numbers] + own, numbers))
    true = 1.0 + 4.0 * 2.0 / np.pi * np.arcsin(share)
    assert true - 0.1 < np.mean(seen) < 1.15 * true + 0.2


def test_each_column_counts_by_itself_and_what_it_lacks_does_not() -> None:
    rng = np.random.default_rng(5)
    numbers = clusters(rng, 60, 20)
    of_clusters = rng.standard_normal(21)[numbers]
    values = np.column_stack([of_clusters, rng.standard_normal(60), of_clusters])
    values[numbers % 2 == 1, 2] = np.nan
    found = independent_of_each(values, numbers)
    assert found[0] == pytest.approx(20.0)
    assert found[1] > 35.0
    assert found[2] == pytest.approx(10.0)
    for column in range(3):
        kept = np.isfinite(values[:, column])
        assert independent(values[kept, column], numbers[kept]) == pytest.approx(found[column])


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("count", [24, 40, 100])
def test_intervals_cover_the_middle_of_all_clusters(count: int, scale: float) -> None:
    rng = np.random.default_rng(count)
    trials, missed = 400, 0
    for _ in range(trials):
        numbers = clusters(rng, count, 20)
        found = clustered_interval(
            scale * rng.standard_normal(21)[numbers] + rng.standard_normal(count), numbers, 0.95
        )
        assert found is not None
        missed += not found.low <= 0.0 <= found.high
    assert missed <= 0.05 * trials + 8  # fewer than one in thirty would be more by chance


def test_rows_that_their_clusters_alone_set_apart_are_not_told_apart() -> None:
    rng = np.random.default_rng(7)
    numbers = clusters(rng, 200, 20)
    moved = np.where(rng.random(21) < 0.65, 0.05, -0.05)[numbers]
    logs = np.column_stack([np.zeros(200), moved]) + 0.001 * rng.standard_normal((200, 2))
    assert separated_pairs(logs, 0.95)[0].any()
    assert not separated_pairs(logs, 0.95, numbers)[0].any()
    apart = logs + np.array([0.0, 0.2])
    assert separated_pairs(apart, 0.95, numbers)[0].any()


@pytest.mark.parametrize("many", [40, 61, 150])
def test_rows_are_set_apart_where_the_interval_of_their_ratio_is(many: int) -> None:
    """Letters must not contradict the intervals beside them."""
    rng = np.random.default_rng(many)
    numbers = clusters(rng, many, 20)
    moved = rng.standard_normal((21, 30))[numbers]
    logs = 0.02 * (np.linspace(0.0, 1.5, 30) + 0.6 * moved + rng.standard_normal((many, 30)))
    logs[rng.random(logs.shape) < 0.1] = np.nan
    apart, _ = separated_pairs(logs, 0.999, numbers)
    told = 0
    for i in range(30):
        for j in range(i):
            known = np.isfinite(logs[:, i] - logs[:, j])
            found = clustered_interval((logs[:, i] - logs[:, j])[known], numbers[known], 0.999)
            assert apart[i, j] == (found is not None and not found.low <= 0.0 <= found.high)
            told += apart[i, j]
    assert 3 < told < 425


def test_values_of_two_exact_levels_count_for_as_many_as_their_clusters() -> None:
    """Counts, and times on a coarse clock."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        numbers = clusters(rng, 100, 20)
        values = (rng.random(21) < 0.35).astype(np.float64)[numbers]
        if np.ptp(values) > 0.0:
            assert independent(values, numbers) == pytest.approx(20.0)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_forecast_is_what_will_be(share: float) -> None:
    rng = np.random.default_rng(9)
    now, later = [], []
    for _ in range(200):
        numbers = clusters(rng, 100, 20)
        values = np.sqrt(share) * rng.standard_normal(21)[numbers]
        values = values + np.sqrt(1.0 - share) * rng.standard_normal(100)
        now.append(independent_at(100.0, 20, alike(values[:40], numbers[:40])))
        later.append(independent(values, numbers))
    assert np.mean(now) == pytest.approx(np.mean(later), rel=0.25)


def unlike(rng: np.random.Generator, count: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Values in clusters that make no difference, and their clusters."""
    return noise * rng.standard_normal(count), clusters(rng, count, 20)


@pytest.mark.parametrize("pairs_of_rows", [1, 10, 45])
def test_rounds_beyond_the_first_pass_never_widen_an_interval(pairs_of_rows: int) -> None:
    """Of a few that share a cluster nobody knows how alike they are: 21 said less than 20."""
    rng, level = np.random.default_rng(10), bonferroni(0.95, pairs_of_rows)
    widths = {}
    for count in (20, 21, 24, 28, 32, 36, 40):
        found = [clustered_interval(*unlike(rng, count), level) for _ in range(500)]
        assert all(found)
        widths[count] = np.median([one.high - one.low for one in found if one is not None])
    assert all(width <= 1.05 * widths[20] for width in widths.values()), widths
    assert widths[40] < 0.9 * widths[20]


@pytest.mark.parametrize("level", [0.95, 0.99, 0.999])
def test_what_an_interval_is_made_of_follows_from_counts(level: float) -> None:
    """And by these it is no wider than that of each cluster's first values."""
    rng = np.random.default_rng(11)
    numbers = clusters(rng, 60, 20)
    kinds = set()
    for count in range(20, 61):
        own = numbers[:count]
        made = {tuple(np.isfinite(made_of(rng.standard_cauchy((count, 1)), own, level)[:, 0])) for _ in "123"}
        assert len(made) == 1
        kept = sum(*made)
        assert kept in (20, count)
        assert made == {(True,) * kept + (False,) * (count - kept)}
        assert (planned(count, 20, 0.0, level).kept == 20) == (kept == 20)
        kinds.add((count > 20, kept == 20))
    assert kinds == {(False, True), (True, True), (True, False)}
    end = all_tell_from(20, level)
    assert 21 < end < 40
    assert planned(end - 1, 20, 0.0, level).kept == 20
    assert planned(end, 20, 0.0, level).kept == end


@pytest.mark.parametrize("number", [8, 16, 20, 64])
@pytest.mark.parametrize("level", [0.95, 0.983, 0.995, 0.9989])
def test_once_all_values_make_an_interval_they_stay_in_it(number: int, level: float) -> None:
    """Ranks are whole: at 99.5 % all of 31 values of 20 clusters would tell more, of 32 the firsts again."""
    kept = [planned(count, number, 0.0, level).kept for count in range(number + 1, 4 * number)]
    of_all = [made == count for count, made in zip(range(number + 1, 4 * number), kept, strict=True)]
    assert of_all == sorted(of_all)
    assert of_all[-1]


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("count", [21, 23, 26, 30])
def test_they_cover_where_only_the_first_of_each_cluster_count(count: int, scale: float) -> None:
    rng = np.random.default_rng(count)
    trials, missed = 400, 0
    for _ in range(trials):
        noise, numbers = unlike(rng, count)
        values = scale * rng.standard_normal(21)[numbers] + noise
        found = clustered_interval(values, numbers, 0.95)
        assert found is not None
        assert found.low <= np.median(values) <= found.high
        missed += not found.low <= 0.0 <= found.high
    assert missed <= 0.05 * trials + 8


@pytest.mark.parametrize("many", [22, 25, 29])
def test_rows_of_few_second_rounds_are_set_apart_where_their_interval_is(many: int) -> None:
    rng = np.random.default_rng(many)
    numbers = clusters(rng, many, 20)
    logs = 0.02 * (np.linspace(0.0, 1.5, 30) + rng.standard_normal((many, 30)))
    logs[rng.random(logs.shape) < 0.05] = np.nan
    apart, _ = separated_pairs(logs, 0.95, numbers)
    for i in range(30):
        for j in range(i):
            known = np.isfinite(logs[:, i] - logs[:, j])
            found = clustered_interval((logs[:, i] - logs[:, j])[known], numbers[known], 0.95)
            assert apart[i, j] == (found is not None and not found.low <= 0.0 <= found.high)
    assert 3 < apart.sum() / 2 < 425


def test_the_median_of_all_is_in_an_interval_of_each_clusters_first() -> None:
    """So the sign of a ratio is no other one than that of its median, in letters neither."""
    numbers = np.concatenate([1 + np.arange(20), 1 + np.arange(9)])
    values = np.concatenate([-np.ones(5), np.arange(1.0, 16.0), -np.arange(1.0, 10.0)])
    values = np.append(values, [-2.0] * 4)
    numbers = np.append(numbers, [10, 11, 12, 13])
    assert planned(33, 20, 0.0, 0.95).kept == 20
    assert np.median(values) < 0.0 < np.sort(values[:20])[5]
    found = clustered_interval(values, numbers, 0.95)
    assert found is not None
    assert found.low == np.median(values)
    assert not separated_pairs(np.column_stack([np.zeros(33), values]), 0.95, numbers)[0].any()
    assert separated_pairs(np.column_stack([np.zeros(33), np.abs(values)]), 0.95, numbers)[0].any()
