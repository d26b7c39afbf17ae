"""Which functions one run of a program executes, as Valgrind's callgrind sees them, and which files it opens.

Valgrind's manual, "Callgrind: a call-graph generating cache and branch prediction profiler", describes the
format; with --dump-instr=yes it holds every executed instruction's place in its file.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.launching.command import run_command, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt

_OBJECT = re.compile(rb"c?ob=\((\d+)\)(?: (.*))?")
_OPENED = re.compile(rb"sys_(?:openat \( \d+, |open \( )0x[0-9a-f]+\((.*?)\), (\d+)")
_MAPPED = re.compile(rb"sys_mmap \( 0x[0-9a-f]+, \d+, (\d+), (\d+),")
_PROTECTED = re.compile(rb"sys_mprotect \( 0x[0-9a-f]+, \d+, (\d+) ")
_WRITES = 0o3  # O_WRONLY or O_RDWR
_MAY_RUN, _OF_NO_FILE = 4, 0x20  # PROT_EXEC, MAP_ANONYMOUS
NOWHERE = "???"  # also stubs outside of a file's .text, which callgrind does not attribute
VALGRIND_FILES = "/valgrind/"  # what Valgrind puts into the program


@dataclass(frozen=True, slots=True)
class Executed:
    """One run: by file the addresses of executed instructions as they stand in it, and what the run read."""

    addresses: Mapping[str, frozenset[int]]
    opened: tuple[str, ...]  # files opened for reading, as the program wrote their names
    makes_code: bool  # asks for memory that may run and is of no file


def missing_tool() -> str:
    """What has to be installed first; "" where nothing is missing."""
    return "" if shutil.which("valgrind") else "valgrind is not installed (apt-get install valgrind)"


def executed(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None,
    limit_s: float,
    interrupt: Interrupt | None = None,
) -> Executed:
    """Runs a program once under callgrind. Raises LaunchFailed where that cannot be, or takes too long."""
    if told := missing_tool():
        raise LaunchFailed(told)
    with tempfile.TemporaryDirectory(prefix="toll-executed-") as scratch, working_folder(folder) as place:
        out, log = Path(scratch, "out"), Path(scratch, "log")
        options = [
            "--tool=callgrind",
            "--dump-instr=yes",
            "--compress-pos=no",
            "--trace-syscalls=yes",
            f"--callgrind-out-file={out}.%p",
            f"--log-file={log}.%p",
        ]
        ended = run_command(["valgrind", *options, *command], environment, place, limit_s, interrupt)
        if ended.exit_code != 0:
            raise LaunchFailed(f"under Valgrind {ended.how()}")
        profiles = sorted(Path(scratch).glob("out.*"))
        if not profiles:
            raise LaunchFailed("under Valgrind left no profile")
        logs = [each.read_bytes() for each in sorted(Path(scratch).glob("log.*"))]
        opened = dict.fromkeys(name for text in logs for name in _opened(text))
        return Executed(_addresses(profiles), tuple(opened), any(map(_makes_code, logs)))


def _addresses(profiles: Iterable[Path]) -> Mapping[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for profile in profiles:
        for name, address in _executed_in(profile):
            found.setdefault(name, set()).add(address)
    return {name: frozenset(addresses) for name, addresses in found.items() if VALGRIND_FILES not in name}


def _executed_in(profile: Path) -> Iterator[tuple[str, int]]:
    """(file, address) of every line of costs."""
    names: dict[bytes, str] = {}
    current = NOWHERE
    with profile.open("rb") as lines:
        for line in lines:
            if line.startswith(b"0x"):
                yield current, int(line.split(b" ", 1)[0], 16)
            elif line.startswith((b"ob=", b"cob=")) and (found := _OBJECT.match(line.rstrip(b"\n"))):
                number, name = found.groups()
                if name is not None:
                    names[number] = name.decode("utf-8", "replace")
                if line.startswith(b"ob="):
                    current = names.get(number, NOWHERE)


def _opened(log: bytes) -> Iterator[str]:
    """Names of files that were opened for reading alone."""
    for found in _OPENED.finditer(log):
        if not int(found.group(2)) & _WRITES:
            yield found.group(1).decode("utf-8", "replace")


def _makes_code(log: bytes) -> bool:
    mapped = any(
        int(found.group(1)) & _MAY_RUN and int(found.group(2)) & _OF_NO_FILE
        for found in _MAPPED.finditer(log)
    )
    return mapped or any(int(found.group(1)) & _MAY_RUN for found in _PROTECTED.finditer(log))
