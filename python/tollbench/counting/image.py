"""One executable or shared library as it lies in its file: sections, functions, objects, relocations.

Sources: System V ABI and its x86-64 supplement (sections, symbols, relocation types), the Linux Standard Base
(.eh_frame, .eh_frame_hdr) and the C++ ABI for Itanium (tables of exception handlers).
"""

from __future__ import annotations

import bisect
import os
import re
import struct
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from elftools.elf.constants import P_FLAGS
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.relocation import RelrRelocationSection
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

from tollbench.counting.unwinding import Unwinding
from tollbench.launching.answers import MAX_PROGRAM_BYTES, open_plain
from tollbench.launching.elf_files import DAMAGES, bytes_of
from tollbench.launching.interrupt import breakable

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
RELOCATION = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_BOTH = P_FLAGS.PF_W | P_FLAGS.PF_X
_MARK = b"\x7fELF"
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")  # of ELF, 64 bits
_SEGMENT_BYTES, _SECTION_BYTES = 56, 64  # of an entry of its tables
MOST_SECTIONS = 1000  # programs have some forty
_LONGEST_NAME = 2**16
_NO_SECTION = 0xFFF1  # SHN_ABS
# Exported by programs: where sections begin and end.
_MARKS_OF_THE_LINKER = ("__bss_start", "_edata", "_end", "__data_start", "data_start")
_MARK_OF_THE_FILE = "__dso_handle"
MOST_CODE_BYTES = 16 << 20  # some 4 million instructions, which take 5 s to read
ALLOCATED, WRITABLE, EXECUTABLE, THREAD_LOCAL = 0x2, 0x1, 0x4, 0x400
NO_TYPE, OBJECT, FUNCTION, THREAD_OBJECT, INDIRECT = 0, 1, 2, 6, 10
TYPE_OF_INFO = 0xF
PIE = 0x08000000  # DF_1_PIE
RELATIVE, COPY, IRELATIVE = 8, 5, 37  # of R_X86_64_*
# Writable in the file, but constant once the dynamic linker is done with them.
CONSTANT_AFTER_START = (".data.rel.ro", ".got", ".dynamic", ".init_array", ".fini_array", ".preinit_array")
STUBS = ".plt"  # .plt, .plt.got, .plt.sec: a jump to each function of another file
NAME_IN_C = re.compile(r"[A-Za-z_]\w*")
INITIALISERS = (".preinit_array", ".init_array", ".fini_array", ".ctors", ".dtors")
# Addresses stand in such code and data without relocations, and look like any other number.
FIXED = "has fixed addresses (-no-pie, -static); link it with -pie, or -static-pie"
# Two builds of one source in two folders differ everywhere to the walk (Go 1.26, -buildmode=pie).
MADE_BY_GO = (
    "is a Go program: only what is loaded byte for byte alike is known to be the same (try -trimpath)"
)
OF_GO = ".go.buildinfo"
_NO_HANDLERS = "has exception handlers and no sorted table of them (.eh_frame_hdr)"


class Unreadable(Exception):
    """A file whose code cannot be compared; the text says why, as the end of a sentence on it."""


