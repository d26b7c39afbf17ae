"""Runs of real programs that are interrupted or killed: what was measured is there; resuming completes it."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from runner import LAUNCH_S, ROUNDS

from tollbench.interpreters import interpreter_with_path
from tollbench.launching.child import Limits
from tollbench.launching.command import run_command
from tollbench.launching.guardian import Guardian
from tollbench.launching.piloting import work_after
from tollbench.measure import ProcessLauncher
from tollbench.measure.state import CaseState
from tollbench.store import Launch, RunFile
from tollbench.words import Kind, Purpose, Status

RUNNER = Path(__file__).with_name("runner.py")
MARK = f"TOLL_TEST_OF={os.getpid()}"  # other tests may run the same programs at the same time
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(sys.path),
    "PATH": os.environ["PATH"],
    "TOLL_TEST_OF": str(os.getpid()),
}


def start(path: Path, hold_after: int = 0) -> subprocess.Popen[str]:
    """A run; it does not go on after its `hold_after`-th launch until its standard input ends."""
    return subprocess.Popen(
        interpreter_with_path(str(RUNNER), str(path), str(path.with_suffix(".lock")), str(hold_after)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT,
    )  # fmt: skip


def stored(lines: list[str]) -> int:
    return max((int(line.split()[1]) for line in lines if line.startswith("stored")), default=0)


def stop_after(
    runner: subprocess.Popen[str], launches: int, number: signal.Signals, delay_s: float
) -> list[str]:
    """Sends a signal some time after the `launches`-th launch has begun; returns what the runner said.

    The runner holds after that launch: it is never through before a busy machine lets the signal come.
    """
    assert runner.stdout is not None
    lines, begun = [], 0
    for line in runner.stdout:
        lines.append(line)
        begun += line.startswith("starting")
        if begun >= launches:
            break
    time.sleep(delay_s)
    runner.send_signal(number)
    rest, _ = runner.communicate()
    return lines + rest.splitlines()


def no_program_is_left(patience_s: float = 60.0) -> bool:
    for _ in range(int(100 * patience_s)):
        alive = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                alive.append(MARK.encode() in (entry / "environ").read_bytes().split(b"\0"))
            except OSError:
                continue
        if not any(alive):
            return True
        time.sleep(0.01)
    return False


def agreed(pilots: Sequence[Launch], kind: Kind) -> bool:
    """Whether these are enough: on a busy machine two may disagree, and further ones are made."""
    fits = [work_after(pilot, kind, LAUNCH_S) for pilot in pilots]
    return CaseState(1, None, None, Status.OK, "", fits=fits).fit_agreed  # type: ignore[arg-type]


def check_complete(path: Path) -> None:
    with RunFile.open(path) as run_file:
        assert run_file.header().stopped_by == "launches"
        for case in run_file.cases():
            rounds = [item.round for item in run_file.launches(case.id)]
            assert rounds == list(range(1, ROUNDS + 1))
            assert case.status is Status.OK
        assert all(item.status is Status.OK for item in run_file.all_launches())
        canaries = [item.round for item in run_file.canary()]
        assert canaries == sorted([*set(canaries), *set(canaries)])  # two take turns
        for case in run_file.cases():
            pilots = run_file.launches(case.id, Purpose.PILOT)
            assert len(pilots) >= 2
            assert not any(agreed(pilots[:count], case.kind) for count in range(2, len(pilots)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "r.toll"
    runner = start(path, hold_after=7)
    lines = stop_after(runner, 7, number, 0.01)
    assert runner.returncode == 0
    assert lines[-1] == "interrupt"
    assert no_program_is_left()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["r.lock", "r.toll"]  # no log is left behind
    with RunFile.open(path) as run_file:
        assert run_file.header().stopped_by == "interrupt"
        assert run_file.launch_count() == stored(lines) >= 5
    assert start(path).communicate()[0].splitlines()[-1] == "launches"
    check_complete(path)


def test_kill_at_any_moment_loses_at_most_the_launch_in_flight(tmp_path: Path) -> None:
    path = tmp_path / "r.toll"
    moments = random.Random(20)
    for launches in (1, 3, 2, 4):
        runner = start(path, hold_after=launches)
        before = 0
        if path.exists() and path.stat().st_size:
            with RunFile.open(path) as run_file:
                before = run_file.launch_count()
        lines = stop_after(runner, launches, signal.SIGKILL, moments.uniform(0, 0.04))
        assert runner.returncode == -signal.SIGKILL
        assert no_program_is_left()  # each ends by itself when its standard input closes
        with RunFile.open(path) as run_file:
            count = run_file.launch_count()
            assert run_file.header().finished_utc is None
        assert 0 <= count - max(before, stored(lines)) <= 2  # those that took turns are stored together
    out, _ = start(path).communicate()
    assert out.splitlines()[-1] == "launches"
    check_complete(path)


def test_second_run_on_the_machine_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    first = start(tmp_path / "r.toll")
    assert first.stdout is not None
    assert first.stdout.readline().startswith("starting")
    first.send_signal(signal.SIGSTOP)  # it must not end before the second has tried
    second = subprocess.run(
        interpreter_with_path(str(RUNNER), str(tmp_path / "second.toll"), str(tmp_path / "r.lock")),
        capture_output=True, text=True, check=False,
        env=ENVIRONMENT,
    )  # fmt: skip
    first.send_signal(signal.SIGCONT)
    assert f"Another run is measuring on this machine: process {first.pid}" in second.stderr
    assert first.communicate()[0].splitlines()[-1] == "launches"
    check_complete(tmp_path / "r.toll")


SPINNING = """
import os, signal, sys, time
from tollbench.measure import ProcessLauncher
from tollbench.launching.child import Limits
launcher = ProcessLauncher()
programs = [
    launcher.start(["/bin/sh", "-c", sys.argv[1]], dict(os.environ), Limits(60.0, 0)) for _ in range(2)
]
for program in programs:
    print(program.read_line().decode(), flush=True)
