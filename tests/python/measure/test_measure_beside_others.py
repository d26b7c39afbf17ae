"""Programs with several threads beside others: who has a census, what is stored, who waits for rest."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from fake_machine import CANARY, Bench, FakeClock, FakeLauncher, plan_for, workload

from tollbench.analysis import results
from tollbench.measure.state import spent_ns
from tollbench.stats import FIRST_LOOK
from tollbench.store import Launch, RunFile
from tollbench.words import WAITED_NS, Purpose

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


def bench(
    path: Path,
    moved: float,
    *,
    threads: int | Sequence[int | str] = 2,
    scatter: float = 0.02,
    **settings: object,
) -> Bench:
    """Two contenders that wait, with so many threads, which take `moved` times as long beside a load."""
    offered = workload("one", "other")
    told = [threads] * 2 if isinstance(threads, int) else threads
    several = tuple(
        replace(one, footing={"threads": each}) for one, each in zip(offered.contenders, told, strict=True)
    )
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


def begun_beside(path: Path, after: int, until: int = 1000) -> float:
    """Share of the launches of later rounds whose first batch had the load beside it."""
    late = [one for one in launches(path) if after < one.round <= until]
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


@pytest.mark.parametrize("interrupt_after", [0, 400])
def test_time_that_was_waited_is_of_the_budget(tmp_path: Path, interrupt_after: int) -> None:
    """Also of what a run had before it was gone on with."""
    made = bench(tmp_path / "r.toll", SLOWER, scatter=0.1, max_launches=10_000)
    made.interrupt_after, elapsed_s = interrupt_after, 0.0
    if interrupt_after:
        assert made.run() == "interrupt"
        assert sum(spent_ns(one) - one.wall_ns for one in launches(made.path)) > 0.6e9
        made.interrupt_after, elapsed_s = 0, made.elapsed_s()
    assert made.run() == "budget"
    assert elapsed_s + made.elapsed_s() == pytest.approx(20.0, abs=0.5)


@pytest.mark.parametrize("waited", [True, -5, 2.5, "5", None])
def test_a_strangers_wait_counts_for_nothing_or_little(tmp_path: Path, waited: object) -> None:
    made = bench(tmp_path / "r.toll", 1.0)
    made.run()
    launch = launches(made.path)[0]
    assert spent_ns(launch._replace(footing={WAITED_NS: waited})) == launch.wall_ns
    told = launch._replace(footing={WAITED_NS: 5}, batches=())
    assert spent_ns(told) == launch.wall_ns + 5, "a failed one, too"
    assert spent_ns(launch._replace(footing={WAITED_NS: 10**15})) < launch.wall_ns + 1e9


@pytest.mark.parametrize("interrupt_after", [60, 90])
def test_a_resumed_run_waits_at_once(tmp_path: Path, interrupt_after: int) -> None:
    """It sees from the launches that are there whom others move."""
    made = bench(tmp_path / "r.toll", SLOWER)
    made.interrupt_after = interrupt_after
    assert made.run() == "interrupt"
    had = max(one.round for one in launches(made.path))
    assert had > FIRST_LOOK
    made.interrupt_after = 0
    made.run()
    assert begun_beside(made.path, had) < 0.2
    assert begun_beside(made.path, had, until=had + 6) < 0.2


def test_an_interrupt_ends_the_waiting(tmp_path: Path) -> None:
    made = bench(tmp_path / "r.toll", SLOWER)
    plain, clock, before_ns, asked_ns = made.runnable, made.launcher.clock, [0], [0]

    def runnable() -> int:
        tasks, waits = plain(), clock.ns - before_ns[0] == 1_000_000  # one of a wait, not of a batch
        before_ns[0] = clock.ns
        if tasks > 1 and waits and not asked_ns[0]:
            made.interrupt.request()
            asked_ns[0] = clock.ns
        return tasks

    made.runnable = runnable
    assert made.run() == "interrupt"
    assert asked_ns[0] > 0
    assert clock.ns - asked_ns[0] < 3_000_000


@pytest.mark.parametrize(
    ("threads", "cpus", "census"),
    [
        ([2, 2], 2, [True, True]),
        ([2, 1], 2, [False, False]),  # one of them has no use for it, and the table no rule of its own
        ([2, 4], 2, [False, False]),  # more threads than processors
        ([2, 4], 8, [True, True]),
        (["one at a time", "2"], 2, [True, True]),
        ([2, 2], 0, [False, False]),  # toll may not use all processors
    ],
)
def test_rows_of_a_table_have_a_census_all_or_none(
    tmp_path: Path, threads: list[int | str], cpus: int, census: list[bool]
) -> None:
    made = bench(tmp_path / "r.toll", 1.0, threads=threads, max_launches=6, min_launches=6)
    made.cpus = cpus
    made.run()
    with RunFile.open(made.path) as run_file:
        found = [{has_census(one) for one in run_file.launches(case.id)} for case in run_file.cases()]
    assert found == [{each} for each in census]


@pytest.mark.parametrize(
    ("threads", "tasks", "others"),
    [
        ([2, 4], 7, {0}),
        ([2, 4], 8, {1}),
        (["one at a time", "another"], 9, {0}),  # two at a time
        (["one at a time", "another"], 10, {1}),
    ],
)
def test_a_table_has_one_rule_by_the_row_with_most_threads(
    tmp_path: Path, threads: list[int | str], tasks: int, others: set[int]
) -> None:
    """Who leaves others a processor, where another row does not, is not measured beside them for that."""
    made = bench(tmp_path / "r.toll", 1.0, threads=threads, max_launches=6, min_launches=6)
    made.cpus, made.runnable = 10, lambda: tasks
    made.run()
    assert {
        batch.others for one in launches(made.path) for batch in one.batches if not batch.warmup
    } == others


def test_a_run_of_an_older_toll_goes_on_without_a_census(tmp_path: Path) -> None:
    made = bench(tmp_path / "r.toll", SLOWER)
    made.interrupt_after = 40
    assert made.run() == "interrupt"
    with contextlib.closing(sqlite3.connect(made.path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM census")
    made.interrupt_after = 0
    made.run()
    assert not any(map(has_census, launches(made.path)))


def test_a_canary_does_not_come_between_a_wait_and_its_launch(tmp_path: Path) -> None:
    made = bench(tmp_path / "r.toll", SLOWER, canary_share=0.3, max_launches=80)
    made.canary = CANARY
    made.run()
    began = sorted(by_start(made.path), key=lambda one: one.id)
    after = 0
    for canary, one in pairwise(began):
        if canary.purpose is Purpose.CANARY and (waited_ns := one.footing.get(WAITED_NS)):
            beat = [each.wall_ns for each in began if each.company == canary.company]
            assert one.started_ns - (canary.started_ns + sum(beat)) >= waited_ns
            after += 1
    assert after > 3
