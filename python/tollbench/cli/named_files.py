"""What all verbs that write have in common: --force, names of files, and which files a command reads."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tollbench.errors import TollError
from tollbench.text import shown

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that toll did not make; no measured data, links or folders."),
]


def file_path(text: str) -> Path:
    """What an option names as a file. Raises TollError for a name that cannot be one."""
    if text.endswith(("/", "/.")):
        raise TollError(f"{text} is the name of a folder, and a file is written", f"name a file: {text}FILE")
    return any_path(text)


def any_path(text: str) -> Path:
    """What an option names as a file or folder. Raises TollError for an empty name (an unset variable)."""
    if not text:
        raise TollError("the name of an output is empty", "name one, for example --output /tmp/report.html")
    return Path(text)


def lake_place(text: str) -> str:
    """What an option names as a lake: a folder, or a place in object storage. Raises TollError."""
    from tollbench.lake.object_store import SCHEMES, is_object_url

    if "://" not in text:
        return str(any_path(text))
    if not is_object_url(text):
        raise TollError(
            f"{shown(text, 100)} is no place of a lake", f"name a folder, or one of {', '.join(SCHEMES)}"
        )
    return text


def files_of_run(path: Path) -> list[Path]:
    """A run file, and what SQLite keeps beside it while it is written and after a kill."""
    return [path, *(Path(f"{path}{ending}") for ending in ("-wal", "-shm", "-journal"))]


def files_of_sides(sides: Sequence[str], folder: Path | None) -> Iterator[Path]:
    """Executables, and files that a command line names: whatever a comparison may read."""
    for side in sides:
        try:
            words = shlex.split(side)
        except ValueError:
            words = []
        if words and (found := shutil.which(words[0])):
            yield Path(found)
        # `--data=FILE` too
        names = {side, *words, *(word.partition("=")[2] for word in words)} - {""}
        for name in names:
            for place in (Path(), folder or Path()):
                if len(os.fsencode(name)) < 4096 and os.path.lexists(place / name):
                    yield place / name
