"""`toll new` writes its file and its line, or neither, whatever the disk says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from full_disk import may_mount, on_own_disk
from tollbench.cli.new import with_line, write
from tollbench.errors import TollError
from tollbench.interpreters import interpreter_with_path

# The declared text takes one page more than the old one: where the old one was cut off first, not even its
# own length of the new one would fit.
TRY = """
import resource, sys
from pathlib import Path
from tollbench.cli.new import write
from tollbench.errors import TollError

folder, limit, free_pages = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
suite = "[contenders]\\n" + "# a line of 40 bytes, which was there\\n" * 600
suite = suite[: 5 * 4096 - 9] + "\\n"
(folder / "suite.toml").write_text(suite)
(folder / "contender.cpp.template").write_text("{{name}} {{Type}}\\n" * 50)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
else:
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError:
            pass
        filler.truncate(max(filler.tell() - free_pages * 4096, 0))
try:
    print(write(folder, "mine"))
except TollError as error:
    print(error.what, error.next_step, sep="; ")
print((folder / "suite.toml").read_text() == suite)
print(*sorted(path.name for path in folder.iterdir()))
"""


def test_a_line_goes_to_the_end_of_the_contenders():
    assert with_line("[contenders]\na = 1\n", "b = 2") == "[contenders]\na = 1\nb = 2\n"
    assert with_line("[contenders]\na = 1\n\n[other]\nc = 3\n", "b = 2") == (
        "[contenders]\na = 1\nb = 2\n\n[other]\nc = 3\n"
    )
    assert with_line("[contenders]\n", "b = 2") == "[contenders]\nb = 2\n"
    assert with_line("unit = 1\n", "b = 2") == "unit = 1\n\n[contenders]\nb = 2\n"


@pytest.mark.parametrize("state", ["no template", "a file in the way"])
def test_new_writes_both_or_nothing(tmp_path, state):
    (tmp_path / "suite.toml").write_text("[contenders]\n")
    if state == "a file in the way":
        (tmp_path / "contender.cpp.template").write_text("{{name}} {{Type}}")
        (tmp_path / "mine.cpp").write_text("precious")
    with pytest.raises(TollError):
        write(tmp_path, "mine")
    assert (tmp_path / "suite.toml").read_text() == "[contenders]\n"
    assert not (tmp_path / "mine.cpp").exists() or (tmp_path / "mine.cpp").read_text() == "precious"


def answer(command: list[str]) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(("limit", "refused"), [(100, "mine.cpp"), (4 * 4096, "suite.toml")])
def test_a_limit_for_files_leaves_both_as_they_were(tmp_path, limit, refused):
    said, unchanged, there = answer(interpreter_with_path("-c", TRY, str(tmp_path), str(limit), "0"))
    assert f"cannot write {tmp_path / refused}: File too large; " in said
    assert unchanged == "True"
    assert there == "contender.cpp.template suite.toml"


@pytest.mark.skipif(not may_mount(), reason="mounting a small file system takes root")
@pytest.mark.parametrize(("free_pages", "refused"), [(0, "mine.cpp"), (1, "suite.toml")])
def test_a_full_disk_leaves_both_as_they_were(tmp_path, free_pages, refused):
    command = interpreter_with_path("-c", TRY, str(tmp_path), "0", str(free_pages))
    said, unchanged, there = answer(on_own_disk(command, tmp_path, "256k"))
    assert f"cannot write {tmp_path / refused}: No space left on device; make room" in said
    assert unchanged == "True"
    assert there == "contender.cpp.template filler suite.toml"
