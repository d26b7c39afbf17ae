"""Verdicts that contradict each other: signs as `ratio_interval` tells them, and what chance does."""

from __future__ import annotations

import numpy as np
import pytest

from tollbench.stats import contrary_by_chance, ratio_interval, separated_pairs, signs_of_many

LEVEL = 0.99


def tables(seed: int, effect: float = 0.0, number: int = 30) -> np.ndarray:
    """Shape (tables, rounds, 4): the last three columns are `effect` above the first, with rounds missing."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, 0.01, (number, 15, 4)) + np.array([0.0, effect, effect, effect])
    logs[rng.random(logs.shape) < 0.1] = np.nan
    return logs


def test_signs_are_those_of_each_tables_own_intervals() -> None:
    logs = tables(1, 0.012)
    signs, judged = signs_of_many(logs, LEVEL)
    for table, sign, told in zip(logs, signs, judged, strict=True):
        apart, _ = separated_pairs(table, LEVEL)
        assert ((sign != 0) == apart).all()
        for i in range(4):
            for j in range(4):
                if i == j:
                    continue
                differences = (table[:, i] - table[:, j])[np.isfinite(table[:, i] - table[:, j])]
                _, interval = ratio_interval(differences, LEVEL)
                assert told[i, j] == (interval is not None)
                expected = (
                    0 if interval is None else 1 if interval.low > 1 else -1 if interval.high < 1 else 0
                )
                assert sign[i, j] == expected
    assert (signs != 0).any()
    assert (signs == -signs.swapaxes(1, 2)).all()


def test_signs_heed_which_rounds_are_alike_in_each_table() -> None:
    """Each table has its own order of layouts, some another number of rounds: as if it stood alone."""
    rng = np.random.default_rng(11)
    logs = rng.normal(0.0, 0.01, (9, 48, 4))
    clusters = np.zeros((9, 48), dtype=np.int64)
    for number in range(8):  # the last table tells none
        rounds = 48 - number % 3
        logs[number, rounds:] = np.nan
        clusters[number, :rounds] = np.concatenate([rng.permutation(12) + 1 for _ in range(4)])[:rounds]
        logs[number, :rounds] += (
            rng.normal(0.0, 0.02, (13, 4))[clusters[number, :rounds]] + np.arange(4) * 0.01
        )
    logs[rng.random(logs.shape) < 0.05] = np.nan
    signs, judged = signs_of_many(logs, LEVEL, clusters)
    for table, own, sign, told in zip(logs, clusters, signs, judged, strict=True):
        for i in range(4):
            for j in range(i):
                known = np.isfinite(table[:, i] - table[:, j])
                _, interval = ratio_interval((table[:, i] - table[:, j])[known], LEVEL, own[known])
                assert told[i, j] == (interval is not None)
                high, low = (interval.high, interval.low) if interval else (1.0, 1.0)
                assert sign[i, j] == (1 if low > 1 else -1 if high < 1 else 0)
    assert (signs[:8] != 0).any()
    assert (signs_of_many(logs, LEVEL)[0] != 0).sum() > (signs != 0).sum(), "alike rounds say less"


def test_too_few_rounds_judge_nothing() -> None:
    signs, judged = signs_of_many(tables(2)[:, :4], LEVEL)
    assert not signs.any()
    assert not judged.any()


@pytest.mark.parametrize("effect", [0.0, 0.003])
def test_a_contradiction_that_chance_makes_is_called_one_as_seldom_as_promised(effect: float) -> None:
    """The same truth on all machines, 400 times over 40 of them."""
    level, called = 0.9, 0
    for trial in range(400):
        rng = np.random.default_rng((trial, 7))
        logs = rng.normal(0.0, 0.01, (40, 20, 2)) + np.array([0.0, effect])
        signs, judged = signs_of_many(logs, level)
        above, below = int((signs[:, 1, 0] > 0).sum()), int((signs[:, 1, 0] < 0).sum())
        called += contrary_by_chance(above, below, int(judged[:, 1, 0].sum()), level) <= 0.05
    assert called <= 400 * 0.05 + 2 * np.sqrt(400 * 0.05 * 0.95)


def test_a_contradiction_that_is_there_is_found() -> None:
    logs = np.random.default_rng(3).normal(0.0, 0.01, (40, 20, 2))
    logs[:8, :, 1] += 0.02
    logs[8:, :, 1] -= 0.02
    signs, judged = signs_of_many(logs, 0.95)
    above, below = int((signs[:, 1, 0] > 0).sum()), int((signs[:, 1, 0] < 0).sum())
    assert (above, below) == (8, 32)
    assert contrary_by_chance(above, below, int(judged[:, 1, 0].sum()), 0.95) < 1e-4


def test_few_of_many_are_nothing_unusual() -> None:
    assert contrary_by_chance(1, 39, 40, 0.95) > 0.5
    assert contrary_by_chance(0, 40, 40, 0.95) == 1.0
    # P(at least 2 of 3) for 0.1: 3 * 0.01 * 0.9 + 0.001
    assert contrary_by_chance(2, 3, 3, 0.8) == pytest.approx(0.028)
