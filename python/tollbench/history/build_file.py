"""`--build @FILE`: commits that need other build commands than those before them.

A line is a revision and a command: `v2.0 cmake -B build && cmake --build build`. It holds for that commit and
those behind it in the row, up to the next line's; a revision before GOOD holds from GOOD on. Empty lines and
those that begin with # say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tollbench.compare.git import git
from tollbench.errors import TollError
from tollbench.history.commit_range import CommitRange
from tollbench.text import shown

_MOST_BYTES = 1 << 20
_EXAMPLE = "a line is a revision and a command: v2.0 make bench"


def build_commands(file: Path, commits: CommitRange) -> Mapping[str, str]:
    """By commit. Raises TollError, with the line, for what cannot be read or says nothing of GOOD."""
    try:
        text = file.read_bytes()[:_MOST_BYTES].decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise TollError(f"--build @{file} cannot be read: {why}", _EXAMPLE) from None
    places = {commit.commit: place for place, commit in enumerate(commits.commits)}
    begins: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 2:
            raise TollError(f"--build @{file}, line {number} has no command: {shown(line, 100)}", _EXAMPLE)
        begins[_place(file, number, words[0], commits, places)] = words[1].strip()
    if 0 not in begins:
        raise TollError(
            f"--build @{file} says nothing of GOOD, {commits.commits[0].short}",
            "begin with a line for it, or for a revision before it",
        )
    found: dict[str, str] = {}
    for commit, place in places.items():
        found[commit] = begins[max(begin for begin in begins if begin <= place)]
    return found


def _place(file: Path, number: int, name: str, commits: CommitRange, places: Mapping[str, int]) -> int:
    """Where in the row the revision of a line is, 0 for one before GOOD. Raises TollError."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    asked = git(commits.repository, *words)
    commit = asked.stdout.strip()
    if asked.returncode != 0:
        told = f"--build @{file}, line {number}: there is no revision {shown(name, 100)!r}"
        raise TollError(told, _EXAMPLE)
    if commit in places:
        return places[commit]
    good = commits.commits[0].commit
    if git(commits.repository, "merge-base", "--is-ancestor", commit, good).returncode == 0:
        return 0
    raise TollError(
        f"--build @{file}, line {number}: {shown(name, 100)} is no commit from GOOD to BAD, nor before GOOD",
        "name one of `git rev-list --ancestry-path GOOD..BAD`",
    )
