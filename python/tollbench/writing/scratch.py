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
from typing import Final, NamedTuple

from tollbench.writing.systems import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, extended_attributes

_NAME: Final = re.compile(r"toll-scratch-[0-9a-f]{16}")
_FOLDER: Final = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC


class _Folder(NamedTuple):
    path: Path
    descriptor: int  # open and locked
    as_made: tuple[object, ...]


_spare: list[_Folder] | None = None  # None: none are kept


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder that this user alone may enter; it goes with all that is in it. Raises OSError.

    It lies in the temporary folder, where nothing else is said. Within `keeping_scratch_folders` it may be
    one that was used before and is as fresh: empty, and in nothing different from what it was when made.
    """
    made = _fresh(parent or Path(tempfile.gettempdir()))
    try:
        yield made.path
    finally:
        if _spare is not None and _freshened(made):
            _spare.append(made)
        else:
            _remove(made)


@contextmanager
def keeping_scratch_folders() -> Iterator[None]:
    """For who needs thousands, one after the other; all are gone with the block.

    A pair of launches of 8 ms had 2.5 ms of toll's own beside it, 3.1 with a fresh folder for each; where
    others write to the same disk, removing one takes a tick of the kernel's, 4 ms, on ext4.
    """
    global _spare
    before, _spare = _spare, []
    try:
        yield
    finally:
        kept, _spare = _spare, before
        for folder in kept:
            _remove(folder)


def is_scratch_folder(path: Path) -> bool:
    """Whether it is one of these, and not what lies in one."""
    return path.parent == Path(tempfile.gettempdir()) and bool(_NAME.fullmatch(path.name))


def sweep_scratch() -> None:
    """Removes what a killed toll of this user left in the temporary folder."""
    with suppress(OSError):
        base = Path(tempfile.gettempdir())
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


def _remove(made: _Folder) -> None:
    with suppress(OSError):
        delete_tree(made.path)
    os.close(made.descriptor)


def _freshened(made: _Folder) -> bool:
    """Removes the files in it, and says whether nothing else tells it from a fresh one.

    What a program of others did to it must not befall the next one: folders are not looked into, and rights,
    access lists, and room for many names are as they were, or the folder goes.
    """
    try:
        with os.scandir(made.path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    return False
                Path(entry).unlink()
        return _told(made.path) == _told(made.descriptor) == made.as_made
    except OSError:
        return False


def _told(folder: Path | int) -> tuple[object, ...]:
    """What may be different in a folder that was used. Raises OSError."""
    status = os.fstat(folder) if isinstance(folder, int) else folder.lstat()
    told = (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_size)
    return (*told, *extended_attributes(folder))


def _fresh(base: Path) -> _Folder:
    while _spare and _spare[-1].path.parent == base:
        kept = _spare.pop()
        if _freshened(kept):  # nobody was to write there meanwhile
            return kept
        _remove(kept)
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
            return _Folder(path, descriptor, _told(descriptor))
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
