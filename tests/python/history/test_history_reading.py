"""From sessions to lines, changes, breaks and notes; which commits are next; what the forms say."""

from __future__ import annotations

import json
import math
import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from made_histories import MACHINE, commit_hash, line, read, row, scattered, session

from tollbench import numbers
from tollbench.errors import TollError
from tollbench.history.choosing_commits import CommitRun, order_of_measuring
from tollbench.history.commit_range import CommitRange
from tollbench.history.histories import MOST_CERTAIN, Histories
from tollbench.history.history_folder import HistoryFolder, build_environment, first_word
from tollbench.history.reading_history import ReadHistory
from tollbench.report.embedded import packed_chart_library
from tollbench.report.histories import (
    history_feed,
    history_html,
    history_lines,
    history_markdown,
    history_terminal,
)
from tollbench.writing.marks import OF_HISTORY

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas/history.schema.json").read_text(encoding="utf-8"))
ATOM = "{http://www.w3.org/2005/Atom}"


def changed(folder: Path, count: int = 60, at: int = 40) -> Histories:
    """One benchmark that is slower by 3 % from a commit on, and one that is not."""
    slow, same = scattered(count, {at: 0.03}), scattered(count, seed=2)
    session(folder, 1, [line(n, {"sum": slow[n], "map": same[n]}) for n in range(count)])
    return read(folder, count).told


def test_a_change_has_its_commits_size_and_certainty(tmp_path: Path) -> None:
    found = changed(tmp_path)
    jsonschema.validate(json.loads(found.model_dump_json()), SCHEMA)
    (change,) = found.changes
    assert (change.benchmark, change.place, change.commit) == ("sum", 40, commit_hash(40))
    assert change.first <= 40 <= change.last
    assert change.range == f"{commit_hash(change.first - 1)}..{commit_hash(change.last)}"
    assert change.low < 1.03 < change.high
    assert change.certainty == MOST_CERTAIN
    assert change.unmeasured == 0
    assert found.measured == 60
    assert {item.benchmark for item in found.lines} == {"sum", "map"}


def test_nights_are_one_line(tmp_path: Path) -> None:
    """Each third commit on three nights, while the machine itself becomes slower by 4 % a night."""
    ratios = scattered(60, {40: 0.03})
    for night in range(3):
        lines = [line(n, {"sum": ratios[n]}, reference_ns=100.0 + 4.0 * night) for n in range(night, 60, 3)]
        session(tmp_path, night + 1, lines)
    found = read(tmp_path, 60).told
    assert [change.place for change in found.changes] == [40]
    assert found.breaks == ()
    assert found.sessions == 3


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"machine": MACHINE | {"cpu": "another one"}}, "another machine or compiler: cpu"),
        ({"machine": MACHINE | {"compilers": []}}, "another machine or compiler: compilers"),
        ({"digest": "e"}, "the reference was built anew, and its program is another file"),
        ({"reference": 7}, f"another reference: {commit_hash(7)[:10]} instead of {commit_hash(0)[:10]}"),
        ({"reference_ns": 130.0}, "the reference itself takes 30 % longer than before"),
    ],
    ids=["processor", "compiler", "file", "reference", "time"],
)
def test_another_machine_is_a_break_and_no_change(tmp_path: Path, now: dict[str, Any], told: str) -> None:
    """All that was measured on the new one is slower by 5 %."""
    reference_ns = now.pop("reference_ns", 100.0)
    before, after = scattered(30), scattered(30, seed=2)
    session(tmp_path, 1, [line(n, {"sum": before[n]}) for n in range(30)])
    lines = [line(30 + n, {"sum": 1.05 * after[n]}, reference_ns=reference_ns) for n in range(30)]
    session(tmp_path, 2, lines, **now)
    found = read(tmp_path, 60)
    assert found.told.changes == ()
    (only,) = found.told.breaks
    assert (only.place, only.reason) == (29, told)
    assert set(found.visits[:30]) == {0}, "what the other machine measured has to be measured here"
    assert any(
        "break: 2026-03-02 01:00:00 UTC: " + told in text for text in history_terminal.lines(found.told)
    )


def test_flags_in_the_environment_are_a_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, flags in enumerate(("-O2", "-O3", "-O2"), 1):
        monkeypatch.setenv("CXXFLAGS", flags)
        monkeypatch.setenv("LDFLAGS", "")
        session(tmp_path, number, [line(0, {"sum": 1.0})], commands={"environment": build_environment()})
    assert build_environment() == {"CXXFLAGS": "-O2"}
    breaks = read(tmp_path, 2).told.breaks
    assert [(one.utc[:10], one.reason) for one in breaks] == [
        ("2026-03-02", "another CXXFLAGS: -O3 instead of -O2")
    ]


