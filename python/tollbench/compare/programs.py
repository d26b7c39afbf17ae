"""toll programs: the sides of a round live at the same time and take turns in batches of 0.2 ms.

Each block asks every side once, with the same layout seed: state made anew, stack and heap shifted, then a
short untimed batch, then the timed one. The order is random in every other block and reversed in the one
after it. What the machine does for longer than a block meets all sides alike, and so does what it does to
those who come first. A round's value is made of the blocks' log ratios, so that it says more about the sides
than about the machine. Whoever works while another side is asked is halted meanwhile.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.analysis.values import value_of_samples
from tollbench.compare.launched import survey_of
from tollbench.compare.live import WARM_SHARE, Blamed, Live, Turns, blaming
from tollbench.compare.process import run_process, working_folder
from tollbench.compare.words import Round, Side, SideFailed, Survey
from tollbench.measure.clock import Clock, SystemClock
from tollbench.measure.interrupt import Interrupt
from tollbench.measure.launch import MAX_PADDING_BYTES
from tollbench.measure.launcher import Launcher, LaunchFailed, Limits
from tollbench.measure.process import ProcessLauncher
from tollbench.measure.protocol import Timed, arguments
from tollbench.text import shown
from tollbench.words import Batch, Kind, Parameters, Status

# Short batches, and many: what neighbours take comes in slices of milliseconds, which spoil a few short
# batches and a part of every long one (docs/compare.md has all ten reference operations).
BATCH_NS = 0.2e6
BLOCKS = 50  # a round
_DEAR_STATE_NS = 5e6  # to make anew: megabytes, which each side's turn drives out of the other's caches
LONG_BATCH_NS = 1e6  # of these, and of programs for which a short batch says too little; `_short_will_do`
LONG_BLOCKS = 20
_SLOWEST = 10  # times as long as the shortest batch the longest may be, where sides differ that much
_WAITED_MORE = 0.05  # of a batch's time; a time slice of somebody else is several times as long as it
_SETUP_NS = 1e6  # what making state anew may cost a block; where it is dearer, some blocks keep theirs
_GROWTH = 10  # of the iterations from one calibrating request to the next, at most
_CALIBRATIONS = 3  # the quickest counts: a neighbour may interrupt one or two
_MOST_ITERATIONS = 10**12
_CALIBRATION_MS = "100"  # of the processor's counter, once; all later launches are told the result
_FEWEST_BLOCKS = 4
_FEWEST_OF_AN_ORDER = 3  # blocks; a median of fewer is at the mercy of one
_ROUND_NS = 400e6  # long batches: fewer blocks
_NOTED = 0.1  # of the launches: a runtime that tidies up now and then is no news


@dataclass(frozen=True, slots=True)
class Offer:
    """One benchmark of one side: how to launch it."""

    command: tuple[str, ...]
    workload: str
    contender: str
    kind: Kind
    parameters: Parameters = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None  # where it runs; None: in a fresh temporary folder each time
    answer: int | None = None  # of one iteration, where it is known
    malloc: str = ""  # the file that must serve malloc in the program; "": not checked
    unusable: str = ""  # why it cannot be launched: it was not built


@dataclass(frozen=True, slots=True)
class Offering:
    """One side and all of its benchmarks by name."""

    label: str
    offers: Mapping[str, Offer]


@dataclass(frozen=True, slots=True)
class _Work:
    """The same in every round."""

    iterations: int  # of a batch
    blocks: int
    anew_every: int  # blocks; 1 makes the state anew in each


@dataclass(frozen=True, slots=True)
class _Done:
    """What a side did in a batch, which all must do."""

    side: int
    units: int  # times are compared by the unit
    checksum: int


@dataclass(frozen=True, slots=True)
class _Launched:
    """What one launch of all sides measured, in arrays of shape (blocks, sides in order)."""

    ns: NDArray[np.float64]  # a unit
    waited: NDArray[np.float64]  # the share of the time that others had
    places: NDArray[np.int64]  # who was asked when
    restless: Sequence[int]  # sides that worked out of turn; all were halted then


class Programs:
    """Programs that are known already, such as those that toll has built."""

    kind = "toll"

    def __init__(
        self,
        offerings: Sequence[Offering],
        *,
        limit_s: float,
        interrupt: Interrupt | None = None,
        pattern: str = "",
        launcher: Launcher | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._offerings = tuple(offerings)
        self.labels = tuple(offering.label for offering in offerings)
        self._limits = Limits(limit_s, 0)
        self._pattern = pattern
        self._launcher = launcher or ProcessLauncher(interrupt)
        self._clock = clock or SystemClock()
        self._clock_hz: float | None = None
        self._work: dict[str, _Work] = {}
        self._failed: dict[str, dict[int, str]] = {}  # benchmark -> side -> reason; left out from then on
        self._launches: Counter[str] = Counter()  # of each benchmark, without those that failed
        self._restless: defaultdict[str, Counter[int]] = defaultdict(Counter)  # benchmark -> side -> launches
        self._ends: dict[str, dict[int, str]] = {}  # benchmark -> side -> what is to be told of how it ended
        self._done: dict[tuple[str, int], _Done] = {}  # benchmark, iterations -> by whom first

    def survey(self) -> Survey:
        """Compares the names."""
        self._failed.clear()
        offers = [
            [name for name in offering.offers if re.search(self._pattern, name)]
            for offering in self._offerings
        ]
        return survey_of(self.labels, offers, self._pattern)

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """One benchmark a round: each is a process of its own."""
        return waiting[:1]

    def notes(self, name: str) -> Sequence[str]:
        """Who did not end when asked, and who had to be kept from working out of turn as a rule."""
        launches = self._launches[name]
        ends = [f"{self.labels[side]} {said}" for side, said in sorted(self._ends.get(name, {}).items())]
        return ends + [
            f"{self.labels[side]} works while it is not asked (in {count} of {launches} launches, in which"
            " every side was halted while another one had its turn)"
            for side, count in sorted(self._restless[name].items())
            if count > _NOTED * launches
        ]

    def round(self, names: Sequence[str], seed: int) -> Round:
        """One launch of every side, alive at the same time."""
        found = Round()
        rng = random.Random(seed)
        for name in names:
            failed = self._failed.setdefault(name, {})
            sides = [
                side
                for side, offering in enumerate(self._offerings)
                if side not in failed and name in offering.offers
            ]
            rng.shuffle(sides)
            record: dict[str, Any] = {"benchmark": name, "order": [self.labels[side] for side in sides]}
            try:
                launched = self._launched(name, sides, rng)
                values = np.full(len(self._offerings), np.nan)
                kept = undisturbed(launched.waited)
                values[sorted(sides)] = combined(launched.ns[kept], launched.places[kept])
                found.values[name] = values.tolist()
                found.order[name] = sides
                measured = {
                    "iterations": self._work[name].iterations,
                    "ns": launched.ns.tolist(),
                    "waited": launched.waited.round(4).tolist(),
                    "places": launched.places.tolist(),
                    "restless": [self.labels[side] for side in launched.restless],
                }
                found.raw.append(record | measured)
                self._launches[name] += 1
                self._restless[name].update(launched.restless)
            except Blamed as blamed:
                found.failures[name] = {blamed.side: blamed.reason}
                found.raw.append(record | {"side": self.labels[blamed.side], "failed": blamed.reason})
                if blamed.side and len(sides) > 2:  # the others go on without it
                    failed[blamed.side] = blamed.reason
                    self._work.pop(name, None)  # it was made for the slowest of them
        return found

    def _launched(self, name: str, sides: Sequence[int], rng: random.Random) -> _Launched:
        """All sides at the same time, from start to end. Raises Blamed."""
        with ExitStack() as stack:
            live: dict[int, Live] = {}
            for side in sides:
                with blaming(side):
                    live[side] = self._start(stack, side, name, rng)
            turns = Turns(live)
            work = self._settled(name, turns)
            orders = orders_of(sorted(live), work.blocks, rng)
            rows = [self._block(name, turns, block, work, rng) for block in enumerate(orders)]
            self._ends.setdefault(name, {}).update(turns.end())
        values, waited, switches = np.array(rows).transpose(2, 0, 1)
        places = np.argsort(np.array(orders), axis=1)
        return _Launched(values, forced(waited, switches), places, turns.restless)

    def _settled(self, name: str, turns: Turns) -> _Work:
        """The work, with all sides warmed for it and whoever works out of turn found."""
        known = name in self._work
        if not known:
            self._work[name] = _calibrated(turns)
        for side in turns.live:
            with turns.of(side) as program:
                program.warm(self._work[name].iterations)
        turns.watch(self._work[name].iterations)
        if turns.restless and not known:  # each was calibrated while another one was at work
            self._work[name] = _calibrated(turns)
        return self._work[name]

    def _start(self, stack: ExitStack, side: int, name: str, rng: random.Random) -> Live:
        offer = self._offerings[side].offers[name]
        told = {"TOLL_CLOCK_CALIBRATION_MS": _CALIBRATION_MS}
        if self._clock_hz is not None:
            told = {"TOLL_CLOCK_HZ": repr(self._clock_hz)}
        environment = {**told, **offer.environment, "TOLL_PADDING": "x" * rng.randrange(MAX_PADDING_BYTES)}
        if offer.unusable:
            raise Blamed(side, f"cannot be launched: {offer.unusable}")
        command = [*offer.command, *arguments(offer.workload, offer.contender, offer.parameters)]
        try:
            folder = stack.enter_context(working_folder(offer.folder))
        except SideFailed as failure:
            raise Blamed(side, failure.reason) from None
        child = self._launcher.start(command, environment, self._limits, folder)
        stack.callback(child.kill)
        live = Live(child, offer.kind, offer.answer, self._clock)
        if self._clock_hz is None:
            self._clock_hz = counter_hz(live.ready.clock)
        served_by = live.ready.footing.get("malloc")
        if offer.malloc and served_by != offer.malloc:
            found = f"takes malloc from {served_by}" if served_by else "does not say what serves its malloc"
            raise Blamed(side, f"was started with {offer.malloc} preloaded and {found}")
        return live

    def _block(
        self,
        name: str,
        turns: Turns,
        block: tuple[int, Sequence[int]],
        work: _Work,
        rng: random.Random,
    ) -> list[tuple[float, float, int]]:
        """Every side once, of block (number, order): ns a unit, share waited, voluntary switches."""
        number, order = block
        layout = rng.randrange(2**31) if number % work.anew_every == 0 else None
        found: dict[int, tuple[float, float, int]] = {}
        for side in order:
            with turns.of(side) as program:
                timed = program.warmed(work.iterations, layout)
            self._check_work(name, side, timed.batch)
            value_ns = _value_ns(timed, program)
            found[side] = value_ns, _waiting_share(timed.batch), timed.batch.voluntary_switches
            if found[side][0] <= 0.0:
                raise Blamed(side, "measured no time at all: its batches are too short for its clock")
        return [found[side] for side in sorted(turns.live)]

    def _check_work(self, name: str, side: int, batch: Batch) -> None:
        """The same iterations are the same units with the same answer, in every launch and on every side."""
        done = _Done(side, batch.units, batch.checksum)
        first = self._done.setdefault((name, batch.iterations), done)
        before = "it" if side == first.side else self.labels[first.side]
        over = f"over {batch.iterations} iterations; {before}"
        if done.checksum != first.checksum:
            raise Blamed(side, f"computed {done.checksum} {over} computed {first.checksum} before")
        if done.units != first.units:
            raise Blamed(side, f"did {done.units} units {over} did {first.units} before")


def orders_of(sides: Sequence[int], blocks: int, rng: random.Random) -> list[list[int]]:
    """In which order each block asks: at random, then the other way round, and so on."""
    orders: list[list[int]] = []
    for number in range(blocks):
        orders.append(orders[-1][::-1] if number % 2 else rng.sample(sides, len(sides)))
    return orders


def combined(blocks: NDArray[np.float64], places: NDArray[np.int64]) -> list[float]:
    """One value a side from blocks of shape (blocks, sides), ns; `places` says who was asked when.

    Ratios to the first side are medians of the blocks' ratios: of those in which it was asked before the
    other and of those in which it was asked after it, so that what being first does cancels in their mean.
    """
    logs = np.log(blocks)
    first = float(np.median(logs[:, 0]))
    return [
        math.exp(first + _balanced_median(logs[:, side] - logs[:, 0], places[:, side] < places[:, 0]))
        for side in range(logs.shape[1])
    ]


def _balanced_median(values: NDArray[np.float64], early: NDArray[np.bool_]) -> float:
    """The mean of the medians of both groups; of all values where one group has next to none."""
    groups = [values[early], values[~early]]
    if min(group.size for group in groups) < _FEWEST_OF_AN_ORDER:
        return float(np.median(values))
    return fmean(float(np.median(group)) for group in groups)


def forced(waited: NDArray[np.float64], switches: NDArray[np.float64]) -> NDArray[np.float64]:
    """`waited` without what a side may have waited by itself; shape (blocks, sides), as `switches` has.

    Where a program gave the processor back more often than in its calmest block, it went to sleep, and that
    is time of its own: a lock that is held longer now must not be left out. Such a block counts as its best.
    """
    own = switches > switches.min(axis=0)
    return np.where(own, waited.min(axis=0), waited)


def undisturbed(waited: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which blocks no side had to wait in for a processor that somebody else had; shape (blocks,).

    A side's own waiting is what it does in its best block. Where fewer than four blocks were left alone, the
    four that were left alone most. Whoever took the processor did not look which side was running: it was no
    side, as those that work out of turn are halted (`tollbench.compare.live`).
    """
    more = (waited - waited.min(axis=0)).max(axis=1)
    fewest = min(_FEWEST_BLOCKS, more.size)
    kept: NDArray[np.bool_] = more <= max(_WAITED_MORE, float(np.sort(more)[fewest - 1]))
    return kept


