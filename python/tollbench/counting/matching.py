"""Two programs walked side by side from where they start: what is the same on both sides, and what is not.

Nothing is looked up by name. Both walks begin at the entry and the initialisers; a function of one side is
held against the one that stands in the same place on the other side, instruction by instruction, and what
both refer to is held together next. So functions may be renamed, moved, folded into one another, or have no
symbols at all. Two functions that refer to each other are the same if nothing reached from them tells them
apart (bisimulation: D. Park, "Concurrency and automata on infinite sequences", 1981).

Variables that the program may write to have to correspond one to one: of two that begin with the same
content, code that takes the other one is other code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from tollbench.counting.code import Reference, Use
from tollbench.counting.image import INITIALISERS, IRELATIVE, Image, Relocation
from tollbench.counting.registers import only_compared
from tollbench.counting.texts import Folders
from tollbench.counting.walked_image import WalkedImage

THREAD_RELOCATIONS = (16, 17, 18)  # R_X86_64_DTPMOD64, DTPOFF64, TPOFF64
# The processor's abilities as libgcc and compiler-rt keep them.
ABILITIES = ("__cpu_model", "__cpu_features2", "__cpu_indicator_init", "__aarch64_cpu_features")
# Compilers fold `table[i - 1]` into an address before the table. One that lies in an object, or at its begin
# where it is no larger than this, may mean the object behind it.
MOST_BIAS_BYTES = 128
# Two functions of crtbegin.o look at the bounds of a table that is empty (transactional memory), an address
# that some other section begins with. Each would hand it to one of these, which nobody has.
EMPTY_TABLE = ("_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable")
MOST_COMPARED_BYTES = 1 << 28  # of one object


Function = tuple[int, int]  # number of a pair, and where the function starts in its first image


class PlaceKind(Enum):
    """What stands at a place of both sides."""

    CODE = "function"
    DATA = "data"
    STRETCH = "data"  # without a symbol, in a file without symbols: what follows may belong to it
    TABLE = "jump table"
    THREAD = "thread-local data"
    START = "initialisers"


@dataclass(frozen=True, slots=True)
class Bound:
    """What of an executable's own definitions others may take."""

    names: Set[str]  # which other files mention
    any_name: bool  # whether some file looks for definitions by a text that it may have made


@dataclass(frozen=True, slots=True)
class PairedPlace:
    """The same place on both sides: addresses in the images of one pair, and how many bytes."""

    kind: PlaceKind
    pair: int
    a: int
    b: int
    size: int = 0
    owner: int = 0  # of a jump table: the function on side a


@dataclass(slots=True)
class Found:
    """What is known of a place."""

    difference: str = ""  # "" while both sides are the same
    goes_on: list[PairedPlace] = field(default_factory=list)  # whatever runs this may need these
    takes: list[PairedPlace] = field(default_factory=list)  # functions whose address it has
    dispatches: bool = False  # chooses among functions by what the processor can do


