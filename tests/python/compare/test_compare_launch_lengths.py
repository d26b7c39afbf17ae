"""Launches are as long as pairs need, by simulation and in launches of a fake program."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tollbench.compare.launch_lengths import FIRST_PAIRS, SHORT_BLOCKS, LaunchLengths

MOST = 50


def after(noise: float, pairs: int, *, seed: int = 1, sides: int = 2, threshold: float = 0.01) -> int:
    """Blocks of the launch after `pairs` whose log ratios scatter by `noise` about a change of 3 %."""
    rng = np.random.default_rng(seed)
    lengths = LaunchLengths(threshold)
    for _ in range(pairs):
        lengths.took([100.0, *(103.0 * np.exp(rng.normal(0.0, noise, sides - 1)))])
    return lengths.blocks(MOST)


def test_the_first_launches_are_short() -> None:
    assert {after(0.1, pairs) for pairs in range(FIRST_PAIRS)} == {SHORT_BLOCKS}


@pytest.mark.parametrize(("noise", "blocks"), [(0.0, SHORT_BLOCKS), (0.008, SHORT_BLOCKS), (0.04, MOST)])
@pytest.mark.parametrize("seed", range(5))
def test_long_ones_where_pairs_scatter(noise: float, blocks: int, seed: int) -> None:
    assert after(noise, 40, seed=seed) == blocks


def test_by_the_threshold() -> None:
    assert after(0.04, 40, threshold=0.05) == SHORT_BLOCKS
    assert after(0.008, 40, threshold=0.001) == MOST


def test_the_noisiest_of_many_sides_decides() -> None:
    lengths = LaunchLengths(0.01)
    rng = np.random.default_rng(1)
    for noise in rng.normal(0.0, 0.04, 40):
        lengths.took([100.0, 100.0, 100.0 * math.exp(noise)])
    assert lengths.blocks(MOST) == MOST


def test_a_side_that_is_out_says_nothing_of_the_others() -> None:
    lengths = LaunchLengths(0.01)
    rng = np.random.default_rng(1)
    for noise in rng.normal(0.0, 0.04, 40):
        lengths.took([100.0, 100.0, 100.0 * math.exp(noise)])
    for _ in range(40):
        lengths.took([100.0, 100.0, math.nan])
    assert lengths.blocks(MOST) == SHORT_BLOCKS
    lengths.took([100.0, math.nan, math.nan])
    assert lengths.blocks(MOST) == SHORT_BLOCKS


def test_never_more_than_are_worth_it() -> None:
    assert LaunchLengths(0.01).blocks(20) == 20
