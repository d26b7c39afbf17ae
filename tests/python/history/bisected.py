"""Repositories whose commits print their times, and `toll bisect` in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tollbench import cli
from tollbench.cli import machine_use, places

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas/bisect.schema.json").read_text(encoding="utf-8"))
BUILD = "sh build.sh"
WORDS = ("--build", BUILD, "--program", "./bench", "--read", "csv:name,ns")
Toll = Callable[..., int]

# Prints each benchmark of the file `levels` with up to 0.3 % of noise either way.
BENCH = """\
#!/bin/sh
echo name,ns
while read name level; do
  noise=$(od -An -N2 -tu2 /dev/urandom)
  echo "$name,$((level * 100 + noise % 600 - 300))"
done < "$(dirname "$0")/levels"
"""
GOOD_BUILD = "cp bench.sh bench; chmod +x bench"


class Project:
    """A repository whose commits are made one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commits: list[str] = []
        (folder / "bench.sh").write_text(BENCH)

    def git(self, *words: str) -> str:
        names = {f"GIT_{who}_{what}": "n" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", "-c", "commit.gpgsign=false", *words],
            cwd=self.folder, env={**os.environ, **names}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, subject: str, *, build: str = GOOD_BUILD, **levels: int) -> str:
        """Each has files of its own."""
        (self.folder / "levels").write_text("".join(f"{name} {level}\n" for name, level in levels.items()))
        (self.folder / "build.sh").write_text(build + "\n")
        (self.folder / "notes.txt").write_text(f"{len(self.commits)} {subject}\n")
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]


def history(folder: Path, changes: Mapping[int, Mapping[str, Any]], count: int = 30) -> Project:
    """`count` commits after the first; what a commit changes stays so, but for its build."""
    project = Project(folder)
    levels: dict[str, int] = {"sum": 10_000}
    for number in range(count + 1):
        told = dict(changes.get(number, {}))
        build = told.pop("build", GOOD_BUILD)
        subject = told.pop("subject", f"step {number}")
        levels = {name: level for name, level in (levels | told).items() if level}
        project.commit(subject, build=build, **levels)
    return project


def merged_later(project: Project) -> tuple[str, str]:
    """main becomes slow; a branch from before that has six commits of its own, and is merged behind it.

    In the row the branch's quick commits stand behind main's slow ones, and the merge behind them. Returns
    the slow commit and the last one of main that was merged.
    """
    project.git("checkout", "-q", "-b", "topic")
    for number in range(6):
        (project.folder / f"topic{number}").write_text("")
        project.git("add", ".")
        project.git("commit", "-q", "-m", f"topic {number}")
    project.git("checkout", "-q", "main")
    own = [project.commit(f"main {number}", sum=10_500) for number in range(3)]
    project.git("merge", "-q", "--no-ff", "-m", "merge topic", "topic")
    return own[0], own[-1]


def toll_in_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    """Runs `toll bisect` in the folder `project`, without the machine's lock."""
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setattr(places, "RUNS", tmp_path / "runs")

    def run(*words: str) -> int:
        monkeypatch.chdir(tmp_path / "project")
        monkeypatch.setattr(sys, "argv", ["toll", "bisect", *words])
        return cli.main()

    return run


def answer(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert list(document) == ["found"]
    found: list[dict[str, Any]] = document["found"]
    return found
