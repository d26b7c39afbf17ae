"""The compilers of this machine and of its package manager, and what they can do here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tollbench.catalog.environments import roots
from tollbench.catalog.environments.allocators import of_the_machine
from tollbench.catalog.environments.names import LIBCXX, OPTIONS, Option, Parts, named, taken_apart
from tollbench.catalog.environments.probing import (
    HARDENING,
    ON_THE_MACHINE,
    PROGRAM,
    Inside,
    Probe,
    probe,
)
from tollbench.catalog.packages import Need, candidates, command_for
from tollbench.catalog.tools import run_tool
from tollbench.words import HOST, Environment, Toolset

OnProgress = Callable[[int, int, str], None]  # tried, to be tried in all, which
COMMANDS = {"gcc": "g++", "clang": "clang++"}
PACKAGES = {"gcc": "g++", "clang": "clang"}
SHOWN = {"gcc": "GCC", "clang": "Clang"}
OLDEST = {"gcc": 11, "clang": 14}  # older ones lack too much of C++20
# All that this module asks the package manager about, in one question: each takes half a second.
_PACKAGES = r"(g\+\+|clang)(-\d+(-multilib)?)?|libc\+\+(abi)?(-\d+)?-dev|libc\+\+1(-\d+)?|ll(d|vm)-\d+"
# Where Debian keeps what 32-bit programs include too. Its package gcc-multilib brings a link to it instead,
# but excludes cross compilers.
_KERNEL_HEADERS = "-idirafter/usr/include/x86_64-linux-gnu"
_VERSIONED = re.compile(r"(g\+\+|clang\+\+)-(\d{1,3})")


@dataclass(frozen=True, slots=True)
class Compiler:
    """One that lies on this machine."""

    family: str  # "gcc", "clang"
    version: str  # its first number
    command: Path

    @property
    def name(self) -> str:
        """Of its environment."""
        return f"{self.family}-{self.version}"


@cache
def installed() -> tuple[Compiler, ...]:
    """Every GCC and Clang on PATH, the versions in order; of several by one name the first on PATH."""
    found: dict[tuple[str, int], Path] = {}
    families = {command: family for family, command in COMMANDS.items()}
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for path in _files(Path(folder)):
            if (match := _VERSIONED.fullmatch(path.name)) and os.access(path, os.X_OK):
                found.setdefault((families[match.group(1)], int(match.group(2))), path)
    for family, command in COMMANDS.items():
        path_there = shutil.which(command)
        if path_there and (version := _major(path_there)):
            found.setdefault((family, int(version)), Path(path_there))
    order = sorted(found, key=lambda key: (list(COMMANDS).index(key[0]), key[1]))
    return tuple(Compiler(family, str(version), found[family, version]) for family, version in order)


def located(environment: Environment, parts: Parts) -> Environment:
    """The environment with its compiler's command and what a first small program says."""
    command = _command(parts)
    if command is None:
        return replace(environment, unavailable=_not_found(parts))
    toolset = replace(environment.toolset, compiler=str(command) if parts.family else "")
    if parts.has("lto"):
        archiver = _archiver(parts, command)
        if archiver is None:
            why = f"no archiver for {parts.base}'s link-time optimization{_next(_lto_need(parts))}"
            return replace(environment, unavailable=why)
        flags, link_flags = _lto_flags(parts)
        toolset = replace(toolset, archiver=str(archiver), flags=toolset.flags + flags, link_flags=link_flags)
    if parts.has("m32") and not Path("/usr/include/asm").exists():
        toolset = replace(toolset, flags=(*toolset.flags, _KERNEL_HEADERS))
    return _tried(environment, toolset, parts, str(command), lambda answer: _why_not(parts, answer))


