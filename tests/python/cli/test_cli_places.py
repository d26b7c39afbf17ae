"""Files go where the user stands, and a folder that is no place for them gets a sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tollbench import home
from tollbench.cli import places
from tollbench.errors import TollError
from tollbench.interpreters import interpreter


def test_runs_lie_where_the_user_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = places.in_runs("monday.toll")
    assert path == tmp_path / "runs/monday.toll"
    places.make_folder(path.parent, "--output FILE")
    path.write_text("")
    assert places.run_path("monday") == Path("runs/monday.toll")


def test_a_folder_that_is_gone_gets_a_sentence(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(TollError, match="no current folder"):
        places.in_runs("x.toll")


def test_a_folder_that_is_read_only_gets_a_sentence_with_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(TollError, match="cannot write into the folder") as error:
        places.make_folder(tmp_path / "runs", "--raw FILE")
    assert "--raw FILE" in error.value.next_step
    (tmp_path / "file").write_text("")
    with pytest.raises(TollError, match="cannot write into the folder"):
        places.make_folder(tmp_path / "file/runs", "--raw FILE")


def test_a_folder_of_somebody_else_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    places.make_folder(tmp_path / "runs", "--raw FILE")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    places.make_folder(tmp_path / "runs", "--raw FILE")
    assert "belongs to another user" in capsys.readouterr().err
    places.make_folder(tmp_path / "named", "--raw FILE")  # somebody chose it
    assert capsys.readouterr().err == ""


def test_an_installed_toll_builds_in_the_cache_apart_for_other_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(home, "CHECKOUT", None)
    found = []
    for content in ("one", "other"):
        sources = tmp_path / content / "shipped"
        sources.mkdir(parents=True)
        (sources / "a.cpp").write_text(content)
        monkeypatch.setattr(home, "SOURCES", sources)
        found.append(home.builds())
    assert found[0] != found[1]
    assert {path.parent for path in found} == {tmp_path / "cache/toll/builds"}
    home._mark.cache_clear()
    (sources / "a.cpp").write_text("changed")
    assert home.builds() != found[1]


def test_an_installed_toll_is_called_by_its_name(tmp_path):
    """In a checkout it is ./toll; what reports and claims print can be typed in either."""
    shutil.copytree(home.PACKAGE, tmp_path / "tollbench", ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import sys\nfrom types import SimpleNamespace\nsys.path.insert(0, sys.argv[1])\n"
        "from tollbench import home\nfrom tollbench.analysis.cautions import _longer\n"
        "print(_longer('tasks/made', SimpleNamespace(profile='quick')), home.COMMAND, sep='; ')"
    )
    done = subprocess.run(
        interpreter("-c", program, str(tmp_path)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "toll run tasks/made --profile standard; toll\n", done.stderr
    assert home.COMMAND == "./toll"


def test_no_report_names_a_command_that_only_a_checkout_has():
    rooms = ("analysis", "catalog", "report")
    files = [file for room in rooms for file in (home.PACKAGE / room).rglob("*.py")]
    assert len(files) > 20
    assert [file.name for file in files if re.search(r"[ \"'`(;]\./toll ", file.read_text())] == []
