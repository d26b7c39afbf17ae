"""Commits on their way to hosts: one file that git makes a repository of, wherever it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tollbench.compare.git import git
from tollbench.errors import TollError
from tollbench.text import shown

BUNDLE = "commits.bundle"


def resolved(repository: Path, revisions: Sequence[str]) -> tuple[str, ...]:
    """The commits that these revisions name now. Raises TollError for what names none."""
    return tuple(_commit(repository, revision) for revision in revisions)


def _commit(repository: Path, revision: str) -> str:
    done = git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode:
        raise TollError(
            f"{shown(revision)} names no commit of {repository}",
            "git log shows them; start toll in the repository",
        )
    return done.stdout.strip()


def bundle(repository: Path, commits: Sequence[str], folder: Path) -> Path:
    """A file in `folder` with these commits and all that came before them. Raises TollError.

    What git does not store goes with nobody: changes that are not committed, ignored files, submodules, and
    the repository's own configuration, remotes and credentials.
    """
    bare, made = folder / "commits.git", folder / BUNDLE
    steps: list[tuple[Path, tuple[str, ...]]] = [(folder, ("init", "--quiet", "--bare", str(bare)))]
    names = [f"refs/heads/toll-{number}" for number in range(len(commits))]
    pushed = [f"{commit}:{name}" for commit, name in zip(commits, names, strict=True)]
    steps.append((repository, ("push", "--quiet", str(bare), *pushed)))
    steps.append((bare, ("symbolic-ref", "HEAD", names[0])))
    steps.append((bare, ("bundle", "create", "--quiet", str(made), "HEAD", "--all")))
    for place, words in steps:
        done = git(place, *words, protocols="file")
        if done.returncode:
            raise TollError(
                f"git {words[0]}: {shown(done.stderr.strip(), 300)}", "see that git works here: git fsck"
            )
    return made
