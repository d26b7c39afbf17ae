"""A stranger's file in the lake, and a stranger's query: a sentence, and nothing else is reached."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from made_lakes import added, run, run_id, started

from tollbench.errors import TollError
from tollbench.lake import compacting
from tollbench.lake.across_machines import across_machines
from tollbench.lake.compacting import compact
from tollbench.lake.differing import differing
from tollbench.lake.held_runs import held_cases, held_runs, queried
from tollbench.lake.lake_folder import LakeFolder, write_parquet
from tollbench.lake.lake_report import machines_beside
from tollbench.lake.lake_rows import Asked
from tollbench.lake.lake_schema import TABLES, VERSION
from tollbench.lake.opened_lake import OpenedLake

QUICK = Asked.of("tasks/made/quick")


@pytest.fixture
def lake(tmp_path: Path) -> LakeFolder:
    lake = LakeFolder.make(tmp_path / "a 'lake'")
    for number in (1, 2):
        added(lake, run(tmp_path, number, {"quick": 10.0, "slow": 20.0}), host=f"host{number}")
    return lake


def summary(lake: LakeFolder, number: int = 1) -> Path:
    return next(file.path for file in lake.files("summary") if file.name == run_id(number))


def changed(path: Path, column: str, values: pa.Array) -> None:
    table = pyarrow.parquet.ParquetFile(path).read()
    at = table.schema.get_field_index(column)
    with path.open("wb") as file:
        write_parquet(table.set_column(at, column, values), file)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM read_parquet('{outside}')",
        "SELECT * FROM read_parquet('{lake}/../outside.parquet')",
        "SELECT * FROM read_csv('https://example.org/x.csv')",
        "COPY (SELECT 1) TO '{inside}'",
        "COPY (SELECT 1) TO '{inside}' (USE_TMP_FILE false)",
        "COPY (SELECT 1) TO '{lake}/x.csv'",
        "ATTACH '{lake}/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA database_list",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW summary",
        "EXPORT DATABASE '{lake}/x'",
        "SELECT 1; SELECT 2",
        "SELECT * FROM nothing",
        "",
        "SELECT",
    ],
)
def test_a_query_reads_the_lake_and_nothing_else(lake: LakeFolder, tmp_path: Path, sql: str) -> None:
    outside = tmp_path / "outside.parquet"
    shutil.copyfile(summary(lake), outside)
    before = {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()}
    text = sql.format(
        outside=outside, lake=str(lake.root).replace("'", "''"), inside=str(summary(lake)).replace("'", "''")
    )
    with OpenedLake(lake) as opened, pytest.raises(TollError):
        queried(opened, text, 10)
    assert {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()} == before


def test_a_query_answers_and_says_what_it_left_out(lake: LakeFolder) -> None:
    with OpenedLake(lake) as opened:
        found = queried(opened, "SELECT contender, count(*) AS n FROM launch GROUP BY 1 ORDER BY 1", 2)
    assert found.columns == ["contender", "n"]
    assert found.rows == [["quick", 42], ["slow", 42]]
    assert found.left_out == 0
    with OpenedLake(lake) as opened:
        assert queried(opened, "SELECT * FROM launch", 5).left_out == 79


def test_what_a_query_prints_cannot_steer_a_terminal(lake: LakeFolder) -> None:
    with OpenedLake(lake) as opened:
        found = queried(opened, "SELECT chr(27) || '[31m' AS x, 1e400::DOUBLE AS y, {'a': [1]} AS z", 5)
    assert found.rows == [["\ufffd[31m", None, "{'a': [1]}"]]


@pytest.mark.parametrize("cut", [0, 3, 11, 100, -9, -1])
def test_a_half_written_file_is_left_out_and_named(lake: LakeFolder, cut: int) -> None:
    path = summary(lake)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with OpenedLake(lake) as opened:
        found = across_machines(opened, QUICK)
    assert [row.machine.host for row in found.rows] == ["host2"]
    assert found.notes == [f"{path} is half-written, and left out: add its run again"]


def test_a_file_that_goes_while_it_is_asked_for_is_no_error(lake: LakeFolder) -> None:
    with OpenedLake(lake) as opened:
        summary(lake).unlink()
        assert len(across_machines(opened, QUICK).rows) == 1


NONSENSE = {
    "value": pa.array([float("nan"), 1.0]),
    "low": pa.array([-1.0, 1.0]),
    "log_ns": pa.array([[float("inf")] * 20, [1.0] * 20]),
    "rounds": pa.array([[1] * 20, [1] * 20], pa.list_(pa.int32())),
    "work": pa.array(["[1]", '{"a": true}']),
    "started_utc": pa.array([None, None], pa.timestamp("ms")),
}


@pytest.mark.parametrize("column", NONSENSE)
def test_impossible_values_are_a_sentence(lake: LakeFolder, column: str) -> None:
    changed(summary(lake), column, NONSENSE[column])
    with OpenedLake(lake) as opened, pytest.raises(TollError, match=r"impossible|when it began") as caught:
        across_machines(opened, QUICK)
    assert caught.value.next_step


MISSING: list[tuple[str, str, str | None]] = [
    ("run", "started_utc", None),
    ("run", "machine", None),
    ("run", "warnings", "5"),
    ("run", "warnings", "[5]"),
    ("run", "conditions", "5"),
    ("run", "floor", "[]"),
    ("machine", "described", "[1]"),
    ("summary", "workload", None),
    ("summary", "contender", None),
    ("summary", "started_utc", None),
]


@pytest.mark.parametrize(("table", "column", "value"), MISSING)
def test_what_a_strangers_table_lacks_is_a_sentence_or_nothing(
    lake: LakeFolder, table: str, column: str, value: str | None
) -> None:
    path = next(file.path for file in lake.files(table) if file.name == run_id(1))
    kind = TABLES[table].field(column).type
    others = "x" if value is None and kind == pa.string() else value  # beside nothing: both are put in order
    count = pyarrow.parquet.ParquetFile(path).metadata.num_rows
    changed(path, column, pa.array([value, *[others] * (count - 1)], kind))
    questions: list[Callable[[OpenedLake], object]] = [
        held_runs,
        machines_beside,
        lambda opened: held_cases(opened, Asked.of("tasks/made")),
        lambda opened: across_machines(opened, QUICK),
        lambda opened: differing(opened, Asked.of("tasks/made")),
    ]
    with OpenedLake(lake) as opened:
        for question in questions:
            with suppress(TollError):
                question(opened)


def test_a_question_that_takes_too_much_memory_blames_no_file(lake: LakeFolder) -> None:
    many = "SELECT list(i::VARCHAR || repeat('x', 100)) FROM range(3_000_000) t(i)"
    with OpenedLake(lake, memory_mb=50) as opened:
        with pytest.raises(TollError, match="the question wants more than 50 MB") as caught:
            opened.ask(many)
        assert "take the file out" not in caught.value.next_step
        with pytest.raises(TollError, match="the query wants more than 50 MB"):
            opened.query(many, 1)
        assert len(across_machines(opened, QUICK).rows) == 2


def test_a_column_of_another_type_or_a_missing_one_is_a_sentence(lake: LakeFolder) -> None:
    changed(summary(lake), "value", pa.array(["ten", "twenty"]))
    with OpenedLake(lake) as opened, pytest.raises(TollError, match="a file that toll did not write"):
        across_machines(opened, QUICK)
    path = summary(lake)
    table = pyarrow.parquet.ParquetFile(path).read().drop_columns(["log_ns"])
    with path.open("wb") as file:
        write_parquet(table, file)
    with OpenedLake(lake) as opened, pytest.raises(TollError, match="a file that toll did not write"):
        across_machines(opened, QUICK)


def test_texts_of_a_stranger_are_made_harmless(lake: LakeFolder) -> None:
    changed(summary(lake), "contender", pa.array(["quick", "slow\x1b[31m"]))
    changed(summary(lake), "host", pa.array(["\u202ehost", "\u202ehost"]))
    with OpenedLake(lake) as opened:
        found = across_machines(opened, QUICK)
    assert not any(letter in found.model_dump_json() for letter in ("\\u001b", "\u202e"))


def test_links_are_not_followed(lake: LakeFolder, tmp_path: Path) -> None:
    path = summary(lake)
    path.rename(tmp_path / "elsewhere.parquet")
    path.symlink_to(tmp_path / "elsewhere.parquet")
    assert [file.name for file in lake.files("summary")] == [run_id(2)]


def test_a_file_of_a_newer_schema_is_named(lake: LakeFolder) -> None:
    path = summary(lake)
    path.rename(path.with_name(path.name.replace(f".v{VERSION}.", f".v{VERSION + 1}.")))
    with pytest.raises(TollError, match="written by a newer toll"):
        lake.files("summary")


def test_files_of_an_older_schema_are_read_under_the_new_names(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version of now, read by a toll whose next one added a column and renamed another."""
    from tollbench.lake import lake_folder, lake_schema

    newer = lake_schema.VERSION + 1
    schema = lake_schema.TABLES["summary"]
    fields = [pa.field("noted", pa.string()) if field.name == "reason" else field for field in schema]
    tables = {**lake_schema.TABLES, "summary": pa.schema([*fields, pa.field("joules", pa.float64())])}
    for module in (lake_schema, lake_folder, compacting):
        monkeypatch.setattr(module, "TABLES", tables)
        monkeypatch.setattr(module, "VERSION", newer)
    monkeypatch.setattr("tollbench.lake.opened_lake.TABLES", tables)
    monkeypatch.setattr(lake_schema, "ADDED", {newer: {"summary": ("joules",)}})
    monkeypatch.setattr(lake_schema, "RENAMED", {newer: {"summary": {"noted": "reason"}}})
    sql = "SELECT count(*), count(noted), count(joules) FROM summary"
    with OpenedLake(lake) as opened:
        assert queried(opened, sql, 5).rows == [[4, 4, 0]]
    compact(lake)
    assert {file.version for file in lake.files("summary")} == {newer}
    with OpenedLake(lake) as opened:
        assert queried(opened, sql, 5).rows == [[4, 4, 0]]


