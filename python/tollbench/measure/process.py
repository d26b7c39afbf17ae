"""Real programs: one fresh process a launch, in a session of its own, read with limits on everything."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tollbench.measure.guardian import Guardian
from tollbench.measure.interrupt import Interrupt
from tollbench.measure.launcher import (
    MAX_LINE_BYTES,
    MAX_OUTPUT_BYTES,
    STDERR_KEPT_BYTES,
    STOP_GRACE_S,
    End,
    Interrupted,
    LaunchFailed,
    Limits,
)
from tollbench.text import shown
from tollbench.words import Status

_CHUNK_BYTES = 1024 * 1024
_FIRST_LOOK_S = 0.05  # launches shorter than this are never disturbed by a look at their memory
_LOOK_EVERY_S = 0.2
_QUOTED_BYTES = 80
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessLauncher:
    """Starts programs as processes; `interrupt` ends a wait for one of them."""

    def __init__(self, interrupt: Interrupt | None = None) -> None:
        self.interrupt = interrupt
        self._guardian: Guardian | None = None

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        folder: Path | None = None,
    ) -> Process:
        """A fresh process in `folder` (None: in that of toll); `environment` is all that it gets.

        Raises LaunchFailed where it cannot start.
        """
        try:
            self._guardian = self._guardian or Guardian()
            popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            where = f" in {folder}" if folder is not None and not folder.is_dir() else ""
            raise LaunchFailed(
                Status.FAILED, f"could not start {command[0]}{where}: {error.strerror}"
            ) from None
        self._guardian.watch(popen.pid)
        return Process(popen, limits, self.interrupt, self._guardian)


class Process:
    """A running program; implements `tollbench.measure.launcher.Child`."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        limits: Limits,
        interrupt: Interrupt | None,
        guardian: Guardian,
    ) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self._popen = popen
        self._limits = limits
        self._interrupt = interrupt
        self._guardian = guardian
        self._stdin, self._stdout, self._stderr = popen.stdin, popen.stdout, popen.stderr
        self._buffer = bytearray()
        self._error_text = bytearray()
        self._output_bytes = 0
        self._deadline = time.monotonic() + limits.time_s
        self._next_look = time.monotonic() + _FIRST_LOOK_S
        self._looks = 0
        self._exit_fd = os.pidfd_open(popen.pid)
        self._poll = select.poll()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        if interrupt is not None:
            self._poll.register(interrupt.fd, select.POLLIN)

    @property
    def pid(self) -> int:
        """Its process, which leads a process group and a session of its own."""
        return self._popen.pid

    def write_line(self, line: bytes) -> None:
        """Sends one request. Requests are far smaller than a pipe, so a full pipe means that nobody reads."""
        try:
            os.write(self._stdin.fileno(), line + b"\n")
        except BlockingIOError:
            self._fail(Status.FAILED, "does not read its requests")
        except BrokenPipeError:
            self._died()

    def read_line(self) -> bytes:
        """The next line without its end, at most 1 MiB."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > MAX_LINE_BYTES:
                start = quoted(bytes(self._buffer[: _QUOTED_BYTES + 1]))
                self._fail(Status.FAILED, f"printed a line longer than 1 MiB, which starts {start}")
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
        """What has come without being asked for, up to 80 bytes."""
        return bytes(self._buffer[:_QUOTED_BYTES])

    def finish(self) -> End:
        """Waits for the exit, kills what does not exit within the grace time."""
        self._stdin.close()
        killed = not self._wait_for_exit()
        self.kill()
        return End(self._popen.returncode, killed, self.unread(), self._last_words())

    def kill(self) -> None:
        """Ends the program and its process group at once."""
        if self._popen.returncode is None:
            # Before the leader is reaped: until then its number cannot belong to anybody else.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._guardian.forget(self._popen.pid)
            self._popen.wait()
            os.close(self._exit_fd)
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _wait(self) -> None:
        """Waits until something has come; breaks off at a limit, an interrupt or the program's end."""
        now = time.monotonic()
        until = min(self._deadline, self._next_look)
        ready = {fd for fd, _ in self._poll.poll(max(0.0, until - now) * 1000)}
        if self._interrupt is not None and self._interrupt.fd in ready:
            self.kill()
            raise Interrupted
        if self._stderr.fileno() in ready:
            self._read_stderr()
        if self._stdout.fileno() in ready and not self._read_stdout():
            self._died()
        if self._output_bytes > MAX_OUTPUT_BYTES:
            limit = MAX_OUTPUT_BYTES // 1024**2
            self._fail(Status.FAILED, f"printed more than {limit} MiB besides its samples")
        now = time.monotonic()
        if now >= self._deadline:
            self._fail(Status.TIMED_OUT, f"did not end within its limit of {self._limits.time_s:g} s")
        if now >= self._next_look:
            self._look_at_memory(now)

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
            self._poll.unregister(self._stderr)
        self._error_text = (self._error_text + data)[-STDERR_KEPT_BYTES:]
        self._output_bytes += len(data)
        return bool(data)

    def _look_at_memory(self, now: float) -> None:
        self._next_look = now + _LOOK_EVERY_S
        limit = self._limits.memory_bytes
        if not limit:
            return
        # Walking all of /proc takes milliseconds, so that children are counted only now and then.
        used = (
            _session_resident_bytes(self._popen.pid)
            if self._looks % 5 == 0
            else _resident_bytes(self._popen.pid)
        )
        self._looks += 1
        if used > limit:
            self._fail(
                Status.OUT_OF_MEMORY,
                f"used {used / 2**20:.0f} MiB of memory; its limit is {limit / 2**20:.0f} MiB",
            )

    def _wait_for_exit(self) -> bool:
        """Reads on until the process has exited; False where it takes longer than the grace time."""
        deadline = time.monotonic() + STOP_GRACE_S
        self._poll.register(self._exit_fd, select.POLLIN)
        open_pipes = {self._stdout.fileno(): self._read_stdout, self._stderr.fileno(): self._read_stderr}
        while (left := deadline - time.monotonic()) > 0 and self._output_bytes <= MAX_OUTPUT_BYTES:
            ready = {fd for fd, _ in self._poll.poll(left * 1000)}
            if self._interrupt is not None and self._interrupt.fd in ready:
                self.kill()
                raise Interrupted
            for fd in ready & open_pipes.keys():
                if not open_pipes[fd]():
                    with contextlib.suppress(KeyError):
                        self._poll.unregister(fd)
                    del open_pipes[fd]
            if self._exit_fd in ready and not ready & open_pipes.keys():
                return True
        return False

    def _died(self) -> None:
        """The program closed its output without being asked to: says how it ended."""
        exited = self._wait_for_exit()
        self.kill()
        code = self._popen.returncode
        if not exited:
            how = "closed its output and went on running"
        elif code < 0:
            how = f"crashed with {signal_name(-code)}"
            if -code == signal.SIGKILL:
                how += " (the machine may have run out of memory: see `dmesg`)"
        else:
            how = f"exited with code {code} in the middle of its work"
        raise LaunchFailed(Status.FAILED, self._with_last_words(how))

    def _fail(self, status: Status, reason: str) -> None:
        self.kill()
        raise LaunchFailed(status, self._with_last_words(reason))

    def _with_last_words(self, reason: str) -> str:
        words = self._last_words()
        return f"{reason}; its last words: {words}" if words else reason

    def _last_words(self) -> str:
        text = self._error_text.decode("utf-8", "replace").strip()
        return shown(text, STDERR_KEPT_BYTES)


def signal_name(number: int) -> str:
    """ "SIGSEGV" for 11; a plain number where the signal has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def quoted(data: bytes) -> str:
    """The first bytes of something unexpected, safe to print in a terminal."""
    text = shown(data[:_QUOTED_BYTES].decode("utf-8", "backslashreplace"), 2 * _QUOTED_BYTES)
    return f"'{text}'" + ("..." if len(data) > _QUOTED_BYTES else "")


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
