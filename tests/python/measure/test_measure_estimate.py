"""How well ratios will be known in the end, told once each workload has had its first rounds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from test_measure_rounds import bench

from tollbench.analysis.values import LaunchValue
from tollbench.cli.measuring import _what_the_time_buys
from tollbench.measure.estimate import expected
from tollbench.measure.events import Expected, TimePlanned
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import bonferroni, median_interval
from tollbench.words import Case, Kind, Status

ROUNDS, COST_S = 12, 0.05
SETTINGS = Settings(budget_s=600.0, launch_s=0.1, max_launches=10_000, precision=1e-9)


def workload(name: str, noise: np.ndarray, cost_s: float = COST_S) -> WorkloadState:
    """Rows whose logs have so much noise, shape (rounds, rows); each is 1.5 times the one before."""
    cases = []
    for row, column in enumerate(noise.T):
        case = Case(name, f"row{row}", "host", {}, Kind.BATCH, "ns", "task", "C++", "std", 7, {})
        state = CaseState(row, case, None, Status.OK, "")  # type: ignore[arg-type]
        values = 10.0 * 1.5**row * np.exp(column)
        state.values = {at + 1: LaunchValue(float(value)) for at, value in enumerate(values)}
        state.cost_ns = round(1e9 * cost_s / noise.shape[1])
        cases.append(state)
    return WorkloadState(name, cases, round=len(noise), rounds_wanted=10_000)


def half_width(noise: np.ndarray) -> float:
    """Of the median ratio to the first row, as a table of so many rounds has it."""
    rows = noise.shape[1]
    level = bonferroni(0.95, rows * (rows - 1) // 2)
    found = [median_interval(noise[:, row] - noise[:, 0], level) for row in range(1, rows)]
    return float(np.median([(one.high - one.low) / 2 for one in found if one is not None]))


@pytest.mark.parametrize("tails", [3, 30])
@pytest.mark.parametrize("rows", [2, 6])
def test_what_is_expected_of_first_rounds_is_right_within_half_as_much_again(rows: int, tails: int) -> None:
    rng = np.random.default_rng([rows, tails])
    right = 0
    for _ in range(200):
        noise = 0.01 * rng.standard_t(tails, (120, rows))
        (found,) = expected([workload("a/b", noise[:ROUNDS])], SETTINGS, COST_S * (120 - ROUNDS))
        assert found.rounds == 120
        assert found.half_width is not None
        right += 1 / 1.5 <= math.log1p(found.half_width) / half_width(noise) <= 1.5
    assert right >= (100 if rows == 2 else 150)  # of twelve values of one ratio no more is known


def test_time_is_shared_as_it_will_be_spent() -> None:
    """Noise eight times as large has four times the rounds, where a round costs as much."""
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 1, (ROUNDS, 3))
    calm, wild = workload("a/calm", 0.01 * noise), workload("a/wild", 0.08 * noise)
    calm.scatter, wild.scatter = 0.01, 0.08
    first, second = expected([calm, wild], SETTINGS, 20.0)
    assert second.rounds == pytest.approx(4 * first.rounds, rel=0.02)
    assert (first.rounds + second.rounds - 2 * ROUNDS) * COST_S == pytest.approx(20.0, rel=0.02)


def test_no_more_rounds_are_expected_than_are_wanted() -> None:
    noise = np.random.default_rng(5).normal(0, 0.01, (ROUNDS, 2))
    one, stopped = workload("a/one", noise), workload("a/stopped", noise)
    one.rounds_wanted, stopped.stopped_by = 30, "precision"
    found = expected([one, stopped], SETTINGS, math.inf)
    assert [each.rounds for each in found] == [30, ROUNDS]


def test_a_lone_row_has_no_ratio() -> None:
    (found,) = expected([workload("a/b", np.zeros((ROUNDS, 1)))], SETTINGS, 5.0)
    assert found.half_width is None


def test_a_run_tells_it_once(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", budget_s=20.0)
    made.run()
    told = [event for event in made.events if isinstance(event, TimePlanned)]
    assert [one.workload for event in told for one in event.workloads] == ["a/b"]


def test_it_is_said_best_known_first() -> None:
    rows = Expected("b/wide", 30, 0.12), Expected("a/alone", 30, None), Expected("a/narrow", 90, 0.0042)
    said = " ".join(_what_the_time_buys(TimePlanned(rows, 66.4)).split())
    assert said == (
        "expected of the next 66 s, each workload's median ratio: a/narrow ±0.42 %, b/wide ±12 %;"
        " no ratios: a/alone"
    )
    assert "what is left" in _what_the_time_buys(TimePlanned(rows, math.inf))
    assert (
        _what_the_time_buys(TimePlanned(rows[1:2], 5.0)) == "no ratio will be known in the time that is left"
    )
