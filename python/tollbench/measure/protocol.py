"""Protocol 1 as the runner speaks it: requests out, strictly checked answers in (docs/protocol.md)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tollbench.measure.clock import Clock
from tollbench.measure.launcher import Child, LaunchFailed
from tollbench.measure.process import quoted
from tollbench.store import Samples
from tollbench.text import shown
from tollbench.words import Allocations, Batch, Kind, Status

PROTOCOL = 1
MAX_SAMPLES = 1_000_000  # a request
_MAX_NUMBER = 2**63 - 1  # what the run file can hold
_MAX_NS = 1e18  # 30 years: the analysis refuses a run file with a longer time
_CLOCK_SLACK_NS = 1e6  # a program's clock against the runner's: this much,
_CLOCK_SLACK = 0.01  # and this share of what the runner saw
_MAX_ENTRIES = 64  # of an observed footing, a clock, hardware counts or details
_DETAIL = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_DETAIL = 1e18
_MAX_KEY = 64  # characters of a cell's name

_STATUS_OF_ERROR = {
    "wrong_answer": Status.WRONG_ANSWER,
    "unsupported": Status.UNSUPPORTED,
    "resource": Status.OUT_OF_MEMORY,
    "usage": Status.FAILED,
    "internal": Status.FAILED,
}


@dataclass(frozen=True, slots=True)
class Ready:
    """The program has made its state."""

    setup_ns: int
    clock: Mapping[str, Any]
    footing: Mapping[str, Any]
    warmup_limit_ns: int = 0  # how long this program may be warmed; 0: one warm-up batch is enough


@dataclass(frozen=True, slots=True)
class Timed:
    """The answer to one timed request; `samples` is None for kind "batch"."""

    batch: Batch
    samples: Samples | None


def arguments(workload: str, contender: str, parameters: Mapping[str, object]) -> list[str]:
    """What follows the program's name on its command line."""
    return ["serve", workload, contender, *(f"{name}={value}" for name, value in parameters.items())]


def read_ready(child: Child) -> Ready:
    """The program's first line."""
    fields = _Fields(_message(child, "ready"))
    if fields.whole("protocol") != PROTOCOL:
        raise _failed(f"speaks protocol {fields.whole('protocol')}; this toll speaks protocol {PROTOCOL}")
    return Ready(
        round(fields.number("setup_ns")),
        fields.entries("clock"),
        fields.entries("footing"),
        fields.optional("warmup_limit_ns"),
    )


def ask_timed(
    child: Child,
    kind: Kind,
    count: int,
    layout: int | None,
    answer: int | None,
    clock: Clock,
    details: Container[str] | None = (),
) -> Timed:
    """One timed request of `count` iterations or samples; holds its checksum against the reference answer.

    With `layout` the program makes the contender's state anew first; with None it goes on with what is there.
    `clock` is the runner's own: a program cannot have worked for longer than its answer took to come.
    `details` are those that the workload's suite.toml declares: others fail the launch; None allows any.
    """
    asked_ns = clock.now_ns()
    _send(child, _request(kind, count, layout))
    return _timed(child, kind, count, answer, asked_ns, clock, details)


def ask_warmed(
    child: Child,
    kind: Kind,
    warm_count: int,
    count: int,
    layout: int | None,
    answer: int | None,
    clock: Clock,
    details: Container[str] | None = (),
) -> Timed:
    """`ask_timed` after an untimed request of `warm_count`, on new state with `layout`; sent together.

    The program goes from one to the other without a pause. Sent one after the other, they leave its
    processor idle for half a millisecond in between (measured on a virtual machine of 2 CPUs), so that the
    timed one begins on a processor that sleeps. Nothing of the first answer is looked at before the second
    has come, as that would compete with what is timed.
    """
    asked_ns = clock.now_ns()
    _send(child, _request(kind, warm_count, layout), _request(kind, count, None))
    first, second, failure = child.read_line(), b"", None
    if kind is Kind.BATCH and b'"error"' not in first[:80]:
        try:
            second = child.read_line()
        except LaunchFailed as failed:
            failure = failed  # told after what the first answer says
    _timed(child, kind, warm_count, answer, asked_ns, clock, details, first)
    if failure is not None:
        raise failure
    return _timed(child, kind, count, answer, asked_ns, clock, details, second)


def _request(kind: Kind, count: int, layout: int | None) -> dict[str, object]:
    samples = kind is Kind.SAMPLES
    request: dict[str, object] = {
        "type": "samples" if samples else "batch",
        "count" if samples else "iterations": count,
    }
    return request if layout is None else request | {"layout": layout}


