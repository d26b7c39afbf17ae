"""Claims against run files: which rows they take, what decides, and what they say where nothing can."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made_runs import Made, header, make_run, of_the_runs_test_alone

from tollbench.analysis import results
from tollbench.analysis.claim_numbers import SideNumber, _between_groups
from tollbench.analysis.judged_claims import judged, region_of
from tollbench.analysis.results import ClaimVerdict
from tollbench.analysis.values import LaunchValue
from tollbench.stats import Interval
from tollbench.store import RunFile
from tollbench.words import Claim, ClaimCheck, ClaimSide, DeclaredDetail, Kind, Relation, Status

TRIALS = 400
ROUNDS = 12


def side(contender: str, **more: Any) -> ClaimSide:
    return ClaimSide(workload="tasks/made", contender=contender, **more)


def check(left: ClaimSide, relation: Relation, right: ClaimSide, **more: float) -> ClaimCheck:
    return ClaimCheck(left, relation, right, **more)


def claim(*checks: ClaimCheck, **more: Any) -> Claim:
    fields: dict[str, Any] = {
        "name": "it_is_so", "workload": "tasks/made", "claim": "It is so.", "document": "a document",
        "year": 2016, "place": "table 1", "checks": checks, "command": "./toll run tasks/made/a tasks/made/b",
    }  # fmt: skip
    return Claim(**(fields | more))


def verdict(folder: Path, one: Claim, cases: list[Made], **more: Any) -> ClaimVerdict:
    with RunFile.open(make_run(folder / "run.toll", cases, **more)) as run:
        (found,) = results(run, claims=[one]).claims
        return found


A_BEATS_B = claim(check(side("a"), Relation.LESS, side("b")))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ([10.0] * 8, [20.0] * 8, "holds"),
        ([20.0] * 8, [10.0] * 8, "does_not_hold"),
        ([10.0] * 8, [10.0] * 8, "does_not_hold"),  # equal is not less
        ([10.0, 12.0] * 4, [11.0] * 8, "cannot_be_told"),
    ],
)
def test_the_interval_of_the_paired_ratio_decides(tmp_path, left, right, said) -> None:
    found = verdict(tmp_path, A_BEATS_B, [Made("a", left), Made("b", right)])
    assert found.verdict == said
    assert (found.left, found.right) == (np.median(left), np.median(right))
    assert found.low is not None
    assert found.high is not None
    assert found.low * 0.999 <= np.median(left) / np.median(right) <= found.high * 1.001
    assert bool(found.reason) is (said == "cannot_be_told")


@pytest.mark.parametrize(
    ("in_batches", "where"), [({}, ""), ({"tasks/made": "tasks/many"}, "; tasks/many times many at once")]
)
def test_what_is_shorter_than_the_clocks_step_decides_nothing(tmp_path, in_batches, where) -> None:
    """Nor would measuring for longer, so nobody is told to."""
    samples = {name: [np.full(50, ns, dtype=np.float32)] * 8 for name, ns in (("a", 0.0), ("b", 40.0))}
    cases = [Made(name, [1.0] * 8, samples=taken) for name, taken in samples.items()]
    clock = {"clock": {"source": "tsc", "resolution_ns": 10.0}}
    path = make_run(tmp_path / "run.toll", cases, kind=Kind.SAMPLES, launch_changes=clock)
    with RunFile.open(path) as run:
        (found,) = results(run, claims=[A_BEATS_B], in_batches=in_batches).claims
    assert found.verdict == "cannot_be_told"
    assert found.reason == f"a is shorter than 10 ns, the clock's step{where}"
    assert found.left is None


def test_what_befalls_a_round_cancels(tmp_path) -> None:
    rounds = [1.0, 3.0, 9.0, 2.0, 7.0, 1.0, 5.0, 4.0]
    cases = [Made("a", [10.0 * one for one in rounds]), Made("b", [11.0 * one for one in rounds])]
    found = verdict(tmp_path, A_BEATS_B, cases)
    assert found.verdict == "holds"
    assert found.low == pytest.approx(10 / 11)


def test_rows_are_those_that_the_claim_names(tmp_path) -> None:
    one = claim(
        check(
            side("a", environment="tcmalloc", parameters={"size": 2}),
            Relation.LESS,
            side("a", parameters={"size": 2}),
        )
    )
    cases = [
        Made("a", [1.0] * 8, {"size": 1}),
        Made("a", [20.0] * 8, {"size": 2}),
        Made("a", [99.0] * 8, {"size": 1}, environment="tcmalloc"),
        Made("a", [10.0] * 8, {"size": 2}, environment="tcmalloc"),
    ]
    found = verdict(tmp_path, one, cases)
    assert (found.verdict, found.left, found.right) == ("holds", 10, 20)
    assert found.parts[0].left.environment == "tcmalloc"
    assert found.parts[0].left.parameters == {"size": 2}


def open_tasks(contender: str, usual: int | str) -> ClaimSide:
    return side(contender, usual={"tasks": usual})


def test_what_a_claim_leaves_open_is_as_usual(tmp_path) -> None:
    one = claim(check(open_tasks("a", 10_000), Relation.LESS, open_tasks("b", 10_000)))
    other, meant = {"tasks": 1000}, {"tasks": 10_000}
    cases = [
        Made("a", [99.0] * 8, other),
        Made("b", [1.0] * 8, other),
        Made("a", [10.0] * 8, meant),
        Made("b", [20.0] * 8, meant),
    ]
    found = verdict(tmp_path, one, cases)
    assert (found.verdict, found.left, found.right) == ("holds", 10, 20)


def test_rows_of_another_setting_than_the_usual_one_decide_nothing(tmp_path) -> None:
    one = claim(check(open_tasks("a", 10_000), Relation.LESS, open_tasks("b", 1000)))
    found = verdict(tmp_path, one, [Made(name, [1.0] * 8, {"tasks": 1000}) for name in ("a", "b")])
    assert (found.verdict, found.left) == ("cannot_be_told", None)
    assert "a was not measured at tasks=10000 in this run: `./toll run tasks/made/a" in found.reason


@pytest.mark.parametrize(("cpus", "left"), [([0, 1, 2], 20), ([0, 1], 10), (None, 10)])
def test_as_many_as_there_are_cpus_is_what_the_machine_of_the_run_had(tmp_path, cpus, left) -> None:
    one = claim(check(open_tasks("a", "cpus"), Relation.LESS, side("b")))
    cases = [Made("a", [10.0] * 8, {"tasks": 2}), Made("a", [20.0] * 8, {"tasks": 3}), Made("b", [30.0] * 8)]
    found = verdict(tmp_path, one, cases, machine={"usable_cpus": cpus})
    assert (found.verdict, found.left) == ("holds", left)


@pytest.mark.parametrize("across", [False, True])
def test_two_launches_of_one_round_in_a_strangers_file_end_nothing(across) -> None:
    near, far = {"0,1", "2,3"}, {"0,2", "0,3", "1,2", "1,3"}
    cells = {tuple(pair.split(",")): np.array([50.0 if pair in near else 200.0] * 3) for pair in near | far}
    launches = [SimpleNamespace(round=number) for number in (0, 1, 1)]
    case: Any = SimpleNamespace(
        cells=SimpleNamespace(values={"p50": cells}), launches=launches, by_round={0: 1.0, 1: 1.0}
    )
    found, why = _between_groups(case, 1.0, header(), across=across)
    assert (found, why) == (dict.fromkeys((0, 1), 200.0 if across else 50.0), "")


def test_one_check_that_fails_is_enough_and_one_that_is_open_leaves_all_open(tmp_path) -> None:
    yes = check(side("a"), Relation.LESS, side("b"))
    no = check(side("b"), Relation.LESS, side("a"))
    open_ = check(side("a"), Relation.LESS, side("gone"))
    cases = [Made("a", [10.0] * 9), Made("b", [20.0] * 9)]
    for number, (checks, said, by) in enumerate(
        [
            ((yes, no, open_), "does_not_hold", 1),
            ((yes, open_), "cannot_be_told", 1),
            ((yes, yes), "holds", 0),
        ]
    ):
        (folder := tmp_path / str(number)).mkdir()
        found = verdict(folder, claim(*checks), cases)
        assert (found.verdict, found.decided_by, len(found.parts)) == (said, by, len(checks))


def test_several_checks_share_the_level(tmp_path) -> None:
    """Eight rounds are enough for one check at 95 %, and for two; for ten they are not."""
    cases = [Made("a", [10.0] * 8), Made("b", [20.0] * 8)]
    one = check(side("a"), Relation.LESS, side("b"))
    for count, said in ((1, "holds"), (2, "holds"), (10, "cannot_be_told")):
        (folder := tmp_path / str(count)).mkdir()
        found = verdict(folder, claim(*[one] * count), cases, precision=0.0)
        assert found.verdict == said, count
        if said == "cannot_be_told":
            assert "8 launches are too few" in found.reason


def test_a_number_of_the_document_is_held_against_the_rows_own_interval(tmp_path) -> None:
    limit = ClaimSide(number=1.5, unit="us")
    one = claim(check(side("a"), Relation.AT_LEAST, limit))
    found = verdict(tmp_path, one, [Made("a", [2000.0, 1900.0, 1800.0, 1950.0] * 3)])
    assert (found.verdict, found.right) == ("holds", 1.5)
    assert found.low == pytest.approx(1800 / 1500)
    assert (found.parts[0].left.unit, found.parts[0].right.unit) == ("ns", "us")


FALLING = [100.0 - place / 1000 for place in range(ROUNDS)]  # by next to nothing, but slowly
SCATTERED = list(9.0 * np.exp(np.random.default_rng(1).normal(0.0, 0.05, 60)))  # the canary, by 5 %
CALLS = DeclaredDetail("calls", "calls", "calls", "of the allocator")


@pytest.mark.parametrize(
    ("case", "asked", "limit"),
    [
        (Made("a", FALLING), "value", ClaimSide(number=101.0, unit="ns")),
        (Made("a", FALLING), "value", side("b", statistic="calls")),
        (
            Made("a", [1.0] * ROUNDS, details=[{"calls": one} for one in FALLING]),
            "calls",
            ClaimSide(number=101.0, unit="calls"),
        ),
    ],
)
def test_an_unpaired_number_that_holds_within_the_run_reaches_to_the_floor(
    tmp_path, case: Made, asked: str, limit: ClaimSide
) -> None:
    """Below the limit by 1 %, by rounds that tell next to nothing of other hours, beside a floor of more."""
    one = claim(check(side("a", statistic=asked), Relation.LESS, limit))
    other = Made("b", [1.0] * ROUNDS, details=[{"calls": 101.0}] * ROUNDS)
    cases, more = [case, other], {"details": [CALLS]}
    (tmp_path / "calm").mkdir()
    calm = verdict(tmp_path / "calm", one, cases, **more)
    found = verdict(tmp_path, one, cases, canary=SCATTERED, **more)
    assert (calm.verdict, found.verdict) == ("holds", "cannot_be_told")
    assert found.high is not None
    assert found.high > 1.01


def test_a_value_of_which_the_runs_test_alone_tells_reaches_to_the_floor_in_claims_too(tmp_path) -> None:
    """The row's own interval and that of the claim on it are one."""
    one = claim(check(side("a"), Relation.LESS, ClaimSide(number=1e6, unit="ns")))
    with RunFile.open(
        make_run(tmp_path / "run.toll", [Made("a", of_the_runs_test_alone())], canary=SCATTERED)
    ) as run:
        found = results(run, claims=[one])
    ((row,), (said,)) = found.workloads[0].rows, found.claims
    assert row.within_run
    assert row.counts_as is None
    assert (said.low, said.high) == pytest.approx((row.low / 1e6, row.high / 1e6))  # type: ignore[operator]


