"""`toll bisect --all` by time: a search in each part of the row, until no part is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bisected import WORDS, Toll, answer, history, toll_in_project
from several_changes_trials import NoBuilds

from tollbench.compare import Comparison, Verdict
from tollbench.compare.raw_file import RawFile
from tollbench.errors import TollError
from tollbench.history.bisecting import Search
from tollbench.history.bisections import BisectionOutcome, SearchEnd, SearchStep
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.commit_search import FoundRun, SearchSettings, TimeSpent
from tollbench.history.kept_search import PART, KeptSearch, kept_search
from tollbench.history.several_searches import _BY_ENDS_ALONE, _ENDS_OPEN, _SHARE_SPENT, SeveralSearches
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.report import bisection_lines
from tollbench.report.comparisons import bisection_html
from tollbench.stats.bisection import ItemRun


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    return toll_in_project(tmp_path, monkeypatch)


# With real launches.


def test_two_changes_are_found(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = history(tmp_path / "project", {9: {"sum": 10_400}, 29: {"sum": 10_700}}, count=36)
    assert toll(project.commits[0], "main", *WORDS, "--all", "--json", "--seed", "5") == 0
    found = answer(capsys)
    assert [one["commit"] for one in found] == [project.commits[9], project.commits[29]]
    assert all(one["probability"] >= 0.95 and one["between"] == "commits" for one in found)
    assert 1.03 < found[0]["low"] <= found[0]["high"] < 1.05
    assert 1.02 < found[1]["low"] <= found[1]["high"] < 1.035
    (raw,) = (tmp_path / "runs").glob("bisect-*.jsonl")
    records = [json.loads(line) for line in raw.read_text().splitlines()]
    launches = sum("side" in record for record in records)
    assert [one["launches"] for one in found] == [launches, launches]
    assert sum(PART in record for record in records) >= 3


def test_the_answer_says_that_there_is_nothing_else(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {9: {"sum": 10_400}}, count=20)
    page = tmp_path / "page.html"
    words = ("--all", "--html", str(page))
    assert toll(project.commits[0], "main", *WORDS, *words) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{project.commits[9][:10]} by n: step 9\n  sum is slower by ")
    assert (
        "Nothing else: the ends of 2 stretches of commits beside do not differ by more than 1.0 %.\n" in told
    )
    assert "step 9" in page.read_text()


def test_without_a_change_it_is_one_comparison(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=8)
    assert toll(project.commits[0], "main", *WORDS, "--all") == 0
    assert capsys.readouterr().out.startswith("No change: GOOD and BAD do not differ by more than 1.0 %.")


def test_what_one_side_alone_has_is_told_as_without_all(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {4: {"other": 500}}, count=8)
    assert toll(project.commits[0], "main", *WORDS, "--all") == 3
    assert "Undecided: other is on one side alone." in capsys.readouterr().out


def test_another_benchmark_that_comes_and_goes_leaves_nothing_open(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in no part's GOOD and BAD alike, but only that which is searched counts there."""
    changes = {4: {"other": 500}, 9: {"sum": 10_400}, 14: {"other": 0}}
    project = history(tmp_path / "project", changes, count=20)
    assert toll(project.commits[0], "main", *WORDS, "--all", "--json") == 0
    assert [one["commit"] for one in answer(capsys)] == [project.commits[9]]


