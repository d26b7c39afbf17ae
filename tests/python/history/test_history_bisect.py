"""`toll bisect` as a whole: real repositories of some 30 commits, with programs that print their times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bisected import (
    BUILD,
    GOOD_BUILD,
    WORDS,
    Project,
    Toll,
    answer,
    history,
    merged_later,
    toll_in_project,
)

from tollbench.cli.sandboxing import sandbox_for
from tollbench.cli.searching import exit_code
from tollbench.compare import Comparison, Comparisons, MeasuringOptions, Subject, WrittenSide, compare
from tollbench.compare.revisions import RevisionBuild
from tollbench.errors import TollError
from tollbench.history import bisecting, commit_search, same_code
from tollbench.history.bisecting import Search, _EndFailed
from tollbench.history.bisections import Between, SearchEnd
from tollbench.history.commit_range import Commit, commit_range
from tollbench.history.commit_search import SearchSettings
from tollbench.history.same_code import SameCode
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom
from tollbench.report import bisection_lines
from tollbench.stats.bisection import Bisection, ItemRun


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    return toll_in_project(tmp_path, monkeypatch)


KEYS = [
    *("commit", "probability", "benchmark", "ratio", "low", "high"),
    *("between", "decided", "ends", "launches", "seconds", "path"),
]


@pytest.mark.parametrize("guilty", [1, 17, 30])
def test_the_slower_commit_is_found(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], guilty: int
) -> None:
    project = history(tmp_path / "project", {guilty: {"sum": 10_400}})
    before = project.git("status", "--porcelain")
    assert toll(project.commits[0], "main", *WORDS, "--json", "--seed", "3") == 0
    (found,) = answer(capsys)
    assert list(found) == KEYS
    assert found["commit"] == project.commits[guilty]
    assert found["probability"] >= 0.95
    assert found["between"] == "commits"
    assert found["benchmark"] == "sum"
    assert 1.03 < found["low"] <= found["ratio"] <= found["high"] < 1.05
    assert sum(3 * step["rounds"] for step in found["path"]) < found["launches"]
    assert found["path"][-1]["leading"] == found["commit"]
    assert {step["commit"] for step in found["path"]} < set(project.commits[1:-1])
    assert project.git("status", "--porcelain") == before


def test_the_answer_names_commit_author_and_change(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "a \x1b[31mred\u202e sub\rject"
    project = history(tmp_path / "project", {9: {"sum": 9_500, "subject": hostile}}, count=12)
    assert toll(project.commits[0], "HEAD", *WORDS) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{project.commits[9][:10]} by n: a \ufffd[31mred\ufffd sub")
    assert "ject\n  sum is" in told.out
    assert "\x1b" not in told.out + told.err
    assert re.search(r"sum is faster by (4\.9|5\.0) % to 5\.[01] % since then; ", told.out)
    assert "probability 9" in told.out or "probability above 99.9 %" in told.out
    assert "of 12 commits measured beside GOOD and BAD" in told.out
    (raw,) = (tmp_path / "runs").glob("bisect-*.jsonl")
    assert str(raw) in told.out
    records = [json.loads(line) for line in raw.read_text().splitlines()]
    assert records[0]["question"]["GOOD"] == project.commits[0]
    assert any("step" in record for record in records)


def test_a_range_without_a_change_is_told(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=8)
    assert toll(project.commits[0], "HEAD", *WORDS, "--json") == 0
    assert answer(capsys) == []
    assert toll(project.commits[0], "HEAD", *WORDS) == 0
    told = capsys.readouterr()
    assert "No change: GOOD and BAD do not differ by more than 1.0 %." in told.out
    assert told.err.count("building") == 2


def test_a_change_within_the_threshold_is_none(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {4: {"sum": 10_300}}, count=8)
    assert toll(project.commits[0], "HEAD", *WORDS, "--threshold", "0.1", "--json") == 0
    assert answer(capsys) == []


def test_the_same_files_are_not_measured(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=1)
    (project.folder / "notes.txt").write_text("more\n")
    project.git("commit", "-q", "-a", "-m", "more")
    project.git("revert", "--no-edit", "HEAD")
    assert toll("HEAD~2", "HEAD", *WORDS) == 0
    told = capsys.readouterr()
    assert "both have the same files" in told.out
    assert "building" not in told.err


def test_commits_with_the_same_files_are_built_once(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=0)
    for number in range(12):  # each second commit takes the one before it back
        project.commit("there" if number % 2 == 0 else "and back", sum=10_000)
        (project.folder / "notes.txt").write_text(f"{number % 2}\n")
        project.git("commit", "-q", "-a", "--amend", "-m", f"step {number}")
    guilty = project.commit("slow", sum=10_500)
    assert toll(project.commits[0], "HEAD", *WORDS, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["found"][0]["commit"] == guilty
    assert told.err.count("building") <= 4


def test_commits_without_changes_of_files_are_no_suspects(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine of ten are empty, BAD too: what the tenth changed is known without another build."""
    project = history(tmp_path / "project", {}, count=0)
    for number in range(10):
        if number == 5:
            project.commit("slow", sum=10_500)
        else:
            project.git("commit", "-q", "--allow-empty", "-m", f"empty {number}")
    assert toll(project.commits[0], "HEAD", *WORDS) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{project.commits[1][:10]} by n: slow\n")
    assert "0 of 10 commits measured" in told.out
    assert told.err.count("building") == 2


