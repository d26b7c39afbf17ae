"""What a pilot says of a case: how long its batches have to be, when they are steady, what turns need."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tollbench.launching.messages import MAX_SAMPLES
from tollbench.launching.piloting import (
    CROWDED_NS,
    SHORT_NS,
    UNASKED,
    WAITING_NS,
    CaseWork,
    after_rehearsal,
    alike,
    steady_from,
    work_after,
)
from tollbench.store import Launch
from tollbench.words import Batch, Kind, Purpose, Status

SECONDS = 0.1


def batch(iterations: int, wall_ns: float, cpu_ns: float | None = None, switches: int = 0) -> Batch:
    cpu = wall_ns if cpu_ns is None else cpu_ns
    return Batch(iterations, iterations, wall_ns, cpu, switches, 0, 0, 0, 1 << 20, iterations)


def pilot(batches: Sequence[Batch], **footing: object) -> Launch:
    return Launch(
        1, Purpose.PILOT, 0, 0, 1, Status.OK, "", "2026-01-01", 0, 10**8,
        setup_ns=2_000_000, overhead_ns=1_000_000, footing=footing, batches=tuple(batches),
    )  # fmt: skip


def timed(short_ns: float, long_ns: float, cold: int = 0, noise: float = 0.0) -> list[Batch]:
    """A pilot of an iteration that costs so much in short batches of 1,000, and in long ones."""
    rng = random.Random(1)
    growing = [batch(count, 3 * count * short_ns) for count in (1, 16, 256)]
    costs = [3.0] * cold + [1.0] * 40
    short = [batch(1000, 1000 * short_ns * cost * (1 + noise * rng.gauss(0, 1))) for cost in costs]
    return [*growing, *short, *(batch(32_000, 32_000 * long_ns) for _ in range(4))]


def test_the_shortest_batch_that_says_what_long_ones_say() -> None:
    assert work_after(pilot(timed(250.0, 250.0)), Kind.BATCH, SECONDS).iterations == 1000
    assert work_after(pilot(timed(250.0, 249.0, noise=0.05)), Kind.BATCH, SECONDS).iterations == 1000


@pytest.mark.parametrize("short_ns", [310.0, 200.0])
def test_short_batches_that_say_something_else_are_not_taken(short_ns: float) -> None:
    work = work_after(pilot(timed(short_ns, 250.0)), Kind.BATCH, SECONDS)
    assert work.iterations == 32_000
    assert work.batch_ns == pytest.approx(8e6)


def test_long_batches_that_differ_do_not_excuse_everything() -> None:
    batches = [*timed(310.0, 250.0)[:-4], *(batch(32_000, 8e6 * slow) for slow in (1, 1, 1, 1.6))]
    assert work_after(pilot(batches), Kind.BATCH, SECONDS).iterations == 32_000


def test_time_that_somebody_else_had_is_not_the_programs() -> None:
    assert batch(1, 9e6, cpu_ns=2e6).on_cpu_ns == 2e6
    assert batch(1, 9e6, cpu_ns=2e6, switches=3).on_cpu_ns == 9e6, "it waited by itself"
    assert batch(1, 9e6, cpu_ns=18e6).on_cpu_ns == 9e6, "several threads"
    robbed = [batch(32_000, 20e6, cpu_ns=8e6) for _ in range(4)]
    assert work_after(pilot([*timed(250.0, 250.0)[:-4], *robbed]), Kind.BATCH, SECONDS).iterations == 1000


def test_the_warm_up_ends_where_batches_are_steady() -> None:
    soon = work_after(pilot(timed(250.0, 250.0)), Kind.BATCH, SECONDS)
    late = work_after(pilot(timed(250.0, 250.0, cold=10)), Kind.BATCH, SECONDS)
    assert soon.warmup == 1000
    assert 10_000 <= late.warmup <= 18_000
    assert late.begin_ns == pytest.approx(3e6 + late.warmup * late.batch_ns / 1000)


def test_a_warm_up_is_no_longer_than_its_share() -> None:
    never = [batch(1000, 1e9 / (10 + step)) for step in range(60)]
    work = work_after(pilot(never), Kind.BATCH, SECONDS)
    assert work.warmup * work.batch_ns / work.iterations <= 0.45e9 * SECONDS


def test_steadiness_is_no_matter_of_noise() -> None:
    rng = random.Random(3)
    starts = [steady_from([rng.gauss(1, 0.05) for _ in range(60)]) for _ in range(200)]
    assert sum(start <= 2 for start in starts) > 150
    assert steady_from([2.0] * 8 + [1.0] * 52) == 8
    assert steady_from([]) == 0


def test_programs_that_wait_keep_their_batches_and_a_short_warm_up() -> None:
    waits = [
        *(batch(count, 1e5) for count in (16, 100)),
        *(batch(800, WAITING_NS, 1e5, 800) for _ in range(3)),
    ]
    work = work_after(pilot(waits), Kind.SAMPLES, SECONDS)
    assert (work.iterations, work.batch_ns, work.warmup) == (800, WAITING_NS, 800)
    assert work.apart
    assert after_rehearsal(work, turns_of(0, 1.0), [1.0] * 60).apart
    assert not work_after(pilot(timed(250.0, 250.0)), Kind.BATCH, SECONDS).apart


def test_who_has_other_threads_as_a_load_is_alone_and_takes_what_the_wall_clock_says() -> None:
    loaded = [
        *(batch(count, 1e5, 1e5) for count in (1, 4)),
        *(batch(40, WAITING_NS, cpu_ns=WAITING_NS / 3, switches=1) for _ in range(4)),
    ]
    footing = {"threads": 1, "load_threads": 4}
    work = work_after(pilot(loaded)._replace(footing=footing), Kind.BATCH, SECONDS)
    assert (work.iterations, work.apart, work.lengthened) == (40, True, False)
    assert work.batch_ns == pytest.approx(WAITING_NS)


def test_a_batch_that_the_kernel_made_wait_does_not_make_batches_long() -> None:
    some = timed(250.0, 250.0)
    some[7] = some[7]._replace(voluntary_switches=1)
    assert work_after(pilot(some), Kind.BATCH, SECONDS).iterations == 1000
    many = [one._replace(voluntary_switches=at % 3 == 0) for at, one in enumerate(some)]
    assert work_after(pilot(many), Kind.BATCH, SECONDS).iterations == round(WAITING_NS / 250.0)


@pytest.mark.parametrize(("one_s", "warmup"), [(0.03, 1), (0.3, 0)])
def test_a_dear_iteration_is_warmed_only_where_there_is_time(one_s: float, warmup: int) -> None:
    work = work_after(pilot([batch(1, 1e9 * one_s)] * 2), Kind.BATCH, SECONDS)
    assert (work.iterations, work.warmup) == (1, warmup)


def test_what_never_becomes_long_enough_is_filled_up() -> None:
    work = work_after(pilot([batch(2, 10.0)] * 4), Kind.BATCH, SECONDS)
    assert work.iterations == pytest.approx(SHORT_NS / 5.0)


def test_batches_of_a_shared_core_do_not_make_batches_long() -> None:
    """On its own core short batches say what long ones say; of the long ones two of four had one."""
    alone, shared = 2000.0, 3500.0
    short = [one._replace(gauge_ns=alone) for one in timed(250.0, 250.0)[:-4]]
    long = [(1.0, alone), (1.6, shared), (1.6, shared), (1.0, 1.02 * alone)]
    batches = [*short, *(batch(32_000, 8e6 * slow)._replace(gauge_ns=gauge) for slow, gauge in long)]
    assert work_after(pilot(batches), Kind.BATCH, SECONDS).iterations == 1000
    told_nothing = [one._replace(gauge_ns=0.0) for one in batches]
    assert work_after(pilot(told_nothing), Kind.BATCH, SECONDS).iterations == 32_000


def on_shared_core(batches: Sequence[Batch], share: float) -> list[Batch]:
    """Some that others worked beside, which take 1.6 times as long."""
    rng = random.Random(7)
    slow = [
        one._replace(gauge_ns=3500.0, wall_ns=1.6 * one.wall_ns, cpu_ns=1.6 * one.cpu_ns) for one in batches
    ]
    quiet = [one._replace(gauge_ns=2000.0) for one in batches]
    return [pair[rng.random() < share] for pair in zip(quiet, slow, strict=True)]


@pytest.mark.parametrize(("long_ns", "iterations"), [(250.0, 1000), (190.0, 32_000)])
def test_lengths_of_which_one_never_had_a_core_are_compared_by_all_batches(
    long_ns: float, iterations: int
) -> None:
    """The core was shared most of the time, and whenever a long batch was timed."""
    made = timed(250.0, long_ns)
    batches = [*on_shared_core(made[:-4], 0.8), *on_shared_core(made[-4:], 1.0)]
    assert work_after(pilot(batches), Kind.BATCH, SECONDS).iterations == iterations


@pytest.mark.parametrize(("long_ns", "iterations"), [(250.0, 1000), (200.0, 4000)])
def test_lengths_of_which_one_was_always_interrupted_are_compared_by_all_batches(
    long_ns: float, iterations: int
) -> None:
    made = timed(250.0, long_ns)
    next_ones = [batch(4000, 3e6, 4000 * long_ns) for _ in range(4)]
    cut = [one._replace(wall_ns=3 * one.cpu_ns) for one in made[-4:]]
    batches = [*made[:-4], *next_ones, *cut]
    assert work_after(pilot(batches), Kind.BATCH, SECONDS).iterations == iterations


def test_batches_that_were_interrupted_do_not_make_batches_long() -> None:
    """Of those of 8 ms all were, and took 5 % longer; of those of 1 ms two were not."""
    short, whole = timed(250.0, 250.0)[:-4], [batch(4000, 1e6), batch(4000, 1e6)]
    cut = [batch(4000, 3e6, 1.05e6), *whole, *(batch(32_000, 20e6, 1.05 * 8e6) for _ in range(4))]
    assert work_after(pilot([*short, *cut]), Kind.BATCH, SECONDS).iterations == 1000
    not_cut = [*whole, *(batch(32_000, 1.05 * 8e6) for _ in range(4))]
    assert work_after(pilot([*short, *not_cut]), Kind.BATCH, SECONDS).iterations == 32_000


@pytest.mark.parametrize(("next_ns", "longest_ns", "iterations"), [
    (252.0, 256.0, 1000), (248.0, 244.0, 1000), (252.0, 260.0, 32_000), (258.0, 259.0, 4000),
])  # fmt: skip
def test_the_next_length_says_the_same_to_a_share_and_the_longest_to_twice_that(
    next_ns: float, longest_ns: float, iterations: int
) -> None:
    batches = [*timed(250.0, longest_ns)[:-4], *(batch(4000, 4000 * next_ns) for _ in range(4))]
    batches += timed(250.0, longest_ns)[-4:]
    assert work_after(pilot(batches), Kind.BATCH, SECONDS).iterations == iterations


def test_a_busy_machine_makes_no_batches_long() -> None:
    """Batches of both lengths scatter by 4 %; seen over many pilots."""
    rng, longer = random.Random(5), 0
    for _ in range(300):
        short = [batch(1000, 250e3 * rng.gauss(1, 0.04)) for _ in range(40)]
        long = [batch(32_000, 8e6 * rng.gauss(1, 0.04)) for _ in range(4)]
        longer += work_after(pilot([*short, *long]), Kind.BATCH, SECONDS).iterations > 1000
    assert longer <= 0.1 * 300


def test_who_works_unasked_is_known_from_the_pilot() -> None:
    assert work_after(pilot(timed(250.0, 250.0), **{UNASKED: True}), Kind.BATCH, SECONDS).unasked
    assert not work_after(pilot(timed(250.0, 250.0)), Kind.BATCH, SECONDS).unasked


WORK = CaseWork(1000, SHORT_NS, 1000, 4e6)


@pytest.mark.parametrize(("cpu", "one_works"), [(0.4, True), (1.0, True), (1.05, True), (1.9, False)])
def test_a_second_thread_that_works_is_known_by_its_cpu_time(cpu: float, one_works: bool) -> None:
    batches = [one._replace(cpu_ns=cpu * one.wall_ns) for one in timed(250.0, 250.0)]
    assert work_after(pilot(batches), Kind.BATCH, SECONDS).one_works == one_works


def turns_of(late: int, dearer: float, noise: float = 0.0, length: int = 16) -> list[list[float]]:
    rng = random.Random(late)
    costs = [dearer] * late + [1.0] * (length - late)
    return [[cost * (1 + noise * rng.gauss(0, 1)) for cost in costs] for _ in range(5)]


UNDISTURBED = [1.1, *[1.0] * 60]


def test_what_a_turn_begins_with_is_as_long_as_it_is_dearer() -> None:
    assert after_rehearsal(WORK, turns_of(0, 1.0), UNDISTURBED) == WORK
    assert after_rehearsal(WORK, turns_of(1, 1.3), UNDISTURBED).again == 1000
    assert after_rehearsal(WORK, turns_of(5, 1.3), UNDISTURBED).again == 5000
    assert not after_rehearsal(WORK, turns_of(5, 1.3), UNDISTURBED).apart


def test_one_turn_that_was_lucky_or_disturbed_decides_nothing() -> None:
    lucky = [*turns_of(3, 2.0)[:4], [1.0] * 16]
    assert after_rehearsal(WORK, lucky, UNDISTURBED).again == 3000
    disturbed = [*turns_of(0, 1.0)[:4], [9.0, *[1.0] * 15]]
    assert after_rehearsal(WORK, disturbed, UNDISTURBED).again == 0


@pytest.mark.parametrize(("late", "dearer"), [(9, 1.3), (16, 3.0), (16, 1.1)])
def test_who_does_not_recover_within_a_turn_is_launched_apart(late: int, dearer: float) -> None:
    assert after_rehearsal(WORK, turns_of(late, dearer), UNDISTURBED).apart


def test_batches_of_a_shared_core_say_nothing_about_turns() -> None:
    away = float("nan")
    turns = [[away] * 8 + [1.0] * 8, *([away if place % 2 else 1.0 for place in range(16)] for _ in range(4))]
    assert after_rehearsal(WORK, turns, [away, 1.0, away]) == WORK
    assert after_rehearsal(WORK, [[away] * 16] * 5, UNDISTURBED) == WORK, "nothing was seen"
    assert after_rehearsal(WORK, turns_of(0, 1.0), [away] * 60) == WORK
    assert after_rehearsal(WORK, [*turns_of(3, 2.0)[:3], [away] * 16, [away] * 16], UNDISTURBED).again == 3000


def test_noise_costs_a_case_little() -> None:
    rng = random.Random(8)
    turns = [[[rng.gauss(1, 0.02) for _ in range(16)] for _ in range(5)] for _ in range(300)]
    found = [after_rehearsal(WORK, each, [rng.gauss(1, 0.02) for _ in range(60)]) for each in turns]
    assert sum(work.again > 2000 for work in found) < 0.02 * len(found)
    assert sum(work.apart for work in found) == 0


def test_who_lives_together_is_alike_in_all_that_a_pilot_drew() -> None:
    short = CaseWork(1000, 0.25e6, 1000, 3e6)
    long = CaseWork(80, 8e6, 160, 20e6, again=40)
    one, other = alike([short, long], Kind.BATCH)
    assert one.batch_ns == other.batch_ns == 8e6
    assert (one.iterations, other.iterations) == (32_000, 80)
    assert one.warmup * one.one_ns == pytest.approx(other.warmup * other.one_ns)
    assert one.again * one.one_ns == pytest.approx(other.again * other.one_ns)
    assert one.begin_ns == pytest.approx(3e6 - 0.25e6 + 16e6)
    assert alike([short], Kind.BATCH) == [short]


@pytest.mark.parametrize("one_ns", [0.1e6, 0.2e6, 1e6, 5e6])
def test_what_came_before_the_long_batches_of_a_waiting_program_is_no_choice(one_ns: float) -> None:
    """Single iterations of 0.2 ms and more are timed three times on the way."""
    on_the_way = [batch(1, one_ns * slow, switches=1) for slow in (1.0, 1.01, 0.99)]
    count = round(WAITING_NS / one_ns)
    work = work_after(pilot([*on_the_way, *[batch(count, WAITING_NS, switches=9)] * 3]), Kind.BATCH, SECONDS)
    assert work.iterations == count


def test_a_program_that_is_seen_to_wait_late_has_batches_as_long_as_others_that_wait() -> None:
    """The first batches happened to be none in which it gave its processor back."""
    short = [batch(1000, 0.25e6, switches=int(number % 4 == 3)) for number in range(24)]
    long = [batch(count, 250.0 * count, switches=1) for count in (4000, 32_000) for _ in range(4)]
    work = work_after(pilot([*short, *long]), Kind.BATCH, SECONDS)
    assert work.iterations == round(WAITING_NS / 250.0)
    assert work.warmup == work.iterations


def test_more_threads_than_processors_keep_batches_of_many_turns() -> None:
    """They give their processors back too, and 3 ms are those of one thread's turn."""
    crowded = [*(batch(count, 1e5, 2e5, 9) for count in (16, 100)), *[batch(800, CROWDED_NS, 9e7, 9)] * 3]
    work = work_after(pilot(crowded, threads=64), Kind.BATCH, SECONDS)
    assert (work.iterations, work.batch_ns) == (800, CROWDED_NS)


