"""Nothing of the current folder is run: docs/security.md. Each way in was seen open before it was closed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from checkouts import copy_checkout
from hostile_folder import HostileFolder
from package_imports import PACKAGE
from tollbench.launching.environment import own_environment

ROOT = Path(__file__).resolve().parents[3]
# Modules that neither Python's own start nor its -m imports: before those toll cannot be.
SPARED_BY_THE_INTERPRETER = (
    *("typer", "numpy", "scipy", "json", "random", "platform", "signal", "statistics", "select", "queue"),
    *("pathlib", "typing", "subprocess", "tempfile", "dataclasses"),
)


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    return HostileFolder(tmp_path / "hostile")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with an environment that its start script takes for installed: with this one's libraries."""
    checkout = copy_checkout(tmp_path_factory.mktemp("ready") / "check out")
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", checkout / ".venv"], check=True)
    site = next((checkout / ".venv/lib").glob("python3*/site-packages"))
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = (checkout / ".venv/bin/python").resolve()
    for lock in ("requirements.lock", "requirements-test.lock"):
        mark = hashlib.sha256((checkout / lock).read_bytes()).hexdigest()
        (checkout / ".venv" / f"toll-{lock}").write_text(f"{mark} {python}")
    # Nobody else's measurement is waited for.
    locking = checkout / "python/tollbench/launching/machine_lock.py"
    text = locking.read_text(encoding="utf-8")
    assert "/run/lock/toll.lock" in text
    locking.write_text(text.replace("/run/lock/", f"{checkout}/").replace("/tmp/", f"{checkout}/second-"))
    return checkout


def started(
    checkout: Path, hostile: HostileFolder, *words: str, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "toll"), *words],
        cwd=hostile.folder,
        env=hostile.environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


COMMANDS = (
    ("--version",),
    ("list", "--json"),
    ("doctor", "--json"),
    ("report", "nothing.toll"),
    ("compare", "true", "true", "--budget", "1s", "--json"),
)


@pytest.mark.parametrize("traps", ["modules", "programs"])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_the_start_script_runs_nothing_of_the_current_folder(
    ready: Path, hostile: HostileFolder, words: tuple[str, ...], traps: str
) -> None:
    if traps == "modules":
        hostile.with_modules()
    else:
        hostile.with_programs()
    done = started(ready, hostile, *words)
    assert hostile.ran() == []
    assert "PWNED" not in done.stdout + done.stderr
    assert done.returncode == (2 if words[0] == "report" else 0), done.stderr
    if words[-1] == "--json":
        assert json.loads(done.stdout)


# Stands for toll: says where it would import from, after importing what a stranger offers too.
TOLD = """
import json, random, select, sys, types, queue
print(json.dumps({"path": sys.path, "executable": sys.executable, "isolated": sys.flags.isolated}))
"""


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout that was never started, and needs no library."""
    checkout = tmp_path / "check out"
    (checkout / "python/tollbench").mkdir(parents=True)
    (checkout / "python/tollbench/__main__.py").write_text(TOLD)
    shutil.copy2(ROOT / "toll", checkout / "toll")
    (checkout / "requirements.lock").write_text("# nothing\n")
    return checkout


def test_the_first_start_runs_nothing_of_the_current_folder(fresh: Path, hostile: HostileFolder) -> None:
    """A real venv and a real pip, which is asked for no package; apt-get, first on PATH, is not reached."""
    hostile.with_modules()
    hostile.with_programs()
    done = started(fresh, hostile, "--version")
    assert hostile.ran() == []
    assert done.returncode == 0, done.stderr
    assert "installing python3" not in done.stderr
    told = json.loads(done.stdout)
    assert told["isolated"] == 1
    assert str(fresh / ".venv/bin/python") == told["executable"]
    assert [entry for entry in told["path"] if str(hostile.folder) in entry] == []


@pytest.mark.parametrize("path", [None, "", ":", ".:bin"])
def test_a_path_without_any_folder_leads_to_the_systems_own(
    ready: Path, hostile: HostileFolder, path: str | None
) -> None:
    hostile.with_programs()
    environment = {name: value for name, value in os.environ.items() if name != "PATH"}
    done = subprocess.run(
        [str(ready / "toll"), "--version"],
        cwd=hostile.folder,
        env=environment if path is None else {**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert hostile.ran() == []
    assert done.stdout.startswith("toll "), done.stderr


def test_an_interpreter_that_the_user_names_by_a_relative_path_is_the_one(
    fresh: Path, hostile: HostileFolder
) -> None:
    """Named on purpose, so it runs; but from /, without what lies around it."""
    hostile.with_modules()
    own = hostile.folder / "own python"
    own.write_text(f'#!/bin/sh\necho "$PWD $1" >&2\nexec {sys.executable} "$@"\n')
    own.chmod(0o755)
    done = started(fresh, hostile, TOLL_PYTHON="./own python")
    assert done.returncode == 0, done.stderr
    assert "/ -I\n" in done.stderr
    assert hostile.ran() == []


@pytest.mark.parametrize("python_path", ["", ":", ".", "../a stranger's"])
def test_python_m_imports_nothing_of_the_current_folder_but_what_python_itself_does(
    hostile: HostileFolder, python_path: str
) -> None:
    hostile.with_modules(SPARED_BY_THE_INTERPRETER)
    shutil.rmtree(hostile.folder / "tollbench")
    done = subprocess.run(
        [sys.executable, "-m", "tollbench", "list", "--json"],
        cwd=hostile.folder,
        env={**os.environ, "PYTHONPATH": f"{PACKAGE.parent}:{python_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert hostile.ran() == []
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_python_m_works_where_toll_itself_or_what_it_needs_is_the_current_folder() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    places = {
        PACKAGE.parent: environment,
        Path(sysconfig.get_path("purelib")): {**environment, "PYTHONPATH": str(PACKAGE.parent)},
        Path(sysconfig.get_path("stdlib")): {**environment, "PYTHONPATH": str(PACKAGE.parent)},
    }
    for place, variables in places.items():
        command = [sys.executable, "-m", "tollbench", "--version"]
        done = subprocess.run(command, cwd=place, env=variables, capture_output=True, text=True, check=False)
        assert done.stdout.startswith("toll "), (place, done.stderr)


def test_what_a_wheel_installs_as_toll_leaves_the_current_folder_first(hostile: HostileFolder) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["scripts"]["toll"].split(":")
    script = hostile.folder.parent / "bin/toll"  # as pip writes it
    script.parent.mkdir()
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    hostile.with_modules(SPARED_BY_THE_INTERPRETER)
    shutil.rmtree(hostile.folder / "tollbench")
    done = subprocess.run(
        [sys.executable, str(script), "list", "--json"],
        cwd=hostile.folder,
        env={**os.environ, "PYTHONPATH": f"{PACKAGE.parent}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert hostile.ran() == []
    assert json.loads(done.stdout)


def test_a_program_that_is_measured_gets_the_users_own_python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{PACKAGE.parent}:/of/the/user")
    assert own_environment()["PYTHONPATH"] == "/of/the/user"
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))
    assert "PYTHONPATH" not in own_environment()
