"""Protocol 1 as toll speaks it: requests out, answers in, held against what was asked (docs/protocol.md)."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tollbench.launching.child import Child
from tollbench.launching.clock import Clock
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.messages import (
    MAX_NS,
    AllocationsAnswer,
    Ready,
    SamplesAnswer,
    TimedAnswer,
    checked,
)
from tollbench.launching.spawned import quoted
from tollbench.store import Samples
from tollbench.text import shown
from tollbench.words import Allocations, Batch, Kind, Status

PROTOCOL = 1
_ERROR_WITHIN = 80  # bytes of an answer: {"type": "error"
_CLOCK_SLACK_NS = 1e6  # a program's clock against toll's: this much,
_CLOCK_SLACK = 0.01  # and this share of what toll saw

_STATUS_OF_ERROR = {
    "wrong_answer": Status.WRONG_ANSWER,
    "unsupported": Status.UNSUPPORTED,
    "resource": Status.OUT_OF_MEMORY,
    "usage": Status.FAILED,
    "internal": Status.FAILED,
}


@dataclass(frozen=True, slots=True)
class Timed:
    """The answer to one timed request; `samples` is None for kind "batch"."""

    batch: Batch
    samples: Samples | None


@dataclass(frozen=True, slots=True)
class Terms:
    """What timed answers are held against.

    `clock` is toll's own: a program cannot have worked for longer than its answer took to come. `answer` is
    that of one iteration, None: not checked. `details` are those that the workload's suite.toml declares: any
    other fails the launch; None allows all.
    """

    kind: Kind
    clock: Clock
    answer: int | None = None
    details: Container[str] | None = ()


def arguments(workload: str, contender: str, parameters: Mapping[str, object]) -> list[str]:
    """What follows the program's name on its command line."""
    return ["serve", workload, contender, *(f"{name}={value}" for name, value in parameters.items())]


def read_ready(child: Child) -> Ready:
    """The program's first line."""
    message = _parsed(child.read_line(), "ready")
    spoken = message.get("protocol")
    if isinstance(spoken, int) and spoken != PROTOCOL:  # before its fields, which may be others
        raise LaunchFailed(f"speaks protocol {spoken}; this toll speaks protocol {PROTOCOL}")
    return checked(Ready, message)


class Unread:
    """Timed requests of one program whose answers have come, and that nobody has looked at yet.

    A look takes as long as half a short batch, and would compete with what is timed. So programs that take
    turns are all asked first.
    """

    def __init__(self, child: Child, terms: Terms) -> None:
        self._child = child
        self._terms = terms
        self._come: list[tuple[int, bytes, int]] = []  # asked for how much; the line; in how many ns it came
        self._last: Timed | None = None

    def ask(self, *requests: tuple[int, int | None]) -> None:
        """Sends requests (iterations or samples, layout) together; returns when all answers have come.

        With a layout the program makes the contender's state anew first; with None it goes on with what is
        there. It goes from one request to the other without a pause. Sent one after the other, they leave its
        processor idle for half a millisecond in between (measured on a virtual machine of 2 CPUs), so that
        the timed one begins on a processor that sleeps.
        """
        asked_ns = self._terms.clock.now_ns()
        _send(self._child, *(_request(self._terms.kind, count, layout) for count, layout in requests))
        for count, _ in requests:
            try:
                line = self._child.read_line()
            except LaunchFailed:
                self.check()  # what an earlier answer says is told first
                raise
            self._come.append((count, line, self._terms.clock.now_ns() - asked_ns))
            # An error is the last answer of a program; samples follow their line, which says how many.
            if self._terms.kind is Kind.SAMPLES or b'"error"' in line[:_ERROR_WITHIN]:
                self.check()

    def check(self) -> None:
        """Holds what has come against what was asked. Raises LaunchFailed."""
        for count, line, seen_ns in self._come:
            self._last = _timed(self._child, self._terms, count, seen_ns, line)
        self._come.clear()

    def timed(self) -> Timed:
        """The last answer, once all are checked. Raises LaunchFailed."""
        self.check()
        assert self._last is not None, "ask() comes first"
        return self._last


def ask_timed(child: Child, terms: Terms, count: int, layout: int | None) -> Timed:
    """One timed request of `count` iterations or samples."""
    unread = Unread(child, terms)
    unread.ask((count, layout))
    return unread.timed()


def ask_allocations(child: Child, iterations: int, answer: int | None) -> Allocations:
    """The untimed counting pass."""
    _send(child, b'{"type":"allocations","iterations":%d}' % iterations)
    counted = checked(AllocationsAnswer, _parsed(child.read_line(), "allocations"))
    if counted.iterations != iterations:
        raise LaunchFailed(f"was asked for {iterations} iterations and counted {counted.iterations}")
    _check_answer(counted.checksum, iterations, answer)
    return Allocations(iterations, counted.units, counted.calls, counted.bytes, counted.peak_bytes)


