"""From sessions to lines, changes, breaks and notes; which commits are next; what the forms say."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_histories import MACHINE, commit_hash, line, read, scattered, session

from tollbench.errors import TollError
from tollbench.history.choosing_commits import CommitRun, order_of_measuring
from tollbench.history.histories import Histories
from tollbench.history.history_folder import HistoryFolder
from tollbench.report.histories import history_feed, history_html, history_markdown, history_terminal
from tollbench.report.html import chart_library
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
    assert change.certainty > 0.999
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


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\xfe", b'{"toll_history": 2}\n'])
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
    assert order_of_measuring(20, visits, [CommitRun(5, 6)]) == [4, 5, 6]
    assert order_of_measuring(20, [3] * 20, [CommitRun(5, 6)], {7}) == []
    assert order_of_measuring(0, []) == []


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
    for part in ("title", "summary"):
        assert "<script>alert(1)</script>" in entry.findtext(f"{ATOM}{part}", "")


def test_a_page_does_not_grow_with_the_commits(tmp_path: Path) -> None:
    """Six times the commits, a page of hardly more; tests/bench/history_scale.py has the large figures."""
    sizes = []
    for count in (4_000, 24_000):
        ratios = scattered(count)
        lines = [line(n, {"sum": ratios[n]}) for n in range(count)]
        folder = tmp_path / str(count)
        session(folder, 1, lines)
        sizes.append(len(history_html.render(read(folder, count).told)) - len(chart_library()))
    assert sizes[1] < 1.2 * sizes[0]


def test_nothing_measured_yet(tmp_path: Path) -> None:
    found = read(tmp_path, 3).told
    assert history_terminal.lines(found) == ["Nothing is measured yet.", "none of 3 commits has a value."]
    assert "Nothing is measured yet" in history_html.render(found)
    ET.fromstring(history_feed.render(found))
