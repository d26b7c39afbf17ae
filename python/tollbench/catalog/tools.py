"""Starts a tool of this machine and takes what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path("/")


def run_tool(
    command: Sequence[str],
    *,
    one_stream: bool = False,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs it without input to its end, whatever its exit code; what it says is text, whatever its bytes.

    Not where toll was started, unless `cwd` says so: a file there may tell a tool what to run, as go.mod and
    rust-toolchain.toml do. With `one_stream` its errors stand between the rest, as in a terminal. Raises
    OSError where it cannot start, subprocess.TimeoutExpired where it takes longer than `limit_s`.
    """
    return subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if one_stream else subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
    )
