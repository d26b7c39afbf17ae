"""Where each function stands in a layout: drawn by its name, alike in all programs that are compared.

Two revisions are compared layout by layout, so what a layout does to code that both share should be the same
on both sides, and cancel. Order and offset within a cache line are therefore not drawn from a sequence, which
one function more would shift, but from a hash of seed, layout and the function's own name; and a place is as
long as the function is in the longest of the programs, and left free where one has no such function. So what
did not change keeps its very address, whatever else grew, came or went.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

LINE_BYTES = 64  # of a cache, and of what decoders fetch and predict by, on x86-64 and most others


@dataclass(frozen=True, slots=True)
class Block:
    """Code that moves as a whole: a function, or all code of an object without function sections.

    `group` is the number of the linker's own class for it (cold, at start, hot, other code), which stay in
    their order. `align` is a power of two.
    """

    key: str
    group: int
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """In a linker script: so many bytes of padding, then a block; at a group's end padding alone."""

    padding: int
    block: Block | None


Steps = Mapping[int, Sequence[ScriptStep]]  # by group


def steps_of_layout(programs: Sequence[Sequence[Block]], layout: int, seed: int) -> list[Steps]:
    """For each program what to write for this layout. A group begins at a multiple of LINE_BYTES."""
    places = _places(_longest(programs), layout, seed)
    return [_steps(program, places, lambda block: _offset(block, layout, seed)) for program in programs]


def _longest(programs: Sequence[Sequence[Block]]) -> list[Block]:
    """Each block as its place has to hold it.

    Where its alignment differs, by a line more: each program draws an offset that its own alignment allows.
    Else the alignment that a change gives to one side would be a gift to the other.
    """
    alike: dict[tuple[int, str], list[Block]] = {}
    for block in (block for program in programs for block in program):
        alike.setdefault((block.group, block.key), []).append(block)
    return [
        Block(
            key,
            group,
            max(block.size for block in blocks) + LINE_BYTES * (len({block.align for block in blocks}) > 1),
            max(block.align for block in blocks),
        )
        for (group, key), blocks in alike.items()
    ]


def in_order(blocks: Iterable[Block], layout: int, seed: int) -> list[Block]:
    """The blocks as this layout has them, group by group."""
    return sorted(blocks, key=lambda block: (block.group, _drawn(seed, layout, "order", block.key)))


@dataclass(frozen=True, slots=True)
class _Offsets:
    offsets: Mapping[tuple[int, str], int]  # from the start of the group, in bytes
    blocks: Mapping[tuple[int, str], Block]  # as long and as aligned as any program has them
    ends: Mapping[int, int]  # of each group


def _places(blocks: Iterable[Block], layout: int, seed: int) -> _Offsets:
    """Each at the first free place that has its drawn offset within a line."""
    offsets: dict[tuple[int, str], int] = {}
    known: dict[tuple[int, str], Block] = {}
    ends: dict[int, int] = {}
    for block in in_order(blocks, layout, seed):
        free = ends.get(block.group, 0)
        at = -(-free // block.align) * block.align
        if block.align < LINE_BYTES:
            at = free + (_offset(block, layout, seed) - free) % LINE_BYTES
        offsets[block.group, block.key] = at
        known[block.group, block.key] = block
        ends[block.group] = at + block.size
    return _Offsets(offsets, known, ends)


def _offset(block: Block, layout: int, seed: int) -> int:
    """Within a line: drawn among the multiples of its alignment."""
    choices = max(1, LINE_BYTES // block.align)
    return _drawn(seed, layout, "offset", block.key) % choices * block.align


def _steps(program: Sequence[Block], places: _Offsets, offset_of: Callable[[Block], int]) -> Steps:
    own = {(block.group, block.key): block for block in program}
    steps: dict[int, list[ScriptStep]] = {}
    ends: dict[int, int] = {}
    for group, key in sorted(places.offsets, key=places.offsets.__getitem__):
        block = own.get((group, key))
        if block is not None:
            at = places.offsets[group, key]
            if block.align < places.blocks[group, key].align:
                at += (offset_of(block) - at) % LINE_BYTES
            steps.setdefault(group, []).append(ScriptStep(at - ends.get(group, 0), block))
            ends[group] = at + block.size
    for group, end in places.ends.items():
        steps.setdefault(group, []).append(ScriptStep(end - ends.get(group, 0), None))
    return steps


def _drawn(seed: int, layout: int, what: str, key: str) -> int:
    """A number of 64 bits that depends on nothing else."""
    text = f"{seed}\0{layout}\0{what}\0{key}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
