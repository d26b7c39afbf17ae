"""Catch2 executables alive together, each held where it prints; and those that are launched by themselves."""

from __future__ import annotations

import errno
import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tollbench.cli.sandboxing import sandbox_for
from tollbench.compare import MeasuringOptions, WrittenSide, resolve
from tollbench.compare.adapters import catch2
from tollbench.compare.adapters.catch2 import Catch2, announced
from tollbench.compare.around import Around
from tollbench.compare.subject import Round
from tollbench.errors import TollError
from tollbench.interpreters import interpreter
from tollbench.launching.failure import Interrupted
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import sandboxed

FAKE = Path(__file__).with_name("fake_catch2.py")
ALL = ",".join(map(str, sorted(os.sched_getaffinity(0))))
NAMES = ["sums / one", "sums / two<int>", "sums / three"]


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """One process alone: what `env` finds may be a script that starts others."""
    path = tmp_path / "fake"
    path.write_text(f"#!{' '.join(interpreter())}\n{FAKE.read_text()}")
    path.chmod(0o755)
    return str(path)


class Samples(NamedTuple):
    """Of one benchmark in one launch."""

    began_ns: int
    ended_ns: int
    process: int
    processors: str  # that it may use
    slow: str  # as the side's words have it
    benchmark: str


def read(log: Path) -> list[Samples]:
    """In order of time, without those of the launches that tell what there is."""
    began: dict[tuple[str, str], int] = {}
    found = []
    for line in log.read_text().splitlines():
        at, what, process, processors, slow, name = line.split(" ", 5)
        if what == "begins":
            began[process, name] = int(at)
        else:
            samples = Samples(began[process, name], int(at), int(process), processors, slow, name)
            found.append(samples)
    return sorted(found)


def launched(
    *commands: str, rounds: int = 3, limit_s: float = 20.0, **options: Any
) -> tuple[Catch2, list[Round]]:
    kind, sides = resolve([WrittenSide(command) for command in commands], "catch2")
    assert kind == "catch2"
    subject = Catch2(sides, MeasuringOptions(limit_s, **options))
    names = subject.survey().common
    return subject, [subject.round(names, seed) for seed in range(rounds)]


def were_held(rounds: list[Round]) -> set[bool]:
    return {record["held"] for found in rounds for record in found.raw if "given_up" not in record}


