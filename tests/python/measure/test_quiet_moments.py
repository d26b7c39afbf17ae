"""Waiting for others: with a clock that moves only while somebody waits, and others who come and go."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_machine import Bench, FakeChild, FakeClock, FakeLauncher, plan_for, programs_for, workload

from tollbench.analysis import results
from tollbench.analysis.values import LaunchValue
from tollbench.launching.piloting import CaseWork
from tollbench.measure.company import Member
from tollbench.measure.quiet_moments import (
    GIVEN_UP_NS,
    LONGEST_GIVEN_UP_NS,
    LONGEST_WAIT_NS,
    MOST_IN_VAIN,
    MOST_SAVED_NS,
    QuietMoments,
    others_at_work,
)
from tollbench.measure.recording import Recorder
from tollbench.measure.state import CaseState, WorkloadState, processors_for
from tollbench.store import RunFile
from tollbench.store.records import MEANWHILE
from tollbench.words import Purpose, Status

MS = 1_000_000


def moments(clock: FakeClock, others: Callable[[], int | None], processors: int = 2) -> QuietMoments:
    return QuietMoments(clock, others, processors)


def test_where_nobody_is_at_work_no_time_passes() -> None:
    clock = FakeClock()
    quiet = moments(clock, lambda: 0)
    before_ns = clock.ns
    quiet.wait_for(2)
    assert clock.ns == before_ns
    assert quiet.waited == 0


def test_a_batch_begins_when_the_other_one_rests() -> None:
    clock = FakeClock()
    rests_from_ns = clock.ns + 37 * MS
    quiet = moments(clock, lambda: int(clock.ns < rests_from_ns))
    quiet.wait_for(2)
    assert rests_from_ns <= clock.ns < rests_from_ns + 2 * MS
    assert (quiet.waited, quiet.in_vain) == (1, 0)
    assert 37 * MS <= quiet.waited_ns < 39 * MS


@pytest.mark.parametrize(
    ("wanted", "others", "processors", "waits"),
    [
        (2, 1, 2, True),
        (4, 1, 2, True),
        (1, 1, 2, False),
        (2, 14, 16, False),
        (2, 15, 16, True),
        (2**16, 1, 16, True),
        (1, 16, 16, True),
    ],
)
def test_others_may_have_what_processors_are_left(
    wanted: int, others: int, processors: int, waits: bool
) -> None:
    quiet = moments(FakeClock(), lambda: others, processors)
    quiet.wait_for(wanted)
    assert quiet.waited == waits


def test_threads_of_the_program_itself_are_no_others() -> None:
    quiet = moments(FakeClock(), lambda: 1)
    quiet.wait_for(2, lambda: 1)
    assert quiet.waited == 0
    quiet.wait_for(2, lambda: 0)
    assert quiet.waited == 1


def test_who_never_rests_is_waited_for_ever_more_rarely() -> None:
    """A neighbour that is at work all day must not take the run's time."""
    clock = FakeClock()
    quiet = moments(clock, lambda: 1)
    began_ns = clock.ns
    for _ in range(20_000):  # batches of 5 ms
        before_ns = clock.ns
        quiet.wait_for(2)
        assert clock.ns - before_ns <= LONGEST_WAIT_NS + 2 * MS
        clock.ns += 5 * MS
    assert quiet.waited == quiet.in_vain
    series = math.log2((clock.ns - began_ns) / GIVEN_UP_NS)  # pauses of 5, 10, 20, ... s
    assert MOST_IN_VAIN * (series - 2) <= quiet.waited <= MOST_IN_VAIN * (series + 2)
    assert quiet.waited_ns < 0.1 * (clock.ns - began_ns)
    clock.ns += LONGEST_GIVEN_UP_NS
    quiet.others = lambda: 0
    quiet.wait_for(2)
    quiet.others = lambda: 1
    waited = quiet.waited
    for _ in range(MOST_IN_VAIN):
        quiet.wait_for(2)
        clock.ns += 2 * LONGEST_WAIT_NS
    assert quiet.waited > waited, "once they have rested, they are waited for again"


def resting(clock: FakeClock, work_ms: int, rest_ms: int) -> Callable[[], int]:
    return lambda: int(clock.ns % ((work_ms + rest_ms) * MS) < work_ms * MS)


