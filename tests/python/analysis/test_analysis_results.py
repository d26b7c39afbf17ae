"""The analysis of whole run files: the rules from launch to table."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
from made_runs import Made, launch, make_run, of_the_runs_test_alone, published

from tollbench import analysis
from tollbench.analysis.comparison import tried_rounds
from tollbench.analysis.grouping import swept_parameters
from tollbench.analysis.pulse import by_beat
from tollbench.analysis.results import DetailEstimate, Floor, Results, Row
from tollbench.analysis.values import LaunchValue
from tollbench.stats import GoneOn, bonferroni, drift, final_level, quantile_ranks, resolvable_log_ratio
from tollbench.store import RunFile
from tollbench.words import PERCENTILES, Allocations, DeclaredDetail, Kind, Published, Purpose, Status

ROUNDS = 20


def read(path: Path) -> Results:
    with RunFile.open(path) as run_file:
        return analysis.results(run_file)


def rows(found: Results) -> dict[str, Row]:
    return {row.contender: row for row in found.workloads[0].rows}


def noisy(value: float, launches: int = ROUNDS, sigma: float = 0.01, seed: int = 1) -> list[float]:
    return list(value * np.exp(np.random.default_rng(seed).normal(0, sigma, launches)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.toll"


def test_a_value_is_the_median_over_launches_of_the_median_over_batches(path: Path) -> None:
    values = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 40.0]
    row = rows(read(make_run(path, [Made("a", values)])))["a"]
    assert row.value == pytest.approx(13.0)
    assert (row.low, row.high) == pytest.approx((10.0, 40.0))
    assert row.launch_values == pytest.approx(values)
    assert (row.launches, row.failed_launches, row.status) == (7, 0, "ok")


SHARE = DeclaredDetail("share", "Smallest share", "share", "of the thread that got least")
WAIT = DeclaredDetail("wait_ns", "Longest wait", "ns", "of any thread")


def test_details_are_medians_over_launches_with_an_interval(path: Path) -> None:
    told = [{"share": share, "undeclared": 1.0} for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.9)]
    cases = [Made("a", [10.0] * 6, details=told), Made("b", [11.0] * 6)]
    found = read(make_run(path, cases, details=[SHARE, WAIT]))
    share = rows(found)["a"].details
    assert share["share"].within_run  # they ascend
    assert share == {
        "share": DetailEstimate(value=0.35, low=0.1, high=0.9, within_run=share["share"].within_run)
    }
    assert rows(found)["b"].details == {}
    assert [one.name for one in found.workloads[0].details] == ["share"]


def test_a_detail_of_few_launches_has_no_interval(path: Path) -> None:
    cases = [Made("a", [10.0] * 6, details=[{"wait_ns": 7.0}, {}, {"wait_ns": 9.0}])]
    row = rows(read(make_run(path, cases, details=[WAIT])))["a"]
    assert row.details == {"wait_ns": DetailEstimate(value=8.0)}


def test_quantities_beside_the_time_are_per_unit_of_work(path: Path) -> None:
    counted = Allocations(iterations=2, units=50, calls=150, bytes=4000, peak_bytes=777)
    case = Made("a", [10.0] * 6, allocations=counted, counters={"instructions": 500})
    row = rows(read(make_run(path, [case])))["a"]
    assert row.cpu_time == pytest.approx(20.0)
    assert (row.voluntary_switches, row.involuntary_switches, row.faults) == pytest.approx((0.03, 0.01, 0.05))
    assert (row.memory.calls, row.memory.bytes, row.memory.heap_peak_bytes) == (3.0, 80.0, 777)
    assert row.memory.peak_bytes == 1 << 20
    assert row.counters == {"instructions": 5.0}
    assert row.cold == pytest.approx(30.0)
    assert row.footing == {"threads": 2, "pinning": "none"}


def test_on_which_cpu_turns_were_is_told_of_all_launches(path: Path) -> None:
    cases = [
        Made("always", [10.0] * 6, tied=6),
        Made("mostly", [10.0] * 6, tied=4),
        Made("never", [10.0] * 6),
    ]
    found = rows(read(make_run(path, cases)))
    assert {name: row.footing.get("turns_on") for name, row in found.items()} == {
        "always": "one CPU for all",
        "mostly": "one CPU for all, in 4 of 6 launches",
        "never": None,
    }
    assert not any("turns_on_cpu" in row.footing for row in found.values())


def test_time_and_memory_per_unit_created_come_from_what_was_observed(path: Path) -> None:
    derived, peak = {"units_created": 50_000}, {"units_created": 50_000, "units_alive_peak": 8_000}
    cases = [  # 100 units of work in 4 iterations: 25 in one
        Made("tree", [10.0] * 6, footing=derived, iterations=4),
        Made("alive", [20.0] * 6, footing=peak, iterations=4),
        Made("counted", [20.0] * 6, footing=derived, counted=peak | {"units_created": 40_000}, iterations=4),
        Made("few", [20.0] * 6, footing=derived, counted=peak | {"units_alive_peak": 999}),
        Made("none", [30.0] * 6, footing={"units_created": 0}),
        Made("silent", [40.0] * 6),
    ]
    found = rows(read(make_run(path, cases, unit="us")))
    assert found["tree"].value == pytest.approx(0.010)
    assert found["tree"].created_value == pytest.approx(0.010 * 25 / 50_000)
    assert found["tree"].memory_per_unit_bytes == pytest.approx((1 << 20) / 50_000)
    assert found["alive"].created_value == pytest.approx(0.020 * 25 / 50_000)
    assert found["alive"].memory_per_unit_bytes == pytest.approx((1 << 20) / 8_000)
    assert found["counted"].created_value == pytest.approx(0.020 * 25 / 40_000)
    assert found["counted"].memory_per_unit_bytes == pytest.approx((1 << 20) / 8_000)
    assert found["counted"].footing["units_alive_peak"] == 8_000
    assert found["counted"].footing["threads"] == 2  # what is measured tells the rest
    assert found["few"].memory_per_unit_bytes is None  # it would be the process's own memory
    for name in ("none", "silent"):
        assert (found[name].created_value, found[name].memory_per_unit_bytes) == (None, None)


@pytest.mark.parametrize("count", ["50", True, None, [50], -3, 0.5, 1e300, 2**60])
def test_a_count_of_units_that_makes_no_sense_is_no_count(path: Path, count: object) -> None:
    row = rows(read(make_run(path, [Made("a", [10.0] * 6, footing={"units_created": count})])))["a"]
    assert (row.created_value, row.memory_per_unit_bytes) == (None, None)


def test_memory_that_was_not_counted_says_why(path: Path) -> None:
    memory = rows(read(make_run(path, [Made("a", [10.0] * 6)])))["a"].memory
    assert memory.calls is None
    assert memory.reason == "not counted in this run"


def test_values_come_in_the_workloads_unit(path: Path) -> None:
    row = rows(read(make_run(path, [Made("a", [5000.0] * 6)], unit="us")))["a"]
    assert (row.value, row.cold) == pytest.approx((5.0, 15.0))
    assert row.unit == "us"


def test_rows_come_by_value_then_the_others_by_status_and_name(path: Path) -> None:
    cases = [
        Made("z", [], status=Status.SKIPPED), Made("slow", [20.0] * 6), Made("c", [Status.FAILED]),
        Made("fast", [10.0] * 6), Made("b", [], status=Status.SKIPPED),
    ]  # fmt: skip
    found = read(make_run(path, cases)).workloads[0].rows
    assert [row.contender for row in found] == ["fast", "slow", "c", "b", "z"]


def test_ratios_pair_the_rounds_so_that_drift_cancels(path: Path) -> None:
    drift = np.linspace(1.0, 3.0, ROUNDS)
    slow = Made("slow", list(20.2 * drift))
    fast = Made("fast", list(20.0 * drift))
    found = rows(read(make_run(path, [slow, fast])))
    assert found["fast"].fastest
    assert (found["fast"].ratio, found["fast"].ratio_low, found["fast"].ratio_high) == (1.0, 1.0, 1.0)
    for number in (found["slow"].ratio, found["slow"].ratio_low, found["slow"].ratio_high):
        assert number == pytest.approx(1.01)
    assert found["slow"].tie_groups != found["fast"].tie_groups


def test_pairs_are_matched_by_round_number_not_by_position(path: Path) -> None:
    drift = np.linspace(1.0, 3.0, ROUNDS)
    slow: list[float | Status | None] = [None, *(22.0 * drift[1:])]
    found = rows(read(make_run(path, [Made("fast", list(20.0 * drift)), Made("slow", slow)])))
    assert found["slow"].ratio == pytest.approx(1.1)
    assert found["slow"].ratio_high == pytest.approx(1.1)


def test_rows_that_cannot_be_told_apart_share_a_letter(path: Path) -> None:
    cases = [Made(name, noisy(10.0, seed=seed)) for seed, name in enumerate("ab")]
    cases.append(Made("c", noisy(20.0, seed=9)))
    found = rows(read(make_run(path, cases)))
    assert set(found["a"].tie_groups) & set(found["b"].tie_groups)
    assert not set(found["c"].tie_groups) & set(found["a"].tie_groups)


def test_a_ratio_interval_is_wider_in_a_larger_table(path: Path, tmp_path: Path) -> None:
    values = {name: noisy(10.0 + index, sigma=0.1, seed=index) for index, name in enumerate("abcdefgh")}
    small = rows(read(make_run(path, [Made(name, values[name]) for name in "ab"])))["b"]
    large = rows(read(make_run(tmp_path / "l.toll", [Made(name, v) for name, v in values.items()])))["b"]
    assert small.ratio_high is not None
    assert large.ratio_high is not None
    assert large.ratio_high > small.ratio_high


def test_too_few_rounds_for_the_table_give_no_interval_and_a_warning(path: Path, tmp_path: Path) -> None:
    found = read(make_run(path, [Made(name, noisy(10.0, 6, seed=i)) for i, name in enumerate("abcd")]))
    slower = next(row for row in found.workloads[0].rows if not row.fastest)
    assert slower.ratio is not None
    assert (slower.ratio_low, slower.ratio_high, slower.tie_groups) == (None, None, [])
    assert slower.low is not None
    (warning,) = [warning for warning in found.warnings if "2 more rounds are needed" in warning]
    assert warning.endswith("`./toll run tasks/made --profile standard` has the time for them.")
    found = read(
        make_run(tmp_path / "s.toll", [Made(name, noisy(10.0, 6)) for name in "abcd"], profile="standard")
    )
    (warning,) = [warning for warning in found.warnings if "2 more rounds are needed" in warning]
    assert "`./toll run tasks/made --profile thorough`" in warning


def test_a_check_measures_nothing_so_nothing_is_said_of_its_precision(path: Path, tmp_path: Path) -> None:
    wide = [Made(name, noisy(10.0, sigma=0.3, seed=number)) for number, name in enumerate("ab")]
    few = [Made(name, [10.0]) for name in "cd"]
    canary = noisy(9.0, 60, sigma=0.05)
    for number, cases in enumerate((wide, few)):
        run = make_run(tmp_path / f"{number}.toll", cases, canary=canary, profile="check")
        assert read(run).warnings == []
        run = make_run(tmp_path / f"{number}q.toll", cases, canary=canary, profile="quick")
        assert any("--profile" in warning for warning in read(run).warnings)
    failed = read(make_run(path, [Made("a", [10.0] * 9 + [Status.TIMED_OUT])], profile="check"))
    assert ["tasks/made: a: 1 of 10 launches failed" in text for text in failed.warnings] == [True]


def test_warnings_of_a_table_stand_apart_from_those_of_the_run(path: Path) -> None:
    cases = [Made(name, noisy(10.0, sigma=0.3, seed=number)) for number, name in enumerate("ab")]
    cases.append(Made("c", [*noisy(11.0, 12), Status.TIMED_OUT], {"size": 8}))
    cases.append(Made("c", noisy(11.0, 12), {"size": 1}))
    found = read(make_run(path, cases, canary=list(np.linspace(100, 150, 60))))
    whole, apart = found.warnings_by_workload()
    assert len(whole) + sum(map(len, apart.values())) == len(found.warnings)
    assert ["changed its speed" in text for text in whole] == [True]
    imprecise, failed = apart["tasks/made"]
    assert re.match(r"1 of 1 ratios are not known to ±1.0 % \([ab]\); `./toll run tasks/made", imprecise)
    assert failed.startswith("c at size=8: 1 of 13 launches failed")
    assert all(text.startswith("tasks/made: ") for text in found.warnings if text not in whole)


def test_a_warning_belongs_to_the_workload_with_the_longest_fitting_name(path: Path) -> None:
    found = read(make_run(path, [Made("a", noisy(10.0))]))
    (made,) = found.workloads
    names = ("a", "a: b", "a: b: c")
    told = found.model_copy(
        update={
            "workloads": [made.model_copy(update={"workload": name}) for name in names],
            "warnings": ["a: b: too few", "a: many", "ab: of neither"],
        }
    )
    assert told.warnings_by_workload() == (
        ["ab: of neither"], {"a: b: c": [], "a: b": ["too few"], "a": ["many"]},
    )  # fmt: skip


def test_every_launch_that_is_read_is_told(path: Path) -> None:
    make_run(path, [Made("a", noisy(10.0)), Made("b", [*noisy(11.0, 12), Status.FAILED])])
    told: list[tuple[int, int]] = []
    with RunFile.open(path) as run_file:
        analysis.results(run_file, lambda done, total: told.append((done, total)))
        total = run_file.launch_count(Purpose.MEASURE)
    good = sum(len(one) for one in (noisy(10.0), noisy(11.0, 12)))
    assert told == [(number, total) for number in range(1, good + 1)]
    assert total == good + 1


def test_one_wrong_answer_leaves_no_number(path: Path) -> None:
    case = Made("a", [*noisy(10.0), Status.WRONG_ANSWER])
    found = read(make_run(path, [case, Made("b", noisy(11.0))]))
    row = rows(found)["a"]
    assert (row.status, row.value, row.ratio, row.launch_values) == ("wrong_answer", None, None, [])
    assert row.cpu_time is None
    assert row.cold is None
    assert rows(found)["b"].fastest
    assert [(problem.contender, problem.status) for problem in found.problems] == [("a", "wrong_answer")]


@pytest.mark.parametrize(
    ("ok", "failed", "status"),
    [(20, 1, "ok"), (6, 1, "ok"), (5, 1, "failed"), (15, 4, "failed"), (16, 4, "ok")],
)
def test_a_case_survives_few_failed_launches(path: Path, ok: int, failed: int, status: str) -> None:
    case = Made("a", [*noisy(10.0, ok), *([Status.TIMED_OUT] * failed)])
    found = read(make_run(path, [case]))
    row = rows(found)["a"]
    assert (row.status, row.failed_launches) == (status, failed)
    assert f"{failed} of {ok + failed} launches failed" in row.reason
    assert (row.value is not None) == (status == "ok")
    assert any(row.reason in warning for warning in found.warnings) == (status == "ok")


def test_a_case_without_any_good_launch_keeps_its_failure(path: Path) -> None:
    row = rows(read(make_run(path, [Made("a", [Status.OUT_OF_MEMORY] * 3)])))["a"]
    assert (row.status, row.reason) == ("out_of_memory", "it out_of_memory here")


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.BUILD_FAILED, Status.UNSUPPORTED])
def test_what_could_not_run_is_a_row_with_its_reason(path: Path, status: Status) -> None:
    found = read(make_run(path, [Made("a", [], status=status, reason="apt install x")]))
    assert (rows(found)["a"].status, rows(found)["a"].reason) == (str(status), "apt install x")
    assert found.problems[0].reason == "apt install x"


def test_what_an_interruption_left_out_names_the_command_that_goes_on(path: Path) -> None:
    cases = [Made("a", noisy(10.0)), Made("b", [], status=Status.PLANNED)]
    found = read(make_run(path, cases, finished_utc=None, stopped_by="interrupt"))
    assert rows(found)["b"].status == "planned"
    expected = f"interrupted before it was measured; ./toll run --resume {path} goes on"
    assert rows(found)["b"].reason == expected
    assert any("--resume" in warning for warning in found.warnings)


def test_latencies_pool_the_samples_of_all_launches(path: Path) -> None:
    rng = np.random.default_rng(3)
    samples = [rng.lognormal(5 + rng.normal(0, 0.02), 0.5, 4000) for _ in range(12)]
    case = Made("a", [1.0] * 12, samples=samples)
    found = read(make_run(path, [case], kind=Kind.SAMPLES))
    latency = found.workloads[0].latencies[0]
    latency_json = latency.model_dump()
    pooled = np.concatenate(samples)
    assert (latency.count, latency.launches) == (48000, 12)
    for number, p in (
        (latency_json["p50"], 0.5),
        (latency_json["p90"], 0.9),
        (latency_json["p99"], 0.99),
        (latency_json["p999"], 0.999),
    ):
        assert number == pytest.approx(np.quantile(pooled, p), rel=0.01)
    assert latency.max == pytest.approx(pooled.max(), rel=1e-6)
    assert latency_json["p99_low"] is not None
    assert latency_json["p99_low"] < latency_json["p99"] < (latency_json["p99_high"] or 0.0)
    assert len(latency.cdf.p) <= 400
    row = rows(found)["a"]
    assert row.value == pytest.approx(np.median([np.median(launch) for launch in samples]), rel=1e-6)
    assert row.cold == pytest.approx(np.median([3 * np.median(launch[:5]) for launch in samples]), rel=1e-6)


@pytest.mark.parametrize(
    ("value", "today"),
    [
        (published("threads (10,000)"), 0.02),
        (published("threads", note="1_000_000 tasks"), 0.03),
        (published("threads"), 0.01),
        (published("threads", note="tasks=10000; long ago"), 0.02),
        (published("threads", note="tasks=77"), None),
        (published("threads", note="fibers=77"), 0.01),
        (published("threads", differs="it has 10,000 or 1,000,000 tasks"), 0.01),
        (published("threads", differs="tasks=10000 there"), 0.01),
        (published("threads", note="10,000 iterations"), 0.01),
        (published("threads (10,000)", note="1,000,000 iterations"), 0.02),
        (published("threads", per="run"), None),
        (published("threads", unit="jobs/s"), None),
        (published("threads", contender="nobody"), None),
        (published("threads", statistic="p99"), None),
    ],
)
def test_a_published_value_stands_beside_its_row(path: Path, value: Published, today: float | None) -> None:
    cases = [
        Made("a", [number] * 6, {"tasks": tasks})
        for number, tasks in ((10.0, 100_000), (20.0, 10_000), (30.0, 1_000_000))
    ]
    found = read(make_run(path, cases, published=[value])).workloads[0].published[0]
    assert found.label == value.label
    assert (found.today and found.today.value) == (today and pytest.approx(today))


def test_a_published_value_names_the_row_that_it_was_matched_with(path: Path) -> None:
    cases = [Made("a", [10.0] * 6, {"tasks": tasks}) for tasks in (100_000, 10_000)]
    cases.append(Made("b", [], {"tasks": 10_000}, status=Status.SKIPPED))
    asked = [published("threads (10,000)"), published("threads"), published("threads", contender="b")]
    found = read(make_run(path, cases, published=asked)).workloads[0].published
    matched = [(one.environment, one.parameters) for one in found]
    assert matched == [("host", {"tasks": 10_000}), ("host", {"tasks": 100_000}), (None, None)]


@pytest.mark.parametrize(
    ("label", "wait_us", "threads"),
    [
        ("calc/64", 64, 8),  # the wait's number is no number of threads
        ("calc, 64 threads", 8, 64),
    ],
)
def test_the_number_of_one_parameter_stands_for_no_other(
    tmp_path: Path, label: str, wait_us: int, threads: int
) -> None:
    """On a machine of 64 CPUs, where 64 threads are a row."""
    cases = [Made("a", [1.0] * 12, parameters={"threads": n, "wait_us": wait_us}) for n in (8, 64)]
    value = published(label, note=f"wait_us={wait_us}")
    found = read(make_run(tmp_path / "run.toll", cases, published=[value])).workloads[0].published[0]
    assert found.parameters == {"threads": threads, "wait_us": wait_us}


def test_a_published_value_stands_beside_the_row_of_its_environment(path: Path) -> None:
    cases = [Made("a", [10.0] * 6), Made("a", [20.0] * 6, environment="tcmalloc")]
    asked = [published("threads", environment=name, unit="ns") for name in ("host", "tcmalloc", "jemalloc")]
    found = read(make_run(path, cases, published=asked)).workloads[0].published
    assert [(one.environment, one.today and one.today.value) for one in found] == [
        ("host", pytest.approx(10)), ("tcmalloc", pytest.approx(20)), (None, None),
    ]  # fmt: skip


def test_a_warning_tells_rows_of_several_environments_apart(path: Path) -> None:
    rng = np.random.default_rng(5)
    cases = [
        Made("a", list(10 * np.exp(rng.normal(0, 0.3, 12))), environment=name)
        for name in ("host", "tcmalloc")
    ]
    (told,) = [line for line in read(make_run(path, cases)).warnings if "ratios are not known" in line]
    assert "(a (host))" in told or "(a (tcmalloc))" in told


def test_a_published_percentile_stands_beside_the_same_percentile(path: Path) -> None:
    rng = np.random.default_rng(4)
    samples = [rng.lognormal(5, 0.5, 2000) for _ in range(9)]
    asked = [
        published("tail", unit="ns", statistic=name) for name in ("p50", "p90", "p99", "p999", "max", "p7")
    ]
    run = make_run(path, [Made("a", [1.0] * 9, samples=samples)], kind=Kind.SAMPLES, published=asked)
    found = read(run).workloads[0]
    latency = found.latencies[0]
    latency_json = latency.model_dump()
    values = [one.today and one.today.value for one in found.published]
    assert values == [
        latency_json["p50"],
        latency_json["p90"],
        latency_json["p99"],
        latency_json["p999"],
        latency.max,
        None,
    ]
    assert found.published[2].today is not None
    assert (found.published[2].today.low, found.published[2].today.high) == (
        latency_json["p99_low"],
        latency_json["p99_high"],
    )


def test_latencies_come_in_the_workloads_unit(path: Path) -> None:
    samples = [np.linspace(2000.0, 4000.0, 500) for _ in range(8)]
    run = make_run(path, [Made("a", [1.0] * 8, samples=samples)], kind=Kind.SAMPLES, unit="us")
    latency = read(run).workloads[0].latencies[0]
    latency_json = latency.model_dump()
    numbers = [
        latency_json["p50"],
        latency_json["p50_low"],
        latency_json["p50_high"],
        latency.max,
        latency.cdf.value[0],
    ]
    assert numbers == pytest.approx([3.0, 3.0, 3.0, 4.0, 2.0], rel=2e-3)


@pytest.mark.parametrize(("precision", "rank"), [(0.2, 1), (0.01, 3), (0.0, 3)])
def test_a_run_that_stopped_at_a_look_has_that_looks_level(path: Path, precision: float, rank: int) -> None:
    # 12 rounds: the first look of the schedule; no trend, as those beside each other would be alike
    values = [float(101 + 5 * place % 12) for place in range(12)]
    row = rows(read(make_run(path, [Made("a", values)], precision=precision)))["a"]
    assert (row.low, row.high) == pytest.approx((100 + rank, 113 - rank))


def test_a_run_that_is_gone_on_with_has_spent_of_its_level(tmp_path: Path) -> None:
    """Of 18 rounds fewer lie outside of the interval the more was spent, and while it may still go on."""
    values = [float(101 + 7 * place % 18) for place in range(18)]

    def low(name: str, times: int, **changes: Any) -> tuple[float | None, Results]:
        made = make_run(tmp_path / f"{name}.toll", [Made("a", values)], **changes)
        with sqlite3.connect(made) as connection:
            for look in range(times):
                query = "INSERT INTO look (at_utc, launches) VALUES (?, ?)"
                connection.execute(query, ("2026-01-02T03:04:30.000+00:00", look + 1))
        connection.close()
        found = read(made)
        assert found.run.looks == times
        return rows(found)["a"].low, found

    wanted = {}
    for times in (0, 1, 9):
        for ended in (True, False):
            ranks = quantile_ranks(18, 0.5, final_level(18, 0.95, GoneOn(times, ended=ended)))
            assert ranks is not None
            wanted[times, ended] = 100.0 + ranks[0]
    assert len(set(wanted.values())) > 2
    for (times, ended), end in wanted.items():
        changes: dict[str, Any] = {} if ended else {"finished_utc": None, "stopped_by": "interrupt"}
        seen, found = low(f"{times}-{ended}", times, **changes)
        assert seen == pytest.approx(end)
        told = " ".join(found.warnings)
        assert ("was gone on with" in told) == (times > 0)
        assert ("Until it has ended its intervals are wider" in told) is not ended


def test_a_report_of_what_is_being_measured_says_that_looks_at_it_are_not_counted(tmp_path: Path) -> None:
    def told(name: str, **changes: Any) -> str:
        return " ".join(read(make_run(tmp_path / name, [Made("a", noisy(10.0))], **changes)).warnings)

    assert "errs more often than the level says" in told("now", finished_utc=None, stopped_by=None)
    assert "being measured" not in told("broken off", finished_utc=None, stopped_by="interrupt")
    assert "being measured" not in told("ended")


def test_the_run_says_how_long_it_took_and_how_long_its_programs_ran(path: Path) -> None:
    run = read(make_run(path, [Made("a", noisy(10.0))], canary=noisy(9.0, 4))).run
    assert run.seconds == pytest.approx(60.0)
    assert run.launches == 25
    assert run.seconds_in_programs == pytest.approx(25 * 0.005)


def test_launches_of_a_case_without_a_number_are_launches_all_the_same(path: Path) -> None:
    """40 good launches beside 12 that crashed: the row has no number, and the run had them all."""
    crashing = [10.0] * 40 + [Status.FAILED] * 12
    run = read(make_run(path, [Made("a", noisy(10.0)), Made("b", crashing)])).run
    assert run.launches == 1 + 20 + 1 + 52


def test_the_night_between_an_interruption_and_its_resume_is_not_part_of_the_run(path: Path) -> None:
    make_run(path, [Made("a", noisy(10.0))], finished_utc="2026-01-03T03:04:35.000+00:00")
    with sqlite3.connect(path) as connection:  # the second half of the launches on the next day
        later = "UPDATE launch SET started_utc = '2026-01-03T03:04:05.000+00:00'"
        connection.execute(f"{later} WHERE id > (SELECT max(id) / 2 FROM launch)")
    connection.close()
    assert read(path).run.seconds == pytest.approx(30.0, abs=0.1)


def test_the_command_that_goes_on_can_be_pasted_where_the_path_has_a_space(tmp_path: Path) -> None:
    path = tmp_path / "my run.toll"
    found = read(make_run(path, [Made("a", [], status=Status.PLANNED)], finished_utc=None))
    (row,) = found.workloads[0].rows
    for text in (row.reason, *found.warnings):
        assert f"--resume '{path}' goes on" in text


def test_ratios_wider_than_the_asked_precision_are_counted_and_named(path: Path) -> None:
    steady = noisy(10.0, sigma=1e-5)
    cases = [Made("fast", steady), Made("calm", [2 * value for value in steady])]
    cases.append(Made("wild", noisy(30.0, sigma=0.3)))
    warnings = read(make_run(path, cases)).warnings
    assert len(warnings) == 1
    assert (
        "1 of 2 ratios are not known to ±1.0 %, one of 4 to twice that, of 8 to three times (wild)"
        in warnings[0]
    )


def test_a_ratio_that_is_far_away_need_not_be_known_as_precisely(path: Path) -> None:
    steady = noisy(10.0, sigma=1e-5)
    found = read(make_run(path, [Made("fast", steady), Made("far", noisy(470.0, sigma=0.1))]))
    far = next(row for row in found.workloads[0].rows if row.contender == "far")
    assert far.ratio_low is not None
    assert far.ratio_high is not None
    assert 1.02**2 < far.ratio_high / far.ratio_low < 1.055**2
    assert found.warnings == []


def test_a_floor_above_the_asked_precision_is_said(path: Path) -> None:
    run = make_run(path, [Made("a", noisy(10.0))], canary=noisy(9.0, 60, sigma=0.05), precision=0.01)
    assert any(
        "were out of reach in this run for programs like the canary" in warning
        for warning in read(run).warnings
    )


def test_the_floor_and_drift_come_from_the_canary(path: Path) -> None:
    calm = np.random.default_rng(5).normal(0, 0.01, 60)
    found = read(make_run(path, [Made("a", noisy(10.0))], canary=list(100 * np.exp(calm)))).floor
    assert found.launches == 60
    assert found.ratio is not None
    assert 1.003 < found.ratio < 1.05
    assert found.canary_at_s[:3] == [0.0, 1.0, 2.0]
    assert found.canary_ns[0] == pytest.approx(100 * np.exp(calm[0]))


def test_a_floor_beyond_all_numbers_leaves_intervals_finite(path: Path) -> None:
    """No machine's canary takes 1e-290 ns and then 1 s."""
    canary = [1e-290 if place % 2 else 1e9 for place in range(60)]
    found = read(make_run(path, [Made("a", [1e12 - place for place in range(12)])], canary=canary))
    row = rows(found)["a"]
    assert row.within_run
    assert found.floor.ratio is not None
    assert found.floor.ratio > 1e298
    assert row.high is not None
    assert math.isfinite(row.high)


