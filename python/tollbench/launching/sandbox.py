"""Programs of others in a sandbox of bubblewrap: what they may read, write and reach (docs/security.md).

Who starts a program says that it is another's, by a `Confined`; whether it then goes into a sandbox is asked
for once, by `sandboxed`. What only reads and computes for toll (compilers' versions, git) is none of them.

In the sandbox a shell is the first process. It starts a second one, which tells that it is there, waits for a
line, and becomes the program. So the program's time begins when all that the sandbox takes is done, and it
ends with the program: neither the mounts nor the removal of the namespaces are part of it.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.writing import is_scratch_folder

READY = b"\n"  # what the second shell prints before it waits
GO = b"\n"
# Its arguments: how many variables follow, these, and the command. What the first shell says itself, such as
# "Segmentation fault", are no words of the program.
_STARTED = (
    'n=$1; shift; exec 3>&2 2>/dev/null; (while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n-1)); done;'
    " exec 2>&3 3>&-; echo; read -r _; %s); exit $?"
)
_SHELL = "/bin/sh"
_NAMING_SHELL = "/bin/bash"  # can start a program under another name than that of its file
_NAME = "in the sandbox"
# Variables that bubblewrap and the shells shall not obey.
_OBEYED = re.compile(r"LD_\w+|GLIBC_TUNABLES|MALLOC_\w+|BASH_ENV|ENV")
_HIDDEN = ("/tmp", "/var/tmp", "/run", "/home", "/root")
# Bubblewrap and shells tell a signal as 128 and its number. Of programs that end so by themselves only these
# are taken for signals: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGSYS.
_FATAL = frozenset({4, 5, 6, 7, 8, 9, 11, 31})


@dataclass(frozen=True, slots=True)
class Confined:
    """Marks the start of a program that is not toll's own; `writes` are folders of toll's made for it.

    The folder that it runs in is another, where that is a fresh one.
    """

    writes: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfinedLaunch:
    """One start; `executable` is as for subprocess.Popen, `talks` says that toll writes to its input."""

    command: Sequence[str]
    executable: str | None
    folder: Path
    talks: bool


@dataclass(slots=True)
class Sandbox:
    """One for a whole comparison: all sides are given the same."""

    bwrap: str
    version: str  # "bubblewrap 0.8.0"
    shown: list[Path] = field(default_factory=list)  # what programs may read of the places that are hidden

    def told(self) -> str:
        """For whoever reads a result."""
        return (
            f"{self.version}: files are read-only but for an empty /tmp, home folders hidden, no network,"
            " processes of its own"
        )

    def show(self, path: Path) -> None:
        """Lets programs read a folder or a file of a hidden place; never a hidden place as a whole.

        What a link leads to is not shown: a stranger's folder may have one to somebody's keys.
        """
        path = path.absolute()
        if path.exists() and path.resolve() == path and _within_hidden(path) and path not in self.shown:
            self.shown.append(path)

    def show_command(self, text: str, folder: Path) -> None:
        """Lets programs read what a side names: files, and the folder that the program itself lies in."""
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        for number, word in enumerate(words):
            for name in filter(None, (word, word.rpartition("=")[2])):
                with suppress(OSError, RuntimeError, ValueError):  # no home, a null byte, too long for a name
                    path = Path(os.path.normpath(folder / Path(name).expanduser()))
                    self.show(path)
                    if not number and path.is_file():
                        self.show(path.parent)

    def words(
        self, launch: ConfinedLaunch, confined: Confined, environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        """What is started in place of it; it prints READY and waits for GO."""
        variables = [f"{name}={value}" for name, value in environment.items() if _OBEYED.fullmatch(name)]
        shell, becomes = _SHELL, 'exec "$@"'
        if launch.executable is not None and Path(_NAMING_SHELL).exists():
            shell, becomes = _NAMING_SHELL, f'exec -a {shlex.quote(launch.command[0])} "$@"'
        script = _STARTED % (becomes if launch.talks else f"{becomes} </dev/null")
        writes = [*confined.writes, *([launch.folder] if is_scratch_folder(launch.folder) else [])]
        command = [launch.executable or launch.command[0], *launch.command[1:]]
        shells = [shell, "-c", script, _NAME, str(len(variables)), *variables]
        return (self.bwrap, *self._walls(launch.folder, writes), "--", *shells, *command)

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """For bubblewrap and the shells; the program gets the rest by `words`."""
        made = {name: value for name, value in environment.items() if not _OBEYED.fullmatch(name)}
        return made | ({"TMPDIR": "/tmp"} if "TMPDIR" in made else {})

    def _walls(self, folder: Path, writes: Sequence[Path]) -> Iterator[str]:
        yield from ("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts")
        yield from ("--unshare-cgroup-try", "--cap-drop", "ALL", "--die-with-parent", "--as-pid-1")
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        places = _hidden()
        for place in places:
            yield from ("--tmpfs", str(place))
        for path in _outermost(self.shown):
            yield from ("--ro-bind", str(path), str(path))
        for path in writes:
            yield from ("--bind", str(path), str(path))
        for place in places:
            if place not in _temporary():
                yield from ("--remount-ro", str(place))
        yield from ("--chdir", str(folder))


def exit_code(code: int) -> int:
    """How the program ended, by the exit code of bubblewrap; negative: the signal."""
    return -(code - 128) if code - 128 in _FATAL else code


class _Asked:
    """The sandbox of now; none where programs run as they are."""

    sandbox: Sandbox | None = None
    reports: tuple[Path, ...] = ()  # folders that whoever is started now writes to


@contextmanager
def sandboxed(sandbox: Sandbox | None) -> Iterator[None]:
    """Meanwhile whatever is started with a `Confined` runs in it."""
    before, _Asked.sandbox = _Asked.sandbox, sandbox
    try:
        yield
    finally:
        _Asked.sandbox = before


@contextmanager
def writing_reports(folder: Path) -> Iterator[None]:
    """Whoever is told to start meanwhile may write to this folder of toll's."""
    before, _Asked.reports = _Asked.reports, (*_Asked.reports, folder)
    try:
        yield
    finally:
        _Asked.reports = before


