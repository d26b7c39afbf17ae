"""One process from start to end, timed from outside; its time is limited, and what is kept of its output."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tollbench.compare.words import SideFailed
from tollbench.measure.guardian import shared_guardian
from tollbench.measure.interrupt import Interrupt
from tollbench.measure.launcher import Interrupted
from tollbench.measure.process import signal_name
from tollbench.text import shown

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024
_LAST_ERR_BYTES = 64 * 1024
_LAST_WORDS_BYTES = 240
_STRAY_WAIT_S = 0.05  # how long output is awaited that a program left in its pipe when it ended


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has come to its end by itself."""

    exit_code: int  # negative: the signal that ended it
    wall_ns: int  # from before the start to the end
    cpu_ns: int  # of the process and those of its children that it waited for
    stdout: bytes  # its first 64 MiB
    stderr: bytes  # its last 64 KiB
    voluntary_switches: int = 0  # how often it gave the processor back by itself, to wait for something
    dropped_bytes: int = 0  # of standard output, beyond what is kept

    def how(self) -> str:
        """How it ended, with its last words, for a reason."""
        if self.exit_code < 0:
            ended = f"crashed with {signal_name(-self.exit_code)}"
        else:
            ended = f"exited with code {self.exit_code}"
        words = (self.stderr.strip() or self.stdout.strip())[-_LAST_WORDS_BYTES:]
        text = shown(words.decode("utf-8", "replace").strip(), 300)
        return f"{ended}; its last words: {text}" if text else ended

    def whole_stdout(self) -> bytes:
        """For those who must understand it. Raises SideFailed where some of it was dropped."""
        if self.dropped_bytes:
            raise SideFailed(f"printed more than {MAX_OUTPUT_BYTES // 2**20} MiB where a report was expected")
        return self.stdout


@contextmanager
def working_folder(folder: Path | None) -> Iterator[Path]:
    """`folder`, or a fresh one that is removed with all that was written into it. Raises SideFailed."""
    if folder is not None:
        yield folder
        return
    try:
        made = Path(tempfile.mkdtemp(prefix="toll-compare-"))
    except OSError as error:  # a full disk must not cost what was measured before
        raise SideFailed(f"cannot be given a folder to run in: {error.strerror or error}") from None
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    limit_s: float,
    interrupt: Interrupt | None = None,
    executable: str | None = None,
) -> Ended:
    """Runs a program without input to its end. Raises SideFailed where it cannot start or breaks a limit.

    `executable` is the file where the command's first word, which the program sees as its name, is not it.

    Raises Interrupted, with nothing left running, when somebody asks to stop.
    """
    try:
        guardian = shared_guardian()
        started_ns = time.monotonic_ns()
        popen = subprocess.Popen(
            command,
            executable=executable,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise SideFailed(f"could not be started: {error.strerror}: {shown(command[0], 200)}") from None
    guardian.watch(popen.pid)
    watched = _Watched(popen, limit_s, interrupt)
    try:
        return watched.end(started_ns)
    finally:
        watched.close()
        guardian.forget(popen.pid)


class _Watched:
    """A running process and its two pipes."""

    def __init__(self, popen: subprocess.Popen[bytes], limit_s: float, interrupt: Interrupt | None) -> None:
        assert popen.stdout is not None
        assert popen.stderr is not None
        self._popen = popen
        self._limit_s = limit_s
        self._interrupt = interrupt
        self._exit_fd = os.pidfd_open(popen.pid)
        self._pipes = {popen.stdout.fileno(): bytearray(), popen.stderr.fileno(): bytearray()}
        self._out, self._err = self._pipes.values()
        self._dropped_bytes = 0
        self._poll = select.poll()
        for fd in (*self._pipes, self._exit_fd, *([interrupt.fd] if interrupt else [])):
            self._poll.register(fd, select.POLLIN)

    def end(self, started_ns: int) -> Ended:
        """Reads until the process has ended."""
        deadline = time.monotonic() + self._limit_s
        while True:
            ready = self._wait(deadline - time.monotonic())
            if self._exit_fd in ready:
                ended_ns = time.monotonic_ns()
                break
            if time.monotonic() >= deadline:
                raise SideFailed(f"did not end within {self._limit_s:g} s{self._printed()}")
        code, usage = self._reap()
        self._drain()
        cpu_ns = round(1e9 * (usage.ru_utime + usage.ru_stime))
        wall_ns = ended_ns - started_ns
        out, err = bytes(self._out), bytes(self._err)
        return Ended(code, wall_ns, cpu_ns, out, err, usage.ru_nvcsw, self._dropped_bytes)

    def _printed(self) -> str:
        """For a program that may have no end because its output has none."""
        mib = (len(self._out) + self._dropped_bytes) // 2**20
        return f" and printed {mib} MiB by then" if self._dropped_bytes else ""

    def _wait(self, seconds: float) -> set[int]:
        ready = {fd for fd, _ in self._poll.poll(max(0.0, seconds) * 1000)}
        if self._interrupt is not None and self._interrupt.fd in ready:
            raise Interrupted
        for fd in ready & self._pipes.keys():
            self._read(fd)
        return ready

    def _read(self, fd: int) -> None:
        data = os.read(fd, _CHUNK_BYTES)
        if not data:
            self._poll.unregister(fd)
            del self._pipes[fd]
            return
        kept = self._pipes[fd]
        if kept is self._err:
            kept += data
            del kept[:-_LAST_ERR_BYTES]
            return
        room = MAX_OUTPUT_BYTES - len(kept)
        kept += data[:room]
        self._dropped_bytes += max(0, len(data) - room)

    def _reap(self) -> tuple[int, resource.struct_rusage]:
        _, status, usage = os.wait4(self._popen.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._popen.returncode = code
        return code, usage

    def _drain(self) -> None:
        """What is still in the pipes; a child that lives on may hold them open, and is not waited for."""
        self._poll.unregister(self._exit_fd)
        deadline = time.monotonic() + _STRAY_WAIT_S
        while self._pipes and (left := deadline - time.monotonic()) > 0:
            self._wait(left)

    def close(self) -> None:
        """Ends the process, where it still runs, and all of its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        if self._popen.returncode is None:
            self._popen.wait()
        os.close(self._exit_fd)
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
