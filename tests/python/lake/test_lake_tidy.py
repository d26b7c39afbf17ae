"""Small files that become few by themselves, and what meets while they do."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from made_lakes import added, machine, run, run_id, run_of, started
from made_runs import Made

from checkouts import ROOT
from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.interpreters import interpreter
from tollbench.lake import compacting, lake_folder, trends
from tollbench.lake.across_machines import across_machines
from tollbench.lake.lake_folder import ALL, COMPACTING, Added, LakeFolder
from tollbench.lake.lake_rows import Asked
from tollbench.lake.lake_schema import BRIEF, TABLES
from tollbench.lake.opened_lake import OpenedLake
from tollbench.lake.stated_machine import StatedMachine
from tollbench.words import Kind
from tollbench.writing import alone, write_own
from tollbench.writing.whole import whole

QUICK = Asked.of("tasks/made/quick")
COUNT = 4


@pytest.fixture
def lake(tmp_path: Path) -> LakeFolder:
    """Four complete runs in two months, and one that may still grow."""
    made = LakeFolder.make(tmp_path / "lake")
    for number in range(COUNT):
        add(made, tmp_path, number)
    growing = {**started(1), "finished_utc": None}
    added(made, run(tmp_path, 99, {"quick": 10.0, "slow": 20.0}, **growing))
    return made


def add(lake: LakeFolder, folder: Path, number: int) -> Added:
    values = {"quick": 10.0 + number, "slow": 20.0}
    (folder / f"run-{number}.toll").unlink(missing_ok=True)
    return added(lake, run(folder, number, values, **started(1 + number % 2)))


def answer(lake: LakeFolder) -> str:
    with OpenedLake(lake) as opened:
        return across_machines(opened, QUICK).model_dump_json()


def runs_of(lake: LakeFolder, table: str) -> list[str]:
    """Of each row, sorted."""
    with OpenedLake(lake, (table,)) as opened:
        return sorted(opened.ask(f"SELECT run FROM {table}")["run"].to_pylist())


def test_what_questions_read_is_put_together_and_says_the_same(lake: LakeFolder, tmp_path: Path) -> None:
    before, rows = answer(lake), {table: runs_of(lake, table) for table in TABLES if table != "case"}
    assert compacting.tidy(lake, most=COUNT) == 0  # not more than so many
    assert compacting.tidy(lake, most=2) == COUNT
    for table in BRIEF:
        files = lake.files(table)
        assert [file.month for file in files if file.machine == ALL] == ["2026-01", "2026-02"]
        assert [file.name for file in files if file.machine != ALL] == [run_id(99)]
    assert not any(file.machine == ALL for file in lake.files("launch"))
    assert answer(lake) == before
    assert {table: runs_of(lake, table) for table in rows} == rows
    assert add(lake, tmp_path, 0) is Added.ALREADY
    done = compacting.compact(lake)
    assert done.runs == COUNT
    assert len(list(lake.root.glob("summary/*/*/*"))) == 3
    assert answer(lake) == before
    assert {table: runs_of(lake, table) for table in rows} == rows


def test_what_is_much_larger_than_what_joins_it_is_left_as_it_is(tmp_path: Path) -> None:
    """So each row is written a few times at most, however many runs come."""

    def file(name: str, machine: str, kilobytes: int) -> lake_folder.LakeFile:
        path = tmp_path / name
        path.write_bytes(bytes(1000 * kilobytes))
        return lake_folder.LakeFile(path, machine, "2026-01", name, 1)

    own = [file("one", "m1", 10), file("two", "m2", 10), file("growing", "m3", 10)]
    together = [file("largest", ALL, 200), file("small", ALL, 15), file("larger", ALL, 30)]
    found = compacting._as_much_again([*own, *together], {"one", "two"})
    assert {each.name for each in found} == {"one", "two", "small", "larger"}
    assert compacting._as_much_again(together, {"one"}) == []
    heavy = [file("one", "m1", 9_000), file("heavy", ALL, 8_500)]
    assert compacting._as_much_again(heavy, {"one"}) == heavy[:1]  # an `add` would wait for it


def test_what_is_put_together_only_in_part_is_as_if_it_never_was(
    lake: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = answer(lake)

    def full(path: Path, content: str) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(compacting, "write_own", full)
    with pytest.raises(TollError, match="No space left"):
        compacting.tidy(lake, most=2)
    monkeypatch.undo()
    assert not list(lake.root.glob("*/by_machine=all/*/*"))
    assert answer(lake) == before


def test_two_do_not_put_together_at_once(lake: LakeFolder) -> None:
    with alone(lake.root / COMPACTING):
        assert compacting.tidy(lake, most=2) == 0
    assert compacting.tidy(lake, most=2) == COUNT


def test_who_lists_while_the_manifest_is_replaced_misses_no_run(
    lake: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old manifest with the new files would leave out every run that was put together."""
    before, read = runs_of(lake, "summary"), LakeFolder.manifest

    def manifest(self: LakeFolder) -> lake_folder.Manifest:
        told = read(self)
        monkeypatch.setattr(LakeFolder, "manifest", read)
        compacting.compact(self)
        return told

    monkeypatch.setattr(LakeFolder, "manifest", manifest)
    assert runs_of(lake, "summary") == before


