"""A file is written completely or not at all, and what stood there is never lost."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from checkouts import ROOT
from tollbench.interpreters import interpreter_with_path
from tollbench.writing.whole import alone, whole, write_own


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def anything(_folder: int, _name: str, _there: os.stat_result) -> None:
    """Whatever is there may be replaced."""


def nothing(_folder: int, name: str, _there: os.stat_result) -> None:
    raise FileExistsError(name)


@pytest.fixture
def refusing(monkeypatch):
    """A disk that says only at the end that it is full, as some do."""

    def fsync(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "a.txt"
    write_own(path, "ä\n")
    assert path.read_bytes() == "ä\n".encode()
    write_own(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(tmp_path, umask):
    path = tmp_path / "a.txt"
    before = os.umask(umask)
    try:
        write_own(path, "old")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o604)
    write_own(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_what_replaces_a_secret_is_one_from_its_first_byte(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    with whole(path, anything) as file:
        (partial,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_an_existing_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 65534, 65534)
    write_own(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_what_was_there_and_nothing_else(tmp_path, refusing, there):
    path = tmp_path / "a.txt"
    if there:
        path.write_text("old")
    with pytest.raises(OSError, match="No space left"):
        write_own(path, "new")
    assert names(tmp_path) == ["a.txt"] * there
    assert not there or path.read_text() == "old"


def test_file_and_folder_are_brought_to_the_disk(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(stat.S_IFMT(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    with whole(tmp_path / "a.txt", anything) as file:
        file.write(b"new")
    assert synced == [stat.S_IFREG, stat.S_IFDIR]


@pytest.mark.parametrize("place", ["nowhere/a.txt", "folder", "/proc/nothing/a.txt", "n" * 256, "file/a.txt"])
def test_what_is_no_place_for_a_file_is_refused(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):  # noqa: PT011  which one depends on the place
        write_own(tmp_path / place, "new")
    assert names(tmp_path) == ["file", "folder"]


def test_a_name_may_be_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("n" * 255)
    write_own(path, "new")
    write_own(path, "newer")
    assert path.read_text() == "newer"


def write_half(path: Path) -> None:
    with whole(path, anything) as file:
        file.write(b"ne")
        raise KeyboardInterrupt


def test_what_is_interrupted_leaves_the_old_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_that_came_meanwhile_is_looked_at_and_not_lost(tmp_path):
    path = tmp_path / "a.txt"

    def write() -> None:
        with whole(path, nothing) as file:
            file.write(b"toll's")
            path.write_text("the user's")

    with pytest.raises(FileExistsError):
        write()
    assert path.read_text() == "the user's"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_that_comes_at_the_last_moment_is_not_lost(tmp_path, monkeypatch):
    """Between the last look and the giving of the name."""
    path = tmp_path / "a.txt"
    link = os.link

    def late(*names, **options):
        path.write_text("the user's")
        link(*names, **options)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileExistsError), whole(path, nothing) as file:
        file.write(b"toll's")
    assert path.read_text() == "the user's"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("to", ["victim", "nowhere"])
def test_a_link_that_comes_at_the_last_moment_is_not_followed(tmp_path, to):
    (tmp_path / "victim").write_text("precious")
    path = tmp_path / "a.txt"
    with whole(path, anything) as file:
        file.write(b"new")
        path.symlink_to(to)
    assert not path.is_symlink()
    assert path.read_text() == "new"
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_is_exchanged_meanwhile_is_not_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "victims").mkdir()
    (tmp_path / "victims/a.txt").write_text("precious")
    with whole(tmp_path / "folder/a.txt", anything) as file:
        file.write(b"new")
        (tmp_path / "folder").rename(tmp_path / "moved")
        (tmp_path / "folder").symlink_to("victims")
    assert (tmp_path / "victims/a.txt").read_text() == "precious"
    assert (tmp_path / "moved/a.txt").read_text() == "new"


def test_file_systems_without_hard_links_do(tmp_path, monkeypatch):
    def refused(*_names: str, **_options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    write_own(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_what_a_killed_writer_left_goes_and_nothing_else(tmp_path):
    like = (".x.partial", ".toll-0123.partial", "toll-0123456789abcdef.partial")
    others = [*like, ".toll-0123456789abcdeF.partial", ".toll-0123456789abcdef.partial~"]
    for name in others:
        (tmp_path / name).write_text("the user's")
    (tmp_path / ".toll-0123456789abcdef.partial").symlink_to("a.txt")
    (tmp_path / ".toll-0123456789abcde0.partial").mkdir()
    os.mkfifo(tmp_path / ".toll-0123456789abcde1.partial")
    kept = names(tmp_path)
    program = (
        "import os, signal; from pathlib import Path; from tollbench.writing.whole import whole\n"
        "with whole(Path('a.txt'), None) as file: os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run(interpreter_with_path("-c", program), cwd=tmp_path, env=environment, check=False)
    assert len(names(tmp_path)) == len(kept) + 1
    with whole(tmp_path / "b.txt", anything) as file:
        assert len(names(tmp_path)) == len(kept) + 1, "its own, and not the one that was left"
        with whole(tmp_path / "c.txt", anything) as beside:
            beside.write(b"beside it")
        file.write(b"whole")
    assert names(tmp_path) == sorted([*kept, "b.txt", "c.txt"])
    assert (tmp_path / "b.txt").read_text() == "whole"


def test_who_waits_for_a_lock_loses_nothing(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic link"), alone(tmp_path / "lock"):
        pass
    assert (tmp_path / "victim").read_text() == "precious"
    seen: list[str] = []
    with alone(tmp_path):
        other = threading.Thread(target=took, args=(tmp_path, seen))
        other.start()
        other.join(0.2)
        seen.append("first")
    other.join()
    assert seen == ["first", "other"]


def took(lock: Path, seen: list[str]) -> None:
    with alone(lock):
        seen.append("other")


def test_of_two_writers_at_once_one_file_is_left_whole(tmp_path):
    path = tmp_path / "a.txt"
    texts = [letter * 1_000_000 for letter in "abcd"]
    begin = threading.Barrier(len(texts))

    def write(text: str) -> None:
        begin.wait()
        for _ in range(5):
            with whole(path, anything) as file:
                file.write(text.encode())

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(write, texts))  # which raises what they raise
    assert path.read_text() in texts
    assert names(tmp_path) == ["a.txt"]


def test_what_a_killed_toll_left_in_a_folder_of_its_own_goes_at_the_next_first_write(tmp_path):
    left = tmp_path / f".toll-{16 * 'a'}.partial"
    left.write_text("half")
    write_own(tmp_path / "a.txt", "whole")
    assert names(tmp_path) == ["a.txt"]
    left.write_text("half")
    write_own(tmp_path / "a.txt", "whole")  # by the thousand: one look a process is enough
    assert names(tmp_path) == [left.name, "a.txt"]
