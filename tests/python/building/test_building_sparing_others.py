"""CMake kills everybody where a fork is refused: in here it reaches nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkouts import ROOT
from process_limits import at_most, needs_another_user
from tollbench.building.configuring import SPARING_OTHERS
from tollbench.building.sparing_others import CALLS, COULD_NOT_START
from tollbench.interpreters import interpreter

has_a_filter = pytest.mark.skipif(os.uname().machine not in CALLS, reason="no filter for this processor")


def said(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SPARING_OTHERS, *words], capture_output=True, text=True, check=False, cwd="/")


@has_a_filter
def test_everybody_is_refused_and_one_or_a_group_are_not() -> None:
    """By signal 0, which ends nobody."""
    script = """
import os, signal, subprocess
def ask(who):
    try:
        os.kill(who, 0)
    except OSError as error:
        return error.strerror
    return "sent"
one = subprocess.Popen(["sleep", "60"])
print(ask(-1), ask(0), ask(os.getpid()), ask(-os.getpgid(0)), sep=", ")
one.kill()
print(one.wait())
"""
    done = said(*interpreter("-S", "-c", script))
    assert done.stdout.splitlines() == ["Operation not permitted, sent, sent, sent", "-9"]


def test_words_output_and_exit_code_are_the_commands_own() -> None:
    done = said("sh", "-c", 'printf "%s|" "$@"; echo told >&2; exit 7', "sh", "a b", "", "c")
    assert (done.returncode, done.stdout, done.stderr) == (7, "a b||c|", "told\n")
    assert said("/nowhere/cmake").returncode == COULD_NOT_START


# It uses up the limit, and then asks for one process more; what it has started ends by itself.
FILLING = """
cmake_minimum_required(VERSION 3.16)
project(filling NONE)
execute_process(COMMAND sh -c "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done 2>/dev/null")
foreach(number RANGE 5)
  execute_process(COMMAND sh -c ":" COMMAND cat COMMAND cat)
endforeach()
"""
CONFIGURING = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tollbench.building.configuring import configure
from tollbench.errors import TollError
from tollbench.words import Toolset
project = Path(sys.argv[2])
try:
    configure(project, project / "build", Toolset(), lambda _line: None)
except TollError as error:
    print("refused:", error.what)
else:
    print("configured")
"""


@pytest.fixture
def project() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="filling-", dir="/tmp"))  # where another user may enter
    (made / "build").mkdir()
    (made / "CMakeLists.txt").write_text(FILLING)
    preset = {"name": "release", "generator": "Ninja", "binaryDir": "x"}
    (made / "CMakePresets.json").write_text(json.dumps({"version": 3, "configurePresets": [preset]}))
    for path in (made, made / "build"):
        path.chmod(0o777)
    yield made
    shutil.rmtree(made)


@has_a_filter
@needs_another_user
def test_a_limit_that_is_reached_in_the_midst_of_cmake_ends_nobody_else(project: Path) -> None:
    bystander = subprocess.Popen(at_most(60, "sleep", "60"))
    try:
        done = subprocess.run(
            at_most(30, *interpreter("-B", "-c", CONFIGURING, str(ROOT / "python"), str(project))),
            capture_output=True, text=True, check=False, cwd="/",
        )  # fmt: skip
        assert done.returncode == 0, done
        assert done.stdout.startswith(("refused: CMake could not configure", "configured"))
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
