"""Answers of programs: read as far as they are looked at, and left at once when somebody asks to stop."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tollbench.compare.sides import WrittenSide, kind_of
from tollbench.compare.subject import MOST_OFFERED, NameShare, survey_of
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.sizes import sizes
from tollbench.launching.answers import read_report, reading
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.interrupt import Interrupt, breakable, check_interrupt, unbroken

HUGE = 20 * 2**30


@pytest.fixture
def interrupt() -> Iterator[Interrupt]:
    with Interrupt() as made:
        yield made


def ask_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_what_only_computes_is_left_in_the_midst(interrupt: Interrupt) -> None:
    steps: list[int] = []

    def computes() -> None:
        with reading("makes no sense"):
            for step in range(10**9):
                steps[:] = [step]
                if step == 1000:
                    ask_to_stop()

    with pytest.raises(Interrupted):
        computes()
    assert 1000 <= steps[0] < 10**6
    assert interrupt.requested


def test_everything_else_is_not(interrupt: Interrupt) -> None:
    ask_to_stop()
    assert interrupt.requested
    with pytest.raises(Interrupted), breakable():
        pytest.fail("it was asked before")


def test_a_process_within_is_started_and_ended_whole(interrupt: Interrupt) -> None:
    done: list[str] = []

    def computes() -> None:
        with breakable():
            with unbroken():
                ask_to_stop()
                done.append("whole")
            done.append("more")

    with pytest.raises(Interrupted):
        computes()
    assert done == ["whole"]


def test_a_thread_is_not_cut_in_two_and_looks_itself(interrupt: Interrupt) -> None:
    seen: list[str] = []

    def work() -> None:
        with breakable():
            time.sleep(0.1)
            seen.append("whole")
        try:
            check_interrupt()
        except Interrupted:
            seen.append("told")

    thread = threading.Thread(target=work)
    thread.start()
    ask_to_stop()
    thread.join()
    assert seen == ["whole", "told"]


def test_without_anybody_who_listens_nothing_changes() -> None:
    with breakable():
        check_interrupt()


@pytest.mark.parametrize("kind", ["pipe", "link to /dev/zero", "folder"])
def test_a_report_is_a_plain_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="no plain file"):
        read_report(path)


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    path.chmod(0o755)
    return path


def test_of_a_report_no_more_is_read_than_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailed, match="more than 16 MiB"):
        read_report(sparse(tmp_path / "report", 50 * 2**30))


def test_an_executable_without_content_is_no_work(tmp_path: Path) -> None:
    """It would take half a minute, and 20 GB of memory, to read what is not there."""
    path = sparse(tmp_path / "huge", HUGE)
    used = time.process_time()
    assert kind_of(WrittenSide(str(path))) == "command"
    for read in (Image, sizes):
        with pytest.raises(Unreadable, match=r"larger than 1 GiB|no ELF file"):
            read(path)
    assert time.process_time() - used < 5.0, "20 GB were read"


def test_marks_are_found_beyond_a_hole_and_across_pieces(tmp_path: Path) -> None:
    path = sparse(tmp_path / "bench", HUGE)
    with path.open("r+b") as file:
        file.seek(HUGE // 2 + 2**22 - 7)
        file.write(b"benchmark_list_tests")
    assert kind_of(WrittenSide(str(path))) == "google-benchmark"


def test_many_benchmarks_are_no_quadratic_work() -> None:
    """Counted in looks at names: with a list, each of them would be held against all others."""
    looks = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal looks
            looks += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    offers = [[Name(f"b{index + 100 * side}") for index in range(1000)] for side in range(2)]
    survey = survey_of(("a", "b"), offers)
    assert len(survey.common) == 900
    assert looks < 20_000


def test_parts_have_each_benchmark_once_and_are_of_equal_size() -> None:
    old, new = [f"b{index}" for index in range(10)], [f"b{index}" for index in range(3, 13)]
    parts = [survey_of(("old", "new"), [old, new], share=NameShare(index, 4)) for index in range(4)]
    assert sorted(name for part in parts for name in part.common) == sorted(set(old) & set(new))
    assert sorted(name for part in parts for name in part.missing) == sorted(set(old) ^ set(new))
    assert {len(part.common) + len(part.missing) for part in parts} == {3, 4}
    assert len({part.part_of for part in parts}) == 1
    assert survey_of(("old", "new"), [["b1"], ["b1"]], share=NameShare(1, 2)).common == ()
    assert survey_of(("old", "new"), [["b1"], ["b1"]]).part_of == ""
    other = survey_of(("old", "new"), [["first", *old], new], share=NameShare(0, 4))
    assert other.part_of not in {"", parts[0].part_of}


def test_more_benchmarks_than_a_table_has_are_told() -> None:
    names = [f"b{index}" for index in range(MOST_OFFERED + 1)]
    with pytest.raises(LaunchFailed, match=r"new offers 20001 benchmarks; .* choose some with --filter"):
        survey_of(("old", "new"), [["b1"], names])