def test_a_first_request_that_was_too_long_is_no_longer_batch() -> None:
    """Of operations of 1 ms the first sixteen take longer than any later batch, and are cold."""
    on_the_way = [batch(16, 1.1 * 16e6, switches=9), batch(1, 1e6, switches=1), batch(1, 1e6, switches=1)]
    count = round(WAITING_NS / 1e6)
    work = work_after(
        pilot([*on_the_way, *[batch(count, WAITING_NS, switches=9)] * 3]), Kind.SAMPLES, SECONDS
    )
    assert (work.iterations, work.lengthened) == (count, False)


def test_no_request_asks_for_more_samples_than_a_program_answers() -> None:
    quick = CaseWork(MAX_SAMPLES, 2e6, MAX_SAMPLES, 3e6)
    slow = CaseWork(100, 16e6, 200, 3e6, again=100)
    found, _ = alike([quick, slow], Kind.SAMPLES)
    assert (found.iterations, found.warmup, found.again) == (MAX_SAMPLES,) * 3
    assert alike([quick, slow], Kind.BATCH)[0].iterations == 8 * MAX_SAMPLES


def test_a_neighbour_in_all_of_the_last_batches_does_not_make_them_short() -> None:
    """As it was seen: starting a thread took 3.5 ms, as it waited for a processor; else 20 us."""
    beside = [batch(16, 3.7e6), batch(16, 0.97e6), *[batch(1, 3.5e6, switches=1)] * 4]
    work = work_after(pilot(beside, threads=2), Kind.BATCH, SECONDS)
    assert work.iterations == round(WAITING_NS / (2 * 3.7e6 / 16))  # the second quickest may be a neighbour's
    assert work.beside_threads
    assert work.warmup == work.iterations
    late = [*[batch(150, 3e6, switches=1)] * 2, *[batch(147, 5e8, switches=1)] * 3]
    assert work_after(pilot(late, threads=2), Kind.BATCH, SECONDS).iterations == 147
    long = [*[batch(1, 2e7, switches=1)] * 2, *[batch(1, 6e7, switches=1)] * 3]
    assert work_after(pilot(long, threads=2), Kind.BATCH, SECONDS).iterations == 1
    alone = [batch(16, 3.2e5), *[batch(156, 3e6, switches=1)] * 4]
    assert work_after(pilot(alone, threads=2), Kind.BATCH, SECONDS).iterations == 156
    dear = [batch(1, 6e8, switches=1)] * 3
    assert work_after(pilot(dear, threads=2), Kind.BATCH, SECONDS).iterations == 1
    assert not work_after(pilot(timed(250.0, 250.0)), Kind.BATCH, SECONDS).beside_threads