def located_in_root(environment: Environment, parts: Parts) -> Environment:
    """The environment of a root that can be entered, with its compiler and what a first program says."""
    name, compiler = roots.of(environment), "-".join(filter(None, (COMMANDS[parts.family], parts.version)))
    inside = Inside(environment.enter, str(roots.file_system(name)))
    command = f"/usr/bin/{compiler}"
    if not os.path.lexists(inside.file_system + command):
        there = ", ".join(item.partition(":")[2] for item in in_root(name)) or "no compiler with a version"
        return replace(environment, unavailable=f"no {compiler} in the root {name}; it has: {there}")
    toolset = replace(environment.toolset, compiler=command)

    def why_not(answer: Probe) -> str:
        return f"{compiler} does not work in the root {name}: {answer.reason}" if answer.reason else ""

    return _tried(environment, toolset, parts, command, why_not, inside)


def in_all_roots() -> tuple[str, ...]:
    """Those of every root that is made of what it would be made of today."""
    return tuple(name for root in roots.NAMES if roots.is_made(root) for name in in_root(root))


def _tried(
    environment: Environment,
    toolset: Toolset,
    parts: Parts,
    command: str,
    why_not: Callable[[Probe], str],
    inside: Inside = ON_THE_MACHINE,
) -> Environment:
    """The environment with what a first small program says of its compiler."""
    optimization = (toolset.optimization,) if toolset.optimization else ()
    source = HARDENING + PROGRAM if any(_hardens(option) for option in parts.options) else PROGRAM
    answer = probe(command, (*optimization, *toolset.flags), toolset.link_flags, source, inside)
    compiler, _, version = answer.compiler.partition(" ")
    return replace(
        environment,
        toolset=toolset,
        compiler=compiler,
        compiler_version=version,
        standard_library=answer.library,
        flags=" ".join((*(optimization or ("-O2",)), *toolset.flags, *toolset.link_flags)),
        unavailable=why_not(answer),
    )


def in_root(name: str) -> tuple[str, ...]:
    """The environments of the compilers that a root holds, the versions in order; () where it is not made."""
    families = {command: family for family, command in COMMANDS.items()}
    found = [_VERSIONED.fullmatch(path.name) for path in _files(roots.file_system(name) / "usr/bin")]
    order = sorted((list(COMMANDS.values()).index(one[1]), int(one[2])) for one in found if one)
    return tuple(f"{name}:{families[list(COMMANDS.values())[at]]}-{version}" for at, version in order)


def listed(on_progress: OnProgress = lambda _done, _total, _what: None) -> tuple[Environment, ...]:
    """Each compiler found here, with each standard library and then each option; then those on offer.

    What every compiler knows is not tried option by option: compilers are slow, and there are many.
    """
    bases = [HOST.name, *(item.name for item in installed())]
    plain = [name for base in bases for name in ((base, f"{base}-{LIBCXX}") if "clang" in base else (base,))]
    tried = [f"{name}-{option}" for name in plain for option in _options(name) if _is_tried(option)]
    found = {item.name: item for item in _located([*plain, *tried], on_progress)}
    rows: list[Environment] = []
    for name in plain:
        rows += [found[name]] if name != HOST.name else []
        for option in _options(name) if not found[name].unavailable else ():
            shown = f"{name}-{option}"
            rows.append(found[shown] if shown in found else _like(found[name], shown))
    return (*rows, *_located([need.name for need in offered()]))


def working() -> tuple[Environment, ...]:
    """Each compiler that works here, with each standard library that it has."""
    names = [item.name for item in installed()]
    wanted = [n for name in names for n in ((name, f"{name}-{LIBCXX}") if "clang" in name else (name,))]
    return tuple(item for item in _located(wanted) if not item.unavailable)


def offered() -> tuple[Need, ...]:
    """The compilers that the package manager could bring and that are not here, as far as they suit."""
    here = {compiler.name for compiler in installed()}
    return tuple(
        need
        for family in COMMANDS
        for package in candidates(_PACKAGES)
        if re.fullmatch(rf"{re.escape(PACKAGES[family])}-\d+", package)
        and (need := _need(family, package.rpartition("-")[2])).name not in here
        and int(package.rpartition("-")[2]) >= OLDEST[family]
    )


