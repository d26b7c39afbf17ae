"""Programs that print what they are about to measure, alive together: each is held where it prints.

A program's standard output is a pipe with room for one write (pipe(7): O_DIRECT, and a capacity of one page):
while that one is not taken, the next one waits. So a program whose output is looked at and not taken goes no
further than to its next write, and whatever it has begun to measure it measures to the end: nobody halts it.
All come to the same benchmark, one measures while the others wait, then the next one does. What the machine
does for longer than that meets all alike.
"""

from __future__ import annotations

import ctypes
import fcntl
import math
import os
import random
import re
import select
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.launching.command import CHUNK_BYTES, Command, Ended, RunningCommand, without_input
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.halting import cpu_ns, family, threads_of
from tollbench.launching.in_turns import OutOfTurn
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.spawned import Spawned

_ONE_WRITE_BYTES = 4096  # the least that a pipe can hold: the kernel makes a page of it
_LOOK_EVERY_S = 0.002  # at the others, while all go on to their first benchmark
_MOST_SWITCHES = 8  # of a benchmark that never waits: its program is held before it, and at writes behind it
_MOST_WORK = 0.02  # of the time in which others measure, for who is held
_LEAST_WORK_NS = 200_000  # that counts as such: to come from one write to the next
_KEPT_BYTES = 2**16  # of what was printed, to find a benchmark's beginning in
_SWITCHES = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)", re.MULTILINE)  # proc_pid_status(5)


class Threads(OutOfTurn):
    """A benchmark has several threads where its side is tied to one processor."""


class FailedBeside(OutOfTurn):
    """A side failed while others were alive: by itself, or because of them."""


@dataclass(frozen=True, slots=True)
class EndedHeld:
    """A command that came to its end; `ended.wall_ns` counts while it was not held."""

    ended: Ended
    measured: Sequence[str]  # benchmarks before which it was held
    tied: bool = False  # to one processor with the others, from the first of them on
    waited: bool = False  # a benchmark gave that processor back while it measured: it may need several


@dataclass(frozen=True, slots=True)
class Announcement:
    """How a program's output tells that it measures."""

    begins: Callable[[bytes], str | None]  # the benchmark that is measured behind what was printed, if one is
    belongs: Callable[[bytes], bool]  # whether this may still follow before it is measured
    ended: Callable[[bytes], bool]  # whether this is what follows then; else it was printed meanwhile
    shared: Collection[str]  # benchmarks that all programs announce


def run_held(
    commands: Mapping[int, Command],
    order: Sequence[int],
    rng: random.Random,
    limit_s: float,
    announcement: Announcement,
    interrupt: Interrupt | None = None,
    *,
    one_processor: bool = True,
) -> dict[int, EndedHeld]:
    """Runs commands, by side, to their ends: of each benchmark one after the other, in this order.

    `limit_s` holds for the time in which a command is not held. With `one_processor` they share one, drawn
    anew, from the first benchmark on, if each has one thread by then. Raises OutOfTurn where they cannot be
    held, FailedBeside, Threads, and Interrupted, with nothing left running.
    """
    found: dict[int, EndedHeld] = {}
    with ExitStack() as stack, _accused():
        live = {
            side: _Held(stack.enter_context(_started(commands[side], interrupt)), limit_s, announcement)
            for side in order
        }
        at_once = one_processor and len(order) <= len(os.sched_getaffinity(0))
        _all_go_on(list(live.values()), at_once=at_once)
        tied = one_processor and _tie([held.program.program for held in live.values()], rng)
        while True:
            for side in [side for side, held in live.items() if held.over]:
                found[side] = replace(live.pop(side).ended(), tied=tied)
            if not live:
                return found
            for held in _next(list(live.values()), announcement.shared):
                others = [other.program.program for other in live.values() if other is not held]
                with _at_rest(others):
                    held.measure(tied=tied)
            _all_go_on(list(live.values()), at_once=False)


