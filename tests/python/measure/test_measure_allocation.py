"""Where time goes may depend on how far apart rows are: intervals keep their level all the same."""

import sys
from pathlib import Path

import pytest
from allocation_trials import CASES, LEVEL, trials

sys.path.append(str(Path(__file__).parents[1] / "stats"))
from simulate import assert_covers


def test_intervals_keep_their_level_though_their_values_decide_where_time_goes() -> None:
    """And rows that are known do leave their time to others."""
    found = trials("bimodal", 0.1, 0.2, 10)
    assert_covers(found.tables - found.wrong, found.tables, LEVEL)
    assert found.launches < 0.95 * found.in_full


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("shape", "size", "precision"), CASES)
def test_intervals_keep_their_level_in_many_trials(shape: str, size: float, precision: float) -> None:
    found = trials(shape, size, precision, 1000)
    assert_covers(found.tables - found.wrong, found.tables, LEVEL)
