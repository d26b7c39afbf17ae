"""Which functions of two programs differ, function by function: they are found by their names.

The walk of `matching` proves that two programs are the same, and ends at each difference. Where they are not,
this says what else differs: what it finds is told to a reader, no verdict rests on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import iced_x86 as x86

from tollbench.counting.call_graphs import Function, innermost
from tollbench.counting.code import Code, Reference, Use
from tollbench.counting.demangling import full_name
from tollbench.counting.image import Image
from tollbench.counting.matching import Match
from tollbench.counting.paired_places import PlaceKind
from tollbench.counting.source_frames import Frames
from tollbench.counting.walked_image import WalkedImage

OTHER_INSTRUCTIONS = "other instructions"
_MANGLED = ("_Z", "_R")  # by the C++ ABI for Itanium, and by rustc
# What GCC and Clang put behind a name: pieces, copies, variants for a processor, numbers.
_ADDED = re.compile(
    r"(?<=.)(\.(part|constprop|isra|cold|lto_priv|localalias|clone|resolver|ifunc|default|llvm"
    r"|_omp_(fn|cpyfn)|arch_\w+|avx\w*|sse\w*|popcnt|fma\w*|bmi\w*|\d+))+$"
)
_STACK = frozenset((x86.Register.RSP, x86.Register.RBP, x86.Register.RIP))
_IMMEDIATES = frozenset(getattr(x86.OpKind, name) for name in dir(x86.OpKind) if name.startswith("IMMEDIATE"))


@dataclass(slots=True)
class _Named:
    """One image, its functions and objects by name."""

    walked: WalkedImage
    functions: dict[str, list[int]] = field(default_factory=dict)
    objects: dict[str, int] = field(default_factory=dict)  # index
    pairs: Mapping[int, int] = field(default_factory=dict)  # where functions begin on the first side

    def nameless(self, address: int) -> str:
        """What a function without a symbol is called that holds an address."""
        functions = self.walked.image.functions
        index = functions.containing(address)
        start = address if index is None else functions.starts[index]
        return f"{start:#x}" if start not in self.pairs else f"{self.pairs[start]:#x}"


def plain(symbol: str) -> str:
    """A function's name without what a compiler adds for a piece or a copy of it (`.part.0`, `.cold`).

    A mangled name has no other point in it; Go's do (`bytes.(*Buffer).Write`).
    """
    if symbol.startswith(_MANGLED):
        return full_name(symbol.split(".")[0])
    return _ADDED.sub("", symbol) or symbol


class ChangedFunctions:
    """Of one file that both sides have."""

    def __init__(self, a: Image, b: Image) -> None:
        pairs = _paired(a, b) if a.stripped or b.stripped else {}
        self.a, self.b = _named(a, {}), _named(b, pairs)

    def nameless(self, side: int, address: int) -> str:
        """What a function without a symbol is called: by its place on the first side, if it has one."""
        return (self.a, self.b)[side].nameless(address)

    def difference(self, before: str, name: str) -> str | None:
        """What differs in a function's own code and in what it reads; "" for nothing, None: nobody knows.

        `before` is what the first side calls it.
        """
        ones, others = self.a.functions.get(before, []), self.b.functions.get(name, [])
        if not ones or not others:
            return None if not ones and not others else f"only in the {'first' if ones else 'second'}"
        codes = [self.a.walked.code(start) for start in ones], [self.b.walked.code(start) for start in others]
        shapes = [sorted(code.shape for code in each) for each in codes]
        if shapes[0] != shapes[1]:
            return OTHER_INSTRUCTIONS
        ordered = [sorted(each, key=lambda code: code.shape) for each in codes]
        for one, other in zip(*ordered, strict=True):
            if told := self._references(one, other):
                return told
        return ""

    def _references(self, one: Code, other: Code) -> str:
        for left, right in zip(one.references, other.references, strict=False):
            if left.use is not right.use:
                return OTHER_INSTRUCTIONS
            if told := self._reference(left, right):
                return told
        return ""

    def _reference(self, left: Reference, right: Reference) -> str:
        names = [_name_of(side, each) for side, each in ((self.a, left), (self.b, right))]
        if all(names) and names[0] != names[1]:
            word = "calls" if left.use is Use.GOES_TO else "uses"
            return f"{word} {names[1]} in place of {names[0]}"
        if names[0] and names[0] == names[1] and left.use is not Use.GOES_TO:
            told = self.data(names[0])
            return f"reads {names[0]} ({told})" if told else ""
        if left.use is Use.READS and not any(names) and self._constant(left) != self._constant_of_b(right):
            return "other constants"
        if left.use is Use.TAKES and not any(names):
            texts = self.a.walked.text(left.target), self.b.walked.text(right.target)
            if all(text is not None for text in texts) and texts[0] != texts[1]:
                return "other texts"
        return ""

    def _constant(self, reference: Reference) -> bytes:
        return _constant(self.a.walked.image, reference)

    def _constant_of_b(self, reference: Reference) -> bytes:
        return _constant(self.b.walked.image, reference)

    def data(self, name: str) -> str:
        """What differs of an object of this name; "" for nothing, or where a side lacks it."""
        places = [(side.walked.image, side.objects.get(name)) for side in (self.a, self.b)]
        if any(index is None for _, index in places):
            return ""
        contents = [_content(image, index) for image, index in places if index is not None]
        if contents[0][0] != contents[1][0]:
            return "other size"
        return "" if contents[0] == contents[1] else "other content"

    def changed_parts(
        self, before: str, function: Function, frames: tuple[Mapping[int, Frames], Mapping[int, Frames]]
    ) -> dict[Function, int]:
        """By inlined function, itself included, how many instructions one side has and the other has not.

        Which register holds a value is the compiler's affair, and so is where in the stack it lies.
        """
        sides = [
            _instructions(self.a, before, function, frames[0]),
            _instructions(self.b, function.name, function, frames[1]),
        ]
        found = {}
        for part in sides[0].keys() | sides[1].keys():
            one, other = sides[0].get(part, Counter()), sides[1].get(part, Counter())
            found[part] = ((one - other) + (other - one)).total()
        return found

    def addresses(self, before: str, name: str) -> tuple[Iterable[int], Iterable[int]]:
        """Of all instructions of a function on both sides."""
        both = []
        for side, called in ((self.a, before), (self.b, name)):
            starts = side.functions.get(called, [])
            both.append([at for start in starts for at in side.walked.code(start).starts[:-1]])
        return both[0], both[1]


def _paired(a: Image, b: Image) -> dict[int, int]:
    """Functions of the second side, and where they are on the first.

    A walk through both meets them; what it does not reach, behind a difference, is known by its instructions
    where no other function has the same.
    """
    found = {place.b: place.a for place in Match([(a, b)]).places if place.kind is PlaceKind.CODE}
    ones = _by_shape(a, set(found.values()))
    others = _by_shape(b, set(found))
    return found | {others[shape]: ones[shape] for shape in ones.keys() & others.keys()}


def _by_shape(image: Image, but_for: Collection[int]) -> dict[bytes, int]:
    """Functions that are like no other one."""
    found: dict[bytes, list[int]] = {}
    walked = WalkedImage(image)
    for start in image.functions.starts:
        if start not in but_for:
            found.setdefault(walked.code(start).shape, []).append(start)
    return {shape: starts[0] for shape, starts in found.items() if len(starts) == 1 and shape}


def _named(image: Image, pairs: Mapping[int, int]) -> _Named:
    found = _Named(WalkedImage(image), pairs=pairs)
    for start, symbol in zip(image.functions.starts, image.functions.names, strict=True):
        name = plain(symbol) if symbol else found.nameless(start)
        found.functions.setdefault(name, []).append(start)
    for index, symbol in enumerate(image.objects.names):
        found.objects.setdefault(full_name(symbol), index)
    return found


def _name_of(side: _Named, reference: Reference) -> str:
    image = side.walked.image
    if reference.use is Use.THREAD_LOCAL:
        return ""
    if reference.use in (Use.THREAD_READS, Use.THREAD_TAKES):
        index = image.thread_objects.containing(reference.target)
        return full_name(image.thread_objects.names[index]) if index is not None else ""
    relocation = image.relocations.get(reference.target)
    if relocation is not None and relocation.symbol:
        return full_name(relocation.symbol.split("@")[0])
    if reference.use is Use.GOES_TO:
        index = image.functions.containing(reference.target)
        return (
            plain(image.functions.names[index]) if index is not None and image.functions.names[index] else ""
        )
    index = image.objects.containing(reference.target)
    return full_name(image.objects.names[index]) if index is not None else ""


def _constant(image: Image, reference: Reference) -> bytes:
    section = image.section_at(reference.target)
    if section is None or section.varies:
        return b""
    return image.read(reference.target, reference.size)


def _content(image: Image, index: int) -> tuple[int, bytes, tuple[tuple[int, str], ...]]:
    """Size, bytes without pointers, and where the pointers lead."""
    start, size = image.objects.starts[index], image.objects.size(index)
    content = bytearray(image.read(start, size))
    pointers = []
    for place in range(start + -start % 8, start + size - 7, 8):
        relocation = image.relocations.get(place)
        if relocation is not None:
            content[place - start : place - start + 8] = bytes(8)
            target = image.pointer(place)
            name = relocation.symbol or (image.function_name(target) if target is not None else "")
            pointers.append((place - start, "" if name.startswith("code at") else name))
    return size, bytes(content), tuple(pointers)


def _instructions(
    side: _Named, name: str, function: Function, frames: Mapping[int, Frames]
) -> dict[Function, Counter[tuple[object, ...]]]:
    found: dict[Function, Counter[tuple[object, ...]]] = {}
    image = side.walked.image
    for start in side.functions.get(name, ()):
        index = image.functions.containing(start)
        end = start if index is None else image.functions.ends[index]
        for item in x86.Decoder(64, image.read(start, end - start), ip=start):
            if item.mnemonic != x86.Mnemonic.NOP:
                part = innermost(function, frames.get(item.ip, ()))
                found.setdefault(part, Counter())[_essence(item)] += 1
    return found


def _essence(item: x86.Instruction) -> tuple[object, ...]:
    """What an instruction does, wherever its values lie."""
    on_stack = item.memory_base in _STACK
    kinds = tuple(item.op_kind(at) for at in range(item.op_count))
    numbers = tuple(
        item.immediate(at)
        for at, kind in enumerate(kinds)
        if kind in _IMMEDIATES and not (item.op0_kind == x86.OpKind.REGISTER and item.op0_register in _STACK)
    )
    return item.mnemonic, kinds, numbers, 0 if on_stack else item.memory_displacement
