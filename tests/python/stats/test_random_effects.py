"""The summary over hosts, by simulation: 2 to 50 hosts that differ by 0 to 10 %, equally precise or not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tollbench.stats.random_effects import across_hosts

LEVEL = 0.95
TRIALS = 1500
SLACK = 3.5 * (LEVEL * (1 - LEVEL) / TRIALS) ** 0.5  # what chance allows, once in some 4,000 cases
PRECISIONS = {"equal": (0.003,), "unequal": (0.001, 0.02), "one is noisy": (0.001, 0.001, 0.001, 0.001, 0.1)}


@pytest.mark.parametrize(
    ("hosts", "between", "precision"),
    list(itertools.product((2, 3, 10, 50), (0.0, 0.001, 0.01, 0.1), PRECISIONS)),
)
def test_both_intervals_cover_at_least_their_level(hosts, between, precision):
    chance = np.random.default_rng([hosts, int(between * 1e4), len(precision)])
    errors = np.resize(PRECISIONS[precision], hosts)
    truth = 0.02
    covered = predicted = 0
    for _ in range(TRIALS):
        values = truth + between * chance.standard_normal(hosts) + errors * chance.standard_normal(hosts)
        found = across_hosts(values, errors, LEVEL)
        covered += found.low <= truth <= found.high
        another = truth + between * chance.standard_normal()
        predicted += found.predicted_low <= another <= found.predicted_high
    assert covered / TRIALS >= LEVEL - SLACK
    assert predicted / TRIALS >= LEVEL - SLACK


@pytest.mark.parametrize("hosts", [2, 5, 50])
def test_hosts_that_agree_are_seldom_said_to_differ(hosts):
    chance = np.random.default_rng(hosts)
    errors = np.resize((0.001, 0.01), hosts)
    told = [
        across_hosts(errors * chance.standard_normal(hosts), errors, LEVEL).agree_p for _ in range(TRIALS)
    ]
    share = np.mean(np.array(told) < 0.05)
    assert 0.05 - SLACK < share < 0.05 + SLACK


def test_hosts_that_differ_are_told_and_by_how_much():
    chance = np.random.default_rng(7)
    errors = np.full(40, 0.002)
    values = 0.03 * chance.standard_normal(40) + errors * chance.standard_normal(40)
    found = across_hosts(values, errors, LEVEL)
    assert found.agree_p < 1e-6
    assert found.between == pytest.approx(0.03, rel=0.3)


def test_an_unknown_precision_leaves_open_whether_hosts_agree():
    found = across_hosts([0.01, 0.02], [float("nan"), 0.01], LEVEL)
    assert np.isnan(found.agree_p)
    assert found.low < 0.015 < found.high


def test_one_host_says_nothing_about_others():
    with pytest.raises(ValueError, match="two"):
        across_hosts([0.01], [0.001], LEVEL)
