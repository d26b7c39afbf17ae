"""One launch of a run: a fresh process, its requests, its end, and the record of it that is stored."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tollbench.launching.calibrating import LaunchWork
from tollbench.launching.child import Child, Limits
from tollbench.launching.clock import Clock
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.disturbance import Disturbance
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.messages import Ready
from tollbench.launching.protocol import Timed
from tollbench.launching.starting import Starter
from tollbench.launching.warming import steady
from tollbench.store import Launch, Samples
from tollbench.words import Allocations, Purpose, Status


@dataclass(frozen=True, slots=True)
class LaunchPlace:
    """Where a launch belongs in a run: the case, why it is made, its round and its order within that."""

    case_id: int | None  # None: the canary
    purpose: Purpose
    round: int
    position: int
    seed: int  # of the layout variation


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """A launch to be stored, with the samples of each of its batches."""

    launch: Launch
    samples: tuple[Samples | None, ...] = ()  # of each batch; None for kind "batch"

    def timed_samples(self) -> Samples | None:
        """All samples besides the warm-up's, in one array; None for kind "batch" and failed launches."""
        pairs = zip(self.launch.batches, self.samples, strict=True)
        parts = [values for batch, values in pairs if values is not None and not batch.warmup]
        return np.concatenate(parts) if parts else None

    def timed_cells(self) -> tuple[tuple[str, int], ...]:
        """What consecutive ones of `timed_samples` belong to."""
        return tuple(cell for batch in self.launch.batches if not batch.warmup for cell in batch.cells)


class RecordedConversation(Conversation):
    """A conversation that keeps what was heard."""

    def __init__(self, child: Child, errand: Errand, clock: Clock, on_ready: Callable[[Ready], None]) -> None:
        super().__init__(child, errand, clock, on_ready)
        self.layouts = random.Random(0)
        self.timed: list[Timed] = []
        self.allocations: Allocations | None = None
        self.observed: dict[str, object] = {}  # what toll adds to the launch's footing

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

    def warm_up(self, count: int, limit_ns: int) -> None:
        """Warms the program, and says in the footing how that ended."""
        costs = self.warm(count, limit_ns)
        ended = "steady" if steady(costs) else f"not steady after {limit_ns / 1e9:g} s"
        self.observed |= {"warmup_batches": len(costs), "warmup": ended}


Talk = Callable[[RecordedConversation], None]  # what is asked between `ready` and `stop`


def measuring(work: LaunchWork) -> Talk:
    """The same work in every launch of a case, after the warming that the program asks for."""

    def talk(program: RecordedConversation) -> None:
        if program.ready.warmup_limit_ns:
            program.warm_up(work.iterations, program.ready.warmup_limit_ns)
        elif work.warmup:
            program.time(work.iterations, warmup=True)
        for _ in range(work.batches):
            program.time(work.iterations)

    return talk


def counting(iterations: int) -> Talk:
    """The allocation-counting pass."""

    def talk(program: RecordedConversation) -> None:
        program.allocations = program.count_allocations(iterations)

    return talk


@dataclass(frozen=True, slots=True)
class Recorder:
    """What all launches of a run share: who starts programs, and the view of the machine."""

    starter: Starter
    disturbance: Callable[[], Disturbance]

    def launch(self, place: LaunchPlace, errand: Errand, limits: Limits, talk: Talk) -> LaunchOutcome:
        """Runs one launch to its end, whatever it is. Raises only Interrupted, with nothing left running."""
        clock = self.starter.clock
        before, started_utc = self.disturbance(), clock.utc()
        started_ns = clock.now_ns()
        status, reason, program = self._talk(place, errand, limits, talk)
        wall_ns = clock.now_ns() - started_ns
        disturbance = self.disturbance().since(before)
        launch = Launch(
            case_id=place.case_id,
            purpose=place.purpose,
            round=place.round,
            position=place.position,
            seed=place.seed,
            status=status,
            reason=reason,
            started_utc=started_utc,
            started_ns=started_ns,
            wall_ns=wall_ns,
            steal_ns=disturbance.steal_ns,
            pressure_ns=disturbance.pressure_ns,
        )
        if program is None or not program.has_begun:
            return LaunchOutcome(launch)
        setup_ns = round(program.ready.setup_ns)
        launch = replace(
            launch,
            setup_ns=setup_ns,
            overhead_ns=max(0, wall_ns - setup_ns - program.request_ns),
            clock=program.ready.clock,
            footing={**program.ready.footing, **program.observed},
        )
        if status is not Status.OK:
            return LaunchOutcome(launch)  # no number of a failed launch is kept
        batches = tuple(timed.batch for timed in program.timed)
        samples = tuple(timed.samples for timed in program.timed)
        return LaunchOutcome(replace(launch, batches=batches, allocations=program.allocations), samples)

    def _talk(
        self, place: LaunchPlace, errand: Errand, limits: Limits, talk: Talk
    ) -> tuple[Status, str, RecordedConversation | None]:
        program = None
        padding = random.Random(f"padding/{place.seed}")
        try:
            with self.starter.started(errand, limits, padding, RecordedConversation) as program:
                program.layouts = random.Random(place.seed)
                program.begin()
                talk(program)
                return Status.OK, program.stop(), program
        except LaunchFailed as failure:
            return failure.status, failure.reason, program
