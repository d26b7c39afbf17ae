"""A file that is there and cannot be started: the reason says what the kernel does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from compiled import compiled

from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed

LOADER = b"/lib64/ld-linux-x86-64.so.2"


def reason(program: Path) -> str:
    program.chmod(0o755)
    with pytest.raises(LaunchFailed, match="could not be started") as failed:
        run_command([f"./{program.name}"], {}, program.parent, 10.0)
    return failed.value.reason


def test_a_script_whose_interpreter_is_not_there(tmp_path: Path) -> None:
    script = tmp_path / "bench"
    script.write_text("#! /nowhere/sh -e\n")
    assert ": /nowhere/sh, which it asks to be run by, is not there" in reason(script)


def test_what_is_no_program(tmp_path: Path) -> None:
    script = tmp_path / "bench"
    script.write_text("exec ./real\n")
    assert "neither a program nor a script" in reason(script)
    script.unlink()
    with pytest.raises(LaunchFailed, match=r"No such file or directory: \./bench$"):
        run_command(["./bench"], {}, tmp_path, 10.0)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_programs_of_other_machines_and_systems(tmp_path: Path) -> None:
    whole = compiled(tmp_path, "whole", "int main() {}").read_bytes()
    if LOADER not in whole:
        pytest.skip("another loader than that of glibc on x86-64")
    other = tmp_path / "other"
    other.write_bytes(whole[:18] + (183).to_bytes(2, "little") + whole[20:])  # EM_AARCH64
    assert ": it is code for AARCH64, on a machine of " in reason(other)
    other.write_bytes(whole.replace(LOADER, LOADER[:-1] + b"9"))
    assert ": /lib64/ld-linux-x86-64.so.9, which it asks to be run by, is not there" in reason(other)
