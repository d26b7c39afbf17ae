"""Runtimes that speed up while they run: warmed in each launch until steady, and the cold batch is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from fake_machine import CANARY, SETUP_NS, Bench, FakeChild, FakeClock, FakeLauncher, plan_for, workload

from tollbench.launching.warming import steady
from tollbench.store import RunFile
from tollbench.words import Purpose

WARM_NS = 1e6


def falling(first: float, factor: float, count: int) -> list[float]:
    """Costs that approach 1 from `first`, the distance times `factor` each time."""
    return [1 + (first - 1) * factor**n for n in range(count)]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([], False),
        ([1.0] * 5, False),
        ([1.0] * 6, True),
        ([9.0, 9.0, 9.0] + [1.0] * 6, True),
        ([1.03] * 3 + [1.0] * 3, False),
        ([1.01] * 3 + [1.0] * 3, True),
        ([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], False),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], False),
        (falling(10, 0.5, 6), False),
        (falling(10, 0.5, 20), True),
        ([1.0, 1.3, 1.1, 1.2, 1.0, 1.3], True),
    ],
)
def test_steady_is_when_medians_stay_or_differ_by_less_than_the_scatter(
    costs: Sequence[float], expected: bool
) -> None:
    assert steady(costs) is expected


def test_noise_alone_is_soon_steady_and_a_trend_never() -> None:
    rng = np.random.default_rng(5)

    def batches_until_steady(costs: Iterator[float]) -> int:
        seen: list[float] = []
        for cost in costs:
            seen.append(cost)
            if steady(seen):
                break
        return len(seen)

    noisy = [batches_until_steady(iter(rng.lognormal(0, 0.1, 200))) for _ in range(300)]
    assert np.median(noisy) <= 8
    assert max(noisy) < 100
    for slope in (0.9, 0.95, 0.98):
        assert batches_until_steady(iter(slope ** np.arange(100.0))) == 100


class WarmingChild(FakeChild):
    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.lines[0] |= {"warmup_limit_ns": 10**9, "footing": {"threads": 2}}


class WarmingLauncher(FakeLauncher):
    """Each request of a launch costs half of the one before, down to WARM_NS or to `floor_ns`."""

    def __init__(self, clock: FakeClock, factor: float) -> None:
        self.factor = factor
        super().__init__(clock, lambda _name, _launch: [max(WARM_NS, 1e8 * factor**n) for n in range(5000)])

    def start(self, *arguments: object) -> FakeChild:
        child = super().start(*arguments)  # type: ignore[arg-type]
        if child.started.contender != "canary":
            child.__class__ = WarmingChild
            child.lines[0] |= {"warmup_limit_ns": 10**9, "footing": {"threads": 2}}
        return child


def run_with(path: Path, factor: float) -> Path:
    plan = plan_for(workload("warming"), max_launches=3, min_launches=3)
    bench = Bench(path, plan, WarmingLauncher(FakeClock(), factor), canary=CANARY)
    bench.run()
    return path


def test_a_launch_is_warmed_until_steady_and_keeps_its_cold_batch(tmp_path: Path) -> None:
    with RunFile.open(run_with(tmp_path / "a.toll", 0.5)) as run_file:
        launches = [x for x in run_file.launches(run_file.cases()[0].id) if x.purpose is Purpose.MEASURE]
    assert len(launches) == 3
    for launch in launches:
        warm_up = [batch for batch in launch.batches if batch.warmup]
        assert launch.footing == {"threads": 2, "warmup_batches": len(warm_up), "warmup": "steady"}
        assert warm_up[0].wall_ns / warm_up[0].iterations == pytest.approx(1e8)
        timed = [batch for batch in launch.batches if not batch.warmup]
        assert timed
        assert all(batch.wall_ns / batch.iterations == pytest.approx(WARM_NS) for batch in timed)
        assert launch.setup_ns == SETUP_NS


def test_a_program_that_never_becomes_steady_is_warmed_to_its_limit_and_says_so(tmp_path: Path) -> None:
    with RunFile.open(run_with(tmp_path / "a.toll", 0.97)) as run_file:
        launches = [x for x in run_file.launches(run_file.cases()[0].id) if x.purpose is Purpose.MEASURE]
    for launch in launches:
        spent_ns = sum(batch.wall_ns for batch in launch.batches if batch.warmup)
        assert launch.footing["warmup"] == "not steady after 1 s"
        assert 1e9 <= spent_ns < 1.2e9


def test_a_monotonic_clock_is_no_frequency_for_the_processors_counter(tmp_path: Path) -> None:
    launcher = FakeLauncher(FakeClock(), lambda _name, _launch: 1e6)
    start = launcher.start

    def monotonic(*arguments: object) -> FakeChild:
        child = start(*arguments)  # type: ignore[arg-type]
        child.lines[0]["clock"] = {"source": "monotonic (Go's time.Now)", "frequency_hz": 1e9}
        return child

    launcher.start = monotonic  # type: ignore[method-assign,assignment]
    plan = plan_for(workload("go"), max_launches=2, min_launches=2)
    Bench(tmp_path / "a.toll", plan, launcher).run()
    assert len(launcher.started) > 2
    assert not any("TOLL_CLOCK_HZ" in item.environment for item in launcher.started)
