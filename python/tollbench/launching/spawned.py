"""A process of ours from its start to its end: what talking to a program and running a command share."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.guardian import shared_guardian
from tollbench.launching.halting import cpu_ns, family
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import GO, READY, Confined, ConfinedLaunch, Sandbox, exit_code, sandbox_of
from tollbench.launching.strays import STARTING, began, children_before, end_strays
from tollbench.launching.unstartable import why_not_started
from tollbench.text import shown

if TYPE_CHECKING:
    import resource

QUOTED_BYTES = 80
_SANDBOX_LIMIT_S = 10.0  # for a sandbox to be made, and to be gone
_UNKILLED_LIMIT_S = 2.0  # for the end of a program that may not be signalled
_PROCESSES = 3  # of a sandbox before the program begins: bubblewrap, and two shells
_WORDS_BYTES = 1000
_PIECE_S = 0.5  # of a wait
_LATE_S = 0.2  # a busy machine is later than asked by less


class Spawned:
    """A fresh process that leads a session and a process group of its own, and dies with toll.

    `stdin` and `output`, which is that of errors too, are as for subprocess.Popen. `printed` are the two ends
    of a pipe for standard output, the second of which is closed here. `executable` is the file where the
    command's first word, which the program sees as its name, is not it. With `confined` it is in the sandbox,
    if one was asked for. Raises LaunchFailed where it cannot start.
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
        confined: Confined | None = None,
        printed: tuple[int, int] | None = None,
    ) -> None:
        self._sandbox = sandbox_of(confined)
        self._inside: _Inside | None = None
        # How long toll itself stood still while it waited (Ctrl-Z, a paused container): a program that was
        # halted with it has not had that time.
        self.halted_s = 0.0
        self.others_switches = 0  # how often the processes of a sandbox gave the processor back
        start = _Start(tuple(command), environment, folder, executable, stdin)
        if self._sandbox is not None and confined is not None:
            start = _in_sandbox(start, self._sandbox, confined)
        try:
            self._guardian = shared_guardian()
            self.before = children_before()  # whoever was a child of toll before
            self.started_ns = time.monotonic_ns()
            with STARTING:
                self.popen = subprocess.Popen(
                    start.command,
                    executable=start.executable,
                    stdin=start.stdin,
                    stdout=output if printed is None else printed[1],
                    stderr=output,
                    bufsize=0,
                    cwd=start.folder,
                    env=start.environment,
                    start_new_session=True,
                )
                self._guardian.watch(self.popen.pid)  # at once: what a killed toll had not told of lives on
                began(self.popen.pid)
        except OSError as error:
            where = f" in {folder}" if folder is not None and not folder.is_dir() else ""
            raise LaunchFailed(
                f"could not be started{where}: {error.strerror}: {shown(start.command[0], 200)}"
                f"{why_not_started(start.executable or start.command[0], start.folder, error)}"
            ) from None
        finally:
            if printed is not None:  # else nobody would see that the process has closed it
                os.close(printed[1])
        self._goes_first_without_memory(self.popen.pid)
        self._printed_fd = None if printed is None else printed[0]
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
        if self._sandbox is not None:
            self._enter(talks=stdin == subprocess.PIPE)

    @property
    def program(self) -> int:
        """The measured program's own process, which in a sandbox is not the one that toll started."""
        return self._inside.program if self._inside is not None else self.popen.pid

    @property
    def output_fd(self) -> int:
        """Where its standard output, a pipe, is read."""
        if self._printed_fd is not None:
            return self._printed_fd
        assert self.popen.stdout is not None
        return self.popen.stdout.fileno()

    @property
    def before_its_start_cpu_ns(self) -> int:
        """What the processes of a sandbox had used when the program began."""
        return self._inside.used_ns if self._inside is not None else 0

    @staticmethod
    def _goes_first_without_memory(pid: int) -> None:
        """Where memory ends, the kernel shall end the program and not toll."""
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/oom_score_adj").write_text("1000")

    def _enter(self, *, talks: bool) -> None:
        """Waits until the sandbox is there, and lets the program begin. Raises LaunchFailed, Interrupted."""
        assert self.popen.stdin is not None
        try:
            self._until_ready(self.output_fd)
            processes = family(self.popen.pid)
            if len(processes) < _PROCESSES:
                raise LaunchFailed("is not found in its sandbox: this kernel does not list children in /proc")
            program = processes[-1]
            self._goes_first_without_memory(program)
            try:
                first_fd, program_fd = os.pidfd_open(processes[1]), os.pidfd_open(program)
            except OSError as error:
                raise LaunchFailed(f"cannot be watched in its sandbox: {error.strerror}") from None
            used_ns = sum(map(cpu_ns, processes))
            self._inside = _Inside(program, self.exit_fd, first_fd, used_ns)
            self.exit_fd = program_fd
            self.started_ns = time.monotonic_ns()
            os.write(self.popen.stdin.fileno(), GO)
            if not talks:
                self.popen.stdin.close()
        except BaseException:
            self.end()
            raise

    def _until_ready(self, stdout: int) -> None:
        """Raises LaunchFailed with bubblewrap's own words where it makes no sandbox."""
        assert self.popen.stderr is not None
        self.poll.register(stdout, select.POLLIN)
        ready = self.ready_within(_SANDBOX_LIMIT_S)
        self.poll.unregister(stdout)
        if stdout not in ready:
            raise LaunchFailed(f"got no sandbox within {_SANDBOX_LIMIT_S:g} s")
        if os.read(stdout, 1) != READY:
            words = os.read(self.popen.stderr.fileno(), _WORDS_BYTES).decode("utf-8", "replace").strip()
            raise LaunchFailed(f"could not be put into a sandbox: {shown(words, 300)}")

    def ready_within(self, seconds: float) -> set[int]:
        """Descriptors with something to read. Raises Interrupted, with nothing left running."""
        left_s = max(0.0, seconds)
        while True:  # piece by piece: of a halt in the midst of a long wait nobody would know
            began, asked_s = time.monotonic(), min(left_s, _PIECE_S)
            ready = {fd for fd, _ in self.poll.poll(asked_s * 1000)}
            if (late_s := time.monotonic() - began - asked_s) > _LATE_S:
                self.halted_s += late_s
            left_s -= asked_s
            if ready or left_s <= 0.0:
                break
        if self._interrupt is not None and self._interrupt.fd in ready:
            self.end()
            raise Interrupted
        return ready

    def _leave(self, inside: _Inside) -> None:
        """Where the program has ended, bubblewrap tells how in a moment: it is not killed before."""
        if _ended_within(self.exit_fd, 0.0):
            _ended_within(inside.outer_fd, _SANDBOX_LIMIT_S)
            # The first shell does in there what bubblewrap does outside: both wait, and are halted as often.
            self.others_switches = 2 * _voluntary_switches(self.popen.pid)

    def end(self) -> resource.struct_rusage | None:
        """Ends the process with its group and what left that; what it used, None where that is not known.

        The group is killed before its leader is reaped: until then its number cannot belong to anybody else.
        """
        if self.popen.returncode is not None:
            return None
        if self._inside is not None:
            self._leave(self._inside)
        how, usage = 0, None
        with contextlib.suppress(ProcessLookupError):
            try:
                os.killpg(self.popen.pid, signal.SIGKILL)
            except PermissionError:
                how = self._ask_to_end()
        self._guardian.forget(self.popen.pid)
        try:
            pid, status, used = os.wait4(self.popen.pid, how)
        except ChildProcessError:  # SIGCHLD is ignored: the kernel reaps, and tells nothing
            pid = 0
        if pid:
            self.popen.returncode, usage = os.waitstatus_to_exitcode(status), used
        else:
            self.popen.returncode, self.end_seen = 0, False
        if self._inside is not None:
            self.popen.returncode = exit_code(self.popen.returncode)
            self._inside.close()
        end_strays(self.popen.pid, self.before)
        if self.exit_fd >= 0:
            os.close(self.exit_fd)
        self._close_pipes()
        return usage

    def _ask_to_end(self) -> int:
        """Where it may not be killed: the end of its input tells a program as well, and one that goes on all
        the same is not waited for. Returns the options to wait with."""
        self._close_pipes()
        if self.exit_fd >= 0:
            _ended_within(self.exit_fd, _UNKILLED_LIMIT_S)
        return os.WNOHANG

    def _close_pipes(self) -> None:
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                pipe.close()


