"""Waiting for others: with a clock that moves only while somebody waits, and others who come and go."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_machine import Bench, FakeChild, FakeClock, FakeLauncher, plan_for, workload

from tollbench.measure.quiet_moments import (
    GIVEN_UP_NS,
    LONGEST_WAIT_NS,
    MOST_IN_VAIN,
    QuietMoments,
    others_at_work,
)
from tollbench.store import RunFile
from tollbench.store.records import MEANWHILE

MS = 1_000_000


def moments(clock: FakeClock, others: Callable[[], int | None], processors: int = 2) -> QuietMoments:
    """Of a run that began long ago, so that time for waiting is there."""
    found = QuietMoments(clock, others, processors)
    assert not QuietMoments(clock, lambda: 0, processors).wait_for(2)
    found._began_ns = clock.ns
    clock.ns += 10 * LONGEST_WAIT_NS
    return found


def test_where_nobody_is_at_work_no_time_passes() -> None:
    clock = FakeClock()
    quiet = moments(clock, lambda: 0)
    before_ns = clock.ns
    assert not quiet.wait_for(2)
    assert clock.ns == before_ns
    assert quiet.waited == 0


def test_a_batch_begins_when_the_other_one_rests() -> None:
    clock = FakeClock()
    rests_from_ns = clock.ns + 10 * LONGEST_WAIT_NS + 37 * MS
    quiet = moments(clock, lambda: int(clock.ns < rests_from_ns))
    assert quiet.wait_for(2)
    assert rests_from_ns <= clock.ns < rests_from_ns + 2 * MS
    assert (quiet.waited, quiet.in_vain) == (1, 0)
    assert 37 * MS <= quiet.waited_ns < 39 * MS


@pytest.mark.parametrize(
    ("threads", "others", "processors", "waits"),
    [
        (2, 1, 2, True),
        (4, 1, 2, True),
        (None, 1, 2, True),
        (1, 1, 2, False),
        (2, 14, 16, False),
        (2, 15, 16, True),
        (None, 1, 16, True),
        (64, 1, 16, True),
        (1, 16, 16, True),
    ],
)
def test_others_may_have_what_processors_are_left(
    threads: int | None, others: int, processors: int, waits: bool
) -> None:
    quiet = moments(FakeClock(), lambda: others, processors)
    assert quiet.wait_for(threads) is waits


def test_who_never_rests_is_waited_for_shortly_and_rarely() -> None:
    """A neighbour that is at work all day must not take the run's time."""
    clock = FakeClock()
    quiet = moments(clock, lambda: 1)
    began_ns = clock.ns
    for _ in range(20_000):  # batches of 5 ms
        before_ns = clock.ns
        quiet.wait_for(2)
        assert clock.ns - before_ns <= LONGEST_WAIT_NS + 2 * MS
        clock.ns += 5 * MS
    periods = (clock.ns - began_ns) / GIVEN_UP_NS
    assert quiet.waited == quiet.in_vain
    assert 0.5 * MOST_IN_VAIN * periods < quiet.waited < MOST_IN_VAIN * (periods + 1)
    assert quiet.waited_ns < 0.2 * (clock.ns - began_ns)


def test_waiting_takes_a_fifth_of_the_time_at_most() -> None:
    """Others who rest for a moment, each time just before it would be in vain."""
    clock = FakeClock()
    until_ns = 0

    def others() -> int:
        nonlocal until_ns
        if clock.ns > until_ns + 10 * MS:
            until_ns = clock.ns + 200 * MS
        return int(clock.ns < until_ns)

    quiet = QuietMoments(clock, others, 2)
    for _ in range(2000):
        quiet.wait_for(2)
        clock.ns += 20 * MS
    assert quiet.in_vain == 0
    assert 0.15 * clock.ns < quiet.waited_ns < 0.21 * clock.ns + 2 * LONGEST_WAIT_NS


def test_where_the_kernel_does_not_tell_nothing_is_waited_for() -> None:
    clock = FakeClock()
    quiet = moments(clock, lambda: None)
    before_ns = clock.ns
    assert not quiet.wait_for(2)
    assert clock.ns == before_ns


def test_the_one_who_asks_is_not_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loadavg = tmp_path / "loadavg"
    loadavg.write_text("0.18 2.08 2.49 3/74 20500\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(os.cpu_count() or 1)))
    assert others_at_work(loadavg) == 2
    loadavg.write_text("0.18 2.08 2.49 0/74 20500\n")  # gVisor counts nobody
    assert others_at_work(loadavg) == 0
    for broken in ("", "1 2 3", "0.1 0.2 0.3 x/y 9"):
        loadavg.write_text(broken)
        assert others_at_work(loadavg) is None
    assert others_at_work(tmp_path / "none") is None


def test_on_a_part_of_the_processors_nobody_knows_where_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loadavg = tmp_path / "loadavg"
    loadavg.write_text("0.18 2.08 2.49 3/74 20500\n")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert others_at_work(loadavg) is None


def test_a_run_beside_bursts_of_others_knows_what_it_is_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that others keep from their processors take three times as long; they wait, and say so."""

    def measured(name: str, known: bool) -> tuple[Bench, float, float]:
        made = Bench(
            tmp_path / name,
            plan_for(workload("x", "y"), budget_s=30.0),
            FakeLauncher(FakeClock(), lambda *_: 1e5),
        )
        made.launcher.footing = {"threads": os.cpu_count()}
        rests = random.Random(3)
        until = [(0, True)]

        def at_work() -> bool:
            while until[-1][0] <= made.launcher.clock.ns:
                until.append((until[-1][0] + rests.randrange(1, 200) * MS, not until[-1][1]))
            return until[-1][1]

        timed = FakeChild._timed

        def disturbed(child: FakeChild, kind: str, count: int) -> dict[str, object]:
            child.cost_ns = 3e5 if at_work() else 1e5
            return timed(child, kind, count)

        monkeypatch.setattr(FakeChild, "_timed", disturbed)
        made.others_at_work = lambda: int(at_work()) if known else None
        made.run()
        monkeypatch.setattr(FakeChild, "_timed", timed)
        with RunFile.open(made.path) as run_file:
            batches = [
                batch.wall_ns / batch.iterations
                for case in run_file.cases()
                for launch in run_file.launches(case.id)
                for batch in launch.batches
                if not batch.warmup
            ]
        return made, len(batches), sum(ns > 2e5 for ns in batches) / len(batches)

    _, _, blind = measured("blind.toll", known=False)
    made, count, seeing = measured("seeing.toll", known=True)
    assert count > 50
    assert blind > 0.15
    assert seeing < blind / 4
    with RunFile.open(made.path) as run_file:
        (told,) = run_file.header().conditions[MEANWHILE]
    assert told.startswith("Others wanted the processors: ")
    assert "of programs with several threads waited until they rested" in told


def test_a_run_that_hardly_waited_does_not_speak_of_it() -> None:
    quiet = QuietMoments(FakeClock(), lambda: 0, 2, waited=3, waited_ns=20 * MS)
    assert quiet.told(10_000 * MS) == ""
    quiet.in_vain = 1
    assert quiet.told(500 * MS) == (
        "Others wanted the processors: 3 batches of programs with several threads waited until they rested,"
        " 0 s in all, and 1 batch began beside them. Fewer launches were made in that time; a quieter machine"
        " would know more."
    )
