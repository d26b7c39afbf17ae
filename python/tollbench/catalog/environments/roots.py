"""Roots: small Debian file systems for what the host's release lacks; programs are built and run inside them.

A root lies in the user's cache and belongs to the user. `enter` is the command that goes before a program: it
unshares the mount namespace (and, for all but the superuser, the user namespace), mounts what programs need
and becomes the program, in the same process. Programs see what they need of toll at the same path as outside.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.catalog.tools import run_tool
from tollbench.home import cache_folder, cache_place, needed_by_programs
from tollbench.words import Environment, Toolset
from tollbench.writing import write_own

COMPILED = ("C", "C++")  # what a C++ compiler of another place and its flags change
MADE = "made.json"
MOUNTED = ("/proc", "/sys", "/dev", "/tmp")
_ENTER_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Root:
    """What a root is made of."""

    name: str  # of its environment
    title: str
    release: str  # Debian's word for it
    packages: tuple[str, ...]
    # Packages that only Debian's testing suite has; all that they depend on has to come with `packages`.
    testing_packages: tuple[str, ...] = ()
    # Compilers besides `g++`, as apt-patterns(7): of those that match comes what the release has that day.
    compilers: tuple[str, ...] = ()


_BUILD = ("g++", "cmake", "ninja-build", "pkg-config", "python3", "nlohmann-json3-dev")
# What seastar-dev is linked with; the package itself names none of them.
_SEASTAR = (
    "libboost-program-options-dev", "libboost-thread-dev", "libfmt-dev", "libc-ares-dev", "liblz4-dev",
    "libgnutls28-dev", "libhwloc-dev", "libyaml-cpp-dev", "liburing-dev", "libsctp-dev", "libnuma-dev",
    "libprotobuf-dev", "libcrypto++-dev", "libxml2-dev", "valgrind",
)  # fmt: skip

# What contenders of containers and tasks are written with; Boost's fibers and contexts are no headers alone.
_NEWEST = (
    "clang", "libc++-dev", "libc++abi-dev", "libboost-dev", "libboost-context-dev", "libboost-fiber-dev",
    "libbenchmark-dev", "libboost-cobalt-dev", "libtaskflow-cpp-dev", "libtbb-dev",
    # Containers, whose rows would else be missing from what compilers are compared by.
    "libabsl-dev", "robin-map-dev", "libtsl-hopscotch-map-dev", "libparallel-hashmap-dev",
    "libplf-colony-dev", "libsparsehash-dev",
)  # fmt: skip
# In its short form a pattern has no brackets and bars of its own (apt-patterns(7)).
_NEWEST_COMPILERS = (r"~n^g\+\+-1[3-9]$", "~n^clang-19$", "~n^clang-[2-9][0-9]$")
TESTING = "testing"  # Debian's suite that the next release is made of; a mirror's may be past its date

ROOTS = (
    Root("debian13", "Debian 13 with Seastar", "trixie", (*_BUILD, *_SEASTAR), ("seastar-dev",)),
    Root(
        "debian-testing", "Debian testing with its newest compilers", TESTING, (*_BUILD, *_NEWEST),
        compilers=_NEWEST_COMPILERS,
    ),
)  # fmt: skip
NAMES = tuple(root.name for root in ROOTS)


def named(name: str) -> Environment:
    """The environment of a root, by its name alone."""
    return Environment(name, languages=COMPILED, toolset=Toolset(folder=name), root=named_place(name))


def of(environment: Environment) -> str:
    """The name of its root."""
    return Path(environment.root).name


def file_system(name: str) -> Path:
    """What is / inside."""
    return place(name) / "root"


def named_place(name: str) -> str:
    """Where it lies or would lie: a name needs no cache."""
    return str(cache_place() / "roots" / name)


def place(name: str) -> Path:
    """Where it lies: a folder with `root`, the file system, and `made.json`, what it was made of."""
    return cache_folder() / "roots" / name


def recipe(name: str) -> Root:
    """What the root of this name is made of."""
    return next(root for root in ROOTS if root.name == name)


def is_made(name: str) -> bool:
    """Whether it is there and made of what it would be made of today."""
    try:
        made = json.loads((place(name) / MADE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(made, dict) and made.get("recipe") == described(recipe(name))


def described(root: Root) -> dict[str, object]:
    """What decides whether a root has to be made anew."""
    told: dict[str, object] = {
        "release": root.release,
        "packages": list(root.packages),
        "testing_packages": list(root.testing_packages),
    }
    # Roots that were made before there were such stay as they are.
    return told | ({"compilers": list(root.compilers)} if root.compilers else {})


def located(environment: Environment) -> Environment:
    """The environment with the command that enters its root, which is tried."""
    name = of(environment)
    if not is_made(name):
        why = f"the root {recipe(name).title} is not made yet; next: toll env add {name}"
        return replace(environment, unavailable=why)
    try:
        enter = _enter(place(name))
    except OSError as error:
        return replace(environment, unavailable=f"the root {name} cannot be entered: {error}")
    why = _why_not(enter)
    return replace(environment, enter=() if why else enter, unavailable=why, allocator=_libc(place(name)))


def _enter(folder: Path) -> tuple[str, ...]:
    """The command before a program's own; its files are written where they are not there yet."""
    file_system = folder / "root"
    tools = {name: _tool(name) for name in ("unshare", "chroot", "mount")}
    outside = [place for place in needed_by_programs() if not place.is_relative_to("/tmp")]
    lines = [f"{_escaped(path)} {_escaped(f'{file_system}{path}')} none rbind 0 0" for path in MOUNTED]
    lines += [f"{_escaped(path)} {_escaped(f'{file_system}{path}')} none rbind 0 0" for path in outside]
    for path in outside:
        Path(f"{file_system}{path}").mkdir(parents=True, exist_ok=True)
    mark = hashlib.sha256("\n".join(map(str, outside)).encode()).hexdigest()[:12]
    table, script = folder / f"mounts-{mark}", folder / f"enter-{mark}"
    _write(table, "\n".join(lines) + "\n")
    change = shlex.join([tools["chroot"], str(file_system)])
    # What is to be preloaded is built for the inside: the tools out here could not load it.
    _write(
        script,
        f"{shlex.join([tools['mount'], '-a', '-T', str(table)])} || exit 125\n"
        f'[ -z "${{TOLL_PRELOAD-}}" ] || exec {change} /usr/bin/env LD_PRELOAD="$TOLL_PRELOAD" "$@"\n'
        f'exec {change} "$@"\n',
    )
    # The superuser keeps its rights inside, which io_uring and locked memory may need.
    namespaces = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    return (tools["unshare"], *namespaces, "/bin/sh", str(script))


