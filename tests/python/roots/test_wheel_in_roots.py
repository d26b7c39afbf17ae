"""The wheel on systems where nothing of toll's was prepared: installed and used, by a user without rights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import fresh_roots
import pytest
from fresh_roots import FreshRoot

COMPARED_S, MEASURED_S = 60.0, 480.0  # bars of a release by the clock, of a machine that does nothing else
WANTED = "TOLL_TEST_FRESH_ROOTS"  # three roots and whole runs in them: half an hour, so a command of its own

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get(WANTED), reason=f"half an hour; {WANTED}=1 asks for it"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(fresh_roots.why_not()), reason=fresh_roots.why_not()),
]

# Works for some milliseconds: as many as its name's last letter says.
WORK = """\
#include <cstring>
int main(int, char** words) {
  volatile unsigned long sum = 0;
  const char last = words[0][std::strlen(words[0]) - 1];
  for (unsigned long i = 0; i < (last == 'b' ? 16000000UL : 8000000UL); ++i) sum = sum + i;
}
"""


@pytest.fixture(scope="module", params=fresh_roots.RELEASES)
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FreshRoot:
    return fresh_roots.made(request.param, tmp_path_factory.mktemp("roots"))


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An executable that needs nothing of the system it runs on."""
    folder = tmp_path_factory.mktemp("works")
    (folder / "work.cpp").write_text(WORK)
    command = ["c++", "-O1", "-static", "work.cpp", "-o", "work"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "work"


def test_a_user_without_rights_installs_the_wheel_and_compares_two_programs(root, works, wheel, capsys):
    assert root.run(["sh", "-c", "command -v c++ g++ cc gcc clang"], cwd="/").returncode != 0
    home = root.home("compares")
    shutil.copy2(wheel, home)
    for name in ("a", "b"):
        shutil.copy2(works, home / name)
    started = time.monotonic()
    install(root, "/home/compares", wheel.name)
    command = ["venv/bin/toll", "compare", "--total-budget", "15s", "--json", "./a", "./b"]
    done = root.run(command, cwd="/home/compares")
    took_s = time.monotonic() - started
    with capsys.disabled():
        print(f"\n{root.folder.name}: installed and compared in {took_s:.0f} s")
    assert done.returncode == 1, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["comparisons"]
    assert found["verdict"] == "slower"
    (raw,) = (home / "runs").iterdir()
    assert raw.suffix == ".jsonl"
    assert took_s < COMPARED_S


def install(root: FreshRoot, home: str, wheel: str, user: int = fresh_roots.NOBODY) -> None:
    """Into a fresh environment, with what it needs from the index."""
    for command in (
        ["python3", "-m", "venv", "venv"],
        ["venv/bin/pip", "install", "--quiet", "--no-cache-dir", f"./{wheel}"],
    ):
        done = root.run(command, cwd=home, user=user)
        assert done.returncode == 0, done.stdout + done.stderr


def test_root_measures_with_the_wheel_alone(root, wheel, capsys):
    """Compilers and libraries come by apt, suites and measuring library are the wheel's."""
    home = root.home("measures", user=0)
    shutil.copy2(wheel, home)
    started = time.monotonic()
    install(root, "/home/measures", wheel.name, user=0)
    done = root.run(["venv/bin/toll", "run", "--wait"], cwd="/home/measures", user=0, limit_s=1500)
    took_s = time.monotonic() - started
    with capsys.disabled():
        print(f"\n{root.folder.name}: installed, built and measured in {took_s:.0f} s")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert sorted(path.suffix for path in (home / "runs").iterdir()) == [".html", ".toll"]
    assert took_s < MEASURED_S