def test_a_compaction_that_fails_leaves_everything(lake: LakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in lake.root.rglob("*.parquet")}
    changed_file = next(file.path for file in lake.files("batch"))
    before[changed_file] = b"PAR1 nonsense"
    changed_file.write_bytes(before[changed_file])
    with pytest.raises(TollError, match="is not what toll writes"):
        compact(lake)
    assert {path: path.read_bytes() for path in lake.root.rglob("*.parquet")} == before


@pytest.mark.parametrize("killed_at", ["before the manifest", "behind the manifest"])
def test_a_compaction_that_is_killed_shows_every_run_once(
    lake: LakeFolder, monkeypatch: pytest.MonkeyPatch, killed_at: str
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    name = "write_own" if killed_at == "before the manifest" else "_sweep"
    if name == "_sweep":
        real, calls = compacting._sweep, iter((False, True))
        monkeypatch.setattr(compacting, name, lambda *given: kill() if next(calls) else real(*given))
    else:
        monkeypatch.setattr(compacting, name, kill)
    with pytest.raises(Killed):
        compact(lake)
    monkeypatch.undo()
    for _ in range(2):
        with OpenedLake(lake) as opened:
            assert sorted(line.name for line in held_runs(opened).runs) == ["run-1", "run-2"]
            assert len(across_machines(opened, QUICK).rows) == 2
        compact(lake)


def test_a_run_that_comes_in_while_it_is_compacted_is_there_in_full(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last table and its claim come once somebody looked at its first ones."""
    added(lake, run(tmp_path, 3, {"quick": 10.0}), host="host3")
    (last,) = lake.root.glob(f"summary/*/*/{run_id(3)}.*")
    claim, finished = lake.root / "runs" / f"{run_id(3)}.json", LakeFolder.finished
    for path in (last, claim):
        path.rename(tmp_path / path.name)

    def comes_in(self: LakeFolder, runs: Iterable[str]) -> frozenset[str]:
        asked = list(runs)
        for path in (last, claim):
            (tmp_path / path.name).rename(path)
        return finished(self, asked)

    monkeypatch.setattr(LakeFolder, "finished", comes_in)
    compact(lake)
    with OpenedLake(lake) as opened:
        assert len(across_machines(opened, QUICK).rows) == 3


def test_a_run_that_can_still_grow_keeps_its_own_file(lake: LakeFolder, tmp_path: Path) -> None:
    unfinished = {"stopped_by": "interrupt", **started(1), "finished_utc": None}
    added(lake, run(tmp_path, 3, {"quick": 10.0}, **unfinished), host="host3")
    assert compact(lake).runs == 2
    assert [file.name for file in lake.files("summary") if file.machine != "all"] == [run_id(3)]
    with OpenedLake(lake) as opened:
        assert len(across_machines(opened, QUICK).rows) == 3


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": 3, "runs": []}'])
def test_a_damaged_manifest_is_named(lake: LakeFolder, text: str) -> None:
    (lake.root / "compacted.json").write_text(text)
    if text:
        with pytest.raises(TollError, match=r"compacted.json"):
            lake.files("summary")
    else:
        assert len(lake.files("summary")) == 2
