"""Progress: nothing for what is quick, lines for logs, a bar with the time left for people."""

from __future__ import annotations

import sys
import time

import pytest

from tollbench.cli import console


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    return clock


def test_a_log_gets_a_line_now_and_then(now, capsys) -> None:
    with console.progress("reading") as bar:
        for second in range(12):
            now[0] = 100.0 + second
            bar.step(second, 20, "launches")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "reading  10%, about 18 s left  launches"
    assert len(said) == 2


def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(("last", "seen"), [(100.9, False), (105.0, True)])
def test_a_bar_is_shown_only_for_what_takes_long(now, capsys, monkeypatch, last, seen) -> None:
    terminal(monkeypatch)
    with console.progress("reading", after_s=1.0) as bar:
        now[0] = last
        bar.step(25, 100, "launches")
    said = capsys.readouterr().err
    assert ("reading" in said) is seen
    assert ("0:15 left" in said) is seen
