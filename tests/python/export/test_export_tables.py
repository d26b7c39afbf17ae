"""Every export holds what the run file holds, and other tools read it."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pytest
from made_runs import Made, make_run

import tollbench as toll
from tollbench.analysis import results
from tollbench.errors import TollError
from tollbench.export import as_google_benchmark as google_benchmark
from tollbench.export import files
from tollbench.store import RunFile
from tollbench.words import Kind, Status

SAMPLES = [np.arange(1, 101), np.arange(201, 301)]


@pytest.fixture
def batches(tmp_path: Path) -> Path:
    """Two contenders timed in batches, one of which failed once, and one that was skipped."""
    cases = [
        Made("quick", [10.0, 12.0, 11.0], {"tasks": 5}, details=[{"share": 0.5}, {"share": 0.25}]),
        Made("slow", [20.0, Status.FAILED, 22.0], {"tasks": 5}),
        Made("absent", [], status=Status.SKIPPED, reason="no library"),
    ]
    return make_run(tmp_path / "batches.toll", cases, canary=[1.0, 2.0])


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """One contender in two modes, each with two launches of 100 samples."""
    cases = [
        Made("lock", [50.0, 250.0], {"mode": mode}, samples=[array + shift for array in SAMPLES])
        for mode, shift in (("hot", 0), ("parked", 1000))
    ]
    return make_run(tmp_path / "samples.toll", cases, kind=Kind.SAMPLES)


def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def asked(query: str) -> duckdb.DuckDBPyRelation:
    answer = duckdb.sql(query)
    assert answer is not None, f"no query: {query}"
    return answer


def test_duckdb_reads_what_was_measured(batches, tmp_path):
    out = folder(tmp_path)
    with RunFile.open(batches) as run_file:
        files.parquet(run_file, files.table_outputs(out, "parquet"))
    launches = asked(f"""
        select contender, count(*) filter (status = 'ok'), count(*) filter (status = 'failed')
        from '{out}/launches.parquet' where purpose = 'measure' group by 1 order by 1""").fetchall()
    assert launches == [("quick", 3, 0), ("slow", 2, 1)]
    canaries = asked(f"select count(*) from '{out}/launches.parquet' where purpose = 'canary'")
    assert canaries.fetchall() == [(2,)]
    values = asked(f"""
        select contender, launch, median(wall_ns / units) from '{out}/batches.parquet'
        where not warmup group by 1, 2 order by 2""").fetchall()
    assert [(name, value) for name, _, value in values] == [
        ("quick", 10.0), ("quick", 12.0), ("quick", 11.0), ("slow", 20.0), ("slow", 22.0),
    ]  # fmt: skip
    cases = asked(f"select contender, status, reason, parameters from '{out}/cases.parquet'").fetchall()
    assert cases[2] == ("absent", "skipped", "no library", "{}")
    assert json.loads(cases[0][3]) == {"tasks": 5}


def test_details_are_exported_with_their_batch_and_as_user_counters(batches, tmp_path):
    out = folder(tmp_path)
    with RunFile.open(batches) as run_file:
        files.parquet(run_file, files.table_outputs(out, "parquet"))
        repetitions = google_benchmark.document(run_file)["benchmarks"]
    query = f"""SELECT round, details FROM '{out}/batches.parquet'
        WHERE contender = 'quick' AND ordinal = 1 ORDER BY round"""
    assert asked(query).fetchall() == [(0, '{"share": 0.5}'), (1, '{"share": 0.25}'), (2, "{}")]
    told = [entry.get("share") for entry in repetitions if entry["name"] == "tasks/made/quick/tasks:5"]
    assert told == [0.5, 0.25, None]


def test_duckdb_reads_every_sample(samples, tmp_path):
    out = folder(tmp_path)
    with RunFile.open(samples) as run_file:
        files.parquet(run_file, files.table_outputs(out, "parquet"))
    rows = asked(f"""
        select json_extract_string(parameters, '$.mode') as mode, launch, list(nanoseconds order by ordinal)
        from '{out}/samples.parquet' group by 1, 2 order by 2""").fetchall()
    expected = [
        ("hot", SAMPLES[0]),
        ("hot", SAMPLES[1]),
        ("parked", SAMPLES[0] + 1000),
        ("parked", SAMPLES[1] + 1000),
    ]
    assert [(mode, values) for mode, _, values in rows] == [(mode, list(v)) for mode, v in expected]


def test_csv_holds_the_same_as_parquet(samples, tmp_path):
    out = folder(tmp_path)
    with RunFile.open(samples) as run_file:
        files.parquet(run_file, files.table_outputs(out, "parquet"))
        files.csv(run_file, files.table_outputs(out, "csv"))
    for name in ("cases", "launches", "batches", "samples"):
        with (out / f"{name}.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        relation = asked(f"select * from '{out}/{name}.parquet'")
        assert header == relation.columns
        assert len(rows) == len(relation.fetchall())
    assert [float(row[-1]) for row in rows[:100]] == list(SAMPLES[0])


def test_csv_starts_no_formula(tmp_path):
    cases = ["=HYPERLINK(1)", "-1+1", "  =1", "＝1", "\x1b[31m\u202e"]
    run = make_run(tmp_path / "x.toll", [Made(name, [1.0]) for name in cases])
    out = folder(tmp_path)
    with RunFile.open(run) as run_file:
        files.csv(run_file, files.table_outputs(out, "csv"))
    with (out / "cases.csv").open(newline="") as file:
        names = [row["contender"] for row in csv.DictReader(file)]
    assert names == ["'=HYPERLINK(1)", "'-1+1", "'  =1", "'＝1", "\ufffd[31m\ufffd"]


def test_json_is_one_document(samples, batches, tmp_path):
    for path in (samples, batches):
        with RunFile.open(path) as run_file, (tmp_path / "run.json").open("wb") as file:
            files.json_document(run_file, file, tmp_path / "x.json")
        found = json.loads((tmp_path / "run.json").read_text())
        assert set(found) == {"toll_export", "run", "cases", "launches", "batches", "samples"}
        if path == samples:
            assert [len(entry["nanoseconds"]) for entry in found["samples"]] == [100] * 4
            assert found["samples"][1]["nanoseconds"] == [float(value) for value in SAMPLES[1]]
            assert json.loads(found["samples"][2]["parameters"]) == {"mode": "parked"}
        else:
            assert found["samples"] == []
            assert len(found["cases"]) == 3


def test_google_benchmark_gets_a_repetition_a_launch(batches):
    with RunFile.open(batches) as run_file:
        found = google_benchmark.document(run_file)
    assert {"date", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "caches", "library_build_type"} <= set(
        found["context"]
    )
    quick = [entry for entry in found["benchmarks"] if entry["run_name"] == "tasks/made/quick/tasks:5"]
    repetitions = [entry for entry in quick if entry["run_type"] == "iteration"]
    assert [entry["real_time"] for entry in repetitions] == [10.0, 12.0, 11.0]
    assert [entry["cpu_time"] for entry in repetitions] == [20.0, 24.0, 22.0]
    assert [entry["repetition_index"] for entry in repetitions] == [0, 1, 2]
    assert {entry["repetitions"] for entry in repetitions} == {3}
    assert {entry["iterations"] for entry in repetitions} == {300}
    aggregates = {entry["aggregate_name"]: entry for entry in quick if entry["run_type"] == "aggregate"}
    assert list(aggregates) == ["mean", "median", "stddev", "cv"]
    assert aggregates["mean"]["name"] == "tasks/made/quick/tasks:5_mean"
    assert aggregates["mean"]["real_time"] == pytest.approx(11.0)
    assert aggregates["median"]["real_time"] == pytest.approx(11.0)
    assert aggregates["stddev"]["real_time"] == pytest.approx(1.0)
    assert aggregates["stddev"]["cpu_time"] == pytest.approx(2.0)
    assert aggregates["cv"]["real_time"] == pytest.approx(1 / 11)
    assert aggregates["cv"]["aggregate_unit"] == "percentage"


def test_google_benchmark_is_told_of_what_was_not_measured(batches):
    with RunFile.open(batches) as run_file:
        found = google_benchmark.document(run_file)
    (absent,) = [entry for entry in found["benchmarks"] if "absent" in entry["name"]]
    assert absent["error_occurred"] is True
    assert absent["error_message"] == "skipped: no library"
    assert "real_time" not in absent


def test_google_benchmark_gets_the_values_of_the_report(tmp_path):
    """By the clock that counts there: nobody waits here, and a neighbour took half of the processor."""
    made = Made(
        "a",
        [10.0, 12.0, 11.0] * 8,
        batches={"cpu_ns": 500.0, "voluntary_switches": 0},
        footing={"threads": 1},
    )
    with RunFile.open(make_run(tmp_path / "shared.toll", [made])) as run_file:
        (row,) = results(run_file).workloads[0].rows
        found = google_benchmark.document(run_file)["benchmarks"]
    assert row.value == 5.0, "CPU time counts"
    assert {entry["real_time"] for entry in found if entry["run_type"] == "iteration"} == {5.0}
    assert [entry["real_time"] for entry in found if entry.get("aggregate_name") == "median"] == [row.value]


def test_google_benchmark_gets_what_counts_of_launches_beside_others(tmp_path):
    """Iterations, values and CPU time are all of the batches that count; a launch without any is none."""
    made = Made("a", [10.0] * 30, batches={"gauge_ns": 100.0, "cpu_ns": 500.0}, footing={"threads": 1})
    path = make_run(tmp_path / "beside.toll", [made])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        launches = "SELECT batch.id FROM batch JOIN launch ON launch.id = launch_id WHERE purpose = 'measure'"
        connection.execute(f"UPDATE gauge SET ns = 400 WHERE batch_id IN ({launches} AND round % 2 = 1)")
        one_of_three = "round % 2 = 0 AND batch.ordinal = 3"
        connection.execute(f"UPDATE gauge SET ns = 400 WHERE batch_id IN ({launches} AND {one_of_three})")
    with RunFile.open(path) as run_file:
        (row,) = results(run_file).workloads[0].rows
        found = google_benchmark.document(run_file)["benchmarks"]
    repetitions = [entry for entry in found if entry["run_type"] == "iteration"]
    assert "15 of 30 launches count" in row.footing["left_out"]
    assert [entry["real_time"] for entry in repetitions] == row.launch_values
    assert {entry["iterations"] for entry in repetitions} == {200}


def test_google_benchmark_gets_no_time_of_what_is_shorter_than_the_clocks_step(tmp_path):
    made = Made("a", [1.0] * 8, samples=[np.zeros(100)] * 8)
    clock = {"clock": {"source": "tsc", "resolution_ns": 20.0}}
    path = make_run(tmp_path / "fast.toll", [made], kind=Kind.SAMPLES, launch_changes=clock)
    with RunFile.open(path) as run_file:
        assert results(run_file).workloads[0].rows[0].below_step == 20.0
        (entry,) = google_benchmark.document(run_file)["benchmarks"]
    assert entry["error_message"] == "one operation is shorter than the clock's step of 20.0 ns"
    assert "real_time" not in entry


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("machine", '{"frequency_mhz": {"now": 1e999}}'),
        ("machine", '{"caches": 5}'),
        ("conditions", '{"load_1min": 1e999}'),
    ],
)
def test_a_strangers_run_is_exported_soundly_or_refused(batches, tmp_path, column, value):
    with contextlib.closing(sqlite3.connect(batches, isolation_level=None)) as connection:
        connection.execute(f"UPDATE run SET {column} = ?", (value,))

    def as_json(run_file: RunFile) -> str:
        with (tmp_path / "run.json").open("wb") as file:
            files.json_document(run_file, file, tmp_path / "run.json")
        return (tmp_path / "run.json").read_text()

    for export in (lambda run_file: json.dumps(google_benchmark.document(run_file)), as_json):
        with RunFile.open(batches) as run_file:
            if "1e999" in value:
                with pytest.raises(TollError, match="not finite"):
                    export(run_file)
            else:
                json.loads(export(run_file), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_notebook_gets_samples_as_numpy_arrow_and_pandas(samples):
    with toll.open(samples) as run:
        hot = run.samples("tasks/made", "lock", mode="hot")
        assert hot.dtype == np.float32
        assert list(hot) == [*SAMPLES[0], *SAMPLES[1]]
        assert run.samples("tasks/made", "lock", mode="parked")[0] == 1001
        table = run.arrow("samples")
        assert table.num_rows == 400
        frame = run.pandas("samples")
        assert list(frame.nanoseconds[:100]) == list(SAMPLES[0])
        assert set(frame.contender) == {"lock"}
        assert [case.contender for case in run.cases()] == ["lock", "lock"]
        assert run.results.workloads[0].workload == "tasks/made"


def test_a_notebook_gets_batches_as_numpy(batches):
    with toll.open(str(batches)) as run:
        assert list(run.batches("tasks/made", "quick")[:3]) == [10.0, 5.0, 400.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run: run.samples("tasks/made", "lock"), ["has 2 cases", "hot", "parked"]),
        (lambda run: run.samples("tasks/made", "luck"), ["no case tasks/made luck", "tasks/made lock"]),
        (lambda run: run.samples("tasks/made", "lock", mode="cold"), ["cold"]),
        (lambda run: run.arrow("sample"), ["'sample'", "samples"]),
    ],
)
def test_a_notebook_is_told_what_there_is(samples, call, words):
    with toll.open(samples) as run, pytest.raises(TollError) as raised:
        call(run)
    text = f"{raised.value.what} {raised.value.next_step}"
    assert all(word in text for word in words), text


def test_samples_of_batches_are_named_as_such(batches):
    with toll.open(batches) as run, pytest.raises(TollError, match="timed in batches") as raised:
        run.samples("tasks/made", "quick")
    assert "run.batches" in raised.value.next_step


@pytest.mark.parametrize("source", ["batches", "samples"])
@pytest.mark.parametrize("write", [files.parquet, files.csv])
def test_what_was_written_is_counted_and_every_step_told(request, tmp_path, source, write):
    out = folder(tmp_path)
    told: list[str] = []
    with RunFile.open(request.getfixturevalue(source)) as run_file:
        written = write(run_file, files.table_outputs(out, write.__name__), told.append)
        assert len(told) == files.record_batches(run_file)
    for one in written:
        assert asked(f"select count(*) from '{one.path}'").fetchall() == [(one.rows,)]
    assert [one.table for one in written] == ["cases", "launches", "batches", "samples"]
    assert list(dict.fromkeys(told)) == [one.table for one in written if one.rows]
