"""toll's own words with a host, past the engine: what it is, what became of a run, and that it shall stop.

Nothing is left there: Python reads on_host.py from its standard input.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from tollbench.fleet.hosts import Host
from tollbench.text import clean

ON_HOST: Final = resources.files("tollbench.fleet").joinpath("on_host.py").read_bytes()
_MARK: Final = b"toll-fleet: "  # as on_host.py has them
_GIVEN: Final = b"toll-fleet-bytes: "
_MOST_BYTES: Final = 4 << 20  # of an answer
MOST_RESULT_BYTES: Final = 1 << 30
CONNECT_S: Final = 10.0
# Of every connection: nobody is asked for a password, a host that is gone is noticed, and nothing of the
# user's agent, display or ports goes along.
SSH_OPTIONS: Final = (
    "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S:.0f}", "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3", "-o", "ForwardAgent=no", "-o", "ForwardX11=no",
    "-o", "ClearAllForwardings=yes",
)  # fmt: skip
_NO_WAY: Final = 255  # ssh's own exit code
_NO_PROGRAM: Final = 127  # a shell's
M = TypeVar("M", bound=BaseModel)


class NoContact(Exception):
    """A host that did not answer; the words say why, as ssh says it where it does."""


@dataclass(frozen=True, slots=True)
class Contact:
    """How hosts are asked."""

    ssh_config: str = ""
    limit_s: float = 30.0

    def options(self) -> tuple[str, ...]:
        """For ssh and scp."""
        return (*(("-F", self.ssh_config) if self.ssh_config else ()), *SSH_OPTIONS)

    def ask(self, host: Host, action: str, given: Mapping[str, Any], model: type[M]) -> M:
        """What the host answers. Raises NoContact."""
        code, said = self._said(host, action, given, _MOST_BYTES)
        lines = said.split(b"\n")
        for line in reversed(lines):
            if line.startswith(_MARK):
                try:
                    return model.model_validate_json(line.removeprefix(_MARK))
                except ValidationError:
                    raise NoContact("what it answers is not sound") from None
        raise NoContact(_why(code, lines))

    def result(self, host: Host, identity: str, size: int) -> bytes:
        """The bytes of a result that lies on the host. Raises NoContact."""
        if not 0 < size <= MOST_RESULT_BYTES:
            raise NoContact(f"its result has {size} bytes, and toll takes {MOST_RESULT_BYTES}")
        code, said = self._said(host, "give", {"identity": identity}, size + _MOST_BYTES)
        head, mark, rest = said.partition(_GIVEN)
        told, _, content = rest.partition(b"\n")
        if not mark or told != str(size).encode() or len(content) < size:
            raise NoContact(_why(code, head.split(b"\n")))
        return content[:size]

    def _said(self, host: Host, action: str, given: Mapping[str, Any], most: int) -> tuple[int, bytes]:
        """(ssh's exit code, what came). Raises NoContact where it takes too long."""
        words = (host.python, "-I", "-S", "-", action, json.dumps(given))
        command = ("ssh", *self.options(), "--", host.ssh, shlex.join(words))
        try:
            process = subprocess.Popen(
                command,
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise NoContact("there is no ssh here: install OpenSSH's client") from None
        try:
            return _finished(process, self.limit_s, most)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with suppress(BrokenPipeError):
                    pipe.close()


def _finished(process: subprocess.Popen[bytes], limit_s: float, most: int) -> tuple[int, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write(ON_HOST)  # less than a pipe holds
        process.stdin.close()
    until, said = time.monotonic() + limit_s, bytearray()
    fd = process.stdout.fileno()
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        block = os.read(fd, 1 << 16)
        if not block:
            return process.wait(), bytes(said)
        said += block
        if len(said) > most:
            raise NoContact("it answers more than toll reads")
    raise NoContact(f"it does not answer within {limit_s:g} s")


def _why(code: int, lines: Sequence[bytes]) -> str:
    words = [clean(line.decode("utf-8", "replace")).strip() for line in lines]
    said = next((line for line in reversed(words) if line), "")[:300]
    if code == _NO_WAY:
        return f"ssh says: {said.removeprefix('ssh: ')}" if said else "the connection ended"
    said = said or "it said nothing"
    if code == _NO_PROGRAM:
        return f"there is no such Python there: {said}"
    return f"it answers with exit code {code}: {said}"
