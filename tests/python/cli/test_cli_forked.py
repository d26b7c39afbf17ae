"""toll as a fork of a process that has imported it (forked_toll.py), which most tests of commands start."""

from __future__ import annotations

from pathlib import Path

import pytest

import forked_toll

ROOT = Path(__file__).parents[3]


def test_a_call_that_takes_too_long_does_not_answer_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    toll = forked_toll.forked_toll(ROOT)
    monkeypatch.setattr(forked_toll, "LIMIT_S", 0.001)
    with pytest.raises(TimeoutError):
        toll("list")
    monkeypatch.undo()
    found = toll("--version")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("toll ")


def test_whoever_ends_the_process_that_forks_is_told_of_and_the_next_call_has_another() -> None:
    toll = forked_toll.ForkedToll(ROOT)
    toll._process.terminate()
    with pytest.raises(RuntimeError, match="ended with -15"):
        toll("--version")
    assert toll("--version").stdout.startswith("toll ")
    toll.end()
