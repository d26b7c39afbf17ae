"""Whether two files are the same once they are loaded, whatever is in parts of them that nothing loads."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

from tollbench.counting.image import Image, Unreadable
from tollbench.launching.elf_files import DAMAGES

_BUILD_ID = "NT_GNU_BUILD_ID"
# Where the table of sections lies, in the header, which is loaded too: bytes of e_shoff, e_shnum, e_shstrndx
# (System V ABI, "ELF Header"). Debug information before it moves it.
_TABLE_OF_SECTIONS = ((0x28, 0x30), (0x3C, 0x40))


def same_in_memory(a: Image, b: Image) -> bool:
    """Whether all bytes that are loaded are equal, at equal addresses: then both execute the same code.

    No address has to be told from a number for that, so it serves for fixed addresses too. The build id, a
    digest of the whole file, may differ, and where the table of sections lies. Raises Unreadable.
    """
    try:
        return _same(a, b)
    except DAMAGES as error:
        raise Unreadable(f"one of {a.path} and {b.path} is damaged: {error}") from None


def _same(a: Image, b: Image) -> bool:
    one, other = ELFFile(BytesIO(a.content)), ELFFile(BytesIO(b.content))
    parts = [segment.header for segment in one.iter_segments()]
    if parts != [segment.header for segment in other.iter_segments()] or one["e_entry"] != other["e_entry"]:
        return False
    left, right = _blanked(a.content, one), _blanked(b.content, other)
    return all(
        left[part["p_offset"] : part["p_offset"] + part["p_filesz"]]
        == right[part["p_offset"] : part["p_offset"] + part["p_filesz"]]
        for part in parts
        if part["p_type"] == "PT_LOAD"
    )


def _blanked(content: bytes, elf: ELFFile) -> bytearray:
    """With zeros for what the digest and the table of sections leave in memory."""
    blank = bytearray(content)
    for begin, end in (*_TABLE_OF_SECTIONS, *_build_ids(elf)):
        blank[begin:end] = bytes(end - begin)
    return blank


def _build_ids(elf: ELFFile) -> Iterator[tuple[int, int]]:
    for segment in elf.iter_segments():
        if isinstance(segment, NoteSegment):
            for note in segment.iter_notes():
                if note["n_type"] == _BUILD_ID:
                    yield note["n_offset"], note["n_offset"] + note["n_size"]
