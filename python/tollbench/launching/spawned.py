"""A process of ours from its start to its end: what talking to a program and running a command share."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.guardian import shared_guardian
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.strays import STARTING, began, children_before, end_strays
from tollbench.launching.unstartable import why_not_started
from tollbench.text import shown

if TYPE_CHECKING:
    import resource

QUOTED_BYTES = 80


class Spawned:
    """A fresh process that leads a session and a process group of its own, and dies with toll.

    `stdin` and `output`, which is that of errors too, are as for subprocess.Popen. `executable` is the file
    where the command's first word, which the program sees as its name, is not it. Raises LaunchFailed where
    it cannot start.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdin: int,
        folder: Path | None = None,
        executable: str | None = None,
        interrupt: Interrupt | None = None,
        output: int = subprocess.PIPE,
    ) -> None:
        try:
            self._guardian = shared_guardian()
            self.before = children_before()  # whoever was a child of toll before
            self.started_ns = time.monotonic_ns()
            with STARTING:
                self.popen = subprocess.Popen(
                    command,
                    executable=executable,
                    stdin=stdin,
                    stdout=output,
                    stderr=output,
                    bufsize=0,
                    cwd=folder,
                    env=environment,
                    start_new_session=True,
                )
                began(self.popen.pid)
        except OSError as error:
            where = f" in {folder}" if folder is not None and not folder.is_dir() else ""
            raise LaunchFailed(
                f"could not be started{where}: {error.strerror}: {shown(command[0], 200)}"
                f"{why_not_started(executable or command[0], folder, error)}"
            ) from None
        with contextlib.suppress(OSError):  # where memory ends, the kernel shall end the program and not toll
            Path(f"/proc/{self.popen.pid}/oom_score_adj").write_text("1000")
        self._guardian.watch(self.popen.pid)
        self._interrupt = interrupt
        self.exit_fd = -1
        self.end_seen = True  # whether the kernel told how it ended
        try:
            self.exit_fd = os.pidfd_open(self.popen.pid)  # readable once it has ended
        except OSError as error:
            self.end()
            if isinstance(error, ProcessLookupError):  # so short that the kernel has reaped it by now
                raise unseen_end() from None
            raise LaunchFailed(f"cannot be watched: {error.strerror}") from None
        self.poll = select.poll()
        if interrupt is not None:
            self.poll.register(interrupt.fd, select.POLLIN)

    def ready_within(self, seconds: float) -> set[int]:
        """Descriptors with something to read. Raises Interrupted, with nothing left running."""
        ready = {fd for fd, _ in self.poll.poll(max(0.0, seconds) * 1000)}
        if self._interrupt is not None and self._interrupt.fd in ready:
            self.end()
            raise Interrupted
        return ready

    def end(self) -> resource.struct_rusage | None:
        """Ends the process with its group and what left that; what it used, None where that is not known.

        The group is killed before its leader is reaped: until then its number cannot belong to anybody else.
        """
        if self.popen.returncode is not None:
            return None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self._guardian.forget(self.popen.pid)
        try:
            _, status, usage = os.wait4(self.popen.pid, 0)
            self.popen.returncode = os.waitstatus_to_exitcode(status)
        except ChildProcessError:  # SIGCHLD is ignored: the kernel reaps, and tells nothing
            self.popen.returncode, usage, self.end_seen = 0, None, False
        end_strays(self.popen.pid, self.before)
        if self.exit_fd >= 0:
            os.close(self.exit_fd)
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                pipe.close()
        return usage


def unseen_end() -> LaunchFailed:
    """For a launch whose exit code nobody knows: it may have crashed."""
    return LaunchFailed("ended, and the kernel does not tell how: SIGCHLD is ignored in this process")


def ended_as(exit_code: int) -> str:
    """ "crashed with SIGSEGV" for -11, "exited with code 3" for 3."""
    return f"crashed with {signal_name(-exit_code)}" if exit_code < 0 else f"exited with code {exit_code}"


def with_last_words(reason: str, words: str) -> str:
    """A reason and what the program said last, already readable; the reason alone where it said nothing."""
    return f"{reason}; its last words: {words}" if words else reason


def signal_name(number: int) -> str:
    """ "SIGSEGV" for 11; a plain number where the signal has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def quoted(data: bytes) -> str:
    """The first bytes of something unexpected, safe to print in a terminal."""
    text = shown(data[:QUOTED_BYTES].decode("utf-8", "backslashreplace"), 2 * QUOTED_BYTES)
    return f"'{text}'" + ("..." if len(data) > QUOTED_BYTES else "")
