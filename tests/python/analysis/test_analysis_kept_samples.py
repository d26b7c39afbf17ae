"""What a report says of samples is the same from the counts that a run file keeps as from single samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, header, make_run
from made_runs import batch as made_batch
from made_runs import launch as made_launch
from store_runs import as_version_3

from tollbench import analysis
from tollbench.analysis.results import Results
from tollbench.analysis.rows import _quantiles
from tollbench.stats import Pooled, count_samples, level_at_look
from tollbench.store import RunFile
from tollbench.words import HOST, Case, Kind, Purpose, Status, Workload

TICK_NS = 10.014898386858519
CLOCK = {"source": "tsc", "resolution_ns": TICK_NS}


def read(path: Path) -> Results:
    with RunFile.open(path) as run_file:
        return analysis.results(run_file)


def ticking(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Latencies with a long tail, as a coarse clock reads them."""
    ns = rng.lognormal(4.5, 0.3, samples) * np.where(rng.random(samples) < 0.002, 200.0, 1.0)
    return np.maximum(0.0, np.round(ns / TICK_NS) * TICK_NS - 23.0).astype(np.float32)


@pytest.fixture
def arrays() -> dict[str, list[np.ndarray]]:
    rng = np.random.default_rng(7)
    return {name: [ticking(rng, 20_001 + number) for number in range(12)] for name in ("a", "b")}


@pytest.fixture
def path(tmp_path: Path, arrays: dict[str, list[np.ndarray]]) -> Path:
    cases = [Made(name, [1.0] * 12, samples=found) for name, found in arrays.items()]
    changes = {"clock": CLOCK}
    return make_run(tmp_path / "made.toll", cases, kind=Kind.SAMPLES, launch_changes=changes)


def test_a_report_is_the_same_from_single_samples_in_any_order(path: Path) -> None:
    """Word for word: values, ratios, quantiles, their intervals, histograms."""
    told = read(path).model_dump_json()
    as_version_3(path)
    assert read(path).model_dump_json() == told
    assert '"p99":' in told


def test_quantiles_and_their_intervals_are_those_of_the_arrays(
    path: Path, arrays: dict[str, list[np.ndarray]]
) -> None:
    (workload,) = read(path).workloads
    for latency in workload.latencies:
        taken = arrays[latency.contender]
        pooled = Pooled([count_samples(array) for array in taken], TICK_NS)
        wanted = _quantiles(pooled, 1.0, level_at_look(1, header().level))
        assert latency.quantiles == wanted
        assert wanted["p99"].low is not None
        assert latency.max == float(max(array.max() for array in taken))
        assert latency.count == sum(array.size for array in taken)
        row = next(row for row in workload.rows if row.contender == latency.contender)
        assert row.value == pytest.approx(np.median(np.concatenate(taken)), abs=TICK_NS)


def test_cells_say_the_same_from_single_samples(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    case = Case("latency/pairs", "made", "host", {}, Kind.SAMPLES, "ns", "hand-off", "C++", "std", 1)
    workload = Workload("latency/pairs", "How far?", Kind.SAMPLES, "ns", "hand-off", "1", tmp_path, (), ())
    cells = (("0>1", 101), ("1>0", 50), ("0>1", 7), ("1>2", 0), ("nobody", 3), ("0>2", 1))
    path = tmp_path / "pairs.toll"
    with RunFile.create(path, header()) as run_file:
        ids = run_file.add_plan([workload], [HOST], [(case, Status.OK, "", "1.0")])
        for number in range(4):
            batches = [made_batch(1e6, units=162, warmup=number == 0, cells=cells) for number in range(3)]
            made = made_launch(ids[case.key], Purpose.MEASURE, number, batches=tuple(batches))
            run_file.append(made, [ticking(rng, 162) for _ in batches])
    told = read(path)
    (grid, _) = told.workloads[0].grids
    assert grid.labels == ["0", "1", "2"]
    as_version_3(path)
    assert read(path).model_dump_json() == told.model_dump_json()