def test_a_floor_beyond_all_numbers_leaves_the_ratios_of_claims_finite(tmp_path) -> None:
    """No machine's canary takes 1e-290 ns and then 1 s."""
    canary = [1e-290 if place % 2 else 1e9 for place in range(60)]
    one = claim(check(side("a"), Relation.LESS, side("b", statistic="calls")))
    cases = [Made("a", FALLING), Made("b", [1.0] * ROUNDS, details=[{"calls": one} for one in FALLING])]
    found = verdict(tmp_path, one, cases, canary=canary, details=[CALLS])
    assert found.verdict == "cannot_be_told"
    assert found.high is not None
    assert math.isfinite(found.high)


def test_the_floor_changes_no_claim_that_is_paired_by_round(tmp_path) -> None:
    cases = [Made("a", FALLING), Made("b", [1.01 * one for one in FALLING])]
    found = verdict(tmp_path, A_BEATS_B, cases, canary=SCATTERED)
    assert found.verdict == "holds"
    assert found.high == pytest.approx(1 / 1.01)


def test_percentiles_of_one_row_are_compared_by_their_intervals(tmp_path) -> None:
    rng = np.random.default_rng(1)
    samples = [np.where(rng.random(4000) < 0.03, 1000.0, 100.0 + rng.random(4000)) for _ in range(10)]
    one = claim(check(side("a", statistic="p99"), Relation.AT_LEAST, side("a", statistic="p50"), factor=5.0))
    found = verdict(tmp_path, one, [Made("a", [100.0] * 10, samples=samples)], kind=Kind.SAMPLES)
    assert found.verdict == "holds"
    assert found.left == pytest.approx(1000, rel=0.002)
    assert found.right == pytest.approx(100.5, rel=0.01)


