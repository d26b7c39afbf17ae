"""A file that a user named: what may stand there, and what is never replaced."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from checkouts import ROOT
from full_disk import may_mount, on_own_disk
from tollbench.errors import TollError
from tollbench.interpreters import interpreter_with_path
from tollbench.writing import Mark, Output, check_outputs, open_new
from tollbench.writing.marks import RAW_FILE

MARK = Mark("a letter", rb"Dear ")
TEXT = "Dear reader\n"
MINE = "what took me a year\n"


def to(path: Path, *, force: bool = False, mark: Mark = MARK) -> Output:
    return Output(path, mark, "--letter", force)


def refused(output: Output, *words: str) -> TollError:
    """By the look before the work, and by the writing as well."""
    with pytest.raises(TollError) as before:
        output.check()
    with pytest.raises(TollError) as after:
        output.write(TEXT, "write it again")
    for error in (before.value, after.value):
        told = f"{error.what}; {error.next_step}"
        assert all(word in told for word in words), told
        assert error.code == 2
    assert "write it again" in after.value.next_step
    return before.value


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", ["", TEXT, "Dear somebody else, in another letter"])
def test_what_toll_made_and_what_is_empty_is_replaced(tmp_path, content):
    path = tmp_path / "a"
    path.write_text(content)
    to(path).check()
    to(path).write(TEXT)
    assert path.read_text() == TEXT


@pytest.mark.parametrize("content", [MINE, "P.S. Dear ", "\n", "dear "])
def test_what_toll_did_not_make_is_replaced_by_force_alone(tmp_path, content):
    path = tmp_path / "a"
    path.write_text(content)
    refused(to(path), "it is there already, and toll did not make it as a letter", "--force")
    assert path.read_text() == content
    to(path, force=True).write(TEXT)
    assert path.read_text() == TEXT


@pytest.mark.parametrize("force", [True, False])
def test_measured_data_is_never_replaced(tmp_path, force):
    path = tmp_path / "a"
    for content in (MINE, ""):
        path.write_text(content)
        told = refused(to(path, force=force, mark=RAW_FILE), "it is there already")
        assert "--force" not in told.next_step
        assert path.read_text() == content


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("leads_to", ["victim", "nowhere", "folder", "/dev/null", "loop", "pipe"])
def test_links_are_refused_wherever_they_lead(tmp_path, force, leads_to):
    (tmp_path / "victim").write_text(TEXT)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "loop"
    path.symlink_to(leads_to)
    refused(to(path, force=force), f"it is a link to {leads_to}, and toll writes through no link")
    assert path.is_symlink()
    assert (tmp_path / "victim").read_text() == TEXT


@pytest.mark.parametrize("force", [True, False])
def test_folders_sockets_and_disks_are_refused(tmp_path, force):
    (tmp_path / "folder").mkdir()
    refused(to(tmp_path / "folder", force=force), "is a folder", "name a file")
    refused(to(Path("/"), force=force), "is a folder")
    refused(to(Path(), force=force), "is a folder")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        refused(to(tmp_path / "socket", force=force), "it is no file that could be replaced")
    assert names(tmp_path) == ["folder", "socket"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a device")
def test_a_disk_is_not_written_to(tmp_path):
    try:
        os.mknod(tmp_path / "disk", 0o60600, os.makedev(1, 0))
    except OSError:
        pytest.skip("not even root makes one here")
    refused(to(tmp_path / "disk", force=True), "it is no file that could be replaced")


@pytest.mark.parametrize(
    ("place", "word"),
    [
        ("nowhere/a", "there is no folder"),
        ("file/a", "there is no folder"),
        ("/proc/nothing/a", "there is no folder"),
        ("n" * 256, "File name too long"),
        ("file/", ""),
    ],
)
def test_what_is_no_place_is_refused_before_the_work(tmp_path, place, word):
    (tmp_path / "file").write_text(MINE)
    refused(to(tmp_path / place), word, "--letter")
    assert names(tmp_path) == ["file"]


def test_the_longest_name_is_a_name(tmp_path):
    path = tmp_path / ("n" * 255)
    for _ in range(2):
        to(path).check()
        to(path).write(TEXT)
    assert path.read_text() == TEXT


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may enter; those of pytest's workers are closed."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_a_stranger(work: Callable[[], None]) -> None:
    """In a process without the superuser's rights. Raises what `work` raises, as an assertion."""

    def inside(told) -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            work()
        except BaseException as error:  # pytest's own are none of Exception
            told.send(repr(error))
        else:
            told.send("")

    mine, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=inside, args=(theirs,))
    process.start()
    assert mine.poll(30), "no answer"
    problem = mine.recv()
    process.join()
    assert not problem


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("mode", [0o555, 0o666, 0o444, 0o000])
def test_a_folder_that_does_not_let_us_is_refused(open_folder, mode):
    for folder in (open_folder, *open_folder.parents[:2]):
        folder.chmod(0o755)
    folder = open_folder / "folder"
    folder.mkdir()
    (folder / "there").write_text(TEXT)
    (folder / "there").chmod(0o666)
    folder.chmod(mode)

    def work() -> None:
        refused(to(folder / "new"), "--letter")
        refused(to(folder / "there"), "--letter")

    as_a_stranger(work)
    folder.chmod(0o755)
    assert names(folder) == ["there"]
    assert (folder / "there").read_text() == TEXT


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_what_could_not_be_taken_away_in_the_end_is_refused_at_once(open_folder):
    """In a folder such as /tmp, though the file itself may be written to by all."""
    for folder in (open_folder, *open_folder.parents[:2]):
        folder.chmod(0o755)
    folder = open_folder / "folder"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "there").write_text(TEXT)
    (folder / "there").chmod(0o666)

    def work() -> None:
        to(folder / "new").write(TEXT)
        to(folder / "new").write(TEXT)
        refused(to(folder / "there", force=True), "Permission denied")

    as_a_stranger(work)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_folder_that_is_not_to_be_read_may_be_written_to(open_folder):
    for folder in (open_folder, *open_folder.parents[:2]):
        folder.chmod(0o755)
    folder = open_folder / "folder"
    folder.mkdir()
    folder.chmod(0o333)
    as_a_stranger(lambda: to(folder / "new").write(TEXT))
    assert (folder / "new").read_text() == TEXT


