"""Whatever stands in a file that somebody else made: a sound result or a TollError, and nothing else.

Run files, a comparison's raw file, a stored baseline, suite.toml and published.toml, messages of protocol 1.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Made, make_run
from stranger import VALUES, Edit, edited, edits, many, with_tokens

from checkouts import ROOT
from tollbench import analysis
from tollbench.catalog import suites
from tollbench.compare import baselines
from tollbench.compare.stored import StoredComparison
from tollbench.errors import TollError
from tollbench.launching import protocol
from tollbench.launching.child import End
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.protocol import Terms
from tollbench.report import csv, markdown
from tollbench.report import json as as_json
from tollbench.report.comparisons.comparison_formats import RENDERERS as OF_COMPARISON
from tollbench.store import RunFile
from tollbench.words import Kind


def sound_or_refused(read: Callable[[], object]) -> None:
    """Any other exception fails. A refusal names what to do next and steers no terminal."""
    try:
        read()
    except TollError as error:
        told = (error.what, error.next_step)
    else:
        return
    assert all(told)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def run_file(folder: Path) -> bytes:
    path = folder / "sound.toll"
    make_run(path, [Made("quick", [10.0, 11.0, 12.0] * 3), Made("slow", [20.0, 21.0, 22.0] * 3)])
    return path.read_bytes()


def show_run(path: Path) -> None:
    """Everything but the page, whose renderer takes a second."""
    with RunFile.open(path) as opened:
        results = analysis.results(opened)
    for render in (csv.render, as_json.render, markdown.render):
        assert render(results)


@many
@given(changes=edits())
def test_bytes_of_a_run_file(folder: Path, run_file: bytes, changes: list[Edit]) -> None:
    path = folder / "bytes.toll"
    path.write_bytes(edited(run_file, changes))
    sound_or_refused(lambda: show_run(path))


@pytest.fixture(scope="module")
def cells(folder: Path, run_file: bytes) -> list[tuple[str, str]]:
    """Every column of every table."""
    with sqlite3.connect(folder / "sound.toll") as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return [
            (table, row[1])
            for (table,) in tables
            for row in connection.execute(f'PRAGMA table_info("{table}")')
        ]


@many
@given(data=st.data())
def test_cells_of_a_run_file(folder, run_file: bytes, cells: list[tuple[str, str]], data) -> None:
    """What the file format itself survives: values of any type at any place."""
    path = folder / "cells.toll"
    path.write_bytes(run_file)
    value = st.one_of(
        st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=20),
        st.binary(max_size=16),
        st.sampled_from(VALUES).map(lambda each: each.decode("latin-1")),
    )  # fmt: skip
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for table, column in data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=3)):
        try:
            connection.execute(f'UPDATE "{table}" SET "{column}" = ?', (data.draw(value),))
        except (sqlite3.Error, UnicodeEncodeError):  # a type that the column does not take
            continue
    connection.close()
    sound_or_refused(lambda: show_run(path))


HEADER = {"toll_compare": 1, "kind": "command", "sides": ["a", "b"], "level": 0.95, "threshold": 0.01}
SURVEY = {"survey": {"sides_of": {"x": [1]}, "missing": {"y": ["b"]}}}


def round_of(number: int) -> Mapping[str, object]:
    values = {"x": [100.0 + number % 3, 110.0 + number % 5]}
    return {
        "measurement": 1, "round": number, "values": values, "order": {"x": [0, 1]},
        "looks": {"x": 0.1 * number}, "done": ["x"] if number == 9 else [], "seconds": {"x": 0.5},
    }  # fmt: skip


RAW = "".join(json.dumps(each) + "\n" for each in (HEADER, SURVEY, *map(round_of, range(10)))).encode()
RAW_TOKENS = [
    b'"x"',
    b"[1]",
    b"[0, 1]",
    b"0.95",
    b'"a"',
    b"100.0",
    b"1",
    b'["a", "b"]',
    b'"order"',
    b'"looks"',
]


def show_comparison(path: Path) -> None:
    stored = StoredComparison.read(path)
    list(stored.launches())
    for name in ("json", "markdown", "junit"):
        assert OF_COMPARISON[name](stored.comparisons)


def test_the_sound_raw_file_is_read(folder: Path) -> None:
    path = folder / "raw.jsonl"
    path.write_bytes(RAW)
    show_comparison(path)


@many
@given(changes=edits(), tokens=st.booleans())
def test_raw_files(folder: Path, changes: list[Edit], tokens: bool) -> None:
    path = folder / "raw.jsonl"
    path.write_bytes(with_tokens(RAW, RAW_TOKENS, changes) if tokens else edited(RAW, changes))
    sound_or_refused(lambda: show_comparison(path))


BASELINE = json.dumps(
    {
        "toll_baseline": 1, "toll_version": "0.1.0", "side": "./a", "kind": "command", "made_utc": "2026",
        "circumstances": {"cpu": "x", "valgrind": "3", "compilers": ["g"], "libraries": {"libc": "1"}},
        "counts": {"x": {"instructions": {"per": "launch", "values": ["1", "4/3"]}}}, "parts": {"text": 5},
    }
).encode()  # fmt: skip


@many
@given(changes=edits(), tokens=st.booleans())
def test_baselines(folder: Path, changes: list[Edit], tokens: bool) -> None:
    path = folder / "baseline.json"
    words = [b'"1"', b'"4/3"', b"5", b'"x"', b'["g"]', b'"libc"', b'"kind"']
    path.write_bytes(with_tokens(BASELINE, words, changes) if tokens else edited(BASELINE, changes))
    sound_or_refused(lambda: baselines.read(path))


@pytest.fixture(scope="module")
def checkout(folder: Path) -> Path:
    target = folder / "checkout"
    shutil.copytree(ROOT / "suites/latency/wakeup", target / "suites/latency/wakeup")
    return target


@many
@given(changes=edits(), tokens=st.booleans(), name=st.sampled_from(["suite.toml", "published.toml"]))
def test_suites(checkout: Path, changes: list[Edit], tokens: bool, name: str) -> None:
    path = checkout / "suites/latency/wakeup" / name
    sound = path.read_bytes()
    words = [b'"', b"= ", b"[", b"]", b"1", b"ns", b"title", b"unit", b"needs", b"default"]
    path.write_bytes(with_tokens(sound, words, changes) if tokens else edited(sound, changes))
    try:
        sound_or_refused(lambda: suites.load(checkout))
    finally:
        path.write_bytes(sound)


class Says:
    """A program that prints these bytes, whatever it is asked."""

    pid = 0

    def __init__(self, said: bytes) -> None:
        self._said = said

    def write_line(self, line: bytes) -> None:
        """Heard by nobody."""

    def read_line(self) -> bytes:
        line, end, self._said = self._said.partition(b"\n")
        if not end:
            raise LaunchFailed("closed its output")
        return line

    def read_exactly(self, count: int) -> bytes:
        data, self._said = self._said[:count], self._said[count:]
        if len(data) < count:
            raise LaunchFailed("closed its output")
        return data

    def unread(self) -> bytes:
        return self._said[:80]

    def rested(self, seconds: float) -> None:
        """Nothing has a limit here."""

    def finish(self) -> End:
        return End(0, False)

    def kill(self) -> None:
        """Nothing runs."""


READY = (
    b'{"protocol":1,"ready":true,"workload":"a/b","contender":"c","kind":"batch","unit":"ns","per":"task",'
    b'"parameters":{"n":1},"footing":{"threads":2},"clock":{"source":"tsc","frequency_hz":1e9},"setup_ns":5}\n'
)
ANSWER = (
    b'{"batch":{"iterations":1,"units":1,"wall_ns":5.0,"cpu_ns":5.0,"checksum":"7","voluntary_switches":0,'
    b'"involuntary_switches":0,"minor_faults":0,"major_faults":0,"peak_resident_bytes":1,'
    b'"counters":{},"details":{}}}\n'
)
PROTOCOL_TOKENS = [b"1", b"5", b"1e9", b'"ns"', b'"7"', b"{}", b"true", b'"tsc"', b'{"n":1}', b"5.0"]
READERS: list[Callable[[Says], object]] = [
    protocol.read_ready,
    lambda child: protocol.ask_timed(child, Terms(Kind.BATCH, SystemClock(), 7), 1, None),
    lambda child: protocol.ask_timed(child, Terms(Kind.SAMPLES, SystemClock(), 7), 1, None),
    lambda child: protocol.ask_allocations(child, 1, 7),
]


@many
@given(changes=edits(), tokens=st.booleans(), reader=st.integers(0, len(READERS) - 1))
def test_messages_of_programs(changes: list[Edit], tokens: bool, reader: int) -> None:
    sound = (READY if reader == 0 else ANSWER) + bytes(16)
    said = with_tokens(sound, PROTOCOL_TOKENS, changes) if tokens else edited(sound, changes)
    told = refused(lambda: READERS[reader](Says(said)))
    assert told is None or (told and told.isprintable())


def refused(ask: Callable[[], object]) -> str | None:
    """Why the launch failed; None for an answer that is sound."""
    try:
        ask()
    except LaunchFailed as failure:
        return failure.reason
    return None
