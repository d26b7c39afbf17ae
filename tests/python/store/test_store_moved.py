"""A run file that is moved, replaced or removed while it is written: what is said of it is true."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from store_runs import HEADER, make, measured

from tollbench.errors import Exit, TollError
from tollbench.home import COMMAND
from tollbench.store import RunFile
from tollbench.store import whereabouts as whereabouts_module
from tollbench.words import Status


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs/a b.toll"


def refused(run_file: RunFile) -> TollError:
    """What is said when the run goes on and ends."""
    run_file.append(*measured(9))
    with pytest.raises(TollError) as caught:
        run_file.close()
    assert caught.value.code is Exit.INCONCLUSIVE
    assert "Nothing was saved" not in caught.value.what
    return caught.value


@pytest.mark.parametrize("replaced", [False, True])
def test_a_moved_file_is_named_and_holds_every_launch(path: Path, replaced: bool) -> None:
    run_file = make(path, 3)
    before = run_file.launch_count()
    moved = path.with_name("moved away.toll")
    path.rename(moved)
    if replaced:
        path.write_text("somebody else's")
    error = refused(run_file)
    assert f"is now {moved}" in error.what
    assert f"toll run --resume '{moved}'" in error.next_step
    with RunFile.open(moved) as found:
        assert found.launch_count() == before + 1


def test_a_moved_folder(path: Path) -> None:
    run_file = make(path)
    folder = path.parent.rename(path.parent.with_name("elsewhere"))
    assert f"is now {folder / path.name}" in refused(run_file).what
    with RunFile.open(folder / path.name) as found:
        assert found.launch_count() > 0


def _remove_its_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def _remove_it_alone(path: Path) -> None:
    path.unlink()


def _remove_it_and_take_the_name(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.write_text("somebody else's")


def _remove_it_and_take_the_folders_name(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_text("somebody else's")


def _content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("remove", "where"),
    [
        (_remove_its_folder, "its name"),
        (_remove_it_alone, "its folder"),  # beside its log, which has its name
        (_remove_it_and_take_the_name, "its folder"),
        (_remove_it_and_take_the_folders_name, "temporary"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_removed_file_is_written_anew_with_every_launch(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remove, where: str, late: bool
) -> None:
    """At the next launch, not hours later; `late`: there is none before the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    run_file = make(path, 3)
    before = run_file.launch_count()
    remove(path)
    log = {path.with_name(f"{path.name}-{end}") for end in ("wal", "shm")}  # written to until it is noticed
    kept = {file: text for file, text in _content(tmp_path).items() if file not in log}
    with pytest.raises(TollError) as caught:
        run_file.close() if late else run_file.append_company([measured(9)])
    if not late:
        run_file.close()
    assert caught.value.code is Exit.INCONCLUSIVE
    (now,) = tmp_path.rglob("*b*.toll") if where != "its folder" else set(path.parent.glob("*.toll")) - {path}
    assert now.parent == (tmp_path / "tmp" if where == "temporary" else path.parent)
    assert (now == path) is (where == "its name")
    assert f"in a new file, {now}" in caught.value.what
    assert f"toll run --resume '{now}'`." in caught.value.next_step
    assert {file: text for file, text in _content(tmp_path).items() if file in kept} == kept
    assert not list(now.parent.glob(f"{now.name}-*"))  # one file, without a log
    assert not any(file.exists() for file in log)
    now.chmod(0o400)
    with RunFile.open(now) as found:
        assert found.launch_count() == before + (not late)
        assert [each.status for each in found.launches(1)][:3] == [Status.OK] * 3
        assert len(found.samples(found.launches(1)[0].id)) == 3
    now.chmod(0o600)
    with RunFile.resume(now) as again:
        again.append(*measured(10))


def test_a_file_that_was_written_anew_may_have_its_old_name(path: Path) -> None:
    """The log of the removed file is not played over what came since."""
    run_file = make(path, 3)
    path.unlink()
    with pytest.raises(TollError):
        run_file.append(*measured(9))
    run_file.close()
    (now,) = path.parent.glob("*.toll")
    with RunFile.resume(now) as again:
        for number in range(10, 40):
            again.append(*measured(number))
        count = again.launch_count()
    now.rename(path)
    with RunFile.open(path) as found:
        assert found.launch_count() == count


def test_a_strangers_file_beside_a_removed_one_stays(path: Path) -> None:
    run_file = make(path, 3)
    log = path.with_name(f"{path.name}-wal")
    path.unlink()
    log.unlink()
    log.write_text("somebody else's")
    with pytest.raises(TollError):
        run_file.append(*measured(9))
    run_file.close()
    assert log.read_text() == "somebody else's"


def test_a_removed_file_that_finds_no_room_is_not_promised(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    run_file = make(path)
    _remove_it_and_take_the_folders_name(path)
    with pytest.raises(TollError) as caught:
        run_file.append(*measured(9))
    assert "gone" in caught.value.what
    assert "--resume" not in caught.value.next_step


@pytest.mark.parametrize("how", ["moved", "removed", "moved unseen", "full disk"])
def test_a_run_that_ended_is_not_to_be_gone_on_with(
    path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """`--resume` would refuse it: it is complete."""
    run_file = make(path)
    run_file.finish("budget")
    now = path
    if how == "removed":
        _remove_its_folder(path)
    elif how == "full disk":

        def full() -> None:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr(run_file, "_join_log", full)
    else:
        now = path.rename(path.with_name("x.moved"))
    if how == "moved unseen":
        monkeypatch.setattr(whereabouts_module, "DESCRIPTORS", Path("/nowhere"))
    with pytest.raises(TollError) as caught:
        run_file.close()
    named = "FILE" if how == "moved unseen" else shlex.quote(str(now))
    assert f"see it with `{COMMAND} report {named}`" in caught.value.next_step.replace("See", "see")
    assert "--resume" not in caught.value.next_step
    with RunFile.open(now) as found:
        assert found.header().stopped_by == "budget"


def test_a_second_name_that_the_kernel_does_not_tell_is_not_made_up(path: Path) -> None:
    run_file = make(path)
    path.with_name("second.toll").hardlink_to(path)
    path.unlink()
    error = refused(run_file)
    assert "deleted" not in f"{error.what} {error.next_step}"
    assert "where the file is now" in error.what


def test_a_kernel_that_does_not_tell_where(path: Path, monkeypatch) -> None:
    run_file = make(path)
    path.rename(path.with_name("b.toll"))
    monkeypatch.setattr(whereabouts_module, "DESCRIPTORS", Path("/nowhere"))
    assert "where the file is now" in refused(run_file).what


def test_a_run_without_a_launch_is_not_to_be_gone_on_with(path: Path, monkeypatch) -> None:
    """toll removes it: an empty file is no use to anybody."""
    run_file = RunFile.create(path, HEADER)
    run_file._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(TollError) as caught:
        run_file.append(*measured(1))
    run_file._connection.close()
    assert "0 launches" in caught.value.what
    assert "start again" in caught.value.next_step
    assert "--resume" not in caught.value.next_step
