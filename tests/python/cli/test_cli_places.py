"""Files go where the user stands, and a folder that is no place for them gets a sentence."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from made_runs import Made, make_run

import tollbench
from checkouts import ROOT
from tollbench import home
from tollbench.catalog import environments, toolchains
from tollbench.catalog.environments import probing
from tollbench.cli import machine_use, places
from tollbench.cli.edition import edition
from tollbench.errors import TollError
from tollbench.fleet import on_host, sending
from tollbench.interpreters import interpreter, interpreter_with_path
from tollbench.launching.interrupt import Interrupt


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


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed toll of a few files."""
    folder = tmp_path / "tollbench"
    for name in ("__main__.py", "core_to_core.py", "shipped/languages/.mvn/maven.config"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    monkeypatch.setattr(home, "PACKAGE", folder)
    monkeypatch.setattr(home, "CHECKOUT", None)
    return folder


LEFT = (
    ".a.py.swp",
    "a.py~",
    "a.swp",
    "core",
    "core.1234",
    "a.py.orig",
    "a.py.rej",
    "#a.py#",
    ".#a.py",
    "a.pyc",
)


def test_what_editors_and_crashes_leave_is_no_part_of_toll(package: Path, tmp_path: Path) -> None:
    """Whatever is sent to hosts, it is known there by the same hash."""
    before = home.fingerprint()
    for name in (*LEFT, *(f"shipped/{name}" for name in LEFT), "shipped/__pycache__/a.txt"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text("left")
    assert home.fingerprint() == before == on_host.fingerprint(package)
    assert on_host._NO_PART.pattern == home._NO_PART.pattern
    wheel = tmp_path / "tollbench-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in filter(os.path.isfile, package.rglob("*")):
            archive.write(path, path.relative_to(tmp_path).as_posix())
    assert sending.wheel_for_hosts(tmp_path, wheel).sources == before
    for name in ("core_to_core.py", "shipped/languages/.mvn/maven.config"):
        (package / name).write_text("changed")
        assert home.fingerprint() != before
        before = home.fingerprint()


def test_a_file_of_toll_that_cannot_be_read_keeps_nobody_from_measuring(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = home.fingerprint()
    errors = {"notes.txt": PermissionError, "going.txt": FileNotFoundError}
    usual = Path.open

    def opened(path: Path, mode: str = "r", *words: Any, **named: Any) -> Any:
        if path.name in errors and mode == "rb":
            raise errors[path.name]
        return usual(path, mode, *words, **named)

    monkeypatch.setattr(Path, "open", opened)
    (package / "going.txt").write_text("gone between the list and the look")
    assert home.fingerprint() == before
    (package / "notes.txt").write_text("")
    assert home.fingerprint() != before


def test_an_update_meanwhile_puts_no_other_name_on_what_was_measured(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    edition.cache_clear()
    before = home.fingerprint()
    try:
        with Interrupt() as interrupt, machine_use.machine_taken(interrupt, wait=False):
            (package / "__main__.py").write_text("pulled")
            assert edition() == f"{tollbench.__version__}+{before[:10]}"
    finally:
        edition.cache_clear()


@pytest.fixture
def no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user that the system does not know, as containers have them; the temporary folder."""
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_user_without_a_home_has_a_cache_of_its_own(no_home: Path) -> None:
    place = no_home / f"toll-cache-{os.geteuid()}"
    assert home.cache_place() == place
    assert not place.exists()  # a name needs none
    assert home.cache_folder() == home.cache_folder() == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    toolchains.newest_jdk()  # some of its folders are in the user's home


@pytest.mark.parametrize("there", ["open", "link", "file", "another's", "nothing"])
def test_a_cache_that_others_may_write_to_is_none(
    no_home: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    place = home.cache_place()
    (no_home / "mine").mkdir(mode=0o700)
    if there == "open":
        place.mkdir()
        place.chmod(0o770)
    elif there == "link":
        place.symlink_to("mine")
    elif there == "file":
        place.touch(mode=0o600)
    elif there == "another's":
        place.mkdir(mode=0o700)
        monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
        monkeypatch.setattr(home, "_in_temporary_folder", lambda: place)
    else:
        monkeypatch.setenv("TMPDIR", str(no_home / "nowhere"))
    with pytest.raises(home.NoCache, match="this user has no home") as refused:
        home.cache_folder()
    assert str(home.cache_place()) in str(refused.value)
    assert "set HOME or XDG_CACHE_HOME" in refused.value.next_step
    probing._store("key", probing.Probe(""))  # a cache that cannot be written is none
    assert probing._stored() == {}
    assert environments.named("debian13").root  # what needs no cache goes on
    assert not environments.roots.is_made("debian13")


def test_nobody_needs_a_home_to_see_a_run(tmp_path: Path) -> None:
    program = (
        "import os, pwd, sys\n"
        "def unknown(number): raise KeyError(number)\n"
        "pwd.getpwuid = unknown\n"
        "from tollbench.cli import main\n"
        "sys.argv[:] = ['toll', *sys.argv[1:]]\n"
        "sys.exit(main())"
    )
    path = make_run(tmp_path / "a.toll", [Made("quick", [10.0, 11.0])])
    for words in (["report", str(path)], ["list", "tasks"], ["doctor"], ["env", "list"]):
        done = subprocess.run(
            interpreter_with_path("-c", program, *words),
            env={"PYTHONPATH": str(ROOT / "python"), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


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
