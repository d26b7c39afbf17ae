"""Who is in the way of a program, by the kernel's count of tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tollbench.interpreters import interpreter
from tollbench.launching.census import Census, own_cpus, runnable_tasks
from tollbench.launching.clock import SystemClock
from tollbench.launching.halting import at_work


class StandingClock(SystemClock):
    """Notes how long it was slept."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds


def in_time(seen: Callable[[], bool]) -> bool:
    """Whether it was so at any time."""
    ends = time.monotonic() + 20
    while not (found := seen()) and time.monotonic() < ends:
        time.sleep(0.01)
    return found


def counted(counts: Iterator[int], threads: int = 2, cpus: int = 2, own: int = 0) -> tuple[int | None, int]:
    """Who is in the way, and how often that was counted."""
    clock = StandingClock()
    found = Census(clock, lambda: next(counts), cpus).in_the_way(threads, lambda: own)
    return found, round(clock.slept_s / 1e-4) + 1


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("0.27 1.65 2.25 3/790 2014\n", 3),
        ("0.00 0.00 0.00 0/0 0\n", 0),  # gVisor
        ("0.27 1.65\n", 0),
        ("0.27 1.65 2.25 many/790 2014\n", 0),
        ("", 0),
    ],
)
def test_the_kernel_tells_how_many_tasks_are_runnable_or_does_not(
    tmp_path: Path, text: str, tasks: int
) -> None:
    file = tmp_path / "loadavg"
    file.write_text(text)
    assert runnable_tasks(file) == tasks
    assert runnable_tasks(tmp_path / "absent") == 0


def test_whoever_works_is_counted_beside_who_asks() -> None:
    if runnable_tasks() == 0:
        pytest.skip("this kernel does not tell of runnable tasks")
    with subprocess.Popen(interpreter("-S", "-c", "while True: pass")) as program:
        try:
            assert in_time(lambda: runnable_tasks() >= 2)
        finally:
            program.kill()


def test_who_is_there_for_a_moment_only_is_in_nobodys_way() -> None:
    """It is counted up to four times."""
    assert counted(iter([1])) == (0, 1)
    assert counted(iter([3, 2, 1])) == (0, 3)
    assert counted(iter([3, 4, 2, 3])) == (1, 4)


def test_nobody_is_in_the_way_of_a_program_that_leaves_him_a_processor() -> None:
    assert counted(iter([7] * 4), threads=2, cpus=64) == (0, 1)
    assert counted(iter([65] * 4), threads=2, cpus=64) == (2, 4)
    assert counted(iter([2] * 4), threads=4, cpus=2) == (1, 4)


def test_a_programs_own_threads_are_not_in_its_way() -> None:
    """One polls for its next request, another takes a while to fall asleep."""
    assert counted(iter([2] * 4), own=1) == (0, 1)
    assert counted(iter([3] * 4), own=1) == (1, 4)
    assert counted(iter([2] * 4), own=3) == (0, 1), "read a moment later"


def test_where_the_kernel_does_not_tell_there_is_no_census() -> None:
    assert counted(iter([0])) == (None, 1)
    assert counted(iter([3, 0])) == (None, 2)
    assert counted(iter([]), cpus=0) == (None, 1)


def test_toll_takes_none_where_it_may_not_use_all_processors() -> None:
    """Tasks on the others are counted too."""
    usable = os.sched_getaffinity(0)
    if len(usable) < 2 or own_cpus() != len(usable):
        pytest.skip("this test gives one of several processors up")
    try:
        os.sched_setaffinity(0, {min(usable)})
        assert own_cpus() == 0
    finally:
        os.sched_setaffinity(0, usable)


@pytest.mark.parametrize(("does", "working"), [("while True: pass", 1), ("import time; time.sleep(60)", 0)])
def test_a_thread_that_wants_a_processor_is_at_work(does: str, working: int) -> None:
    """A process that it has started counts as well."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel does not list children")
    child = f"print(1, flush=True)\n{does}"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])"
    words = interpreter("-S", "-c", parent)
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            assert in_time(lambda: at_work(program.pid) == working)
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def test_a_program_that_has_ended_has_nobody_at_work() -> None:
    assert at_work(2**22 + 1) == 0
