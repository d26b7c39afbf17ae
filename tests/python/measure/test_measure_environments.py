"""A preloaded allocator has to be proved by the program before its numbers count."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_machine import Bench, FakeClock, FakeLauncher, workload

from tollbench.launching.environment import OWN_PROGRAMS
from tollbench.measure import plan_of
from tollbench.plan import Selection, Settings, make
from tollbench.store import RunFile
from tollbench.words import HOST, Environment, Purpose, Status

COUNTER = Path("/build/libtoll_allocations.so")
PRELOADED = Environment("tcmalloc", preload=("/lib/libtcmalloc.so.4",), languages=("C", "C++"))


def bench(tmp_path: Path, environment: Environment, malloc: str | None) -> Bench:
    settings = Settings(budget_s=60.0, launch_s=0.1, batches=4)
    plan = make([workload("one")], Selection(environments=("all",)), [environment], settings, cpus=2)
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), lambda *_: 1e5), library=COUNTER)
    made.launcher.malloc = malloc
    return made


def test_programs_get_the_allocator_and_count_in_front_of_it(tmp_path):
    made = bench(tmp_path, PRELOADED, "libtcmalloc.so.4")
    made.run()
    with RunFile.open(made.path) as run_file:
        (case,) = run_file.cases()
        assert case.status is Status.OK
        (counted, _) = run_file.launches(case.id, Purpose.ALLOCATIONS)
        assert (counted.status, counted.footing["malloc"]) == (Status.OK, "libtcmalloc.so.4")
    preloads = {item.environment["LD_PRELOAD"] for item in made.launcher.started}
    assert preloads == {"/lib/libtcmalloc.so.4", f"{COUNTER}:/lib/libtcmalloc.so.4"}


def test_programs_do_not_run_where_toll_was_started(tmp_path):
    """Erlang's runtime, for one, loads modules from the current folder, which may be a stranger's."""
    made = bench(tmp_path, HOST, None)
    made.run()
    assert {item.folder for item in made.launcher.started} == {OWN_PROGRAMS}
    assert len(made.launcher.started) > 3


@pytest.mark.parametrize(
    ("malloc", "told"),
    [("glibc", "takes malloc from glibc"), (None, "does not say what serves its malloc")],
)
def test_a_program_that_does_not_take_it_is_not_timed(tmp_path, malloc, told):
    made = bench(tmp_path, PRELOADED, malloc)
    made.run()
    with RunFile.open(made.path) as run_file:
        (case,) = run_file.cases()
        assert case.status is Status.FAILED
        assert told in case.reason
        assert "libtcmalloc.so.4 preloaded" in case.reason
        assert [launch.batches for launch in run_file.launches(case.id, Purpose.PILOT)] == [()]
        assert run_file.launches(case.id) == ()
    assert len(made.launcher.started) == 1


def test_settings_of_glibcs_malloc_are_no_row_of_another_malloc(tmp_path):
    kept = Environment("glibc-no-trim", glibc_tunables=("glibc.malloc.trim_threshold=9",))
    for number, (malloc, status) in enumerate([("glibc", Status.OK), ("libasan.so.8", Status.FAILED)]):
        (tmp_path / str(number)).mkdir()
        made = bench(tmp_path / str(number), kept, malloc)
        made.run()
        with RunFile.open(made.path) as run_file:
            (case,) = run_file.cases()
            assert case.status is status
        told = {item.environment["GLIBC_TUNABLES"] for item in made.launcher.started}
        assert told == {"glibc.malloc.trim_threshold=9"}
    assert "started with glibc's malloc set up and takes malloc from libasan.so.8" in case.reason


@pytest.mark.parametrize("malloc", ["glibc", "libasan.so.8", None])
def test_without_an_allocator_any_malloc_will_do(tmp_path, malloc):
    made = bench(tmp_path, HOST, malloc)
    made.run()
    with RunFile.open(made.path) as run_file:
        assert {case.status for case in run_file.cases()} == {Status.OK}
    assert {item.environment.get("LD_PRELOAD") for item in made.launcher.started} == {None, str(COUNTER)}


def test_a_resumed_run_preloads_what_this_machine_knows(tmp_path):
    made = bench(tmp_path, PRELOADED, "libtcmalloc.so.4")
    made.interrupt_after = 3
    assert made.run() == "interrupt"
    with RunFile.open(made.path) as run_file:
        elsewhere = Environment("tcmalloc", preload=("/opt/libtcmalloc.so.4",), languages=("C++",))
        made.plan = plan_of(run_file, made.plan.workloads, [HOST, elsewhere])
    assert [item.name for item in made.plan.environments] == ["tcmalloc"]
    made.interrupt_after, made.launcher.started = 0, []
    made.run()
    assert any(item.environment["LD_PRELOAD"] == "/opt/libtcmalloc.so.4" for item in made.launcher.started)
    assert not any("/lib/" in item.environment["LD_PRELOAD"] for item in made.launcher.started)


def test_a_root_gets_what_is_preloaded_inside_and_its_own_counting_library(tmp_path):
    inside = Environment(
        "debian13",
        root="/cache/debian13",
        enter=("/usr/bin/unshare",),
        counter="/build/debian13/counter.so",
        languages=("C", "C++"),
    )
    made = bench(tmp_path, inside, "glibc")
    made.run()
    told = [item.environment for item in made.launcher.started]
    assert {item.get("LD_PRELOAD") for item in told} == {None}  # the tools out here could not load it
    assert {item.get("TOLL_PRELOAD") for item in told} == {None, "/build/debian13/counter.so"}


def test_the_flags_of_a_program_are_part_of_its_rows_footing(tmp_path):
    """The build tells them; what a suite declares beside them stays."""
    made = bench(tmp_path, HOST, None)
    made.flags = "-O2 -DNDEBUG"
    made.run()
    with RunFile.open(made.path) as run_file:
        declared = made.plan.cases[0].footing
        assert {"flags": "-O2 -DNDEBUG", **declared} == run_file.cases()[0].footing