def tails(rounds: int, count: int) -> list[Made]:
    """p99 of `a` is 20 % below that of `b`; what befalls a round befalls both, up to tenfold."""
    rng = np.random.default_rng(3)
    machine = rng.exponential(0.6, rounds)
    cases = []
    for name, tail in (("a", 400.0), ("b", 500.0)):
        slow = rng.random((rounds, count)) < 0.03
        times = np.where(slow, tail, 100.0) * rng.lognormal(0.0, 0.02, slow.shape)
        samples = list((times * np.exp(machine)[:, None]).astype(np.float32))
        cases.append(Made(name, [tail] * rounds, samples=samples))
    return cases


def test_one_percentile_of_two_rows_is_paired_by_rounds_as_in_the_table(tmp_path) -> None:
    one = claim(check(side("a", statistic="p99"), Relation.LESS, side("b", statistic="p99")))
    path = make_run(tmp_path / "run.toll", tails(20, 2000), kind=Kind.SAMPLES)
    with RunFile.open(path) as run:
        found = results(run, claims=[one])
    (said,), (table,) = found.claims, found.workloads
    assert said.verdict == "holds"
    assert said.ratio == pytest.approx(0.8, rel=0.02)
    shown = next(row.ratios["p99"] for row in table.latencies if row.contender == "b")  # b over a
    assert shown.low is not None
    assert shown.high is not None
    assert (said.low, said.high) == pytest.approx((1 / shown.high, 1 / shown.low))


