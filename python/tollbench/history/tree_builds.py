"""Commits built when they are asked for, those with the same files once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tollbench.compare.revisions import Hearing, Revision, RevisionBuild, built
from tollbench.compare.sides import WrittenSide
from tollbench.errors import TollError
from tollbench.history.commit_range import Commit
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.words import Status


class TreeBuilds:
    """What was built so far, below a scratch folder; a tree is what a commit's files are known by."""

    def __init__(
        self,
        repository: Path,
        recipe: RevisionBuild,
        scratch: Path,
        interrupt: Interrupt | None = None,
        on_build: Callable[[Revision], None] = lambda _revision: None,
        commands: Mapping[str, str] | None = None,
    ) -> None:
        """`commands` has, by commit, which command builds it in place of the recipe's."""
        self._repository = repository
        self._recipe = recipe
        self._scratch = scratch
        self._interrupt = interrupt
        self._hearing = Hearing(on_build=on_build)
        self._commands = commands or {}
        self._known: dict[tuple[str, str], WrittenSide | str] = {}  # by tree and command
        self._count = 0  # of folders
        self._last = scratch

    def of(self, commit: Commit) -> WrittenSide:
        """The commit, ready to be a side. Raises LaunchFailed where it does not build, Interrupted, and
        TollError where it cannot even be checked out, which is no commit's fault."""
        key = (commit.tree, self._recipe_of(commit).build)
        if key not in self._known:
            self._known[key] = self._made(commit)
        known = self._known[key]
        if isinstance(known, str):
            raise LaunchFailed(known, Status.BUILD_FAILED)
        return known

    def _recipe_of(self, commit: Commit) -> RevisionBuild:
        return replace(self._recipe, build=self._commands.get(commit.commit, self._recipe.build))

    def anew(self, commit: Commit) -> None:
        """Builds it once more, in a folder that is removed. Raises as `of` does."""
        made = self._made(commit)
        shutil.rmtree(self._last, ignore_errors=True)
        if isinstance(made, str):
            raise LaunchFailed(made, Status.BUILD_FAILED)

    def _made(self, commit: Commit) -> WrittenSide | str:
        """The side, or why there is none."""
        self._count += 1
        folder = self._last = self._scratch / f"tree-{commit.tree[:10]}-{self._count}"
        try:
            folder.mkdir()
            (side,) = built(
                self._repository,
                [commit.revision],
                self._recipe_of(commit),
                folder,
                interrupt=self._interrupt,
                hear=self._hearing,
            )
        except LaunchFailed as failure:
            if failure.status is Status.BUILD_FAILED:
                shutil.rmtree(folder, ignore_errors=True)  # many that do not build would fill the disk
                return failure.reason
            raise TollError(failure.reason, "look at the repository and at the room on the disk") from None
        except OSError as error:
            raise TollError(
                f"{commit.short} cannot be checked out: {error.strerror}", "make room on that disk"
            ) from None
        return side