@pytest.mark.parametrize("quiet_s", [0, 3000])
def test_waiting_takes_a_fifth_of_the_time_and_nothing_is_saved_up(quiet_s: int) -> None:
    """Others who rest for a moment, each time just before it would be in vain."""
    clock = FakeClock()
    quiet = moments(clock, lambda: 0)
    quiet.wait_for(2)
    clock.ns += quiet_s * 1000 * MS
    quiet.others = resting(clock, 200, 5)
    began_ns = clock.ns
    for _ in range(100):
        quiet.wait_for(2)
        clock.ns += 6 * MS
    passed_ns = clock.ns - began_ns
    assert quiet.waited_ns < 0.2 * passed_ns + MOST_SAVED_NS + LONGEST_WAIT_NS
    for _ in range(5000):
        quiet.wait_for(2)
        clock.ns += 6 * MS
    assert quiet.in_vain == 0
    assert quiet.waited_ns < 0.2 * (clock.ns - began_ns) + MOST_SAVED_NS + LONGEST_WAIT_NS
    assert quiet.waited_ns > 0.15 * (clock.ns - began_ns)


def test_without_time_to_spare_nothing_is_waited_for() -> None:
    quiet = moments(FakeClock(), lambda: 1)
    quiet.granted = False
    quiet.wait_for(2)
    assert quiet.waited == 0


def test_where_the_kernel_does_not_tell_nothing_is_waited_for() -> None:
    clock = FakeClock()
    quiet = moments(clock, lambda: None)
    before_ns = clock.ns
    quiet.wait_for(2)
    assert clock.ns == before_ns


