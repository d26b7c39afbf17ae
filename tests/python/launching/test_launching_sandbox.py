"""A program in the sandbox: what it cannot reach there and can outside, its own time, its end, its turns."""

from __future__ import annotations

import os
import random
import socket
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tollbench.catalog import packages
from tollbench.cli.sandboxing import sandbox_for
from tollbench.errors import TollError
from tollbench.home import PACKAGE
from tollbench.interpreters import interpreter, interpreter_with_path
from tollbench.launching import halting
from tollbench.launching.child import Limits
from tollbench.launching.command import Command, Ended, run_command, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.in_turns import EndedInTurns, run_in_turns
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.sandbox import Confined, Sandbox, sandboxed, writing_reports
from tollbench.launching.strays import adopting
from tollbench.writing import scratch_folder

BWRAP = packages.table()["bubblewrap"].found()
PYTHON = [Path(sys.prefix), Path(sys.base_prefix)]
HIDDEN = "a secret"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a project in it, in which one stands."""
    made = tmp_path / "home"
    (made / "project").mkdir(parents=True)
    (made / "key").write_text(HIDDEN)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.chdir(made / "project")
    return made


@pytest.fixture
def sandbox(home: Path) -> Iterator[Sandbox]:
    if BWRAP is None:
        pytest.skip("needs bubblewrap")
    try:
        made = sandbox_for([], None, PYTHON)
    except TollError as refused:
        pytest.skip(f"no sandbox here: {refused.what}")
    with sandboxed(made):
        yield made


def run(command: Sequence[str], folder: Path | None = None, *, confined: Confined | None) -> Ended:
    return run_command(command, dict(os.environ), folder or Path.cwd(), 60.0, confined=confined)


def shell(text: str, folder: Path | None = None, *, inside: bool = True) -> Ended:
    return run(["/bin/sh", "-c", text], folder, confined=Confined() if inside else None)


def both(text: str) -> tuple[Ended, Ended]:
    """The same program inside and outside."""
    return shell(text), shell(text, inside=False)


def test_a_file_of_the_home_folder_is_read_outside_alone(sandbox: Sandbox, home: Path) -> None:
    inside, outside = both(f"cat {home}/key")
    assert outside.stdout.decode() == HIDDEN
    assert inside.exit_code != 0
    assert HIDDEN.encode() not in inside.stdout


@pytest.mark.parametrize("place", ["", "project"])
def test_home_and_project_are_written_to_outside_alone(sandbox: Sandbox, home: Path, place: str) -> None:
    written = home / place / "written"
    assert shell(f"echo x > {written}").exit_code != 0
    assert not written.exists()
    assert shell(f"echo x > {written}", inside=False).exit_code == 0
    assert written.exists()


def test_the_network_is_reached_outside_alone(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ask = interpreter("-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 20)")
        inside, outside = run(ask, confined=Confined()), run(ask, confined=None)
    assert outside.exit_code == 0, outside.how()
    assert b"ConnectionRefusedError" in inside.stderr, inside.how()


def test_sockets_of_services_are_hidden(sandbox: Sandbox) -> None:
    inside, outside = both("ls /run | wc -l")
    assert int(inside.stdout) == 0
    assert int(outside.stdout) > 0


def test_other_processes_are_neither_seen_nor_ended(sandbox: Sandbox) -> None:
    inside, outside = both(f"kill -0 {os.getpid()}")
    assert (inside.exit_code != 0, outside.exit_code) == (True, 0)


def test_the_temporary_folder_is_new_for_each_launch(sandbox: Sandbox) -> None:
    place = f"/tmp/toll-test-{uuid.uuid4()}"  # somebody had a file /tmp/x
    for _ in range(2):
        ended = shell(f"test ! -e {place} && echo y > {place} && cat {place}")
        assert (ended.exit_code, ended.stdout) == (0, b"y\n"), ended.how()
    assert not Path(place).exists()


def test_a_fresh_folder_and_one_for_reports_are_written_to(sandbox: Sandbox) -> None:
    with working_folder(None) as folder, scratch_folder() as reports, writing_reports(reports):
        ended = run(
            ["/bin/sh", "-c", f"echo x > here && echo x > {reports}/report"],
            folder,
            confined=Confined((reports,)),
        )
        assert ended.exit_code == 0, ended.how()
        assert (folder / "here").exists()
        assert (reports / "report").exists()


def test_a_link_shows_nothing_of_what_it_leads_to(sandbox: Sandbox, home: Path) -> None:
    """A stranger's project may have one, which somebody compares."""
    strange = home / "strange"
    strange.mkdir()
    for link in (strange / "data", Path("bench")):
        link.symlink_to(home / "key")
        for text in (f"cat {link}", str(link)):
            sandbox.show_command(text, Path.cwd())
            assert HIDDEN.encode() not in shell(f"cat {link}").stdout


def test_what_is_named_is_shown(sandbox: Sandbox, home: Path) -> None:
    tools = home / "tools"
    tools.mkdir()
    (tools / "data").write_text("x")
    program = tools / "program"
    program.write_text("#!/bin/sh\ncat $(dirname $0)/data")
    program.chmod(0o755)
    assert run([str(program)], confined=Confined()).exit_code != 0
    sandbox.show_command(str(program), Path.cwd())
    assert run([str(program)], confined=Confined()).stdout == b"x"


