"""Which functions an instruction was inlined from, and from which lines: what debug information says."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.counting.demangling import full_name
from tollbench.launching.command import run_command
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt

# The first is quicker for large files; both answer alike.
_SYMBOLIZERS = (("llvm-symbolizer", "--output-style=GNU", "--no-demangle"), ("addr2line",))
_LIMIT_S = 120.0
_MOST_AT_ONCE = 4000  # addresses on a command line
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_PLACE = re.compile(r"(.*):(\d+|\?)(?: \(discriminator \d+\))?")
# Headers of others: what is inlined from there is the doing of whoever used it.
_OF_OTHERS = re.compile(r"/(usr|opt|lib|lib64)/|.*/(lib/gcc|include/c\+\+|\.conan2?|_deps|third_party)/")


@dataclass(frozen=True, slots=True)
class Frame:
    """A function, inlined or not, and where in the source the instruction stems from."""

    function: str  # demangled
    file: str  # as the compiler was told; "" where nobody knows
    line: int

    @property
    def is_of_others(self) -> bool:
        """Whether it stands in a header of the system or of a library."""
        return not self.file or bool(_OF_OTHERS.match(self.file))


Frames = tuple[Frame, ...]  # the innermost first; the last one is the function as it was compiled


def missing_tool() -> str:
    """What has to be installed first; "" where nothing is missing."""
    if any(shutil.which(words[0]) for words in _SYMBOLIZERS):
        return ""
    return "neither llvm-symbolizer nor addr2line is installed (apt-get install binutils)"


def frames_of(
    file: Path, addresses: Iterable[int], interrupt: Interrupt | None = None
) -> Mapping[int, Frames]:
    """Of each address that debug information knows. Raises LaunchFailed where the tool fails."""
    wanted = sorted(set(addresses))
    tool = next((words for words in _SYMBOLIZERS if shutil.which(words[0])), None)
    if tool is None:
        raise LaunchFailed(missing_tool())
    found: dict[int, Frames] = {}
    for begin in range(0, len(wanted), _MOST_AT_ONCE):
        some = [hex(address) for address in wanted[begin : begin + _MOST_AT_ONCE]]
        command = [*tool, "-f", "-i", "-a", "-e", str(file), *some]
        ended = run_command(command, own_environment(), Path("/"), _LIMIT_S, interrupt)
        if ended.exit_code != 0:
            raise LaunchFailed(f"{tool[0]} {ended.how()}")
        found |= _parsed(ended.stdout.decode("utf-8", "replace").splitlines())
    return found


def _parsed(lines: Sequence[str]) -> dict[int, Frames]:
    """An address, then a line with a name and one with a place for each frame."""
    found: dict[int, Frames] = {}
    address, name = -1, None
    frames: list[Frame] = []
    for line in [*lines, "0x0"]:
        if _ADDRESS.fullmatch(line) and name is None:
            if frames and any(frame.file for frame in frames):
                found[address] = tuple(frames)
            address, frames = int(line, 16), []
        elif name is None:
            name = line
        else:
            frames.append(_frame(name, line))
            name = None
    return found


def _frame(name: str, place: str) -> Frame:
    match = _PLACE.fullmatch(place)
    file, line = (match[1], match[2]) if match else ("", "0")
    known = file not in ("", "??")
    return Frame(full_name(name), file if known else "", int(line) if known and line.isdigit() else 0)