@pytest.mark.parametrize("looks_before", [0, 3])
def test_killed_in_a_later_part_it_goes_on(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    looks_before: int,
) -> None:
    project = history(tmp_path / "project", {9: {"sum": 10_400}, 29: {"sum": 10_700}}, count=36)
    child = os.fork()
    if child == 0:
        try:
            append = RawFile._append
            seen: list[str] = []

            def until(raw: RawFile, record: Any) -> None:
                append(raw, record)
                seen.extend([PART] * (PART in record))
                seen.extend(["look"] * (seen.count(PART) >= 2 and "took_s" in record))
                if seen.count(PART) >= 2 and seen.count("look") >= looks_before and "values" in record:
                    raw._file.write(b'{"commit": "cut')
                    os.kill(os.getpid(), signal.SIGKILL)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(RawFile, "_append", until)
                toll(project.commits[0], "main", *WORDS, "--all", "--seed", "5")
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    (path,) = (tmp_path / "runs").glob("bisect-*.jsonl")
    before = path.read_bytes().rpartition(b"\n")[0]
    capsys.readouterr()
    again = ("--all", "--json", "--resume", str(path))
    assert toll(project.commits[0], "main", *WORDS, *again) == 0
    found = answer(capsys)
    assert [one["commit"] for one in found] == [project.commits[9], project.commits[29]]
    after = path.read_bytes()
    assert after.startswith(before)
    records = [json.loads(line) for line in after.splitlines()]
    assert found[0]["launches"] == sum("side" in record for record in records)
    # Once more: all is known, and nothing is launched.
    assert toll(project.commits[0], "main", *WORDS, *again) == 0
    assert [one["commit"] for one in answer(capsys)] == [one["commit"] for one in found]
    more = [json.loads(line) for line in path.read_bytes()[len(after) :].splitlines()]
    assert not [record for record in more if "side" in record]


def test_records_belong_to_their_part() -> None:
    look = {"commit": "c", "values": [1.0, 1.0, 1.0], "took_s": 0.5}
    records: list[Mapping[str, Any]] = [
        {PART: "a..z"},
        {"searching": "sum"},
        look,
        {"looking_s": 2.0},
        {PART: "a..m"},
        {"searching": "sum"},
        {**look, "commit": "b"},
        {PART: "a..z"},
        look,
    ]
    kept = kept_search(records, "f", most_s=100.0)
    assert {name: [record.commit for record in part.seen] for name, part in kept.parts.items()} == {  # type: ignore[union-attr]
        "a..z": ["c", "c"],
        "a..m": ["b"],
    }
    assert kept.looking_s == 2.0
    assert not kept.seen
    with pytest.raises(TollError, match="f is damaged: line 3 is of no benchmark"):
        kept_search([{PART: "a..z"}, look], "f", most_s=100.0)


# With searches whose ends are given.

COUNT = 40
STEP = SearchStep(commit="c", rounds=3, changed=0.5, leading="c", probability=0.5)
Ending = Callable[["Given"], BisectionOutcome]


def commits(count: int = COUNT) -> CommitRange:
    row = tuple(Commit(f"{place:040d}", f"tree{place}", "n", f"step {place}") for place in range(count + 1))
    return CommitRange(Path(), row, False)


class Given(Search):
    """Ends as `endings` say by its part; `asked` has what every one was given."""

    endings: dict[tuple[int, int], Ending]
    kept: list[Mapping[str, Any]]
    asked: list[tuple[tuple[int, int], SearchSettings, str]]

    def run(self) -> BisectionOutcome:
        row = self._commits.commits
        self.part = int(row[0].commit), int(row[-1].commit)
        self.asked.append((self.part, self._settings, self._only))
        self._measured_s, self._launches = 100.0, 10
        return self.endings.get(self.part, none)(self)

    def between(self) -> Comparison:
        return Comparison(
            benchmark="sum", a="a", b="b", ratio=1.04, low=1.03, high=1.05, level=0.95,
            verdict=Verdict.SLOWER, launches=10, seconds=1.0, reason="", regression=True,
        )  # fmt: skip


def none(search: Given) -> BisectionOutcome:
    return search._outcome(SearchEnd.NO_CHANGE, reason="alike")


def found(place: int) -> Ending:
    """By a look at it, but where there is nothing to look at."""

    def end(search: Given) -> BisectionOutcome:
        search._changes = (search.between(),)
        own = place - search.part[0]
        if search._commits.last > 1:
            search._path.append(STEP)
        return search._outcome(SearchEnd.FOUND, [FoundRun(ItemRun(own, own, 0.97), search.between())])

    return end