@pytest.mark.parametrize("text", ["exit 3", "kill -SEGV $$", "kill -ABRT $$"])
def test_an_end_is_told_as_outside(sandbox: Sandbox, text: str) -> None:
    inside, outside = both(f"echo words >&2; {text}")
    assert (inside.exit_code, inside.stderr) == (outside.exit_code, outside.stderr)


def test_variables_come_as_they_are(sandbox: Sandbox) -> None:
    given = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/no  where", "ODD": "a'b\n$c", "ENV": "/x"}
    for confined in (None, Confined()):
        ended = run_command(["env", "-0"], given, Path.cwd(), 60.0, confined=confined)
        told = dict(each.split("=", 1) for each in ended.stdout.decode().split("\0") if each)
        assert {name: told[name] for name in given} == given


def test_a_name_that_is_not_the_file_stays(sandbox: Sandbox) -> None:
    if not Path("/bin/bash").exists():
        pytest.skip("needs bash")
    words = ["called", "-c", "echo $0"]
    ended = run_command(words, dict(os.environ), Path.cwd(), 60.0, None, "/bin/sh", Confined())
    assert ended.stdout == b"called\n"


def slow(folder: Path, before_s: float) -> Path:
    """A bubblewrap that takes its time."""
    made = folder / "bwrap"
    made.write_text(f'#!/bin/sh\nsleep {before_s}\nexec {BWRAP} "$@"\n')
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    return made


def test_making_the_sandbox_is_no_part_of_the_time(sandbox: Sandbox, tmp_path: Path) -> None:
    before_s = 2.0
    sandbox.bwrap = str(slow(tmp_path, before_s))
    began_ns = time.monotonic_ns()
    ended = shell("true")
    assert ended.exit_code == 0
    assert time.monotonic_ns() - began_ns - ended.wall_ns >= before_s * 1e9


def test_what_a_program_left_ends_with_it_and_the_sandbox_is_no_stray(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    told: list[str] = []
    mark = f"6{os.getpid()}"
    with adopting(told.append):
        ended = shell(f"setsid sleep {mark} </dev/null >/dev/null 2>&1 & sleep 0.1")
    assert ended.exit_code == 0
    assert told == []
    assert not running(f"sleep\0{mark}")


def running(words: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().startswith(words.encode()):
                return True
        except OSError:
            continue
    return False


def test_one_that_does_not_end_is_ended(sandbox: Sandbox) -> None:
    mark = f"7{os.getpid()}"
    told: list[str] = []
    with adopting(told.append), pytest.raises(LaunchFailed, match=r"did not end within 0\.5 s"):
        run_command(["sleep", mark], dict(os.environ), Path.cwd(), 0.5, confined=Confined())
    assert told == []
    assert not running(f"sleep\0{mark}")


def test_a_program_is_talked_to(sandbox: Sandbox) -> None:
    launcher = ProcessLauncher(confined=Confined())
    child = launcher.start(["cat"], dict(os.environ), Limits(60.0, 0), Path.cwd())
    child.write_line(b"hello")
    assert child.read_line() == b"hello"
    assert child.finish().exit_code == 0


def test_sides_take_turns_in_it(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halting, "_HALT_LIMIT_S", 60.0)
    works = "import time\nends = time.process_time() + 0.2\nwhile time.process_time() < ends: pass"
    command = Command(interpreter("-c", works), dict(os.environ), Path.cwd(), confined=Confined())
    found = run_in_turns({0: command, 1: command}, [0, 1], random.Random(5), 60.0)
    for each in found.values():
        assert isinstance(each, EndedInTurns), each
        assert each.ended.exit_code == 0
        # A halt is one more switch of the program, and not of all that are halted with it.
        assert each.ended.voluntary_switches - each.halts < each.halts


def path_with(folder: Path, programs: Mapping[str, str]) -> str:
    folder.mkdir()
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return str(folder)


def test_without_bubblewrap_its_package_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path / "empty", {}))
    with pytest.raises(TollError, match="bubblewrap") as refused:
        sandbox_for([], None, [])
    assert "install" in refused.value.next_step
    assert "bubblewrap" in refused.value.next_step


def test_where_the_kernel_refuses_its_reason_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    monkeypatch.setenv("PATH", f"{path_with(tmp_path / 'first', {'bwrap': refuses})}:{os.environ['PATH']}")
    with pytest.raises(TollError, match="No permissions to create new namespace") as refused:
        sandbox_for([], None, [])
    assert "user namespaces" in refused.value.next_step


def test_a_killed_toll_leaves_no_program_in_it(sandbox: Sandbox, tmp_path: Path) -> None:
    mark = f"8{os.getpid()}"
    code = (
        "import os, sys; from pathlib import Path\n"
        "from tollbench.launching.command import run_command\n"
        "from tollbench.launching.sandbox import Confined, Sandbox, sandboxed\n"
        "with sandboxed(Sandbox(sys.argv[1], 'x')):\n"
        "    run_command(['sleep', sys.argv[2]], dict(os.environ), Path('/'), 600.0, confined=Confined())\n"
    )
    words = interpreter_with_path("-c", code, sandbox.bwrap, mark)
    toll = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})
    while not running(f"sleep\0{mark}"):
        assert toll.poll() is None
        time.sleep(0.01)
    toll.kill()
    toll.wait()
    while running(f"sleep\0{mark}"):  # without an end where it is left
        time.sleep(0.01)
