"""A single operation that is shorter than the clock's step has no value of its own."""

from __future__ import annotations

import io
from collections.abc import Sequence
from csv import DictReader
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run, published
from rich.console import Console

from tollbench import analysis
from tollbench.analysis.case_data import read_case
from tollbench.analysis.comparison import comparable, level_left
from tollbench.analysis.results import Results
from tollbench.report import csv, html, markdown, one_screen
from tollbench.stats import FIRST_LOOK, GoneOn, level_at_look
from tollbench.store import RunFile
from tollbench.words import Kind

STEP_NS = 10.0
LAUNCHES = 20
TRUE_NS = {"tiny": 2.0, "small": 6.0, "seen": 14.0, "slow": 40.0}


def read_by_a_coarse_clock(rng: np.random.Generator, true_ns: float) -> np.ndarray:
    """Samples with noise, made before the clock rounds what it reads at both ends to its step."""
    start = rng.uniform(0, STEP_NS, 4000)
    took = np.maximum(true_ns * rng.lognormal(0, 0.1, start.size), 0.1)
    ticks = np.floor((start + took) / STEP_NS) - np.floor(start / STEP_NS)
    return (ticks * STEP_NS).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    cases = [
        Made(name, [1.0] * LAUNCHES, samples=[read_by_a_coarse_clock(rng, ns) for _ in range(LAUNCHES)])
        for name, ns in TRUE_NS.items()
    ]
    changes = {"clock": {"source": "tsc", "resolution_ns": STEP_NS}}
    return make_run(tmp_path / "made.toll", cases, kind=Kind.SAMPLES, launch_changes=changes)


def read(path: Path) -> Results:
    with RunFile.open(path) as run_file:
        return analysis.results(run_file, in_batches={"tasks/made": "tasks/many"})


def test_no_value_no_ratio_and_no_rank_below_the_step(path: Path) -> None:
    """The batch workload tells those apart; here they come first, by name."""
    (workload,) = read(path).workloads
    rows = {row.contender: row for row in workload.rows}
    assert [row.contender for row in workload.rows] == ["small", "tiny", "seen", "slow"]
    for name in ("tiny", "small"):
        row = rows[name]
        assert row.status == "ok"
        assert row.launches == LAUNCHES
        assert row.below_step == STEP_NS
        told = row.value, row.low, row.ratio, row.ratio_low, row.spread, row.cold, row.created_value
        assert told == (None,) * len(told)
        assert not row.fastest
        assert not row.tie_groups
        assert not row.launch_values
    assert rows["seen"].below_step is None
    assert rows["seen"].value == pytest.approx(TRUE_NS["seen"], rel=0.1)
    assert rows["seen"].fastest
    assert rows["slow"].ratio == pytest.approx(TRUE_NS["slow"] / TRUE_NS["seen"], rel=0.1)


def test_a_clock_that_sees_them_tells_all_values(tmp_path: Path) -> None:
    samples = [np.full(100, 2.0, dtype=np.float32)] * LAUNCHES
    cases = [Made("tiny", [1.0] * LAUNCHES, samples=samples)]
    changes = {"clock": {"source": "tsc", "resolution_ns": 0.4}}
    made = make_run(tmp_path / "fine.toll", cases, kind=Kind.SAMPLES, launch_changes=changes)
    (row,) = read(made).workloads[0].rows
    assert row.below_step is None
    assert row.value == pytest.approx(2.0, abs=0.4)


def test_nothing_is_compared_where_all_are_below(tmp_path: Path) -> None:
    samples = [np.zeros(100, dtype=np.float32)] * LAUNCHES
    cases = [Made(name, [1.0] * LAUNCHES, samples=samples) for name in ("a", "b")]
    changes = {"clock": {"source": "tsc", "resolution_ns": STEP_NS}}
    found = read(make_run(tmp_path / "none.toll", cases, kind=Kind.SAMPLES, launch_changes=changes))
    assert [row.value for row in found.workloads[0].rows] == [None, None]
    for text in (markdown.render(found), html.render(found), csv.render(found), on_one_screen(found)):
        assert "a" in text