def test_the_one_who_asks_is_not_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loadavg = tmp_path / "loadavg"
    loadavg.write_text("0.18 2.08 2.49 3/74 20500\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(os.cpu_count() or 1)))
    assert others_at_work(loadavg) == 2
    loadavg.write_text("0.18 2.08 2.49 0/74 20500\n")
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


class Bursts:
    """Others at work and at rest in turn, for 1 to 200 ms each: then batches take three times as long."""

    def __init__(self, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._clock, self._lengths = clock, random.Random(3)
        self._until = [(0, True)]
        timed = TIMED

        def disturbed(child: FakeChild, kind: str, count: int) -> dict[str, object]:
            child.cost_ns = 3e5 if self() else 1e5
            return timed(child, kind, count)

        monkeypatch.setattr(FakeChild, "_timed", disturbed)

    def __call__(self) -> bool:
        while self._until[-1][0] <= self._clock.ns:
            ends, at_work = self._until[-1]
            self._until.append((ends + self._lengths.randrange(1, 200) * MS, not at_work))
        return self._until[-1][1]


TIMED = FakeChild._timed


def costs(path: Path) -> dict[str, list[float]]:
    """Of each timed batch, by contender."""
    with RunFile.open(path) as run_file:
        return {
            case.contender: [
                batch.wall_ns / batch.iterations
                for launch in run_file.launches(case.id)
                for batch in launch.batches
                if not batch.warmup
            ]
            for case in run_file.cases()
        }


def disturbed_share(values: Sequence[float]) -> float:
    return sum(ns > 2e5 for ns in values) / len(values)


@pytest.fixture
def bench(tmp_path: Path) -> Callable[[str], Bench]:
    def made(name: str) -> Bench:
        plan = plan_for(workload("x", "y"), budget_s=30.0)
        return Bench(tmp_path / name, plan, FakeLauncher(FakeClock(), lambda *_: 1e5))

    return made


def test_a_run_beside_bursts_knows_what_it_is_without_them(
    bench: Callable[[str], Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = {}
    for known in (False, True):
        made = bench(f"{known}.toll")
        made.launcher.footing = {"threads": 2}
        bursts = Bursts(made.launcher.clock, monkeypatch)
        processors = os.cpu_count() or 1
        made.others_at_work = lambda: processors * bursts() if known else None  # noqa: B023
        made.run()
        shares[known] = disturbed_share([ns for values in costs(made.path).values() for ns in values])
    assert shares[False] > 0.15
    assert shares[True] < shares[False] / 4
    with RunFile.open(made.path) as run_file:
        (told,) = run_file.header().conditions[MEANWHILE]
    assert told.startswith("Others wanted the processors: programs with several threads waited ")


def test_rows_of_one_and_of_several_threads_wait_alike(
    bench: Callable[[str], Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the one with one thread, which counts by the wall clock as all do there, would look slow."""
    made = bench("both.toll")
    made.launcher.footing_of = {"x": {"threads": 2}}
    bursts = Bursts(made.launcher.clock, monkeypatch)
    made.others_at_work = lambda: (os.cpu_count() or 1) * bursts()
    made.run()
    shares = {name: disturbed_share(values) for name, values in costs(made.path).items()}
    assert max(shares.values()) < 0.06
    with RunFile.open(made.path) as run_file:
        found = {row.contender: row for row in results(run_file).workloads[0].rows}
    assert found["x"].ratio == found["y"].ratio == 1.0


@pytest.mark.parametrize(("alone", "processors"), [(False, 2), (True, 0)])
def test_rows_of_one_setting_wait_alike_launched_together_or_not(
    alone: bool, processors: int, bench: Callable[[str], Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, batches of the one thread are much shorter."""
    made = bench("apart.toll")
    made.launcher.footing_of = {"x": {"threads": 2}}
    asked: set[tuple[str, int]] = set()
    together = Recorder.together

    def noting(self: Recorder, members: Sequence[Member], *words: Any, **more: Any) -> Any:
        asked.update(
            (one.errand.command[3], one.processors) for one in members if one.place.purpose is Purpose.MEASURE
        )
        return together(self, members, *words, **more)

    def each_alone(state: WorkloadState, memory_bytes: int) -> list[list[list[CaseState]]]:
        return [[[case] for case in state.active_cases]]

    monkeypatch.setattr(Recorder, "together", noting)
    if alone:
        monkeypatch.setattr(WorkloadState, "companies", each_alone)
    made.run()
    assert asked == {("x", processors), ("y", processors)}


def test_rows_whose_batches_are_of_another_length_do_not_wait() -> None:
    def state(batch_ms: float, processors: int) -> CaseState:
        (case,) = plan_for(workload("x")).cases
        program = programs_for(plan_for(workload("x")))[0]
        work = CaseWork(8, batch_ms * 1e6, 8, 1e6, processors=processors)
        return CaseState(1, case, program, Status.OK, "", work)

    assert processors_for([[state(8, 0)], [state(9, 4)], [state(10, 2)]]) == 4
    assert processors_for([[state(8, 0), state(0.25, 4)]]) == 4, "together they are alike"
    assert processors_for([[state(8, 0)], [state(20, 4)]]) == 0, "the long one would look slow"
    assert processors_for([[state(61, 4)]]) == 0
    assert processors_for([[state(8, 0)], [state(8, 0)]]) == 0
    assert processors_for([]) == 0
    misled = state(24, 4)  # by a pilot beside others
    misled.values = {1: None, 2: LaunchValue(1.0, batch_ns=9e6), 3: LaunchValue(1.0, batch_ns=25e6)}
    assert processors_for([[state(8, 0)], [misled]]) == 4


def test_what_was_waited_is_no_launchs_stolen_time(bench: Callable[[str], Bench]) -> None:
    """The machine's are split over what passed, and in some of that nobody of ours worked."""
    made = bench("stolen.toll")
    made.launcher.footing = {"threads": os.cpu_count()}
    clock = made.launcher.clock
    rests = resting(clock, 100, 100)
    made.others_at_work = lambda: (os.cpu_count() or 1) * rests()
    made.run()
    with RunFile.open(made.path) as run_file:
        launches = [launch for launch in run_file.all_launches() if launch.purpose is Purpose.MEASURE]
    stolen = sum(launch.steal_ns or 0 for launch in launches)
    assert stolen == pytest.approx(0.01 * sum(launch.wall_ns for launch in launches), rel=0.05)


def test_a_run_that_hardly_waited_does_not_speak_of_it() -> None:
    quiet = QuietMoments(FakeClock(), lambda: 0, 2)
    assert quiet.told(0) == ""
    quiet.waited, quiet.waited_ns = 3, 20 * MS
    assert quiet.told(10_000 * MS) == ""
    quiet.in_vain = 1
    assert quiet.told(500 * MS) == (
        "Others wanted the processors: programs with several threads waited 3 times until they rested, 0.0 s"
        " in all; 1 time in vain. Fewer launches were made in that time; a quieter machine would know more."
    )
