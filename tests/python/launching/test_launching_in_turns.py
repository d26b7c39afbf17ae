"""Commands alive together: never two at once, each with its own time, and nobody who would notice it."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tollbench.interpreters import interpreter, interpreter_with_path
from tollbench.launching import halting, in_turns
from tollbench.launching.command import Command
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.halting import Halter
from tollbench.launching.in_turns import EndedInTurns, OutOfTurn, run_in_turns
from tollbench.launching.interrupt import Interrupt

# Works for so many ms of CPU time and prints when: moments less than a millisecond apart are one stay.
WORKS = """
import json, sys, time
ends = time.process_time() + float(sys.argv[1]) / 1e3
stays = [[time.monotonic()] * 2]
while time.process_time() < ends:
    now = time.monotonic()
    if now - stays[-1][1] > 1e-3:
        stays.append([now, now])
    stays[-1][1] = now
print(json.dumps(stays))
sys.exit(int(sys.argv[2]))
"""
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is halted may wait for a processor before it stands still."""
    monkeypatch.setattr(halting, "_HALT_LIMIT_S", 60.0)


def program(text: str, *arguments: object) -> Command:
    return Command(interpreter("-c", text, *map(str, arguments)), own_environment(), Path("/"))


def in_shell(text: str) -> Command:
    return Command(["/bin/sh", "-c", text], own_environment(), Path("/"))


def run(*commands: Command, limit_s: float = 60.0) -> dict[int, EndedInTurns | LaunchFailed]:
    return run_in_turns(dict(enumerate(commands)), range(len(commands)), random.Random(5), limit_s)


def ended(found: EndedInTurns | LaunchFailed) -> EndedInTurns:
    assert isinstance(found, EndedInTurns), found
    return found


def test_never_two_at_once_and_each_has_its_own_time() -> None:
    # Each works from its start until it is halted: tens of milliseconds where the machine is loaded.
    found = run(program(WORKS, 300, 0), program(WORKS, 240, 0), program(WORKS, 180, 3))
    ends = {side: ended(found[side]) for side in range(3)}
    stays = {side: json.loads(end.ended.whole_stdout()) for side, end in ends.items()}
    in_order = sorted((*stay, side) for side, of_side in stays.items() for stay in of_side)
    for (_, left, one), (begins, _, other) in itertools.pairwise(in_order):
        assert one == other or begins > left
    alive_together = min(of_side[-1][1] for of_side in stays.values())
    assert max(of_side[0][0] for of_side in stays.values()) < alive_together
    assert [end.ended.exit_code for end in ends.values()] == [0, 0, 3]
    for end in ends.values():
        assert end.halts > 1
        assert end.ended.wall_ns >= 0.9 * end.ended.cpu_ns


def test_one_that_fails_leaves_its_turns_to_the_others() -> None:
    missing = Command(["/nowhere/at/all"], own_environment(), Path("/"))
    found = run(missing, in_shell("while :; do :; done"), program(WORKS, 30, 0), limit_s=3.0)
    assert "could not be started" in str(found[0])
    assert "did not end within 3 s" in str(found[1])
    assert ended(found[2]).ended.exit_code == 0


def test_only_its_own_turns_count_towards_a_limit() -> None:
    found = run(*[program(WORKS, 250, 0)] * 3, limit_s=60.0)
    total_s = sum(ended(end).ended.wall_ns for end in found.values()) / 1e9
    longest_s = max(ended(end).ended.wall_ns for end in found.values()) / 1e9
    assert longest_s < 0.7 * total_s


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import signal; signal.signal(signal.SIGCONT, print)", "it handles SIGCONT"),
        ("import signal; signal.signal(signal.SIGALRM, print)", "it handles SIGALRM, as a watchdog does"),
        ("import threading; threading.Thread(target=threading.Event().wait).start()", "several threads"),
        ("import os, time; os.fork() or time.sleep(600)", "it starts other processes"),
        (
            "import ctypes; ctypes.CDLL(None).timer_create(1, None, ctypes.byref(ctypes.c_void_p()))",
            "it has a timer",
        ),
        ("import ctypes; ctypes.CDLL(None).timerfd_create(1, 0)", "it has a timer"),
    ],
)
def test_who_would_notice_is_found_and_nothing_is_left_running(text: str, reason: str) -> None:
    with pytest.raises(OutOfTurn, match=reason):
        run(in_shell("while :; do :; done"), program(text + "\nwhile True: pass"))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in children]
    assert "T" not in states
    assert "R" not in states


def test_who_does_not_stand_still_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was halted between vfork and the beginning of its child does not."""

    def halt(_halter: object) -> None:
        raise LaunchFailed("goes on while others have their turn")

    monkeypatch.setattr(Halter, "halt", halt)
    with pytest.raises(OutOfTurn, match="does not stand still"):
        run(in_shell("while :; do :; done"), in_shell("while :; do :; done"))


def test_an_interrupt_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with Interrupt() as interrupt:
        monkeypatch.setattr(in_turns, "_check", lambda _pid: interrupt.request())
        commands = dict(enumerate([in_shell("while :; do :; done")] * 2))
        with pytest.raises(Interrupted):
            run_in_turns(commands, [0, 1], random.Random(1), 60.0, interrupt)


def test_a_killed_toll_leaves_nobody_halted() -> None:
    script = (
        "import os, random; from pathlib import Path; from tollbench.launching import in_turns\n"
        "in_turns._check = lambda pid: print(pid, flush=True)\n"
        "words = in_turns.Command(['/bin/sh', '-c', 'while :; do :; done'], dict(os.environ), Path('/'))\n"
        "in_turns.run_in_turns({0: words, 1: words}, [0, 1], random.Random(1), 600.0)"
    )
    environment = own_environment() | {"PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(
        interpreter_with_path("-c", script), env=environment, stdout=subprocess.PIPE, text=True, cwd="/"
    ) as toll:
        assert toll.stdout is not None
        pids = {int(toll.stdout.readline()) for _ in range(4)}
        toll.kill()
    assert len(pids) == 2
    ends = time.monotonic() + 60
    while time.monotonic() < ends and any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.01)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
