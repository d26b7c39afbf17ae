"""A wheel holds all that toll needs, and works where there is no checkout."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import wheels

import tollbench
from checkouts import ROOT
from tollbench import home
from tollbench.cli.edition import edition
from tollbench.fleet import sending
from tollbench.interpreters import interpreter

MOST_BYTES = 3_000_000


def test_the_wheel_is_small_and_ships_what_stands_beside_the_package(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for file in wheels.shipped_files():
            assert archive.read(wheels.SHIPPED + file.as_posix()) == (ROOT / file).read_bytes(), file
        for path in (ROOT / "python/tollbench").rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(ROOT / "python").as_posix()
                assert archive.read(name) == path.read_bytes(), name
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests/", "docs/"))]


def test_a_wheel_made_of_the_sdist_is_the_same(wheel, tmp_path):
    with tarfile.open(wheels.built(tmp_path, kind="sdist")) as archive:
        if hasattr(tarfile, "data_filter"):  # Debian 12's Python, 3.11.2, has none yet
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path)
    (sources,) = (path for path in tmp_path.iterdir() if path.is_dir())
    again = wheels.built(tmp_path / "again", sources)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        assert [name for name in one.namelist() if one.read(name) != other.read(name)] == []


def test_core_dependencies_are_those_of_comparing_and_reporting():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "pyarrow" not in project["dependencies"]
    assert project["optional-dependencies"]["export"] == ["pyarrow"]


def test_the_wheel_is_known_by_the_same_fingerprint_wherever_it_is(wheel, environment_with_wheel, tmp_path):
    """Of the checkout, the wheel, what is installed of it, and a wheel that is made of that again."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert tuple(project["wheel"]["force-include"]) == home.SHIPPED
    done = wheels.toll(environment_with_wheel, "doctor", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)["toll"]
    assert told == {"version": tollbench.__version__, "sources": home.fingerprint()}
    sent = sending.wheel_for_hosts(tmp_path, wheel)
    assert (sent.sources, sent.version) == (told["sources"], told["version"])
    (packages,) = environment_with_wheel.glob("lib/python3*/site-packages")
    again = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path;"
        " from tollbench.fleet.sending import wheel_for_hosts as made;"
        " print(made(Path(sys.argv[2]), None).sources)"
    )
    done = subprocess.run(
        interpreter("-c", again, str(packages), str(tmp_path)),
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == told["sources"], done.stderr


def test_in_a_checkout_the_checkout_wins():
    assert ROOT == home.CHECKOUT == home.SOURCES
    assert home.builds() == ROOT / "build"


def test_the_installed_command_lists_the_whole_catalogue(environment_with_wheel, tmp_path):
    done = wheels.toll(environment_with_wheel, "list", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    named = {f"{path.parent.parent.name}/{path.parent.name}" for path in ROOT.glob("suites/*/*/suite.toml")}
    assert {item["workload"] for item in listed} == named
    assert list(tmp_path.iterdir()) == []


def test_it_says_its_version_and_where_contenders_are_written(environment_with_wheel, tmp_path):
    assert wheels.toll(environment_with_wheel, "--version", cwd=tmp_path).stdout == f"toll {edition()}\n"
    done = wheels.toll(environment_with_wheel, "new", "tasks/skynet", "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert "checkout of toll" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow  # builds a contender and toll's library
def test_a_run_builds_in_the_cache_and_writes_where_the_user_stands(environment_with_wheel, tmp_path):
    package = Path(next(environment_with_wheel.glob("lib/python3*/site-packages/tollbench")))
    before = everything_in(package)
    words = ("run", "latency/wakeup/std_mutex", "--profile", "check", "--no-install", "--wait", "-o", "first")
    done = wheels.toll(environment_with_wheel, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["first.html", "first.toll"]
    assert len(list((tmp_path / "cache/toll/builds").glob("*/host/contenders.json"))) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "runs"]
    assert everything_in(package) == before


def everything_in(package: Path) -> dict[str, bytes]:
    """But for Python's own cache."""
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
