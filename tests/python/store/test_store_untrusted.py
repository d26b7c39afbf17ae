"""Files that are broken, not ours, newer, or made to attack: a clear TollError, never a traceback."""

import contextlib
import sqlite3
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_runs import as_version_3, make

from tollbench.errors import TollError
from tollbench.store import RunFile, reading
from tollbench.store.untrusted import CheckedRow
from tollbench.words import Batch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "run.toll"
    make(made).close()
    return made


def read_all(path: Path) -> None:
    """Everything that a report reads."""
    with RunFile.open(path) as run_file:
        run_file.header()
        run_file.workloads()
        run_file.environments()
        run_file.canary()
        for case in run_file.cases():
            run_file.allocations(case.id)
        for launch in run_file.all_launches():
            run_file.samples(launch.id, warmup=True)


def refusal(path: Path) -> TollError:
    with pytest.raises(TollError) as caught:
        read_all(path)
    assert str(path) in caught.value.what or caught.value.what.startswith("There is no")
    assert caught.value.next_step
    return caught.value


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_sound_file_passes(path: Path) -> None:
    read_all(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"dear diary\n" * 50, "is not a run file of toll"),
        (b"SQLite format 3\0" + bytes(20), "is truncated"),
        (b"SQLite format 3\0" + bytes(200), "not a run file of toll"),
    ],
)
def test_other_files(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.toll").write_bytes(content)
    assert words in refusal(tmp_path / "x.toll").what


def test_no_file_and_no_regular_file(tmp_path: Path) -> None:
    assert "There is no file" in refusal(tmp_path / "absent.toll").what
    assert "not a regular file" in refusal(tmp_path).what
    assert "not a regular file" in refusal(Path("/dev/zero")).what


def test_database_of_somebody_else(tmp_path: Path) -> None:
    change(tmp_path / "x.toll", "CREATE TABLE run (id)")
    assert "but not a run file of toll" in refusal(tmp_path / "x.toll").what


@pytest.mark.parametrize("kept", [0.999, 0.7, 0.3, 0.05])
def test_truncated(path: Path, kept: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    assert "is truncated: it ends" in (what := refusal(path).what) or "bytes are there" in what


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("{}", "is not a JSON array"),
        ("[1]", "is not [text, whole number]"),
        ('[["a", -1]]', "is not [text, whole number]"),
        ('[["a", true]]', "is not [text, whole number]"),
        ('[["a", 2]]', "counts another number of samples"),
    ],
)
def test_cells_that_fit_no_samples(path: Path, cells: str, words: str) -> None:
    change(path, f"INSERT INTO cells SELECT id, '{cells}' FROM batch WHERE launch_id = 2")
    with RunFile.open(path) as run_file, pytest.raises(TollError) as caught:
        run_file.cells(run_file.launches(1)[0].id)
    assert words in caught.value.what


def test_a_version_1_file_with_tables_of_version_2_is_refused(path: Path) -> None:
    change(path, "PRAGMA user_version = 1")
    assert "that toll does not make" in refusal(path).what


def test_newer_version_names_what_is_needed(path: Path) -> None:
    change(path, "PRAGMA user_version = 12")
    error = refusal(path)
    assert "newer toll" in error.what
    assert "12" in error.next_step


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON launch BEGIN DELETE FROM launch; END",
        "CREATE VIEW v AS SELECT * FROM launch",
        "CREATE TABLE more (x)",
        "CREATE INDEX i ON launch(abs(seed))",
        "ALTER TABLE launch ADD COLUMN extra TEXT",
        "DROP INDEX batch_by_launch",
        "DROP TABLE allocation",
    ],
)
def test_schema_must_be_ours(path: Path, statement: str) -> None:
    change(path, statement)
    error = refusal(path)
    assert any(words in error.what for words in ("does not make", "otherwise than toll", "lacks"))


def test_unsound_counters_are_seen_behind_sound_ones(path: Path) -> None:
    reason = '{"reason": "not asked for"}'
    change(path, f"UPDATE batch SET counters = '{reason}'")
    with RunFile.open(path) as run_file:
        assert {str(one.counters["reason"]) for each in run_file.launches(1) for one in each.batches} == {
            "not asked for"
        }
    change(path, "UPDATE batch SET counters = '[1]' WHERE id = (SELECT max(id) FROM batch)")
    assert "counters" in refusal(path).what


