"""Programs with several threads beside others: who has a census, what is stored, who waits for rest."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import Bench, FakeClock, FakeLauncher, plan_for, workload

from tollbench.analysis import results
from tollbench.stats import FIRST_LOOK
from tollbench.store import Launch, RunFile

BURST_NS = 100_000_000
SLOWER = 2.0
MANY: dict[str, object] = {"budget_s": 20.0, "precision": 0.0001, "max_launches": 40}


class Load:
    """Somebody who works and sleeps by turns, a tenth of a second each; `always`: without sleep."""

    def __init__(self, clock: FakeClock, *, always: bool = False) -> None:
        self._clock = clock
        self._always = always

    def works(self) -> bool:
        return self._always or self._clock.ns // BURST_NS % 2 == 0

    def runnable(self) -> int:
        """toll itself, and the load."""
        return 1 + self.works()


def bench(path: Path, moved: float, *, threads: int = 2, scatter: float = 0.02, **settings: object) -> Bench:
    """Two contenders that wait, with so many threads, which take `moved` times as long beside a load."""
    offered = workload("one", "other")
    several = tuple(replace(one, footing={"threads": threads}) for one in offered.contenders)
    plan = plan_for(replace(offered, contenders=several), **MANY | settings)
    clock = FakeClock()
    load = Load(clock)
    # What a program costs is decided when it starts.
    scattered = random.Random(1)
    launcher = FakeLauncher(
        clock,
        lambda *_: 4e4 * (moved if load.works() else 1.0) * scattered.uniform(1.0 - scatter, 1.0 + scatter),
    )
    launcher.waits = 3
    return Bench(path, plan, launcher, runnable=load.runnable)


def launches(path: Path) -> list[Launch]:
    with RunFile.open(path) as run_file:
        return [one for case in run_file.cases() for one in run_file.launches(case.id)]


def has_census(launch: Launch) -> bool:
    return all(batch.others is not None for batch in launch.batches if not batch.warmup)


def begun_beside(path: Path, after: int) -> float:
    """Share of the launches of later rounds whose first batch had the load beside it."""
    late = [one for one in launches(path) if one.round > after]
    return sum(bool(next(b for b in one.batches if not b.warmup).others) for one in late) / len(late)


@pytest.mark.parametrize(("threads", "census"), [(2, True), (1, False)])
def test_batches_of_programs_with_several_threads_have_a_census(
    tmp_path: Path, threads: int, census: bool
) -> None:
    made = bench(tmp_path / "r.toll", 1.0, threads=threads)
    made.run()
    assert {has_census(one) for one in launches(made.path)} == {census}
    if census:
        assert {batch.others for one in launches(made.path) for batch in one.batches} >= {0, 1}


def test_launches_wait_for_others_to_rest_where_these_move_a_row(tmp_path: Path) -> None:
    """From the round on in which it is seen; values are then those of a machine without others."""
    made = bench(tmp_path / "r.toll", SLOWER)
    made.run()
    assert begun_beside(made.path, FIRST_LOOK) < 0.2
    with RunFile.open(made.path) as run_file:
        rows = results(run_file).workloads[0].rows
    assert [row.value for row in rows] == pytest.approx([2e4, 2e4], rel=0.02)  # of two units an iteration
    assert all("that others were in the way of" in str(row.footing["left_out"]) for row in rows)


def test_launches_wait_for_nobody_who_does_not_move_them(tmp_path: Path) -> None:
    made = bench(tmp_path / "r.toll", 1.1)
    made.run()
    assert begun_beside(made.path, FIRST_LOOK) > 0.3


def test_who_never_rests_is_not_waited_for_again_and_again(tmp_path: Path) -> None:
    """It rests in the first rounds, so that it is seen to move them, and then never again."""
    made = bench(tmp_path / "r.toll", SLOWER)
    rests, busy = made.runnable, Load(made.launcher.clock, always=True)

    def runnable() -> int:
        late = len(made.launcher.started) > 20
        return busy.runnable() if late else rests()

    made.runnable = runnable
    made.run()
    waits = [
        (after.started_ns - before.started_ns - before.wall_ns) / 1e9
        for before, after in zip(by_start(made.path), by_start(made.path)[1:], strict=False)
    ]
    assert sum(wait >= 0.2 for wait in waits) == 3


def by_start(path: Path) -> list[Launch]:
    with RunFile.open(path) as run_file:
        return sorted(run_file.all_launches(), key=lambda one: one.started_ns)


def test_time_that_was_waited_is_of_the_budget(tmp_path: Path) -> None:
    made = bench(tmp_path / "r.toll", SLOWER, scatter=0.1, max_launches=10_000)
    assert made.run() == "budget"
    assert made.elapsed_s() == pytest.approx(20.0, abs=1.0)


@pytest.mark.parametrize("interrupt_after", [30, 60])
def test_a_resumed_run_waits_too(tmp_path: Path, interrupt_after: int) -> None:
    made = bench(tmp_path / "r.toll", SLOWER)
    made.interrupt_after = interrupt_after
    assert made.run() == "interrupt"
    made.interrupt_after = 0
    made.run()
    assert begun_beside(made.path, FIRST_LOOK) < 0.2


def test_an_interrupt_ends_the_waiting(tmp_path: Path) -> None:
    made = bench(tmp_path / "r.toll", SLOWER)
    plain, waiting_since_ns = made.runnable, [0]

    def runnable() -> int:
        tasks = plain()
        waits = made.launcher.clock.ns - waiting_since_ns[0] == 1_000_000  # one of a wait, not of a batch
        waiting_since_ns[0] = made.launcher.clock.ns
        if tasks > 1 and waits:
            made.interrupt.request()
        return tasks

    made.runnable = runnable
    assert made.run() == "interrupt"
    assert made.launcher.clock.ns - waiting_since_ns[0] < 5_000_000