def open_program(path: Path) -> BinaryIO:
    """Raises OSError, also for what is no plain file; Unreadable for what is too large, or has no end."""
    file = open_plain(path)
    try:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_PROGRAM_BYTES:
            raise Unreadable(f"is larger than {MAX_PROGRAM_BYTES >> 30} GiB")
        if told := _endless(file.read(_HEADER.size), size):
            raise Unreadable(told)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _endless(header: bytes, size: int) -> str:
    """Why the tables of a file of 64 bits would be walked for ever; "" where they would not."""
    if len(header) < _HEADER.size or header[:5] != b"\x7fELF\x02":
        return ""  # what it is is told by whoever reads on
    *_, segment_bytes, segments, section_bytes, sections, _ = _HEADER.unpack(header)
    if (segments and segment_bytes != _SEGMENT_BYTES) or (sections and section_bytes != _SECTION_BYTES):
        return "is damaged: its tables have entries of another size"
    if segments * segment_bytes > size or sections * section_bytes > size:
        return "is damaged: its tables are longer than it"
    return ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the file that is in memory while it runs; `end` is exclusive."""

    name: str
    start: int
    end: int
    flags: int
    zero: bool  # no bytes in the file
    offset: int  # in the file

    @property
    def size(self) -> int:
        """In bytes."""
        return self.end - self.start

    @property
    def is_code(self) -> bool:
        """Whether instructions may be in it."""
        return bool(self.flags & EXECUTABLE)

    @property
    def varies(self) -> bool:
        """Whether the program may write to it once it runs."""
        return bool(self.flags & WRITABLE) and not self.name.startswith(CONSTANT_AFTER_START)


@dataclass(frozen=True, slots=True)
class Relocation:
    """What the dynamic linker puts into a place: the address of `symbol`, or of `addend` in this file."""

    kind: int
    symbol: str  # with its version, "" where there is none
    defined: int  # address of the symbol in this file, 0: elsewhere
    addend: int


@dataclass(frozen=True, slots=True)
class Extents:
    """Named stretches of memory, by start."""

    starts: Sequence[int]
    ends: Sequence[int]
    names: Sequence[str]

    def containing(self, address: int) -> int | None:
        """Index of the one that holds an address."""
        index = bisect.bisect_right(self.starts, address) - 1
        return index if index >= 0 and address < self.ends[index] else None

    def size(self, index: int) -> int:
        """Bytes of one of them."""
        return self.ends[index] - self.starts[index]

    def within(self, index: int, address: int) -> tuple[int, int]:
        """Where in one of them an address is, and the size of that one."""
        return address - self.starts[index], self.size(index)

    def after(self, address: int) -> int | None:
        """Index of the first that starts beyond an address."""
        index = bisect.bisect_right(self.starts, address)
        return index if index < len(self.starts) else None


def extents(found: Mapping[int, tuple[int, str]]) -> Extents:
    """From start -> (end, name)."""
    starts = sorted(found)
    return Extents(starts, [found[start][0] for start in starts], [found[start][1] for start in starts])


@dataclass(slots=True)
class _Symbols:
    objects: dict[int, tuple[int, str]] = field(default_factory=dict)
    functions: dict[int, tuple[int, str]] = field(default_factory=dict)
    thread_local: dict[int, tuple[int, str]] = field(default_factory=dict)


class Image:
    """An ELF file for x86-64. Raises Unreadable for any other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open_program(path) as file, breakable():
                self.content = file.read()
                if not self.content.startswith(_MARK):
                    raise Unreadable("is no file of machine code (ELF), such as a script")
                self._read(ELFFile(file))
        except (OSError, ValueError) as error:
            raise Unreadable(f"cannot be read: {error}") from None
        except DAMAGES as error:
            raise Unreadable(f"is damaged: {error or 'a section has no end'}") from None

    def _read(self, elf: ELFFile) -> None:
        if elf["e_machine"] != "EM_X86_64" or elf.elfclass != 64:
            machine = str(elf["e_machine"]).removeprefix("EM_")
            raise Unreadable(f"holds code for {machine}, only x86-64 is compared")
        if elf.num_sections() > MOST_SECTIONS:
            raise Unreadable(f"has more than {MOST_SECTIONS} sections")
        if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
            raise Unreadable("is neither an executable nor a shared library")
        self.why_not_walked = FIXED if elf["e_type"] == "ET_EXEC" else ""
        if elf.get_section_by_name(OF_GO) is not None:
            self.why_not_walked = MADE_BY_GO
        self.entry = int(elf["e_entry"])
        stacks = [part["p_flags"] for part in elf.iter_segments() if part["p_type"] == "PT_GNU_STACK"]
        loaded = [part["p_flags"] for part in elf.iter_segments() if part["p_type"] == "PT_LOAD"]
        # Code may be written there and run without a system call that tells of it.
        self.may_run_what_it_writes = (
            not stacks or stacks[0] & P_FLAGS.PF_X or any(flags & _BOTH == _BOTH for flags in loaded)
        )
        self.interpreter = next(
            (part.get_interp_name() for part in elf.iter_segments() if isinstance(part, InterpSegment)), ""
        )
        self.sections = self._sections(elf)
        if not self.sections:
            raise Unreadable("has no table of sections")
        if sum(section.size for section in self.sections if section.is_code) > MOST_CODE_BYTES:
            raise Unreadable(f"holds more than {MOST_CODE_BYTES >> 20} MiB of code")
        self._starts = [section.start for section in self.sections]
        self.stripped = elf.get_section_by_name(".symtab") is None
        self.imports: set[str] = set()
        self.exports: dict[str, int] = {}
        self.thread_exports: dict[str, int] = {}  # thread-local variables, by their places in the block
        self.numbers: dict[str, int] = {}  # no addresses: the size of an embedded file
        self.mark_of_the_file = 0  # the address of what crtbegin.o calls so; 0: no symbol tells
        self.ambiguous = ""  # a name that several versions of a symbol have
        dynamic = [part for part in elf.iter_segments() if isinstance(part, DynamicSegment)]
        tags = {tag["d_tag"]: tag["d_val"] for part in dynamic for tag in part.iter_tags()}
        self.first, self.last = int(tags.get("DT_INIT", 0)), int(tags.get("DT_FINI", 0))
        self.flags = int(tags.get("DT_FLAGS_1", 0))
        names = elf.get_section_by_name(".dynstr")
        self.dynamic_names = b"\0" + bytes_of(names) if names is not None else b""
        symbols = _Symbols()
        for name in (".symtab", ".dynsym"):
            self._read_symbols(elf, name, symbols)
        self.relocations = self._relocations(elf)
        tables = [section.start for section in self.sections if section.name == ".eh_frame_hdr"]
        self.unwinding = Unwinding.read(self, tables[0] if tables else 0)
        for start, end in self.unwinding.ranges():
            section = self.section_at(start)
            if section is None or section.name.startswith(STUBS):
                continue  # one entry for all of them, and a stub more is no change of the others
            symbols.functions[start] = (end, symbols.functions.get(start, (0, ""))[1])
        handlers = any(section.name == ".gcc_except_table" for section in self.sections)
        if handlers and not self.unwinding:
            self.why_not_walked = self.why_not_walked or _NO_HANDLERS
        self._read_thread_block(elf, symbols)
        self.functions = extents(symbols.functions)
        self.objects = extents(symbols.objects)
        self.thread_local = tuple(
            section for section in self._all_sections(elf) if section.flags & THREAD_LOCAL
        )

    @cached_property
    def initialisers(self) -> Mapping[str, list[int]]:
        """By section the functions that run before and after main, in the order of the file."""
        found = {".init": [self.first], ".fini": [self.last]}
        for section in self.sections:
            if section.name in INITIALISERS:
                targets = [self.pointer(place) for place in range(section.start, section.end, 8)]
                if None in targets:
                    raise Unreadable(f"has a function of another file in {section.name}")
                found[section.name] = [target for target in targets if target is not None]
        return {name: [target for target in targets if target] for name, targets in found.items()}

    def pointer(self, place: int) -> int | None:
        """The address in this file that the eight bytes at `place` hold once it is loaded."""
        relocation = self.relocations.get(place)
        if relocation is None:
            return None
        if relocation.kind in (RELATIVE, IRELATIVE):
            return relocation.addend
        return relocation.defined + relocation.addend if relocation.defined else None

    def section_at(self, address: int) -> Section | None:
        """The section that holds an address; thread-local ones have none of their own."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.sections[index].end:
            return None
        return self.sections[index]

    def in_header(self, address: int) -> bool:
        """Whether it lies before all sections, where the C library reads how the file is laid out."""
        return address < self._starts[0]

    def section_named_in_c(self, address: int) -> Section | None:
        """The section that an address is in or at the end of, where a program can name its bounds."""
        for section in self.sections:
            if section.start <= address <= section.end and NAME_IN_C.fullmatch(section.name):
                return section
        return None

    def read(self, address: int, size: int) -> bytes:
        """Bytes as they are in the file, or zeros; fewer where the section ends."""
        section = self.section_at(address)
        if section is None:
            return b""
        size = min(size, section.end - address)
        begin = section.offset + address - section.start
        return bytes(size) if section.zero else self.content[begin : begin + size]

    def function_name(self, address: int) -> str:
        """The symbol of the function that holds an address; without one its place."""
        index = self.functions.containing(address)
        name = "" if index is None else self.functions.names[index]
        return name or f"code at {address:#x}"

    @staticmethod
    def _all_sections(elf: ELFFile) -> list[Section]:
        found = []
        length = elf.stream.seek(0, os.SEEK_END)
        for raw in elf.iter_sections():
            start, size = int(raw["sh_addr"]), int(raw["sh_size"])
            if raw["sh_flags"] & ALLOCATED and size:
                zero = raw["sh_type"] == "SHT_NOBITS"
                offset = int(raw["sh_offset"])
                if not zero and offset + size > length:
                    raise Unreadable(f"is damaged: {raw.name} ends beyond it")
                found.append(Section(raw.name, start, start + size, int(raw["sh_flags"]), zero, offset))
        return sorted(found, key=lambda section: (section.start, section.end))

    def _sections(self, elf: ELFFile) -> list[Section]:
        """Without .tbss, whose addresses are those of what follows it."""
        return [
            section
            for section in self._all_sections(elf)
            if not (section.zero and section.flags & THREAD_LOCAL)
        ]

    def _read_symbols(self, elf: ELFFile, name: str, into: _Symbols) -> None:
        section = elf.get_section_by_name(name)
        if section is None:
            return
        table = np.frombuffer(bytes_of(section), SYMBOL)
        strings = bytes_of(elf.get_section(section["sh_link"]))
        dynamic = name == ".dynsym"
        for row in table[(table["name"] != 0)]:
            kind = int(row["info"]) & TYPE_OF_INFO
            value, size = int(row["value"]), int(row["size"])
            defined = int(row["section"]) != 0
            number = int(row["section"]) == _NO_SECTION
            in_code = defined and not number and (place := self.section_at(value)) and place.is_code
            if kind == NO_TYPE and in_code:
                kind = FUNCTION  # as some assemblers leave it
            # Of data, assemblers leave it that way too, and so does `ld -b binary`.
            untyped = dynamic and defined and kind == NO_TYPE
            if kind not in (OBJECT, FUNCTION, INDIRECT, THREAD_OBJECT) and defined and not untyped:
                continue
            begin = int(row["name"])
            end = strings.index(b"\0", begin, begin + _LONGEST_NAME)
            text = strings[begin:end].decode("utf-8", "replace")
            if not defined:
                if dynamic:
                    self.imports.add(text)
                continue
            if untyped and text in _MARKS_OF_THE_LINKER:
                continue
            if text == _MARK_OF_THE_FILE:
                self.mark_of_the_file = value
            if dynamic and self._exported(kind, int(row["section"])).setdefault(text, value) != value:
                self.ambiguous = text
            if kind == THREAD_OBJECT:
                if size:
                    into.thread_local[value] = (value + size, text)
                continue
            if untyped:
                continue
            known = into.objects if kind == OBJECT else into.functions
            if size and known.get(value, (0, ""))[0] < value + size:
                known[value] = (value + size, text)

    def _exported(self, kind: int, section: int) -> dict[str, int]:
        """Where a symbol belongs that other files may take."""
        if kind == THREAD_OBJECT:
            return self.thread_exports
        return self.numbers if kind == NO_TYPE and section == _NO_SECTION else self.exports

    @cached_property
    def offered(self) -> Set[str]:
        """All names that other files may take."""
        return self.exports.keys() | self.thread_exports.keys() | self.numbers.keys()

    def _read_thread_block(self, elf: ELFFile, symbols: _Symbols) -> None:
        """`thread_objects` by their places in the block, and how far below the thread pointer that begins.

        0 where nothing tells one variable from the next, and in a library, whose distances are in no
        instruction. Source: the x86-64 variant in "ELF Handling For Thread-Local Storage".
        """
        self.thread_objects = extents(symbols.thread_local)
        self.thread_block = self.thread_start = 0
        parts = [part.header for part in elf.iter_segments() if part["p_type"] == "PT_TLS"]
        executable = self.interpreter or self.flags & PIE
        if len(parts) != 1 or self.stripped or not executable:
            return
        start, align = int(parts[0]["p_vaddr"]), max(1, int(parts[0]["p_align"]))
        if start % align == 0:
            self.thread_start = start
            self.thread_block = -(-int(parts[0]["p_memsz"]) // align) * align

    def _relocations(self, elf: ELFFile) -> dict[int, Relocation]:
        found: dict[int, Relocation] = {}
        for section in elf.iter_sections():
            if not section["sh_flags"] & ALLOCATED:
                continue
            if section["sh_type"] == "SHT_RELA":
                self._read_relocations(elf, section, found)
            elif isinstance(section, RelrRelocationSection):
                for item in section.iter_relocations():
                    place = int(item["r_offset"])
                    addend = int.from_bytes(self.read(place, 8), "little")
                    found[place] = Relocation(RELATIVE, "", 0, addend)
        return found

    def _read_relocations(self, elf: ELFFile, section: Any, into: dict[int, Relocation]) -> None:
        names = self._dynamic_names(elf, section["sh_link"])
        for row in np.frombuffer(bytes_of(section), RELOCATION):
            info, addend = int(row["info"]), int(row["addend"])
            symbol, defined = names[info >> 32] if info >> 32 else ("", 0)
            into[int(row["offset"])] = Relocation(info & 0xFFFFFFFF, symbol, defined, addend)

    @staticmethod
    def _dynamic_names(elf: ELFFile, link: int) -> list[tuple[str, int]]:
        """(name with version, address or 0) of every symbol in a table."""
        symbols = elf.get_section(link) if link else None
        if not isinstance(symbols, SymbolTableSection):
            return []
        versions = elf.get_section_by_name(".gnu.version")
        numbers = np.frombuffer(bytes_of(versions), "<u2") if versions is not None else None
        needed = _needed_versions(elf)
        found = []
        for index, symbol in enumerate(symbols.iter_symbols()):
            version = needed.get(int(numbers[index]) & 0x7FFF, "") if numbers is not None else ""
            here = symbol["st_shndx"] != "SHN_UNDEF"
            name = f"{symbol.name}@{version}" if version and not here else symbol.name
            found.append((name, int(symbol["st_value"]) if here else 0))
        return found


def _needed_versions(elf: ELFFile) -> dict[int, str]:
    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    found: dict[int, str] = {}
    most = int(section["sh_size"]) // 16  # the least that an entry takes: more would be the same ones again
    for _, items in section.iter_versions():
        most -= 1
        if most < 0:
            raise Unreadable("is damaged: its table of versions has no end")
        for item in items:
            most -= 1
            found[int(item["vna_other"])] = item.name
            if most < 0:
                raise Unreadable("is damaged: its table of versions has no end")
    return found
