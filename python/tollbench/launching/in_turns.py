"""Commands that know nothing of toll, alive together: one runs while the others are halted.

SIGSTOP halts a program and SIGCONT lets it go on (signal(7)), on one processor for all of them, so that what
the machine does for longer than a turn meets all alike. Its own CPU clock does not run while it is halted; a
clock of the wall does. Whoever would notice that it was halted, or would go on all the same, is found while
it runs: `OutOfTurn`.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.launching.command import Command, Ended, RunningCommand, running
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.halting import Halter
from tollbench.launching.interrupt import Interrupt

# Of 0.5, 1, 2, 3, 4 and 8 ms: shorter ones cost 4 to 20 % of the time in caches that the other has filled,
# and in 4 ms the median of repetitions of 1 ms was what a launch by itself says, within 1 %
# (docs/compare-method.md).
TURN_S = 0.004
_NOTICED = {  # signals that a program has asked to be told of
    "SIGCONT": "it handles SIGCONT",
    "SIGALRM": "it handles SIGALRM, as a watchdog does",
}


class OutOfTurn(Exception):
    """What is being halted is not halted by it, or may do something else because of it; says why."""


@dataclass(frozen=True, slots=True)
class EndedInTurns:
    """A command that came to its end; `ended.wall_ns` counts its own turns alone."""

    ended: Ended
    halts: int  # each of which the kernel counts as a voluntary switch


@dataclass(slots=True)
class _Alive:
    """One command between its first turn and its end."""

    program: RunningCommand
    halter: Halter = field(init=False)
    used_ns: int = 0
    halts: int = 0

    def __post_init__(self) -> None:
        self.halter = Halter(self.program.pid)

    def turn(self, limit_s: float) -> EndedInTurns | None:
        """Goes on for a turn; how it ended, where it did. Raises LaunchFailed, OutOfTurn, Interrupted."""
        began_ns = time.monotonic_ns()
        if self.halts:
            self.halter.go_on()
        over = self.program.ends_within(TURN_S)
        if not over:
            self.halt()
        self.used_ns += time.monotonic_ns() - began_ns  # a program runs on until it stands still
        if over:
            return EndedInTurns(self.program.ended(self.used_ns), self.halts)
        if self.used_ns > limit_s * 1e9:
            raise self.program.too_long(limit_s)
        return None

    def halt(self) -> None:
        """Returns when it stands still. Raises OutOfTurn."""
        try:
            self.halter.halt()
        except LaunchFailed:  # one that waits for a child to begin, vfork(2), waits on while that is halted
            raise OutOfTurn("it does not stand still when it is halted") from None
        self.halts += 1
        if self.halts.bit_count() == 1:  # the first ones, and then ever more rarely: it costs some 0.1 ms
            _check(self.program.program)


def run_in_turns(
    commands: Mapping[int, Command],
    order: Sequence[int],
    rng: random.Random,
    limit_s: float,
    interrupt: Interrupt | None = None,
) -> dict[int, EndedInTurns | LaunchFailed]:
    """Runs commands, by side, to their ends; those of them that failed have their reason instead.

    `order` is the one in which they start, and first get their turns. Afterwards it is drawn anew for every
    second block of turns, and reversed in the one after it. `limit_s` holds for a command's own turns. Raises
    OutOfTurn, and Interrupted with nothing left running.
    """
    found: dict[int, EndedInTurns | LaunchFailed] = {}
    with ExitStack() as stack:
        live: dict[int, _Alive] = {}
        with _one_processor(rng):
            for side in order:
                try:
                    live[side] = _Alive(stack.enter_context(running(commands[side], interrupt)))
                    live[side].halt()
                    live[side].used_ns = time.monotonic_ns() - live[side].program.started_ns
                except LaunchFailed as failure:
                    live.pop(side, None)
                    found[side] = failure
        for side in _turns(order, rng):
            if side in live:
                try:
                    over = live[side].turn(limit_s)
                except LaunchFailed as failure:
                    found[side] = failure
                else:
                    if over is None:
                        continue
                    found[side] = over
                del live[side]
            if not live:
                break
    return found


def _turns(order: Sequence[int], rng: random.Random) -> Iterator[int]:
    """Whose turn it is, without end."""
    block = list(order)
    while True:
        yield from block
        yield from reversed(block)
        rng.shuffle(block)


@contextmanager
def _one_processor(rng: random.Random) -> Iterator[None]:
    """What is started within runs on one processor, drawn anew each time; where that may be said."""
    usable = os.sched_getaffinity(0)
    with suppress(OSError):
        os.sched_setaffinity(0, {rng.choice(sorted(usable))})
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, usable)


def _check(pid: int) -> None:
    """Raises OutOfTurn for a program that notices halting, or in which more works than one thread."""
    process = Path("/proc") / str(pid)
    handled = _handled(_text(process / "status"))
    for name, reason in _NOTICED.items():
        if handled >> (signal.Signals[name] - 1) & 1:
            raise OutOfTurn(reason)
    with suppress(OSError):
        if len(list((process / "task").iterdir())) > 1:
            raise OutOfTurn("it has several threads")
    if _text(process / "task" / str(pid) / "children").strip():
        raise OutOfTurn("it starts other processes")
    if _text(process / "timers").strip() or _has_timer_file(process):
        raise OutOfTurn("it has a timer")


def _has_timer_file(process: Path) -> bool:
    """Of timerfd_create(2), which goes on while a program is halted."""
    with suppress(OSError):
        return any(str(file.readlink()) == "anon_inode:[timerfd]" for file in (process / "fd").iterdir())
    return False


def _text(file: Path) -> str:
    """Nothing of a process that has ended, and where this kernel does not tell."""
    try:
        return file.read_text()
    except OSError:
        return ""


def _handled(status: str) -> int:
    """The signals that a program handles by itself, a bit each (proc_pid_status(5), SigCgt)."""
    for line in status.splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16)
    return 0