def test_what_another_command_built_is_measured_anew(tmp_path: Path) -> None:
    """Of --build @FILE: the same files, built otherwise, are another program."""
    commands = {commit_hash(n): "make" for n in range(3)}
    asked = {"build": "@FILE"}
    unbuilt = {"commit": commit_hash(2), "tree": commit_hash(2), "unbuilt": "no", "build": "make"}
    lines = [line(n, {"sum": 1.0}, build="make", failed={"map": "crashed"}) for n in range(2)]
    session(tmp_path, 1, [*lines, unbuilt], commands=asked)
    assert read(tmp_path, 3, commands=commands).visits == (1, 1, 1)
    commands |= {commit_hash(n): "make fast" for n in (1, 2)}
    assert read(tmp_path, 3, commands=commands).visits == (1, 0, 0)
    session(tmp_path, 2, [line(n, {"sum": 0.5}, build="make fast") for n in (1, 2)], commands=asked)
    found = read(tmp_path, 3, commands=commands)
    assert found.visits == (1, 1, 1)
    assert found.told.lines[0].ratio == pytest.approx((1.0, 0.5, 0.5))
    assert found.told.lines[0].visits == (1, 1, 1)
    assert [commit.reason for commit in found.told.commits] == [""] * 3
    assert sum("crashed" in note for note in found.told.notes) == 1, "that of the first commit"


def test_benchmarks_that_come_and_go_are_told(tmp_path: Path) -> None:
    ratios = scattered(30)
    lines = []
    for n in range(30):
        has = {"late" if n >= 12 else "early": ratios[n], "sum": ratios[n]}
        lines.append(line(n, has, lacks=["early" if n >= 12 else "late"], new=["newest"] if n > 20 else []))
    session(tmp_path, 1, lines)
    found = read(tmp_path, 30).told
    late, early = (next(item for item in found.lines if item.benchmark == name) for name in ("late", "early"))
    assert (late.since, late.until) == (commit_hash(12), "")
    assert (early.since, early.until) == ("", commit_hash(12))
    notes = " ".join(found.notes)
    assert f"early is gone since {commit_hash(12)[:10]}, where late came" in notes
    assert "not measured yet, as the reference does not have it: newest" in notes


def test_a_benchmark_that_came_later_has_a_reference_of_its_own(tmp_path: Path) -> None:
    """Beside commit 12; commit 20 had it before it got one, and is measured again."""
    ratios = scattered(40, {30: 0.05})
    lines = [line(n, {"sum": ratios[n]}, new=["late"] if n >= 12 else []) for n in range(40)]
    beside = {"beside": commit_hash(12), "beside_digest": "x"}
    lines += [line(n, {"late": ratios[n]}, **beside) for n in range(12, 40) if n != 20]
    lines.append(line(21, {"late": 3.0}, beside=commit_hash(12), beside_digest="another file"))
    session(tmp_path, 1, lines)
    found = read(tmp_path, 40)
    assert {change.benchmark: change.place for change in found.told.changes} == {"sum": 30, "late": 30}
    assert found.others == {"late": commit_hash(12)}
    assert [place for place, visits in enumerate(found.visits) if visits == 0] == [20]
    late = next(item for item in found.told.lines if item.benchmark == "late")
    assert (late.since, max(late.ratio) < 2.0) == (commit_hash(12), True)
    assert any("late: some values are beside another reference" in note for note in found.told.notes)


def test_commits_that_do_not_build_or_fail_are_rows(tmp_path: Path) -> None:
    unbuilt = {"commit": commit_hash(3), "tree": commit_hash(3), "unbuilt": "3 does not build: no header"}
    session(tmp_path, 1, [unbuilt, line(4, {"sum": 1.0}, failed={"map": "crashed by SIGSEGV"})])
    found = read(tmp_path, 6)
    assert found.told.commits[3].reason == "3 does not build: no header"
    assert found.visits == (0, 0, 0, 1, 1, 0)
    told = "\n".join(history_terminal.lines(found.told))
    assert "not measured: 0000000000: 3 does not build" in told
    assert "map: crashed by SIGSEGV" in told


def test_the_same_files_are_the_same_commit(tmp_path: Path) -> None:
    """Rewritten history: other hashes, the same trees."""
    rewritten = [line(n, {"sum": 1.0}) | {"commit": commit_hash(n + 1000)} for n in range(9)]
    session(tmp_path, 1, [*rewritten, line(400, {"sum": 1.0})])
    found = read(tmp_path, 10).told
    assert found.measured == 9
    assert any(note.startswith("1 measured commit of the folder not in this row") for note in found.notes)


