"""`toll compare --sandbox` and `toll why --sandbox` as a whole: what is measured, built, stored and told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tollbench import cli
from tollbench.cli import machine_use
from tollbench.cli.sandboxing import sandbox_for
from tollbench.compare.stored import StoredComparison
from tollbench.errors import TollError

Toll = Callable[..., int]
# The sides are one program. On a loaded machine two equal scripts of a millisecond can differ by chance (1 of
# 20 comparisons may say so), and what is asked here is not about time: no difference is a regression.
ONCE = ["--budget", "1s", "--threshold", "9", "--measure-all", "--raw", "raw.jsonl", "--json"]


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    """In a project of a home folder, where there is a key beside it."""
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    (tmp_path / "home" / "key").write_text("a secret")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    try:
        sandbox_for([], None, [])
    except TollError as refused:
        pytest.skip(f"no sandbox here: {refused.what}")

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["toll", *words])
        return cli.main()

    return run


def steals() -> str:
    """Fails where the key is there, which no word names, or something is written."""
    return 'test ! -e "$HOME/key" && ! echo x > written && sleep 0.001'


def test_sides_reach_nothing_and_the_result_says_so(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    assert toll("compare", steals(), steals(), "--sandbox", *ONCE) in (0, 3)
    found = json.loads(capsys.readouterr().out)
    assert [row["verdict"] != "failed" for row in found["comparisons"]] == [True]
    assert "no network" in found["sandbox"]
    assert not Path("written").exists()
    raw = Path("raw.jsonl").read_text().splitlines()
    assert json.loads(raw[0])["sandbox"] == found["sandbox"]
    whole = StoredComparison.read(Path("raw.jsonl")).comparisons
    Path("cut.jsonl").write_text("\n".join(line for line in raw if '"found"' not in line[:10]) + "\n")
    assert StoredComparison.read(Path("cut.jsonl")).comparisons.sandbox == whole.sandbox == found["sandbox"]


def test_without_it_they_reach_all(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    assert toll("compare", steals(), steals(), *ONCE) == 2
    assert json.loads(capsys.readouterr().out)["sandbox"] == ""


def test_reports_name_it(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    toll("compare", "true", "true", "--sandbox", *ONCE[:-1], "--html", "x.html", "--markdown", "x.md")
    for text in (capsys.readouterr().out, Path("x.html").read_text(), Path("x.md").read_text()):
        assert "All sides ran in a sandbox of bubblewrap" in " ".join(text.split())


def test_builds_run_in_it_too(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "b"], check=True)
    key = Path("../key").resolve()
    build = f"test ! -e {key} && ! echo x > {key.parent}/written && printf '#!/bin/sh\\nexit 0\\n' > bench"
    sides = ["HEAD~1", "HEAD", "--build", f"{build} && chmod +x bench", "--program", "./bench"]
    assert toll("compare", *sides, "--sandbox", *ONCE) in (0, 3), capsys.readouterr().err
    assert not (key.parent / "written").exists()
    assert toll("compare", *sides, *ONCE[:-3], "--json") == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "b", "--sandbox-show", "."], "add --sandbox"),
        (["tasks/skynet/pthread", "tasks/skynet/std_thread", "--sandbox"], "leave out --sandbox"),
        (["a", "b", "--sandbox", "--build", "x", "--program", "./x", "--layouts", "4"], "leave out one"),
    ],
)
def test_what_does_not_go_together(
    toll: Toll, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert toll("compare", *words) == 2
    assert told in capsys.readouterr().err


def test_why_runs_sides_in_it(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    program = Path("program")
    program.write_text(f"#!/bin/sh\n{steals()}\n")
    program.chmod(0o755)
    code = toll("why", "--kind", "command", "./program", "./program 2", "--sandbox", "--json")
    told = capsys.readouterr()
    assert code == 0, told.err
    assert "no network" in json.loads(told.out)["sandbox"]
    assert not Path("written").exists()