def test_where_blocks_are_few_a_percentile_of_two_rows_is_told_by_their_intervals(tmp_path) -> None:
    """Of 40 rounds of 60 samples there are two blocks with ten beyond p99."""
    one = claim(check(side("a", statistic="p99"), Relation.LESS, side("b", statistic="p99")))
    found = verdict(tmp_path, one, tails(40, 60), kind=Kind.SAMPLES)
    assert found.verdict == "cannot_be_told"
    assert found.low is not None
    assert found.high is not None
    assert found.high / found.low > 2.0


def test_the_tail_of_one_row_over_its_median_is_that_of_all_its_samples(tmp_path) -> None:
    """One launch in three makes its p99: the usual one has no tail, all samples have one of ten medians."""
    rng = np.random.default_rng(4)
    samples = []
    for number in range(48):
        slow = rng.random(4000) < (0.2 if number % 3 == 0 else 0.0)
        samples.append(np.where(slow, 1000.0, 100.0).astype(np.float32))
    one = claim(check(side("a", statistic="p99"), Relation.AT_LEAST, side("a", statistic="p50"), factor=5.0))
    found = verdict(tmp_path, one, [Made("a", [100.0] * 48, samples=samples)], kind=Kind.SAMPLES)
    assert found.verdict == "holds"
    assert found.left == pytest.approx(1000, rel=0.002)


def test_details_are_compared_launch_by_launch(tmp_path) -> None:
    calls = DeclaredDetail("calls", "calls", "calls", "of the allocator")
    cases = [
        Made("a", [1.0] * 8, details=[{"calls": 7200.0}] * 8),
        Made("b", [1.0] * 8, details=[{"calls": 6.0}] * 8),
    ]
    one = claim(
        check(side("a", statistic="calls"), Relation.AT_LEAST, side("b", statistic="calls"), factor=500.0)
    )
    found = verdict(tmp_path, one, cases, details=[calls])
    assert (found.verdict, found.left, found.right) == ("holds", 7200, 6)
    assert found.ratio == pytest.approx(1200)
    assert found.parts[0].left.unit == "calls"


