"""`toll history` as a whole: real repositories, with programs that print their times."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from made_histories import commit_hash, line, session
from test_history_reading import SCHEMA

from checkouts import ROOT
from tollbench import cli
from tollbench.cli import keeping_history, machine_use, places
from tollbench.compare.raw_file import RawFile
from tollbench.compare.revisions import RevisionBuild
from tollbench.errors import TollError
from tollbench.history.choosing_commits import CommitRun
from tollbench.history.commit_range import Commit, any_known, tagged_commits
from tollbench.history.history_folder import HistoryFolder
from tollbench.interpreters import interpreter_with_path
from tollbench.report.embedded import packed_chart_library
from tollbench.writing import Output

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
    assert packed_chart_library() in page.read_text()
    assert "sum: slower by" in feed.read_text()

    assert toll("--last", "13", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["changes"] == found["changes"]


def test_the_same_files_are_measured_once_a_night(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second commit changes no file, and the two of one tree fall into two groups."""
    commits = tuple(Commit(commit_hash(n), commit_hash(n // 2), "n", f"step {n}") for n in range(40))
    asked = {"runs": (), "doubted": set(), "failed": set(), "suspected": (CommitRun(11, 26),), "others": {}}
    known = SimpleNamespace(visits=(1,) * 40, **asked)
    monkeypatch.setattr(keeping_history, "_read", lambda *_all: known)
    groups: list[list[Commit]] = []
    work = SimpleNamespace(
        left_s=1.0,
        others={},
        settings=SimpleNamespace(together=8),
        round_s=lambda _commits: 0.0,
        measure=groups.append,
    )
    row: Any = SimpleNamespace(commits=commits)
    nothing: Any = None
    keeping_history._all_groups(nothing, row, nothing, work)  # type: ignore[arg-type]
    trees = [commit.tree for group in groups for commit in group]
    assert [len(group) for group in groups] == [8, 1]
    assert sorted(trees) == [commit_hash(n) for n in range(5, 14)]


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


def test_a_mistyped_build_leaves_the_reference(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It need not build again to the same program, and all values are beside this one."""
    project = Branch(tmp_path / "project")
    for _ in range(2):
        project.commit(GOOD_BUILD + '; echo "# $(od -An -N8 -tx8 /dev/urandom)" >> bench', sum=10_000)
    assert toll("--last", "2", *WORDS) == 0
    assert toll("--last", "2", "--build", "sh bulid.sh", *WORDS[2:]) == 2
    capsys.readouterr()
    assert toll("--last", "2", *WORDS, "--json") == 0
    told = capsys.readouterr()
    assert "building the reference" not in told.err
    assert json.loads(told.out)["breaks"] == []


def test_a_program_that_hangs_is_a_row(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had all of the night, each night, and nobody was told which it was."""
    monkeypatch.setattr(keeping_history, "_SHORTEST_LIMIT_S", 6.0)
    project = Branch(tmp_path / "project")
    for number in range(3):
        hang = "; echo 'sleep 600' >> bench" if number == 1 else ""
        project.commit(GOOD_BUILD + hang, sum=10_000)
    assert toll("--last", "3", *WORDS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measured"] == 2
    assert ["did not end within" in one["reason"] for one in found["commits"]] == [False, True, False]


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
        (["--last", "2", "--seed", "3"], "--seed is of measuring, and without --build nothing is measured"),
        (["--last", "2", "--budget", "5m"], "--budget is of measuring"),
        (["--last", "2", "--budget", "0s"], "there is no history in"),
        (["--tags", "v*", "--merged", *WORDS], "--tags names commits, merged or not"),
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

    def full(output: Output, *_: object) -> None:
        raise TollError(f"cannot write {output.path}: No space left on device", "make room")

    write = Output.write
    monkeypatch.setattr(RawFile, "_append", until_full)
    monkeypatch.setattr(Output, "write", full)
    assert toll("--last", "3", "--html", "page.html", "--markdown", "page.md", *WORDS) == 3
    told = capsys.readouterr()
    assert "2 of 3 commits have values" in told.out, "whatever became of the files"
    assert told.err.count("No space left on device") == 3
    assert "page.html" in told.err
    assert "page.md" in told.err
    monkeypatch.setattr(RawFile, "_append", append)
    monkeypatch.setattr(Output, "write", write)
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


def test_what_failed_for_a_while_is_tried_again(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One commit's build needs what is not there in the first night, and one's program."""
    project = Branch(tmp_path / "project")
    server = tmp_path / "server"
    project.commit(sum=10_000)
    project.commit(f"test -e {server} && {GOOD_BUILD}", sum=10_000)
    asking = f"printf '#!/bin/sh\\ntest -e {server} && exec ./real\\n' > bench; chmod +x bench real"
    project.commit(f"cp bench.sh real; {asking}", sum=10_000)
    project.commit(sum=10_000)
    assert toll("--last", "4", *WORDS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [bool(commit["reason"]) for commit in found["commits"]] == [False, True, True, False]
    server.touch()
    assert toll("--last", "4", *WORDS, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [commit["reason"] for commit in found["commits"]] == [""] * 4
    assert found["measured"] == 4


def test_where_nothing_builds_any_more_no_commit_is_blamed(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first commit that does not build is honest; behind it, everything fails."""
    project = Branch(tmp_path / "project")
    counted = tmp_path / "builds"
    for number in range(6):
        project.commit("exit 4" if number == 3 else GOOD_BUILD, sum=10_000)
    words = list(WORDS)
    words[1] = f"echo >> {counted}; test $(wc -l < {counted}) -lt 5 && sh build.sh"
    assert toll("--last", "6", *words) == 2
    told = capsys.readouterr()
    assert "the reference was built before, and now it is not" in told.err
    assert "0 of 6 commits have values" in told.out
    (kept,) = (tmp_path / "runs/history").glob("measured-*")
    assert "unbuilt" not in kept.read_text()


def test_a_reference_that_git_has_lost_is_gone_on_with(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """History is rewritten, in another clone: the built reference is there, that of `late` is not."""
    project = Branch(tmp_path / "project")
    for number in range(4):
        if number > 1:
            project.commit(sum=10_000, late=5_000)
        else:
            project.commit(sum=10_000)
    first = project.commits[0]
    assert toll("--last", "4", "--reference", first, *WORDS) == 0
    (late,) = (
        path for path in (tmp_path / "runs/history").glob("reference-*") if first[:10] not in path.name
    )
    for path in late.glob("*.json"):
        path.unlink()
    capsys.readouterr()
    project.git("checkout", "-q", "--orphan", "anew")
    project.git("commit", "-q", "-m", "rewritten, with the files of the newest")
    for _ in range(3):
        project.commit(sum=10_000, late=5_000)
    project.folder.rename(tmp_path / "old")
    subprocess.run(
        ["git", "clone", "-q", "--single-branch", f"file://{tmp_path / 'old'}", str(project.folder)],
        check=True,
    )
    assert toll("--last", "3", *WORDS, "--json") == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["reference"] == first
    assert found["breaks"] == []
    assert found["measured"] == 3
    assert "building the reference" not in told.err.replace("building the reference " + late.name[10:], "")
    assert "there is no revision" in told.err


def test_what_is_known_is_shown_where_a_night_fails(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    for _ in range(3):
        project.commit(sum=10_000)
    assert toll("--last", "3", *WORDS) == 0
    project.commit("exit 3", sum=10_000)
    capsys.readouterr()
    chat = tmp_path / "chat.md"
    assert toll("--last", "4", *WORDS, "--reference", "HEAD", "--markdown", str(chat)) == 2
    told = capsys.readouterr()
    assert "3 of 4 commits have values" in told.out
    assert "the reference has to build" in told.err
    assert "3 of 4 commits" in chat.read_text()


def test_too_little_time_is_no_fault_of_a_commit(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    (project.folder / "bench.sh").write_text("#!/bin/sh\nsleep 0.2\necho name,ns\necho sum,1000\n")
    for _ in range(2):
        project.commit(sum=1)
    words = [word if word != "60s" else "0.1s" for word in WORDS]
    assert toll("--last", "2", *words) == 3
    capsys.readouterr()
    (kept,) = (tmp_path / "runs/history").glob("measured-*")
    assert "unbuilt" not in kept.read_text()
    assert toll("--last", "2", *[word if word != "60s" else "4s" for word in WORDS]) == 0
    assert "2 of 2 commits have values" in capsys.readouterr().out


def test_the_usual_folder_is_of_one_program(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Branch(tmp_path / "project")
    for _ in range(2):
        project.commit("cp bench.sh bench; chmod +x bench; cp bench other", sum=10_000)
    assert toll("--last", "2", *WORDS) == 0
    words = [word if word != "./bench" else "./other" for word in WORDS]
    capsys.readouterr()
    assert toll("--last", "2", *words) == 2
    assert "is the history of ./bench, and not of ./other" in capsys.readouterr().err
    assert toll("--last", "2", *words, "--into", str(tmp_path / "theirs")) == 0


def test_tags_are_in_order_of_descent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One committer's clock is far behind."""
    project = Branch(tmp_path / "project")
    for number, when in enumerate((100, 200, 10, 300)):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1_700_000_000 + when} +0000")
        project.commit(sum=1)
        project.git("tag", f"v{number}")
    assert [one.name for one in tagged_commits(project.folder, "v*").commits] == ["v0", "v1", "v2", "v3"]


def reference_of(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "runs/history").glob("reference-*")
    return found


def test_a_reference_that_is_a_link_is_neither_launched_nor_removed(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stranger's folder may name any other: its rights were changed, and what it has was launched."""
    project = Branch(tmp_path / "project")
    newest = [project.commit(sum=10_000) for _ in range(2)][-1]
    folder = tmp_path / "runs/history"
    folder.mkdir(parents=True)
    aside = tmp_path / "aside"
    aside.mkdir(mode=0o755)
    (folder / f"reference-{newest[:10]}").symlink_to(aside)
    assert toll("--last", "2", *WORDS) == 2
    assert "is no folder but a link or a file" in capsys.readouterr().err
    assert aside.stat().st_mode & 0o777 == 0o755
    recipe = RevisionBuild("sh build.sh", "./bench")
    commit = Commit(newest, "", "", "")
    for use in (HistoryFolder.kept_reference, HistoryFolder.build_reference):
        words = (commit, recipe) if use is HistoryFolder.kept_reference else (folder, commit, recipe, None)
        with pytest.raises(TollError, match="is no folder but a link"):
            use(HistoryFolder(folder), *words)


def test_a_reference_of_another_user_is_not_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Commit("1" * 40, "", "", "")
    checkout = tmp_path / f"reference-{commit.short}" / f"0-{commit.short}"
    checkout.mkdir(parents=True)
    (checkout / "bench").touch()
    lstat = Path.lstat

    class Theirs:
        st_uid = 12_345

        def __init__(self, found: os.stat_result) -> None:
            self.st_mode = found.st_mode

    for place in (checkout.parent, checkout, checkout / "bench"):

        def of_another(path: Path, place: Path = place) -> Any:
            return Theirs(lstat(path)) if path == place else lstat(path)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "lstat", of_another)
            with pytest.raises(TollError, match="was made by another user, and is not launched"):
                HistoryFolder(tmp_path).kept_reference(commit, RevisionBuild("make", "./bench --fast"))
    assert HistoryFolder(tmp_path).kept_reference(commit, RevisionBuild("make", "./bench --fast")) is None


def test_the_folder_of_another_project_is_refused(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same program: its reference would be what this project is measured against."""
    project = Branch(tmp_path / "project")
    for _ in range(2):
        project.commit(sum=10_000)
    lines = [line(number, {"sum": 1.0}) for number in range(2)]
    session(tmp_path / "both", 1, lines, commands={"program": "./bench"})
    assert toll("--last", "2", *WORDS, "--into", str(tmp_path / "both")) == 2
    assert "is the history of another repository: none of its 2 commits is in" in capsys.readouterr().err
    known = lines[0] | {"tree": project.git("rev-parse", "HEAD~1^{tree}")}
    assert any_known(project.folder, [known["commit"]], [known["tree"]]), "rewritten"
    assert any_known(project.folder, [commit_hash(1), project.commits[0]], [])


def test_what_an_interrupt_finds_judged_is_kept(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after twelve rounds of the first group."""
    project = Branch(tmp_path / "project")
    for _ in range(3):
        project.commit(sum=10_000)
    rounds: list[object] = []
    append = RawFile._append

    def until_stopped(self: RawFile, record: Mapping[str, Any]) -> None:
        append(self, record)
        if self.path.name.startswith("history-"):
            rounds.extend([record] * ("values" in record))
            if len(rounds) == 12:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(RawFile, "_append", until_stopped)
    words = [{"0.4s": "30s", "0.02": "0.0001"}.get(word, word) for word in WORDS]
    assert toll("--last", "3", *words, "--json") == 130
    found = json.loads(capsys.readouterr().out)
    assert len(rounds) in (12, 13)
    assert (found["measured"], found["interrupted"]) == (3, True)
    assert [commit["reason"] for commit in found["commits"]] == [""] * 3
    (line,) = found["lines"]
    assert all(0.98 < low < high < 1.02 for low, high in zip(line["low"], line["high"], strict=True))


def test_a_full_pipe_is_not_another_history(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), HistoryFolder(tmp_path).taken():
        raise BlockingIOError


def test_commits_with_build_commands_of_their_own(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last two need another one, and the reference is no commit of the row. Then the newest does, too."""
    library = Branch(tmp_path / "library")
    library.commit(sum=1)
    project = Branch(tmp_path / "project")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.folder), "lib")
    for number in range(4):
        project.commit("exit 9" if number > 1 else GOOD_BUILD, sum=10_000)
    file = tmp_path / "builds"
    lines = f"{project.commits[0]} sh build.sh\n{project.commits[2]} {GOOD_BUILD}\n"
    file.write_text(lines)
    words = ["--last", "3", "--build", f"@{file}", *WORDS[2:], "--reference", project.commits[0], "--json"]
    assert toll(*words) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert (found["measured"], [one["reason"] for one in found["commits"]]) == (3, [""] * 3)
    assert "note: submodules are not checked out (lib)" in told.err
    file.write_text(f"{lines}{project.commits[3]} {GOOD_BUILD}; sed -i 's/100 +/50 +/' bench\n")
    assert toll(*words) == 0
    told = capsys.readouterr()
    assert told.err.count("building") == 1
    (only,) = json.loads(told.out)["lines"]
    assert only["ratio"] == pytest.approx([1.0, 1.0, 0.5], rel=0.01)
    assert json.loads(told.out)["breaks"] == []
