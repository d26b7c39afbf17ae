"""What an ELF file says of its functions for unwinding: where they begin and end, and their handlers.

This table is there in stripped files too. Sources: Linux Standard Base, "DWARF extensions" (.eh_frame_hdr,
.eh_frame); "Exception handling tables" of the C++ ABI for Itanium (the table of a function's handlers).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

SORTED_TABLE = b"\x01\x1b\x03\x3b"  # version, and the encodings that GNU and LLVM linkers write
OMITTED = 0xFF
RELATIVE_TO_PLACE = 0x10
INDIRECT = 0x80
_LONGEST_LEB_BITS = 70


class Readable(Protocol):
    """A file as it lies in memory."""

    def read(self, address: int, size: int) -> bytes:
        """Fewer bytes where a section ends."""


class Cursor:
    """Reads numbers one after another from a place in memory."""

    def __init__(self, image: Readable, address: int) -> None:
        self._image, self.address = image, address

    def take(self, size: int) -> bytes:
        """The next bytes. Raises ValueError at the end of the section."""
        found = self._image.read(self.address, size)
        if len(found) < size:
            raise ValueError("ends too early")
        self.address += size
        return found

    def number(self, size: int, *, signed: bool = False) -> int:
        """Of a fixed size, little end first."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def leb(self, *, signed: bool = False) -> int:
        """A number of variable length (DWARF's LEB128)."""
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
            if shift > _LONGEST_LEB_BITS:
                raise ValueError("has a number of more than 64 bits")
        return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> bytes:
        """Up to the next zero."""
        found = bytearray()
        while byte := self.number(1):
            found.append(byte)
        return bytes(found)


@dataclass(frozen=True, slots=True)
class Handlers:
    """A function's exception handlers: calls and actions as bytes, and the places of the types they name."""

    actions: bytes
    types: tuple[int, ...]  # addresses of pointers to type information; 0 catches everything
    indirect: bool  # whether `types` are places of pointers; else they are the addresses themselves


class Unwinding:
    """The entries of .eh_frame by the functions that they are for."""

    def __init__(self, image: Readable, entries: dict[int, int]) -> None:
        self._image = image
        self._entries = entries  # start of a function -> address of its entry
        self._handler_encodings: dict[int, int] = {}
        self._tables: dict[int, Handlers] = {}  # a stranger's functions may all have one, as long as the file

    @staticmethod
    def read(image: Readable, table: int) -> Unwinding:
        """From where .eh_frame_hdr begins; nothing where that is no sorted table, or 0: not there."""
        if not table or image.read(table, 4) != SORTED_TABLE:
            return Unwinding(image, {})
        count = int.from_bytes(image.read(table + 8, 4), "little")
        raw = np.frombuffer(image.read(table + 12, 8 * count), "<i4")
        starts, entries = (raw[0::2] + np.int64(table)), (raw[1::2] + np.int64(table))
        return Unwinding(image, dict(zip(starts.tolist(), entries.tolist(), strict=True)))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._entries)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Start and end of each function."""
        for start, entry in self._entries.items():
            size = int.from_bytes(self._image.read(entry + 12, 4), "little")
            if size:
                yield start, start + size

    def handlers(self, start: int) -> Handlers | None:
        """Of the function that begins there; None: it has none. Raises ValueError for a damaged table."""
        entry = self._entries.get(start)
        if entry is None:
            return None
        cursor = Cursor(self._image, entry + 4)
        common = cursor.address - cursor.number(4)
        encoding = self._handler_encoding(common)
        if encoding == OMITTED:
            return None
        cursor = Cursor(self._image, entry + 16)
        if not cursor.leb():
            return None
        place = cursor.address
        value = cursor.number(_pointer_size(encoding), signed=True)
        if (encoding & 0x70) == RELATIVE_TO_PLACE and value:
            value += place
        if value and value not in self._tables:
            self._tables[value] = self._table(value)
        return self._tables[value] if value else None

    def _handler_encoding(self, common: int) -> int:
        """How entries of this common part point to their handlers."""
        if common not in self._handler_encodings:
            self._handler_encodings[common] = self._read_handler_encoding(common)
        return self._handler_encodings[common]

    def _read_handler_encoding(self, common: int) -> int:
        cursor = Cursor(self._image, common + 9)  # behind length, zero and version
        letters = cursor.text()
        cursor.leb()  # code alignment
        cursor.leb(signed=True)  # data alignment
        cursor.leb()  # register of the return address
        if not letters.startswith(b"z"):
            return OMITTED
        cursor.leb()  # length of what follows
        for letter in letters[1:].decode("ascii", "replace"):
            if letter == "L":
                return cursor.number(1)
            if letter == "P":
                cursor.take(_pointer_size(cursor.number(1)))
            elif letter == "R":
                cursor.take(1)
        return OMITTED

    def _table(self, address: int) -> Handlers:
        cursor = Cursor(self._image, address)
        if cursor.number(1) != OMITTED:
            raise ValueError("has landing pads that are not relative to their function")
        encoding = cursor.number(1)
        end_of_types = 0
        if encoding != OMITTED:
            length = cursor.leb()
            end_of_types = cursor.address + length
        begin = cursor.address
        cursor.take(1)
        calls = cursor.leb()
        cursor.take(calls)
        highest = 0
        while end_of_types and cursor.address < end_of_types - 4 * highest - 3:
            mark = cursor.address
            highest = max(highest, cursor.leb(signed=True))
            cursor.leb(signed=True)
            if cursor.address > end_of_types - 4 * highest:
                cursor.address = mark  # these were the padding before the types
                break
        actions = self._image.read(begin, cursor.address - begin)
        types = tuple(self._type(end_of_types - 4 * (index + 1), encoding) for index in range(highest))
        return Handlers(actions, types, bool(encoding & INDIRECT))

    def _type(self, place: int, encoding: int) -> int:
        if _pointer_size(encoding) != 4:
            raise ValueError("has handlers' types in an unknown form")
        value = Cursor(self._image, place).number(4, signed=True)
        if value and (encoding & 0x70) == RELATIVE_TO_PLACE:
            value += place
        return value


def _pointer_size(encoding: int) -> int:
    return {0x0: 8, 0x2: 2, 0x3: 4, 0x4: 8, 0xA: 2, 0xB: 4, 0xC: 8}.get(encoding & 0x0F, 8)
