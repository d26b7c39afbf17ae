"""--all-pairs: each side against each other one, as one family, from the same rounds."""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from fake_sides import FakeClock, FakeSubject, steady
from rich.console import Console

from tollbench import cli
from tollbench.cli import explainers, machine_use, places
from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Survey,
    Verdict,
    WrittenSide,
    before_confirming,
    compare,
    confirm,
    resolve,
    subject_of,
)
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.adapters.toll_program import Offering, Programs
from tollbench.compare.around import Around
from tollbench.compare.blocks import combined, ratios_after_first
from tollbench.compare.counts import not_timed
from tollbench.compare.orders import with_orders
from tollbench.compare.raw_file import MAX_LINE_BYTES, RawFile, records_of
from tollbench.compare.stored import StoredComparison
from tollbench.compare.subject import Round, Standing, Two
from tollbench.compare.tracks import Track
from tollbench.compare.twos import MOST_ROWS, sides_compared, standings_of, twos_of
from tollbench.compare.verdicts import Order, OrderedSide
from tollbench.errors import TollError
from tollbench.launching.failure import LaunchFailed
from tollbench.report.comparisons.comparison_formats import RENDERERS
from tollbench.report.comparisons.comparison_lines import order_of
from tollbench.report.comparisons.comparison_terminal import show
from tollbench.store.comparison_file import MARK

FAKES = Path(__file__).parent
PROGRAM = str(FAKES / "fake_toll_program.py")
GOOGLE = str(FAKES / "fake_google_benchmark.py")
SCHEMA = json.loads((FAKES.parents[2] / "schemas/compare.schema.json").read_text(encoding="utf-8"))
Benchmark = Callable[[random.Random], float]


def subject_with(*sides: Benchmark, **more: Any) -> FakeSubject:
    labels = tuple("ABCDEFGH"[: len(sides)])
    return FakeSubject(FakeClock(), {"sum": sides}, labels, **more)


def run(subject: FakeSubject, **settings: Any) -> Comparisons:
    wanted: dict[str, Any] = {"seed": 3, "all_pairs": True, **settings}
    return compare(subject, ComparisonSettings(**wanted), clock=subject.clock)


def rows(found: Comparisons) -> dict[tuple[str, str, str], Comparison]:
    return {(item.benchmark, item.a, item.b): item for item in found.comparisons}


def differs(item: Comparison) -> bool:
    return item.verdict in (Verdict.SLOWER, Verdict.FASTER)


def test_every_two_sides_are_a_row_and_the_level_is_that_of_all_rows() -> None:
    sides = (steady(1.0),) * 4
    subject = FakeSubject(FakeClock(), {"x": sides, "y": sides}, tuple("ABCD"))
    found = run(subject)
    assert [(item.a, item.b) for item in found.comparisons] == list(combinations("ABCD", 2)) * 2
    assert [item.level for item in found.comparisons] == pytest.approx([1 - 0.05 / 12] * 12)
    assert found.all_pairs


def alarming(seeds: Sequence[int], **settings: Any) -> int:
    """How many comparisons of four equal sides call any two of them different."""
    count = 0
    for seed in seeds:
        subject = subject_with(*(steady(100.0, 0.03),) * 4, round_s=0.5)
        found = run(subject, seed=seed, budget_s=10.0, **settings)
        assert len(found.comparisons) == 6
        count += any(map(differs, found.comparisons))
    return count


def test_the_level_holds_for_all_pairs_together() -> None:
    assert alarming(range(200)) <= 10


def test_without_the_correction_it_would_not() -> None:
    """Which shows that the simulation sees what it looks for."""
    assert alarming(range(60), corrected=False) > 6


def test_a_difference_between_others_is_found_which_the_first_never_shows() -> None:
    """The first scatters by as much as hides it."""
    for seed in range(5):
        sides = (steady(100.0, 0.3), steady(100.0, 0.002), steady(103.0, 0.002))
        old, new = subject_with(*sides), subject_with(*sides)
        wide = run(old, seed=seed, all_pairs=False, budget_s=15.0)
        assert not any(map(differs, wide.comparisons))
        found = rows(run(new, seed=seed, budget_s=15.0))
        assert found["sum", "B", "C"].verdict is Verdict.SLOWER
        assert found["sum", "B", "C"].ratio == pytest.approx(1.03, abs=0.003)
        assert not differs(found["sum", "A", "B"])


def test_pairs_of_others_are_of_the_same_round() -> None:
    """What the machine does for a round meets all sides alike, and leaves their ratio."""
    machine = [1.0]

    def first(rng: random.Random) -> float:
        machine[0] = math.exp(rng.gauss(0.0, 0.5))
        return 100.0 * machine[0] * rng.gauss(1.0, 0.001)

    def other(ns: float) -> Benchmark:
        return lambda rng: ns * machine[0] * rng.gauss(1.0, 0.001)

    item = rows(run(subject_with(first, other(100.0), other(101.0))))["sum", "B", "C"]
    assert item.low is not None
    assert item.high is not None
    assert item.high / item.low < 1.01
    assert item.verdict is Verdict.SLOWER


