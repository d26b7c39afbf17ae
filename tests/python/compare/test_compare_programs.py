"""toll programs that live at the same time and take turns."""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters import toll_program
from tollbench.compare.adapters.toll_program import Offering, Programs
from tollbench.compare.blocks import combined, forced, undisturbed
from tollbench.compare.launch_lengths import FIRST_PAIRS, SHORT_BLOCKS
from tollbench.compare.subject import Round, Until
from tollbench.launching.calibrating import (
    BATCH_NS,
    BLOCKS,
    LONG_BATCH_NS,
    LONG_BLOCKS,
    SETTLING_BLOCKS,
    settling_blocks,
)
from tollbench.launching.child import Limits
from tollbench.launching.command import working_folder
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.environment import counter_hz_of, own_environment
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom
from tollbench.launching.halting import Halter
from tollbench.launching.messages import Ready
from tollbench.launching.process import Process
from tollbench.launching.protocol import Timed, Unread
from tollbench.launching.turns import Turns, orders_of
from tollbench.measure import Interrupt, ProcessLauncher
from tollbench.words import Batch, Kind

FAKE = str(Path(__file__).with_name("fake_toll_program.py"))
JEMALLOC = "/not/there/libjemalloc.so.2"  # which the dynamic linker says, and goes on


def compared(*texts: str, most_rounds: int = 20, **settings: Any) -> Comparisons:
    kind, sides = resolve([WrittenSide(text) for text in texts])
    assert kind == "toll"
    subject = subject_of(kind, sides, MeasuringOptions(20.0, pattern=settings.pop("pattern", "one")))
    return compare(subject, ComparisonSettings(seed=5, most_rounds=most_rounds, **settings))


def only(found: Comparisons) -> Comparison:
    assert len(found.comparisons) == 1
    return found.comparisons[0]


def test_a_slow_down_is_found() -> None:
    item = only(compared(FAKE, f"{FAKE} slow=1.05"))
    assert (item.benchmark, item.verdict, item.regression) == ("test/fake/one", Verdict.SLOWER, True)
    assert item.ratio == pytest.approx(1.05, abs=0.01)
    assert item.a_ns == pytest.approx(1000.0, rel=0.02)


def test_a_difference_below_the_clocks_tick_is_found() -> None:
    """Both have a plain median of 70 ns: certain, and wrong."""
    item = only(compared(f"{FAKE} samples=67", f"{FAKE} samples=69"))
    assert item.verdict is Verdict.SLOWER
    assert item.ratio == pytest.approx(69 / 67, abs=0.015)


