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
