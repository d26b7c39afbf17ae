"""What was mistyped is told at once: nobody waits for another run to learn of it, and nothing is made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tollbench import cli
from tollbench.cli import comparing
from tollbench.errors import TollError
from tollbench.launching.sandbox import Sandbox

ROWS = ["tasks/skynet/std_thread", "tasks/skynet/pthread"]
Toll = Callable[..., tuple[int, str]]


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Toll:
    """`toll compare` in an empty folder, while another run measures: the exit code, and what is said."""
    monkeypatch.chdir(tmp_path)

    def taken(*_: object, **__: object) -> None:
        raise TollError("another run measures", "wait")

    monkeypatch.setattr(comparing, "machine_taken", taken)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["toll", "compare", *words])
        return cli.main(), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["unclosed ./b"], "a comparison needs two sides"),
        (["unclosed ./b", "true"], "there is no executable unclosed"),
        (["true 'a", "true"], "cannot be split into words"),
        (["./nothing", "true"], "there is no executable ./nothing"),
        ([".", "true"], ". is a folder"),
        (["", "true"], "a side is empty"),
        (["true", "true", "--program", "./x"], "--build and --program belong together"),
        (["true", "true", "--layouts", "3"], "--layouts needs --build"),
        (["true", "true", "--count-only", "--why"], "--why is about times"),
        (["true", "true", "--kind", "command", "--read", "csv:name,ns"], "does not read with --read"),
        (["tasks/skynet/std_thread", "true"], "reads as a contender"),
        (["HEAD", "mian", "--build", "true", "--program", "./x"], "is not in a git repository"),
        (["true", "true", "--set", "tasks=1000"], "--set chooses the parameters of contenders"),
        ([*ROWS, "--set", "task=1000"], "task"),
        ([ROWS[0], "tasks/skynet/std_thred"], "std_thred"),
        ([ROWS[0], ROWS[0]], "alone is named"),
        ([ROWS[0], "latency/lock/spinlock"], "different workloads"),
        ([*ROWS, "--env", "nope"], "nope"),
        ([*ROWS, "--env", "all"], "in one environment"),
        (["true", "--env", "host,nope"], "nope"),
        ([*ROWS, "--kind", "command"], "are toll programs"),
        ([*ROWS, "--read", "csv:name,ns"], "are toll programs"),
        ([*ROWS, "--layouts", "1000"], "is more than"),
        (["true", "true", "--layouts", "3", "--env", "host,jemalloc"], "--layouts needs --build"),
        (["true", "--set", "tasks=1", "--env", "host,jemalloc"], "--set does not go with several --env"),
        (["true", "true"], "another run measures"),
        ([*ROWS, "--set", "tasks=1000", "--env", "host"], "another run measures"),
        ([*ROWS, "--env", "compilers"], "another run measures"),
        (["true", "--env", "host,jemalloc"], "another run measures"),
        (ROWS, "another run measures"),
    ],
)
def test_a_mistake_is_told_before_the_machine_is_waited_for(
    toll: Toll, tmp_path: Path, words: list[str], told: str
) -> None:
    code, said = toll(*words)
    assert code == 2
    assert told in said
    assert list(tmp_path.iterdir()) == []  # no empty runs/


@pytest.mark.parametrize(
    ("words", "told"),
    [(ROWS, "are toll's own programs"), (["true", "true", "--prepare", "true"], "another run")],
)
def test_what_goes_into_no_sandbox_is_told_before(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.setattr(comparing, "sandbox_asked", lambda *_: Sandbox("bwrap", "bubblewrap 1"))
    _, said = toll(*words, "--sandbox")
    assert told in said


def test_what_a_command_makes_before_the_launches_may_not_be_there_yet(toll: Toll) -> None:
    _, said = toll("./made", "./made too", "--setup", "make")
    assert "another run measures" in said


@pytest.mark.parametrize("option", ["--html", "--save-baseline"])
@pytest.mark.parametrize("raw", ["", "runs/raw", "./runs/deep/raw", "runs/../runs/raw"])
def test_a_file_in_runs_has_its_folder(toll: Toll, tmp_path: Path, option: str, raw: str) -> None:
    where = ["--raw", raw] if raw else []
    _, said = toll("true", "true", "--count", "size", option, "runs/file", *where)
    assert "another run measures" in said
    assert (tmp_path / "runs").is_dir()


def test_a_baseline_is_not_the_raw_file_of_a_folder_to_be_made(toll: Toll) -> None:
    code, said = toll("true", "true", "--count", "size", "--raw", "out/x", "--save-baseline", "./out/x")
    assert code == 2
    assert "are one file" in said


@pytest.mark.parametrize("place", ["/proc/x/y", "file/x/y", "file/y", f"{'long' * 100}/y"])
def test_a_raw_file_that_could_not_be_made_is_told_before(toll: Toll, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    code, said = toll("true", "true", "--raw", place)
    assert code == 2
    assert "cannot write into the folder" in said
    assert "--raw FILE" in said
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("there", ["a file", "a link to nothing", "a folder of somebody else's"])
def test_a_folder_that_could_not_be_made_is_told_before(
    toll: Toll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    if there == "a file":
        (tmp_path / "runs").touch()
    elif there == "a link to nothing":
        (tmp_path / "runs").symlink_to("nowhere")
    else:
        monkeypatch.setattr("os.access", lambda path, _mode, **_: Path(path) != tmp_path)
    code, said = toll("true", "true")
    assert code == 2
    assert "cannot write into the folder" in said
