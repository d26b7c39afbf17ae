"""Programs that work while nobody asks them: seen by the processor's time that they use, and halted.

A thread that spins between requests, or for a moment after one, takes a processor from whoever is timed then.

What is seen is the program and its descendants, and not a process whose parent has ended. Halted is its whole
process group; a process that has left the group goes on.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.launching.failure import HaltingRefused, LaunchFailed

# Of the time that nobody asked it. A program that waits for its next request uses some 10 µs after each.
_AT_WORK = 0.05
_PROCESS_CLOCK = 2  # CPUCLOCK_SCHED in the kernel's include/linux/posix-timers_types.h: by the scheduler, ns
_ACCOUNTED_S = 0.04  # four ticks of the slowest kernel, 100 Hz
_LOOK_EVERY_S = 0.001
# A thread stops when it is given a processor: where four programs shared two, one took over a second.
_HALT_LIMIT_S = 10.0
_CHECK_EVERY_S = 20e-6


@dataclass(frozen=True, slots=True)
class Used:
    """What the processes of a program had used at one moment."""

    at_ns: int
    cpu_ns: Mapping[int, int]  # by process

    def share_since(self, before: Used) -> float:
        """CPU time in the time since `before`; more than 1 where several threads work."""
        cpu_ns = sum(max(0, used_ns - before.cpu_ns.get(pid, 0)) for pid, used_ns in self.cpu_ns.items())
        return cpu_ns / max(1, self.at_ns - before.at_ns)


class Halter:
    """What one program does out of turn, and the means to end that for a while."""

    def __init__(self, leader: int) -> None:
        self._leader = leader  # its own process, and its group
        self._family: Sequence[int] = (leader,)

    def look(self) -> Used:
        """What has been used until now."""
        self._family = family(self._leader)
        return Used(time.monotonic_ns(), {pid: cpu_ns(pid) for pid in self._family})

    def at_work(self, before: Used) -> bool:
        """Whether it has worked since `before`, since when nobody has asked it.

        The kernel accounts a thread's time when it goes to sleep, and while it runs on another processor only
        in each tick (kernel/sched/cputime.c, thread_group_cputime): 10 ms at most. Whoever sleeps is judged
        at once.
        """
        ends_ns = time.monotonic_ns() + round(1e9 * _ACCOUNTED_S)
        while True:
            asleep = not any(state == "R" for pid in self._family for state in _states(pid))
            now = self.look()
            if now.share_since(before) > _AT_WORK:
                return True
            if asleep:
                return False
            if now.at_ns > ends_ns:  # it never sleeps, where no tick counts it
                return True
            time.sleep(_LOOK_EVERY_S)

    def halt(self) -> None:
        """Stops all that it does; returns when it stands still. Raises LaunchFailed where it does not, and
        HaltingRefused where it may not be told to."""
        self._signal(signal.SIGSTOP)
        ends = time.monotonic() + _HALT_LIMIT_S
        while not self._halted():
            if time.monotonic() > ends:
                raise LaunchFailed(f"goes on while others have their turn, {_HALT_LIMIT_S:g} s after SIGSTOP")
            time.sleep(_CHECK_EVERY_S)

    def go_on(self) -> None:
        """Lets a halted program go on. Raises as `halt`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._leader, number)
        except PermissionError as error:
            raise HaltingRefused(
                f"may not be halted while others have their turn: {error.strerror}"
            ) from None
        except OSError as error:
            raise LaunchFailed(f"cannot be halted while others have their turn: {error.strerror}") from None

    def _halted(self) -> bool:
        """Whether all stand still; a program that has ended does so too, and its next request will tell."""
        # All threads of the program itself have stopped before its parent can see that it has.
        how = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
        if os.waitid(os.P_PID, self._leader, how) is None:
            return False
        others = (pid for pid in self._family if pid != self._leader and self._in_group(pid))
        return all(state in "TtZX" for pid in others for state in _states(pid))

    def _in_group(self, pid: int) -> bool:
        """Whether the signal reached it. Erlang's erl_child_setup, for one, has a session of its own."""
        try:
            return os.getpgid(pid) == self._leader
        except ProcessLookupError:
            return False


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process; 0 for one that is gone.

    By the clock that clock_getcpuclockid(3) names: the complement of the process, shifted by 3, and the kind.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0


def family(leader: int) -> list[int]:
    """A process and its descendants; without these where the kernel does not list them."""
    found = [leader]
    for pid in found:  # grows meanwhile
        for thread in threads_of(pid):
            try:
                found += map(int, (thread / "children").read_text().split())
            except OSError:
                continue
    return found


def at_work(leader: int) -> int:
    """How many threads of a program and its descendants run now, or would like to."""
    return sum(state == "R" for pid in family(leader) for state in _states(pid))


def _states(pid: int) -> Iterator[str]:
    """A letter for each thread (proc_pid_stat(5)): R runs or would like to, S sleeps, T is stopped."""
    for thread in threads_of(pid):
        try:
            yield fields_of(thread)[0].decode()
        except (OSError, IndexError):
            continue


def fields_of(thread: Path) -> list[bytes]:
    """Of proc_pid_stat(5), from the third on: a thread's state. Raises OSError for one that is gone."""
    # The name in brackets may hold anything: fields are counted from the last bracket.
    return (thread / "stat").read_bytes().rpartition(b")")[2].split()


def threads_of(pid: int) -> Iterator[Path]:
    """Their folders in /proc; none of a process that is gone."""
    try:
        yield from Path(f"/proc/{pid}/task").iterdir()
    except OSError:
        return
