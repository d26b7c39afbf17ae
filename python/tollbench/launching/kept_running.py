"""What a command leaves running on purpose, such as a server that launches need: it lives until it is ended.

The command is a shell's, which ends while what it has put into the background goes on. The shell is not
reaped before the end, so that its number, which is that of a process group and of a session, stays its own.
While toll adopts orphans (`tollbench.launching.strays`) it sees when one of them ends, and what has left the
group is ended too.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tollbench.launching.failure import LaunchFailed
from tollbench.launching.guardian import shared_guardian
from tollbench.launching.interrupt import Interrupt, unbroken
from tollbench.launching.spawned import Spawned, ended_as, with_last_words
from tollbench.launching.strays import end_child, running, stay, stay_no_longer
from tollbench.text import shown
from tollbench.words import Status

_SETTLED_S = 0.1  # what makes itself a daemon forks, and its parent ends, soon after the shell
_GRACE_S = 2.0  # from SIGTERM to SIGKILL
_LOOK_EVERY_S = 0.005
_LAST_WORDS_BYTES = 240
_MOST_OUTPUT_BYTES = 16 * 2**20  # what it prints beyond that begins anew


@dataclass(slots=True)
class _KeptProcess:
    """One command that has ended, and what it left."""

    told: str
    spawned: Spawned
    output: BinaryIO
    names: Mapping[int, str]  # of the processes that ran when it had ended, and are toll's children by then

    def words(self) -> str:
        """The last that was printed."""
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), _LAST_WORDS_BYTES, max(0, size - _LAST_WORDS_BYTES))
        return shown(text.decode("utf-8", "replace").strip(), 4 * _LAST_WORDS_BYTES)


class KeptRunning:
    """Commands whose processes go on; `end` ends them all."""

    def __init__(self) -> None:
        self._left: list[_KeptProcess] = []

    def start(
        self,
        told: str,
        command: str,
        environment: Mapping[str, str],
        folder: Path,
        limit_s: float,
        interrupt: Interrupt | None = None,
    ) -> None:
        """Runs a shell's command to its end; what it left goes on. `told` is what to call it in a reason.

        Raises LaunchFailed where it fails, and Interrupted, with nothing of this command left running.
        """
        with unbroken(), _output() as output:
            spawned = Spawned(
                ("/bin/sh", "-c", command),
                environment,
                stdin=subprocess.DEVNULL,
                folder=folder,
                interrupt=interrupt,
                output=output.fileno(),
            )
            left = _KeptProcess(told, spawned, output, {})
            try:
                spawned.poll.register(spawned.exit_fd, select.POLLIN)
                deadline = time.monotonic() + limit_s
                while spawned.exit_fd not in spawned.ready_within(deadline - time.monotonic()):
                    if time.monotonic() >= deadline:
                        raise LaunchFailed(
                            with_last_words(f"did not end within {limit_s:g} s", left.words())
                            + "; next: what shall go on is put into the background: 'server &'",
                            Status.TIMED_OUT,
                        )
                if code := _exit_code(spawned.popen.pid):
                    raise LaunchFailed(with_last_words(ended_as(code), left.words()))
                if running(spawned.before):
                    time.sleep(_SETTLED_S)
            except BaseException:
                spawned.end()
                raise
            left.names = running(spawned.before)
            stay(spawned.popen.pid, *left.names)
            for group in _groups(left):
                shared_guardian().watch(group)
            self._left.append(left)

    def check(self) -> None:
        """Raises LaunchFailed where something has ended by itself that was left running."""
        for left in self._left:
            for pid, name in left.names.items():
                if (code := _exit_code(pid)) is not None:
                    how = f"{left.told} left {name!r} running, which {ended_as(code)}"
                    raise LaunchFailed(with_last_words(how, left.words()))
            if os.fstat(left.output.fileno()).st_size > _MOST_OUTPUT_BYTES:
                os.ftruncate(left.output.fileno(), 0)

    def end(self) -> None:
        """Asks all to end, SIGTERM, and ends them 2 s later. A second time there is nothing to do."""
        stay_no_longer()
        groups = [group for left in self._left for group in _groups(left)]
        for group in groups:
            _signal(group, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        pids = [pid for left in self._left for pid in left.names]
        while time.monotonic() < deadline and any(_exit_code(pid) is None for pid in pids):
            time.sleep(_LOOK_EVERY_S)
        for group in groups:
            _signal(group, signal.SIGKILL)
            shared_guardian().forget(group)
        for left in reversed(self._left):
            for pid in left.names:
                end_child(pid)
            left.spawned.end()
            left.output.close()
        self._left.clear()


@contextmanager
def _output() -> Iterator[BinaryIO]:
    """A nameless file, as nobody reads a pipe while launches are timed; open on, but for a failure."""
    try:
        output = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise LaunchFailed(f"cannot be given a file for its output: {error.strerror or error}") from None
    try:
        yield output
    except BaseException:
        output.close()
        raise


def _groups(left: _KeptProcess) -> list[int]:
    """The process groups of what was left. A member that is not reaped keeps the number of each."""
    found = [left.spawned.popen.pid]
    for pid in left.names:
        with suppress(ProcessLookupError):
            if (group := os.getpgid(pid)) not in found:
                found.append(group)
    return found


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _exit_code(pid: int) -> int | None:
    """Of a child, which is not reaped by that; None: it runs. Negative: the signal that ended it."""
    try:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # SIGCHLD is ignored: the kernel has reaped it
        return 0
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
