"""Every launch as it was, a JSON object a line, on disk before the next launch starts."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tollbench.errors import Exit, TollError
from tollbench.launching.failure import Interrupted
from tollbench.writing import is_special, open_new


class RawFile:
    """Appends lines; a kill at any moment loses at most the round in flight."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Raises TollError where the file cannot be made or exists already."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_new(path)
        except OSError as error:
            raise _cannot_keep(path, error) from None
        try:
            self._append(header)
        except OSError as error:
            self._file.close()
            if not is_special(path):
                path.unlink(missing_ok=True)  # else the same command finds it there, once there is room
            raise _cannot_keep(path, error) from None

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


class Keeping:
    """Gives launches to the raw file; when it takes no more, measuring ends and what is known is told."""

    def __init__(self, raw: RawFile) -> None:
        self._raw = raw
        self.path = raw.path
        self.error: TollError | None = None

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Raises Interrupted where the disk takes no more."""
        try:
            self._raw(record)
        except TollError as error:
            self.error = error
            raise Interrupted from None


def _cannot_keep(path: Path, error: OSError) -> TollError:
    return TollError(
        f"cannot keep the launches in {path}: {error.strerror}", "name another place: --raw FILE"
    )


def _finite(value: Any) -> Any:
    """With null for NaN and the infinities, which programs do print and JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
