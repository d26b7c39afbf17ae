"""The whole pipeline on a fake clock: what is launched, in which order, what is stored, when it stops."""

import contextlib
import math
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from fake_machine import CANARY, SETUP_NS, Bench, FakeClock, FakeLauncher, header_for, plan_for, workload

from tollbench.analysis import results
from tollbench.analysis.case_data import CaseData, read_case
from tollbench.errors import TollError
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.piloting import SHORT_NS
from tollbench.measure import plan_of
from tollbench.measure.events import CaseEnded, FileIsFull, LaunchDone, TimePlanned
from tollbench.measure.program_files import ANOTHER, PROGRAMS, digests
from tollbench.measure.spending import ROUNDS_OF_EACH, STEADY_ROUNDS
from tollbench.plan import PROFILES
from tollbench.stats import FIRST_LOOK, next_look
from tollbench.store import RunFile, untrusted
from tollbench.words import CODE_LAYOUT, HOST, Kind, Program, Purpose, Status

NOISE = random.Random(1)
FIRST_ROUNDS = list(range(1, FIRST_LOOK + 1))


@pytest.fixture(autouse=True)
def _same_noise_whatever_ran_before() -> None:
    """By turns of noise that no budget here foresees, 5 of 300 runs had no round of a dear workload."""
    NOISE.seed(1)


def steady(contender: str, launch: int) -> float:
    return {"slow": 2e5, "canary": 4e6}.get(contender, 1e5) * (1 + 0.001 * NOISE.random())


def noisy(contender: str, launch: int) -> float:
    return 1e5 * math.exp(NOISE.gauss(0, 0.2))


def bench(
    tmp_path: Path, *contenders: str, cost_ns=steady, kind: Kind = Kind.BATCH, **settings: object
) -> Bench:
    plan = plan_for(workload(*contenders, kind=kind), **settings)
    return Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), cost_ns))


def rounds_of(path: Path) -> dict[str, list[int]]:
    with RunFile.open(path) as run_file:
        return {
            case.contender: [item.round for item in run_file.launches(case.id)] for case in run_file.cases()
        }


def test_stops_at_the_first_look_when_it_knows_enough(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    assert made.run() == "precision"
    assert rounds_of(made.path) == {"fast": FIRST_ROUNDS, "slow": FIRST_ROUNDS}
    with RunFile.open(made.path) as run_file:
        assert run_file.header().stopped_by == "precision"
        assert run_file.header().finished_utc is not None
        assert {case.status for case in run_file.cases()} == {Status.OK}


def test_goes_on_until_the_budget_ends_when_it_does_not(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=2.0)
    assert made.run() == "budget"
    rounds = rounds_of(made.path)
    assert len(rounds["fast"]) > 30
    assert rounds["fast"] == rounds["slow"]  # no round is left half done
    assert made.elapsed_s() < 2.0  # a round that would not fit was not begun


def test_most_launches_end_a_run_without_a_budget(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=0.0, min_launches=10, max_launches=10)
    assert made.run() == "launches"
    assert rounds_of(made.path)["slow"] == list(range(1, 11))


@pytest.mark.parametrize("table", ["launch", "batch", "company"])
def test_a_run_ends_before_its_file_holds_more_than_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """`toll run '*' --profile thorough` could measure for days what no report would show."""
    most = {"launch": 60, "batch": 3000, "company": 50}[table]
    monkeypatch.setitem(untrusted.MAX_ROWS, table, most)
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=0.0, max_launches=1000)
    assert made.run() == "launches"
    assert made.told(FileIsFull)
    with RunFile.open(made.path) as run_file:  # which refuses more
        header = run_file.header()
        assert header.finished_utc is not None
        assert any("holds as many launches as is read" in sentence for sentence in header.meanwhile)
        launches = run_file.all_launches()
    rows = {"launch": len(launches), "batch": sum(len(one.batches) for one in launches)}
    assert rows.get(table, most) > 0.8 * most


def test_a_run_that_is_gone_on_with_counts_what_its_file_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=0.0, max_launches=1000)
    made.interrupt_after = 40
    assert made.run() == "interrupt"
    monkeypatch.setitem(untrusted.MAX_ROWS, "launch", 60)
    assert made.run() == "launches"
    with RunFile.open(made.path) as run_file:
        assert 40 < run_file.launch_count() <= 60


def test_looks_only_where_the_stopping_rule_foresees_it(tmp_path: Path) -> None:
    """Values that are known from the second round on still wait for the next look of the schedule."""
    made = bench(tmp_path, "fast", "slow", min_launches=FIRST_LOOK + 1)
    assert made.run() == "precision"
    assert len(rounds_of(made.path)["fast"]) == next_look(FIRST_LOOK)


def test_launches_go_through_the_layouts_of_their_programs(tmp_path: Path) -> None:
    """All cases of a round have the one of the same number, and each has all before any comes again."""
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, min_launches=10, max_launches=10, budget_s=0.0)
    made.layouts = 4
    made.run()
    with RunFile.open(made.path) as run_file:
        told = {
            case.contender: [item.footing[CODE_LAYOUT] for item in run_file.launches(case.id)]
            for case in run_file.cases()
        }
        others = [
            item for item in run_file.all_launches() if item.purpose in (Purpose.PILOT, Purpose.REHEARSAL)
        ]
    assert told["fast"] == told["slow"]
    assert sorted(told["fast"][:4]) == sorted(told["fast"][4:8]) == [1, 2, 3, 4]
    assert told["fast"][:4] != told["fast"][4:8]  # in another order: a slow hour is not one layout's
    measured = Counter(item.program for item in made.launcher.started if item.program != "program")
    assert measured == {
        f"program.layout-{layout:02d}": 2 * told["fast"].count(layout) for layout in range(1, 5)
    }
    assert others
    assert not any(CODE_LAYOUT in item.footing for item in others)


