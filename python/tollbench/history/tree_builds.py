"""Commits built when they are asked for, those with the same files once; what is far is dropped again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tollbench.compare.revisions import Hearing, Revision, RevisionBuild, built
from tollbench.compare.sides import WrittenSide
from tollbench.errors import TollError
from tollbench.history.commit_range import Commit
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.words import Status
from tollbench.writing import delete_tree

ROOM_FOR = 4  # builds as large as the largest so far: with less room on the disk it is short
_Key = tuple[str, str]  # tree and command


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
        self._known: dict[_Key, WrittenSide | str] = {}
        self._folders: dict[_Key, Path] = {}  # a build that is made again has the path of the first one
        self._count = 0  # of folders
        self._largest = 0  # bytes
        self.pinned: Sequence[Commit] = ()  # that others than who says `keep_only` will ask for

    def of(self, commit: Commit) -> WrittenSide:
        """The commit, ready to be a side. Raises LaunchFailed where it does not build, Interrupted, and
        TollError where it cannot even be checked out, which is no commit's fault."""
        key = self._key(commit)
        if key not in self._known:
            folder = self._folders.get(key)
            if folder is None or folder.exists():  # or some of it could not be removed
                self._count += 1
                folder = self._folders[key] = self._scratch / f"tree-{commit.tree[:10]}-{self._count}"
            self._known[key] = self._made(commit, folder)
            if isinstance(self._known[key], WrittenSide):
                self._largest = max(self._largest, _size(folder))
        known = self._known[key]
        if isinstance(known, str):
            raise LaunchFailed(known, Status.BUILD_FAILED)
        return known

    def keep_only(self, commits: Sequence[Commit]) -> None:
        """Removes the builds of all others but the pinned, which are made again where they are asked for."""
        kept = {self._key(commit) for commit in (*commits, *self.pinned)}
        for key in [key for key, known in self._known.items() if isinstance(known, WrittenSide)]:
            if key not in kept:
                del self._known[key]
                with suppress(OSError):
                    delete_tree(self._folders[key])

    @property
    def room_is_short(self) -> bool:
        """Whether the disk has room for few more builds."""
        return shutil.disk_usage(self._scratch).free < ROOM_FOR * self._largest

    def _key(self, commit: Commit) -> _Key:
        return commit.tree, self._recipe_of(commit).build

    def _recipe_of(self, commit: Commit) -> RevisionBuild:
        return replace(self._recipe, build=self._commands.get(commit.commit, self._recipe.build))

    def anew(self, commit: Commit) -> None:
        """Builds it once more, in a folder that is removed. Raises as `of` does."""
        folder = self._scratch / f"anew-{commit.tree[:10]}"
        made = self._made(commit, folder)
        with suppress(OSError):
            delete_tree(folder)
        if isinstance(made, str):
            raise LaunchFailed(made, Status.BUILD_FAILED)

    def _made(self, commit: Commit, folder: Path) -> WrittenSide | str:
        """The side, or why there is none."""
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
            shutil.rmtree(folder, ignore_errors=True)  # many that do not build would fill the disk
            if failure.status is Status.BUILD_FAILED:
                return failure.reason
            raise TollError(failure.reason, "look at the repository and at the room on the disk") from None
        except OSError as error:
            raise TollError(
                f"{commit.short} cannot be checked out: {error.strerror}", "make room on that disk"
            ) from None
        return side


def _size(folder: Path) -> int:
    """Bytes that it takes on the disk."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += 512 * Path(place, name).lstat().st_blocks
    return total
