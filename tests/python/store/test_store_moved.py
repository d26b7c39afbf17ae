"""A run file that is moved, replaced or removed while it is written: what is said of it is true."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from store_runs import HEADER, make, measured

from tollbench.errors import Exit, TollError
from tollbench.store import RunFile
from tollbench.store import whereabouts as whereabouts_module


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


@pytest.mark.parametrize("remove", [Path.unlink, lambda path: shutil.rmtree(path.parent)])
def test_nobody_is_sent_to_a_file_that_is_gone(path: Path, remove) -> None:
    run_file = make(path)
    remove(path)
    error = refused(run_file)
    assert "gone" in error.what
    assert "--resume" not in error.next_step


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
