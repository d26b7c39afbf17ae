"""Real programs that misbehave: a fault is a row with a status and a readable reason; nobody survives."""

import errno
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import FakeClock, FakeLauncher

from tollbench.interpreters import interpreter
from tollbench.launching.child import Child, Limits
from tollbench.launching.command import run_command
from tollbench.launching.conversation import Errand
from tollbench.launching.disturbance import Disturbance, read_disturbance
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.guardian import shared_guardian
from tollbench.launching.messages import TimedAnswer, checked
from tollbench.launching.protocol import Terms, Timed, Unread, ask_timed, read_ready
from tollbench.launching.starting import Starter
from tollbench.measure import Interrupt, ProcessLauncher, SystemClock
from tollbench.measure.conversing import LaunchPlace, RecordedConversation
from tollbench.measure.recording import LaunchOutcome, Recorder, Talk, counting
from tollbench.words import Kind, Purpose, Status

PROGRAM = Path(__file__).parents[1] / "fakes" / "program.py"
COMMAND = tuple(interpreter("-S", str(PROGRAM)))
ENVIRONMENT = {**os.environ, "TOLL_TEST_OF": str(os.getpid())}
MARK = f"TOLL_TEST_OF={os.getpid()}".encode()  # other tests may run the same programs at the same time
PLACE = LaunchPlace(1, Purpose.MEASURE, 1, 0, 5)


def timing(program: RecordedConversation) -> None:
    program.time(3, warmup=True)
    program.time(3)
    program.time(3)


def errand(fault: str, kind: Kind = Kind.BATCH, command: tuple[str, ...] = COMMAND) -> Errand:
    arguments = ("serve", "a/b", "x", f"fault={fault}", "answer=7")
    return Errand((*command, *arguments), kind, ENVIRONMENT, answer=7, details=frozenset())


def recorded(
    errand: Errand,
    talk: Talk,
    time_s: float = 60.0,
    memory_bytes: int = 0,
    interrupt: Interrupt | None = None,
) -> LaunchOutcome:
    recorder = Recorder(Starter(ProcessLauncher(interrupt), SystemClock()), lambda: Disturbance(0, 0))
    return recorder.launch(PLACE, errand, Limits(time_s, memory_bytes), talk)


def told(fault: str, kind: Kind = Kind.BATCH) -> LaunchOutcome:
    declared = replace(errand(fault, kind), details=frozenset({"share", "drift"}))
    return recorded(declared, timing)


def test_declared_details_are_kept_with_their_batch() -> None:
    outcome = told('details:{"share": 1, "drift": -2.5}')
    assert outcome.launch.status is Status.OK, outcome.launch.reason
    assert [batch.details for batch in outcome.launch.batches] == [{"share": 1.0, "drift": -2.5}] * 3


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ('{"shares": 1}', "add [details.shares] with title, unit and meaning there"),
        ('{"share": "much"}', "sent details = "),
        ('{"share": true}', "an object of numbers"),
        ('{"share": 1e999}', "where a batch message belongs"),
        ('{"share": 2e18}', "an object of numbers between -1e+18 and 1e+18"),
        ('{"A b": 1}', "whose names are lower-case letters"),
        ("[1]", "an object of at most 64 entries"),
        (json.dumps({f"a{number}": 1 for number in range(65)}), "an object of at most 64 entries"),
    ],
)
def test_details_that_nobody_can_read(details: str, words: str) -> None:
    outcome = told(f"details:{details}")
    assert outcome.launch.status is Status.FAILED
    assert words in outcome.launch.reason
    assert not outcome.launch.batches


def test_cells_are_kept_with_their_batch() -> None:
    outcome = told('cells:[{"key": "0>1", "count": 1}, {"key": "1>0", "count": 2}]', Kind.SAMPLES)
    assert outcome.launch.status is Status.OK, outcome.launch.reason
    assert outcome.launch.batches[1].cells == (("0>1", 1), ("1>0", 2))


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ('[{"key": "0>1", "count": 2}]', "counts add up to the number of samples"),
        ('[{"key": "0>1", "count": -1}, {"key": "a", "count": 4}]', "a list of {key: text"),
        ('[{"key": 1, "count": 3}]', "a list of {key: text"),
        ('[{"key": "0>1", "count": true}, {"key": "a", "count": 2}]', "a list of {key: text"),
        ('{"0>1": 3}', "a list of {key: text"),
    ],
)
def test_cells_that_fit_no_samples(cells: str, words: str) -> None:
    outcome = told(f"cells:{cells}", Kind.SAMPLES)
    assert outcome.launch.status is Status.FAILED
    assert words in outcome.launch.reason