def test_it_ends_when_every_pair_is_known() -> None:
    """B and C are known against A at once; which of them is quicker takes longer."""
    sides = (steady(100.0, 0.001), steady(200.0, 0.02), steady(203.0, 0.02))
    short, long = subject_with(*sides), subject_with(*sides)
    run(short, all_pairs=False, until="direction")
    found = run(long, until="direction")
    assert len(long.rounds) > 2 * len(short.rounds)
    assert not any(item.verdict is Verdict.INCONCLUSIVE for item in found.comparisons)


def test_two_sides_are_compared_as_without() -> None:
    usual, asked = (subject_with(steady(100.0), steady(104.0)) for _ in range(2))
    without, found = run(usual, all_pairs=False), run(asked)
    assert found.comparisons == without.comparisons
    assert [line(found) for line in RENDERERS.values() if line is not RENDERERS["json"]] == [
        line(without) for line in RENDERERS.values() if line is not RENDERERS["json"]
    ]


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_side_that_fails_costs_its_own_pairs(broken: int) -> None:
    subject = subject_with(
        steady(1.0), steady(1.5), steady(1.2), breaks={("sum", 5): "crashed"}, breaking=broken
    )
    found = run(subject)
    for item in found.comparisons:
        if "ABC"[broken] in (item.a, item.b):
            assert (item.verdict, item.reason) == (Verdict.FAILED, f"{'ABC'[broken]} crashed")
        else:
            assert differs(item)
    assert not found.orders  # of two sides the row says it


def test_what_the_first_side_lacks_is_compared_among_the_others() -> None:
    sides = (steady(1.0), steady(1.5), steady(1.0))
    subject = FakeSubject(
        FakeClock(),
        {"all": sides, "two": sides},
        ("a", "b", "c"),
        missing={"two": ("a",), "one": ("a", "b")},
    )
    found = run(subject)
    assert [(item.benchmark, item.a, item.b) for item in found.comparisons] == [
        ("all", "a", "b"), ("all", "a", "c"), ("all", "b", "c"), ("two", "b", "c"),
    ]  # fmt: skip
    assert found.comparisons[-1].verdict is Verdict.FASTER


def test_what_the_first_side_lacks_is_not_in_its_survey_and_yet_compared() -> None:
    survey = Survey(("all",), {"two": ("a",), "one": ("a", "b"), "lone": ("b", "c")})
    assert sides_compared(survey, ("a", "b", "c"), all_pairs=True) == {"all": [0, 1, 2], "two": [1, 2]}
    assert sides_compared(survey, ("a", "b", "c"), all_pairs=False) == {"all": [1, 2]}
    assert sides_compared(survey, ("a", "b", "c"), all_pairs=True, only=["two"]) == {"two": [1, 2]}


