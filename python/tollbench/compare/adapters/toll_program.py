"""toll programs: the sides of a round live at the same time and take turns in batches of 0.2 ms.

Each block asks every side once, with the same layout seed: state made anew, stack and heap shifted, then a
short untimed batch, then the timed one. The order is random in every other block and reversed in the one
after it. What the machine does for longer than a block meets all sides alike, and so does what it does to
those who come first. A round's value is made of the blocks' log ratios, so that it says more about the sides
than about the machine. Whoever works while another side is asked is halted meanwhile.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.analysis.values import launch_value_ns
from tollbench.compare.adapters.one_after_another import are_times, no_time
from tollbench.compare.blocks import combined, forced, ratios_after_first, undisturbed, waiting_share
from tollbench.compare.launch_lengths import LaunchLengths
from tollbench.compare.layout_visits import LayoutVisits
from tollbench.compare.subject import Adapter, MeasuringOptions, Round, Side, Survey, Two, survey_of
from tollbench.launching.answers import NONSENSE
from tollbench.launching.calibrating import TurnWork, turn_work
from tollbench.launching.child import Launcher, Limits
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.command import run_command, working_folder
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.failure import LaunchFailed, fault_of
from tollbench.launching.interrupt import breakable
from tollbench.launching.messages import Ready
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.protocol import Timed, Unread
from tollbench.launching.sandbox import Confined
from tollbench.launching.starting import Starter
from tollbench.launching.turns import Turns, orders_of
from tollbench.text import shown
from tollbench.words import Batch, Kind, times_own_thread

_NOTED = 0.1  # of the launches: a runtime that tidies up now and then is no news


@dataclass(frozen=True, slots=True)
class Offering:
    """One side and all of its benchmarks by name: how each is blocks, or why it cannot be."""

    label: str
    errands: Mapping[str, Errand]
    unusable: Mapping[str, str] = field(default_factory=dict)  # benchmark -> reason: it was not built
    layouts: tuple[str, ...] = ()  # of the executable, as Side has them
    executable_at: int = 0  # its place in the commands of the errands: what enters a root stands before it
    notes: Mapping[tuple[str, str], str] = field(default_factory=dict)  # benchmark, of whom -> other footing


@dataclass(frozen=True, slots=True)
class _Done:
    """What a side did in a batch, which all must do."""

    side: int
    units: int  # times are compared by the unit
    checksum: int


@dataclass(frozen=True, slots=True)
class _Blocks:
    """What one launch of all sides measured, in arrays of shape (blocks, sides in order)."""

    ns: NDArray[np.float64]  # a unit
    waited: NDArray[np.float64]  # the share of the time that others had
    places: NDArray[np.int64]  # who was asked when
    restless: Sequence[int]  # sides that worked out of turn; all were halted then
    cpu: int | None  # that all sides were tied to


_Read = tuple[float, float, int]  # of an answer: ns a unit, share waited, voluntary switches


def _value(timed: Timed, ready: Ready, *, own_thread: bool) -> tuple[float, tuple[float, int]]:
    """Nanoseconds a unit, and how it waited: share of its time, voluntary switches.

    `own_thread`: all sides have other threads as a load, and are read by their timed thread's clock, as each
    waits for those.
    """
    batch = timed.batch
    if own_thread and timed.samples is None:
        return batch.cpu_ns / batch.units, (0.0, 0)
    ns = launch_value_ns([batch], timed.samples, ready.clock)
    return ns, (waiting_share(batch), batch.voluntary_switches)


KIND = "toll"


class Programs:
    """Programs that are known already, such as those that toll has built."""

    kind = KIND

    def __init__(
        self,
        offerings: Sequence[Offering],
        options: MeasuringOptions,
        *,
        launcher: Launcher | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._offerings = tuple(offerings)
        self.labels = tuple(offering.label for offering in offerings)
        self.options = options
        self._limits = Limits(options.limit_s, 0)
        launcher = launcher or ProcessLauncher(options.interrupt, Confined())
        self._starter = Starter(launcher, clock or SystemClock())
        self._work: dict[str, TurnWork] = {}
        self._lengths = defaultdict[str, LaunchLengths](lambda: LaunchLengths(options.threshold))
        self._failed: dict[str, dict[int, str]] = {}  # benchmark -> side -> reason; left out from then on
        self._visits = LayoutVisits(len(offerings[0].layouts))
        self._launch_count: Counter[str] = Counter()  # of each benchmark, without those that failed
        self._restless: defaultdict[str, Counter[int]] = defaultdict(Counter)  # benchmark -> side -> launches
        self._ends: dict[str, dict[int, str]] = {}  # benchmark -> side -> what is to be told of how it ended
        self._not_asked: dict[int, LaunchFailed] = {}  # sides that do not say what they offer
        self._done: dict[tuple[str, int], _Done] = {}  # benchmark, iterations -> by whom first
        self._loaded: defaultdict[str, dict[int, bool]] = defaultdict(dict)  # benchmark -> side -> by a load

    def survey(self) -> Survey:
        """Compares the names."""
        self._failed.clear()
        self._lengths.clear()
        offers = [
            [name for name in offering.errands if re.search(self.options.pattern, name)]
            for offering in self._offerings
        ]
        asked = [self._not_asked.get(side, offer) for side, offer in enumerate(offers)]
        options = self.options
        return survey_of(
            self.labels, asked, options.pattern, all_pairs=options.all_pairs, share=options.share
        )

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """One benchmark a round: each is a process of its own."""
        return waiting[:1]

    def notes(self, name: str, side: int, against: int = 0) -> Sequence[str]:
        """On what other footing it runs; of both sides who did not end when asked, or worked out of turn."""
        launches = self._launch_count[name]
        both = [one for one in (against, side) if one in self._ends.get(name, {})]
        restless = [one for one in (against, side) if self._restless[name][one] > _NOTED * launches]
        return [
            *filter(None, [self._offerings[side].notes.get((name, self.labels[against]), "")]),
            *(f"{self.labels[one]} {self._ends[name][one]}" for one in both),
            *self._other_clock(name, side, against),
            *(
                f"{self.labels[one]} works while it is not asked (in {self._restless[name][one]} of"
                f" {launches} launches, in which every side was halted while another one had its turn)"
                for one in restless
            ),
        ]

    def _other_clock(self, name: str, side: int, against: int) -> Sequence[str]:
        """Where one of two has a load beside its timed thread: neither's own clock would be the other's."""
        loaded = self._loaded[name]
        if loaded.get(side, False) == loaded.get(against, False):
            without = [self.labels[each] for each, has in loaded.items() if not has]
            if not (loaded.get(side, False) and without):
                return []
            return [
                f"both time one thread beside others, which are a load; {without[0]} has none, so that all"
                " are read by the wall's clock"
            ]
        one, other = (side, against) if loaded.get(side) else (against, side)
        return [
            f"{self.labels[one]} times one thread beside others, which are a load, and {self.labels[other]}"
            " has no load: both by the wall's clock"
        ]

    def _by_own_thread(self, name: str, turns: Turns) -> bool:
        """Whether CPU time counts: where each side of this benchmark, in each launch so far, had a load."""
        for side, program in turns.live.items():
            self._loaded[name][side] = times_own_thread(program.ready.footing)
        return all(self._loaded[name].values())

    def offers(self, side: int, name: str) -> bool:
        """Whether a side has a benchmark."""
        return name in self._offerings[side].errands

    def errand(self, side: int, name: str) -> Errand:
        """How a side is launched for a benchmark. Raises LaunchFailed where it cannot be."""
        offering = self._offerings[side]
        if reason := offering.unusable.get(name, ""):
            raise LaunchFailed(f"cannot be launched: {reason}")
        return offering.errands[name]

    def round(self, names: Sequence[str], seed: int) -> Round:
        """One launch of every side, alive at the same time."""
        found = Round()
        rng = random.Random(seed)
        for name in names:
            failed = self._failed.setdefault(name, {})
            sides = [
                side
                for side, offering in enumerate(self._offerings)
                if side not in failed and name in offering.errands
            ]
            rng.shuffle(sides)
            layout = self._visits.draw([name], rng)
            sides = self._visits.order([name], layout, sides)
            record: dict[str, Any] = {"benchmark": name, "order": [self.labels[side] for side in sides]}
            if layout is not None:
                record["layout"] = layout
            try:
                blocks = self._launch(name, sides, layout, rng)
                values = np.full(len(self._offerings), np.nan)
                kept = undisturbed(blocks.waited)
                present = sorted(sides)
                values[present] = combined(blocks.ns[kept], blocks.places[kept])
                found.values[name] = values.tolist()
                self._lengths[name].took(found.values[name])
                if self.options.all_pairs and len(present) > 2:
                    ratios = ratios_after_first(blocks.ns[kept], blocks.places[kept])
                    found.ratios[name] = {
                        Two(present[a], present[b]): ratio for (a, b), ratio in ratios.items()
                    }
                found.order[name] = sides
                if layout is not None:
                    found.layouts[name] = layout
                    self._visits.visited(name, layout, sides)
                measured = {
                    "iterations": self._work[name].iterations,
                    "ns": blocks.ns.tolist(),
                    "waited": blocks.waited.round(4).tolist(),
                    "places": blocks.places.tolist(),
                    "restless": [self.labels[side] for side in blocks.restless],
                    "cpu": blocks.cpu,
                }
                found.raw.append(record | measured)
                self._launch_count[name] += 1
                self._restless[name].update(blocks.restless)
            except LaunchFailed as failure:
                side = failure.side
                assert side is not None, "all that a side does is within fault_of"
                found.failures[name] = {side: failure.reason}
                found.raw.append(record | {"side": self.labels[side], "failed": failure.reason})
                if (side or self.options.all_pairs) and len(sides) > 2:  # the others go on without it
                    failed[side] = failure.reason
                    self._work.pop(name, None)  # it was made for the slowest of them
        return found

    def _launch(self, name: str, sides: Sequence[int], layout: int | None, rng: random.Random) -> _Blocks:
        """All sides at the same time, from start to end. Raises LaunchFailed with its side."""
        with ExitStack() as stack:
            live: dict[int, Conversation] = {}
            for side in sides:
                with fault_of(side):
                    live[side] = self._start(stack, self._errand(side, name, layout), rng)
            turns = Turns(live)
            work = self._settled(name, turns)
            blocks = work.settling_blocks + self._blocks_of_launch(name, work, layout)
            orders = orders_of(sorted(live), blocks, rng)
            rows = self._blocks(name, turns, orders, work, rng)
            self._ends.setdefault(name, {}).update(turns.end())
        orders, rows = orders[work.settling_blocks :], rows[work.settling_blocks :]
        values, waited, switches = np.array(rows).transpose(2, 0, 1)
        places = np.argsort(np.array(orders), axis=1)
        return _Blocks(values, forced(waited, switches), places, turns.restless, turns.cpu)

    def _blocks_of_launch(self, name: str, work: TurnWork, layout: int | None) -> int:
        """Of layouts as many as can be: each is visited a few times only."""
        return self._lengths[name].blocks(work.blocks) if layout is None else work.blocks

    def _settled(self, name: str, turns: Turns) -> TurnWork:
        """The work, with all sides warmed for it and whoever works out of turn found."""
        known = name in self._work
        if not known:
            self._work[name] = turn_work(turns)
        if self._work[name].on_one_cpu:
            turns.share_one_cpu()
        for side in turns.live:
            with turns.of(side) as program:
                if program.ready.warmup_limit_ns:
                    program.warm(self._work[name].iterations, program.ready.warmup_limit_ns)
        turns.watch(self._work[name].iterations)
        if turns.restless and not known:  # each was calibrated while another one was at work
            self._work[name] = turn_work(turns)
        return self._work[name]

    def _errand(self, side: int, name: str, layout: int | None) -> Errand:
        errand = self.errand(side, name)
        if layout is None:
            return errand
        offering, command = self._offerings[side], list(errand.command)
        command[offering.executable_at] = offering.layouts[layout]
        return replace(errand, command=tuple(command))

    def _start(self, stack: ExitStack, errand: Errand, rng: random.Random) -> Conversation:
        errand = replace(errand, folder=stack.enter_context(working_folder(errand.folder)))
        program = stack.enter_context(self._starter.started(errand, self._limits, rng, Conversation))
        program.begin()
        return program

    def _blocks(
        self,
        name: str,
        turns: Turns,
        orders: Sequence[Sequence[int]],
        work: TurnWork,
        rng: random.Random,
    ) -> list[list[_Read]]:
        """Every side once a block, in its order. Answers are looked at when all have come."""
        come: list[dict[int, Unread]] = []
        try:
            for number, order in enumerate(orders):
                layout = rng.randrange(2**31) if number % work.anew_every == 0 else None
                come.append({})
                for side in order:
                    with turns.of(side) as program:
                        come[-1][side] = program.time_unread(work.iterations, layout)
        except LaunchFailed:
            self._look(name, turns, come)  # whoever gave a wrong answer before is the one to tell
            raise
        found = self._look(name, turns, come)
        return [[block[side] for side in sorted(turns.live)] for block in found]

    def _look(self, name: str, turns: Turns, come: Sequence[Mapping[int, Unread]]) -> list[dict[int, _Read]]:
        """Checks and reads the answers of blocks, in the order in which they came."""
        found: list[dict[int, _Read]] = []
        own_thread = self._by_own_thread(name, turns)
        if come:
            self._agree(name, come[0])  # all blocks are of as many iterations
        for block in come:
            found.append({})
            for side, unread in block.items():
                with fault_of(side):
                    timed = unread.timed()
                    self._check_work(name, side, timed.batch)
                    ns, waited = _value(timed, turns.live[side].ready, own_thread=own_thread)
                    if not are_times([ns]):
                        raise LaunchFailed(no_time(name, [ns]))
                found[-1][side] = ns, *waited
        return found

    def _agree(self, name: str, block: Mapping[int, Unread]) -> None:
        """The others are held against the first side's answer; in all pairs against that which most give.

        Whoever came first in the block was right, so that one wrong answer cost the rows of all right sides
        where the draw had it there. Of answers that as many give, the one of the side named first counts.
        """
        given: dict[tuple[int, int], list[int]] = {}
        for side in sorted(block) if self.options.all_pairs else {0} & block.keys():
            with suppress(LaunchFailed):  # is told where this answer has its turn
                batch = block[side].timed().batch
                given.setdefault((batch.units, batch.checksum), []).append(side)
                iterations = batch.iterations
        if given:
            (units, checksum), sides = max(given.items(), key=lambda each: len(each[1]))
            self._done.setdefault((name, iterations), _Done(sides[0], units, checksum))

    def _check_work(self, name: str, side: int, batch: Batch) -> None:
        """The same iterations are the same units with the same answer, in every launch and on every side."""
        done = _Done(side, batch.units, batch.checksum)
        first = self._done.setdefault((name, batch.iterations), done)
        before = "it" if side == first.side else self.labels[first.side]
        over = f"over {batch.iterations} iterations; {before}"
        if done.checksum != first.checksum:
            raise LaunchFailed(f"computed {done.checksum} {over} computed {first.checksum} before")
        if done.units != first.units:
            raise LaunchFailed(f"did {done.units} units {over} did {first.units} before")


class ProgramFiles(Programs):
    """Executables that speak protocol 1 and are asked with `describe` what they offer."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__([Offering(side.label, {}, layouts=side.layouts) for side in sides], options)
        self.sides = tuple(sides)

    def survey(self) -> Survey:
        """Asks every side. Raises LaunchFailed for one that does not answer as a program does."""
        offerings = []
        for index, side in enumerate(self.sides):
            errands: Mapping[str, Errand] = {}
            try:
                if side.unusable:
                    raise LaunchFailed(side.unusable)
                errands = _described(side, self.options)
            except LaunchFailed as failure:
                if not self.options.all_pairs:
                    raise
                self._not_asked[index] = failure
            offerings.append(Offering(side.label, errands, layouts=side.layouts))
        self._offerings = tuple(offerings)
        return super().survey()


