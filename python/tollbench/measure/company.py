"""The cases of one setting, launched together: each in a fresh process, they take turns in short batches.

A ratio is then one of batches a millisecond apart. Whatever the machine does for longer than that meets all
of them alike: between launches of five locks one after another, 0.1 s each, ratios scattered by 0.1 to 1.1 %,
in turns of 0.2 ms and a twelfth of the time by 0.2 to 1.4 %.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tollbench.launching.census import Census
from tollbench.launching.child import Limits
from tollbench.launching.conversation import WARM_SHARE, Errand
from tollbench.launching.failure import HaltingRefused, LaunchFailed
from tollbench.launching.piloting import CROWDED_BATCHES, LONGER_NS, CaseWork
from tollbench.launching.starting import Starter
from tollbench.launching.turns import Turns
from tollbench.measure.conversing import LaunchPlace, RecordedConversation
from tollbench.plan import Settings
from tollbench.words import (
    LONGEST_GAUGED_NS,
    SHARED_CORE,
    TURNS_ON_CPU,
    Status,
    one_thread,
    times_own_thread,
)

LONGEST_TURN_NS = 20e6  # who takes longer for a batch is launched alone: turns would be no neighbours in time
REHEARSED_TURNS = 5
TURN_BATCHES = "turn_batches"  # in the footing of a rehearsal: how many a turn had
_REHEARSED_NS = 4e6  # of a turn,
_FEWEST_REHEARSED = 4  # and as many batches at least
_UNDISTURBED_NS = 20e6  # of batches in a row at the end
_REQUEST_NS = 0.2e6  # what a turn costs besides the batch
_BEST_SHARE = 2.0  # blocks by the root of what a launch costs over what a block costs, times this
_FEWEST_BLOCKS = 5
_FEWEST_LONG_BLOCKS = 3  # of batches that are means over much already
_LENIENT = 1.25  # times what a launch's batches may take, where that brings a second one
_LONG_BLOCK_NS = 2.5e6
MOST_TIMES = 3  # as many blocks, where others work on the core and there is time
_FEWEST_OWN = 2  # batches with the core to itself that a program shall have, as far as blocks allow


@dataclass(frozen=True, slots=True)
class Member:
    """One case in a company: where its launch belongs, what is started, what it does."""

    place: LaunchPlace
    errand: Errand
    work: CaseWork
    not_halted: str = ""  # why it is launched alone, though it might take turns if it could be halted
    threads: int = 0  # that the census of its batches, launched alone, leaves processors for; 0: it has none
    waited_ns: int = 0  # before its launch, for others to rest


def blocks_of(works: Sequence[CaseWork], settings: Settings) -> int:
    """Batches of each member in a launch.

    Blocks within a launch share its layout, so that more launches say more than more blocks, but each launch
    costs its start and its warm-up. The variance of a mean for a given time is least where blocks grow with
    the root of one cost over the other (Cochran, Sampling Techniques, section 10.6), here as if blocks
    scattered twice as much as launches. At least five, that one or two spoiled ones do no harm, as far as a
    launch then takes no longer than the settings say (by a quarter, of more threads than processors).
    """
    begin_ns = sum(work.begin_ns for work in works) / len(works)
    block_ns = _block_ns(works) / len(works)
    fewest = _FEWEST_BLOCKS if block_ns < _LONG_BLOCK_NS else _FEWEST_LONG_BLOCKS
    wanted = max(fewest, round(_BEST_SHARE * math.sqrt(begin_ns / block_ns)))
    room = 1e9 * settings.launch_s / block_ns
    # Batches of more threads than processors fill half of it each, more or less as their pilot was quick:
    # rows of one table had one or two in a launch by that.
    crowded = all(work.beside_threads and work.iterations > 1 for work in works)
    most = max(int(room), min(CROWDED_BATCHES, int(_LENIENT * room))) if crowded else int(room)
    return max(1, min(wanted, settings.batches, most))


def launch_ns(works: Sequence[CaseWork], settings: Settings) -> float:
    """What a launch of such a company takes of each of its members, in the mean."""
    block_ns = blocks_of(works, settings) * _block_ns(works)
    return (sum(work.begin_ns for work in works) + block_ns) / len(works)


def rehearsed_batches(work: CaseWork) -> int:
    """How many batches a turn of the rehearsal has."""
    return max(_FEWEST_REHEARSED, round(_REHEARSED_NS / work.batch_ns))


def _block_ns(works: Sequence[CaseWork]) -> float:
    """What a block takes of all of them; who is alone finds his data where he left it."""
    again_ns = sum(work.again * work.one_ns for work in works) if len(works) > 1 else 0.0
    return again_ns + sum(work.batch_ns + _REQUEST_NS for work in works)


def _orders(sides: Sequence[int], another: Callable[[int], bool], rng: random.Random) -> Iterator[int]:
    """Who is asked next: each once a block, in random order, and nobody after himself.

    Whoever follows himself finds his data where he left it. (Of two, each follows the other, all along.)
    `another` is asked before each block whether there shall be one after so many.
    """
    last, blocks = -1, 0
    while sides and another(blocks):
        blocks += 1
        asked = rng.sample(sides, len(sides))
        if len(asked) > 1 and asked[0] == last:
            asked.append(asked.pop(0))
        last = asked[-1]
        yield from asked


class OutOfTime(Exception):  # the run's way out, never an error
    """A program did not end, and there is no time left: its limit was the run's, not its own."""

    def __init__(self, side: int) -> None:
        super().__init__(side)
        self.side = side  # the program, by its place in the company


