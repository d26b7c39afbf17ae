"""One command from start to end, timed from outside; its time is limited, and what is kept of its output."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tollbench.launching.child import MAX_OUTPUT_BYTES
from tollbench.launching.failure import LaunchFailed, NoRoom
from tollbench.launching.interrupt import Interrupt, unbroken
from tollbench.launching.sandbox import Confined
from tollbench.launching.spawned import Spawned, ended_as, unseen_end, with_last_words
from tollbench.text import shown
from tollbench.words import Status
from tollbench.writing import scratch_folder

CHUNK_BYTES = 256 * 1024
_LAST_ERR_BYTES = 64 * 1024
_LAST_WORDS_BYTES = 240
_LEAST_ROOM_BYTES = 1 << 20  # of a disk: a report finds no room in less
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
    peak_bytes: int | None = None  # of memory, of the largest process; None: no more than toll itself
    first_thread_ns: int | None = (
        None  # of cpu_ns, the program's first thread; None where the kernel tells not
    )

    def used(self) -> dict[str, int | None]:
        """What the launch took and how it ended, for a record of it."""
        return {
            "wall_ns": self.wall_ns,
            "cpu_ns": self.cpu_ns,
            "peak_bytes": self.peak_bytes,
            "exit_code": self.exit_code,
            "voluntary_switches": self.voluntary_switches,
            "first_thread_ns": self.first_thread_ns,
        }

    def how(self) -> str:
        """How it ended, with its last words, for a reason."""
        words = (self.stderr.strip() or self.stdout.strip())[-_LAST_WORDS_BYTES:]
        text = shown(words.decode("utf-8", "replace").strip(), 300)
        return with_last_words(ended_as(self.exit_code), text)

    def whole_stdout(self) -> bytes:
        """For those who must understand it. Raises LaunchFailed where some of it was dropped."""
        if self.dropped_bytes:
            raise LaunchFailed(
                f"printed more than {MAX_OUTPUT_BYTES // 2**20} MiB where a report was expected"
            )
        return self.stdout


@dataclass(frozen=True, slots=True)
class Command:
    """One program as it is started (`run_command` says what the fields mean)."""

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    executable: str | None = None
    confined: Confined | None = None


@contextmanager
def working_folder(folder: Path | None) -> Iterator[Path]:
    """`folder`, or a fresh one that is removed with all that was written into it.

    Raises NoRoom where there can be none, or where a launch failed and the disk is full without its files:
    that is nobody's fault who is compared, and what was measured before is judged.
    """
    if folder is not None:
        yield folder
        return
    where: Path | str = "the temporary folder"
    try:
        with ExitStack() as stack:
            try:
                where = Path(tempfile.gettempdir())
                made = stack.enter_context(scratch_folder())
            except OSError as error:
                why = error.strerror or error
                raise NoRoom(f"no program can be given a folder in {where}: {why}") from None
            yield made
    except LaunchFailed:
        if is_full(where):
            raise NoRoom(f"{where}, where programs run, is full") from None
        raise


def is_full(folder: Path | str) -> bool:
    """Whether a report, or a compiler, finds no room there."""
    with suppress(OSError):
        found = shutil.disk_usage(folder)
        return found.total > 0 and found.free < _LEAST_ROOM_BYTES  # a ramfs tells nothing
    return True


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    limit_s: float,
    interrupt: Interrupt | None = None,
    executable: str | None = None,
    confined: Confined | None = None,
) -> Ended:
    """Runs a program without input to its end, whatever its exit code.

    `executable` is the file where the command's first word, which the program sees as its name, is not it.
    `confined` says that it is a program of others.

    Raises LaunchFailed where it cannot start or breaks a limit; Interrupted, with nothing left running, when
    somebody asks to stop.
    """
    started = Command(command, environment, folder, executable, confined)
    with running(started, interrupt) as program:
        return program.until_end(limit_s)


@contextmanager
def running(command: Command, interrupt: Interrupt | None = None) -> Iterator[RunningCommand]:
    """A program without input, as `run_command` starts it, whose output is read; ended at the end."""
    with without_input(command, interrupt) as spawned:
        yield RunningCommand(spawned)


@contextmanager
def without_input(
    command: Command, interrupt: Interrupt | None = None, printed: tuple[int, int] | None = None
) -> Iterator[Spawned]:
    """The process of such a program; `printed` as `Spawned` says."""
    with unbroken():
        spawned = Spawned(
            command.words,
            command.environment,
            stdin=subprocess.DEVNULL,
            folder=command.folder,
            executable=command.executable,
            interrupt=interrupt,
            confined=command.confined,
            printed=printed,
        )
        try:
            yield spawned
        finally:
            spawned.end()


def _peak_bytes(peak_kib: int) -> int | None:
    """None where it is toll's own: the kernel counts a process at least as large as the one it began as."""
    import resource  # which Linux has; runs are shown elsewhere too

    own_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_kib * 1024 if peak_kib > own_kib else None