def _described(side: Side, options: MeasuringOptions) -> dict[str, Errand]:
    try:
        with working_folder(side.folder) as folder:
            ended = run_command(
                [*side.command, "describe"],
                side.environment,
                folder,
                options.limit_s,
                options.interrupt,
                confined=Confined(),
            )
    except LaunchFailed as failure:
        raise LaunchFailed(f"{side.label} does not describe itself: it {failure.reason}") from None
    if ended.exit_code != 0:
        raise LaunchFailed(f"{side.label} does not describe itself: it {ended.how()}")
    try:
        text = ended.whole_stdout()
    except LaunchFailed as failure:
        raise LaunchFailed(f"{side.label} {failure.reason}") from None
    try:
        with breakable():
            contenders = json.loads(text)["contenders"]
            offers = [(f"{item['workload']}/{item['contender']}", _errand(side, item)) for item in contenders]
    except NONSENSE:
        start = shown(ended.stdout[:80].decode("utf-8", "replace"), 160)
        raise LaunchFailed(f"{side.label} describes itself as {start!r}, which is not protocol 1") from None
    return dict(offers)


def _errand(side: Side, item: Mapping[str, Any]) -> Errand:
    return Errand(
        Errand.command_of(side.command, str(item["workload"]), str(item["contender"]), {}),
        Kind(item["kind"]),
        side.environment,
        side.folder,
        malloc=side.malloc,
    )


ADAPTER = Adapter(
    KIND, "a toll program", (b"TOLL_CLOCK_HZ", b"TOLL_PADDING", b"involuntary_switches"), ProgramFiles
)
