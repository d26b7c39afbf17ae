"""The programs of a launch, which take turns: if one works out of turn, all are halted out of turn."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tollbench.launching.conversation import WARM_SHARE, Conversation
from tollbench.launching.failure import LaunchFailed, fault_of
from tollbench.launching.halting import Halter, Used
from tollbench.launching.one_cpu import tie_to_one, untie

WATCHED_S = 0.002  # ten short batches: what harms each of them by a twentieth is found


def orders_of(sides: Sequence[int], blocks: int, rng: random.Random) -> list[list[int]]:
    """In which order each block asks: at random, then the other way round, and so on."""
    orders: list[list[int]] = []
    for number in range(blocks):
        orders.append(orders[-1][::-1] if number % 2 else rng.sample(sides, len(sides)))
    return orders


class Turns:
    """Who is asked, and who has to stand still meanwhile. Every method raises LaunchFailed with its side."""

    def __init__(self, live: Mapping[int, Conversation], *, halting: bool = False) -> None:
        self.live: dict[int, Conversation] = {}  # by side
        self.restless: tuple[int, ...] = ()  # sides that work while nobody asks them; then all are halted
        self.halters: dict[int, Halter] = {}
        self.cpu: int | None = None  # that all are tied to
        self._halting = halting  # known before
        self._rests_since: dict[int, float] = {}
        for side, program in live.items():
            self.join(side, program)

    def join(self, side: int, program: Conversation) -> None:
        """One more program, which has begun."""
        self.live[side] = program
        self.halters[side] = Halter(program.pid)
        self._rests_since[side] = time.monotonic()
        if self._halting:
            with fault_of(side):
                self.halters[side].halt()

    @contextmanager
    def of(self, side: int) -> Iterator[Conversation]:
        """A side's turn. Only turns count towards its time limit."""
        program = self.live[side]
        program.rested(time.monotonic() - self._rests_since[side])
        try:
            with fault_of(side):
                if self._halting:
                    self.halters[side].go_on()
                yield program
                if self._halting:
                    self.halters[side].halt()
        finally:
            self._rests_since[side] = time.monotonic()

    def leave(self, side: int) -> None:
        """A side that has failed has no more turns."""
        del self.live[side]

    def share_one_cpu(self) -> None:
        """Ties all to one CPU, where all their threads wait; `cpu` says which, after `watch`."""
        self.cpu = tie_to_one([program.pid for program in self.live.values()])

    def watch(self, iterations: int | Mapping[int, int]) -> None:
        """Asks all sides once, shortly, then nobody for a moment; from then on only who is asked may work.

        `iterations` are those of a batch, of all sides or of each. Where all sides wait quietly nobody is
        halted: that takes its time in each turn, and some calls of a program that is halted fail with EINTR
        (signal(7)).
        """
        if self._halting:
            return
        before: dict[int, Used] = {}
        for side in self.live:
            count = iterations if isinstance(iterations, int) else iterations[side]
            with self.of(side) as program:
                program.time(max(1, count // WARM_SHARE))
            before[side] = self.halters[side].look()
        time.sleep(WATCHED_S)
        self.restless = tuple(side for side in self.live if self.halters[side].at_work(before[side]))
        self._halting = bool(self.restless)
        if self._halting:
            self._untie()  # what works out of turn would take the CPU from its own program in its turn
            self._halt_all()

    def _untie(self) -> None:
        if self.cpu is not None:
            untie([program.pid for program in self.live.values()], os.sched_getaffinity(0))
            self.cpu = None

    def _halt_all(self) -> None:
        """Raises LaunchFailed for one that cannot be halted, after the others have been."""
        refused: LaunchFailed | None = None
        for side in self.live:
            try:
                with fault_of(side):
                    self.halters[side].halt()
            except LaunchFailed as failure:
                refused = failure
        if refused is not None:
            raise refused

    def end(self) -> dict[int, str]:
        """Asks all to end, and waits for each; what is to be told of their ends, by side."""
        told: dict[int, str] = {}
        for side in self.live:
            if said := self.end_of(side):
                told[side] = said
        return told

    def end_of(self, side: int) -> str:
        """Asks one to end, and waits for it; what is to be told of its end, "" for a good one."""
        program = self.live[side]
        program.rested(time.monotonic() - self._rests_since[side])
        with fault_of(side):
            if self._halting:
                self.halters[side].go_on()
            return program.stop()
