"""The way of launching that tells a ratio soonest is found, and the finding favours no side."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from tollbench.compare.ways import FIRST_PAIRS, WAYS, WHOLE, Way, Ways
from tollbench.stats.sequential import MedianSequence, look_due

TURNS = Way(in_turns=True, stretch=3)


def seconds_of(way: Way) -> float:
    """What a pair costs: two starts, and repetitions."""
    return 0.012 + 0.005 * way.stretch


def measured(
    ways: Ways, noise: dict[Way, float], pairs: int, seed: int, *, longer: float = 0.0
) -> tuple[Counter[Way], list[float]]:
    """Pairs of equal sides with Cauchy-like tails; in turns `longer` is added to the log time of both."""
    rng, chance = random.Random(seed), np.random.default_rng(seed)
    chosen: Counter[Way] = Counter()
    logs = []
    for _ in range(pairs):
        way = ways.choose(rng)
        chosen[way] += 1
        first, second = noise[way] * chance.standard_t(2, size=2) + (longer if way.in_turns else 0.0)
        ways.took(way, [100.0 * math.exp(first), 100.0 * math.exp(second)], 0.02 * way.stretch)
        logs.append(second - first)
    return chosen, logs


def test_each_way_has_its_first_pairs() -> None:
    chosen, _ = measured(Ways(), dict.fromkeys(WAYS, 0.01), FIRST_PAIRS * len(WAYS), 1)
    assert chosen == dict.fromkeys(WAYS, FIRST_PAIRS)


@pytest.mark.parametrize("best", WAYS)
def test_the_least_noise_in_a_second_has_most_of_the_time(best: Way) -> None:
    """Half the noise of the others in the same time: how much is known, beside the best way alone.

    All ways alike would know 25 + 75 / 4 = 44 %.
    """
    noise = {way: (0.01 if way is best else 0.02) / math.sqrt(way.stretch) for way in WAYS}
    known = {}
    for pairs in (100, 300):
        chosen = [measured(Ways(), noise, pairs, seed)[0] for seed in range(30)]
        known[pairs] = [
            sum(count * way.stretch * (1.0 if way is best else 0.25) for way, count in counts.items())
            / sum(count * way.stretch for way, count in counts.items())
            for counts in chosen
        ]
    assert np.mean(known[100]) > 0.55
    assert np.mean(known[300]) > 0.75
    assert np.quantile(known[300], 0.1) > 0.5  # a bad start is forgotten


def test_the_choice_favours_no_side() -> None:
    """Of 400 comparisons of equal sides as many miss the truth as may: ways differ by a factor of five."""
    noise = dict(zip(WAYS, (0.05, 0.02, 0.01, 0.03), strict=True))
    missed = 0
    for seed in range(400):
        sequence, looked_at = MedianSequence(0.05), 0
        _, logs = measured(Ways(), noise, 60, seed)
        for pairs in range(1, 61):
            if look_due(pairs, looked_at):
                sequence.look(logs[:pairs], last=pairs == 60)
                looked_at = pairs
        missed += not sequence.bounds.low <= 0.0 <= sequence.bounds.high
    assert missed <= 31  # 20 expected at most; more in one of a hundred such tests


def test_what_turns_cost_the_benchmark_itself_is_found() -> None:
    ways = Ways()
    measured(ways, dict.fromkeys(WAYS, 0.01), 60, 3, longer=0.15)
    assert "takes" in ways.moved()
    assert "longer" in ways.moved()
    ways.keep_whole()
    assert not ways.in_turns
    assert not ways.moved()
    assert all(not ways.choose(random.Random(seed)).in_turns for seed in range(20))


@pytest.mark.parametrize("longer", [0.0, 0.02, -0.6])
def test_a_busy_machine_moves_nothing(longer: float) -> None:
    """The wall's clock sees what neighbours take, the CPU clock does not: less time in turns is no reason."""
    told = 0
    for seed in range(100):
        ways = Ways()
        measured(ways, dict.fromkeys(WAYS, 0.02), 40, seed, longer=longer)
        told += bool(ways.moved())
    assert told <= 2


def test_without_a_pair_there_is_nothing_to_learn() -> None:
    ways = Ways([WHOLE, TURNS])
    ways.took(TURNS, [1.0], 1.0)
    assert ways.choose(random.Random(1)) in (WHOLE, TURNS)
    assert not ways.moved()


def test_pairs_count_from_then_on_when_a_side_is_out() -> None:
    """Of three sides one failed after the first pair: no later one was learned from."""
    ways, rng = Ways([WHOLE, TURNS]), random.Random(2)
    ways.took(WHOLE, [100.0, 101.0, 99.0], 0.02)
    chance = np.random.default_rng(2)
    for _ in range(60):
        way = ways.choose(rng)
        noise = 0.001 if way is WHOLE else 0.05
        ways.took(way, (100.0 * np.exp(noise * chance.normal(size=2))).tolist(), 0.02)
    assert Counter(ways.choose(rng) for _ in range(50))[WHOLE] == 50


def test_what_turns_cost_one_side_alone_is_found() -> None:
    """The ratio itself tells: by 5 % in turns, by nothing otherwise; noise as of short launches."""
    rng, chance = random.Random(4), np.random.default_rng(4)
    found, fair = 0, 0
    for _ in range(30):
        for unfair in (0.05, 0.0):
            ways = Ways()
            for _ in range(80):
                way = ways.choose(rng)
                first, second = 0.008 * chance.standard_t(3, size=2)
                cost = unfair if way.in_turns else 0.0
                values = [100.0 * math.exp(first), 100.0 * math.exp(second + cost)]
                ways.took(way, values, seconds_of(way))
            found += bool(ways.moved()) and unfair > 0.0
            fair += bool(ways.moved()) and unfair == 0.0
    assert found >= 27
    assert fair <= 1


def test_sides_that_differ_by_much_are_no_noise() -> None:
    """Of three: the third takes twice as long, and the way is found as well as between two."""
    noise = {way: 0.002 if way.in_turns else 0.02 for way in WAYS}
    rng, chance = random.Random(5), np.random.default_rng(5)
    ways, chosen = Ways(), Counter[bool]()
    for _ in range(120):
        way = ways.choose(rng)
        chosen[way.in_turns] += 1
        logs = noise[way] * chance.standard_t(3, size=3) + [0.0, 0.0, 0.7]
        ways.took(way, (100.0 * np.exp(logs)).tolist(), 0.02 * way.stretch)
    assert chosen[True] > 0.7 * 120