@pytest.mark.parametrize(
    ("cases", "more", "why"),
    [
        ([Made("a", [1.0] * 8)], {}, "b was not measured in this run"),
        ([Made("a", [1.0] * 8), Made("b", [])], {}, "b has no numbers (planned: the run ended"),
        ([Made("a", [1.0] * 4), Made("b", [2.0] * 4)], {}, "4 launches are too few for an interval"),
        (
            [Made("a", [1.0] * 8 + [None] * 7), Made("b", [None] * 7 + [2.0] * 8)],
            {},
            "too few rounds have both numbers",
        ),
        ([Made("a", [1.0] * 8), Made("b", [2.0] * 8)], {"profile": "check"}, "a check says nothing"),
        ([Made("a", [1.0, 3.0] * 4), Made("b", [2.0] * 8)], {}, "on both sides of 1.00"),
        (
            [Made("a", [1.9994, 3.0] * 4), Made("b", [2.0] * 8)],
            {},
            "lies between 0.9997 and 1.500, on both sides of 1.000:",
        ),
    ],
)
def test_what_cannot_be_told_says_why_and_what_would_tell(tmp_path, cases, more, why) -> None:
    found = verdict(tmp_path, A_BEATS_B, cases, **more)
    assert found.verdict == "cannot_be_told"
    assert why in found.reason
    assert "`./toll run tasks/made/a tasks/made/b --profile standard`" in found.reason


def test_what_could_not_run_says_what_mends_that_and_asks_for_no_longer_run(tmp_path) -> None:
    cases = [Made("a", [1.0] * 8), Made("b", [], status=Status.SKIPPED, reason="no library")]
    found = verdict(tmp_path, A_BEATS_B, cases)
    assert (found.verdict, found.reason) == ("cannot_be_told", "b has no numbers (skipped: no library)")


def test_a_long_run_that_cannot_tell_asks_for_a_longer_one(tmp_path) -> None:
    found = verdict(tmp_path, A_BEATS_B, [Made("a", [1.0] * 8)], profile="standard")
    assert "--profile thorough`" in found.reason


def test_claims_about_what_the_run_did_not_ask_are_left_out(tmp_path) -> None:
    with RunFile.open(make_run(tmp_path / "run.toll", [Made("a", [1.0] * 8)])) as run:
        assert results(run, claims=[claim(*A_BEATS_B.checks, workload="tasks/another")]).claims == []


@pytest.mark.parametrize(
    ("relation", "ends"),
    [
        (Relation.AT_LEAST, (10 / 2**0.5, math.inf)),
        (Relation.AT_MOST, (0.0, 10 * 2**0.5)),
        (Relation.ABOUT, (10 / 2**0.5, 10 * 2**0.5)),
    ],
)
def test_a_factor_gives_way_by_its_tolerance(relation, ends) -> None:
    found = region_of(check(side("a"), relation, side("b"), factor=10.0, tolerance=2**0.5))
    assert found == pytest.approx(ends)


def simulated(one: Claim, left: np.ndarray, right: np.ndarray) -> ClaimVerdict:
    """One run of `ROUNDS` rounds; both sides as logarithms."""
    found = {
        (one.name, 0, name): SideNumber(
            asked, {}, "ns", float(np.exp(np.median(logs))), None, 0.95,
            values={at: LaunchValue(float(np.exp(log))) for at, log in enumerate(logs)}, launches=ROUNDS,
        )
        for name, asked, logs in (("left", one.checks[0].left, left), ("right", one.checks[0].right, right))
    }  # fmt: skip
    (said,) = judged([one], found, header())
    return said


@pytest.mark.parametrize("waits", [False, True])
def test_rows_of_one_workload_are_compared_by_one_clock(tmp_path, waits: bool) -> None:
    """The same batches at two settings, at one of which another contender waits."""
    calm = {"voluntary_switches": 0, "cpu_ns": 500.0}
    beside = {"voluntary_switches": int(waits), "cpu_ns": 500.0}
    cases = [
        Made(name, [10.0] * 12, parameters={"wait_us": wait}, batches=batches, footing={"threads": 1})
        for name, wait, batches in (("a", 8, calm), ("a", 64, calm), ("b", 64, beside))
    ]
    left, right = (side("a", parameters={"wait_us": wait}) for wait in (8, 64))
    said = verdict(tmp_path, claim(check(left, Relation.ABOUT, right)), cases)
    assert (said.verdict, said.ratio) == ("holds", 1.0)


