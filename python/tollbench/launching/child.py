"""What toll needs of a running program; tests bring programs without processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

STOP_GRACE_S = 1.0  # docs/protocol.md: after `stop` a program exits within a second
MAX_LINE_BYTES = 1024 * 1024
MAX_OUTPUT_BYTES = 64 * 1024 * 1024  # of lines and standard error; samples are announced and counted apart
STDERR_KEPT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """What one launch may use."""

    time_s: float
    memory_bytes: int  # resident, of the whole process group; 0: no limit


@dataclass(frozen=True, slots=True)
class End:
    """How a program ended."""

    exit_code: int  # negative: the signal that ended it
    killed: bool  # it had to be killed because it did not exit by itself
    trailing: bytes = b""  # what it printed after its last answer, up to 80 bytes
    stderr: str = ""  # its last 4 KiB, readable


class Child(Protocol):
    """A running program. Every method raises LaunchFailed when the program breaks a limit or dies."""

    @property
    def pid(self) -> int:
        """Its process, which leads a process group and a session of its own."""

    def write_line(self, line: bytes) -> None:
        """Sends one request; `line` has no line end."""

    def read_line(self) -> bytes:
        """The next line without its end."""

    def read_exactly(self, count: int) -> bytes:
        """The next `count` raw bytes."""

    def unread(self) -> bytes:
        """What has come without being asked for, up to 80 bytes."""

    def rested(self, seconds: float) -> None:
        """Nothing was asked of it for so long, while others had their turn: that is not its time."""

    def finish(self) -> End:
        """Waits for the exit, kills what does not exit within the grace time."""

    def kill(self) -> None:
        """Ends the program and its process group at once."""


class Launcher(Protocol):
    """Starts programs."""

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        folder: Path | None = None,
    ) -> Child:
        """A fresh process in `folder` (None: in that of toll); `environment` is all that it gets.

        Raises LaunchFailed where it cannot start.
        """
