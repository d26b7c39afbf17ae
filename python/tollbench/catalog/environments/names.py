"""What an environment's name says: BASE[-OPTION ...][+ALLOCATOR]. Pure: nothing here looks at the machine.

BASE is "host", or a compiler with or without its version: "gcc-11", "clang-19", "gcc". Options stand in any
order and come out in one: "gcc-12-native-O3" is called "gcc-12-O3-native".

ROOT:COMPILER[-OPTION ...] is a compiler inside a root: "debian-testing:gcc-16".
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import Literal

from tollbench.catalog.environments import roots
from tollbench.catalog.environments.allocators import NAMES as PRELOADED
from tollbench.catalog.environments.allocators import WITH_MALLOC
from tollbench.catalog.environments.glibc import NO_TRIM
from tollbench.errors import TollError
from tollbench.words import HOST, Environment, Toolset

ALLOCATORS = (NO_TRIM, *PRELOADED)
Library = Literal["", "libstdc++", "libc++"]  # "": with any
LIBCXX: Literal["libc++"] = "libc++"
# Up to version 19 libc++ calls std::jthread and std::stop_token experimental.
_WHOLE_LIBRARY = "-fexperimental-library"
_HARDENING = "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_"


@dataclass(frozen=True, slots=True)
class Option:
    """One suffix of a compiler's name."""

    name: str  # without the hyphen before it
    meaning: str
    kind: str  # of one kind, an environment takes one
    flags: tuple[str, ...] = ()
    library: Library = ""  # with which standard library alone it means something


# In the order in which names are written.
OPTIONS = (
    Option(LIBCXX, "Clang's own standard library", "library", ("-stdlib=libc++", _WHOLE_LIBRARY)),
    Option("O1", "-O1 in place of -O2", "optimization", ("-O1",)),
    Option("O2", "-O2, which goes without saying", "optimization", ("-O2",)),
    Option("O3", "-O3 in place of -O2", "optimization", ("-O3",)),
    Option("Os", "-Os in place of -O2", "optimization", ("-Os",)),
    Option("native", "for this processor's own instructions", "native", ("-march=native",)),
    Option("lto", "link-time optimization", "lto"),
    Option("m32", "32-bit programs", "m32", ("-m32",)),
    Option("assertions", "libstdc++ checks bounds", "checks", ("-D_GLIBCXX_ASSERTIONS",), "libstdc++"),
    Option("debug", "libstdc++ checks iterators too", "checks", ("-D_GLIBCXX_DEBUG",), "libstdc++"),
    Option("hardened", "libc++ checks bounds", "checks", (f"{_HARDENING}FAST",), LIBCXX),
    Option("extensive", "libc++ checks all that is cheap", "checks", (f"{_HARDENING}EXTENSIVE",), LIBCXX),
    Option("debug", "libc++ checks all it can", "checks", (f"{_HARDENING}DEBUG",), LIBCXX),
)
_DEFAULT_OPTIMIZATION = "O2"
_BASE = re.compile(r"(host|(gcc|clang)(?:-(\d{1,3}))?)(?=-|$)")
TUNED = "tuned"  # an environment: each language as its tools make the fastest programs
_OUTSIDE_ALONE = ("lto", "m32")  # options for which a root would need more packages
_TUNED_OPTIONS = ("O3", "native", "lto")
# The others have nothing to set that is no change of the program.
_TUNABLE = ("C", "C++", "Go", "Rust", "Haskell")


@dataclass(frozen=True, slots=True)
class Parts:
    """A name taken apart."""

    family: str  # "gcc" or "clang"; "" for the host's compiler
    version: str  # "12"; "" for the one that goes without a version
    options: tuple[Option, ...]  # in the order of OPTIONS
    allocator: str = ""
    tuned: bool = False

    @property
    def base(self) -> str:
        """The compiler alone: "gcc-12", "host"."""
        return "-".join(filter(None, (self.family or HOST.name, self.version)))

    @property
    def toolset(self) -> str:
        """Without the allocator: what the programs' build depends on."""
        if self.tuned:
            return TUNED
        return "-".join((self.base, *(option.name for option in self.options)))

    @property
    def name(self) -> str:
        """The whole name; an allocator alone stands for the host's programs with it."""
        if not self.allocator:
            return self.toolset
        return self.allocator if self.toolset == HOST.name else f"{self.toolset}+{self.allocator}"

    @property
    def uses_libcxx(self) -> bool:
        """Whether its standard library is libc++."""
        return self.has(LIBCXX)

    def has(self, option: str) -> bool:
        """Whether the option of this name is among them."""
        return any(item.name == option for item in self.options)


def named(name: str) -> Environment:
    """The environment that a name describes, by the name alone. Raises TollError where it makes no sense."""
    if name == HOST.name:
        return HOST
    if name in roots.NAMES:
        return roots.named(name)
    root, colon, compiler = name.partition(":")
    if colon:
        return _in_root(name, root, compiler)
    parts = taken_apart(name)
    return Environment(
        parts.name,
        allocator=parts.allocator or HOST.allocator,
        languages=_languages(parts),
        toolset=_toolset(parts),
    )


