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


def test_a_log_gets_a_line_now_and_then_and_ever_fewer(now, capsys) -> None:
    with console.progress("reading") as bar:
        for second in range(400):
            now[0] = 100.0 + second
            bar.step(second, 500, "launches")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "reading   1%, about 495 s left  launches"
    left = [int(line.split("about ")[1].split()[0]) for line in said]
    assert left == [495, 470, 350, 230, 110]


def test_what_was_said_is_counted_in_lines_of_the_screen(capsys, monkeypatch) -> None:
    before = console.said_lines()
    console.say("one\ntwo")
    console.say("x" * 250)
    assert console.said_lines() == before + 3  # a pipe folds nothing
    terminal(monkeypatch)
    console.say("x" * 250)
    assert console.said_lines() == before + 6
    capsys.readouterr()


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
