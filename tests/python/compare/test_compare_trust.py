"""`toll trust`: comparisons whose truth is known, counted; with sides that need no process."""

from __future__ import annotations

import functools
import json
import os
import random
import select
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, Self

import jsonschema
import pytest
from fake_sides import FakeClock, FakeSubject, steady
from rich.console import Console

from tollbench import cli
from tollbench.cli import machine_use, places, trusting
from tollbench.cli.trusting import exit_code
from tollbench.compare import ComparisonSettings, Verdict
from tollbench.compare.disturbing import load, one_of
from tollbench.compare.raw_file import RawFile
from tollbench.compare.trials import Trial, TrialPlan, Trust, prove, summary
from tollbench.errors import Exit, TollError
from tollbench.launching.failure import NoRoom
from tollbench.launching.machine_lock import machine_lock
from tollbench.measure import Interrupt, SystemClock
from tollbench.report.comparisons import trust_tables as output

SCHEMA = Path(__file__).parents[3] / "schemas/trust.schema.json"
OPERATIONS = ("add", "lock", "sum")
Toll = Callable[..., int]


class Sides:
    """Makes subjects whose second side is slower by what is asked; remembers what was asked for."""

    def __init__(self, spread: float = 0.01, lie: float = 0.0, **more: Any) -> None:
        self.clock = FakeClock()
        self.asked: list[tuple[str, float]] = []
        self.subjects: list[FakeSubject] = []
        self._spread = spread
        self._lie = lie  # by which the second side is slower though nothing was injected
        self._more = more

    def __call__(self, operation: str, slowdown: float) -> FakeSubject:
        self.asked.append((operation, slowdown))
        second = 100.0 * (1.0 + slowdown + self._lie)
        sides = (steady(100.0, self._spread), steady(second, self._spread))
        self.subjects.append(FakeSubject(self.clock, {operation: sides}, **self._more))
        return self.subjects[-1]


def plan(**more: Any) -> TrialPlan:
    return TrialPlan(
        OPERATIONS, trial=ComparisonSettings(budget_s=10.0, total_s=10.0, seed=more.pop("seed", 1)), **more
    )


def proved(sides: Sides, **more: Any) -> Trust:
    return prove(plan(**more), sides, clock=sides.clock)


def trial(slowdown: float, verdict: Verdict, **more: Any) -> Trial:
    known = {
        "operation": "add",
        "slowdown": slowdown,
        "verdict": verdict,
        "regression": False,
        "ratio": 1.0 + slowdown,
        "low": 0.999 + slowdown,
        "high": 1.001 + slowdown,
        "launches": 20,
        "seconds": 2.0,
        "reason": "because",
    }
    return Trial.model_validate(known | more)


def test_sound_comparisons_raise_few_alarms_and_find_what_is_there() -> None:
    found = proved(Sides(), budget_s=3_000.0)
    assert found.false_alarms.trials > 100
    assert found.false_alarms.count <= 0.1 * found.false_alarms.trials
    assert found.smallest_found is not None
    assert found.smallest_found <= 0.02
    every = {line.slowdown: line for line in found.lines if line.operation == "*"}
    assert every[0.05].slower.share == 1.0
    assert every[0.05].regression.share == 1.0
    assert every[0.05].faster.count == 0
    assert sum(line.covered.count for line in every.values()) >= 0.9 * len(found.trials)
    assert exit_code(found) is Exit.FINE


def test_alarms_about_equal_sides_are_counted_as_false() -> None:
    found = proved(Sides(lie=0.03), budget_s=600.0)
    assert found.false_alarms.count == found.false_alarms.trials > 10
    assert next(line for line in found.lines if line.slowdown == 0).covered.count == 0
    assert exit_code(found) is Exit.REGRESSION_OR_FAILED_CHECK


def test_trials_come_in_a_random_order_and_every_pass_has_all() -> None:
    sides = Sides()
    one_pass = len(OPERATIONS) * 6
    proved(sides, budget_s=1e9, most_trials=2 * one_pass)
    first, second = sides.asked[:one_pass], sides.asked[one_pass:]
    assert sorted(first) == sorted(second)
    assert first != second
    assert first != sorted(first)
    assert first.count(("add", 0.0)) == 2
    assert first.count(("sum", 0.05)) == 1
    again = Sides()
    proved(again, budget_s=1e9, most_trials=one_pass)
    assert again.asked == first
    other = Sides()
    proved(other, budget_s=1e9, most_trials=one_pass, seed=2)
    assert other.asked != first


