"""toll as a process that need not import it: a fork of one that has.

Importing what a verb needs takes 0.5 to 1 s of CPU time, and tests start toll hundreds of times. Each call is
a process of its own all the same, with its own streams, folder and variables, and goes the way of `python -m
tollbench` from its first statement on. How Python itself starts toll is what test_cli_start.py,
test_cli_streams.py, test_cli_imports.py and test_cli_hostile_folder.py are about: they start it themselves.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LIMIT_S = 540.0  # builds, beside whatever else the machine has to do
_LENGTH = 1 << 20  # of a request: the environment and the words


class ForkedToll:
    """One such process of a checkout, which ends with the process that made it."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self._start()

    def _start(self) -> None:
        from tollbench.interpreters import interpreter_with_path

        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._last_words = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by end
        with theirs:
            self._process = subprocess.Popen(
                interpreter_with_path(__file__, str(theirs.fileno())),
                cwd=self._checkout,
                env={**os.environ, "PYTHONPATH": str(self._checkout / "python")},
                stdin=subprocess.DEVNULL,
                stderr=self._last_words,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # so that it can be ended together with what it has forked
            )

    def __call__(
        self, *arguments: str, cwd: Path | None = None, locks: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command line. Without `locks` it does not wait for who else measures, nor they for it."""
        variables = {
            **os.environ, "PYTHONPATH": str(self._checkout / "python"), "COLUMNS": "120", **environment,
        }  # fmt: skip
        request = {
            "arguments": arguments,
            "folder": str(cwd or self._checkout),
            "variables": variables,
            "locks": locks,
        }
        with (
            Path(os.devnull).open() as nothing,
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
        ):
            streams = [each.fileno() for each in (nothing, out, err)]
            self._line.settimeout(LIMIT_S)
            try:
                socket.send_fds(self._line, [json.dumps(request).encode()], streams)
                answer = self._line.recv(_LENGTH)
            except TimeoutError:
                self._start_again()
                raise
            except OSError:
                answer = b""
            if not answer:
                raise self._ended()
            code = int(answer)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(["toll", *arguments], code, out.read(), err.read())

    def _ended(self) -> RuntimeError:
        """Why the process that forks is gone, which no call may end; another one takes its place."""
        status = self._process.wait()
        self._last_words.seek(0)
        told = f"the process that toll is forked from ended with {status}: {self._last_words.read()}"
        self.end()
        self._start()
        return RuntimeError(told)

    def _start_again(self) -> None:
        """Kills the call that takes too long, whose answer the next one would be given."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self.end()
        self._start()

    def end(self) -> None:
        """Waits for the process, which ends where nobody asks any more."""
        self._line.close()
        self._process.wait()
        self._last_words.close()


_MADE: dict[Path, ForkedToll] = {}


def forked_toll(checkout: Path) -> ForkedToll:
    """The one of a checkout."""
    if checkout not in _MADE:
        _MADE[checkout] = ForkedToll(checkout)
    return _MADE[checkout]


def end_all() -> None:
    """After the last test."""
    while _MADE:
        _MADE.popitem()[1].end()


def _serve(line: socket.socket) -> None:
    """Forks for each request, and answers with the exit status. Returns in the child alone, or at the end."""
    while True:
        data, streams, _flags, _address = socket.recv_fds(line, _LENGTH, 3)
        if not data:
            os._exit(0)
        if not (child := os.fork()):
            _become(json.loads(data), streams)
            return
        for stream in streams:
            os.close(stream)
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """What a process is given when it starts."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    random.seed()  # else all forks would draw the same
    tempfile.tempdir = None  # as TMPDIR is another one
    if not request["locks"]:
        from tollbench.cli import machine_use

        machine_use.LOCK_FILES = ()  # type: ignore[attr-defined, assignment]
    sys.argv = [str(Path(sys.modules["tollbench.__main__"].__file__ or "")), *request["arguments"]]


def _main() -> None:
    importlib.import_module("tollbench.__main__")
    for room in ("cli", "compare", "counting", "report"):
        inside = importlib.import_module(f"tollbench.{room}")
        for module in pkgutil.walk_packages(inside.__path__, f"tollbench.{room}."):
            importlib.import_module(module.name)
    with socket.socket(fileno=int(sys.argv[1])) as line:
        line.set_inheritable(False)
        gc.freeze()  # else a child's first collection copies all of its memory
        _serve(line)
    code = sys.modules["tollbench.__main__"].start()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # else Python takes apart what was imported, for as long as it takes to start


if __name__ == "__main__":
    _main()
