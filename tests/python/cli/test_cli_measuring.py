"""What `toll run` does before and after measuring: nothing is disturbed, nothing is lost."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest

from tollbench import building
from tollbench.catalog import suites
from tollbench.cli import machine_use, measuring
from tollbench.cli.asking import Wishes
from tollbench.cli.measuring import Session
from tollbench.cli.places import ROOT
from tollbench.errors import TollError
from tollbench.launching.machine_lock import machine_lock
from tollbench.measure import Interrupt, SystemClock
from tollbench.plan import Selection
from tollbench.store import RunFile
from tollbench.words import Status

WISHES = Wishes("quick", 5.0, None, 1)


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "toll.lock"
    monkeypatch.setattr(machine_use, "LOCK_FILES", (path,))
    return path


def session(path: Path) -> Session:
    name = next(f"{w.name}/{c.name}" for w in suites.load(ROOT) for c in w.contenders)
    return measuring.planned(Selection.parse([name]), WISHES, str(path))


def test_a_second_run_is_refused_before_its_build_disturbs_the_first(tmp_path, lock) -> None:
    with (
        machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]),
        session(tmp_path / "second.toll") as second,
        pytest.raises(TollError, match="Another run is measuring"),
    ):
        second.take_machine(wait=False)
    with session(tmp_path / "third.toll") as third:
        third.take_machine(wait=False)  # free again


def test_the_machine_is_held_until_the_session_ends(tmp_path, lock) -> None:
    with session(tmp_path / "first.toll") as first:
        first.take_machine(wait=False)
        with session(tmp_path / "second.toll") as second, pytest.raises(TollError):
            second.take_machine(wait=False)
    with session(tmp_path / "third.toll") as third:
        third.take_machine(wait=False)


def test_the_verb_takes_the_machine_before_it_builds(tmp_path, lock, monkeypatch, capsys) -> None:
    import tollbench.cli

    monkeypatch.setattr(building, "programs", lambda *_, **__: pytest.fail("it built beside another run"))
    monkeypatch.setattr("sys.argv", ["toll", "run", "--no-install", "-o", str(tmp_path / "second.toll")])
    with machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]):
        assert tollbench.cli.main() == 2
    assert "Another run is measuring" in capsys.readouterr().err
    assert not (tmp_path / "second.toll").exists()


def test_a_machine_without_a_place_for_locks_is_warned_of(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(machine_use, "LOCK_FILES", (tmp_path / "absent/toll.lock",))
    with session(tmp_path / "first.toll") as first:
        first.take_machine(wait=False)
    assert "warning: no lock file can be used here" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["goes on", "completes"])
def test_a_resume_that_waited_reads_its_file_again(tmp_path, lock, monkeypatch, other) -> None:
    """The run that held the machine was of the same file."""
    path = tmp_path / "shared.toll"
    with session(path) as first, RunFile.create(path, first._header()) as run_file:
        planned = [(case, Status.PLANNED, "", "") for case in first.plan.cases]
        run_file.add_plan(first.plan.workloads, first.plan.environments, planned)
    holder = ExitStack()
    holder.enter_context(machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]))

    def meanwhile(*_: object) -> None:
        change = "seed = 99" if other == "goes on" else "finished_utc = '2026-01-01T00:00:00.000+00:00'"
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE run SET {change}, plan = json_set(plan, '$.settings.batches', 77)")
        connection.close()
        holder.close()

    with measuring.resumed(str(path)) as second:
        assert second.plan.settings.batches != 77
        monkeypatch.setattr(machine_use, "_say_waiting", meanwhile)
        if other == "completes":
            with pytest.raises(TollError, match="is complete"):
                second.take_machine(wait=True)
        else:
            second.take_machine(wait=True)
            assert second.plan.settings.batches == 77


def test_a_name_that_is_taken_is_refused_before_anything_is_built(tmp_path) -> None:
    (tmp_path / "first.toll").write_text("precious")
    with pytest.raises(TollError, match="exists already"):
        session(tmp_path / "first.toll")
    assert (tmp_path / "first.toll").read_text() == "precious"


def test_a_disk_that_is_full_to_the_end_is_told_once(tmp_path, monkeypatch) -> None:
    """Closing the file fails too then; the message about the launch, with what is saved, must survive it."""

    def refuse(self: RunFile) -> None:
        self._connection.close()
        raise TollError("Could not save the last part of the write-ahead log", "")

    def launch(*_: object) -> str:
        raise TollError("Could not save the last launch: 7 launches are saved", "Make room")

    monkeypatch.setattr(RunFile, "close", refuse)
    monkeypatch.setattr(Session, "_launch", launch)
    with (
        pytest.raises(TollError, match="7 launches are saved"),
        session(tmp_path / "full.toll") as full,
    ):
        full.measure()