def undecided(reason: str = "scattered", *looked: int) -> Ending:
    def end(search: Given) -> BisectionOutcome:
        search._changes = (search.between(),)
        for place in looked:
            search._path.append(
                STEP.model_copy(update={"commit": search._commits.commits[place - search.part[0]].commit})
            )
        own = ItemRun(1, search._commits.last, 0.96)
        return search._outcome(SearchEnd.UNDECIDED, [FoundRun(own, search._changes[0])], reason)

    return end


def raising(error: Exception) -> Ending:
    def end(_search: Given) -> BisectionOutcome:
        raise error

    return end


def searched(
    endings: dict[tuple[int, int], Ending], before: KeptSearch | None = None, **settings: Any
) -> tuple[BisectionOutcome, type[Given]]:
    class Own(Given):
        pass

    Own.endings, Own.asked, Own.kept = endings, [], []
    asked = replace(SearchSettings(), **settings)
    whole = SeveralSearches(commits(), NoBuilds(), asked, search=Own, keep=Own.kept.append, before=before)
    return whole.run(), Own


def parts(own: type[Given]) -> list[tuple[int, int]]:
    return [part for part, _, _ in own.asked]


def commits_of(outcome: BisectionOutcome) -> list[int]:
    return [int(found.commit) for found in outcome.printed.found]


def test_both_sides_of_what_was_found_are_searched() -> None:
    outcome, own = searched({(0, 40): found(12), (12, 40): found(30)})
    assert parts(own) == [(0, 40), (0, 11), (12, 40), (12, 29), (30, 40)]
    assert [only for _, _, only in own.asked] == ["", "sum", "sum", "sum", "sum"]
    assert outcome.end is SearchEnd.FOUND
    assert commits_of(outcome) == [12, 30]
    assert "3 stretches" in outcome.reason
    assert outcome.launches == outcome.printed.found[0].launches == 50


def test_parts_share_the_budgets_and_have_seeds_of_their_own() -> None:
    outcome, own = searched(
        {(0, 40): found(12), (12, 40): found(30)}, measuring_s=250.0, total_s=1000.0, seed=7
    )
    # Half of what is left, or of a row that is too short to be cut all: for each of those that wait.
    assert [settings.measuring_s for _, settings, _ in own.asked] == [125.0, 75.0, 25.0]
    assert [settings.seed for _, settings, _ in own.asked] == [7, 8, 9]
    assert all(settings.total_s <= 1000.0 for _, settings, _ in own.asked)
    assert outcome.end is SearchEnd.UNDECIDED  # two parts are left when the time is
    assert outcome.goes_on
    assert commits_of(outcome) == [12, 30]
    told = bisection_lines.lines(outcome)
    assert told[0] == "0000000000 by n: step 12"
    assert any("a larger --budget narrows it" in line for line in told)


def test_what_stays_open_is_cut_where_a_commit_was_measured() -> None:
    outcome, own = searched(
        {(0, 40): undecided("scattered", 3, 18, 33), (0, 18): found(9), (18, 40): found(25)}
    )
    assert parts(own)[:3] == [(0, 40), (0, 18), (18, 40)]
    assert outcome.end is SearchEnd.FOUND
    assert commits_of(outcome) == [9, 25]


SPENT = str(TimeSpent("--budget"))


def test_a_search_that_spent_its_share_is_cut_too() -> None:
    outcome, own = searched({(0, 40): undecided(SPENT, 20), (0, 20): found(3)})
    assert parts(own)[:3] == [(0, 40), (0, 20), (20, 40)]
    assert outcome.end is SearchEnd.FOUND
    assert not outcome.goes_on


@pytest.mark.parametrize(
    ("ending", "budget_s"),
    [
        (undecided("scattered"), 1200.0),  # nobody was measured: neither half is known to build
        (undecided(SPENT, 20), 100.0),  # and there is no more
    ],
)
def test_what_cannot_be_cut_stays_open(ending: Ending, budget_s: float) -> None:
    outcome, own = searched({(0, 40): ending}, measuring_s=budget_s)
    assert parts(own) == [(0, 40)]
    assert outcome.end is SearchEnd.UNDECIDED
    assert outcome.printed.found[0].commit == f"{0:040d}..{40:040d}"  # as without --all
    assert bisection_lines.lines(outcome)[0].startswith("Undecided: ")


