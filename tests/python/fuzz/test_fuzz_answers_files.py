"""Files that tools and compilers leave of a stranger's program: profiles, link maps, ELF files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from byte_edits import (
    LONGEST_S,
    TOKENS,
    WORDS,
    Edit,
    edited,
    edits,
    ending,
    many,
    overwritten,
    refused,
    slow,
)
from compiled import PROGRAM, compiled
from elftools.elf.elffile import ELFFile
from hypothesis import given

from tollbench.counting import instructions, profiles
from tollbench.counting.executed import _asked_for, _executed_in
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.matching import Match
from tollbench.counting.sizes import sizes
from tollbench.launching.answers import reading
from tollbench.linking.link_maps import section_after_text, text_sections_of_gnu, text_sections_of_lld
from tollbench.linking.programs import read_program, source_of

pytestmark = pytest.mark.timeout(LONGEST_S)
PROFILE = b"""# callgrind format
version: 1
desc: Trigger: Client Request: toll run
positions: instr line
events: Ir Dr Dw sysCount
ob=(1) /tmp/bench
fl=(1) bench.cpp
fn=(1) main'above
0x401000 12 1 0 0 0
0x401004 13 2 1 0 0
cob=(2) /lib/libc.so.6
cfi=(2) puts.c
cfn=(2) puts
calls=1 0x5000
0x401008 14 30 10 5 1
ob=(2)
fn=(2)
0x5000 1 30 10 5 1
"""
SYSTEM_CALLS = b"""SYSCALL[1,1](257) sys_openat ( 4294967196, 0x4b5(/etc/ld.so.cache), 524288 ) --> [async]
SYSCALL[1,1](  9) sys_mmap ( 0x0, 8192, 3, 34, -1, 0 ) --> [pre-success] Success(0x48)
SYSCALL[1,1]( 10) sys_mprotect ( 0x49, 4096, 1 )[sync] --> Success(0x0)
"""
GNU_MAP = """
Linker script and memory map

.text           0x0000000000001000      0x300
 .text.main     0x0000000000001000       0x20 main.o
 .text._ZN3foo3barEv
                0x0000000000001020       0x40 lib.a(foo.o)
 *fill*         0x0000000000001060        0x4
.fini           0x0000000000001300        0xd
"""
LLD_MAP = """             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      300    16 .text
            1000             1000       20    16         main.o:(.text.main)
            1020             1020       40    16         lib.a(foo.o):(.text.foo)
            1300             1300        d     4 .fini
"""
NAMES = (
    b" .text." + b"a " * 20000,
    b".o:(" * 20000,
    b" .x" + b" " * 50000,
    b"\n.text 0x0\n",
    b" 0x1 0x1 a.o",
)
COSTS = (
    b"calls=",
    b"calls=1e999 0\n",
    b"ob=(1)\n",
    b"fn=(" + b"9" * 5000 + b") x\n",
    b"0x",
    b"\n\n",
    b"+1 ",
    b"*",
)


@given(edits((*TOKENS, *COSTS)))
@many
def test_profiles_of_callgrind(tmp_path_factory, changes):
    path = tmp_path_factory.getbasetemp() / "cost.1.1"
    path.write_bytes(edited(PROFILE, changes))
    for read in (instructions.cost_in, profiles.read, instructions._is_run, _executed):
        assert refused(read, path) in ("", *UNREADABLE)
    log = edited(SYSTEM_CALLS, changes)
    assert refused(_understood, log) in ("", *UNREADABLE)


UNREADABLE = tuple(f"under Valgrind left {what} that cannot be read" for what in ("counts", "a profile"))


def _executed(path: Path) -> None:
    with reading(UNREADABLE[1]):
        _executed_in([path])


def _understood(log: bytes) -> None:
    with reading(UNREADABLE[1]):
        _asked_for(log)


@given(edits((*TOKENS, *NAMES)))
@many
def test_maps_of_linkers(changes):
    with ending():
        for text, read in ((GNU_MAP, text_sections_of_gnu), (LLD_MAP, text_sections_of_lld)):
            sections = list(read(edited(text.encode(), changes).decode("utf-8", "surrogateescape")))
            assert all(section.size > 0 for section in sections)
            assert all(len(section.archive_and_member or (0, 0)) == 2 for section in sections)
        section_after_text(edited(LLD_MAP.encode(), changes).decode("utf-8", "surrogateescape"))


def test_the_good_maps_are_read():
    wanted = [(".text.main", 0x1000, 0x20), (".text._ZN3foo3barEv", 0x1020, 0x40)]
    assert [(each.name, each.address, each.size) for each in text_sections_of_gnu(GNU_MAP)] == wanted
    assert [each.name for each in text_sections_of_lld(LLD_MAP)] == [".text.main", ".text.foo"]
    assert section_after_text(LLD_MAP) == ".fini"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("program"), "whole", PROGRAM)


def places(data: bytes) -> list[int]:
    """Where tables begin that lead to others: most bytes of a program are code."""
    found = [0, int.from_bytes(data[0x28:0x30], "little")]
    return [place for place in found if place < len(data)]


def _same(a: Path, b: Path) -> bool:
    return Match([(Image(a), Image(b))]).same()


@given(edits((*WORDS, *TOKENS[:12])), edits(WORDS))
@slow
def test_programs(program, changes, of_tables):
    good = program.read_bytes()
    data = overwritten(good, changes)
    for place in places(good):
        data = data[:place] + overwritten(data[place : place + 2048], of_tables) + data[place + 2048 :]
    path = program.with_name("changed")
    path.write_bytes(data)
    path.chmod(0o755)
    for read in (sizes, read_program, source_of):
        refused(read, path)
    refused(_same, program, path)


def test_a_note_beyond_the_end_is_refused(program):
    with program.open("rb") as file:
        elf = ELFFile(file)
        number = elf.get_section_index(".note.gnu.build-id")
        assert number is not None
        place = elf["e_shoff"] + 64 * number + 0x18  # sh_offset
    data = bytearray(program.read_bytes())
    data[place : place + 8] = len(data).to_bytes(8, "little")
    path = program.with_name("beyond")
    path.write_bytes(data + struct.pack("<III", 4, 4, 3))  # sizes of name and text, which would follow
    with pytest.raises(Unreadable):
        sizes(path)


def test_a_table_without_an_end_is_left(program):
    """Entries of no size: each is the first one again, 2^64 times."""
    data = bytearray(program.read_bytes())
    data[0x3A:0x3C] = b"\0\0"  # e_shentsize
    path = program.with_name("endless")
    path.write_bytes(data)
    for read in (Image, sizes):
        with ending(), pytest.raises(Unreadable, match=r"damaged|no ELF"):
            read(path)


def test_a_change_of_no_byte_is_no_difference(program):
    assert edited(b"abc", [Edit(0.5, 0, b"", 0)]) == b"abc"
    assert Match([(Image(program), Image(program))]).same()
