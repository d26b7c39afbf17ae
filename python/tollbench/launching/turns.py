"""The programs of a launch, which take turns: if one works out of turn, all are halted out of turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tollbench.launching.conversation import WARM_SHARE, Conversation
from tollbench.launching.failure import fault_of
from tollbench.launching.halting import Halter, Used

_WATCHED_S = 0.002  # ten short batches: what harms each of them by a twentieth is found


class Turns:
    """Who is asked, and who has to stand still meanwhile. Every method raises LaunchFailed with its side."""

    def __init__(self, live: Mapping[int, Conversation]) -> None:
        self.live = live  # by side
        self.restless: tuple[int, ...] = ()  # sides that work while nobody asks them; then all are halted
        self.halters = {side: Halter(program.pid) for side, program in live.items()}

    @contextmanager
    def of(self, side: int) -> Iterator[Conversation]:
        """A side's turn."""
        with fault_of(side):
            if self.restless:
                self.halters[side].go_on()
            yield self.live[side]
            if self.restless:
                self.halters[side].halt()

    def watch(self, iterations: int) -> None:
        """Asks all sides once, shortly, then nobody for a moment; from then on only who is asked may work.

        `iterations` are those of a batch. Where all sides wait quietly nobody is halted: that takes its time
        in each turn, and some calls of a program that is halted fail with EINTR (signal(7)).
        """
        before: dict[int, Used] = {}
        for side, program in self.live.items():
            with fault_of(side):
                program.time(max(1, iterations // WARM_SHARE))
            before[side] = self.halters[side].look()
        time.sleep(_WATCHED_S)
        self.restless = tuple(side for side, halter in self.halters.items() if halter.at_work(before[side]))
        if self.restless:
            for side, halter in self.halters.items():
                with fault_of(side):
                    halter.halt()

    def end(self) -> dict[int, str]:
        """Asks all to end, and waits for each; what is to be told of their ends, by side."""
        told: dict[int, str] = {}
        for side, program in self.live.items():
            with fault_of(side):
                if self.restless:
                    self.halters[side].go_on()
                if said := program.stop():
                    told[side] = said
        return told