def test_a_table_that_nobody_can_read_is_refused() -> None:
    names = tuple(map(str, range(MOST_ROWS // 3 + 1)))
    with pytest.raises(LaunchFailed, match="choose some with --filter"):
        sides_compared(Survey(names), ("a", "b", "c"), all_pairs=True)
    assert len(sides_compared(Survey(names), ("a", "b", "c"), all_pairs=False)) == len(names)


def test_sides_that_cannot_be_asked_are_rows() -> None:
    subject = subject_with(*(steady(1.0),) * 3, unusable="./b crashed")
    for found in (
        run(subject),
        not_timed(subject, ComparisonSettings(all_pairs=True), lambda _record: None),
    ):
        assert [(item.a, item.b) for item in found.comparisons] == list(combinations("ABC", 2))
        assert {item.reason for item in found.comparisons} == {"./b crashed"}


def test_a_side_that_could_not_be_asked_costs_its_own_pairs(tmp_path: Path) -> None:
    subject = subject_with(
        *(steady(1.0), steady(1.5), steady(1.2), steady(1.0)), not_asked={0: "A is gone", 3: "D is gone"}
    )
    with RawFile(tmp_path / "x.jsonl", header(sides=list("ABCD"))) as raw:
        found = compare(subject, ComparisonSettings(seed=3, all_pairs=True), clock=subject.clock, keep=raw)
    told = {(item.benchmark, item.a, item.b): item.reason for item in found.comparisons if item.ratio is None}
    assert told == {
        ("*", "A", "B"): "A is gone",
        ("*", "A", "C"): "A is gone",
        ("*", "A", "D"): "A is gone",
        ("*", "B", "D"): "D is gone",
        ("*", "C", "D"): "D is gone",
    }
    assert differs(rows(found)["sum", "B", "C"])
    assert rows(found)["sum", "B", "C"].level == pytest.approx(0.95)
    stored = StoredComparison.read(tmp_path / "x.jsonl").comparisons
    assert [(item.a, item.b, item.verdict, item.level) for item in stored.comparisons] == [
        (item.a, item.b, item.verdict, item.level) for item in found.comparisons
    ]
    counted = not_timed(subject, ComparisonSettings(all_pairs=True), lambda _record: None)
    assert [item.verdict for item in counted.comparisons] == [Verdict.COUNTED, *[Verdict.FAILED] * 5]


def test_no_code_is_looked_at_of_a_side_that_could_not_be_asked() -> None:
    subject = subject_with(*(steady(1.0), steady(1.5), steady(1.2)), not_asked={0: "A is gone"})
    assert explainers._to_look_at(run(subject), subject) == {"sum": [Two(1, 2)]}


def test_notes_are_of_the_two_sides_of_a_row() -> None:
    sides = (steady(1.0),) * 3
    subject = FakeSubject(FakeClock(), {"noted": sides}, tuple("ABC"))
    told = [item.reason.rpartition("; ")[2] for item in run(subject).comparisons]
    assert told == ["noted was noted of B", "noted was noted of C", "noted was noted of C against B"]
    counted = not_timed(subject, ComparisonSettings(all_pairs=True), lambda _record: None)
    assert [item.reason.rpartition("; ")[2] for item in counted.comparisons] == told


def test_what_differs_is_confirmed_of_any_two_sides() -> None:
    subject = subject_with(steady(100.0), steady(100.0), steady(103.0))
    settings = ComparisonSettings(seed=5, all_pairs=True)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    assert {key for key, item in rows(first).items() if differs(item)} == {
        ("sum", "A", "C"), ("sum", "B", "C"),
    }  # fmt: skip
    again = rows(confirm(first, subject, settings, clock=subject.clock))
    assert again["sum", "B", "C"].reason.endswith("confirmed by a second measurement")
    assert again["sum", "B", "C"].launches > rows(first)["sum", "B", "C"].launches
    assert again["sum", "A", "B"] == rows(first)["sum", "A", "B"]
    assert again["sum", "B", "C"].level == pytest.approx(1 - 0.025 / 3)


def test_of_two_sides_with_a_common_code_as_the_first_has_it_nothing_is_timed() -> None:
    """What is unchanged against the first is unchanged against each other; of two changes nothing follows."""
    same, other = Standing(True, "the same code"), Standing(False, "changed: f (other)")

    def look(sides_of: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], Standing]:
        assert all(0 not in sides for sides in sides_of.values())
        known = (None, same, same, other, other)
        return {
            (name, side): standing
            for name, sides in sides_of.items()
            for side in sides
            if (standing := known[side]) is not None
        }

    wanted = twos_of({"sum": range(5), "late": [1, 2]}, all_pairs=True)
    found = standings_of(wanted, tuple("ABCDE"), look)
    assert found["sum", Two(1, 2)] == same
    assert found["sum", Two(1, 3)] == found["sum", Two(2, 4)] == other
    assert found["sum", Two(3, 4)] == Standing(False, "the code was not compared: only that of A was")
    assert ("late", Two(1, 2)) not in found
    assert standings_of(wanted, tuple("ABCDE"), None) == {}
    subject = subject_with(*(steady(1.0),) * 5)
    settings = ComparisonSettings(all_pairs=True, budget_s=2.0)
    kept: list[Any] = []
    timed = compare(subject, settings, clock=subject.clock, look_at_code=look, keep=kept.append)
    untimed = {(item.a, item.b) for item in timed.comparisons if item.verdict is Verdict.UNCHANGED_CODE}
    assert untimed == {("A", "B"), ("A", "C"), ("B", "C")}
    assert len(timed.comparisons) == 10
    assert timed.comparisons[0].level == pytest.approx(1 - 0.05 / 7)
    code = kept[0]["survey"]["code"]
    assert {"benchmark": "sum", "side": 2, "against": 1, "unchanged": True, "timed": False}.items() <= next(
        each for each in code if each["side"] == 2 and each.get("against") == 1
    ).items()


# Programs that live together


def test_the_ratio_of_two_others_is_that_of_their_own_blocks() -> None:
    """The first scatters by 30 % from block to block, the others follow each other to a thousandth."""
    rng = np.random.default_rng(4)
    own, by_the_first = [], []
    for _ in range(100):
        machine = rng.uniform(1.0, 2.0, 41)
        sides = [np.exp(rng.normal(0, 0.3, 41)), machine, 1.02 * machine * rng.normal(1, 0.001, 41)]
        blocks = 100.0 * np.stack(sides, axis=1)
        places = np.array([rng.permutation(3) for _ in range(41)])
        ratios = ratios_after_first(blocks, places)
        assert ratios.keys() == {(1, 2)}
        swapped = ratios_after_first(blocks[:, [0, 2, 1]], places[:, [0, 2, 1]])
        assert swapped[1, 2] == pytest.approx(1.0 / ratios[1, 2])
        values = combined(blocks, places)
        own.append(ratios[1, 2])
        by_the_first.append(values[2] / values[1])
    assert np.mean(own) == pytest.approx(1.02, abs=1e-4)
    assert np.std(by_the_first) > 2.0 * np.std(own)


def test_swapped_sides_have_swapped_values_whatever_blocks_told() -> None:
    track, mirrored = Track("x", {}), Track("x", {})
    for _ in range(3):
        track.take([5.0, 100.0, 104.0], [0, 1, 2], None, {Two(1, 2): 1.02})
        mirrored.take([5.0, 104.0, 100.0], [0, 2, 1], None, {Two(1, 2): 1.0 / 1.02})
    number, b, c = next(iter(track._rounds(Two(1, 2))))
    assert number == 0
    assert c / b == pytest.approx(1.02)
    assert b * c == pytest.approx(100.0 * 104.0)
    _, one, other = next(iter(mirrored._rounds(Two(1, 2))))
    assert one == pytest.approx(c)
    assert other == pytest.approx(b)
    assert [next(iter(track._rounds(Two(0, side))))[1:] for side in (1, 2)] == [(5.0, 100.0), (5.0, 104.0)]


def programs(*words: str, **settings: Any) -> Comparisons:
    kind, sides = resolve([WrittenSide(f"{PROGRAM} {each}".strip()) for each in words])
    options = MeasuringOptions(20.0, pattern="one", all_pairs=True)
    wanted = ComparisonSettings(all_pairs=True, **{"seed": 5, "most_rounds": 12, **settings})
    return compare(subject_of(kind, sides, options), wanted)


def test_programs_that_live_together() -> None:
    found = programs("slow=1.1", "", "slow=1.05")
    assert [item.verdict for item in found.comparisons] == [Verdict.FASTER, Verdict.FASTER, Verdict.SLOWER]
    assert found.comparisons[2].ratio == pytest.approx(1.05, abs=0.01)
    (order,) = found.orders
    assert [place.side for place in order.places] == [PROGRAM, f"{PROGRAM} slow=1.05", f"{PROGRAM} slow=1.1"]


def test_a_round_of_programs_has_the_ratios_of_all_that_the_first_is_not_in() -> None:
    kind, sides = resolve(
        [WrittenSide(PROGRAM), *(WrittenSide(f"{PROGRAM} only=two{more}") for more in ("", ",x"))]
    )
    for all_pairs in (True, False):
        subject = subject_of(kind, sides, MeasuringOptions(20.0, all_pairs=all_pairs))
        assert subject.survey().common == ("test/fake/two",)
        found = subject.round(["test/fake/two"], 7)
        assert found.failures == {}
        assert {name: list(each) for name, each in found.ratios.items()} == (
            {"test/fake/two": [Two(1, 2)]} if all_pairs else {}
        )
        values = found.values["test/fake/two"]
        for ratio in found.ratios.get("test/fake/two", {}).values():
            assert ratio == pytest.approx(values[2] / values[1], rel=0.05)


@pytest.mark.parametrize("broken", [0, 1])
def test_a_program_that_crashes_leaves_the_others(broken: int) -> None:
    words = ["", "slow=1.05", "slow=1.1"]
    words[broken] = "fault=crash"
    found = programs(*words)
    verdicts = {(item.a, item.b): item.verdict for item in found.comparisons}
    left = [f"{PROGRAM} {each}".strip() for each in words if "fault" not in each]
    assert verdicts.pop((left[0], left[1])) is Verdict.SLOWER
    assert set(verdicts.values()) == {Verdict.FAILED}


@pytest.mark.parametrize("word", ["no_describe", "only=two"])
def test_a_program_that_cannot_say_what_it_offers_leaves_the_others(word: str) -> None:
    found = programs(word, "", "slow=1.05")
    left, *broken = found.comparisons
    assert (left.a, left.b, left.verdict) == (PROGRAM, f"{PROGRAM} slow=1.05", Verdict.SLOWER)
    assert [(item.benchmark, item.verdict) for item in broken] == [("*", Verdict.FAILED)] * 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("answer=8", "", "slow=1.05"), {0}),
        (("", "units=2", "slow=1.05"), {1}),
        (("", "answer=8", "answer=8 slow=1.05", "slow=1.05"), {1, 2}),  # as many: whoever was named first
    ],
)
def test_a_wrong_answer_costs_the_pairs_of_those_who_give_it(
    words: Sequence[str], wrong: set[int], seed: int
) -> None:
    """Whoever is drawn first."""
    found = programs(*words, seed=seed, most_rounds=4)
    labels = [f"{PROGRAM} {each}".strip() for each in words]
    for item in found.comparisons:
        broken = bool(wrong & {labels.index(item.a), labels.index(item.b)})
        assert (item.verdict is Verdict.FAILED) == broken, item.reason


