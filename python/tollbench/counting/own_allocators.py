"""Whether a program has an allocator of its own, which no library can come before.

What is linked in with hidden symbols is called directly: a library that counts malloc would see nothing and
tell 0. Tables of symbols say so where they were left; else what known allocators print, and who asks the
kernel for memory without ever asking libc for any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from tollbench.counting.image import (
    FUNCTION,
    INDIRECT,
    OF_GO,
    SYMBOL,
    TYPE_OF_INFO,
    Unreadable,
    open_program,
)
from tollbench.launching.elf_files import DAMAGES, bytes_of
from tollbench.launching.interrupt import breakable

_MALLOC = frozenset(("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"))
_OPERATOR_NEW = re.compile(r"_Zn[aw][jm].*")  # the C++ ABI for Itanium
# Of jemalloc, Rust's jemalloc, mimalloc, tcmalloc, rpmalloc, snmalloc, TBB: asked for by their own names.
_BY_NAME = re.compile(
    r"(je_|_rjem_|mi_|tc_|rp|sn_|scalable_)(malloc|mallocx|calloc|realloc|new|aligned_alloc)|mallocx"
)
_PRINTS = {  # what allocators hold as texts, also where they are stripped
    "jemalloc": b"<jemalloc>: ",
    "tcmalloc": b"TCMALLOC_",
    "mimalloc": b"mimalloc: ",
}
_FROM_THE_KERNEL = frozenset(("mmap", "mmap64", "sbrk", "brk"))
_PYTHON = "PyObject_Malloc"  # which holds mimalloc for another build of itself
_RUNTIME = re.compile(r"ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|c\+\+|c\+\+abi|atomic)\.so")
_BINDING, _WEAK = 4, 2  # of a symbol: what is asked for weakly may be nowhere
_NOT_SEEN = "its allocations are not seen"


@dataclass(frozen=True, slots=True)
class _File:
    """What an ELF file says of allocating."""

    stripped: bool
    is_go: bool
    alone: bool  # it needs no libraries but those of its language, which would allocate for it
    imports: frozenset[str]
    exports: frozenset[str]
    functions: frozenset[str]  # that it defines, hidden ones too
    allocators: tuple[str, ...]  # whose texts it holds

    def reason(self, *, is_program: bool, seen: bool) -> str:
        """Why it allocates where nobody sees it; "" where nothing says so. `seen`: malloc was called."""
        if self.exports & _MALLOC or _PYTHON in self.exports:
            return ""  # who comes before it is asked first
        if hidden := sorted(self.functions & _MALLOC):
            return f"brings a malloc of its own that is hidden ({hidden[0]})"
        if named := sorted(name for name in self.functions | self.imports if _BY_NAME.fullmatch(name)):
            return f"brings an allocator of its own ({named[0]})"
        if self.allocators:
            return f"brings an allocator of its own ({self.allocators[0]}, by its texts)"
        if is_program and self.is_go:
            return "is a Go program, which has an allocator of its own"
        asks_libc = self.imports & _MALLOC or any(map(_OPERATOR_NEW.fullmatch, self.imports))
        asks_kernel = sorted(self.imports & _FROM_THE_KERNEL)
        if is_program and self.stripped and asks_kernel and not asks_libc and (self.alone or not seen):
            return (
                f"is stripped, takes memory by {asks_kernel[0]} and never by malloc, as if it brought its own"
            )
        return ""


def hidden_in(paths: Iterable[str], *, seen: bool = True) -> str:
    """Why the allocations of a process that loaded these files are not all seen; "" where nothing says so.

    The first file is the program; `seen` is whether any allocation of it was.
    """
    for at, path in enumerate(dict.fromkeys(paths)):
        found = _file(path)
        if found is not None and (reason := found.reason(is_program=at == 0, seen=seen)):
            return f"{reason}{'' if at == 0 else f', in {Path(path).name}'}: {_NOT_SEEN}"
    return ""


@cache
def _file(path: str) -> _File | None:
    """None for what is no ELF file that can be read."""
    try:
        with open_program(Path(path)) as file, breakable():
            content = file.read()
            return _read(ELFFile(file), content)
    except (OSError, Unreadable, *DAMAGES):
        return None


def _read(elf: ELFFile, content: bytes) -> _File | None:
    if elf.elfclass != 64 or not elf.little_endian:
        return None
    exports, imports = _names(elf, ".dynsym", defined=True), _names(elf, ".dynsym", defined=False)
    return _File(
        stripped=elf.get_section_by_name(".symtab") is None,
        is_go=elf.get_section_by_name(OF_GO) is not None,
        alone=all(_RUNTIME.match(name) for name in _needed(elf)),
        imports=imports,
        exports=exports,
        functions=_names(elf, ".symtab", defined=True) | exports,
        allocators=tuple(name for name, text in _PRINTS.items() if text in content),
    )


def _names(elf: ELFFile, table: str, *, defined: bool) -> frozenset[str]:
    """Of functions that the file defines, or of what it asks other files for."""
    section = elf.get_section_by_name(table)
    if section is None:
        return frozenset()
    rows = np.frombuffer(bytes_of(section), SYMBOL)
    kinds = rows["info"] & TYPE_OF_INFO
    if defined:
        rows = rows[(rows["section"] != 0) & ((kinds == FUNCTION) | (kinds == INDIRECT))]
    else:
        rows = rows[(rows["section"] == 0) & (rows["info"] >> _BINDING != _WEAK)]
    texts = bytes_of(elf.get_section(section["sh_link"]))
    begins = set(rows["name"].tolist())
    names = (texts[at : texts.index(b"\0", at)].decode("utf-8", "replace") for at in begins)
    return frozenset(name.split(".")[0] for name in names)  # "malloc.constprop.0", "malloc.cold"


def _needed(elf: ELFFile) -> list[str]:
    parts = [part for part in elf.iter_segments() if isinstance(part, DynamicSegment)]
    tags = [tag for part in parts for tag in part.iter_tags("DT_NEEDED")]
    return [str(getattr(tag, "needed", "")) for tag in tags]  # which pyelftools gives such a tag
