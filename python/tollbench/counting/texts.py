"""Texts among a program's constants, and when two of them mean the same file."""

from __future__ import annotations

import re

_LETTERS = re.compile(rb"[\t\n\r\x1b\x20-\x7e\x80-\xff]*")
SOURCE_FILE = re.compile(rb"\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|h\+\+|inl|ipp|tcc|inc|cu|cuh|ixx|cppm)$")


def text_at(content: bytes, begin: int, end: int, reach: int) -> bytes | None:
    """The text that begins there in a section that ends at `end`; None where it need not be one.

    `reach` is how far it is to what is pointed at next. A text ends before that, with nothing but zeros
    behind; or it goes on beyond, where a linker let another text share its tail.
    """
    zero = content.find(b"\0", begin, end)
    if zero < 0 or not _LETTERS.fullmatch(content, begin, zero):
        return None
    if zero < begin + reach and any(content[zero : begin + reach]):
        return None
    return content[begin:zero]


class Folders:
    """Names of source files that are alike but for the folder in which somebody built.

    `__FILE__` stands in asserts and in what is thrown: no input, and other on every machine. The folders have
    to correspond: all that begins with one of side a begins with one and the same of side b. Names that are
    not absolute do not tell in which folder somebody built, and may be input. So may those that are: `taken`
    has all that were taken for the same, for whoever can see what a program reads.
    """

    def __init__(self) -> None:
        self._folder_of: dict[bytes, bytes] = {}
        self.taken: dict[bytes, bytes] = {}  # name on side a -> name on side b

    def alike(self, one: bytes, other: bytes) -> bool:
        """Whether both name the same source file in corresponding folders."""
        if any(not SOURCE_FILE.search(text) or text[:1] != b"/" or b" " in text for text in (one, other)):
            return False
        ours, theirs = one.split(b"/"), other.split(b"/")
        while ours and theirs and ours[-1] == theirs[-1]:
            ours.pop()
            theirs.pop()
        if len(ours) == one.count(b"/") + 1:  # not even the name of the file
            return False
        folder, there = b"/".join(ours), b"/".join(theirs)
        if self._folder_of.setdefault(folder, there) != there:
            return False
        self.taken[one] = other
        return True
