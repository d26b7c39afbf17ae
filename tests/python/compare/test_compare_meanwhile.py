"""What befell the machine in the midst of a measurement stands in its result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import FakeClock as MachineClock
from fake_machine import FakeLauncher, header_for, plan_for, programs_for, workload
from fake_sides import FakeClock, FakeSubject, steady

from checkouts import ROOT
from tollbench import analysis
from tollbench.compare import ComparisonSettings, before_confirming, compare, confirm
from tollbench.compare.stored import StoredComparison
from tollbench.interpreters import interpreter_with_path
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.meanwhile import LEAST_SUSPEND_NS, Meanwhile, cpus_at_hand, suspended_ns
from tollbench.measure import run
from tollbench.report import html, markdown
from tollbench.report.comparisons.comparison_formats import RENDERERS
from tollbench.store import RunFile

SUSPENDED = "The machine was suspended in the midst of this, 2 times, for 302 s in all"
FEWER = "2 CPUs (0, 1) at the beginning, 1 CPU (0) when it was last looked"


class Machine:
    """Whose clocks and CPUs a test sets."""

    def __init__(self) -> None:
        self.slept_ns = 7 * 10**12  # since its boot
        self.cpus = frozenset({0, 1})
        self.looks = 0

    def watch(self) -> Meanwhile:
        return Meanwhile(lambda: self.slept_ns, self._cpus)

    def _cpus(self) -> frozenset[int]:
        self.looks += 1
        return self.cpus


def test_a_quiet_machine_is_not_spoken_of() -> None:
    machine = Machine()
    watch = machine.watch()
    machine.slept_ns += LEAST_SUSPEND_NS - 1  # two clocks are read one after the other
    assert watch.look() == ()


def test_this_machine_tells_both() -> None:
    assert -LEAST_SUSPEND_NS < Meanwhile()._slept_ns - suspended_ns() < LEAST_SUSPEND_NS
    assert cpus_at_hand() == os.sched_getaffinity(0)


def test_sleeps_add_up_to_one_sentence() -> None:
    machine = Machine()
    watch = machine.watch()
    for seconds in (300, 0, 2):
        machine.slept_ns += seconds * 10**9
        told = watch.look()
    assert len(told) == 1
    assert told[0].startswith(SUSPENDED)


def test_a_cpu_that_goes_and_comes_back_is_told_with_both_sets() -> None:
    machine = Machine()
    watch = machine.watch()
    machine.cpus = frozenset({0})
    (told,) = watch.look()
    assert FEWER in told
    machine.cpus = frozenset({0, 1})
    (told,) = watch.look()
    assert "2 CPUs (0, 1) at the beginning, 1 CPU (0) at the least, 2 CPUs (0, 1) when" in told


def test_being_halted_is_noticed_while_entered_and_the_handler_goes_back() -> None:
    before = signal.getsignal(signal.SIGCONT)
    with Machine().watch() as watch:
        os.kill(os.getpid(), signal.SIGCONT)
        (told,) = watch.look()
    assert "toll was halted and let go on in the midst of this, 1 time" in told
    assert signal.getsignal(signal.SIGCONT) is before


def measured(path: Path, machine: Machine, interrupted_at: int = 0) -> RunFile:
    """A run, or the rest of one, in whose midst the machine sleeps twice and loses a CPU."""
    clock = MachineClock()
    launcher = FakeLauncher(clock, lambda _name, _launch: 1000.0)
    interrupt = Interrupt()

    def befalls() -> None:
        if len(launcher.started) in (3, 9):
            machine.slept_ns += 151 * 10**9
        if len(launcher.started) == 6:
            machine.cpus = frozenset({0})
        if interrupted_at and len(launcher.started) == interrupted_at:
            interrupt.request()

    launcher.on_start = befalls
    plan = plan_for(workload("a", "b"), launch_s=0.01, min_launches=9, max_launches=9)
    opened = RunFile.resume(path) if path.exists() else RunFile.create(path, header_for(plan))
    with opened as run_file:
        run(
            plan, programs_for(plan), run_file, clock=clock, launcher=launcher, interrupt=interrupt,
            meanwhile=machine.watch(),
        )  # fmt: skip
    return RunFile.open(path)


def test_a_run_says_it_in_its_file_and_in_every_report(tmp_path: Path) -> None:
    with measured(tmp_path / "a.toll", Machine()) as run_file:
        told = run_file.header().meanwhile
        results = analysis.results(run_file)
    assert len(told) == 2
    assert told[0].startswith(SUSPENDED)
    assert FEWER in told[1]
    assert results.warnings[: len(told)] == list(told)
    for render in (markdown.render, html.render):
        assert "was suspended in the midst of this" in render(results)


def test_whoever_goes_on_with_a_run_keeps_what_befell_it_before(tmp_path: Path) -> None:
    path = tmp_path / "a.toll"
    with measured(path, Machine(), interrupted_at=12) as run_file:
        before = run_file.header().meanwhile
    assert len(before) == 2
    with measured(path, Machine()) as run_file:
        assert run_file.header().meanwhile[:2] == before
        assert len(run_file.header().meanwhile) > 2


@pytest.mark.parametrize(
    ("written", "read"), [("text", 0), ([1, None, {}], 0), (["x"] * 1000, 12), ({"a": 1}, 0)]
)
def test_what_a_stranger_wrote_there_is_a_few_sentences_or_nothing(written: object, read: int) -> None:
    header = replace(header_for(plan_for(workload("a"))), conditions={"meanwhile": written})
    assert len(header.meanwhile) == read


def compared(machine: Machine, befalls_at: int, keep=lambda _record: None, **more):
    subject = FakeSubject(FakeClock(), {"sum": (steady(100.0), steady(150.0))})
    real = subject.round

    def a_round(names, seed):
        if len(subject.rounds) == befalls_at:
            machine.slept_ns += 302 * 10**9
            machine.cpus = frozenset({0})
        return real(names, seed)

    subject.round = a_round  # type: ignore[method-assign]
    settings = ComparisonSettings(seed=3, **more)
    watch = machine.watch()
    return subject, settings, watch, compare(
        subject, before_confirming(settings), clock=subject.clock, keep=keep, meanwhile=watch
    )  # fmt: skip


def test_a_comparison_says_it_in_every_report_and_after_a_kill(tmp_path: Path) -> None:
    header = {"toll_compare": 1, "kind": "fake", "sides": ["old", "new"], "level": 0.95, "threshold": 0.01}
    kept: list[object] = [header]
    _, _, _, found = compared(Machine(), 5, kept.append)
    assert len(found.meanwhile) == 2
    assert found.meanwhile[0].startswith("The machine was suspended in the midst of this, 1 time, for 302 s")
    assert FEWER in found.meanwhile[1]
    for form in ("markdown", "html"):
        assert "was suspended in the midst of this" in RENDERERS[form](found)
    assert json.loads(found.model_dump_json())["meanwhile"] == list(found.meanwhile)
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in kept))
    assert StoredComparison.read(path).comparisons.meanwhile == found.meanwhile


def test_what_befell_the_first_measurement_is_told_once_beside_the_second() -> None:
    subject, settings, watch, first = compared(Machine(), 5)
    found = confirm(first, subject, settings, clock=subject.clock, after_s=0, meanwhile=watch)
    assert "confirmed" in found.comparisons[0].reason
    assert found.meanwhile == first.meanwhile


def children_of(process: int) -> list[int]:
    return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


@contextmanager
def halted_late(processes: Sequence[int], after_s: float, for_s: float) -> Iterator[None]:
    """They stand still for so long, `after_s` from now."""
    who = " ".join(map(str, processes))
    script = f"sleep {after_s}; kill -STOP {who}; sleep {for_s}; kill -CONT {who}"
    with subprocess.Popen(["/bin/sh", "-c", script]) as helper:
        yield
        helper.wait()


LAUNCHED = """
import os, sys, time
from pathlib import Path
from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed
print("ready", flush=True)
try:
    command = [sys.executable, "-c", sys.argv[1]]
    print(run_command(command, dict(os.environ), Path("/"), 2.0).exit_code)
