"""What is missing on this machine, and the command that brings it (packages.toml is the table)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from tollbench.catalog.managers import APT, manager
from tollbench.catalog.toolchains import feature, newest_jdk
from tollbench.catalog.tools import run_tool
from tollbench.errors import TollError

TABLE = Path(__file__).with_name("packages.toml")
INCLUDE_FOLDERS = ("/usr/include", "/usr/local/include")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing from outside: how to see that it is there, and the packages that bring it."""

    name: str
    group: str  # "build", "compiler", "library", "language", "root", "extra", "step" or "test"
    purpose: str
    packages: tuple[str, ...]
    command: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    jdk: int = 0  # the oldest version that will do
    otherwise: str = ""  # the command where no package is on offer
    shared: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # package by another manager's name
    after: tuple[str, ...] = ()  # other needs, which `otherwise` builds upon
    oldest: str = ""  # the first version that will do

    def found(self) -> str | None:
        """Where it is, or None. Looks at commands and files only: nothing of it is run."""
        places: list[str | None] = []
        if self.command:
            places.append(next(filter(None, map(shutil.which, self.command)), None))
        if self.header:
            places.append(_first_file(_include_folders(), self.header))
        if self.library:
            names = [f"{name}.{ending}" for name in self.library for ending in ("so", "a")]
            places.append(_first_file(_library_folders(), names))
        if self.jdk:
            newest = newest_jdk()
            places.append(str(newest[0] / "bin/javac") if newest and feature(newest[1]) >= self.jdk else None)
        if self.shared:
            places.append(next(map(str, shared_libraries(self.shared)), None))
        if self.file:
            found = (path for pattern in self.file for path in sorted(Path("/").glob(pattern.lstrip("/"))))
            places.append(next(map(str, found), None))
        return places[0] if all(places) else None


@cache
def table() -> dict[str, Need]:
    """Every need by name, in the file's order."""
    content = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: Need(
            name=name,
            group=entry["group"],
            purpose=entry["purpose"],
            packages=tuple(entry["packages"]),
            command=tuple(entry.get("command", ())),
            header=tuple(entry.get("header", ())),
            library=tuple(entry.get("library", ())),
            jdk=entry.get("jdk", 0),
            otherwise=entry.get("otherwise", ""),
            shared=tuple(entry.get("shared", ())),
            file=tuple(entry.get("file", ())),
            elsewhere=entry.get("elsewhere", {}),
            after=tuple(entry.get("after", ())),
            oldest=entry.get("oldest", ""),
        )
        for name, entry in content.items()
    }


def need_named(name: str) -> Need | None:
    """That of the table; libomp-19 is the OpenMP of Clang 19, which no other version's helps."""
    if match := re.fullmatch(r"libomp-(\d+)", name):
        elsewhere = {"dnf": "libomp-devel", "pacman": "openmp", "apk": "openmp-dev"}
        return Need(name, "library", f"OpenMP of Clang {match[1]}", (f"{name}-dev",), elsewhere=elsewhere)
    return table().get(name)


def group(name: str) -> tuple[Need, ...]:
    """All needs of one group: "build", "library", "language", "root", "extra" or "test"."""
    return tuple(need for need in table().values() if need.group == name)


