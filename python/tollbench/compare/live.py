"""The programs of a launch, which take turns: if one works out of turn, all are halted out of turn."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tollbench.measure.clock import Clock
from tollbench.measure.halting import Halter, Used
from tollbench.measure.launch import end_of
from tollbench.measure.launcher import Child, LaunchFailed
from tollbench.measure.protocol import Ready, Timed, ask_timed, ask_warmed, read_ready, send_stop
from tollbench.measure.warming import MOST_WARMUP_BATCHES, steady
from tollbench.words import Kind

WARM_SHARE = 8  # the untimed batch before has this fraction of the iterations
_WATCHED_S = 0.002  # ten short batches: what harms each of them by a twentieth is found


class Blamed(Exception):  # an outcome, not a fault of toll
    """A side did not do its work."""

    def __init__(self, side: int, reason: str) -> None:
        super().__init__(reason)
        self.side = side
        self.reason = reason


@contextmanager
def blaming(side: int) -> Iterator[None]:
    """Whatever a program does wrong meanwhile is this side's fault. Raises Blamed."""
    try:
        yield
    except LaunchFailed as failure:
        raise Blamed(side, failure.reason) from None


class Live:
    """One running program."""

    def __init__(self, child: Child, kind: Kind, answer: int | None, clock: Clock) -> None:
        self._child = child
        self._kind = kind
        self._answer = answer
        self._clock = clock
        self.ready: Ready = read_ready(child)
        self.halter = Halter(child.pid)

    def time(self, iterations: int, layout: int | None = None) -> Timed:
        """One request."""
        return ask_timed(self._child, self._kind, iterations, layout, self._answer, self._clock, None)

    def warmed(self, iterations: int, layout: int | None) -> Timed:
        """One request after an untimed one; with `layout` on new state."""
        warm = max(1, iterations // WARM_SHARE)
        if len(os.sched_getaffinity(0)) == 1:  # reading the first answer would interrupt the second batch
            self.time(warm, layout)
            return self.time(iterations)
        return ask_warmed(self._child, self._kind, warm, iterations, layout, self._answer, self._clock, None)

    def cost_ns(self, iterations: int, layout: int | None = None) -> int:
        """What one request takes, seen from here."""
        started_ns = self._clock.now_ns()
        self.time(iterations, layout)
        return self._clock.now_ns() - started_ns

    def warm(self, iterations: int) -> None:
        """Lets a runtime that becomes faster while it runs do so, for as long as the program asks for."""
        ends_ns = self._clock.now_ns() + self.ready.warmup_limit_ns
        costs: list[float] = []
        while self._clock.now_ns() < ends_ns and not steady(costs) and len(costs) < MOST_WARMUP_BATCHES:
            costs.append(self.time(iterations).batch.wall_ns)

    def stop(self) -> str:
        """Asks the program to end and waits for it; what is to be told of its end. Raises LaunchFailed."""
        send_stop(self._child)
        return end_of(self._child)


class Turns:
    """Who is asked, and who has to stand still meanwhile. Every method raises Blamed."""

    def __init__(self, live: Mapping[int, Live]) -> None:
        self.live = live  # by side
        self.restless: tuple[int, ...] = ()  # sides that work while nobody asks them; then all are halted

    @contextmanager
    def of(self, side: int) -> Iterator[Live]:
        """A side's turn."""
        program = self.live[side]
        with blaming(side):
            if self.restless:
                program.halter.go_on()
            yield program
            if self.restless:
                program.halter.halt()

    def watch(self, iterations: int) -> None:
        """Asks all sides once, shortly, then nobody for a moment; from then on only who is asked may work.

        `iterations` are those of a batch. Where all sides wait quietly nobody is halted: that takes its time
        in each turn, and some calls of a program that is halted fail with EINTR (signal(7)).
        """
        before: dict[int, Used] = {}
        for side, program in self.live.items():
            with blaming(side):
                program.time(max(1, iterations // WARM_SHARE))
            before[side] = program.halter.look()
        time.sleep(_WATCHED_S)
        self.restless = tuple(
            side for side, program in self.live.items() if program.halter.at_work(before[side])
        )
        if self.restless:
            for side, program in self.live.items():
                with blaming(side):
                    program.halter.halt()

    def end(self) -> dict[int, str]:
        """Asks all to end, and waits for each; what is to be told of their ends, by side."""
        told: dict[int, str] = {}
        for side, program in self.live.items():
            with blaming(side):
                if self.restless:
                    program.halter.go_on()
                if said := program.stop():
                    told[side] = said
        return told
