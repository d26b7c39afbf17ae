"""A profile by function: what each took itself, whom it called, and what was inlined into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tollbench.counting.profiles import CostProfile, Site, Stack
from tollbench.counting.source_frames import Frames

_LEAST_CALLS = 1e-9  # an iteration: fewer are none, but for rounding
# What hands out memory; what these call among themselves is no further allocation.
ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign")) | {
    f"{operator}{kind}"
    for operator in ("_Znwm", "_Znam")
    for kind in ("", "St11align_val_t", "RKSt9nothrow_t", "St11align_val_tRKSt9nothrow_t")
}


class Function(NamedTuple):
    """The same on both sides: its file ("" for the program itself) and its name as its author wrote it."""

    file: str
    name: str


@dataclass(slots=True)
class Part:
    """What a compiled function holds of one function of the source: of itself, or inlined."""

    own: list[float]
    allocations: float = 0.0
    calls: dict[Function, list[float]] = field(default_factory=dict)  # their number, then what they took
    lines: dict[tuple[str, int], float] = field(default_factory=dict)  # instructions by line of the source


@dataclass(slots=True)
class Body:
    """A compiled function. `entered` is how often others call it; 1 where it runs `around` the loop.

    Nobody calls that one an iteration more, as far as the profile tells.
    """

    parts: dict[Function, Part] = field(default_factory=dict)
    entered: float = 0.0
    taken: list[float] = field(default_factory=list)  # by all of those calls, what they call in turn included
    addresses: set[int] = field(default_factory=set)
    around: bool = False


@dataclass(slots=True)
class Tree:
    """Stacks from the outside in; amounts are instructions."""

    name: str
    own: float = 0.0
    below: dict[str, Tree] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """With everything that it calls."""
        return self.own + sum(each.whole for each in self.below.values())

    def add(self, path: Sequence[str], amount: float) -> None:
        """One stack, the outermost function first."""
        at = self
        for name in path:
            at = at.below.setdefault(name, Tree(name))
        at.own += amount


@dataclass(slots=True)
class CallGraph:
    """Of one side."""

    events: tuple[str, ...]
    bodies: dict[Function, Body]

    def total(self) -> list[float]:
        """Over all functions."""
        found = [0.0] * len(self.events)
        for part in self.all_parts():
            found = _sum(found, part.own)
        return found

    def all_parts(self) -> Iterator[Part]:
        """Of all functions."""
        for body in self.bodies.values():
            yield from body.parts.values()

    def inlined(self) -> set[Function]:
        """What is, somewhere, a part of another function."""
        return {each for name, body in self.bodies.items() for each in body.parts if each != name}


Naming = Callable[[str, str], Function]  # file of code, symbol
FramesOf = Mapping[Site, Frames]


def graph_of(profile: CostProfile, naming: Naming, frames: FramesOf) -> CallGraph:
    """Everything by function; recursion is a part of what a function takes itself."""
    events = len(profile.events)
    graph = CallGraph(profile.events, {})

    def body_of(stack: Stack, site_file: str) -> tuple[Function, Body]:
        name = naming(site_file, stack[0])
        return name, graph.bodies.setdefault(name, Body(taken=[0.0] * events))

    def part_of(name: Function, body: Body, site: Site) -> Part:
        inner = innermost(name, frames.get(site, ()))
        return body.parts.setdefault(inner, Part([0.0] * events))

    for (stack, site), cost in profile.costs.items():
        name, body = body_of(stack, site[0])
        body.addresses.add(site[1])
        part = part_of(name, body, site)
        part.own = _sum(part.own, cost)
        if (line := _line_of(profile, frames, site)) is not None:
            part.lines[line] = part.lines.get(line, 0.0) + cost[0]
    for call, cost in profile.calls.items():
        name, body = body_of(call.caller, call.site[0])
        callee, called = body_of(call.callee, call.callee_file)
        if callee == name or cost[0] < _LEAST_CALLS:
            continue
        part = part_of(name, body, call.site)
        known = part.calls.get(callee)
        part.calls[callee] = cost if known is None else _sum(known, cost)
        called.entered += cost[0]
        called.taken = _sum(called.taken, cost[1:])
        if call.callee[0] in ALLOCATORS and call.caller[0] not in ALLOCATORS:
            part.allocations += cost[0]
    graph.bodies = {name: body for name, body in graph.bodies.items() if body.parts}
    for body in graph.bodies.values():
        if body.entered < _LEAST_CALLS:
            body.entered, body.around = 1.0, True
            for part in body.parts.values():
                body.taken = _sum(body.taken, part.own)
                for cost in part.calls.values():
                    body.taken = _sum(body.taken, cost[1:])
    return graph


def innermost(compiled: Function, frames: Frames) -> Function:
    """Whose doing an instruction is: the innermost function that is no part of somebody's library.

    What is inlined from there belongs to whoever used it: a copy of a vector to the function that copies.
    """
    for frame in frames[:-1]:
        if not frame.is_of_others:
            return Function(compiled.file, frame.function)
    return compiled


def _line_of(profile: CostProfile, frames: FramesOf, site: Site) -> tuple[str, int] | None:
    for frame in frames.get(site, ()):
        if not frame.is_of_others:
            return frame.file, frame.line
    return profile.lines.get(site)


def tree_of(profile: CostProfile, naming: Naming, frames: FramesOf, loop: set[Function]) -> Tree:
    """Stacks from the function with the loop on, as far as they are known."""
    root = Tree("")
    for (stack, site), cost in profile.costs.items():
        named = [naming(site[0], stack[0]), *(naming("", symbol) for symbol in stack[1:])]
        names = [each.name for each in named]
        outer = [at for at, each in enumerate(names) if each in {one.name for one in loop}]
        kept = names[: outer[-1] + 1] if outer else names
        inlined = [frame.function for frame in frames.get(site, ())[:-1] if not frame.is_of_others]
        root.add([*reversed(kept), *reversed(inlined)], cost[0])
    return root


def _sum(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a + b for a, b in zip(one, other, strict=True)]
