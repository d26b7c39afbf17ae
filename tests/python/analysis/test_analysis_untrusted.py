"""Run files are shared between people: whatever they hold, a sound result or a clear error."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from made_runs import Made, make_run, published
from store_runs import as_version_3

from tollbench import analysis
from tollbench.analysis.results import Results
from tollbench.errors import TollError
from tollbench.store import BatchSamples, RunFile
from tollbench.store.sample_blocks import _zstd, blocks
from tollbench.words import Allocations, DeclaredDetail, Kind, Status

zstd = _zstd()

ROOT = Path(__file__).parents[3]
VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas/report.schema.json").read_text(encoding="utf-8"))
)
SAMPLES = 40
EVIL: dict[str, list[Any]] = {
    "INTEGER": [-1, 0, 2**63 - 1, -(2**63)],
    "REAL": [-1.0, 0.0, 1e-300, 1e300, float("inf")],
    "TEXT": [
        "",
        "x" * 70_000,
        "{}",
        "[1]",
        '{"a": 1e999}',
        '{"threads": true}',
        "\x1b[2J\x00",
        "ok",
        "9" * 20,
    ],
    "BLOB": [b"\x00" * 7, *(np.full(SAMPLES, v, "<f4").tobytes() for v in (np.nan, np.inf, -5e3, 0.0))],
}


def read(path: Path) -> Results:
    with RunFile.open(path) as run_file:
        return analysis.results(run_file)


def tamper(path: Path, statement: str, *values: Any) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(statement, values)
    connection.close()
    return path


def packed(value: float) -> bytes:
    """Samples that are all the same, of a warm-up batch and a timed one."""
    batch = BatchSamples.of(np.full(SAMPLES, value, np.float32))
    ((_, encoding, data),) = blocks([batch, batch])
    return data if encoding == "zstd" else zstd.compress(data)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Path]:
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(1)
    counted = Allocations(iterations=1, units=10, calls=10, bytes=100, peak_bytes=50)
    found = {}
    for kind in Kind:
        cases = [
            Made(
                name,
                [*rng.lognormal(2, 0.1, 9), Status.FAILED],
                samples=[rng.lognormal(5, 0.3, SAMPLES) for _ in range(9)],
                allocations=counted,
                counters={"instructions": 5},
                details=[{"share": 0.5}] * 9,
            )
            for name in ("a", "b")
        ]
        found[kind] = make_run(
            folder / f"{kind}.toll", cases, kind=kind, canary=list(rng.lognormal(4, 0.01, 24)),
            published=[published("threads")],
            details=[DeclaredDetail("share", "Share", "share", "of the least")],
            launch_changes={"steal_ns": 5},
        )  # fmt: skip
    return found


@pytest.fixture
def copied(runs: dict[Kind, Path], tmp_path: Path) -> dict[Kind, Path]:
    return {kind: Path(shutil.copy(path, tmp_path)) for kind, path in runs.items()}


@pytest.mark.parametrize(
    ("kind", "statement", "value", "message"),
    [
        (Kind.BATCH, "UPDATE batch SET wall_ns = ?", float("inf"), "finite"),
        (Kind.BATCH, "UPDATE batch SET wall_ns = ?", 1e300, "impossible time: 1e+300 ns"),
        (Kind.BATCH, "UPDATE batch SET wall_ns = ?", -1.0, "batch"),
        (Kind.BATCH, "UPDATE batch SET cpu_ns = ?", 1e300, "impossible time"),
        (Kind.BATCH, "UPDATE batch SET units = ?", 0, "units"),
        (
            Kind.BATCH,
            "UPDATE batch SET counters = ?",
            '{"instructions": 1e999}',
            "not finite in the hard",
        ),
        (Kind.BATCH, "UPDATE batch_detail SET value = ?", float("inf"), "batch_detail.value"),
        (Kind.BATCH, "UPDATE batch_detail SET value = ?", -1e300, "batch_detail.value"),
        (Kind.BATCH, "UPDATE run SET level = ?", 1.5, "level 1.5"),
        (Kind.BATCH, "UPDATE run SET level = ?", 0.0, "level 0.0"),
        (Kind.BATCH, "UPDATE run SET precision = ?", 3.0, "within 3.0"),
        (Kind.BATCH, "UPDATE run SET machine = ?", '{"a": [1e999]}', "not finite in the machine"),
        (Kind.BATCH, "UPDATE run SET conditions = ?", '{"a": -1e999}', "not finite in the machine's cond"),
        (Kind.BATCH, "UPDATE launch SET footing = ?", '{"a": 1e999}', "not finite in a footing"),
        (Kind.BATCH, "UPDATE launch SET started_utc = ?", "yesterday", "'yesterday' where an instant"),
        (Kind.BATCH, "UPDATE workload SET unit = ?", "bananas", "'bananas', which is not a unit of time"),
        (Kind.SAMPLES, "UPDATE sample SET data = ?", EVIL["BLOB"][1], "not finite"),
        (Kind.SAMPLES, "UPDATE sample SET data = ?", EVIL["BLOB"][3], "impossible time: -5000.0 ns"),
        (Kind.SAMPLES, "UPDATE sample SET data = ?", b"\x00" * 7, "7 bytes for 40 samples"),
        (Kind.SAMPLES, "DELETE FROM sample WHERE ? = 1", 1, "holds no samples of it"),
        (Kind.SAMPLES, "DELETE FROM sample_block WHERE ? = 1", 1, "holds no samples of it"),
        (Kind.SAMPLES, "UPDATE sample_block SET data = ?", packed(-5e3), "impossible time: -5000.0 ns"),
        (Kind.SAMPLES, "UPDATE sample_block SET data = ?", packed(2.0**100), "impossible time: 1.26"),
        (Kind.SAMPLES, "UPDATE sample_block SET data = ?", packed(np.nan), "not finite"),
        (Kind.SAMPLES, "UPDATE sample_block SET data = ?", b"\x00" * 7, "cannot be unpacked"),
    ],
)
def test_an_impossible_value_is_named(
    copied: dict[Kind, Path], kind: Kind, statement: str, value: Any, message: str
) -> None:
    if " sample " in statement:
        as_version_3(copied[kind])
    if "sample SET" in statement:
        statement += f" WHERE count = {SAMPLES}"
    with pytest.raises(TollError) as caught:
        read(tamper(copied[kind], statement, value))
    assert message in caught.value.what
    assert caught.value.next_step


def test_a_unit_that_steers_a_terminal_is_refused_where_nothing_was_measured_too(tmp_path: Path) -> None:
    skipped = [Made("a", [], status=Status.SKIPPED, reason="no library")]
    with pytest.raises(TollError, match="not a unit of time"):
        read(make_run(tmp_path / "evil.toll", skipped, unit="\x1b]0;owned\x07|ns"))


def columns() -> list[tuple[str, str, str]]:
    schema = (ROOT / "python/tollbench/store/schema.sql").read_text(encoding="utf-8")
    found = []
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(schema)
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for _, name, affinity, *_ in connection.execute(f'PRAGMA table_info("{table}")'):
                found.append((table, name, affinity))
    return found


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(("table", "column", "affinity"), columns())
def test_any_evil_value_gives_a_sound_result_or_a_clear_error(
    runs: dict[Kind, Path], tmp_path: Path, kind: Kind, table: str, column: str, affinity: str
) -> None:
    for value in EVIL[affinity]:
        path = Path(shutil.copy(runs[kind], tmp_path / "evil.toll"))
        one_row = f'"{table}" SET "{column}" = ? WHERE rowid = (SELECT max(rowid) FROM "{table}")'
        tamper(path, f"UPDATE OR IGNORE {one_row}", value)
        try:
            found = read(path)
        except TollError:
            continue
        # Not-a-number and infinity would be null in JSON, where the schema wants a number.
        VALIDATOR.validate(json.loads(found.model_dump_json(by_alias=True)))


def test_nothing_in_a_text_is_interpreted(copied: dict[Kind, Path]) -> None:
    name = "<img src=x onerror=alert(1)>{{7*7}}"
    path = tamper(copied[Kind.BATCH], "UPDATE \"case\" SET contender = ? WHERE contender = 'a'", name)
    assert name in {row.contender for row in read(path).workloads[0].rows}
