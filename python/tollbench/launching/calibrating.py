"""How much work the sides of a comparison do: the same iterations in short batches, however fast each is.

Found once, and the same in every launch after it. (`tollbench.launching.piloting` is for cases of a price
list, each of which fills batches of its own.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tollbench.launching.conversation import WARM_SHARE, Conversation
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.turns import Turns
from tollbench.words import one_thread, one_worked, times_own_thread

# Short batches, and many: what neighbours take comes in slices of milliseconds, which spoil a few short
# batches and a part of every long one (docs/compare-method.md has all ten reference operations).
BATCH_NS = 0.2e6
BLOCKS = 50  # a round, at most
LONG_BATCH_NS = 1e6  # of dear state, and where a short batch says too little: `_short_will_do`
LONG_BLOCKS = 20
# Whose state is dear makes it once a launch, one side after the other, and the last one has more of it in the
# cache they share: of 64 MiB beside 32 MiB of cache its first blocks took up to 20 % less, the tenth about as
# much as later ones. A pair of launches then scattered by 0.8 %, and by 5 to 8 % where all blocks counted and
# the last one began with new state (docs/compare-method.md).
SETTLING_BLOCKS = 10
DEAR_BLOCKS = 48
FEWEST_BLOCKS = 4
_DEAR_STATE_NS = 5e6  # to make anew: megabytes, which each side's turn drives out of the other's caches
_SLOWEST = 10  # times as long as the shortest batch the longest may be, where sides differ that much
_SETUP_NS = 1e6  # what making state anew may cost a block; where it is dearer, some blocks keep theirs
_GROWTH = 10  # of the iterations from one calibrating request to the next, at most
_CALIBRATIONS = 3  # the quickest counts: a neighbour may interrupt one or two
_MOST_ITERATIONS = 10**12
_ROUND_NS = 400e6  # long batches: fewer blocks


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What every side does in every launch in which programs take turns."""

    iterations: int  # of a batch
    blocks: int  # that count
    anew_every: int  # blocks; 1 makes the state anew in each
    settling_blocks: int = 0  # before them, which do not
    on_one_cpu: bool = False  # one thread of each side works, and never waits, so that all may share a CPU


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
    dear = anew_ns > _DEAR_STATE_NS
    if dear or not short:
        longer = max(1, round(LONG_BATCH_NS / batch_ns))
        iterations, batch_ns = longer * iterations, longer * batch_ns
    most = BLOCKS if batch_ns < LONG_BATCH_NS / 2 else LONG_BLOCKS
    if dear:
        most = DEAR_BLOCKS
    blocks = int(_ROUND_NS / (batch_ns * len(turns.live)))
    blocks = max(FEWEST_BLOCKS, min(most, blocks - blocks % 2))  # even: as many of each order
    settling = settling_blocks(batch_ns) if dear else 0
    anew_every = settling + blocks if dear else min(blocks, 1 + int(anew_ns / max(batch_ns, _SETUP_NS)))
    return TurnWork(iterations, blocks, anew_every, settling, on_one_cpu=short)


def settling_blocks(batch_ns: float) -> int:
    """Of dear state: as many as take the time of ten short ones; none where a single one takes longer."""
    return min(SETTLING_BLOCKS, int(SETTLING_BLOCKS * LONG_BATCH_NS / batch_ns))


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
    batch = program.time(iterations).batch
    footing = program.ready.footing
    alone = one_thread(footing) and not times_own_thread(footing) and one_worked([batch])
    return program.ready.warmup_limit_ns == 0 and not batch.voluntary_switches and alone


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
