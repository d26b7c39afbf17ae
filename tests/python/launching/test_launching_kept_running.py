"""What --setup leaves running lives through launches, is missed when it ends, and ends with toll."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import tollbench.cli
from tollbench.cli import machine_use
from tollbench.compare.around import Around, Surroundings
from tollbench.interpreters import interpreter_with_path
from tollbench.launching import kept_running, strays
from tollbench.launching.command import run_command
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.guardian import shared_guardian
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.kept_running import KeptRunning
from tollbench.launching.strays import adopting

ROOT = Path(__file__).resolve().parents[3]
SERVER = "sleep 600 & echo $! > pid"
# In a group and a session of its own; `exec` keeps the number.
DAEMON = "setsid sh -c 'echo $$ > new; mv new pid; exec sleep 600' & while ! [ -e pid ]; do sleep 0.01; done"

pytestmark = pytest.mark.skipif(strays._children() is None, reason="this kernel does not list children")


def pid_in(folder: Path) -> int:
    return int((folder / "pid").read_text())


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not runs(pid)


@pytest.fixture
def told() -> Iterator[list[str]]:
    """Names of strays."""
    found: list[str] = []
    with adopting(found.append):
        yield found


def start(
    folder: Path, command: str, limit_s: float = 60.0, interrupt: Interrupt | None = None
) -> KeptRunning:
    found = KeptRunning()
    found.start("--setup", command, dict(os.environ), folder, limit_s, interrupt)
    return found


def launch(folder: Path, text: str = "true") -> None:
    run_command(["/bin/sh", "-c", text], dict(os.environ), folder, 60.0)


@pytest.mark.parametrize("command", [SERVER, DAEMON])
def test_it_lives_through_launches_and_ends_once(command: str, tmp_path: Path, told: list[str]) -> None:
    found = start(tmp_path, command)
    pid = pid_in(tmp_path)
    launch(tmp_path)
    found.check()
    assert runs(pid)
    launch(tmp_path, "setsid sleep 600 & while ! grep -q ^sleep /proc/$!/cmdline; do sleep 0.01; done")
    assert told == ["sleep 600"]  # what a launch leaves is ended as ever
    assert runs(pid)
    found.end()
    assert not Path(f"/proc/{pid}").exists()  # nor left to be reaped
    found.end()
    assert told == ["sleep 600"]


def test_a_worker_whose_parent_ends_during_a_launch_is_no_stray(tmp_path: Path, told: list[str]) -> None:
    parent = "(while ! [ -e go ]; do sleep 0.01; done; sleep 600 & echo $! > new; mv new pid)"
    found = start(tmp_path, f"({parent} & exec sleep 600) &")
    launch(tmp_path, "touch go; while ! [ -e pid ]; do sleep 0.01; done; sleep 0.1")
    assert runs(pid_in(tmp_path))
    found.end()
    assert ends(pid_in(tmp_path))
    assert not told


def test_what_it_prints_blocks_nobody_and_its_last_words_are_told(tmp_path: Path, told: list[str]) -> None:
    prints = "yes | head -c 200000; touch printed; while [ -e printed ]; do sleep 0.01; done"
    found = start(tmp_path, f"({prints}; echo bye; exit 7) &")
    launch(tmp_path, "while ! [ -e printed ]; do sleep 0.01; done")
    found.check()
    launch(tmp_path, "rm printed")
    deadline = time.monotonic() + 60
    reason = ""
    while not reason and time.monotonic() < deadline:
        try:
            found.check()
        except LaunchFailed as failure:
            reason = failure.reason
        time.sleep(0.01)
    assert reason.startswith("--setup left ")
    assert "running, which exited with code 7; its last words: y" in reason
    assert reason.endswith("bye")
    found.end()


def test_output_without_end_fills_no_disk(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_running, "_MOST_OUTPUT_BYTES", 1000)
    found = start(tmp_path, "(head -c 5000 /dev/zero; touch done; exec sleep 600) &")
    launch(tmp_path, "while ! [ -e done ]; do sleep 0.01; done")
    found.check()
    assert os.fstat(found._left[0].output.fileno()).st_size == 0
    found.end()


@pytest.mark.parametrize(("trap", "grace_s"), [("", 0.1), ("echo ended > end; exit", 60.0)])
def test_it_is_asked_to_end_and_then_ended(
    trap: str, grace_s: float, tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_running, "_GRACE_S", grace_s)
    serve = f"(trap '{trap}' TERM; touch ready; while :; do sleep 0.01; done)"
    found = start(tmp_path, f"{serve} & echo $! > pid; while ! [ -e ready ]; do sleep 0.01; done")
    found.end()
    assert not runs(pid_in(tmp_path))
    assert (tmp_path / "end").exists() == bool(trap)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (f"{SERVER}; echo no port >&2; exit 3", "exited with code 3; its last words: no port"),
        (f"{SERVER}; wait", "did not end within 1 s; next: what shall go on is put into the background"),
    ],
)
def test_one_that_fails_leaves_nothing(command: str, reason: str, tmp_path: Path, told: list[str]) -> None:
    with pytest.raises(LaunchFailed, match=reason):
        start(tmp_path, command, limit_s=1.0)
    assert not runs(pid_in(tmp_path))


def test_an_interrupt_leaves_nothing(tmp_path: Path, told: list[str]) -> None:
    launch(tmp_path)  # the guardian stays
    before = strays.children_before()
    with Interrupt() as interrupt:
        interrupt.request()
        with pytest.raises(Interrupted):
            start(tmp_path, f"{SERVER}; wait", interrupt=interrupt)
    assert strays._strays(before) == set()


def test_without_adoption_its_group_ends(tmp_path: Path) -> None:
    found = start(tmp_path, SERVER)
    launch(tmp_path)
    found.check()
    assert runs(pid_in(tmp_path))
    found.end()
    assert ends(pid_in(tmp_path))


def comes(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


UNTIL_GO = "while ! [ -e go ]; do sleep 0.01; done"
# Begins when it is told, in a session of its own, and its parent ends at once.
LATE = f"({UNTIL_GO}; (setsid sh -c 'echo $$ > new; mv new pid; exec sleep 600' &))"


def test_a_helper_that_a_server_starts_during_a_launch_is_no_stray(tmp_path: Path, told: list[str]) -> None:
    found = start(tmp_path, f"({LATE}; exec sleep 601) &")
    launch(tmp_path, "touch go; while ! [ -e pid ]; do sleep 0.01; done; sleep 0.1")
    launch(tmp_path)
    helper = pid_in(tmp_path)
    launch(tmp_path, f"while ! grep -q ^sleep /proc/{helper}/cmdline; do sleep 0.01; done")
    assert not told
    found.check()
    os.kill(helper, signal.SIGKILL)
    assert ends(helper)
    for _ in range(2):
        with pytest.raises(LaunchFailed, match=r"left 'sleep 600' running, which crashed with SIGKILL"):
            found.check()
    found.end()


def test_who_makes_itself_a_daemon_late_is_not_missed_but_that_daemon_is(
    tmp_path: Path, told: list[str]
) -> None:
    found = start(tmp_path, f"({LATE}; touch done) &")
    launch(tmp_path, "touch go; while ! [ -e pid ] || ! [ -e done ]; do sleep 0.01; done; sleep 0.1")
    launch(tmp_path)
    found.check()
    daemon = pid_in(tmp_path)
    assert runs(daemon)
    assert not told
    found.end()
    assert not runs(daemon)


def test_what_ends_well_is_missed_where_nothing_goes_on(tmp_path: Path, told: list[str]) -> None:
    wait = "(while ! [ -e {0} ]; do sleep 0.01; done) & echo $! > pid_{0}"
    found = start(tmp_path, f"{wait.format('one')}; {wait.format('two')}")
    pids = [int((tmp_path / f"pid_{name}").read_text()) for name in ("one", "two")]
    (tmp_path / "one").touch()
    assert ends(pids[0])
    found.check()
    assert runs(pids[1])
    (tmp_path / "two").touch()
    assert ends(pids[1])
    with pytest.raises(LaunchFailed, match="running, which exited with code 0"):
        found.check()
    found.end()


SAVES = "(trap 'sleep 0.1; touch saved; exit' TERM; touch up; while :; do sleep 0.01; done)"
IS_UP = "while ! [ -e up ]; do sleep 0.01; done"


@pytest.mark.parametrize("adopts", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        f"{SAVES} & {IS_UP}",
        f'sh -c "{SAVES} & exec sleep 600" & {IS_UP}',  # whose parent ends first
        f'setsid sh -c "{SAVES} & exec sleep 600" & {IS_UP}',
        f'setsid sh -c "setsid sh -c \\"{SAVES}\\" & exec sleep 600" & {IS_UP}',  # an orphan by then
    ],
)
def test_all_have_time_to_end(
    command: str, adopts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_running, "_GRACE_S", 60.0)
    with adopting(lambda _name: None) if adopts else nullcontext():
        found = start(tmp_path, command)
        found.end()
    assert (tmp_path / "saved").exists()


def test_no_group_is_watched_that_may_be_anothers_by_then(tmp_path: Path, told: list[str]) -> None:
    launch(tmp_path)
    before = set(shared_guardian()._groups)
    found = start(tmp_path, DAEMON)
    assert shared_guardian()._groups == before
    found.end()


REFUSED = """
import os, signal
from tollbench.launching import keeper
def refuse(*_): raise PermissionError
os.kill = os.killpg = refuse
keeper._KILLED_S = 0.1
keeper.main()
"""


def test_what_may_not_be_ended_is_told(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_running, "_KEEPER", interpreter_with_path("-c", REFUSED))
    monkeypatch.setattr(kept_running, "_GRACE_S", 0.1)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    around = Around(setup=(DAEMON,), cleanup=("exit 3",))
    surroundings = Surroundings(around)
    places = [(tmp_path, dict(os.environ))]
    surroundings.set_up(places)
    with pytest.raises(LaunchFailed) as failure:
        surroundings.clean_up(places)
    reasons = failure.value.reason
    assert "--cleanup 'exit 3' exited with code 3; --setup " in reasons
    assert "left 'sleep 600' running, which could not be ended; next: " in reasons
    assert ends(pid_in(tmp_path))  # toll itself was refused nothing


def test_a_keeper_that_is_killed_is_missed(tmp_path: Path, told: list[str]) -> None:
    found = start(tmp_path, DAEMON)
    found._left[0].spawned.popen.send_signal(signal.SIGKILL)
    with pytest.raises(LaunchFailed, match="--setup: the process that keeps what it left has ended"):
        found.check()
    assert found.end() == []
    assert ends(pid_in(tmp_path))


def test_the_end_is_known_where_sigchld_is_ignored(tmp_path: Path, told: list[str]) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        found = start(tmp_path, f"({UNTIL_GO}; exit 7) & echo $! > pid")
        (tmp_path / "go").touch()
        assert ends(pid_in(tmp_path))
        with pytest.raises(LaunchFailed, match="exited with code 7"):
            found.check()
        found.end()
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_set_up_is_once_and_its_end_comes_after_the_clean_up(tmp_path: Path, told: list[str]) -> None:
    clean = "kill -0 $(cat pid) && echo clean >> log; exit 3"
    around = Around(setup=(f"{SERVER}; echo up >> log",), cleanup=(clean,))
    surroundings = Surroundings(around)
    places = [(tmp_path, dict(os.environ))] * 2
    surroundings.set_up(places)
    surroundings.set_up(places)  # of what is confirmed
    with pytest.raises(LaunchFailed, match=r"--cleanup .* exited with code 3"):
        surroundings.clean_up(places)
    assert (tmp_path / "log").read_text().split() == ["up", "clean"]
    assert not runs(pid_in(tmp_path))


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> dict[str, Any]:
    """The only row."""
    monkeypatch.setattr("sys.argv", ["toll", "compare", *words, "--measure-all", "--json"])
    tollbench.cli.main()
    (row,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert isinstance(row, dict)
    return row


def test_a_comparison_has_its_server(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = "kill -0 $(cat pid)"
    row = compared(monkeypatch, capsys, asks, f"{asks}; sleep 0.05", "--setup", SERVER, "--budget", "30s")
    assert row["verdict"] == "slower", row["reason"]
    assert not runs(pid_in(in_folder))


def test_a_server_that_ends_in_the_middle_is_told_and_nothing_is_compared(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The launches themselves go well without it."""
    ends = "(while ! [ -e four ]; do sleep 0.01; done; echo out of memory; kill -s SEGV $(cat pid)) &"
    setup = f"sh -c 'echo $$ > new; mv new pid; {ends} exec sleep 600' &"
    side = "echo x >> all; [ $(wc -l < all) -lt 4 ] || touch four; sleep 0.05"
    row = compared(monkeypatch, capsys, side, f"{side}; true", "--setup", setup, "--budget", "20s")
    assert row["verdict"] == "failed"
    assert "running, which crashed with SIGSEGV; its last words: out of memory" in row["reason"]