except LaunchFailed as failure:
    print(failure.reason)
"""


WORKS = "import time\nwhile time.process_time() < 0.5: pass"


@pytest.mark.parametrize(
    ("program", "both", "told"),
    [
        ("import time; time.sleep(0.6)", False, "0"),
        (WORKS, True, "0"),
        ("while True: pass", True, "not end within 2 s"),
    ],
)
def test_what_toll_stood_still_for_is_not_a_programs_time(program: str, both: bool, told: str) -> None:
    """Ctrl-Z for longer than a launch may take; or a paused container, in which all stand still."""
    words = interpreter_with_path("-c", LAUNCHED, program)
    with subprocess.Popen(
        words, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, stdout=subprocess.PIPE, text=True
    ) as toll:
        assert toll.stdout is not None
        assert toll.stdout.readline() == "ready\n"
        time.sleep(0.15)  # the program has begun
        with halted_late([toll.pid, *children_of(toll.pid)] if both else [toll.pid], 0.0, 3.0):
            said = toll.stdout.read()
    assert told in said.strip()


HALTED = """
import os, sys
from tollbench.cli import machine_use, main
machine_use.LOCK_FILES = ()
raw = sys.argv[1]
words = ["--total-budget", "8", "--until", "estimate", "--raw", raw]
sys.argv = ["toll", "compare", *words, "/bin/true", "/bin/echo"]
sys.exit(main())
"""


def test_a_comparison_that_is_halted_says_it(tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"
    toll = subprocess.Popen(
        interpreter_with_path("-c", HALTED, str(raw)),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "500"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    while toll.poll() is None and not (raw.exists() and b'"values"' in raw.read_bytes()):
        time.sleep(0.01)
    toll.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, toll.pid, os.WSTOPPED)
    toll.send_signal(signal.SIGCONT)
    said, _ = toll.communicate()
    assert "toll was halted and let go on in the midst of this, 1 time" in " ".join(said.split())
