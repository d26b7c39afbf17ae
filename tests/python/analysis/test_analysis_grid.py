"""From cells in a run file to a grid and its sentence; real machines' where TOLL_TEST_DATA names them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import batch, header

from tollbench.analysis import results
from tollbench.analysis.grid import CellValues, make_grid, ordered
from tollbench.analysis.results import Grid
from tollbench.store import BatchSamples, Launch, RunFile
from tollbench.words import HOST, Case, Kind, Purpose, Status, Workload

DATA = os.environ.get("TOLL_TEST_DATA", "")


def real(name: str) -> dict[tuple[int, int], float]:
    """A grid of nviennot/core-to-core-latency: the lower triangle, nanoseconds."""
    file = Path(DATA) / "core-to-core" / f"{name}.csv"
    if not DATA or not file.is_file():
        pytest.skip("TOLL_TEST_DATA names no folder with core-to-core/*.csv")
    grid = np.genfromtxt(file, delimiter=",")
    return {(int(a), int(b)): float(grid[a, b]) for a, b in np.argwhere(np.isfinite(grid))}


def made(cells: dict[tuple[int, int], float], names: list[int] | None = None) -> Grid:
    cpus = names or sorted({cpu for pair in cells for cpu in pair})
    return make_grid(cpus, cells, title="real", unit="ns")


def groups(grid: Grid, level: int) -> set[frozenset[int]]:
    """The CPUs of each group of one level."""
    return {frozenset(int(grid.labels[at]) for at in group) for group in grid.levels[level].groups}


def siblings(count: int, apart: int) -> set[frozenset[int]]:
    return {frozenset((cpu, cpu + apart)) for cpu in range(0, 2 * count, 2 if apart == 1 else 1)[:count]}


def test_ryzen_2700x() -> None:
    grid = made(real("ryzen-2700x"))
    assert (
        grid.sentence
        == "two groups of 8: 23 ns inside, 92 ns across; eight pairs: 9.7 ns inside, 23 ns across"
    )
    assert groups(grid, 0) == {frozenset(range(8)), frozenset(range(8, 16))}
    assert groups(grid, 1) == siblings(8, 1)


def test_ryzen_5950x() -> None:
    grid = made(real("ryzen-5950x"))
    complexes = {frozenset((*range(a, a + 8), *range(a + 16, a + 24))) for a in (0, 8)}
    assert [groups(grid, 0), groups(grid, 1)] == [complexes, siblings(16, 16)]
    assert len(grid.levels) == 2


def test_xeon_gold_6242_dual() -> None:
    grid = made(real("xeon-gold-6242-dual"))
    sockets = {frozenset((*range(a, a + 16), *range(a + 32, a + 48))) for a in (0, 16)}
    assert [groups(grid, 0), groups(grid, 1)] == [sockets, siblings(32, 32)]
    assert len(grid.levels) == 2


def test_epyc_7742_dual() -> None:
    """One socket's chiplets are as far from each other as the other socket is: what the times show is one
    close socket, its quarters of chiplets as far as they stand out, all complexes, all siblings."""
    grid = made(real("epyc-7742-dual"))
    complexes = {frozenset((*range(a, a + 4), *range(a + 128, a + 132))) for a in range(0, 128, 4)}
    assert groups(grid, -1) == siblings(128, 128)
    assert groups(grid, -2) == complexes
    assert groups(grid, 0) == {frozenset((*range(64, 128), *range(192, 256)))}
    assert "the other 128" in grid.sentence
    for level in range(1, len(grid.levels) - 2):
        for group in groups(grid, level):
            assert len(group) % 32 == 0  # whole quarters: two chiplets of two complexes each
            assert all(one <= group or not one & group for one in complexes)


def test_core_i9_12900k() -> None:
    grid = made(real("core-i9-12900k"))
    assert groups(grid, 0) == {frozenset(range(16, 20)), frozenset(range(20, 24))}
    assert groups(grid, 1) == siblings(8, 1)
    assert len(grid.levels) == 2


def test_apple_m1_pro() -> None:
    grid = made(real("apple-m1-pro"))
    assert groups(grid, 0) == {frozenset((0, 1)), frozenset((2, 3, 4)), frozenset((5, 6, 7))}
    assert len(grid.levels) == 1


def test_graviton3_is_flat() -> None:
    grid = made(real("graviton3"))
    assert grid.levels == []
    assert grid.sentence.startswith("one group: 46 ns")


@pytest.mark.parametrize(
    "name",
    ["ryzen-2700x", "ryzen-5950x", "xeon-gold-6242-dual", "core-i9-12900k", "apple-m1-pro", "graviton3"],
)
def test_the_numbering_of_real_cpus_changes_nothing(name: str) -> None:
    cells = real(name)
    before = made(cells)
    rng = np.random.default_rng(3)
    for _ in range(5):
        new = rng.permutation(len(before.labels)).tolist()
        after = made({(new[a], new[b]): value for (a, b), value in cells.items()})
        assert after.sentence == before.sentence
        for level in range(len(before.levels)):
            renamed = {frozenset(new[cpu] for cpu in group) for group in groups(before, level)}
            assert groups(after, level) == renamed


def test_groups_are_positions_in_the_labels() -> None:
    """Rows stand in the machine's order, and a group names rows, not CPUs."""
    cells = {(a, b): 24.0 if a % 2 == b % 2 else 92.0 for a in range(8) for b in range(8) if a != b}
    grid = made(cells, [0, 2, 4, 6, 1, 3, 5, 7])
    assert grid.labels == ["0", "2", "4", "6", "1", "3", "5", "7"]
    assert grid.groups == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert grid.values[0][:5] == [None, 24.0, 24.0, 24.0, 92.0]
    assert grid.sentence == "two groups of 4: 24 ns inside, 92 ns across"