def test_a_resumed_run_goes_through_layouts_as_the_unbroken_one(tmp_path: Path) -> None:
    told = []
    for broken_after in (0, 15):
        (folder := tmp_path / str(broken_after)).mkdir()
        made = bench(folder, "fast", "slow", cost_ns=noisy, min_launches=10, max_launches=10, budget_s=0.0)
        made.layouts, made.interrupt_after = 4, broken_after
        made.run()
        if broken_after:
            made.run()
        with RunFile.open(made.path) as run_file:
            (fast, _) = run_file.cases()
            told.append([item.footing[CODE_LAYOUT] for item in run_file.launches(fast.id)])
    assert told[0] == told[1]


def test_a_program_with_one_layout_says_why(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.one_layout = "its linker refuses"
    made.run()
    with RunFile.open(made.path) as run_file:
        assert {case.footing["one_code_layout"] for case in run_file.cases()} == {"its linker refuses"}
        found = results(run_file)
    assert all("code_layouts" not in row.footing for workload in found.workloads for row in workload.rows)


def test_every_launch_of_a_case_does_the_same_work_in_another_layout(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.run()
    with RunFile.open(made.path) as run_file:
        for case in run_file.cases():
            launches = run_file.launches(case.id)
            shapes = {tuple((batch.iterations, batch.warmup) for batch in item.batches) for item in launches}
            assert len(shapes) == 1
            (shape,) = shapes
            assert [warmup for _, warmup in shape] == [True, False, False, False, False]
            assert {count for count, _ in shape} == {case.iterations}
            assert len({item.seed for item in launches}) == len(launches)
    measuring = [item for item in made.launcher.started if len(item.requests) == 6]
    layouts = [item.requests[0]["layout"] for item in measuring]
    assert len(set(layouts)) == len(layouts)
    # A layout makes the state anew: after the warm-up it would make each timed batch a cold one.
    assert not any("layout" in request for item in measuring for request in item.requests[1:])
    paddings = {len(item.environment["TOLL_PADDING"]) for item in made.launcher.started}
    assert len(paddings) > 10
    assert all(item.environment["HOME"] == "/nowhere" for item in made.launcher.started)
    assert all(item.arguments == {"size": "4"} for item in made.launcher.started)


def test_batches_are_as_short_as_they_may_be(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", cost_ns=lambda *_: 1e3)
    made.run()
    with RunFile.open(made.path) as run_file:
        (case,) = run_file.cases()
        assert case.iterations == pytest.approx(SHORT_NS / 1e3, rel=0.02)


@pytest.mark.parametrize(
    ("cost_s", "batches", "warmup"), [(0.03, 3, 1), (0.04, 2, 1), (0.06, 1, 1), (0.08, 1, 0), (4.0, 1, 0)]
)
def test_slow_contenders_get_fewer_batches(tmp_path: Path, cost_s: float, batches: int, warmup: int) -> None:
    made = bench(tmp_path, "x", cost_ns=lambda *_: cost_s * 1e9, budget_s=600.0)
    made.run()
    with RunFile.open(made.path) as run_file:
        launch = run_file.launches(1)[0]
    assert [batch.iterations for batch in launch.batches] == [1] * (batches + warmup)
    assert sum(batch.warmup for batch in launch.batches) == warmup


def test_rounds_come_in_random_order_and_pair_neighbours(tmp_path: Path) -> None:
    made = bench(tmp_path, "a", "b", "c", cost_ns=noisy, budget_s=60.0)
    made.run()
    cases = [event.case for event in made.told(LaunchDone) if event.launch.purpose is Purpose.MEASURE]
    measured = [case.contender for case in cases if case is not None]
    assert len(measured) == len(cases)
    rounds = [tuple(measured[start : start + 3]) for start in range(0, len(measured), 3)]
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert len(Counter(rounds)) == 6
    assert max(Counter(each[0] for each in rounds).values()) < 0.6 * len(rounds)


def test_times_add_up(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast")
    made.run()
    with RunFile.open(made.path) as run_file:
        launch = run_file.launches(1)[0]
    timed_ns = sum(batch.wall_ns for batch in launch.batches)
    assert launch.setup_ns == SETUP_NS
    assert launch.wall_ns == pytest.approx(SETUP_NS + timed_ns, abs=10)
    assert launch.overhead_ns == pytest.approx(0, abs=10)
    assert launch.steal_ns == pytest.approx(launch.wall_ns / 100, rel=0.01)
    assert launch.pressure_ns is None


def test_samples_are_stored_with_their_warm_up(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", kind=Kind.SAMPLES)
    assert made.run() == "precision"
    with RunFile.open(made.path) as run_file:
        (case,) = run_file.cases()
        launch = run_file.launches(case.id)[0]
        timed = [batch.iterations for batch in launch.batches if not batch.warmup]
        warmup = sum(batch.iterations for batch in launch.batches if batch.warmup)
        assert timed == [case.iterations] * 4
        assert warmup >= case.iterations
        assert len(run_file.samples(launch.id)) == 4 * case.iterations
        assert len(run_file.samples(launch.id, warmup=True)) == 4 * case.iterations + warmup
        assert np.all(run_file.samples(launch.id) > 9e4)


def test_canary_takes_its_share_of_the_time(tmp_path: Path) -> None:
    made = bench(
        tmp_path, "fast", "slow", cost_ns=lambda c, n: 4e5 if c == "canary" else noisy(c, n), budget_s=30.0
    )
    made.canary = CANARY
    made.run()
    with RunFile.open(made.path) as run_file:
        beats = run_file.canary()
        share = sum(beat.wall_ns for beat in beats) / sum(item.wall_ns for item in run_file.all_launches())
        assert run_file.all_launches()[0].purpose is Purpose.CANARY
    assert 0.03 < share < 0.06
    assert {beat.case_id for beat in beats} == {None}
    assert {sum(not batch.warmup for batch in beat.batches) for beat in beats} == {6}
    assert {batch.iterations for beat in beats for batch in beat.batches} == {1}
    gaps = np.diff([beat.started_ns for beat in beats[::2]])  # they come in pairs
    assert [beat.company for beat in beats] == [beat.id for beat in beats[::2] for _ in range(2)]
    assert gaps.max() < 5 * np.median(gaps)  # spread over the whole run


def test_canary_that_does_not_work_is_left_alone(tmp_path: Path) -> None:
    def cost(contender: str, launch: int) -> float:
        if contender == "canary":
            raise LaunchFailed("crashed with SIGILL")
        return steady(contender, launch)

    made = bench(tmp_path, "fast", cost_ns=cost)
    made.canary = CANARY
    assert made.run() == "precision"
    with RunFile.open(made.path) as run_file:
        assert [beat.status for beat in run_file.canary()] == [Status.FAILED] * 4


def test_allocations_are_counted_in_two_launches_under_the_library(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.library = Path("/build/libtoll_allocations.so")
    made.run()
    preloaded = [item for item in made.launcher.started if "LD_PRELOAD" in item.environment]
    assert [item.requests[0]["type"] for item in preloaded] == ["allocations"] * 4
    assert len({item.environment["TOLL_PADDING"] for item in preloaded}) == 4  # each with a layout of its own
    assert preloaded[0].environment["LD_PRELOAD"] == "/build/libtoll_allocations.so"
    with RunFile.open(made.path) as run_file:
        counted = run_file.allocations(1)
    assert counted is not None
    assert counted.calls == 10


def test_without_the_library_c_programs_are_not_asked_to_count(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast")
    made.run()
    with RunFile.open(made.path) as run_file:
        assert run_file.allocations(1) is None
        assert run_file.launch_count(Purpose.ALLOCATIONS) == 0


def test_one_clock_calibration_for_all_launches(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.canary = CANARY
    made.run()
    first, *others = made.launcher.started
    assert first.environment["TOLL_CLOCK_CALIBRATION_MS"] == "100"
    assert {item.environment["TOLL_CLOCK_HZ"] for item in others} == {"2000000000.0"}
    assert not any("TOLL_CLOCK_CALIBRATION_MS" in item.environment for item in others)


def test_what_could_not_be_built_is_a_row_and_never_launched(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "absent")
    made.statuses = {"absent": Status.SKIPPED}
    made.run()
    assert {item.contender for item in made.launcher.started} == {"fast"}
    with RunFile.open(made.path) as run_file:
        absent = run_file.cases()[1]
    assert (absent.status, absent.reason) == (Status.SKIPPED, "why not")


def test_nothing_to_launch_ends_at_once(tmp_path: Path) -> None:
    made = bench(tmp_path, "absent")
    made.statuses = {"absent": Status.BUILD_FAILED}
    assert made.run() == "launches"
    assert made.launcher.started == []


def failing(contender: str, launch: int, *failures: int, status: Status = Status.FAILED) -> float:
    if contender == "bad" and launch in failures:
        raise LaunchFailed(f"broke in launch {launch}", status)
    return noisy(contender, launch)


def test_failed_pilot_ends_the_case_and_nothing_else(tmp_path: Path) -> None:
    made = bench(tmp_path, "bad", "good", cost_ns=lambda c, n: failing(c, n, 1), budget_s=10.0)
    made.run()
    (ended,) = made.told(CaseEnded)
    assert (ended.case.contender, ended.status, ended.reason) == ("bad", Status.FAILED, "broke in launch 1")
    assert rounds_of(made.path)["bad"] == []
    assert len(rounds_of(made.path)["good"]) >= 8


def test_one_failed_launch_is_a_row_and_the_case_goes_on(tmp_path: Path) -> None:
    made = bench(tmp_path, "bad", "good", cost_ns=lambda c, n: failing(c, n, 4), budget_s=10.0)
    made.run()
    with RunFile.open(made.path) as run_file:
        launches = run_file.launches(1)
        assert [item.round for item in launches if item.status is Status.FAILED] == [2]
        assert launches[1].batches == ()
        assert run_file.cases()[0].status is Status.OK
    assert len(rounds_of(made.path)["bad"]) == len(rounds_of(made.path)["good"])


def test_many_failed_launches_end_the_case(tmp_path: Path) -> None:
    made = bench(tmp_path, "bad", "good", cost_ns=lambda c, n: failing(c, n, 4, 6), budget_s=10.0)
    made.run()
    assert rounds_of(made.path)["bad"] == [1, 2, 3, 4]
    with RunFile.open(made.path) as run_file:
        assert run_file.cases()[0].reason == "broke in launch 6"


def test_a_wrong_answer_ends_the_case_at_once_and_keeps_no_number(tmp_path: Path) -> None:
    made = bench(tmp_path, "x")
    made.launcher.answer = 8
    made.run()
    with RunFile.open(made.path) as run_file:
        (case,) = run_file.cases()
        (pilot,) = run_file.launches(case.id, Purpose.PILOT)
    assert case.status is Status.WRONG_ANSWER
    assert "computed 8 over 1 iterations; the right answer is 7" in case.reason
    assert pilot.batches == ()


def test_contender_that_outlives_the_budget_is_not_blamed(tmp_path: Path) -> None:
    costs = {1: 1e5, 2: 1e5, 3: 1e5, 4: 1e12}
    made = bench(tmp_path, "x", cost_ns=lambda _, n: costs.get(n, 1e5), budget_s=10.0, time_limit_s=100.0)
    assert made.run() == "budget"
    with RunFile.open(made.path) as run_file:
        assert {item.status for item in run_file.all_launches()} == {Status.OK}
    assert made.elapsed_s() < 12


def test_events_tell_the_story_with_the_time_left(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=20.0)
    made.run()
    done = made.told(LaunchDone)
    assert [event.launches for event in done] == list(range(1, len(done) + 1))
    elapsed = [event.elapsed_s for event in done]
    assert elapsed == sorted(elapsed)
    assert all(
        event.left_s is None or event.left_s <= max(0.0, 20.0 - event.elapsed_s) + 1e-9 for event in done
    )
    rounds = [event.launch.round for event in done if event.launch.purpose is Purpose.MEASURE]
    assert rounds == sorted(2 * list(range(1, len(rounds) // 2 + 1)))


@pytest.mark.parametrize("after", [1, 2, 5, 12, 33, 34, 35])
def test_interrupt_keeps_what_is_measured_and_resume_completes_it(tmp_path: Path, after: int) -> None:
    made = bench(tmp_path, "fast", "slow", "third")
    made.canary = CANARY
    made.interrupt_after = after
    assert made.run() == "interrupt"
    assert made.launcher.running == 0
    with RunFile.open(made.path) as run_file:
        assert run_file.header().finished_utc is None
        assert run_file.header().stopped_by == "interrupt"
        assert run_file.launch_count() == len(made.told(LaunchDone))
    made.interrupt_after = 0
    assert made.run() == "precision"
    assert rounds_of(made.path) == dict.fromkeys(("fast", "slow", "third"), FIRST_ROUNDS)
    with RunFile.open(made.path) as run_file:
        assert all(len(run_file.launches(case.id, Purpose.PILOT)) == 1 for case in run_file.cases())
        assert all(case.iterations for case in run_file.cases())


def test_resumed_run_draws_the_same_orders_and_seeds_as_an_unbroken_one(tmp_path: Path) -> None:
    def measured(made: Bench) -> list[tuple[object, ...]]:
        with RunFile.open(made.path) as run_file:
            launches = [item for item in run_file.all_launches() if item.purpose is Purpose.MEASURE]
        return [(item.case_id, item.round, item.position, item.seed) for item in launches]

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    unbroken = bench(tmp_path / "one", "fast", "slow", "third")
    unbroken.run()
    broken = bench(tmp_path / "two", "fast", "slow", "third")
    broken.interrupt_after = 25
    broken.run()
    broken.interrupt_after = 0
    broken.run()
    assert measured(broken) == measured(unbroken)


def dear_and_noisy(contender: str, launch: int) -> float:
    return 3e8 if contender == "dear" else noisy(contender, launch)


@pytest.mark.parametrize("after", [0, 100])
def test_a_dear_case_has_rare_turns_and_the_same_ones_after_a_resume(tmp_path: Path, after: int) -> None:
    made = bench(tmp_path, "dear", "a", "b", "c", cost_ns=dear_and_noisy, budget_s=100.0)
    if after:
        made.interrupt_after = after
        assert made.run() == "interrupt"
        before = rounds_of(made.path)
        made.interrupt_after = 0
        made.run()
        assert all(set(before[name]) <= set(found) for name, found in rounds_of(made.path).items())
    else:
        made.run()
    found = rounds_of(made.path)
    assert len(found["a"]) > 2 * STEADY_ROUNDS
    assert found["dear"][:STEADY_ROUNDS] == list(range(1, STEADY_ROUNDS + 1))
    later = found["dear"][STEADY_ROUNDS:]
    assert later
    assert len(later) * 3 < len(found["a"]) - STEADY_ROUNDS
    assert all((number - FIRST_LOOK) % 4 == 0 for number in later)
    assert len(set(found["dear"])) == len(found["dear"])


def test_where_time_is_short_a_dear_case_has_rare_turns_from_the_first_look_on(tmp_path: Path) -> None:
    """And the others their steady rounds."""
    made = bench(tmp_path, "dear", "a", "b", "c", cost_ns=dear_and_noisy, budget_s=7.0)
    assert made.run() == "budget"
    found = rounds_of(made.path)
    assert found["dear"][:FIRST_LOOK] == list(range(1, FIRST_LOOK + 1))
    assert sum(number <= STEADY_ROUNDS for number in found["dear"]) < STEADY_ROUNDS - 2
    assert found["a"][:STEADY_ROUNDS] == list(range(1, STEADY_ROUNDS + 1))
    assert made.elapsed_s() < 7.0


def test_a_dear_workload_goes_on_after_a_resume_late_in_the_budget(tmp_path: Path) -> None:
    """While rounds that the file holds were gone through, time was kept for those of others that it holds
    too: the dear workload was stopped for want of it after six."""
    cheaper = [workload(f"other{number}", name=f"c/d{number}") for number in range(6)]
    plan = plan_for(workload("dear", name="a/b"), *cheaper, budget_s=100.0)
    cost_ns = lambda name, launch: noisy(name, launch) * (1e4 if name == "dear" else 9e3)  # noqa: E731
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), cost_ns))
    made.interrupt_after = 100
    assert made.run() == "interrupt"
    made.interrupt_after = 0
    assert made.run() == "budget"
    assert min(map(len, rounds_of(made.path).values())) >= plan.settings.min_launches


def test_resume_counts_the_time_that_was_spent(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=20.0)
    made.interrupt_after = 150
    made.run()
    made.interrupt_after = 0
    made.run()
    with RunFile.open(made.path) as run_file:
        assert sum(item.wall_ns for item in run_file.all_launches()) < 20.5e9


def test_resume_when_a_program_is_gone(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.interrupt_after = 20
    made.run()
    made.statuses, made.interrupt_after = {"slow": Status.BUILD_FAILED}, 0
    made.launcher.started.clear()
    made.run()
    assert {item.contender for item in made.launcher.started} == {"fast"}
    told = judged(made.path)["slow"]
    assert told.status is Status.OK, "what was measured is not lost"
    assert told.reason == "no more launches since the run was gone on with: why not"
    with RunFile.open(made.path) as run_file:
        assert f"a/b: slow: {told.reason}" in results(run_file).warnings, "every report shows those"


def judged(path: Path) -> dict[str, CaseData]:
    with RunFile.open(path) as run_file:
        cases = [read_case(run_file, record, run_file.header()) for record in run_file.cases()]
    return {case.record.contender: case for case in cases}


def test_a_program_that_was_built_anew_is_not_measured_into_the_row_of_the_one_before(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.interrupt_after = 20
    made.run()
    before = rounds_of(made.path)["slow"]
    made.made_from, made.interrupt_after = {"slow": "another compiler"}, 0
    made.run()
    told = judged(made.path)["slow"]
    assert rounds_of(made.path)["slow"] == before
    assert len(rounds_of(made.path)["fast"]) > len(before)
    assert (told.status, ANOTHER in told.reason) == (Status.OK, True)


def test_a_run_all_of_whose_programs_were_built_anew_is_not_gone_on_with(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.interrupt_after = 20
    made.run()
    before = rounds_of(made.path)
    made.made_from, made.interrupt_after = dict.fromkeys(("fast", "slow"), "another compiler"), 0
    with pytest.raises(TollError, match="Every program was built anew"):
        made.run()
    assert rounds_of(made.path) == before


def test_a_file_of_a_toll_that_noted_no_programs_is_gone_on_with(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.interrupt_after = 20
    made.run()
    with RunFile.resume(made.path) as run_file:
        run_file.note_in_plan(PROGRAMS, "a stranger's word")
    made.made_from, made.interrupt_after = {"slow": "another compiler"}, 0
    before = len(rounds_of(made.path)["slow"])
    made.run()
    assert len(rounds_of(made.path)["slow"]) > before


def test_a_programs_file_tells_it_apart_and_so_does_what_it_was_made_from(tmp_path: Path) -> None:
    file = tmp_path / "program"

    def told(content: str, made_from: str = "") -> dict[str, str]:
        file.write_text(content)
        return digests([Program("a/b", "x", "host", ("env", str(file)), made_from=made_from)])

    assert told("one") == told("one")
    assert len({*told("one").values(), *told("two").values(), *told("one", "jdk 21").values()}) == 3
    assert digests([Program("a/b", "x", "host", (), Status.SKIPPED, "none")]) == {}


def beside_one_that_hangs(
    tmp_path: Path, *contenders: str, budget_s: float = 60.0, time_limit_s: float = 100.0, seed: int = 1
) -> Bench:
    def cost_ns(name: str, launch: int) -> float:
        return 1e13 if name == "hangs" else noisy(name, launch)

    return bench(
        tmp_path, *contenders, cost_ns=cost_ns, budget_s=budget_s, time_limit_s=time_limit_s, seed=seed
    )


@pytest.mark.parametrize("seed", range(1, 7))  # the one that hangs comes first, in the middle and last
def test_a_pilot_that_hangs_takes_its_share_of_the_time_and_is_named(tmp_path: Path, seed: int) -> None:
    """One contender that hung took all of the budget, and all rows asked for a larger one."""
    made = beside_one_that_hangs(tmp_path, "a", "hangs", "b", "c", seed=seed)
    made.run()
    found = judged(made.path)
    assert found["hangs"].status is Status.PLANNED, "nobody is blamed for the little time"
    told = "s when its pilot's share of the time was over: it hangs, or needs a larger budget (--budget)"
    assert told in found["hangs"].reason
    assert min(len(found[name].launches) for name in "abc") >= made.plan.settings.min_launches
    assert made.elapsed_s() < 62


def test_who_was_given_up_and_went_well_later_is_not_said_to_hang(tmp_path: Path) -> None:
    made = beside_one_that_hangs(tmp_path, "a", "hangs")
    made.interrupt_after = 14
    made.run()
    assert "it hangs" in judged(made.path)["hangs"].record.reason
    made.launcher.cost_ns = noisy
    made.interrupt_after = 0
    made.run()
    found = judged(made.path)["hangs"]
    assert (found.status, found.reason) == (Status.OK, "")
    assert found.launches


def test_a_pilot_that_hangs_where_nobody_is_short_of_time_is_a_failure(tmp_path: Path) -> None:
    made = beside_one_that_hangs(tmp_path, "a", "hangs", budget_s=300.0, time_limit_s=10.0)
    made.run()
    assert judged(made.path)["hangs"].status is Status.TIMED_OUT


def test_who_was_at_work_when_the_time_was_over_is_told(tmp_path: Path) -> None:
    costs = {1: 1e5, 2: 1e13}  # its pilot went well
    made = bench(tmp_path, "x", cost_ns=lambda _, n: costs.get(n, 1e5), budget_s=30.0, time_limit_s=100.0)
    made.run()
    found = judged(made.path)["x"]
    assert found.status is Status.PLANNED
    assert "when the time was over: it hangs, or needs a larger budget" in found.reason


def test_resume_when_a_program_is_gone_before_its_first_launch_says_why(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow")
    made.interrupt_after = 1
    made.run()
    made.statuses, made.interrupt_after = {"slow": Status.BUILD_FAILED}, 0
    made.run()
    with RunFile.open(made.path) as run_file:
        (slow,) = (case for case in run_file.cases() if case.contender == "slow")
    assert (slow.status, slow.reason) == (Status.BUILD_FAILED, "why not")


def test_a_run_killed_before_its_plan_was_stored_is_not_resumed_into_nothing(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast")
    RunFile.create(made.path, header_for(made.plan)).close()
    with RunFile.open(made.path) as run_file, pytest.raises(TollError, match="nothing to go on with"):
        plan_of(run_file, [workload("fast")], [HOST])


def test_several_workloads_get_their_rounds_in_turn(tmp_path: Path) -> None:
    plan = plan_for(workload("x", "y", name="a/b"), workload("z", name="c/d"), budget_s=20.0)
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), noisy))
    made.run()
    measured = [event for event in made.told(LaunchDone) if event.launch.purpose is Purpose.MEASURE]
    launched = [(event.case.workload, event.launch.round) for event in measured if event.case is not None]
    told = [place for place, _ in groupby(launched)]
    for number in range(1, 8):
        assert {name for name, round_number in told[2 * number - 2 : 2 * number]} == {"a/b", "c/d"}


def test_a_dear_workload_leaves_cheaper_ones_the_budget_for_their_least_launches(tmp_path: Path) -> None:
    plan = plan_for(workload("dear", name="a/b"), workload("cheap", name="c/d"), budget_s=12.0)
    cost_ns = lambda contender, launch: noisy(contender, launch) * (1e4 if contender == "dear" else 1)  # noqa: E731
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), cost_ns))
    assert made.run() == "budget"
    rounds = {name: len(numbers) for name, numbers in rounds_of(made.path).items()}
    assert rounds["cheap"] >= plan.settings.min_launches
    assert rounds["dear"] >= 6


@pytest.mark.parametrize("budget_s", [2.5, 3.5])
def test_a_dear_workload_has_its_first_rounds_before_cheaper_ones_have_their_least(
    tmp_path: Path, budget_s: float
) -> None:
    plan = plan_for(workload("dear", name="a/b"), workload("cheap", name="c/d"), budget_s=budget_s)
    cost_ns = lambda contender, launch: noisy(contender, launch) * (3e3 if contender == "dear" else 1e3)  # noqa: E731
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), cost_ns))
    assert made.run() == "budget"
    rounds = {name: len(numbers) for name, numbers in rounds_of(made.path).items()}
    assert min(rounds["dear"], rounds["cheap"]) >= ROUNDS_OF_EACH


def test_a_full_disk_ends_the_run_with_nothing_left_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bench(tmp_path, "fast")
    append = RunFile.append_company

    def refuse(self: RunFile, launches):
        if self.launch_count() >= 3:
            raise TollError("Could not save", "Make room")
        return append(self, launches)

    monkeypatch.setattr(RunFile, "append_company", refuse)
    with pytest.raises(TollError, match="Could not save"):
        made.run()
    assert made.launcher.running == 0
    with RunFile.open(made.path) as run_file:
        assert run_file.launch_count() == 3


def test_plan_of_an_interrupted_run_comes_back(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", batches=7)
    made.interrupt_after = 20
    made.run()
    with RunFile.open(made.path) as run_file:
        assert plan_of(run_file, [workload("fast", "slow")], [HOST]) == made.plan


def test_plan_of_a_run_from_another_machine_names_what_is_missing(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast")
    made.interrupt_after = 20
    made.run()
    with RunFile.open(made.path) as run_file:
        with pytest.raises(TollError, match="the workload 'a/b', which does not exist here"):
            plan_of(run_file, [], [HOST])
        with pytest.raises(TollError, match="the environment 'host', which does not exist here"):
            plan_of(run_file, [workload("fast")], [])


def test_pilot_is_not_deceived_by_a_moment_without_the_cpu(tmp_path: Path) -> None:
    """20 ms lost in the first request of one iteration must not leave every batch with one iteration."""
    pilot = [2e7 + 1e5, *[1e5] * 500]
    made = bench(tmp_path, "x", cost_ns=lambda _, n: list(pilot) if n == 1 else 1e5, launch_s=0.1, batches=4)
    made.run()
    with RunFile.open(made.path) as run_file:
        assert run_file.cases()[0].iterations == 2  # the shortest batch


def test_quick_measures_a_large_catalogue_in_three_minutes(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(150)]
    plan = plan_for(
        workload(*names), **{key: getattr(PROFILES["quick"], key) for key in ("budget_s", "batches")}
    )
    assert plan.settings.launch_s < 0.1
    made = Bench(
        tmp_path / "r.toll",
        plan,
        FakeLauncher(FakeClock(), lambda contender, launch: 40 * noisy(contender, launch)),
        canary=CANARY,
        library=Path("/x.so"),
    )
    made.run()
    assert made.elapsed_s() <= 180
    assert min(len(rounds) for rounds in rounds_of(made.path).values()) >= 8


def test_estimate_comes_down_to_the_end_of_the_run(tmp_path: Path) -> None:
    """Without a budget the estimate follows from how fast the intervals narrow.

    By draws of its own: with one in four all is known a look earlier than was foreseen, which nobody knows.
    """
    noise = random.Random(0)
    made = bench(
        tmp_path,
        "a",
        "b",
        cost_ns=lambda *_: 1e5 * math.exp(noise.gauss(0, 0.02)),
        budget_s=0.0,
        precision=0.01,
    )
    assert made.run() == "precision"
    done = made.told(LaunchDone)
    assert done[0].left_s is None  # no pilot yet for the other case
    measured = [event for event in done if event.launch.round > FIRST_LOOK]
    total_s = made.elapsed_s()
    for event in measured[: len(measured) // 2]:
        assert event.left_s is not None
        assert 0 < event.left_s < 4 * (total_s - event.elapsed_s) + 1
    left_s = done[-1].left_s
    assert left_s is not None
    assert left_s < 0.1 * total_s


@pytest.mark.parametrize("waits", [0, 3])
def test_cases_take_turns_unless_they_wait(tmp_path: Path, waits: int) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=lambda name, _: {"slow": 2e3}.get(name, 1e3))
    made.launcher.waits = waits
    made.run()
    with RunFile.open(made.path) as run_file:
        cases = run_file.cases()
        companies = [[item.company for item in run_file.launches(case.id)] for case in cases]
        rehearsals = [run_file.launches(case.id, Purpose.REHEARSAL) for case in cases]
        footings = {item.footing.get("in_turns_with") for item in run_file.launches(cases[0].id)}
    assert companies[0] == companies[1]
    if waits:
        assert set(companies[0]) == {0}
        assert footings == {None}
        assert rehearsals == [(), ()]
    else:
        assert len(set(companies[0])) == len(companies[0])
        assert footings == {1}
        assert [len(launches) for launches in rehearsals] == [1, 1]


def test_a_resumed_run_rehearses_no_second_time_and_does_the_same_work(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=lambda *_: 1e3)
    made.interrupt_after = 12
    assert made.run() == "interrupt"
    made.interrupt_after = 0
    assert made.run() == "precision"
    with RunFile.open(made.path) as run_file:
        for case in run_file.cases():
            assert len(run_file.launches(case.id, Purpose.REHEARSAL)) == 1
            shapes = {
                tuple((batch.iterations, batch.warmup) for batch in item.batches)
                for item in run_file.launches(case.id)
            }
            assert len(shapes) == 1


def test_a_case_that_was_alone_in_some_rounds_is_told(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=lambda name, _: {"slow": 2e3}.get(name, 1e3))
    made.run()

    def told() -> list[str]:
        with RunFile.open(made.path) as run_file:
            return [warning for warning in results(run_file).warnings if "took turns" in warning]

    assert told() == []
    with contextlib.closing(sqlite3.connect(made.path, isolation_level=None)) as connection:
        connection.execute(
            "DELETE FROM company WHERE launch_id IN"
            " (SELECT id FROM launch WHERE round <= 2 AND purpose = 'measure')"
        )
    (warning,) = told()
    assert f"fast ({FIRST_LOOK - 2} of {FIRST_LOOK})" in warning
    assert f"slow ({FIRST_LOOK - 2} of {FIRST_LOOK})" in warning


@pytest.mark.parametrize(("budget_s", "blocks"), [(40.0, [12, 12, 4, 4]), (0.1, [4, 4])])
def test_launches_on_a_shared_core_are_longer_where_there_is_time_until_that_was_in_vain(
    tmp_path: Path, budget_s: float, blocks: list[int]
) -> None:
    """By round, from the second on."""
    made = bench(tmp_path, "fast", "slow", budget_s=budget_s)
    made.launcher.gauges_ns = lambda _, request: 2000.0 if request == 1 else 3500.0
    made.run()
    with RunFile.open(made.path) as run_file:
        launched = [
            sum(not batch.warmup for batch in one.batches)
            for case in run_file.cases()
            for one in run_file.launches(case.id)
            if 1 < one.round < 2 + len(blocks)
        ]
    assert launched == [*blocks, *blocks]  # of two cases


@pytest.mark.parametrize(("told", "blocks"), [(0.0, {4}), (2000.0, {4, 12})])
def test_launches_are_no_longer_where_a_report_leaves_no_batch_out(
    tmp_path: Path, told: float, blocks: set[int]
) -> None:
    """One row tells no gauge, in a setting of its own, and all batches of the workload count."""
    offered = workload("fast", "slow", "alone")
    apart = [replace(one, parameters={"size": 8}) for one in offered.contenders if one.name == "alone"]
    offered = replace(offered, contenders=(*offered.contenders[:2], *apart))
    plan = plan_for(offered, budget_s=40.0)
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), steady))
    made.launcher.gauges_ns = lambda name, at: told if name == "alone" else 2000.0 + 1500.0 * (at > 1)
    made.run()
    with RunFile.open(made.path) as run_file:
        launches = [
            one
            for case in run_file.cases()
            if case.contender != "alone"
            for one in run_file.launches(case.id)
        ]
    assert {sum(not batch.warmup for batch in one.batches) for one in launches} == blocks


def beside_a_neighbour(*launches: int) -> Callable[[str, int], float]:
    """An iteration of what waits takes 40 us, and 3.5 ms in these launches of "met"."""
    return lambda name, launch: 3.5e6 if name == "met" and launch in launches else 4e4


def waiting(tmp_path: Path, cost_ns: Callable[[str, int], float]) -> Bench:
    made = bench(tmp_path, "met", "alone", cost_ns=cost_ns)
    made.launcher.waits = 3
    return made


def pilots_and_iterations(path: Path) -> dict[str, tuple[int, int]]:
    with RunFile.open(path) as run_file:
        return {
            case.contender: (len(run_file.launches(case.id, Purpose.PILOT)), case.iterations)
            for case in run_file.cases()
        }


@pytest.mark.parametrize(
    ("met", "pilots"), [((), 2), ((1,), 3), ((1, 2), 4), ((2,), 3), ((1, 2, 3), 5), ((1, 3, 4), 5)]
)
def test_pilots_are_repeated_until_two_met_no_neighbour(
    tmp_path: Path, met: tuple[int, ...], pilots: int
) -> None:
    """Both of a program that starts threads had: its batches were of one start, its twin's of 82."""
    made = waiting(tmp_path, beside_a_neighbour(*met))
    made.run()
    found = pilots_and_iterations(made.path)
    assert found["alone"] == (2, 75)  # of 40 us in 3 ms
    assert found["met"] == (pilots, 75)


def test_a_program_that_is_slow_has_four_pilots_and_one_iteration_a_batch(tmp_path: Path) -> None:
    made = waiting(tmp_path, lambda *_: 3.5e6)
    made.run()
    assert set(pilots_and_iterations(made.path).values()) == {(4, 1)}


@pytest.mark.parametrize("interrupt_after", [0, 8, 12])
def test_pilots_that_never_agree_end_and_the_luckiest_does_not_count(
    tmp_path: Path, interrupt_after: int
) -> None:
    """Also where a run is gone on with."""
    made = waiting(tmp_path, lambda name, launch: 4e5 / 2**launch if name == "met" else 4e4)
    made.interrupt_after = interrupt_after
    if interrupt_after:
        assert made.run() == "interrupt"
        made.interrupt_after = 0
    made.run()
    assert pilots_and_iterations(made.path)["met"] == (6, 240)  # the fifth fits so many, the sixth 480


def test_a_lucky_pilot_does_not_count(tmp_path: Path) -> None:
    """Threads that contend are quicker where a neighbour has them run one after the other."""
    made = waiting(tmp_path, lambda name, launch: 4e3 if (name, launch) == ("met", 2) else 4e4)
    made.run()
    assert pilots_and_iterations(made.path)["met"] == (4, 75)


def test_more_pilots_have_a_tenth_of_the_time_which_goes_to_those_that_are_farthest_apart(
    tmp_path: Path,
) -> None:
    """In the order of ranks all of it went to pilots that were twofold apart, and tenfold ones were left."""

    def cost_ns(name: str, launch: int) -> float:
        return 4e4 / ((10 if name.startswith("far") else 2) if launch == 2 else 1)

    names = [f"{how}{number}" for number in range(10) for how in ("near", "far")]
    made = bench(tmp_path, *names, cost_ns=cost_ns, budget_s=10.0)
    made.launcher.waits = 3
    made.launcher.setup_ns = 50_000_000
    made.run()
    with RunFile.open(made.path) as run_file:
        pilots = {case.contender: run_file.launches(case.id, Purpose.PILOT) for case in run_file.cases()}
    spent_s = [sum(one.wall_ns for one in of_one[:2]) / 1e9 for of_one in pilots.values()]
    more_s = [sum(one.wall_ns for one in of_one[2:]) / 1e9 for of_one in pilots.values()]
    dearest_s = max(one.wall_ns for of_one in pilots.values() for one in of_one) / 1e9
    assert 0.0 < sum(more_s) <= 0.1 * (10.0 - sum(spent_s)) + dearest_s
    third = {name for name, of_one in pilots.items() if len(of_one) > 2}
    assert third >= {name for name in names if name.startswith("far")}
    assert third != set(names)


def test_what_is_dear_for_its_start_is_asked_once(tmp_path: Path) -> None:
    made = waiting(tmp_path, lambda *_: 4e6)
    made.launcher.setup_ns = 10**9
    made.run()
    assert set(pilots_and_iterations(made.path).values()) == {(1, 1)}


def test_a_pilot_that_fails_is_not_repeated(tmp_path: Path) -> None:
    def fails_second(name: str, launch: int) -> float:
        if name == "met" and launch == 2:
            raise LaunchFailed("crashed", Status.FAILED)
        return 4e4

    made = waiting(tmp_path, fails_second)
    made.run()
    assert pilots_and_iterations(made.path)["met"] == (2, 75)


def test_pilots_leave_half_of_a_short_time_to_what_has_had_its_own(tmp_path: Path) -> None:
    """All of the time went into pilots, and a run of 65 cases had not one value."""
    names = [f"c{number}" for number in range(40)]
    plan = plan_for(
        replace(workload(*names, name="a/b"), headline=("c30", "c31")),
        workload(*names, name="c/d"),
        budget_s=6.0,
    )
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), lambda *_: 3e7))
    assert made.run() == "budget"
    with RunFile.open(made.path) as run_file:
        status = {(case.workload, case.contender): case.status for case in run_file.cases()}
        rounds = {(case.workload, case.contender): run_file.launches(case.id) for case in run_file.cases()}
    assert {status["a/b", "c30"], status["a/b", "c31"]} == {Status.OK}  # the headline first
    measured = [place for place, launches in rounds.items() if launches]
    assert len(measured) >= 4
    assert {workload for workload, _ in measured} == {"a/b", "c/d"}
    left = [place for place, found in status.items() if found is Status.PLANNED]
    assert left
    assert not any(rounds[place] for place in left)


def dear(tmp_path: Path, budget_s: float) -> Bench:
    """Five contenders of which an iteration takes a second, and a launch as much as it must."""
    plan = plan_for(workload(*(f"c{number}" for number in range(5)), name="a/b"), budget_s=budget_s)
    return Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), lambda *_: 1e9))