def test_times_of_two_workloads_are_compared_by_one_clock() -> None:
    """Of one workload, that waits, the wall clock alone is known; of the other, 5 ns are on the processor."""
    one = claim(check(side("a"), Relation.ABOUT, replace(side("b"), workload="tasks/other")))
    wall = SideNumber(one.checks[0].left, {}, "ns", 10.0, Interval(9.0, 11.0, 0.95), 0.95, launches=ROUNDS)
    on_cpu = replace(
        wall,
        value=5.0,
        interval=Interval(4.9, 5.1, 0.95),
        timed=(True, False),
        otherwise={(False, False): wall},
    )
    waits = replace(wall, side=one.checks[0].right)
    for left, ratio in ((on_cpu, 1.0), (wall, 1.0)):
        (said,) = judged([one], {(one.name, 0, "left"): left, (one.name, 0, "right"): waits}, header())
        assert said.ratio == pytest.approx(ratio)
        assert said.left == 10.0


def test_times_of_two_workloads_are_of_all_batches_where_those_of_one_are() -> None:
    """Both by their time on the processor: the one had its core to itself in some batches, 5 ns, and is held
    against the other by all of them."""
    one = claim(check(side("a"), Relation.ABOUT, replace(side("b"), workload="tasks/other")))
    near = Interval(9.0, 11.0, 0.95)
    everything = SideNumber(
        one.checks[0].left, {}, "ns", 10.0, near, 0.95, launches=ROUNDS, timed=(True, False)
    )
    own = replace(everything, value=5.0, timed=(True, True), otherwise={(True, False): everything})
    other = replace(everything, side=one.checks[0].right)
    for left, right in ((own, other), (other, own)):
        (said,) = judged([one], {(one.name, 0, "left"): left, (one.name, 0, "right"): right}, header())
        assert (said.left, said.right) == (10.0, 10.0)
        assert said.ratio == pytest.approx(1.0)


def test_settings_that_had_their_core_in_other_rounds_are_compared_by_all_batches() -> None:
    """The one in even rounds, 5 ns, the other in odd ones; of all batches both take 10 ns."""
    one = claim(check(side("a"), Relation.ABOUT, side("a", parameters={"wait_us": 64})))
    made = LaunchValue(10.0, np.array([5.0, 15.0]))
    flags = [np.array([True, False]), np.array([False, False])]
    found = {}
    for at, name in enumerate(("left", "right")):
        own = {number: made._replace(own_core=flags[(number + at) % 2]) for number in range(ROUNDS)}
        asked = getattr(one.checks[0], name)
        everything = SideNumber(
            asked, {}, "ns", 10.0, Interval(9.0, 11.0, 0.95), 0.95, values=dict.fromkeys(own, made)
        )
        found[one.name, 0, name] = replace(
            everything, value=5.0, values=own, timed=(False, True), otherwise={(False, False): everything}
        )
    (said,) = judged([one], found, header())
    assert (said.low, said.ratio, said.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("factor", [2.0, 10.0])
def test_a_claim_that_is_false_by_twice_the_half_width_is_called_so_in_95_of_100_runs(factor: float) -> None:
    """Truth: the ratio that runs in which the claim just held would have, less two half-widths of these."""
    rng = np.random.default_rng([int(factor), 1])
    one = claim(check(side("a"), Relation.AT_LEAST, side("b"), factor=factor, tolerance=2**0.5))
    boundary = math.log(factor / 2**0.5)
    left, right = 0.1 * rng.normal(size=(2, TRIALS, ROUNDS))
    at_it = [simulated(one, boundary + a, b) for a, b in zip(left, right, strict=True)]
    ends = [(said.low, said.high) for said in at_it]
    half = float(np.median([math.log(high / low) / 2 for low, high in ends if low and high]))
    wrongly = sum(said.verdict != "cannot_be_told" for said in at_it)
    assert wrongly <= 0.05 * TRIALS + 3 * math.sqrt(TRIALS * 0.05 * 0.95)
    far = [simulated(one, boundary - 2 * half + a, b) for a, b in zip(left, right, strict=True)]
    assert sum(said.verdict == "does_not_hold" for said in far) >= 0.95 * TRIALS
    true = [simulated(one, boundary + 2 * half + a, b) for a, b in zip(left, right, strict=True)]
    assert sum(said.verdict == "holds" for said in true) >= 0.95 * TRIALS