def test_a_folder_that_compacting_removes_under_a_writer_is_made_again(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Path] = []

    def writing(path: Path, *rest: Any, **options: Any) -> Any:
        if not removed:
            removed.append(path)
            shutil.rmtree(path.parent)
        return whole(path, *rest, **options)

    monkeypatch.setattr("tollbench.lake.placed_together.whole", writing)
    assert add(lake, tmp_path, 7) is Added.ADDED
    assert removed
    assert run_id(7) in runs_of(lake, "summary")


def test_who_waited_for_a_file_that_was_replaced_waits_for_the_new_one(tmp_path: Path) -> None:
    """Two who both add a run would else be at work at once: one holds the old file, one the new."""
    lock, inside = tmp_path / "lock", threading.Event()

    def second() -> None:
        with alone(lock):
            inside.set()

    thread = threading.Thread(target=second)
    with alone(lock):
        thread.start()
        while not waits(lock):
            pass
        write_own(lock, "replaced")
        third = alone(lock)
        third.__enter__()
    assert not inside.wait(0.3)
    third.__exit__(None, None, None)
    thread.join(10)
    assert inside.is_set()


def waits(path: Path) -> bool:
    """Whether somebody waits for a lock of the file (proc_locks(5))."""
    inode = str(path.stat().st_ino)
    return any("->" in line and f":{inode} " in line for line in Path("/proc/locks").read_text().splitlines())


def test_compacting_holds_one_row_group_at_a_time(lake: LakeFolder) -> None:
    file = lake.files("launch")[0]
    table = pyarrow.parquet.ParquetFile(file.path).read()
    pyarrow.parquet.write_table(table, file.path, row_group_size=10)
    pieces = compacting._pieces(lake, "launch", file)
    assert next(pieces).num_rows == 10
    assert sum(piece.num_rows for piece in pieces) == table.num_rows - 10


def test_a_complete_run_that_was_compacted_does_not_grow(lake: LakeFolder, tmp_path: Path) -> None:
    compacting.compact(lake)
    values = {"quick": 10.0, "slow": 20.0, "third": 30.0}
    (tmp_path / "run-0.toll").unlink()
    with pytest.raises(TollError, match="was complete with"):
        added(lake, run(tmp_path, 0, values, **started(1)))


def sampled(folder: Path, number: int) -> Path:
    samples = [np.arange(10, 60, dtype=np.float32) for _ in range(8)]
    cases = [Made("quick", [15.0] * 8, samples=samples)]
    return run_of(folder, number, cases, kind=Kind.SAMPLES, **started(1))


def test_samples_are_added_to_a_run_that_came_without(tmp_path: Path) -> None:
    lake = LakeFolder.make(tmp_path / "lake")
    path = sampled(tmp_path, 1)
    assert added(lake, path) is Added.ADDED
    assert added(lake, path, samples=True) is Added.GROWN
    assert added(lake, path, samples=True) is Added.ALREADY
    assert set(runs_of(lake, "sample")) == {run_id(1)}
    other = sampled(tmp_path, 2)
    added(lake, other)
    compacting.compact(lake)
    with pytest.raises(TollError, match="without its samples, and compacted"):
        added(lake, other, samples=True)


def test_a_machine_is_the_same_whoever_adds_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable's value that is part of what a machine states is withheld there, and changes no identity."""
    before = StatedMachine.of(machine(kernel="Linux 6.1-planted"))
    monkeypatch.setenv("DATABASE_PASSWORD", "planted")
    after = StatedMachine.of(machine(kernel="Linux 6.1-planted"))
    assert after.id == before.id
    assert "planted" not in str(after.row())


@pytest.mark.parametrize("name", ["lab*", "lab[1]", "la?", "it's", "a\nb", "back\\slash"])
def test_a_lake_may_have_any_name_beside_others(tmp_path: Path, name: str) -> None:
    """DuckDB takes names for patterns, which fit other folders too."""
    for other in ("lab", "lab1", name):
        lake = LakeFolder.make(tmp_path / other)
        add(lake, tmp_path, 1)
    assert set(runs_of(lake, "summary")) == {run_id(1)}


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_a_standard_error_is_that_of_the_runs_own_level(level: float) -> None:
    half = 0.01 * NormalDist().inv_cdf(0.5 + level / 2)
    told = Estimate(value=1.0, low=2.718281828 ** (-half), high=2.718281828**half)
    assert trends._error(told, level) == pytest.approx(0.01)


# A program is said to have had the memory of the process that started it: that of tests is as large as this.
RESIDENT_KB = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_query_of_too_many_rows_takes_no_memory_for_them(lake: LakeFolder) -> None:
    words = ("lake", "query", "SELECT * FROM range(100000000)", "--lake", str(lake.root), "--json")
    asked = interpreter(str(ROOT / "python/tollbench/__main__.py"), *words)
    done = subprocess.run(interpreter("-S", "-c", RESIDENT_KB, *asked), capture_output=True, check=True)
    assert b'"left_out": 99999000' in done.stdout
    assert int(done.stderr.split()[-1]) < 400_000  # where the rows are 800 MB; 141 MB seen
