"""The analysis of whole run files: the rules from launch to table."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from made_runs import Made, make_run, published

from toll import analysis
from toll.analysis.results import Results, Row
from toll.store import RunFile
from toll.words import Allocations, Kind, Published, Purpose, Status

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


def test_time_and_memory_per_unit_created_come_from_what_the_launches_observed(path: Path) -> None:
    cases = [  # 100 units of work in 4 iterations: 25 in one
        Made("tree", [10.0] * 6, footing={"units_created": 50}, iterations=4),
        Made("alive", [20.0] * 6, footing={"units_created": 50, "units_alive_peak": 8}, iterations=4),
        Made("none", [30.0] * 6, footing={"units_created": 0}),
        Made("silent", [40.0] * 6),
    ]
    found = rows(read(make_run(path, cases, unit="us")))
    assert found["tree"].value == pytest.approx(0.010)
    assert found["tree"].created_value == pytest.approx(0.010 * 25 / 50)
    assert found["tree"].memory_per_unit_bytes == pytest.approx((1 << 20) / 50)
    assert found["alive"].created_value == pytest.approx(0.020 * 25 / 50)
    assert found["alive"].memory_per_unit_bytes == pytest.approx((1 << 20) / 8)
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
    [(20, 1, "ok"), (6, 1, "ok"), (5, 1, "failed"), (16, 4, "failed"), (17, 4, "ok")],
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
    pooled = np.concatenate(samples)
    assert (latency.count, latency.launches) == (48000, 12)
    for number, p in ((latency.p50, 0.5), (latency.p90, 0.9), (latency.p99, 0.99), (latency.p999, 0.999)):
        assert number == pytest.approx(np.quantile(pooled, p), rel=0.01)
    assert latency.max == pytest.approx(pooled.max(), rel=1e-6)
    assert latency.p99_low is not None
    assert latency.p99_low < latency.p99 < (latency.p99_high or 0.0)
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
    values = [one.today and one.today.value for one in found.published]
    assert values == [latency.p50, latency.p90, latency.p99, latency.p999, latency.max, None]
    assert found.published[2].today is not None
    assert (found.published[2].today.low, found.published[2].today.high) == (
        latency.p99_low,
        latency.p99_high,
    )


def test_latencies_come_in_the_workloads_unit(path: Path) -> None:
    samples = [np.linspace(2000.0, 4000.0, 500) for _ in range(8)]
    run = make_run(path, [Made("a", [1.0] * 8, samples=samples)], kind=Kind.SAMPLES, unit="us")
    latency = read(run).workloads[0].latencies[0]
    numbers = [latency.p50, latency.p50_low, latency.p50_high, latency.max, latency.cdf.value[0]]
    assert numbers == pytest.approx([3.0, 3.0, 3.0, 4.0, 2.0], rel=2e-3)


@pytest.mark.parametrize(("precision", "rank"), [(0.01, 2), (0.0, 3)])
def test_a_run_that_may_have_stopped_early_pays_for_its_looks(
    path: Path, precision: float, rank: int
) -> None:
    values = [float(value) for value in range(1, 13)]  # 12 rounds: the first look of the schedule
    row = rows(read(make_run(path, [Made("a", values)], precision=precision)))["a"]
    assert (row.low, row.high) == pytest.approx((rank, 13 - rank))


def test_the_run_says_how_long_it_took_and_how_long_its_programs_ran(path: Path) -> None:
    run = read(make_run(path, [Made("a", noisy(10.0))], canary=noisy(9.0, 4))).run
    assert run.seconds == pytest.approx(60.0)
    assert run.launches == 25
    assert run.seconds_in_programs == pytest.approx(25 * 0.005)


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
    assert "1 of 2 ratios are not known to ±1.0% (wild)" in warnings[0]


def test_a_floor_above_the_asked_precision_is_said(path: Path) -> None:
    run = make_run(path, [Made("a", noisy(10.0))], canary=noisy(9.0, 60, sigma=0.05), precision=0.01)
    assert any("were out of reach in this run" in warning for warning in read(run).warnings)


def test_the_floor_and_drift_come_from_the_canary(path: Path) -> None:
    calm = np.random.default_rng(5).normal(0, 0.01, 60)
    found = read(make_run(path, [Made("a", noisy(10.0))], canary=list(100 * np.exp(calm)))).floor
    assert found.launches == 60
    assert found.ratio is not None
    assert 1.003 < found.ratio < 1.05
    assert found.canary_at_s[:3] == [0.0, 1.0, 2.0]
    assert found.canary_ns[0] == pytest.approx(100 * np.exp(calm[0]))


def test_drift_and_stolen_time_are_said(path: Path) -> None:
    canary = list(np.linspace(100, 150, 60))
    run = make_run(path, [Made("a", noisy(10.0))], canary=canary, launch_changes={"steal_ns": 100_000})
    warnings = read(run).warnings
    assert any("changed its speed" in warning for warning in warnings)
    assert any("hypervisor took" in warning for warning in warnings)


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