def send_stop(child: Child) -> None:
    """Asks the program to end; reads its `stopped`."""
    _send(child, b'{"type":"stop"}')
    _parsed(child.read_line(), "stopped")


def _request(kind: Kind, count: int, layout: int | None) -> bytes:
    wanted = b'"samples","count"' if kind is Kind.SAMPLES else b'"batch","iterations"'
    anew = b"" if layout is None else b',"layout":%d' % layout
    return b'{"type":%b:%d%b}' % (wanted, count, anew)


def _timed(child: Child, terms: Terms, count: int, seen_ns: int, line: bytes) -> Timed:
    """Checks the answer `line`, which came so long after its request at most."""
    sampled = terms.kind is Kind.SAMPLES
    message = _parsed(line, "samples" if sampled else "batch")
    answer = checked(SamplesAnswer if sampled else TimedAnswer, message)
    values = _samples(child, answer, count) if isinstance(answer, SamplesAnswer) else None
    _check_details(answer.details, terms.details)
    _check_amount(answer, count, samples=sampled)
    _check_clock(answer.wall_ns, seen_ns)
    _check_answer(answer.checksum, answer.iterations, terms.answer)
    return Timed(answer.batch(), values)


def _send(child: Child, *requests: bytes) -> None:
    if unread := child.unread():
        raise LaunchFailed(f"printed {quoted(unread)} without being asked")
    child.write_line(b"\n".join(requests))


def _parsed(line: bytes, wanted: str) -> dict[str, Any]:
    try:
        message = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise LaunchFailed(f"printed {quoted(line)} where a {wanted} message belongs") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise LaunchFailed(f"printed {quoted(line)}, which is not a message: it has no type")
    if message["type"] == "error":
        raise _reported(message)
    if message["type"] != wanted:
        raise LaunchFailed(f"answered {shown(message['type'], 40)!r} where {wanted!r} belongs")
    return message


def _reported(message: Mapping[str, Any]) -> LaunchFailed:
    kind, text = str(message.get("kind")), shown(str(message.get("message")), 1000)
    if kind not in _STATUS_OF_ERROR:
        return LaunchFailed(f"reported an error of the unknown kind {shown(kind, 40)!r}: {text}")
    return LaunchFailed(text, _STATUS_OF_ERROR[kind])


def _samples(child: Child, told: SamplesAnswer, asked: int) -> Samples:
    if told.format != "<f4" or told.unit != "ns":
        raise LaunchFailed("announced samples that are not nanoseconds in the format '<f4'")
    if told.count != asked or told.bytes != 4 * told.count:
        raise LaunchFailed(f"was asked for {asked} samples and announced {told.count} in {told.bytes} bytes")
    values = np.frombuffer(child.read_exactly(told.bytes), dtype="<f4").astype(np.float32, copy=False)
    if not np.isfinite(values).all() or (values < 0).any() or (values > MAX_NS).any():
        raise LaunchFailed("sent samples that are negative or not finite, or longer than 30 years")
    return values


def _check_details(found: Mapping[str, float], declared: Container[str] | None) -> None:
    for name in found:
        if declared is not None and name not in declared:
            raise LaunchFailed(
                f"sent the detail {name!r}, which the workload's suite.toml does not declare;"
                f" next: add [details.{name}] with title, unit and meaning there"
            )


def _check_amount(answer: TimedAnswer, count: int, *, samples: bool) -> None:
    """Every sample is one operation, so that it is one iteration and one unit of what `per` counts."""
    asked = f"was asked for {count} {'samples' if samples else 'iterations'}"
    if answer.iterations != count:
        raise LaunchFailed(f"{asked} and reported {answer.iterations} iterations")
    if samples and answer.units != count:
        raise LaunchFailed(f"{asked} and reported {answer.units} units; a sample is one unit")


def _check_clock(wall_ns: float, seen_ns: int) -> None:
    if wall_ns > seen_ns * (1 + _CLOCK_SLACK) + _CLOCK_SLACK_NS:
        raise LaunchFailed(
            f"says that it worked for {wall_ns / 1e9:.6f} s, but its answer came"
            f" {seen_ns / 1e9:.6f} s after the request: its clock is wrong;"
            " next: C++ programs use another one with TOLL_CLOCK=monotonic"
        )


def _check_answer(checksum: int, iterations: int, answer: int | None) -> None:
    if answer is None:
        return
    expected = answer * iterations % 2**64
    if checksum != expected:
        raise LaunchFailed(
            f"computed {checksum} over {iterations} iterations; the right answer is {expected}",
            Status.WRONG_ANSWER,
        )


def _no_constant(name: str) -> float:
    raise ValueError(name)
