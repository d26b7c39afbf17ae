"""A text is written completely or not at all, and what stood there is never lost."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tollbench.errors import TollError
from tollbench.store.writing import replacing, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def refusing(monkeypatch):
    """A disk that says only at the end that it is full, as some do."""

    def fsync(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)


def test_a_text_is_written_and_replaced(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "ä\n")
    assert path.read_bytes() == "ä\n".encode()
    write_text(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_an_existing_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path):
    path = tmp_path / "a.txt"
    plain = tmp_path / "plain"
    plain.write_text("")
    write_text(path, "old")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_an_existing_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 65534, 65534)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_a_full_disk_leaves_the_old_text_and_nothing_else(tmp_path, refusing):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(TollError, match=r"cannot write .*a\.txt: No space left on device") as caught:
        write_text(path, "new")
    assert "make room" in caught.value.next_step
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_whoever_writes_may_say_what_to_do(tmp_path, refusing):
    with pytest.raises(TollError) as caught:
        write_text(tmp_path / "a.txt", "new", "name a writable place")
    assert caught.value.next_step == "name a writable place"


@pytest.mark.parametrize("place", ["nowhere/a.txt", "folder", "/proc/nothing/a.txt", "n" * 300])
def test_what_is_no_place_for_a_file_is_refused(tmp_path, place):
    (tmp_path / "folder").mkdir()
    with pytest.raises(TollError, match="cannot write"):
        write_text(tmp_path / place, "new")
    assert names(tmp_path) == ["folder"]


def test_a_file_that_is_protected_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(TollError, match="Permission denied"):
        write_text(path, "new")
    assert path.read_text() == "old"


def test_a_link_stays_one(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("a.txt")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert read == ["through"]
    assert pipe.is_fifo()


def write_half(path: Path) -> None:
    with replacing(path) as place:
        place.write_text("ne")
        raise KeyboardInterrupt


def test_what_is_interrupted_leaves_the_old_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def folder_with(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / name).write_text(name)


def test_a_folder_takes_the_place_of_another_only_where_that_is_asked_for(tmp_path):
    path = tmp_path / "tables"
    folder_with(path, "old")
    with replacing(path, or_folder=True) as place:
        folder_with(place, "new")
    assert names(path) == ["new"]
    with pytest.raises(OSError, match="not empty"), replacing(path) as place:
        folder_with(place, "newer")
    assert names(path) == ["new"]
    assert names(tmp_path) == ["tables"]


def test_a_folder_that_cannot_be_replaced_is_still_there(tmp_path, monkeypatch):
    path = tmp_path / "tables"
    folder_with(path, "old")

    def replace(self: Path, target: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OSError, match="Input/output"), replacing(path, or_folder=True) as place:
        folder_with(place, "new")
    assert names(path) == ["old"]
    assert names(tmp_path) == ["tables"]