def test_sides_measure_each_benchmark_one_after_the_other(fake: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    subject, rounds = launched(f"{fake} log={log}", f"{fake} log={log} slow=1.5", rounds=6)
    assert were_held(rounds) == {True}
    for found in rounds:
        assert not found.failures
        assert list(found.values) == NAMES
        assert all(second / first == pytest.approx(1.5, rel=0.01) for first, second in found.values.values())
    assert not any(subject.notes(name, 1) for name in NAMES)
    assert {record["tied"] for found in rounds for record in found.raw} == {True}
    samples = read(log)[6:]
    assert len(samples) == 6 * 2 * 3
    assert all(before.ended_ns <= after.began_ns for before, after in pairwise(samples))
    for one, other in zip(samples[::2], samples[1::2], strict=True):
        assert one.benchmark == other.benchmark
        assert one.process != other.process
        assert one.processors == other.processors
        assert "," not in one.processors
    assert {one.slow for one in samples[::2]} == {"1", "1.5"}  # no side is always the first one


@pytest.mark.parametrize(
    ("ns", "samples"), [("1000", "200"), ("1.8878e6", "50"), ("5e7", "10"), ("nan", "200"), ("inf", "10")]
)
@pytest.mark.parametrize("pattern", ["", "one"])
def test_benchmarks_that_take_long_have_fewer_samples(
    ns: str, samples: str, pattern: str, fake: str, tmp_path: Path
) -> None:
    """Of three benchmarks, with seven iterations a sample, in about two seconds: all of a test case run."""
    asked = tmp_path / "asked"
    launched(f"{fake} asked={asked} ns={ns}", f"{fake} ns={ns}", rounds=1, pattern=pattern)
    assert asked.read_text().split()[:2] == ["1", samples]


@pytest.mark.parametrize("words", ["early", "noisy"])
def test_what_is_flushed_before_the_samples_is_not_their_end(words: str, fake: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    _, rounds = launched(*[f"{fake} log={log} {words} ms=10"] * 2)
    assert were_held(rounds) == {True}
    assert all(before.ended_ns <= after.began_ns for before, after in pairwise(read(log)[6:]))


def test_who_has_chosen_processors_keeps_them(fake: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    _, rounds = launched(f"{fake} log={log} ties", f"{fake} log={log}", rounds=6)
    assert were_held(rounds) == {True}
    assert {samples.processors for samples in read(log)} == {ALL, ALL.split(",")[0]}


def test_a_benchmark_that_runs_more_often_on_one_side_does_not_stop_the_other(fake: str) -> None:
    _, rounds = launched(f"{fake} only=one,two", f"{fake} only=one,two,two")
    assert {name for found in rounds for name in found.values} == {"sums / one", "sums / two"}
    assert all(len(found.raw) == 2 for found in rounds)


def test_a_launch_that_is_given_up_is_no_launch_and_stays_in_the_file(fake: str, tmp_path: Path) -> None:
    _, rounds = launched(f"{fake} only=one", f"{fake} only=one later={tmp_path / 'asked'} fails", rounds=1)
    given_up, *raw = rounds[0].raw
    assert given_up == {
        "benchmarks": ["sums / one"],
        "held": True,
        "given_up": "beside the other side it fails its test case 'sums': a wrong answer has no time",
    }
    assert [sorted(record) for record in raw if "ns" in record] == [sorted(raw[0])]
    assert len(raw) == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [("crash=one", "crashed with SIGABRT"), ("fails", "fails its test case 'sums'")],
)
def test_a_side_that_fails_now_and_then_is_launched_by_itself_and_fails(
    words: str, reason: str, fake: str, tmp_path: Path
) -> None:
    """Launched anew it passes, and held well in between: it would be called quick for good."""
    failing = f"{fake} only=one count={tmp_path / 'count'} at=2,6,8 {words}"
    subject, rounds = launched(f"{fake} only=one", failing, rounds=6)
    told = [[record["given_up"] for record in found.raw if "given_up" in record] for found in rounds]
    assert [len(each) for each in told] == [0, 1, 0, 0, 1, 0]
    assert all(text.startswith(f"beside the other side it {reason}") for each in told for text in each)
    assert not any(found.failures for found in rounds[:5])
    assert were_held(rounds[2:4]) == {True}
    assert were_held(rounds[4:]) == {False}
    (note,) = subject.notes("sums / one", 1)
    assert note.startswith(f"sides were launched one after another: beside the other side it {reason}")
    assert reason in rounds[5].failures["sums / one"][1]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_who_waits_now_and_then_keeps_the_values_of_those_launches(fake: str, tmp_path: Path) -> None:
    """Were they made anew, what is kept would be a choice of the launches that did not wait."""
    waiting = f"{fake} only=one count={tmp_path / 'count'} at=2,5,6 waits"
    _, rounds = launched(f"{fake} only=one", waiting, rounds=7)
    assert (tmp_path / "count").read_text() == "x" * 8  # one a round, and one that tells what there is
    assert [len(found.raw) for found in rounds] == [2] * 7
    assert [found.raw[0]["tied"] for found in rounds] == [True] * 6 + [False]


def test_three_sides_wait_for_each_other(fake: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    _, rounds = launched(*[f"{fake} log={log} slow={slow}" for slow in (1, 2, 3)], rounds=2)
    assert were_held(rounds) == {True}
    samples = read(log)[9:]
    assert all(before.ended_ns <= after.began_ns for before, after in pairwise(samples))
    assert [len({one.benchmark for one in samples[at : at + 3]}) for at in range(0, len(samples), 3)] == [
        1
    ] * 6


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("chats", "it prints while it measures"),
        ("spins", "it works while it is held"),
        ("buffers", "it does not print each benchmark's beginning before it measures"),
        ("lock={lock}", "beside the other side it exited with code 1"),
    ],
)
def test_who_cannot_be_held_is_launched_by_himself_and_the_row_says_why(
    words: str, reason: str, fake: str, tmp_path: Path
) -> None:
    command = f"{fake} {words.format(lock=tmp_path / 'lock')}"
    subject, rounds = launched(command, command)
    (note,) = subject.notes(NAMES[0], 1)
    assert note.startswith(f"sides were launched one after another: {reason}")
    assert were_held(rounds) == {False}
    assert all(list(found.values) == NAMES and not found.failures for found in rounds)


def test_where_no_such_pipe_can_be_made_sides_are_launched_by_themselves(
    fake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gVisor's kernel knows no packets in pipes."""

    def refuses(_flags: int) -> tuple[int, int]:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr("tollbench.launching.held.os.pipe2", refuses)
    subject, rounds = launched(fake, fake)
    assert subject.notes(NAMES[0], 1) == [
        "sides were launched one after another: its output cannot be held: Invalid argument"
    ]
    assert all(list(found.values) == NAMES for found in rounds)


def test_who_waits_for_the_other_side_is_not_waited_for_long(
    fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait until the end of a budget, as the other side is held."""
    monkeypatch.setattr(catch2, "_AT_LEAST_S", 0.5)
    command = f"{fake} queues={tmp_path / 'lock'}"
    subject, rounds = launched(command, command, limit_s=600.0)
    (note,) = subject.notes(NAMES[0], 1)
    assert note.startswith(
        "sides were launched one after another: beside the other side it did not end within"
    )
    assert all(list(found.values) == NAMES for found in rounds)


def test_what_is_prepared_for_each_launch_is_launched_by_itself(fake: str) -> None:
    subject, rounds = launched(fake, fake, around=Around(prepare=("true",)))
    assert subject.notes(NAMES[0], 1) == [
        "sides were launched one after another: commands stand around its launches"
    ]
    assert were_held(rounds) == {False}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
@pytest.mark.parametrize("words", ["waits", "threads"])
def test_who_may_need_several_processors_keeps_them(words: str, fake: str, tmp_path: Path) -> None:
    """And is held all the same; a launch that was tied when it had threads is made anew."""
    log = tmp_path / "log"
    _, sides = resolve([WrittenSide(f"{fake} {words} log={log}")] * 2, "catch2")
    subject = Catch2(sides, MeasuringOptions(20.0))
    names = subject.survey().common
    for seed in range(2):  # once might be a page that comes from a disk
        subject.round(names, seed)
    log.unlink()
    found = subject.round(names, 2)
    assert were_held([found]) == {True}
    assert {samples.processors for samples in read(log)} == {ALL}
    assert {record["tied"] for record in found.raw} == {False}
    assert not found.failures


def test_a_benchmark_that_one_side_lacks_is_measured_beside_nobody(fake: str) -> None:
    subject, rounds = launched(f"{fake} only=one,new,three", f"{fake} only=one,old,three")
    assert were_held(rounds) == {True}
    assert [list(found.values) for found in rounds] == [["sums / one", "sums / three"]] * 3
    assert not subject.notes("sums / one", 1)


def test_sides_with_another_order_are_launched_by_themselves(fake: str) -> None:
    subject, rounds = launched(f"{fake} only=one,two", f"{fake} only=two,one")
    assert subject.notes("sums / one", 1) == [
        "sides were launched one after another: the sides do not measure their benchmarks in the same order"
    ]
    assert all(not found.failures for found in rounds)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("crash=one", "crashed with SIGABRT"),
        ("fails", "fails its test case 'sums': a wrong answer has no time"),
        ("hangs=one", "did not end within 2 s"),
    ],
)
def test_who_fails_beside_others_fails_by_himself(words: str, reason: str, fake: str, tmp_path: Path) -> None:
    broken = f"{fake} only=one later={tmp_path / 'asked'} {words}"
    _, rounds = launched(f"{fake} only=one", broken, rounds=1, limit_s=2.0)
    assert reason in rounds[0].failures["sums / one"][1]


def test_a_test_case_that_nobody_asked_for_holds_nobody_up(fake: str) -> None:
    """Which fails all along, and runs because the side's own words choose it: './tests [a],[b]'."""
    subject, rounds = launched(f"{fake} besides", f"{fake} besides")
    assert were_held(rounds) == {True}
    told = subject.notes("sums / one", 1)
    assert len(told) == 2
    assert all("fails test cases that have no row here: 1, 'besides' first" in note for note in told)


def test_sides_are_held_in_a_sandbox_too(fake: str, tmp_path: Path) -> None:
    try:
        sandbox = sandbox_for([], None, [])
    except TollError as refused:
        pytest.skip(f"no sandbox here: {refused.what}")
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("the interpreter of these tests may lie in a home folder, which a sandbox hides")
    Path(fake).write_text(f"#!{python} -IS\n{FAKE.read_text()}")
    sandbox.show(tmp_path)
    with sandboxed(sandbox):
        _, rounds = launched(fake, fake)
    assert were_held(rounds) == {True}
    assert all(list(found.values) == NAMES for found in rounds)


def test_much_on_standard_error_and_a_closed_output_hold_nobody_up(fake: str) -> None:
    _, rounds = launched(f"{fake} noisy", f"{fake} closes", limit_s=10.0)
    assert were_held(rounds) == {True}
    assert all(list(found.values) == NAMES for found in rounds)


def test_an_interrupt_leaves_nothing_running(fake: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    with Interrupt() as interrupt:
        words = [f"{fake} tells={told} later={tmp_path / number} ms=60000" for number in "ab"]
        _, sides = resolve([WrittenSide(command) for command in words], "catch2")
        subject = Catch2(sides, MeasuringOptions(120.0, interrupt=interrupt))
        names = subject.survey().common

        def interrupted() -> None:
            while not told.exists() or not told.read_text():
                time.sleep(0.01)
            interrupt.request()

        waits = threading.Thread(target=interrupted)
        waits.start()
        with pytest.raises(Interrupted):
            subject.round(names, 1)
        waits.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


@pytest.mark.parametrize(
    ("printed", "benchmark"),
    [
        ('<BenchmarkResults name="a" samples="5" estimatedDuration="1.5">', "a"),
        (
            '..</BenchmarkResults>\n <BenchmarkResults name="b" resamples="9" estimatedDuration="1e+06">',
            "b",
        ),
        ('<BenchmarkResults name="c" estimatedDuration="1">\n', None),  # before 2.11: nothing holds it
        ('<BenchmarkResults name="v&lt;int> &quot;x&quot; &amp;" estimatedDuration="1">', 'v<int> "x" &'),
        ('<BenchmarkResults name="a" samples="5"', None),
        ('<BenchmarkResults name="a" estimatedDuration="1">\n<!--All values in nano seconds-->', None),
        ('<TestCase name="a" estimatedDuration="1">', None),
        ('<BenchmarkResults name="a\tb" estimatedDuration="1">', "a b"),
        ("", None),
    ],
)
def test_what_announces_a_benchmark(printed: str, benchmark: str | None) -> None:
    assert announced(printed.encode()) == benchmark
