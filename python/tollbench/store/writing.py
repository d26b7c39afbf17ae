"""Files that are written completely or not at all: what stood there stands until the new one is whole."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tollbench.errors import REFUSALS, TollError


def write_text(path: Path, text: str, next_step: str = "") -> None:
    """Makes `text` the content of the file, in UTF-8. Raises TollError, with `next_step` where it is given.

    An existing file keeps its mode, and where it is protected against writing, also its content.
    """
    try:
        with replacing(path) as place:
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        step = next_step or REFUSALS.get(error.errno or 0, "name a file in a folder that you may write to")
        raise TollError(f"cannot write {path}: {error.strerror or error}", step) from None


@contextmanager
def replacing(path: Path, *, or_folder: bool = False) -> Iterator[Path]:
    """Where to write the file or folder that is to stand at `path`, and does once the block ends well.

    Whatever the block raises, or the disk, nothing is left of what was written. A folder is replaced only
    with `or_folder`. A device or a pipe (/dev/stdout, /dev/null) is yielded itself: to put a file in its
    place would destroy it.
    """
    target = behind_links(path)
    if is_special(target):
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK):  # renaming would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    # A name of its own: another one may be writing the same file, and in /tmp a foreign link may wait.
    partial = target.with_name(f".toll-{secrets.token_hex(8)}.partial")
    try:
        yield partial
        if partial.is_file():
            _finish(partial, target)
        if or_folder and target.is_dir():
            _replace_folder(target, partial)
        else:
            partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink()


def behind_links(path: Path) -> Path:
    """The file that is meant: a link such as /dev/stdout stays one when its file is replaced."""
    return path if is_special(path) else Path(os.path.realpath(path))


def is_special(path: Path) -> bool:
    """Whether `path` leads to something that is neither a file nor a folder: a device, a pipe, a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _finish(partial: Path, target: Path) -> None:
    """Owner and mode as they were, and all of it on the disk, which may refuse it only now."""
    if target.is_file():
        was = target.stat()
        with suppress(OSError):  # only root may give files away
            os.chown(partial, was.st_uid, was.st_gid)
        shutil.copymode(target, partial)
    descriptor = os.open(partial, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace_folder(target: Path, partial: Path) -> None:
    """Nothing can be moved over a folder: the old one steps aside, and back where the new one cannot come."""
    old = partial.with_suffix(".old")
    target.rename(old)
    try:
        partial.replace(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
