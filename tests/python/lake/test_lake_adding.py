"""What comes into a lake: every run once and whole, the machine as it is stated, and no secret."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from made_lakes import CPU, added, machine, run, run_id, run_of
from made_runs import Made

from tollbench.errors import TollError
from tollbench.lake import lake_folder, tables_of_run
from tollbench.lake.compacting import compact
from tollbench.lake.lake_folder import Added, LakeFolder
from tollbench.lake.lake_rows import rows_of_table
from tollbench.lake.lake_schema import TABLES, VERSION
from tollbench.lake.stated_machine import StatedMachine
from tollbench.store import RunFile
from tollbench.words import Kind, Status
from tollbench.writing.redacting import WITHHELD, harmless, secrets_here


@pytest.fixture
def lake(tmp_path: Path) -> LakeFolder:
    return LakeFolder.make(tmp_path / "lake")


def files(lake: LakeFolder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(lake.root.rglob("*")) if path.is_file()}


def test_a_run_is_one_file_a_table_in_the_folder_of_its_machine_and_month(
    lake: LakeFolder, tmp_path: Path
) -> None:
    path = run(tmp_path, 1, {"quick": 10.0, "slow": 20.0})
    assert added(lake, path, commit="abc123") is Added.ADDED
    identity = StatedMachine.of(machine()).id
    names = {str(each.relative_to(lake.root)) for each in lake.root.rglob("*.parquet")}
    where = f"by_machine={identity}/by_month=2026-01/{run_id(1)}.v{VERSION}.parquet"
    assert names == {f"{table}/{where}" for table in TABLES if table != "sample"}
    for table in TABLES:
        if table == "sample":
            continue
        read = pyarrow.parquet.ParquetFile(lake.root / table / where).read()
        assert read.schema.names == TABLES[table].names
        assert set(read["run"].to_pylist()) == {run_id(1)}
        assert set(read["commit"].to_pylist()) == {"abc123"}
        assert set(read["toll_version"].to_pylist()) == {"0.1.0"}
        assert set(read["schema_version"].to_pylist()) == {VERSION}
        assert set(read["machine"].to_pylist()) == {identity}


def test_the_summary_says_what_the_report_says(lake: LakeFolder, tmp_path: Path) -> None:
    from tollbench.analysis import results

    path = run(tmp_path, 1, {"quick": 10.0, "slow": 20.0})
    added(lake, path)
    (file,) = lake.files("summary")
    told = {row["contender"]: row for row in pyarrow.parquet.ParquetFile(file.path).read().to_pylist()}
    with RunFile.open(path) as run_file:
        (workload,) = results(run_file).workloads
    for row in workload.rows:
        mine = told[row.contender]
        for name in (
            "value",
            "low",
            "high",
            "ratio",
            "ratio_low",
            "ratio_high",
            "fastest",
            "launches",
            "unit",
        ):
            assert mine[name] == getattr(row, name), name
    logs = np.array([told["slow"]["log_ns"], told["quick"]["log_ns"]])
    assert np.exp(np.median(logs[0] - logs[1])) == pytest.approx(told["slow"]["ratio"], abs=1e-12)


def test_ratios_know_which_rounds_had_the_same_code(lake: LakeFolder, tmp_path: Path) -> None:
    """As wide as the report's; those of a file of before there were layouts count rounds."""
    from tollbench.analysis import results

    rng = np.random.default_rng(5)
    layouts = [*(1 + np.concatenate([rng.permutation(12) for _ in range(6)]))]
    moved = 0.1 * rng.standard_normal((2, 13))
    cases = [
        Made(name, [10.0 * float(np.exp(moved[at, one])) for one in layouts], layouts=[*map(int, layouts)])
        for at, name in enumerate(("quick", "slow"))
    ]
    path = run_of(tmp_path, 1, cases)
    added(lake, path)
    (file,) = lake.files("summary")
    told = pyarrow.parquet.ParquetFile(file.path).read()
    assert told["layouts"].to_pylist() == [layouts, layouts]
    with RunFile.open(path) as run_file:
        (workload,) = results(run_file).workloads
    other = next(row for row in workload.rows if not row.fastest)
    rows = {row.case.contender: row for row in rows_of_table(told, "tasks/made")}
    (name,) = set(rows) - {other.contender}
    ratio = rows[other.contender].ratio_to(rows[name], rows[name].level)
    assert ratio is not None
    assert (ratio.low, ratio.high) == pytest.approx((other.ratio_low, other.ratio_high))
    none = pa.nulls(2, pa.list_(pa.int32()))
    older = told.set_column(told.schema.get_field_index("layouts"), "layouts", none)
    rows = {row.case.contender: row for row in rows_of_table(older, "tasks/made")}
    by_rounds = rows[other.contender].ratio_to(rows[name], rows[name].level)
    assert by_rounds is not None
    widths = [float(np.log((one.high or 1.0) / (one.low or 1.0))) for one in (ratio, by_rounds)]
    assert widths[0] > 1.3 * widths[1] > 0.0


