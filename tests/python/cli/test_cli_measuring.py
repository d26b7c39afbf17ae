"""What `toll run` does before and after measuring: nothing is disturbed, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from toll import build
from toll.catalog import suites
from toll.cli import measuring
from toll.cli.measuring import Session, Wishes
from toll.errors import TollError
from toll.measure import Interrupt, SystemClock
from toll.measure.lock import machine_lock
from toll.plan import Selection

WISHES = Wishes("quick", 5.0, None, 1)


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "toll.lock"
    monkeypatch.setattr(measuring, "LOCK_FILES", (path,))
    return path


def session(path: Path) -> Session:
    name = next(f"{w.name}/{c.name}" for w in suites.load(measuring.ROOT) for c in w.contenders)
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
    import toll.cli

    monkeypatch.setattr(build, "programs", lambda *_, **__: pytest.fail("it built beside another run"))
    monkeypatch.setattr("sys.argv", ["toll", "run", "--no-install", "-o", str(tmp_path / "second.toll")])
    with machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]):
        assert toll.cli.main() == 2
    assert "Another run is measuring" in capsys.readouterr().err
    assert not (tmp_path / "second.toll").exists()


def test_a_name_that_is_taken_is_refused_before_anything_is_built(tmp_path) -> None:
    (tmp_path / "first.toll").write_text("precious")
    with pytest.raises(TollError, match="exists already"):
        session(tmp_path / "first.toll")
    assert (tmp_path / "first.toll").read_text() == "precious"


def test_a_disk_that_is_full_to_the_end_is_told_once(tmp_path, monkeypatch) -> None:
    """Closing the file fails too then; the message about the launch, with what is saved, must survive it."""
    from toll.store import RunFile

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
