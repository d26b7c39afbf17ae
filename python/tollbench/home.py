"""Where toll lies, and what it brings along: suites, measuring library, CMake files, schemas, chart library.

In a checkout these are the checkout's own, and the checkout wins. A wheel has them inside the package, below
`shipped`; what is built of them goes to the user's cache, because the package may be read-only, shared, or
gone tomorrow.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path

PACKAGE = Path(str(resources.files("tollbench")))
_ABOVE = PACKAGE.resolve().parents[1]
# Of a checkout, where the package is python/tollbench; None for an installed package.
CHECKOUT = _ABOVE if (_ABOVE / "suites").is_dir() and (_ABOVE / "CMakeLists.txt").is_file() else None
COMMAND = "./toll" if CHECKOUT else "toll"  # as a reader of what is printed types it
# What a wheel has of a checkout besides the package, in `shipped`; pyproject.toml names the same.
SHIPPED = (
    "CMakeLists.txt", "CMakePresets.json", "cmake", "include", "languages", "schemas", "src", "suites",
    "third_party",
)  # fmt: skip
SOURCES = CHECKOUT or PACKAGE / "shipped"


class NoCache(OSError):
    """Of a user without a home: nothing can be kept. Whoever can do without a cache takes it for any other
    folder that cannot be written."""

    next_step = "set HOME or XDG_CACHE_HOME to a folder of yours"

    def __init__(self, place: Path, why: str) -> None:
        super().__init__(f"toll keeps nothing in {place}: {why}; and this user has no home")


def cache_place() -> Path:
    """Where the cache is, or would be: below XDG_CACHE_HOME, else ~/.cache, else in the temporary folder."""
    return _of_this_user() or _in_temporary_folder()


def cache_folder() -> Path:
    """Where toll keeps what it can make again.

    A user without a home, as in many containers, has a folder in the temporary folder. Programs lie there
    that are run, so it is made for this user alone. Raises NoCache where it would be somebody else's.
    """
    if (place := _of_this_user()) is not None:
        return place
    place = _in_temporary_folder()
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as error:
        raise NoCache(place, str(error.strerror)) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise NoCache(place, "it is not this user's alone")
    return place


def _of_this_user() -> Path | None:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "toll"
    except RuntimeError:  # neither HOME nor an entry in the system's list of users
        return None


def _in_temporary_folder() -> Path:
    base = Path(os.environ.get("TMPDIR", ""))
    return (base if base.is_absolute() else Path("/tmp")) / f"toll-cache-{os.geteuid()}"


def builds() -> Path:
    """The folder of all build folders: `build` of the checkout, or one in the user's cache."""
    return CHECKOUT / "build" if CHECKOUT else cache_folder() / "builds" / _mark(SOURCES)


def needed_by_programs() -> tuple[Path, ...]:
    """Folders that building and running contenders needs, at the same path in a root as outside.

    The package is among them because cmake/toll_suites.py shares a file with it.
    """
    return (CHECKOUT,) if CHECKOUT else (PACKAGE.resolve(), builds())


def fingerprint() -> str:
    """Says which toll this is: one for a wheel, what is installed of it, and the checkout it was made of.

    SHA-256 over a line for each file, "NAME\\0SHA-256 of its content\\n", ordered by its name in the package.
    What `is_no_part` leaves out is not asked for; one that cannot be read is there by its name alone.
    """
    mark = hashlib.sha256()
    for name, path in sorted(_package_files()):
        with suppress(FileNotFoundError):  # gone since it was listed, as what an editor writes beside a file
            mark.update(f"{name}\0{_digest(path)}\n".encode())
    return mark.hexdigest()


def is_no_part(name: str) -> bool:
    """Whether what lies there is left by editors, version control, Python or a crash, and is no part of toll.

    The name is that in the package. `fleet/on_host.py` has the same, as it stands alone.
    """
    return _NO_PART.search(name) is not None


_NO_PART = re.compile(
    r"(?:^|/)(?:__pycache__/.*|\.[^/]*|core(?:\.\d+)?|#[^/]*|[^/]*(?:~|\.(?:pyc|swp|orig|rej)))$"
)


def _digest(path: Path) -> str:
    """SHA-256 of a file, "unreadable" where it cannot be read. Raises FileNotFoundError."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise
    except OSError:
        return "unreadable"


def _package_files() -> Iterator[tuple[str, Path]]:
    """Each file of the package, with what a wheel has of a checkout besides: name in the package, place."""
    folders = {PACKAGE.resolve(): ""}
    if CHECKOUT:
        folders |= {CHECKOUT / name: f"shipped/{name}" for name in SHIPPED}
    for folder, name in folders.items():
        if folder.is_file():
            yield name, folder
        for where, _, files in os.walk(folder):
            for path in filter(os.path.isfile, (Path(where, each) for each in files)):
                inside = "/".join(filter(None, (name, path.relative_to(folder).as_posix())))
                if not is_no_part(inside):
                    yield inside, path


@cache
def _mark(sources: Path) -> str:
    """Differs where the sources or their place do.

    CMake takes no other source folder for a build folder, and ninja goes by dates, which an older version
    that is installed over a newer one may have in any order.
    """
    mark = hashlib.blake2b(str(sources.resolve()).encode(), digest_size=8)
    for path in sorted(sources.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            mark.update(f"\0{path.relative_to(sources)}\0".encode() + path.read_bytes())
    return mark.hexdigest()
