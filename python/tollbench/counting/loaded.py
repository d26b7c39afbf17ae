"""A program as it is loaded: its file, the shared libraries that it names, and which of them two share."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tollbench.counting.image import Image, Unreadable
from tollbench.counting.matching import Bound
from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed

_LOADED = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_LOADER_LIMIT_S = 10.0
# What loads code that no table of the file names, or looks for it by a name that may be any text.
LOADS_BY_NAME = frozenset(("dlopen", "dlmopen"))
LOOKS_BY_NAME = frozenset(("dlsym", "dlvsym"))


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two programs' files: those that differ, to be compared, the executables first."""

    images: tuple[tuple[Image, Image], ...]
    loads_more: bool  # one of them may load files that it does not name
    bound: Bound


def paired(a: Path, b: Path, environment: Mapping[str, str]) -> Pairing:
    """Reads both. Raises Unreadable where their code cannot be compared."""
    first, second = _image(a), _image(b)
    ones, others = loaded(first, environment), loaded(second, environment)
    if ones.keys() != others.keys():
        only = sorted(ones.keys() ^ others.keys())
        raise Unreadable(f"loads other libraries: {only[0]} on one side only")
    images = [(first, second)]
    shared = []
    for name, path in ones.items():
        if _same_file(path, others[name]):
            shared.append(path)
        else:
            images.append((_image(path), _image(others[name])))
    imports = frozenset().union(*(image.imports for pair in images for image in pair))
    by_name = bool(imports & (LOADS_BY_NAME | LOOKS_BY_NAME))
    names = _mentioned(images[0], shared, in_data=by_name)
    return Pairing(tuple(images), bool(imports & LOADS_BY_NAME), Bound(names, by_name))


def _mentioned(
    executables: tuple[Image, Image], libraries: Iterable[Path], *, in_data: bool
) -> frozenset[str]:
    """What the executables define and a library of both names too: it gets the executable's definition.

    With `in_data` also what stands among the executables' own constants, for them to look it up.
    """
    known = [_image(path).dynamic_names for path in dict.fromkeys(libraries)]
    if in_data:
        known += [
            image.read(section.start, section.end - section.start)
            for image in executables
            for section in image.sections
            if not section.zero and section.name != ".dynstr"
        ]
    exported = executables[0].exports.keys() | executables[1].exports.keys()
    return frozenset(name for name in exported if any(name.encode() + b"\0" in text for text in known))


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
    found = _LOADED.findall(ended.stdout.decode("utf-8", "replace"))
    return {name or path: Path(path) for name, path in found}


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