def test_footings_are_told_of_the_two_sides_of_a_row() -> None:
    notes = {("x", "a"): "c has two threads (a: one)", ("x", "b"): "c has two threads (b: four)"}
    subject = Programs(
        [Offering("a", {}), Offering("b", {}), Offering("c", {}, notes=notes)], MeasuringOptions(1.0)
    )
    assert subject.notes("x", 2) == ["c has two threads (a: one)"]
    assert subject.notes("x", 2, 1) == ["c has two threads (b: four)"]
    assert not subject.notes("x", 1, 0)


# Executables that are launched one after another


def google(*words: str, pattern: str = "sum", **settings: Any) -> Comparisons:
    kind, sides = resolve([WrittenSide(f"{GOOGLE} new {each}".strip()) for each in words])
    options = MeasuringOptions(20.0, pattern=pattern, all_pairs=True)
    wanted = ComparisonSettings(seed=5, all_pairs=True, **{"most_rounds": 12, **settings})
    return compare(subject_of(kind, sides, options), wanted)


@pytest.mark.parametrize("word", ["crash=sum", "error=sum", "silent", "nan=sum"])
def test_a_first_executable_that_fails_leaves_the_others(word: str) -> None:
    found = google(word, "", "slow=2")
    assert [item.verdict for item in found.comparisons] == [Verdict.FAILED, Verdict.FAILED, Verdict.SLOWER]
    assert found.comparisons[2].ratio == pytest.approx(2.0, abs=0.3)
    assert all(item.reason.startswith(f"{GOOGLE} new {word} ") for item in found.comparisons[:2])


