"""Google Benchmark executables alive together, and those that are launched one after another all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tollbench.compare import MeasuringOptions, WrittenSide, resolve
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.subject import Round
from tollbench.interpreters import interpreter

FAKE = Path(__file__).with_name("fake_google_benchmark.py")


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """One process alone: what `env` finds may be a script that starts others."""
    path = tmp_path / "fake"
    path.write_text(f"#!{' '.join(interpreter())}\n" + FAKE.read_text())
    path.chmod(0o755)
    return str(path)


def launched(command: str, rounds: int = 14) -> tuple[GoogleBenchmark, list[Round]]:
    _, sides = resolve([WrittenSide(command)] * 2, "google-benchmark")
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    names = subject.survey().common
    return subject, [subject.round(names, seed) for seed in range(rounds)]


def test_each_way_of_launching_is_tried_and_the_raw_file_says_which(fake: str) -> None:
    subject, rounds = launched(f"{fake} new only=sum works=3")
    ways = {(record["in_turns"], record["stretch"]) for found in rounds for record in found.raw}
    assert ways == {(False, 1), (False, 3), (True, 1), (True, 3)}
    for found in rounds:
        assert [record["position"] for record in found.raw] == [0, 1]
        assert len({record["in_turns"] for record in found.raw}) == 1
        assert len(found.values["sum"]) == 2
        assert all(len(record["ns"]["sum"]) == 7 * record["stretch"] for record in found.raw)
    assert not subject.notes("sum")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("only=sum sleeps", "it waits by itself"),
        ("only=sum threads=2", "it has several threads"),
        ("only=sum alarm works=3", "it handles SIGALRM, as a watchdog does"),
        ("only=sum/real_time", "it measures wall time"),
        ("only=sum/manual_time", "it measures wall time"),
    ],
)
def test_who_cannot_be_halted_is_launched_whole_and_the_row_says_why(
    words: str, reason: str, fake: str
) -> None:
    subject, rounds = launched(f"{fake} {words}")
    name = words.split()[0].removeprefix("only=")
    assert subject.notes(name) == [f"sides were launched one after another: {reason}"]
    assert all(found.values for found in rounds)
    assert not any(record["in_turns"] for found in rounds[3:] for record in found.raw)


def test_in_turns_the_cpu_clock_counts(fake: str) -> None:
    """While a program is halted the wall's clock goes on."""
    _, rounds = launched(f"{fake} only=sum works=3 waits")
    for record in (record for found in rounds for record in found.raw if record["in_turns"]):
        assert min(record["ns"]["sum"]) < 50.0 < max(record["ns"]["sum"])
        assert "left_out_ns" not in record