def test_equal_sides_come_as_often_as_asked_for() -> None:
    sides = Sides()
    found = proved(sides, budget_s=1e9, most_trials=12, equal_a_pass=0, slowdowns=(0.02, 0.05))
    assert {slowdown for _, slowdown in sides.asked} == {0.02, 0.05}
    assert not any(line.startswith("False alarms") for line in output.sentences(found))
    assert exit_code(found, equal=False) is Exit.FINE
    # Equal sides were asked for, and none fitted into the time: false alarms were not looked for.
    assert exit_code(found) is Exit.INCONCLUSIVE


def test_no_trial_is_cut_short() -> None:
    sides = Sides(spread=0.5)  # every comparison takes all of its 10 s
    found = proved(sides, budget_s=99.0)
    assert [round(trial.seconds) for trial in found.trials] == [10] * len(found.trials)
    assert len(found.trials) == 9
    assert sides.clock.ns <= 99e9


def test_the_first_trial_is_made_however_small_the_budget_is() -> None:
    assert len(proved(Sides(), budget_s=0.1).trials) == 1


def test_each_trial_has_random_choices_of_its_own() -> None:
    sides = Sides()
    found = proved(sides, budget_s=1e9, most_trials=18)
    same = [trial.ratio for trial in found.trials if trial.slowdown == 0]
    assert len(set(same)) == len(same)


def test_an_interrupt_keeps_what_is_known() -> None:
    kept: list[object] = []
    sides = Sides()

    def third_is_interrupted(operation: str, slowdown: float) -> FakeSubject:
        subject = sides(operation, slowdown)
        subject.interrupt_after = 3 if len(sides.asked) == 3 else 10**9
        return subject

    found = prove(plan(budget_s=1e9), third_is_interrupted, clock=sides.clock, keep=kept.append)
    assert found.interrupted
    assert len(found.trials) == len(kept) == 2
    assert exit_code(found) is Exit.INTERRUPTED
    assert output.sentences(found)[-1] == "It was interrupted: this is what was known by then."


