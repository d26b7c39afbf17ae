"""`toll report --lake`: the machines' newest runs as columns say what their run files say."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_lakes import added, noisy, run, run_of, started
from made_runs import Made

from tollbench.analysis.several import several
from tollbench.errors import TollError
from tollbench.lake import lake_report
from tollbench.lake.lake_folder import LakeFolder
from tollbench.lake.lake_report import TABLES, machines_beside
from tollbench.lake.lake_rows import read_rows
from tollbench.lake.opened_lake import OpenedLake
from tollbench.report.several import several_html, several_json, several_markdown
from tollbench.store import RunFile
from tollbench.words import Status


@pytest.fixture
def lake(tmp_path: Path) -> LakeFolder:
    return LakeFolder.make(tmp_path / "lake")


def test_columns_are_those_of_the_run_files(lake: LakeFolder, tmp_path: Path) -> None:
    paths = [
        run(tmp_path, 1, {"quick": 10.0, "slow": 20.0, "odd": 30.0}, canary=[5.0] * 20),
        run(tmp_path, 2, {"quick": 30.0, "slow": 90.0, "odd": 60.0}),
        run_of(tmp_path, 3, [Made("quick", [7.0] * 12), Made("slow", [Status.FAILED] * 3)]),
    ]
    for number, path in enumerate(paths):
        added(lake, path, host=f"host{number}")
    with OpenedLake(lake, TABLES) as opened:
        found = machines_beside(opened)
    files = [RunFile.open(path) for path in paths]
    expected = several(files)
    for file in files:
        file.close()
    assert len(found.tables) == len(expected.tables) == 1
    assert found.tables[0].reference == expected.tables[0].reference
    mine = {row.contender: row for row in found.tables[0].rows}
    for row in expected.tables[0].rows:
        assert mine[row.contender].ratios_differ == row.ratios_differ
        for cell, other in zip(mine[row.contender].cells, row.cells, strict=True):
            assert (cell is None) == (other is None)
            if cell is not None and other is not None:
                for name in ("status", "value", "low", "high"):
                    assert getattr(cell, name) == getattr(other, name)
                for name in ("ratio", "ratio_low", "ratio_high"):
                    assert getattr(cell, name) == pytest.approx(getattr(other, name), abs=1e-12)
    assert [one.floor.ratio for one in found.runs] == [one.floor.ratio for one in expected.runs]
    assert [one.run.name for one in found.runs] == ["host0", "host1", "host2"]
    for render in (several_html.render, several_json.render, several_markdown.render):
        assert "host1" in render(found)


def test_what_a_workload_keeps_apart_stands_in_tables_apart(lake: LakeFolder, tmp_path: Path) -> None:
    apart = {"settings_of": "threads"}
    for number in range(2):
        cases = [
            Made(name, noisy(10 * number + at, value), {"threads": threads}, footing=apart)
            for at, (name, value, threads) in enumerate((("alone", 10.0, 1), ("a", 5.0, 8), ("b", 7.0, 8)))
        ]
        added(lake, run_of(tmp_path, number, cases), host=f"host{number}")
    with OpenedLake(lake, TABLES) as opened:
        found = machines_beside(opened)
    told = {row.contender: row.cells[0] for table in found.tables for row in table.rows}
    assert len(found.tables) == 2
    assert {name: cell.ratio for name, cell in told.items() if cell} == {
        "alone": 1.0, "a": 1.0, "b": pytest.approx(1.4, rel=0.02)
    }  # fmt: skip


def test_rows_of_two_settings_have_no_ratio(lake: LakeFolder, tmp_path: Path) -> None:
    cases = [Made("a", noisy(at, 9.0), {"tasks": tasks}) for at, tasks in enumerate((1, 2))]
    added(lake, run_of(tmp_path, 1, cases))
    with OpenedLake(lake, TABLES) as opened:
        one, other = read_rows(opened, "tasks/made")
    assert lake_report._over(one, other, 0.95) is None
    assert lake_report._over(one, one, 0.95) is not None


def test_machines_and_tables_are_chosen_by_name(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(3):
        added(lake, run(tmp_path, number, {"quick": 10.0, "slow": 20.0}), host=f"host{number}")
    with OpenedLake(lake, TABLES) as opened:
        assert len(machines_beside(opened, ["tasks"], ["host2", "host0"]).runs) == 2
        with pytest.raises(TollError, match="no workload latency"):
            machines_beside(opened, ["latency"])
        with pytest.raises(TollError, match="host9 names no machine"):
            machines_beside(opened, [], ["host9"])


def test_more_machines_than_letters_are_to_be_chosen_from(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(27):
        added(lake, run_of(tmp_path, number, [Made("quick", [10.0] * 2)], **started(1)), host=f"host{number}")
    with OpenedLake(lake, TABLES) as opened, pytest.raises(TollError, match="27 machines") as caught:
        machines_beside(opened)
    assert "--machine" in caught.value.next_step
