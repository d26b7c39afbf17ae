"""Two programs walked side by side from where they start: what is the same on both sides, and what is not.

Nothing is looked up by name. Both walks begin at the entry and the initialisers; a function of one side is
held against the one that stands in the same place on the other side, instruction by instruction, and what
both refer to (`addresses`) is held together next. So functions may be renamed, moved, folded into one
another, or have no symbols at all. Two functions that refer to each other are the same if nothing reached
from them tells them apart (bisimulation: D. Park, "Concurrency and automata on infinite sequences", 1981).
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tollbench.counting.addresses import Addresses, Correspondence
from tollbench.counting.code import Code, Reference, Use
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.initialisers import Reordered, any_order, paired_initialisers
from tollbench.counting.neighbours import meant
from tollbench.counting.paired_places import Found, Function, PairedPlace, PlaceKind, Places
from tollbench.counting.registers import only_compared

# Two functions of crtbegin.o look at the bounds of a table that is empty (transactional memory), an address
# that some other section begins with. Each would hand it to one of these, which nobody has.
EMPTY_TABLE = ("_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable")
MOST_COMPARED_BYTES = 1 << 28  # of one object
POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Bound:
    """What other files may take of the definitions of each pair."""

    names: Sequence[Set[str]]  # of each pair, those that other files mention
    any_name: bool  # whether some file looks for definitions by a text that it may have made


class Match:
    """Everything that both sides reach, place by place.

    `pairs` are the images that differ as files, the executables first. What other files export is the same on
    both sides and known by its name. Of what the executables define themselves, libraries may take what is
    `bound` by its name, or all of it: None. Raises Unreadable where the walk lasts beyond `until`, a time of
    the monotonic clock: what a file has its tables look like may make it long.
    """

    def __init__(
        self, pairs: Sequence[tuple[Image, Image]], bound: Bound | None = None, until: float = math.inf
    ) -> None:
        self._bound, self._until = bound, until
        self._walked = Places(pairs)
        self._known = Correspondence()
        self._reordered: list[Reordered] = []
        self.places = self._walked.found
        self.starts = [PairedPlace(PlaceKind.START, pair, 0, 0) for pair in range(len(pairs))]
        for start in self.starts:
            self._walked.add(start)
        self._walk()
        while waiting := self._known.neighbours:
            self._known.neighbours = []
            for each in list(meant(self._walked, waiting)):
                self._check_time()
                self._addresses(each.pair, each.found).object_beside(each.a, each.b)
            self._walk()
        for place, found in self.places.items():
            if place.kind is PlaceKind.THREAD and self._known.threads_moved(place.pair):
                found.differ("thread-local variables at other places")
        for reordered in self._reordered:
            if not any_order(self._walked, reordered):
                reordered.found.differ("initialisers in another order")

    def _walk(self) -> None:
        while (place := self._walked.next()) is not None:
            self._check_time()
            found = self.places[place]
            self._look(place, found, self._addresses(place.pair, found))

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise Unreadable("the walk through it takes more time than there is")

    def _addresses(self, pair: int, found: Found) -> Addresses:
        return Addresses(self._walked, self._known, pair, found)

    def same(self) -> bool:
        """Whether nothing differs anywhere."""
        return not any(found.difference for found in self.places.values())

    def named_files(self) -> list[tuple[Path, Path]]:
        """Source files that both sides name, each in a folder of its own: taken for the same."""
        return [
            (Path(os.fsdecode(one)), Path(os.fsdecode(other)))
            for one, other in self._known.folders.taken.items()
        ]

    def called_from_outside(self) -> set[Function]:
        """Functions of the first side that run though nothing that is walked need lead to them."""
        sides = enumerate(one for one, _ in self._walked.pairs)
        return {(pair, start) for pair, image in sides for start in image.called_from_outside()}

    def differing(self, of_others: Set[Function], common: Set[Function]) -> list[PairedPlace]:
        """What differs of all that a run may need.

        What is called directly counts, executed or not: a longer run may get there. So does every function
        whose address is taken, but for `of_others` where code takes it that all runs execute about their
        benchmarks (`common`): the body of another benchmark, registered by its address. Where the processor's
        abilities choose among functions, all of them count: Valgrind's processor is not the machine's.
        """
        owned = dict.fromkeys(self.starts, False)  # place -> whether one run alone may need it
        waiting = deque(self.starts)
        while waiting:
            place = waiting.popleft()
            found = self.places[place]
            own = owned[place]
            if place.kind is PlaceKind.CODE:
                own = (place.pair, place.a) not in common
            all_taken = own or found.dispatches
            taken = [item for item in found.takes if all_taken or (item.pair, item.a) not in of_others]
            for target in (*found.goes_on, *taken):
                if target not in owned or (own and not owned[target]):
                    owned[target] = own
                    waiting.append(target)
        return [place for place in owned if self.places[place].difference]

    def differing_always(self) -> list[PairedPlace]:
        """What differs of all that every run may need: a part of `differing`, whatever a run executes.

        That is what the entry, the initialisers and what other files take by name lead to, without the
        functions whose address is taken there. `main` is one of those.
        """
        functions = {(place.pair, place.a) for place in self.places if place.kind is PlaceKind.CODE}
        return self.differing(functions, functions)

    def name(self, place: PairedPlace) -> str:
        """What a reader knows a place by: a symbol (still mangled) or an address."""
        image = self._walked.pairs[place.pair][0].image
        if place.kind is PlaceKind.CODE:
            return image.function_name(place.a)
        if place.kind is PlaceKind.TABLE:
            return image.function_name(place.owner)
        index = image.objects.containing(place.a)
        if place.kind is PlaceKind.DATA and index is not None:
            return image.objects.names[index]
        nameless = place.kind in (PlaceKind.DATA, PlaceKind.STRETCH)
        return f"{place.kind.value} at {place.a:#x}" if nameless else place.kind.value

    def _look(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        looks = {
            PlaceKind.START: self._start,
            PlaceKind.CODE: self._code,
            PlaceKind.DATA: self._data,
            PlaceKind.STRETCH: self._stretch,
            PlaceKind.TABLE: self._table,
            PlaceKind.THREAD: self._thread_local,
        }
        looks[place.kind](place, found, addresses)

    def _start(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        a, b = self._walked.pairs[place.pair]
        if a.image.entry and b.image.entry and place.pair == 0:
            addresses.code(a.image.entry, b.image.entry)
        for initialisers in paired_initialisers(a, b, found):
            reached = [(item.turn, addresses.code(item.a, item.b)) for item in initialisers]
            if any(one.turn > following.turn for one, following in pairwise(initialisers)):
                places = [(turn, target) for turn, target in reached if target is not None]
                self._reordered.append(Reordered(found, places))
        self._exported(place.pair, found, addresses)

    def _exported(self, pair: int, found: Found, addresses: Addresses) -> None:
        """What shared libraries may call by name, or an allocator that a program brings along."""
        a, b = (side.image for side in self._walked.pairs[pair])
        both, only = a.offered & b.offered, a.offered ^ b.offered
        if self._bound is not None:
            names = self._bound.names[pair]
            both = both if pair or self._bound.any_name else both & names
            only &= names
        for name in sorted(both):
            self._offered(name, a, b, found, addresses)
        if only:
            found.differ(f"only one side defines {min(only)} for other files")

    @staticmethod
    def _offered(name: str, a: Image, b: Image, found: Found, addresses: Addresses) -> None:
        kinds = [[name in known for known in (side.exports, side.thread_exports)] for side in (a, b)]
        if kinds[0] != kinds[1] or a.numbers.get(name) != b.numbers.get(name):
            found.differ(f"defines {name} as something else for other files")
        elif name in a.exports:
            addresses.any_use(a.exports[name], b.exports[name])
        elif name in a.thread_exports:
            left, right = a.thread_exports[name], b.thread_exports[name]
            if a.thread_block and b.thread_block:
                addresses.thread_variable(left, right, 0)
            else:
                addresses.thread_local()
                if left != right:
                    found.differ("thread-local variables at other places")

    def _code(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        a, b = self._walked.pairs[place.pair]
        one, other = a.code(place.a), b.code(place.b)
        if not (one.understood and other.understood):
            found.differ("holds bytes that are no known instructions")
            return
        if a.filled_in(one) or b.filled_in(other):
            found.differ("is changed by the dynamic linker")
            return
        if one.shape != other.shape:
            found.differ("other instructions")
            return
        if a.asks_for(one, EMPTY_TABLE) and b.asks_for(other, EMPTY_TABLE):
            return
        found.dispatches = one.asks_the_processor
        found.calls_computed = one.calls_computed
        for left, right in zip(one.references, other.references, strict=True):
            if (left.use, left.size) != (right.use, right.size):
                found.differ("other instructions")
                return
            self._reference(place, left, right, one, addresses)
        try:
            self._handlers(place, found, addresses)
        except ValueError as error:
            found.differ(f"its table of exception handlers {error}")

    def _reference(
        self, place: PairedPlace, left: Reference, right: Reference, code: Code, addresses: Addresses
    ) -> None:
        if left.use is Use.THREAD_LOCAL:
            addresses.thread_local()
        elif left.use in (Use.THREAD_READS, Use.THREAD_TAKES):
            addresses.thread_variable(left.target, right.target, left.size)
        elif left.use is Use.GOES_TO:
            addresses.code(left.target, right.target)
        elif left.use is Use.READS:
            addresses.read(left.target, right.target, left.size)
        elif left.use is Use.GOES_THROUGH:
            addresses.called_through(left.target, right.target)
        elif not self._ends_a_loop(place, left, right) and not self._relative(place, left, right, addresses):
            owner = place.a if code.branches_by_table else None
            addresses.any_use(left.target, right.target, owner=owner)
            if code.reads_distances:
                self._distances(place.pair, left.target, right.target, addresses)

    def _ends_a_loop(self, place: PairedPlace, left: Reference, right: Reference) -> bool:
        """Whether an address is the end of an object that the function walks through: no read from it."""
        a, b = self._walked.pairs[place.pair]
        here, there = a.ended_by(left.target), b.ended_by(right.target)
        if here is None or there is None:
            return False
        references = zip(a.code(place.a).references, b.code(place.b).references, strict=True)
        walked = any(
            one.use is Use.TAKES
            and here <= one.target < left.target
            and there <= other.target < right.target
            and left.target - one.target == right.target - other.target
            for one, other in references
        )
        return (
            walked and only_compared(a.image, place.a, left.at) and only_compared(b.image, place.b, right.at)
        )

    def _relative(self, place: PairedPlace, left: Reference, right: Reference, addresses: Addresses) -> bool:
        """Whether both load a table's address only to add distances to it; what it lists is held together."""
        a, b = self._walked.pairs[place.pair]
        ones, others = a.listed(place.a, left.at), b.listed(place.b, right.at)
        whole = all(side.reach(at) >= 4 * len(ones) for side, at in ((a, left.target), (b, right.target)))
        if not ones or len(ones) != len(others) or not whole:
            return False
        if addresses.corresponding(left.target, right.target):
            for one, other in zip(ones, others, strict=True):
                addresses.any_use(one, other)
        return True

    def _distances(self, pair: int, left: int, right: int, addresses: Addresses) -> None:
        """Where numbers from an address on may be distances from there, as Clang makes tables of texts."""
        a, b = self._walked.pairs[pair]
        section = a.image.section_at(left)
        if section is None or section.is_code or section.zero:
            return
        size = min(a.reach(left), b.reach(right)) // 4 * 4
        for one, other in zip(a.distances(left, size), b.distances(right, size), strict=False):
            if not one or a.image.section_at(left + one) is None or b.image.section_at(right + other) is None:
                return
            addresses.any_use(left + one, right + other)

    def _handlers(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        """What catches exceptions; raises ValueError for a damaged table."""
        a, b = (side.image for side in self._walked.pairs[place.pair])
        one, other = a.unwinding.handlers(place.a), b.unwinding.handlers(place.b)
        if one is None and other is None:
            return
        if one is None or other is None or (one.actions, one.indirect) != (other.actions, other.indirect):
            found.differ("other exception handlers")
            return
        for left, right in zip(one.types, other.types, strict=True):
            if (left == 0) != (right == 0):
                found.differ("catches another type")
            elif left and one.indirect:
                addresses.pointer(left, right, taken=True)
            elif left:
                addresses.any_use(left, right)

    def _data(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        a, b = self._walked.pairs[place.pair]
        sections = a.image.section_at(place.a), b.image.section_at(place.b)
        if all(section is not None and section.zero for section in sections):
            return
        if place.size > MOST_COMPARED_BYTES:
            found.differ("is too large to be compared")
            return
        one, other = a.image.read(place.a, place.size), b.image.read(place.b, place.size)
        slots = a.relocated(place.a, place.size)  # offsets of pointers
        if slots != b.relocated(place.b, place.size) or _without(one, slots) != _without(other, slots):
            found.differ("other content")
            return
        for slot in slots:
            addresses.pointer(place.a + slot, place.b + slot, taken=True)

    def _stretch(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        """A piece without a symbol ends where any code points, perhaps amid an array: goes on from there."""
        self._data(place, found, addresses)
        a, b = self._walked.pairs[place.pair]
        left, right = place.a + place.size, place.b + place.size
        if a.ends_piece(left) or b.ends_piece(right):
            return
        if addresses.corresponding(left, right):
            addresses.nameless(left, right)

    def _table(self, place: PairedPlace, _: Found, addresses: Addresses) -> None:
        a, b = self._walked.pairs[place.pair]
        distances = zip(a.distances(place.a, place.size), b.distances(place.b, place.size), strict=True)
        for left, right in distances:
            addresses.code(place.a + left, place.b + right)

    def _thread_local(self, place: PairedPlace, found: Found, addresses: Addresses) -> None:
        """The whole block, where offsets in it stand in instructions and nobody knows for what."""
        a, b = (side.image for side in self._walked.pairs[place.pair])
        ones, others = ([(part.zero, part.size) for part in side.thread_local] for side in (a, b))
        if ones != others:
            found.differ("other thread-local variables")
            return
        for one, other in zip(a.thread_local, b.thread_local, strict=True):
            if not one.zero:
                addresses.data(one.start, other.start, one.size)


def _without(content: bytes, slots: Sequence[int]) -> bytes:
    """With zeros where pointers stand."""
    blank = bytearray(content)
    for slot in slots:
        blank[slot : slot + POINTER_BYTES] = bytes(len(blank[slot : slot + POINTER_BYTES]))
    return bytes(blank)
