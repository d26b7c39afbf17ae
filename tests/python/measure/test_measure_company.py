"""Programs that are launched together: who is asked when, and what the failure of one costs the others."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fake_machine import FakeClock, FakeLauncher
from refused_signals import UNSTARTED

from tollbench.analysis import results
from tollbench.interpreters import interpreter, interpreter_with_path
from tollbench.launching.child import Launcher, Limits
from tollbench.launching.clock import SystemClock
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.disturbance import Disturbance
from tollbench.launching.piloting import CaseWork
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.protocol import Unread
from tollbench.launching.starting import Starter
from tollbench.measure.company import LONGEST_TURN_NS, Member, NotHalted, OutOfTime, blocks_of
from tollbench.measure.conversing import LaunchPlace
from tollbench.measure.recording import LaunchOutcome, Recorder
from tollbench.plan import Settings
from tollbench.store import RunFile
from tollbench.words import NOT_HALTED, TURNS_ON_CPU, Kind, Purpose, Status

PROGRAM = Path(__file__).parents[1] / "fakes" / "program.py"
SHORT = CaseWork(iterations=8, batch_ns=0.25e6, warmup=20, begin_ns=4e6)


def member(name: str, number: int, work: CaseWork = SHORT, command: Sequence[str] = ("program",)) -> Member:
    place = LaunchPlace(number, Purpose.MEASURE, 1, number, 100 + number)
    words = Errand.command_of(tuple(command), "a/b", name, {})
    return Member(place, Errand(words, Kind.BATCH, dict(os.environ), answer=7), work)


def real(fault: str, number: int, work: CaseWork = SHORT) -> Member:
    made = member("x", number, work, interpreter("-S", str(PROGRAM)))
    words = (*made.errand.command, f"fault={fault}", "answer=7")
    return Member(made.place, Errand(words, Kind.BATCH, made.errand.environment, answer=7), work)


def together(
    members: Sequence[Member],
    blocks: int = 6,
    launcher: Launcher | None = None,
    time_s: float = 30.0,
    most_blocks: int = 0,
    memory_bytes: int = 0,
) -> dict[int, LaunchOutcome]:
    clock = launcher.clock if isinstance(launcher, FakeLauncher) else SystemClock()
    recorder = Recorder(Starter(launcher or ProcessLauncher(), clock), lambda: Disturbance(0, 0))
    limits = Limits(time_s, memory_bytes)
    found = recorder.together(members, blocks, limits, random.Random(1), most_blocks=most_blocks)
    return {outcome.launch.case_id or 0: outcome for outcome in found}


def timed(outcome: LaunchOutcome) -> int:
    return sum(not batch.warmup for batch in outcome.launch.batches)


class Heard(FakeLauncher):
    """Notes who was asked to do a timed batch, in order."""

    def __init__(self) -> None:
        super().__init__(FakeClock(), lambda *_: 1e4)
        self.asked: list[str] = []

    def start(self, command: Sequence[str], environment: Mapping[str, str], limits: Limits, folder=None):
        child = super().start(command, environment, limits, folder)
        write = child.write_line

        def noting(line: bytes) -> None:
            if line.count(b'"iterations":8}') and line.count(b"\n"):  # an untimed one comes in the same line
                self.asked.append(child.started.contender)
            write(line)

        child.write_line = noting  # type: ignore[method-assign]
        return child


def test_each_block_asks_everybody_once_in_an_order_of_its_own() -> None:
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("with one processor the untimed batch is asked for by itself")
    launcher = Heard()
    found = together([member(name, number) for number, name in enumerate("abc", 1)], 40, launcher)
    blocks = [tuple(launcher.asked[start : start + 3]) for start in range(0, len(launcher.asked), 3)]
    assert len(blocks) == 40
    assert all(sorted(block) == ["a", "b", "c"] for block in blocks)
    assert len(set(blocks)) == 6
    assert all(one != other for one, other in pairwise(launcher.asked)), "who follows himself is warm"
    assert {timed(outcome) for outcome in found.values()} == {40}
    assert launcher.running == 0


class Shared(FakeLauncher):
    """Somebody works on the core while `busy` says so of a program's n-th request."""

    def __init__(
        self,
        busy: Callable[[str, int], bool],
        alone_ns: float = 2000.0,
        *,
        cost_ns: float = 1e4,
    ) -> None:
        super().__init__(FakeClock(), lambda *_: cost_ns)
        self.gauges_ns = lambda name, number: alone_ns * (1.7 if busy(name, number) else 1.0)


