"""Bytes that a stranger may have changed: edits of a good answer, drawn and made smaller by Hypothesis.

How many are tried is TOLL_FUZZ_EXAMPLES for each reader (docs/security.md).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tollbench.counting.image import Unreadable
from tollbench.launching.failure import LaunchFailed
from tollbench.linking.programs import NoProgram

EXAMPLES = int(os.environ.get("TOLL_FUZZ_EXAMPLES", "150"))
HANGS_AFTER_S = 60.0  # of CPU time, for one answer of some kilobytes: no measure of speed
LONGEST_S = 300 + EXAMPLES  # of one test: an answer without an end is told much earlier
many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)
slow = settings(many, max_examples=max(1, EXAMPLES // 3))  # of files that are compiled: each takes longer

# What readers of numbers, names and nested things stumble over, whatever the format.
TOKENS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r\n",
    b" " * 4000,
    b"9" * 400,
    b"9" * 5000,
    b"-1",
    b"0",
    b"1e999",
    b"1e-999",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"nan",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'["a"]',
    b'{"a":1}',
    b"[" * 20000,
    b'{"a":' * 20000,
    b'"\\ud800"',
    b'"',
    b"\\",
    b"18446744073709551616",
    b"0x" + b"f" * 300,
    b"\xd9\xa3",
    b"\xc2\xb2",
    b"\xe2\x80\xae",
    b"A" * 70000,
)
XML_TOKENS = (
    b"<Section name='a'>" * 3000,
    b'<?xml version="1.0" encoding="UTF-7"?>',
    b'<?xml version="1.0" encoding="x"?>',
    b"\xff\xfe<\0",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b"&#0;",
    b"</TestCase>",
    b"<TestCase>",
    b"<![CDATA[",
    b"<!--",
    b"<BenchmarkResults>",
    b'<mean value="1e999"/>',
)
WORDS = (b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\0" * 8, b"\x80" * 64, b"\x01\0\0\0", b"\xff\xff\xff\x7f")


class Edit(NamedTuple):
    """One change: what stands at `place` (a share of the whole) for `size` bytes becomes `text`."""

    place: float
    size: int
    text: bytes
    repeat: int  # how often what stood there stands there afterwards, behind `text`


def edits(tokens: Sequence[bytes] = TOKENS) -> st.SearchStrategy[list[Edit]]:
    """A few of them, the simplest first."""
    one = st.builds(
        Edit,
        st.floats(0.0, 1.0),
        st.one_of(st.integers(0, 8), st.integers(0, 2000)),
        st.one_of(st.sampled_from(tokens), st.binary(max_size=8)),
        st.sampled_from((0, 0, 0, 1, 2, 300)),
    )
    return st.lists(one, min_size=1, max_size=4)


def edited(data: bytes, changes: Sequence[Edit]) -> bytes:
    """`data` with them made, one after another."""
    for change in changes:
        at = round(change.place * len(data))
        there = data[at : at + change.size]
        data = data[:at] + change.text + there * change.repeat + data[at + change.size :]
    return data


def overwritten(data: bytes, changes: Sequence[Edit]) -> bytes:
    """The same for formats whose places are told by numbers: nothing moves."""
    for change in changes:
        at = round(change.place * len(data))
        text = change.text[:64]
        data = (data[:at] + text + data[at + len(text) :])[: len(data)]
    return data


def refused(work: Callable[..., object], *arguments: object) -> str:
    """Why an answer was not taken; "" where it was. Any other error than a reader's own is raised."""
    try:
        with ending():
            work(*arguments)
    except (LaunchFailed, Unreadable, NoProgram) as failure:
        return str(failure)
    return ""


class Hangs(BaseException):
    """Passes by whatever takes errors for answers."""


@contextmanager
def ending() -> Iterator[None]:
    """Raises Hangs in what takes a minute of the processor's time over one answer."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Hangs

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANGS_AFTER_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