class Match:
    """Everything that both sides reach, place by place.

    `pairs` are the images that differ as files, the executables first. What other files export is the same on
    both sides and known by its name. Of what the executables define themselves, libraries may take what is
    `bound` by its name, or all of it: None.
    """

    def __init__(self, pairs: Sequence[tuple[Image, Image]], bound: Bound | None = None) -> None:
        self._bound = bound
        self.pairs = [(WalkedImage(a), WalkedImage(b)) for a, b in pairs]
        self.places: dict[PairedPlace, Found] = {}
        self.starts: list[PairedPlace] = []
        self.folders = Folders()
        self._waiting: deque[PairedPlace] = deque()
        self._moved: dict[tuple[int, bool, int], int] = {}  # (pair, from side a, address) -> other's address
        self._start()
        while self._waiting:
            place = self._waiting.popleft()
            self._look(place, self.places[place])

    def same(self) -> bool:
        """Whether nothing differs anywhere."""
        return not any(found.difference for found in self.places.values())

    def differing(self, executed: Set[Function], elsewhere: Set[Function]) -> list[PairedPlace]:
        """What differs of all that a run may need which is known to execute `executed`.

        What is called directly counts, executed or not: a longer run may get there. So does every function
        whose address is taken, but for those that other runs execute and this one does not (`elsewhere`): a
        benchmark's body, registered by its address, is none of another benchmark's. Where the processor's
        abilities choose among functions all of them count: Valgrind's processor is not the machine's.
        """
        seen = set(self.starts)
        waiting = deque(self.starts)
        found_places = []
        while waiting:
            place = waiting.popleft()
            found = self.places[place]
            if found.difference:
                found_places.append(place)
            for target in found.goes_on:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
            for target in found.takes:
                function = (target.pair, target.a)
                needed = found.dispatches or function in executed or function not in elsewhere
                if needed and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return found_places

    def name(self, place: PairedPlace) -> str:
        """What a reader knows a place by: a symbol (still mangled) or an address."""
        image = self.pairs[place.pair][0].image
        if place.kind is PlaceKind.CODE:
            return image.function_name(place.a)
        if place.kind is PlaceKind.TABLE:
            return image.function_name(place.owner)
        index = image.objects.containing(place.a)
        if place.kind is PlaceKind.DATA and index is not None:
            return image.objects.names[index]
        nameless = place.kind in (PlaceKind.DATA, PlaceKind.STRETCH)
        return f"{place.kind.value} at {place.a:#x}" if nameless else place.kind.value

    def _add(self, place: PairedPlace) -> PairedPlace:
        if place not in self.places:
            self.places[place] = Found()
            self._waiting.append(place)
        return place

    def _start(self) -> None:
        for pair, (a, b) in enumerate(self.pairs):
            start = PairedPlace(PlaceKind.START, pair, 0, 0)
            self.places[start] = found = Found()
            self.starts.append(start)
            if a.image.entry and b.image.entry and pair == 0:
                self._go(found, pair, a.image.entry, b.image.entry)
            self._start_functions(found, pair)
            self._exported(found, pair)

    def _start_functions(self, found: Found, pair: int) -> None:
        """Initialisers by name where these are told apart, else by their order."""
        a, b = (side.image for side in self.pairs[pair])
        for section in INITIALISERS:
            ones, others = a.initialisers.get(section, []), b.initialisers.get(section, [])
            if len(ones) != len(others):
                found.difference = f"one side has {len(ones)} initialisers, the other one {len(others)}"
                return
            by_name = {b.function_name(address): address for address in others}
            names = [a.function_name(address) for address in ones]
            if len(set(names)) == len(by_name) == len(ones) and set(names) == by_name.keys():
                others = [by_name[name] for name in names]
            else:
                others = self._ordered(pair, ones, others)
            for one, other in zip(ones, others, strict=True):
                self._go(found, pair, one, other)

    def _ordered(self, pair: int, ones: Sequence[int], others: Sequence[int]) -> list[int]:
        """`others` in the order of those of `ones` that look like them: the order of files is free."""
        a, b = self.pairs[pair]
        left = list(others)
        found = []
        for one in ones:
            wanted = a.looks(one)
            alike = next((other for other in left if b.looks(other) == wanted), left[0])
            left.remove(alike)
            found.append(alike)
        return found

    def _exported(self, found: Found, pair: int) -> None:
        """What shared libraries may call by name, or an allocator that a program brings along."""
        a, b = (side.image for side in self.pairs[pair])
        both, only = a.exports.keys() & b.exports.keys(), a.exports.keys() ^ b.exports.keys()
        if self._bound is not None and pair == 0:
            both = both if self._bound.any_name else both & self._bound.names
            only &= self._bound.names
        for name in sorted(both):
            self._address(found, pair, a.exports[name], b.exports[name])
        # Of a library nobody asks for it, else the asking code would differ; an executable's own definition
        # takes the place of a library's.
        if only and (pair == 0 or self._bound is None):
            only_one = min(only)
            found.difference = f"only one side defines {only_one} for shared libraries"

    def _look(self, place: PairedPlace, found: Found) -> None:
        if place.kind is PlaceKind.CODE:
            self._code(place, found)
        elif place.kind is PlaceKind.DATA:
            self._data(place, found)
        elif place.kind is PlaceKind.STRETCH:
            self._stretch(place, found)
        elif place.kind is PlaceKind.TABLE:
            self._table(place, found)
        elif place.kind is PlaceKind.THREAD:
            self._thread_local(place, found)

    def _code(self, place: PairedPlace, found: Found) -> None:
        a, b = self.pairs[place.pair]
        one, other = a.code(place.a), b.code(place.b)
        if not (one.understood and other.understood):
            found.difference = "holds bytes that are no known instructions"
            return
        if one.shape != other.shape:
            found.difference = "other instructions"
            return
        if a.asks_for(one, EMPTY_TABLE) and b.asks_for(other, EMPTY_TABLE):
            return
        found.dispatches = one.asks_the_processor
        for left, right in zip(one.references, other.references, strict=True):
            if (left.use, left.size) != (right.use, right.size):
                found.difference = "other instructions"
                return
            self._reference(place, found, left, right, by_table=one.branches_by_table)
        try:
            self._handlers(place, found)
        except ValueError as error:
            found.difference = f"its table of exception handlers {error}"

    def _reference(
        self, place: PairedPlace, found: Found, left: Reference, right: Reference, *, by_table: bool
    ) -> None:
        pair = place.pair
        if left.use is Use.THREAD_LOCAL:
            found.goes_on.append(self._add(PairedPlace(PlaceKind.THREAD, pair, 0, 0)))
        elif left.use is Use.GOES_TO:
            self._go(found, pair, left.target, right.target)
        elif left.use is Use.READS:
            self._reads(found, pair, left.target, right.target, left.size)
        elif left.use is Use.GOES_THROUGH:
            self._through(found, pair, left.target, right.target)
        elif (
            left.use is Use.MAY_BE and left.target != right.target and not self._both_known(left, right, pair)
        ):
            found.difference = "another number"
        elif left.use is Use.TAKES and self._ends_a_loop(place, left, right):
            return
        else:
            self._address(
                found, pair, left.target, right.target, owner=(place.a, place.b) if by_table else None
            )

    def _ends_a_loop(self, place: PairedPlace, left: Reference, right: Reference) -> bool:
        """Whether an address is the end of an object that the function walks through: nothing is read there."""
        a, b = self.pairs[place.pair]
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

    def _both_known(self, left: Reference, right: Reference, pair: int) -> bool:
        a, b = self.pairs[pair]
        return bool(a.known(left.target) and b.known(right.target))

    def _go(self, found: Found, pair: int, left: int, right: int, *, taken: bool = False) -> None:
        """Code that is called or jumped to, or with `taken` might be."""
        a, b = self.pairs[pair]
        one, other = a.place_in_code(left), b.place_in_code(right)
        if one is None and other is None and left == right == 0:
            return  # a function that may be missing, and is: a weak symbol that nobody defines
        if one is None or other is None or one[1] != other[1]:
            found.difference = found.difference or "goes to the middle of other code"
            return
        target = self._add(PairedPlace(PlaceKind.CODE, pair, one[0], other[0]))
        (found.takes if taken else found.goes_on).append(target)

    def _reads(self, found: Found, pair: int, left: int, right: int, size: int) -> None:
        a, b = self.pairs[pair]
        if not self._corresponding(found, pair, left, right):
            return
        if a.image.section_at(left) is not None and a.copied(left) is None:
            found.goes_on.append(self._add(PairedPlace(PlaceKind.DATA, pair, left, right, size)))
            found.dispatches |= a.object_name(left) in ABILITIES or b.object_name(right) in ABILITIES

    def _through(self, found: Found, pair: int, left: int, right: int) -> None:
        """A call or jump to what is stored at an address: a function of another file, or a variable's."""
        a, b = self.pairs[pair]
        one, other = a.image.relocations.get(left), b.image.relocations.get(right)
        section = a.image.section_at(left)
        if one is None or other is None or section is None or section.varies:
            self._reads(found, pair, left, right, 8)
            return
        self._pointer(found, pair, (left, one), (right, other), taken=False)

    def _corresponding(self, found: Found, pair: int, left: int, right: int) -> bool:
        """Whether two addresses may stand for each other; notes that they do."""
        a, b = self.pairs[pair]
        one, other = a.image.section_at(left), b.image.section_at(right)
        if one is None and other is None and left == right and left < min(a.image.low, b.image.low):
            return True  # the file's own header, which the C library reads
        if one is None or other is None or one.is_code != other.is_code or one.varies != other.varies:
            found.difference = found.difference or "refers to other data"
            return False
        if a.copied(left) != b.copied(right):
            found.difference = found.difference or "refers to another variable of a library"
            return False
        if one.varies:  # which the program may write to: one for one
            here = self._moved.setdefault((pair, True, left), right)
            there = self._moved.setdefault((pair, False, right), left)
            if (here, there) != (right, left):
                found.difference = found.difference or "refers to another variable"
                return False
        return True

    def _address(
        self,
        found: Found,
        pair: int,
        left: int,
        right: int,
        *,
        owner: tuple[int, int] | None = None,
    ) -> None:
        """Addresses that both sides have: of code that may be called later, or of data of unknown length."""
        a, b = self.pairs[pair]
        if a.known_otherwise(left) or b.known_otherwise(right):
            if a.known_otherwise(left) != b.known_otherwise(right):
                found.difference = found.difference or "refers to other data"
            return
        if a.image.fixed and left == right and a.looks_like_a_number(left) and b.looks_like_a_number(right):
            return
        one, other = a.image.section_at(left), b.image.section_at(right)
        if one is None and other is None and left == right:
            return
        if (one is None or other is None) and a.ends(left) == b.ends(right) != "":
            return
        if one is not None and other is not None and one.is_code and other.is_code:
            self._go(found, pair, left, right, taken=True)
            return
        if not self._corresponding(found, pair, left, right) or a.copied(left) is not None:
            return
        if owner is not None and (table := self._jump_table(pair, left, right, owner)) is not None:
            found.goes_on.append(self._add(table))
            return
        found.dispatches |= a.object_name(left) in ABILITIES
        self._object(found, pair, left, right)

    def _object(self, found: Found, pair: int, left: int, right: int) -> None:
        """Data from an address on, as far as code that has the address may go."""
        a, b = self.pairs[pair]
        one, other = a.image.objects.containing(left), b.image.objects.containing(right)
        if (one is None) != (other is None):
            found.difference = found.difference or "refers to other data"
            return
        if one is None or other is None:
            self._nameless(found, pair, left, right)
            if a.begins_text(left) and b.begins_text(right):
                return
        else:
            ones, others = a.image.objects, b.image.objects
            begin, size = ones.starts[one], ones.ends[one] - ones.starts[one]
            if (left - begin, size) != (
                right - others.starts[other],
                others.ends[other] - others.starts[other],
            ):
                found.difference = found.difference or "refers to data of another size"
                return
            found.goes_on.append(
                self._add(PairedPlace(PlaceKind.DATA, pair, begin, others.starts[other], size))
            )
            if left == begin and size > MOST_BIAS_BYTES:
                return
        self._behind(found, pair, left, right)

    def _behind(self, found: Found, pair: int, left: int, right: int) -> None:
        """The object behind, where both sides have the same one there: the address may be meant for it."""
        a, b = (side.image for side in self.pairs[pair])
        one, other = a.objects.after(left), b.objects.after(right)
        if one is None or other is None or a.objects.names[one] != b.objects.names[other]:
            return
        begin, there = a.objects.starts[one], b.objects.starts[other]
        size = a.objects.ends[one] - begin
        if begin - left != there - right or begin - left > MOST_BIAS_BYTES:
            return
        if size != b.objects.ends[other] - there:
            found.difference = found.difference or "refers to data of another size"
            return
        if self._corresponding(found, pair, begin, there):
            found.goes_on.append(self._add(PairedPlace(PlaceKind.DATA, pair, begin, there, size)))

    def _nameless(self, found: Found, pair: int, left: int, right: int) -> None:
        a, b = self.pairs[pair]
        one, other = a.text(left), b.text(right)
        if one is not None and other is not None:
            if one != other and not self.folders.alike(one, other):
                found.difference = found.difference or "refers to another text"
            return
        # Where the lengths differ, one side has something behind that nobody points at. No program reads
        # beyond its own object, and both read alike up to the first difference: the shorter length will do.
        size, size_b = a.reach(left), b.reach(right)
        kind = PlaceKind.STRETCH if a.image.stripped or b.image.stripped else PlaceKind.DATA
        found.goes_on.append(self._add(PairedPlace(kind, pair, left, right, min(size, size_b))))

    def _stretch(self, place: PairedPlace, found: Found) -> None:
        """Without symbols a piece ends where any code points, perhaps amid an array: goes on from there."""
        self._data(place, found)
        a, b = self.pairs[place.pair]
        left, right = place.a + place.size, place.b + place.size
        if (a.ends(left) and b.ends(right)) or a.starts_table(left) or a.text(left) is not None:
            return
        if self._corresponding(found, place.pair, left, right):
            self._nameless(found, place.pair, left, right)

    def _data(self, place: PairedPlace, found: Found) -> None:
        a, b = (side.image for side in self.pairs[place.pair])
        sections = a.section_at(place.a), b.section_at(place.b)
        if all(section is not None and section.zero for section in sections):
            return
        if place.size > MOST_COMPARED_BYTES:
            found.difference = "is too large to be compared"
            return
        one, other = a.read(place.a, place.size), b.read(place.b, place.size)
        slots = self._slots(place, one, other)
        if slots is None or _without(one, slots) != _without(other, slots):
            found.difference = "other content"
            return
        for slot in slots:
            left, right = place.a + slot, place.b + slot
            here, there = a.relocations.get(left), b.relocations.get(right)
            self._pointer(found, place.pair, (left, here), (right, there), taken=True)

    def _slots(self, place: PairedPlace, one: bytes, other: bytes) -> list[int] | None:
        """Offsets of the pointers in an object; None where the sides have them in other places."""
        a, b = self.pairs[place.pair]
        ones = a.relocated(place.a, place.size)
        others = b.relocated(place.b, place.size)
        if a.image.fixed and b.image.fixed:
            both = a.addresses_in(place.a, one) & b.addresses_in(place.b, other)
            return sorted(both | set(ones) | set(others)) if ones == others else None
        return ones if ones == others else None

    def _pointer(
        self,
        found: Found,
        pair: int,
        left: tuple[int, Relocation | None],
        right: tuple[int, Relocation | None],
        *,
        taken: bool,
    ) -> None:
        """Two places that the dynamic linker fills, or in fixed files the compiler."""
        a, b = (side.image for side in self.pairs[pair])
        (place, one), (place_b, other) = left, right
        internal, internal_b = a.pointer(place), b.pointer(place_b)
        if one is not None and other is not None and (one.kind in THREAD_RELOCATIONS or internal is None):
            if (one.kind in THREAD_RELOCATIONS) != (other.kind in THREAD_RELOCATIONS) or (
                one.symbol,
                one.addend,
            ) != (other.symbol, other.addend):
                found.difference = found.difference or f"takes {other.symbol or 'other data'} from elsewhere"
            elif one.kind in THREAD_RELOCATIONS:
                found.goes_on.append(self._add(PairedPlace(PlaceKind.THREAD, pair, 0, 0)))
            else:
                self._elsewhere(found, pair, one, taken=taken)
            return
        if internal is None or internal_b is None:
            found.difference = found.difference or "takes data from elsewhere on one side only"
            return
        if one is not None and one.kind == IRELATIVE:
            found.dispatches = True
            self._go(found, pair, internal, internal_b)
            return
        section = a.section_at(internal)
        if not taken and section is not None and section.is_code:
            self._go(found, pair, internal, internal_b)
        else:
            self._address(found, pair, internal, internal_b)

    def _elsewhere(self, found: Found, pair: int, relocation: Relocation, *, taken: bool) -> None:
        """A symbol of another file: of one of the pairs, or of one that is the same on both sides."""
        name = relocation.symbol.partition("@")[0]
        for index, (a, b) in enumerate(self.pairs):
            if index == pair:
                continue
            if (name in a.image.exports) != (name in b.image.exports):
                found.difference = found.difference or f"takes {name} from elsewhere on one side only"
                return
            if name in a.image.exports:
                left, right = a.image.exports[name], b.image.exports[name]
                section = a.image.section_at(left)
                if section is not None and section.is_code:
                    self._go(found, index, left, right, taken=taken)
                else:
                    self._address(found, index, left, right)
                return

    def _jump_table(self, pair: int, left: int, right: int, owner: tuple[int, int]) -> PairedPlace | None:
        """The distances from here to instructions, which a function with a computed jump may mean."""
        a, b = self.pairs[pair]
        count = a.table_entries(left)
        if not count or count != b.table_entries(right):
            return None
        return PairedPlace(PlaceKind.TABLE, pair, left, right, 4 * count, owner[0])

    def _table(self, place: PairedPlace, found: Found) -> None:
        a, b = self.pairs[place.pair]
        for left, right in zip(
            a.distances(place.a, place.size), b.distances(place.b, place.size), strict=True
        ):
            self._go(found, place.pair, place.a + left, place.b + right)

    def _thread_local(self, place: PairedPlace, found: Found) -> None:
        """The whole block, as offsets in it stand in the instructions."""
        a, b = (side.image for side in self.pairs[place.pair])
        ones, others = a.thread_local, b.thread_local
        if [section.end - section.start for section in ones] != [
            section.end - section.start for section in others
        ]:
            found.difference = "other thread-local variables"
            return
        for one, other in zip(ones, others, strict=True):
            if not one.zero:
                size = one.end - one.start
                found.goes_on.append(
                    self._add(PairedPlace(PlaceKind.DATA, place.pair, one.start, other.start, size))
                )

    def _handlers(self, place: PairedPlace, found: Found) -> None:
        """What catches exceptions; raises ValueError for a damaged table."""
        a, b = (side.image for side in self.pairs[place.pair])
        one, other = a.unwinding.handlers(place.a), b.unwinding.handlers(place.b)
        if one is None and other is None:
            return
        if one is None or other is None or one.actions != other.actions:
            found.difference = "other exception handlers"
            return
        for left, right in zip(one.types, other.types, strict=True):
            if (left == 0) != (right == 0):
                found.difference = "catches another type"
            elif left and one.indirect:
                slots = (left, a.relocations.get(left)), (right, b.relocations.get(right))
                self._pointer(found, place.pair, *slots, taken=True)
            elif left:
                self._address(found, place.pair, left, right)


def _without(content: bytes, slots: Sequence[int]) -> bytes:
    """With zeros where pointers stand."""
    blank = bytearray(content)
    for slot in slots:
        blank[slot : slot + 8] = bytes(len(blank[slot : slot + 8]))
    return bytes(blank)