@pytest.mark.parametrize(("word", "reason"), [("list_code=3", "does not list"), ("only=gone", "offers no")])
def test_an_executable_that_cannot_say_what_it_offers_leaves_the_others(word: str, reason: str) -> None:
    found = google(word, "", "slow=2")
    left, *broken = found.comparisons
    assert (left.benchmark, left.verdict) == ("sum", Verdict.SLOWER)
    assert [(item.benchmark, item.verdict) for item in broken] == [("*", Verdict.FAILED)] * 2
    assert all(f"{GOOGLE} new {word} {reason}" in item.reason for item in broken)
    alone = google(word, "")
    assert [(item.benchmark, item.verdict) for item in alone.comparisons] == [("*", Verdict.FAILED)]


def test_a_benchmark_that_the_first_executable_lacks() -> None:
    found = google("only=str/1", "only=sum", "only=sum slow=2", pattern="", until="direction")
    assert [(item.benchmark, item.verdict) for item in found.comparisons] == [("sum", Verdict.SLOWER)]


@pytest.mark.parametrize("first", ["unusable", "list_code=3"])
def test_all_usable_sides_do_as_many_iterations_whoever_cannot_be_asked(first: str) -> None:
    """A first side without an answer to --help said that nobody takes a number of iterations."""
    written = [
        WrittenSide(f"{GOOGLE} old list_code=3"),
        *(WrittenSide(f"{GOOGLE} new {each}") for each in "xy"),
    ]
    if first == "unusable":
        written[0] = WrittenSide("gone", unusable="gone was not built")
    for each in (written, [*written[1:], written[0]]):
        kind, sides = resolve(each)
        subject = subject_of(kind, sides, MeasuringOptions(20.0, pattern="sum", all_pairs=True))
        subject.survey()
        assert isinstance(subject, GoogleBenchmark)
        assert subject._counts_iterations


def around_an_unbuilt_side(tmp_path: Path, around: Around) -> Comparisons:
    """Of two sides that run in the folder `built`, and a first one that does not."""
    (tmp_path / "built").mkdir()
    (tmp_path / "first").mkdir()
    kind, sides = resolve(
        [
            WrittenSide("x", folder=tmp_path / "first", unusable="x was not built"),
            *(WrittenSide(each, folder=tmp_path / "built") for each in ("sleep 0.002", "sleep 0.003")),
        ]
    )
    assert sides[0].folder == tmp_path / "first"
    subject = subject_of(kind, sides, MeasuringOptions(20.0, around=around, all_pairs=True))
    found = compare(subject, ComparisonSettings(seed=5, all_pairs=True, most_rounds=3))
    assert isinstance(subject, OneAfterAnother)
    subject.clean_up()
    return found


