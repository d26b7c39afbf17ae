"""Raw files read back: what was found, what a kill left, and what a stranger may have written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fake_sides import FakeClock, FakeSubject, steady
from test_compare_sides import FAKE

import tollbench as toll
from tollbench.cli import main
from tollbench.compare import (
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    before_confirming,
    compare,
    confirm,
    raw_file,
    resolve,
)
from tollbench.compare import stored as stored_module
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.raw_file import RawFile, records_of
from tollbench.compare.stored import RoundRecord, StoredComparison
from tollbench.compare.tracks import Track
from tollbench.compare.verdicts import CountChange
from tollbench.errors import TollError
from tollbench.report.comparisons.comparison_formats import RENDERERS
from tollbench.store.comparison_file import MARK, is_comparison

BENCHMARKS = {
    "equal": (steady(100.0), steady(100.0)),
    "slower": (steady(100.0), steady(104.0)),
    "noisy": (steady(1e6, 0.1), steady(1.05e6, 0.1)),
    "faster": (steady(7.0, 0.02), steady(3.0, 0.02)),
}
SETTINGS = ComparisonSettings(seed=11, budget_s=20.0, total_s=60.0)


def header(**changes: Any) -> dict[str, Any]:
    usual = {
        MARK: 1,
        "kind": "fake",
        "sides": ["old", "new"],
        "level": 0.95,
        "threshold": 0.01,
        "machine": {"cpu": "Any", "cpus": 2},
    }
    return usual | changes


def written(path: Path, subject: FakeSubject, settings: ComparisonSettings = SETTINGS) -> Comparisons:
    """A comparison whose raw file has all but what was found, as a kill leaves it."""
    with RawFile(path, header(sides=list(subject.labels))) as raw:
        return compare(subject, settings, clock=subject.clock, keep=raw)


def answers(found: Comparisons) -> list[tuple[object, ...]]:
    return [
        (item.benchmark, item.b, item.verdict, item.ratio, item.low, item.high, item.launches, item.level)
        for item in found.comparisons
    ]


@pytest.mark.parametrize("rounds", [3, 9, 40, 120, 10**9])
def test_what_a_kill_left_is_judged_as_an_interrupt_would_have_been(tmp_path: Path, rounds: int) -> None:
    """Benchmarks that were done keep their verdicts: a fresh look at values that stopped themselves errs."""
    path = tmp_path / "x.jsonl"
    subject = FakeSubject(FakeClock(), BENCHMARKS, interrupt_after=rounds, together=2)
    found = written(path, subject)
    stored = StoredComparison.read(path)
    assert answers(stored.comparisons) == answers(found)
    assert stored.comparisons.interrupted
    assert all("cut short" in item.reason for item in stored.comparisons.comparisons)


def test_three_sides_of_which_one_fails_and_one_lacks_a_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    three = {name: (*sides, steady(100.0)) for name, sides in BENCHMARKS.items()}
    subject = FakeSubject(
        FakeClock(),
        three,
        labels=("old", "new", "newer"),
        breaks={("noisy", number): "crashed" for number in range(3, 20)},
        missing={"slower": ("newer",)},
    )
    found = written(path, subject)
    stored = StoredComparison.read(path)
    assert answers(stored.comparisons) == answers(found)
    assert stored.comparisons.lacking == found.lacking
    assert {item.verdict for item in stored.comparisons.comparisons if item.b == "newer"} >= {Verdict.FAILED}


@pytest.mark.parametrize("bursts", ["1", "1.5"])
def test_slow_repetitions_that_a_launch_hides_are_told(tmp_path: Path, bursts: str) -> None:
    """A third of them takes half as long again: no quartile moves, and all launches together are slower."""
    _, sides = resolve(
        [
            WrittenSide(f"{FAKE} new only=sum alike=1"),
            WrittenSide(f"{FAKE} new only=sum alike=1 bursts={bursts}"),
        ]
    )
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    path = tmp_path / "x.jsonl"
    with RawFile(path, header(sides=list(subject.labels), kind="google-benchmark")) as raw:
        settings = ComparisonSettings(seed=5, threshold=0.02, budget_s=60.0, most_rounds=40)
        found = compare(subject, settings, keep=raw).comparisons[0]
    assert found.verdict is (Verdict.INCONCLUSIVE if bursts == "1.5" else Verdict.NO_DIFFERENCE), found.reason
    assert found.shapes_differ is (bursts == "1.5")
    assert found.mean_ratio is not None
    assert (found.mean_ratio > 1.05) is (bursts == "1.5")
    stored = StoredComparison.read(path).comparisons.comparisons[0]
    assert (stored.mean_ratio, stored.shapes_differ) == (found.mean_ratio, found.shapes_differ)


def test_what_was_to_be_confirmed_and_was_not_is_inconclusive(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    subject = FakeSubject(FakeClock(), BENCHMARKS)
    with RawFile(path, header(confirm=True)) as raw:
        first = compare(subject, before_confirming(SETTINGS), clock=subject.clock, keep=raw)
    assert {item.verdict for item in first.comparisons} >= {Verdict.SLOWER, Verdict.FASTER}
    found = StoredComparison.read(path).comparisons.comparisons
    assert not {item.verdict for item in found} & {Verdict.SLOWER, Verdict.FASTER}
    assert [item.low for item in found] == [item.low for item in first.comparisons]


@pytest.mark.parametrize("parts", [False, True])
def test_a_kill_while_it_counts_leaves_what_was_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: bool
) -> None:
    path = tmp_path / "x.jsonl"
    subject = FakeSubject(FakeClock(), BENCHMARKS)
    if parts:
        monkeypatch.setattr(raw_file, "MAX_LINE_BYTES", 0)
        monkeypatch.setattr(raw_file, "_PART_BYTES", 0)
    count = CountChange.missing("size", "why").model_dump()
    with RawFile(path, header(confirm=True, fail_on=["bytes>+1"])) as raw:
        first = compare(subject, before_confirming(SETTINGS), clock=subject.clock, keep=raw)
        found = confirm(first, subject, SETTINGS, clock=subject.clock, keep=raw)
        for record in records_of(found.model_dump(mode="json"), "measured"):
            raw(record)
        raw({"counts": {"of": "slower", "b": "new", "found": [count]}})
    assert {item.verdict for item in found.comparisons} >= {Verdict.SLOWER, Verdict.FASTER}
    monkeypatch.undo()
    stored = StoredComparison.read(path).comparisons
    assert stored.interrupted
    assert stored.fail_on == ("bytes>+1",)
    counted = [item for item in stored.comparisons if item.counts]
    assert [item.benchmark for item in counted] == ["slower"]
    assert tuple(item.model_copy(update={"counts": ()}) for item in stored.comparisons) == found.comparisons


def test_values_and_launches(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    subject = FakeSubject(FakeClock(), BENCHMARKS, interrupt_after=20)
    written(path, subject)
    stored = toll.open_comparison(str(path))
    values = stored.values("slower")
    assert values.shape == (sum(item.values.keys() == {"slower"} for item in stored.rounds), 2)
    assert np.median(values[:, 1] / values[:, 0]) == pytest.approx(1.04, abs=0.02)
    assert len(list(stored.launches())) == 20
    assert stored.values("nothing").shape == (0, 2)


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    written(path, FakeSubject(FakeClock(), BENCHMARKS, interrupt_after=30))
    before = StoredComparison.read(path)
    with path.open("ab") as file:
        file.write(b'{"measurement": 1, "round": 31, "val')
    assert StoredComparison.read(path) == before


def round_record(**changes: Any) -> Mapping[str, Any]:
    usual = {"measurement": 1, "round": 1, "values": {"x": [1.0, 2.0]}, "order": {"x": [1, 0]}}
    return usual | changes


SURVEY = {"survey": {"sides_of": {"x": [1]}}}
FOUND: dict[str, Any] = {
    "comparisons": [],
    "kind": "fake",
    "sides": ["old", "new"],
    "level": 0.95,
    "threshold": 0.01,
    "seconds": 1.0,
}
ROW: dict[str, Any] = {
    "benchmark": "x", "a": "old", "b": "new", "ratio": 1.0, "low": 0.9, "high": 1.1, "level": 0.95,
    "verdict": "inconclusive", "launches": 9, "seconds": 1.0, "reason": "", "regression": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([], "ends before anything was measured, or an older toll wrote it"),
        ([{"values": 3}], "line 2 has an impossible measurement"),
        ([round_record(values={"x": [1.0]})], "do not fit 2 sides"),
        ([round_record(order={"x": [0, 7]})], "do not fit 2 sides"),
        ([round_record(order={"x": [1, 1]})], "do not fit 2 sides"),
        ([round_record(order={"x": [1]})], "for a side that was not launched"),
        ([round_record(values={"x": [-1.0, 2.0]})], "line 2 has an impossible values.x.0"),
        ([round_record(values={"x": [True, "2"]}, order=[])], "line 2 has an impossible"),
        ([{"survey": {"sides_of": {"x": [-1]}}}], "line 2 has an impossible sides_of.x.0"),
        ([{"found": {"comparisons": 1}}], "line 2 has an impossible comparisons"),
        (["not an object"], "line 2 is not an object"),
        ([round_record(order={})], "has values of 'x' and no order"),
        ([round_record(values={"x": [1e308, 2.0]})], "line 2 has an impossible values.x.0"),
        ([round_record(values={"x": [5e-324, 2.0]})], "line 2 has an impossible values.x.0"),
        ([round_record(failures={"x": {"1": "\ud800"}})], "line 2 has an impossible failures.x.1"),
        ([SURVEY, round_record(done=["x"]), round_record(round=2)], "goes on with 'x', which was done"),
        ([{"survey": {"sides_of": {"x": [1, 1]}}}], "compares sides of 'x' that are not there"),
        ([{"survey": {"sides_of": {"x": [7]}}}], "compares sides of 'x' that are not there"),
        ([{"found": FOUND | {"sides": []}}], "is of other sides"),
        ([{"found": FOUND | {"threshold": -2.0}}], "is of other sides or another threshold"),
        ([{"found": FOUND | {"machine": "\ud800"}}], "line 2"),
        ([{"found": FOUND | {"comparisons": [ROW | {"level": 0.0}]}}], "holds at a level that is none"),
        ([{"measured": FOUND | {"sides": []}}], "is of other sides"),
        ([{"part": {"sides": ["old"]}, "part_of": "found"}], "line 2 has an impossible part.sides"),
        ([{"part": {"comparisons": []}, "part_of": "x"}], "line 2 has an impossible part_of"),
        ([{"part": {"comparisons": [{}]}, "part_of": "found"}], "line 2 has an impossible 0.benchmark"),
        ([{"part": {"lacking": ["\ud800"]}, "part_of": "found"}], "line 2"),
    ],
)
def test_what_cannot_be_is_a_sentence(tmp_path: Path, records: list[object], words: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in [header(), *records]))
    with pytest.raises(TollError) as raised:
        StoredComparison.read(path)
    assert words in raised.value.what
    assert raised.value.next_step


@pytest.mark.parametrize(
    "changes",
    [
        {"level": 1.5},
        {"level": 1e-300},
        {"level": 0.9999999999999999, "confirm": True},
        {"threshold": math.inf},
        {"threshold": -1.0},
        {"sides": ["one"]},
        {"sides": 3},
        {"sides": ["\ud800", "b"]},
        {MARK: 2},
    ],
)
def test_a_header_that_cannot_be(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(header(**changes)) + "\n")
    with pytest.raises(TollError, match="line 1 has an impossible"):
        StoredComparison.read(path)


@pytest.mark.parametrize("content", [b"", b"\0\0\0\n", b"[" * 100000 + b"\n", b'{"toll_compare":1}\n'])
def test_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(TollError):
        StoredComparison.read(path)
    with pytest.raises(TollError, match="cannot read"):
        StoredComparison.read(tmp_path / "nothing.jsonl")
    assert not is_comparison(tmp_path / "nothing.jsonl")


def test_a_comparison_is_reported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the verb prints it, in each of its formats, whatever the exit code was then."""
    path = tmp_path / "x.jsonl"
    subject = FakeSubject(FakeClock(), BENCHMARKS)
    with RawFile(path, header()) as raw:
        found = compare(subject, SETTINGS, clock=subject.clock, keep=raw)
        raw({"found": found.model_dump(mode="json")})
    assert StoredComparison.read(path).comparisons == found

    def report(*words: str) -> int:
        monkeypatch.setattr("sys.argv", ["toll", "report", str(path), *words])
        return main()

    assert report("--json") == 0
    assert Comparisons.model_validate_json(capsys.readouterr().out) == found
    for form, words in (
        ("terminal", "second side: new"),
        ("markdown", "**toll compare: "),
        ("html", "<!doctype html>"),
        ("junit", "<testsuite"),
    ):
        assert report("--format", form) == 0
        assert words in capsys.readouterr().out, form
        assert report("--format", form, "--output", str(tmp_path / form)) == 0
        assert words in (tmp_path / form).read_text(), form
    assert report("--format", "csv") == 2
    assert "a comparison is not shown as csv" in capsys.readouterr().err