def _in_root(name: str, root: str, compiler: str) -> Environment:
    """The environment of a compiler inside a root."""
    if root not in roots.NAMES:
        raise TollError(f"{name!r}: there is no root {root!r}.", f"There are: {', '.join(roots.NAMES)}.")
    parts = taken_apart(compiler)
    if not parts.family or parts.allocator:
        raise TollError(
            f"{name!r}: behind a root stands a compiler alone.", f"Write for example {root}:gcc-16."
        )
    for option in _OUTSIDE_ALONE:
        if parts.has(option):
            raise TollError(f"{name!r}: -{option} is not built in roots.", "Leave it out.")
    toolset = _toolset(parts)
    return Environment(
        f"{root}:{parts.name}",
        languages=roots.COMPILED,
        toolset=replace(toolset, folder=f"{root}_{toolset.folder}"),
        root=roots.named_place(root),
    )


def taken_apart(name: str) -> Parts:
    """Raises TollError with the nearest name where `name` is none."""
    if name in ALLOCATORS:
        return Parts("", "", (), name)
    toolset, plus, allocator = name.rpartition("+")
    if not plus or allocator not in ALLOCATORS:
        toolset, allocator = name, ""
    if toolset == TUNED:
        return Parts("", "", _options(name, "", list(_TUNED_OPTIONS)), allocator, tuned=True)
    base = _BASE.match(toolset)
    if base is None:
        raise unknown(name)
    words = toolset[base.end() :].split("-")[1:]
    family, version = base.group(2) or "", base.group(3) or ""
    return Parts(family, version, _options(name, family, words), allocator)


def _languages(parts: Parts) -> tuple[str, ...]:
    """Of the programs for which the environment does anything."""
    tuned = _TUNABLE if parts.tuned else roots.COMPILED
    if not parts.allocator:
        return tuned
    return tuple(one for one in WITH_MALLOC if one in tuned or parts.toolset == HOST.name)


def unknown(name: str) -> TollError:
    """The error for a name that means nothing here."""
    known = [
        HOST.name,
        *ALLOCATORS,
        TUNED,
        *roots.NAMES,
        "gcc-12",
        "clang-19",
        "clang-19-libc++",
        "all",
        "compilers",
    ]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    meant = f"Did you mean {close[0]}? " if close else ""
    there = ", ".join([HOST.name, *ALLOCATORS, TUNED, *roots.NAMES])
    return TollError(
        f"There is no environment {name!r}.",
        f"{meant}There are: {there}, and compilers such as gcc-12 or clang-19-libc++ (toll env list).",
    )


def _options(name: str, family: str, words: list[str]) -> tuple[Option, ...]:
    library: Library = LIBCXX if LIBCXX in words else "libstdc++"
    chosen = []
    for word in words:
        alike = [option for option in OPTIONS if option.name == word]
        fitting = next((option for option in alike if option.library in ("", library)), None)
        if fitting is None:
            raise _no_option(name, word, library, known=bool(alike))
        chosen.append(fitting)
    if library == LIBCXX and family != "clang":
        raise TollError(
            f"{name!r} asks for libc++, which is Clang's.",
            "Write for example clang-19-libc++ (toll env list).",
        )
    for option in chosen:
        others = [other.name for other in chosen if other.kind == option.kind]
        if len(others) > 1:
            raise TollError(
                f"{name!r} asks for both -{others[0]} and -{others[1]}.", "Leave one of them out."
            )
    return tuple(option for option in OPTIONS if option in chosen)


def _no_option(name: str, word: str, library: str, *, known: bool) -> TollError:
    fitting = list(dict.fromkeys(item.name for item in OPTIONS if item.library in ("", library)))
    listed = ", ".join(f"-{option}" for option in fitting)
    if known:
        return TollError(f"{name!r}: -{word} means nothing to {library}.", f"There are: {listed}.")
    close = difflib.get_close_matches(word, fitting, n=1, cutoff=0.5)
    meant = f"Did you mean -{close[0]}? " if close else ""
    return TollError(f"{name!r}: there is no option -{word}.", f"{meant}There are: {listed} (toll env list).")


def _toolset(parts: Parts) -> Toolset:
    """What the name alone tells; `tollbench.catalog.environments.compilers` adds where the compiler is."""
    optimization = next((o.flags[0] for o in parts.options if o.kind == "optimization"), "")
    default = f"-{_DEFAULT_OPTIMIZATION}"
    # -O2 asked for or not is the same build: only the row's name differs.
    options = tuple(option for option in parts.options if option.name != _DEFAULT_OPTIMIZATION)
    others = [flag for option in options if option.kind != "optimization" for flag in option.flags]
    return Toolset(
        folder=Parts(parts.family, parts.version, options, tuned=parts.tuned).toolset,
        optimization="" if optimization == default else optimization,
        flags=tuple(others),
        tuned=parts.tuned,
    )
