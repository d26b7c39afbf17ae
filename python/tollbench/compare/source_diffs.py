"""The lines between two revisions, and which of them touch a function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tollbench.compare.explanations import Hunk

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MOST_LINES = 12  # of a hunk that are shown
# Lines that ran begin behind a function's head, and a line that went may have stood before them all.
_BEFORE, _BEHIND = 3, 1
Lines = dict[str, tuple[int, int]]  # file as the compiler was told -> first and last line


@dataclass(frozen=True, slots=True)
class FileHunk:
    """A piece of `git diff --unified=0`."""

    file_a: str
    file_b: str
    a: range  # lines of the first revision; empty where lines were only added
    b: range
    text: str

    def touches(self, ones: Lines, others: Lines) -> bool:
        """Whether it overlaps lines of either revision."""
        return _overlaps(self.file_a, self.a, ones) or _overlaps(self.file_b, self.b, others)

    def hunk(self) -> Hunk:
        """As it is told."""
        lines = self.text.splitlines()
        more = [f"  ... {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
        text = "\n".join([*lines[:_MOST_LINES], *more])
        return Hunk(file=self.file_b, line_a=self.a.start, line_b=self.b.start, text=text)


def touching(hunks: Iterable[FileHunk], ones: Lines, others: Lines) -> tuple[Hunk, ...]:
    """Those that overlap a function's lines."""
    return tuple(each.hunk() for each in hunks if each.touches(ones, others))


def _overlaps(file: str, changed: range, lines: Lines) -> bool:
    for name, (first, last) in lines.items():
        if name == file or name.endswith("/" + file):
            begin, end = first - _BEFORE, last + _BEHIND
            # Lines that were only added or only removed lie between two lines of the other side.
            if changed.start <= end and (changed.stop if changed else changed.start + 1) > begin:
                return True
    return False


def parsed(diff: str) -> list[FileHunk]:
    """What `git diff --unified=0 --no-prefix` prints."""
    found: list[FileHunk] = []
    names = ["", ""]
    lines = diff.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            names = [line[4:].rstrip("\t"), lines[at + 1][4:].rstrip("\t")]
        elif match := _HUNK.match(line):
            a, a_size, b, b_size = (1 if each is None else int(each) for each in match.groups())
            text = "\n".join(_body(lines[at + 1 :], a_size + b_size))
            found.append(FileHunk(names[0], names[1], range(a, a + a_size), range(b, b + b_size), text))
    return found


def _body(lines: Sequence[str], size: int) -> Iterator[str]:
    for line in lines:
        if not size:
            return
        if line.startswith(("+", "-")):
            yield line
            size -= 1
