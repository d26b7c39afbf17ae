"""What a repository, a file of build commands and a disk may be like: a sentence each, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bisected import GOOD_BUILD, WORDS, Project, Toll, answer, history, toll_in_project

from tollbench.compare.raw_file import RawFile
from tollbench.compare.revisions import RevisionBuild
from tollbench.history import bisecting
from tollbench.history.commit_range import Commit, commit_range
from tollbench.history.tree_builds import TreeBuilds


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    return toll_in_project(tmp_path, monkeypatch)


def test_commits_with_build_commands_of_their_own(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the fifth on a file that the command of those before does not find."""
    other = {number: {"build": "exit 9"} for number in range(5, 9)}
    project = history(tmp_path / "project", {**other, 6: {"sum": 10_600, "build": "exit 9"}}, count=8)
    file = tmp_path / "builds"
    file.write_text(
        f"# until the build script was left\n{project.commits[0]} sh build.sh\n\n"
        f"{project.commits[5][:12]}   {GOOD_BUILD}\n"
    )
    words = ["--build", f"@{file}", *WORDS[2:]]
    assert toll(project.commits[0], "main", *words, "--json") == 0
    (found,) = answer(capsys)
    assert found["commit"] == project.commits[6]
    assert not any(step["reason"] for step in found["path"])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "says nothing of the first commit"),
        ("HEAD make\n", "says nothing of the first commit"),
        ("HEAD~2 make\nmain~2 make bench\n", "lines 1 and 2 are of one commit"),
        ("HEAD~2\n", "line 1 has no command: HEAD~2"),
        ("HEAD~2 make\nnowhere make\n", "line 2: there is no revision 'nowhere'"),
        ("HEAD~2 make\nbeside make\n", "line 2: no commit of the row is beside, or comes from it"),
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "cannot be read: it is no text"),
        (b"HEAD~2 make\n" + b"#" * (1 << 20), "is larger than 1 MiB"),
    ],
)
def test_a_bad_file_of_build_commands_is_a_sentence(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | bytes | None, told: str
) -> None:
    project = history(tmp_path / "project", {}, count=2)
    project.git("checkout", "-q", "-b", "beside", "HEAD~1")
    project.commit("beside", sum=3)
    project.git("checkout", "-q", "main")
    file = tmp_path / "builds"
    if content is not None:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    assert toll("HEAD~2", "HEAD", "--build", f"@{file}", *WORDS[2:]) == 2
    assert told in capsys.readouterr().err


def test_submodules_are_noted(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkout leaves them empty, so that what needs them does not build."""
    library = history(tmp_path / "library", {}, count=0)
    project = Project(tmp_path / "project")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.folder), "lib")
    build = f"test -e lib/bench.sh && {GOOD_BUILD}"
    project.commit("one", sum=10_000, build=build)
    project.commit("two", sum=10_600, build=build)
    assert toll("HEAD~1", "HEAD", *WORDS) == 2
    told = capsys.readouterr().err
    assert "note: submodules are not checked out (lib): --build has to bring them" in told
    assert "does not build" in told
    bring = f"git -c protocol.file.allow=always submodule update -q --init && {WORDS[1]}"
    assert toll("HEAD~1", "HEAD", "--build", bring, *WORDS[2:], "--json") == 0
    assert answer(capsys)[0]["commit"] == project.commits[1]


def test_a_full_disk_ends_it_with_what_is_known_and_it_goes_on(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = history(tmp_path / "project", {8: {"sum": 10_600}}, count=12)
    append, rounds = RawFile._append, []

    def full(raw: RawFile, record: Any) -> None:
        rounds.extend([record] * ("took_s" in record))
        if len(rounds) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(raw, record)

    with monkeypatch.context() as patched:
        patched.setattr(RawFile, "_append", full)
        assert toll(project.commits[0], "main", *WORDS) == 3
    told = capsys.readouterr()
    assert "No space left on device" in told.err
    assert "what was measured before is in the file" in told.err
    assert "With a probability of" in told.out
    (path,) = (tmp_path / "runs").iterdir()
    assert all(json.loads(line) for line in path.read_text().splitlines())
    assert re.search(r"bisect-.*; the same command with --resume and this file goes on", told.out)
    assert toll(project.commits[0], "main", *WORDS, "--json", "--resume", str(path)) == 0
    assert answer(capsys)[0]["commit"] == project.commits[8]


@pytest.mark.parametrize("short", [False, True], ids=["many", "little room"])
def test_builds_that_are_far_from_the_answer_are_removed(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    short: bool,
) -> None:
    """A build may have gigabytes; all that were ever made stayed until the end."""
    project = history(tmp_path / "project", {21: {"sum": 10_600}})
    monkeypatch.setattr(bisecting, "BUILDS_WHERE_SHORT" if short else "MOST_BUILDS", 2)
    monkeypatch.setattr(TreeBuilds, "room_is_short", short)
    keep_only = TreeBuilds.keep_only
    there: list[int] = []

    def counted(builds: TreeBuilds, commits: Sequence[Commit]) -> None:
        keep_only(builds, commits)
        there.append(len(list(builds._scratch.glob("tree-*"))))

    monkeypatch.setattr(TreeBuilds, "keep_only", counted)
    assert toll(project.commits[0], "main", *WORDS, "--json") == 0
    (found,) = answer(capsys)
    assert found["commit"] == project.commits[21]
    assert max(there) == 4, "two besides GOOD and BAD"
    assert len({step["commit"] for step in found["path"]}) > 4


def test_a_build_that_is_made_again_has_the_path_of_the_first_one(tmp_path: Path) -> None:
    """Its path may be in it, and move its code."""
    project = history(tmp_path / "project", {}, count=2)
    row = commit_range(project.folder, project.commits[0], "main", first_parent=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    builds = TreeBuilds(project.folder, RevisionBuild("sh build.sh", "./bench"), scratch)
    before = [builds.of(commit) for commit in row.commits]
    builds.keep_only(row.commits[1:2])
    assert [side.base.exists() for side in before] == [False, True, False]
    assert [builds.of(commit) for commit in row.commits] == before
    assert all((side.base / "bench").exists() for side in before)
    assert not builds.room_is_short
