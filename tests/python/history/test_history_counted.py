"""`toll bisect --count instructions`: real C programs under Valgrind, two launches a commit."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from bisected import WORDS as READ_WORDS
from bisected import Project, Toll, answer, history, merged_later, toll_in_project

from tollbench import cli
from tollbench.cli import searching
from tollbench.compare.counters import INSTRUCTIONS, Amount
from tollbench.history import counted_search
from tollbench.history.counted_search import CountedSearch

needs_valgrind = pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("cc")), reason="needs valgrind and a C compiler"
)
WORDS = ("--build", "cc -O1 -o bench bench.c", "--program", "./bench", "--kind", "command")
COUNTED = (*WORDS, "--count", "instructions")
SOURCE = """\
/* {subject} */
int main(void) {{
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < {length}u; ++i) sum += i;
  return 0;
}}
"""


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    return toll_in_project(tmp_path, monkeypatch)


def programs(folder: Path, lengths: Mapping[int, int], count: int, broken: tuple[int, ...] = ()) -> Project:
    """Commits whose loop is as long as was said last; all differ in a comment."""
    project = Project(folder)
    length = 1_000_000
    for number in range(count + 1):
        length = lengths.get(number, length)
        source = SOURCE.format(subject=f"step {number}", length=length)
        (folder / "bench.c").write_text("#error no\n" if number in broken else source)
        project.git("add", ".")
        project.git("commit", "-q", "-m", f"step {number}")
        project.commits.append(project.git("rev-parse", "HEAD"))
    return project


@needs_valgrind
def test_the_commit_is_found_by_two_launches_each(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """8 of 12 makes it 2 % longer; 7 is broken, so that 6 has to be looked at."""
    project = programs(tmp_path / "project", {8: 1_020_000}, 12, broken=(7,))
    assert toll(project.commits[0], "main", *COUNTED, "--json") == 0
    (found,) = answer(capsys)
    assert found["commit"] == f"{project.commits[6]}..{project.commits[8]}"
    assert found["probability"] == 1.0
    assert found["low"] == found["ratio"] == found["high"] == pytest.approx(1.02, abs=0.003)
    launched = [step for step in found["path"] if step["rounds"]]
    assert found["launches"] == 4 + sum(step["rounds"] for step in found["path"])
    assert all(step["rounds"] == 2 for step in launched)
    assert len(found["path"]) <= 6
    # Comments alone make no other code: those commits are known without a launch.
    assert any(step["same_as"] in project.commits for step in found["path"])
    assert toll(project.commits[0], "main", *COUNTED) == 0
    told = capsys.readouterr().out
    assert told.startswith("One of these commits, of which only the last can be counted:\n")
    assert " more instructions since then; counted, not timed\n" in told


@needs_valgrind
def test_what_executes_the_same_code_is_not_launched_when_it_is_timed(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = programs(tmp_path / "project", {4: 6_000_000, 0: 2_000_000}, 6)
    assert toll(project.commits[0], "main", *WORDS, "--json") == 0
    (found,) = answer(capsys)
    assert found["commit"] == project.commits[4]
    assert found["path"]
    assert all(step["same_as"] and not step["rounds"] for step in found["path"])


@needs_valgrind
def test_without_another_count_nothing_changed(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = programs(tmp_path / "project", {2: 1_000_001}, 3)
    assert toll(project.commits[0], "main", *COUNTED) == 0
    assert "No change: GOOD and BAD do not differ by more than 1.0 % in instructions." in (
        capsys.readouterr().out
    )


def test_another_count_is_refused(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = programs(tmp_path / "project", {}, 1)
    assert toll(project.commits[0], "main", *WORDS, "--count", "bytes") == 2
    assert "--count bytes: a search goes by one count" in capsys.readouterr().err


def counted_as(monkeypatch: pytest.MonkeyPatch, counts: Mapping[int, int]) -> list[int]:
    """Commits have these counts, without a launch; the places that were asked for."""
    asked: list[int] = []

    def known(self: CountedSearch, _subject: Any, _side: int, place: int, _name: str) -> tuple[Fraction, str]:
        asked.append(place)
        return Fraction(max((at, count) for at, count in counts.items() if at <= place)[1]), "alike"

    monkeypatch.setattr(CountedSearch, "_counted", known)
    monkeypatch.setattr(CountedSearch, "_same_as", lambda *_: None)
    monkeypatch.setattr(CountedSearch, "_proved_same", lambda *_: set())
    return asked


def test_every_change_is_found(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = programs(tmp_path / "project", {}, 40)
    asked = counted_as(monkeypatch, {0: 1000, 5: 1050, 6: 1100, 22: 1105, 31: 1200})
    assert toll(project.commits[0], "main", *COUNTED, "--all", "--json") == 0
    found = answer(capsys)
    assert [one["commit"] for one in found] == [project.commits[place] for place in (5, 6, 31)]
    assert [one["ratio"] for one in found] == pytest.approx([1.05, 1100 / 1050, 1200 / 1105])
    assert len(asked) == len(set(asked)) <= 18
    asked.clear()
    assert toll(project.commits[0], "main", *COUNTED, "--json") == 0
    (one,) = answer(capsys)
    assert one["commit"] == project.commits[6]
    assert len(asked) <= 2 + 6


class _Counter:
    """Counts 1,000 of GOOD and 1,500 of BAD; what lies in between scatters."""

    def __init__(self, project: Project, subject: Any) -> None:
        self._project, self._subject = project, subject
        self._launches = 0

    def read(self, side: int, _name: str, _what: object) -> dict[str, Amount]:
        self._launches += 1
        label = self._subject.labels[side]
        value = 1000 if self._launches % 2 else 1490
        if label.startswith(("main", self._project.commits[0][:10])):
            value = 1500 if label.startswith("main") else 1000
        return {INSTRUCTIONS: Amount(Fraction(value), "so")}


def test_commits_whose_counts_scatter_are_left_out_also_when_it_goes_on(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their first count alone would name one of them, with a probability of 1."""
    project = programs(tmp_path / "project", {}, 5)
    monkeypatch.setattr(CountedSearch, "_same_as", lambda *_: None)
    monkeypatch.setattr(CountedSearch, "_proved_same", lambda *_: set())
    monkeypatch.setattr(counted_search, "counter_for", lambda subject, *_: _Counter(project, subject))
    more: tuple[str, ...] = ()
    for _ in range(3):
        assert toll(project.commits[0], "main", *COUNTED, "--json", *more) == 0
        (found,) = answer(capsys)
        assert found["commit"] == f"{project.commits[0]}..{project.commits[5]}"
        assert len(found["path"]) == 4
        assert all("(1,000 and 1,490)" in step["reason"] for step in found["path"])
        (path,) = (tmp_path / "runs").iterdir()
        whole = path.read_text().splitlines(keepends=True)
        # As after a kill between a count and what follows from it.
        last = max(at for at, line in enumerate(whole) if '"counted"' in line)
        path.write_text("".join(whole[: last + 1]))
        more = ("--resume", str(path))