def test_a_group_in_which_the_reference_differed_from_itself_counts_less(tmp_path: Path) -> None:
    ratios = scattered(40)
    bad = range(20, 26)
    lines: list[dict[str, Any]] = [
        line(n, {"sum": ratios[n] * (1.03 if n in bad else 1.0)}) for n in range(40)
    ]
    session(tmp_path / "a", 1, lines)
    assert read(tmp_path / "a", 40).told.changes
    control = {"control": {"sum": [1.03, 1.02, 1.04]}, "commits": [commit_hash(n) for n in bad]}
    session(tmp_path / "b", 1, [*lines, control])
    assert read(tmp_path / "b", 40).told.changes == ()


def test_what_a_kill_left_of_a_line_is_passed_over(tmp_path: Path) -> None:
    path = session(tmp_path, 1, [line(n, {"sum": 1.0}) for n in range(5)])
    whole = path.read_bytes()
    for cut in (2, 40, 160):
        path.write_bytes(whole[:-cut])
        assert read(tmp_path, 5).told.measured == 4


@pytest.mark.parametrize("content", [b"{}\n", b"\xff\xfe", b'{"toll_history": 2}\n'])
def test_what_is_no_session_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "measured-x.jsonl").write_bytes(content)
    with pytest.raises(TollError, match="is no session of a history"):
        HistoryFolder(tmp_path).sessions()


@pytest.mark.parametrize("ratio", [-1.0, 0.0, None, "1", "NaN", 1e400])
def test_values_of_a_strangers_file_are_held(tmp_path: Path, ratio: object) -> None:
    own = line(0, {"sum": 1.0})
    own["points"]["sum"][0] = ratio
    session(tmp_path, 1, [own, line(1, {"sum": 1.0})])
    found = read(tmp_path, 2).told
    assert found.measured == (2 if ratio == "1" else 1)


def test_two_histories_of_one_folder_at_once(tmp_path: Path) -> None:
    folder = HistoryFolder(tmp_path / "history")
    with folder.taken():
        with pytest.raises(TollError, match="another toll history measures into"), folder.taken():
            pass
        (folder.path / "lock").stat()
    with folder.taken():
        pass


def test_the_ends_come_first_then_the_middles_of_gaps() -> None:
    order = order_of_measuring(101, [0] * 101)
    assert order[:3] == [100, 0, 50]
    assert sorted(order) == list(range(101))
    recent = sum(place > 50 for place in order[:20])
    assert recent > 10


def test_a_change_is_filled_in_before_old_commits() -> None:
    visits = [0] * 101
    for place in range(0, 101, 10):
        visits[place] = 1
    order = order_of_measuring(101, visits, [CommitRun(11, 20)])
    assert set(order[:9]) == set(range(11, 20))
    assert order[0] == 15


def test_doubted_commits_are_visited_again_and_not_for_ever() -> None:
    visits = [1] * 20
    assert order_of_measuring(20, visits, doubted={7}) == [7]
    assert order_of_measuring(20, visits, [CommitRun(5, 6)]) == list(range(1, 10))
    assert order_of_measuring(20, visits, [CommitRun(5, 5)]) == []
    assert order_of_measuring(20, visits, suspected=[CommitRun(5, 6)]) == [5, 6]
    assert order_of_measuring(20, [3] * 20, [CommitRun(5, 6)], {17}) == list(range(1, 10))
    assert order_of_measuring(20, [4] * 20, [CommitRun(5, 6)], {7}) == []
    assert order_of_measuring(20, [3] * 20, (), {7}, suspected=[CommitRun(5, 6)]) == []
    assert order_of_measuring(0, []) == []


def test_what_all_but_shows_a_change_is_measured_again(tmp_path: Path) -> None:
    """A step of 0.35 % where commits scatter by 0.3 %, of few commits: worth a look, and no more."""
    values = scattered(40, {32: 0.0035}, seed=7)
    session(tmp_path, 1, [line(n, {"sum": values[n]}) for n in range(40)])
    found = read(tmp_path, 40, threshold=0.002)
    assert not found.told.changes
    (run,) = found.suspected
    assert run.first <= 32 <= run.last
    assert run.last - run.first == 15
    assert set(order(found)) == set(range(run.first, run.last + 1)), "and nothing else"
    assert read(tmp_path, 40, threshold=0.01).suspected == (), "it is smaller than what is asked for"
    session(tmp_path, 2, [line(n, {"sum": values[n]}) for n in range(run.first, run.last + 1)])
    session(tmp_path, 3, [line(n, {"sum": values[n]}) for n in range(run.first, run.last + 1)])
    assert not order(read(tmp_path, 40, threshold=0.002)), "three visits are enough"


