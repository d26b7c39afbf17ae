"""Which input sections a linker put where, by the map that it writes.

Sources: binutils ld/ldlang.c (lang_map, print_input_section); lld/ELF/MapFile.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_GNU_HEAD = "Linker script and memory map"
_GNU_SECTION = re.compile(
    r" (?P<name>\.\S.*?(?<!\s))?\s++0x(?P<at>[0-9a-f]+)\s++0x(?P<size>[0-9a-f]+) (?P<file>\S.*)"
)
_GNU_LONG_NAME = re.compile(r" (\.\S.*)")
_LLD_OUTPUT = re.compile(r"\s*[0-9a-f]+\s+[0-9a-f]+\s+[0-9a-f]+\s+[0-9]+ (?P<name>\S.*)")
_LLD_SECTION = re.compile(
    r"\s*(?P<at>[0-9a-f]+)\s+[0-9a-f]+\s+(?P<size>[0-9a-f]+)\s+[0-9]+ {9}(?P<file>\S.*):\((?P<name>.*)\)"
)
_IN_ARCHIVE = re.compile(r"(?P<archive>.+)\((?P<member>[^()]+)\)")


@dataclass(frozen=True, slots=True)
class MappedSection:
    """One input section in the program's .text."""

    name: str
    file: str
    address: int
    size: int

    @property
    def archive_and_member(self) -> tuple[str, str] | None:
        """Of a section that came out of an archive."""
        found = _IN_ARCHIVE.fullmatch(self.file)
        return (found["archive"], found["member"]) if found else None


def text_sections_of_gnu(text: str) -> Iterator[MappedSection]:
    """The sections with bytes in .text, in the order of their addresses, from a map of GNU ld."""
    inside, pending = False, ""
    for line in text[max(0, text.find(f"\n{_GNU_HEAD}")) :].split("\n"):
        if line[:1] not in ("", " "):
            inside = line == ".text" or line.startswith(".text ")
        elif inside:
            found = _GNU_SECTION.fullmatch(line)
            name = (found["name"] or pending) if found else ""
            pending = ""
            if found and name and int(found["size"], 16):
                yield MappedSection(name, found["file"], int(found["at"], 16), int(found["size"], 16))
            elif not found and (long := _GNU_LONG_NAME.fullmatch(line)):
                pending = long.group(1)


def _lld_section(line: str) -> re.Match[str] | None:
    """Of an input section. One whose name has ":(" ten thousand times would be tried at each of them."""
    return _LLD_SECTION.fullmatch(line) if line.endswith(")") else None


def text_sections_of_lld(text: str) -> Iterator[MappedSection]:
    """The same from a map of LLD."""
    inside = False
    for line in text.split("\n"):
        if found := _lld_section(line):
            if inside and int(found["size"], 16):
                yield MappedSection(
                    found["name"], found["file"], int(found["at"], 16), int(found["size"], 16)
                )
        elif output := _LLD_OUTPUT.fullmatch(line):
            inside = output["name"] == ".text"


def section_after_text(text: str) -> str | None:
    """The output section that LLD put behind .text, from its map; None where it is the last or not there."""
    lines = (line for line in text.split("\n") if not _lld_section(line))
    names = [found["name"] for line in lines if (found := _LLD_OUTPUT.fullmatch(line))]
    behind = names[names.index(".text") + 1 :] if ".text" in names else []
    return behind[0] if behind else None
