"""Which files a run's programs are: a run that is gone on with measures the ones that it was begun with.

A resumed run builds first, and another compiler, other headers of a library or an edited source build another
program. Its launches beside those of the program before would be one row, under the first one's name. What a
program loads when it starts is no part of its file, and is not looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tollbench.errors import TollError
from tollbench.words import Program, Status

PROGRAMS = "programs"  # of the run's plan: {name of `program_name`: digest}
ANOTHER = "its program was built anew and is not the one that its launches are of; a new run measures it"


def program_name(program: Program) -> str:
    """Of one run's programs no two have the same."""
    return f"{program.workload}|{program.contender}|{program.environment}"


def digests(programs: Sequence[Program]) -> dict[str, str]:
    """Of those that were built."""
    return {
        program_name(program): _digest(program)
        for program in programs
        if program.status is Status.OK and program.command
    }


def begun_with(programs: Sequence[Program], stored: object) -> tuple[Program, ...]:
    """The programs, those that are another one than `stored` has left out with the reason.

    `stored` is `digests` of the run's beginning, as its file has it; nothing is told apart where it has none.
    Raises TollError where all of them are others: nothing could be gone on with.
    """
    then: Mapping[str, object] = stored if isinstance(stored, dict) else {}
    now = digests(programs)
    known = [name for name in now if name in then]
    others = {name for name in known if then[name] != now[name]}
    if known and len(others) == len(known):
        raise TollError(
            "Every program was built anew since the run began, and is another one: by another compiler, from"
            " other sources or with other headers.",
            "Start a new run: launches of both would be one row. What was measured stays as it is.",
        )
    return tuple(
        replace(program, command=(), status=Status.SKIPPED, reason=ANOTHER)
        if program_name(program) in others
        else program
        for program in programs
    )


def _digest(program: Program) -> str:
    """Of its file, and of what one that needs others beside it is made from; not of what enters a root."""
    found = hashlib.blake2b(program.made_from.encode(), digest_size=8)
    found.update(_content(Path(program.command[-1])))
    return found.hexdigest()


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "blake2b").digest()
    except OSError:
        return b""