def on_one_screen(found: Results) -> str:
    console = Console(file=io.StringIO(), width=120, height=60)
    one_screen.render(found, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_published_tail_or_cpu_time_finds_its_row_below_the_step(tmp_path: Path) -> None:
    """And what an operation itself takes finds none, nor a percentile that the clock cannot see."""
    tailed = np.repeat([0.0, 40.0], [95, 5]).astype(np.float32)
    cases = [Made("a", [1.0] * LAUNCHES, samples=[np.tile(tailed, 10)] * LAUNCHES)]
    asked = ("value", "p50", "ratio", "p99", "cpu_time", "max", "p90")
    values = [published(name, statistic=name, unit="ns") for name in asked]
    changes = {"clock": {"source": "tsc", "resolution_ns": STEP_NS}}
    made = make_run(
        tmp_path / "tail.toll", cases, kind=Kind.SAMPLES, launch_changes=changes, published=values
    )
    (workload,) = read(made).workloads
    (row,) = workload.rows
    assert row.below_step == STEP_NS
    found = {one.label: one for one in workload.published}
    assert [name for name in asked if found[name].environment is None] == ["value", "p50", "ratio"]
    today = {name: one.today and one.today.value for name, one in found.items()}
    assert row.cpu_time is not None
    none = dict.fromkeys(("value", "p50", "ratio", "p90"))
    assert today == {**none, "p99": 40.0, "max": 40.0, "cpu_time": row.cpu_time}


def test_csv_leaves_cells_empty_where_others_say_less_than_the_step(path: Path) -> None:
    found = read(path)
    tiny = next(entry for entry in found.workloads[0].latencies if entry.contender == "tiny")
    cells = {row["contender"]: row for row in DictReader(io.StringIO(csv.render(found)))}
    below = {key for key, estimate in tiny.quantiles.items() if estimate.value < STEP_NS}
    assert "p50" in below
    assert below != tiny.quantiles.keys()
    assert {key for key in tiny.quantiles if cells["tiny"][key] == ""} == below
    assert float(cells["slow"]["p50"]) == pytest.approx(TRUE_NS["slow"], rel=0.1)


def test_the_level_is_that_of_a_run_that_ended_without_waiting_for_them(tmp_path: Path) -> None:
    def made(name: str, ns: Sequence[float]) -> Made:
        samples = [np.full(100, each, dtype=np.float32) for each in ns]
        return Made(name, [1.0] * FIRST_LOOK, samples=samples)

    ticks = made("tiny", [0.01, 0.02] * (FIRST_LOOK // 2))
    calm = [made("seen", [20.0] * FIRST_LOOK), made("slow", [40.0] * FIRST_LOOK)]
    changes = {"clock": {"source": "tsc", "resolution_ns": STEP_NS}}
    path = make_run(tmp_path / "look.toll", [ticks, *calm], kind=Kind.SAMPLES, launch_changes=changes)
    with RunFile.open(path) as run_file:
        header = run_file.header()
        data = [read_case(run_file, record, header) for record in run_file.cases()]
    assert [case.record.contender for case in comparable(data)] == ["seen", "slow"]
    assert level_left(data, header, GoneOn()) == level_at_look(1, header.level)


def test_every_format_says_so_and_points_to_the_batches(path: Path) -> None:
    found = read(path)
    for text in (markdown.render(found), html.render(found).replace("&lt;", "<").replace("&#39;", "'")):
        assert "< 10.0" in text
        assert "the clock's step" in text
        assert "tasks/many times many at once" in text
    (workload,) = found.workloads
    p50 = {entry.contender: entry for entry in workload.latencies}["tiny"]
    assert p50.step == STEP_NS
    assert "2 below its step" in on_one_screen(found)