def test_a_common_command_runs_where_the_first_usable_side_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never in the folder in which toll was called: `--setup 'git clean -fdx'` is for a checkout."""
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    around_an_unbuilt_side(tmp_path, Around(setup=("touch set_up",), cleanup=("touch cleaned_up",)))
    assert sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.glob("*/*")) == [
        "built/cleaned_up", "built/set_up",
    ]  # fmt: skip


def test_a_command_of_an_unusable_side_is_not_run(tmp_path: Path) -> None:
    commands = ("exit 3", "touch b", "touch c")
    found = around_an_unbuilt_side(tmp_path, Around(setup=commands, cleanup=commands))
    assert [(item.benchmark, item.launches) for item in found.comparisons] == [
        ("command", 3), ("*", 0), ("*", 0),
    ]  # fmt: skip
    assert sorted(file.name for file in (tmp_path / "built").iterdir()) == ["b", "c"]


# Raw files


def header(**changes: Any) -> dict[str, Any]:
    usual = {
        MARK: 1, "kind": "fake", "sides": ["A", "B", "C"], "all_pairs": True, "level": 0.95,
        "threshold": 0.01,
    }  # fmt: skip
    return usual | changes


class WithRatios(FakeSubject):
    """Whose blocks tell more of two sides than their values do."""

    def round(self, names: Sequence[str], seed: int) -> Round:
        found = super().round(names, seed)
        rng = random.Random(f"ratio/{seed}")
        found.ratios = {name: {Two(1, 2): 1.02 * rng.gauss(1.0, 0.001)} for name in found.values}
        return found


@pytest.mark.parametrize("kind", [FakeSubject, WithRatios])
@pytest.mark.parametrize("rounds", [3, 9, 40, 10**9])
def test_what_a_kill_left_is_judged_as_an_interrupt_would_have_been(
    tmp_path: Path, rounds: int, kind: type[FakeSubject]
) -> None:
    path = tmp_path / "x.jsonl"
    sides = (steady(100.0), steady(104.0, 0.05), steady(104.0, 0.02))
    subject = kind(
        FakeClock(),
        {"one": sides, "two": sides, "bad": sides},
        tuple("ABC"),
        interrupt_after=rounds,
        together=2,
        missing={"two": ("A",)},
        breaks={("bad", number): "crashed" for number in range(4, 99)},
        breaking=0,
    )
    settings = ComparisonSettings(seed=11, budget_s=20.0, total_s=60.0, all_pairs=True)
    with RawFile(path, header()) as raw:
        found = compare(subject, settings, clock=subject.clock, keep=raw)
    stored = StoredComparison.read(path).comparisons

    def answers(of: Comparisons) -> list[tuple[object, ...]]:
        return [
            (item.benchmark, item.a, item.b, item.verdict, item.ratio, item.low, item.high, item.level)
            for item in of.comparisons
        ]

    assert answers(stored) == answers(found)
    assert len(found.comparisons) == 7
    assert stored.all_pairs
    assert stored.orders == found.orders
    if kind is WithRatios and rounds > 40:
        assert rows(stored)["one", "B", "C"].ratio == pytest.approx(1.02, abs=0.001)


def test_the_longest_table_can_be_read_back(tmp_path: Path) -> None:
    """Also where names and reasons are as long as those of some C++ programs."""
    found = run(subject_with(steady(100.0), steady(100.0), steady(104.0)))
    code = f"changed: {'std::map<std::string, int>::find(key) ' * 12}"
    rows = [
        item.model_copy(update={"benchmark": f"BM_{number}", "code": code})
        for number in range(MOST_ROWS // len(found.comparisons))
        for item in found.comparisons
    ]
    found = with_orders(found.model_copy(update={"comparisons": tuple(rows)}))
    path = tmp_path / "x.jsonl"
    with RawFile(path, header()) as raw:
        for record in records_of(found.model_dump(mode="json"), "found"):
            raw(record)
    lines = path.read_bytes().splitlines()
    assert sum(map(len, lines)) > MAX_LINE_BYTES > 4 * max(map(len, lines))
    assert StoredComparison.read(path).comparisons == found


MANY = {str(number): [0, 1, 2] for number in range(MOST_ROWS // 3 + 1)}


def round_record(**changes: Any) -> dict[str, Any]:
    usual = {
        "measurement": 1, "round": 1, "values": {"x": [1.0, 2.0, None]}, "order": {"x": [1, 0]},
    }  # fmt: skip
    return usual | changes


FULL_ROUND = round_record(values={"x": [1.0, 2.0, 3.0]}, order={"x": [1, 0, 2]})
CODE = {"benchmark": "x", "side": 1, "against": 0, "unchanged": True, "timed": False, "told": ""}


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([header(all_pairs=False), {"survey": {"sides_of": {"x": [0, 1]}}}], "that are not there"),
        ([header(), {"survey": {"sides_of": {"x": [0, 3]}}}], "that are not there"),
        ([header(sides=[str(number) for number in range(41)])], "has all pairs of 41 sides"),
        ([header(all_pairs="perhaps")], "line 1 has an impossible all_pairs"),
        (
            [header(), {"survey": {"sides_of": MANY}}],
            "compares more than 20,000 pairs of sides",
        ),
        ([header(), {"survey": {"sides_of": {}, "unusable": {"3": "gone"}}}], "could not be asked"),
        ([header(), round_record(ratios={"x": [[1, 2, 1.5]]})], "has a ratio of 'x' for sides"),
        ([header(), round_record(ratios={"x": [[1, 0, 1.5]]})], "has a ratio of 'x' for sides"),
        ([header(all_pairs=False), round_record(ratios={"x": [[0, 1, 1.5]]})], "has more ratios of 'x' than"),
        ([header(), round_record(ratios={"x": [[0, 1, 1.5]] * 2})], "has more ratios of 'x' than pairs"),
        ([header(), FULL_ROUND | {"ratios": {"x": [[0, 1, 1.5]] * 2}}], "has two ratios of 'x' for the same"),
        ([header(), FULL_ROUND | {"means": {"x": [1.0]}}], "has means of 'x' that do not fit its values"),
        ([header(), FULL_ROUND | {"means": {"y": [1.0]}}], "has means of 'y' that do not fit its values"),
        ([header(), round_record(ratios={"y": [[0, 1, 1.5]]})], "has more ratios of 'y' than pairs"),
        ([header(), {"survey": {"sides_of": {"x": [0, 1]}, "code": [CODE] * 2}}], "the same sides twice"),
        ([header(), round_record(ratios={"x": [[0, 1, -1.0]]})], "line 2 has an impossible ratios.x.0.2"),
        ([header(), round_record(ratios={"x": [[0, 1, 1e300]]})], "line 2 has an impossible ratios.x.0.2"),
        (
            [
                header(),
                {"survey": {"sides_of": {"x": [0, 1, 2]}, "code": [
                    {"benchmark": "x", "side": 1, "against": 2, "unchanged": True, "timed": False, "told": ""}
                ]}},
            ],
            "knows code of 'x' on a side that is not there",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_sentence(tmp_path: Path, records: list[object], words: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(TollError) as raised:
        StoredComparison.read(path)
    assert words in raised.value.what


def test_the_orders_of_a_strangers_file_are_made_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with RawFile(path, header()) as raw:
        found = run(subject_with(steady(1.0), steady(1.5), steady(1.2)))
        forged = [OrderedSide(side=side, ns=1.0, groups=("\x1b]0;owned\a", side)) for side in "ABC"]
        lies = found.model_copy(update={"orders": (Order(benchmark="sum", places=tuple(forged)),)})
        raw({"found": lies.model_dump(mode="json")})
    assert StoredComparison.read(path).comparisons.orders == found.orders
    assert found.orders
    shared = (forged[0], *(each.model_copy(update={"groups": ("\x1b]0;owned\a",)}) for each in forged[1:]))
    assert "\x1b" not in order_of(Order(benchmark="sum", places=shared))


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"all_pairs": False}, "line 2 is of all pairs"), ({"sides": ["A", "B", "X"]}, "line 2 has a row of")],
)
def test_a_last_line_of_another_comparison_is_refused(
    tmp_path: Path, changes: Mapping[str, Any], words: str
) -> None:
    path = tmp_path / "x.jsonl"
    found = run(subject_with(steady(1.0), steady(1.5), steady(1.2)))
    written = json.loads(found.model_dump_json())
    written["sides"] = changes.get("sides", written["sides"])
    path.write_text(json.dumps(header(**changes)) + "\n" + json.dumps({"found": written}) + "\n")
    with pytest.raises(TollError) as raised:
        StoredComparison.read(path)
    assert words in raised.value.what


# What is told


def made(*verdicts: tuple[str, str, Verdict, float], **more: Any) -> Comparisons:
    """Of the sides in their order, with the ratio of each two."""
    sides = tuple(sorted({side for a, b, _, _ in verdicts for side in (a, b)}))
    items = tuple(
        Comparison(
            benchmark="sort",
            a=a,
            b=b,
            ratio=ratio,
            low=ratio * 0.99,
            high=ratio * 1.01,
            level=0.99,
            verdict=verdict,
            launches=30,
            seconds=1.0,
            reason=f"reason of {b} to {a}",
            regression=verdict is Verdict.SLOWER,
            a_ns=1000.0 + 100.0 * sides.index(a),
            b_ns=1000.0 + 100.0 * sides.index(b),
        )
        for a, b, verdict, ratio in verdicts
    )
    values: dict[str, Any] = {
        "comparisons": items, "kind": "command", "sides": sides, "all_pairs": True,
        "level": 0.95, "threshold": 0.01, "seconds": 9.0,
    }  # fmt: skip
    return with_orders(Comparisons(**values | more))


SLOWER, FASTER, SAME, OPEN = (
    Verdict.SLOWER, Verdict.FASTER, Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE,
)  # fmt: skip
THREE = made(("map", "set", FASTER, 0.8), ("map", "tree", SLOWER, 1.2), ("set", "tree", SLOWER, 1.5))


def test_sides_have_an_order_that_follows_from_the_verdicts() -> None:
    (order,) = THREE.orders
    assert order_of(order) == "fastest first: set 1.100 µs, map 1.000 µs, tree 1.200 µs"
    (order,) = made(("a", "b", OPEN, 1.0), ("a", "c", SLOWER, 1.2), ("b", "c", SAME, 1.0)).orders
    assert order_of(order) == (
        "fastest first: a 1.000 µs (a), b 1.100 µs (a b), c 1.200 µs (b);"
        " who shares a letter is not told apart"
    )
    (order,) = made(("a", "b", OPEN, 1.0), ("a", "c", SAME, 1.2), ("b", "c", SAME, 1.0)).orders
    assert order_of(order) == "not told apart: a 1.000 µs, b 1.100 µs, c 1.200 µs"


def test_of_sides_that_were_never_launched_no_order_is_told() -> None:
    found = made(*((a, b, OPEN, 1.0) for a, b in combinations("abc", 2)))
    never = {"ratio": None, "low": None, "high": None, "launches": 0, "a_ns": None, "b_ns": None}
    rows = tuple(item.model_copy(update=never) for item in found.comparisons)
    assert found.orders
    assert not with_orders(found.model_copy(update={"comparisons": rows, "orders": ()})).orders
    same = tuple(item.model_copy(update={"verdict": Verdict.UNCHANGED_CODE}) for item in rows)
    assert with_orders(found.model_copy(update={"comparisons": same, "orders": ()})).orders


@pytest.mark.parametrize(
    "found",
    [
        made(("a", "b", SLOWER, 1.1), ("b", "c", SLOWER, 1.1), ("a", "c", FASTER, 0.9)),  # in a circle
        made(("a", "b", SLOWER, 1.1), ("b", "c", SLOWER, 1.1), ("a", "c", Verdict.FAILED, 0.9)),
        made(("a", "b", SLOWER, 1.1)),
        made(("a", "b", SLOWER, 1.1), ("a", "c", SLOWER, 1.1), ("b", "c", OPEN, 1.0), all_pairs=False),
    ],
)
def test_where_no_order_follows_none_is_told(found: Comparisons) -> None:
    assert not found.orders


def as_terminal(found: Comparisons, width: int) -> str:
    text = StringIO()
    show(found, Console(file=text, width=width))
    return text.getvalue()


def test_every_format_names_both_sides_of_a_row() -> None:
    both = ["set against map", "tree against map", "tree against set"]
    order = order_of(THREE.orders[0])
    for name, render in RENDERERS.items():
        text = render(THREE)
        if name == "json":
            found = json.loads(text)
            jsonschema.validate(found, SCHEMA)
            assert [(item["a"], item["b"]) for item in found["comparisons"]] == [
                ("map", "set"), ("map", "tree"), ("set", "tree"),
            ]  # fmt: skip
            assert [place["side"] for place in found["orders"][0]["places"]] == ["set", "map", "tree"]
            continue
        assert all(each in text for each in both), name
        assert "against map;" not in text, name
        if name != "junit":
            assert order in text, name
            assert "first side" not in text, name
    cases = ElementTree.fromstring(RENDERERS["junit"](THREE)).iter("testcase")
    assert [case.get("classname") for case in cases] == [both[1], both[2], both[0]]
    assert "map, set, tree are compared with each other" in RENDERERS["markdown"](THREE)


@pytest.mark.parametrize("width", [80, 140])
def test_fifteen_pairs_stay_readable(width: int) -> None:
    sides = [f"std::container_{number}" for number in range(6)]
    found = made(*((a, b, SLOWER, 1.1) for a, b in combinations(sides, 2)))
    text = as_terminal(found, width)
    assert max(map(len, text.splitlines()[:40])) <= width
    for a, b in combinations(sides, 2):
        assert f"{b} against {a}: reason of {b} to {a}" in " ".join(text.split())
    assert [f"side {number + 1}: {side}" in text for number, side in enumerate(sides)] == [True] * 6
    assert ("other side" in text) == (width == 140)  # times are in the order, where columns are few
    assert re.search(r"fastest first: std::container_0 1\.000 µs, std::container_1", " ".join(text.split()))
    assert text.count("REGRESSION") == 15


# The whole way


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs `toll`, in an empty folder, without the machine's lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setattr(places, "RUNS", tmp_path / "runs")

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["toll", *words])
        return cli.main()

    return run


def test_command_lines_from_measuring_to_a_report(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    sides = ["sleep 0.06", "sleep 0.003", "sleep 0.02"]
    files = ["--html", "x.html", "--markdown", "x.md", "--junit", "x.xml", "--raw", "x.jsonl"]
    often = ["--until", "direction", "--budget", "30s", "--threshold", "0.3"]
    assert toll("compare", *sides, "--all-pairs", "--json", *often, *files) == 1
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert found["all_pairs"] is True
    assert [(item["a"], item["b"], item["verdict"]) for item in found["comparisons"]] == [
        (sides[0], sides[1], "faster"), (sides[0], sides[2], "faster"), (sides[1], sides[2], "slower"),
    ]  # fmt: skip
    assert [place["side"] for place in found["orders"][0]["places"]] == [sides[1], sides[2], sides[0]]
    first, survey = map(json.loads, Path("x.jsonl").read_text().splitlines()[:2])
    assert first["all_pairs"] is True
    assert survey["survey"]["sides_of"] == {"command": [0, 1, 2]}
    for form in ("html", "md", "xml"):
        assert "sleep 0.02 against sleep 0.003" in Path(f"x.{form}").read_text()
    assert toll("report", "x.jsonl") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "sleep 0.02 against sleep 0.003: slower by" in told
    assert "fastest first: sleep 0.003" in told
    lines = Path("x.jsonl").read_text().splitlines(keepends=True)
    Path("cut.jsonl").write_text("".join(lines[:-1]))
    assert toll("report", "cut.jsonl", "--json") == 0
    cut = json.loads(capsys.readouterr().out)
    assert [item["verdict"] for item in cut["comparisons"]] == ["faster", "faster", "slower"]
    assert cut["orders"] == found["orders"]


def test_sizes_of_any_two_files(toll: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["/bin/true", "/bin/cat", "/bin/ls", "--kind", "command", "--any-exit-code"]
    assert toll("compare", *words, "--all-pairs", "--count", "size", "--count-only", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert [(file["a"], file["b"]) for file in found["files"]] == list(combinations(words[:3], 2))
    assert found["files"][2]["count"]["a"] == found["files"][0]["count"]["b"]
    assert toll("compare", *words, "--all-pairs", "--count", "size", "--count-only") == 0
    assert "/bin/ls against /bin/cat" in " ".join(capsys.readouterr().out.split())


def test_a_last_side_without_counts_leaves_a_baseline_as_it_was(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    counting = ["--count", "size", "--count-only", "--save-baseline", "kept.json"]
    words = ["--kind", "command", "--any-exit-code", "--all-pairs", *counting]
    toll("compare", "/bin/true", "/bin/cat", "/bin/ls", *words)
    good = Path("kept.json").read_text()
    assert json.loads(good)["parts"]
    Path("script").write_text("#!/bin/sh\nexit 0\n")
    Path("script").chmod(0o755)
    capsys.readouterr()
    toll("compare", "/bin/true", "/bin/cat", "./script", *words, "--force")
    assert "No baseline was written to kept.json: nothing was counted of" in " ".join(
        capsys.readouterr().out.split()
    )
    assert Path("kept.json").read_text() == good


def test_more_sides_than_anybody_reads_are_refused(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert toll("compare", *(f"true {number}" for number in range(41)), "--all-pairs") == 2
    told = capsys.readouterr().err
    assert "--all-pairs of 41 sides are 820 comparisons of each benchmark" in told
    assert "next: name 40 sides at most" in told