def test_the_floor_is_that_of_a_ratio_in_the_typical_table(tmp_path: Path) -> None:
    """At the level that looking early has left, shared by all pairs of the table that most rows are in."""
    canary = noisy(9.0, 120, sigma=0.01)
    pairs = [math.log(b / a) for a, b in pairwise(canary)][::2]

    def floor_of(name: str, cases: Sequence[Made], **changes: Any) -> Floor:
        return read(make_run(tmp_path / f"{name}.toll", cases, canary=canary, **changes)).floor

    def wanted(rounds: int, level: float) -> float:
        found = resolvable_log_ratio(pairs, rounds, level)
        assert found is not None
        return math.exp(found)

    two, six = ([Made(f"c{row}", noisy(10.0 + row, 30, seed=row)) for row in range(rows)] for rows in (2, 6))
    small, large = floor_of("two", two), floor_of("six", six)
    assert (small.rows, small.rounds, small.level) == (2, 30, final_level(30, 0.95))
    assert (large.rows, large.rounds) == (6, 30)
    assert large.level == pytest.approx(1 - (1 - final_level(30, 0.95)) / 15)
    assert small.ratio == pytest.approx(wanted(30, final_level(30, 0.95)))
    assert large.ratio == pytest.approx(wanted(30, bonferroni(final_level(30, 0.95), 15)))
    assert large.ratio > small.ratio  # type: ignore[operator]
    assert floor_of("no looks", two, precision=0.0).level == 0.95
    mixed = [
        Made(each.contender, each.launches, {"n": 1 if number < 6 else number})
        for number, each in enumerate([*six, *two, Made("c0", noisy(10.0, 30))])
    ]  # c0 and c1 have other settings too, each alone there
    assert floor_of("swept", mixed).rows == 6
    wait = [Made(f"c{row}", noisy(10.0 + row, 3, seed=row), {"n": 2}) for row in range(9)]
    few = floor_of("most wait", [*(Made(each.contender, each.launches, {"n": 1}) for each in two), *wait])
    assert (few.rows, few.rounds) == (2, 30), "what has no interval says nothing of one"
    numbers = [1 + at % 20 for at in range(30)]
    again = floor_of("layouts", [Made(each.contender, each.launches, layouts=numbers) for each in two])
    asked = resolvable_log_ratio(pairs, 30, final_level(30, 0.95), layouts=20)
    assert asked is not None
    assert again.ratio == pytest.approx(math.exp(asked))
    assert (again.rounds, again.level) == (30, small.level)
    assert again.ratio > small.ratio  # type: ignore[operator]


