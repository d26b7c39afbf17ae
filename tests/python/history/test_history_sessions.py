"""`toll history` as a whole: real repositories, with programs that print their times."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from test_history_reading import SCHEMA

from checkouts import ROOT
from tollbench import cli
from tollbench.cli import machine_use, places
from tollbench.compare.raw_file import RawFile
from tollbench.history.history_folder import HistoryFolder
from tollbench.interpreters import interpreter_with_path

WORDS = (
    *("--build", "sh build.sh", "--program", "./bench", "--read", "csv:name,ns"),
    *("--budget", "60s", "--commit-budget", "0.4s", "--threshold", "0.02", "--seed", "1"),
)
Toll = Callable[..., int]

# Prints each benchmark of the file `levels` with up to 0.1 % of noise either way.
BENCH = """\
#!/bin/sh
echo name,ns
while read name level; do
  noise=$(od -An -N2 -tu2 /dev/urandom)
  echo "$name,$((level * 100 + noise % 2000 - 1000))"
done < "$(dirname "$0")/levels"
"""
GOOD_BUILD = "cp bench.sh bench; chmod +x bench"


class Branch:
    """A repository with some commits, made in one go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        (folder / "bench.sh").write_text(BENCH)
        self.commits: list[str] = []

    def git(self, *words: str) -> str:
        names = {f"GIT_{who}_{what}": "n" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", "-c", "commit.gpgsign=false", *words],
            cwd=self.folder, env={**os.environ, **names}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, build: str = GOOD_BUILD, **levels: int) -> str:
        (self.folder / "levels").write_text("".join(f"{name} {level}\n" for name, level in levels.items()))
        (self.folder / "build.sh").write_text(build + "\n")
        (self.folder / "number").write_text(f"{len(self.commits)}\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", f"step {len(self.commits)}")
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    """Runs `toll history` in the folder `project`, without the machine's lock."""
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setattr(places, "RUNS", tmp_path / "runs")

    def run(*words: str) -> int:
        monkeypatch.chdir(tmp_path / "project")
        monkeypatch.setattr(sys, "argv", ["toll", "history", *words])
        return cli.main()

    return run


