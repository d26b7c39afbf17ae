"""One launch of a run: a fresh process, its requests, its end, and the record of it that is stored."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tollbench.launching.census import Census
from tollbench.launching.child import Limits
from tollbench.launching.conversation import Errand
from tollbench.launching.disturbance import Disturbance
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.halting import Halter
from tollbench.launching.piloting import UNASKED
from tollbench.launching.starting import Starter
from tollbench.launching.turns import WATCHED_S
from tollbench.measure.company import Company, Member
from tollbench.measure.conversing import LaunchPlace, RecordedConversation
from tollbench.store import BatchSamples, Launch
from tollbench.words import CODE_LAYOUT, NOT_HALTED, WAITED_NS, Status


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """A launch to be stored, with the samples of each of its batches."""

    launch: Launch
    samples: tuple[BatchSamples | None, ...] = ()  # of each batch; None for kind "batch"

    def timed_samples(self) -> tuple[BatchSamples, ...] | None:
        """Those of each batch besides the warm-up; None for kind "batch" and failed launches."""
        pairs = zip(self.launch.batches, self.samples, strict=True)
        timed = tuple(values for batch, values in pairs if values is not None and not batch.warmup)
        return timed or None


Talk = Callable[[RecordedConversation], None]  # what is asked between `ready` and `stop`


def counting(iterations: int) -> Talk:
    """The allocation-counting pass."""

    def talk(program: RecordedConversation) -> None:
        program.allocations = program.count_allocations(iterations)

    return talk


def noting_unasked_work(talk: Talk) -> Talk:
    """The same; then it is seen, for a moment, whether the program works while nobody asks it."""

    def noting(program: RecordedConversation) -> None:
        talk(program)
        halter = Halter(program.pid)
        before = halter.look()
        time.sleep(WATCHED_S)
        if halter.at_work(before):
            program.observed[UNASKED] = True

    return noting


@dataclass(frozen=True, slots=True)
class Recorder:
    """What all launches of a run share: who starts programs, and the view of the machine."""

    starter: Starter
    disturbance: Callable[[], Disturbance]
    census: Census = field(default_factory=Census)  # of no processors: none is taken

    def launch(self, place: LaunchPlace, errand: Errand, limits: Limits, talk: Talk) -> LaunchOutcome:
        """Runs one launch to its end, whatever it is. Raises only Interrupted, with nothing left running."""
        scene = _Scene(self)
        ending, program = self._talk(place, errand, limits, talk)
        wall_ns = scene.passed_ns()
        return scene.outcome(place, wall_ns, wall_ns, ending, program)

    def together(
        self,
        members: Sequence[Member],
        blocks: int,
        limits: Limits,
        rng: random.Random,
        *,
        most_blocks: int = 0,
        rehearsing: bool = False,
        over: Callable[[], bool] = lambda: False,
    ) -> tuple[LaunchOutcome, ...]:
        """One launch of each, taking turns, each with its own share of the time (`Company.launch`).

        Raises Interrupted, OutOfTime where one timed out and `over` says that the run has no time left, and
        NotHalted where toll may not halt programs that work out of turn.
        """
        scene = _Scene(self)
        company = Company(self.starter, members, limits, over, self.census)
        company.launch(blocks, rng, most_blocks=most_blocks, rehearsing=rehearsing)
        together_ns = sum(company.spent_ns)
        for program in company.programs.values() if len(members) > 1 else ():
            program.observed["in_turns_with"] = len(members) - 1
        for side, program in company.programs.items():
            if members[side].waited_ns:
                program.observed[WAITED_NS] = members[side].waited_ns
            if members[side].not_halted:
                program.observed[NOT_HALTED] = members[side].not_halted
        return tuple(
            scene.outcome(
                member.place,
                company.spent_ns[side],
                together_ns,
                _Ending.of(company.failures.get(side), company.said.get(side, "")),
                company.programs.get(side),
            )
            for side, member in enumerate(members)
        )

    def _talk(
        self, place: LaunchPlace, errand: Errand, limits: Limits, talk: Talk
    ) -> tuple[_Ending, RecordedConversation | None]:
        program = None
        padding = random.Random(f"padding/{place.seed}")
        try:
            with self.starter.started(errand, limits, padding, RecordedConversation) as program:
                program.layouts = random.Random(place.seed)
                program.begin()
                talk(program)
                return _Ending(Status.OK, program.stop()), program
        except LaunchFailed as failure:
            return _Ending.of(failure, ""), program


class _Ending(NamedTuple):
    status: Status
    reason: str

    @classmethod
    def of(cls, failure: LaunchFailed | None, said: str) -> _Ending:
        return cls(Status.OK, said) if failure is None else cls(failure.status, failure.reason)


class _Scene:
    """The machine when launches began, and what became of it until they ended."""

    def __init__(self, recorder: Recorder) -> None:
        self._clock = recorder.starter.clock
        self._look = recorder.disturbance
        self._before, self._started_utc = self._look(), self._clock.utc()
        self._started_ns = self._clock.now_ns()
        self._found: Disturbance | None = None

    def passed_ns(self) -> int:
        return self._clock.now_ns() - self._started_ns

    def outcome(
        self,
        place: LaunchPlace,
        wall_ns: int,
        together_ns: int,
        ending: _Ending,
        program: RecordedConversation | None,
    ) -> LaunchOutcome:
        """The record of one launch, which took `wall_ns` of the `together_ns` of all."""
        if self._found is None:  # of the first one asked for: the same for all
            self._found = self._look().since(self._before)
        share = wall_ns / max(1, together_ns)
        launch = Launch(
            case_id=place.case_id,
            purpose=place.purpose,
            round=place.round,
            position=place.position,
            seed=place.seed,
            status=ending.status,
            reason=ending.reason,
            started_utc=self._started_utc,
            started_ns=self._started_ns,
            wall_ns=wall_ns,
            steal_ns=_part(self._found.steal_ns, share),
            pressure_ns=_part(self._found.pressure_ns, share),
        )
        if program is None or not program.has_begun:
            return LaunchOutcome(launch)
        setup_ns = round(program.ready.setup_ns)
        launch = launch._replace(
            setup_ns=setup_ns,
            overhead_ns=max(0, wall_ns - setup_ns - program.request_ns),
            clock=program.ready.clock,
            footing={**program.ready.footing, **program.observed, **_layout_of(place)},
        )
        if ending.status is not Status.OK:
            return LaunchOutcome(launch)  # no number of a failed launch is kept
        batches = tuple(timed.batch for timed in program.timed)
        # The program has ended: what is counted here takes time from none that is measured.
        samples = tuple(
            None if timed.samples is None else BatchSamples.of(timed.samples, timed.batch.cells)
            for timed in program.timed
        )
        return LaunchOutcome(launch._replace(batches=batches, allocations=program.allocations), samples)


def _layout_of(place: LaunchPlace) -> dict[str, object]:
    return {CODE_LAYOUT: place.code_layout} if place.code_layout else {}


def _part(whole: int | None, share: float) -> int | None:
    return None if whole is None else round(share * whole)
