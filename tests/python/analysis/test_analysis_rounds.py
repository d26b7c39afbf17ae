"""Rounds of one layout are alike: counted as if they were not, what two links differ by would pass for what
their programs do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run

from tollbench import analysis
from tollbench.analysis.rounds import Rounds, layouts_of, rounds_of
from tollbench.analysis.values import ByRound, LaunchValue
from tollbench.stats import bonferroni, letters, separated_pairs
from tollbench.stats.order_statistics import Floats
from tollbench.store import RunFile
from tollbench.words import CODE_LAYOUT

LAYOUTS = 20
LEVEL = 0.95


def case(values: Sequence[float], layouts: Sequence[int]) -> ByRound:
    return {
        number: LaunchValue(value, code_layout=layout)
        for number, (value, layout) in enumerate(zip(values, layouts, strict=True), 1)
        if not np.isnan(value)
    }


def test_pairs_know_the_layout_of_their_round() -> None:
    first = case([1.0, 2.0, 4.0, 8.0], [1, 2, 1, 2])
    second = case([2.0, np.nan, 8.0, 8.0], [1, 2, 1, 2])
    rounds = rounds_of([first, second])
    assert rounds.numbers.tolist() == [1, 2, 3, 4]
    assert rounds.layouts.tolist() == [1, 2, 1, 2]
    pairs = rounds.pairs(1, 0)
    assert np.exp(pairs.logs).tolist() == pytest.approx([2.0, 2.0, 1.0])
    assert pairs.clusters is not None
    assert pairs.clusters.tolist() == [1, 1, 2]
    assert rounds_of([first, second], last=2).numbers.tolist() == [1, 2]


def test_programs_without_layouts_take_those_of_their_rounds() -> None:
    in_go = case([1.0, 2.0, 4.0, 8.0], [0, 0, 0, 0])
    in_cpp = case([2.0, 2.0, 8.0, np.nan], [1, 2, 1, 2])
    assert layouts_of([in_go, in_cpp]) == {1: 1, 2: 2, 3: 1, 4: 0}  # nobody tells of the last


def test_a_strangers_two_layouts_in_one_round_are_none() -> None:
    assert layouts_of([case([1.0, 2.0], [1, 2]), case([1.0, 2.0], [1, 1])]) == {1: 1, 2: 0}


def table(rng: np.random.Generator, rows: int, rounds: int, layout: float, noise: float) -> list[ByRound]:
    """Equal rows, each with layouts of its own, in a passes' order of their numbers."""
    numbers = np.concatenate([rng.permutation(LAYOUTS) for _ in range(-(-rounds // LAYOUTS))])[:rounds]
    moved = layout * rng.standard_normal((LAYOUTS, rows))
    slow = 0.02 * rng.standard_normal((rounds, 1))  # what befalls a round
    logs = moved[numbers] + slow + noise * rng.standard_normal((rounds, rows))
    return [case([*np.exp(column)], [*(1 + numbers)]) for column in logs.T]


def any_called_different(rounds: Rounds, *, layouts: bool = True) -> bool:
    rows = rounds.logs.shape[1]
    level = bonferroni(LEVEL, rows * (rows - 1) // 2)
    apart, judged = separated_pairs(rounds.logs, level, rounds.layouts if layouts else None)
    assert judged
    return len(set.intersection(*map(set, letters(apart)))) == 0


@pytest.mark.parametrize(("layout", "noise"), [(0.0, 0.01), (0.01, 0.01), (0.05, 0.005), (0.3, 0.01)])
@pytest.mark.parametrize("rounds", [30, 60, 150])
def test_equal_rows_are_told_apart_in_one_table_of_twenty_at_most(
    layout: float, noise: float, rounds: int
) -> None:
    rng = np.random.default_rng(rounds + round(1000 * layout))
    trials = 300
    tables = [rounds_of(table(rng, 6, rounds, layout, noise)) for _ in range(trials)]
    wrong = sum(any_called_different(one) for one in tables)
    assert wrong <= 24  # at a rate of one in twenty fewer than one in a hundred would have more
    if layout > 2 * noise and rounds > 2 * LAYOUTS:
        # Else the simulation would show nothing: by rounds a third of the tables and more would be wrong.
        assert sum(any_called_different(one, layouts=False) for one in tables) > 0.3 * trials


@pytest.mark.parametrize("two_modes", [False, True])
def test_intervals_over_layouts_cover_the_ratio(two_modes: bool) -> None:
    """Of the middle of all layouts that might have been drawn: normal, or one in four slower by 30 %."""
    rng = np.random.default_rng(11)
    passes, noise = 4, 0.005

    def drawn(count: int) -> Floats:
        return np.where(rng.random(count) < 0.25, 0.3, 0.0) if two_modes else rng.normal(0.0, 0.04, count)

    many = noise * rng.standard_normal((2, 100_000))
    true = float(np.exp(np.median(drawn(100_000) + many[0] - many[1])))
    covered, trials = 0, 400
    for _ in range(trials):
        numbers = np.concatenate([rng.permutation(LAYOUTS) for _ in range(passes)])
        first = noise * rng.standard_normal(numbers.size)
        second = drawn(LAYOUTS)[numbers] + noise * rng.standard_normal(numbers.size)
        cases = [case([*np.exp(each)], [*(1 + numbers)]) for each in (first, second)]
        _, interval = rounds_of(cases).pairs(1, 0).interval(LEVEL)
        assert interval is not None
        covered += interval.low <= true <= interval.high
    assert covered >= 0.93 * trials


def made(contender: str, logs: Floats, layouts: Sequence[int]) -> list[Made]:
    return [Made(contender, np.exp(logs).tolist(), layouts=layouts)]


def test_a_report_says_how_many_layouts_and_which_rows_they_move(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    numbers = np.concatenate([rng.permutation(LAYOUTS) for _ in range(4)])
    moved = 0.1 * rng.standard_normal(LAYOUTS)
    noise = 0.002 * rng.standard_normal((3, numbers.size))
    layouts = (1 + numbers).tolist()
    cases = [
        *made("steady", 4.0 + noise[0], layouts),
        *made("moved", 4.5 + moved[numbers] + noise[1], layouts),
        replace(  # a stranger's file says what it likes
            made("other", 5.0 + noise[2], [0] * numbers.size)[0], footing={"code_layouts": "many"}
        ),
    ]
    with RunFile.open(make_run(tmp_path / "r.toll", cases)) as run_file:
        found = analysis.results(run_file)
    (workload,) = found.workloads
    rows = {row.contender: row for row in workload.rows}
    assert [rows[name].footing.get("code_layouts") for name in ("steady", "moved", "other")] == [20, 20, None]
    assert CODE_LAYOUT not in rows["moved"].footing
    moved_row, steady = rows["moved"], rows["steady"]
    assert moved_row.ratio_low is not None
    assert moved_row.ratio_high is not None
    # Four launches of each layout: by rounds it would reach 1 % to each side.
    assert moved_row.ratio_high / moved_row.ratio_low > 1.05
    assert steady.layout_spread == 0.0
    assert moved_row.layout_spread == pytest.approx(float(moved.std(ddof=1)), rel=0.2)
    assert rows["other"].layout_spread is None
    told = [warning for warning in found.warnings if "linker" in warning]
    assert len(told) == 1
    assert "moved (±" in told[0]
    assert "steady" not in told[0]