@pytest.mark.parametrize(
    ("busy", "blocks"),
    [
        (lambda _, number: False, 4),
        (lambda _, number: 2 < number < 12, 6),  # three requests before the blocks, and two in each
        (lambda name, number: name == "b" and number < 20, 10),
        (lambda name, number: name == "b", 12),  # no more than three times as many
        (lambda _, number: True, 4),  # nobody saw another core
        (lambda name, number: 2 < number < 20 and (number // 2 % 2 == 0) == (name == "b"), 10),  # never both
    ],
)
def test_a_launch_goes_on_until_programs_had_their_core_to_themselves(busy, blocks: int) -> None:
    found = together([member("a", 1), member("b", 2)], 4, Shared(busy), most_blocks=12)
    assert {timed(outcome) for outcome in found.values()} == {blocks}


def test_a_gauge_that_is_longer_by_where_its_code_lies_is_no_shared_core() -> None:
    launcher = Shared(lambda name, number: name == "b" and number == 5)
    alone_ns = launcher.gauges_ns
    launcher.gauges_ns = lambda name, number: (
        alone_ns(name, number) * (1.09 * (1.0 + 0.03 * (number % 2)) if name == "a" else 1.0)
    )
    found = together([member("a", 1), member("b", 2)], 3, launcher, most_blocks=12)
    assert {timed(outcome) for outcome in found.values()} == {3}


def test_batches_that_gauges_do_not_vouch_for_have_their_blocks_and_no_more() -> None:
    launcher = Shared(lambda _, number: number > 2, cost_ns=1e6)
    found = together([member("a", 1), member("b", 2)], 4, launcher, most_blocks=12)
    assert {timed(outcome) for outcome in found.values()} == {4}


def test_programs_that_tell_no_gauge_have_their_blocks_and_no_more() -> None:
    found = together(
        [member("a", 1), member("b", 2)], 4, Shared(lambda *_: True, alone_ns=0.0), most_blocks=12
    )
    assert {timed(outcome) for outcome in found.values()} == {4}


def test_the_warm_up_brings_the_layout_and_is_no_more_than_it_has_to_be() -> None:
    launcher = FakeLauncher(FakeClock(), lambda *_: 1e4)
    found = together([member("a", 1), member("b", 2)], 3, launcher)
    for started in launcher.started:
        assert [request.get("iterations") for request in started.requests[:2]] == [8, 12]
        assert ["layout" in request for request in started.requests] == [True] + [False] * (
            len(started.requests) - 1
        )
    for outcome in found.values():
        shapes = [(batch.iterations, batch.warmup) for batch in outcome.launch.batches]
        assert shapes == [(8, True), (12, True), (8, False), (8, False), (8, False)]
        assert outcome.launch.footing["in_turns_with"] == 1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all that there is")
def test_who_takes_turns_shares_a_cpu_and_who_is_alone_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    where: dict[int, set[int]] = {}
    time_unread = Conversation.time_unread

    def looking(program: Conversation, *arguments: Any) -> Unread:
        where[program.pid] = set(os.sched_getaffinity(program.pid))
        return time_unread(program, *arguments)

    monkeypatch.setattr(Conversation, "time_unread", looking)
    found = together([real("", 1), real("", 2), real("", 3)])
    (cpu,) = {outcome.launch.footing[TURNS_ON_CPU] for outcome in found.values()}
    assert list(where.values()) == [{cpu}] * 3
    (alone,) = together([real("", 1)]).values()
    assert TURNS_ON_CPU not in alone.launch.footing
    for fault, work in (
        ("two_threads", SHORT),
        ("threads_left", SHORT),  # begun once all are tied: they are untied when it is seen at work
        ("", replace(SHORT, unasked=True)),
        ("", replace(SHORT, one_works=False)),
    ):
        where.clear()
        found = together([real("", 1), real(fault, 2, work)])
        assert not any(TURNS_ON_CPU in outcome.launch.footing for outcome in found.values())
        assert list(where.values()) == [os.sched_getaffinity(0)] * 2


def test_each_is_charged_with_its_own_time_alone() -> None:
    launcher = FakeLauncher(FakeClock(), lambda name, _: {"dear": 1e6, "cheap": 1e3}[name])
    before = launcher.clock.ns
    found = together([member("dear", 1), member("cheap", 2)], 5, launcher)
    dear, cheap = found[1].launch, found[2].launch
    assert dear.wall_ns + cheap.wall_ns == pytest.approx(launcher.clock.ns - before, rel=0.01)
    assert dear.wall_ns > 10 * cheap.wall_ns


@pytest.mark.parametrize(
    "fault", ["crash", "exit_at_start", "wrong_answer", "garbage", "nan", "bad_exit_code"]
)
def test_one_that_fails_costs_the_others_nothing(fault: str) -> None:
    found = together([real("none", 1), real(fault, 2), real("none", 3)])
    assert found[2].launch.status is not Status.OK
    assert found[2].launch.reason
    assert found[2].launch.batches == ()
    for number in (1, 3):
        assert found[number].launch.status is Status.OK, found[number].launch.reason
        assert timed(found[number]) == 6


def test_one_that_hangs_uses_up_its_own_time_and_not_that_of_others() -> None:
    began = time.monotonic()
    found = together([real("none", 1), real("hang", 2), real("none", 3)], time_s=2.0)
    assert time.monotonic() - began > 2.0
    assert found[2].launch.status is Status.TIMED_OUT
    assert [found[number].launch.status for number in (1, 3)] == [Status.OK] * 2


def test_one_that_hangs_in_the_end_takes_nobody_with_it() -> None:
    members = [real("none", 1), real("ignores_stop", 2), real("hang_in_the_end", 3), real("none", 4)]
    found = together(members, time_s=2.0)
    assert [found[number].launch.status for number in (1, 2, 4)] == [Status.OK] * 3
    assert found[3].launch.status is Status.TIMED_OUT


@pytest.mark.parametrize("fault", ["memory", "leaks"])
def test_one_that_fills_memory_reaches_its_own_limit_and_nobody_elses(fault: str) -> None:
    """At once, or by and by from turn to turn."""
    found = together([real("none", 1), real(fault, 2), real("none", 3)], 60, memory_bytes=100 << 20)
    assert found[2].launch.status is Status.OUT_OF_MEMORY
    assert "its limit is 100 MiB" in found[2].launch.reason
    assert found[2].launch.batches == ()
    for number in (1, 3):
        assert found[number].launch.status is Status.OK, found[number].launch.reason
        assert timed(found[number]) == 60


class Onlooker(ProcessLauncher):
    """Notes, whenever one is asked for a batch, what the others do (proc_pid_stat(5))."""

    def __init__(self) -> None:
        super().__init__()
        self.pids: list[int] = []
        self.others: list[str] = []

    def start(self, *arguments: object):
        child = super().start(*arguments)  # type: ignore[arg-type]
        self.pids.append(child.pid)
        write = child.write_line

        def noting(line: bytes) -> None:
            if b'"batch"' in line:
                others = [pid for pid in self.pids if pid != child.pid]
                stats = [Path(f"/proc/{pid}/stat").read_text() for pid in others]
                self.others.append("".join(stat.rpartition(")")[2].split()[0] for stat in stats))
            write(line)

        child.write_line = noting  # type: ignore[method-assign]
        return child


def test_threads_that_one_leaves_running_stand_still_while_others_have_their_turn() -> None:
    launcher = Onlooker()
    found = together([real("none", 1), real("threads_left", 2), real("none", 3)], launcher=launcher)
    assert {outcome.launch.status for outcome in found.values()} == {Status.OK}
    assert {timed(outcome) for outcome in found.values()} == {6}
    assert set(launcher.others[:6]) != {"TT"}, "the warm-up, when nobody knows yet"
    assert launcher.others[-3 * 6 :] == ["TT"] * 3 * 6
    assert not any(Path(f"/proc/{pid}").exists() for pid in launcher.pids)


def test_runtimes_that_become_faster_are_warmed_in_long_batches() -> None:
    """A program of 100 ns that becomes one of 10 ns after 5 ms of work, whose pilot saw the quick one."""
    launcher = Compiling()
    found = together([member("a", 1, CaseWork(25_000, 0.25e6, 25_000, 4e6))], 5, launcher)
    timed_ns = [batch.wall_ns / batch.iterations for batch in found[1].launch.batches if not batch.warmup]
    assert timed_ns == [10.0] * 5


class Compiling(FakeLauncher):
    def __init__(self) -> None:
        super().__init__(FakeClock(), lambda *_: 100.0)

    def start(self, command: Sequence[str], environment: Mapping[str, str], limits: Limits, folder=None):
        child = super().start(command, environment, limits, folder)
        child.lines[0] |= {"warmup_limit_ns": 10**9}
        began_ns, write = self.clock.ns, child.write_line

        def compiling(line: bytes) -> None:
            child.cost_ns = 10.0 if self.clock.ns > began_ns + 5e6 else 100.0
            write(line)

        child.write_line = compiling  # type: ignore[method-assign]
        return child


def test_those_who_live_with_one_that_works_unasked_are_halted_out_of_turn() -> None:
    noisy = CaseWork(8, 0.25e6, 20, 4e6, unasked=True)
    states: Counter[str] = Counter()

    class Watching(ProcessLauncher):
        pids: list[int] = []  # noqa: RUF012

        def start(self, *arguments: object):
            for pid in self.pids:
                states[Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]] += 1
            child = super().start(*arguments)  # type: ignore[arg-type]
            self.pids.append(child.pid)
            return child

    found = together([real("none", 1, noisy), real("none", 2), real("none", 3)], launcher=Watching())
    assert all(outcome.launch.status is Status.OK for outcome in found.values())
    assert set(states) == {"T"}, "who was there already stood still while the next one started"
    assert not any(Path(f"/proc/{pid}").exists() for pid in Watching.pids)


def test_who_may_not_be_halted_is_measured_alone_and_the_others_in_turns(tmp_path: Path) -> None:
    """By a toll whose every signal the kernel refuses, with a contender that leaves a thread at work."""
    path, rounds = tmp_path / "r.toll", 3
    script = Path(__file__).with_name("refused_signals.py")
    done = subprocess.run(
        interpreter_with_path(str(script), str(path), str(rounds)),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    if done.returncode == UNSTARTED:
        pytest.skip("no filter of system calls here")
    assert (done.returncode, done.stdout) == (0, '"launches"\n'), done.stderr
    with RunFile.open(path) as run_file:
        launches = {case.contender: run_file.launches(case.id) for case in run_file.cases()}
        found = results(run_file)
    for name, launched in launches.items():
        assert [(one.round, one.status) for one in launched] == [
            (number + 1, Status.OK) for number in range(rounds)
        ]
        assert [one.footing.get("in_turns_with") for one in launched] == [
            None if name == "noisy" else 1
        ] * rounds
    (told,) = (warning for warning in found.warnings if "launched alone" in warning)
    assert "(noisy)" in told
    assert "may not be halted while others have their turn: Operation not permitted" in told
    assert [row.contender for row in found.workloads[0].rows if row.footing.get(NOT_HALTED)] == ["noisy"]


def test_a_refusal_names_those_who_work_out_of_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, though another one was the first that could not be halted."""
    kill = os.killpg

    def refuse(group: int, number: int) -> None:
        if number != signal.SIGKILL:
            raise PermissionError(1, "Operation not permitted")
        kill(group, number)

    monkeypatch.setattr(os, "killpg", refuse)
    with pytest.raises(NotHalted) as caught:
        together([real("none", 1), real("threads_left", 2), real("none", 3), real("threads_left", 4)])
    assert caught.value.sides == (1, 3)
    noisy = CaseWork(8, 0.25e6, 20, 4e6, unasked=True)
    with pytest.raises(NotHalted) as caught:
        together([real("none", 1), real("none", 2, noisy)])
    assert caught.value.sides == (1,)


def test_blocks_are_many_where_starting_is_dear_and_few_where_batches_are() -> None:
    settings = Settings(launch_s=0.1, batches=10)
    cheap, dear = CaseWork(1, 0.25e6, 1, 40e6), CaseWork(1, 30e6, 1, 4e6)
    assert blocks_of([cheap], settings) == 10
    assert blocks_of([SHORT], settings) >= 5
    assert blocks_of([dear], settings) == 3
    assert blocks_of([CaseWork(1, 1e9, 0, 4e6)], settings) == 1
    assert dear.batch_ns > LONGEST_TURN_NS
    assert blocks_of([cheap], Settings(batches=1)) == 1


@pytest.mark.parametrize("ms", [30.0, 36.0, 41.0, 44.0, 50.0])
def test_more_threads_than_processors_have_two_batches_a_launch_however_their_pilot_went(ms: float) -> None:
    """They had one where the pilot was a little slower: rows of one table, beside each other."""
    crowded = CaseWork(9, 1e6 * ms, 1, 4e6, beside_threads=True)
    assert blocks_of([crowded], Settings(launch_s=0.082, batches=10)) == 2
    assert blocks_of([replace(crowded, iterations=1, batch_ns=70e6)], Settings(launch_s=0.082)) == 1


def test_several_that_hang_are_not_waited_for_once_the_time_is_over() -> None:
    members = [real("hang", 1), real("hang", 2), real("hang", 3)]
    recorder = Recorder(Starter(ProcessLauncher(), SystemClock()), lambda: Disturbance(0, 0))
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        recorder.together(
            members, 3, Limits(1.0, 0), random.Random(1), over=lambda: time.monotonic() > began + 1
        )
    assert time.monotonic() - began < 2.5, "one limit, and not three"