class NotHalted(Exception):  # the company's way out, never an error
    """Those in `sides` work out of turn, and halting was refused: nobody of the company has been measured."""

    def __init__(self, reason: str, sides: tuple[int, ...]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sides = sides


class Company:
    """One launch of each member, alive at the same time. One that fails costs the others nothing but time."""

    def __init__(
        self,
        starter: Starter,
        members: Sequence[Member],
        limits: Limits,
        over: Callable[[], bool],
        census: Census,
    ) -> None:
        self._starter = starter
        self._census = census
        self._members = members
        self._limits = limits
        self._over = over  # whether the run has no time left
        self._clock = starter.clock
        self._alive: dict[int, ExitStack] = {}
        self.programs: dict[int, RecordedConversation] = {}  # that were started, by place in `members`
        self.failures: dict[int, LaunchFailed] = {}
        self.said: dict[int, str] = {}  # of its end
        self.spent_ns = [0] * len(members)  # to start each, in its turns, and to end it

    def launch(
        self, blocks: int, rng: random.Random, *, most_blocks: int = 0, rehearsing: bool = False
    ) -> None:
        """From start to end. Raises only Interrupted, OutOfTime and NotHalted; in the end nothing is left
        running.

        Up to `most_blocks` are made while some program lacks batches with the core to itself. In a rehearsal
        a turn has several batches (`rehearsed_batches`).
        """
        unasked = tuple(side for side, member in enumerate(self._members) if member.work.unasked)
        turns = Turns({}, halting=len(self._members) > 1 and bool(unasked))
        try:
            self._launch(turns, blocks, rng, max(blocks, most_blocks), rehearsing=rehearsing)
        except HaltingRefused as refused:
            at_work = turns.restless or unasked or tuple(range(len(self._members)))
            raise NotHalted(refused.reason, at_work) from None

    def _launch(
        self, turns: Turns, blocks: int, rng: random.Random, most_blocks: int, *, rehearsing: bool
    ) -> None:
        with ExitStack() as stack:
            for side in range(len(self._members)):
                self._alive[side] = stack.enter_context(ExitStack())
                with self._time_of(side, turns):
                    self._start(side)
                    turns.join(side, self.programs[side])
            self._share_one_cpu(turns)
            for side in list(turns.live):
                with self._time_of(side, turns), turns.of(side):
                    self._warm(side, self.programs[side])
            self._watch(turns)
            for side in turns.live if turns.cpu is not None else ():
                self.programs[side].observed[TURNS_ON_CPU] = turns.cpu

            def another(done: int) -> bool:
                return done < blocks or (done < most_blocks and self._want_own_core(turns))

            for side in _orders(sorted(turns.live), another, rng):
                if side in turns.live:
                    with self._time_of(side, turns), turns.of(side):
                        self._batch(side, self.programs[side], together=len(turns.live) > 1)
                        if rehearsing:
                            self._go_on(side, rehearsed_batches(self._members[side].work) - 1)
            for side in list(turns.live) if rehearsing else ():
                work = self._members[side].work
                with self._time_of(side, turns), turns.of(side):
                    self._go_on(side, max(_FEWEST_REHEARSED, round(_UNDISTURBED_NS / work.batch_ns)))
                    self.programs[side].observed[TURN_BATCHES] = rehearsed_batches(work)
            for side in list(turns.live):
                with self._time_of(side, turns):
                    self.said[side] = turns.end_of(side)

    def _start(self, side: int) -> None:
        member = self._members[side]
        padding = random.Random(f"padding/{member.place.seed}")
        started = self._starter.started(member.errand, self._limits, padding, RecordedConversation)
        program = self._alive[side].enter_context(started)
        program.layouts = random.Random(member.place.seed)
        self.programs[side] = program
        program.begin()

    def _share_one_cpu(self, turns: Turns) -> None:
        """Who lives together works on one CPU, if one thread of each does."""
        live = {side: self.programs[side].ready for side in turns.live}
        alone = all(
            self._members[side].work.one_works
            and one_thread(ready.footing)
            and not times_own_thread(ready.footing)
            and not ready.warmup_limit_ns  # a runtime, whose other threads work at times of their own
            for side, ready in live.items()
        )
        if len(live) > 1 and alone and not any(member.work.unasked for member in self._members):
            turns.share_one_cpu()

    def _warm(self, side: int, program: RecordedConversation) -> None:
        """The first batch is the cold one; the rest of the warm-up follows it in one piece."""
        work = self._members[side].work
        if program.ready.warmup_limit_ns:
            # In long batches: steadiness is judged by the last six, and a runtime compiles when it likes.
            program.warm_up(
                max(work.iterations, round(LONGER_NS[-1] / work.one_ns)), program.ready.warmup_limit_ns
            )
            return
        first = min(work.warmup, work.iterations)
        if first:
            program.time(first, warmup=True)
        if rest := work.warmup - first:
            program.time(rest, warmup=True)

    def _want_own_core(self, turns: Turns) -> bool:
        """Whether batches will be left out because others worked on the core, and some program has too few.

        That is judged by the gauges alone (`tollbench.analysis.own_core`), never by what batches took.
        """
        live = [self.programs[side] for side in turns.live]
        blocks = [[one.batch for one in program.timed if not one.batch.warmup] for program in live]
        gauges = [[batch.gauge_ns for batch in each] for each in blocks]
        shortest_ns = max((min(batch.wall_ns for batch in each) for each in blocks), default=math.inf)
        one_threads = all(one_thread(program.ready.footing) for program in live)
        if shortest_ns > LONGEST_GAUGED_NS or not one_threads or not all(map(all, gauges)):
            return False
        # Of each program its own: the same arithmetic took 4 to 9 % longer in one than in another.
        quickest_ns = [min(one.batch.gauge_ns for one in program.timed) for program in live]
        limits_ns = [SHARED_CORE * min(each, SHARED_CORE * min(quickest_ns)) for each in quickest_ns]
        own = (all(map(operator.le, block, limits_ns)) for block in zip(*gauges, strict=True))
        return sum(own) < _FEWEST_OWN

    def _go_on(self, side: int, batches: int) -> None:
        for _ in range(batches):
            self.programs[side].time(self._members[side].work.iterations)

    def _watch(self, turns: Turns) -> None:
        """Finds out whether somebody works out of turn; alone, nobody is disturbed by it."""
        iterations = {side: member.work.iterations for side, member in enumerate(self._members)}
        began_ns = self._clock.now_ns()
        while len(turns.live) > 1:
            kept = {side: len(program.timed) for side, program in self.programs.items()}
            try:
                turns.watch(iterations)
                break
            except HaltingRefused:
                raise
            except LaunchFailed as failure:
                side = failure.side
                if side is None:  # nothing that a program does: all of it is within fault_of
                    raise
                self._lose(side, failure, turns)
            finally:
                for side, count in kept.items():
                    del self.programs[side].timed[count:]
        share_ns = (self._clock.now_ns() - began_ns) // len(self._members)
        self.spent_ns = [spent_ns + share_ns for spent_ns in self.spent_ns]

    def _batch(self, side: int, program: RecordedConversation, *, together: bool) -> None:
        """A batch comes after an untimed one, which among others brings its data back into the caches, and
        alone finds the processor at work, as it does there: rows of both stand in one table. Programs that
        wait or have threads are alone as a rule, and begin on processors as they left them (but for a census,
        which takes some fifty microseconds where nobody is there)."""
        work = self._members[side].work
        as_it_is = work.beside_threads or times_own_thread(program.ready.footing)
        few = work.iterations < WARM_SHARE  # an iteration that long hides what its beginning costs
        if together:
            program.time_warmed(work.iterations, None, work.again)
        elif not (as_it_is or few or work.batch_ns > LONGEST_TURN_NS):
            program.time_warmed(work.iterations, None)
        elif self._members[side].threads:
            program.time_with_census(work.iterations, self._census, self._members[side].threads)
        else:
            program.time(work.iterations)

    @contextmanager
    def _time_of(self, side: int, turns: Turns) -> Iterator[None]:
        began_ns = self._clock.now_ns()
        try:
            yield
        except HaltingRefused:
            raise
        except LaunchFailed as failure:
            self._lose(side, failure, turns)
        finally:
            self.spent_ns[side] += self._clock.now_ns() - began_ns

    def _lose(self, side: int, failure: LaunchFailed, turns: Turns) -> None:
        self.failures[side] = failure
        if side in turns.live:
            turns.leave(side)
        self._alive.pop(side).close()  # killed
        if failure.status is Status.TIMED_OUT and self._over():
            raise OutOfTime(side)
