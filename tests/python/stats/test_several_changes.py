"""`toll bisect --all` by time, simulated: a few of the searches of several_changes_trials.py."""

from __future__ import annotations

from bisection_trials import Row
from several_changes_trials import searched


def test_both_changes_are_named_and_nobody_else() -> None:
    found = [searched(Row(100, 0.5, 0.05), (0.03, 0.03), seed) for seed in range(12)]
    assert sum(one.wrong for one in found) == 0
    assert sum(one.complete and one.right == 2 for one in found) >= 9
    assert not [one for one in found if one.complete and one.right < 2]


def test_one_change_is_named_as_without_all() -> None:
    found = [searched(Row(100, 0.5, 0.05), (0.03,), seed) for seed in range(6)]
    assert sum(one.complete and one.right == 1 and one.wrong == 0 for one in found) >= 5