def test_a_folder_that_cannot_be_made_is_nobodys_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the twelfth round on there is none: what was measured before is judged, and no side has failed."""
    subject = Programs([offering("a", "scatter=0.05"), offering("b")], MeasuringOptions(20.0))
    real, rounds = subject.round, itertools.count(1)

    def a_round(names: Sequence[str], seed: int) -> Round:
        if next(rounds) == 12:
            monkeypatch.setattr(tempfile, "tempdir", "/not/there")
        return real(names, seed)

    monkeypatch.setattr(subject, "round", a_round)
    found = compare(subject, ComparisonSettings(seed=5, until=Until.ESTIMATE, threshold=1e-5))
    assert found.interrupted
    assert found.no_room == "no program can be given a folder in /not/there: No such file or directory"
    item = only(found)
    assert (item.verdict, item.launches) == (Verdict.INCONCLUSIVE, 11)
    assert item.low is not None
    assert "remains possible" in item.reason


def test_a_launch_that_fails_where_the_disk_is_full_is_nobodys_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But a program that fills it itself is: what it wrote is gone when that is looked at."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    free = SimpleNamespace(free=1000, total=10**12)
    monkeypatch.setattr("tollbench.launching.command.shutil.disk_usage", lambda _: free)
    with pytest.raises(NoRoom, match="where programs run, is full"), working_folder(None):
        raise LaunchFailed("wrote no results")
    free.free = 10**9
    with pytest.raises(LaunchFailed, match="wrote no results"), working_folder(None):
        raise LaunchFailed("wrote no results")


@pytest.mark.parametrize("seed", range(6))
def test_one_wrong_side_of_three_costs_its_own_row_whoever_is_asked_first(seed: int) -> None:
    kind, sides = resolve([WrittenSide(text) for text in (FAKE, f"{FAKE} slow=1.05", f"{FAKE} answer=8")])
    subject = subject_of(kind, sides, MeasuringOptions(20.0, pattern="one"))
    found = compare(subject, ComparisonSettings(seed=seed, most_rounds=20))
    assert [item.verdict for item in found.comparisons] == [Verdict.SLOWER, Verdict.FAILED]
    assert found.comparisons[1].reason.startswith(f"{FAKE} answer=8 computed ")
    assert found.comparisons[0].regression


@pytest.mark.parametrize("seed", range(4))
def test_of_two_answers_the_second_sides_is_the_other_one(seed: int) -> None:
    kind, sides = resolve([WrittenSide(text) for text in (f"{FAKE} answer=8", FAKE)])
    subject = subject_of(kind, sides, MeasuringOptions(20.0, pattern="one"))
    item = only(compare(subject, ComparisonSettings(seed=seed, most_rounds=20)))
    assert item.verdict is Verdict.FAILED
    assert item.reason.startswith(f"{FAKE} computed ")


def test_equal_programs_do_not_differ() -> None:
    assert only(compared(FAKE, FAKE)).verdict is Verdict.NO_DIFFERENCE


def test_a_round_asks_all_sides_the_same() -> None:
    _, sides = resolve([WrittenSide(FAKE), WrittenSide(FAKE), WrittenSide(FAKE)])
    kind, _ = resolve([WrittenSide(FAKE), WrittenSide(FAKE)])
    subject = subject_of(kind, sides, MeasuringOptions(20.0))
    assert subject.survey().common == ("test/fake/one", "test/fake/two")
    found = subject.round(["test/fake/two"], 3)
    launch = found.raw[0]
    assert sorted(launch["order"]) == sorted(subject.labels)
    assert np.array(launch["ns"]).shape[1] == 3
    assert launch["iterations"] == pytest.approx(BATCH_NS / 1000, rel=0.1)
    orders = {tuple(subject.round(["test/fake/two"], seed).raw[0]["order"]) for seed in range(6)}
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("words", "batch_ns", "blocks"),
    [
        ((), BATCH_NS, SHORT_BLOCKS),
        (("threads=2",), LONG_BATCH_NS, LONG_BLOCKS),  # threads have to be woken for each batch
        (("state=0.01",), LONG_BATCH_NS, SHORT_BLOCKS),
        (("slow=3",), BATCH_NS, LONG_BLOCKS),
        (("slow=100",), BATCH_NS / 10, LONG_BLOCKS),  # ten times as much for the slow one
    ],
)
def test_how_much_is_done_in_a_batch(words: tuple[str, ...], batch_ns: float, blocks: int) -> None:
    subject = Programs([offering("a"), offering("b", *words)], MeasuringOptions(20.0))
    launch = subject.round(["x"], 1).raw[0]
    assert launch["iterations"] == pytest.approx(batch_ns / 1000, rel=0.1)
    assert len(launch["ns"]) == blocks


def test_dear_state_is_made_once_a_launch_and_no_block_counts_before_it_has_settled() -> None:
    calibrated = 4  # how often state is made before the first launch's blocks
    words = ("state=0.01", f"settles={2 * SETTLING_BLOCKS}", f"new={calibrated + 2}")
    subject = Programs([offering("a", *words), offering("b", *words)], MeasuringOptions(20.0))
    launch = subject.round(["x"], 1).raw[0]
    assert "failed" not in launch
    assert np.array(launch["ns"]).shape == (SHORT_BLOCKS, 2)
    assert np.array(launch["ns"]).max() < 1500.0  # of 2000 while it settles
    # An iteration of 0.3 s is not made ten times for nothing.
    assert [settling_blocks(ns) for ns in (0.9e6, 1e6, 2.1e6, 300e6)] == [10, 10, 4, 0]


@pytest.mark.parametrize(("words", "blocks"), [((), SHORT_BLOCKS), (("scatter=0.2",), BLOCKS)])
def test_launches_become_long_where_pairs_scatter(words: tuple[str, ...], blocks: int) -> None:
    subject = Programs([offering("a"), offering("b", *words)], MeasuringOptions(20.0))
    lengths = [len(subject.round(["x"], seed).raw[0]["ns"]) for seed in range(FIRST_PAIRS + 1)]
    assert lengths == [SHORT_BLOCKS] * FIRST_PAIRS + [blocks]
    subject.survey()  # another comparison knows nothing of this one
    assert len(subject.round(["x"], 1).raw[0]["ns"]) == SHORT_BLOCKS


def test_details_of_programs_are_no_obstacle() -> None:
    assert only(compared(f"{FAKE} details", f"{FAKE} details")).verdict is Verdict.NO_DIFFERENCE


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("fault=crash", "crashed with SIGSEGV"),
        ("answer=8", "computed"),
        ("unsteady", "computed"),
        ("units=2", "units over"),
        ("idle", "does nothing that takes time"),
    ],
)
def test_a_program_that_misbehaves_is_a_row(words: str, reason: str) -> None:
    item = only(compared(FAKE, f"{FAKE} {words}", most_rounds=6))
    assert item.verdict is Verdict.FAILED
    assert reason in item.reason


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            "no_describe",
            "does not describe itself: it exited with code 1; its last words: usage: ",
        ),
        ("garbage", "describes itself as 'hello"),
    ],
)
def test_an_executable_that_is_no_program(words: str, reason: str) -> None:
    item = only(compared(FAKE, f"{FAKE} {words}"))
    assert (item.benchmark, item.verdict) == ("*", Verdict.FAILED)
    assert reason in item.reason


def test_what_one_side_lacks_is_listed() -> None:
    found = compared(FAKE, f"{FAKE} only=one", most_rounds=2, pattern="")
    assert [item.benchmark for item in found.comparisons] == ["test/fake/one"]
    assert [item.benchmark for item in found.lacking] == ["test/fake/two"]


def offering(label: str, *command: str, **more: Any) -> Offering:
    started = Errand.command_of((FAKE, *command), "test/fake", "one", {})
    return Offering(label, {"x": Errand(started, Kind.BATCH, own_environment(), **more)})


def test_an_allocator_that_is_not_taken_is_no_comparison() -> None:
    sides = [offering("host"), offering("jemalloc", "malloc=glibc", malloc="libjemalloc.so.2")]
    found = Programs(sides, MeasuringOptions(20.0)).round(["x"], 1)
    assert found.failures["x"] == {
        1: "was started with libjemalloc.so.2 preloaded and takes malloc from glibc; next: see"
        " footing.malloc in docs/protocol.md, or leave that allocator out"
    }
    taken = [offering("host"), offering("jemalloc", "malloc=libjemalloc.so.2", malloc="libjemalloc.so.2")]
    assert Programs(taken, MeasuringOptions(20.0)).round(["x"], 1).failures == {}


@pytest.mark.parametrize(
    ("served_by", "taken", "told"),
    [
        ("glibc", False, "takes malloc from glibc"),
        ("", False, "does not say what serves its malloc"),
        ("libjemalloc.so.2", True, ""),
    ],
)
def test_an_executable_that_does_not_take_the_allocator_is_a_row(
    served_by: str, taken: bool, told: str
) -> None:
    written = [WrittenSide(FAKE), WrittenSide(f"{FAKE} malloc={served_by}", "jemalloc", preload=(JEMALLOC,))]
    subject = subject_of(*resolve(written), MeasuringOptions(20.0, pattern="one"))
    item = only(compare(subject, ComparisonSettings(seed=5, most_rounds=2)))
    assert (item.verdict is not Verdict.FAILED) is taken
    if not taken:
        assert item.reason.startswith(f"jemalloc was started with libjemalloc.so.2 preloaded and {told};")


def test_a_program_that_was_not_built_says_why() -> None:
    clang = replace(offering("clang"), unusable={"x": "error: no member named 'jthread'"})
    sides = [offering("gcc"), clang]
    found = Programs(sides, MeasuringOptions(20.0)).round(["x"], 1)
    assert found.failures["x"] == {1: "cannot be launched: error: no member named 'jthread'"}


def test_a_known_answer_is_checked() -> None:
    sides = [offering("a", answer=7), offering("b", answer=9)]
    found = Programs(sides, MeasuringOptions(20.0)).round(["x"], 1)
    assert list(found.failures["x"]) == [1]
    assert "the right answer is" in found.failures["x"][1]


def test_orders_are_reversed_in_every_other_block() -> None:
    orders = orders_of([0, 2, 5], 20, random.Random(1))
    assert all(second == first[::-1] for first, second in zip(orders[::2], orders[1::2], strict=True))
    assert len({tuple(order) for order in orders}) > 2


def test_being_asked_first_cancels() -> None:
    places = np.array([[0, 1], [1, 0]] * 5)
    blocks = np.where(places == 0, 96.0, 100.0) * np.array([1.0, 1.02])
    first, second = combined(blocks, places)
    assert second / first == pytest.approx(1.02)
    first, second = combined(blocks[1:6:2], places[1:6:2])  # one order alone: nothing to balance with
    assert second / first == pytest.approx(1.02 * 0.96)


def test_a_round_tells_its_order_and_leaves_out_who_lacks_the_benchmark() -> None:
    subject = Programs([offering("a"), offering("b"), Offering("c", {})], MeasuringOptions(20.0))
    found = subject.round(["x"], 4)
    launch = found.raw[0]
    assert [subject.labels[side] for side in found.order["x"]] == launch["order"]
    assert np.array(launch["ns"]).shape == (SHORT_BLOCKS, 2)
    assert (np.sum(launch["places"], axis=0) == SHORT_BLOCKS / 2).all()


def test_a_round_is_the_median_of_its_blocks_ratios() -> None:
    machine = np.array([1.0, 1.0, 5.0, 1.0, 1.3])  # what the machine did to both sides of a block
    blocks = np.stack([100.0 * machine, 102.0 * machine], axis=1)
    blocks[3, 1] *= 40.0  # an interrupt
    first, second = combined(blocks, np.array([[0, 1], [1, 0], [0, 1], [1, 0], [0, 1]]))
    assert first == pytest.approx(100.0)
    assert second / first == pytest.approx(1.02)


@pytest.mark.parametrize(
    ("clock", "hz"),
    [
        ({"source": "tsc", "frequency_hz": 2.3e9}, 2.3e9),
        ({"source": "monotonic", "frequency_hz": 1e9}, None),
        ({"source": "tsc", "frequency_hz": 5}, None),
        ({"source": "tsc", "frequency_hz": "fast"}, None),
        ({}, None),
    ],
)
def test_the_counters_frequency_is_believed_where_it_can_be(clock: dict[str, Any], hz: float | None) -> None:
    assert counter_hz_of(clock) == hz


@pytest.mark.parametrize(
    ("waited", "kept"),
    [
        ([[0.0, 0.01]] * 6, [True] * 6),
        ([[0.0, 0.0], [0.7, 0.0], [0.0, 0.0], [0.0, 0.6], [0.0, 0.0], [0.0, 0.01]], [1, 0, 1, 0, 1, 1]),
        ([[0.0, 0.9]] * 5 + [[0.5, 0.9]], [1, 1, 1, 1, 1, 0]),  # the second side waits by itself
        ([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.4, 0.0], [0.5, 0.0]], [1, 1, 1, 1, 0, 0]),
        ([[0.3, 0.0], [0.0, 0.0]], [1, 1]),
    ],
)
def test_blocks_in_which_a_side_lost_the_processor_are_left_out(
    waited: list[list[float]], kept: list[bool]
) -> None:
    assert undisturbed(np.array(waited)).tolist() == [bool(item) for item in kept]


def test_a_program_that_failed_leaves_its_time_to_the_others() -> None:
    found = compared(FAKE, f"{FAKE} fault=crash", f"{FAKE} slow=1.05", most_rounds=12)
    crashed, slower = found.comparisons
    assert crashed.verdict is Verdict.FAILED
    assert "crashed with SIGSEGV" in crashed.reason
    assert slower.verdict is Verdict.SLOWER
    assert slower.ratio == pytest.approx(1.05, abs=0.01)


def test_what_a_program_waited_by_itself_is_not_left_out() -> None:
    waited = np.array([[0.0, 0.01], [0.5, 0.01], [0.6, 0.3]])
    switches = np.array([[0, 0], [3, 0], [0, 0]])
    expected = np.array([[0.0, 0.01], [0.0, 0.01], [0.6, 0.3]])
    assert (forced(waited, switches) == expected).all()


SPINNING = pytest.mark.parametrize("spinning", ["spin=thread", "spin=child"])


@SPINNING
def test_who_works_out_of_turn_is_halted_out_of_turn(spinning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turns.of
    shares: list[float] = []

    @contextmanager
    def watched(turns: Turns, side: int) -> Iterator[Conversation]:
        with turn(turns, side) as program:
            others = [halter for key, halter in turns.halters.items() if key != side]
            before = [halter.look() for halter in others]
            yield program
            if turns.restless:
                shares.extend(
                    halter.look().share_since(then) for halter, then in zip(others, before, strict=True)
                )

    monkeypatch.setattr(Turns, "of", watched)
    subject = Programs(
        [offering("a"), offering("b", spinning), offering("c", spinning)], MeasuringOptions(60.0)
    )
    found = subject.round(["x"], 1)
    assert found.failures == {}
    assert set(found.raw[0]["restless"]) >= {"b", "c"}
    assert len(shares) > 2 * LONG_BLOCKS
    assert set(shares) == {0.0}
    assert any(
        note.startswith("b works while it is not asked (in 1 of 1 launches") for note in subject.notes("x", 1)
    )


def test_who_waits_quietly_is_never_halted(monkeypatch: pytest.MonkeyPatch) -> None:
    halted: list[Halter] = []
    monkeypatch.setattr(Halter, "halt", halted.append)
    subject = Programs([offering("a"), offering("b")], MeasuringOptions(60.0))
    assert [subject.round(["x"], seed).raw[0]["restless"] for seed in range(3)] == [[], [], []]
    assert not halted
    assert not subject.notes("x", 1)


MANY_CPUS = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all that there is")


@MANY_CPUS
@pytest.mark.parametrize(
    ("words", "ties"),
    [
        (("slow=1.1",), True),
        (("threads=2",), False),  # it says so itself
        (("spin=thread",), False),
    ],
)
def test_sides_of_one_thread_share_a_cpu(
    words: tuple[str, ...], ties: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[set[int]] = []
    time_unread = Conversation.time_unread

    def looking(program: Conversation, *arguments: Any) -> Unread:
        where.append(set(os.sched_getaffinity(program.pid)))
        return time_unread(program, *arguments)

    monkeypatch.setattr(Conversation, "time_unread", looking)
    subject = Programs([offering("a"), offering("b", *words)], MeasuringOptions(60.0))
    for seed in range(2):  # the first launch finds out how much is done in a batch
        where.clear()
        launch = subject.round(["x"], seed).raw[0]
        expected = {launch["cpu"]} if ties else os.sched_getaffinity(0)
        assert (launch["cpu"] is not None) == ties
        settling = subject._work["x"].settling_blocks  # none but where a pilot beside a load saw dear state
        assert len(where) == 2 * (settling + len(launch["ns"]))
        assert all(cpus == expected for cpus in where)


class NotingLauncher(ProcessLauncher):
    """Knows whom it has started."""

    def __init__(self, interrupt: Interrupt | None = None) -> None:
        super().__init__(interrupt)
        self.pids: list[int] = []

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        folder: Path | None = None,
    ) -> Process:
        child = super().start(command, environment, limits, folder)
        self.pids.append(child.pid)
        return child


@SPINNING
def test_nobody_stays_behind_halted(spinning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt, ask = Interrupt(), Conversation.time_unread
    asked = 0

    def interrupted(program: Conversation, iterations: int, layout: int | None) -> Any:
        nonlocal asked
        asked += 1
        if asked == 5:
            interrupt.request()
        return ask(program, iterations, layout)

    monkeypatch.setattr(Conversation, "time_unread", interrupted)
    launcher = NotingLauncher(interrupt)
    subject = Programs([offering("a"), offering("b", spinning)], MeasuringOptions(60.0), launcher=launcher)
    with pytest.raises(Interrupted):
        subject.round(["x"], 1)
    assert asked == 5
    monkeypatch.undo()
    launcher.interrupt = None
    sides = [offering("a", spinning), offering("b", "unsteady")]
    found = Programs(sides, MeasuringOptions(60.0), launcher=launcher).round(["x"], 1)
    assert found.failures["x"]
    assert len(launcher.pids) == 4
    assert not any(Path(f"/proc/{pid}").exists() for pid in launcher.pids)


@pytest.mark.parametrize("crashes", [0, 1])
def test_a_wrong_answer_is_told_though_somebody_crashed_before_it_was_looked_at(crashes: int) -> None:
    """Answers are looked at when all have come: four times state is made to find the work, then a block."""
    words = ["", "unsteady"]
    words[crashes] += " new=16"
    sides = [offering("a", *words[0].split()), offering("b", *words[1].split())]
    found = Programs(sides, MeasuringOptions(20.0)).round(["x"], 1)
    assert list(found.failures["x"]) == [1]
    assert found.failures["x"][1].startswith("computed")


def test_nothing_is_looked_at_while_programs_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    ask, look = Conversation.time_unread, Unread.check

    def asked(program: Conversation, iterations: int, layout: int | None) -> Unread:
        heard.append("asked")
        return ask(program, iterations, layout)

    def looked(unread: Unread) -> None:
        heard.append("looked")
        look(unread)

    monkeypatch.setattr(Conversation, "time_unread", asked)
    monkeypatch.setattr(Unread, "check", looked)
    Programs([offering("a"), offering("b")], MeasuringOptions(20.0)).round(["x"], 1)
    turns = heard[heard.index("asked") :]
    # The first answer of the first side twice: all others are held against it.
    assert turns == ["asked"] * (2 * SHORT_BLOCKS) + ["looked"] * (2 * SHORT_BLOCKS + 1)


def test_each_launch_runs_in_a_fresh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    side = f"{FAKE} leaves=file"
    item = only(compared(side, side, most_rounds=3))
    assert (item.launches, item.verdict is Verdict.FAILED) == (3, False)
    assert list(tmp_path.iterdir()) == []


def test_each_side_runs_in_its_own_folder(tmp_path: Path) -> None:
    written = [WrittenSide(f"{FAKE} reads=file", folder=tmp_path / name) for name in ("old", "new")]
    for side, answer in zip(written, ("7", "7"), strict=True):
        assert side.folder
        side.folder.mkdir()
        (side.folder / "file").write_text(answer)
    subject = subject_of(*resolve(written), MeasuringOptions(20.0))
    subject.survey()
    assert subject.round(["test/fake/one"], 1).failures == {}
    (tmp_path / "new" / "file").write_text("8")
    failures = subject.round(["test/fake/one"], 2).failures["test/fake/one"]
    assert list(failures) == [1]
    assert failures[1].startswith("computed 1")


def test_a_folder_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    found = Programs([offering("a"), offering("b", folder=gone)], MeasuringOptions(20.0)).round(["x"], 1)
    assert found.failures["x"] == {1: f"could not be started in {gone}: No such file or directory: {FAKE}"}


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("23", "exited with code 23 after stopping; its last words: ERROR: a leak"),
        ("crash", "crashed with SIGSEGV while stopping"),
        ("talk", "printed 'one more thing"),
    ],
)
def test_a_bad_end_is_a_row(end: str, reason: str) -> None:
    item = only(compared(FAKE, f"{FAKE} end={end}", most_rounds=6))
    assert item.verdict is Verdict.FAILED
    assert item.reason.startswith(f"{FAKE} end={end} {reason}")


def test_a_late_end_is_told() -> None:
    subject = Programs([offering("a"), offering("b", "end=late")], MeasuringOptions(20.0))
    assert subject.round(["x"], 1).failures == {}
    assert subject.notes("x", 1) == [
        "b ignored the request to stop and was killed; its numbers had all come before"
    ]


def test_a_program_beside_its_own_load_is_read_by_its_timed_threads_clock() -> None:
    """The load decides when it has a processor: neither its wall time nor its waits are its own."""
    batch = Batch(1, 100, 3000.0, 1000.0, 2, 0, 0, 0, 1, 0)
    ready = cast(Ready, SimpleNamespace(footing={"threads": 1, "load_threads": 4}, clock={}))
    timed = Timed(batch, None)
    assert toll_program._value(timed, ready, own_thread=True) == (10.0, (0.0, 0))
    ns, (waited, switches) = toll_program._value(timed, ready, own_thread=False)
    assert (ns, switches) == (30.0, 2)
    assert waited == pytest.approx(2 / 3)


@pytest.mark.parametrize(("loads", "ns"), [((True, True), 500.0), ((True, False), 1000.0)])
def test_both_sides_are_read_by_one_clock(loads: tuple[bool, bool], ns: float) -> None:
    """The timed thread's, where each has others as a load; half of the wall's time is no half of the work."""
    sides = [f"{FAKE} {name}{' load=4' if load else ''}" for name, load in zip("ab", loads, strict=True)]
    item = only(compared(*sides))
    assert item.verdict is not Verdict.SLOWER
    assert item.ratio == pytest.approx(1.0, abs=0.05)
    assert item.a_ns == pytest.approx(ns, rel=0.05)
    told = f"{sides[0]} times one thread beside others, which are a load, and {sides[1]} has no load"
    assert (f"{told}: both by the wall's clock" in item.reason) is (loads[0] is not loads[1])


def test_a_side_that_does_not_say_what_it_offers_is_named() -> None:
    kind, sides = resolve([WrittenSide(FAKE), WrittenSide(f"{FAKE} hangs")])
    subject = subject_of(kind, sides, MeasuringOptions(5.0))
    item = only(compare(subject, ComparisonSettings()))
    assert item.verdict is Verdict.FAILED
    assert item.reason.startswith(f"{FAKE} hangs does not describe itself: it did not end within")
