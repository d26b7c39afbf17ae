"""How large the code and the data of an executable are, and those of each symbol.

Source: System V ABI, "Object files": sections that are in memory, by their flags; the table of symbols.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from tollbench.counting.image import Unreadable, open_program
from tollbench.launching.elf_files import DAMAGES, bytes_of
from tollbench.launching.interrupt import breakable

_WRITE, _ALLOCATED, _EXECUTABLE = 0x1, 0x2, 0x4
CODE, CONSTANTS, DATA, ZEROED = "code", "constants", "data", "zeroed data"
PARTS = (CODE, CONSTANTS, DATA, ZEROED)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes in memory, by what they are and by symbol; nothing where a file does not tell."""

    parts: Mapping[str, int]  # by one of PARTS
    symbols: Mapping[str, int]  # functions and variables; of one name, their sum
    compilers: tuple[str, ...]  # as they signed the file
    build_id: str

    @property
    def total(self) -> int:
        """All that is in memory."""
        return sum(self.parts.values())


def sizes(path: Path) -> Sizes:
    """Raises Unreadable for what is no ELF file."""
    try:
        with open_program(path) as file, breakable():
            found = _sizes(ELFFile(file))
    except (OSError, *DAMAGES) as error:
        told = getattr(error, "strerror", None) or "is no ELF file, or a damaged one"
        raise Unreadable(str(told)) from None
    if not found.total:
        raise Unreadable("is no ELF file with a table of sections")
    return found


def _sizes(elf: ELFFile) -> Sizes:
    parts, symbols = dict.fromkeys(PARTS, 0), Counter[str]()
    compilers: tuple[str, ...] = ()
    build_id = ""
    for section in elf.iter_sections():
        header = section.header
        if header["sh_flags"] & _ALLOCATED:
            parts[_part(header["sh_flags"], header["sh_type"])] += header["sh_size"]
        if section.name == ".comment":
            texts = bytes_of(section).decode("utf-8", "replace").split("\0")
            compilers = tuple(sorted({text for text in texts if text}))
        elif isinstance(section, NoteSection) and section.name == ".note.gnu.build-id":
            build_id = next((note["n_desc"] for note in section.iter_notes()), "")
        elif isinstance(section, SymbolTableSection) and section.name == ".symtab":
            for symbol in section.iter_symbols():
                if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT", "STT_TLS") and symbol["st_size"]:
                    symbols[symbol.name] += symbol["st_size"]
    return Sizes(parts, symbols, compilers, build_id)


def _part(flags: int, kind: str) -> str:
    if flags & _EXECUTABLE:
        return CODE
    if not flags & _WRITE:
        return CONSTANTS
    return ZEROED if kind == "SHT_NOBITS" else DATA
