"""A stranger's file that is large where a run's is small: what is left out is said, and little is held."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run

from tollbench import analysis
from tollbench.analysis.results import Results
from tollbench.errors import TollError
from tollbench.store import RunFile

PLANNED = """WITH RECURSIVE k(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM k WHERE x < {count})
    INSERT INTO "case" SELECT NULL, workload_id, environment_id, 'planned_' || x, parameters, language,
    library, library_version, footing, answer, 0, 'planned', '' FROM "case", k WHERE id = 1"""
BATCHES = """WITH RECURSIVE k(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM k WHERE x < {count})
    INSERT INTO batch SELECT NULL, launch_id, x, 0, 1, 1, 7.0, 7.0, 0, 0, 0, 0, 1, '{{}}' FROM batch, k
    WHERE id = 10"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    cases = [Made(name, list(rng.lognormal(2, 0.1, 9))) for name in ("a", "b")]
    return make_run(tmp_path / "large.toll", cases)


def grown(path: Path, statement: str, count: int) -> Results:
    with sqlite3.connect(path) as connection:
        connection.execute(statement.format(count=count))
    connection.close()
    with RunFile.open(path) as run_file:
        return analysis.results(run_file)


def test_rows_beyond_what_a_report_holds_are_left_out_and_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "MOST_CASES", 50)
    found = grown(path, PLANNED, 48)
    assert len(found.workloads[0].rows) == 50
    assert not any("left out" in warning for warning in found.warnings)
    found = grown(path, PLANNED.replace("planned_", "more_"), 1000)
    rows = found.workloads[0].rows
    assert len(rows) == 50
    assert [row.contender for row in rows if row.value is not None] in (["a", "b"], ["b", "a"])
    (said,) = [warning for warning in found.warnings if "left out" in warning]
    assert said.startswith("1,000 of 1,050 cases are left out")


def test_cases_that_were_launched_come_before_all_others(path: Path) -> None:
    grown(path, PLANNED, 30)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE launch SET case_id = 20 WHERE case_id = 2")
    connection.close()
    with RunFile.open(path) as run_file:
        assert [case.id for case in run_file.cases(most=2)] == [1, 20]
        assert [case.id for case in run_file.cases("tasks/made", most=3)] == [1, 2, 20]
        assert len(run_file.cases()) == run_file.case_count() == 32
        assert run_file.launches(7) == ()


def test_a_launch_of_more_batches_than_any_program_answers_is_refused(path: Path) -> None:
    with pytest.raises(TollError, match="holds a launch of 100,004 batches"):
        grown(path, BATCHES, 100_009)
