"""`--sandbox`: whether there is one here, and what it shows of the places that it hides."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tollbench.catalog import packages
from tollbench.errors import TollError
from tollbench.home import cache_folder, needed_by_programs
from tollbench.launching.command import run_command
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.sandbox import Confined, Sandbox, sandboxed
from tollbench.text import shown

_TRIED_S = 20.0
_REFUSED = (
    "it needs user namespaces and a /proc of its own: sysctl kernel.unprivileged_userns_clone=1 or"
    " kernel.apparmor_restrict_unprivileged_userns=0 where these exist, a container with"
    " --security-opt seccomp=unconfined; or put the whole of toll into a virtual machine"
)


def sandbox_for(sides: Iterable[str], folder: Path | None, more: Iterable[Path]) -> Sandbox:
    """One that works here, and shows what the sides name and where they run. Raises TollError."""
    need = packages.table()["bubblewrap"]
    bwrap = need.found()
    if bwrap is None:
        raise TollError(
            "--sandbox needs bubblewrap (bwrap), which is not installed", packages.command_for([need])
        )
    sandbox = Sandbox(shutil.which("bwrap") or bwrap, _version(bwrap))
    for place in (
        Path.cwd(),
        *([folder] if folder is not None else []),
        cache_folder(),
        *needed_by_programs(),
    ):
        sandbox.show(place)
    for path in more:
        sandbox.show(path.resolve())
    for side in sides:
        sandbox.show_command(side, folder or Path.cwd())
        sandbox.show_command(side, Path.cwd())
    _try(sandbox)
    return sandbox


def _version(bwrap: str) -> str:
    """ "bubblewrap 0.8.0"."""
    try:
        told = run_command([bwrap, "--version"], own_environment(), Path("/"), _TRIED_S).stdout
    except LaunchFailed:  # what it is tried with says more
        told = b""
    match = re.search(rb"\d[\w.]*", told)
    return f"bubblewrap {shown(match[0].decode(), 40)}" if match else "bubblewrap"


def _try(sandbox: Sandbox) -> None:
    """Starts a program that does nothing. Raises TollError with bubblewrap's words where it cannot."""
    try:
        with sandboxed(sandbox):
            ended = run_command(["true"], own_environment(), Path("/"), _TRIED_S, confined=Confined())
        reason = "" if ended.exit_code == 0 else f"a program that does nothing {ended.how()}"
    except LaunchFailed as failure:
        reason = f"a program that does nothing {failure.reason}"
    if reason:
        raise TollError(f"--sandbox: no sandbox can be made here: {reason}", _REFUSED)
