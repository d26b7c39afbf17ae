"""Real programs: one fresh process a launch, read with limits on everything."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tollbench.launching.child import (
    MAX_LINE_BYTES,
    MAX_OUTPUT_BYTES,
    STDERR_KEPT_BYTES,
    STOP_GRACE_S,
    Child,
    End,
    Launcher,
    Limits,
)
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import Confined
from tollbench.launching.spawned import QUOTED_BYTES, Spawned, ended_as, quoted, unseen_end, with_last_words
from tollbench.text import shown
from tollbench.words import Status

_CHUNK_BYTES = 64 * 1024  # what a pipe holds; room for more would be fetched and given back for each answer
_FIRST_LOOK_S = 0.05  # launches shorter than this are never disturbed by a look at their memory
_LOOK_EVERY_S = 0.2
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessLauncher(Launcher):
    """Starts programs as processes; `interrupt` ends a wait for one of them.

    `confined` says that they are programs of others.
    """

    def __init__(self, interrupt: Interrupt | None = None, confined: Confined | None = None) -> None:
        self.interrupt = interrupt
        self._confined = confined

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        folder: Path | None = None,
    ) -> Process:
        spawned = Spawned(
            command,
            environment,
            stdin=subprocess.PIPE,
            folder=folder,
            interrupt=self.interrupt,
            confined=self._confined,
        )
        return Process(spawned, limits)


class Process(Child):
    """A running program that is talked to."""

    def __init__(self, spawned: Spawned, limits: Limits) -> None:
        popen = spawned.popen
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self._spawned = spawned
        self._limits = limits
        self._stdin, self._stdout, self._stderr = popen.stdin, popen.stdout, popen.stderr
        self._buffer = bytearray()
        self._error_text = bytearray()
        self._output_bytes = 0
        self._deadline = time.monotonic() + limits.time_s
        self._next_look = time.monotonic() + _FIRST_LOOK_S
        self._looks = 0
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        spawned.poll.register(self._stdout, select.POLLIN)
        spawned.poll.register(self._stderr, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._spawned.popen.pid

    def write_line(self, line: bytes) -> None:
        """Sends one request. Requests are far smaller than a pipe, so a full pipe means that nobody reads."""
        try:
            os.write(self._stdin.fileno(), line + b"\n")
        except BlockingIOError:
            self._fail("does not read its requests")
        except BrokenPipeError:
            self._died()

    def read_line(self) -> bytes:
        """The next line without its end, at most 1 MiB."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > MAX_LINE_BYTES:
                start = quoted(bytes(self._buffer[: QUOTED_BYTES + 1]))
                self._fail(f"printed a line longer than 1 MiB, which starts {start}")
            self._wait()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def read_exactly(self, count: int) -> bytes:
        """The next `count` raw bytes; the caller has checked that the count makes sense."""
        self._output_bytes -= count
        while len(self._buffer) < count:
            self._wait()
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def unread(self) -> bytes:
        return bytes(self._buffer[:QUOTED_BYTES])

    def rested(self, seconds: float) -> None:
        self._deadline += seconds

    def finish(self) -> End:
        self._stdin.close()
        killed = not self._wait_for_exit()
        self.kill()
        if not self._spawned.end_seen:
            raise unseen_end()
        return End(self._spawned.popen.returncode, killed, self.unread(), self._last_words())

    def kill(self) -> None:
        self._spawned.end()

    def _wait(self) -> None:
        """Waits until something has come; breaks off at a limit, an interrupt or the program's end."""
        ready = self._spawned.ready_within(self._until_a_look())
        if self._stderr.fileno() in ready:
            self._read_stderr()
        if self._stdout.fileno() in ready and not self._read_stdout():
            self._died()
        if self._output_bytes > MAX_OUTPUT_BYTES:
            self._fail(f"printed more than {MAX_OUTPUT_BYTES // 1024**2} MiB besides its samples")
        now = time.monotonic()
        if now >= self._deadline + self._spawned.halted_s:
            self._fail(f"did not end within its limit of {self._limits.time_s:g} s", Status.TIMED_OUT)
        if now >= self._next_look:
            self._look_at_memory(now)

    def _until_a_look(self) -> float:
        """Seconds until the time is up, or memory is looked at."""
        return min(self._deadline + self._spawned.halted_s, self._next_look) - time.monotonic()

    def _read_stdout(self) -> bool:
        """Takes what has come; False at the end of the stream."""
        try:
            data = os.read(self._stdout.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._buffer += data
        self._output_bytes += len(data)
        return bool(data)

    def _read_stderr(self) -> bool:
        """Takes what has come and keeps its last 4 KiB; False at the end of the stream."""
        try:
            data = os.read(self._stderr.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return True
        if not data:
            self._spawned.poll.unregister(self._stderr)
        self._error_text = (self._error_text + data)[-STDERR_KEPT_BYTES:]
        self._output_bytes += len(data)
        return bool(data)

    def _look_at_memory(self, now: float) -> None:
        self._next_look = now + _LOOK_EVERY_S
        limit = self._limits.memory_bytes
        if not limit:
            return
        # Walking all of /proc takes milliseconds, so that children are counted only now and then.
        program = self._spawned.program
        used = _session_resident_bytes(self.pid) if self._looks % 5 == 0 else _resident_bytes(program)
        self._looks += 1
        if used > limit:
            self._fail(
                f"used {used / 2**20:.0f} MiB of memory; its limit is {limit / 2**20:.0f} MiB",
                Status.OUT_OF_MEMORY,
            )

    def _wait_for_exit(self) -> bool:
        """Reads on until the process has exited; False where it takes longer than the grace time."""
        deadline = time.monotonic() + STOP_GRACE_S
        exit_fd, poll = self._spawned.exit_fd, self._spawned.poll
        poll.register(exit_fd, select.POLLIN)
        open_pipes = {self._stdout.fileno(): self._read_stdout, self._stderr.fileno(): self._read_stderr}
        while (left := deadline - time.monotonic()) > 0 and self._output_bytes <= MAX_OUTPUT_BYTES:
            ready = self._spawned.ready_within(left)
            for fd in ready & open_pipes.keys():
                if not open_pipes[fd]():
                    with contextlib.suppress(KeyError):
                        poll.unregister(fd)
                    del open_pipes[fd]
            if exit_fd in ready and not ready & open_pipes.keys():
                return True
        return False

    def _died(self) -> None:
        """The program closed its output without being asked to: says how it ended."""
        exited = self._wait_for_exit()
        self.kill()
        code = self._spawned.popen.returncode
        how = ended_as(code)
        if not exited:
            how = "closed its output and went on running"
        elif code == -signal.SIGKILL:
            how += " (the machine may have run out of memory: see `dmesg`)"
        elif code >= 0:
            how += " in the middle of its work"
        raise LaunchFailed(with_last_words(how, self._last_words()))

    def _fail(self, reason: str, status: Status = Status.FAILED) -> None:
        self.kill()
        raise LaunchFailed(with_last_words(reason, self._last_words()), status)

    def _last_words(self) -> str:
        return shown(self._error_text.decode("utf-8", "replace").strip(), STDERR_KEPT_BYTES)


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def _session_resident_bytes(session: int) -> int:
    """Resident set of all processes of a session; pages that they share count more than once."""
    total = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and _session_of(entry.path) == session:
            total += _resident_bytes(int(entry.name))
    return total


def _session_of(process: str) -> int:
    try:
        # The name in brackets may hold anything: fields are counted from the last bracket.
        return int(Path(process, "stat").read_bytes().rpartition(b")")[2].split()[3])
    except (OSError, IndexError, ValueError):
        return -1
