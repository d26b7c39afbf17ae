"""What a checkout of a commit lacks, told before it is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tollbench.cli.console import say
from tollbench.history.commit_range import submodules


def note_submodules(repository: Path, commits: Sequence[str]) -> None:
    """Says so where one of these commits has any."""
    if names := sorted({name for commit in commits for name in submodules(repository, commit)}):
        say(
            f"note: submodules are not checked out ({', '.join(names[:3])}): --build has to bring them, for"
            " example by git submodule update --init"
        )