def test_of_three_visits_a_bad_day_is_left_out(tmp_path: Path) -> None:
    """Of two it is half of what is told; of calm ones the mean counts."""
    for night, ratio in enumerate((1.001, 1.05, 1.003), 1):
        session(tmp_path, night, [line(0, {"sum": ratio})])
    (only,) = read(tmp_path, 1).told.lines
    assert only.ratio[0] == pytest.approx(1.002, abs=1e-5)
    assert only.visits == (3,)
    session(tmp_path, 4, [line(0, {"sum": 1.004})])
    (only,) = read(tmp_path, 1).told.lines
    assert only.ratio[0] == pytest.approx((1.001 + 1.003 + 1.004) / 3.0, abs=1e-5)


def visited(folder: Path, *visits: tuple[float, float]) -> tuple[float, float]:
    """One commit, a night a visit, each with its log ratio and its error; what is told, log scale."""
    for night, (log, error) in enumerate(visits, 1):
        own = line(0, {"sum": math.exp(log)})
        own["points"]["sum"][4] = error
        session(folder, night, [own])
    (only,) = read(folder, 1).told.lines
    (high,) = only.high
    assert high is not None
    return math.log(only.ratio[0]), math.log(high / only.ratio[0]) / 1.96


def test_visits_that_scatter_have_the_error_of_their_scatter(tmp_path: Path) -> None:
    """Nights that differ by more than any of them knows: nobody can say which is the bad one."""
    value, error = visited(tmp_path, (0.0, 0.001), (0.01, 0.001), (0.02, 0.001))
    assert value == pytest.approx(0.01)
    assert error == pytest.approx(0.01 / math.sqrt(3.0), rel=0.01)


def test_a_precise_visit_is_no_bad_day(tmp_path: Path) -> None:
    """The others are far off by its measure, and not by their own."""
    value, error = visited(tmp_path, (0.0, 0.0005), (0.005, 0.01), (0.012, 0.01))
    assert abs(value) < 0.0001
    assert error == pytest.approx(0.0005, rel=0.05)


def test_what_never_gets_a_value_is_not_visited_for_ever(tmp_path: Path) -> None:
    """A benchmark of the reference that some commits neither lack nor fail nor have a value of."""
    values = scattered(40, {32: 0.0035}, seed=7)
    for night in range(1, 4):
        lines = [line(n, {"sum": values[n]} | ({"rare": 1.0} if n == 0 else {})) for n in range(40)]
        session(tmp_path, night, lines)
    found = read(tmp_path, 40, threshold=0.002)
    assert min(found.visits) >= 3
    assert order(found) == []


def test_what_is_left_out_tonight_asks_for_nothing(tmp_path: Path) -> None:
    """One benchmark has all that asks for another visit: a step, a suspicion and a value far off."""
    values = scattered(80, {20: 0.006, 72: 0.0035}, seed=7)
    values[40] *= 1.05
    session(tmp_path, 1, [line(n, {"sum": values[n], "map": 1.0}) for n in range(80)])
    found = read(tmp_path, 80, threshold=0.002, pattern="sum")
    assert found.runs
    assert found.suspected
    assert 40 in found.doubted
    found = read(tmp_path, 80, threshold=0.002, pattern="map")
    assert (found.runs, found.suspected, found.doubted) == ((), (), frozenset())


def test_what_another_filter_left_out_is_still_to_be_measured(tmp_path: Path) -> None:
    """Four nights of one benchmark, and one commit that was asked for the other."""
    for night in range(1, 5):
        session(tmp_path, night, [line(n, {"sum": 1.0}) for n in range(9)], commands={"filter": "sum"})
    assert set(read(tmp_path, 9, pattern="sum").visits) == {4}
    assert set(read(tmp_path, 9, pattern="map").visits) == {0}
    session(tmp_path, 5, [line(4, {"map": 1.0})], commands={"filter": "map"})
    assert read(tmp_path, 9, pattern="map").visits == (0, 0, 0, 0, 1, 0, 0, 0, 0)
    assert read(tmp_path, 9).visits == (0, 0, 0, 0, 1, 0, 0, 0, 0), "of both, that with fewest"


def test_of_a_thin_row_measured_commits_count_beside_a_change() -> None:
    """Every tenth commit is measured."""
    visits = [1 if place % 10 == 0 else 0 for place in range(101)]
    order = order_of_measuring(101, visits, [CommitRun(41, 60)])
    assert {place for place in order if visits[place]} == set(range(10, 91, 10))


@pytest.mark.parametrize(
    ("program", "word"),
    [("'my bench' --fast", "my bench"), ("my\\ bench", "my bench"), ("bench 'x", "bench"), (" ", "")],
)
def test_a_program_is_read_as_a_shell_reads_it(program: str, word: str) -> None:
    assert first_word(program) == word


