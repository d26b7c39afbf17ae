"""What launches cost decides who is launched rarely, and what scatters how many batches a launch has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tollbench.analysis.values import LaunchValue
from tollbench.launching.piloting import CaseWork
from tollbench.measure.spending import SCATTER_KNOWN, batches_alone, rounds_between
from tollbench.plan import Settings

SETTINGS = Settings()
WORK = CaseWork(iterations=1, batch_ns=8e6, warmup=1, begin_ns=18e6)
RNG = np.random.default_rng(5)


def launches(count: int, of_launches: float, of_batches: float, batches: int = 3) -> list[LaunchValue]:
    """So many, whose logs scatter by the first from launch to launch and by the second within one."""
    found = []
    for base in RNG.normal(0, of_launches, count):
        blocks = 100.0 * np.exp(base + RNG.normal(0, of_batches, batches))
        found.append(LaunchValue(float(np.median(blocks)), wall_blocks=blocks))
    return found


def least(of_launches: float, of_batches: float) -> int:
    """The number of batches that makes (variance x cost) least, found by trying."""
    cost = {
        n: (WORK.begin_ns + n * WORK.batch_ns) * (of_launches**2 + of_batches**2 / n) for n in range(1, 50)
    }
    return min(cost, key=lambda n: cost[n])


@pytest.mark.parametrize(("of_launches", "of_batches"), [(0.2, 0.02), (0.1, 0.1), (0.1, 0.2)])
def test_a_launch_has_as_many_batches_as_narrow_most(of_launches: float, of_batches: float) -> None:
    cases = [(WORK, launches(400, of_launches, of_batches)) for _ in range(3)]
    assert abs(batches_alone(cases) - least(of_launches, of_batches)) <= 1


def test_the_median_case_decides_for_all() -> None:
    quiet, loud = launches(200, 0.2, 0.01), launches(200, 0.01, 0.3)
    assert batches_alone([(WORK, quiet), (WORK, quiet), (WORK, loud)]) == 1
    found = batches_alone([(WORK, quiet), (WORK, loud), (WORK, loud)])
    assert found == 0 or found > 10, "where launches are no more than their batches, as pilots say"


def test_short_batches_stay_as_many_as_those_in_turns() -> None:
    short = CaseWork(iterations=1, batch_ns=0.3e6, warmup=1, begin_ns=6e6)
    assert batches_alone([(short, launches(100, 0.2, 0.01))]) == 0
    assert batches_alone([(WORK, launches(100, 0.2, 0.01))]) == 1


def test_too_few_launches_and_single_batches_say_nothing() -> None:
    assert batches_alone([]) == 0
    assert batches_alone([(WORK, launches(SCATTER_KNOWN - 1, 0.1, 0.1))]) == 0
    assert batches_alone([(WORK, launches(100, 0.1, 0.1, batches=1))]) == 0
    still = [LaunchValue(5.0, wall_blocks=np.array([5.0, 5.0, 5.0]))] * 20
    assert batches_alone([(WORK, still)]) == 0, "nothing scatters: as the pilot says"


def test_whose_launch_is_dear_has_rare_turns() -> None:
    works = {number: CaseWork(1, 1e6, 0, begin * 1e6) for number, begin in enumerate((10, 10, 10, 45, 9000))}
    found = rounds_between([{number: work} for number, work in works.items()], SETTINGS)
    assert list(found.values()) == [1, 1, 1, 2, 4]
    together = rounds_between([dict(list(works.items())[:4])], SETTINGS)
    assert set(together.values()) == {1}, "those who are launched together cost alike"
    assert rounds_between([], SETTINGS) == {}
    assert math.isclose(sum(rounds_between([{7: WORK}], SETTINGS).values()), 1)