def confined_now() -> Confined:
    """For a program that may write its reports."""
    return Confined(_Asked.reports)


def sandbox_of(confined: Confined | None) -> Sandbox | None:
    """Where to start a program; None: as it is."""
    return _Asked.sandbox if confined is not None else None


def show_inside(path: Path) -> None:
    """What lies there is needed by what is measured, if there is a sandbox: a clone that was built."""
    if _Asked.sandbox is not None:
        _Asked.sandbox.show(path)


def _temporary() -> list[Path]:
    return [Path("/tmp"), Path("/var/tmp"), Path(tempfile.gettempdir()).resolve()]


def _hidden() -> list[Path]:
    """Places that are empty inside, those that lie in others behind them."""
    asked = [Path(name).resolve() for name in (*_HIDDEN, *_homes()) if Path(name).is_absolute()]
    found = {place for place in (*asked, *_temporary()) if place.is_dir() and place != Path("/")}
    return sorted(found, key=lambda place: len(place.parts))


def _homes() -> list[str]:
    """This user's, by the environment and by the system."""
    import pwd  # which Windows lacks; runs are shown there too

    found = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return [home for home in found if home]


def _within_hidden(path: Path) -> bool:
    """Whether it lies in a hidden place, and is neither one nor above one."""
    places = _hidden()
    whole = [*places, *map(Path, _homes())]
    return any(place in path.parents for place in places) and not any(
        path == place or path in place.parents for place in whole
    )


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Without those that lie in others."""
    given = list(dict.fromkeys(paths))
    return [path for path in given if not any(other in path.parents for other in given)]
