"""A disk of its own that is soon full, for one program."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def may_mount() -> bool:
    """Mounting a file system takes root, and a container may not be let."""
    if not shutil.which("unshare") or not shutil.which("mount"):
        return False
    command = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def on_own_disk(command: Sequence[str], folder: Path, size: str) -> list[str]:
    """The command, which alone sees an empty file system of that size in place of the folder."""
    script = f'mount -t tmpfs -o size={size} none {shlex.quote(str(folder))} && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]


def may_trace() -> bool:
    """A container may not be let."""
    return shutil.which("strace") is not None and (
        subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False
        ).returncode
        == 0
    )


def failing_disk(path: Path, calls: str, when: int) -> list[str]:
    """In front of a command: of these system calls on the file, the one of that number ends with EIO."""
    inject = f"inject={calls}:error=EIO:when={when}"
    return ["strace", "-qq", "-o", "/dev/null", "-P", str(path), "-e", f"trace={calls}", "-e", inject]