def test_a_short_row_is_not_cut() -> None:
    outcome, own = searched({(0, 40): found(11), (0, 10): undecided("scattered", 5)})
    assert parts(own) == [(0, 40), (0, 10), (11, 40)]
    assert outcome.end is SearchEnd.UNDECIDED
    told = "\n".join(bisection_lines.lines(outcome))
    assert "step 11\n" in told
    assert "Open, from 0000000000 to 0000000000 (10 commits):\n  Undecided: scattered.\n" in told
    assert "one of these 10 commits" in told


def test_a_single_commit_beside_what_was_found_is_told_but_not_named() -> None:
    outcome, _ = searched({(0, 40): found(2), (0, 1): found(1)})
    assert outcome.end is SearchEnd.UNDECIDED
    told = bisection_lines.lines(outcome)
    assert told[0].endswith("step 2")
    assert f"  Undecided: {_BY_ENDS_ALONE}." in told


def test_many_small_changes_are_nobodys() -> None:
    outcome, own = searched({(0, 40): undecided("scattered", 20)})
    assert parts(own) == [(0, 40), (0, 20), (20, 40)]
    assert outcome.end is SearchEnd.UNDECIDED
    assert not outcome.printed.found
    told = "the ends differ by more than 1.0 %, but those of neither half do: many small changes may share it"
    assert bisection_lines.lines(outcome)[0] == f"Undecided: {told}."


def test_a_cut_whose_halves_are_alike_leaves_the_whole_undecided() -> None:
    """Beside a commit that was found: its own ends differ all the same."""
    outcome, own = searched({(0, 40): found(12), (12, 40): undecided("scattered", 26)})
    assert parts(own) == [(0, 40), (0, 11), (12, 40), (12, 26), (26, 40)]
    assert outcome.end is SearchEnd.UNDECIDED
    assert commits_of(outcome) == [12]
    assert "many small changes" in outcome.reason


def test_where_no_half_names_anybody_the_set_of_the_whole_stands() -> None:
    outcome, _ = searched({(0, 40): undecided("scattered", 20), (0, 20): undecided("scattered")})
    assert outcome.end is SearchEnd.UNDECIDED
    (one,) = outcome.printed.found
    assert one.commit == f"{0:040d}..{40:040d}"
    assert not one.decided


def test_what_is_decided_and_what_is_not_is_told_apart() -> None:
    outcome, _ = searched({(0, 40): found(11), (0, 10): undecided("scattered", 5), (11, 40): found(30)})
    assert [(one.decided, one.ends[0][-2:], one.ends[1][-2:]) for one in outcome.printed.found] == [
        (False, "00", "10"),
        (True, "00", "40"),
        (True, "11", "40"),
    ]


def test_ends_that_stay_open_are_told_without_a_forecast() -> None:
    def ends_open(search: Given) -> BisectionOutcome:
        return search._outcome(SearchEnd.UNDECIDED, reason="sum: --total-budget 5s may tell")

    outcome, _ = searched({(0, 40): found(12), (12, 40): ends_open})
    assert outcome.reason.endswith(_ENDS_OPEN.format("--budget"))
    assert outcome.goes_on


def test_a_short_part_tells_that_its_share_is_spent() -> None:
    outcome, _ = searched({(0, 40): found(12), (0, 11): undecided(SPENT, 5)})
    assert outcome.reason.endswith(_SHARE_SPENT.format("--budget"))
    assert outcome.goes_on


def test_what_was_cut_stays_cut_when_it_goes_on() -> None:
    """With another budget too: else all that was measured in its halves would be of no use."""
    endings = {(0, 40): undecided("scattered", 3, 18, 33), (0, 18): found(9), (18, 40): found(25)}
    first, own = searched(endings, measuring_s=1000.0)
    before = kept_search(own.kept, "f", most_s=1e6)
    moved = {**endings, (0, 40): undecided("the time is spent", 3, 18, 20, 33)}
    again, later = searched(moved, before, measuring_s=9000.0)
    assert parts(later) == parts(own)
    assert commits_of(again) == commits_of(first) == [9, 25]
    assert later.asked[0][1].measuring_s == own.asked[0][1].measuring_s == 500.0