def test_a_full_place_for_programs_is_no_interrupt_of_somebodys(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = Sides()

    def third_finds_no_room(_program: object, slowdown: float, *_: object, **__: object) -> FakeSubject:
        subject = sides("add", slowdown)
        if len(sides.asked) == 3:
            subject.interrupt_after, subject.ended_by = 1, NoRoom("/tmp, where programs run, is full")
        return subject

    monkeypatch.setattr(trusting, "built", lambda *_: {"add": None})
    monkeypatch.setattr(trusting, "sides", third_finds_no_room)
    monkeypatch.setattr(trusting, "prove", functools.partial(prove, clock=sides.clock))
    assert toll("--budget", "1h") == 2
    told = capsys.readouterr()
    assert "It ended early (/tmp, where programs run, is full)" in " ".join(told.out.split())
    assert "make room there, or name another folder: TMPDIR=FOLDER" in " ".join(told.err.split())


def test_a_disk_that_takes_no_more_costs_no_trial(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides, kept = Sides(), []

    def full(_file: RawFile, record: object) -> None:
        kept.append(record)
        if len(kept) == 3:
            raise TollError("cannot write it: No space left on device", "make room there", Exit.INCONCLUSIVE)

    monkeypatch.setattr(RawFile, "__call__", full)
    monkeypatch.setattr(trusting, "built", lambda *_: dict.fromkeys(OPERATIONS))
    monkeypatch.setattr(trusting, "sides", lambda _program, slowdown, *_, **__: sides("add", slowdown))
    monkeypatch.setattr(trusting, "prove", functools.partial(prove, clock=sides.clock))
    assert toll("--json", "--budget", "1h") == 2  # no --resume goes on with it
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert (len(found["trials"]), found["interrupted"]) == (3, True)
    assert "cannot write it: No space left on device" in told.err


def test_failed_trials_are_told_and_counted_nowhere_else() -> None:
    breaks = {("lock", number): "crashed with SIGSEGV" for number in range(1, 99)}
    found = proved(Sides(breaks=breaks), budget_s=1e9, most_trials=18)
    line = next(line for line in found.lines if (line.operation, line.slowdown) == ("lock", 0.0))
    assert (line.failed, line.slower.trials, line.seconds) == (2, 0, None)
    assert found.false_alarms.trials == 4
    assert "6 trials failed; the first: new crashed with SIGSEGV." in output.sentences(found)


def test_a_trial_that_could_raise_no_alarm_makes_alarms_no_rarer() -> None:
    nothing = {"low": None, "high": None, "launches": 3}
    trials = [
        trial(0.0, Verdict.SLOWER),
        trial(0.0, Verdict.NO_DIFFERENCE),
        trial(0.0, Verdict.INCONCLUSIVE, **nothing),
        trial(0.02, Verdict.INCONCLUSIVE, **nothing),
        trial(0.02, Verdict.SLOWER),
    ]
    found = summary(plan(slowdowns=(0.02,)), trials, seconds=1.0)
    assert (found.false_alarms.count, found.false_alarms.trials) == (1, 2)
    same, slowed = (line for line in found.lines if line.operation == "*")
    assert (same.undecided, same.covered.trials) == (1, 2)
    assert (slowed.undecided, slowed.slower.count, slowed.slower.trials) == (1, 1, 2)
    assert any(
        line.startswith("1 comparison of") and "--trial-budget" in line for line in output.sentences(found)
    )


def test_nothing_but_failures_is_no_answer() -> None:
    breaks = {(name, 1): "exited with code 3" for name in OPERATIONS}
    assert exit_code(proved(Sides(breaks=breaks), budget_s=1e9, most_trials=6)) is Exit.INCONCLUSIVE


@pytest.mark.parametrize(
    ("missed", "smallest"),
    [({}, 0.005), ({0.005: 2}, 0.01), ({0.01: 2}, 0.02), ({0.005: 1}, 0.005), ({0.05: 2}, None)],
)
def test_the_smallest_found_has_nothing_missed_above_it(
    missed: dict[float, int], smallest: float | None
) -> None:
    trials = [
        trial(slowdown, Verdict.INCONCLUSIVE if index < missed.get(slowdown, 0) else Verdict.SLOWER)
        for slowdown in (0.005, 0.01, 0.02, 0.05)
        for index in range(20)
    ]
    assert summary(plan(), trials, seconds=1.0).smallest_found == smallest


def test_without_slow_downs_there_are_only_alarms() -> None:
    found = proved(Sides(), slowdowns=(), budget_s=1e9, most_trials=6)
    assert {trial.slowdown for trial in found.trials} == {0.0}
    assert len(output.sentences(found)) == 3


def test_a_find_tells_of_how_many_trials() -> None:
    trials = [trial(0.02, Verdict.SLOWER)] * 4
    told = output.sentences(summary(plan(slowdowns=(0.02,)), trials, seconds=1.0))
    assert any(
        "a slow-down of 2 % and more (4 of 4, 100 %, between 39.8 % and 100 %)" in line for line in told
    )


def test_what_was_never_tried_was_not_found() -> None:
    trials = [trial(0.0, Verdict.SLOWER), trial(0.01, Verdict.SLOWER)]
    assert summary(plan(), trials, seconds=1.0).smallest_found is None


def test_faster_is_a_false_alarm_for_equal_sides_and_no_find_for_others() -> None:
    trials = [trial(0.0, Verdict.FASTER), trial(0.02, Verdict.FASTER)]
    found = summary(plan(), trials, seconds=1.0)
    assert found.false_alarms.count == 1
    line = next(line for line in found.lines if (line.operation, line.slowdown) == ("*", 0.02))
    assert (line.slower.count, line.faster.count) == (0, 1)
    row = next(line for line in output.markdown(found).splitlines() if line.startswith("| all"))
    assert row == "| all | 1 of 1 |  |  | 0 of 1 |  |"


def test_an_interval_without_an_end_covers() -> None:
    assert trial(0.05, Verdict.INCONCLUSIVE, low=None, high=None).covers
    assert not trial(0.05, Verdict.SLOWER, low=1.06, high=None).covers
    assert not trial(0.05, Verdict.SLOWER, low=None, high=1.04).covers


def test_the_table_fits_into_80_columns() -> None:
    long = ("uncontended_lock", "allocation_heavy")
    trials = [
        trial(slowdown, Verdict.SLOWER, operation=name, seconds=29.9)
        for name in long
        for slowdown in (0.0, 0.005, 0.01, 0.02, 0.05)
        for _ in range(100)
    ]
    found = summary(TrialPlan(long), trials, seconds=280.0)
    text = StringIO()
    output.show(found, Console(file=text, width=80))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in text.getvalue()
    assert lines[1].split("  ")[-1].strip() == "+5 %"
    assert [line.split()[0] for line in lines[1:6]] == ["operation", *long, "all", "median"]
    assert lines[2].split()[1:4] == ["100", "of", "100"]
    assert lines[5].count("29.9 s") == 5
    assert "False alarms: 200 of 200 comparisons of a program with itself" in text.getvalue()


def test_markdown_has_the_same_table() -> None:
    found = proved(Sides(), budget_s=1e9, most_trials=18)
    rows = [line.split("|")[1:-1] for line in output.markdown(found).splitlines() if line.startswith("|")]
    assert {len(row) for row in rows} == {6}
    assert [row[0].strip() for row in rows] == ["operation", "---", *OPERATIONS, "all", "median time"]
    assert rows[0][1:] == [" false alarms ", *(f" +{size} % " for size in ("0.5", "1", "2", "5"))]


def test_the_contract() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    breaks = {("lock", number): "crashed" for number in range(1, 99)}
    for found in (proved(Sides(breaks=breaks), budget_s=99.0), summary(plan(), [], seconds=0.0)):
        jsonschema.validate(json.loads(found.model_dump_json()), schema)


@pytest.mark.parametrize(
    ("text", "found"),
    [("none", ()), ("5,0.5", (0.005, 0.05)), ("1", (0.01,)), ("2,2.0", (0.02,)), ("100", (1.0,))],
)
def test_per_cents(text: str, found: tuple[float, ...]) -> None:
    assert trusting.shares(text) == found


@pytest.mark.parametrize("text", ["", "0", "-1", "0.05", "101", "1;2", "nan", "inf", "1,,2"])
def test_what_are_no_per_cents(text: str) -> None:
    with pytest.raises(TollError, match="are not per cents above 0"):
        trusting.shares(text)


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    """Runs `toll trust`, without the machine's lock, with its files elsewhere."""
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setattr(places, "RUNS", tmp_path)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["toll", "trust", *words])
        return cli.main()

    return run


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--slowdowns", "1,x"], "--slowdowns 1,x are not per cents"),
        (["--budget", "soon"], "'soon' is not a length of time"),
        (["--threshold", "0"], "the threshold has a value"),
        (["--trials", "-1"], "--trials -1"),
        (["--equal", "-1"], "--equal -1 leaves nothing"),
        (["--equal", "0", "--slowdowns", "none"], "--equal 0 leaves nothing"),
        (["--disturb", "noise"], "--disturb noise is not known"),
        (["no_such_operation"], "no_such_operation"),
    ],
)
def test_what_makes_no_sense(
    toll: Toll, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    assert toll(*words) == 2
    told = capsys.readouterr().err
    assert what in told
    assert "next: " in told
    assert "Traceback" not in told


def test_ctrl_c_while_another_run_holds_the_machine(
    toll: Toll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the signal does it, once `--wait` has said that it waits."""
    asked: list[Interrupt] = []

    class Noted(Interrupt):
        def __enter__(self) -> Self:
            asked.append(self)
            return super().__enter__()

    monkeypatch.setattr(machine_use, "LOCK_FILES", (tmp_path / "lock",))
    monkeypatch.setattr(trusting, "Interrupt", Noted)
    monkeypatch.setattr(machine_use, "_say_waiting", lambda _told: asked[0].request())
    with Interrupt() as other, machine_lock(SystemClock(), interrupt=other, files=(tmp_path / "lock",)):
        assert toll("--wait") == 130
    assert "interrupted while waiting" in capsys.readouterr().err


@pytest.mark.proof
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_real_operations(toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slow-down of 100 % and none; built by toll, measured as everybody's are."""
    words = ["sum_4096", "new_delete", "--slowdowns", "100", "--trials", "6", "--seed", "1", "--json"]
    assert toll(*words, "--budget", "480s", "--trial-budget", "4s", "--disturb", "drift,load") in (0, 1)
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert found["disturbed"] == ["drift", "load"]
    every = {line["slowdown"]: line for line in found["lines"] if line["operation"] == "*"}
    assert every[1.0]["slower"]["trials"] == 2
    # Whether 4 s are enough for a verdict depends on what else the machine does; twice the work shows.
    assert every[1.0]["faster"]["count"] == 0
    assert max(trial["ratio"] for trial in found["trials"] if trial["slowdown"] == 1.0) > 1.3
    assert every[0.0]["slower"]["trials"] == 4
    kept = [json.loads(line) for line in Path(found["raw"]).read_text().splitlines()]
    assert [line["operation"] for line in kept[1:]] == [trial["operation"] for trial in found["trials"]]


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_the_load_is_on_one_cpu_and_ends_with_its_block() -> None:
    cpu = one_of(sorted(os.sched_getaffinity(0)), 3)
    with load(cpu, 3) as process:
        deadline = time.monotonic() + 30
        while cpu_s(process.pid) < 0.2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert cpu_s(process.pid) >= 0.2
        assert os.sched_getaffinity(process.pid) == {cpu}
        watched = os.pidfd_open(process.pid)
    assert process.returncode is not None
    assert select.select([watched], [], [], 10)[0]
    os.close(watched)


def test_the_load_dies_with_its_parent() -> None:
    with load(one_of(sorted(os.sched_getaffinity(0)), 4), 4) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_another_seed_may_load_another_cpu() -> None:
    assert {one_of([0, 1, 2, 3], random.Random(seed).randrange(99)) for seed in range(30)} == {0, 1, 2, 3}