def _timed(
    child: Child,
    kind: Kind,
    count: int,
    answer: int | None,
    asked_ns: int,
    clock: Clock,
    details: Container[str] | None,
    line: bytes = b"",
) -> Timed:
    """Checks the answer to a request that was sent at `asked_ns` or later: `line`, else the next one."""
    samples = kind is Kind.SAMPLES
    fields = _Fields(_parsed(line or child.read_line(), "samples" if samples else "batch"))
    answered_ns = clock.now_ns()
    values = _samples(child, fields, count) if samples else None
    batch = _batch(fields, details)
    _check_amount(batch, count, samples=samples)
    _check_clock(batch, answered_ns - asked_ns)
    _check_answer(fields, batch.iterations, answer)
    return Timed(batch, values)


def ask_allocations(child: Child, iterations: int, answer: int | None) -> Allocations:
    """The untimed counting pass."""
    _send(child, {"type": "allocations", "iterations": iterations})
    fields = _Fields(_message(child, "allocations"))
    if fields.whole("iterations", 1) != iterations:
        raise _failed(f"was asked for {iterations} iterations and counted {fields.whole('iterations')}")
    _check_answer(fields, iterations, answer)
    return Allocations(
        iterations,
        fields.whole("units", 1),
        fields.whole("calls"),
        fields.whole("bytes"),
        fields.whole("peak_bytes"),
    )


def send_stop(child: Child) -> None:
    """Asks the program to end; reads its `stopped`."""
    _send(child, {"type": "stop"})
    _message(child, "stopped")


def _send(child: Child, *requests: Mapping[str, object]) -> None:
    if unread := child.unread():
        raise _failed(f"printed {quoted(unread)} without being asked")
    child.write_line(b"\n".join(json.dumps(request, separators=(",", ":")).encode() for request in requests))


def _message(child: Child, wanted: str) -> dict[str, Any]:
    return _parsed(child.read_line(), wanted)


def _parsed(line: bytes, wanted: str) -> dict[str, Any]:
    try:
        message = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _failed(f"printed {quoted(line)} where a {wanted} message belongs") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise _failed(f"printed {quoted(line)}, which is not a message: it has no type")
    if message["type"] == "error":
        raise _reported(message)
    if message["type"] != wanted:
        raise _failed(f"answered {shown(message['type'], 40)!r} where {wanted!r} belongs")
    return message


def _reported(message: Mapping[str, Any]) -> LaunchFailed:
    kind, text = str(message.get("kind")), shown(str(message.get("message")), 1000)
    if kind not in _STATUS_OF_ERROR:
        return _failed(f"reported an error of the unknown kind {shown(kind, 40)!r}: {text}")
    return LaunchFailed(_STATUS_OF_ERROR[kind], text)


def _samples(child: Child, fields: _Fields, asked: int) -> Samples:
    count, size = fields.whole("count", 1), fields.whole("bytes")
    if fields.text("format") != "<f4" or fields.text("unit") != "ns":
        raise _failed("announced samples that are not nanoseconds in the format '<f4'")
    if count != asked or size != 4 * count:
        raise _failed(f"was asked for {asked} samples and announced {count} in {size} bytes")
    values = np.frombuffer(child.read_exactly(size), dtype="<f4").astype(np.float32, copy=False)
    if not np.isfinite(values).all() or (values < 0).any() or (values > _MAX_NS).any():
        raise _failed("sent samples that are negative or not finite, or longer than 30 years")
    return values


def _batch(fields: _Fields, details: Container[str] | None) -> Batch:
    return Batch(
        iterations=fields.whole("iterations", 1),
        units=fields.whole("units", 1),
        wall_ns=fields.number("wall_ns"),
        cpu_ns=fields.number("cpu_ns"),
        voluntary_switches=fields.whole("voluntary_switches"),
        involuntary_switches=fields.whole("involuntary_switches"),
        minor_faults=fields.whole("minor_faults"),
        major_faults=fields.whole("major_faults"),
        peak_bytes=fields.whole("peak_bytes"),
        checksum=fields.checksum(),
        counters=fields.entries("counters"),
        details=_declared(fields.details(), details),
        cells=fields.cells(),
    )


def _declared(found: Mapping[str, float], details: Container[str] | None) -> Mapping[str, float]:
    for name in found:
        if details is not None and name not in details:
            raise _failed(
                f"sent the detail {name!r}, which the workload's suite.toml does not declare;"
                f" next: add [details.{name}] with title, unit and meaning there"
            )
    return found