def test_rows_follow_the_topology() -> None:
    assert ordered({0, 1, 2, 3}, {"cpu_order": [0, 2, 1, 3]}) == [0, 2, 1, 3]
    assert ordered({0, 1, 5}, {"cpu_order": [1]}) == [1, 0, 5]
    for nonsense in (None, "0,1", {"0": 1}, ["a", None, 1.5]):
        assert ordered({3, 1}, {"cpu_order": nonsense}) == [1, 3]
    assert ordered({3, 1}, {}) == [1, 3]


def counted(cells: tuple[tuple[str, int], ...], *samples: float) -> BatchSamples:
    return BatchSamples.of(np.array(samples, np.float32), cells)


def test_a_launch_counts_once_in_a_cell() -> None:
    cells = CellValues()
    cells.take([counted((("0>1", 3), ("1>0", 1), ("0>1", 2)), 1, 2, 9, 50, 3, 4)])
    cells.take([counted((("0>1", 1),), 5)])
    assert cells.launches == 2
    assert cells.values["p50"] == {(0, 1): [3.0, 5.0], (1, 0): [50.0]}
    assert cells.values["p99"] == {(0, 1): [9.0, 5.0], (1, 0): [50.0]}


def test_cells_that_are_no_pairs_are_left_out() -> None:
    cells = CellValues()
    cells.take([counted((("<script>", 1), ("0>1", 1), ("1>-2", 1), ("2>1", 0)), 7, 8, 9)])
    assert cells.values["p50"] == {(0, 1): [8.0]}
    cells = CellValues()
    cells.take([counted((("anything", 2),), 7, 8)])
    assert cells.launches == 0


def stored(path: Path, pairs: list[tuple[int, int]], **changes: Any) -> Path:
    """A run of three launches, ten samples a pair; the second direction of a pair takes 1 ns longer."""
    case = Case("latency/pairs", "made", "host", {}, Kind.SAMPLES, "ns", "hand-off", "C++", "std", 1)
    workload = Workload("latency/pairs", "How far?", Kind.SAMPLES, "ns", "hand-off", "1", path.parent, (), ())
    cells = tuple((f"{a}>{b}", 10) for a, b in pairs)
    with RunFile.create(path, header(machine={"cpu": "made", "cpu_order": [0, 2, 1, 3]})) as run_file:
        ids = run_file.add_plan([workload], [HOST], [(case, Status.OK, "", "1.0")])
        for number, factor in enumerate((0.9, 1.0, 1.1), 1):
            base = [(20.0 if a % 2 == b % 2 else 80.0) + (a > b) for a, b in pairs]
            samples = np.repeat(np.array(base) * factor, 10).astype(np.float32)
            launch = Launch(
                ids[case.key], Purpose.MEASURE, number, 1, 0, Status.OK, "", header().started_utc, number,
                1000,
                batches=(batch(1000.0, units=samples.size, iterations=samples.size, cells=cells),),
                **changes,
            )  # fmt: skip
            run_file.append(launch, [samples])
        run_file.finish("launches")
    return path


def test_a_run_with_cells_has_grids(tmp_path: Path) -> None:
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    with RunFile.open(stored(tmp_path / "cells.toll", pairs)) as run_file:
        (workload,) = results(run_file).workloads
    median, tail = workload.grids
    assert (median.statistic, tail.statistic) == ("p50", "p99")
    assert (median.contender, median.environment, median.launches) == ("made", "host", 3)
    assert median.labels == ["0", "2", "1", "3"]
    assert median.values == [
        [None, 20.0, 80.0, 80.0],
        [21.0, None, 81.0, 80.0],
        [81.0, 80.0, None, 20.0],
        [81.0, 81.0, 21.0, None],
    ]
    assert median.sentence == "two pairs: 20 ns inside, 80 ns across"
    assert median.groups == [[0, 1], [2, 3]]
    assert tail.groups == []
    assert tail.sentence == ""


def test_what_a_request_used_is_not_said_to_be_of_one_hand_off(tmp_path: Path) -> None:
    """Its samples are means of several, and between pairs threads are tied anew."""
    with RunFile.open(stored(tmp_path / "cells.toll", [(0, 1), (1, 0)])) as run_file:
        (row,) = results(run_file).workloads[0].rows
    assert row.value is not None
    assert (row.cpu_time, row.cpus_busy, row.voluntary_switches, row.involuntary_switches) == (None,) * 4
    assert row.faults is None


def test_means_of_several_hand_offs_are_finer_than_the_clocks_step(tmp_path: Path) -> None:
    path = stored(tmp_path / "cells.toll", [(0, 1), (1, 0)], clock={"source": "tsc", "resolution_ns": 500.0})
    with RunFile.open(path) as run_file:
        (workload,) = results(run_file).workloads
    (row,), (latency,) = workload.rows, workload.latencies
    assert row.value is not None
    assert (row.below_step, latency.step) == (None, None)


def test_two_cpus_have_a_grid_without_groups(tmp_path: Path) -> None:
    with RunFile.open(stored(tmp_path / "two.toll", [(0, 1), (1, 0)])) as run_file:
        (workload,) = results(run_file).workloads
    assert workload.grids[0].sentence == "80 ns between the two CPUs"
    assert workload.grids[0].levels == []