def test_many_benchmarks_and_rounds_are_read_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round is replayed for its own benchmarks alone: else a file of some MB would take an hour."""
    path = tmp_path / "x.jsonl"
    names = [f"b{number}" for number in range(300)]
    with RawFile(path, header()) as raw:
        raw({"survey": {"sides_of": {name: [1] for name in names}}})
        for number, name in enumerate(names):
            raw(round_record(round=number, values={name: [1.0, 2.0]}, order={name: [0, 1]}))
    replayed: list[str] = []
    replay = stored_module._replay

    def counted(track: Track, item: RoundRecord) -> None:
        replayed.append(track.name)
        replay(track, item)

    monkeypatch.setattr(stored_module, "_replay", counted)
    assert len(StoredComparison.read(path).comparisons.comparisons) == 300
    assert replayed == names


@pytest.mark.parametrize("form", ["terminal", "html", "markdown", "junit"])
def test_a_strangers_words_steer_no_terminal_and_break_no_page(tmp_path: Path, form: str) -> None:
    evil = "\x1b]0;evil\x07\u202e<script>"
    texts = dict.fromkeys(("started_utc", "machine", "command_line", "raw", "toll_version"), evil)
    row = {
        "benchmark": evil,
        "a": evil,
        "b": evil,
        "ratio": 1.1,
        "low": 1.05,
        "high": 1.2,
        "level": 0.95,
        "verdict": "slower",
        "launches": 9,
        "seconds": 1.0,
        "reason": evil,
        "regression": True,
    }
    path = tmp_path / "x.jsonl"
    sides = [evil, "new"]
    found = FOUND | texts | {"sides": sides, "comparisons": [row]}
    path.write_text("".join(json.dumps(one) + "\n" for one in [header(sides=sides), {"found": found}]))
    text = RENDERERS[form](StoredComparison.read(path).comparisons)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    if form == "html":
        assert "<script>" not in text
    if form == "junit":
        ElementTree.fromstring(text)