KILLED = """
import os, sys
from pathlib import Path
from tollbench.launching.kept_running import KeptRunning
from tollbench.launching.strays import adopting
with adopting(print):
    kept = KeptRunning()
    kept.start("--setup", sys.argv[1], dict(os.environ), Path.cwd(), 60.0)
    print("left", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("command", [SERVER, DAEMON, f"({LATE}; exec sleep 600) &"])
def test_a_killed_toll_leaves_no_server(command: str, tmp_path: Path) -> None:
    words = interpreter_with_path("-c", KILLED, command)
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(
        words, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as toll:
        assert toll.stdout is not None
        assert toll.stdout.readline() == b"left\n"
        (tmp_path / "go").touch()
        comes(tmp_path / "pid")
        pid = pid_in(tmp_path)
        assert runs(pid)
        toll.send_signal(signal.SIGKILL)
        assert ends(pid)


def test_an_interrupted_comparison_leaves_no_server(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = f"kill -s INT {os.getpid()}; sleep 60"
    words = ["toll", "compare", side, f"{side}; true", "--setup", SERVER, "--cleanup", "touch cleaned"]
    monkeypatch.setattr("sys.argv", words)
    assert tollbench.cli.main() == 130
    assert not runs(pid_in(in_folder))
    assert Path("cleaned").exists()
