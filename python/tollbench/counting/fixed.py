"""One environment for all launches that count: what moves the stack or the heap moves some counts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tollbench.launching.command import run_command
from tollbench.launching.environment import own_environment, preloading
from tollbench.launching.failure import LaunchFailed

_BLOCK_BYTES = 4096  # words and variables of a process are padded to a multiple of it
# Of the terminal and of where somebody stands: they differ from call to call, and programs seldom read them.
_VOLATILE = ("COLUMNS", "LINES", "OLDPWD", "SHLVL", "WINDOWID", "_")
_PADDING = "TOLL_PADDING"
LOCALE = "C.UTF-8"


@dataclass(frozen=True, slots=True)
class FixedLaunch:
    """What is started, and with which variables."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def fixed(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    libraries: Sequence[Path] = (),
    under: Sequence[str] = (),
    watched_by: Sequence[str] = (),
) -> FixedLaunch:
    """`command`, under a tool or by itself, without address randomisation and with variables of fixed size.

    Libraries are preloaded into it, and into the tool where it is dynamically linked; not into who watches.
    """
    made = {name: value for name, value in environment.items() if name not in _VOLATILE}
    made |= {"LC_ALL": LOCALE, "LANG": LOCALE, "LD_BIND_NOW": "1"}
    preloads = preloading(made, [str(each) for each in libraries]).get("LD_PRELOAD", "")
    made.pop("LD_PRELOAD", None)
    made[_PADDING] = ""
    used = sum(_size(name) + _size(value) for name, value in made.items())
    # The loader is told the file's name a second time.
    used += sum(map(_size, (*command, command[0]))) + len(os.fsencode(preloads))
    made[_PADDING] = "x" * (-used % _BLOCK_BYTES)
    before = ["setarch", "-R"] if can_fix_addresses() else []
    before += watched_by
    if preloads:
        before += ["env", f"LD_PRELOAD={preloads}"]
    return FixedLaunch((*before, *under, *command), made)


def _size(text: str) -> int:
    """In bytes, with the one that ends it, of a text that may be no UTF-8."""
    return len(os.fsencode(text)) + 1


@cache
def can_fix_addresses() -> bool:
    """Whether address randomisation can be switched off here: containers may forbid it."""
    if shutil.which("setarch") is None:
        return False
    try:
        return run_command(["setarch", "-R", "true"], own_environment(), Path("/"), 10.0).exit_code == 0
    except LaunchFailed:
        return False
