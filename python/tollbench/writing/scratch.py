"""Folders of toll's own in the temporary folder: gone with their block, after a kill at the next start.

Each is locked for as long as it is used, by a descriptor that no child inherits: the kernel lets go of it
however toll ends. What has that very form of name, belongs to this user and is locked by nobody was left by
a toll that was killed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tollbench.writing.systems import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW

_NAME: Final = re.compile(r"toll-scratch-[0-9a-f]{16}")
_FOLDER: Final = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder that this user alone may enter; it goes with all that is in it. Raises OSError.

    It lies in the temporary folder, where nothing else is said.
    """
    path, descriptor = _fresh(parent or Path(tempfile.gettempdir()))
    try:
        yield path
    finally:
        with suppress(OSError):
            delete_tree(path)
        os.close(descriptor)


def is_scratch_folder(path: Path) -> bool:
    """Whether it is one of these, and not what lies in one."""
    return path.parent == Path(tempfile.gettempdir()) and bool(_NAME.fullmatch(path.name))


def sweep_scratch(parent: Path | None = None) -> None:
    """Removes what a killed toll of this user left in the temporary folder, or in another one."""
    with suppress(OSError):
        base = parent or Path(tempfile.gettempdir())
        with os.scandir(base) as entries:
            left = [base / entry.name for entry in entries if _NAME.fullmatch(entry.name)]
        for path in left:
            with suppress(OSError):
                _sweep_one(path)


def delete_tree(folder: Path) -> None:
    """Removes a folder, also where those in it take away their owner's right to change them.

    What cannot be removed stays, and the rest goes; where another file system is mounted below it, all stays.
    Raises OSError where `folder` itself is still there.
    """
    try:
        device = folder.lstat().st_dev
    except FileNotFoundError:
        return
    with suppress(OSError):
        folder.chmod(0o700)
    for place, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(place, name)
            try:
                status = path.lstat()
            except OSError:
                continue
            if status.st_dev != device:
                raise OSError(errno.EBUSY, "a file system is mounted there", str(path))
            with suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(FileNotFoundError):
        folder.rmdir()


def _fresh(base: Path) -> tuple[Path, int]:
    while True:
        path = base / f"toll-scratch-{secrets.token_hex(8)}"
        path.mkdir(mode=0o700)
        try:
            descriptor = os.open(path, _FOLDER)
        except FileNotFoundError:  # another toll has swept it away before it was locked
            continue
        with suppress(OSError):  # not every file system has locks
            _lock(descriptor)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = True) -> None:
    """Until it is closed. Raises OSError where somebody else holds it, and where there are no locks."""
    import fcntl  # which Linux has; runs are shown elsewhere too

    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep_one(path: Path) -> None:
    descriptor = os.open(path, _FOLDER)
    try:
        _lock(descriptor, wait=False)  # OSError: a toll that lives holds it
        if os.fstat(descriptor).st_uid == os.geteuid():
            delete_tree(path)
    finally:
        os.close(descriptor)
