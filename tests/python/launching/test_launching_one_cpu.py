"""Programs that take turns are tied to one CPU, if none of their threads works meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tollbench.interpreters import interpreter
from tollbench.launching import one_cpu
from tollbench.launching.halting import family
from tollbench.launching.one_cpu import tie_to_one

Start = Callable[..., int]
WAITS = ("/bin/sh", "-c", "echo; read line")
THREADED = (
    "-c",
    "import sys, threading; threading.Thread(target=sys.stdin.read).start(); print(); sys.stdout.flush()",
)

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all that there is")


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program that says a line when it has begun; returns its process."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*command: str) -> int:
        popen = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(popen)
        assert popen.stdout is not None
        assert popen.stdout.readline()
        return popen.pid

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def cpus(*processes: int) -> list[set[int]]:
    return [set(os.sched_getaffinity(process)) for process in processes]


def untied(*processes: int) -> bool:
    return cpus(*processes) == [set(os.sched_getaffinity(0))] * len(processes)


def test_all_are_tied_to_one_cpu(start: Start) -> None:
    first, second = start(*WAITS), start(*WAITS)
    cpu = tie_to_one([first, second])
    assert cpu in os.sched_getaffinity(0)
    assert cpus(first, second) == [{cpu}, {cpu}]
    assert len(os.sched_getaffinity(0)) > 1


def test_who_has_chosen_a_cpu_keeps_it_and_nobody_is_tied(start: Start) -> None:
    """Else `taskset -c 0 ./bench` against `taskset -c 4 ./bench` would be told as equal."""
    cpu = max(os.sched_getaffinity(0))
    free, chosen = start(*WAITS), start("taskset", "-c", str(cpu), *WAITS)
    assert tie_to_one([free, chosen]) is None
    assert untied(free)
    assert cpus(chosen) == [{cpu}]


def test_threads_that_wait_are_tied_too(start: Start) -> None:
    plain, threaded = start(*WAITS), start(*interpreter("-S", *THREADED))
    threads = [int(path.name) for path in Path(f"/proc/{threaded}/task").iterdir()]
    assert len(threads) == 2
    cpu = tie_to_one([plain, threaded])
    assert cpus(plain, *threads) == [{cpu}] * 3


@pytest.mark.parametrize("main_waits", [True, False])
def test_a_thread_that_works_leaves_all_as_they_are(start: Start, main_waits: bool) -> None:
    spin, wait = "exec('while True: pass')", "sys.stdin.read()"
    aside, main = (spin, wait) if main_waits else (wait, spin)
    script = f"import sys, threading; sys.setswitchinterval(1e-4); threading.Thread(target=lambda: {aside},"
    script += f" daemon=True).start(); print(); sys.stdout.flush(); {main}"
    both = start(*WAITS), start(*interpreter("-S", "-c", script))
    assert tie_to_one(both) is None
    assert untied(*both)


def test_who_works_out_of_turn_leaves_all_as_they_are(start: Start) -> None:
    both = start(*WAITS), start("/bin/sh", "-c", "echo; while :; do :; done")
    assert tie_to_one(both) is None
    assert untied(*both)


def test_what_wraps_a_program_is_tied_with_it(start: Start) -> None:
    wrapped = start("/bin/sh", "-c", "sh -c 'echo; read line'; true")
    (outer, inner) = family(wrapped)
    assert outer == wrapped
    cpu = tie_to_one([wrapped, start(*WAITS)])
    assert cpu is not None
    assert cpus(outer, inner) == [{cpu}, {cpu}]


def test_a_refusal_leaves_all_as_they_are(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = start(*WAITS), start(*WAITS)
    tie = os.sched_setaffinity

    def refuse(process: int, wanted: set[int]) -> None:
        if process == second:
            raise PermissionError
        tie(process, wanted)

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert tie_to_one([first, second]) is None
    assert untied(first, second)


def test_programs_on_several_numa_nodes_stay_with_their_memory(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = start(*WAITS), start(*WAITS)
    on = dict(zip(both, sorted(os.sched_getaffinity(0)), strict=False))
    monkeypatch.setattr(one_cpu, "_ran_last_on", on.__getitem__)
    monkeypatch.setattr(one_cpu, "_node_of", lambda cpu: f"node{cpu}")
    assert tie_to_one(both) is None
    assert untied(*both)
    monkeypatch.setattr(one_cpu, "_node_of", lambda _cpu: "node0")
    assert tie_to_one(both) == on[both[0]]


def test_a_thread_that_begins_meanwhile_sets_all_free(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, later = start(*WAITS), start(*WAITS), start(*WAITS)
    everything = one_cpu._all_threads
    seen = iter([[first, second], [first, second, later], [first, second, later]])
    monkeypatch.setattr(one_cpu, "_all_threads", lambda _leaders: everything(next(seen)))
    assert tie_to_one([first, second]) is None
    assert untied(first, second, later)


def test_where_children_are_not_listed_nobody_is_tied(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a sandbox would be tied, and not the program in it."""
    both = start(*WAITS), start(*WAITS)
    monkeypatch.setattr(one_cpu, "_CHILDREN", Path("/not/there"))
    assert tie_to_one(both) is None


def test_with_one_cpu_there_is_nothing_to_choose(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    both = start(*WAITS), start(*WAITS)
    ask = os.sched_getaffinity
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0} if process == 0 else ask(process))
    assert tie_to_one(both) is None
    assert len(cpus(*both)[0]) > 1


def test_whoever_is_gone_leaves_all_as_they_are(start: Start) -> None:
    alive = start(*WAITS)
    assert tie_to_one([alive, 2**22 + 1]) is None
    assert untied(alive)
