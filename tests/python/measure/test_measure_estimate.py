"""How well ratios will be known in the end and how long that takes, told before the first round and after."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from forecast_trials import NORMAL, TAILS, Noise, Simulated, several, simulated, trials
from test_measure_rounds import bench, noisy

from tollbench.launching.piloting import CaseWork
from tollbench.measure.estimate import _narrows
from tollbench.measure.events import LaunchDone, TimePlanned
from tollbench.measure.forecast import forecast, guessed
from tollbench.measure.ratio_noise import noise_of, rounds_to
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import FIRST_LOOK, Pairs, qn_scale
from tollbench.words import Case, Kind, Status

SETTINGS = Settings(budget_s=600.0, launch_s=0.1, max_launches=10_000, precision=1e-9, canary_share=0.0)
MEMORY_BYTES = 2**30


def of(seed: int, rows: int = 3, rare: tuple[int, ...] = (), rounds: int = FIRST_LOOK) -> Simulated:
    made = simulated(np.random.default_rng(seed), rows, NORMAL, rare)
    made.go_to(rounds)
    return made


def check_forecasts(rows: int, least: tuple[float, ...], rare: tuple[int, ...], noise: Noise) -> None:
    found = trials(rows, noise, rare, count=100)
    for (widths, times), share in zip(found.values(), least, strict=True):
        assert widths.share >= share
        assert times.share >= share - 0.15


@pytest.mark.parametrize(("rows", "least"), [(2, (0.6, 0.7, 0.8)), (6, (0.8, 0.85, 0.9))])
def test_forecasts_are_right_within_half_as_much_again(rows, least) -> None:
    """Of the noise and the turns that make it hardest; the others below, when they are asked for."""
    check_forecasts(rows, least, (4,), TAILS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "least"), [(2, (0.6, 0.7, 0.8)), (6, (0.8, 0.85, 0.9)), (15, (0.8, 0.85, 0.9))]
)
@pytest.mark.parametrize("rare", [(), (4,)])
@pytest.mark.parametrize("noise", [NORMAL, TAILS])
def test_forecasts_of_all_kinds_are_right_within_half_as_much_again(rows, least, rare, noise) -> None:
    check_forecasts(rows, least, rare, noise)


def test_programs_of_several_threads_are_taken_to_scatter_more() -> None:
    calm, wild = piloted("a/calm", 10.0), piloted("a/wild", 10.0)
    for case in wild.cases:
        case.one_thread = False
    first, second = guessed([calm, wild], SETTINGS, 60.0, MEMORY_BYTES)
    assert first.rounds < second.rounds
    assert (first.half_width or 1.0) < (second.half_width or 0.0)


@pytest.mark.parametrize("count", [8, pytest.param(30, marks=pytest.mark.slow)])
def test_workloads_that_share_a_budget_are_forecast_as_well(count) -> None:
    found = several(TAILS, count=count)
    for widths, times in found.values():
        assert widths.share >= 0.75
        assert times.share >= 0.6


def test_time_is_shared_as_it_will_be_spent() -> None:
    """Noise eight times as large has four times the rounds, where a round costs as much. The noise seen has
    the normal shape, as any other is drawn towards that for a level that rises with the rounds."""
    calm, wild = of(4), of(4)
    true = math.log(1.5) * np.arange(3)
    normal = [NormalDist(0.0, 0.01).inv_cdf((at + 0.5) / FIRST_LOOK) for at in range(FIRST_LOOK)]
    rng = np.random.default_rng(4)
    noise = np.column_stack([np.zeros(FIRST_LOOK), rng.permutation(normal), rng.permutation(normal)])
    calm.logs, wild.logs = true + noise, true + 8 * noise
    first, second = forecast([calm, wild], SETTINGS, 20.0).workloads
    assert second.rounds == pytest.approx(4 * first.rounds, rel=0.02)
    spent_s = (first.rounds + second.rounds - 2 * FIRST_LOOK) * calm.round_cost_ns() / 1e9
    assert spent_s == pytest.approx(20.0, rel=0.02)


def test_no_more_rounds_are_expected_than_it_takes_to_know_what_was_asked() -> None:
    one, stopped = of(5), of(5)
    stopped.stopped_by = "precision"
    settings = replace(SETTINGS, precision=0.03)
    look = rounds_to(noise_of(one), settings)
    assert look is not None
    found = forecast([one, stopped], settings, math.inf)
    assert [each.rounds for each in found.workloads] == [look, FIRST_LOOK]
    assert found.needed_s == pytest.approx((look - FIRST_LOOK) * one.round_cost_ns() / 1e9)


def test_what_the_most_launches_cannot_tell_takes_for_ever() -> None:
    assert forecast([of(5)], replace(SETTINGS, max_launches=400), math.inf).needed_s == math.inf


def test_a_lone_row_has_no_ratio() -> None:
    ((expected,), _) = forecast([of(6, rows=1)], SETTINGS, 5.0)
    assert expected.half_width is None


def test_rare_turns_narrow_an_interval_less() -> None:
    """Of two rows one has its turn in every fourth round: as many rounds make a quarter of the pairs."""
    often, rarely = of(7, rows=2), of(7, rows=2, rare=(4,))
    for now in (FIRST_LOOK, 48):
        often.go_to(now)
        rarely.go_to(now)
        (one,), (other,) = noise_of(often).ratios, noise_of(rarely).ratios
        assert one.values_at(112, now) == 112
        assert other.values_at(112, now) == FIRST_LOOK + (112 - FIRST_LOOK) // 4
    often.go_to(FIRST_LOOK)
    rarely.go_to(FIRST_LOOK)
    settings = replace(SETTINGS, precision=0.01)
    looks = [rounds_to(noise_of(made), settings) or 0 for made in (often, rarely)]
    assert 0 < 2 * looks[0] < looks[1]


def test_rounds_that_failed_are_expected_to_fail_as_often() -> None:
    made = of(8, rows=2, rounds=24)
    made.logs = made.logs.copy()
    made.logs[::2, 1] = math.nan
    (known,) = noise_of(made).ratios
    assert known.values_at(48, 24) == 24


def test_of_rows_that_are_as_noisy_the_scales_are_drawn_together_and_of_others_not() -> None:
    """Six rows, one of them eight times as noisy."""
    rng = np.random.default_rng(9)
    alike, apart = of(9, rows=6), of(9, rows=6)
    steps = rng.normal(0, 0.01, alike.logs.shape)
    alike.logs = steps
    apart.logs = steps * np.array([1, 1, 1, 1, 1, 8])
    drawn, own = zip(
        *((known.scale, qn_scale(known.ratio.differences)) for known in noise_of(alike).ratios), strict=True
    )
    assert math.log(max(drawn) / min(drawn)) < 0.7 * math.log(max(own) / min(own))
    wild = sorted(known.scale for known in noise_of(apart).ratios)
    assert wild[-1] > 3 * wild[-2]


def piloted(name: str, cost_ms: float) -> WorkloadState:
    """Two rows before their first round, whose launches cost so much."""
    made = WorkloadState(name, [])
    for number in range(2):
        case = Case(name, f"row{number}", "host", {}, Kind.BATCH, "ns", "task", "C++", "std", 7, {})
        work = CaseWork(1, 1e4, 0, 1e6 * cost_ms, apart=True)
        made.cases.append(CaseState(number, case, None, Status.OK, "", work))  # type: ignore[arg-type]
    made.plan_turns(MEMORY_BYTES, SETTINGS)
    return made


def test_a_guess_counts_rounds_by_what_launches_cost() -> None:
    """Of two workloads that cost as much all time is spent on rounds, and a dear one has fewer of them."""
    quick, dear = piloted("a/quick", 10.0), piloted("a/dear", 80.0)
    first, second = guessed([quick, dear], SETTINGS, 60.0, MEMORY_BYTES)
    assert first.half_width is not None
    assert second.half_width is not None
    assert 3 < first.rounds / second.rounds < 5  # eight times as dear: a quarter of the rounds
    assert first.half_width < second.half_width
    (more, *_) = guessed([quick, dear], SETTINGS, 240.0, MEMORY_BYTES)
    assert more.rounds == pytest.approx(4 * first.rounds, rel=0.05)


def test_a_guess_knows_that_layouts_come_again() -> None:
    """Of 30 rounds over 20 layouts the interval is made of 20; of 45 all count, though for fewer than 45."""

    def half_width(layouts: int, rounds: int) -> float:
        made = piloted("a/quick", 10.0)
        made.layouts = layouts
        for budget_s in np.arange(0.1, 10.0, 0.005).tolist():
            (only,) = guessed([made], SETTINGS, budget_s, MEMORY_BYTES)
            if round(only.rounds) == rounds:
                assert only.half_width is not None
                return only.half_width
        raise AssertionError(rounds)

    assert half_width(20, 20) == half_width(0, 20)
    assert half_width(20, 30) == half_width(20, 20) > half_width(0, 30)
    assert half_width(20, 45) > 1.1 * half_width(0, 45)
    assert half_width(20, 60) < half_width(20, 45)


def test_where_time_is_short_cheap_workloads_have_their_intervals_first() -> None:
    quick, dear = piloted("a/quick", 1.0), piloted("a/dear", 80.0)
    first, second = guessed([quick, dear], SETTINGS, 1.0, MEMORY_BYTES)
    assert first.rounds == FIRST_LOOK
    assert 0 < second.rounds < FIRST_LOOK
    assert second.half_width is None


def test_a_run_guesses_first_and_forecasts_as_rounds_double(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=20.0, precision=1e-6)
    made.run()
    told = made.told(TimePlanned)
    assert [one.workload for event in told for one in event.workloads] == ["a/b"] * len(told)
    assert [event.after for event in told][:2] == [0, FIRST_LOOK]
    assert len(told) >= 4
    assert all(1.8 < later.after / before.after < 2.3 for before, later in pairwise(told[1:]))
    guess, *forecasts = told
    assert guess.needed_s is None
    assert all(event.needed_s == math.inf for event in forecasts)
    assert [event.left_s for event in told] == sorted((event.left_s for event in told), reverse=True)


def test_the_time_that_a_run_needs_to_know_enough_is_forecast(tmp_path: Path) -> None:
    """Of noise whose first values scatter as all do: what chance does to forecasts is asked above."""
    step = {"fast": 0.618034, "slow": 0.414214}

    def cost_ns(contender: str, launch: int) -> float:
        return 1e5 * math.exp(NormalDist(0, 0.03).inv_cdf((launch + 0.5) * step[contender] % 1.0))

    made = bench(tmp_path, "fast", "slow", cost_ns=cost_ns, budget_s=600.0, precision=0.019)
    assert made.run() == "precision"
    _, *forecasts = made.told(TimePlanned)
    assert len(forecasts) >= 3
    for event in forecasts:
        assert event.needed_s is not None
        assert 1 / 1.5 <= event.needed_s / made.elapsed_s() <= 1.5


def test_a_run_that_knows_enough_at_once_and_a_check_forecast_nothing(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", budget_s=20.0)
    assert made.run() == "precision"
    assert [event.after for event in made.told(TimePlanned)] == [0]
    (tmp_path / "check").mkdir()
    checked = bench(tmp_path / "check", "fast", budget_s=20.0, min_launches=1, max_launches=1)
    checked.run()
    assert checked.told(TimePlanned) == []


def test_a_resumed_run_does_not_guess_again(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=20.0)
    made.interrupt_after = 60
    assert made.run() == "interrupt"
    made.interrupt_after, made.events = 0, []
    made.run()
    assert all(event.after >= FIRST_LOOK for event in made.told(TimePlanned))
    assert made.told(TimePlanned)


def test_each_launch_tells_how_well_its_workload_is_known(tmp_path: Path) -> None:
    made = bench(tmp_path, "fast", "slow", cost_ns=noisy, budget_s=5.0, precision=1e-6)
    made.run()
    known: dict[int, float | None] = {}
    for event in made.told(LaunchDone):
        if event.launch.round:
            known.setdefault(event.launch.round, event.known)
    assert known[FIRST_LOOK] is None
    assert known[FIRST_LOOK + 1] is not None
    assert (known[max(known)] or 1.0) < (known[FIRST_LOOK + 1] or 0.0)


def test_a_workload_whose_layouts_alone_are_uncertain_asks_for_no_more_time() -> None:
    """More launches of twenty layouts do not narrow what these leave open: the time is another one's."""
    rng = np.random.default_rng(3)
    for layout, noise, least, most in ((0.0, 1.0, 0.3, 1.0), (1.0, 0.01, 0.0, 0.01)):
        clusters = np.concatenate([1 + rng.permutation(20) for _ in range(10)])
        logs = layout * rng.standard_normal(21)[clusters] + noise * rng.standard_normal(200)
        assert least <= _narrows(Pairs(logs, clusters)) <= most
        assert _narrows(Pairs(logs[:20], clusters[:20])) == 1.0  # each one's first launch
    assert _narrows(Pairs(rng.standard_normal(50))) == 1.0