def test_a_cut_whose_ends_stay_open_when_it_goes_on_still_knows_what_is_searched() -> None:
    """With less time than before, or builds that take longer."""
    endings = {(0, 40): undecided("scattered", 20), (0, 20): found(9)}
    _, own = searched(endings)
    before = kept_search([own.kept[0], {"searching": "sum"}, *own.kept[1:]], "f", most_s=1e6)

    def ends_open(search: Given) -> BisectionOutcome:
        return search._outcome(SearchEnd.UNDECIDED, reason="open")

    again, later = searched({**endings, (0, 40): ends_open}, before)
    assert [only for _, _, only in later.asked] == ["", "sum", "sum", "sum", "sum"]
    assert commits_of(again) == [9]


def test_a_cut_outside_of_its_part_is_a_damaged_file() -> None:
    _, own = searched({(0, 40): undecided("scattered", 20)})
    (cut,) = [record for record in own.kept if "cut" in record]
    kept = [{**cut, "cut": f"{40:040d}"} if record is cut else record for record in own.kept]
    with pytest.raises(TollError, match="the file is damaged: 0000000000, where a part"):
        searched({(0, 40): undecided("scattered", 20)}, kept_search(kept, "f", most_s=1e6))


def test_a_full_disk_at_the_cut_ends_it() -> None:
    def refuse(record: Mapping[str, Any]) -> None:
        if "cut" in record:
            raise Interrupted

    class Own(Given):
        pass

    Own.endings, Own.asked = {(0, 40): found(20), (0, 19): undecided("scattered", 10)}, []
    outcome = SeveralSearches(commits(), NoBuilds(), SearchSettings(), search=Own, keep=refuse).run()
    assert parts(Own) == [(0, 40), (0, 19)]  # what waits does not begin
    assert [one.commit for one in outcome.printed.found if one.decided] == [f"{20:040d}"]
    assert outcome.end is SearchEnd.INTERRUPTED


def test_a_row_with_merges_is_refused(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = history(tmp_path / "project", {}, count=3)
    project.git("checkout", "-q", "-b", "side", project.commits[1])
    project.commit("aside", sum=10_000)
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "-X", "ours", "-m", "both", "side")
    assert toll(project.commits[0], "main", *WORDS, "--all") == 2
    told = capsys.readouterr().err
    assert "1 merge between" in told
    assert "next: add --first-parent" in told
    assert toll(project.commits[0], "main", *WORDS, "--all", "--first-parent") == 0
    # Of that branch nothing comes from this one: the row is straight.
    assert toll(project.commits[2], "main", *WORDS, "--all") == 0


@pytest.mark.parametrize(
    ("error", "end", "reason"),
    [
        (TollError("x ran before", "look"), SearchEnd.UNDECIDED, "x ran before"),
        (LaunchFailed("y is no program"), SearchEnd.UNDECIDED, "y is no program"),
        (Interrupted(), SearchEnd.INTERRUPTED, "interrupted"),
    ],
)
def test_what_ends_a_later_part_leaves_what_was_found(error: Exception, end: SearchEnd, reason: str) -> None:
    outcome, own = searched({(0, 40): found(12), (0, 11): raising(error)})
    assert outcome.end is end
    assert commits_of(outcome) == [12]
    assert ((12, 40) in parts(own)) is (end is SearchEnd.UNDECIDED)  # nothing begins after Ctrl-C
    assert outcome.searches[0].reason == reason
    assert outcome.goes_on
    told = "\n".join(bisection_lines.lines(outcome))
    assert f"  Undecided: {reason}." in told
    page = bisection_html.render(outcome, {"machine": "m", "started_utc": "", "command_line": ""})
    assert "step 12" in page
    assert reason in page


@pytest.mark.parametrize("error", [TollError("GOOD does not build", "look"), Interrupted()])
def test_what_ends_the_first_search_ends_all(error: Exception) -> None:
    with pytest.raises(type(error)):
        searched({(0, 40): raising(error)})
