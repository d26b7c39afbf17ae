"""`toll report A B`: several runs beside each other, as a user asks for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_runs import Made, make_run


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    names = str(tmp_path / "a.toll"), str(tmp_path / "b.toll")
    for name, factor in zip(names, (1.0, 2.0), strict=True):
        values = [10.0 + 0.01 * launch for launch in range(20)]
        make_run(Path(name), [Made("quick", values), Made("slow", [3.0 * factor * one for one in values])])
    return names


def test_two_runs_stand_beside_each_other(toll, runs) -> None:
    done = toll("report", *runs)
    assert done.returncode == 0, done.stderr
    assert "differ" in done.stdout
    assert "Ratios are to quick of the same run." in done.stdout


def test_tables_are_chosen_as_of_one_run(toll, runs) -> None:
    told = json.loads(toll("report", *runs, "tasks/made", "--json").stdout)
    assert [table["workload"] for table in told["tables"]] == ["tasks/made"]
    none = toll("report", *runs, "tasks/mode")
    assert none.returncode == 2
    assert "no two of the runs have workload tasks/mode" in none.stderr
    assert "did you mean tasks/made?" in none.stderr


@pytest.mark.parametrize("form", ["html", "markdown", "json", "terminal"])
def test_what_toll_made_is_replaced_and_nothing_else(toll, runs, form, tmp_path: Path) -> None:
    target = tmp_path / "out"
    for _ in range(2):
        done = toll("report", *runs, "--format", form, "--output", str(target))
        assert done.returncode == 0, done.stderr
    target.write_text("mine")
    assert toll("report", *runs, "--format", form, "--output", str(target)).returncode == 2
    assert target.read_text() == "mine"


@pytest.mark.parametrize("which", [0, 1])
def test_no_run_is_written_over(toll, runs, which) -> None:
    before = Path(runs[which]).read_bytes()
    done = toll("report", *runs, "--format", "html", "--output", runs[which], "--force")
    assert done.returncode == 2
    assert Path(runs[which]).read_bytes() == before


def test_what_cannot_stand_beside_a_run_is_told(toll, runs, tmp_path: Path) -> None:
    missing = toll("report", runs[0], str(tmp_path / "c.toll"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "there is no run file" in missing.stderr
    csv = toll("report", *runs, "--format", "csv")
    assert csv.returncode == 2
    assert "a report of several runs is not shown as csv" in csv.stderr
    broken = tmp_path / "d.toll"
    broken.write_text("no database")
    done = toll("report", runs[0], str(broken))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_runs_are_known_by_their_names(toll, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("monday", "tuesday"):
        make_run(tmp_path / "runs" / f"{name}.toll", [Made("a", [1.0] * 20), Made("b", [2.0] * 20)])
    done = toll("report", "monday", "tuesday", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Ratios are to a of the same run." in done.stdout
