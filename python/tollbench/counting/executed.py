"""Which functions one run of a program executes, as Valgrind's callgrind sees them, and which files it opens.

Valgrind's manual, "Callgrind: a call-graph generating cache and branch prediction profiler", describes the
format; with --dump-instr=yes it holds every executed instruction's place in its file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.counting.fixed import can_fix_addresses
from tollbench.counting.instructions import VALGRIND, how_it_ended
from tollbench.launching.answers import MAX_PROFILE_BYTES, open_plain, read_report, reading
from tollbench.launching.command import run_command, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt, check_interrupt
from tollbench.launching.sandbox import Confined

_OBJECT = re.compile(rb"(c?)ob=\((\d+)\)(?: (.*))?")
_CALL = re.compile(rb"calls=\d+ 0x([0-9a-f]+)")
_SYSCALL = re.compile(rb"^SYSCALL\[\d+,\d+\]\(\s*\d+\) sys_(\w+) \(([^\n]*)", re.MULTILINE)
# Valgrind prints a name as it is, whatever brackets, commas or line breaks are in it.
_TEXT = re.compile(rb"0x[0-9a-f]+\((.+?)\)(?=, | \))")
_BEGINS_TEXT = re.compile(rb"0x[0-9a-f]+\(")
_ENDS_TEXT = re.compile(rb"\)(?=, | \))")
_MAPPED = re.compile(rb" 0x[0-9a-f]+, \d+, (\d+), (\d+),")
_PROTECTED = re.compile(rb" 0x[0-9a-f]+, \d+, (\d+) ")
_OPENED = re.compile(rb"\), (\d+)")
_ONLY_WRITES, _IS_FOLDER = 0o1, 0o200000  # O_WRONLY, O_DIRECTORY
_MAY_WRITE, _MAY_RUN = 2, 4  # PROT_WRITE, PROT_EXEC
_WRITABLE_ELSEWHERE = 0x21  # MAP_ANONYMOUS, or MAP_SHARED: what others, or it itself, write there changes
_LOOK_EVERY = 2**12  # lines, by a thread that no signal reaches
_HERE = b" 4294967196,"  # AT_FDCWD as Valgrind prints it
_LEAVES = frozenset(
    (b"chdir", b"fchdir", b"execve", b"execveat", b"fork", b"vfork", b"getdents64", b"getdents")
)
# Memory that has a file descriptor, or belongs to several, may be filled by one mapping and run by another.
_MAKES_CODE = frozenset((b"memfd_create", b"pkey_mprotect", b"shmat"))
NOWHERE = "???"  # also stubs outside of a file's .text, which callgrind does not attribute
VALGRIND_FILES = "/valgrind/"  # what Valgrind puts into the program
Call = tuple[str, int, str, int]  # file and address of the calling instruction, of what it calls


@dataclass(frozen=True, slots=True)
class Executed:
    """One run: by file the addresses of executed instructions as they stand in it, and what the run read."""

    addresses: Mapping[str, frozenset[int]]
    calls: frozenset[Call]
    read: tuple[str, ...]  # files that it opened, or asked about, as the program wrote their names
    unseen: str  # why it may have read more than that, or executed more; "" where it did not


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
    with working_folder(None) as scratch, working_folder(folder) as place:
        out, log = Path(scratch, "out"), Path(scratch, "log")
        options = [
            "--tool=callgrind",
            "--dump-instr=yes",
            "--compress-pos=no",
            "--trace-syscalls=yes",
            f"--callgrind-out-file={out}.%p",
            f"--log-file={log}.%p",
        ]
        # Google Benchmark since 1.9.3 starts itself again where addresses are random: more than can be seen.
        fixed = ["setarch", "-R"] if can_fix_addresses() else []
        launch = [*fixed, *VALGRIND, *options, *command]
        ended = run_command(launch, environment, place, limit_s, interrupt, confined=Confined((scratch,)))
        if ended.exit_code != 0:
            raise LaunchFailed(how_it_ended(ended, Path(scratch)))
        profiles = sorted(Path(scratch).glob("out.*"))
        if not profiles:
            raise LaunchFailed("under Valgrind left no profile")
        logs = b"".join(read_report(each, MAX_PROFILE_BYTES) for each in sorted(Path(scratch).glob("log.*")))
        with reading("under Valgrind left a profile that cannot be read"):
            read, unseen = _asked_for(logs)
            addresses, calls = _executed_in(profiles)
        return Executed(addresses, calls, read, unseen)


def _executed_in(profiles: Iterable[Path]) -> tuple[Mapping[str, frozenset[int]], frozenset[Call]]:
    """The instructions of each file, and who called whom."""
    found: dict[str, set[int]] = {}
    calls: set[Call] = set()
    for profile in profiles:
        names: dict[bytes, str] = {}
        current, called, target = NOWHERE, "", -1
        with open_plain(profile) as lines:
            for number, line in enumerate(lines):
                if not number % _LOOK_EVERY:
                    check_interrupt()
                if line.startswith(b"0x"):
                    address = int(line.split(b" ", 1)[0], 16)
                    found.setdefault(current, set()).add(address)
                    if target >= 0:
                        calls.add((current, address, called or current, target))
                        called, target = "", -1
                elif line.startswith(b"calls=") and (call := _CALL.match(line)):
                    target = int(call[1], 16)
                elif line.startswith((b"ob=", b"cob=")) and (match := _OBJECT.match(line.rstrip(b"\n"))):
                    if match[3] is not None:
                        names[match[2]] = os.fsdecode(match[3])
                    name = names.get(match[2], NOWHERE)
                    current, called = (current, name) if match[1] else (name, "")
    own = {name: frozenset(each) for name, each in found.items() if VALGRIND_FILES not in name}
    return own, frozenset(calls)


def _asked_for(log: bytes) -> tuple[tuple[str, ...], str]:
    """Names of files that system calls were given, but for those only written to; and what they hide."""
    read: dict[str, None] = {}
    unseen = ""
    for name, arguments in _SYSCALL.findall(log):
        if name in _LEAVES:
            unseen = unseen or f"it calls {name.decode()}"
        elif name in _MAKES_CODE:
            unseen = unseen or f"it calls {name.decode()}, as what makes code while it runs may"
        elif name == b"mmap" and (mapped := _MAPPED.match(arguments)):
            protection, flags = int(mapped[1]), int(mapped[2])
            if protection & _MAY_RUN and (protection & _MAY_WRITE or flags & _WRITABLE_ELSEWHERE):
                unseen = "it makes code while it runs"
        elif name == b"mprotect" and (protected := _PROTECTED.match(arguments)):
            if int(protected[1]) & _MAY_RUN:
                unseen = "it makes code while it runs"
        elif name in (b"open", b"openat"):
            opened = _OPENED.search(arguments)
            if opened and int(opened[1]) & _ONLY_WRITES:
                continue
            if opened and int(opened[1]) & _IS_FOLDER:
                unseen = unseen or "it reads a folder"
        if len(_BEGINS_TEXT.findall(arguments)) != len(_ENDS_TEXT.findall(arguments)):
            unseen = unseen or f"it calls {name.decode()} with a name that Valgrind's log leaves open"
            continue
        texts = [os.fsdecode(text) for text in _TEXT.findall(arguments)]
        if (
            texts
            and name.endswith(b"at")
            and not arguments.startswith(_HERE)
            and not texts[0].startswith("/")
        ):
            unseen = unseen or f"it calls {name.decode()} with a folder"
        read.update(dict.fromkeys(texts))
    return tuple(read), unseen
