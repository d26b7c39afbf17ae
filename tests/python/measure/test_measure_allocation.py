"""Where time goes may depend on how far apart rows are: intervals keep their level all the same."""

import sys
from pathlib import Path

import pytest
from allocation_trials import CASES, LEVEL, SHORT_CASES, SHORT_ROUNDS, trials

sys.path.append(str(Path(__file__).parents[1] / "stats"))
from simulate import assert_covers

from tollbench.measure.spending import STEADY_ROUNDS


def test_intervals_keep_their_level_though_their_values_decide_where_time_goes() -> None:
    """And rows that are known do leave their time to others."""
    found = trials("bimodal", 0.1, 0.2, 10)
    assert_covers(found.tables - found.wrong, found.tables, LEVEL)
    assert found.launches < 0.95 * found.in_full


def test_they_do_where_the_time_ends_before_all_are_steady() -> None:
    found = trials("skewed", 0.3, 0.2, 10, rounds=18)
    assert found.narrowing > found.tables, "some rounds of each went where they narrow most"
    assert_covers(found.tables - found.wrong, found.tables, LEVEL)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("rounds", SHORT_ROUNDS)
@pytest.mark.parametrize(("shape", "size", "precision"), SHORT_CASES)
def test_they_do_so_in_many_trials(shape: str, size: float, precision: float, rounds: int) -> None:
    found = trials(shape, size, precision, 1000, rounds=rounds)
    assert found.narrowing > found.tables or rounds > STEADY_ROUNDS
    assert_covers(found.tables - found.wrong, found.tables, LEVEL)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("shape", "size", "precision"), CASES)
def test_intervals_keep_their_level_in_many_trials(shape: str, size: float, precision: float) -> None:
    found = trials(shape, size, precision, 1000)
    assert_covers(found.tables - found.wrong, found.tables, LEVEL)
