"""What is written is read back, and a finished run is one file."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from store_runs import CASE, DETAILS, HEADER, PUBLISHED, TIMED, WARMUP, WORKLOAD, launch, make, measured

from tollbench.errors import TollError
from tollbench.interpreters import interpreter_with_path
from tollbench.store import RunFile
from tollbench.store.runfile import _OF_THE_PLAN
from tollbench.store.untrusted import MAX_ROWS
from tollbench.words import HOST, Allocations, Purpose, Status


def sample_count(run_file: RunFile) -> int:
    """How many operations of the first case were timed one by one, warm-up left out."""
    return sum(run_file.samples(each.id).size for each in run_file.launches(1, ok_only=True))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "first.toll"


def test_reads_back_what_was_written(path: Path) -> None:
    make(path).close()
    with RunFile.open(path) as run_file:
        assert run_file.header() == HEADER
        (workload,) = run_file.workloads()
        assert workload.published == (PUBLISHED,)
        assert workload.details == DETAILS
        assert run_file.environments() == (HOST,)
        (case,) = run_file.cases()
        assert (case.key, case.answer, case.library_version) == (CASE.key, 2**64 - 3, "libstdc++ 12")
        assert case.status is Status.OK
        launches = run_file.launches(case.id)
        assert [item.round for item in launches] == [1, 2, 3]
        assert launches[0].batches == (WARMUP, TIMED)
        assert launches[0].clock == {"source": "tsc"}
        assert launches[2].reason == "crashed with SIGSEGV"
        assert len(run_file.launches(case.id, ok_only=True)) == 2
        assert run_file.allocations(case.id) == Allocations(1, 5, 2, 3, 4)
        assert run_file.launch_count() == 5
        assert run_file.launch_count(Purpose.CANARY) == 1


def test_samples_leave_out_the_warm_up(path: Path) -> None:
    make(path).close()
    with RunFile.open(path) as run_file:
        second = run_file.launches(1)[1]
        assert run_file.samples(second.id).dtype == np.float32
        assert run_file.samples(second.id).tolist() == [2.0, 2.5, 3.0]
        assert run_file.samples(second.id, warmup=True).tolist() == [9, 9, 9, 2.0, 2.5, 3.0]
        warm_up, timed = run_file.counted_samples(second.id)
        (cold,), (warm,) = (batch.parts for (batch,) in (warm_up, timed))
        assert (cold.values.tolist(), cold.counts.tolist()) == ([9.0], [3])
        assert (warm.values.tolist(), warm.counts.tolist()) == ([2.0, 2.5, 3.0], [1, 1, 1])
        assert sample_count(run_file) == 6
        assert run_file.samples(999).size == 0
        assert run_file.counted_samples(999) == ((), ())


def cells_of(path: Path, **changes: object) -> tuple[tuple[str, int], ...]:
    with make(path, rounds=0) as run_file:
        batches = (WARMUP._replace(cells=(("9>9", 3),)), TIMED._replace(cells=(("0>1", 2), ("1>0", 1))))
        samples = [np.zeros(3, np.float32), np.zeros(3, np.float32)]
        stored = run_file.append(launch(batches=batches), samples)
    with RunFile.open(path) as run_file:
        return run_file.cells(stored, **changes)  # type: ignore[arg-type]


def test_cells_belong_to_samples_and_leave_out_the_warm_up(tmp_path: Path) -> None:
    assert cells_of(tmp_path / "a.toll") == (("0>1", 2), ("1>0", 1))
    assert cells_of(tmp_path / "b.toll", warmup=True) == (("9>9", 3), ("0>1", 2), ("1>0", 1))


def as_version_1(path: Path) -> None:
    """What the toll of then would have written."""
    connection = sqlite3.connect(path, isolation_level=None)
    for table in ("batch_detail", "cells", "detail", "company", "sample_block", "gauge", "look", "census"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("PRAGMA user_version = 1")
    connection.close()


def test_a_file_of_version_1_is_read_without_details(path: Path) -> None:
    make(path).close()
    as_version_1(path)
    with RunFile.open(path) as run_file:
        (workload,) = run_file.workloads()
        assert workload.details == ()
        first = run_file.launches(1)[0]
        assert first.batches[1] == TIMED._replace(details={}, gauge_ns=0.0, others=None)
        assert run_file.cells(first.id) == ()


def test_resuming_a_file_of_version_1_gives_it_what_it_lacks(path: Path) -> None:
    with make(path) as run_file:
        run_file.finish("interrupt")
    as_version_1(path)
    with RunFile.resume(path) as run_file:
        run_file.declare_details([WORKLOAD])
        run_file.append(*measured(8))
    with RunFile.open(path) as run_file:
        assert run_file.looks() == 1
        assert run_file.workloads()[0].details == DETAILS
        assert run_file.launches(1)[-1].batches[1] == TIMED


def test_going_on_is_noted_as_a_look_once_for_the_same_launches(path: Path) -> None:
    with make(path) as run_file:
        assert run_file.looks() == 0
    RunFile.resume(path).close()  # it is asked first whether there is anything to go on with
    with RunFile.resume(path) as run_file:
        assert run_file.looks() == 1
        run_file.append(launch(purpose=Purpose.CANARY, case_id=None))  # nothing that anybody compares
    RunFile.resume(path).close()
    with RunFile.resume(path) as run_file:
        assert run_file.looks() == 1
        run_file.append(*measured(8))
    with RunFile.resume(path) as run_file:
        assert run_file.looks() == 2
        run_file.finish("budget")
    with RunFile.open(path) as run_file:
        assert run_file.looks() == 2


def test_noting_a_look_asks_nothing_that_sqlite_3_37_lacks(path: Path) -> None:
    """HAVING without GROUP BY came with 3.39; STRICT tables, which the schema has, with 3.37."""
    told: list[str] = []
    with make(path) as run_file:
        run_file._connection.set_trace_callback(told.append)
        run_file._note_look()
        run_file._connection.set_trace_callback(None)
        assert run_file.looks() == 1
    (insert,) = [one for one in told if "INTO look" in one]
    assert "HAVING" not in insert.upper() or "GROUP BY" in insert.upper()


def test_going_on_with_what_was_not_measured_is_no_look(path: Path) -> None:
    make(path, rounds=0).close()
    with RunFile.resume(path) as run_file:
        assert run_file.looks() == 0


def test_what_a_detail_meant_when_the_run_began_stays(path: Path) -> None:
    with make(path) as run_file:
        other = replace(DETAILS[0], meaning="something else")
        run_file.declare_details([replace(WORKLOAD, details=(other, DETAILS[1]))])
        assert run_file.workloads()[0].details == DETAILS


def test_canary_comes_in_the_order_of_time(path: Path) -> None:
    with make(path) as run_file:
        for number in (2, 3):
            run_file.append(launch(None, number, Purpose.CANARY, started_ns=100 * number))
    with RunFile.open(path) as run_file:
        assert [item.started_ns for item in run_file.canary()] == [10, 200, 300]


def test_finished_run_is_one_file_without_a_log(path: Path) -> None:
    make(path).close()
    assert [entry.name for entry in path.parent.iterdir()] == ["first.toll"]
    assert (
        path.read_bytes()[18:20] == b"\x01\x01"
    )  # the file format's "no write-ahead log": readable anywhere
    path.chmod(0o444)
    with RunFile.open(path) as run_file:
        assert run_file.launch_count() == 5


def test_can_be_read_while_it_is_written(path: Path) -> None:
    with make(path) as writing, RunFile.open(path) as reading:
        before = reading.launch_count()
        writing.append(*measured(9))
        assert reading.launch_count() == before + 1


def test_does_not_overwrite(path: Path) -> None:
    make(path).close()
    before = path.read_bytes()
    with pytest.raises(TollError, match="exists already"):
        RunFile.create(path, HEADER)
    assert path.read_bytes() == before


def test_a_launch_is_stored_whole_or_not_at_all(path: Path) -> None:
    with make(path) as run_file:
        count = run_file.launch_count()
        broken = measured(7)[0]._replace(batches=(WARMUP, TIMED._replace(wall_ns="soon")))  # type: ignore[arg-type]
        with pytest.raises(TollError, match=r"Could not save the last launch.*5 launches are saved"):
            run_file.append(broken)
        assert run_file.launch_count() == count


def test_resume_refuses_a_finished_run_and_takes_an_interrupted_one(path: Path) -> None:
    with make(path) as run_file:
        run_file.finish("interrupt")
    with RunFile.resume(path) as run_file:
        assert run_file.header().stopped_by is None
        run_file.append(*measured(8))
        run_file.finish("budget")
    with pytest.raises(TollError, match="is complete"):
        RunFile.resume(path)
    with RunFile.open(path) as run_file:
        assert run_file.header().stopped_by == "budget"
        assert run_file.launch_count() == 6


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from store_runs import make, measured
run_file = make(Path(sys.argv[1]))
run_file.append(*measured(5))
run_file._connection.execute("BEGIN IMMEDIATE")  # a launch half stored
run_file._connection.execute("DELETE FROM sample")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_run(path: Path) -> None:
    """A run whose writer was killed: its last launches are in the write-ahead log alone."""
    search = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        interpreter_with_path("-c", KILLED_WRITER, str(path)), env={"PYTHONPATH": search}, check=False
    )
    assert done.returncode == -9
    assert Path(f"{path}-wal").stat().st_size > 0


def test_killed_writer_loses_only_what_was_in_flight(path: Path) -> None:
    killed_run(path)
    with RunFile.open(path) as run_file:
        assert run_file.launch_count() == 6
        assert sample_count(run_file) == 9
    with RunFile.resume(path) as run_file:
        run_file.append(*measured(6))
    assert [entry.name for entry in path.parent.iterdir()] == ["first.toll"]


OPEN_AS_STRANGER = """
import os, sys
from pathlib import Path
from tollbench.errors import TollError
from tollbench.store import RunFile
from tollbench.store.runfile import _OF_THE_PLAN
from tollbench.store.untrusted import MAX_ROWS
from tollbench.store.untrusted import schema_text
schema_text()  # a checkout under /root cannot be read by the stranger
if os.getuid() == 0:  # root may write anywhere
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with RunFile.open(Path(sys.argv[1])) as run_file:
        print("launches", run_file.launch_count())
