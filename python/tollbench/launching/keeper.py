"""Runs one shell's command and keeps all that it leaves: a small process between toll and a user's server.

It adopts orphans (the kernel's PR_SET_CHILD_SUBREAPER, prctl(2)), so that whatever a server starts, and
whenever and however that makes itself a daemon, becomes its child and nobody else's. It sleeps unless it is
asked. It starts by itself, as a file that imports nothing of toll, and talks over the socket that is its
standard input: a line of JSON says what to run, and each answer is such a line. The end of the socket is that
of toll, however it came: all is ended then.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK, END, END_AT_ONCE = (
    b"?",
    b"e",
    b"k",
)  # what may be asked once the shell has ended; END_AT_ONCE before too

_PR_SET_CHILD_SUBREAPER = 36
_SETTLED_S = 0.1  # what makes itself a daemon forks, and its parent ends, soon after the shell
_KILLED_S = 1.0  # how long the end of what was killed is waited for
_LOOK_EVERY_S = 0.005


class Keeper:
    """The parent of all that was left."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._lost: dict[str, Any] | None = None
        self._well: dict[str, Any] | None = None  # the last one that ended with exit code 0

    def settle(self) -> None:
        """What ends at once was not left running."""
        if self._reap():
            time.sleep(_SETTLED_S)
            self._reap()
        self._lost = self._well = None
        self._learn_names()

    def lost(self) -> dict[str, Any] | None:
        """What has ended by itself and is missed: its name and exit code. None: all is well.

        Whoever ends well is missed only where nothing goes on: it did its work, or forked and left that to
        its child.
        """
        if not self._reap():
            self._lost = self._lost or self._well
        self._learn_names()
        return self._lost

    def end(self, grace_s: float) -> list[str]:
        """Asks all to end, SIGTERM, and kills what lives after so many seconds; who could not be killed.

        No number is signalled that may be another's: a child keeps its own until it is reaped here, and that
        of its group.
        """
        asked: set[int] = set()
        ends = time.monotonic() + grace_s
        while self._reap() and time.monotonic() < ends:
            for group in {os.getpgid(0), *map(_group, _children())} - asked:  # also of who is an orphan since
                asked.add(group)
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGTERM)
            time.sleep(_LOOK_EVERY_S)
        ends = time.monotonic() + _KILLED_S
        while self._reap() and time.monotonic() < ends:
            for pid in _children():  # theirs are ours in the next round
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_LOOK_EVERY_S)
        return [_name(pid) for pid in _children()] if self._reap() else []

    def _reap(self) -> bool:
        """Reaps all that have ended; whether any lives."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return False
            if ended is None:
                return True
            code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            found = {"name": self._names.pop(ended.si_pid, None) or _name(ended.si_pid), "code": code}
            os.waitpid(ended.si_pid, 0)
            if code:
                self._lost = self._lost or found
            else:
                self._well = found

    def _learn_names(self) -> None:
        """Nobody tells them afterwards."""
        self._names = {pid: _name(pid) for pid in _children()}


def main() -> None:
    """Serves one toll, at the other end of standard input, until that has ended or asks for the end."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever ignores it is told of no end
    signal.signal(signal.SIGTERM, lambda *_: None)  # of the own group; what is started has its default
    toll = socket.socket(fileno=0)
    with open(0, "rb", buffering=0, closefd=False) as asking:  # not a byte more than the line
        asked = json.loads(asking.readline())
    keeper = Keeper()
    grace_s = asked["grace_s"]
    try:
        shell = _started(asked["command"], asked["environment"])
    except OSError as error:
        _answer(toll, {"failed": error.strerror})
        return
    if _waited_for(shell):
        code = os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1])
        keeper.settle()
        _answer(toll, {"code": code})
    while (word := _word(toll)) == LOOK:
        _answer(toll, {"lost": keeper.lost()})
    _answer(toll, {"not_ended": keeper.end(0.0 if word == END_AT_ONCE else grace_s)})
    os.killpg(0, signal.SIGKILL)  # for a kernel that does not list children


def _started(command: str, environment: dict[str, str]) -> int:
    """In this process's group and session."""
    return os.posix_spawn(
        "/bin/sh",
        ["/bin/sh", "-c", command],
        environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # which Python ignores
    )


def _waited_for(shell: int) -> bool:
    """False where something was asked, or toll ended, before the shell did."""
    exit_fd = os.pidfd_open(shell)
    poll = select.poll()
    poll.register(exit_fd, select.POLLIN)
    poll.register(0, select.POLLIN)
    ready = {fd for fd, _ in poll.poll()}
    os.close(exit_fd)
    return 0 not in ready


def _word(toll: socket.socket) -> bytes:
    """b"" for the end of toll."""
    try:
        return toll.recv(1)
    except ConnectionError:
        return b""


def _answer(toll: socket.socket, message: dict[str, Any]) -> None:
    with suppress(OSError):  # toll has ended
        toll.sendall(json.dumps(message).encode() + b"\n")


def _children() -> list[int]:
    """None of them where the kernel does not list them."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _group(pid: int) -> int:
    """The own one where the kernel has no such process."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return os.getpgid(0)


def _name(pid: int) -> str:
    """Its command, or of one that has ended the name of its program alone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").strip()
        words = words or Path(f"/proc/{pid}/comm").read_bytes().strip()
    except OSError:
        words = b"?"
    return words.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