def test_a_budget_too_small_is_told_after_the_pilots_and_before_the_first_round(tmp_path: Path) -> None:
    made = dear(tmp_path, budget_s=60.0)
    assert made.run() == "budget"
    short = made.told(TimePlanned)[0].short
    assert short is not None
    told_at = next(at for at, event in enumerate(made.events) if isinstance(event, TimePlanned))
    measured = [
        at
        for at, event in enumerate(made.events)
        if isinstance(event, LaunchDone) and event.launch.purpose is Purpose.MEASURE
    ]
    assert told_at < measured[0]
    with RunFile.open(made.path) as run_file:
        launches = [len(run_file.launches(case.id)) for case in run_file.cases()]
    assert 0 < max(launches) < short.rounds  # it was true


def test_the_budget_that_is_named_gives_every_row_its_intervals(tmp_path: Path) -> None:
    made = dear(tmp_path, budget_s=60.0)
    made.run()
    short = made.told(TimePlanned)[0].short
    assert short is not None
    (tmp_path / "again").mkdir()
    enough = dear(tmp_path / "again", budget_s=short.needed_s)
    enough.run()
    assert enough.told(TimePlanned)[0].short is None
    with RunFile.open(enough.path) as run_file:
        assert all(len(run_file.launches(case.id)) >= short.rounds for case in run_file.cases())
    (tmp_path / "less").mkdir()
    less = dear(tmp_path / "less", budget_s=0.6 * short.needed_s)
    less.run()
    assert less.told(TimePlanned)[0].short is not None  # what is named is no multiple of what it takes


def test_cases_without_a_pilot_are_counted_as_short(tmp_path: Path) -> None:
    made = dear(tmp_path, budget_s=12.0)
    made.run()
    short = made.told(TimePlanned)[0].short
    assert short is not None
    assert 0 < short.without_turn < 5
