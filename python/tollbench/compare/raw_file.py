"""Every launch as it was, a JSON object a line, on disk before the next round of launches starts."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from tollbench.errors import Exit, TollError
from tollbench.launching.failure import NoRoom
from tollbench.writing import is_special, open_again, open_new

MAX_LINE_BYTES = 16 * 1024 * 1024  # as objects some forty times as much
_PART_BYTES = 1024 * 1024
FOUND_LISTS = ("comparisons", "lacking", "files", "why", "orders")  # of what was found: as long as the table
SHORTEST_NS, LONGEST_NS = 1e-6, 1e18  # an operation, 30 years: a file with other values is refused
Kept = TypeVar("Kept")
_ELSEWHERE = "name another place: --raw FILE"
_WHICH_FILE = "name the file that toll told when it began, in runs/"


class RawFile:
    """Appends lines; a kill at any moment loses at most the round in flight."""

    def __init__(self, path: Path, header: Mapping[str, Any], instead: str = _ELSEWHERE) -> None:
        """Raises TollError where the file cannot be made or exists already; `instead` is what to do then."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_new(path)
        except OSError as error:
            raise _cannot_keep(path, error, instead) from None
        try:
            self._append(header)
        except OSError as error:
            self._file.close()
            if not is_special(path):
                path.unlink(missing_ok=True)  # else the same command finds it there, once there is room
            raise _cannot_keep(path, error, instead) from None

    @classmethod
    def again(cls, path: Path, accept: Callable[[Sequence[Mapping[str, Any]]], Kept]) -> tuple[Self, Kept]:
        """The file of an earlier start, to be added to, and what `accept` makes of its records.

        It is given all of them, the header first. What a kill left of a last line is cut off once they are
        accepted. Raises TollError where the file cannot be read, is none, has a line that is too long or
        somebody else adds to it, and what `accept` raises; then the file stays as it is.
        """
        try:
            file = open_again(path)
        except BlockingIOError:
            raise TollError(
                f"another toll adds to {path} at this moment", "wait for its end, or begin anew"
            ) from None
        except OSError as error:
            raise TollError(f"cannot go on with {path}: {error.strerror}", _WHICH_FILE) from None
        raw = cls.__new__(cls)
        raw.path, raw._file = path, file
        try:
            found, end = _records(path)
            kept = accept(found)
            file.truncate(end)
            file.seek(end)
        except OSError as error:
            file.close()
            raise TollError(f"cannot go on with {path}: {error.strerror}", "begin anew") from None
        except BaseException:
            file.close()
            raise
        return raw, kept

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Stores one object, null for what is not a number. Raises TollError where the disk takes no more."""
        try:
            self._append(record)
        except OSError as error:
            raise TollError(
                f"cannot write {self.path}: {error.strerror}",
                "make room there; what was measured before is in the file",
                Exit.INCONCLUSIVE,
            ) from None

    def _append(self, record: Mapping[str, Any]) -> None:
        """One line or none of it. Raises OSError."""
        text = json.dumps(_finite(record), allow_nan=False, separators=(",", ":")) + "\n"
        left = text.encode()
        begin = self._file.tell() if self._file.seekable() else 0
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(begin)
                self._file.seek(begin)  # else the next record, which may fit, leaves a hole before it
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def records_of(found: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """What was found, under its key, as records of which none is longer than what is read back.

    Of a table of thousands of rows its lists stand before it, in parts.
    """
    if _length(found) <= MAX_LINE_BYTES - _PART_BYTES:
        yield {key: found}
        return
    lists = {name: found[name] for name in FOUND_LISTS if name in found}
    for name, items in lists.items():
        for part in _parts(items):
            yield {"part": {name: part}, "part_of": key}
    yield {key: {**found, **{name: [] for name in lists}}}


def _parts(items: Sequence[Any]) -> Iterator[list[Any]]:
    part: list[Any] = []
    length = 0
    for item in items:
        if part and length > _PART_BYTES:
            yield part
            part, length = [], 0
        part.append(item)
        length += _length(item)
    if part:
        yield part


def _length(value: Any) -> int:
    """Bytes of it in a line, at most: without the spaces that are left out there."""
    return len(json.dumps(value))


class Keeping:
    """Gives launches to the raw file; when it takes no more, measuring ends and what is known is told."""

    def __init__(self, raw: RawFile) -> None:
        self._raw = raw
        self.path = raw.path
        self.error: TollError | None = None

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Raises NoRoom where the disk takes no more."""
        try:
            self._raw(record)
        except TollError as error:
            self.error = error
            raise NoRoom(error.what) from None


def _records(path: Path) -> tuple[list[dict[str, Any]], int]:
    """All whole lines as objects, at least one, and how many bytes they have. Raises TollError, OSError."""
    found: list[dict[str, Any]] = []
    end = 0
    with path.open("rb") as lines:
        while (line := lines.readline(MAX_LINE_BYTES + 1)).endswith(b"\n") or len(line) > MAX_LINE_BYTES:
            if len(line) > MAX_LINE_BYTES:  # toll writes none: what follows is not lost for it
                raise TollError(
                    f"{path} is damaged: line {len(found) + 1} is longer than {MAX_LINE_BYTES // 2**20} MiB",
                    _WHICH_FILE,
                )
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                raise TollError(f"{path} has no record of toll in line {len(found) + 1}", _WHICH_FILE)
            found.append(record)
            end += len(line)
    if not found:
        raise TollError(f"{path} holds no launches of toll", _WHICH_FILE)
    return found, end


def _cannot_keep(path: Path, error: OSError, instead: str) -> TollError:
    return TollError(f"cannot keep the launches in {path}: {error.strerror}", instead)


def _finite(value: Any) -> Any:
    """With null for NaN and the infinities, which programs do print and JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
