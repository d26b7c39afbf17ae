"""What two links of one program must have in common, read from their files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tollbench.launching.answers import open_plain
from tollbench.launching.elf_files import DAMAGES, bytes_of
from tollbench.launching.interrupt import breakable

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION, _INDIRECT, _TYPE = 2, 10, 0xF
_OF_ONE_LINK = (".note.gnu.build-id",)
_ALLOCATED, _EXECUTABLE = 0x2, 0x4
_NONSENSE = (OSError, *DAMAGES)  # an offset may lie beyond any file


class NoProgram(Exception):
    """A file that is no executable which could be linked again; the text says what it is."""


@dataclass(frozen=True, slots=True)
class LinkedProgram:
    """Of an executable what does not depend on where its functions stand."""

    functions: Counter[tuple[bytes, int]]  # name and size of each that is defined; empty where stripped
    sections: tuple[str, ...]  # in memory, in their order
    dynamic: tuple[tuple[str, str], ...]  # needed libraries, and where they are looked for
    content: bytes  # a digest of all that is loaded, but for the build's id

    def unlike(self, other: LinkedProgram) -> str | None:
        """What differs from another link of the same program, in words; None where nothing does."""
        if self.functions and other.functions and self.functions != other.functions:
            differing = (self.functions - other.functions) + (other.functions - self.functions)
            name = min(differing)[0].decode("utf-8", "replace")
            return f"{len(differing)} of its functions differ, such as {name}"
        if self.sections != other.sections:
            differing_names = sorted(set(self.sections) ^ set(other.sections)) or ["in another order"]
            return f"its sections differ ({', '.join(differing_names)})"
        return "it looks for its libraries elsewhere" if self.dynamic != other.dynamic else None


def read_program(path: Path) -> LinkedProgram:
    """Raises NoProgram, OSError."""
    with open_plain(path) as file, breakable():
        try:
            return _read(ELFFile(file), path)
        except _NONSENSE:
            raise NoProgram("is no ELF executable that can be read") from None


def source_of(path: Path) -> str | None:
    """The name of the source that an object was compiled from, without folders; None where none is told."""
    try:
        with open_plain(path) as file, breakable():
            table = ELFFile(file).get_section_by_name(".symtab")
            if isinstance(table, SymbolTableSection):
                told = (symbol for symbol in table.iter_symbols() if symbol["st_info"]["type"] == "STT_FILE")
                return next((Path(symbol.name).name for symbol in told), None)
    except _NONSENSE:
        pass
    return None


def _read(elf: ELFFile, path: Path) -> LinkedProgram:
    if elf.elfclass != 64 or not elf.little_endian:
        raise NoProgram("is no program of 64 bits")
    sections = [section for section in elf.iter_sections() if section["sh_flags"] & _ALLOCATED]
    entry = elf.header["e_entry"]
    inside = any(
        section["sh_flags"] & _EXECUTABLE and 0 <= entry - section["sh_addr"] < section["sh_size"]
        for section in sections
    )
    if elf.header["e_type"] not in ("ET_EXEC", "ET_DYN") or not inside or not os.access(path, os.X_OK):
        raise NoProgram("is no program that can be started")
    digest = hashlib.blake2b()
    for section in sections:
        if section.name not in _OF_ONE_LINK and section["sh_type"] != "SHT_NOBITS":
            digest.update(bytes_of(section))
    names = tuple(section.name for section in sections)
    return LinkedProgram(_functions(elf), names, _dynamic(elf), digest.digest())


def _functions(elf: ELFFile) -> Counter[tuple[bytes, int]]:
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return Counter()
    symbols = np.frombuffer(bytes_of(table), _SYMBOL)
    names = bytes_of(elf.get_section(table["sh_link"]))
    kinds = symbols["info"] & _TYPE
    wanted = symbols[((kinds == _FUNCTION) | (kinds == _INDIRECT)) & (symbols["section"] != 0)]
    return Counter(
        (names[start : names.index(b"\0", start)], size)
        for start, size in zip(wanted["name"].tolist(), wanted["size"].tolist(), strict=True)
    )


def _dynamic(elf: ELFFile) -> tuple[tuple[str, str], ...]:
    table = elf.get_section_by_name(".dynamic")
    if not isinstance(table, DynamicSection):
        return ()
    attributes = {"DT_NEEDED": "needed", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
    return tuple(
        (name, getattr(tag, name))
        for tag in table.iter_tags()
        if (name := attributes.get(tag.entry.d_tag, ""))
    )
