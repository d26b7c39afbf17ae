"""Asks git about a repository, which may be a stranger's.

Its configuration may name programs: a watcher of files, hooks, filters, commands that fetch what a partial
clone lacks. They would run when somebody only looks; they are switched off. What the user's own configuration
names stays. Sources: git-config(1), git(1) (GIT_ALLOW_PROTOCOL, GIT_NO_LAZY_FETCH).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tollbench.errors import TollError

_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"


def git(folder: Path, *arguments: str, protocols: str = "") -> subprocess.CompletedProcess[str]:
    """Runs git in `folder` to its end, whatever its exit code, and without running what the repository names.

    `protocols` are those over which it may fetch, by default none. Raises TollError where git cannot start.
    """
    steering = without_git(dict(os.environ))
    settings = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
    environment = {
        **steering,
        **_configuring(steering, settings | dict.fromkeys(_own_filters(folder, steering), "")),
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": protocols,
    }
    return _run_git(folder, arguments, environment)


def _own_filters(folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Keys of the filters that the repository's own configuration defines; those of the user are trusted.

    Without its filter, a file that is newer than the index counts as changed where the filter changes it.
    """
    asked = ["config", "--show-scope", "--null", "--name-only", "--get-regexp", _FILTERS]
    words = _run_git(folder, asked, environment).stdout.split("\0")
    return [
        key for scope, key in zip(words[::2], words[1::2], strict=False) if scope in ("local", "worktree")
    ]


def _configuring(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Variables by which git takes these settings, after those that the caller gave in the same way."""
    there = environment.get("GIT_CONFIG_COUNT", "0")
    first = int(there) if there.isdecimal() else 0
    made = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings.items(), first):
        made |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return made


def _run_git(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise TollError(f"git cannot be run in {folder}: {error.strerror}", "install git") from None


def without_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Without the variables that a hook or an alias of the caller may have set."""
    steering = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
    return {name: value for name, value in environment.items() if name not in steering}