def needs() -> tuple[Need, ...]:
    """All that `toll setup --compilers` brings: compilers, and what their options take."""
    here = tuple(_need(compiler.family, compiler.version) for compiler in installed())
    known = {need.name: need for need in (*here, *offered(), *_supplements())}
    return tuple(known.values())


def _supplements() -> list[Need]:
    """Linkers for link-time optimization, libraries for 32-bit programs, libc++.

    Debian's libc++ packages of different versions exclude each other: one that works stays, else it is that
    of the newest compiler which has a whole one on offer.
    """
    found: list[Need | None] = []
    for compiler in installed():
        parts = taken_apart(compiler.name)
        found += [_lto_need(parts), _m32_need(parts)]
    clangs = [compiler for compiler in installed() if compiler.family == "clang"]
    found += [_libcxx_need(one.version) for one in clangs if _has_libcxx(one)] or [_whole_libcxx()]
    return [need for need in found if need is not None and (need.found() or _on_offer(need))]


def _has_libcxx(compiler: Compiler) -> bool:
    """Its own one, and not the headers alone."""
    there = _libcxx_need(compiler.version).found()
    return bool(there) and not _one(f"{compiler.name}-{LIBCXX}").unavailable


def _whole_libcxx() -> Need | None:
    """That of the newest compiler here whose packages are all on offer."""
    needs = [_libcxx_need(compiler.version) for compiler in installed() if compiler.family == "clang"]
    return next(filter(_on_offer, reversed(needs)), None)


def _on_offer(need: Need) -> bool:
    known = candidates(_PACKAGES)
    return all(package in known for package in need.packages)


def _located(
    wanted: Sequence[str], on_progress: OnProgress = lambda _done, _total, _what: None
) -> tuple[Environment, ...]:
    """Located at the same time, because compilers are slow."""
    found = []
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for number, environment in enumerate(pool.map(_one, wanted)):
            found.append(environment)
            on_progress(number + 1, len(wanted), environment.name)
    return tuple(found)


def _one(name: str) -> Environment:
    environment = replace(named(name), allocator=of_the_machine())
    return located(environment, taken_apart(name))


def _is_tried(option: str) -> bool:
    return option in ("lto", "m32", "hardened")


def _like(plain: Environment, name: str) -> Environment:
    """The environment `name`, which has options that work wherever its compiler does."""
    made = named(name)
    flags = (made.toolset.optimization or "-O2", *made.toolset.flags)
    return replace(plain, name=name, toolset=made.toolset, flags=" ".join(flags))


def _not_found(parts: Parts) -> str:
    """What is missing, and what brings it, as far as anything here can."""
    if not parts.family:
        return "a C++ compiler not found; next: toll doctor"
    what = f"{SHOWN[parts.family]} {parts.version}".strip()
    command = "-".join(filter(None, (COMMANDS[parts.family], parts.version)))
    need = _need(parts.family, parts.version)
    if _on_offer(need):
        return f"{what} not found{_next(need)}"
    return f"{what} not found, and no package on offer here brings it; next: put {command} on PATH"


def _options(plain: str) -> list[str]:
    """Suffixes worth listing beside a compiler."""
    library = LIBCXX if plain.endswith(LIBCXX) else "libstdc++"
    fitting = [
        o.name for o in OPTIONS if o.library in ("", library) and o.name not in (LIBCXX, "O1", "O2", "Os")
    ]
    return ["O3-native" if name == "native" else name for name in fitting]


def _command(parts: Parts) -> Path | None:
    if not parts.family:
        asked = os.environ.get("CXX", "").split(" ")[0]
        there = next(filter(None, map(shutil.which, filter(None, (asked, "c++", "g++", "clang++")))), None)
        return Path(there).absolute() if there else None
    if not parts.version:
        there = shutil.which(COMMANDS[parts.family])
        return Path(there) if there else None
    return next((item.command for item in installed() if item.name == parts.base), None)


def _hardens(option: Option) -> bool:
    return option.library == LIBCXX and option.kind == "checks"