def test_every_form_says_it_and_bears_its_mark(tmp_path: Path) -> None:
    found = changed(tmp_path)
    page, chat, feed = (
        render(found) for render in (history_html.render, history_markdown.render, history_feed.render)
    )
    assert "1 change (1 slower) in 2 benchmarks over 60 commits" in page
    assert "1 change \\(1 slower\\) in 2 benchmarks over 60 commits" in chat
    (entry,) = ET.fromstring(feed).findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title", "").startswith("sum: slower by 3.")
    assert entry.findtext(f"{ATOM}updated") == "2026-03-01T01:00:00Z"
    assert ET.fromstring(history_feed.render(found)).find(f"{ATOM}id") is not None
    for form, text in (("html", page), ("markdown", chat), ("feed", feed)):
        path = tmp_path / form
        path.write_text(text, encoding="utf-8")
        with path.open("rb") as file:
            assert OF_HISTORY[form].on(file.fileno()), form


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>\x1b[31m\u202e|`@x"
    ratios = scattered(40, {20: 0.05})
    session(tmp_path, 1, [line(n, {name: ratios[n]}) for n in range(40)])
    found = read(tmp_path, 40).told
    page = history_html.render(found)
    assert "<script>alert" not in page
    assert "\x1b" not in page + history_markdown.render(found) + "".join(history_terminal.lines(found))
    (entry,) = ET.fromstring(history_feed.render(found)).findall(f"{ATOM}entry")
    for part in ("title", "content"):
        assert "<script>alert(1)</script>" in entry.findtext(f"{ATOM}{part}", "")


def test_a_page_does_not_grow_with_the_commits(tmp_path: Path) -> None:
    """Six times the commits, a page of hardly more; tests/bench/history_scale.py has the large figures."""
    sizes = []
    for count in (4_000, 24_000):
        ratios = scattered(count)
        lines = [line(n, {"sum": ratios[n]}) for n in range(count)]
        folder = tmp_path / str(count)
        session(folder, 1, lines)
        sizes.append(len(history_html.render(read(folder, count).told)) - len(packed_chart_library()))
    assert sizes[1] < 1.2 * sizes[0]


def test_nothing_measured_yet(tmp_path: Path) -> None:
    found = read(tmp_path, 3).told
    assert history_terminal.lines(found) == ["Nothing is measured yet.", "none of 3 commits has a value."]
    assert "Nothing is measured yet" in history_html.render(found)
    ET.fromstring(history_feed.render(found))


def unbuilt(number: int, reason: str = "no header") -> dict[str, Any]:
    return {"commit": commit_hash(number), "tree": commit_hash(number), "unbuilt": reason}


def order(found: ReadHistory) -> list[int]:
    return order_of_measuring(
        len(found.visits), found.visits, found.runs, found.doubted, found.failed, found.suspected
    )


def test_what_a_group_shares_makes_no_change(tmp_path: Path) -> None:
    """Groups of eight are off by 1 % as a whole."""
    ratios, off = scattered(80), np.random.default_rng(3).normal(0.0, 0.01, 10)
    lines = []
    for n in range(80):
        own = line(n, {"sum": ratios[n] * math.exp(off[n // 8])}, group=1 + n // 8, shared={"sum": 0.01})
        own["points"]["sum"][4] = 0.01
        lines.append(own)
    session(tmp_path / "a", 1, lines)
    assert read(tmp_path / "a", 80).told.changes == ()
    session(tmp_path / "b", 1, [own | {"shared": {}} for own in lines])
    assert read(tmp_path / "b", 80).told.changes, "the values are no proof"


def test_two_machines_in_turn_are_two_parts_that_go_on(tmp_path: Path) -> None:
    ratios = scattered(60, {40: 0.03})
    for night in range(6):
        machine = MACHINE | ({"cpu": "another one"} if night % 2 else {})
        lines = [line(n, {"sum": ratios[n]}) for n in range(night // 2, 60, 3)]
        session(tmp_path, night + 1, lines, machine=machine)
    found = read(tmp_path, 60)
    assert len(found.told.breaks) == 1
    assert set(found.visits) == {1}
    assert [change.place for change in found.told.changes] == [40]


def test_one_slow_night_does_not_end_a_part(tmp_path: Path) -> None:
    ratios = scattered(60, {40: 0.03})
    for night in range(3):
        ns = 130.0 if night == 1 else 100.0
        session(
            tmp_path, night + 1, [line(n, {"sum": ratios[n]}, reference_ns=ns) for n in range(night, 60, 3)]
        )
    found = read(tmp_path, 60)
    assert len(found.told.breaks) == 1
    assert [place for place, visits in enumerate(found.visits) if not visits] == list(range(1, 60, 3))
    (change,) = found.told.changes
    assert change.first <= 40 <= change.last


@pytest.mark.parametrize("option", ["program", "build", "kind", "read", "folder", "sandbox"])
def test_another_command_is_another_part(tmp_path: Path, option: str) -> None:
    before, after = scattered(30), scattered(30, seed=2)
    session(tmp_path, 1, [line(n, {"sum": before[n]}) for n in range(30)], commands={option: "old"})
    session(
        tmp_path, 2, [line(30 + n, {"sum": 1.05 * after[n]}) for n in range(30)], commands={option: "new"}
    )
    found = read(tmp_path, 60).told
    assert found.changes == ()
    assert [one.reason for one in found.breaks] == [f"another --{option}: new instead of old"]


def test_many_benchmarks_ask_for_more_than_one(tmp_path: Path) -> None:
    ratios = scattered(40, {20: 0.0042})
    alone, many = tmp_path / "a", tmp_path / "b"
    session(alone, 1, [line(n, {"sum": ratios[n]}) for n in range(40)])
    same = [scattered(40, seed=seed) for seed in range(2, 202)]
    others = [{f"map{number}": values[n] for number, values in enumerate(same)} for n in range(40)]
    session(many, 1, [line(n, {"sum": ratios[n]} | others[n]) for n in range(40)])
    assert len(read(alone, 40, threshold=0.001).told.changes) == 1
    assert read(many, 40, threshold=0.001).told.changes == ()


def test_what_did_not_build_is_tried_again_on_three_nights(tmp_path: Path) -> None:
    ratios = scattered(30)
    for night in range(1, 4):
        others = [line(n, {"sum": ratios[n]}) for n in range(30) if n != 5] if night == 1 else []
        session(tmp_path, night, [unbuilt(5), *others])
        found = read(tmp_path, 30)
        assert found.visits[5] == night
        assert found.told.commits[5].reason == "no header"
        assert (5 in order(found)) == (night < 3)
    session(tmp_path, 4, [line(5, {"sum": 1.0})])
    found = read(tmp_path, 30)
    assert (found.told.commits[5].reason, found.told.measured) == ("", 30)


def test_another_build_command_forgets_what_did_not_build(tmp_path: Path) -> None:
    session(tmp_path, 1, [unbuilt(5), line(6, {"sum": 1.0})], commands={"build": "old"})
    session(tmp_path, 2, [line(6, {"sum": 1.0})], commands={"build": "new"})
    found = read(tmp_path, 8)
    assert (found.visits[5], found.told.commits[5].reason) == (0, "")


def test_what_does_not_build_is_counted_apart(tmp_path: Path) -> None:
    """Of the commits between which a change lies one does not build and one is not measured yet."""
    ratios = scattered(40, {20: 0.05})
    lines = [line(n, {"sum": ratios[n]}) for n in range(40) if n not in (19, 20)]
    session(tmp_path, 1, [*lines, unbuilt(20)])
    found = read(tmp_path, 40)
    (change,) = found.told.changes
    assert (change.first, change.last, change.unmeasured, change.unbuilt) == (19, 21, 1, 1)
    assert order(found)[:1] == [19]
    assert "1 of them could not be measured" in "\n".join(history_terminal.lines(found.told))


def test_a_benchmark_that_a_filter_left_out_is_measured_later(tmp_path: Path) -> None:
    ratios = scattered(20)
    session(tmp_path, 1, [line(n, {"sum": ratios[n]}) for n in range(20)])
    session(tmp_path, 2, [line(19, {"sum": ratios[19], "map": 1.0})])
    assert read(tmp_path, 20).visits == (0,) * 19 + (1,)
    assert set(read(tmp_path, 20, pattern="sum").visits) == {1, 2}


def test_a_second_reference_built_anew_begins_its_line_anew(tmp_path: Path) -> None:
    ratios = scattered(40)
    lines = [line(n, {"sum": ratios[n]}, new=["late"]) for n in range(40)]

    def late(n: int, digest: str) -> dict[str, Any]:
        return line(n, {"late": ratios[n]}, beside=commit_hash(12), beside_digest=digest)

    session(tmp_path, 1, [*lines, *(late(n, "x") for n in range(30))])
    session(tmp_path, 2, [late(n, "y") for n in range(30, 40)])
    found = read(tmp_path, 40)
    assert found.visits == (0,) * 30 + (1,) * 10
    own = next(item for item in found.told.lines if item.benchmark == "late")
    assert own.place == tuple(range(30, 40))
    assert any("late: some values are beside another reference" in note for note in found.told.notes)


def test_a_revert_has_the_value_of_what_it_restores(tmp_path: Path) -> None:
    """20 has the files of 9, before 10 made it slower: measured once, the change is told where it is."""
    ratios = scattered(30, {10: 0.05, 20: -1.0 + 1.0 / 1.05})
    commits = list(row(30).commits)
    commits[20] = replace(commits[20], tree=commits[9].tree)
    session(tmp_path, 1, [line(n, {"sum": ratios[n]}) for n in range(30) if n != 20])
    found = read(tmp_path, 30, commits=CommitRange(Path(), tuple(commits), True)).told
    assert [change.place for change in found.changes] == [20, 10]
    assert [change.unmeasured for change in found.changes] == [0, 0]


def test_merged_branches_make_no_changes(tmp_path: Path) -> None:
    ratios = scattered(40, {20: 0.05})
    session(tmp_path, 1, [line(n, {"sum": ratios[n]}) for n in range(40)])
    found = read(tmp_path, 40, commits=CommitRange(Path(), row(40).commits, False)).told
    assert found.changes == ()
    assert any("changes are not looked for with --merged" in note for note in found.notes)


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"\n"])
def test_what_a_full_disk_left_empty_is_passed_over(tmp_path: Path, content: bytes) -> None:
    session(tmp_path, 1, [line(0, {"sum": 1.0})])
    (tmp_path / "measured-x.jsonl").write_bytes(content)
    found = read(tmp_path, 1).told
    assert found.measured == 1
    assert any("measured-x.jsonl is empty" in note for note in found.notes)


def test_a_damaged_line_in_the_middle_is_told(tmp_path: Path) -> None:
    path = session(tmp_path, 1, [line(n, {"sum": 1.0}) for n in range(5)])
    texts = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*texts[:2], "{broken\n", *texts[3:], '{"cut']))
    found = read(tmp_path, 5).told
    assert found.measured == 4
    (note,) = (note for note in found.notes if "damaged" in note)
    assert "1 damaged line passed over, line 3 first" in note


def test_a_pipe_or_a_link_is_no_session(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "measured-x.jsonl")
    with pytest.raises(TollError, match="is no file"):
        HistoryFolder(tmp_path).sessions()
    (tmp_path / "measured-x.jsonl").unlink()
    (tmp_path / "measured-x.jsonl").symlink_to("/dev/zero")
    with pytest.raises(TollError, match="cannot read"):
        HistoryFolder(tmp_path).sessions()


@pytest.mark.parametrize(("at", "value"), [(0, 1e308), (0, 1e-320), (4, 1e300), (5, 1e-320), (6, 1e308)])
def test_numbers_that_nobody_measures_are_no_values(tmp_path: Path, at: int, value: float) -> None:
    lines = [line(n, {"sum": 1.0}) for n in range(10)]
    lines[3]["points"]["sum"][at] = value
    session(tmp_path, 1, lines)
    found = read(tmp_path, 10).told
    assert found.measured == 9
    for render in (history_html.render, history_markdown.render, history_feed.render):
        assert render(found)


def test_a_feed_keeps_its_name_and_holds_no_letter_that_xml_has_not(tmp_path: Path) -> None:
    ratios = scattered(40, {20: 0.05})
    session(tmp_path, 1, [line(n, {"su\uffffm": ratios[n]}) for n in range(40)])
    feeds = [
        ET.fromstring(
            history_feed.render(
                read(tmp_path, 40, commits=CommitRange(Path(), row(40).commits[begin:], True)).told
            )
        )
        for begin in (0, 1)
    ]
    assert feeds[0].findtext(f"{ATOM}id") == feeds[1].findtext(f"{ATOM}id")
    assert feeds[0].findtext(f"{ATOM}entry/{ATOM}title", "").startswith("su\ufffdm: slower")


def test_an_entry_has_content_links_and_a_name_of_its_own_folder(tmp_path: Path) -> None:
    """RFC 4287, 4.1.2: an entry without content has to link to what it is about."""
    found = changed(tmp_path)
    alone, beside = (
        ET.fromstring(history_feed.render(found, **places))
        for places in ({"own": "changes & co.xml"}, {"own": "a.xml", "page": "../a page.html"})
    )
    for feed, page in ((alone, None), (beside, "../a%20page.html")):
        for item in (feed, feed.find(f"{ATOM}entry")):
            assert item is not None
            links = {link.get("rel"): link.get("href") for link in item.findall(f"{ATOM}link")}
            assert links.get("alternate") == page
        told = feed.findtext(f"{ATOM}entry/{ATOM}content", "")
        assert told.startswith("sum is slower by ")
    assert alone.find(f"{ATOM}link").get("href") == "changes%20%26%20co.xml"  # type: ignore[union-attr]
    names = {
        ET.fromstring(history_feed.render(one)).findtext(f"{ATOM}entry/{ATOM}id")
        for one in (found, found.model_copy(update={"first_session": "another folder's"}))
    }
    assert len(names) == 2


def test_a_change_was_found_when_both_levels_had_their_values(tmp_path: Path) -> None:
    ratios = scattered(40, {20: 0.05})
    session(tmp_path, 1, [line(n, {"sum": ratios[n]}) for n in range(0, 40, 8)])
    session(tmp_path, 2, [line(n, {"sum": ratios[n]}) for n in range(0, 40) if n % 8])
    session(tmp_path, 3, [line(39, {"sum": ratios[39]})])
    (change,) = read(tmp_path, 40).told.changes
    assert change.found_utc == "2026-03-02T01:00:00Z"


@pytest.mark.parametrize("utc", ["<b>&2026-03-01T01:00:00Z", "2026-13-01T01:00:00Z", "soon"])
def test_a_session_has_an_instant(tmp_path: Path, utc: str) -> None:
    path = session(tmp_path, 1, [line(0, {"sum": 1.0})])
    path.write_text(path.read_text().replace("2026-03-01T01:00:00Z", utc))
    with pytest.raises(TollError, match="is no session of a history"):
        HistoryFolder(tmp_path).sessions()


@pytest.mark.parametrize("other", [{"reference_ns": 130.0}, {"machine": MACHINE | {"cpu": "another one"}}])
def test_the_present_is_that_of_the_newest_night(tmp_path: Path, other: dict[str, Any]) -> None:
    """A slow night, or one on a second machine, lies between: the line goes on with the third night."""
    reference_ns = other.pop("reference_ns", 100.0)
    ratios = scattered(60, {50: 0.10})
    session(tmp_path, 1, [line(n, {"sum": ratios[n]}) for n in range(30)])
    session(tmp_path, 2, [line(n, {"sum": ratios[n]}, reference_ns=reference_ns) for n in range(6)], **other)
    session(tmp_path, 3, [line(n, {"sum": ratios[n]}, reference_ns=101.0) for n in range(30, 60)])
    found = read(tmp_path, 60).told
    (only,) = found.lines
    assert (only.latest, only.reference_ns, only.part[-1]) == (0, 100.5, 1)
    assert only.scatter is not None
    assert 0.0 < only.scatter < 0.006
    told = history_terminal.lines(found)
    shown = next(text for text in told if text.startswith("sum  "))
    assert "▁" in shown
    assert shown.split("  ")[1].endswith("█"), "the change is drawn"
    assert history_lines.now(only) == f"+{numbers.difference(ratios[59] - 1.0)}"


def test_a_change_is_told_by_the_part_that_goes_on(tmp_path: Path) -> None:
    """Another machine had measured few commits: its one wide change hid two exact ones of this machine."""
    ratios = scattered(60, {20: 0.04, 30: 0.04})
    older = [line(n, {"sum": ratios[n]}) for n in range(60) if not 12 <= n <= 35]
    session(tmp_path, 1, older, machine={**MACHINE, "cpus": 4})
    session(tmp_path, 2, [line(n, {"sum": ratios[n]}) for n in range(60)])
    found = read(tmp_path, 60)
    assert sorted((one.place, one.part) for one in found.told.changes) == [(20, 1), (30, 1)]
    assert sorted(found.runs) == [CommitRun(20, 20), CommitRun(30, 30)]


def test_what_two_commands_built_makes_no_change(tmp_path: Path) -> None:
    """The newest twenty are measured with the file's new command, which is quicker; the others wait."""
    ratios = scattered(60)
    asked = {"build": "@FILE"}
    session(tmp_path, 1, [line(n, {"sum": ratios[n]}, build="make") for n in range(60)], commands=asked)
    now = {commit_hash(n): "make fast" for n in range(60)}
    quick = [line(n, {"sum": 0.9 * ratios[n]}, build="make fast") for n in range(40, 60)]
    session(tmp_path, 2, quick, commands=asked)
    found = read(tmp_path, 60, commands=now)
    assert found.told.changes == ()
    assert (found.told.measured, found.visits[:40]) == (20, (0,) * 40)
    assert any("40 commits had another command of the file before" in note for note in found.told.notes)


def test_a_benchmark_that_failed_is_tried_on_three_nights(tmp_path: Path) -> None:
    ratios = scattered(30)
    crashed = {"sum": "crashed by SIGSEGV", "map": "crashed by SIGSEGV"}
    for night in range(1, 4):
        one = line(5, {"sum": ratios[5]}, failed={"map": "crashed by SIGSEGV"})
        lines = [one, line(6, {}, failed=crashed)]
        rest = [line(n, {"sum": ratios[n], "map": 1.0}) for n in range(30) if n not in (5, 6)]
        session(tmp_path, night, lines + (rest if night == 1 else []))
        found = read(tmp_path, 30)
        assert [place in order(found) for place in (5, 6)] == [night < 3] * 2
        assert [found.told.commits[place].reason for place in (5, 6)] == ["", "crashed by SIGSEGV"]


def test_a_session_that_measured_nothing_decides_nothing(tmp_path: Path) -> None:
    session(tmp_path, 1, [line(n, {"sum": 1.0}) for n in range(5)])
    session(tmp_path, 2, [], reference=3, digest="another")
    found = read(tmp_path, 5)
    assert (found.told.reference, found.told.breaks, found.visits) == (commit_hash(0), (), (1,) * 5)
