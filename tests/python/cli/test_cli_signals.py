"""Whoever stops toll, and whenever, is told so; the code is that of an interrupt, and nothing goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import tollbench.cli
from checkouts import ROOT
from tollbench.interpreters import interpreter_with_path
from tollbench.launching.interrupt import Interrupt

# A verb that waits in each of the ways in which verbs do; it says when it does.
WAITING = """
import sys, time, signal
from pathlib import Path
import tollbench.cli
from tollbench.building import cmake
from tollbench.catalog import suites
from tollbench.cli import env
def waits(*_):
    print("waiting", flush=True)
    time.sleep(60)
suites.load = waits
env._root = waits
sys.argv[0] = "toll"
sys.exit(tollbench.cli.main())
"""


def started(*words: str, before: str = "") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        interpreter_with_path("-c", before + WAITING, *words),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # the tests may run under nohup
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    return process


@pytest.mark.parametrize("words", [("list",), ("run",), ("env", "add", "debian13")])
@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, ""), (signal.SIGTERM, " by SIGTERM"), (signal.SIGHUP, " by SIGHUP")],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_signal_is_answered(words, number, said) -> None:
    process = started(*words)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert told == f"toll: interrupted{said}\n  next: start again when it suits\n"
    assert process.returncode == 130


def test_nohup_holds() -> None:
    process = started("list", before="import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert process.poll() is None
    process.kill()
    process.communicate()


def test_nohup_holds_while_measuring() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupt() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupt.requested
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupt.requested
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


BUILDING = """
import sys
from pathlib import Path
import tollbench.cli
from tollbench.building import cmake
from tollbench.catalog import suites
from tollbench.cli.places import ROOT
def builds(*_):
    build = cmake.Build(ROOT, Path(sys.argv[2]))
    cmake._compile(build, ["made"], lambda *_: None)
suites.load = builds
sys.argv[0] = "toll"
sys.exit(tollbench.cli.main())
"""


def test_what_builds_ends_with_toll(tmp_path: Path) -> None:
    waits = f"echo $$$$ > {tmp_path}/new && mv {tmp_path}/new {tmp_path}/pid && sleep 600"
    (tmp_path / "build.ninja").write_text(f"rule wait\n  command = {waits}\nbuild made: wait\n")
    process = subprocess.Popen(
        interpreter_with_path("-c", BUILDING, "list", str(tmp_path)), stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    while not (tmp_path / "pid").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert "interrupted by SIGTERM" in told
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_handlers_go_with_the_command(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["toll", "report", "nothing"])
    tollbench.cli.main()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
