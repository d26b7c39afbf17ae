"""Sizes of sections and symbols."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled import compiled

from tollbench.compare.file_sizes import file_changes
from tollbench.compare.subject import Side, Two
from tollbench.compare.verdicts import CountVerdict, FileChange
from tollbench.counting.image import Unreadable
from tollbench.counting.sizes import CODE, CONSTANTS, DATA, ZEROED, sizes

TEXT = """
extern "C" { int filled[300] = {1}; int empty[500]; extern const int fixed[70]; const int fixed[70] = {4}; }
extern "C" int grows(int x) { EXTRA return x + filled[x] + empty[x] + fixed[x]; }
int main(int count, char**) { return grows(count) & 0; }
"""


def program(folder: Path, extra: str = "", *options: str) -> Path:
    return compiled(folder, "p", f"#define EXTRA {extra}\n{TEXT}", *options)


def changed(a: Path, b: Path) -> FileChange:
    (found,) = file_changes([Side("a", (str(a),)), Side("b", (str(b),))], ("a", "b"), [Two(0, 1)])
    return found


def test_parts_add_up_to_what_binutils_tells(tmp_path: Path) -> None:
    executable = program(tmp_path)
    found = sizes(executable)
    listed = subprocess.run(
        ["size", "-A", str(executable)], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.split() for line in listed.splitlines()]
    told = {words[0]: int(words[1]) for words in lines if len(words) == 3 and words[0].startswith(".")}
    assert found.total == sum(size for name, size in told.items() if name != ".comment")
    assert found.parts[CODE] == sum(
        told[name] for name in (".init", ".plt", ".plt.got", ".text", ".fini") if name in told
    )
    assert found.parts[ZEROED] >= 2000
    assert found.parts[DATA] >= 1200
    assert found.parts[CONSTANTS] >= 280
    assert (found.symbols["filled"], found.symbols["empty"], found.symbols["fixed"]) == (1200, 2000, 280)
    assert any(text.startswith("GCC") for text in found.compilers)


def test_what_grew_is_named(tmp_path: Path) -> None:
    found = changed(program(tmp_path / "a"), program(tmp_path / "b", r'asm(".fill 64, 1, 0x90");'))
    assert found.count.verdict is CountVerdict.MORE
    assert next((part.name, part.b - part.a) for part in found.parts if part.kind == "symbol") == (
        "grows",
        64,
    )
    assert "symbols: grows" in found.count.reason
    same = changed(program(tmp_path / "a"), program(tmp_path / "c"))
    assert (same.count.verdict, same.parts) == (CountVerdict.EQUAL, ())


def test_a_stripped_file_has_sections_alone(tmp_path: Path) -> None:
    found = changed(
        program(tmp_path / "a", "", "-s"), program(tmp_path / "b", r'asm(".fill 64, 1, 0x90");', "-s")
    )
    assert {part.kind for part in found.parts} == {"section"}
    assert found.count.verdict is CountVerdict.MORE


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(57)])
def test_what_is_no_elf_file_is_a_reason(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p"
    path.write_bytes(content)
    with pytest.raises(Unreadable):
        sizes(path)
    found = changed(path, path)
    assert (found.count.verdict, found.count.a) == (CountVerdict.FAILED, None)
    assert "p is no ELF file" in found.count.reason
