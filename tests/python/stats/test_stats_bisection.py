"""The search for the item that brought a change, by looks that may err: right as often as it says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from bisection_trials import LONG, TABLE, Launches, Row, Trial, searched, trials
from scipy.stats import binom

from tollbench.stats.bisection import CONFIRMING_LOOKS, Bisection, ItemRun

PROMISED = 0.95
LEAST_POOLED = 0.92  # of over 120: a search that is right in 95 % is below it once in 60 or so
UNLIKELY = 1e-4


def ends_of(count: int, change: float = 0.02, pairs: int = 12) -> Bisection:
    """A search that knows its ends: they scatter by a tenth of the change."""
    search = Bisection(count, PROMISED)
    for scatter in np.linspace(-0.15, 0.15, pairs):
        search.pair(0.0, change * (1.0 + float(scatter)))
    return search


def assert_right(found: list[Trial]) -> None:
    """Fails where so few right ones would be one in 10,000 for a search that keeps its promise."""
    decided = [trial for trial in found if trial.found is not None]
    right = sum(trial.right for trial in decided)
    assert binom.cdf(right, len(decided), PROMISED) > UNLIKELY, f"{right} of {len(decided)}"
    assert decided


@pytest.mark.parametrize(
    "row",
    [
        Row(10, 0.5, 0.1),
        Row(1000, 0.5, 0.1),
        pytest.param(Row(100, 2.0, 0.1), marks=pytest.mark.slow),
    ],
)
def test_what_is_found_is_right(row: Row) -> None:
    assert_right(trials(row, 25, 7))


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_of_all_that_is_found_nearly_all_is_right(count: int) -> None:
    """Rows together, as one alone is too short to tell 95 % from 85 %."""
    rows = [Row(count, 0.5, layout, most_looks=200) for layout in (0.0, 0.1, 0.25)]
    found = [trial for number, row in enumerate(rows) for trial in trials(row, 72, 40 + number)]
    decided = [trial for trial in found if trial.found is not None]
    assert len(decided) > 120
    assert sum(trial.right for trial in decided) >= LEAST_POOLED * len(decided)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_is_found_is_right_in_400_trials() -> None:
    """As the table of docs/bisect.md, which has 2,000; all rows together, and each."""
    each = -(-400 // len(TABLE))
    rows = [trials(row, each, 300 + number) for number, row in enumerate(TABLE)]
    for found in rows:
        assert_right(found)
    everything = [trial for found in rows for trial in found]
    decided = [trial for trial in everything if trial.found is not None]
    assert sum(trial.right for trial in decided) >= PROMISED * len(decided)


@pytest.mark.slow
def test_its_cost_grows_with_the_logarithm() -> None:
    """From 100 to 100,000 items: as much more for each factor of ten, and no more."""
    looks = [float(np.median([trial.looks for trial in trials(row, 40, 11)])) for row in LONG]
    steps = np.diff(looks)
    assert looks[-1] < 3.0 * looks[0]
    assert steps.max() < looks[0]


def test_items_that_cannot_be_looked_at_are_found_as_a_group() -> None:
    rng = np.random.default_rng(5)
    found = [searched(Row(60, 0.3, 0.05, broken=0.4), rng) for _ in range(30)]
    assert_right(found)
    assert any(trial.found is not None and trial.found.last > trial.found.first for trial in found)


def drive(
    search: Bisection, truth: int, lies: Mapping[int, int] | None = None, change: float = 0.02
) -> ItemRun:
    """Without noise but for `lies`: items that answer wrongly in so many of their first looks."""
    left = dict(lies or {})
    for _ in range(400):
        if search.answer() is not None or (item := search.next_item()) is None:
            break
        changed = item >= truth
        if left.get(item, 0) > 0:
            left[item] -= 1
            changed = not changed
        search.look(item, 0.0, change * changed, change)
    return search.leading()


@pytest.mark.parametrize("truth", [1, 2, 37, 63, 64])
def test_without_noise_it_is_a_bisection(truth: int) -> None:
    search = ends_of(64)
    assert drive(search, truth)[:2] == (truth, truth)
    assert len(search.looked_at) <= 10


def test_an_answer_rests_on_two_visits_and_on_six_items() -> None:
    """Looks in a row are one visit, however many: what befell an item then befell all of them."""
    search, order = ends_of(64), []
    while search.answer() is None:
        item = search.next_item()
        assert item is not None
        order.append(item)
        search.look(item, 0.0, 0.02 if item >= 37 else 0.0, 0.02)
    for item in (36, 37):
        looks = [at for at, one in enumerate(order) if one == item]
        later = [at for at in looks if any(one != item for one in order[looks[0] : at])]
        assert len(later) >= CONFIRMING_LOOKS
    assert {34, 35, 38, 39} <= set(order)


def test_looks_in_a_row_confirm_nothing() -> None:
    search = ends_of(2, change=0.3)
    search.look(1, 0.0, 0.0, 0.3)
    assert search.answer() is None  # nothing else could be looked at: so many in a row have to do
    while search.answer() is None and search.looks(1) < 20:
        search.look(1, 0.0, 0.0, 0.3)
    assert 2 * CONFIRMING_LOOKS <= search.looks(1) < 20
    several = ends_of(64)
    while several.leading().probability < PROMISED:
        item = several.next_item()
        assert item is not None
        several.look(item, 0.0, 0.02 if item >= 37 else 0.0, 0.02)
    last = several.leading().last
    for _ in range(10):
        several.look(last, 0.0, 0.02, 0.02)
    assert several.answer() is None


@pytest.mark.parametrize("layout", [0.35, 0.5, 1.0])
def test_where_items_scatter_as_much_as_the_change_there_is_no_wrong_answer(layout: float) -> None:
    """Levels of their own by a third of the change and more: some look calm by chance."""
    found = trials(Row(10, 0.5, layout, least=0.0115, most_looks=150), 30, 5)
    decided = [trial for trial in found if trial.found is not None]
    assert sum(not trial.right for trial in decided) <= 1
    assert len(decided) <= 15
    assert sum(trial.right for trial in found if trial.found is None) >= 0.9 * (30 - len(decided))


def test_where_items_scatter_the_set_has_all_that_may_be_it() -> None:
    """Items between the levels, as many as clear ones: the improbable is not ruled out."""
    search = ends_of(12)
    for item, place in enumerate((-0.2, 0.5, 0.1, 0.6, 0.2, 0.9, 1.3, 0.7, 1.1, 1.6, 0.8), 1):
        for _ in range(6):
            search.look(item, 0.0, 0.02 * place, 0.02)
    assert search.answer() is None
    items = {item for run in search.smallest_set(0.5) for item in range(run.first, run.last + 1)}
    assert 6 in items
    more = {item for run in search.smallest_set(0.95) for item in range(run.first, run.last + 1)}
    assert items < more


def test_items_of_one_level_brought_nothing() -> None:
    """Builds that execute the same code: what lies between them is out, and is not looked at."""
    search = ends_of(64)
    search.same(40, 0)
    assert search.posterior()[:40].sum() == 0.0
    item = search.next_item()
    assert item is not None
    assert 41 <= item < 64
    search.look(52, 0.0, 0.02, 0.02)
    search.same(45, 52)
    assert search.posterior()[45:52].sum() == 0.0
    assert search.posterior()[51] == 0.0
    assert drive(search, 42)[:2] == (42, 42)
    assert not {40, 45} & set(search.looked_at)
    assert search.answer() is not None


def test_where_all_are_of_one_level_nobody_brought_it() -> None:
    search = ends_of(8)
    search.same(4, 0)
    search.same(8, 4)
    assert search.nobody
    assert search.next_item() is None
    assert search.answer() is None
    assert search.smallest_set(0.95) == []
    with pytest.raises(ValueError, match="no two items"):
        search.same(3, 3)


@pytest.mark.parametrize("wrong", [1, 2, 3])
@pytest.mark.parametrize("truth", [20, 50])
def test_it_goes_back_when_what_it_sees_contradicts_a_step(truth: int, wrong: int) -> None:
    """The first visit to the middle shows the other level; a bisection that believes it is lost."""
    middle = ends_of(64).next_item()
    assert middle is not None
    search = ends_of(64)
    assert drive(search, truth, {middle: wrong})[:2] == (truth, truth)
    assert search.answer() is not None


@pytest.mark.parametrize("truth", [20, 50])
def test_an_item_on_the_wrong_level_for_good_is_outvoted_by_its_neighbours(truth: int) -> None:
    """As a build whose code the linker put elsewhere."""
    middle = ends_of(64).next_item()
    assert middle is not None
    assert drive(ends_of(64), truth, {middle: 1000})[:2] == (truth, truth)


def test_an_item_between_the_levels_is_left_for_its_neighbours() -> None:
    search = ends_of(64)
    middle = search.next_item()
    assert middle is not None
    for _ in range(8):
        search.look(middle, 0.0, 0.01, 0.02)
    assert search.changed_by(middle) == pytest.approx(0.5, abs=0.05)
    assert search.next_item() != middle


def test_where_no_look_tells_more_it_says_so() -> None:
    """Two candidates, and the only item between them is as near to one level as to the other."""
    search = ends_of(2)
    for _ in range(200):
        item = search.next_item()
        if item is None:
            break
        search.look(item, 0.0, 0.01, 0.02)
    assert search.next_item() is None
    assert search.leading().probability == pytest.approx(0.5, abs=0.05)
    (run,) = search.smallest_set(0.95)
    assert run[:2] == (1, 2)


def test_drift_that_rounds_share_cancels() -> None:
    still, drifting = ends_of(32), ends_of(32)
    for number, item in enumerate((16, 24, 20)):
        still.look(item, 0.0, 0.02, 0.02)
        drifting.look(item, 5.0 * number, 5.0 * number + 0.02, 5.0 * number + 0.02)
    assert drifting.posterior() == pytest.approx(still.posterior())


def test_what_became_faster_is_found_alike() -> None:
    search = ends_of(32, change=-0.02)
    assert drive(search, 11, change=-0.02)[:2] == (11, 11)


def test_posterior_and_groups_are_probabilities() -> None:
    rng = np.random.default_rng(3)
    launches = Launches(Row(40, 1.0, 0.1), rng)
    search = ends_of(40)
    for item in (3, 20, 20, 31, 7, 22):
        first, value, last = launches.round(0, item, 40)
        search.look(item, first, value, last)
        search.leave_out(item + 1)
        assert search.posterior().sum() == pytest.approx(1.0)
        assert sum(run.probability for run in search.groups()) == pytest.approx(1.0)
        assert max(search.groups(), key=lambda run: run.probability)[:2] == search.leading()[:2]
    assert ItemRun(4, 5, search.groups()[3].probability) in search.groups()
    assert all(search.next_item() not in (4, 21, 32, 8, 23) for _ in range(3))


def test_one_item_is_known_without_a_look() -> None:
    search = ends_of(1)
    found = search.answer()
    assert found is not None
    assert found[:2] == (1, 1)
    assert found.probability == pytest.approx(1.0)
    assert search.next_item() is None


def test_all_left_out_is_one_group() -> None:
    search = ends_of(5)
    for item in range(1, 5):
        search.leave_out(item)
    assert search.next_item() is None
    assert search.leading()[:2] == (1, 5)


def test_items_that_are_none_to_look_at_are_refused() -> None:
    search = ends_of(5)
    search.leave_out(2)
    for item in (0, 2, 5, 9):
        with pytest.raises(ValueError, match="no item to look at"):
            search.look(item, 0.0, 0.0, 0.02)


def test_what_is_left_between_items_of_one_level_is_told_without_its_neighbours() -> None:
    search = ends_of(20)
    search.same(5, 0)
    search.same(6, 20)
    found = search.answer()
    assert found is not None
    assert found[:2] == (6, 6)
