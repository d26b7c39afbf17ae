"""Files that come to stand at their place completely or not at all.

What is written goes to a fresh name in the same folder, made so that nothing that waits there is opened or
followed; it is brought to the disk, and only then takes the place it was written for.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from tollbench.writing.systems import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_PATH

with suppress(ImportError):  # Windows has none, and nothing is written there
    import fcntl

NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC
# Gets a folder's descriptor, a name in it, and what has that name; raises where it may not be replaced.
MayReplace = Callable[[int, str, os.stat_result], None]

_NO_LINKS_HERE: Final = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EINVAL}
_PARTIAL: Final = re.compile(r"\.toll-[0-9a-f]{16}\.partial")
_QUIET: Final = O_NONBLOCK | O_CLOEXEC
_TRIES: Final = 20
_WRITTEN_TO: Final[set[tuple[int, int]]] = set()  # folders of toll's own, by device and number


def write_own(path: Path, content: str | bytes) -> None:
    """A file of toll's own, in its cache or a build folder: what stood there is replaced. Raises OSError."""
    with whole(path, lambda _folder, _name, _there: None, of_user=False) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def alone(lock: Path, *, wait: bool = True) -> Iterator[None]:
    """Waits until nobody else holds the lock: a file of toll's own, made where it is not there, or a folder.

    The file may be replaced while it is held: whoever waited for the old one waits for the new one too.
    Raises OSError where it cannot be opened, also for a link; BlockingIOError without `wait`.
    """
    flags = os.O_RDONLY if lock.is_dir() else os.O_RDWR | os.O_CREAT
    while True:
        descriptor = os.open(lock, flags | O_NOFOLLOW | O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _has_name(descriptor, lock):
                yield
                return
        finally:
            os.close(descriptor)


def _has_name(descriptor: int, path: Path) -> bool:
    """Whether the open file still is the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    """The folder of `path`, held: it stays the same, whatever is renamed meanwhile. Raises OSError."""
    descriptor = os.open(path.parent, O_PATH | O_DIRECTORY | O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def there(folder: int, name: str) -> os.stat_result | None:
    """What has that name, a link itself included. Raises OSError where the folder does not tell."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def whole(path: Path, may_replace: MayReplace, *, of_user: bool = True) -> Iterator[BinaryIO]:
    """What is written to becomes the file at `path` once the block ends well; else nothing is left of it.

    A file that is replaced keeps its mode and, as far as that is allowed, its owner. Raises OSError, and what
    `may_replace` raises: it is asked before anything is written, and again at the end. A folder of toll's
    own, `of_user` false, may hold thousands of files, which are made by the dozen and can be made again.
    """
    with folder_of(path) as folder:
        before = there(folder, path.name)
        if before is not None:
            may_replace(folder, path.name, before)
        if of_user or _is_new_here(folder):
            _sweep(folder)
        # Who may not read the old file may not read the new one either, not even for a moment.
        descriptor, partial = _fresh(folder, 0o666 if before is None else 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                if before is not None and stat.S_ISREG(before.st_mode):
                    _as_before(descriptor, before)
                os.fsync(descriptor)
                _put(folder, partial, path.name, may_replace)  # while it is still locked
        except BaseException:
            with suppress(OSError):
                os.unlink(partial, dir_fd=folder)
            raise
        if of_user:
            _sync(folder)


def _fresh(folder: int, mode: int) -> tuple[int, str]:
    """A file under a name of its own, locked for as long as it is written. Raises OSError."""
    while True:
        name = f".toll-{secrets.token_hex(8)}.partial"  # short, however long the name of the target is
        descriptor = os.open(name, NEW_FILE, mode, dir_fd=folder)
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, name
        os.close(descriptor)  # another toll has swept it away before it was locked


def _is_new_here(folder: int) -> bool:
    """Whether this process writes to the folder for the first time."""
    found = os.fstat(folder)
    known = len(_WRITTEN_TO)
    _WRITTEN_TO.add((found.st_dev, found.st_ino))
    return len(_WRITTEN_TO) > known


def _sweep(folder: int) -> None:
    """Removes what a killed toll of this user left: files of that very form of name that nobody holds."""
    with suppress(OSError), _readable(folder) as listing:
        for name in filter(_PARTIAL.fullmatch, os.listdir(listing)):  # noqa: PTH208  a folder that is open
            with suppress(OSError):
                descriptor = os.open(name, os.O_RDONLY | O_NOFOLLOW | _QUIET, dir_fd=folder)
                try:
                    found = os.fstat(descriptor)
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                        os.unlink(name, dir_fd=folder)
                finally:
                    os.close(descriptor)


@contextmanager
def _readable(folder: int) -> Iterator[int]:
    descriptor = os.open(".", os.O_RDONLY | O_DIRECTORY | O_CLOEXEC, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _put(folder: int, partial: str, name: str, may_replace: MayReplace) -> None:
    """Gives the file its name. What came to that name since it was looked at is looked at as well."""
    for _ in range(_TRIES):
        standing = there(folder, name)
        if standing is None:
            try:
                os.link(partial, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                continue
            except OSError as error:
                if error.errno not in _NO_LINKS_HERE:
                    raise
            else:
                os.unlink(partial, dir_fd=folder)
                return
        else:
            may_replace(folder, name, standing)
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)


def _as_before(descriptor: int, before: os.stat_result) -> None:
    with suppress(OSError):  # only root may give files away
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _sync(folder: int) -> None:
    """Brings the name to the disk as well; a folder that may be written to and not read does not let us."""
    with suppress(OSError), _readable(folder) as descriptor:
        os.fsync(descriptor)
