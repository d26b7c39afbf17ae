"""toll's side of the talk with one program, from its `ready` to its `stopped`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.launching.child import Child, End
from tollbench.launching.clock import Clock
from tollbench.launching.environment import check_malloc
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.messages import Ready
from tollbench.launching.protocol import (
    Terms,
    Timed,
    Unread,
    arguments,
    ask_allocations,
    ask_timed,
    read_ready,
    send_stop,
)
from tollbench.launching.spawned import ended_as, quoted, with_last_words
from tollbench.launching.warming import MOST_WARMUP_BATCHES, steady
from tollbench.words import Allocations, Kind, Parameters

WARM_SHARE = 8  # the untimed batch before a timed one has this fraction of its iterations


@dataclass(frozen=True, slots=True)
class Errand:
    """What a program is started for: its command with all arguments, and what its answers must be."""

    command: tuple[str, ...]
    kind: Kind
    environment: Mapping[str, str] = field(default_factory=dict)  # all that it gets but padding and clock
    folder: Path | None = None  # where it runs; None: where its starter decides
    answer: int | None = None  # of one iteration; None: not checked
    details: frozenset[str] | None = None  # names that it may tell numbers under; None: any
    malloc: str = ""  # the file that must serve malloc in the program; "": not checked
    entered: bool = False  # the command enters a root first, whose tools preload nothing

    @staticmethod
    def command_of(
        program: tuple[str, ...], workload: str, contender: str, parameters: Parameters
    ) -> tuple[str, ...]:
        """A program's command with the words of docs/protocol.md that start the conversation."""
        return (*program, *arguments(workload, contender, parameters))


class Conversation:
    """Asks one running program; every method raises LaunchFailed. `begin` comes first, `stop` last."""

    def __init__(
        self, child: Child, errand: Errand, clock: Clock, on_ready: Callable[[Ready], None] = lambda _: None
    ) -> None:
        self._child = child
        self._errand = errand
        self._clock = clock
        self._on_ready = on_ready
        self._terms = Terms(errand.kind, clock, errand.answer, errand.details)
        self._ready: Ready | None = None
        self.request_ns = 0  # from request to answer, all together

    @property
    def pid(self) -> int:
        """The program's process, which leads a group of its own."""
        return self._child.pid

    @property
    def has_begun(self) -> bool:
        """Whether the program has said `ready`."""
        return self._ready is not None

    @property
    def ready(self) -> Ready:
        """What the program said of itself when it began."""
        assert self._ready is not None, "begin() comes first"
        return self._ready

    def begin(self) -> None:
        """Waits for `ready`."""
        self._ready = read_ready(self._child)
        self._on_ready(self._ready)
        check_malloc(self._errand.malloc, self._ready.footing)

    def time(self, count: int, layout: int | None = None, *, warmup: bool = False) -> Timed:
        """One timed request of `count` iterations or samples; on new state with `layout`."""
        started_ns = self._clock.now_ns()
        answer = ask_timed(self._child, self._terms, count, layout)
        self.request_ns += self._clock.now_ns() - started_ns
        return Timed(answer.batch._replace(warmup=True), answer.samples) if warmup else answer

    def time_warmed(self, count: int, layout: int | None, warm: int = 0) -> Timed:
        """One request after an untimed one of `warm`, 0: of an eighth; with `layout` on new state."""
        return self.time_unread(count, layout, warm).timed()

    def time_unread(self, count: int, layout: int | None, warm: int = 0) -> Unread:
        """`time_warmed`, whose answers have come, without a look at them."""
        requests = [(warm or max(1, count // WARM_SHARE), layout), (count, None)]
        unread = Unread(self._child, self._terms)
        started_ns = self._clock.now_ns()
        if len(os.sched_getaffinity(0)) == 1:  # reading the first answer would interrupt the second batch
            unread.ask(requests.pop(0))
        unread.ask(*requests)
        self.request_ns += self._clock.now_ns() - started_ns
        return unread

    def rested(self, seconds: float) -> None:
        """Others had their turn for so long: that is not the program's time."""
        self._child.rested(seconds)

    def cost_ns(self, count: int, layout: int | None = None) -> int:
        """What one request takes, seen from here."""
        started_ns = self._clock.now_ns()
        self.time(count, layout)
        return self._clock.now_ns() - started_ns

    def warm(self, count: int, limit_ns: int) -> list[float]:
        """Timed requests that do not count, until the program is steady or the time is up; at least one.

        Returns what each took for an iteration, ns; the first is the cold one. A batch of samples is a single
        measurement too: its wall time.
        """
        ends_ns = self._clock.now_ns() + limit_ns
        costs: list[float] = []
        while not steady(costs) and len(costs) < MOST_WARMUP_BATCHES:
            if costs and self._clock.now_ns() >= ends_ns:
                break
            batch = self.time(count, warmup=True).batch
            costs.append(batch.wall_ns / batch.iterations)
        return costs

    def count_allocations(self, iterations: int) -> Allocations:
        """The untimed counting pass."""
        started_ns = self._clock.now_ns()
        counted = ask_allocations(self._child, iterations, self._errand.answer)
        self.request_ns += self._clock.now_ns() - started_ns
        return counted

    def stop(self) -> str:
        """Asks the program to end and waits for it; what is to be told of its end, "" for a good one.

        A late end spoils nothing. What crashes, or exits as sanitizers do, may have been wrong before.
        """
        send_stop(self._child)
        end = self._child.finish()
        if end.trailing:
            raise LaunchFailed(f"printed {quoted(end.trailing)} after its last answer")
        if end.killed:
            return "ignored the request to stop and was killed; its numbers had all come before"
        if end.exit_code:
            raise LaunchFailed(_bad_end(end))
        return ""


def _bad_end(end: End) -> str:
    when = "while stopping" if end.exit_code < 0 else "after stopping"
    return with_last_words(f"{ended_as(end.exit_code)} {when}", end.stderr)