@pytest.mark.slow
def test_two_nights(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second one measures what is new, beside the same reference, and finds the change of the first."""
    project = Branch(tmp_path / "project")
    for number in range(12):
        project.commit("exit 4" if number == 3 else GOOD_BUILD, sum=10_000 if number < 6 else 10_800)
    assert toll("--last", "12", *WORDS) == 0
    first = capsys.readouterr()
    assert first.err.count("building") == 13  # and the reference once more, as one commit does not build
    assert "sum is slower by 8." in first.out
    assert project.commits[6][:10] in first.out
    assert f"{project.commits[3][:10]} does not build: `sh build.sh` exited with code 4" in first.out
    before = {path: path.read_bytes() for path in (tmp_path / "runs/history").glob("measured-*")}

    newest = project.commit(sum=10_800)
    page, feed = tmp_path / "page.html", tmp_path / "feed.xml"
    assert toll("--last", "13", *WORDS, "--json", "--html", str(page), "--feed", str(feed)) == 0
    second = capsys.readouterr()
    found = json.loads(second.out)
    jsonschema.validate(found, SCHEMA)
    assert f"building {newest[:10]}" in second.err
    assert "building the reference" not in second.err
    (change,) = found["changes"]
    assert (change["commit"], change["range"]) == (
        project.commits[6],
        f"{project.commits[5]}..{project.commits[6]}",
    )
    assert change["low"] < 1.08 < change["high"]
    assert found["reference"] == project.commits[11]
    assert found["measured"] == 12
    assert found["breaks"] == []
    assert all(path.read_bytes() == content for path, content in before.items()), "no session is touched"
    assert page.stat().st_size > 1e6
    assert "sum: slower by" in feed.read_text()

    assert toll("--last", "13", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["changes"] == found["changes"]


@pytest.mark.slow
def test_a_kill_loses_no_commit_that_was_measured(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    for _ in range(12):
        project.commit(sum=10_000)
    unlocked = (
        "from tollbench.cli import machine_use, main; machine_use.LOCK_FILES = ();"
        " import sys; sys.argv[0] = 'toll'; main()"
    )
    into = tmp_path / "runs/history"
    words = ("history", "--last", "12", "--into", str(into), *WORDS)
    with subprocess.Popen(
        interpreter_with_path("-c", unlocked, *words),
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as killed:
        while sum(path.read_bytes().count(b"\n") for path in into.glob("measured-*")) < 4:
            assert killed.poll() is None, "it ended by itself"
            time.sleep(0.01)
        killed.kill()
    (before,) = into.glob("measured-*")
    content = before.read_bytes()
    assert toll("--last", "12", *WORDS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["measured"], found["sessions"]) == (12, 2)
    assert before.read_bytes() == content
    again = next(path for path in into.glob("measured-*") if path != before).read_text()
    commits = {json.loads(text)["commit"] for text in content.decode().splitlines()[2:]}
    assert len(commits) >= 2
    assert not any(json.loads(text).get("commit") in commits for text in again.splitlines()[2:])


def test_benchmarks_that_some_commits_lack_and_a_program_that_crashes(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    project.commit(sum=10_000, old=5_000)
    broken = project.commit("printf '#!/bin/sh\\nexit 9\\n' > bench; chmod +x bench", sum=1)
    project.commit(sum=10_000, late=3_000)
    assert toll(f"{project.commits[0]}..HEAD", *WORDS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {line["benchmark"]: line["place"] for line in found["lines"]} == {
        "sum": [0, 2],
        "late": [2],
        "old": [0],
    }
    assert not any("does not have" in note for note in found["notes"])
    (reason,) = [commit["reason"] for commit in found["commits"] if commit["reason"]]
    assert broken[:10] in reason


def test_the_reference_that_does_not_build(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    project.commit(sum=10_000)
    project.commit("exit 3", sum=10_000)
    assert toll("--last", "2", *WORDS) == 2
    assert "name another one with --reference" in capsys.readouterr().err
    assert toll("--last", "2", *WORDS, "--reference", "HEAD~1") == 0
    told = capsys.readouterr()
    assert "1 of 2 commits have values" in told.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["HEAD", *WORDS], "HEAD is no range of commits"),
        (["HEAD...HEAD~1", *WORDS], "is no range of commits"),
        (["nowhere..HEAD", *WORDS], "there is no revision 'nowhere'"),
        (["HEAD~1..HEAD", "--last", "5"], "a range, --last and --tags each name commits"),
        (["--tags", "v*", *WORDS], "0 tags match 'v*'"),
        (["--last", "2", "--build", "true"], "--build without --program"),
        (["--last", "2", "--program", "./bench"], "--program without --build"),
        (["--last", "2"], "there is no history in"),
        (["--last", "2", *WORDS, "--reference", "gone"], "there is no revision 'gone'"),
        (["--last", "2", *WORDS, "--threshold", "0"], "the threshold has a value"),
        (["--last", "2", *WORDS, "--budget", "soon"], "'soon' is not a length of time"),
        (["--last", "2", *WORDS, "--html", "build.sh"], "toll did not make it as the page of a history"),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, list) else None,
)
def test_bad_input_is_a_sentence(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    project = Branch(tmp_path / "project")
    project.commit(sum=1)
    project.commit(sum=2)
    assert toll(*words) == 2
    err = capsys.readouterr().err
    assert told in err
    assert not list((tmp_path / "runs").glob("history*"))


def test_a_shallow_clone_with_too_few_commits(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "whole")
    for _ in range(5):
        project.commit(sum=10_000)
    project.git("clone", "-q", "--depth", "3", f"file://{project.folder}", str(tmp_path / "project"))
    assert toll("--last", "4", *WORDS) == 2
    err = capsys.readouterr().err
    assert "is in a shallow clone, which has 3 of the last 4 commits" in err
    assert "git fetch --deepen=4" in err
    assert toll("--last", "3", *WORDS) == 0
    assert "3 of 3 commits have values" in capsys.readouterr().out


def test_another_one_at_work_is_a_sentence(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    project.commit(sum=1)
    project.commit(sum=2)
    with HistoryFolder(tmp_path / "runs/history").taken():
        assert toll("--last", "2", *WORDS) == 2
    assert "another toll history measures into" in capsys.readouterr().err


def test_a_full_disk_loses_nothing_that_was_measured(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Branch(tmp_path / "project")
    for _ in range(3):
        project.commit(sum=10_000)
    append = RawFile._append
    room = {"measured": 4}  # the header, what the reference shows against itself, two commits

    def until_full(self: RawFile, record: Mapping[str, Any]) -> None:
        if self.path.name.startswith("measured-"):
            room["measured"] -= 1
            if room["measured"] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(self, record)

    monkeypatch.setattr(RawFile, "_append", until_full)
    assert toll("--last", "3", *WORDS) == 3
    told = capsys.readouterr()
    assert "2 of 3 commits have values" in told.out
    assert "No space left on device" in told.err
    monkeypatch.setattr(RawFile, "_append", append)
    assert toll("--last", "3", *WORDS) == 0
    told = capsys.readouterr()
    assert "3 of 3 commits have values, measured in 2 sessions" in told.out
    assert told.err.count("building") == 1


def test_tags_are_a_row(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Branch(tmp_path / "project")
    for number in range(4):
        project.commit(sum=10_000)
        project.git("tag", f"v{number}")
    assert toll("--tags", "v[013]", *WORDS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [commit["name"] for commit in found["commits"]] == ["v0", "v1", "v3"]
    assert found["measured"] == 3