@pytest.mark.parametrize("force", [True, False])
def test_a_file_that_is_protected_is_not_replaced(tmp_path, monkeypatch, force):
    path = tmp_path / "a"
    path.write_text(TEXT)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    refused(to(path, force=force), "Permission denied")
    assert path.read_text() == TEXT


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    to(pipe).check()
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    to(pipe).write(TEXT)
    reader.join()
    assert read == [TEXT]
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_a_pipe_that_becomes_a_link_at_the_last_moment_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "victim").write_text(MINE)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    opened = os.open

    def late(path, *arguments, **options):
        if path == pipe:
            pipe.unlink()
            pipe.symlink_to("victim")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", late)
    with pytest.raises(TollError, match="it became a file while it was opened"):
        to(pipe).write(TEXT, "again")
    assert (tmp_path / "victim").read_text() == MINE


@pytest.mark.parametrize("kind", ["file", "pipe", "link", "folder"])
def test_whatever_comes_to_the_place_while_it_is_written_stays(tmp_path, kind):
    path = tmp_path / "a"

    def write() -> None:
        with to(path, force=kind != "file").opened() as file:
            file.write(TEXT.encode())
            {
                "file": lambda: path.write_text(MINE),
                "pipe": lambda: os.mkfifo(path),
                "link": lambda: path.symlink_to("nowhere"),
                "folder": path.mkdir,
            }[kind]()

    with pytest.raises(TollError) as told:
        write()
    assert "--letter" in told.value.what
    assert names(tmp_path) == ["a"]
    assert {"file": path.is_file, "pipe": path.is_fifo, "link": path.is_symlink, "folder": path.is_dir}[
        kind
    ]()


def test_a_pipe_whose_reader_leaves_is_no_error(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        to(Path(f"/dev/fd/{writing}")).write(TEXT * 100_000)
    finally:
        os.close(writing)


PROGRAM = """
import sys
from pathlib import Path
from tollbench.writing import Mark, Output
print("before")
for path in sys.argv[1:]:
    Output(Path(path), Mark("a letter", b"Dear ")).write("Dear reader\\n")
print("after")
"""


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """`$w` writes to each place it is given."""
    (folder / "w.py").write_text(PROGRAM)
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "PYTHONUNBUFFERED": "",
            "w": shlex.join(interpreter_with_path("w.py")),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "$w /dev/stdout",
        "$w /dev/stdout > out; cat out",  # what was printed before stays, and comes first
        "echo first > out; $w /dev/stdout >> out; tail -n +2 out",
        "$w /dev/stdout | cat",
        "$w /dev/stderr 2>&1",
        "$w /dev/fd/1",
        "$w /proc/self/fd/1 > out; cat out",
        "$w /dev/fd/3 3>&1",
        "$w //dev/./stdout",
    ],
)
def test_what_is_open_already_is_gone_on_with(tmp_path, line):
    done = shell(tmp_path, line)
    assert (done.stdout.splitlines(), done.stderr) == (["before", "Dear reader", "after"], "")


