"""Which commits make a row, and which command builds each."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tollbench.errors import TollError
from tollbench.history.build_file import build_commands
from tollbench.history.commit_range import CommitRange, commit_range, latest_commits, tagged_commits
from tollbench.history.reading_history import read_history


class Graph:
    """A repository whose commits are made without a checkout; each is named by a tag."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.hashes: dict[str, str] = {}

    def git(self, *words: str, content: str | None = None) -> str:
        names = {f"GIT_{who}_{what}": "n" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = dict.fromkeys(("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"), "1700000000 +0000")
        done = subprocess.run(
            ["git", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false", *words],
            cwd=self.folder, env={**os.environ, **names, **dates}, input=content,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, name: str, *parents: str, branch: str = "main") -> None:
        blob = self.git("hash-object", "-w", "--stdin", content=name)
        tree = self.git("mktree", content=f"100644 blob {blob}\tfile\n")
        of = [word for parent in parents for word in ("-p", self.hashes[parent])]
        self.hashes[name] = self.git("commit-tree", tree, *of, "-m", name)
        self.git("update-ref", f"refs/heads/{branch}", self.hashes[name])
        self.git("tag", name, self.hashes[name])


@pytest.fixture
def merged(tmp_path: Path) -> Graph:
    """main: a b c M d; side, from a: s t, which M merges."""
    graph = Graph(tmp_path / "project")
    graph.commit("a")
    graph.commit("b", "a")
    graph.commit("c", "b")
    graph.commit("s", "a", branch="side")
    graph.commit("t", "s", branch="side")
    graph.commit("M", "c", "t")
    graph.commit("d", "M")
    return graph


def subjects(row: CommitRange) -> list[str]:
    return [commit.subject for commit in row.commits]


def test_first_parents_begin_with_the_merge_of_the_branch_that_good_is_on(merged: Graph) -> None:
    """b and c do not have what s brought: as commits behind it they would be like nothing."""
    assert subjects(commit_range(merged.folder, "s", "d", first_parent=True)) == ["s", "M", "d"]
    assert subjects(commit_range(merged.folder, "a", "d", first_parent=True)) == ["a", "b", "c", "M", "d"]
    assert set(subjects(commit_range(merged.folder, "s", "d", first_parent=False))) == {"s", "t", "M", "d"}


@pytest.mark.parametrize("lines", ["a old\nb new\n", "b new\na old\n"])
def test_the_newest_of_several_commands_from_before_good_holds(
    merged: Graph, tmp_path: Path, lines: str
) -> None:
    file = tmp_path / "builds"
    file.write_text(lines)
    row = commit_range(merged.folder, "c", "d", first_parent=True)
    assert set(build_commands(file, row).values()) == {"new"}


def test_a_command_holds_for_what_comes_from_its_commit(merged: Graph, tmp_path: Path) -> None:
    file = tmp_path / "builds"
    file.write_text("a old\nb main\nM both\n")
    row = commit_range(merged.folder, "a", "d", first_parent=False)
    told = build_commands(file, row)
    by_name = {commit.subject: told[commit.commit] for commit in row.commits}
    assert by_name == {"a": "old", "b": "main", "c": "main", "s": "old", "t": "old", "M": "both", "d": "both"}
    file.write_text("a old\nb main\ns side\n")
    with pytest.raises(TollError, match=r"lines 2 and 3: .* comes from both"):
        build_commands(file, row)


def test_a_tag_of_a_file_is_no_commit(merged: Graph) -> None:
    """As the key in git's own repository; a tag of a tag of a commit is one."""
    blob = merged.git("hash-object", "-w", "--stdin", content="a key")
    merged.git("tag", "key", blob)
    merged.git("tag", "-a", "-m", "x", "signed-key", blob)
    merged.git("tag", "-a", "-m", "x", "once", merged.hashes["d"])
    merged.git("tag", "-a", "-m", "x", "twice", "once")
    merged.git("tag", "-a", "-m", "x", "key-twice", "signed-key")
    assert len(tagged_commits(merged.folder, "*").commits) == 7
    assert set(subjects(tagged_commits(merged.folder, "[ct]*"))) == {"c", "t", "d"}
    with pytest.raises(TollError, match="0 tags match"):
        tagged_commits(merged.folder, "key*")


def test_a_pattern_matches_the_whole_name_of_a_tag_as_git_tag_does(merged: Graph) -> None:
    merged.git("tag", "release/1.0", merged.hashes["c"])
    merged.git("tag", "release/1.1", merged.hashes["d"])
    merged.git("tag", "odd\u2028name\u00a0of-it", merged.hashes["s"])
    assert len(tagged_commits(merged.folder, "*").commits) == 7
    assert subjects(tagged_commits(merged.folder, "rel*")) == ["c", "d"]
    assert set(subjects(tagged_commits(merged.folder, "[or]*"))) == {"s", "c", "d"}


def test_a_commit_without_a_date_is_one(merged: Graph) -> None:
    """Old conversions from other systems made some: git tells no date of them at all."""
    tree = merged.git("rev-parse", "d^{tree}")
    content = f"tree {tree}\nparent {merged.hashes['d']}\nauthor n <n@n>\ncommitter n <n@n>\n\nodd\n"
    odd = merged.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", content=content)
    merged.git("update-ref", "refs/heads/main", odd)
    assert latest_commits(merged.folder, 2, first_parent=True).commits[1].committed_s == 0


def test_a_range_that_reaches_the_end_of_a_shallow_clone_is_refused(merged: Graph, tmp_path: Path) -> None:
    """The clone has d, M, c and t; s, which is between c and d as well, is missing."""
    shallow = tmp_path / "shallow"
    merged.git("clone", "-q", "--depth", "3", merged.folder.as_uri(), str(shallow))
    c, d, m = (merged.hashes[name] for name in "cdM")
    with pytest.raises(TollError, match=r"is in a shallow clone: commits between .* may be missing"):
        commit_range(shallow, c, d, first_parent=False)
    assert subjects(commit_range(shallow, m, d, first_parent=False)) == ["M", "d"]


def test_tags_of_a_shallow_clone_are_refused(merged: Graph, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    words = ("clone", "-q", "--depth", "1", "--no-single-branch", merged.folder.as_uri(), str(shallow))
    merged.git(*words)
    with pytest.raises(TollError, match="shallow clone, in which it is open which tag comes from which"):
        tagged_commits(shallow, "*")


@pytest.mark.parametrize(("date", "day"), [("99999999999999", "9999-12-31"), ("0", "1970-01-01")])
def test_a_date_that_no_calendar_has(merged: Graph, date: str, day: str) -> None:
    """`git commit` writes none, but a repository may hold one."""
    tree = merged.git("rev-parse", "d^{tree}")
    who = f"n <n@n> {date} +0000"
    content = f"tree {tree}\nparent {merged.hashes['d']}\nauthor {who}\ncommitter {who}\n\nodd\n"
    odd = merged.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", content=content)
    merged.git("update-ref", "refs/heads/main", odd)
    row = latest_commits(merged.folder, 2, first_parent=True)
    assert row.commits[1].committed_s == int(date)
    assert read_history(row, [], threshold=0.01).told.commits[1].utc[:10] == day
