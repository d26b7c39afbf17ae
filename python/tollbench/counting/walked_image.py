"""One image as the walk over two of them asks for it: functions decoded once, and how far data reaches."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterator
from functools import cached_property

import numpy as np

from tollbench.counting.code import Code, Use, decode
from tollbench.counting.image import COPY, INITIALISERS, IRELATIVE, Image, Unreadable
from tollbench.counting.relative_tables import relative_tables
from tollbench.counting.texts import text_at

_FINALIZES = ("__cxa_finalize", "__cxa_finalize@GLIBC_2.2.5")
_FINDS_HANDLERS = ("__gxx_personality_", "__gcc_personality_", "_Unwind_")
_POINTER_BYTES = 8
UNWINDING = (".eh_frame", ".eh_frame_hdr", ".gcc_except_table")  # compared function by function


class WalkedImage:
    """Answers are kept, as they are asked for again and again. Raises Unreadable where nobody can."""

    def __init__(self, image: Image) -> None:
        if image.why_not_walked:
            raise Unreadable(image.why_not_walked)
        self.image = image
        self._codes: dict[int, Code] = {}
        self._places = sorted(image.relocations)
        self._pointed_at: list[int] | None = None
        self._tables: set[int] = set()
        self._relative_tables: dict[int, dict[int, int]] = {}  # function -> instruction -> entries
        self._object_ends: dict[int, int] | None = None

    def code(self, start: int) -> Code:
        """A function, decoded once."""
        if start not in self._codes:
            self._codes[start] = decode(self.image, start)
        return self._codes[start]

    def place_in_code(self, address: int) -> tuple[int, tuple[int, int]] | None:
        """(start of the function, (number of the instruction, byte in it)); None outside of code."""
        section = self.image.section_at(address)
        if section is None or not section.is_code:
            return None
        index = self.image.functions.containing(address)
        if index is None:
            return address, (0, 0)
        start = self.image.functions.starts[index]
        position = self.code(start).position(address)
        return None if position is None else (start, position)

    def looks(self, start: int) -> tuple[bytes, tuple[bytes | None, ...]]:
        """The shape of a function and the texts that it refers to."""
        code = self.code(start)
        taken = (item.target for item in code.references if item.use is Use.TAKES)
        return code.shape, tuple(self.text(target) for target in taken)

    def asks_for(self, code: Code, symbols: Collection[str]) -> bool:
        """Whether a function looks one of these up in another file."""
        found = (self.image.relocations.get(item.target) for item in code.references)
        return any(relocation is not None and relocation.symbol in symbols for relocation in found)

    def object_name(self, address: int) -> str:
        """Of the symbol that holds an address."""
        index = self.image.objects.containing(address)
        return "" if index is None else self.image.objects.names[index]

    def copied(self, address: int) -> tuple[str, int] | None:
        """(symbol, offset) where the address is of a library's variable that the executable has a copy of."""
        index = self.image.objects.containing(address)
        start = address if index is None else self.image.objects.starts[index]
        relocation = self.image.relocations.get(start)
        if relocation is None or relocation.kind != COPY:
            return None
        return relocation.symbol, address - start

    def known_otherwise(self, address: int) -> tuple[str, bool] | None:
        """(name, whether the address is its end) of a table that is compared by what it is for.

        An end that is another section's begin is taken for that: a table of functions once stood there.
        """
        section = self.image.section_at(address)
        if section is None:
            name = self.ends(address)
            return (name, True) if name in INITIALISERS else None
        return (section.name, False) if section.name in (*INITIALISERS, *UNWINDING) else None

    def ended_by(self, address: int) -> int | None:
        """Where the object begins that ends at an address."""
        if self._object_ends is None:
            self._object_ends = dict(zip(self.image.objects.ends, self.image.objects.starts, strict=True))
        return self._object_ends.get(address)

    def ends_piece(self, address: int) -> bool:
        """Whether what begins there is nothing of a nameless array before it."""
        return (
            self.ends(address) != ""
            or self.starts_table(address)
            or (self.begins_text(address) and self.text(address) != b"")
            or self.image.objects.containing(address) is not None
        )

    def called_from_outside(self) -> set[int]:
        """Functions to which nothing in a file need lead: those by which the dynamic linker chooses others
        for this processor, those by which exceptions find their handlers, and what these call.
        """
        resolvers = (item.addend for item in self.image.relocations.values() if item.kind == IRELATIVE)
        handlers = (
            start
            for start, name in zip(self.image.functions.starts, self.image.functions.names, strict=True)
            if name.startswith(_FINDS_HANDLERS)
        )
        found: set[int] = set()
        waiting = [*resolvers, *handlers]
        while waiting:
            index = self.image.functions.containing(waiting.pop())
            if index is None or (start := self.image.functions.starts[index]) in found:
                continue
            found.add(start)
            waiting += [item.target for item in self.code(start).references if item.use is Use.GOES_TO]
        return found

    def filled_in(self, code: Code) -> bool:
        """Whether the dynamic linker writes into a function."""
        return bool(self.relocated(code.starts[0], code.starts[-1] - code.starts[0]))

    @cached_property
    def mark_of_the_end(self) -> int | None:
        """The byte in which crtbegin.o notes that all destructors ran; a variable on its own.

        It is the one that a function which runs at the end, and calls __cxa_finalize, reads and writes as one
        byte, and that nothing else refers to.
        """
        for start in self.image.initialisers.get(".fini_array", []):
            code = self.code(start)
            if not self.asks_for(code, _FINALIZES):
                continue
            bytes_read = [item.target for item in code.references if item.use is Use.READS and item.size == 1]
            mark = bytes_read[0] if bytes_read else 0
            section = self.image.section_at(mark)
            alone = bytes_read == [mark, mark] and not self._mentioned(mark, start)
            if alone and section is not None and section.varies:
                return mark
        return None

    def _mentioned(self, address: int, but_for: int) -> bool:
        """Whether another function has an address, or a place that the dynamic linker fills."""
        return any(
            reference.target == address
            for start in self.image.functions.starts
            if start != but_for
            for reference in self.code(start).references
        ) or any(item.defined + item.addend == address for item in self.image.relocations.values())

    def marks_the_file(self, address: int) -> bool:
        """Whether it is of __dso_handle, that holds its own address, as heads of lists do, which are read."""
        return self.image.pointer(address) == address and address in self._marks_of_the_file

    @cached_property
    def _marks_of_the_file(self) -> set[int]:
        """By name; without symbols it is what the function of crtbegin.o hands to __cxa_finalize."""
        if not self.image.stripped:
            return {self.image.mark_of_the_file}
        return {
            item.target
            for start in self.image.initialisers.get(".fini_array", [])
            if self.asks_for(code := self.code(start), _FINALIZES)
            for item in code.references
            if item.use is Use.READS and item.size == _POINTER_BYTES
        }

    def unknown_code(self, address: int) -> bytes:
        """From an address amid code that no table tells the length of to the next known function."""
        section = self.image.section_at(address)
        if section is None or self.image.functions.containing(address) is not None:
            return b""
        following = self.image.functions.after(address)
        end = section.end if following is None else min(section.end, self.image.functions.starts[following])
        return self.image.read(address, end - address)

    def ends(self, address: int) -> str:
        """The name of the section that ends at an address; "" where none does."""
        return next((section.name for section in self.image.sections if section.end == address), "")

    def relocated(self, start: int, size: int) -> list[int]:
        """Offsets of relocations in a stretch."""
        begin = bisect.bisect_left(self._places, start)
        end = bisect.bisect_left(self._places, start + size)
        return [place - start for place in self._places[begin:end]]

    def reach(self, address: int) -> int:
        """Bytes from an address to the next one that anything points at, or to the end of its section."""
        pointed_at = self._all_pointed_at()
        section = self.image.section_at(address)
        end = section.end if section is not None else address
        index = bisect.bisect_right(pointed_at, address)
        return min(end, pointed_at[index] if index < len(pointed_at) else end) - address

    def text(self, address: int) -> bytes | None:
        """A constant text without a symbol that begins there."""
        section = self.image.section_at(address)
        if section is None or section.varies or section.is_code:
            return None
        if section.zero:
            return b""
        begin = section.offset - section.start
        return text_at(self.image.content, begin + address, begin + section.end, self.reach(address))

    def begins_text(self, address: int) -> bool:
        """Whether a text begins there, and not amid another one."""
        return self.text(address) is not None and self.image.read(address - 1, 1) in (b"\0", b"")

    def table_entries(self, address: int) -> int:
        """How many distances to instructions stand there, up to where something else points."""
        size = self.reach(address) // 4 * 4
        values = self.distances(address, size)
        count = 0
        for value in values:
            section = self.image.section_at(address + value)
            if section is None or not section.is_code or self.place_in_code(address + value) is None:
                break
            count += 1
        if count and not any(values[count:]):
            self._tables.add(address)
            return count
        return 0

    def starts_table(self, address: int) -> bool:
        """Whether a table of distances was found there, to instructions or to data."""
        return address in self._tables

    def listed(self, start: int, at: int) -> list[int]:
        """What a table of distances leads to whose address the instruction at `at` of a function loads.

        Empty where it loads no such address, or one of numbers that lead out of the file.
        """
        code = self.code(start)
        if not code.reads_distances:
            return []
        if start not in self._relative_tables:
            places = [item.at for item in code.references if item.use is Use.TAKES]
            self._relative_tables[start] = relative_tables(self.image, start, places)
        count = self._relative_tables[start].get(at, 0)
        table = next((item.target for item in code.references if item.at == at), 0)
        section = self.image.section_at(table)
        if not count or section is None or section.varies or section.is_code or section.zero:
            return []
        values = self.distances(table, 4 * count)
        if len(values) != count or self.relocated(table, 4 * count):
            return []
        targets = [table + value for value in values if value]
        inside = all(self.image.section_at(target) is not None for target in targets)
        if not inside or len(targets) != count:
            return []
        self._tables.add(table)
        return targets

    def distances(self, address: int, size: int) -> list[int]:
        """Signed numbers of four bytes."""
        found: list[int] = np.frombuffer(self.image.read(address, size), "<i4").tolist()
        return found

    def _all_pointed_at(self) -> list[int]:
        if self._pointed_at is None:
            found = set(self._from_code()) | {
                relocation.defined + relocation.addend for relocation in self.image.relocations.values()
            }
            found |= set(self.image.objects.starts) | set(self.image.objects.ends)
            found |= {place for place, item in self.image.relocations.items() if item.symbol}
            self._pointed_at = sorted(found)
        return self._pointed_at

    def _from_code(self) -> Iterator[int]:
        for start in self.image.functions.starts:
            for reference in self.code(start).references:
                if reference.use in (Use.READS, Use.GOES_THROUGH, Use.TAKES):
                    yield reference.target
                if reference.use is Use.TAKES:
                    yield from self.listed(start, reference.at)
