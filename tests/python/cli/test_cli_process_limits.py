"""Where hardly a process or thread may be started: a sentence and its exit code, never "interrupted"."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_runs import Made, make_run

from checkouts import ROOT
from process_limits import at_most, needs_another_user
from tollbench.errors import Exit
from tollbench.interpreters import interpreter, interpreter_with_path

# Another measurement may hold the machine's lock meanwhile; imported as a script of somebody's own would.
TOLL = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from tollbench.cli import machine_use, main
machine_use.LOCK_FILES = ()
sys.argv[0] = "toll"
sys.exit(main())
"""
NOT_GRANTED = ("nothing was built: only", "this system lets toll start no more", "limit of processes is")

MISTAKEN = ("Traceback", "interrupted", "bug", "OpenBLAS")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not below those of pytest, which are for their user alone: access(2) knows of no rights."""
    made = Path(tempfile.mkdtemp(prefix="limits-", dir="/tmp"))
    make_run(made / "made.toll", [Made("quick", [10.0, 11.0, 12.0]), Made("slow", [20.0, 21.0, 22.0])])
    for name in ("a", "b"):
        shutil.copy("/bin/true", made / name)
    with (made / "b").open("ab") as file:
        file.write(b"\0")
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


def started(folder: Path, most: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = interpreter("-B", "-c", TOLL, str(ROOT / "python"), *words)
    return subprocess.run(
        at_most(most, *command),
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_another_user
@pytest.mark.parametrize("most", [1, 2, 3, 4, 6, 10])
@pytest.mark.parametrize(
    ("words", "fewest"),
    [
        (("report", "made.toll"), 1),
        (("list",), 2),
        (("compare", "--total-budget", "1", "--threshold", "9", "./a", "./b"), 6),
        (("run", "--profile", "check", "tasks/skynet/std_async"), 99),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_limit_of_processes_is_told_as_one(
    folder: Path, words: tuple[str, ...], fewest: int, most: int
) -> None:
    done = started(folder, most, *words)
    said = done.stdout + done.stderr
    assert not any(word in said for word in MISTAKEN), said
    if most >= fewest or done.returncode in (Exit.FINE, Exit.INCONCLUSIVE):
        # A budget of a second finds little. Below `fewest` it depends on how many start at the same time.
        assert done.returncode in (Exit.FINE, Exit.INCONCLUSIVE), said
    else:
        assert done.returncode == Exit.USAGE
        assert any(words in " ".join(said.split()) for words in NOT_GRANTED), said
        assert "ulimit -u" in said


THREADS = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import tollbench.cli
import numpy, scipy.special
def told(text):
    return sorted(line for line in text.splitlines() if "NUM_THREADS" in line)
print(len(os.listdir("/proc/self/task")))
print(told(subprocess.run(["env"], stdout=-1, text=True).stdout))
print(told("\\n".join(f"{name}={value}" for name, value in os.environ.items())))
print(type(numpy.__loader__).__module__, numpy.__spec__.loader is numpy.__loader__)
"""


@pytest.mark.parametrize("own", [{}, {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "3"}])
def test_numpy_gets_one_thread_and_programs_the_users_own_variables(own: dict[str, str]) -> None:
    rest = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        interpreter("-c", THREADS, str(ROOT / "python")),
        env={**rest, **own},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    theirs = str([f"{name}={value}" for name, value in sorted(own.items())])
    assert done.stdout.splitlines() == ["1", theirs, theirs, "_frozen_importlib_external True"]


def test_an_interpreter_of_the_users_own_keeps_the_threads_of_its_numpy() -> None:
    script = "import sys, tollbench; tollbench.open; print([type(one).__name__ for one in sys.meta_path])"
    done = subprocess.run(
        interpreter_with_path("-c", script),
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "_Finder" not in done.stdout
