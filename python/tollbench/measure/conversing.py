"""A conversation whose answers are kept, and where its launch belongs in a run."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from tollbench.launching.census import Census
from tollbench.launching.child import Child
from tollbench.launching.clock import Clock
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.halting import at_work
from tollbench.launching.messages import Ready
from tollbench.launching.protocol import Timed
from tollbench.launching.warming import steady
from tollbench.words import Allocations, Purpose


@dataclass(frozen=True, slots=True)
class LaunchPlace:
    """Where a launch belongs in a run: the case, why it is made, its round and its order within that."""

    case_id: int | None  # None: the canary
    purpose: Purpose
    round: int
    position: int
    seed: int  # of the layout variation
    code_layout: int = 0  # of its program's; 0: as it was linked


class RecordedConversation(Conversation):
    """A conversation that keeps what was heard."""

    def __init__(self, child: Child, errand: Errand, clock: Clock, on_ready: Callable[[Ready], None]) -> None:
        super().__init__(child, errand, clock, on_ready)
        self.layouts = random.Random(0)
        self.timed: list[Timed] = []
        self.allocations: Allocations | None = None
        self.observed: dict[str, object] = {}  # what toll adds to the launch's footing
        self._in_the_way: int | None = None  # after the last batch with a census
        self._of_pairs = False  # whether its values are those of pairs of CPUs: of batches none is needed

    def time(self, count: int, layout: int | None = None, *, warmup: bool = False) -> Timed:
        """One timed request. The first brings the launch's layout; the others find the state that it left.

        A layout makes the state anew: with one in each request every batch would time cold pools and caches
        (Boost.Fiber's pooled stacks: 1,890 instead of 700 ns a task), and no warm-up would warm anything.
        """
        if layout is None and not self.timed:
            layout = self.layouts.randrange(2**31)
        answer = super().time(count, layout, warmup=warmup)
        self.timed.append(answer)
        return answer

    def time_warmed(self, count: int, layout: int | None, warm: int = 0) -> Timed:
        """A timed request after an untimed one, which is not kept."""
        kept = len(self.timed)
        answer = super().time_warmed(count, layout, warm)
        self.timed[kept:] = [answer]
        return answer

    def time_with_census(self, count: int, census: Census, threads: int) -> None:
        """A timed request, with who was in its way right before it and once its answer had come; `threads` as
        many as the row of its table with most of them has."""

        def others() -> int | None:
            return census.in_the_way(threads, lambda: at_work(self.pid))

        if self._of_pairs:
            self.time(count)
            return
        before = others() if self._in_the_way is None else self._in_the_way
        answer = self.time(count)
        if answer.batch.cells:
            self._of_pairs = True
            return
        self._in_the_way = after = others()  # before the next one too: nothing comes in between
        found = None if before is None or after is None else max(before, after)
        self.timed[-1] = replace(answer, batch=answer.batch._replace(others=found))

    def warm_up(self, count: int, limit_ns: int) -> None:
        """Warms the program, and says in the footing how that ended."""
        costs = self.warm(count, limit_ns)
        ended = "steady" if steady(costs) else f"not steady after {limit_ns / 1e9:g} s"
        self.observed |= {"warmup_batches": len(costs), "warmup": ended}