def missing(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Those that are not on this machine."""
    return tuple(need for need in needs if need.found() is None)


def package_names(needs: Iterable[Need]) -> tuple[str, ...]:
    """Packages that bring these needs, each once; of alternatives, the first that apt knows here."""
    names = (_choose(need, choice) for need in needs for choice in need.packages)
    return tuple(dict.fromkeys(names))


def command_for(needs: Iterable[Need]) -> str:
    """The command to type for this system's package manager; what it has no name for is told behind it."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    offered, others = by_offer(needs)
    known = manager()
    before = missing(table()[name] for need in others for name in need.after)
    offered += before if known is APT else by_offer(before)[0]  # apt's index may be empty yet
    names = package_names(offered) if known is APT else _elsewhere(offered, known.name)
    commands = [f"{sudo}{known.install} {' '.join(names)}"] if names else []
    commands += [need.otherwise.format(sudo=sudo) for need in others if need.otherwise]
    unnamed = [need.name for need in others if not need.otherwise]
    told = f"{known.name} has no package that toll knows of for {', '.join(unnamed)}" if unnamed else ""
    return "; ".join(filter(None, (" && ".join(commands), told)))


def newer(need: Need) -> Need:
    """What brings it where it is too old here: of others than apt nobody knows what they have."""
    return replace(need, elsewhere={}) if need.otherwise else need


def older(what: str, version: str, need: Need) -> str:
    """A sentence where a version is too old for this need; "" where it will do, or is no number."""
    numbers = _numbers(version)
    is_older = bool(numbers) and numbers < _numbers(need.oldest)
    return f"{what} {version} is older than {need.oldest}" if is_older else ""


def _numbers(version: str) -> tuple[int, ...]:
    """Of "1.85.0-nightly" and "2:1.85~1" the first two."""
    found = re.match(r"(?:\d+:)?(\d+)(?:\.(\d+))?", version)
    return tuple(int(number) for number in found.groups() if number) if found else ()


def by_offer(needs: Iterable[Need]) -> tuple[list[Need], list[Need]]:
    """Those that the package manager is asked for, and those that it does not know here."""
    offered: list[Need] = []
    others: list[Need] = []
    name = manager().name
    for need in needs:
        if name == APT.name:
            will_do = [package for package in _alternatives(need) if _new_enough(need, package)]
            # With an empty index nobody knows: a toolchain's package is asked for, and looked at then.
            otherwise = need.otherwise and not (need.oldest and not _has_index())
            certain = will_do and need.group != "extra" and not otherwise
            known = certain or any(map(_apt_knows, will_do))
        else:
            known = name in need.elsewhere
        (offered if known else others).append(need)
    return offered, others


def _alternatives(need: Need) -> list[str]:
    """Every package that may bring it."""
    return [name for choice in need.packages for name in choice.split("|")]


def _elsewhere(needs: Iterable[Need], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(need.elsewhere[name] for need in needs))


def install(needs: Sequence[Need], on_line: Callable[[str], None]) -> None:
    """Installs the packages of `needs` as root or through `sudo -n`.

    Raises TollError that names the command to type where neither is possible or apt fails.
    """
    prefix = _privilege()
    if prefix is None or manager() is not APT or shutil.which(APT.program) is None:
        what = ", ".join(f"{need.name} ({need.purpose})" for need in needs)
        raise TollError(f"missing on this machine: {what}", command_for(needs))
    # No update when the index already knows the packages: it takes a network, which may be gone by now.
    if not all(any(map(_apt_knows, choice.split("|"))) for need in needs for choice in need.packages):
        _apt([*prefix, "apt-get", "update", "-q"])
        _on_offer.cache_clear()
    names = package_names(needs)
    on_line(f"installing {' '.join(names)}")
    step = [*prefix, "apt-get", "install", "-y", "-q", "--no-install-recommends", *names]
    done = _apt(step)
    if done.returncode != 0:
        # A stale index names files that the mirror no longer has: one update, one more try.
        _apt([*prefix, "apt-get", "update", "-q"])
        done = _apt(step)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise TollError(
            f"apt-get could not install {' '.join(names)}: {said[-1]}",
            f"run it by hand and read its answer: {' '.join(step)}",
        )
    _include_folders.cache_clear()
    _library_folders.cache_clear()
    _linker_cache.cache_clear()
    candidates.cache_clear()


def shared_libraries(names: Iterable[str]) -> Iterator[Path]:
    """Every file that the dynamic linker may find by one of these exact names, its own choice first.

    Files of other architectures may be among them.
    """
    seen = set()
    for name in names:
        listed = [Path(path) for known, path in _linker_cache() if known == name]
        for path in (*listed, *(folder / name for folder in _library_folders())):
            if path not in seen and path.is_file():
                seen.add(path)
                yield path


def _apt(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return run_tool(command, env=environment)


def _privilege() -> list[str] | None:
    """The words to put before a command that needs root; None where we cannot become root unasked."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    may = run_tool(["sudo", "-n", "true"]).returncode == 0
    return ["sudo", "-n"] if may else None


def _choose(need: Need, choice: str) -> str:
    """Of "a|b" the first that apt knows and that is new enough; where apt knows nothing yet, the first."""
    names = [name for name in choice.split("|") if _new_enough(need, name)] or choice.split("|")
    return next(filter(_apt_knows, names), names[0]) if len(names) > 1 else names[0]


@cache
def candidates(pattern: str) -> tuple[str, ...]:
    """Packages on offer here whose whole name matches, sorted by the numbers in it; () without apt."""
    if shutil.which("apt-cache") is None:
        return ()
    listed = run_tool(["apt-cache", "pkgnames"]).stdout
    matching = [name for name in listed.splitlines() if re.fullmatch(pattern, name)]
    if not matching:
        return ()
    policy = ["apt-cache", "policy", *matching]
    told = run_tool(policy)
    offered = re.findall(r"^(\S+):\n.*\n  Candidate: (?!\(none\))", told.stdout, re.MULTILINE)
    return tuple(sorted(offered, key=lambda name: [int(number) for number in re.findall(r"\d+", name)]))


def _apt_knows(name: str) -> bool:
    """Whether it has this very package on offer."""
    return bool(_candidate(name))


def _has_index() -> bool:
    """Whether apt knows any package of the table."""
    return bool(_on_offer(frozenset(each for need in table().values() for each in _alternatives(need))))


def _new_enough(need: Need, name: str) -> bool:
    """Whether nothing is known against the version of the package that apt would install."""
    return not (need.oldest and older(name, _candidate(name), need))


def _candidate(name: str) -> str:
    """The version of this very package that apt has on offer; "" where it has none."""
    of_table = frozenset(each for need in table().values() for each in _alternatives(need))
    return _on_offer(of_table if name in of_table else frozenset({name})).get(name, "")


@cache
def _on_offer(names: frozenset[str]) -> dict[str, str]:
    """Those that apt can install here, asked for at once: each call of it reads its whole index, 0.5 s."""
    if shutil.which("apt-cache") is None:
        return {}
    done = run_tool(["apt-cache", "policy", *sorted(names)])
    # A name with a plus that apt does not know it takes for a pattern: g++-15 is told of clang-15-doc.
    offered = re.findall(r"^(\S+):\n.*\n  Candidate: (?!\(none\))(\S+)", done.stdout, re.MULTILINE)
    return {name: version for name, version in offered if name in names}


@cache
def _linker_cache() -> tuple[tuple[str, str], ...]:
    """(name, path) of each library in the dynamic linker's cache; () where there is no such cache."""
    # On Debian only root has its folder on PATH.
    ldconfig = shutil.which("ldconfig") or shutil.which("ldconfig", path="/usr/sbin:/sbin")
    if ldconfig is None:
        return ()
    done = run_tool([ldconfig, "-p"])
    found = re.findall(r"^\s+(\S+) \(.*\) => (.+)$", done.stdout, re.MULTILINE)
    return tuple((name, path) for name, path in found)


def _first_file(folders: Iterable[Path], names: Sequence[str]) -> str | None:
    found = (folder / name for name in names for folder in folders)
    return next((str(path) for path in found if path.exists()), None)


@cache
def _include_folders() -> tuple[Path, ...]:
    """Where the build looks for headers: by default, and in the user's own places (CMAKE_PREFIX_PATH)."""
    own = os.environ.get("CMAKE_PREFIX_PATH", "").split(":")
    folders = [*(Path(folder) / "include" for folder in own if folder), *map(Path, INCLUDE_FOLDERS)]
    return (*folders, *sorted(Path("/usr/include").glob("*-linux-gnu")))


@cache
def _library_folders() -> tuple[Path, ...]:
    """Where a linker looks by default."""
    folders = [Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/local/lib")]
    return (*folders, *sorted(Path("/usr/lib").glob("*-linux-gnu")))
