"""A disk that really takes no more: every launch reported as saved is there, and the message says so."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from full_disk import failing_disk, may_mount, may_trace, on_own_disk
from tollbench.interpreters import interpreter_with_path

FILL = """
import resource, sys
from pathlib import Path
import numpy as np
from store_runs import make, launch, TIMED
from tollbench.errors import TollError
from tollbench.store import RunFile

path, limit = Path(sys.argv[1]), int(sys.argv[2])
saved = 0
try:
    with make(path, rounds=0) as run_file:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for number in range(1, 10_000):
            batch = TIMED._replace(iterations=5000)
            run_file.append(launch(round=number + 10, batches=(batch,)), [np.ones(5000, np.float32)])
            saved += 1
except TollError as error:
    print(int(error.code), error.what, error.next_step, sep="\\n")
with RunFile.open(path) as run_file:
    found = [len(run_file.samples(item.id)) for item in run_file.launches(1) if item.batches]
print(saved, found == [5000] * saved)
"""


def fill(path: Path, limit: int, disk: str = "", before: Sequence[str] = ()) -> list[str]:
    search = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [*before, *interpreter_with_path("-c", FILL, str(path), str(limit))]
    if disk:
        command = on_own_disk(command, path.parent, disk)
    done = subprocess.run(
        command,
        env={"PYTHONPATH": search, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check(lines: list[str], path: Path) -> None:
    code, what, next_step, outcome = lines
    assert code == "3"
    assert "Could not save the last launch" in what
    saved, sound = outcome.split()
    assert int(saved) > 5
    assert sound == "True"
    assert (
        f"{int(saved) + 3} launches are saved in {path}" in what
    )  # the canary, the counting pass, the failed one
    assert f"--resume {path}" in next_step


def test_file_size_limit(tmp_path: Path) -> None:
    path = tmp_path / "full.toll"
    lines = fill(path, 600_000)
    check(lines, path)
    assert "disk" in lines[1]


@pytest.mark.skipif(not may_mount(), reason="mounting a small file system takes root")
def test_full_file_system(tmp_path: Path) -> None:
    path = tmp_path / "full.toll"
    lines = fill(path, 0, disk="1m")
    check(lines, path)
    assert "the disk is full" in lines[1]


@pytest.mark.skipif(not may_trace(), reason="needs strace and the right to trace")
def test_a_disk_that_fails(tmp_path: Path) -> None:
    """As the kernel tells of a cable that is loose: EIO, once, in the midst of the launches."""
    path = tmp_path / "failing.toll"
    log = path.with_name("failing.toll-wal")
    lines = fill(path, 0, before=failing_disk(log, "pwrite64", 2000))
    check(lines, path)
    assert "I/O error" in lines[1]
