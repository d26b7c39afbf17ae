"""Batches of programs with several threads that count: those that nobody worked beside."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run
from made_runs import batch as made_batch
from made_runs import launch as made_launch

from tollbench import analysis
from tollbench.analysis.own_core import (
    FEWEST_MOVED,
    FEWEST_ROUNDS,
    beside_others_all_the_same,
    moved_by_others,
    on_own_core,
)
from tollbench.analysis.values import ByRound, LaunchValue, launch_value, log_rounds
from tollbench.stats import Interval, paired_differences, ratio_interval
from tollbench.store import RunFile
from tollbench.words import Purpose


def value(blocks: Sequence[float], others: Sequence[int]) -> LaunchValue:
    return LaunchValue(float(np.median(blocks)), np.array(blocks), others=np.array(others, dtype=float))


def rounds(made: LaunchValue, count: int = 30) -> dict[int, LaunchValue]:
    return dict.fromkeys(range(count), made)


def chosen(*cases: ByRound, tables: Sequence[Sequence[int]] = ()) -> list[dict[int, LaunchValue]]:
    return on_own_core(cases, ["host"] * len(cases), tables or [range(len(cases))], 0.95)


def all_count(cases: Sequence[ByRound]) -> bool:
    return all(one.own_core is None for case in cases for one in case.values())


MIXED = value([10.0, 19.0, 11.0, 20.0], [0, 1, 0, 2])
ALONE = value([10.0, 10.0], [0, 0])
AWAY = value([20.0, 20.0], [1, 1])


def quiet_in(numbers: set[int], count: int = 30) -> dict[int, LaunchValue]:
    return {number: ALONE if number in numbers else AWAY for number in range(count)}


def test_batches_beside_others_do_not_count() -> None:
    (found,) = chosen(rounds(MIXED))
    assert (found[3].ns, found[3].blocks.tolist(), found[3].counts) == (10.5, [10.0, 11.0], True)


def test_launches_without_such_a_batch_are_gaps() -> None:
    (found,) = chosen(rounds(ALONE) | {7: AWAY})
    assert not found[7].counts
    assert np.isfinite(log_rounds([found])).sum() == 29


def test_who_is_there_all_the_time_is_nobody_to_be_left_out() -> None:
    """What all batches hold is no moment without others, however usual it is."""
    assert all_count(chosen(rounds(AWAY)))
    assert beside_others_all_the_same([rounds(AWAY)]) == 1.0


def test_tables_choose_each_for_itself() -> None:
    """More threads than processors have no census, as what others took is in them in any case."""
    without = MIXED._replace(others=np.empty(0))
    found = chosen(rounds(MIXED), rounds(without), tables=[[0], [1]])
    assert (all_count(found[:1]), all_count(found[1:])) == (False, True)
    assert all_count(chosen(rounds(MIXED), rounds(without))), "these would meet what those do not"


def test_where_nobody_was_there_a_table_is_as_any_other() -> None:
    """Of four batches in two states their median is none that any operation took."""
    states = value([8.8, 16.7, 8.8, 16.7], [0, 0, 0, 0])._replace(wall_ns=8.8)
    found = chosen(rounds(states), rounds(states))
    assert all_count(found)
    assert found[0][0].ns == 8.8
    assert not all_count(chosen(rounds(states), rounds(states) | {3: AWAY})), "all rows alike"


def test_a_table_keeps_all_batches_where_a_launch_has_no_census() -> None:
    """A run of an older toll that was gone on with."""
    before = MIXED._replace(others=np.empty(0))
    assert all_count(chosen(rounds(MIXED), rounds(MIXED) | {0: before}))
    assert all_count(chosen(rounds(MIXED), {}))


def test_where_too_few_rounds_are_left_all_batches_count() -> None:
    for left in (FEWEST_ROUNDS - 1, FEWEST_ROUNDS):
        some = {number * 30 // left for number in range(left)}  # all along the run
        assert all_count(chosen(quiet_in(some))) is (left < FEWEST_ROUNDS)
    assert all_count(chosen(quiet_in(set(range(20)), 40))), "nobody was beside it in the first half alone"


def test_batches_are_not_left_out_at_the_cost_of_an_interval() -> None:
    """Of sixteen launches that are left and had two layouts those of one say nearly the same."""
    left = set(range(0, 32, 2))

    def row(layouts: int) -> dict[int, LaunchValue]:
        """Layouts differ by ten per cent, launches of one by a tenth of a per cent."""
        found = {}
        for number, made in quiet_in(left, 32).items():
            layout = 1 + number // 2 % layouts
            costs = made.wall_blocks * (1.0 + 0.1 * layout) * (1.0 + 1e-3 * (number % 7))
            found[number] = made._replace(wall_blocks=costs, wall_ns=float(costs[0]), code_layout=layout)
        return found

    for layouts, counting in ((16, False), (2, True)):
        other = {
            number: made._replace(code_layout=row(layouts)[number].code_layout)
            for number, made in quiet_in(left, 32).items()
        }
        assert all_count(chosen(row(layouts), other)) is counting


def test_by_how_much_others_move_a_table() -> None:
    """Its middle row: one of three may seem moved by chance."""
    assert moved_by_others([rounds(MIXED)]) == pytest.approx(19.5 / 10.5)
    quicker = value([20.0, 10.0], [0, 1])
    assert moved_by_others([rounds(quicker)]) == 2.0, "either way"
    assert moved_by_others([rounds(ALONE), rounds(ALONE), rounds(quicker)]) == 1.0
    assert moved_by_others([rounds(ALONE), rounds(quicker), rounds(quicker)]) == 2.0
    for beside in (FEWEST_MOVED - 1, FEWEST_MOVED):
        few = rounds(ALONE) | dict.fromkeys(range(beside), AWAY)
        assert moved_by_others([few]) == (2.0 if beside == FEWEST_MOVED else 1.0)
    assert moved_by_others([rounds(MIXED), rounds(MIXED._replace(others=np.empty(0)))]) == 1.0
    assert moved_by_others([]) == 1.0


def test_operations_shorter_than_the_clocks_step_are_not_moved() -> None:
    """Two threads that somebody has run one after the other do not wait for each other at all."""
    assert moved_by_others([rounds(value([40.0, 0.0], [0, 1]))]) == 1.0


def test_a_share_of_batches_beside_others_is_told_where_all_count() -> None:
    few = quiet_in({0, 10, 20})
    assert all_count(chosen(few))
    assert beside_others_all_the_same([few]) == pytest.approx(0.9)
    assert beside_others_all_the_same(chosen(quiet_in(set(range(0, 30, 2))))) == 0.0, "left out"
    assert beside_others_all_the_same([few, rounds(MIXED._replace(others=np.empty(0)))]) == 0.0
    assert beside_others_all_the_same([]) == 0.0


def test_a_launch_has_a_census_around_all_of_its_timed_batches_or_none() -> None:
    def made(*others: int | None) -> LaunchValue:
        timed = [made_batch(100.0, others=each, gauge_ns=2000.0, cpu_ns=1.0) for each in others]
        batches = (made_batch(300.0, warmup=True), *timed)
        return launch_value(made_launch(1, Purpose.MEASURE, 1, batches=batches), None)

    assert made(0, 2).others.tolist() == [0.0, 2.0]
    assert made(0, None).others.size == 0
    assert (made(0, 2).gauges.size, made(0, None).gauges.size) == (0, 2), "one of the two tells"


@pytest.mark.parametrize(("every", "left_out", "told"), [(1, "", 0), (2, "50 %", 0), (10, "", 1)])
def test_a_report_says_what_was_left_out_or_that_nothing_was(
    tmp_path: Path, every: int, left_out: str, told: int
) -> None:
    made = Made("a", [10.0] * 30, batches={"others": 0}, footing={"threads": 2})
    path = make_run(tmp_path / "made.toll", [made])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE census SET others = 2 WHERE batch_id IN (SELECT batch.id FROM batch JOIN launch ON"
            " launch.id = launch_id WHERE purpose = 'measure' AND round % ? != 0)",
            (every,),
        )
    with RunFile.open(path) as run_file:
        found = analysis.results(run_file)
    (row,) = found.workloads[0].rows
    text = f"{left_out} of batches, that others were in the way of; {30 // every} of 30 launches count"
    assert row.footing.get("left_out") == (text if left_out else None)
    warnings = [line for line in found.warnings if "others were in the way" in line]
    assert len(warnings) == told
    assert all("In up to 90 % of the batches" in line for line in warnings)


@pytest.mark.parametrize(("profile", "told"), [("quick", 1), ("check", 0)])
def test_settings_that_are_not_alike_are_told(tmp_path: Path, profile: str, told: int) -> None:
    """Of three one leaves batches out, one has too few rounds for that, and one had nobody in its way, as its
    report says by nothing."""
    every = {1: 2, 2: 10, 4: 1}  # by threads: one round in so many had nobody there
    made = [
        Made("a", [10.0] * 30, {"threads": threads}, batches={"others": threads}, footing={"threads": 2})
        for threads in every
    ]
    path = make_run(tmp_path / "made.toll", made)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for threads, each in every.items():
            connection.execute(
                "UPDATE census SET others = 0 WHERE others = ? AND batch_id IN (SELECT batch.id FROM batch"
                " JOIN launch ON launch.id = launch_id WHERE round % ? = 0)",
                (threads, each),
            )
        connection.execute("UPDATE run SET profile = ?", (profile,))
    with RunFile.open(path) as run_file:
        warnings = analysis.results(run_file).warnings
    found = [line for line in warnings if "compare rows within a setting" in line]
    assert len(found) == told
    assert all("all count in 1 of 3" in line for line in found)
    assert sum("others were in the way, and too few" in line for line in warnings) == told


class Machine:
    """Two processors, of which somebody takes one in bursts, as long as some launches, as a census tells."""

    def __init__(self, seed: int, busy: float) -> None:
        self._random = np.random.default_rng(seed)
        self._busy = busy
        self._now = bool(self._random.random() < busy)

    def launch(self, pair: tuple[float, float]) -> LaunchValue:
        """Four batches of a program that takes (alone, beside somebody) ns, in a launch of its own."""
        layout = self._random.normal(0, 0.02)
        blocks, others = [], []
        for _ in range(4):
            before, during = self._now, self._step()
            after = self._step()
            blocks.append(float(pair[during] * np.exp(layout + self._random.normal(0, 0.03))))
            late = self._random.random() < 0.05  # something of the machine's own
            others.append((before or after) + late)
        return value(blocks, others)

    def _step(self) -> bool:
        if self._random.random() < 0.08:
            self._now = bool(self._random.random() < self._busy)
        return self._now


START, POOL = (16.7, 8.9), (8.2, 2.1)  # as seen, us: on another processor, and on that of its maker


def compared(
    seed: int, costs: Sequence[tuple[float, float]], busy: float, *, choosing: bool = True
) -> tuple[Interval, bool]:
    """The interval of the last over the first, and whether batches were left out for it."""
    machine = Machine(seed, busy)
    launched = [[machine.launch(pair) for pair in costs] for _ in range(40)]
    cases = [dict(enumerate(each[at] for each in launched)) for at in range(len(costs))]
    found = chosen(*cases) if choosing else [dict(case) for case in cases]
    logs = log_rounds(found)
    _, interval = ratio_interval(paired_differences(logs[:, -1], logs[:, 0]), 0.95)
    assert interval is not None
    return interval, not all_count(found)


def test_a_ratio_is_that_of_a_machine_without_others() -> None:
    truth = START[0] / POOL[0]
    both = [compared(seed, [POOL, START], 0.4) for seed in range(200)]
    found = [interval for interval, left in both if left]
    before = [compared(seed, [POOL, START], 0.4, choosing=False)[0] for seed in range(200)]
    assert len(found) >= 100
    assert sum(one.low <= truth <= one.high for one in found) >= 0.92 * len(found)
    narrow, wide = (np.median([one.high / one.low - 1 for one in each]) for each in (found, before))
    assert wide > 5.0 * narrow


@pytest.mark.parametrize("busy", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("rows", [2, 4])
def test_equal_programs_are_not_called_different(busy: float, rows: int) -> None:
    """Also where so few batches are left that now the one and now the other choice is made."""
    found = [compared(seed, [START] * rows, busy)[0] for seed in range(300)]
    assert sum(not one.low <= 1.0 <= one.high for one in found) <= 0.075 * len(found)
