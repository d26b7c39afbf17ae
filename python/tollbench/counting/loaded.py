"""A program as it is loaded: its file, the shared libraries that it names, and which of them two share."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.counting.image import Image, Unreadable
from tollbench.counting.matching import Bound
from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed

_LOADED = re.compile(r"^\s*(?:(.+?) => )?(/.+) \(0x[0-9a-f]+\)$")
_LOADER_LIMIT_S = 10.0
KERNELS_OWN = "linux-vdso.so"
# What loads code that no table of the file names, or looks for it by a name that may be any text.
LOADS_BY_NAME = frozenset(("dlopen", "dlmopen"))
LOOKS_BY_NAME = frozenset(("dlsym", "dlvsym"))
# With these a program finds files by where it lies itself, or has other programs do its work.
FINDS_ITS_PLACE = frozenset(
    [
        "readlink",
        "readlinkat",
        "realpath",
        "__realpath_chk",
        "__readlink_chk",
        "canonicalize_file_name",
        "dladdr",
        "program_invocation_name",
        "chdir",
        "fchdir",
        "system",
        "popen",
        "fork",
        "vfork",
        "posix_spawn",
        "posix_spawnp",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "fexecve",
    ]
)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two programs' files: those that differ, to be compared, the executables first."""

    images: tuple[tuple[Image, Image], ...]
    looks_around: bool  # may load or start what it does not name, or find files by its own place
    bound: Bound


def paired(a: Path, b: Path, environment: Mapping[str, str]) -> Pairing:
    """Reads both. Raises Unreadable where their code cannot be compared."""
    first, second = _image(a), _image(b)
    ones, others = loaded(first, environment), loaded(second, environment)
    if list(ones) != list(others):
        only = sorted(ones.keys() ^ others.keys())
        told = f"{only[0]} on one side only" if only else "in another order"
        raise Unreadable(f"other libraries are loaded: {told}")
    images = [(first, second)]
    shared = []
    for name, path in ones.items():
        if _same_file(path, others[name]):
            shared.append(path)
        else:
            images.append((_image(path), _image(others[name])))
    for image in (image for pair in images for image in pair):
        if image.ambiguous:
            raise Unreadable(f"{image.path.name} has several versions of {image.ambiguous}")
    imports = frozenset().union(*(image.imports for pair in images for image in pair))
    by_name = bool(imports & (LOADS_BY_NAME | LOOKS_BY_NAME))
    bound = Bound(_mentioned(images, shared, in_data=by_name), by_name)
    return Pairing(tuple(images), bool(imports & (LOADS_BY_NAME | FINDS_ITS_PLACE)), bound)


def _mentioned(
    images: Sequence[tuple[Image, Image]], libraries: Iterable[Path], *, in_data: bool
) -> list[frozenset[str]]:
    """Of each pair the names that `libraries` mention too, which are the same on both sides.

    They get the first definition that is loaded. Files that differ are walked, and what they ask for is seen.
    With `in_data` also what stands among the executables' own constants, for them to look it up.
    """
    shared = [_image(path).dynamic_names for path in dict.fromkeys(libraries)]
    if in_data:
        shared += [
            image.read(section.start, section.end - section.start)
            for image in images[0]
            for section in image.sections
            if not section.zero and section.name != ".dynstr"
        ]
    exported = [pair[0].exports.keys() | pair[1].exports.keys() for pair in images]
    return [frozenset(name for name in names if _in_any(name, shared)) for names in exported]


def _in_any(name: str, texts: Iterable[bytes]) -> bool:
    return any(name.encode() + b"\0" in text for text in texts)


def loaded(image: Image, environment: Mapping[str, str]) -> dict[str, Path]:
    """The libraries that the dynamic linker finds for it, by the name that is asked for."""
    if not image.interpreter:
        return {}
    command = [image.interpreter, "--list", str(image.path)]
    try:
        ended = run_command(command, environment, image.path.parent, _LOADER_LIMIT_S)
    except LaunchFailed as failure:
        raise Unreadable(f"does not tell its libraries: the dynamic linker {failure.reason}") from None
    if ended.exit_code != 0:
        raise Unreadable(f"does not tell its libraries: the dynamic linker {ended.how()}")
    found = {}
    for line in ended.stdout.decode("utf-8", "replace").splitlines():
        if KERNELS_OWN in line or not line.strip():
            continue
        match = _LOADED.match(line)
        if match is None:
            raise Unreadable(f"does not tell its libraries: {line.strip()[:100]}")
        found[match[1] or match[2]] = Path(match[2])
    return found


def _image(path: Path) -> Image:
    try:
        return Image(path)
    except Unreadable as reason:
        raise Unreadable(f"{path.name} {reason}") from None


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other) or filecmp.cmp(one, other, shallow=False)
    except OSError as error:
        raise Unreadable(f"{one.name} cannot be read: {error.strerror}") from None
