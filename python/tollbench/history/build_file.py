"""`--build @FILE`: commits that need other build commands than those before them.

A line is a revision and a command: `v2.0 cmake -B build && cmake --build build`. It holds for that commit and
all that come from it, but for those that come from the revision of a later line, too. Empty lines and those
that begin with # say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tollbench.compare.git import git
from tollbench.errors import TollError
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.text import shown

_MOST_BYTES = 1 << 20
_EXAMPLE = "a line is a revision and a command: v2.0 make bench"


@dataclass(frozen=True, slots=True)
class _BuildLine:
    """One line, and for which commits of the row it may hold."""

    number: int
    commit: str
    command: str
    holds_for: frozenset[str]


def build_commands(file: Path, commits: CommitRange, also: Sequence[Commit] = ()) -> Mapping[str, str]:
    """By commit of the row, and of those that are built besides.

    Raises TollError, with the line, for what cannot be read or leaves it open.
    """
    wanted = {commit.commit: commit for commit in (*commits.commits, *also)}
    told = f"--build @{file}"
    lines: list[_BuildLine] = []
    for number, text in enumerate(_text(file).splitlines(), 1):
        words = text.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 2:
            raise TollError(f"{told}, line {number} has no command: {shown(text, 100)}", _EXAMPLE)
        line = _line(told, number, words[0], words[1].strip(), commits, wanted)
        twice = next((other for other in lines if other.commit == line.commit), None)
        if twice is not None:
            raise TollError(
                f"{told}, lines {twice.number} and {number} are of one commit, {line.commit[:10]}",
                "leave out one of them",
            )
        lines.append(line)
    first = commits.commits[0]
    if not any(first.commit in line.holds_for for line in lines):
        raise TollError(
            f"{told} says nothing of the first commit, {first.short}",
            "begin with a line for it, or for a revision before it",
        )
    return _newest_of(told, lines, commits.repository, list(wanted.values()))


def _text(file: Path) -> str:
    """Raises TollError."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise TollError(
                f"--build @{file} is larger than {_MOST_BYTES >> 20} MiB, which no list of commands is",
                _EXAMPLE,
            )
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise TollError(f"--build @{file} cannot be read: {why}", _EXAMPLE) from None


def _line(
    told: str, number: int, name: str, command: str, commits: CommitRange, wanted: Mapping[str, Commit]
) -> _BuildLine:
    """Raises TollError for a revision that is none, or that no commit of the row comes from."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    asked = git(commits.repository, *words)
    commit = asked.stdout.strip()
    if asked.returncode != 0:
        raise TollError(f"{told}, line {number}: there is no revision {shown(name, 100)!r}", _EXAMPLE)
    tips = _tips(commits, wanted)
    behind = git(commits.repository, "rev-list", "--ancestry-path", f"^{commit}", *tips).stdout
    holds_for = wanted.keys() & {commit, *behind.split()}
    if not holds_for:
        raise TollError(
            f"{told}, line {number}: no commit of the row is {shown(name, 100)}, or comes from it",
            "name one of the row, or one before it",
        )
    return _BuildLine(number, commit, command, frozenset(holds_for))


def _tips(commits: CommitRange, wanted: Mapping[str, Commit]) -> list[str]:
    """What all that are wanted lead to: the last one of a range; tags may be of several branches."""
    row = {one.commit for one in commits.commits if not one.name} - {commits.commits[-1].commit}
    return [commit for commit in wanted if commit not in row]


def _newest_of(
    told: str, lines: Sequence[_BuildLine], repository: Path, wanted: Sequence[Commit]
) -> Mapping[str, str]:
    """Of the lines that may hold for a commit the one that comes from all others.

    Raises TollError where there is none, as after a merge of two branches that each have a line.
    """

    @cache
    def comes_from(later: str, earlier: str) -> bool:
        words = ("merge-base", "--is-ancestor", earlier, later)
        return git(repository, *words).returncode == 0

    @cache
    def newest(numbers: frozenset[int]) -> _BuildLine | None:
        own = [lines[number] for number in sorted(numbers)]
        last = (line for line in own if all(comes_from(line.commit, other.commit) for other in own))
        return next(last, None)

    found: dict[str, str] = {}
    for one in wanted:
        numbers = frozenset(at for at, line in enumerate(lines) if one.commit in line.holds_for)
        line = newest(numbers)
        if line is not None:
            found[one.commit] = line.command
        elif numbers:
            named = " and ".join(str(lines[number].number) for number in sorted(numbers)[-2:])
            raise TollError(
                f"{told}, lines {named}: {one.short} comes from both, and neither of them from the other",
                "give the commit that merged them a line of its own",
            )
    missing = next((one for one in wanted if one.commit not in found), None)
    if missing is not None:
        raise TollError(
            f"{told} says nothing of {missing.short}", "write a line for it, or for a revision before it"
        )
    return found