except TollError as error:
    print(error.what, error.next_step)
"""


def test_copy_without_its_log_on_read_only_media() -> None:
    """What a kill left, copied without its -wal: the launches of the last checkpoint can be read."""
    folder = Path(tempfile.mkdtemp())
    killed_run(folder / "k.toll")
    with contextlib.closing(sqlite3.connect(folder / "k.toll")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(folder / "k.toll", folder / "copy.toll")
    (folder / "other").mkdir()
    shutil.move(folder / "copy.toll", folder / "other" / "copy.toll")
    assert (folder / "other" / "copy.toll").read_bytes()[18] == 2  # still says that it has a log
    folder.chmod(0o755)
    assert "launches 6" in open_as_stranger(folder / "other" / "copy.toll")
    shutil.rmtree(folder)


def open_as_stranger(path: Path) -> str:
    """Opens a file in a folder closed for writing, without root's powers; returns what it says."""
    path.parent.chmod(0o555)
    try:
        done = subprocess.run(
            interpreter_with_path("-c", OPEN_AS_STRANGER, str(path)),
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        path.parent.chmod(0o755)
    return done.stdout + done.stderr


def test_resume_of_a_read_only_file_is_refused_in_words(path: Path) -> None:
    with make(path) as run_file:
        run_file.finish("interrupt")
    script = OPEN_AS_STRANGER.replace("RunFile.open(", "RunFile.resume(")
    folder = Path(tempfile.mkdtemp())
    shutil.copy(path, folder)
    (folder / path.name).chmod(0o444)
    folder.chmod(0o555)
    done = subprocess.run(
        interpreter_with_path("-c", script, str(folder / path.name)),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    folder.chmod(0o755)
    shutil.rmtree(folder)
    assert "Could not save the resumed run" in done.stdout, done
    assert "5 launches are saved" in done.stdout


def test_killed_run_in_a_folder_that_cannot_be_written() -> None:
    """Either SQLite reads the log without writing, or the message says what to copy; never a traceback."""
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    killed_run(folder / "k.toll")
    Path(folder / "k.toll-shm").unlink()
    said = open_as_stranger(folder / "k.toll")
    shutil.rmtree(folder)
    assert "launches 6" in said or ("k.toll-wal" in said and "Copy" in said), said


def test_read_only_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TollError, match="No such file or directory") as caught:
        RunFile.create(tmp_path / "absent" / "x.toll", HEADER)
    assert "writ" in caught.value.next_step
    with pytest.raises(TollError, match="Cannot make the run file"):
        RunFile.create(Path("/proc/x.toll"), HEADER)  # a folder that takes files from nobody, not even root


def test_connection_refuses_to_write_to_an_opened_file(path: Path) -> None:
    make(path).close()
    with RunFile.open(path) as run_file, pytest.raises(TollError, match="read-only"):
        run_file.append(*measured(4))
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM launch").fetchone() == (5,)


def test_launches_that_took_turns_are_stored_together_and_know_each_other(path: Path) -> None:
    with make(path) as run_file:
        before = run_file.launch_count()
        stored = run_file.append_company([measured(20), measured(20), measured(20)])
        (alone,) = run_file.append_company([measured(21)])
        assert len({launch.company for launch in stored}) == 1
        assert stored[0].company == stored[0].id
        assert alone.company == 0
    with RunFile.open(path) as run_file:
        assert run_file.launch_count() == before + 4
        found = {launch.id: launch.company for launch in run_file.launches(1)}
        assert [found[launch.id] for launch in stored] == [stored[0].id] * 3
        assert found[alone.id] == 0


def test_of_a_company_that_cannot_be_stored_nothing_is(path: Path) -> None:
    with make(path) as run_file:
        before = run_file.launch_count()
        bad = measured(22)[0]._replace(case_id=4711)  # there is no such case
        with pytest.raises(TollError):
            run_file.append_company([measured(22), (bad, ())])
        assert run_file.launch_count() == before


def test_how_full_it_is_goes_by_the_rows_that_are_there(path: Path) -> None:
    def check(run_file: RunFile) -> None:
        told = {table: run_file._row_counts[table] for table in MAX_ROWS.keys() - _OF_THE_PLAN}
        assert told == {table: run_file._count_of(table) for table in told}

    with make(path) as run_file:
        check(run_file)
        with pytest.raises(TollError):
            run_file.append_company([measured(9), (launch(case_id=4711, round=9), ())])
        check(run_file)
    with RunFile.resume(path) as run_file:
        check(run_file)
        run_file.append(*measured(10))
        check(run_file)


def test_what_is_asked_at_one_moment_knows_nothing_of_launches_that_come_meanwhile(path: Path) -> None:
    with make(path) as writing, RunFile.open(path) as reading:
        with reading.at_one_moment():
            before = reading.launch_count()
            launch_, samples = measured(2)
            writing.append(launch_, samples)  # is not held up by who reads
            assert reading.launch_count() == before
        assert reading.launch_count() == before + 1


def test_a_run_that_ends_while_it_is_read_is_whole(path: Path) -> None:
    writing = make(path)
    writing._connection.execute("PRAGMA busy_timeout = 50")
    with RunFile.open(path) as reading, reading.at_one_moment():
        before = reading.launch_count()
        writing.append(*measured(2))
        writing.finish("budget")
        writing.close()
        assert reading.launch_count() == before
    with RunFile.open(path) as run_file:
        assert run_file.launch_count() == before + 1
        assert run_file.header().stopped_by == "budget"
