"""A program as it is loaded: its file, the shared libraries that it names, and which of them two share."""

from __future__ import annotations

import filecmp
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.counting.image import Image, Unreadable, open_program
from tollbench.counting.in_memory import same_in_memory
from tollbench.counting.matching import Bound
from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import breakable
from tollbench.launching.sandbox import Confined

_LOADED = re.compile(r"^\s*(?:(.+?) => )?(/.+) \(0x[0-9a-f]+\)$")
_LOADER_LIMIT_S = 10.0
_CAPABILITIES = "security.capability"
KERNELS_OWN = "linux-vdso.so"
_NONE = "statically linked"  # what the dynamic linker says of a program that asks for it and for no library
# What loads code that no table of the file names, or looks for it by a name that may be any text.
LOADS_BY_NAME = re.compile("dlm?open")
GOES_BY_NAME = re.compile("dlm?open|dlv?sym")
# With these a program finds files by where it lies itself, or has other programs do its work. The C++ library
# does it for whom std::filesystem serves.
FINDS_ITS_PLACE = re.compile(
    r"(__)?(readlink|readlinkat|realpath)(_chk)?|canonicalize_file_name|dladdr1?|f?chdir"
    r"|program_invocation_(short_)?name|__progname(_full)?"
    r"|system|popen|v?fork|posix_spawnp?|f?exec(v|ve|vp|vpe|l|lp|le|veat)"
    r"|_ZNSt\w*10filesystem\d+(__)?(read_symlink|canonical|weakly_canonical|current_path)\w*"
)
# With these it reads files, or asks about them, by names that it may make of that of its own source.
OPENS_FILES = re.compile(
    r"(__)?(open|openat)(64)?(_2)?|f(d|re)?open(64)?|(__)?(l|f)?x?stat(at|x)?(64)?|f?access(at)?|(e|eu)access"
    r"|(fd)?opendir|scandir(at)?(64)?|n?ftw(64)?|fts(64)?_open|glob(64)?|syscall|creat(64)?|name_to_handle_at"
    r"|_ZNSt\w*basic_(i|o)?f(stream|ilebuf)\w*|_ZNSt\w*10filesystem\w*|_ZNKSt\w*10filesystem\w*"
)
_OF_CPP = "_Z"  # how names begin that a C++ compiler made (the C++ ABI for Itanium)
# Libraries of the C and C++ languages ask for all of this; what they do with it for a program shows in what
# the program asks them for. Of any other library nobody knows what it does.
_RUNTIME = re.compile(
    r"(ld-linux-x86-64|lib(c|m|mvec|dl|pthread|rt|util|gcc_s|stdc\+\+|gomp|atomic|quadmath|gfortran"
    r"|asan|hwasan|lsan|tsan|ubsan|c\+\+|c\+\+abi|unwind|omp))\.so(\.\d+)*"
)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two programs' files: those that differ, to be compared, the executables first."""

    images: tuple[tuple[Image, Image], ...]
    alike: bool  # the executables are the same in memory, and no library differs: nothing has to be walked
    looks_around: bool  # may load or start what it does not name, or find files by its own place
    opens_files: bool  # whatever their names are
    bound: Bound
    makes_code: str = ""  # a file that may run what it writes, where no system call would tell; "": none


def paired(a: Path, b: Path, environment: Mapping[str, str]) -> Pairing:
    """Reads both. Raises Unreadable where their code cannot be compared."""
    for path in (a, b):
        if _runs_with_other_rights(path):
            raise Unreadable(
                f"{path.name} is set-uid or set-gid, or has capabilities: the dynamic linker may give it"
                " other libraries than it tells"
            )
    first, second = _image(a), _image(b)
    ones, others = loaded(first, environment), loaded(second, environment)
    if list(ones) != list(others):
        only = sorted(ones.keys() ^ others.keys())
        told = f"{only[0]} on one side only" if only else "in another order"
        raise Unreadable(f"other libraries are loaded: {told}")
    images = [(first, second)]
    shared = {}  # file -> what it holds
    for name, path in ones.items():
        if _same_file(path, others[name]):
            shared[path] = _image(path)
        else:
            images.append((_image(path), _image(others[name])))
    alike = len(images) == 1 and same_in_memory(first, second)
    for image in () if alike else (image for pair in images for image in pair):
        if image.why_not_walked:
            raise Unreadable(f"{image.path.name} {image.why_not_walked}")
        if image.ambiguous:
            raise Unreadable(f"{image.path.name} has several versions of {image.ambiguous}")
    asking = [image for pair in images for image in pair]
    asking += [image for path, image in shared.items() if not _RUNTIME.fullmatch(path.name)]
    bound = _bound(images, list(shared.values()), [image for image in asking if _asks(image, GOES_BY_NAME)])
    looks_around = not first.interpreter or any(  # what is linked statically asks nobody by a name
        _asks(image, LOADS_BY_NAME) or _asks(image, FINDS_ITS_PLACE) for image in asking
    )
    opens_files = any(_asks(image, OPENS_FILES) for image in asking)
    around = (*(image for pair in images for image in pair), *shared.values())
    making = next((image.path.name for image in around if image.may_run_what_it_writes), "")
    return Pairing(tuple(images), alike, looks_around, opens_files, bound, making)


