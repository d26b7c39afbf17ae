"""Why the kernel refuses a file that is there: its errors say "no such file" of a loader that is missing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tollbench.errors import MORE_PROCESSES
from tollbench.launching.answers import open_plain
from tollbench.text import shown

_MARK_OF_SCRIPTS = b"#!"
_LONGEST_LINE = 256  # that the kernel reads of a script
_NEITHER = ": it is neither a program nor a script that says what runs it (#!)"
_MARK_OF_ELF = b"\x7fELF"


def why_not_started(program: str, folder: Path | None, error: OSError) -> str:
    """What helps to mend it, to go on behind the kernel's words; "" where nobody knows more."""
    if error.errno == errno.EAGAIN:
        return f": a limit of processes is reached; {MORE_PROCESSES}"
    path = Path(folder or ".", program)
    if error.errno not in (errno.ENOENT, errno.ENOEXEC) or not path.is_file():
        return ""
    try:
        with open_plain(path) as file:
            first = file.read(_LONGEST_LINE)
        if first.startswith(_MARK_OF_SCRIPTS):
            return _lacking(os.fsdecode(first[2:].split(b"\n")[0].strip().split(b" ")[0]))
        if first.startswith(_MARK_OF_ELF):
            return _of_elf(path, error)
    except OSError:
        return ""
    return _NEITHER if error.errno == errno.ENOEXEC else ""


def _of_elf(path: Path, error: OSError) -> str:
    from elftools.elf.elffile import ELFFile  # seldom needed, and slow to import
    from elftools.elf.segments import InterpSegment

    from tollbench.launching.elf_files import DAMAGES

    try:
        with open_plain(path) as file:
            elf = ELFFile(file)
            if error.errno == errno.ENOEXEC:
                machine = shown(str(elf["e_machine"]).removeprefix("EM_"), 40)
                return (
                    f": it is code for {machine}, on a machine of {os.uname().machine}; build it for this one"
                )
            names = [
                part.get_interp_name() for part in elf.iter_segments() if isinstance(part, InterpSegment)
            ]
    except DAMAGES:
        return ": its header is damaged"
    return _lacking(names[0]) if names else ""


def _lacking(interpreter: str) -> str:
    if not interpreter or Path(interpreter).exists():
        return ""
    return f": {shown(interpreter, 200)}, which it asks to be run by, is not there; build it for this system"