class _HeldCommand(RunningCommand):
    """A command whose output is looked at before it is taken."""

    def __init__(self, spawned: Spawned) -> None:
        super().__init__(spawned)
        self._output_fd = spawned.output_fd
        del self._pipes[self._output_fd]
        spawned.poll.unregister(self._output_fd)
        self._closed = False  # its output

    def take(self) -> None:
        """The write that waits: whoever waits for room behind it goes on."""
        self._keep(os.read(self._output_fd, CHUNK_BYTES))

    def looked_at(self, seconds: float) -> bytes | None:
        """The write that waits, and goes on waiting; nothing once the program has ended, None where neither
        comes in this time. Raises OSError, Interrupted."""
        deadline = time.monotonic() + seconds
        while True:
            ready = self._ready(deadline - time.monotonic())
            if self._output_fd in ready:
                if written := _look(self._output_fd):
                    return written
                self._closed = True
            elif self._spawned.exit_fd in ready:
                return b""
            elif time.monotonic() >= deadline:
                return None

    def _ready(self, seconds: float) -> set[int]:
        if self._closed:
            return self._wait(seconds)
        self._spawned.poll.register(self._output_fd, select.POLLIN)
        try:
            return self._wait(seconds)
        finally:
            self._spawned.poll.unregister(self._output_fd)


class _Held:
    """One program on its way from benchmark to benchmark."""

    def __init__(self, program: _HeldCommand, limit_s: float, announcement: Announcement) -> None:
        self.program = program
        self.benchmark: str | None = None  # before which it is held
        self.over = False  # it has ended
        self._limit_s = limit_s
        self._announcement = announcement
        self._printed = b""  # since it measured last
        self._used_ns = 0  # while it was not held, until it was let go
        self._let_go_ns: int | None = time.monotonic_ns()
        self._measured: list[str] = []
        self._waited = False

    def go_on(self, seconds: float) -> None:
        """To its next benchmark or its end, for so long at most. Raises as `measure` does."""
        self._let_go()
        deadline = time.monotonic() + seconds
        while (left_s := deadline - time.monotonic()) > 0:
            written = self.program.looked_at(min(left_s, self._left_s()))
            if written is None:
                continue
            self.over = not written
            self._printed = (self._printed + written)[-_KEPT_BYTES:]
            self.benchmark = self._announcement.begins(self._printed)
            if self.over or self.benchmark is not None:
                self._hold()
                return
            self.program.take()

    def measure(self, *, tied: bool) -> None:
        """Its benchmark, from beginning to end. Raises LaunchFailed, OutOfTurn, OSError, Interrupted."""
        assert self.benchmark is not None
        self._measured.append(self.benchmark)
        before = _switches(self.program.program)
        self._let_go()
        self.program.take()
        while (written := self.program.looked_at(self._left_s())) is None or (
            written and self._announcement.belongs(written)
        ):
            if written:
                self.program.take()
        self._hold()
        if written and not self._announcement.ended(written):
            raise OutOfTurn("it prints while it measures")
        if tied and sum(1 for _ in threads_of(self.program.program)) > 1:
            raise Threads("it has several threads")
        # What it took is kept all the same: without the launches that waited, the others would be a choice.
        self._waited |= tied and _switches(self.program.program) - before > _MOST_SWITCHES
        self.benchmark, self._printed = None, b""

    def ended(self) -> EndedHeld:
        """Raises LaunchFailed where nobody knows how."""
        return EndedHeld(self.program.ended(self._used_ns), self._measured, waited=self._waited)

    def _let_go(self) -> None:
        if self._let_go_ns is None:
            self._let_go_ns = time.monotonic_ns()

    def _hold(self) -> None:
        if self._let_go_ns is not None:
            self._used_ns += time.monotonic_ns() - self._let_go_ns
        self._let_go_ns = None

    def _left_s(self) -> float:
        """Raises LaunchFailed where it has used up its time."""
        going_ns = 0 if self._let_go_ns is None else time.monotonic_ns() - self._let_go_ns
        left_s = self._limit_s - (self._used_ns + going_ns) / 1e9
        if left_s <= 0:
            raise self.program.too_long(self._limit_s)
        return left_s


