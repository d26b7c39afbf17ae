"""What a program leaves behind ends with it, and is told; toll's own children and other programs do not."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tollbench.cli
from tollbench.cli import machine_use
from tollbench.launching import strays
from tollbench.launching.child import Limits
from tollbench.launching.command import run_command
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.strays import adopting

# Leaves its group and session, and its parent.
DAEMON = "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600' </dev/null >/dev/null 2>&1 &"
WAITS = "while ! [ -e {0} ]; do sleep 0.01; done"
IS_SLEEPING = "while ! grep -q ^sleep /proc/$(cat {0})/cmdline; do sleep 0.01; done"

pytestmark = pytest.mark.skipif(strays._children() is None, reason="this kernel does not list children")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def daemon(folder: Path, name: str = "daemon") -> str:
    return f"{DAEMON} {WAITS}; {IS_SLEEPING}".format(folder / name)


def test_a_daemon_is_ended_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    with adopting(told.append):
        ended = run_command(["/bin/sh", "-c", daemon(tmp_path)], dict(os.environ), tmp_path, 60.0)
    assert ended.exit_code == 0
    assert not alive(int((tmp_path / "daemon").read_text()))
    assert told == ["sleep 600"]


def test_a_daemon_of_a_daemon_too(tmp_path: Path) -> None:
    told: list[str] = []
    inner = daemon(tmp_path, "inner")
    (tmp_path / "outer.sh").write_text(f"{inner}\nsleep 600 &\ntouch {tmp_path}/made\nwait\n")
    outer = f"setsid sh {tmp_path}/outer.sh </dev/null >/dev/null 2>&1 & {WAITS.format(tmp_path / 'made')}"
    with adopting(told.append):
        run_command(["/bin/sh", "-c", outer], dict(os.environ), tmp_path, 60.0)
    assert not alive(int((tmp_path / "inner").read_text()))
    assert "sleep 600" in told
    assert len(told) == 3  # the script, what it waits with, and what it left


def test_a_child_that_the_kernel_left_out_of_its_list_is_no_stray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does where another thread reaps a child meanwhile."""
    told: list[str] = []
    own = subprocess.Popen(["sleep", "600"], start_new_session=True)
    listed = strays._children
    time.sleep(0.05)  # some ticks
    answers: Iterator[list[int]] = iter([[-1]])
    try:
        with adopting(told.append):
            monkeypatch.setattr(strays, "_children", lambda: next(answers, None) or listed())
            run_command(["/bin/sh", "-c", daemon(tmp_path)], dict(os.environ), tmp_path, 60.0)
        assert alive(own.pid)
        assert told == ["sleep 600"]
    finally:
        own.kill()
        own.wait()


def test_own_children_and_other_programs_stay(tmp_path: Path) -> None:
    told: list[str] = []
    own = subprocess.Popen(["sleep", "600"], start_new_session=True)
    launcher = ProcessLauncher()
    try:
        with adopting(told.append):
            before = launcher.start(["/bin/sh", "-c", "echo 1; read x"], {}, Limits(60.0, 0))
            short = launcher.start(["/bin/sh", "-c", "echo 2"], {}, Limits(60.0, 0))
            after = launcher.start(["/bin/sh", "-c", "echo 3; read x"], {}, Limits(60.0, 0))
            short.finish()
            assert [before.read_line(), after.read_line()] == [b"1", b"3"]
            before.kill()
            assert alive(after.pid)
            after.kill()
        assert alive(own.pid)
        assert told == []
    finally:
        own.kill()
        own.wait()


def test_what_is_not_adopted_is_left_alone(tmp_path: Path) -> None:
    with adopting(lambda _name: None):
        pass
    run_command(["/bin/sh", "-c", daemon(tmp_path)], dict(os.environ), tmp_path, 60.0)
    pid = int((tmp_path / "daemon").read_text())
    assert alive(pid)
    os.kill(pid, 9)


def test_a_kernel_that_does_not_tell(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(strays, "_TASKS", tmp_path / "nowhere")
    with adopting(lambda _name: pytest.fail("told of nothing")):
        assert run_command(["/bin/sh", "-c", "exit 3"], dict(os.environ), tmp_path, 60.0).exit_code == 3


def test_a_comparison_says_it_once(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mark = f"600.{os.getpid()}"
    waits = "while ! grep -q ^sleep /proc/$!/cmdline; do sleep 0.01; done"
    script = tmp_path / "side.sh"
    script.write_text(f"setsid sleep {mark} </dev/null >/dev/null 2>&1 &\n{waits}\n")
    sides = [f"/bin/sh {script} {side}" for side in "ab"]
    monkeypatch.setattr("sys.argv", ["toll", "compare", *sides, "--budget", "1s", "--measure-all"])
    tollbench.cli.main()
    assert capsys.readouterr().err.count(f"left a process behind, which was ended with it: sleep {mark}") == 1
    time.sleep(0.05)
    left = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_where_memory_ends_the_program_goes_before_toll(tmp_path: Path) -> None:
    waits = "while [ $(cat /proc/$$/oom_score_adj) != 1000 ]; do sleep 0.01; done"
    ended = run_command(["/bin/sh", "-c", waits], dict(os.environ), tmp_path, 20.0)
    assert ended.exit_code == 0
    assert int(Path("/proc/self/oom_score_adj").read_text()) < 1000


def test_what_another_thread_starts_is_no_stray(tmp_path: Path) -> None:
    """Linkers and compilers are started by several threads, as are tools that nobody watches."""

    def one(number: int) -> int:
        if number % 4 == 0:
            return subprocess.run(["/bin/sh", "-c", "exit 7"], cwd=tmp_path, check=False).returncode
        return run_command(["/bin/sh", "-c", "exit 7"], dict(os.environ), tmp_path, 60.0).exit_code

    told: list[str] = []
    with adopting(told.append), ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(400))) == {7}
    assert told == []
