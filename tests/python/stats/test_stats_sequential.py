"""The confidence sequence holds its level however early it is looked at, and decides as it says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from pair_noise import SCENARIOS, corrected_pairs_of, first_is_faster, ordered_pairs_of, pairs_of, stopped
from scipy.stats import binom
from simulate import assert_covers

from tollbench.stats import equivalence
from tollbench.stats.sequential import (
    FIRST_PAIRS,
    MedianSequence,
    SignBoundary,
    fewest_pairs,
    look_due,
    spent,
    without_order,
)


def enumerated_crossing(looks: list[tuple[int, int]]) -> float:
    """P(a fair coin's walk leaves the ranks at any look), by trying every sequence of coins."""
    last = looks[-1][0]
    crossing = 0
    for coins in itertools.product((0, 1), repeat=last):
        walk = list(itertools.accumulate(coins))
        crossing += any(
            rank >= 0 and (walk[pairs - 1] <= rank or walk[pairs - 1] >= pairs - rank)
            for pairs, rank in looks
        )
    return crossing / 2**last


def test_the_boundary_spends_what_it_says() -> None:
    boundary = SignBoundary(0.3, power=1.0)
    looks = [(pairs, boundary.ranks(pairs, last=pairs == 16)) for pairs in (6, 7, 9, 12, 16)]
    assert any(rank >= 0 for _, rank in looks[:3])
    assert boundary.crossed == pytest.approx(enumerated_crossing(looks), abs=1e-12)
    assert boundary.crossed <= 0.3


@pytest.mark.parametrize("alpha", [0.05, 0.005, 0.0005])
def test_one_look_is_the_sign_test(alpha: float) -> None:
    for pairs in (6, 13, 40, 141):
        rank = SignBoundary(alpha).ranks(pairs, last=True)
        expected = int(np.count_nonzero(2 * binom.cdf(np.arange(pairs // 2 + 1), pairs, 0.5) <= alpha)) - 1
        assert rank == expected


@pytest.mark.parametrize("power", [0.1, 0.3, 1.0])
def test_no_more_than_alpha_is_ever_spent(power: float) -> None:
    boundary = SignBoundary(0.05, power)
    for pairs in range(6, 400, 7):
        boundary.ranks(pairs)
        assert boundary.crossed <= 0.05 * spent(pairs / 5, power) + 1e-12
    assert boundary.crossed > 0.015
    boundary.ranks(400, last=True)
    assert 0.04 < boundary.crossed <= 0.05


def test_each_doubling_spends_the_same_share_of_what_is_left() -> None:
    left = [1.0 - spent(multiple) for multiple in (0.5, 1, 2, 4, 8, 16)]
    assert left[:2] == [1.0, 1.0]
    assert [later / before for before, later in itertools.pairwise(left[1:])] == pytest.approx([2**-0.3] * 4)


def test_a_longer_budget_makes_no_verdict_slower() -> None:
    """Alpha that was spent by the share of the budget gave 25 pairs of 300 and 29 of 1,000."""
    medians = []
    for pairs in (120, 480, 1920):
        logs = np.random.default_rng(9).normal(0.01, 0.01, (400, 1920))[:, :pairs]
        ends = stopped(logs, 0.05, 0.01, worst_case=0.0)
        medians.append(np.median(ends.pairs))
    assert medians[0] == medians[1] == medians[2] <= 20


def test_pairs_cannot_become_fewer() -> None:
    boundary = SignBoundary(0.05)
    boundary.ranks(10)
    with pytest.raises(ValueError, match="9 pairs after 10"):
        boundary.ranks(9)


def test_the_interval_narrows_and_an_impossible_one_is_begun_anew() -> None:
    rng = np.random.default_rng(4)
    sequence = MedianSequence(0.05)
    logs = list(rng.normal(0.0, 0.01, 60))
    first = sequence.look(logs[:40])
    second = sequence.look(logs)
    assert first.low <= second.low < second.high <= first.high
    moved = sequence.look(logs + [0.5] * 200, last=True)
    assert moved.low > second.high


def test_what_all_values_say_lies_in_what_is_told_of_them() -> None:
    """Also where an early look says more than later values do: "+0.2 %, 0.3 to 1.2 %" was printed."""
    rng = np.random.default_rng(5)
    taken_back = 0
    for _ in range(300):
        sequence = MedianSequence(0.05)
        logs = np.concatenate([rng.normal(0.01, 0.01, 30), rng.normal(0.0, 0.01, 170)])
        lows = []
        for pairs in (12, 24, 48, 96, 200):
            found = sequence.look(logs[:pairs], last=pairs == 200)
            assert found.low <= np.median(logs[:pairs]) <= found.high
            lows.append(found.low)
        taken_back += any(later < before for before, later in itertools.pairwise(lows))
    assert taken_back > 30


def test_without_enough_pairs_the_interval_is_open() -> None:
    assert MedianSequence(0.05).look([0.1] * 5, last=True) == (-math.inf, math.inf)
    assert MedianSequence(0.05).look([0.1] * 6, last=True) == (0.1, 0.1)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.0005, 0.05 / 400])
def test_the_fewest_pairs_are_the_fewest(alpha: float) -> None:
    pairs = fewest_pairs(alpha)
    assert SignBoundary(alpha).ranks(pairs, last=True) >= 0
    assert SignBoundary(alpha).ranks(pairs - 1, last=True) < 0 or pairs == FIRST_PAIRS


def test_looks_become_rarer() -> None:
    looks, looked_at = [], 0
    for pairs in range(1, 200):
        if look_due(pairs, looked_at):
            looks.append(pairs)
            looked_at = pairs
    assert looks[:6] == [6, 7, 9, 11, 13, 15]
    assert len(looks) < 26


@pytest.mark.parametrize("effect", [0.0, 0.02])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_intervals_cover_under_early_stopping(scenario: str, effect: float) -> None:
    for of in (pairs_of, corrected_pairs_of):
        logs = of(np.random.default_rng(11), SCENARIOS[scenario], 1000, 120, effect)
        assert_covers(stopped(logs, 0.05, 0.01).covered(effect), 1000, 0.95)
        assert_covers(stopped(logs, 0.05, 0.01, worst_case=effect).covered(effect), 1000, 0.95)


def test_being_first_fails_no_gate() -> None:
    """Uncorrected, 2 % of comparisons of equal sides would: more than a gate may."""
    rng = np.random.default_rng(12)
    plain = stopped(pairs_of(rng, first_is_faster, 4000, 300, 0.0), 0.05, 0.01)
    assert plain.called_regression(0.01) > 40
    logs, first_led = ordered_pairs_of(rng, first_is_faster, 4000, 300, 0.0)
    assert stopped(logs, 0.05, 0.01).called_regression(0.01) >= 4  # the first pairs, of one order
    corrected = stopped(logs, 0.05, 0.01, first_led=first_led)
    assert corrected.called_regression(0.01) < 4
    assert np.median(corrected.pairs) < 60


def test_no_end_lies_beyond_the_pairs_of_the_rarer_order() -> None:
    logs = [0.04] * 11 + [-0.04]
    assert MedianSequence(0.05).look(logs, last=True, rarer=6) == MedianSequence(0.05).look(logs, last=True)
    assert MedianSequence(0.05).look(logs, last=True).low == 0.04
    assert MedianSequence(0.05).look(logs, last=True, rarer=1) == (-math.inf, math.inf)


def test_what_coming_first_does_is_taken_out_however_much_the_sides_differ() -> None:
    led = np.arange(40) % 3 == 0
    logs = 0.7 + np.where(led, 0.05, -0.05)
    corrected = without_order(logs, led)
    assert corrected[:6] == pytest.approx(logs[:6])
    assert corrected[10:] == pytest.approx(0.7)
    assert without_order(-logs, ~led) == pytest.approx(-corrected)


def test_no_pair_corrects_itself() -> None:
    rng = np.random.default_rng(3)
    logs, led = rng.normal(size=50), rng.random(50) < 0.5
    changed = logs.copy()
    changed[30] += 9.0
    before, after = without_order(logs, led), without_order(changed, led)
    assert (after[:30] == before[:30]).all()
    assert after[30] == pytest.approx(before[30] + 9.0)


def test_the_same_game_with_the_plain_sign_test_at_each_look_does_not_cover() -> None:
    """What the simulation above is able to see."""
    logs = pairs_of(np.random.default_rng(11), SCENARIOS["normal"], 1000, 120, 0.0)
    missed = np.zeros(1000, dtype=bool)
    looked_at = 0
    for count in range(1, 121):
        if look_due(count, looked_at):
            looked_at = count
            ordered, rank = np.sort(logs[:, :count], axis=1), SignBoundary(0.05).ranks(count, last=True)
            missed |= (ordered[:, rank] > 0) | (ordered[:, -1 - rank] < 0)
    assert missed.mean() > 0.12


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.01, 0.02])
def test_coverage_and_power_of_ten_thousand_comparisons(
    effect: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables of docs/compare-method.md: `pytest -m slow -s` of this file."""
    trials = 10_000
    for number, (name, draw) in enumerate(SCENARIOS.items()):
        rng = np.random.default_rng((number, 7))
        logs, first_led = ordered_pairs_of(rng, draw, trials, 300, effect)
        ends = stopped(logs, 0.05, 0.01, first_led=first_led)
        harsh = stopped(logs, 0.05, 0.01, worst_case=effect, first_led=first_led)
        with capsys.disabled():
            print(
                f"\n| {name} | {effect:.0%}"
                f" | {ends.covered(effect) / trials:.1%}"
                f" | {harsh.covered(effect) / trials:.1%} | {ends.called_different() / trials:.1%}"
                f" | {ends.called_regression(0.01) / trials:.1%} | {np.median(ends.pairs):.0f} |",
                end="",
            )
        assert_covers(ends.covered(effect), trials, 0.95)
        assert_covers(harsh.covered(effect), trials, 0.95)


@pytest.mark.parametrize(
    ("low", "high", "direction", "beyond", "equivalent", "known", "estimated"),
    [
        (0.02, 0.03, 1, 1, False, True, True),  # slower, beyond
        (0.02, 0.09, 1, 1, False, True, False),  # by how much is open
        (0.001, 0.004, 1, 0, True, True, True),  # slower, within
        (0.002, 0.03, 1, 0, False, False, False),  # slower; it may be by three thresholds
        (0.002, 0.02, 1, 0, False, True, False),  # slower; beyond or not is open
        (0.006, 0.0155, 1, 0, False, True, True),  # slower, known well enough on the margin itself
        (-0.03, -0.02, -1, -1, False, True, True),
        (-1.08, -0.0212, -1, -1, False, True, False),  # "-66 % to -2.1 %"
        (-0.09, -0.001, -1, 0, False, True, False),
        (-0.004, 0.004, 0, 0, True, True, True),
        (-0.004, 0.02, 0, 0, False, False, False),
        (-math.inf, math.inf, 0, 0, False, False, False),
        (0.02, math.inf, 1, 1, False, True, False),
    ],
)
def test_what_an_interval_says(
    low: float, high: float, direction: int, beyond: int, equivalent: bool, known: bool, estimated: bool
) -> None:
    assert equivalence.direction(low, high) == direction
    assert equivalence.beyond(low, high, 0.01) == beyond
    assert equivalence.equivalent(low, high, 0.01) is equivalent
    assert equivalence.direction_settled(low, high, 0.01) is known
    assert equivalence.estimate_settled(low, high, 0.01) is estimated


@pytest.mark.parametrize(
    ("ratios", "worth"),
    [
        ((0.56, 0.64), True),  # -40 %, known to 4 points
        ((0.55, 0.65), False),
        ((1.018, 1.038), True),  # a tenth of 2.8 % is less than the threshold
        ((1.017, 1.040), False),
        ((2.83, 3.17), True),  # +200 %
        ((1e-4, 5e-4), False),  # 2,000 to 10,000 times as fast: no point of the time, and nothing known
        ((1.9e-4, 2.1e-4), True),
        ((1e300, 1.1e300), True),
        ((1e300, 1e302), False),
    ],
)
def test_what_is_worth_printing(ratios: tuple[float, float], worth: bool) -> None:
    assert equivalence.worth_printing(math.log(ratios[0]), math.log(ratios[1]), 0.01) is worth


def test_the_direction_is_known_long_before_the_size() -> None:
    """At a true change of the threshold, with as much noise in a pair."""
    logs = np.random.default_rng(21).normal(math.log(1.01), 0.01, (1000, 600))
    known = stopped(logs, 0.05, 0.01, settled=equivalence.direction_settled)
    assert np.median(known.pairs) <= 34
    assert known.called_different() >= 970
    size = stopped(logs, 0.05, 0.01)
    assert np.median(known.pairs) < np.median(size.pairs) < 100
    assert np.median(size.high - size.low) <= 0.01


def test_a_speed_up_of_forty_per_cent_is_not_told_as_two_to_sixty_six() -> None:
    """As soon as the direction was known, half of the intervals were wider than 12 points."""
    logs = np.random.default_rng(22).normal(math.log(0.6), 0.25, (500, 400))
    gate = stopped(logs, 0.05, 0.01, settled=equivalence.direction_settled)
    told = stopped(logs, 0.05, 0.01)
    wide, fine = (np.exp(ends.high) - np.exp(ends.low) for ends in (gate, told))
    assert np.median(wide) > 0.2
    assert (fine <= 0.1).mean() > 0.95  # effects are seen as 32 to 48 %, so a tenth of one varies
    assert_covers(told.covered(math.log(0.6)), 500, 0.95)


def test_the_bound_is_the_larger_end() -> None:
    assert equivalence.bound(-0.03, 0.01) == pytest.approx(math.expm1(0.03))
    assert equivalence.bound(-math.inf, 0.01) == math.inf
