"""What cannot be counted is a reason in its row, never a number: real executables and real tools."""

from __future__ import annotations

import os
import shutil
from collections.abc import Set
from pathlib import Path

import pytest
from compiled import compiled

from tollbench.compare import MeasuringOptions, WrittenSide, resolve, subject_of
from tollbench.compare.counters import BY_MALLOC, Amount
from tollbench.compare.counting_sides import counter_for
from tollbench.counting import system_calls
from tollbench.launching.failure import LaunchFailed

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to somebody else")
INSTRUCTIONS, SYSCALLS = frozenset(("instructions",)), frozenset(("syscalls",))
PROGRAM = "#include <cstdlib>\nint main() { for (int i = 0; i < 7; i++) std::free(std::malloc(100)); }"
AVX512 = 'int main() { asm volatile(".byte 0x62,0xf1,0x7d,0x48,0xef,0xc0"); }'


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def read(command: str, cache: Path, metrics: Set[str]) -> dict[str, Amount | str]:
    kind, sides = resolve([WrittenSide(command), WrittenSide(command)], "command")
    counter = counter_for(subject_of(kind, sides, MeasuringOptions(60.0)), cache)
    assert counter is not None
    return dict(counter.read(0, "command", metrics))


def value(found: Amount | str) -> int:
    assert isinstance(found, Amount), found
    return int(found.value)


def of_somebody_else(path: Path) -> Path:
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    return path


@needs_valgrind
@needs_strace
def test_a_stripped_or_static_program_counts_as_before(tmp_path: Path, cache: Path) -> None:
    whole = compiled(tmp_path, "whole", PROGRAM, "-fno-builtin")
    stripped = compiled(tmp_path, "stripped", PROGRAM, "-fno-builtin", "-s")
    static = compiled(tmp_path, "static", PROGRAM, "-fno-builtin", "-static")
    for metrics in (BY_MALLOC, SYSCALLS):
        told = [read(str(path), cache, metrics) for path in (whole, stripped)]
        assert [value(each) for each in told[0].values()] == [value(each) for each in told[1].values()]
    assert value(read(str(whole), cache, BY_MALLOC)["allocations"]) == 7
    assert "takes no preloaded library" in str(read(str(static), cache, BY_MALLOC)["allocations"])
    assert value(read(str(static), cache, INSTRUCTIONS)["instructions"]) > 100
    assert value(read(str(static), cache, SYSCALLS)["syscalls"]) > 2


@needs_strace
def test_a_child_that_takes_no_library_costs_its_parent_the_count(tmp_path: Path, cache: Path) -> None:
    """A shell starts its children by vfork, which tells no library."""
    static = compiled(tmp_path, "static", PROGRAM, "-fno-builtin", "-static")
    whole = compiled(tmp_path, "whole", PROGRAM, "-fno-builtin")
    reason = read(f"sh -c '{static}; true'", cache, BY_MALLOC)["allocations"]
    assert "starts a program that takes no preloaded library" in str(reason)
    alone = value(read("sh -c 'true; true'", cache, BY_MALLOC)["allocations"])
    found = value(read(f"sh -c '{whole}; {whole}; true'", cache, BY_MALLOC)["allocations"])
    assert found >= alone + 14


def test_without_strace_the_row_says_what_would_not_be_seen(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_calls, "sees_programs", lambda: False)
    found = read(str(compiled(tmp_path, "p", PROGRAM, "-fno-builtin")), cache, BY_MALLOC)["allocations"]
    assert isinstance(found, Amount)
    assert "which strace would find" in found.note


@needs_root
@needs_valgrind
@needs_strace
def test_a_set_uid_program_has_no_counts(tmp_path: Path, cache: Path) -> None:
    tmp_path.chmod(0o755)
    path = of_somebody_else(compiled(tmp_path, "p", PROGRAM, "-fno-builtin"))
    for command in (str(path), f"sh -c '{path}; true'"):
        assert "set-uid" in str(read(command, cache, INSTRUCTIONS)["instructions"])
        assert "set-uid" in str(read(command, cache, BY_MALLOC)["allocations"])
    assert "set-uid" in str(read(str(path), cache, SYSCALLS)["syscalls"])


@needs_valgrind
def test_an_unknown_instruction_of_a_child_costs_the_count(tmp_path: Path, cache: Path) -> None:
    path = compiled(tmp_path, "p", AVX512)
    for command in (str(path), f"sh -c '{path}; true'"):
        reason = read(command, cache, INSTRUCTIONS)["instructions"]
        assert "an instruction that Valgrind does not know" in str(reason)


@needs_valgrind
@needs_strace
def test_a_program_for_another_architecture_has_no_counts(tmp_path: Path, cache: Path) -> None:
    path = compiled(tmp_path, "p", PROGRAM)
    content = bytearray(path.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    path.write_bytes(content)
    for metrics in (BY_MALLOC, INSTRUCTIONS, SYSCALLS):
        for reason in read(str(path), cache, metrics).values():
            assert isinstance(reason, str)
            assert reason


@needs_valgrind
def test_threads_are_counted_all_together(tmp_path: Path, cache: Path) -> None:
    text = """#include <cstdlib>
#include <thread>
void work() { for (int i = 0; i < TURNS; i++) std::free(std::malloc(10)); }
int main() { std::thread a(work), b(work); a.join(); b.join(); }"""
    found = []
    for turns in (1000, 3000):
        path = compiled(tmp_path, f"p{turns}", text, f"-DTURNS={turns}", "-fno-builtin", "-pthread")
        allocated = value(read(str(path), cache, BY_MALLOC)["allocations"])
        found.append((allocated, value(read(str(path), cache, INSTRUCTIONS)["instructions"])))
    assert found[1][0] - found[0][0] == 4000
    assert found[1][1] - found[0][1] > 4000 * 10


def test_a_missing_tool_is_named_with_what_brings_it(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(compiled(tmp_path, "p", PROGRAM))
    read(path, cache, BY_MALLOC)  # what is preloaded is there
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install valgrind" in str(read(path, cache, INSTRUCTIONS)["instructions"])
    assert "apt-get install strace" in str(read(path, cache, SYSCALLS)["syscalls"])
    with pytest.raises(LaunchFailed, match=r"apt-get install g\+\+"):
        read(path, tmp_path / "empty", BY_MALLOC)
