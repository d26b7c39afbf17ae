"""What a group's rounds say of each commit beside both launches of the reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tollbench.history.group_rounds import USUAL_SHARE, GroupRounds

COMMITS = 8


def heard(rows: list[dict[str, Any]]) -> GroupRounds:
    rounds = GroupRounds(lambda _record: None)
    for one in rows:
        rounds(one)
    return rounds


def drawn(rng: np.random.Generator, count: int, reference: float, own: float) -> list[dict[str, Any]]:
    """Rounds of both launches of the reference and of commits that are as fast, in random order."""
    rows = []
    for _ in range(count):
        logs = np.concatenate((rng.normal(0.0, reference, 2), rng.normal(0.0, own, COMMITS)))
        order = rng.permutation(2 + COMMITS).tolist()
        rows.append({"values": {"sum": np.exp(logs).tolist()}, "order": {"sum": order}})
    return rows


@pytest.mark.parametrize(
    ("reference", "own", "share"),
    [(0.01, 0.01, 1.0 / 3.0), (0.0, 0.01, 0.0), (0.03, 0.01, 0.82)],
    ids=["alike", "calm reference", "loud reference"],
)
def test_what_commits_share_is_seen_in_their_rounds(reference: float, own: float, share: float) -> None:
    """Of a ratio to the mean of two launches, the reference's variance counts half."""
    rounds = heard(drawn(np.random.default_rng(1), 60, reference, own))
    assert rounds.shared("sum") == pytest.approx(share, abs=0.15)
    assert rounds.shared("unknown") == pytest.approx(USUAL_SHARE)
    assert rounds.rounds == 60


def test_errors_are_those_of_ratios_to_both_launches() -> None:
    """Of many groups: values scatter as their error says, and less than beside one launch alone."""
    rng = np.random.default_rng(2)
    values, errors, alone = [], [], []
    for _ in range(300):
        rows = drawn(rng, 20, 0.01, 0.01)
        rounds = heard(rows)
        values.append(math.log(rounds.ratio("sum", 2) or 0.0))
        errors.append(rounds.error("sum", 2))
        logs = np.log(np.array([one["values"]["sum"] for one in rows]))
        alone.append(float(np.median(logs[:, 2] - logs[:, 0])))
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.15)
    assert np.std(values) < 0.95 * np.std(alone)
    assert abs(np.mean(values)) < 4.0 * np.std(values) / math.sqrt(300)


def test_what_coming_late_costs_is_no_ones() -> None:
    """Each place later costs 0.2 %, and seven rounds of ten begin with the reference."""
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(60):
        order = list(range(2 + COMMITS))
        if rng.random() > 0.7:
            order.reverse()
        logs = [0.002 * order.index(side) + rng.normal(0.0, 0.001) for side in range(2 + COMMITS)]
        rows.append({"values": {"sum": np.exp(logs).tolist()}, "order": {"sum": order}})
    last = 1 + COMMITS
    uncorrected = np.median([math.log(one["values"]["sum"][last] / one["values"]["sum"][0]) for one in rows])
    assert abs(uncorrected) > 0.015
    assert abs(math.log(heard(rows).ratio("sum", last) or 0.0)) < 0.003


def test_a_round_without_a_launch_of_the_reference_counts_by_the_other_one() -> None:
    rows = [{"values": {"sum": [None if number % 2 else 100.0, 100.0, 110.0]}} for number in range(10)]
    assert heard(rows).ratio("sum", 2) == pytest.approx(1.1)


def test_a_commit_without_a_value_has_no_ratio() -> None:
    rows: list[dict[str, Any]] = [{"values": {"sum": [100.0, 100.0, 110.0, None]}} for _ in range(10)]
    rounds = heard(rows)
    assert rounds.ratio("sum", 3) is None
    assert rounds.ratio("other", 2) is None
    assert rounds.ratio("sum", 2) == pytest.approx(1.1)
