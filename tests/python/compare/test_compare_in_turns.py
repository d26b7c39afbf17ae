"""Google Benchmark executables alive together, and those that are launched one after another all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tollbench.compare import MeasuringOptions, WrittenSide, resolve
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.around import Around
from tollbench.compare.subject import Round
from tollbench.interpreters import interpreter
from tollbench.launching import halting

FAKE = Path(__file__).with_name("fake_google_benchmark.py")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One process alone: what `env` finds may be a script that starts others.

    On a busy machine one that is halted may wait for a processor before it stands still.
    """
    monkeypatch.setattr(halting, "_HALT_LIMIT_S", 60.0)
    path = tmp_path / "fake"
    noise = FAKE.with_name("fake_noise.py").read_text()  # in it, as nothing of its folder is imported
    text = FAKE.read_text().replace("from fake_noise import seed_by_launch\n", noise)
    path.write_text(f"#!{' '.join(interpreter())}\n{text}")
    path.chmod(0o755)
    return str(path)


def launched(command: str, rounds: int = 14, **options: Any) -> tuple[GoogleBenchmark, list[Round]]:
    _, sides = resolve([WrittenSide(command)] * 2, "google-benchmark")
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0, turns=True, **options))
    names = subject.survey().common
    return subject, [subject.round(names, seed) for seed in range(rounds)]


def test_each_way_of_launching_is_tried_and_the_raw_file_says_which(fake: str) -> None:
    subject, rounds = launched(f"{fake} new only=sum works=3")
    ways = {(record["in_turns"], record["stretch"]) for found in rounds for record in found.raw}
    assert ways == {(False, 1), (False, 3), (True, 3), (True, 9)}
    for found in rounds:
        assert [record["position"] for record in found.raw] == [0, 1]
        assert len({record["in_turns"] for record in found.raw}) == 1
        assert len(found.values["sum"]) == 2
    records = [record for found in rounds for record in found.raw]
    shortest = {len(record["ns"]["sum"]) / record["stretch"] for record in records}
    assert shortest in ({3}, {7})  # of 1 ms, or 0.4 ms where the 3 ms beside them have not been noticed
    assert not subject.notes("sum", 1)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("only=sum sleeps", "it waits by itself"),
        ("only=sum threads=2", "it has several threads"),
        ("only=sum alarm works=3", "it handles SIGALRM, as a watchdog does"),
        ("only=sum cont works=3", "it handles SIGCONT"),
        ("only=sum/real_time", "it measures wall time"),
        ("only=sum/manual_time", "it measures wall time"),
    ],
)
def test_who_cannot_be_halted_is_launched_whole_and_the_row_says_why(
    words: str, reason: str, fake: str
) -> None:
    subject, rounds = launched(f"{fake} {words}")
    name = words.split()[0].removeprefix("only=")
    assert subject.notes(name, 1) == [f"sides were launched one after another: {reason}"]
    assert all(found.values for found in rounds)
    assert not any(record["in_turns"] for found in rounds[3:] for record in found.raw)


def test_in_turns_the_cpu_clock_counts(fake: str) -> None:
    """While a program is halted the wall's clock goes on."""
    _, rounds = launched(f"{fake} only=sum works=3 waits")
    for record in (record for found in rounds for record in found.raw if record["in_turns"]):
        assert min(record["ns"]["sum"]) < 50.0 < max(record["ns"]["sum"])
        assert "left_out_ns" not in record


def test_turns_are_taken_where_they_are_asked_for(fake: str) -> None:
    _, sides = resolve([WrittenSide(f"{fake} only=sum works=3")] * 2, "google-benchmark")
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    names = subject.survey().common
    raw = [record for seed in range(6) for record in subject.round(names, seed).raw]
    assert {(record["in_turns"], record["stretch"]) for record in raw} == {(False, 1), (False, 3)}
    assert not subject.notes("sum", 1)


def test_what_is_prepared_for_each_launch_is_launched_whole(fake: str) -> None:
    """Else all would be prepared before the first launch, and each would find what was made for the last."""
    subject, rounds = launched(f"{fake} only=sum works=3", around=Around(prepare=("true",)))
    assert subject.notes("sum", 1) == [
        "sides were launched one after another: commands stand around its launches"
    ]
    assert not any(record["in_turns"] for found in rounds for record in found.raw)


def test_what_cannot_run_twice_at_a_time_is_launched_whole_and_has_not_failed(
    fake: str, tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    script = (
        Path(fake)
        .read_text()
        .replace(
            "min_time = options",
            f"import fcntl; held = open({str(lock)!r}, 'w')\n"
            "fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)\nmin_time = options",
            1,
        )
    )
    Path(fake).write_text(script)
    subject, rounds = launched(f"{fake} only=sum works=3")
    assert "beside the other side it exited with code 1" in subject.notes("sum", 1)[0]
    assert not any(found.failures for found in rounds)
    assert all(len(found.values["sum"]) == 2 for found in rounds)
