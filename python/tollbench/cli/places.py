"""Where things lie: what toll brings, what it builds, and what it measured."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from tollbench import home
from tollbench.cli.console import say
from tollbench.errors import TollError
from tollbench.home import COMMAND

ROOT = home.SOURCES
RUNS = Path("runs")  # where the user stands


def build_folder(environment: str) -> Path:
    """Programs of one environment are built here, apart from every other."""
    return home.builds() / environment


def in_runs(name: str) -> Path:
    """A file in the folder runs/ of where the user stands. Raises TollError where that folder is gone."""
    try:
        return Path.cwd() / RUNS / name
    except OSError as error:
        raise TollError(
            f"there is no current folder to write {RUNS / name} in: {error.strerror}",
            "change to a folder that is there",
        ) from None


def make_folder(folder: Path, option: str, *, now: bool = True) -> None:
    """Makes the folder of a file that is to be written. Raises TollError; `option` names another place.

    Not `now`: whoever opens the file makes it, and here it is only tried whether that can be.

    Says so where runs/ is in somebody else's folder: a user with every right leaves files there unawares.
    """
    try:
        there = next(filter(os.path.isdir, (folder, *folder.parents)))
        if now:
            folder.mkdir(parents=True, exist_ok=True)
        else:
            _try_to_make(folder, there)
        nobody_named_it = folder.name == RUNS.name and folder.parent == Path.cwd()
        if (nobody_named_it or not now) and not os.access(folder if now else there, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        foreign = nobody_named_it and there.stat().st_uid != os.geteuid()
    except OSError as error:
        raise TollError(
            f"cannot write into the folder {folder}: {error.strerror}",
            f"change to a folder of yours, or name a writable place: {option}",
        ) from None
    if foreign:
        say(f"note: {there} belongs to another user; files go to {folder} ({option} names another place)")


def _try_to_make(folder: Path, there: Path) -> None:
    """Makes folders of these names elsewhere in `there`, for a moment: another toll may make the same. Raises
    OSError."""
    if next(filter(os.path.lexists, (folder, *folder.parents))) != there:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    with tempfile.TemporaryDirectory(prefix=".toll-", dir=there) as place:
        for name in folder.relative_to(there).parts:
            Path(place, name).mkdir(exist_ok=True)


def shown_path(path: Path) -> str:
    """As somebody in the current folder would type it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def run_path(name: str) -> Path:
    """The run file that a user means by `name`: a path, or a name in runs/ with or without its suffix.

    Raises TollError that offers the nearest run.
    """
    if (found := found_run(name)) is not None:
        return found
    with suppress(OSError):  # of a name that is too long
        if Path(name).is_dir():
            raise TollError(f"{name} is a folder, not a run file", f"name a file in it: {name}/NAME.toll")
    raise TollError(f"there is no run file {name}", _offer(name))


def found_run(name: str) -> Path | None:
    """The same, None where there is none."""
    candidates = (folder / f"{name}{end}" for folder in (Path(), RUNS) for end in ("", ".toll", ".jsonl"))
    return next(filter(os.path.isfile, candidates), None)  # of a name too long Path.is_file raises OSError


def _offer(name: str) -> str:
    from tollbench.catalog.toml_files import nearest

    there = sorted(filter(os.path.isfile, RUNS.glob("*.toll")), key=os.path.getmtime, reverse=True)
    if not there:
        return f"measure one: {COMMAND} run"
    close = nearest(Path(name).stem, [path.stem for path in there], 1)
    if close:
        return f"did you mean {RUNS / close[0]}.toll?"
    return f"the latest one is {there[0]}"
