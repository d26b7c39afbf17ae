"""How much work a launch does: found once, and the same in every launch after it.

Alone, a program fills batches of a launch of given length (`piloting`, `work_after`). Those that take turns
do the same iterations in short batches, however different their speeds (`turn_work`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tollbench.launching.conversation import WARM_SHARE, Conversation
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.messages import MAX_SAMPLES
from tollbench.launching.turns import Turns
from tollbench.store import Launch
from tollbench.words import Kind

FIRST_SAMPLES = 16
MAX_ITERATIONS = 2**40
_MOST_GROWTH = 16  # a first request is cold: it must not decide alone
_MOST_REQUESTS = 16

# Short batches, and many: what neighbours take comes in slices of milliseconds, which spoil a few short
# batches and a part of every long one (docs/compare.md has all ten reference operations).
BATCH_NS = 0.2e6
BLOCKS = 50  # a round
LONG_BATCH_NS = 1e6  # of dear state, and where a short batch says too little: `_short_will_do`
LONG_BLOCKS = 20
FEWEST_BLOCKS = 4
_DEAR_STATE_NS = 5e6  # to make anew: megabytes, which each side's turn drives out of the other's caches
_SLOWEST = 10  # times as long as the shortest batch the longest may be, where sides differ that much
_SETUP_NS = 1e6  # what making state anew may cost a block; where it is dearer, some blocks keep theirs
_GROWTH = 10  # of the iterations from one calibrating request to the next, at most
_CALIBRATIONS = 3  # the quickest counts: a neighbour may interrupt one or two
_MOST_ITERATIONS = 10**12
_ROUND_NS = 400e6  # long batches: fewer blocks


@dataclass(frozen=True, slots=True)
class LaunchLength:
    """How long the requests of a launch take together, and how many batches they make."""

    seconds: float
    batches: int

    @property
    def batch_ns(self) -> float:
        """Of a batch; the warm-up is one more."""
        return 1e9 * self.seconds / (self.batches + 1)


@dataclass(frozen=True, slots=True)
class LaunchWork:
    """What every measuring launch of a case does: a warm-up, then `batches` requests of `iterations` each."""

    iterations: int
    batches: int
    warmup: bool


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What every side does in every launch in which programs take turns."""

    iterations: int  # of a batch
    blocks: int
    anew_every: int  # blocks; 1 makes the state anew in each


def piloting(kind: Kind, length: LaunchLength) -> Callable[[Conversation], None]:
    """Grows the requests until one takes at least half a batch's time, and takes it again when repeated.

    The repetition is for busy machines: a program that lost the CPU for a moment looks slow once.
    """

    def talk(program: Conversation) -> None:
        target_ns, most = length.batch_ns, _most(kind)
        count = FIRST_SAMPLES if kind is Kind.SAMPLES else 1
        for _ in range(_MOST_REQUESTS):
            wall_ns = program.time(count).batch.wall_ns
            if wall_ns >= target_ns / 2 and program.request_ns < 1e9 * length.seconds:
                wall_ns = min(wall_ns, program.time(count).batch.wall_ns)
            if wall_ns >= target_ns / 2 or count >= most or program.request_ns > 1e9 * length.seconds:
                return
            count = min(most, int(count * min(_MOST_GROWTH, max(2.0, target_ns / max(wall_ns, 1.0)))))

    return talk


def work_after(pilot: Launch, kind: Kind, length: LaunchLength) -> LaunchWork:
    """From a pilot as it is stored, so that a resumed run finds the same. Its fastest request counts.

    What a request costs besides its timed part (state made anew) counts too: where that or a single
    iteration is slow, a launch has fewer batches, and without room for two it has no warm-up.
    """
    one_ns = min(batch.wall_ns / batch.iterations for batch in pilot.batches)
    iterations = max(1, min(_most(kind), round(length.batch_ns / max(one_ns, 1e-3))))
    requests_ns = pilot.wall_ns - (pilot.setup_ns or 0) - (pilot.overhead_ns or 0)
    besides_ns = max(0.0, requests_ns - sum(batch.wall_ns for batch in pilot.batches)) / len(pilot.batches)
    affordable = int(1.5e9 * length.seconds / (iterations * one_ns + besides_ns + 1.0))
    if affordable < 2:
        return LaunchWork(iterations, 1, warmup=False)
    return LaunchWork(iterations, min(length.batches, affordable - 1), warmup=True)


def _most(kind: Kind) -> int:
    return MAX_SAMPLES if kind is Kind.SAMPLES else MAX_ITERATIONS


def turn_work(turns: Turns) -> TurnWork:
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
    blocks = max(FEWEST_BLOCKS, min(most, blocks - blocks % 2))  # even: as many of each order
    return TurnWork(iterations, blocks, min(anew_every, blocks))


def _common(found: Sequence[tuple[int, float]]) -> tuple[int, float]:
    """Iterations for all sides, and the ns that the slowest needs for them.

    Those of the quickest side: a batch pays some microseconds to begin, which would count as work of a side
    that needs few more. Only where the slowest would take ten times as long, fewer.
    """
    iterations = min(max(count for count, _ in found), _SLOWEST * min(count for count, _ in found))
    return iterations, max(took_ns / count * iterations for count, took_ns in found)


def _short_will_do(program: Conversation, iterations: int) -> bool:
    """Whether a program has no reason for longer batches: threads that have to be woken, or a runtime that
    becomes faster while it runs and is warmed by batches."""
    threads = program.ready.footing.get("threads", 1)
    waits = program.time(iterations).batch.voluntary_switches > 0
    return program.ready.warmup_limit_ns == 0 and not waits and threads in (1, "1")


def _iterations(program: Conversation) -> tuple[int, float]:
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
                f"does nothing that takes time: {iterations} iterations took {took_ns / 1e3:.3g} µs"
            )
        iterations *= _GROWTH
