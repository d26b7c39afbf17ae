"""What benchmark executables print, changed by a stranger: rows that say so, no bug, no regression.

Both sides give the same answer, so that whatever can be read of it is no difference.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from byte_edits import LONGEST_S, TOKENS, XML_TOKENS, Edit, edited, edits, ending, many, refused
from hypothesis import example, given

from tollbench.compare import Comparisons, ComparisonSettings, compare
from tollbench.compare.adapters import toll_program
from tollbench.compare.adapters.catch2 import Catch2
from tollbench.compare.adapters.go_test import GoTest
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.adapters.toll_program import ProgramFiles
from tollbench.compare.subject import MeasuringOptions, Side
from tollbench.launching.clock import Clock
from tollbench.launching.command import Ended
from tollbench.launching.messages import Message, Ready, SamplesAnswer, TimedAnswer, checked
from tollbench.launching.protocol import _parsed
from tollbench.report.comparisons.comparison_formats import RENDERERS

pytestmark = pytest.mark.timeout(LONGEST_S)
SETTINGS = ComparisonSettings(budget_s=1.0, total_s=5.0, most_rounds=3)


class Ticking(Clock):
    """Every look at it is a tenth of a second later."""

    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        self.ns += 10**8
        return self.ns

    def utc(self) -> str:
        return "2030-01-01T00:00:00+00:00"

    def sleep(self, seconds: float) -> None:
        self.ns += round(1e9 * seconds)


def row(name: str, **more: object) -> dict[str, object]:
    plain = {
        "run_name": name,
        "run_type": "iteration",
        "real_time": 100.0,
        "cpu_time": 99.5,
        "time_unit": "ns",
    }
    return {"name": name, "iterations": 1000, "repetitions": 3, "threads": 1, **plain, **more}


GOOGLE = json.dumps(
    {
        "context": {"num_cpus": 2, "aslr_enabled": True},
        "benchmarks": [row("a"), row("a"), row("b"), row("b", run_type="aggregate", aggregate_name="median")],
    }
).encode()
CATCH2 = b"""<?xml version="1.0" encoding="UTF-8"?>
<Catch2TestRun name="x" rng-seed="1"><TestCase name="sums" tags="[a]"><Section name="of ints">
<BenchmarkResults name="a" samples="200" resamples="100000" iterations="31" clockResolution="20">
<mean value="120.5" lowerBound="0" upperBound="0" ci="0"/></BenchmarkResults>
<OverallResults successes="0" failures="0"/></Section><BenchmarkResults name="b" iterations="7">
<mean value="33.5"/></BenchmarkResults><OverallResult success="true"/></TestCase></Catch2TestRun>
"""
GO = b"""goos: linux
BenchmarkA
BenchmarkA-2   \t 1000\t      1234 ns/op\t      16 B/op
BenchmarkB
BenchmarkB/64
BenchmarkB/64-2 \t 1000 \t 1.5e+03 ns/op
PASS
"""


def finished(stdout: bytes) -> Ended:
    return Ended(0, 10**6, 10**6, stdout, b"")


class FromGoogle(GoogleBenchmark):
    """Lists two benchmarks, whatever the answer is; writes it where the report is expected."""

    answer = b""
    launch_all = OneAfterAnother.launch_all  # there is no program that could be halted

    def run(self, side: Side, arguments: Sequence[str] = (), seed: int | None = None) -> Ended:
        for word in arguments:
            if word.startswith("--benchmark_out="):
                Path(word.partition("=")[2]).write_bytes(self.answer)
        return finished(b"a\nb\n" if "--benchmark_list_tests=true" in arguments else b"=<integer>x")


class FromCatch2(Catch2):
    answer = b""

    def run(self, side: Side, arguments: Sequence[str] = (), seed: int | None = None) -> Ended:
        return finished(self.answer)


class FromGo(GoTest):
    answer = b""

    def run(self, side: Side, arguments: Sequence[str] = (), seed: int | None = None) -> Ended:
        return finished(self.answer)


def compared(kind: type[Any], answer: bytes) -> Comparisons:
    subject = kind([Side("old", ("old",)), Side("new", ("new",))], MeasuringOptions(10.0))
    subject.kind = kind.__name__
    subject.answer = answer
    with ending():
        found = compare(subject, SETTINGS, clock=Ticking())
        texts = [render(found) for render in RENDERERS.values()]
    assert found.model_dump_json()
    assert all(texts)
    assert not any(item.regression for item in found.comparisons), "the sides gave the same answer"
    return found


KINDS = {"google": (FromGoogle, GOOGLE), "catch2": (FromCatch2, CATCH2), "go": (FromGo, GO)}


@pytest.mark.parametrize("name", KINDS)
def test_the_good_answers_are_understood(name):
    found = compared(*KINDS[name])
    assert [item.verdict for item in found.comparisons] != []
    assert all(item.launches for item in found.comparisons), found.comparisons


@given(edits(TOKENS))
@example([Edit(0.0, len(GOOGLE), GOOGLE.replace(b'"run_name": "a"', b'"run_name": ["a"]'), 0)])
@example([Edit(0.0, len(GOOGLE), GOOGLE.replace(b"100.0", b"9" * 400), 0)])
@example([Edit(0.0, len(GOOGLE), b'{"benchmarks":' + b"[" * 100000, 0)])
@example([Edit(0.0, len(GOOGLE), GOOGLE.replace(b"100.0", b"NaN"), 0)])
@example([Edit(0.0, len(GOOGLE), GOOGLE.replace(b'"ns"', b"{}"), 0)])
@example(
    [
        Edit(
            0.0,
            len(GOOGLE),
            GOOGLE.replace(b'"threads": 1', b'"error_occurred": true, "error_message": "\\ud800"'),
            0,
        )
    ]
)
@many
def test_results_of_google_benchmark(changes):
    compared(FromGoogle, edited(GOOGLE, changes))


@given(edits((*TOKENS, *XML_TOKENS)))
@example([Edit(0.25, 0, b"<Section name='s'>" * 3000, 0)])
@example([Edit(0.0, len(CATCH2), CATCH2.replace(b"UTF-8", b"UTF-7"), 0)])
@example([Edit(0.0, len(CATCH2), CATCH2.replace(b"UTF-8", b"idna"), 0)])
@example([Edit(0.0, len(CATCH2), CATCH2.replace(b"120.5", b"9" * 5000), 0)])
@example([Edit(0.0, len(CATCH2), CATCH2.replace(b'"31"', b'"' + b"9" * 5000 + b'"'), 0)])
@many
def test_reports_of_catch2(changes):
    compared(FromCatch2, edited(CATCH2, changes))


@given(edits((*TOKENS, b"\nBenchmarkC\nBenchmarkC-1 1 1.1.1 ns/op\n", b"1e+e+ ns/op", b" ns/op")))
@example([Edit(0.0, len(GO), GO.replace(b"1234", b"1.2.3"), 0)])
@many
def test_output_of_go(changes):
    compared(FromGo, edited(GO, changes))


@pytest.mark.parametrize("bad", [b'"run_name": ["b"]', b'"run_name": "b", "x": ' + b"[" * 90000])
def test_one_bad_answer_costs_its_own_row(bad):
    """The second benchmark's report is nonsense; the first one's row stays."""

    class Half(FromGoogle):
        def run(self, side: Side, arguments: Sequence[str] = (), seed: int | None = None) -> Ended:
            self.answer = GOOGLE.replace(b'"run_name": "b"', bad) if "b" in str(arguments[0])[-4:] else GOOGLE
            return super().run(side, arguments, seed)

    found = {item.benchmark: item for item in compared(Half, GOOGLE).comparisons}
    assert found["b"].verdict == "failed"
    assert found["a"].launches
    assert found["a"].verdict != "failed"


DESCRIBED = b'{"protocol":1,"contenders":[{"workload":"a/b","contender":"c","kind":"batch"}]}'
READY = b'{"type":"ready","protocol":1,"setup_ns":12.5,"clock":{"hz":2.1e9},"footing":{"threads":1}}'
BATCH = (
    b'{"type":"batch","iterations":10,"units":10,"wall_ns":1200.5,"cpu_ns":1100,"voluntary_switches":0,'
    b'"involuntary_switches":0,"minor_faults":1,"major_faults":0,"peak_bytes":4096,"checksum":"123",'
    b'"counters":{"cycles":12},"details":{"depth":3},"count":10,"bytes":40,"format":"<f4","unit":"ns",'
    b'"cells":[{"key":"a","count":10}]}'
)


@given(edits())
@many
def test_what_a_toll_program_says_of_itself(changes):
    options = MeasuringOptions(10.0)
    sides = [Side("old", ("old",)), Side("new", ("new",))]
    with pytest.MonkeyPatch.context() as patch:
        answer = finished(edited(DESCRIBED, changes))
        patch.setattr(toll_program, "run_command", lambda *_words, **_more: answer)
        assert refused(ProgramFiles(sides, options).survey).isprintable()


def _stored(line: bytes, kind: str, model: type[Message]) -> str:
    return checked(model, _parsed(line, kind)).model_dump_json()


@given(edits())
@many
def test_messages_of_a_toll_program(changes):
    for kind, text, model in (
        ("ready", READY, Ready),
        ("batch", BATCH, TimedAnswer),
        ("samples", BATCH.replace(b'"batch"', b'"samples"'), SamplesAnswer),
    ):
        line = edited(text, changes)
        told = refused(_stored, line, kind, model)
        assert told.replace("\n", "").isprintable()
