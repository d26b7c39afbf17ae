"""Linker scripts that put functions where a layout wants them, and nothing else at another place.

For GNU ld the script that this very link used (`--verbose` prints it), with more lines inside of .text. For
LLD, which has rules instead of a script, the description of .text alone, with INSERT.

Sources: the manual of GNU ld ("Input Section Basics", "Expression Section"); LLD's linker_script.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise

from tollbench.linking.link_maps import MappedSection
from tollbench.linking.placing import Block, ScriptStep, Steps

PAGE_BYTES = 4096
PROBE_BYTES = 256  # an alignment above is taken for this one
_SORTED = ".text.sorted.*"  # the build has asked for an order of its own
_FENCE = re.compile(r"\n={10,}\n")
_GLOBBING = re.compile(r"[][*?\\]")
_TEXT = re.compile(r"\n[ \t]*\.text[ \t]*:[^{};]*\{(?P<body>[^{}]*)\}")
_INPUT = re.compile(r"\n[ \t]*\*\((?P<patterns>[\w.* \t]+)\)[ \t]*(?=\n)")

Pattern = tuple[str | None, str]  # of files (None: any) and of sections
Patterns = Mapping[tuple[int, str], Sequence[Pattern]]  # by a block's group and key


@dataclass(frozen=True, slots=True)
class TextScript:
    """A linker script, cut where the blocks of each group go."""

    before: tuple[str, ...]  # text before each group's lines
    after: str
    patterns: tuple[tuple[str, ...], ...]  # names of the sections of each group
    exact: bool  # whether a quoted pattern means itself, as for LLD

    def group_of(self, section: str) -> int | None:
        """Which line takes a section of this name; None where none that may be edited does."""
        if fnmatchcase(section, _SORTED):
            return None
        for number, patterns in enumerate(self.patterns):
            if any(fnmatchcase(section, pattern) for pattern in patterns):
                return number
        return None

    def with_steps(self, steps: Steps, patterns: Patterns) -> str:
        """The script of a layout."""
        return self._with(steps, lambda step: self._step(step, patterns))

    def with_probes(self, blocks: Sequence[Block], patterns: Patterns) -> str:
        """A script by which the alignment of blocks that have 1 so far shows: see probed_align."""
        steps: dict[int, list[ScriptStep]] = {}
        for block in blocks:
            steps.setdefault(block.group, []).append(ScriptStep(0, block))
        return self._with(steps, lambda step: self._probe(step, patterns))

    def _with(self, steps: Steps, lines: Callable[[ScriptStep], Iterable[str]]) -> str:
        made, first = [], True
        for number, text in enumerate(self.before):
            made.append(text)
            if here := steps.get(number, ()):
                # What lies before differs between revisions; beyond a page it no longer shows.
                made.append(f"    . = ALIGN({PAGE_BYTES if first else 64});")
                first = False
            made += [f"    {line}" for step in here for line in lines(step)]
        return "\n".join([*made, self.after])

    def _step(self, step: ScriptStep, patterns: Patterns) -> Iterable[str]:
        if step.padding:
            yield f". += {step.padding};"
        if step.block is not None:
            yield from map(self._statement, patterns[step.block.group, step.block.key])

    def _probe(self, step: ScriptStep, patterns: Patterns) -> Iterable[str]:
        assert step.block is not None
        yield f". = ALIGN({PROBE_BYTES});"
        if step.block.align == 1:
            yield ". += 1;"
        yield from map(self._statement, patterns[step.block.group, step.block.key])

    def _statement(self, pattern: Pattern) -> str:
        file, section = pattern
        return f"{'*' if file is None else self._quoted(file)}({self._quoted(section)})"

    def _quoted(self, name: str) -> str:
        """As a pattern that matches this name; quotes keep GNU ld from dividing it, but not from globbing."""
        return f'"{name if self.exact else _GLOBBING.sub("?", name)}"'

    def file_pattern(self, section: MappedSection) -> str:
        """What names the file of a section. A colon stands between an archive and its member."""
        parts = section.archive_and_member or (section.file,)
        return ":".join(part if self.exact else part.replace(":", "?") for part in parts)


def probed_align(address: int) -> int:
    """The alignment of a block that a probe put to this address: the first multiple of it behind a limit."""
    return address % PROBE_BYTES or PROBE_BYTES


def can_be_named(name: str) -> bool:
    """Whether a script can name this file or section at all."""
    return not set('"\n\r') & set(name)


def script_of_gnu(printed: str) -> TextScript | None:
    """From what `ld --verbose` printed; None where it has no .text of the usual kind."""
    parts = _FENCE.split(printed)
    if len(parts) < 3 or not (text := _TEXT.search(parts[1])):
        return None
    script, begin = parts[1], text.start("body")
    cuts = [found for found in _INPUT.finditer(text["body"]) if ".text" in found["patterns"]]
    if not any(".text" in found["patterns"].split() for found in cuts):
        return None
    places = [0, *(begin + found.start() + 1 for found in cuts)]
    before = [script[here:there] for here, there in pairwise(places)]
    patterns = tuple(tuple(found["patterns"].split()) for found in cuts)
    return TextScript(tuple(before), script[places[-1] :], patterns, exact=False)


def script_of_lld(behind: str) -> TextScript:
    """`behind` is the output section that stands behind .text without a script."""
    return TextScript(
        ("SECTIONS { .text : {",), f"}} }} INSERT BEFORE {behind};\n", ((".text", ".text.*"),), exact=True
    )
