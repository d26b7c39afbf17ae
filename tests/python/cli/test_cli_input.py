"""`toll run --input FILE`: a text for the workloads that read one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tollbench.cli import asking
from tollbench.errors import TollError
from tollbench.plan import PROFILES, Selection


def test_a_text_is_a_value_of_the_parameter_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "a, b.txt"
    text.write_text("word")
    monkeypatch.chdir(tmp_path)
    asked = Selection.parse(["containers/count_words"], ["group=100"])
    found = asked.with_value("input", asking.text_file("a, b.txt"))
    assert found.values == {"group": ("100",), "input": (str(text),)}
    with pytest.raises(TollError, match="twice"):
        found.with_value("input", "another")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.txt", "No such file"),
        ("", "directory"),
        ("empty.txt", "empty"),
        ("a\0b", "null"),
        ("pipe", "not a file"),
    ],
)
def test_what_is_no_text_is_named(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty.txt").touch()
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it: opening it would never return
    with pytest.raises(TollError, match=words):
        asking.text_file(str(tmp_path / name))


def test_a_launch_may_take_longer_with_a_large_text(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_text("word")
    with large.open("wb") as text:
        text.truncate(2_000_000_000)
    quick = PROFILES["quick"]

    def limit_s(*texts: str) -> float:
        return asking.with_time_to_read(quick, texts).time_limit_s

    nothing = [limit_s(), limit_s(""), limit_s(str(tmp_path / "nowhere")), limit_s("a\0b")]
    assert nothing == [quick.time_limit_s] * 4
    assert limit_s(str(small)) == pytest.approx(quick.time_limit_s, rel=1e-6)
    added_s = limit_s(str(small), str(large)) - quick.time_limit_s
    assert added_s == pytest.approx(2 * asking.READING_S_PER_GB)
    with large.open("wb") as text:
        text.truncate(2_000_000_000_000)
    asking.with_time_to_read(quick, (str(large),)).check()


def test_workloads_that_read_nothing_say_so(toll, tmp_path):
    text = tmp_path / "text"
    text.write_text("word")
    done = toll("run", "tasks/skynet", "--input", str(text))
    assert done.returncode == 2
    assert "No selected workload has a parameter 'input'" in done.stderr