def _check_amount(batch: Batch, count: int, *, samples: bool) -> None:
    """Every sample is one operation, so that it is one iteration and one unit of what `per` counts."""
    asked = f"was asked for {count} {'samples' if samples else 'iterations'}"
    if batch.iterations != count:
        raise _failed(f"{asked} and reported {batch.iterations} iterations")
    if samples and batch.units != count:
        raise _failed(f"{asked} and reported {batch.units} units; a sample is one unit")


def _check_clock(batch: Batch, seen_ns: int) -> None:
    if batch.wall_ns > seen_ns * (1 + _CLOCK_SLACK) + _CLOCK_SLACK_NS:
        raise _failed(
            f"says that it worked for {batch.wall_ns / 1e9:.6f} s, but its answer came"
            f" {seen_ns / 1e9:.6f} s after the request: its clock is wrong;"
            " next: C++ programs use another one with TOLL_CLOCK=monotonic"
        )


def _check_answer(fields: _Fields, iterations: int, answer: int | None) -> None:
    if answer is None:
        return
    expected = answer * iterations % 2**64
    if fields.checksum() != expected:
        raise LaunchFailed(
            Status.WRONG_ANSWER,
            f"computed {fields.checksum()} over {iterations} iterations; the right answer is {expected}",
        )


class _Fields:
    """A message's fields, each checked as it is read."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        self._message = message

    def whole(self, name: str, low: int = 0) -> int:
        value = self._message.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= _MAX_NUMBER:
            raise self._bad(name, f"a whole number of at least {low}")
        return value

    def optional(self, name: str) -> int:
        """A whole number, 0 where there is none."""
        return self.whole(name) if name in self._message else 0

    def number(self, name: str) -> float:
        value = self._message.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._bad(name, "a number")
        if not 0 <= value <= _MAX_NS or not math.isfinite(value):
            raise self._bad(name, "a time in nanoseconds: finite, at least 0, at most 30 years")
        return float(value)

    def text(self, name: str) -> str:
        value = self._message.get(name)
        if not isinstance(value, str):
            raise self._bad(name, "text")
        return value

    def checksum(self) -> int:
        text = self.text("checksum")
        if not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) < 2**64):
            raise self._bad("checksum", "an unsigned 64-bit number as decimal text")
        return int(text)

    def entries(self, name: str) -> dict[str, Any]:
        """An object of plain values, bounded, so that it can be stored as it is."""
        value = self._message.get(name, {})
        if not isinstance(value, dict) or len(value) > _MAX_ENTRIES:
            raise self._bad(name, f"an object of at most {_MAX_ENTRIES} entries")
        if not all(_is_plain(item) for item in (*value, *value.values())):
            raise self._bad(name, "an object of plain numbers and short texts")
        return value

    def details(self) -> dict[str, float]:
        """Numbers by name; {} where the program sends none."""
        found = self.entries("details")
        for name, value in found.items():
            if not _DETAIL.fullmatch(name):
                raise self._bad("details", "an object whose names are lower-case letters, digits and '_'")
            if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MAX_DETAIL:
                raise self._bad(
                    "details", f"an object of numbers between -{_MAX_DETAIL:g} and {_MAX_DETAIL:g}"
                )
        return {name: float(value) for name, value in found.items()}

    def cells(self) -> tuple[tuple[str, int], ...]:
        """Which consecutive samples belong to which cell; () where the program says nothing of cells."""
        found = self._message.get("cells", [])
        if not isinstance(found, list) or not all(map(_is_cell, found)):
            raise self._bad(
                "cells", f"a list of {{key: text of at most {_MAX_KEY} characters, count: number}}"
            )
        cells = tuple((cell["key"], cell["count"]) for cell in found)
        if cells and sum(count for _, count in cells) != self.whole("count"):
            raise self._bad("cells", "a list whose counts add up to the number of samples")
        return cells

    def _bad(self, name: str, wanted: str) -> LaunchFailed:
        found = shown(json.dumps(self._message.get(name)), 60)
        return _failed(f"sent {name} = {found} in its {self._message['type']!r}, not {wanted}")


def _is_plain(value: object) -> bool:
    if isinstance(value, str):  # half a surrogate pair can neither be printed nor read back from the file
        return len(value) <= 1000 and not any("\ud800" <= letter <= "\udfff" for letter in value)
    return isinstance(value, int | float) and abs(value) <= _MAX_NUMBER


def _is_cell(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    key, count = value.get("key"), value.get("count")
    named = isinstance(key, str) and 0 < len(key) <= _MAX_KEY and _is_plain(key)
    counted = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_SAMPLES
    return named and counted


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _failed(reason: str) -> LaunchFailed:
    return LaunchFailed(Status.FAILED, reason)