def _runs_with_other_rights(path: Path) -> bool:
    """Whether the loader ignores LD_LIBRARY_PATH and its like once it is run (ld.so(8), secure execution)."""
    try:
        mode = path.stat().st_mode
        return bool(mode & (stat.S_ISUID | stat.S_ISGID)) or _CAPABILITIES in os.listxattr(path)
    except OSError:
        return False  # a file system without such attributes; what cannot be read is told later


def _asks(image: Image, names: re.Pattern[str]) -> bool:
    return any(names.fullmatch(name) for name in image.imports)


def _bound(images: Sequence[tuple[Image, Image]], shared: Sequence[Image], looking: Sequence[Image]) -> Bound:
    """Of each pair the names that other files take, which get the first definition that is loaded.

    `shared` files may take whatever they mention. Who looks for definitions by a text may have it among any
    file's constants, or put together a name of C. Files that differ are walked, and what they ask for is
    seen, but for what they define themselves: the first definition may be another file's.
    """
    texts = [image.dynamic_names for image in shared]
    if looking:
        texts += _own_texts((*images[0], *looking))
    names = []
    for pair in images:
        both, only = pair[0].offered & pair[1].offered, pair[0].offered ^ pair[1].offered
        theirs = (a.offered & b.offered for a, b in images if (a, b) != pair)
        # Of a library, and where somebody looks for any name, what both sides define is walked in any case.
        asked = only if looking or pair != images[0] else both | only
        mentioned = {name for name in asked if _in_any(name, texts)}
        if looking:
            mentioned |= {name for name in only if not name.startswith(_OF_CPP)}
        names.append(frozenset(mentioned | ((both | only) & set().union(*theirs))))
    return Bound(names, bool(looking))


def bound_of_opened(a: Image, b: Image, around: Iterable[Image], texts: Iterable[bytes]) -> Bound:
    """What a program may take of a library that it opens by name, of definitions that one side alone has.

    Not what only the library's own table of symbols mentions, and no file `around` it or other text that a
    run may read. A name of C may be put together ("test_" and a number); one that a C++ compiler made is not.
    """
    images = tuple(around)
    read = [*texts, *_own_texts((a, b, *images))]
    imported = set().union(*(image.imports for image in images))
    names = {
        name
        for name in a.offered ^ b.offered
        if not name.startswith(_OF_CPP) or name in imported or any(name.encode() in text for text in read)
    }
    return Bound([names], any_name=True)


def _own_texts(images: Iterable[Image]) -> list[bytes]:
    """All that is loaded of each, but for the names of its symbols."""
    return [
        image.read(section.start, section.size)
        for image in dict.fromkeys(images)
        for section in image.sections
        if not section.zero and section.name != ".dynstr"
    ]


def _in_any(name: str, texts: Iterable[bytes]) -> bool:
    return any(name.encode() + b"\0" in text for text in texts)


def loaded(image: Image, environment: Mapping[str, str]) -> dict[str, Path]:
    """The libraries that the dynamic linker finds for it, by the name that is asked for."""
    if not image.interpreter:
        return {}
    command = [image.interpreter, "--list", str(image.path)]
    try:
        ended = run_command(command, environment, image.path.parent, _LOADER_LIMIT_S, confined=Confined())
    except LaunchFailed as failure:
        raise Unreadable(f"does not tell its libraries: the dynamic linker {failure.reason}") from None
    if ended.exit_code != 0:
        raise Unreadable(f"does not tell its libraries: the dynamic linker {ended.how()}")
    found = {}
    for line in ended.stdout.decode("utf-8", "replace").splitlines():
        if KERNELS_OWN in line or line.strip() in ("", _NONE):
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
        if one.samefile(other):
            return True
        with open_program(one), open_program(other), breakable():
            return filecmp.cmp(one, other, shallow=False)
    except OSError as error:
        raise Unreadable(f"{one.name} cannot be read: {error.strerror}") from None