@pytest.mark.parametrize(
    ("counts", "more", "told"),
    [
        ({at: 1000 + 5 * (at // 4) for at in range(41)}, ["--all"], "no single commit changed it by more"),
        ({at: 1000 + 5 * (at // 4) for at in range(41)}, [], "changed it by 0.4"),
        ({0: 1000, 20: 1009, 21: 1018}, [], "no single commit changed it by more than 1.0 % where"),
    ],
)
def test_of_many_small_changes_none_is_named(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    counts: Mapping[int, int],
    more: list[str],
    told: str,
) -> None:
    """Each below the threshold, all together beyond it."""
    project = programs(tmp_path / "project", {}, 40)
    counted_as(monkeypatch, counts)
    assert toll(project.commits[0], "main", *COUNTED, *more, "--json") == 3
    seen = capsys.readouterr()
    assert json.loads(seen.out) == {"found": []}
    assert told in seen.err


def test_how_much_of_the_whole_was_found_is_told(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """5 % by one commit, and as much again by a creep before it."""
    project = programs(tmp_path / "project", {}, 40)
    counted_as(monkeypatch, {**{at: 1000 + 5 * (at // 2) for at in range(21)}, 30: 1102})
    assert toll(project.commits[0], "main", *COUNTED, "--all") == 0
    told = capsys.readouterr().out
    assert told.startswith(project.commits[30][:10])
    assert "That is 50 % of the whole: command executes 10 % more instructions from GOOD to BAD." in told


@pytest.mark.parametrize("option", ["--budget", "--total-budget"])
@pytest.mark.parametrize("counts", [0, 4], ids=["at the ends", "in the search"])
def test_time_that_is_spent_ends_a_counted_search_wherever_it_is(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    counts: int,
) -> None:
    project = programs(tmp_path / "project", {}, 40)
    asked = counted_as(monkeypatch, {0: 1000, 5: 1050})

    def left(_search: object) -> tuple[float, float]:
        own = counts - len(asked)
        return (own, 99.0) if option == "--budget" else (99.0, own)

    monkeypatch.setattr(CountedSearch, "_left", left)
    assert toll(project.commits[0], "main", *COUNTED, "--json") == 3
    told = capsys.readouterr()
    assert len(asked) == counts
    assert bool(json.loads(told.out)["found"]) == bool(counts)
    assert f"the time is spent: a larger {option} narrows it" in told.err


def test_counting_that_an_earlier_start_did_is_of_the_budget(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = programs(tmp_path / "project", {}, 5)
    monkeypatch.setattr(CountedSearch, "_same_as", lambda *_: None)
    monkeypatch.setattr(CountedSearch, "_proved_same", lambda *_: set())
    monkeypatch.setattr(counted_search, "counter_for", lambda subject, *_: _Counter(project, subject))
    assert toll(project.commits[0], "main", *COUNTED, "--json") == 0
    capsys.readouterr()
    (path,) = (tmp_path / "runs").iterdir()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    counted = [at for at, record in enumerate(records) if "counted" in record]
    records[counted[1]]["counting_s"] = 1000.0
    kept = "".join(json.dumps(record) + "\n" for record in records[: counted[1] + 1])
    words = (project.commits[0], "main", *COUNTED, "--json", "--resume", str(path), "--budget")
    path.write_text(kept)
    assert toll(*words, "900s") == 3
    assert "a larger --budget narrows it" in capsys.readouterr().err
    path.write_text(kept)
    assert toll(*words, "1100s") == 0


def test_a_counted_search_without_time_knows_no_probability(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = programs(tmp_path / "project", {}, 40)
    asked = counted_as(monkeypatch, {0: 1000, 5: 1050})
    monkeypatch.setattr(CountedSearch, "_left_s", lambda _: 5.0 - len(asked))
    assert toll(project.commits[0], "main", *COUNTED, "--json") == 3
    (found,) = answer(capsys)
    assert found["probability"] is None
    assert ".." in found["commit"]
    asked.clear()
    assert toll(project.commits[0], "main", *COUNTED) == 3
    assert "(100 %)" not in (told := capsys.readouterr().out)
    assert "commits, executes 5.0 % more instructions:" in told
    assert ", 100 %:" not in told


@needs_valgrind
def test_a_page_has_the_path_and_why_works_as_it_is_told(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = programs(tmp_path / "project", {3: 1_500_000}, 5)
    page = tmp_path / "page.html"
    assert toll(project.commits[0], "main", *COUNTED, "--html", str(page)) == 0
    told = capsys.readouterr().out
    text = page.read_text()
    assert told.startswith(project.commits[3][:10])
    assert f"<title>toll bisect: {project.commits[3][:10]} by n: step 3</title>" in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text
    assert text.count('<th scope="row">') == len([line for line in text.splitlines() if 'class="dot' in line])
    (command,) = re.findall(r"^  why: toll (why .*)$", told, re.MULTILINE)
    monkeypatch.setattr(sys, "argv", ["toll", *shlex.split(command)])
    assert cli.main() == 0
    assert "instructions +" in capsys.readouterr().out
    page.write_text("somebody else's")
    assert toll(project.commits[0], "main", *COUNTED, "--html", str(page)) == 2
    assert "it is there already, and toll did not make it as the page of a search" in capsys.readouterr().err


@pytest.mark.parametrize("slow_merge", [False, True])
def test_a_merge_is_counted_against_all_that_it_was_made_from(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    slow_merge: bool,
) -> None:
    """In the row: GOOD and four, three of main's, six of the branch, the merge at 14, and five more."""
    project = history(tmp_path / "project", {}, count=4)
    _, side = merged_later(project)
    merge = project.git("rev-parse", "HEAD")
    for number in range(5):  # else the first half ends on main
        project.commit(f"after {number}", sum=10_500)
    of_main = 1000 if slow_merge else 1050
    counted_as(monkeypatch, {0: 1000, 5: of_main, 8: 1000, 14: 1050})
    words = (project.commits[0], "HEAD", *READ_WORDS, "--count", "instructions", "--json")
    if slow_merge:
        assert toll(*words) == 0
        (found,) = answer(capsys)
        assert (found["commit"], found["ratio"]) == (merge, 1.05)
    else:
        assert toll(*words) == 3
        told = capsys.readouterr()
        assert json.loads(told.out) == {"found": []}
        assert f"made from {side[:10]}, which does not differ" in told.err


def test_a_merge_is_told_against_its_first_parent(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the row the tip of the other branch is before it, which lacks what main had won by then."""
    project = history(tmp_path / "project", {}, count=4)
    _, side = merged_later(project)
    merge = project.git("rev-parse", "HEAD")
    for number in range(5):
        project.commit(f"after {number}", sum=10_500)
    counted_as(monkeypatch, {0: 1000, 5: 1030, 8: 1000, 14: 1080})
    why = searching.why_commands  # of programs that are read with --read there is none
    monkeypatch.setattr(
        searching, "why_commands", lambda request, *of: why(dataclasses.replace(request, read=""), *of)
    )
    assert toll(project.commits[0], "HEAD", *READ_WORDS, "--count", "instructions") == 0
    told = capsys.readouterr().out
    assert re.search(r"4\.[89] % more instructions since then", told)
    assert f"{side[:10]} {merge[:10]}" in told


def test_one_of_all_is_the_answer_whatever_was_merged(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing between GOOD and BAD builds: it is one of them, on whichever branch that was."""
    project = history(tmp_path / "project", {}, count=1)
    good = project.commits[-1]
    project.git("checkout", "-q", "-b", "topic")
    project.commit("on topic", build="exit 1", sum=10_000)
    project.git("checkout", "-q", "main")
    project.commit("on main", build="exit 2", sum=10_000)
    project.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "merge topic", "topic")
    last = project.commit("builds again", sum=10_500)
    counted_as(monkeypatch, {0: 1000, 3: 1100})
    assert toll(good, "HEAD", *READ_WORDS, "--count", "instructions", "--json") == 0
    (found,) = answer(capsys)
    assert found["commit"] == f"{good}..{last}"
