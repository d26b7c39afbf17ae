"""Folders of toll's own: gone with their block, after a kill at the next start, and never somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import tollbench.cli
from tollbench.interpreters import interpreter_with_path
from tollbench.writing import delete_tree, scratch_folder, sweep_scratch

HOLDING = """
import sys
from tollbench.writing import scratch_folder
with scratch_folder() as folder:
    (folder / "deep").mkdir()
    (folder / "deep/file").write_text("x")
    (folder / "deep").chmod(0)
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def holding() -> tuple[subprocess.Popen[str], Path]:
    """A toll with a folder, and where that is."""
    process = subprocess.Popen(
        interpreter_with_path("-c", HOLDING), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(tollbench.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_goes_with_its_block_whatever_is_in_it(temporary) -> None:
    with scratch_folder() as folder:
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "closed/inner").mkdir(parents=True)
        (folder / "closed").chmod(0)
        (folder / "link").symlink_to(temporary)
    assert list(temporary.iterdir()) == []


def test_what_a_killed_toll_left_goes_at_the_next_start_and_a_live_ones_stays(temporary, monkeypatch, capsys):
    killed, left = holding()
    alive, used = holding()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert {left, used} == set(temporary.iterdir())
    monkeypatch.setattr("sys.argv", ["toll", "--version"])
    assert tollbench.cli.main() == 0
    assert left.exists()
    monkeypatch.setattr("sys.argv", ["toll", "report", "nothing"])
    tollbench.cli.main()
    assert list(temporary.iterdir()) == [used]
    assert (used / "deep").is_dir()
    alive.communicate("")
    assert list(temporary.iterdir()) == []


def test_what_only_looks_like_it_stays(temporary, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    name = "toll-scratch-0123456789abcdef"
    (temporary / name).symlink_to(elsewhere)
    for other in (
        f"{name}0",
        name[:-1],
        f"my-{name}",
        name.upper(),
        "toll-compare-abcdefgh",
        "toll-kept-abcdefgh",
    ):
        (temporary / other).mkdir()
    (temporary / name.replace("0", "1")).write_text("a file")
    before = set(temporary.iterdir())
    sweep_scratch()
    assert set(temporary.iterdir()) == before
    assert (elsewhere / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders away")
def test_another_users_folder_stays(temporary) -> None:
    theirs = temporary / "toll-scratch-0123456789abcdef"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    sweep_scratch()
    assert theirs.exists()


@pytest.mark.parametrize("after", [False, True], ids=["before it was opened", "before it was locked"])
def test_a_folder_that_was_swept_while_it_was_made_is_made_again(temporary, monkeypatch, after) -> None:
    opened = os.open
    swept: list[str] = []

    def late(path: str, flags: int, *rest: int) -> int:
        first = not swept and "toll-scratch-" in str(path)
        if first and not after:
            swept.append(path)
            Path(path).rmdir()
        descriptor = opened(path, flags, *rest)
        if first and after:
            swept.append(path)
            Path(path).rmdir()
        return descriptor

    monkeypatch.setattr(os, "open", late)
    with scratch_folder() as folder:
        assert folder.is_dir()
        assert [folder] == list(temporary.iterdir())
    assert len(swept) == 1


def test_a_temporary_folder_that_is_not_there_is_no_reason_to_fail(temporary) -> None:
    temporary.rmdir()
    sweep_scratch()


def test_deleting_follows_no_link(tmp_path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    kept.chmod(0o500)
    going = tmp_path / "going"
    going.mkdir()
    (going / "link").symlink_to(kept)
    delete_tree(going)
    assert not going.exists()
    assert (kept / "file").read_text() == "mine"
    assert kept.stat().st_mode & 0o777 == 0o500