def _tool(name: str) -> str:
    """On Debian some of these lie where only the superuser's PATH leads."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    found = shutil.which(name, path=path)
    if found is None:
        raise FileNotFoundError(f"{name} not found; next: install the package util-linux or coreutils")
    return found


def _why_not(enter: Sequence[str]) -> str:
    try:
        done = run_tool([*enter, "/usr/bin/true"], limit_s=_ENTER_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the root cannot be entered: {error}"
    if done.returncode == 0:
        return ""
    said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    step = "run toll as root, or allow user namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        step += " kernel.apparmor_restrict_unprivileged_userns=0"
    return f"the root cannot be entered: {said}; next: {step}"


def _libc(folder: Path) -> str:
    """What malloc is inside: the package's version tells."""
    try:
        status = (folder / "root/var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "the root's malloc"
    package = status.partition("Package: libc6\n")[2].partition("\n\n")[0]
    version = package.partition("\nVersion: ")[2].partition("\n")[0].partition("-")[0]
    return f"glibc {version} malloc" if version else "the root's malloc"


def _escaped(path: str | Path) -> str:
    """As fstab(5) wants spaces and the like."""
    return "".join(f"\\{ord(sign):03o}" if sign in " \t\n\\" else sign for sign in str(path))


def _write(path: Path, text: str) -> None:
    """Only where it changes anything, and at once: a program may be about to read it."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except OSError:
        pass
    write_own(path, text)