@contextmanager
def _accused() -> Iterator[None]:
    """What fails beside others has not failed yet: raises FailedBeside instead, or OutOfTurn."""
    try:
        yield
    except LaunchFailed as failure:
        raise FailedBeside(f"beside the other side it {failure.reason}") from None
    except OSError as error:
        raise OutOfTurn(f"its output cannot be held: {error.strerror or error}") from None


@contextmanager
def _at_rest(programs: Sequence[int]) -> Iterator[None]:
    """Raises OutOfTurn where one of them works meanwhile, though it is held: in other threads, say."""
    before = {leader: _work_ns(leader) for leader in programs}
    began_ns = time.monotonic_ns()
    yield
    most_ns = max(_LEAST_WORK_NS, _MOST_WORK * (time.monotonic_ns() - began_ns))
    if any(_work_ns(leader) - ns > most_ns for leader, ns in before.items()):
        raise OutOfTurn("it works while it is held")


def _work_ns(leader: int) -> int:
    return sum(map(cpu_ns, family(leader)))


def _all_go_on(programs: Sequence[_Held], *, at_once: bool) -> None:
    """Each to its next benchmark or its end. If not `at_once` one by one, as programs plan by the clock."""
    while waited_for := [held for held in programs if held.benchmark is None and not held.over]:
        for held in waited_for:
            held.go_on(_LOOK_EVERY_S if at_once else math.inf)


def _next(programs: Sequence[_Held], shared: Collection[str]) -> Sequence[_Held]:
    """Who measures now: all, or who is at a benchmark that the others lack."""
    if len({held.benchmark for held in programs}) > 1:
        programs = [held for held in programs if held.benchmark not in shared]
        if not programs:
            raise OutOfTurn("the sides do not measure their benchmarks in the same order")
    return programs


@contextmanager
def _started(command: Command, interrupt: Interrupt | None) -> Iterator[_HeldCommand]:
    """Raises LaunchFailed; OSError where this kernel makes no such pipe."""
    read_end, write_end = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
    with ExitStack() as stack:
        stack.callback(os.close, read_end)
        try:
            fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, _ONE_WRITE_BYTES)
        except OSError:
            os.close(write_end)
            raise
        spawned = without_input(command, interrupt, (read_end, write_end))
        yield _HeldCommand(stack.enter_context(spawned))


def _look(fd: int) -> bytes:
    """The first write in a pipe, which stays there; nothing at its end. Raises OSError."""
    seen, copy = os.pipe2(os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if (copied := libc.tee(fd, copy, CHUNK_BYTES, 0)) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return os.read(seen, CHUNK_BYTES) if copied else b""
    finally:
        os.close(seen)
        os.close(copy)


def _tie(programs: Sequence[int], rng: random.Random) -> bool:
    """To one processor, if each is one thread that may use all that toll may; whether they are tied."""
    usable = os.sched_getaffinity(0)
    tied: list[int] = []
    with suppress(OSError):
        if any(
            len(family(program)) > 1
            or sum(1 for _ in threads_of(program)) != 1
            or os.sched_getaffinity(program) != usable
            for program in programs
        ):
            return False
        processor = rng.choice(sorted(usable))
        for program in programs:
            os.sched_setaffinity(program, {processor})
            tied.append(program)
        return True
    for program in tied:
        with suppress(OSError):
            os.sched_setaffinity(program, usable)
    return False


def _switches(program: int) -> int:
    """How often its first thread gave the processor back by itself; 0 where the kernel does not tell."""
    with suppress(OSError):
        found = _SWITCHES.search(Path(f"/proc/{program}/status").read_text())
        return int(found[1]) if found else 0
    return 0
