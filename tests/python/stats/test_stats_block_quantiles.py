"""Percentiles of two programs in the same rounds: coverage by simulation, and which rounds make a block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from simulate import assert_covers

from tollbench.stats import (
    LaunchCounts,
    Pooled,
    block_quantiles,
    count_samples,
    log_ratios_of,
    pairs_of,
    ratio_interval,
    shared_blocks,
)

TRIALS = 150
SAMPLES = 1500
Rounds = dict[int, LaunchCounts]
Floats = npt.NDArray[np.float64]


def of(*launches: list[float]) -> Rounds:
    return {at: count_samples(np.array(each, np.float32)) for at, each in enumerate(launches, 1)}


def met(
    rng: np.random.Generator, rounds: int, ratio: float, samples: int = SAMPLES, others: int = 0
) -> tuple[Rounds, Rounds]:
    """Two programs with stalls in 3 % of their operations; what befalls a round befalls both, up to
    threefold, and each launch has a factor of its own."""
    machine = rng.exponential(0.4, rounds)
    sides = []
    for factor, size in ((ratio, samples), (1.0, others or samples)):
        base = rng.normal(0.0, 1.0, (rounds, size))
        stalls = rng.random((rounds, size)) < 0.03
        logs = np.where(stalls, 1.0 + 0.5 * base, 0.2 * base) + rng.normal(0.0, 0.03, rounds)[:, None]
        times = (100.0 * factor * np.exp(logs + machine[:, None])).astype(np.float32)
        sides.append({at: count_samples(row) for at, row in enumerate(times, 1)})
    return sides[0], sides[1]


def quantile_log_ratios(first: Rounds, second: Rounds, p: float) -> Floats:
    """Of the first side to the second, in each block of rounds that has both."""
    blocks = shared_blocks(first, second, p)
    return log_ratios_of(block_quantiles(first, blocks, p), block_quantiles(second, blocks, p))


@pytest.mark.parametrize(("p", "ratio"), [(0.9, 1.0), (0.99, 1.2), (0.99, 0.5)])
def test_intervals_cover_the_ratio(p: float, ratio: float) -> None:
    rng = np.random.default_rng(round(1000 * p * ratio))
    hits = 0
    for _ in range(TRIALS):
        _, interval = ratio_interval(quantile_log_ratios(*met(rng, 24, ratio), p), 0.95)
        assert interval is not None
        hits += interval.low <= ratio <= interval.high
    assert_covers(hits, TRIALS, 0.95)


@pytest.mark.parametrize(("few", "many"), [(1000, 20_000), (20_000, 1000), (400, 4000)])
def test_equal_programs_are_equal_whatever_samples_they_have(few: int, many: int) -> None:
    """The sample at rank n p lies below a p99 by 0.7 of the ten beyond it, where they are ten."""
    rng = np.random.default_rng(few)
    logs = [quantile_log_ratios(*met(rng, 100, 1.0, few, many), 0.99) for _ in range(20)]
    assert abs(np.median(np.concatenate(logs))) < 0.012
    covered = [ratio_interval(one, 0.95)[1] for one in logs]
    assert sum(one is not None and one.low <= 1.0 <= one.high for one in covered) >= 17


def test_all_rounds_are_in_some_block() -> None:
    first, second = met(np.random.default_rng(1), 75, 1.0, samples=27)
    (block,) = shared_blocks(first, second, 0.99)
    assert block == tuple(range(1, 76))
    blocks = shared_blocks(first, second, 0.9)
    assert [at for each in blocks for at in each] == list(range(1, 76))
    assert {len(each) for each in blocks} == {4, 5}


def test_what_befell_both_is_no_part_of_it() -> None:
    """The quotient of the two intervals that the columns have is several times wider."""
    rng = np.random.default_rng(3)
    narrower = []
    for _ in range(20):
        sides = met(rng, 24, 1.1)
        _, interval = ratio_interval(quantile_log_ratios(*sides, 0.99), 0.95)
        columns = [Pooled(list(side.values())).interval(0.99, 0.975) for side in sides]
        assert interval
        assert columns[0]
        assert columns[1]
        apart = np.log(columns[0].high / columns[1].low) - np.log(columns[0].low / columns[1].high)
        narrower.append(apart / np.log(interval.high / interval.low))
    assert np.median(narrower) > 2.0


def test_rounds_with_few_samples_are_read_together() -> None:
    """Ten samples beyond p90 are a hundred in all: four launches of 27."""
    sides = met(np.random.default_rng(1), 142, 1.0, samples=27)
    assert quantile_log_ratios(*sides, 0.9).size == 142 // 4
    assert quantile_log_ratios(*sides, 0.99).size == 142 // 38
    plenty = met(np.random.default_rng(1), 142, 1.0, samples=100)
    assert quantile_log_ratios(*plenty, 0.9).size == 142
    assert quantile_log_ratios(sides[0], plenty[1], 0.9).size == 142 // 4  # as many for both


def test_a_quantile_is_that_of_the_samples() -> None:
    slow, fast = [*range(2, 2002, 2)], [*range(1, 1001)]  # p90: 1800 and 900
    assert np.exp(quantile_log_ratios(of(slow, slow), of(fast, fast), 0.9)) == pytest.approx([2, 2], rel=2e-3)
    split = [slow[::10] for _ in range(10)]  # ten launches of 100: a block of one each
    assert quantile_log_ratios(of(*split), of(*[fast[::10]] * 10), 0.9).size == 10


def test_only_rounds_that_both_have_count() -> None:
    first, second = of([4.0] * 100, [8.0] * 100, [4.0] * 100), of([2.0] * 100, [2.0] * 100)
    del first[1]
    assert np.exp(quantile_log_ratios(first, second, 0.9)) == pytest.approx([4.0], rel=2e-3)
    assert quantile_log_ratios(first, {}, 0.9).size == 0


def test_quantiles_of_zero_have_no_ratio() -> None:
    assert quantile_log_ratios(of([0.0] * 200), of([5.0] * 200), 0.9).size == 0
    assert quantile_log_ratios(of([5.0] * 200), of([0.0] * 200), 0.9).size == 0


def test_a_round_with_too_few_samples_has_none() -> None:
    """The usual launch of this program has 200, one broke off after 20."""
    first = of(*[[4.0] * 200] * 4, [400.0] * 20)
    assert np.exp(quantile_log_ratios(first, of(*[[2.0] * 200] * 5), 0.9)) == pytest.approx(
        [2.0] * 4, rel=2e-3
    )


def with_layouts(
    rng: np.random.Generator, rounds: int, differ: float, samples: int
) -> tuple[Rounds, Rounds, dict[int, int]]:
    """Two equal programs whose 20 layouts differ, and which layout each round had."""
    layouts = np.concatenate([rng.permutation(20) for _ in range(-(-rounds // 20))])[:rounds]
    sides = []
    for _ in range(2):
        moved = (differ * rng.standard_normal(20))[layouts] + rng.normal(0.0, 0.005, rounds)
        times = 1000.0 * np.exp(moved[:, None] + rng.normal(0.0, 0.02, (rounds, samples)))
        sides.append({at: count_samples(row) for at, row in enumerate(times.astype(np.float32), 1)})
    return sides[0], sides[1], dict(enumerate((1 + layouts).tolist(), 1))


@pytest.mark.parametrize("samples", [100, 30])  # rounds a block: one, and four
def test_rounds_of_one_layout_say_more_of_that_layout_alone(samples: int) -> None:
    """As if each were independent, they called equal programs different in every third trial."""
    rng, trials, as_all, missed = np.random.default_rng(samples), 100, 0, 0
    for _ in range(trials):
        first, second, layouts = with_layouts(rng, 100, 0.03, samples)
        blocks = shared_blocks(first, second, 0.9, layouts)
        quantiles = block_quantiles(first, blocks, 0.9), block_quantiles(second, blocks, 0.9)
        _, found = pairs_of(*quantiles, blocks, layouts).interval(0.95)
        _, wrong = pairs_of(*quantiles, shared_blocks(first, second, 0.9)).interval(0.95)
        assert found is not None
        missed += not found.low <= 1.0 <= found.high
        as_all += wrong is not None and not wrong.low <= 1.0 <= wrong.high
    assert_covers(trials - missed, trials, 0.95)
    assert as_all > 15 or samples < 100


def test_no_two_blocks_share_a_layout_in_part() -> None:
    first, second, layouts = with_layouts(np.random.default_rng(1), 47, 0.0, 30)
    blocks = shared_blocks(first, second, 0.9, layouts)
    assert min(map(len, blocks)) >= 4
    told = [{layouts[at] for at in block} for block in blocks]
    assert sum(map(len, told)) == len(set().union(*told)) == 20
    assert sum(map(len, blocks)) == 47
    many = shared_blocks(*with_layouts(np.random.default_rng(1), 170, 0.0, 30)[:2], 0.9, {
        at: 1 + at % 20 for at in range(1, 171)
    })  # fmt: skip
    assert all(len({at % 20 for at in block}) == 1 for block in many)
    assert len(many) == 40


@pytest.mark.parametrize("rounds", [31, 33, 34, 37])
@pytest.mark.parametrize("seed", range(10))
def test_blocks_of_whole_layouts_are_as_many_as_there_can_be(rounds: int, seed: int) -> None:
    """Three rounds a block, of layouts with one and with two: no block could be cut in two."""
    first, second, layouts = with_layouts(np.random.default_rng(seed), rounds, 0.0, 40)
    blocks = shared_blocks(first, second, 0.9, layouts)
    assert sum(map(len, blocks)) == rounds
    assert all(3 <= len(block) <= 4 for block in blocks[:-1])
    assert len(blocks) >= rounds // 4
    assert len(blocks[-1]) <= 3 + 1 + 2


def test_blocks_are_as_ever_before_layouts_come_again_and_where_there_are_none() -> None:
    first, second, layouts = with_layouts(np.random.default_rng(1), 20, 0.0, 30)
    assert shared_blocks(first, second, 0.9, layouts) == shared_blocks(first, second, 0.9)
    many, others, _ = with_layouts(np.random.default_rng(1), 75, 0.0, 30)
    assert shared_blocks(many, others, 0.9, dict.fromkeys(many, 0)) == shared_blocks(many, others, 0.9)