def test_other_tools_read_the_folder_as_it_is(lake: LakeFolder, tmp_path: Path) -> None:
    for number in (1, 2):
        added(lake, run(tmp_path, number, {"quick": 10.0, "slow": 20.0}))
    place = str(lake.root / "summary")
    read = pd.read_parquet(place)
    assert sorted(read["run"].unique()) == [run_id(1), run_id(2)]
    options = "union_by_name = true, hive_partitioning = true"
    sql = f"SELECT count(*) FROM read_parquet('{place}/*/*/*.parquet', {options})"
    assert duckdb.connect().execute(sql).fetchall() == [(4,)]


def test_samples_come_when_they_are_asked_for(lake: LakeFolder, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    samples = [rng.integers(10, 20, 500).astype(np.float32) for _ in range(8)]
    path = run_of(tmp_path, 1, [Made("one", [15.0] * 8, samples=samples)], kind=Kind.SAMPLES)
    added(lake, path, samples=True)
    (file,) = lake.files("sample")
    read = pyarrow.parquet.ParquetFile(file.path).read().to_pandas()
    assert read["count"].sum() == 8 * 500
    (summary,) = lake.files("summary")
    told = pyarrow.parquet.ParquetFile(summary.path).read().to_pylist()[0]
    assert told["p50"] == pytest.approx(np.median(np.concatenate(samples)), abs=1.0)


def test_a_failed_case_is_a_row_with_its_reason(lake: LakeFolder, tmp_path: Path) -> None:
    cases = [Made("quick", [10.0] * 8), Made("broken", [Status.FAILED] * 3)]
    added(lake, run_of(tmp_path, 1, cases))
    (file,) = lake.files("summary")
    row = next(
        row
        for row in pyarrow.parquet.ParquetFile(file.path).read().to_pylist()
        if row["contender"] == "broken"
    )
    assert row["status"] == "failed"
    assert row["reason"]
    assert row["value"] is None
    assert row["log_ns"] is None


def test_the_same_run_twice_is_kept_once(lake: LakeFolder, tmp_path: Path) -> None:
    path = run(tmp_path, 1, {"quick": 10.0, "slow": 20.0})
    added(lake, path)
    before = files(lake)
    assert added(lake, path) is Added.ALREADY
    assert files(lake) == before


def test_the_same_run_under_another_host_is_refused(lake: LakeFolder, tmp_path: Path) -> None:
    path = run(tmp_path, 1, {"quick": 10.0})
    added(lake, path, host="one")
    before = files(lake)
    with pytest.raises(TollError, match=r"is in .* already, of machine m") as caught:
        added(lake, path, host="two")
    assert "--host" in caught.value.next_step
    assert files(lake) == before


def test_a_run_that_was_gone_on_with_takes_its_place(lake: LakeFolder, tmp_path: Path) -> None:
    unfinished = {"finished_utc": None, "stopped_by": "interrupt"}
    (tmp_path / "early").mkdir()
    early = run_of(tmp_path / "early", 1, [Made("quick", [10.0] * 8)], **unfinished)
    late = run_of(tmp_path, 1, [Made("quick", [10.0] * 16)])
    added(lake, early)
    assert added(lake, late) is Added.GROWN
    assert [
        pyarrow.parquet.ParquetFile(file.path).read()["launches"].to_pylist()
        for file in lake.files("summary")
    ] == [[16]]
    with pytest.raises(TollError, match="with 17 launches, and the file has 9"):
        added(lake, early)


def test_a_machine_is_all_that_it_states_and_nothing_else() -> None:
    one = StatedMachine.of(CPU).id
    assert StatedMachine.of({**CPU, "frequency_mhz": {"min": 800.0, "max": 4000.0, "now": 4000.0}}).id == one
    assert StatedMachine.of({**CPU, "compilers": [{"name": "g++"}], "usable_cpus": [4, 5, 6, 7]}).id == one
    changes = {
        "cpu": "x", "caches": [{"level": 3}], "memory_bytes": 1, "kernel": "Linux 6.8", "microcode": "0x2",
        "firmware": "made 1.1", "mitigations": {"meltdown": "PTI"}, "usable_cpus": [0], "cores": 4,
    }  # fmt: skip
    others = {StatedMachine.of({**CPU, name: value}).id for name, value in changes.items()}
    assert len(others | {one, StatedMachine.of(CPU, host="twin").id}) == len(changes) + 2


def test_two_who_add_the_same_run_at_once_add_it_once(lake: LakeFolder, tmp_path: Path) -> None:
    path = run(tmp_path, 1, {"quick": 10.0, "slow": 20.0})
    found: list[Added] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        found.append(added(lake, path))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [Added.ADDED, *[Added.ALREADY] * 3]
    assert len(lake.files("summary")) == 1


def fill_the_disk(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """The table that is brought to it as the `at`th one finds no room."""
    real, written = os.fsync, itertools.count(1)

    def full(descriptor: int) -> None:
        if next(written) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr("tollbench.lake.placed_together.os.fsync", full)


@pytest.mark.parametrize("at", [1, 5])
def test_a_run_that_grew_and_finds_no_room_stays_as_it_was(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Not one table of it is of more launches than another: joined, they would answer what is not there."""
    (tmp_path / "early").mkdir()
    unfinished = {"finished_utc": None, "stopped_by": "interrupt"}
    added(lake, run_of(tmp_path / "early", 1, [Made("quick", [10.0] * 8)], **unfinished))
    before = files(lake)
    fill_the_disk(monkeypatch, at)
    late = run_of(tmp_path, 1, [Made("quick", [10.0] * 16)])
    with pytest.raises(TollError, match="No space left on device; the lake is as it was"):
        added(lake, late)
    monkeypatch.undo()
    assert files(lake) == before
    assert added(lake, late) is Added.GROWN


def launches_of(lake: LakeFolder) -> list[list[int]]:
    return [
        pyarrow.parquet.ParquetFile(file.path).read()["launches"].to_pylist()
        for file in lake.files("summary")
    ]


def test_a_run_that_an_older_toll_added_and_this_one_made_grow_is_there_once(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there under either schema's name, and the same question had either answer."""
    (tmp_path / "early").mkdir()
    unfinished = {"finished_utc": None, "stopped_by": "interrupt"}
    monkeypatch.setattr("tollbench.lake.lake_folder.VERSION", VERSION - 1)
    added(lake, run_of(tmp_path / "early", 1, [Made("quick", [10.0] * 8)], **unfinished))
    monkeypatch.undo()
    older = {path: path.read_bytes() for path in lake.root.rglob("*.parquet")}
    assert all(path.name.endswith(f".v{VERSION - 1}.parquet") for path in older)
    late = run_of(tmp_path, 1, [Made("quick", [10.0] * 16)])
    assert added(lake, late) is Added.GROWN
    assert launches_of(lake) == [[16]]
    assert not any(path.exists() for path in older), "whoever reads the folder as it is sees it once"
    for path, content in older.items():  # a kill between the two
        path.write_bytes(content)
    assert launches_of(lake) == [[16]]
    compact(lake)
    assert launches_of(lake) == [[16]]
    assert not any(path.exists() for path in older)


def test_a_full_disk_leaves_the_lake_as_it_was(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(lake, run(tmp_path, 1, {"quick": 10.0}))
    before = {name: text for name, text in files(lake).items() if name.endswith("parquet")}
    fill_the_disk(monkeypatch, at=4)
    with pytest.raises(TollError, match="No space left on device; the lake is as it was") as caught:
        added(lake, run(tmp_path, 2, {"quick": 10.0}))
    assert "make room" in caught.value.next_step
    assert {name: text for name, text in files(lake).items() if name.endswith("parquet")} == before
    monkeypatch.undo()
    assert added(lake, tmp_path / "run-2.toll") is Added.ADDED


def test_what_a_kill_left_is_no_run_and_is_added_again(lake: LakeFolder, tmp_path: Path) -> None:
    path = run(tmp_path, 1, {"quick": 10.0})
    added(lake, path)
    (summary,) = lake.files("summary")
    summary.path.unlink()  # a kill before the last file
    (lake.root / "runs" / f"{run_id(1)}.json").write_text("")
    assert lake.files("summary") == []
    assert added(lake, path) is Added.ADDED
    assert len(lake.files("summary")) == 1


def test_what_a_kill_left_under_another_host_is_no_second_machine(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run_of(tmp_path, 1, [Made("quick", [10.0] * 8)])

    def killed(place: Path, _text: str) -> None:
        raise SystemExit(str(place))

    monkeypatch.setattr("tollbench.lake.lake_folder.write_own", killed)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    with monkeypatch.context() as died:  # nothing is tidied up
        died.setattr(lake_folder, "write_in_place", in_place_once())
        with pytest.raises(SystemExit):
            added(lake, path, host="wrong", samples=True)
    monkeypatch.undo()
    (wrong,) = (file.machine for file in lake.files("summary"))
    assert added(lake, path, host="right") is Added.ADDED
    (right,) = (file.machine for file in lake.files("summary"))
    assert right != wrong
    assert not list(lake.root.glob(f"*/by_machine={wrong}/*/*.parquet"))
    claim = json.loads((lake.root / "runs" / f"{run_id(1)}.json").read_text())
    assert (claim["machine"], claim.get("coming")) == (right, None)
    assert added(lake, path, host="right") is Added.ALREADY


def in_place_once() -> Callable[[Path, str], None]:
    """Writes, and then no more: as where a kill comes before what an error would tidy up."""
    written: list[Path] = []

    def write(claim: Path, text: str) -> None:
        if not written:
            claim.write_text(text)
        written.append(claim)

    return write


def test_a_folder_of_other_things_is_no_lake(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(TollError, match=r"is no lake, and thesis.tex lies in it"):
        LakeFolder.make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_lake_of_a_newer_toll_is_left_alone(lake: LakeFolder, tmp_path: Path) -> None:
    (lake.root / "toll-lake.json").write_text(json.dumps({"toll_lake": 1, "schema": VERSION + 1}))
    for act in (LakeFolder.open, LakeFolder.make):
        with pytest.raises(TollError, match="written by a newer toll") as caught:
            act(lake.root)
        assert caught.value.next_step == "update toll"


@pytest.mark.parametrize(
    "identity", ["", "5f0c", "../../../../tmp/x", "00000000-0000-4000-8000-00000000000Z"]
)
def test_a_run_without_an_identity_is_refused(lake: LakeFolder, tmp_path: Path, identity: str) -> None:
    with pytest.raises(TollError, match="no identity that toll makes"):
        added(lake, run(tmp_path, 1, {"quick": 10.0}, uuid=identity))
    assert list(lake.root.rglob("*.parquet")) == []


def test_a_run_of_no_time_is_refused(lake: LakeFolder, tmp_path: Path) -> None:
    with pytest.raises(TollError, match="is no instant"):
        added(lake, run(tmp_path, 1, {"quick": 10.0}, started_utc="yesterday"))


def test_what_no_table_can_hold_is_a_sentence(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run(tmp_path, 1, {"quick": 10.0}, launch_changes={"started_utc": "0001-01-01T00:00:00+14:00"})
    assert added(lake, path) is Added.ADDED  # an instant that cannot be is none
    path = run(tmp_path, 2, {"quick": 10.0}, seed=2**63 - 1)
    assert added(lake, path) is Added.ADDED
    beyond = run(tmp_path, 3, {"quick": 10.0})
    monkeypatch.setattr(tables_of_run, "_exported", lambda *_: pa.array([2**40], pa.int32()))
    with pytest.raises(TollError, match=r"run-3.toll holds what no table of a lake can") as caught:
        added(lake, beyond)
    assert caught.value.next_step


PLANTED = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "GITHUB_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "DB_PASSWORD": "correct horse battery",
    "MY_API_KEY": "nothing-special-7731",
}
SPOKEN = (
    "cannot reach https://ann:tops3cret@host/x", "password=hunter2-hunter2", "--token abcdef123456",
    "AKIAIOSFODNN7EXAMPLE", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "Authorization: Bearer-zzzz9999", '"api_key": "qwertyuiop"',
)  # fmt: skip
GONE = (
    "tops3cret",
    "hunter2-hunter2",
    "abcdef123456",
    "AKIAIOSFODNN7EXAMPLE",
    "MIIEow",
    "zzzz9999",
    "qwertyuiop",
)


def test_no_secret_that_was_planted_reaches_the_lake(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    spoken = "; ".join([*SPOKEN, *PLANTED.values()])
    path = run_of(
        tmp_path,
        1,
        [
            Made("quick", [10.0] * 8, footing={"note": spoken}),
            Made("broken", [], status=Status.BUILD_FAILED, reason=f"the build said: {spoken}"),
        ],
        machine=machine(cpu=f"Made {spoken}", extra={"password": "in-a-field"}),
        conditions={"noise": [spoken], "secret": "in-conditions"},
        command_line=f"toll run --token {PLANTED['GITHUB_TOKEN']}",
        name=spoken,
    )
    added(lake, path)
    everything = "\n".join(
        json.dumps(pyarrow.parquet.ParquetFile(each).read().to_pylist(), default=str)
        for each in lake.root.rglob("*.parquet")
    ) + "\n".join(str(each) for each in lake.root.rglob("*"))
    assert "the build said" in everything
    assert WITHHELD in everything
    for secret in (*PLANTED.values(), *GONE, "in-a-field", "in-conditions"):
        assert secret not in everything, secret


def test_a_row_is_the_same_one_whoever_adds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        Made("memory_pool", [10.0] * 8, {"mode": "memory"}, environment="memory-gcc"),
        Made("other", [], {"mode": "memory"}, status=Status.BUILD_FAILED, reason="no memory"),
    ]
    path, columns = run_of(tmp_path, 1, cases), ("contender", "environment", "parameters", "work", "setting")
    rows, reasons = [], []
    for name, value in (("PLAIN", ""), ("CACHE_KEY", "memory"), ("MYSQL_PWD", "tasks/made")):
        monkeypatch.setenv(name, value)
        lake = LakeFolder.make(tmp_path / name)
        added(lake, path)
        read = pyarrow.parquet.ParquetFile(lake.files("summary")[0].path).read()
        rows.append([read[column].to_pylist() for column in ("workload", *columns)])
        reasons.append(read["reason"].to_pylist()[-1])
        for table in ("case", "launch", "comparison", "environment", "run"):
            held = pyarrow.parquet.ParquetFile(lake.files(table)[0].path).read().to_pydict()
            texts = [
                held[column] for column in (*columns, "workload", "workloads", "a", "b") if column in held
            ]
            assert WITHHELD not in json.dumps(texts), table
    assert rows[0] == rows[1] == rows[2]
    assert reasons == ["no memory", f"no {WITHHELD}", f"no {WITHHELD}"]


def test_which_variables_hold_secrets() -> None:
    told = {"MYSQL_PWD": "value-1", "AUTH": "value-2", "X_AUTHORIZATION": "value-3", "OAUTH_TOKEN": "value-4"}
    others = {
        "PWD": "/home/me",
        "OLDPWD": "/home/you",
        "GIT_AUTHOR_NAME": "Ann Other",
        "XAUTHORITY": "/home/x",
    }
    assert set(secrets_here(told | others)) == set(told.values())


def test_what_is_no_secret_stays() -> None:
    for text in (
        "48 tokens a second",
        "g++ -O2 -march=native",
        "pinned to CPU 3",
        "monkey=7",
        "author Ann",
        "--author=Ann",
    ):
        assert harmless(text, ()) == text


def test_text_that_steers_a_terminal_is_made_harmless(lake: LakeFolder, tmp_path: Path) -> None:
    cases = [Made("a\x1b[31m\u202eb", [10.0] * 8)]
    added(lake, run_of(tmp_path, 1, cases, name="x\x07y"))
    for each in lake.root.rglob("*.parquet"):
        for row in pyarrow.parquet.ParquetFile(each).read().to_pylist():
            assert not re.search(
                "[\x00-\x08\x0b-\x1f\u202e]", json.dumps(row, default=str, ensure_ascii=False)
            )
