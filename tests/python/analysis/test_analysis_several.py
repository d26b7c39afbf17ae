"""Several runs beside each other: the same row is the reference in all, only what differs is called so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run

from tollbench.analysis.several import several
from tollbench.analysis.several_results import SeveralRow, SeveralRuns
from tollbench.errors import TollError
from tollbench.store import RunFile
from tollbench.words import Status

ROUNDS = 40


def noisy(rng: np.random.Generator, value: float, rounds: int = ROUNDS) -> list[float]:
    return list(value * np.exp(rng.normal(0.0, 0.01, rounds)))


def beside(folder: Path, runs: Sequence[Sequence[Made]]) -> SeveralRuns:
    files = []
    for number, cases in enumerate(runs):
        path = folder / f"run{number}.toll"
        path.unlink(missing_ok=True)
        files.append(RunFile.open(make_run(path, cases, name=f"run{number}")))
    try:
        return several(files)
    finally:
        for file in files:
            file.close()


def rows(found: SeveralRuns) -> dict[str, SeveralRow]:
    (table,) = found.tables
    return {row.contender: row for row in table.rows}


def test_ratios_are_to_the_same_row_though_another_one_is_fastest_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    first = [Made("a", noisy(rng, 10.0)), Made("b", noisy(rng, 20.0))]
    second = [Made("a", noisy(rng, 100.0)), Made("b", noisy(rng, 50.0))]
    found = beside(tmp_path, [first, second])
    (table,) = found.tables
    assert table.reference is not None
    assert table.reference.contender == "a"
    ratios = [cell.ratio for cell in rows(found)["b"].cells if cell is not None]
    assert ratios == pytest.approx([2.0, 0.5], rel=0.02)
    assert rows(found)["b"].ratios_differ
    assert [one.letter for one in found.runs] == ["A", "B"]


def test_a_run_is_slower_as_a_whole_and_no_ratio_differs(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    runs = [
        [Made(name, noisy(rng, slow * value)) for name, value in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
        for slow in (1.0, 3.0)
    ]
    found = beside(tmp_path, runs)
    assert [rows(found)[name].ratios_differ for name in "abc"] == [False, False, False]
    assert rows(found)["c"].cells[1] is not None


def test_equal_ratios_are_seldom_called_different(tmp_path: Path) -> None:
    """A table's intervals hold together, so that 5 % of tables at most have such a row."""
    rng = np.random.default_rng(3)
    wrong, tables = 0, 60
    for _ in range(tables):
        runs = [
            [Made(name, noisy(rng, 10.0 + place, 12)) for place, name in enumerate("abcde")] for _ in "xy"
        ]
        wrong += any(row.ratios_differ for row in rows(beside(tmp_path, runs)).values())
    assert wrong <= 0.05 * tables + 3.0 * math.sqrt(0.05 * 0.95 * tables)


def test_what_one_run_lacks_or_failed_to_measure_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    first = [Made("a", noisy(rng, 10.0)), Made("b", [Status.FAILED] * 3), Made("only", noisy(rng, 5.0))]
    second = [Made("a", noisy(rng, 10.0)), Made("b", noisy(rng, 30.0))]
    found = beside(tmp_path, [first, second])
    (table,) = found.tables
    assert table.reference is not None
    assert table.reference.contender == "a"  # "only" is faster, in one run
    failed, measured = rows(found)["b"].cells
    assert failed is not None
    assert measured is not None
    assert (failed.status, failed.value) == ("failed", None)
    assert measured.ratio == pytest.approx(3.0, rel=0.02)
    alone = rows(found)["only"]
    assert alone.cells[1] is None
    assert alone.ratios_differ is None
    assert alone.cells[0] is not None
    assert alone.cells[0].ratio == pytest.approx(0.5, rel=0.02)


def test_threads_that_the_machine_decides_are_no_other_question(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    runs = [
        [Made("a", noisy(rng, 10.0)), Made("pool", noisy(rng, 20.0), {"threads": threads})]
        for threads in (2, 16)
    ]
    row = rows(beside(tmp_path, runs))["pool"]
    assert row.parameters == {}
    assert [cell.parameters for cell in row.cells if cell is not None] == [{"threads": 2}, {"threads": 16}]


def test_threads_that_were_asked_for_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    swept = [Made("pool", noisy(rng, 20.0), {"threads": threads}) for threads in (2, 16)]
    found = beside(tmp_path, [swept, [Made("pool", noisy(rng, 20.0), {"threads": 16})]])
    (table,) = found.tables
    assert table.setting == {"threads": 16}
    assert found.left_out == 1


def test_other_inputs_are_not_held_against_each_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    runs = [[Made("a", noisy(rng, 10.0), {"tasks": tasks})] for tasks in (100, 1000)]
    found = beside(tmp_path, runs)
    assert not any(all(cell is not None for cell in row.cells) for row in found.tables[0].rows)


def test_intervals_of_equal_rows_hold_together(tmp_path: Path) -> None:
    """Whichever row the first run finds fastest by luck is what ratios are to: that is paid for."""
    rng = np.random.default_rng(8)
    missed, tables = 0, 40
    for _ in range(tables):
        runs = [[Made(f"c{place}", noisy(rng, 10.0, 40)) for place in range(12)] for _ in "xy"]
        cells = [
            cell for row in rows(beside(tmp_path, runs)).values() for cell in row.cells if cell is not None
        ]
        ends = [(cell.ratio_low, cell.ratio_high) for cell in cells if cell.ratio_low and cell.ratio_high]
        assert len(ends) == 24
        missed += any(not low <= 1.0 <= high for low, high in ends)
    assert missed <= 0.05 * tables + 2.0 * math.sqrt(0.05 * 0.95 * tables)


def test_one_run_is_not_several(tmp_path: Path) -> None:
    with pytest.raises(TollError, match="1 runs cannot"):
        beside(tmp_path, [[Made("a", [1.0] * 12)]])