def test_a_process_gets_it(tmp_path):
    done = shell(tmp_path, "$w >(cat > got) > /dev/null; while [ ! -s got ]; do sleep 0.05; done; cat got")
    assert (done.stdout, done.stderr) == (TEXT, "")


def test_a_device_is_one_afterwards_too(tmp_path):
    for place in ("/dev/null", "/dev/full"):
        number = Path(place).stat().st_rdev
        to(Path(place)).check()
        if place == "/dev/null":
            to(Path(place)).write(TEXT)
        else:
            with pytest.raises(TollError, match="cannot write /dev/full: No space left on device"):
                to(Path(place)).write(TEXT, "again")
        assert Path(place).stat().st_rdev == number


@pytest.mark.parametrize("closed", ["/dev/fd/987", "/dev/stdin"])
def test_what_is_not_open_for_writing_is_refused(closed):
    if closed == "/dev/stdin":
        with Path("/etc/passwd").open() as file:
            refused(to(Path(f"/dev/fd/{file.fileno()}")), "open for reading alone")
    else:
        refused(to(Path(closed)), "Bad file descriptor")


def test_what_is_not_written_is_kept(tmp_path, monkeypatch):
    """A user's file came to that place while the work was done."""
    path = tmp_path / "a"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    output = to(path)
    output.check()
    path.write_text(MINE)
    with pytest.raises(TollError) as told:
        output.write(TEXT)
    (kept,) = tmp_path.glob("toll-kept-*/a")
    assert str(kept) in told.value.next_step
    assert "--letter" in told.value.next_step
    assert kept.read_text() == TEXT
    assert path.read_text() == MINE


@pytest.mark.skipif(not may_mount(), reason="may not mount a disk of its own")
def test_a_full_disk_leaves_what_was_there_and_the_text_elsewhere(tmp_path):
    (tmp_path / "disk").mkdir()
    script = f"""
from pathlib import Path
import os
from tollbench.writing import Mark, Output
from tollbench.errors import TollError
place = Path({str(tmp_path / "disk/a")!r})
place.write_text("Dear old")
try:
    Output(place, Mark("a letter", b"Dear ")).write("Dear reader" * 100_000)
except TollError as error:
    print(error.what, error.next_step, sep="; ")
print(place.read_text(), os.listdir(place.parent))
"""
    done = subprocess.run(
        on_own_disk(interpreter_with_path("-c", script), tmp_path / "disk", "64k"),
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No space left on device; make room on that disk" in done.stdout, done.stderr
    assert done.stdout.endswith("Dear old ['a']\n")
    (kept,) = tmp_path.glob("toll-kept-*/a")
    assert f"it is kept in {kept}" in done.stdout
    assert kept.stat().st_size == len("Dear reader") * 100_000


def test_one_file_is_not_two_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linked").symlink_to(".")
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "hard").hardlink_to("a")
    for one, other in [("x", "x"), ("x", "./x"), ("x", "linked/x"), ("x", "X"), ("a", "hard"), ("a", "A")]:
        with pytest.raises(TollError, match="are one file"):
            check_outputs([to(Path(one)), to(Path(other))])
    check_outputs([to(Path("x")), to(Path("y")), to(Path("/dev/null")), to(Path("/dev/null"))])


def test_what_is_read_is_no_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linked").symlink_to(".")
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "hard").hardlink_to("a")
    (tmp_path / "soft").symlink_to("a")
    for name in ("a", "./a", "linked/a", "hard", "soft"):
        for force in (True, False):
            with pytest.raises(TollError, match="is what this command reads"):
                check_outputs([to(Path(name), force=force)], [Path("a")])
    with pytest.raises(TollError, match="is what this command reads"):
        check_outputs([to(Path("gone"))], [Path("linked/gone")])
    check_outputs([to(Path("b")), to(Path("/dev/null"))], [Path("a"), Path("A"), Path("/dev/null")])
    with Path("a").open("r+") as file, pytest.raises(TollError, match="is what this command reads"):
        check_outputs([to(Path(f"/dev/fd/{file.fileno()}"))], [Path("a")])


def test_a_new_file_is_new(tmp_path):
    with open_new(tmp_path / "new") as file:
        file.write(b"x")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("new", "link"):
        with pytest.raises(FileExistsError):
            open_new(tmp_path / name)
    with open_new(Path("/dev/null")) as file:
        file.write(b"x")
    assert names(tmp_path) == ["link", "new"]
