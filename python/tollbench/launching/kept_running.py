"""What a command leaves running on purpose, such as a server that launches need: it lives until it is ended.

The command is a shell's, which ends while what it has put into the background goes on. A process of its own
(`tollbench.launching.keeper`) adopts all of that: so no launch takes for its own, and ends, what a server
starts meanwhile, and what ends by itself is seen.
"""

from __future__ import annotations

import json
import os
import select
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tollbench.interpreters import interpreter
from tollbench.launching import keeper
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.guardian import shared_guardian
from tollbench.launching.interrupt import Interrupt, unbroken
from tollbench.launching.spawned import Spawned, ended_as, with_last_words
from tollbench.text import shown
from tollbench.words import Status

_KEEPER = interpreter("-S", os.path.realpath(keeper.__file__))
_GRACE_S = 2.0  # from SIGTERM to SIGKILL
_ANSWERED_S = 10.0  # beyond what the keeper waits for itself
_LAST_WORDS_BYTES = 240
_NAME_CHARACTERS = 80
_MOST_OUTPUT_BYTES = 16 * 2**20  # what it prints beyond that begins anew


@dataclass(slots=True)
class _KeptProcess:
    """One command, and the process that keeps what it left."""

    told: str
    spawned: Spawned
    keeper: socket.socket
    answers: BinaryIO
    output: BinaryIO

    def words(self) -> str:
        """The last that was printed."""
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), _LAST_WORDS_BYTES, max(0, size - _LAST_WORDS_BYTES))
        return shown(text.decode("utf-8", "replace").strip(), 4 * _LAST_WORDS_BYTES)

    def tell(self, message: bytes, limit_s: float) -> None:
        """The next answer is waited for so long."""
        self.keeper.settimeout(limit_s)
        with suppress(OSError):  # it has ended, as the missing answer tells
            self.keeper.sendall(message)

    def answer(self) -> dict[str, Any]:
        """The keeper's next one; empty where it is no more, or is halted."""
        try:
            found = json.loads(self.answers.readline() or b"{}")
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def end(self, word: bytes) -> list[str]:
        """A reason for each process that could not be ended."""
        self.tell(word, _GRACE_S + _ANSWERED_S)
        return self.ended()

    def ended(self) -> list[str]:
        """The same of one that was told."""
        while (answer := self.answer()) and "not_ended" not in answer:
            pass  # that the shell had ended, meanwhile
        self.answers.close()
        self.keeper.close()
        self.spawned.end()
        return [
            f"{self.told} left {shown(name, _NAME_CHARACTERS)!r} running, which could not be ended; "
            "next: end it yourself, or in --cleanup"
            for name in answer.get("not_ended", [])
        ]


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
            left = _kept(told, output, folder)
            try:
                started = {"command": command, "environment": dict(environment), "grace_s": _GRACE_S}
                left.tell(json.dumps(started).encode() + b"\n", _ANSWERED_S)
                _until_the_shell_ended(left, limit_s, interrupt)
            except BaseException:
                left.end(keeper.END_AT_ONCE)
                raise
            self._left.append(left)

    def check(self) -> None:
        """Raises LaunchFailed where something has ended by itself that was left running."""
        for left in self._left:
            left.tell(keeper.LOOK, _ANSWERED_S)
            if "lost" not in (answer := left.answer()):
                raise LaunchFailed(_no_keeper(left))
            if (lost := answer["lost"]) is not None:
                name = shown(lost["name"], _NAME_CHARACTERS)
                how = f"{left.told} left {name!r} running, which {ended_as(lost['code'])}"
                raise LaunchFailed(with_last_words(how, left.words()))
            if os.fstat(left.output.fileno()).st_size > _MOST_OUTPUT_BYTES:
                os.ftruncate(left.output.fileno(), 0)

    def end(self) -> list[str]:
        """Asks all to end, SIGTERM, and ends them 2 s later. A second time there is nothing to do.

        Returns a reason for each process that could not be ended.
        """
        for left in self._left:
            left.tell(keeper.END, _GRACE_S + _ANSWERED_S)
        reasons = [reason for left in self._left for reason in left.ended()]
        for left in self._left:
            left.output.close()
        self._left.clear()
        return reasons


def _kept(told: str, output: BinaryIO, folder: Path) -> _KeptProcess:
    """A keeper that has started, and is yet to be told what to run."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            spawned = Spawned(
                _KEEPER, os.environ, stdin=theirs.fileno(), folder=folder, output=output.fileno()
            )
    except BaseException:
        ours.close()
        raise
    # Where toll is killed it ends all that it keeps, and then its group: it shall not be killed before.
    shared_guardian().forget(spawned.popen.pid)
    return _KeptProcess(told, spawned, ours, ours.makefile("rb"), output)


def _until_the_shell_ended(left: _KeptProcess, limit_s: float, interrupt: Interrupt | None) -> None:
    """Raises LaunchFailed where it ends badly or not within `limit_s`, and Interrupted."""
    poll = select.poll()
    poll.register(left.keeper, select.POLLIN)
    if interrupt is not None:
        poll.register(interrupt.fd, select.POLLIN)
    ready = {fd for fd, _ in poll.poll(limit_s * 1000)}
    if interrupt is not None and interrupt.fd in ready:
        raise Interrupted
    if not ready:
        raise LaunchFailed(
            with_last_words(f"did not end within {limit_s:g} s", left.words())
            + "; next: what shall go on is put into the background: 'server &'",
            Status.TIMED_OUT,
        )
    answer = left.answer()
    if "failed" in answer:
        raise LaunchFailed(f"could not be started: {answer['failed']}: /bin/sh")
    if "code" not in answer:
        raise LaunchFailed(_no_keeper(left))
    if answer["code"]:
        raise LaunchFailed(with_last_words(ended_as(answer["code"]), left.words()))


def _no_keeper(left: _KeptProcess) -> str:
    return with_last_words(
        f"{left.told}: the process that keeps what it left has ended or halted", left.words()
    )


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