def _thread_ns(pid: int) -> int | None:
    """CPU time of a process's first thread (Documentation/scheduler/sched-stats.rst)."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) or None
    return None


class RunningCommand:
    """A command that runs: takes what it prints until it has ended."""

    def __init__(self, spawned: Spawned) -> None:
        assert spawned.popen.stderr is not None
        self._spawned = spawned
        self._out, self._err = bytearray(), bytearray()
        self._pipes = {spawned.output_fd: self._out, spawned.popen.stderr.fileno(): self._err}
        self._dropped_bytes = 0
        for fd in (*self._pipes, spawned.exit_fd):
            spawned.poll.register(fd, select.POLLIN)

    @property
    def pid(self) -> int:
        """Of the process, and of its group."""
        return self._spawned.popen.pid

    @property
    def program(self) -> int:
        """Of the program itself, which in a sandbox is a descendant of it."""
        return self._spawned.program

    @property
    def started_ns(self) -> int:
        """When the program began; a sandbox was made before."""
        return self._spawned.started_ns

    def until_end(self, limit_s: float) -> Ended:
        """What became of it. Raises LaunchFailed where it does not end in time; Interrupted."""
        if not self.ends_within(limit_s):
            raise self.too_long(limit_s)
        return self.ended(time.monotonic_ns() - self._spawned.started_ns)

    def ends_within(self, seconds: float) -> bool:
        """Whether it has ended by then; reads meanwhile. Raises Interrupted."""
        deadline = time.monotonic() + seconds - self._spawned.halted_s
        while self._spawned.exit_fd not in self._wait(deadline + self._spawned.halted_s - time.monotonic()):
            if time.monotonic() >= deadline + self._spawned.halted_s:
                return self._spawned.exit_fd in self._wait(0.0)
        return True

    def too_long(self, limit_s: float) -> LaunchFailed:
        """For one that has not ended in its time."""
        return LaunchFailed(f"did not end within {limit_s:g} s{self._printed()}", Status.TIMED_OUT)

    def ended(self, wall_ns: int) -> Ended:
        """Of a process that has ended, after so long. Raises LaunchFailed where nobody knows how."""
        self._drain()
        first_thread_ns = _thread_ns(self.program)  # until it is reaped
        usage = self._spawned.end()
        if usage is None:
            raise unseen_end()
        return Ended(
            self._spawned.popen.returncode,
            wall_ns,
            max(0, round(1e9 * (usage.ru_utime + usage.ru_stime)) - self._spawned.before_its_start_cpu_ns),
            bytes(self._out),
            bytes(self._err),
            max(0, usage.ru_nvcsw - self._spawned.others_switches),
            self._dropped_bytes,
            _peak_bytes(usage.ru_maxrss),
            first_thread_ns,
        )

    def _printed(self) -> str:
        """For a program that may have no end because its output has none."""
        mib = (len(self._out) + self._dropped_bytes) // 2**20
        return f" and printed {mib} MiB by then" if self._dropped_bytes else ""

    def _wait(self, seconds: float) -> set[int]:
        ready = self._spawned.ready_within(seconds)
        for fd in ready & self._pipes.keys():
            self._read(fd)
        return ready

    def _read(self, fd: int) -> None:
        data = os.read(fd, CHUNK_BYTES)
        if not data:
            self._spawned.poll.unregister(fd)
            del self._pipes[fd]
            return
        if self._pipes[fd] is self._out:
            self._keep(data)
            return
        self._err += data
        del self._err[:-_LAST_ERR_BYTES]

    def _keep(self, printed: bytes) -> None:
        room = MAX_OUTPUT_BYTES - len(self._out)
        self._out += printed[:room]
        self._dropped_bytes += max(0, len(printed) - room)

    def _drain(self) -> None:
        """What is still in the pipes; a child that lives on may hold them open, and is not waited for."""
        self._spawned.poll.unregister(self._spawned.exit_fd)
        deadline = time.monotonic() + _STRAY_WAIT_S
        while self._pipes and (left := deadline - time.monotonic()) > 0:
            self._wait(left)