def test_commits_that_cannot_be_measured_are_named_as_a_group(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """10 to 12 do not build, 13 builds no program, 14 lacks the benchmark; 15 is seen to be slow."""
    changes: dict[int, Mapping[str, Any]] = {
        10: {"build": "echo 'no such header' >&2; exit 4"},
        11: {"build": "exit 5"},
        12: {"build": "exit 6", "sum": 10_400},
        13: {"build": "true"},
        14: {"sum": 0, "other": 10},
        15: {"sum": 10_400, "other": 10},
    }
    project = history(tmp_path / "project", changes, count=20)
    assert toll(project.commits[0], "HEAD", *WORDS, "--json", "--filter", "sum") == 0
    (found,) = answer(capsys)
    assert found["commit"] == f"{project.commits[9]}..{project.commits[15]}"
    assert project.git("rev-list", found["commit"]).split() == project.commits[15:9:-1]
    assert found["low"] > 1.03
    reasons = {step["commit"]: step["reason"] for step in found["path"] if step["reason"]}
    assert set(reasons) == set(project.commits[10:15])
    assert reasons[project.commits[10]].endswith("`sh build.sh` exited with code 4: no such header")
    assert reasons[project.commits[13]].endswith("makes no ./bench")
    assert "sum" in reasons[project.commits[14]] or "offers no benchmark" in reasons[project.commits[14]]
    assert toll(project.commits[0], "HEAD", *WORDS, "--filter", "sum") == 0
    told = capsys.readouterr().out
    assert told.startswith("One of 6 commits, of which only the last can be measured:\n")
    assert told.count(" by n: step 1") == 6
    assert "Left out, as they could not be measured: " in told


def test_of_several_changes_the_largest_is_searched_and_the_others_are_named(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {0: {"map": 5_000, "same": 7_000}, 3: {"map": 5_600}, 8: {"sum": 10_400}}
    project = history(tmp_path / "project", changes, count=10)
    assert toll(project.commits[0], "HEAD", *WORDS) == 0
    told = capsys.readouterr().out
    assert told.startswith(project.commits[3][:10])
    assert "Changed too, and not searched (--filter chooses): sum is slower by " in told
    assert "same" not in told
    assert toll(project.commits[0], "HEAD", *WORDS, "--filter", "^sum$", "--json") == 0
    (found,) = answer(capsys)
    assert (found["commit"], found["benchmark"]) == (project.commits[8], "sum")


def merged(project: Project, slow: int = 10_500) -> tuple[str, str]:
    """A slow commit on a branch of 6, merged into main; the commit, and the merge."""
    project.git("checkout", "-q", "-b", "side")
    own = [project.commit(f"side {number}", sum=slow if number >= 3 else 10_000) for number in range(6)]
    project.git("checkout", "-q", "main")
    for number in range(3):
        (project.folder / f"main{number}").write_text("")
        project.git("add", ".")
        project.git("commit", "-q", "-m", f"main {number}")
    project.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
    return own[3], project.git("rev-parse", "HEAD")


def test_merges(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = history(tmp_path / "project", {}, count=2)
    slow, merge = merged(project)
    project.git("commit", "-q", "--allow-empty", "-m", "after")
    assert toll(project.commits[0], "HEAD", *WORDS, "--first-parent", "--json") == 0
    assert [found["commit"] for found in answer(capsys)] == [merge]
    # In the row of all commits main's own may stand behind the branch: quick ones, between slow ones.
    row = commit_range(project.folder, project.commits[0], "HEAD", first_parent=False)
    places = {item.commit: place for place, item in enumerate(row.commits)}
    assert len(row.commits) == 3 + 6 + 3 + 1 + 1
    assert all(
        places[parent] < places[commit]
        for commit in places
        for parent in project.git("rev-parse", f"{commit}^@").split()
        if parent in places
    )
    assert slow in places


def test_a_merge_is_not_blamed_for_what_was_on_one_of_its_sides(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before it in the row is of the other branch; against that one alone it was found, by 5 %."""
    project = history(tmp_path / "project", {}, count=4)
    slow, side = merged_later(project)
    project.commit("after", sum=10_500)
    row = commit_range(project.folder, project.commits[0], "HEAD", first_parent=False)
    place = row.last - 1
    assert row.commits[place].subject == "merge topic"
    assert row.commits[place - 1].subject.startswith("topic"), "else nothing is tried here"
    with monkeypatch.context() as led:  # where most such searches end
        led.setattr(Search, "_search", lambda *_: ItemRun(place, place, 0.97))
        code = toll(project.commits[0], "HEAD", *WORDS, "--seed", "5")
    assert code == 3
    told = capsys.readouterr()
    assert "note: 1 merge between" in told.err
    assert f"it was made from {side[:10]}, which does not differ from it in the same way" in told.out
    assert f"toll bisect {project.commits[0]} {side[:10]}" in told.out
    assert toll(project.commits[0], side, *WORDS, "--seed", "5", "--json") == 0
    assert [found["commit"] for found in answer(capsys)] == [slow]


def test_a_merge_that_is_slow_itself_is_found(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=4)
    merged(project, slow=10_000)
    (project.folder / "levels").write_text("sum 10500\n")
    project.git("commit", "-q", "-a", "--amend", "--no-edit")
    merge = project.git("rev-parse", "HEAD")
    for number in range(3):
        project.commit(f"after {number}", sum=10_500)
    assert toll(project.commits[0], "HEAD", *WORDS, "--seed", "5", "--json") == 0
    (found,) = answer(capsys)
    assert (found["commit"], found["between"]) == (merge, "commits")


def test_a_branch_that_does_not_come_from_good_is_not_in_the_row(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {}, count=1)
    good = project.commit("good", sum=1)
    project.git("checkout", "-q", "-b", "older", f"{good}~1")
    (project.folder / "side").write_text("")
    project.git("add", ".")
    project.git("commit", "-q", "-m", "beside good")
    beside = project.git("rev-parse", "HEAD")
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "--no-ff", "-m", "merge", "older")
    row = commit_range(project.folder, good, "HEAD", first_parent=False)
    assert [item.subject for item in row.commits] == ["good", "merge"]
    assert beside not in {item.commit for item in row.commits}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["HEAD~3", "nowhere"], "there is no revision 'nowhere'"),
        (["HEAD", "HEAD"], "HEAD and HEAD are one commit"),
        (["HEAD", "HEAD~3"], "HEAD~3 comes before HEAD"),
        (["beside", "HEAD"], "HEAD does not come from beside: the change may be on either branch"),
        (["HEAD~3", "HEAD", "--probability", "1"], "--probability 1.0 is not between"),
        (["HEAD~3", "HEAD", "--threshold", "0"], "the threshold has a value"),
        (["HEAD~3", "HEAD", "--budget", "soon"], "'soon' is not a length of time"),
        (["HEAD~3", "HEAD", "--filter", "("], "is not a regular expression"),
        (["HEAD~3", "HEAD", "--filter", "gone"], "offers no benchmark that matches 'gone'"),
        (["HEAD~3", "HEAD", "--kind", "gone"], "gone"),
        (["HEAD~3", "HEAD", "--build", ""], "--build is empty"),
        (["HEAD~3", "HEAD", "--build", "exit 7"], "does not build: `exit 7` exited with code 7"),
        (["HEAD~3", "HEAD", "--program", "./gone"], "builds, but `sh build.sh` makes no ./gone"),
        (["HEAD~3", "HEAD", "--read", "json:name,ns"], "printed no JSON with name, ns"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_a_sentence(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_500}}, count=4)
    project.git("branch", "beside", "HEAD~2")
    project.git("checkout", "-q", "beside")
    project.commit("beside", sum=3)
    project.git("checkout", "-q", "main")
    assert toll(*words[:2], *WORDS, *words[2:]) == 2
    out = capsys.readouterr()
    assert told in out.err
    assert "next: " in out.err
    assert out.out == ""


def test_a_shallow_clone_that_has_all_of_the_row_will_do(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "whole", {4: {"sum": 10_500}}, count=5)
    project.git("clone", "-q", "--depth", "3", f"file://{project.folder}", str(tmp_path / "project"))
    assert toll("HEAD~2", "HEAD", *WORDS) in (0, 3)
    assert "shallow clone" not in capsys.readouterr().err


def test_a_launch_that_hangs_costs_its_commit_alone(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit was the whole budget, which it then had."""
    monkeypatch.setattr(bisecting, "_SHORTEST_LIMIT_S", 1.0)
    hanging = f"{GOOD_BUILD}; echo 'sleep 600' >> bench"
    project = history(tmp_path / "project", {5: {"build": hanging}, 7: {"sum": 10_600}}, count=10)
    with monkeypatch.context() as led:  # by chance it may not be looked at
        own, hanging_first = Bisection.next_item, iter([5])
        led.setattr(Bisection, "next_item", lambda self: next(hanging_first, None) or own(self))
        code = toll(project.commits[0], "HEAD", *WORDS, "--budget", "300s", "--total-budget", "300s")
    told = capsys.readouterr()
    limits = re.findall(r"did not end within (\d+)", told.out + told.err)
    assert limits, "it was looked at"
    assert max(map(int, limits)) < 150
    assert code in (0, 3)


def test_outside_of_a_repository(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "project").mkdir()
    assert toll("a", "b", *WORDS) == 2
    assert "is not in a git repository" in capsys.readouterr().err


def test_ends_that_share_no_benchmark(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = history(tmp_path / "project", {2: {"sum": 0, "map": 9}}, count=4)
    assert toll(project.commits[0], "HEAD", *WORDS) == 2
    assert "GOOD and BAD share no benchmark: sum, map" in capsys.readouterr().err


def test_work_that_is_not_committed_is_noted_and_left_alone(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {3: {"sum": 10_500}}, count=4)
    (project.folder / "build.sh").write_text("exit 1\n")
    assert toll(project.commits[0], "HEAD", *WORDS, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["found"][0]["commit"] == project.commits[3]
    assert "changes in this checkout that are not committed are in none of the commits" in told.err
    assert (project.folder / "build.sh").read_text() == "exit 1\n"


def test_a_launch_that_takes_longer_than_all_time_is_a_sentence(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=1)
    program = ("--build", "printf '#!/bin/sh\nsleep 60\n' > bench; chmod +x bench", "--program", "./bench")
    assert toll(project.commits[0], "HEAD", *program, "--budget", "0.05s") == 2
    assert "did not end within 0.05 s" in capsys.readouterr().err


class Ticking:
    """A clock on which each look takes its time: what a search does in so much of it is always the same."""

    def __init__(self, tick_s: float) -> None:
        self._ns, self._tick_ns = 0, round(tick_s * 1e9)

    def now_ns(self) -> int:
        self._ns += self._tick_ns
        return self._ns

    def utc(self) -> str:
        return "2026-01-01T00:00:00Z"

    def sleep(self, seconds: float) -> None:
        self._ns += round(seconds * 1e9)


def search_in(project: Project, tmp_path: Path, **more: Any) -> Search:
    """Of the whole history, as the verb makes it."""
    (tmp_path / "scratch").mkdir()
    row = commit_range(project.folder, project.commits[0], "HEAD", first_parent=False)
    recipe = RevisionBuild(BUILD, "./bench")
    settings = SearchSettings(
        measuring_s=more.pop("measuring_s", 600.0), measuring=MeasuringOptions(20.0, read="csv:name,ns")
    )
    builds = TreeBuilds(project.folder, recipe, tmp_path / "scratch")
    return Search(row, builds, settings, **more)


ONCE = f"""if test -e again; then {GOOD_BUILD}; else
touch again; echo "g++: fatal error: Killed signal terminated program cc1plus" >&2; exit 1; fi"""


def test_a_build_that_found_no_room_or_memory_is_no_commit_that_does_not_build(tmp_path: Path) -> None:
    """Which a search would take out of its row for good."""
    project = Project(tmp_path / "project")
    project.commit("full", build="echo 'as: main.o: No space left on device' >&2; exit 1", sum=10)
    project.commit("killed", build=ONCE, sum=10)
    project.commit("broken", build="exit 7", sum=10)
    project.commit("last", build="echo 'ninja: as: No space left on device'; exit 1", sum=10)
    (tmp_path / "scratch").mkdir()
    full, killed, broken, last = commit_range(
        project.folder, project.commits[0], "HEAD", first_parent=False
    ).commits
    builds = TreeBuilds(project.folder, RevisionBuild(BUILD, "./bench"), tmp_path / "scratch")
    for commit in (full, last):
        with pytest.raises(TollError, match="No space left on device"):
            builds.of(commit)
    assert builds.of(killed).label == killed.short
    with pytest.raises(LaunchFailed, match="exited with code 7"):
        builds.of(broken)


def test_too_little_time_for_the_ends_is_undecided(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {3: {"sum": 10_500}}, count=6)
    found = search_in(project, tmp_path, measuring_s=5.0, clock=Ticking(0.5)).run()
    assert (found.end, found.printed.found) == (SearchEnd.UNDECIDED, ())
    assert "at least 6 are needed" in found.reason
    assert exit_code(found) == 3


def test_when_the_time_is_spent_the_suspects_are_told(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {17: {"sum": 10_400}})
    clock = Ticking(0.001)

    def keep(record: Mapping[str, Any]) -> None:
        if "commit" in record and "values" in record:  # a round of the search
            clock.sleep(260.0)

    found = search_in(project, tmp_path, measuring_s=600.0, clock=clock, keep=keep).run()
    assert found.end is SearchEnd.UNDECIDED
    assert "the time is spent" in found.reason
    suspects = [commit.commit for commits in found.suspects for commit in commits]
    assert project.commits[17] in suspects
    assert 1 < len(suspects) < 30
    assert sum(item.probability or 0.0 for item in found.printed.found) >= 0.95
    assert {item.benchmark for item in found.printed.found} == {"sum"}


def test_an_interrupt_tells_what_is_known(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {17: {"sum": 10_400}})

    def keep(record: Mapping[str, Any]) -> None:
        if "step" in record:
            raise Interrupted

    found = search_in(project, tmp_path, keep=keep).run()
    assert found.end is SearchEnd.INTERRUPTED
    assert sum(item.probability or 0.0 for item in found.printed.found) >= 0.95


def test_a_full_place_for_programs_is_named(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {17: {"sum": 10_400}})
    full = "/tmp, where programs run, is full"

    def keep(record: Mapping[str, Any]) -> None:
        if "step" in record:
            raise NoRoom(full)

    found = search_in(project, tmp_path, keep=keep).run()
    assert (found.end, found.no_room, found.reason) == (SearchEnd.INTERRUPTED, full, full)


def test_an_interrupt_before_anything_is_known(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {}, count=2)

    def keep(_record: Mapping[str, Any]) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        search_in(project, tmp_path, keep=keep).run()


def test_an_end_that_no_longer_runs_is_no_commits_fault(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {5: {"sum": 10_400}}, count=10)

    def keep(record: Mapping[str, Any]) -> None:
        if record.get("done"):  # the ends are known: GOOD's program is lost
            for program in (tmp_path / "scratch").glob("*/*/bench"):
                if project.commits[0][:10] in program.parent.name:
                    program.unlink()

    with pytest.raises(TollError, match="ran before, and now it does not"):
        search_in(project, tmp_path, keep=keep).run()


def search_whose_builds_stop_working(tmp_path: Path, count: int, guilty: int) -> tuple[Project, Search]:
    """As on a full disk: once the ends are known, nothing builds any more."""
    works = tmp_path / "works"
    works.touch()
    levels: dict[int, dict[str, Any]] = {
        number: {"build": f"test -e {works} && {GOOD_BUILD}"} for number in range(count + 1)
    }
    levels[guilty]["sum"] = 10_400
    project = history(tmp_path / "project", levels, count=count)

    def keep(record: Mapping[str, Any]) -> None:
        if record.get("done"):
            works.unlink(missing_ok=True)

    return project, search_in(project, tmp_path, keep=keep)


def test_builds_that_stop_working_are_no_commits_fault(tmp_path: Path) -> None:
    """All commits behind would be named as a group that cannot be measured."""
    _, search = search_whose_builds_stop_working(tmp_path, count=12, guilty=7)
    with pytest.raises(TollError, match="was built before, and now it is not"):
        search.run()


def test_a_group_that_did_not_build_is_believed_only_if_good_still_builds(tmp_path: Path) -> None:
    """The third failure is not doubted when it happens, but before a group with it is the answer."""
    project, search = search_whose_builds_stop_working(tmp_path, count=2, guilty=2)
    search._unbuilt = 2
    with pytest.raises(TollError, match="was built before, and now it is not"):
        search.run()
    assert not list((tmp_path / "scratch").glob(f"*{project.git('rev-parse', 'HEAD~1^{tree}')[:10]}*"))


FAILS_ONCE = 'test -e "$0.ok" || { : > "$0.ok"; exit 3; }'


@pytest.mark.parametrize("which", ["the commit", "an end"])
def test_a_launch_that_fails_once_leaves_no_commit_out(tmp_path: Path, which: str) -> None:
    """Once, after the ends were compared: the commit's own launch, or GOOD's beside it."""
    project = history(tmp_path / "project", {2: {"sum": 12_000}}, count=2)
    search = search_in(project, tmp_path)
    measured, side = search._of_three, 1 if which == "the commit" else 0

    def of_three(written: WrittenSide) -> Subject:
        subject = measured(written)
        (program,) = (tmp_path / "scratch").glob(f"*/*{project.commits[side][:10]}*/bench")
        program.write_text(program.read_text().replace("\n", f"\n{FAILS_ONCE}\n", 1))
        return subject

    search._of_three = of_three  # type: ignore[method-assign]
    found = search.run()
    assert list((tmp_path / "scratch").glob("*/*/bench.ok"))  # it did fail
    assert found.left_out == ()
    assert [step.commit for step in found.printed.found[0].path] == [project.commits[1]]
    assert found.end is SearchEnd.FOUND


def test_an_end_that_fails_beside_a_commit_again_and_again_is_no_commits_fault(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_400}}, count=2)
    search = search_in(project, tmp_path)

    def failing(subject: Subject, commit: Commit) -> tuple[float, float, float]:
        raise _EndFailed(f"GOOD exited with code 3 (beside {commit.short})")

    search._round = failing  # type: ignore[method-assign]
    with pytest.raises(TollError, match=r"GOOD exited with code 3 .*, twice"):
        search.run()


def test_a_benchmark_that_vanishes_is_told(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {0: {"map": 500}, 3: {"map": 0}}, count=5)
    assert toll(project.commits[0], "main", *WORDS) == 3
    assert "map is on one side alone" in capsys.readouterr().out


def test_a_benchmark_that_vanishes_is_noted_beside_an_answer(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {0: {"map": 500}, 3: {"map": 0, "sum": 10_400}}, count=4)
    assert toll(project.commits[0], "main", *WORDS) == 0
    told = capsys.readouterr().out
    assert told.startswith(project.commits[3][:10])
    assert re.search(r"\nNot compared: map is not in main( \(\w+\))?\.\n", told), told


def test_without_time_for_the_last_comparison_the_first_ones_change_is_told(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {5: {"sum": 10_400}}, count=10)
    clock = Ticking(0.001)
    search = search_in(project, tmp_path, clock=clock)

    def late(bisection: Bisection) -> ItemRun:
        clock.sleep(10_000.0)
        return ItemRun(5, 5, 0.97)

    search._search = late  # type: ignore[method-assign]
    search._settings = replace(search._settings, total_s=5_000.0)
    outcome = search.run()
    assert outcome.end is SearchEnd.FOUND
    (found,) = outcome.printed.found
    assert (found.commit, found.between) == (project.commits[5], Between.ENDS)
    assert found.low is not None
    assert 1.03 < found.low < 1.05
    told = "\n".join(bisection_lines.lines(outcome))
    assert "from GOOD to BAD (in the time left it was not told apart from the one before it); prob" in told


def test_a_last_comparison_that_may_be_none_is_not_the_change_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = history(tmp_path / "project", {5: {"sum": 10_400}}, count=10)
    search = search_in(project, tmp_path)

    def vague(*words: Any, **more: Any) -> Comparisons:
        told = compare(*words, **more)
        rows = [row.model_copy(update={"ratio": 1.02, "low": 0.99, "high": 1.05}) for row in told.comparisons]
        return told.model_copy(update={"comparisons": tuple(rows)})

    def last(bisection: Bisection) -> ItemRun:
        monkeypatch.setattr(commit_search, "compare", vague)
        return ItemRun(5, 5, 0.97)

    search._search = last  # type: ignore[method-assign]
    (found,) = search.run().printed.found
    assert found.between is Between.ENDS
    assert found.low is not None
    assert found.low > 1.03


def test_a_commit_that_the_last_comparison_refutes_is_not_named(tmp_path: Path) -> None:
    project = history(tmp_path / "project", {5: {"sum": 10_400}}, count=10)
    search = search_in(project, tmp_path)
    search._search = lambda bisection: ItemRun(3, 3, 0.99)  # type: ignore[method-assign]
    found = search.run()
    assert found.end is SearchEnd.UNDECIDED
    assert found.printed.found == ()
    assert "measured against" in found.reason


def test_in_a_sandbox(
    toll: Toll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "home" / "key"
    key.parent.mkdir()
    key.write_text("a secret")
    monkeypatch.setenv("HOME", str(key.parent))
    try:
        sandbox_for([], None, [])
    except TollError as refused:
        pytest.skip(f"no sandbox here: {refused.what}")
    project = history(tmp_path / "project", {3: {"sum": 10_500}}, count=4)
    build = f"test ! -e {key} && {BUILD}"
    words = ("--build", build, "--program", "./bench", "--read", "csv:name,ns", "--sandbox", "--json")
    assert toll(project.commits[0], "HEAD", *words) == 0
    (found,) = answer(capsys)
    assert found["commit"] == project.commits[3]
    assert toll(project.commits[0], "HEAD", *words[:-2]) == 2
    assert "does not build" in capsys.readouterr().err


def test_what_elimination_leaves_has_to_be_measured(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proofs that contradict what is measured leave the fifth, and too little time is left to tell."""
    project = history(tmp_path / "project", {8: {"sum": 10_600}}, count=12)
    monkeypatch.setattr(Search, "_same_as", lambda _self, place, _known: 0 if place < 5 else 12)

    def open_yet(search: Search, *_: object) -> Comparison:
        return search._changes[0].model_copy(update={"low": 0.97, "high": 1.04, "reason": "not told apart"})

    monkeypatch.setattr(Search, "_against", open_yet)
    assert toll(project.commits[0], "main", *WORDS) == 3
    told = capsys.readouterr().out
    assert told.startswith("Undecided: every other commit executes the code of one on its side, which leaves")
    assert "--resume" not in told  # more time would not change it


def test_a_program_of_another_kind_is_no_proof_and_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlike(*_: object) -> None:
        raise TollError("one is a Google Benchmark executable, one is a command line", "")

    monkeypatch.setattr(same_code, "resolve", unlike)
    looking = SameCode("auto", MeasuringOptions(1.0), 10.0)
    assert looking.among("sum", [WrittenSide("a", str(tmp_path)), WrittenSide("b", str(tmp_path))]) is None


def test_in_a_row_too_short_to_show_how_builds_scatter_an_older_good_helps(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {6: {"sum": 10_600}}, count=7)
    assert toll(project.commits[5], "main", *WORDS) == 3
    assert "show little of how builds scatter: name a GOOD some commits older" in capsys.readouterr().out
    assert toll(project.commits[0], "main", *WORDS, "--json") == 0
    (found,) = answer(capsys)
    assert found["commit"] == project.commits[6]