def test_what_counters_say_is_checked_once_a_text(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no counters are to be had, all 23,000 batches of a quick run say why."""
    change(path, """UPDATE batch SET counters = '{"reason": "not asked for"}'""")
    read, checked = reading._batch, []

    def noted(row: CheckedRow, *others: Any) -> Batch:
        checked.append(row)
        return read(row, *others)

    monkeypatch.setattr(reading, "_batch", noted)
    with RunFile.open(path) as run_file:
        assert sum(len(each.batches) for each in run_file.launches(1)) > 2
    assert len(checked) == 1


def test_view_in_place_of_a_table(path: Path) -> None:
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS launch_id FROM r"
    change(path, "DROP TABLE allocation", f"CREATE VIEW allocation AS {endless}")
    assert "does not make" in refusal(path).what


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE run SET plan = '[' || replace(hex(zeroblob(5000)), '00', '[')",
        "UPDATE run SET machine = '[1]'",
        "UPDATE run SET machine = '{\"x\": NaN}'",
        "UPDATE run SET machine = '{\"x\": ' || replace(hex(zeroblob(40)), '00', '[') || "
        "replace(hex(zeroblob(40)), '00', ']') || '}'",
        "UPDATE run SET machine = '{\"memory_bytes\": ' || replace(hex(zeroblob(200)), '00', '99') || '}'",
        "UPDATE run SET plan = '{\"seed\": -' || replace(hex(zeroblob(200)), '00', '99') || '}'",
        "UPDATE batch SET counters = '{\"cycles\": ' || replace(hex(zeroblob(200)), '00', '99') || '}'",
        'UPDATE batch SET counters = \'{"reason": "\\ud800"}\'',
        "UPDATE launch SET footing = '{\"\\uDFFF\": 1}'",
        "UPDATE run SET conditions = '{\"x\": \"' || hex(zeroblob(3000000)) || '\"}'",
        "UPDATE run SET name = hex(zeroblob(100000))",
        "UPDATE run SET seed = -1",
        "UPDATE run SET level = 9e999",
        "UPDATE run SET name = CAST(x'ff00fe' AS TEXT)",
        "DELETE FROM run",
        "UPDATE workload SET kind = 'other'",
        "UPDATE workload SET published = '[7]'",
        "UPDATE workload SET published = '[{\"low\": true}]'",
        "UPDATE \"case\" SET status = '<script>'",
        "UPDATE \"case\" SET answer = '-1'",
        "UPDATE \"case\" SET answer = '99999999999999999999'",
        'UPDATE "case" SET parameters = \'{"a": [1]}\'',
        "UPDATE launch SET purpose = 'fun'",
        "UPDATE launch SET wall_ns = -1",
        "UPDATE launch SET round = 2147483648",
        "UPDATE launch SET clock = 'null'",
        "UPDATE batch SET units = 0",
        "UPDATE batch SET wall_ns = -2.0",
        "UPDATE batch SET wall_ns = 9e999",
        "UPDATE sample SET count = 1000000000000",
        "UPDATE sample SET data = zeroblob(5)",
        "UPDATE sample SET data = x'0000c07f0000c07f0000c07f'",
        "UPDATE sample SET dtype = '<f8'",
        "UPDATE sample_block SET data = zeroblob(50)",
        "UPDATE sample_block SET data = zeroblob(0)",
        "UPDATE sample_block SET encoding = 'plain'",
        "UPDATE sample_block SET encoding = 'gzip'",
        "UPDATE sample_block SET ordinal = -1",
        "UPDATE sample_block SET launch_id = 1 WHERE launch_id = 2",
        "INSERT INTO sample_block SELECT launch_id, 1, encoding, data FROM sample_block LIMIT 1",
        "INSERT INTO sample SELECT id, 3, '<f4', zeroblob(12) FROM batch WHERE launch_id = 2",
        "UPDATE allocation SET calls = -1",
    ],
)
def test_contents_must_make_sense(path: Path, statement: str) -> None:
    change(as_version_3(path) if "UPDATE sample " in statement else path, statement)
    refusal(path)


@pytest.mark.parametrize("ns", ["-1.0", "9e999", "2e18"])
def test_a_gauge_that_cannot_be_is_named(path: Path, ns: str) -> None:
    change(path, f"UPDATE gauge SET ns = {ns}")
    assert "gauge.ns" in refusal(path).what


def test_a_census_that_cannot_be_is_named(path: Path) -> None:
    change(path, "UPDATE census SET others = -1")
    assert "census.others" in refusal(path).what


def test_blob_beyond_the_limit_is_not_read_into_memory(path: Path) -> None:
    change(as_version_3(path), "UPDATE sample SET data = zeroblob(70000000), count = 17500000")
    assert "too big" in refusal(path).what  # SQLite itself refuses, before the bytes are there


def test_wrong_type_in_a_strict_column(path: Path) -> None:
    """STRICT refuses to store this, so the column's declaration is swapped while the row goes in."""
    change(
        path,
        "UPDATE sqlite_master SET sql = replace(sql, 'wall_ns       INTEGER', 'wall_ns       ANY    ')"
        " WHERE name = 'launch'",
        "PRAGMA schema_version = 999",
    )
    change(path, "UPDATE launch SET wall_ns = 'soon'")
    change(
        path,
        "UPDATE sqlite_master SET sql = replace(sql, 'wall_ns       ANY    ', 'wall_ns       INTEGER')"
        " WHERE name = 'launch'",
        "PRAGMA schema_version = 1000",
    )
    assert "damaged" in refusal(path).what


def test_markup_and_escapes_in_names_are_kept_as_text(path: Path) -> None:
    change(path, "UPDATE run SET name = '<img src=x onerror=alert(1)>' || char(27) || '[2J'")
    with RunFile.open(path) as run_file:
        assert run_file.header().name == "<img src=x onerror=alert(1)>\x1b[2J"


def test_error_texts_hold_no_escape_sequences(path: Path) -> None:
    change(path, "UPDATE \"case\" SET status = char(27) || '[2J'")
    assert "\x1b" not in refusal(path).what


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=8))
def test_flipped_bytes_never_end_in_a_traceback(path: Path, changes: list[tuple[float, int]]) -> None:
    data = bytearray(path.read_bytes())
    for place, value in changes:
        data[int(place * len(data))] = value
    damaged = path.with_name("damaged.toll")
    damaged.write_bytes(data)
    with contextlib.suppress(TollError):  # any other exception fails
        read_all(damaged)


def test_page_size_in_the_header_is_not_believed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[16:18] = struct.pack(">H", 3)
    path.write_bytes(data)
    refusal(path)