@dataclass(frozen=True, slots=True)
class _Start:
    """What is started, as subprocess.Popen is told."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path | None
    executable: str | None
    stdin: int


@dataclass(frozen=True, slots=True)
class _Inside:
    """A program in a sandbox; `outer_fd` is of bubblewrap, `first_fd` of the first process in there."""

    program: int
    outer_fd: int
    first_fd: int
    used_ns: int

    def close(self) -> None:
        """Once all in there have ended: else the first one would be taken for a stray."""
        _ended_within(self.first_fd, _SANDBOX_LIMIT_S)
        os.close(self.first_fd)
        os.close(self.outer_fd)


def _in_sandbox(start: _Start, sandbox: Sandbox, confined: Confined) -> _Start:
    talks = start.stdin == subprocess.PIPE
    launch = ConfinedLaunch(start.command, start.executable, start.folder or Path.cwd(), talks)
    words = sandbox.words(launch, confined, start.environment)
    return _Start(words, sandbox.environment(start.environment), Path("/"), None, subprocess.PIPE)


def _voluntary_switches(pid: int) -> int:
    """Of one that has ended too, until it is reaped; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError):
        found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
        return int(found[1]) if found else 0
    return 0


def _ended_within(fd: int, seconds: float) -> bool:
    """Whether the process of this descriptor has ended by then."""
    return bool(select.select([fd], [], [], seconds)[0])


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
