"""Names of files, folders and sides come from outside: nothing of them steers a terminal or misleads."""

from __future__ import annotations

import ast
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

import tollbench.cli
from package_imports import PACKAGE
from tollbench.cli import console, machine_use
from tollbench.report.comparisons.comparison_formats import RENDERERS as OF_COMPARISON
from tollbench.report.comparisons.why_formats import RENDERERS as OF_EXPLANATION

# A control in one letter, a direction, a letter mark, a soft hyphen, a tag, a joiner, an empty letter, more.
HOSTILE = "a\x9b31m\u202eb\u061c\u00adc\U000e0041\u200d\u3164\x1b]0;d\x07\x7fe"
# Signs that stand before letters and are seen, though Unicode counts them as formats.
SEEN = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}


def hidden(text: str) -> list[str]:
    return [
        hex(ord(letter))
        for letter in text
        if letter != "\n"
        and (unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or letter == "\u3164")
        and ord(letter) not in SEEN
    ]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["toll", *words])
    return tollbench.cli.main()


@pytest.mark.parametrize(
    "words", [("report", HOSTILE), (f"--no{HOSTILE}",), (HOSTILE,), ("run", "--set", HOSTILE)]
)
def test_what_is_said_of_a_name_steers_nothing(monkeypatch, capsys, words) -> None:
    assert called(monkeypatch, *words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert hidden(told.err) == []


def test_a_comparison_prints_json_that_steers_nothing_and_says_the_same(monkeypatch, capsys, here) -> None:
    sides = [f"true {HOSTILE}1", f"true {HOSTILE}2"]
    folder = here / HOSTILE
    folder.mkdir()
    called(monkeypatch, "compare", *sides, "--json", "--budget", "1s", "--raw", f"{folder}/raw.jsonl")
    told = capsys.readouterr()
    assert json.loads(told.out)["sides"] == sides
    assert hidden(told.out) == []
    assert hidden(told.err) == []
    assert called(monkeypatch, "report", f"{folder}/raw.jsonl", "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["sides"] == sides
    assert hidden(told.out) == []


def test_progress_steers_nothing(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    plain = console._Plain("reading")
    plain._due -= 10
    plain.step(1, 2, HOSTILE)
    said = capsys.readouterr().err
    assert "reading" in said
    assert hidden(said) == []


def test_a_bar_steers_nothing(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    bar = console._Bar("reading", 1000.0)
    bar.step(1, 2, HOSTILE)
    (task,) = bar.rich.tasks
    assert len(task.fields["what"]) > 10
    assert hidden(task.fields["what"]) == []


@pytest.mark.parametrize("renderers", [OF_COMPARISON, OF_EXPLANATION])
def test_json_files_hold_no_hidden_letters(renderers) -> None:
    class Found:
        def model_dump_json(self, indent: int) -> str:
            return json.dumps({"name": HOSTILE}, indent=indent, ensure_ascii=False)

    document = renderers["json"](Found())
    assert json.loads(document) == {"name": HOSTILE}
    assert hidden(document) == []


def printing(tree: ast.AST) -> Iterator[int]:
    """Lines that print past `console`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "typer.echo", "typer.secho"):
            yield node.lineno


def test_verbs_print_through_the_console_alone() -> None:
    files = [path for path in (PACKAGE / "cli").glob("*.py") if path.name != "console.py"]
    found = [
        f"{path.name}:{line}"
        for path in files
        for line in printing(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(files) > 10
    assert found == []
    assert list(printing(ast.parse("typer.echo(1)\nprint(2)"))) == [1, 2]
