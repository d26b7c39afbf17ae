"""Names of functions as their author wrote them."""

from __future__ import annotations

import ctypes
from functools import cache

_LONGEST = 120
_OF_GO = "."  # bytes.(*Buffer).Write: the type of a method stands in brackets


def readable(symbol: str) -> str:
    """C++'s mangled names in words, by the C++ library's own demangler; as they are where there is none."""
    text = full_name(symbol)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@cache
def full_name(symbol: str) -> str:
    """The same, however long it is."""
    return (_demangled(symbol.encode()) if symbol.startswith("_Z") else None) or symbol


def short(name: str) -> str:
    """A function's name without its parameters."""
    name = name.replace("(anonymous namespace)::", "")
    depth, at = 0, len(name)
    for place, letter in enumerate(name):
        if letter in "<>":
            depth += {"<": 1, ">": -1}[letter]
        elif letter == "(" and depth == 0 and not name[:place].endswith(("operator", _OF_GO)):
            at = place
            break
    return name[:at]


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
        return library
    except (OSError, AttributeError):
        return None


def _demangled(symbol: bytes) -> str | None:
    library = _library()
    if library is None:
        return None
    status = ctypes.c_int()
    place = library.__cxa_demangle(symbol.split(b".")[0], None, None, ctypes.byref(status))
    if not place or status.value:
        return None
    text = ctypes.string_at(place).decode("utf-8", "replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(place))
    return text
