"""Programs that work while nobody asks them: they are seen, and stand still when they are told to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tollbench.launching import spawned
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import HaltingRefused
from tollbench.launching.halting import Halter, Used, family

SPINNING = pytest.mark.parametrize(
    "script", ["while :; do :; done", "(while :; do :; done) & wait"], ids=["itself", "its child"]
)
Start = Callable[[str], Halter]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(script: str) -> Halter:
        started.append(
            subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True)
        )
        return Halter(started[-1].pid)

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def becomes(what: Callable[[], bool]) -> bool:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        if what():
            return True
    return False


@SPINNING
def test_who_spins_is_at_work(start: Start, script: str) -> None:
    halter = start(script)
    # Tried again where a busy machine gave it no processor meanwhile, or the shell has not begun.
    assert all(becomes(lambda: halter.at_work(halter.look())) for _ in range(5))


def test_a_child_in_another_session_keeps_nobody_from_standing_still(start: Start) -> None:
    """Erlang's erl_child_setup is one; no signal to the group reaches it, and none has to."""
    halter = start("setsid sleep 600 & echo $! >&2; while :; do :; done")

    def has_left() -> bool:
        return any(os.getpgid(pid) != halter._leader for pid in family(halter._leader))

    assert becomes(has_left)
    halter.at_work(halter.look())
    halter.halt()
    halter.go_on()
    for pid in family(halter._leader)[1:]:
        os.kill(pid, signal.SIGKILL)


def test_who_waits_is_not(start: Start) -> None:
    halter = start("read -r line")

    def quiet() -> bool:
        before = halter.look()
        time.sleep(0.002)
        return not halter.at_work(before)

    assert becomes(quiet)


@SPINNING
def test_who_is_halted_uses_nothing_until_it_goes_on(start: Start, script: str) -> None:
    halter = start(script)
    for _ in range(3):
        begun = halter.look()
        assert becomes(lambda: halter.look().share_since(begun) > 0)  # noqa: B023
        halter.halt()
        before = halter.look()
        assert not halter.at_work(before)
        assert halter.look().share_since(before) == 0.0
        halter.go_on()


def test_who_has_ended_is_not_waited_for(start: Start) -> None:
    halter = start("exit 3")
    halter.halt()
    halter.halt()


def test_who_may_not_be_halted_is_told(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    halter = start("read -r line")

    def refused(_group: int, _number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", refused)
        with pytest.raises(HaltingRefused, match="may not be halted while others have their turn: Operation"):
            halter.halt()


def test_what_a_new_process_uses_counts_as_a_whole() -> None:
    before = Used(1000, {1: 500, 2: 100})
    assert Used(2000, {1: 600, 3: 50}).share_since(before) == pytest.approx(0.15)


@pytest.mark.parametrize(("command", "ends"), [("cat", True), ("exec sleep 60", False)])
def test_who_may_not_be_killed_is_told_by_the_end_of_its_input_and_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch, command: str, ends: bool
) -> None:
    def refused(_group: int, _number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(spawned, "_UNKILLED_LIMIT_S", 10.0 if ends else 0.1)
    program = spawned.Spawned(["/bin/sh", "-c", command], own_environment(), stdin=subprocess.PIPE)
    pid, began_s = program.popen.pid, time.monotonic()
    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", refused)
        program.end()
    assert time.monotonic() - began_s < 9
    assert program.end_seen is ends
    assert Path(f"/proc/{pid}").exists() is not ends
    if not ends:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
