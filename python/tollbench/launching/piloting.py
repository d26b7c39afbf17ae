"""What one first launch of a case tells: how long its batches have to be, and when they have become steady.

Batches are as short as they may be. What neighbours take comes in slices of milliseconds, which spoil a few
short batches and a part of every long one: between launches of five locks that took turns, ratios scattered
by 0.2 to 1.5 % in batches of 0.2 ms and by 2 to 3 % in batches of 1 ms. But a batch begins on a processor
that has just been idle, and some programs need long to forget that (a pair of new and delete took 10.2 ns in
batches of 0.25 ms, 8.1 ns in batches of 8 ms), others wake threads first. So the pilot times longer batches
as well, and the shortest that says what they say is taken.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from tollbench.launching.conversation import Conversation
from tollbench.launching.messages import MAX_SAMPLES
from tollbench.store import Launch
from tollbench.words import SHARED_CORE, Batch, Kind, one_thread, one_worked, times_own_thread

FIRST_SAMPLES = 16
MAX_ITERATIONS = 2**40
UNASKED = "works_unasked"  # in the footing of a pilot: whether its threads work between requests
SHORT_NS = 0.25e6
SAMPLES_NS = 2e6  # of operations that are timed one by one, which are as exact in any batch
# Of programs that wait. Launches differ by far more than a launch's batches: starts of threads by 13 %, their
# batches of 8 ms by 2, of 4 ms by 3, of 2 ms by 6 %. So shorter batches buy launches.
WAITING_NS = 3e6
# Of a thread that has others beside it as a load: eight word counters took as long a word, to 2 %, in batches
# of one pass (1 to 7 ms) as of 8 passes, and to 1.5 % from two passes on.
OWN_THREAD_NS = 3e6
CROWDED_NS = 50e6  # of more threads than processors: a batch has to be many turns of the scheduler long,
CROWDED_BATCHES = 2  # and a launch to have as many of them: of one, the first, takes longer
LONGER_NS = (1e6, 8e6)  # the longest says what a program takes that nobody interrupts
_LONGER_BATCHES = 4
_MOST_LONGER_BATCHES = 24  # where others work on the same core most of the time
_FEWEST_ALONE = 2  # batches that nobody disturbed, to be held against others
_SEEN_WAITING = 0.2  # share of the batches
_WHOLE = 1.05  # times its time on the processor: a longer one was interrupted
_SAME_BATCHES = 3  # of programs that wait: what their batches scatter by hides any trend
_SAME = 0.015  # of a longer batch's time: more than that is another speed
_NOT_SEEN = 0.08  # at most, on a machine where others work
# A program with threads that meets a neighbour may take a hundred times as long for a moment: starting a
# thread 3.5 ms, as the new one waited for a processor. Its batches were of a single start then, where others
# had 156, and cold starts took twice as long: a program was told apart from itself.
_BESIDE_A_NEIGHBOUR = 2.0  # times what the quickest batch of all took an iteration: longer is not the program
_WITHOUT_WARMUP = 1.5  # times what a launch's batches may take: two iterations that take longer are too dear
_WARMUP_SHARE = 0.4  # of what a launch's batches may take: the warm-up, however late the program is steady

_MOST_GROWTH = 16  # a first request is cold: it must not decide alone
_MOST_REQUESTS = 20
_STEADY_NS = 6e6  # watched at least,
_STEADY_BATCHES = 12  # as many batches at least,
_MOST_BATCHES = 400  # and as many at most
_STEADY = 0.01  # by which medians of steady batches may differ


@dataclass(frozen=True, slots=True)
class CaseWork:
    """What every measuring launch of a case does: warm-up, then batches of `iterations` each."""

    iterations: int  # of a batch, or samples of a request
    batch_ns: float  # what they take
    warmup: int  # iterations before the first batch that counts; 0 where a single one is too dear
    begin_ns: float  # what a launch takes until then, and to end
    again: int = 0  # iterations in its turn before the one that counts; 0: what a turn has anyhow
    unasked: bool = False  # it works while nobody asks it: all who live with it are halted out of turn
    apart: bool = False  # launched by itself: among others it would take another time
    one_works: bool = True  # its batches took no more CPU time than wall time: no second thread worked
    lengthened: bool = False  # its batches are longer than clocks ask for: short ones said something else
    beside_threads: bool = False  # it waits, or has threads: what others do on the machine is in its time

    @property
    def one_ns(self) -> float:
        """What an iteration takes."""
        return self.batch_ns / self.iterations


def piloting(kind: Kind, seconds: float) -> Callable[[Conversation], None]:
    """Grows the requests to the shortest batch, repeats that until it is steady, then times longer ones.

    `seconds` is about what the requests may take together. A single iteration that takes longer is not
    repeated.
    """

    def talk(program: Conversation) -> None:
        most_ns = 1e9 * seconds
        first = FIRST_SAMPLES if kind is Kind.SAMPLES else 1
        count, took_ns = _shortest(program, kind, SHORT_NS, first, most_ns)
        needed_ns = _needed_ns(program, kind, count)
        if needed_ns > SHORT_NS:
            wanted_ns = min(needed_ns, _longest_ns(seconds))
            if wanted_ns > took_ns:
                count, _ = _shortest(program, kind, wanted_ns, count, 2 * most_ns)
            for _ in range(_SAME_BATCHES if program.request_ns < most_ns else 0):
                program.time(count)
            return
        quickest_ns = _until_steady(program, count, most_ns)
        for length_ns in LONGER_NS:
            longer = min(MAX_ITERATIONS, round(count * length_ns / took_ns))
            if longer >= 2 * count and program.request_ns + _LONGER_BATCHES * length_ns < 2 * most_ns:
                _time_undisturbed(program, longer, most_ns, quickest_ns)

    return talk


def _needed_ns(program: Conversation, kind: Kind, count: int) -> float:
    """How long a batch has to be at least, by what the program is seen to be."""
    footing = program.ready.footing
    if times_own_thread(footing):
        return OWN_THREAD_NS
    if not one_thread(footing) or _seen_waiting(program, count):
        return _fills_ns(footing)
    return SAMPLES_NS if kind is Kind.SAMPLES else SHORT_NS


def _fills_ns(footing: Mapping[str, object]) -> float:
    """How long batches of a program that waits or has threads are to be."""
    threads = footing.get("threads", 1)
    crowded = isinstance(threads, int) and threads > len(os.sched_getaffinity(0))
    return CROWDED_NS if crowded else WAITING_NS


def _longest_ns(seconds: float) -> float:
    """What a batch may take where requests of a launch together take about so much."""
    return 1e9 * seconds / CROWDED_BATCHES


def _seen_waiting(program: Conversation, count: int) -> bool:
    """Whether it gives its processor back, and not by chance: one batch in thirty of locks did at load 8."""
    if not program.time(count).batch.voluntary_switches:
        return False
    return any(program.time(count).batch.voluntary_switches for _ in range(2))


def _shortest(
    program: Conversation, kind: Kind, target_ns: float, count: int, most_ns: float
) -> tuple[int, float]:
    """Iterations, from `count` on, that fill `target_ns`, and ns that they take.

    It looks twice: the first time may be cold, or the program may have lost the processor for a moment.
    """
    most = _most(kind)
    wall_ns = 1.0
    for _ in range(_MOST_REQUESTS):
        wall_ns = max(1.0, program.time(count).batch.wall_ns)
        if wall_ns >= target_ns / 2 and program.request_ns < most_ns:
            wall_ns = max(1.0, min(wall_ns, program.time(count).batch.wall_ns))
        if wall_ns >= target_ns / 2 or count >= most or program.request_ns > most_ns:
            break
        count = min(most, int(count * min(_MOST_GROWTH, max(2.0, target_ns / wall_ns))))
    wanted = min(most, max(1, round(count * target_ns / wall_ns)))
    return wanted, wall_ns * wanted / count


def _until_steady(program: Conversation, count: int, most_ns: float) -> float:
    """At least twelve batches and 6 ms, as far as there is time. Returns the quickest gauge, ns."""
    costs: list[float] = []
    quickest_ns = math.inf
    while len(costs) < _MOST_BATCHES and program.request_ns < most_ns:
        batch = program.time(count).batch
        costs.append(batch.on_cpu_ns)
        quickest_ns = min(quickest_ns, batch.gauge_ns)
        if (
            len(costs) >= _STEADY_BATCHES
            and sum(costs) >= _STEADY_NS
            and steady_from(costs) < len(costs) // 2
        ):
            break
    return quickest_ns


def _time_undisturbed(program: Conversation, count: int, most_ns: float, quickest_ns: float) -> None:
    """Four batches; more until nobody disturbed two of them, as far as there is time.

    `quickest_ns` is the quickest gauge that was seen before.
    """
    made = [program.time(count).batch for _ in range(_LONGER_BATCHES)]
    while len(made) < _MOST_LONGER_BATCHES and program.request_ns < most_ns:
        if len(_undisturbed(made, quickest_ns)) >= _FEWEST_ALONE:
            return
        made.append(program.time(count).batch)


def _undisturbed(batches: Sequence[Batch], quickest_ns: float) -> list[Batch]:
    """Those that had their core to themselves, by their gauges, and that nobody interrupted.

    Of a batch that the scheduler has cut up the time on the processor is longer too: eleven of seventeen
    locks took 1.3 to 5 % longer in batches of 8 ms than in those of 1 ms, which said the same as those of
    0.25 ms to 0.3 %.
    """
    return [
        batch
        for batch in batches
        if batch.gauge_ns <= SHARED_CORE * quickest_ns and batch.wall_ns <= _WHOLE * batch.on_cpu_ns
    ]


def steady_from(costs: Sequence[float]) -> int:
    """The first of `costs` (of batches alike, oldest first, any unit) from which on they stay as they are.

    Windows that begin at 0, 1, 2, 4 ... and are at least half as long are held against the last half: their
    medians may differ by 1 %, or by twice the standard error of the window's median (by the range between
    quartiles, as if normal). As many as there are where no window is steady.
    """
    if not costs:
        return 0
    later = sorted(costs[len(costs) // 2 :])
    middle = statistics.median(later)
    range_of_half = later[(3 * len(later)) // 4] - later[len(later) // 4] if len(later) >= 4 else 0.0
    starts = [0, *(2**power for power in range(len(costs).bit_length()) if 2**power < len(costs))]
    found = len(costs)
    for start in reversed(starts):
        window = costs[start : start + max(3, start // 2)]
        allowed = max(_STEADY * middle, 2 * 1.2533 / 1.349 * range_of_half / math.sqrt(len(window)))
        if abs(statistics.median(window) - middle) > allowed:
            break
        found = start
    return found


def work_after(pilot: Launch, kind: Kind, seconds: float) -> CaseWork:
    """From a pilot as it is stored, so that a resumed run finds the same; `seconds` as for `piloting`."""
    counts = [batch.iterations for batch in pilot.batches]
    single = one_thread(pilot.footing) and not times_own_thread(pilot.footing)
    waits = sum(one.voluntary_switches > 0 for one in pilot.batches) > _SEEN_WAITING * len(pilot.batches)
    if kind is Kind.SAMPLES or not single or waits:
        # What came before was only on the way there: the first 16 operations of posix_spawn, twice as many as
        # in any later batch, were cold, and passed for a longer batch that says something else.
        shortest, lengths = counts[-1], {counts[-1]}
    else:
        shortest = next((count for count in counts if counts.count(count) >= 3), counts[-1])
        lengths = {count for count in counts if count >= shortest}
    groups = {count: _costs(pilot.batches, count) for count in sorted(lengths)}
    alone = _undisturbed_by_count(pilot.batches, groups) if one_thread(pilot.footing) else groups
    iterations = _shortest_of(groups, alone)
    one_ns = max(1e-3, statistics.median(alone.get(iterations, groups[iterations])))
    if times_own_thread(pilot.footing):  # it waits for a processor meanwhile, and others wait for its turn
        one_ns = statistics.median(
            one.wall_ns / iterations for one in pilot.batches if one.iterations == iterations
        )
    beside_threads = (waits or not single) and not times_own_thread(pilot.footing)
    if beside_threads:
        # Not in shorter ones: of more threads than processors those lie within one thread's turn. Nor by the
        # quickest alone: threads that contend are quicker where a neighbour has them run one after the other.
        full = sorted(one.on_cpu_ns / one.iterations for one in pilot.batches if one.iterations >= iterations)
        quick_ns = full[min(1, len(full) - 1)]
        if one_ns > _BESIDE_A_NEIGHBOUR * quick_ns:
            filled_ns = min(iterations * one_ns, _fills_ns(pilot.footing), _longest_ns(seconds))
            one_ns = _BESIDE_A_NEIGHBOUR * quick_ns
            iterations = min(_most(kind), max(iterations, round(filled_ns / one_ns)))
    if pilot.batches[-1].wall_ns < SHORT_NS / 2:  # it never became long enough
        iterations = min(_most(kind), max(1, round(SHORT_NS / one_ns)))
    if single and waits:  # perhaps seen only after the long batches of a program that never waits
        iterations = min(iterations, max(1, round(WAITING_NS / one_ns)))
    unasked = pilot.footing.get(UNASKED) is True
    work = CaseWork(
        iterations,
        iterations * one_ns,
        0,
        _begin_ns(pilot),
        unasked=unasked,
        apart=_waits(pilot.batches) or times_own_thread(pilot.footing),
        one_works=one_worked(pilot.batches),
        lengthened=iterations > shortest and not beside_threads,
        beside_threads=beside_threads,
    )
    if iterations == 1 and 2 * one_ns > _WITHOUT_WARMUP * 1e9 * seconds:
        return work
    steady = least = iterations if beside_threads else min(shortest, iterations)
    if len(groups[shortest]) >= _STEADY_BATCHES:
        before = [0, *accumulate(batch.iterations for batch in pilot.batches)]
        steady = before[counts.index(shortest) + steady_from(groups[shortest])]
    longest_ns = _WARMUP_SHARE * 1e9 * seconds
    if shortest * one_ns > LONGER_NS[-1]:
        longest_ns = min(longest_ns, LONGER_NS[-1])
    warmup = max(1, min(max(least, steady), _most(kind), round(longest_ns / one_ns)))
    return replace(work, warmup=warmup, begin_ns=work.begin_ns + warmup * one_ns)


def after_rehearsal(
    work: CaseWork, turns: Sequence[Sequence[float]], undisturbed: Sequence[float]
) -> CaseWork:
    """With what a turn has to begin with, where others have driven the case's data out of the caches.

    `turns` has the times of consecutive batches, oldest first, of each turn; nobody's turn may follow his
    own. `undisturbed` are those of many batches in a row, of the same launch. Batches at the beginning of a
    turn do not count as long as the median turn has them 1.5 % dearer than the later half of `undisturbed`.
    Where that is half of a turn, or its later half is still dearer by 3 %, the case is launched by itself.
    Times are NaN where others worked on the core.
    """
    length = min(map(len, turns))
    usual = _known_median(undisturbed[len(undisturbed) // 2 :])
    excess = [_known_median([turn[place] for turn in turns]) / usual - 1 for place in range(length)]
    late = next((place for place in range(length) if excess[place] <= _SAME), length)
    if math.isnan(_known_median(excess)):
        late = 0  # others worked on the core all along: nothing was seen
    lasting = _known_median(excess[length // 2 :]) > 2 * _SAME
    return replace(work, again=late * work.iterations, apart=work.apart or lasting or 2 * late > length)


def _known_median(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return statistics.median(known) if known else math.nan


def alike(works: Sequence[CaseWork], kind: Kind) -> list[CaseWork]:
    """The same footing for all who live together: as long batches, warm-ups and beginnings of a turn.

    What each of them needs was found with noise; what is taken is what one of them needs at most. No request
    asks for more than a program of that kind answers.
    """
    if len(works) == 1:
        return list(works)
    batch_ns = max(work.batch_ns for work in works)
    warmup_ns = max(work.warmup * work.one_ns for work in works)
    again_ns = max(work.again * work.one_ns for work in works)
    most, found = _most(kind), []
    for work in works:
        iterations = min(most, max(1, round(batch_ns / work.one_ns)))
        warmup = min(most, max(work.warmup, round(warmup_ns / work.one_ns)))
        found.append(
            replace(
                work,
                iterations=iterations,
                batch_ns=iterations * work.one_ns,
                warmup=warmup,
                begin_ns=work.begin_ns + (warmup - work.warmup) * work.one_ns,
                again=min(most, round(again_ns / work.one_ns)),
            )
        )
    return found


def _waits(batches: Sequence[Batch]) -> bool:
    """Whether it gives its processor back while it works, as a rule.

    How soon such a program is woken depends on what the processors did before: beside others that took turns,
    a thread that sleeps was woken in 80 % of the time that it takes alone, a pool's thread in 20 %.
    """
    return 2 * sum(batch.voluntary_switches > 0 for batch in batches) > len(batches)


def _undisturbed_by_count(batches: Sequence[Batch], counts: Iterable[int]) -> dict[int, list[float]]:
    """Nanoseconds an iteration, of the batches that nobody disturbed; `counts` with too few are left out.

    One on its own core and another on a shared one would differ by what the neighbour takes.
    """
    alone = _undisturbed(batches, min(batch.gauge_ns for batch in batches))
    found = {count: _costs(alone, count) for count in counts}
    return {count: costs for count, costs in found.items() if len(costs) >= _FEWEST_ALONE}


def _costs(batches: Sequence[Batch], count: int) -> list[float]:
    """Nanoseconds an iteration, of the batches with so many of them."""
    return [batch.on_cpu_ns / count for batch in batches if batch.iterations == count]


def _shortest_of(costs: Mapping[int, Sequence[float]], alone: Mapping[int, Sequence[float]]) -> int:
    """The smallest count whose batches say what longer ones say: the next ones to 1.5 %, others to 3 %.

    What a batch's beginning costs is spread over it, so most of it is seen in the next length already.
    `alone` has the costs of batches that nobody disturbed. Where one of two lengths has none, all batches of
    both are compared, to 8 %: neighbours may have met more of the one than of the other.
    """

    def says_the_same(short: int, long: int, share: float) -> bool:
        if short in alone and long in alone:
            return _says_the_same(alone[short], alone[long], share)
        return _says_the_same(costs[short], costs[long], _NOT_SEEN)

    for count, following in pairwise(sorted(costs)):
        others = [other for other in costs if other > following]
        if says_the_same(count, following, _SAME) and all(
            says_the_same(count, other, 2 * _SAME) for other in others
        ):
            return count
    return max(costs)


def _says_the_same(short: Sequence[float], long: Sequence[float], share: float) -> bool:
    """Whether the later half of short batches costs what long ones cost: to a `share`, or as can be seen.

    That is two robust standard deviations of a single batch, short or long, 8 % at most. One of many
    contenders that seems to differ makes the batches of all long: at load 8 all locks had batches of 8 ms,
    which the scheduler cut up, and ratios to +-15 %.
    Less is no better than more: where the threads of a program get the processors in turn, a batch shorter
    than their turns is that of the thread which has one.
    """
    usual, later = statistics.median(long), short[len(short) // 2 :]
    said = statistics.median(later)
    scatter = 1.4826 * statistics.median(abs(cost - said) for cost in later)
    seen = max(2 * scatter, max(long) - min(long)) / usual  # of four the range is two standard deviations
    return abs(said / usual - 1) <= min(_NOT_SEEN, max(share, seen))


def _begin_ns(pilot: Launch) -> float:
    """What a launch takes besides its requests."""
    return float((pilot.setup_ns or 0) + (pilot.overhead_ns or 0))


def _most(kind: Kind) -> int:
    return MAX_SAMPLES if kind is Kind.SAMPLES else MAX_ITERATIONS
