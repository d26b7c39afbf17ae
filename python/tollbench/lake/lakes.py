"""A lake by the name that a user gives it: a folder, or a place in object storage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tollbench.lake import compacting
from tollbench.lake.compacting import Compacted, Progress
from tollbench.lake.lake_folder import Added, LakeFolder
from tollbench.lake.lake_schema import TABLES
from tollbench.lake.leases import OnWait
from tollbench.lake.object_lake import ObjectLake
from tollbench.lake.object_store import is_object_url
from tollbench.lake.tables_of_run import LakeRun


class Lake(Protocol):
    """What one can do with a lake. Everything raises TollError."""

    def add(self, run: LakeRun) -> Added:
        """Puts a run into it."""

    def reading(self, tables: Sequence[str]) -> AbstractContextManager[LakeFolder]:
        """A folder that has these tables as they are now."""

    def compact(self, on_file: Progress) -> Compacted:
        """Many small files become few."""

    def tidy(self, on_file: Progress) -> int:
        """The same for what questions read, once there are many."""


@dataclass(frozen=True, slots=True)
class FolderLake:
    """A lake on a disk."""

    folder: LakeFolder

    def add(self, run: LakeRun) -> Added:
        """As `LakeFolder.add`."""
        return self.folder.add(run)

    def reading(self, tables: Sequence[str]) -> AbstractContextManager[LakeFolder]:  # noqa: ARG002
        """The folder itself."""
        return nullcontext(self.folder)

    def compact(self, on_file: Progress) -> Compacted:
        """As `compacting.compact`."""
        return compacting.compact(self.folder, on_file)

    def tidy(self, on_file: Progress) -> int:
        """As `compacting.tidy`."""
        return compacting.tidy(self.folder, on_file=on_file)


def lake_at(place: str, on_wait: OnWait = lambda _: None) -> Lake:
    """The lake there. `on_wait` is told why nothing goes on. Raises TollError where there is none."""
    if is_object_url(place):
        return ObjectLake.open(place, on_wait)
    return FolderLake(LakeFolder.open(Path(place)))


def lake_made_at(place: str, on_wait: OnWait = lambda _: None) -> Lake:
    """The same, made where there is none."""
    if is_object_url(place):
        return ObjectLake.make(place, on_wait)
    return FolderLake(LakeFolder.make(Path(place)))


def tables_named(sql: str) -> tuple[str, ...]:
    """Those that a query may read, as far as its words tell: all, where it names none."""
    words = set(re.findall(r"\w+", sql.lower()))
    return tuple(table for table in TABLES if table in words) or tuple(TABLES)