os.killpg(programs[1].pid, signal.SIGSTOP)
print("both", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    "program",
    ["echo $$; while :; do :; done", "(while :; do :; done) & echo $$; wait"],
    ids=["itself", "its child"],
)
def test_all_programs_that_spin_die_with_a_killed_toll(program: str) -> None:
    toll = subprocess.Popen(
        interpreter_with_path("-c", SPINNING, program), stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert toll.stdout is not None
    groups = [int(toll.stdout.readline()) for _ in range(2)]
    try:
        assert toll.stdout.readline() == "both\n"
        assert not no_program_is_left(patience_s=0.2)
        toll.kill()
        toll.communicate()
        assert no_program_is_left()
    finally:
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


COMMAND = """
import os, sys
from pathlib import Path
from tollbench.launching.command import run_command
run_command(["/bin/sh", "-c", sys.argv[1]], dict(os.environ), Path(sys.argv[2]), 60.0)
"""


def test_a_command_that_spins_dies_with_a_killed_toll(tmp_path: Path) -> None:
    # It tells late: a busy machine may stop toll between the start and the guardian's being told of it.
    spins = "sleep 0.5; echo $$ > new && mv new group; while :; do :; done"
    toll = subprocess.Popen(interpreter_with_path("-c", COMMAND, spins, str(tmp_path)), env=ENVIRONMENT)
    group = tmp_path / "group"
    while not group.exists():
        assert toll.poll() is None
        time.sleep(0.01)
    try:
        toll.kill()
        toll.wait()
        assert no_program_is_left()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(group.read_text()), signal.SIGKILL)


def test_the_guardian_kills_the_groups_that_it_was_not_told_to_forget() -> None:
    sleeping = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(4)]
    guardian = Guardian()
    try:
        for process in sleeping:
            guardian.watch(process.pid)
        guardian.forget(sleeping[1].pid)
        guardian.forget(sleeping[1].pid)
        guardian.forget(sleeping[3].pid)
        guardian.close()  # what the end of toll does; it waits for the guardian, which has killed by then
        assert [sleeping[number].wait(60) for number in (0, 2)] == [-signal.SIGKILL] * 2
        assert [sleeping[number].poll() for number in (1, 3)] == [None, None]
    finally:
        for process in sleeping:
            process.kill()
            process.wait()


def test_a_guardian_that_was_told_of_nobody_kills_nobody() -> None:
    guardian = Guardian()
    guardian.close()
    guardian = Guardian()
    sleeping = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        guardian.watch(sleeping.pid)
        guardian.forget(sleeping.pid)
        guardian.close()
        assert sleeping.poll() is None
    finally:
        sleeping.kill()
        sleeping.wait()


def test_the_guardian_hears_of_each_program_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(Guardian, "watch", lambda _, group: told.append(group))
    monkeypatch.setattr(Guardian, "forget", lambda _, group: told.append(-group))
    launcher = ProcessLauncher()
    for _ in range(2):
        child = launcher.start(["/bin/sh", "-c", "echo $$"], {}, Limits(60.0, 0))
        group = int(child.read_line())
        assert told[-1] == group
        child.finish()
        assert told[-1] == -group
    assert len(told) == 4


def test_the_guardian_hears_of_each_command_and_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[int] = []
    monkeypatch.setattr(Guardian, "watch", lambda _, group: told.append(group))
    monkeypatch.setattr(Guardian, "forget", lambda _, group: told.append(-group))
    group = int(run_command(["/bin/sh", "-c", "echo $$"], {}, tmp_path, 60.0).stdout)
    assert told == [group, -group]