def launch(fault: str, kind: Kind = Kind.BATCH, **limits: float) -> LaunchOutcome:
    return recorded(errand(fault, kind), timing, **limits)  # type: ignore[arg-type]


def processes() -> set[int]:
    """Programs of this test process that are alive (a zombie has no environment)."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if MARK in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def _nobody_survives() -> Iterator[None]:
    shared_guardian()  # which stays
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    before = processes()
    yield
    deadline = time.monotonic() + 60
    while processes() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes() - before == set()
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_a_sound_launch() -> None:
    outcome = launch("none")
    assert (outcome.launch.status, outcome.launch.reason) == (Status.OK, "")
    assert [(batch.iterations, batch.warmup) for batch in outcome.launch.batches] == [
        (3, True),
        (3, False),
        (3, False),
    ]
    assert outcome.launch.setup_ns == 50_000
    assert outcome.launch.footing == {"threads": 1}
    assert outcome.launch.overhead_ns is not None
    assert outcome.launch.wall_ns > outcome.launch.overhead_ns > 0


def test_sound_samples_and_allocations() -> None:
    outcome = launch("none", Kind.SAMPLES)
    first, together = outcome.samples[1], outcome.timed_samples()
    assert first is not None
    assert first.parts[0].values.tolist() == [100.0, 101.0, 102.0]
    assert together is not None
    assert [part.parts[0].expanded().tolist() for part in together] == [[100.0, 101.0, 102.0]] * 2
    counted = recorded(errand("none"), counting(4)).launch.allocations
    assert counted is not None
    assert (counted.iterations, counted.calls, counted.peak_bytes) == (4, 12, 16)


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (
            "garbage",
            Status.FAILED,
            r"printed '\x1b[31mSegmentation \xff\xfe fault, hello' where a ready message",
        ),
        ("deep_json", Status.FAILED, "printed '[[["),
        ("protocol_2", Status.FAILED, "speaks protocol 2; this toll speaks protocol 1"),
        ("negative_setup", Status.FAILED, "sent setup_ns = -5"),
        (
            "exit_at_start",
            Status.FAILED,
            "exited with code 127 in the middle of its work; its last words: cannot find",
        ),
        ("error_unsupported", Status.UNSUPPORTED, "this machine has no second CPU"),
        ("error_resource", Status.OUT_OF_MEMORY, "could not start thread 4097"),
        ("flood", Status.FAILED, "printed a line longer than 1 MiB, which starts 'xxxx"),
        ("flood_lines", Status.FAILED, "without being asked"),
        ("flood_stderr", Status.FAILED, "printed more than 64 MiB"),
        ("crash", Status.FAILED, "crashed with SIGSEGV; its last words: about to fall"),
        ("abort", Status.FAILED, "crashed with SIGABRT"),
        ("exit_half_way", Status.FAILED, "exited with code 3 in the middle"),
        ("half_a_line", Status.FAILED, "exited with code 0 in the middle"),
        ("closes_output", Status.FAILED, "closed its output and went on running"),
        ("wrong_answer", Status.WRONG_ANSWER, "computed 41 over 3 iterations; the right answer is 21"),
        ("nan", Status.FAILED, "where a batch message belongs"),
        ("negative", Status.FAILED, "sent wall_ns = -1.0"),
        # What the reader of a run file refuses must not get into one: it would cost all the others' numbers.
        ("aeons", Status.FAILED, "sent cpu_ns = 2e+18"),
        ("half_a_letter", Status.FAILED, 'sent footing = {"threads": "\\ud800"} in its'),
        ("huge_number", Status.FAILED, "where a batch message belongs"),
        ("fast_clock", Status.FAILED, "says that it worked for 3600.000000 s, but its answer came "),
        ("no_units", Status.FAILED, "sent units = 0"),
        ("unknown_type", Status.FAILED, "answered 'surprise' where 'batch' belongs"),
        ("valid_then_garbage", Status.FAILED, "and now for something else"),
        ("talks_after_stop", Status.FAILED, "printed 'goodbye\\n' after its last answer"),
        ("crashes_at_exit", Status.FAILED, "crashed with SIGABRT while stopping"),
        ("bad_exit_code", Status.FAILED, "exited with code 4 after stopping"),
    ],
)
def test_fault(fault: str, status: Status, words: str) -> None:
    outcome = launch(fault)
    assert outcome.launch.status is status
    assert words in outcome.launch.reason
    assert outcome.launch.reason.isprintable()
    assert outcome.launch.batches == ()  # no number of a failed launch is kept
    assert outcome.samples == ()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("huge_samples", "was asked for 3 samples and announced 3 in 1099511627776 bytes"),
        ("more_samples", "was asked for 3 samples and announced 4"),
        ("other_iterations", "was asked for 3 samples and reported 5 iterations"),
        ("other_units", "was asked for 3 samples and reported 6 units; a sample is one unit"),
        ("fast_clock", "its clock is wrong"),
        ("nan_samples", "negative or not finite"),
        ("aeons_of_samples", "longer than 30 years"),
        ("half_the_samples", "exited with code 0 in the middle"),
    ],
)
def test_faulty_samples(fault: str, words: str) -> None:
    outcome = launch(fault, Kind.SAMPLES)
    assert outcome.launch.status is Status.FAILED
    assert words in outcome.launch.reason


@pytest.mark.parametrize(("boast_ns", "believed"), [(0.0, True), (1.9e6, True), (2.1e6, False)])
def test_a_programs_clock_may_differ_by_1_ms_and_1_percent(boast_ns: float, believed: bool) -> None:
    """Over 100 ms: by 2 ms."""
    launcher = FakeLauncher(FakeClock(), lambda *_: 1e6)
    launcher.boast_ns = boast_ns
    child = launcher.start(("x", "serve", "a/b", "x"), {}, Limits(10.0, 0))
    read_ready(child)
    if believed:
        assert (
            ask_timed(child, Terms(Kind.BATCH, launcher.clock, 7), 100, None).batch.wall_ns == 1e8 + boast_ns
        )
    else:
        with pytest.raises(LaunchFailed, match=r"worked for 0\.102100 s, .* 0\.100000 s after the request"):
            ask_timed(child, Terms(Kind.BATCH, launcher.clock, 7), 100, None)


def ask_warmed(child: Child, terms: Terms, warm: int, count: int, layout: int) -> Timed:
    unread = Unread(child, terms)
    unread.ask((warm, layout), (count, None))
    return unread.timed()


def test_the_untimed_request_and_the_timed_one_are_sent_together() -> None:
    launcher = FakeLauncher(FakeClock(), lambda *_: [1e3, 1e6])
    child = launcher.start(("p", "serve", "w", "x"), {}, Limits(60.0, 0))
    read_ready(child)
    sent: list[bytes] = []
    forward = child.write_line

    def noting(line: bytes) -> None:
        sent.append(line)
        forward(line)

    child.write_line = noting  # type: ignore[method-assign]
    timed = ask_warmed(child, Terms(Kind.BATCH, launcher.clock, 7), 2, 16, 5)
    assert (len(sent), timed.batch.iterations, timed.batch.wall_ns) == (1, 16, 16e6)
    assert [request.get("layout") for request in launcher.started[0].requests] == [5, None]


def test_a_wrong_answer_to_the_untimed_request_is_told() -> None:
    launcher = FakeLauncher(FakeClock(), lambda *_: 1e3, answer=8)
    child = launcher.start(("p", "serve", "w", "x"), {}, Limits(60.0, 0))
    read_ready(child)
    with pytest.raises(LaunchFailed, match="16"):
        ask_warmed(child, Terms(Kind.BATCH, launcher.clock, 7), 2, 16, 5)


def test_who_dies_between_the_two_answers_is_told_after_what_the_first_one_says() -> None:
    for answer, words in ((7, "crashed with SIGSEGV"), (8, "the right answer is 14")):
        launcher = FakeLauncher(FakeClock(), lambda *_: 1e3, answer=answer)
        child = launcher.start(("p", "serve", "w", "x"), {}, Limits(60.0, 0))
        read_ready(child)
        answers = iter((child.read_line,))

        def dying(answers: Iterator[Callable[[], bytes]] = answers) -> bytes:
            for read in answers:
                return read()
            raise LaunchFailed("crashed with SIGSEGV")

        child.read_line = dying  # type: ignore[method-assign]
        with pytest.raises(LaunchFailed, match=words):
            ask_warmed(child, Terms(Kind.BATCH, launcher.clock, 7), 2, 16, 5)


@pytest.mark.parametrize("fault", ["hang", "hang_at_start", "child_hangs_too"])
def test_hang_is_killed_at_the_limit(fault: str) -> None:
    outcome = launch("hang" if fault == "child_hangs_too" else fault, time_s=0.4)
    assert outcome.launch.status is Status.TIMED_OUT
    assert "did not end within its limit of 0.4 s" in outcome.launch.reason
    assert outcome.launch.wall_ns >= 0.4e9


def test_children_of_a_program_are_killed_with_it() -> None:
    outcome = launch("child_hangs")
    assert outcome.launch.status is Status.OK  # the fixture looks for the child


def test_memory_limit_counts_what_is_resident() -> None:
    outcome = launch("memory", memory_bytes=150 * 2**20)
    assert outcome.launch.status is Status.OUT_OF_MEMORY
    assert "its limit is 150 MiB" in outcome.launch.reason


def test_ignored_stop_keeps_the_numbers_and_says_so() -> None:
    outcome = launch("ignores_stop")
    assert outcome.launch.status is Status.OK
    assert "ignored the request to stop and was killed" in outcome.launch.reason
    assert len(outcome.launch.batches) == 3


def test_slow_start_is_no_fault() -> None:
    outcome = launch("slow_start")
    assert outcome.launch.status is Status.OK
    assert outcome.launch.overhead_ns is not None
    assert outcome.launch.overhead_ns >= 0.3e9


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/nowhere/program",), "could not be started: No such file or directory: /nowhere/program"),
        (("/etc/passwd",), "could not be started: Permission denied: /etc/passwd"),
        (("/bin/true",), "exited with code 0 in the middle of its work"),
        (("/bin/sh", "-c", "kill -9 $$"), "crashed with SIGKILL (the machine may have run out of memory"),
    ],
)
def test_programs_that_are_none(command: tuple[str, ...], words: str) -> None:
    outcome = recorded(errand("none", command=command), timing)
    assert outcome.launch.status is Status.FAILED
    assert words in outcome.launch.reason


def test_a_program_that_never_reads_is_not_waited_for() -> None:
    # Closed before it says ready: closed after, the request may have gone into the pipe already, and toll
    # waits.
    script = 'exec 0<&-; echo \'{"type":"ready","protocol":1,"setup_ns":1}\'; sleep 3600'
    outcome = recorded(errand("none", command=("/bin/sh", "-c", script)), timing)
    assert outcome.launch.status is Status.FAILED
    assert "closed its" in outcome.launch.reason or "does not read" in outcome.launch.reason


def test_interrupt_ends_the_program_at_once() -> None:
    with Interrupt() as interrupt:
        previous = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(Interrupted):
                recorded(errand("hang"), timing, interrupt=interrupt)
        finally:
            signal.signal(signal.SIGALRM, previous)
        assert interrupt.requested


def test_interrupt_gives_the_handlers_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) is before


def test_this_machine_tells_about_disturbance(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 12 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    (tmp_path / "pressure" / "cpu").write_text(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=345\nfull total=1\n"
    )
    tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
    assert read_disturbance(tmp_path) == Disturbance(12 * tick_ns, 345_000)
    assert read_disturbance(tmp_path / "absent") == Disturbance(None, None)
    assert Disturbance(5, None).since(Disturbance(7, 3)) == Disturbance(0, None)


def test_cells_belong_to_samples_alone() -> None:
    """A batch has none: what a program says of them there is not kept."""
    message = {
        "type": "batch", "iterations": 3, "units": 3, "wall_ns": 1.0, "cpu_ns": 1, "voluntary_switches": 0,
        "involuntary_switches": 0.0, "minor_faults": 0, "major_faults": 0, "peak_bytes": 1, "checksum": "21",
        "cells": [{"key": "0>1", "count": 99}],
    }  # fmt: skip
    assert checked(TimedAnswer, message).batch().cells == ()
    for field, value in (
        ("wall_ns", True),
        ("wall_ns", "1.0"),
        ("units", True),
        ("units", 1.5),
        ("units", "3"),
    ):
        with pytest.raises(LaunchFailed, match=f"sent {field} = "):
            checked(TimedAnswer, message | {field: value})
    del message["checksum"]
    with pytest.raises(LaunchFailed, match="sent checksum = null in its 'batch', not an unsigned 64-bit"):
        checked(TimedAnswer, message)


def test_another_protocol_is_named_before_its_fields() -> None:
    script = 'echo \'{"type":"ready","protocol":2,"made_in_ns":1}\'; sleep 3600'
    outcome = recorded(errand("none", command=("/bin/sh", "-c", script)), timing)
    assert outcome.launch.reason == "speaks protocol 2; this toll speaks protocol 1"


def test_a_process_that_cannot_be_watched_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    outcome = launch("none")  # the fixture looks for whoever is left
    assert outcome.launch.reason == "cannot be watched: Too many open files"


def test_a_process_that_was_reaped_before_it_could_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_pid: int) -> int:
        raise ProcessLookupError(errno.ESRCH, "No such process")

    monkeypatch.setattr(os, "pidfd_open", gone)
    assert "SIGCHLD is ignored" in launch("none").launch.reason


def test_a_parent_that_had_toll_ignore_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        outcome = launch("none")
        with pytest.raises(LaunchFailed, match="SIGCHLD is ignored"):
            run_command(["/bin/false"], {}, Path("/"), 60.0)
    finally:
        signal.signal(signal.SIGCHLD, previous)
    assert outcome.launch.status is Status.FAILED  # who knows whether it crashed
    assert "SIGCHLD is ignored" in outcome.launch.reason
