"""toll on other systems than Linux: it says that it measures on Linux, and shows runs.

Simulated: a process that cannot import what only Linux, or only Unix, has, and lacks their functions.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from made_runs import Made, make_run

from checkouts import ROOT
from tollbench import __main__ as door
from tollbench.interpreters import interpreter_with_path

SYSTEM = """
import sys, sysconfig
sysconfig.get_config_vars()
system = sys.argv.pop(1)
windows = system == "win32"
for name in ("pwd", "grp", "resource", "termios", "tty", "pty", *(["fcntl"] if windows else [])):
    sys.modules[name] = None
import os, signal
import ctypes, platform, rich.console, shutil, socket, sqlite3, subprocess, tempfile, typer
linux = ("sched_getaffinity", "memfd_create", "pidfd_open", "O_PATH")
unix = ("geteuid", "getuid", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY")
for name in (*linux, *(unix if windows else ())):
    if hasattr(os, name):
        delattr(os, name)
if windows:
    del signal.SIGCHLD, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT
    os.supports_dir_fd = set()
from tollbench.cli import main
sys.platform = system
sys.argv[0] = "toll"
sys.exit(main())
"""
FIRST_LINE = "toll measures on Linux; on this system"


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "made.toll"
    return make_run(path, [Made("quick", [10.0, 11.0, 12.0]), Made("slow", [20.0, 21.0, 22.0])])


def toll(system, *arguments, cwd="/"):
    done = subprocess.run(
        interpreter_with_path("-c", SYSTEM, system, *arguments),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith(FIRST_LINE), done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("system", ["darwin", "win32"])
@pytest.mark.parametrize("form", ["terminal", "html", "markdown", "json", "csv"])
def test_a_run_is_shown_everywhere(system, form, run_file):
    done = toll(system, "report", str(run_file), "--format", form)
    assert done.returncode == 0, done.stderr
    assert "quick" in done.stdout


def test_where_no_file_can_be_written_safely_the_way_out_is_named(run_file, tmp_path):
    words = ("report", str(run_file), "--format", "html", "--output", str(tmp_path / "page.html"))
    refused = toll("win32", *words)
    assert refused.returncode == 2
    assert "> report.html" in refused.stderr
    assert toll("darwin", *words).returncode == 0
    assert "quick" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("system", ["darwin", "win32"])
@pytest.mark.parametrize("verb", ["run", "compare", "doctor"])
def test_what_measures_is_refused_with_a_sentence(system, verb):
    done = toll(system, verb)
    assert done.returncode == 2
    assert f"toll {verb} needs Linux" in done.stderr


def test_help_is_there_everywhere():
    assert "report" in toll("win32", "--help").stdout


def test_an_old_python_gets_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr("sys.version_info", (3, 9, 2))
    monkeypatch.setattr(door, "leave_the_current_folder", lambda: None)
    assert door.start() == 2
    assert "Python 3.9 is too old" in capsys.readouterr().err


def test_an_old_c_library_gets_a_sentence(capsys):
    from tollbench import cli

    def work():
        raise ImportError("/lib/libc.so.6: version `GLIBC_2.28' not found")

    assert cli._guarded(work) == 2
    assert "too old" in capsys.readouterr().err
