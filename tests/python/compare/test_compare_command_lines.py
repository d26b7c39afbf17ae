"""Command lines by CPU time, where no side waits for anything, and by the wall's clock where one does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tollbench.cli.sandboxing import sandbox_for
from tollbench.compare import MeasuringOptions, WrittenSide, resolve
from tollbench.compare.adapters import command_line
from tollbench.compare.adapters.command_line import BENCHMARK, Commands
from tollbench.compare.subject import Round
from tollbench.errors import TollError
from tollbench.interpreters import interpreter
from tollbench.launching.sandbox import sandboxed

WORKS = "sum(range(1_000_000))"
SLEEPS = "import time; time.sleep(0.02)"
COUNTED_BY = "rounds in which no side waits for anything count by CPU time"


def launched(tmp_path: Path, *programs: str) -> tuple[Commands, Round]:
    """The second round: files have come into memory by then."""
    words = " ".join(interpreter())
    for number, program in enumerate(programs):
        (tmp_path / f"{number}.py").write_text(program)
    _, sides = resolve(
        [WrittenSide(f"{words} {tmp_path / str(number)}.py") for number in range(len(programs))], "command"
    )
    subject = Commands(sides, MeasuringOptions(20.0))
    subject.survey()
    subject.round([BENCHMARK], 1)
    return subject, subject.round([BENCHMARK], 2)


def by(found: Round, clock: str) -> list[Any]:
    """What this clock of the launches' records says, in the order of sides."""
    of_side = {record["side"]: record[clock] for record in found.raw}
    return [of_side[label] for label in sorted(of_side)]


def test_who_never_waits_counts_by_cpu_time(tmp_path: Path) -> None:
    """In one of ten rounds at the latest: on a busy machine a program waits for a page of a file, say."""
    subject, found = launched(tmp_path, WORKS, WORKS)
    for number in range(3, 13):
        if by(found, "counted_by") == ["cpu", "cpu"]:
            break
        found = subject.round([BENCHMARK], number)
    assert found.values[BENCHMARK] == by(found, "cpu_ns")
    assert by(found, "counted_by") == ["cpu", "cpu"]
    assert COUNTED_BY in subject.notes(BENCHMARK, 1)


@pytest.mark.parametrize("programs", [(SLEEPS, SLEEPS), (WORKS, SLEEPS), (SLEEPS, WORKS)])
def test_where_one_waits_the_time_of_both_is_the_walls(programs: tuple[str, str], tmp_path: Path) -> None:
    """Else a sleep that a change brings would cost nothing."""
    subject, found = launched(tmp_path, *programs)
    assert found.values[BENCHMARK] == by(found, "wall_ns")
    assert by(found, "counted_by") == ["wall", "wall"]
    assert COUNTED_BY not in subject.notes(BENCHMARK, 1)


THREADS = """#include <chrono>
#include <thread>
void work(int ms) {
    const auto ends = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::chrono::steady_clock::now() < ends) {}
}
int main() { std::thread other(work, 2); work(40); other.join(); }
"""


def test_a_thread_that_ended_before_it_was_waited_for_is_seen_all_the_same(tmp_path: Path) -> None:
    if not (compiler := shutil.which("g++")):
        pytest.skip("g++ is not installed")
    (tmp_path / "threads.cpp").write_text(THREADS)
    words = [compiler, "-O1", "-pthread", "threads.cpp", "-o", "threads"]
    subprocess.run(words, cwd=tmp_path, check=True)
    _, sides = resolve([WrittenSide(str(tmp_path / "threads"))] * 2, "command")
    subject = Commands(sides, MeasuringOptions(20.0))
    subject.survey()
    for seed in range(3):
        found = subject.round([BENCHMARK], seed)
        assert found.values[BENCHMARK] == by(found, "wall_ns")


def test_in_a_sandbox_the_walls_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the program seems not to wait: its processes' switches are subtracted by a guess."""
    monkeypatch.setattr(command_line, "_never_waited", lambda _: True)
    try:
        sandbox = sandbox_for([], None, [])
    except TollError as refused:
        pytest.skip(f"no sandbox here: {refused.what}")
    works = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"
    _, sides = resolve([WrittenSide(works)] * 2, "command")
    with sandboxed(sandbox):
        subject = Commands(sides, MeasuringOptions(20.0))
        subject.survey()
        found = subject.round([BENCHMARK], 1)
    assert found.values[BENCHMARK] == by(found, "wall_ns")


def test_threads_beside_the_first_one_are_no_gain(tmp_path: Path) -> None:
    """Nor is a child, whose time the kernel adds to that of whoever waits for it."""
    threads = f"import threading; t = threading.Thread(target=lambda: {WORKS}); t.start(); {WORKS}; t.join()"
    child = f"import os; pid = os.fork(); {WORKS}; pid and os.waitpid(pid, 0)"
    _, found = launched(tmp_path, threads, child)
    assert found.values[BENCHMARK] == by(found, "wall_ns")
