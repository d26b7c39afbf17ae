"""One run at a time on a machine: the second refuses or waits; traps in shared folders stay shut."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_machine import FakeClock

from tollbench.errors import TollError
from tollbench.interpreters import interpreter_with_path
from tollbench.launching.failure import Interrupted
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.machine_lock import machine_lock

HOLDER = """
import sys
from pathlib import Path
from tollbench.measure import SystemClock, Interrupt
from tollbench.launching.machine_lock import machine_lock
with Interrupt() as interrupt, machine_lock(SystemClock(), interrupt=interrupt, files=[Path(sys.argv[1])]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "toll.lock"


def hold(lock: Path) -> subprocess.Popen[str]:
    search = {"PYTHONPATH": os.pathsep.join(sys.path)}
    holder = subprocess.Popen(
        interpreter_with_path("-c", HOLDER, str(lock)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=search,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def take(lock: Path, on_wait=None, clock=None, interrupt=None) -> dict[str, object]:
    clock = clock or FakeClock()
    with machine_lock(clock, interrupt=interrupt or Interrupt(), on_wait=on_wait, files=[lock]):
        return json.loads(lock.read_text())


def test_second_run_refuses_and_names_the_first(lock: Path) -> None:
    holder = hold(lock)
    try:
        with pytest.raises(TollError) as caught:
            take(lock)
    finally:
        holder.communicate("")
    assert f"process {holder.pid}, `-c {lock}`, since 20" in caught.value.what
    assert caught.value.code == 2
    assert "--wait" in caught.value.next_step
    assert take(lock)["pid"] == os.getpid()  # free again


def test_second_run_waits_when_asked(lock: Path) -> None:
    holder = hold(lock)
    told: list[str] = []

    class Clock(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.ns > 2e9 and holder.poll() is None:
                holder.communicate("")

    take(lock, on_wait=told.append, clock=Clock())
    assert len(told) == 1  # once, however long it takes
    assert f"process {holder.pid}" in told[0]


def test_who_waits_for_several_is_told_of_each(lock: Path) -> None:
    holders = [hold(lock)]
    told: list[str] = []

    class Clock(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(holders) == 1 and self.ns > 1e9:
                holders[0].communicate("")
                holders.append(hold(lock))
            elif self.ns > 3e9:
                holders[-1].communicate("")

    take(lock, on_wait=told.append, clock=Clock())
    assert len(told) == 2
    for holder, sentence in zip(holders, told, strict=True):
        assert f"process {holder.pid}" in sentence


def test_waiting_can_be_interrupted(lock: Path) -> None:
    holder = hold(lock)
    interrupt = Interrupt()
    try:
        with pytest.raises(Interrupted):
            take(lock, on_wait=lambda _: interrupt.request(), interrupt=interrupt)
    finally:
        holder.communicate("")


def test_a_killed_holder_blocks_nobody(lock: Path) -> None:
    holder = hold(lock)
    holder.kill()
    holder.communicate()
    assert json.loads(lock.read_text())["pid"] == holder.pid
    assert take(lock)["pid"] == os.getpid()


def test_files_are_open_to_every_user(lock: Path) -> None:
    before = os.umask(0o077)
    try:
        take(lock)
    finally:
        os.umask(before)
    assert lock.stat().st_mode & 0o777 == 0o666


def test_links_and_devices_are_not_touched(tmp_path: Path, lock: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    lock.symlink_to(victim)
    with machine_lock(FakeClock(), interrupt=Interrupt(), files=[lock]):
        pass
    assert victim.read_text() == "precious"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with machine_lock(
        FakeClock(), interrupt=Interrupt(), files=[fifo]
    ):  # would hang if it were opened plainly
        pass


def test_all_places_are_locked(tmp_path: Path) -> None:
    """Somebody who may use only the second place still meets the one who uses both."""
    both = [tmp_path / "first", tmp_path / "second"]
    with machine_lock(FakeClock(), interrupt=Interrupt(), files=both), pytest.raises(TollError):
        take(both[1])
    holder = hold(both[1])
    try:
        with (
            pytest.raises(TollError, match=f"process {holder.pid}"),
            machine_lock(FakeClock(), interrupt=Interrupt(), files=both),
        ):
            pass
        waiting = Interrupt()

        def on_wait(_: str) -> None:
            take(both[0])  # who waits holds nothing meanwhile
            waiting.request()

        with (
            pytest.raises(Interrupted),
            machine_lock(FakeClock(), interrupt=waiting, on_wait=on_wait, files=both),
        ):
            pass
    finally:
        holder.communicate("")


@pytest.mark.parametrize("first", ["absent/x.lock", "link"])
def test_it_is_said_where_no_lock_file_can_be_used(tmp_path: Path, lock: Path, first: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    told: list[str] = []
    unusable = [tmp_path / first, tmp_path / "absent/y.lock"]
    with machine_lock(FakeClock(), interrupt=Interrupt(), on_no_lock=told.append, files=unusable):
        assert len(told) == 1
    assert str(unusable[0]) in told[0]
    assert f"make {tmp_path / 'absent'} writable" in told[0]
    for files in ([unusable[0], lock], []):  # one that can be used is enough; [] asks for none
        with machine_lock(FakeClock(), interrupt=Interrupt(), on_no_lock=told.append, files=files):
            pass
    assert len(told) == 1


def test_note_of_a_stranger_is_shown_safely(lock: Path) -> None:
    holder = hold(lock)
    try:
        lock.write_text(json.dumps({"pid": 1, "command": "\x1b[2Jevil", "started_utc": "now"}))
        with pytest.raises(TollError) as caught:
            take(lock)
        assert "\\x1b[2Jevil" in caught.value.what
        lock.write_text("not json")
        with pytest.raises(TollError, match="left no note"):
            take(lock)
    finally:
        holder.communicate("")
