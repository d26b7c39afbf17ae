"""Sides that come in several layouts: the answer is about what they have in common."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_sides import FakeClock, FakeSubject, steady

from tollbench.compare import Comparison, Comparisons, ComparisonSettings, Verdict, compare
from tollbench.compare.layout_visits import LayoutVisits
from tollbench.compare.raw_file import RawFile
from tollbench.compare.stored import StoredComparison
from tollbench.errors import TollError
from tollbench.store.comparison_file import MARK


def subject(ratio: float, layouts: int, layout_spread: float, **more: Any) -> FakeSubject:
    sides = {"sum": (steady(100.0, 0.005), steady(100.0 * ratio, 0.005))}
    return FakeSubject(FakeClock(), sides, layouts=layouts, layout_spread=layout_spread, **more)


def run(sides: FakeSubject, **settings: Any) -> Comparison:
    chosen = ComparisonSettings(seed=3, budget_s=20.0, layouts=sides.layouts, **settings)
    found = compare(sides, chosen, clock=sides.clock)
    assert found.layouts == sides.layouts
    return found.comparisons[0]


def test_what_only_layout_does_is_no_verdict() -> None:
    """One layout of each side is another file, and slower or faster it is; the change is neither."""
    files = subject(1.0, 16, 0.05)
    files.benchmarks = {"sum": (steady(100.0, 0.005), steady(106.0, 0.005))}
    files.layouts = 0
    files.__post_init__()
    assert run(files).verdict is Verdict.SLOWER
    item = run(subject(1.0, 16, 0.05))
    assert item.verdict is Verdict.INCONCLUSIVE
    assert item.layouts == 16
    assert item.layout_spread == pytest.approx(0.05, rel=0.4)
    assert "layout alone moves this benchmark by ± " in item.reason
    assert "--layouts " in item.reason


def test_a_change_is_found_through_layouts_and_told_apart_from_them() -> None:
    item = run(subject(1.05, 32, 0.01))
    assert item.verdict is Verdict.SLOWER
    assert item.regression
    assert item.low is not None
    assert item.high is not None
    assert item.low < 1.05 < item.high
    assert " on average over 32 layouts; layout alone moves this benchmark by ± " in item.reason


def test_layouts_that_do_nothing_cost_little() -> None:
    item = run(subject(1.0, 16, 0.0))
    assert item.verdict is Verdict.NO_DIFFERENCE
    assert item.launches == 32  # twice each


def test_too_few_layouts_have_no_interval_and_say_how_many_it_takes() -> None:
    item = run(subject(1.2, 5, 0.01))
    assert item.verdict is Verdict.INCONCLUSIVE
    assert item.ratio == pytest.approx(1.2, rel=0.03)
    assert (item.low, item.high) == (None, None)
    assert item.launches == 5  # once each: more launches would not help
    assert "5 layouts are too few; at least 8 are needed at this level: --layouts 8" in item.reason


def test_no_advice_that_cannot_be_followed() -> None:
    item = run(subject(1.0, 16, 0.5))
    assert "to know it to ± 1.0 % takes more than 1,024 layouts" in item.reason
    sides = subject(1.0, 16, 0.0)
    sides.benchmarks = {"sum": (steady(100.0, 0.1), steady(100.0, 0.1))}
    noisy = run(sides)
    assert "layout alone does cannot be told from what launches scatter by" in noisy.reason
    assert "--layouts" not in noisy.reason
    assert " s a benchmark (--budget, --total-budget)" in noisy.reason


def test_time_for_a_part_of_the_layouts_says_how_many_launches_it_takes() -> None:
    sides = subject(1.0, 16, 0.05)
    short = ComparisonSettings(seed=3, budget_s=0.5, layouts=16)
    item = compare(sides, short, clock=sides.clock).comparisons[0]
    assert item.launches < 8
    assert (
        f"of {item.layouts} of 16 layouts, fitted into the time; 32 are needed, which takes about"
        in item.reason
    )
    once = ComparisonSettings(seed=3, budget_s=1.6, layouts=16)
    sides = subject(1.0, 16, 0.05)
    item = compare(sides, once, clock=sides.clock).comparisons[0]
    assert item.low is not None
    assert "known once each layout was launched twice, which takes about 2 s more" in item.reason


def test_times_are_means_over_layouts_as_the_ratio_is() -> None:
    """Medians over launches once said +3 % beside a change of +5 %."""
    item = run(subject(1.05, 16, 0.2))
    assert item.a_ns is not None
    assert item.b_ns is not None
    assert item.b_ns / item.a_ns == pytest.approx(item.ratio, rel=0.005)


def test_what_it_says_it_takes_is_enough() -> None:
    first = run(subject(1.0, 16, 0.03))
    assert first.verdict is Verdict.INCONCLUSIVE
    needed = int(first.reason.split("--layouts ")[1].split()[0])
    seconds = float(first.reason.split(" s a benchmark")[0].split(" and ")[1])
    assert needed > 16
    chosen = ComparisonSettings(seed=3, budget_s=seconds * 1.1, layouts=needed)
    sides = subject(1.0, needed, 0.03)
    item = compare(sides, chosen, clock=sides.clock).comparisons[0]
    assert item.low is not None
    assert item.high is not None
    assert (item.high - item.low) / 2.0 < 0.01 * 1.2  # its spread is a draw, too


@pytest.mark.parametrize("layouts", [-1, 1, 1025])
def test_impossible_numbers_are_refused(layouts: int) -> None:
    with pytest.raises(TollError, match="number of layouts"):
        ComparisonSettings(layouts=layouts).check()


def test_all_layouts_are_visited_equally_often_and_in_changing_order() -> None:
    visits, rng = LayoutVisits(5), random.Random(1)
    drawn = []
    for _ in range(20):
        number = visits.draw(["sum"], rng)
        assert number is not None
        visits.visited("sum", number, [0, 1])
        drawn.append(number)
    passes = [drawn[start : start + 5] for start in range(0, 20, 5)]
    assert all(sorted(one) == list(range(5)) for one in passes)
    assert len({tuple(one) for one in passes}) > 1
    assert LayoutVisits(0).draw(["sum"], rng) is None


def test_benchmarks_that_share_a_launch_now_and_then_have_both_orders() -> None:
    """Groups change from round to round: what one lacks the other may not."""
    visits, rng = LayoutVisits(2), random.Random(3)
    seen: dict[str, list[tuple[int, ...]]] = {"sum": [], "map": [], "sort": []}
    for _ in range(400):
        names = rng.sample(sorted(seen), rng.randint(1, 3))
        number = visits.draw(names, rng)
        assert number is not None
        order = visits.order(names, number, rng.sample([0, 1], 2))
        for name in names:
            visits.visited(name, number, order)
            seen[name] += [tuple(order)] * (number == 1)
    for name, orders in seen.items():
        assert abs(orders.count((0, 1)) - orders.count((1, 0))) <= 0.1 * len(orders), name


def test_every_order_is_followed_by_the_other_one() -> None:
    visits = LayoutVisits(2)
    orders = []
    for drawn in ([0, 1], [0, 1], [1, 0], [0, 1]):
        orders.append(visits.order(["sum"], 1, list(drawn)))
        visits.visited("sum", 1, orders[-1])
    assert orders == [[0, 1], [1, 0], [1, 0], [0, 1]]
    assert visits.order(["sum"], None, [1, 0]) == [1, 0]


def test_a_side_that_failed_since_does_not_keep_the_others_in_one_order() -> None:
    visits, orders = LayoutVisits(1), []
    visits.visited("sum", 0, [2, 0, 1])
    for drawn in ([0, 1], [1, 0], [0, 1]):
        orders.append(visits.order(["sum"], 0, list(drawn)))
        visits.visited("sum", 0, orders[-1])
    assert orders == [[1, 0], [1, 0], [0, 1]]


def test_coming_first_cancels_over_the_visits_of_a_layout() -> None:
    item = run(subject(1.0, 16, 0.0, first_gains=0.05))
    assert item.verdict is Verdict.NO_DIFFERENCE
    assert item.launches == 32


def stored(path: Path, sides: FakeSubject, **header: Any) -> Comparisons:
    first = {MARK: 1, "kind": "fake", "sides": ["old", "new"], "level": 0.95, "threshold": 0.01}
    settings = ComparisonSettings(seed=3, budget_s=20.0, layouts=sides.layouts)
    with RawFile(path, {**first, "layouts": sides.layouts, **header}) as raw:
        return compare(sides, settings, clock=sides.clock, keep=raw)


def test_a_comparison_that_was_killed_is_read_back_with_its_layouts(tmp_path: Path) -> None:
    found = stored(tmp_path / "killed.jsonl", subject(1.05, 16, 0.01))
    again = StoredComparison.read(tmp_path / "killed.jsonl").comparisons
    one, other = found.comparisons[0], again.comparisons[0]
    assert again.layouts == 16
    assert (one.ratio, one.low, one.high, one.layouts) == (other.ratio, other.low, other.high, other.layouts)
    assert other.seconds == pytest.approx(one.seconds, abs=0.01)


@pytest.mark.parametrize("layouts", [0, 7])
def test_layouts_that_a_stored_comparison_does_not_have_are_damage(tmp_path: Path, layouts: int) -> None:
    stored(tmp_path / "odd.jsonl", subject(1.05, 16, 0.01), layouts=layouts)
    with pytest.raises(TollError, match="in a layout that is not there"):
        StoredComparison.read(tmp_path / "odd.jsonl")


def test_the_raw_file_says_which_layout_each_round_was(tmp_path: Path) -> None:
    stored(tmp_path / "raw.jsonl", subject(1.05, 16, 0.01))
    rounds = [json.loads(line) for line in (tmp_path / "raw.jsonl").read_text().splitlines()]
    numbers = [one["layouts"]["sum"] for one in rounds if "layouts" in one and "values" in one]
    assert set(Counter(numbers)) == set(range(16))
