"""A command that may have few processes and threads alive at once, as in a container with a limit of them."""

from __future__ import annotations

import os
import shutil

import pytest

# A user without other processes, as the kernel counts those of a user: one for each worker of the tests.
NOBODY_ELSE = str(100_000 + os.getpid())

needs_another_user = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("prlimit", "setpriv"))),
    reason="only root can become a user without other processes",
)


def at_most(processes: int, *command: str) -> list[str]:
    """The command with this limit. It may read and write what root may: only the number of tasks is held."""
    rights = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    user = ("--reuid", NOBODY_ELSE, "--regid", NOBODY_ELSE, "--clear-groups")
    return ["prlimit", f"--nproc={processes}", "setpriv", *user, *rights, *command]
