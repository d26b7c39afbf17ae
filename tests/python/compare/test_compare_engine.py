"""The engine with sides that need no process and a clock that stands still."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fake_sides import FakeClock, FakeSubject, steady

from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    Verdict,
    before_confirming,
    compare,
    confirm,
    judging,
)
from tollbench.compare.evidence import Evidence
from tollbench.compare.subject import Standing, Two, Until
from tollbench.compare.tracks import Track
from tollbench.compare.verdict_sentences import sentence
from tollbench.errors import TollError
from tollbench.launching.failure import Interrupted
from tollbench.report.comparisons.comparison_lines import footnotes, lines
from tollbench.stats.equivalence import threshold_settled
from tollbench.stats.sequential import Bounds

FOUND: dict[str, Any] = {
    "kind": "fake",
    "sides": ["old", "new"],
    "level": 0.95,
    "threshold": 0.01,
    "seconds": 1.0,
}
SCHEMA = Path(__file__).parents[3] / "schemas/compare.schema.json"


def run(subject: FakeSubject, **settings: Any) -> Comparisons:
    return compare(subject, ComparisonSettings(seed=3, **settings), clock=subject.clock)


def only(found: Comparisons) -> Comparison:
    assert len(found.comparisons) == 1
    return found.comparisons[0]


def pair(ratio: float, spread: float = 0.01, **more: Any) -> FakeSubject:
    return FakeSubject(FakeClock(), {"sum": (steady(100.0, spread), steady(100.0 * ratio, spread))}, **more)


@pytest.mark.parametrize(
    ("ratio", "verdict", "regression"),
    [
        (1.05, Verdict.SLOWER, True),
        (0.95, Verdict.FASTER, False),
        (1.0, Verdict.NO_DIFFERENCE, False),
        (1.006, Verdict.SLOWER, False),
    ],
)
def test_each_verdict(ratio: float, verdict: Verdict, regression: bool) -> None:
    item = only(run(pair(ratio)))
    assert item.verdict is verdict
    assert item.regression is regression
    assert item.low is not None
    assert item.high is not None
    assert item.low <= ratio <= item.high


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1e-320, 1e-160, 9e-7, 10.0, math.nan])
def test_a_threshold_that_nothing_can_be_held_against_is_refused(threshold: float) -> None:
    with pytest.raises(TollError, match="the threshold has a value that no comparison can be made with"):
        ComparisonSettings(threshold=threshold).check()


@pytest.mark.parametrize("log", [720.0, -746.0, math.inf, -math.inf])
def test_an_end_that_no_number_says_is_none(log: float) -> None:
    """Noise that lasts widens an interval up to twenty times: of times without sense, to more than e^709."""
    assert judging._end(log) is None
    assert judging._end(0.01) == math.exp(0.01)


def test_the_sentence_and_the_table_say_the_same() -> None:
    item = only(run(pair(0.5)))
    assert item.low is not None
    assert item.high is not None
    assert item.reason == f"faster by {100 - 100 * item.high:.0f} % to {100 - 100 * item.low:.0f} %"


def test_the_sentence_of_a_huge_change_counts_times() -> None:
    for ratio in (2_000.0, 50_000.0):
        assert re.fullmatch(r"slower by [\d,.]+ to [\d,.]+ times", only(run(pair(ratio))).reason)


def test_pairs_are_corrected_as_they_come_as_they_would_be_at_the_end() -> None:
    coin = random.Random(3)
    growing = Track("one", {})
    for count in (1, 5, 7, 2, 40, 0, 61):
        for _ in range(count):
            first = coin.random() < 0.5
            cost = [1.0, 1.04] if first else [1.04, 1.0]
            growing.values.append([each * coin.uniform(0.9, 1.1) for each in cost])
            growing.orders.append([0, 1] if first else [1, 0])
        whole = Track("one", {}, values=growing.values, orders=growing.orders)
        assert growing.logs(Two(0, 1)) == whole.logs(Two(0, 1))


def test_it_stops_when_the_answer_is_known() -> None:
    large, small = pair(2.0), pair(1.025)
    run(large)
    run(small)
    assert len(large.rounds) <= 15 < len(small.rounds) < 60


def test_the_direction_ends_sooner_than_an_estimate() -> None:
    gate, told = pair(0.6, spread=0.15), pair(0.6, spread=0.15)
    known = only(run(gate, until=Until.DIRECTION))
    size = only(run(told))
    assert known.verdict is size.verdict is Verdict.FASTER
    assert 2 * len(gate.rounds) < len(told.rounds)
    assert size.low is not None
    assert size.high is not None
    assert size.high - size.low < 0.1


def test_it_stops_when_the_budget_is_spent() -> None:
    subject = pair(1.0, spread=0.2)
    item = only(run(subject, budget_s=5.0))
    assert item.verdict is Verdict.INCONCLUSIVE
    assert subject.clock.ns <= 5e9
    assert item.seconds == pytest.approx(5.0, abs=0.2)
    assert "remains possible" in item.reason


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.59, 1.14, "41 %"), (0.95, 1.14, "14 %"), (0.98, 1.0, "2.0 %"), (0.02, 1.14, "4,900 %")],
)
def test_an_open_row_tells_the_difference_of_its_interval(low: float, high: float, told: str) -> None:
    """As the table writes it: what is 41 % less one way is 70 % more the other way."""
    evidence = Evidence(middle=0.0, pairs=20, fewest=6)
    reason = sentence(Verdict.INCONCLUSIVE, Bounds(math.log(low), math.log(high)), 0.01, evidence)
    assert reason.startswith(f"a difference of up to {told} remains possible")


def test_an_open_row_tells_how_much_more_time_would_do() -> None:
    """And with so much more it is known."""
    forecasts = []
    for seed in range(12):
        subject = pair(1.0, spread=0.03)
        settings = ComparisonSettings(seed=seed, budget_s=8.0)
        item = only(compare(subject, settings, clock=subject.clock))
        if item.verdict is not Verdict.INCONCLUSIVE or item.lasting is not None:
            continue
        told = re.search(r"; ± 1\.0 % needs about (\d+) (s|min) more: `--budget (\d+)(s|m)`", item.reason)
        assert told is not None, item.reason
        assert item.forecast_s is not None
        budget_s = int(told[3]) * (60 if told[4] == "m" else 1)
        assert item.seconds + item.forecast_s <= budget_s
        subject = pair(1.0, spread=0.03)
        settings = ComparisonSettings(seed=seed, budget_s=2.0 * budget_s, total_s=1e5)
        again = only(compare(subject, settings, clock=subject.clock))
        assert again.verdict is not Verdict.INCONCLUSIVE
        forecasts.append(again.seconds / (item.seconds + item.forecast_s))
    assert len(forecasts) >= 6
    assert 0.3 < sorted(forecasts)[len(forecasts) // 2] < 2.0


def test_where_the_time_for_all_was_short_a_forecast_says_that() -> None:
    names = {f"b{index}": (steady(1.0, 0.05), steady(1.0, 0.05)) for index in range(10)}
    found = run(FakeSubject(FakeClock(), names), total_s=60.0)
    told = [re.search(r"--total-budget (\d+)(m|h|s)`", item.reason) for item in found.comparisons]
    assert all(told)


def test_values_and_change_of_a_row_agree() -> None:
    """The medians of the sides have another ratio than the median of the pairs."""
    item = only(run(pair(1.02, spread=0.05), budget_s=5.0))
    assert item.a_ns is not None
    assert item.b_ns is not None
    assert item.ratio is not None
    assert item.b_ns / item.a_ns != pytest.approx(item.ratio, rel=1e-4)
    assert item.b_agreeing_ns == pytest.approx(item.a_ns * item.ratio)
    shown = lines(Comparisons(**FOUND | {"comparisons": [item]}))[0]
    first, second = (text.split()[0] for text in (shown.a_time, shown.b_time))
    last_digit = 10.0 ** -len(first.partition(".")[2])  # both are rounded by half of it at most
    assert float(second) / float(first) == pytest.approx(item.ratio, abs=1.1 * last_digit / float(first))
    assert last_digit / float(first) < 0.02


def test_too_few_pairs_are_no_interval() -> None:
    item = only(run(pair(3.0, round_s=10.0), budget_s=40.0))
    assert (item.verdict, item.low, item.high) == (Verdict.INCONCLUSIVE, None, None)
    assert item.reason.startswith("4 pairs of launches fitted into the time; at least 6 are needed")
    assert item.ratio == pytest.approx(3.0, rel=0.1)


def test_a_wider_threshold_is_reached_sooner() -> None:
    tight, wide = pair(1.0), pair(1.0)
    run(tight, threshold=0.01)
    item = only(run(wide, threshold=0.05))
    assert len(wide.rounds) < len(tight.rounds)
    assert item.reason.startswith("no difference larger than")


def test_every_benchmark_gets_its_share_of_the_total() -> None:
    names = {f"b{index}": (steady(1.0, 0.3), steady(1.0, 0.3)) for index in range(20)}
    subject = FakeSubject(FakeClock(), names, together=4)
    found = run(subject, total_s=60.0)
    seconds = [item.seconds for item in found.comparisons]
    assert 50 < subject.clock.ns / 1e9 <= 60.1
    assert max(seconds) < 1.2 * min(seconds)


def test_time_that_one_leaves_over_goes_to_the_others() -> None:
    names = {f"b{index}": (steady(1.0), steady(9.0)) for index in range(9)}
    names["noisy"] = (steady(1.0, 0.3), steady(1.0, 0.3))
    found = run(FakeSubject(FakeClock(), names), total_s=40.0)
    noisy = next(item for item in found.comparisons if item.benchmark == "noisy")
    assert noisy.seconds > 8.0


def test_the_level_is_shared_by_all_comparisons() -> None:
    two = {"x": (steady(1.0),) * 3, "y": (steady(1.0),) * 3}
    labels = ("a", "b", "c")
    found = run(FakeSubject(FakeClock(), two, labels))
    assert len(found.comparisons) == 4
    assert [item.level for item in found.comparisons] == pytest.approx([1 - 0.05 / 4] * 4)
    alone = run(FakeSubject(FakeClock(), two, labels), corrected=False)
    assert [item.level for item in alone.comparisons] == pytest.approx([0.95] * 4)


def test_false_alarms_stay_below_the_level() -> None:
    alarms = 0
    for seed in range(200):
        subject = pair(1.0, spread=0.03, round_s=0.5)
        found = compare(subject, ComparisonSettings(seed=seed, budget_s=20.0), clock=subject.clock)
        alarms += only(found).verdict in (Verdict.SLOWER, Verdict.FASTER)
    assert alarms <= 18  # 10 are expected at most; more than 18 happen once in 100


def lasting(ns: float, correlation: float, spread: float) -> Callable[[random.Random], float]:
    """A benchmark with a neighbour of its own: its noise lasts from launch to launch."""
    state = [0.0]

    def once(rng: random.Random) -> float:
        state[0] = correlation * state[0] + math.sqrt(1.0 - correlation**2) * rng.gauss(0.0, spread)
        return ns * math.exp(state[0])

    return once


def test_a_neighbour_of_one_side_alone_is_no_difference_and_is_told() -> None:
    alarms, told = 0, 0
    for seed in range(40):
        subject = FakeSubject(FakeClock(), {"sum": (steady(100.0, 1e-4), lasting(100.0, 0.9, 0.02))})
        item = only(compare(subject, ComparisonSettings(seed=seed, budget_s=20.0), clock=subject.clock))
        alarms += item.verdict in (Verdict.SLOWER, Verdict.FASTER)
        told += "noise lasts from pair to pair (correlation 0." in item.reason
        assert (item.lasting is not None) == ("noise lasts" in item.reason)
    assert alarms <= 6
    assert told >= 36


def sometimes(ns: float, slower: float, share: float) -> Callable[[random.Random], float]:
    """A benchmark some of whose launches take longer."""
    return lambda rng: ns * rng.gauss(1.0, 0.01) * (slower if rng.random() < share else 1.0)


def test_a_slow_minority_is_not_called_no_difference() -> None:
    """By the median alone it was in 85 % of trials."""
    equal, told = 0, 0
    for seed in range(60):
        subject = FakeSubject(FakeClock(), {"sum": (steady(100.0), sometimes(100.0, 1.2, 0.3))})
        item = only(compare(subject, ComparisonSettings(seed=seed, budget_s=30.0), clock=subject.clock))
        equal += item.verdict is Verdict.NO_DIFFERENCE
        told += item.shapes_differ
        assert item.shapes_differ == ("the mean changed by" in item.reason)
    assert equal <= 3
    assert told >= 54


@pytest.mark.parametrize(
    ("ratio", "spread", "verdict"), [(1.03, 0.01, Verdict.SLOWER), (1.0, 0.002, Verdict.NO_DIFFERENCE)]
)
def test_few_pairs_that_the_budget_ends_say_what_they_could_not_show(
    ratio: float, spread: float, verdict: Verdict
) -> None:
    item = only(run(pair(ratio, spread, round_s=5.0), budget_s=60.0))
    assert item.verdict is verdict
    assert item.reason.endswith("; 12 pairs could not show noise of one side that lasts")


def test_a_difference_within_the_threshold_that_is_certain_has_nothing_hidden() -> None:
    item = only(run(pair(1.006, spread=1e-5, round_s=5.0), budget_s=60.0))
    assert (item.verdict, item.launches < 30) == (Verdict.SLOWER, True)
    assert "could not show" not in item.reason


def test_being_first_is_no_difference() -> None:
    """Uncorrected, the interval is 8 % wide and nothing is ever settled, but for false alarms."""
    same = 0
    for seed in range(40):
        subject = pair(1.0, spread=0.0005, first_gains=0.04)
        found = only(compare(subject, ComparisonSettings(seed=seed, budget_s=6.0), clock=subject.clock))
        same += found.verdict is Verdict.NO_DIFFERENCE
    assert same >= 36


def test_a_failing_side_ends_its_row_and_no_other() -> None:
    both = {"good": (steady(1.0), steady(2.0)), "bad": (steady(1.0), steady(1.0))}
    breaks = {("bad", number): "crashed with SIGSEGV" for number in range(1, 99)}
    subject = FakeSubject(FakeClock(), both, breaks=breaks)
    rows = {item.benchmark: item for item in run(subject).comparisons}
    assert rows["good"].verdict is Verdict.SLOWER
    assert rows["bad"].verdict is Verdict.FAILED
    assert rows["bad"].reason == "new crashed with SIGSEGV"
    assert rows["bad"].ratio is None


def test_with_three_sides_one_that_fails_leaves_the_others() -> None:
    subject = FakeSubject(
        FakeClock(),
        {"sum": (steady(1.0), steady(1.5), steady(1.0))},
        ("a", "b", "c"),
        breaks={("sum", 5): "exited with code 3"},
    )
    found = run(subject)
    assert [item.verdict for item in found.comparisons] == [Verdict.SLOWER, Verdict.FAILED]


def test_an_interrupt_reports_what_is_known() -> None:
    found = run(pair(1.5, interrupt_after=8))
    assert found.interrupted
    assert only(found).verdict is Verdict.SLOWER
    assert only(found).launches == 8


def test_sides_that_cannot_be_asked_are_a_row() -> None:
    item = only(run(pair(1.0, unusable="./b crashed with SIGILL")))
    assert (item.benchmark, item.verdict, item.reason) == ("*", Verdict.FAILED, "./b crashed with SIGILL")


def test_what_one_side_lacks_is_listed() -> None:
    found = run(pair(1.0, missing={"gone": ("new",)}))
    assert [(item.benchmark, item.missing_in) for item in found.lacking] == [("gone", ("new",))]


def test_two_of_three_sides_are_compared_where_the_third_lacks_a_benchmark() -> None:
    sides = (steady(1.0), steady(1.5), steady(1.0))
    subject = FakeSubject(
        FakeClock(),
        {"all": sides, "two": sides},
        ("a", "b", "c"),
        missing={"two": ("c",), "none": ("a", "b")},
    )
    found = run(subject)
    assert [(item.benchmark, item.b, item.verdict) for item in found.comparisons] == [
        ("all", "b", Verdict.SLOWER),
        ("all", "c", Verdict.NO_DIFFERENCE),
        ("two", "b", Verdict.SLOWER),
    ]
    assert [item.level for item in found.comparisons] == pytest.approx([1 - 0.05 / 3] * 3)
    again = confirm(found, subject, ComparisonSettings(seed=4), clock=subject.clock)
    assert [item.verdict for item in again.comparisons] == [item.verdict for item in found.comparisons]
    told = footnotes(found)
    assert "two is missing in c and was not compared there." in told
    assert "none is missing in a, b and was not compared." in told


def test_notes_are_part_of_the_reason_in_the_row_of_their_side() -> None:
    subject = FakeSubject(FakeClock(), {"noted": (steady(1.0),) * 3}, ("a", "b", "c"))
    reasons = [item.reason for item in run(subject).comparisons]
    assert [reason.rpartition("; ")[2] for reason in reasons] == [
        "noted was noted of b",
        "noted was noted of c",
    ]


def test_every_round_is_kept_before_the_next_one() -> None:
    kept: list[Mapping[str, Any]] = []
    subject = pair(1.5, interrupt_after=9)
    compare(subject, ComparisonSettings(seed=3), clock=subject.clock, keep=kept.append)
    assert len([record for record in kept if "benchmarks" in record]) == 9
    assert [record["round"] for record in kept if "values" in record] == list(range(1, 10))


def test_whoever_keeps_the_rounds_may_end_the_measuring() -> None:
    kept: list[object] = []

    def keep(record: Mapping[str, Any]) -> None:
        if len(kept) == 8 and "benchmarks" in record:
            raise Interrupted
        kept.extend([record] if "benchmarks" in record else [])

    subject = pair(1.5)
    found = compare(subject, ComparisonSettings(seed=3), clock=subject.clock, keep=keep)
    assert found.interrupted
    assert (only(found).verdict, only(found).launches) == (Verdict.SLOWER, 8)


def test_confirming_measures_again_and_later() -> None:
    subject = pair(1.05)
    first = run(subject)
    before, rounds = subject.clock.ns, len(subject.rounds)
    again = only(confirm(first, subject, ComparisonSettings(seed=4), clock=subject.clock))
    assert subject.clock.slept_s >= 20
    assert subject.clock.ns > before
    assert len(subject.rounds) > rounds
    assert again.verdict is Verdict.SLOWER
    assert again.regression
    assert again.reason.endswith("confirmed by a second measurement")
    assert again.launches == len(subject.rounds)


def test_confirming_draws_everything_anew() -> None:
    subject = pair(1.05)
    settings = ComparisonSettings(seed=3)
    first = compare(subject, settings, clock=subject.clock)
    rounds = len(subject.seeds)
    confirm(first, subject, settings, clock=subject.clock)
    assert len(subject.seeds) > rounds
    assert not set(subject.seeds[:rounds]) & set(subject.seeds[rounds:])


def test_what_is_not_found_again_is_not_believed() -> None:
    subject = pair(1.05)
    first = run(subject)
    subject.benchmarks = pair(1.0).benchmarks
    again = only(confirm(first, subject, ComparisonSettings(seed=4), clock=subject.clock))
    assert again.verdict is Verdict.INCONCLUSIVE
    assert not again.regression
    assert again.reason.startswith("not confirmed: first slower by")


def test_what_was_interrupted_before_it_was_confirmed_is_not_believed() -> None:
    subject = pair(1.5, interrupt_after=8)
    first = run(subject)
    assert only(first).regression
    again = only(confirm(first, subject, ComparisonSettings(seed=4), clock=subject.clock))
    assert (again.verdict, again.regression) == (Verdict.INCONCLUSIVE, False)
    assert again.reason.startswith("interrupted before it was confirmed: slower by")


def test_nothing_to_confirm_takes_no_time() -> None:
    subject = pair(1.0)
    first = run(subject)
    assert confirm(first, subject, ComparisonSettings(), clock=subject.clock) == first
    assert subject.clock.slept_s == 0


@pytest.mark.parametrize(
    ("total_s", "spread", "ends_s"),
    [(300.0, 0.2, 300.0), (30.0, 0.063, 20.0 + 20.0 + 5.0)],
)
def test_both_measurements_share_the_time_for_all(total_s: float, spread: float, ends_s: float) -> None:
    subject = pair(1.05, spread)
    settings = ComparisonSettings(seed=3, level=0.9999, threshold=0.05, total_s=total_s, budget_s=1e6)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    assert only(first).verdict is Verdict.SLOWER
    assert subject.clock.ns / 1e9 == pytest.approx(total_s * 2 / 3, abs=0.2)
    confirm(first, subject, settings, clock=subject.clock)
    assert subject.clock.ns / 1e9 == pytest.approx(ends_s, abs=0.4)


def test_confirming_tells_its_price_where_the_time_was_spent() -> None:
    for total_s, told in ((60.0, True), (6000.0, False)):
        names = {"known": (steady(100.0), steady(110.0)), "open": (steady(100.0, 0.2), steady(100.0, 0.2))}
        subject = FakeSubject(FakeClock(), names)
        settings = ComparisonSettings(seed=3, total_s=total_s, budget_s=1e6 if told else 20.0)
        first = compare(subject, before_confirming(settings), clock=subject.clock)
        found = confirm(first, subject, settings, clock=subject.clock)
        assert (found.confirm_power is not None) is told
        assert any("is found by both in 4" in note for note in footnotes(found)) is told


def test_both_measurements_share_what_may_err() -> None:
    subject = pair(1.05)
    settings = ComparisonSettings(seed=3, level=0.9)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    found = confirm(first, subject, settings, clock=subject.clock)
    assert only(first).level == only(found).level == pytest.approx(0.95)
    assert found.level == 0.9
    assert any("with probability 90 % or more" in note for note in footnotes(found))


def test_what_was_never_timed_takes_no_part_of_the_level_from_what_is_confirmed() -> None:
    """Of 620 benchmarks of which a change touches one, that one is as certain as by itself."""
    untouched = {f"same{index}": (steady(100.0), steady(100.0)) for index in range(619)}
    subject = FakeSubject(FakeClock(), {**pair(1.05, 0.2).benchmarks, **untouched})
    settings = ComparisonSettings(seed=3, level=0.9999, threshold=0.05, total_s=300.0, budget_s=1e6)
    code = {(name, 1): Standing(True, "the same") for name in untouched}
    once = before_confirming(settings)
    first = compare(subject, once, clock=subject.clock, look_at_code=lambda _sides: code)
    found = confirm(first, subject, settings, clock=subject.clock)
    changed = found.comparisons[0]
    assert (changed.benchmark, changed.verdict) == ("sum", Verdict.SLOWER)
    assert changed.reason.endswith("confirmed by a second measurement")
    assert changed.level == pytest.approx(0.99995)
    alone = first.model_copy(update={"comparisons": first.comparisons[:1]})
    price = confirm(alone, subject, settings, clock=subject.clock).confirm_power
    assert found.confirm_power == price is not None


def test_of_several_sides_only_what_differs_is_measured_again() -> None:
    sides = (steady(100.0), steady(100.0, 0.3), steady(110.0))
    subject = FakeSubject(FakeClock(), {"sum": sides}, ("a", "b", "c"))
    settings = ComparisonSettings(seed=3, total_s=300.0, budget_s=30.0)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    assert [item.verdict for item in first.comparisons] == [Verdict.INCONCLUSIVE, Verdict.SLOWER]
    rounds = len(subject.rounds)
    found = confirm(first, subject, settings, clock=subject.clock)
    assert found.comparisons[0] == first.comparisons[0]
    assert found.comparisons[1].reason.endswith("confirmed by a second measurement")
    assert len(subject.rounds) - rounds < rounds / 2  # nobody waits for the side that scatters


def test_a_forecast_of_either_measurement_names_the_time_for_both() -> None:
    names = {f"b{index}": (steady(1.0, 0.05), steady(1.0, 0.05)) for index in range(10)}
    subject = FakeSubject(FakeClock(), names, round_s=10.0)
    settings = ComparisonSettings(seed=3, total_s=60.0)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    told = [item.reason for item in first.comparisons if item.reason.startswith("its turn did not come")]
    assert told
    assert all(reason.endswith(": `--total-budget 120s`") for reason in told)


def test_a_forecast_of_the_second_measurement_names_more_than_the_time_there_was() -> None:
    subject = pair(1.5, 0.05)
    settings = ComparisonSettings(seed=3, total_s=24.0, budget_s=1e6)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    subject.benchmarks = pair(1.0, 0.05).benchmarks
    reason = only(confirm(first, subject, settings, clock=subject.clock)).reason
    told = re.search(r"needs about (\d+) min more: `--total-budget (\d+)m`", reason)
    assert told is not None, reason
    # A sixth of that is the least that the second measurement has, whatever the first one takes.
    assert int(told[2]) / 6.0 >= int(told[1]) - 1.0


def test_a_launch_tells_which_measurement_it_belongs_to() -> None:
    kept: list[tuple[object, object]] = []
    subject = pair(1.05)
    settings = ComparisonSettings(seed=3)

    def keep(record: Mapping[str, Any]) -> None:
        if "benchmarks" in record:
            kept.append((record["measurement"], record["round"]))

    first = compare(subject, before_confirming(settings), clock=subject.clock, keep=keep)
    rounds = len(kept)
    confirm(first, subject, settings, clock=subject.clock, keep=keep)
    assert kept[:rounds] == [(1, number + 1) for number in range(rounds)]
    assert kept[rounds:] == [(2, number + 1) for number in range(len(kept) - rounds)]


def test_an_interrupt_before_the_second_measurement_leaves_the_first_unconfirmed() -> None:
    subject = pair(1.05)
    first = run(subject)
    subject.interrupt_after = len(subject.rounds)
    again = confirm(first, subject, ComparisonSettings(seed=3), clock=subject.clock)
    assert again.interrupted
    assert (only(again).verdict, only(again).regression) == (Verdict.INCONCLUSIVE, False)
    assert only(again).reason.startswith("interrupted before it was confirmed: slower by")


def test_the_highest_level_leaves_a_half_for_confirming() -> None:
    before_confirming(ComparisonSettings(level=0.999999)).check()


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"threshold": 0.0}, {"budget_s": -1.0}, {"total_s": 0.0}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(TollError, match="no comparison can be made with"):
        run(pair(1.0), **wrong)


@pytest.mark.parametrize("level", [0.9999999999999999, 1.0 - 1e-9, 0.4, float("nan")])
def test_a_level_that_no_table_can_keep_is_refused(level: float) -> None:
    with pytest.raises(TollError, match=r"the level has .* it can be 0\.5 to 0\.999999$"):
        run(pair(1.0), level=level)


def test_the_highest_level_can_be_shared_by_many() -> None:
    two = {f"b{index}": (steady(1.0), steady(1.5)) for index in range(100)}
    found = run(FakeSubject(FakeClock(), two, together=100), level=0.999999)
    assert {item.verdict for item in found.comparisons} == {Verdict.SLOWER}
    assert all(1.0 - item.level == pytest.approx(1e-8, rel=1e-6) for item in found.comparisons)


def test_the_contract() -> None:
    for found in (run(pair(1.05)), run(pair(3.0, round_s=30.0)), run(pair(1.0, unusable="gone"))):
        written = json.loads(found.model_dump_json())
        jsonschema.validate(written, json.loads(SCHEMA.read_text(encoding="utf-8")))
        promised = {"benchmark", "a", "b", "ratio", "low", "high", "level", "verdict", "launches", "seconds"}
        assert promised | {"reason"} <= written["comparisons"][0].keys()


def test_benchmarks_without_a_turn_are_told_when_the_time_for_all_is_spent() -> None:
    clock = FakeClock()
    subject = FakeSubject(clock, {f"b{index}": (steady(1.0), steady(1.0)) for index in range(50)})
    found = run(subject, total_s=1.0)
    assert len(subject.rounds) == 10
    assert {item.verdict for item in found.comparisons} == {Verdict.INCONCLUSIVE}
    assert found.comparisons[49].reason.startswith("its turn did not come")


@pytest.mark.parametrize("ratio", [1.013, 1.007])
def test_a_search_goes_on_until_the_threshold_is_known(ratio: float) -> None:
    """An estimate ends astride of it: known to half of the threshold, and to be no zero."""
    estimate, search = (
        only(run(pair(ratio), budget_s=600.0, total_s=600.0, until=until))
        for until in (Until.ESTIMATE, Until.THRESHOLD)
    )
    threshold = math.log(1.01)
    assert estimate.low is not None
    assert estimate.high is not None
    assert math.log(estimate.low) < threshold < math.log(estimate.high)
    assert search.low is not None
    assert search.high is not None
    assert threshold_settled(math.log(search.low), math.log(search.high), 0.01)
    assert search.launches > estimate.launches
