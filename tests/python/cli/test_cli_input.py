"""`toll run --input FILE`: a text for the workloads that read one."""

from __future__ import annotations

from pathlib import Path

import pytest

from toll.cli import measuring
from toll.errors import TollError
from toll.plan import Selection


def test_a_text_is_a_value_of_the_parameter_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "a, b.txt"
    text.write_text("word")
    monkeypatch.chdir(tmp_path)
    asked = Selection.parse(["containers/count_words"], ["group=100"])
    found = asked.with_value("input", measuring.text_file("a, b.txt"))
    assert found.values == {"group": ("100",), "input": (str(text),)}
    with pytest.raises(TollError, match="twice"):
        found.with_value("input", "another")


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere.txt", "No such file"), ("", "directory"), ("empty.txt", "empty"), ("a\0b", "null")],
)
def test_what_is_no_text_is_named(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty.txt").touch()
    with pytest.raises(TollError, match=words):
        measuring.text_file(str(tmp_path / name))


def test_workloads_that_read_nothing_say_so(toll, tmp_path):
    text = tmp_path / "text"
    text.write_text("word")
    done = toll("run", "tasks/skynet", "--input", str(text))
    assert done.returncode == 2
    assert "No selected workload has a parameter 'input'" in done.stderr
