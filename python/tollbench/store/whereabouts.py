"""Where a file is that is being written: somebody may move or remove it, and the writing goes on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

DESCRIPTORS = Path("/proc/self/fd")


class Whereabouts:
    """Of a file that this process has open; made once it is open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _identity(path)

    def left(self) -> bool:
        """Whether the name leads to nothing, or to another file than at first."""
        return self._file is None or _identity(self._path) != self._file

    def now(self) -> Path | None:
        """Where it is. None where it was removed, or the kernel does not tell a name that leads to it."""
        for descriptor in self._open():
            with suppress(OSError):
                found = (DESCRIPTORS / str(descriptor)).readlink()
                # Of a removed name the kernel tells "... (deleted)"; another may lead to the file.
                if _identity(found) == self._file:
                    return found
        return None

    def removed(self) -> bool:
        """Whether it has no name any more: what was written to it goes when it is closed."""
        return any(os.fstat(descriptor).st_nlink == 0 for descriptor in self._open())

    def _open(self) -> Iterator[int]:
        """Descriptors of it."""
        return _descriptors(self._file)


class OpenHere:
    """Files at these names that this process has open at this moment, and will have closed soon."""

    def __init__(self, paths: Iterable[Path]) -> None:
        found = {path: _identity(path) for path in paths}
        self._files = {
            path: file for path, file in found.items() if next(_descriptors(file), None) is not None
        }

    def remove(self) -> None:
        """Takes their names away, of those that still lead to them."""
        for path, file in self._files.items():
            if _identity(path) == file:
                with suppress(OSError):
                    path.unlink()


def _descriptors(file: tuple[int, int] | None) -> Iterator[int]:
    try:
        names = [entry.name for entry in DESCRIPTORS.iterdir()]
    except OSError:  # no /proc
        return
    for name in names:
        with suppress(OSError):  # that of the listing itself is closed by now
            found = os.fstat(int(name))
            if (found.st_dev, found.st_ino) == file:
                yield int(name)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
