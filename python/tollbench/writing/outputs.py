"""Files that a user named to be written: judged before the work, written after it.

What stands at the name is replaced only where toll made it for the same purpose, where it is empty, or with
`--force`. What the same command reads, or writes elsewhere, is never replaced. A device or a pipe
(/dev/stdout, /dev/null) is written to as it is; a folder may be a link, a file may not.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import BinaryIO, Final

from tollbench.errors import REFUSALS, TollError
from tollbench.writing.marks import MEASURED, Mark
from tollbench.writing.systems import O_CLOEXEC, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, WRITES_SAFELY
from tollbench.writing.whole import NEW_FILE, folder_of, there, whole

with suppress(ImportError):  # Windows has none, and nothing is written there
    import fcntl

_OWN_DESCRIPTOR: Final = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})")
_STANDARD: Final = {"/dev/stdout": 1, "/dev/stderr": 2}


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a user named. `instead` says what to name otherwise, after "next:"."""

    path: Path
    mark: Mark  # what toll makes there; one that no file bears: nothing is ever replaced
    option: str = "--output"
    force: bool = False
    instead: str = ""

    def check(self) -> None:
        """Raises TollError where it cannot be written, or must not be."""
        if not WRITES_SAFELY:
            raise TollError(
                f"{self.option} {self.path}: toll writes no files on this system",
                "send what it prints to a file: toll report RUN --format html > report.html",
            )
        with self._errors():
            if (descriptor := own_descriptor(self.path)) is not None:
                if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                    raise OSError(errno.EBADF, "it is open for reading alone")
                return
            if is_special(self.path):
                if not os.access(self.path, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                return
            if not self.path.parent.is_dir():
                raise self._refused(f"there is no folder {self.path.parent}", "make it, or ")
            with folder_of(self.path) as folder:
                standing = there(folder, self.path.name or ".")
                if standing is not None:
                    self._judge(folder, self.path.name or ".", standing)
            if not os.access(self.path.parent, os.W_OK):
                raise self._refused(f"nothing can be written to {self.path.parent}")

    @property
    def in_place(self) -> bool:
        """Whether it is a device or a pipe, which is written to and stays."""
        return own_descriptor(self.path) is not None or is_special(self.path)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """What is written to is the file once the block ends well. Raises TollError.

        A pipe whose reader has left takes no more, and that is no error.
        """
        self.check()
        with self._errors():
            if not self.in_place:
                with whole(self.path, self._judge) as file:
                    yield file
                return
            with suppress(BrokenPipeError), os.fdopen(_opened_in_place(self.path), "wb") as file:
                yield file

    def write(self, text: str, again: str = "") -> None:
        """Makes `text` the content, in UTF-8. Raises TollError: what to do next is `again`, and where that is
        not given, the text is kept in the temporary folder."""
        try:
            with self.opened() as file:
                file.write(text.encode())
        except TollError as error:
            steps = (error.next_step, again or _kept(self.path, text))
            raise TollError(error.what, "; ".join(filter(None, steps)), error.code) from None

    def _judge(self, folder: int, name: str, standing: os.stat_result) -> None:
        """Raises TollError, or OSError, for what must not be replaced."""
        if stat.S_ISLNK(standing.st_mode):
            to = os.readlink(name, dir_fd=folder)
            raise self._refused(f"it is a link to {to}, and toll writes through no link")
        if stat.S_ISDIR(standing.st_mode):
            step = self.instead or f"name a file: {self.option} {self.path}/FILE"
            raise TollError(f"{self.option} {self.path} is a folder", step)
        if not stat.S_ISREG(standing.st_mode):
            raise self._refused("it is no file that could be replaced")
        if not os.access(self.path, os.W_OK) or _another_ones(folder, standing):  # renaming asks for less
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if self.mark.never_replaced:
            raise self._refused("it is there already")
        if standing.st_size and self._bears(MEASURED, folder, name):
            raise self._refused("it holds measured data, which you alone delete")
        if not (self.force or standing.st_size == 0 or self._bears(self.mark, folder, name)):
            raise self._refused(
                f"it is there already, and toll did not make it as {self.mark.what}",
                or_else=", or replace it: --force",
            )

    @staticmethod
    def _bears(mark: Mark, folder: int, name: str) -> bool:
        descriptor = os.open(name, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, dir_fd=folder)
        try:
            return mark.on(descriptor)
        finally:
            os.close(descriptor)

    def _refused(self, why: str, first: str = "", or_else: str = "") -> TollError:
        instead = self.instead or f"name another place: {self.option} FILE"
        return TollError(f"{self.option} {self.path}: {why}", f"{first}{instead}{or_else}")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            step = self.instead or f"name a writable place: {self.option} FILE"
            helps = REFUSALS.get(error.errno or 0, "")
            raise TollError(
                f"cannot write {self.path}: {error.strerror or error}", "; ".join(filter(None, (helps, step)))
            ) from None


def check_outputs(outputs: Sequence[Output], inputs: Iterable[Path] = ()) -> None:
    """Raises TollError where one cannot be written, is what the command reads, or is another one of them."""
    for one, other in combinations(outputs, 2):
        if not one.in_place and _same_file(one.path, other.path, letters=_folded):
            raise TollError(
                f"{one.option} {one.path} and {other.option} {other.path} are one file",
                f"name another place: {other.option} FILE",
            )
    read = list(inputs)
    for output in outputs:
        for path in read:
            if _same_file(output.path, path):
                raise TollError(
                    f"{output.option} {output.path} is what this command reads: {path}",
                    output.instead or f"name another place: {output.option} FILE",
                )
        output.check()


def _another_ones(folder: int, standing: os.stat_result) -> bool:
    """Whether the folder is one like /tmp, where only its owner takes a file away."""
    around = os.stat(".", dir_fd=folder)
    mine = {around.st_uid, standing.st_uid} & {os.geteuid()} or not os.geteuid()
    return bool(around.st_mode & stat.S_ISVTX) and not mine


def own_descriptor(path: Path) -> int | None:
    """Of /dev/stdout, /dev/fd/3 and the like: what is open already is gone on with, not opened anew."""
    text = f"/{os.path.normpath(path).lstrip('/')}" if path.is_absolute() else ""
    if found := _OWN_DESCRIPTOR.fullmatch(text):
        return int(found[1])
    return _STANDARD.get(text)


def is_special(path: Path) -> bool:
    """Whether it is a pipe or a device that takes text; a link to one is not."""
    with suppress(OSError):
        return _takes_text(path.lstat().st_mode)
    return False


def _takes_text(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def open_new(path: Path) -> BinaryIO:
    """A file that was not there before, or a device or a pipe as it is; unbuffered, to be added to.

    The file is held until it is closed (`open_again`). Raises OSError: FileExistsError also for a link that
    leads nowhere.
    """
    in_place = own_descriptor(path) is not None or is_special(path)
    descriptor = _opened_in_place(path) if in_place else os.open(path, NEW_FILE, 0o666)
    if not in_place:
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return os.fdopen(descriptor, "wb", buffering=0)


def open_again(path: Path) -> BinaryIO:
    """A file that is there, to be read and added to; unbuffered, and held: nobody else may open it so.

    Raises OSError: BlockingIOError where somebody holds it; for a link, and for what is no file.
    """
    descriptor = os.open(path, os.O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise BlockingIOError(errno.EAGAIN, "somebody else holds it") from None
        return os.fdopen(descriptor, "r+b", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def _opened_in_place(path: Path) -> int:
    for stream in (sys.stdout, sys.stderr):  # what was printed before comes before
        if stream is not None:
            stream.flush()
    own = own_descriptor(path)
    flags = os.O_WRONLY | O_NOCTTY | O_CLOEXEC
    if own is not None:
        return os.dup(own)
    descriptor = os.open(path, flags)
    if not _takes_text(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileExistsError(errno.EEXIST, "it became a file while it was opened")
    return descriptor


def _same_file(one: Path, other: Path, *, letters: Callable[[str], str] = str) -> bool:
    """Whether both are one file, by whatever names; or would be, where it is not there yet."""
    with suppress(OSError):
        found = one.stat()
        return os.path.samestat(found, other.stat()) and not _takes_text(found.st_mode)
    return letters(_named(one)) == letters(_named(other))


def _named(path: Path) -> str:
    return str(Path(os.path.realpath(path.parent), path.name))


def _folded(text: str) -> str:
    """There are file systems on which names that differ in case are one."""
    return text.casefold()


def _kept(path: Path, text: str) -> str:
    """Where the text that found no place can be had; "" where the temporary folder takes it neither."""
    with suppress(OSError):
        kept = Path(tempfile.mkdtemp(prefix="toll-kept-"), path.name[-100:] or "output")
        kept.write_text(text, encoding="utf-8")
        return f"it is kept in {kept}"
    return ""