def _why_not(parts: Parts, answer: Probe) -> str:
    """The probe's reason with the command that probably mends it."""
    if not answer.reason:
        return ""
    if parts.has("m32"):
        return f"{answer.reason}{'' if parts.uses_libcxx else _next(_m32_need(parts))}"
    if parts.has("lto"):
        return f"{answer.reason}{_next(_lto_need(parts))}"
    if parts.uses_libcxx and "hardening" not in answer.reason:
        need = _libcxx_need(parts.version)
        mends = need if _on_offer(need) else _whole_libcxx()
        return f"libc++ does not work with {parts.base}: {answer.reason}{_next(mends)}"
    return answer.reason


def _next(need: Need | None) -> str:
    return f"; next: {command_for([need])}" if need else ""


def _need(family: str, version: str) -> Need:
    """Of a compiler, by its version or without one."""
    command = "-".join(filter(None, (COMMANDS[family], version)))
    name = "-".join(filter(None, (family, version)))
    package = "-".join(filter(None, (PACKAGES[family], version)))
    return Need(name, "compiler", f"environment {name}", (package,), command=(command,))


def _libcxx_need(version: str) -> Need:
    """With the library that programs load: Debian 12's libc++-22-dev leaves that at version 19, with which
    what waits on an atomic does not link.
    """
    packages = (
        (f"libc++-{version}-dev", f"libc++abi-{version}-dev", f"libc++1-{version}")
        if version
        else ("libc++-dev", "libc++abi-dev", "libc++1")
    )
    header = f"/usr/lib/llvm-{version}/include/c++/v1/version"
    return Need(f"libc++-{version}", "compiler", "Clang's own standard library", packages, header=(header,))


def _lto_need(parts: Parts) -> Need | None:
    """GCC brings what it needs itself."""
    if parts.family != "clang" or not parts.version:
        return None
    tools = (f"lld-{parts.version}", f"llvm-{parts.version}")
    purpose = f"environment {parts.base}-lto: Clang's linker and archiver"
    return Need(tools[0], "compiler", purpose, tools, command=(f"ld.{tools[0]}",))


def _m32_need(parts: Parts) -> Need | None:
    """Clang takes the newest GCC's libraries."""
    gccs = [compiler.version for compiler in installed() if compiler.family == "gcc"]
    version = parts.version if parts.family == "gcc" else (gccs[-1] if gccs else "")
    if not version or os.uname().machine != "x86_64":
        return None
    header = f"/usr/lib/gcc/x86_64-linux-gnu/{version}/32/libstdc++.a"
    package = f"g++-{version}-multilib"
    return Need(package, "compiler", "libraries for 32-bit programs (-m32)", (package,), header=(header,))


def _archiver(parts: Parts, command: Path) -> Path | None:
    """Archives of intermediate code need a tool that reads it, of the compiler's own version."""
    family = parts.family or ("clang" if "clang" in os.path.realpath(command) else "gcc")
    real = Path(os.path.realpath(command))
    wanted = "gcc-ar" if family == "gcc" else "llvm-ar"
    suffix = f"-{parts.version}" if parts.version else ""
    beside = [real.parent / f"{wanted}{suffix}", real.parent / wanted]
    on_path = shutil.which(f"{wanted}{suffix}")
    places = [*([Path(on_path)] if on_path else []), *beside]
    return next((path for path in places if os.access(path, os.X_OK)), None)


def _lto_flags(parts: Parts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(of compiling, of linking): Clang's intermediate code is beyond the usual linker."""
    if parts.family == "clang":
        return ("-flto=thin",), ("-fuse-ld=lld",)
    return ("-flto=auto", "-fno-fat-lto-objects"), ()


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _major(command: str) -> str:
    """The first number of its version; "" where it does not tell."""
    try:
        done = run_tool([command, "-dumpversion"], limit_s=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.match(r"(\d{1,3})\b", done.stdout.strip())
    return match.group(1) if match and done.returncode == 0 else ""