def test_moments_that_differ_are_no_drift_of_the_machine() -> None:
    """Both launches of a beat have the same moment: shuffled one by one, 20 of 100 such runs had drifted."""
    rng = np.random.default_rng(9)
    alarms = one_by_one = 0
    for seed in range(100):
        moments = np.repeat(rng.normal(0.0, 0.05, 40), 2)
        values = np.exp(moments + rng.normal(0.0, 0.002, 80))
        beats = [
            (launch(None, Purpose.CANARY, number // 2), LaunchValue(value))
            for number, value in enumerate(values)
        ]
        found, apart = drift(by_beat(beats), seed), drift(values, seed)
        assert found is not None
        assert apart is not None
        alarms += found.chance <= 0.05
        one_by_one += apart.chance <= 0.05
    assert alarms <= 12
    assert one_by_one >= 20


def test_a_workload_was_gone_through_as_often_as_any_of_its_cases() -> None:
    """A dear row lacks early rounds, one that was known soon lacks late ones: none need have been in all.

    A run that a look ended is shown at that look's level, and which look it was is told by its rounds.
    """
    rounds = (frozenset([*range(1, 21), *range(22, 41, 2)]), frozenset([*range(1, 21), *range(21, 42, 2)]))
    cases = [SimpleNamespace(tried_rounds=own) for own in rounds]
    assert tried_rounds(cases) == 41  # type: ignore[arg-type]


def test_drift_and_stolen_time_are_said(path: Path) -> None:
    canary = list(np.linspace(100, 150, 60))
    run = make_run(path, [Made("a", noisy(10.0))], canary=canary, launch_changes={"steal_ns": 100_000})
    warnings = read(run).warnings
    assert any("changed its speed" in warning for warning in warnings)
    (taken,) = (warning for warning in warnings if "hypervisor took" in warning)
    assert "of one CPU's" not in taken
    many = make_run(
        path.with_name("many.toll"),
        [Made("a", noisy(10.0))],
        launch_changes={"steal_ns": 100_000},
        machine={"cpus": 16},
    )
    (taken,) = (warning for warning in read(many).warnings if "hypervisor took" in warning)
    assert " % of one CPU's, on 16 of them): other guests" in taken


def test_a_calm_run_carries_no_warning(path: Path) -> None:
    canary = list(100 * np.exp(np.random.default_rng(6).normal(0, 1e-4, 60)))
    run = make_run(
        path, [Made("a", noisy(10.0)), Made("b", noisy(10.0, seed=3))], canary=canary, precision=0.05
    )
    assert read(run).warnings == []


def test_a_run_without_a_canary_says_why_there_is_no_floor(path: Path) -> None:
    floor = read(make_run(path, [Made("a", noisy(10.0))])).floor
    assert (floor.ratio, floor.reason) == (None, "the canary ran 0 times; 20 are needed")


def test_the_json_satisfies_the_committed_schema(path: Path) -> None:
    schema = json.loads(
        (Path(__file__).parents[3] / "schemas/report.schema.json").read_text(encoding="utf-8")
    )
    cases = [Made("a", noisy(10.0)), Made("b", [], status=Status.SKIPPED, reason="no")]
    text = read(make_run(path, cases, canary=noisy(9.0, 30))).model_dump_json(by_alias=True)
    jsonschema.validate(json.loads(text), schema)
    assert json.loads(text)["schema"] == "toll-report/1"


def test_no_ratio_is_to_a_floor(path: Path) -> None:
    bare = Made("bare", noisy(1.0, 20), footing={"role": "floor"})
    found = rows(read(make_run(path, [Made("fast", noisy(10.0, 20)), bare, Made("slow", noisy(20.0, 20))])))
    assert (found["fast"].fastest, found["bare"].fastest, found["bare"].floor) == (True, False, True)
    assert found["bare"].ratio == pytest.approx(0.1, rel=0.1)
    assert found["slow"].ratio == pytest.approx(2.0, rel=0.1)


def test_a_floor_alone_is_compared_with_itself(path: Path) -> None:
    row = rows(read(make_run(path, [Made("bare", noisy(1.0), footing={"role": "floor"})])))["bare"]
    assert (row.fastest, row.ratio) == (True, 1.0)


def test_rare_percentiles_and_a_launchs_own_longest_stand_beside_the_longest(path: Path) -> None:
    rng = np.random.default_rng(5)
    samples = [rng.lognormal(5, 0.3, 20_000).astype(np.float32) for _ in range(10)]
    for number, array in enumerate(samples):
        array[0] = 10_000.0 + 3 * number % 10  # not a trend
    case = Made("a", [150.0] * 10, samples=samples)
    (entry,) = read(make_run(path, [case], kind=Kind.SAMPLES)).workloads[0].latencies
    entry_json = entry.model_dump()
    everything = np.sort(np.concatenate(samples))
    assert entry_json["p9999"] == pytest.approx(everything[int(0.9999 * everything.size) - 1], rel=0.003)
    assert entry_json["p9999_low"] is not None
    assert entry_json["p9999_high"] is not None
    assert entry_json["p999"] is not None
    assert entry_json["p9999"] is not None
    assert entry_json["p999"] < entry_json["p9999"] < entry.max
    assert entry.max == 10_009.0
    assert entry.launch_max is not None
    assert entry.launch_max.value == 10_004.5
    assert (entry.launch_max.low, entry.launch_max.high) == (10_001.0, 10_008.0)


def test_a_percentile_that_too_few_samples_reach_is_left_out(path: Path) -> None:
    case = Made("a", [150.0] * 10, samples=[np.linspace(100, 200, 1_000) for _ in range(10)])
    (entry,) = read(make_run(path, [case], kind=Kind.SAMPLES)).workloads[0].latencies
    entry_json = entry.model_dump()
    assert (entry_json["p9999"], entry_json["p9999_low"], entry_json["p9999_high"]) == (None, None, None)


def test_the_samples_of_a_launch_are_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Made("a", [150.0] * 7, samples=[np.linspace(100, 200, 50) for _ in range(7)])
    make_run(path, [case], kind=Kind.SAMPLES)
    iterate, read_from = RunFile._iterate, []

    def noted(self, query, arguments):
        if "FROM sample_block" in query:
            read_from.append(arguments)
        return iterate(self, query, arguments)

    monkeypatch.setattr(RunFile, "_iterate", noted)
    assert rows(read(path))["a"].cold is not None
    assert len(read_from) == len(set(read_from)) == 7


@pytest.mark.parametrize(("a_launch", "there"), [(10_000, True), (9_999, False)])
def test_the_rarest_percentile_needs_ten_samples_beyond_it(path: Path, a_launch: int, there: bool) -> None:
    case = Made("a", [150.0] * 10, samples=[np.linspace(100, 200, a_launch) for _ in range(10)])
    (entry,) = read(make_run(path, [case], kind=Kind.SAMPLES)).workloads[0].latencies
    assert list(entry.quantiles) == [each.key for each in PERCENTILES[: 5 if there else 4]]


def test_latencies_are_keyed_by_percentile_in_python_and_flat_in_json(path: Path) -> None:
    case = Made("a", [150.0] * 10, samples=[np.linspace(100, 200, 9_000) for _ in range(10)])
    (entry,) = read(make_run(path, [case], kind=Kind.SAMPLES)).workloads[0].latencies
    told = json.loads(entry.model_dump_json())
    for key, found in entry.quantiles.items():
        assert [told[key], told[f"{key}_low"], told[f"{key}_high"]] == [found.value, found.low, found.high]
    assert [told["p9999"], told["p9999_low"], told["p9999_high"]] == [None, None, None]
    assert list(told)[6:9] == ["p50", "p50_low", "p50_high"]
    assert "quantiles" not in told


def test_a_histogram_holds_every_sample_once(path: Path) -> None:
    rng = np.random.default_rng(6)
    samples = [rng.lognormal(5, 0.3, 5_000).astype(np.float32) for _ in range(8)]
    case = Made("a", [150.0] * 8, samples=samples)
    (entry,) = read(make_run(path, [case], kind=Kind.SAMPLES)).workloads[0].latencies
    found = entry.histogram
    assert found is not None
    assert sum(found.share) + found.below + found.beyond == pytest.approx(1.0)
    assert 0 < found.beyond <= 0.001
    assert found.below == 0.0
    everything = np.concatenate(samples)
    inside = np.histogram(everything, found.edges)[0] / everything.size
    assert inside == pytest.approx(found.share, abs=0.003)  # the grid of the counts is 0.1 % wide


def test_efficiency_is_the_floor_of_the_same_work_over_the_row(path: Path) -> None:
    floor = {"role": "floor"}
    cases = [
        Made("bare", [5.0] * 8, {"tasks": 10, "threads": 1}, footing=floor),
        Made("bare", [50.0] * 8, {"tasks": 100, "threads": 1}, footing=floor),
        Made("a", [10.0] * 8, {"tasks": 10, "threads": 2}),
        Made("a", [80.0] * 8, {"tasks": 100, "threads": 2}),
        Made("b", [40.0] * 8, {"tasks": 1000, "threads": 2}),
        Made("c", [25.0] * 8, {"tasks": 10, "threads": 4}, environment="jemalloc"),
    ]
    found = {
        (row.contender, row.parameters["tasks"]): row for row in read(make_run(path, cases)).workloads[0].rows
    }
    assert found["a", 10].efficiency is not None
    assert found["a", 10].efficiency.value == pytest.approx(0.5)
    assert found["a", 10].efficiency.low == pytest.approx(0.5)
    assert found["a", 100].efficiency is not None
    assert found["a", 100].efficiency.value == pytest.approx(0.625)
    assert found["c", 10].efficiency is not None
    assert found["c", 10].efficiency.value == pytest.approx(0.2)
    assert found["b", 1000].efficiency is None  # no floor of that size
    assert found["bare", 10].efficiency is None


def test_cpus_busy_is_cpu_time_over_wall_time(path: Path) -> None:
    assert rows(read(make_run(path, [Made("a", [10.0] * 6)])))["a"].cpus_busy == pytest.approx(2.0)


def test_each_environment_has_a_fastest_of_its_own(path: Path) -> None:
    cases = [
        Made(name, [value * factor * scale] * 10, {"size": size, "seed": seed}, environment=environment)
        for name, value, seed in (("map", 20.0, 1), ("flat", 10.0, 2))
        for environment, factor in (("gcc", 1.0), ("clang", 0.5))
        for size, scale in ((1, 1.0), (8, 0.1))
    ]
    found = {
        (row.contender, row.environment, row.parameters["size"]): row
        for row in read(make_run(path, cases)).workloads[0].rows
    }
    assert {key for key, row in found.items() if row.environment_fastest} == {
        ("flat", environment, size) for environment in ("gcc", "clang") for size in (1, 8)
    }
    for environment in ("gcc", "clang"):
        told = found["map", environment, 8].environment_ratio
        assert told is not None
        assert told.value == pytest.approx(2.0)
    assert {key for key, row in found.items() if row.fastest} == {("flat", "clang", 1), ("flat", "clang", 8)}


def swept(sizes: dict[int, list[tuple[str, float]]], rounds: int = 12) -> list[Made]:
    """Contenders by size, each with its value; `seed` is a contender's own choice."""
    return [
        Made(name, [value] * rounds, {"size": size, "seed": len(name)})
        for size, members in sizes.items()
        for name, value in members
    ]


def by_size(found: Results) -> dict[tuple[str, object], Row]:
    return {(row.contender, row.parameters["size"]): row for row in found.workloads[0].rows}


def test_rows_of_another_setting_are_not_compared(path: Path) -> None:
    cases = swept({1: [("map", 20.0), ("flat", 10.0)], 8: [("map", 4000.0), ("flat", 1000.0)]})
    found = read(make_run(path, cases))
    told = by_size(found)
    assert {key for key, row in told.items() if row.fastest} == {("flat", 1), ("flat", 8)}
    assert told["map", 1].ratio == pytest.approx(2.0)
    assert told["map", 8].ratio == pytest.approx(4.0)
    assert (told["flat", 1].tie_groups, told["flat", 8].tie_groups) == (["a"], ["a"])
    assert (found.workloads[0].swept, found.workloads[0].settings) == (["size"], [{"size": 1}, {"size": 8}])


def test_what_a_contender_chooses_for_itself_is_compared(path: Path) -> None:
    cases = [Made("own", [20.0] * 8, {"threads": 1}), Made("pool", [10.0] * 8, {"threads": 8})]
    found = read(make_run(path, cases))
    assert rows(found)["own"].ratio == pytest.approx(2.0)
    assert (found.workloads[0].swept, found.workloads[0].settings) == ([], [])


def test_what_a_workload_keeps_apart_is_never_in_one_table(path: Path) -> None:
    """A quick run measures one number of threads of each pool: nobody has several."""
    footing = {"settings_of": "threads"}
    cases = [
        Made("loop", [20.0] * 8, {"threads": 1}, footing=footing),
        Made("fiber", [5.0] * 8, {"threads": 1}, footing=footing),
        Made("pool", [10.0] * 8, {"threads": 8}, footing=footing),
        Made("queue", [30.0] * 8, {"threads": 8}, footing=footing),
    ]
    found = read(make_run(path, cases))
    assert {name: row.ratio for name, row in rows(found).items()} == {
        "loop": pytest.approx(4.0), "fiber": 1.0, "pool": 1.0, "queue": pytest.approx(3.0),
    }  # fmt: skip
    assert {name for name, row in rows(found).items() if row.fastest} == {"fiber", "pool"}
    assert (found.workloads[0].swept, found.workloads[0].settings) == (
        ["threads"],
        [{"threads": 1}, {"threads": 8}],
    )
    assert swept_parameters(cases, keep_apart=False) == ()


def test_a_contender_that_fixes_what_is_swept_belongs_to_that_setting_alone(path: Path) -> None:
    cases = swept({1: [("map", 20.0), ("pool", 10.0)], 8: [("map", 4000.0)]})
    cases += swept({1: [("fixed", 5.0)], 3: [("outside", 1.0)]})
    told = by_size(read(make_run(path, cases)))
    assert {key for key, row in told.items() if row.fastest} == {("fixed", 1)}
    assert told["map", 1].ratio == pytest.approx(4.0)
    for alone in (("map", 8), ("outside", 3)):
        row = told[alone]
        assert (row.ratio, row.ratio_low, row.fastest, row.tie_groups) == (None, None, False, [])
        assert row.value is not None


def test_what_failed_does_not_change_which_rows_are_compared(path: Path) -> None:
    cases = swept({1: [("map", 20.0)], 8: [("flat", 10.0)]})
    cases.append(Made("map", [], {"size": 8, "seed": 3}, status=Status.SKIPPED))
    found = read(make_run(path, cases))
    assert {row.ratio for row in by_size(found).values()} == {None}
    assert found.workloads[0].settings == [{"size": 1}, {"size": 8}]


def test_the_correction_is_that_of_the_setting_not_of_the_workload(path: Path, tmp_path: Path) -> None:
    values = {name: noisy(10.0 + index, sigma=0.1, seed=index) for index, name in enumerate("abcd")}
    alone = [Made(name, values[name], {"size": 1}) for name in "ab"]
    others = [Made(name, values[name], {"size": 8}) for name in "abcd"]
    small = rows(read(make_run(path, alone)))["b"]
    large = by_size(read(make_run(tmp_path / "l.toll", alone + others)))["b", 1]
    assert small.ratio_high is not None
    assert (small.ratio_low, small.ratio_high) == (large.ratio_low, large.ratio_high)


def test_settings_come_in_the_order_of_numbers_and_of_words_as_asked(path: Path) -> None:
    cases = [
        Made("a", [10.0] * 6, {"threads": threads, "mode": mode})
        for mode in ("parked", "hot")
        for threads in (8, 1, 10)
    ]
    settings = read(make_run(path, cases)).workloads[0].settings
    assert settings == [
        {"mode": mode, "threads": threads} for mode in ("parked", "hot") for threads in (1, 8, 10)
    ]


def test_rounds_that_are_missing_are_counted_in_each_setting(path: Path) -> None:
    names = "abcd"
    cases = swept({1: [(name, 10.0) for name in names], 8: [(name, 10.0) for name in names[:3]]}, rounds=6)
    (told,) = [line for line in read(make_run(path, cases)).warnings if "more rounds" in line]
    assert "compare 4 rows with each other at size=1 (and in another setting); 2 more rounds" in told


def test_unknown_ratios_are_counted_in_each_setting(path: Path) -> None:
    cases = [
        Made(name, noisy(10.0, sigma=0.3, seed=size), {"size": size}) for name in "ab" for size in (1, 8)
    ]
    for number, made in enumerate(cases):
        made.launches = noisy(10.0, sigma=0.3, seed=number)
    (told,) = [line for line in read(make_run(path, cases)).warnings if "not known" in line]
    assert "2 of 2 ratios are not known" in told


@pytest.mark.parametrize("role", ["floor", "baseline"])
def test_what_stands_aside_is_never_the_fastest(path: Path, role: str) -> None:
    cases = [Made("bare", [1.0] * 8, footing={"role": role}), Made("a", [2.0] * 8), Made("b", [4.0] * 8)]
    found = rows(read(make_run(path, cases)))
    assert [name for name, row in found.items() if row.fastest] == ["a"]
    assert found["bare"].ratio == pytest.approx(0.5)
    assert (found["bare"].floor, found["bare"].baseline) == (role == "floor", role == "baseline")
    assert (found["a"].efficiency is not None) == (role == "floor")  # a baseline is not the bare work


def test_in_one_environment_the_ratio_says_it_all(path: Path) -> None:
    cases = [Made("a", [10.0] * 6), Made("b", [20.0] * 6)]
    assert {row.environment_ratio for row in read(make_run(path, cases)).workloads[0].rows} == {None}


@pytest.mark.parametrize(
    ("calls", "exact"), [((300, 300), 100), ((300,), None), ((300, 303), None), ((100, 100), None)]
)
def test_allocation_calls_are_exact_where_launches_agree_on_a_whole_number(
    path: Path, calls: tuple[int, ...], exact: int | None
) -> None:
    counted = [Allocations(iterations=3, units=30, calls=each, bytes=1, peak_bytes=1) for each in calls]
    found = read(make_run(path, [Made("a", [10.0] * 6, allocations=counted)]))
    memory = found.workloads[0].rows[0].memory
    assert memory.exact_calls == exact
    assert memory.calls_in_passes == [each / 3 for each in calls]
    warned = [text for text in found.warnings if "differ from launch to launch" in text]
    assert bool(warned) == (calls == (300, 303))
    if calls == (300, 303):
        assert "a (100 to 101)" in warned[0]


@pytest.mark.parametrize("beside", [{}, {"voluntary_switches": 0, "cpu_ns": 300.0}])
def test_rows_that_never_wait_say_that_their_time_is_that_on_the_processor(
    path: Path, beside: dict[str, float]
) -> None:
    """Only where nobody of their table waits: the wall clock says 4 and 8, the CPU clock 3 ns a unit."""
    calm, one = {"voluntary_switches": 0, "cpu_ns": 300.0}, {"threads": 1}
    made = [
        Made("a", [4.0] * 8, footing=one, batches=calm),
        Made("b", [8.0] * 8, footing=one, batches=beside),
    ]
    found = rows(read(make_run(path, made)))
    on_cpu = bool(beside)
    assert ("timed_by" in found["a"].footing, found["b"].footing.get("timed_by") == "CPU time") == (
        on_cpu,
        on_cpu,
    )
    assert [found[name].value for name in "ab"] == pytest.approx([3.0, 3.0] if on_cpu else [4.0, 8.0])
    assert found["b"].ratio == pytest.approx(1.0 if on_cpu else 2.0)


def test_rounds_that_are_like_their_neighbours_are_told(tmp_path: Path) -> None:
    """A slow spell in the middle of the run; the same values in another order tell nothing."""
    values = [100.0 + index % 7 for index in range(40)]
    slow = [150.0 if 10 <= index < 30 else one for index, one in enumerate(values)]
    mixed = [slow[index * 17 % 40] for index in range(40)]
    cases = [Made("spell", [one + index / 100 for index, one in enumerate(slow)]), Made("none", mixed)]
    warnings = read(make_run(tmp_path / "spell.toll", cases)).warnings
    (told,) = [text for text in warnings if "runs test" in text]
    assert "1 row of 2: spell)" in told
    assert "within this run's conditions" in told


def test_rounds_that_are_like_their_neighbours_count_for_fewer(path: Path) -> None:
    """Enough of them tell for how many; the same values in another order count as they are."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(200)
    for place in range(1, 200):
        noise[place] = 0.6 * noise[place - 1] + 0.8 * noise[place]
    alike = [*(100.0 + 2.0 * noise)]
    mixed = [alike[place * 77 % 200] for place in range(200)]
    found = rows(read(make_run(path, [Made("alike", alike), Made("mixed", mixed)])))
    one, other = found["alike"], found["mixed"]
    assert one.value == other.value
    assert (other.counts_as, other.within_run, one.within_run) == (None, "", "")
    assert one.counts_as is not None
    assert 20 < one.counts_as < 120
    assert None not in (one.low, one.high, other.low, other.high)
    assert one.low < other.low < other.high < one.high  # type: ignore[operator]


def test_details_that_hold_within_a_run_alone_reach_as_far_as_its_floor(path: Path) -> None:
    """A time, what the literature said of it, a share that cannot be more than all, and a steady number."""
    falling = [0.999 - place / 1e6 for place in range(ROUNDS)]
    steady = DeclaredDetail("steady", "steady", "things", "that are always as many")
    told = [{"wait_ns": 100 * one, "share": one, "steady": 3.0} for one in falling]
    published = [Published(contender="a", label="then", low=50.0, high=50.0, unit="ns", per="task",
                           machine="m", year=2000, source="s", statistic="wait_ns")]  # fmt: skip
    run = make_run(path, [Made("a", [1.0] * ROUNDS, details=told)], canary=noisy(9.0, 60, sigma=0.05),
                   details=[SHARE, WAIT, steady], published=published)  # fmt: skip
    found = read(run)
    floor, details = found.floor.ratio, rows(found)["a"].details
    assert floor is not None
    assert floor > 1.02
    wait, share, same = details["wait_ns"], details[SHARE.name], details["steady"]
    assert "they count for about" in wait.within_run
    assert (wait.low, wait.high) == pytest.approx((wait.value / floor, wait.value * floor))
    assert (share.low, share.high) == pytest.approx((share.value / floor, 1.0))
    assert (same.within_run, same.low, same.high) == ("", 3.0, 3.0)
    (today,) = [entry.today for entry in found.workloads[0].published]
    assert today is not None
    assert (today.low, today.high) == (wait.low, wait.high)


@pytest.mark.parametrize(("rounds", "few"), [(12, True), (49, True), (50, False)])
def test_fewer_rounds_than_tell_of_spells_hold_within_the_run(path: Path, rounds: int, few: bool) -> None:
    """Such an interval reaches as far as the floor; one of enough rounds is as narrow as they make it."""
    values = list(
        np.random.default_rng(rounds).permutation([100.0 + place / 1000 for place in range(rounds)])
    )
    found = read(make_run(path, [Made("a", values)], canary=noisy(9.0, 60, sigma=0.05)))
    row, floor = rows(found)["a"], found.floor.ratio
    assert floor is not None
    assert (row.counts_as, row.few_rounds, bool(row.within_run)) == (None, few, few)
    assert row.value is not None
    if few:
        assert (row.low, row.high) == pytest.approx((row.value / floor, row.value * floor))
    else:
        assert row.low is not None
        assert row.low > row.value / 1.001


def test_a_number_that_is_always_the_same_is_that_number(path: Path) -> None:
    found = read(make_run(path, [Made("a", [100.0] * 12)], canary=noisy(9.0, 60, sigma=0.05)))
    row = rows(found)["a"]
    assert (row.low, row.high, row.within_run) == (100.0, 100.0, "")


def test_only_rows_whose_intervals_are_wider_are_said_to_have_wider_ones(tmp_path: Path) -> None:
    """Of one the runs test alone tells: its rounds count as they are, and its interval is that of others."""
    counted = [100.0 + 5.0 * (place % 8 >= 4) + place % 7 / 10 for place in range(40)]
    alone = of_the_runs_test_alone()
    found = read(make_run(tmp_path / "both.toll", [Made("counted", counted), Made("alone", alone)]))
    first, second = rows(found)["counted"], rows(found)["alone"]
    assert first.counts_as is not None
    assert (second.counts_as, bool(second.within_run)) == (None, True)
    (told,) = [text for text in found.warnings if "runs test" in text]
    assert "2 rows of 2: counted, alone)" in told
    assert "Intervals of the values of counted are wider for it." in told
    found = read(make_run(tmp_path / "alone.toll", [Made("alone", alone)]))
    (told,) = [text for text in found.warnings if "runs test" in text]
    assert "wider" not in told


def test_what_holds_within_a_run_alone_reaches_as_far_as_its_floor(path: Path) -> None:
    """Twelve rounds, which fall slowly by next to nothing, beside a canary that scatters by 5 %."""
    falling = [100.0 - place / 1000 for place in range(12)]
    steady = [falling[place * 5 % 12] for place in range(12)]
    published = [Published(contender="falling", label="then", low=50.0, high=50.0, unit="us", per="task",
                           machine="m", year=2000, source="s")]  # fmt: skip
    made = [Made("falling", falling), Made("steady", steady)]
    run = make_run(path, made, canary=noisy(9.0, 60, sigma=0.05), published=published)
    found = read(run)
    floor = found.floor.ratio
    assert floor is not None
    assert floor > 1.02
    one, other = rows(found)["falling"], rows(found)["steady"]
    assert "they count for about" in one.within_run
    assert not one.few_rounds
    assert "12 rounds are too few" in other.within_run
    assert other.few_rounds
    for row in (one, other):
        assert row.value is not None
        assert (row.low, row.high) == pytest.approx((row.value / floor, row.value * floor))
    (today,) = [entry.today for entry in found.workloads[0].published]
    assert today is not None
    assert (today.low, today.high) == pytest.approx((one.low / 1000, one.high / 1000))  # type: ignore[operator]