def _waiting_share(batch: Batch) -> float:
    """Of a batch's time, what passed without CPU time; 0 for a program with several threads at work."""
    return max(0.0, 1.0 - batch.cpu_ns / batch.wall_ns) if batch.wall_ns > 0 else 0.0


def _value_ns(timed: Timed, program: Live) -> float:
    if timed.samples is not None:
        return value_of_samples(timed.samples, timed.batch.cells, program.ready.clock)
    return timed.batch.wall_ns / timed.batch.units


def _calibrated(turns: Turns) -> _Work:
    """Iterations that fill a batch, and how often a batch can afford new state; by the dearest side."""
    found: list[tuple[int, float]] = []  # of each side: iterations, ns that they take
    anew_ns, short = 0.0, True
    for side in turns.live:
        with turns.of(side) as program:
            iterations, took_ns = _iterations(program)
            found.append((iterations, took_ns))
            warm = max(1, iterations // WARM_SHARE)
            kept_ns = min(program.cost_ns(warm) for _ in range(_CALIBRATIONS))
            remade_ns = min(program.cost_ns(warm, layout) for layout in range(_CALIBRATIONS))
            anew_ns = max(anew_ns, remade_ns - kept_ns)
            short = short and _short_will_do(program, iterations)
    iterations, batch_ns = _common(found)
    if anew_ns > _DEAR_STATE_NS or not short:
        longer = max(1, round(LONG_BATCH_NS / batch_ns))
        iterations, batch_ns = longer * iterations, longer * batch_ns
    most = BLOCKS if batch_ns < LONG_BATCH_NS / 2 else LONG_BLOCKS
    blocks = int(_ROUND_NS / (batch_ns * len(turns.live)))
    anew_every = 1 + int(anew_ns / max(batch_ns, _SETUP_NS))
    blocks = max(_FEWEST_BLOCKS, min(most, blocks - blocks % 2))  # even: as many of each order
    return _Work(iterations, blocks, min(anew_every, blocks))


def _common(found: Sequence[tuple[int, float]]) -> tuple[int, float]:
    """Iterations for all sides, and the ns that the slowest needs for them.

    Those of the quickest side: a batch pays some microseconds to begin, which would count as work of a side
    that needs few more. Only where the slowest would take ten times as long, fewer.
    """
    iterations = min(max(count for count, _ in found), _SLOWEST * min(count for count, _ in found))
    return iterations, max(took_ns / count * iterations for count, took_ns in found)


def _short_will_do(program: Live, iterations: int) -> bool:
    """Whether a program has no reason for longer batches: threads that have to be woken, or a runtime that
    becomes faster while it runs and is warmed by batches."""
    threads = program.ready.footing.get("threads", 1)
    waits = program.time(iterations).batch.voluntary_switches > 0
    return program.ready.warmup_limit_ns == 0 and not waits and threads in (1, "1")


def _iterations(program: Live) -> tuple[int, float]:
    """How many iterations take about BATCH_NS, and how long they take, ns."""
    program.time(1, 0)
    iterations = 1
    while True:
        took_ns = max(1.0, min(program.time(iterations).batch.wall_ns for _ in range(_CALIBRATIONS)))
        wanted = max(1, round(iterations * BATCH_NS / took_ns))
        if wanted <= iterations * _GROWTH:
            return wanted, took_ns * wanted / iterations
        if iterations >= _MOST_ITERATIONS:
            raise LaunchFailed(
                Status.FAILED,
                f"does nothing that takes time: {iterations} iterations took {took_ns / 1e3:.3g} µs",
            )
        iterations *= _GROWTH


def counter_hz(clock: Mapping[str, object]) -> float | None:
    """The frequency of the processor's counter, so that later launches know it; None for other clocks."""
    value = None if str(clock.get("source", "")).startswith("monotonic") else clock.get("frequency_hz")
    return float(value) if isinstance(value, int | float) and 1e6 <= value <= 1e11 else None


class ProgramFiles(Programs):
    """Executables that speak protocol 1 and are asked with `describe` what they offer."""

    def __init__(
        self, sides: Sequence[Side], *, limit_s: float, interrupt: Interrupt | None = None, pattern: str = ""
    ) -> None:
        unasked = [Offering(side.label, {}) for side in sides]
        super().__init__(unasked, limit_s=limit_s, interrupt=interrupt, pattern=pattern)
        self._sides = tuple(sides)
        self._interrupt = interrupt

    def survey(self) -> Survey:
        """Asks every side. Raises SideFailed for one that does not answer as a program does."""
        self._offerings = tuple(
            Offering(side.label, _described(side, self._limits.time_s, self._interrupt))
            for side in self._sides
        )
        return super().survey()


def _described(side: Side, limit_s: float, interrupt: Interrupt | None) -> dict[str, Offer]:
    with working_folder(side.folder) as folder:
        ended = run_process([*side.command, "describe"], side.environment, folder, limit_s, interrupt)
    if ended.exit_code != 0:
        raise SideFailed(f"{side.label} does not describe itself: it {ended.how()}")
    try:
        text = ended.whole_stdout()
    except SideFailed as failure:
        raise SideFailed(f"{side.label} {failure.reason}") from None
    try:
        contenders = json.loads(text)["contenders"]
        offers = [
            Offer(
                side.command,
                str(item["workload"]),
                str(item["contender"]),
                Kind(item["kind"]),
                environment=side.environment,
                folder=side.folder,
                malloc=side.malloc,
            )
            for item in contenders
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        start = shown(ended.stdout[:80].decode("utf-8", "replace"), 160)
        raise SideFailed(f"{side.label} describes itself as {start!r}, which is not protocol 1") from None
    return {f"{offer.workload}/{offer.contender}": offer for offer in offers}
