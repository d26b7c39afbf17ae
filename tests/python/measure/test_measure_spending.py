"""What launches cost decides who is launched rarely."""

from __future__ import annotations

from tollbench.launching.piloting import CaseWork
from tollbench.measure.spending import rounds_between
from tollbench.plan import Settings

SETTINGS = Settings()


def test_whose_launch_is_dear_has_rare_turns() -> None:
    works = {number: CaseWork(1, 1e6, 0, begin * 1e6) for number, begin in enumerate((10, 10, 10, 45, 9000))}
    found = rounds_between([{number: work} for number, work in works.items()], SETTINGS)
    assert list(found.values()) == [1, 1, 1, 2, 4]
    together = rounds_between([dict(list(works.items())[:4])], SETTINGS)
    assert set(together.values()) == {1}, "those who are launched together cost alike"
    assert rounds_between([], SETTINGS) == {}


def test_rare_turns_are_powers_of_two() -> None:
    """Those of every third and every fourth round would meet in every twelfth."""
    costs = [1.0, 1.0, 1.0, *(1.5**power for power in range(1, 14)), 1.0, *[1.0] * 20]
    works = {number: CaseWork(1, 1e3, 0, 1e7 * cost) for number, cost in enumerate(costs)}
    found = rounds_between([{number: work} for number, work in works.items()], SETTINGS)
    assert set(found.values()) == {1, 2, 4}
