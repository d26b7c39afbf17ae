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

import re
from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from tollbench.counting.code import Code, Reference, Use
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
SHORT_TEXT = 3  # letters, which a number may look like
# What an initialiser may ask of other files without minding when: memory, and to be registered. The order in
# which benchmarks are registered is that in which they are listed.
ORDERLESS = re.compile(
    r"_Zn[wa]|_Zd[la]|malloc$|free$|mem(cpy|set|move|cmp)$|str(len|cmp)$|__cxa_(atexit|finalize|guard|begin|end|re)"
    r"|_ZNK?9benchmark|_ZNSt8ios_base4Init|_Unwind_Resume|_ZNSt7__cxx1112basic_string|_ZSt\d+__throw_"
    r"|__stack_chk_fail|_ITM_|__gmon_start__|_ZSt9terminatev"
)
# Two functions of crtbegin.o look at the bounds of a table that is empty (transactional memory), an address
# that some other section begins with. Each would hand it to one of these, which nobody has.
EMPTY_TABLE = ("_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable")
MOST_COMPARED_BYTES = 1 << 28  # of one object


Function = tuple[int, int]  # number of a pair, and where the function starts in its first image


class PlaceKind(Enum):
    """What stands at a place of both sides."""

    CODE = "function"
    DATA = "data"
    STRETCH = "nameless data"  # of unknown length: what follows may belong to it
    TABLE = "jump table"
    THREAD = "thread-local data"
    START = "initialisers"


@dataclass(frozen=True, slots=True)
class Bound:
    """What other files may take of the definitions of each pair."""

    names: Sequence[Set[str]]  # of each pair, those that other files mention
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
    asks: set[str] = field(default_factory=set)  # symbols of other files that it needs

    def differ(self, why: str) -> None:
        """Notes a difference; the first one is told."""
        self.difference = self.difference or why


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
        self._shifts: dict[tuple[int, str], int] = {}  # (pair, section) -> distance, without symbols
        self._permuted: list[tuple[Found, list[tuple[int, PairedPlace]]]] = []
        self._start()
        while self._waiting:
            place = self._waiting.popleft()
            self._look(place, self.places[place])
        for found, initialisers in self._permuted:
            if not self._any_order(initialisers):
                found.differ("initialisers in another order")

    def same(self) -> bool:
        """Whether nothing differs anywhere."""
        return not any(found.difference for found in self.places.values())

    def differing(self, of_others: Set[Function], common: Set[Function]) -> list[PairedPlace]:
        """What differs of all that a run may need.

        What is called directly counts, executed or not: a longer run may get there. So does every function
        whose address is taken, but for `of_others` where code takes it that all runs execute (`common`): the
        body of another benchmark, registered by its address. Where the processor's abilities choose among
        functions, all of them count: Valgrind's processor is not the machine's.
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

    def _needs_data(self, found: Found, pair: int, left: int, right: int, size: int) -> None:
        found.goes_on.append(self._add(PairedPlace(PlaceKind.DATA, pair, left, right, size)))

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
        for section in (*INITIALISERS, ".init", ".fini"):
            ones, others = a.initialisers.get(section, []), b.initialisers.get(section, [])
            if len(ones) != len(others):
                found.differ(f"one side has {len(ones)} initialisers, the other one {len(others)}")
                return
            by_name = {b.function_name(address): address for address in others}
            names = [a.function_name(address) for address in ones]
            if len(set(names)) == len(by_name) == len(ones) and set(names) == by_name.keys():
                ordered = [by_name[name] for name in names]
            else:
                ordered = self._ordered(pair, ones, others)
            for one, other in zip(ones, ordered, strict=True):
                self._go(found, pair, one, other)
            if ordered != others:
                places = found.goes_on[len(found.goes_on) - len(ones) :]
                self._permuted.append(
                    (
                        found,
                        [(others.index(other), place) for other, place in zip(ordered, places, strict=True)],
                    )
                )

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

    def _any_order(self, initialisers: Sequence[tuple[int, PairedPlace]]) -> bool:
        """Whether those whose order changed touch nothing in common and ask for nothing that has an order."""
        for index, (position, place) in enumerate(initialisers):
            for later, other in initialisers[index + 1 :]:
                if later < position:
                    ones, others = self._touches(place), self._touches(other)
                    if ones is None or others is None or ones & others:
                        return False
        return True

    def _touches(self, start: PairedPlace) -> set[tuple[int, int]] | None:
        """The variables that a function and what it calls may write to; None where nobody knows."""
        seen, waiting = {start}, [start]
        touched = set()
        while waiting:
            place = waiting.pop()
            found = self.places[place]
            if any(not ORDERLESS.match(name) for name in found.asks):
                return None
            image = self.pairs[place.pair][0].image
            section = image.section_at(place.a) if place.kind in (PlaceKind.DATA, PlaceKind.STRETCH) else None
            if section is not None and section.varies:
                index = image.objects.containing(place.a)
                touched.add((place.pair, place.a if index is None else image.objects.starts[index]))
            more = [target for target in found.goes_on if target not in seen]
            seen.update(more)
            waiting += more
        return touched

    def _exported(self, found: Found, pair: int) -> None:
        """What shared libraries may call by name, or an allocator that a program brings along."""
        a, b = (side.image for side in self.pairs[pair])
        both, only = a.exports.keys() & b.exports.keys(), a.exports.keys() ^ b.exports.keys()
        if self._bound is not None:
            names = self._bound.names[pair]
            both = both if pair or self._bound.any_name else both & names
            only &= names
        for name in sorted(both):
            self._address(found, pair, a.exports[name], b.exports[name])
        if only:
            found.differ(f"only one side defines {min(only)} for other files")

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
        for left, right in zip(one.references, other.references, strict=True):
            if (left.use, left.size) != (right.use, right.size):
                found.differ("other instructions")
                return
            self._reference(place, found, left, right, one)
        try:
            self._handlers(place, found)
        except ValueError as error:
            found.differ(f"its table of exception handlers {error}")

    def _reference(
        self, place: PairedPlace, found: Found, left: Reference, right: Reference, code: Code
    ) -> None:
        pair = place.pair
        if left.use is Use.THREAD_LOCAL:
            self._thread(found)
        elif left.use is Use.GOES_TO:
            self._go(found, pair, left.target, right.target)
        elif left.use is Use.READS:
            self._reads(found, pair, left.target, right.target, left.size)
        elif left.use is Use.GOES_THROUGH:
            self._through(found, pair, left.target, right.target)
        elif left.use is Use.TAKES and self._ends_a_loop(place, left, right):
            return
        else:
            owner = place.a if code.branches_by_table else None
            self._address(found, pair, left.target, right.target, owner=owner)
            if code.reads_distances:
                self._distances(found, pair, left.target, right.target)

    def _thread(self, found: Found) -> None:
        """Thread-local variables of any file: which one's it is stands in no instruction."""
        for pair in range(len(self.pairs)):
            found.goes_on.append(self._add(PairedPlace(PlaceKind.THREAD, pair, 0, 0)))

    def _distances(self, found: Found, pair: int, left: int, right: int) -> None:
        """Where numbers from an address on may be distances from there, as Clang makes tables of texts."""
        a, b = self.pairs[pair]
        section = a.image.section_at(left)
        if section is None or section.is_code or section.zero:
            return
        size = min(a.reach(left), b.reach(right)) // 4 * 4
        for one, other in zip(a.distances(left, size), b.distances(right, size), strict=False):
            if not one or a.image.section_at(left + one) is None or b.image.section_at(right + other) is None:
                return
            self._address(found, pair, left + one, right + other)

    def _ends_a_loop(self, place: PairedPlace, left: Reference, right: Reference) -> bool:
        """Whether an address is the end of an object that the function walks through: no read from it."""
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

    def _go(self, found: Found, pair: int, left: int, right: int, *, taken: bool = False) -> None:
        """Code that is called or jumped to, or with `taken` might be."""
        a, b = self.pairs[pair]
        one, other = a.place_in_code(left), b.place_in_code(right)
        if one is None and other is None and left == right == 0:
            return  # a function that may be missing, and is: a weak symbol that nobody defines
        if one is None or other is None or one[1] != other[1]:
            found.differ("goes to the middle of other code")
            return
        if taken and a.unknown_code(left) != b.unknown_code(right):
            found.differ("takes the address of code of unknown length")
            return
        target = self._add(PairedPlace(PlaceKind.CODE, pair, one[0], other[0]))
        (found.takes if taken else found.goes_on).append(target)

    def _reads(self, found: Found, pair: int, left: int, right: int, size: int) -> None:
        a, b = self.pairs[pair]
        if not self._corresponding(found, pair, left, right):
            return
        if a.image.section_at(left) is not None and a.copied(left) is None:
            self._needs_data(found, pair, left, right, size)
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
        if left == right and a.image.in_header(left) and b.image.in_header(right):
            return True
        if one is None or other is None or one.is_code != other.is_code or one.varies != other.varies:
            found.differ("refers to other data")
            return False
        if a.copied(left) != b.copied(right):
            found.differ("refers to another variable of a library")
            return False
        if one.varies and not self._one_for_one(pair, left, right):
            found.differ("refers to another variable")
            return False
        return True

    def _one_for_one(self, pair: int, left: int, right: int) -> bool:
        """Whether two places in variables may stand for each other: the same place in variables that do."""
        a, b = self.pairs[pair]
        if a.copied(left) is not None:
            return True
        if a.image.stripped or b.image.stripped:
            # Nothing tells one variable from the next: all of a section have to lie as they lay.
            section = a.image.section_at(left)
            assert section is not None
            return self._shifts.setdefault((pair, section.name), right - left) == right - left
        one, other = a.image.objects.containing(left), b.image.objects.containing(right)
        if (one is None) != (other is None):
            return False
        if one is not None and other is not None:
            ones, others = a.image.objects, b.image.objects
            if left - ones.starts[one] != right - others.starts[other]:
                return False
            if ones.size(one) != others.size(other):
                return False
            left, right = ones.starts[one], others.starts[other]
        here = self._moved.setdefault((pair, True, left), right)
        there = self._moved.setdefault((pair, False, right), left)
        return (here, there) == (right, left)

    def _address(self, found: Found, pair: int, left: int, right: int, *, owner: int | None = None) -> None:
        """Addresses that both sides have: of code that may be called later, or of data of unknown length."""
        a, b = self.pairs[pair]
        if a.points_at_itself(left) and b.points_at_itself(right):
            return  # __dso_handle, a mark of the file: nobody reads it
        if a.known_otherwise(left) or b.known_otherwise(right):
            if a.known_otherwise(left) != b.known_otherwise(right):
                found.differ("refers to other data")
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
        if self._whole_section(found, pair, left, right) or self._global_offsets(found, pair, left, right):
            return
        if owner is not None and (table := self._jump_table(pair, left, right, owner)) is not None:
            found.goes_on.append(self._add(table))
            return
        found.dispatches |= a.object_name(left) in ABILITIES
        self._object(found, pair, left, right)

    def _whole_section(self, found: Found, pair: int, left: int, right: int) -> bool:
        """A section with a name of C: linkers define its bounds, and a program may walk between them."""
        a, b = (side.image for side in self.pairs[pair])
        here, there = a.section_named_in_c(left), b.section_named_in_c(right)
        if here is None and there is None:
            return False
        if here is None or there is None or (here.name, here.size) != (there.name, there.size):
            found.differ("refers to a section of another size")
        else:
            self._needs_data(found, pair, here.start, there.start, here.size)
        return True

    def _global_offsets(self, found: Found, pair: int, left: int, right: int) -> bool:
        """The table of what other files define: thread-local variables, or a code model that adds to it."""
        a, b = (side.image for side in self.pairs[pair])
        section = a.section_at(left)
        if section is None or not section.name.startswith(".got"):
            return False
        one, other = a.relocations.get(left), b.relocations.get(right)
        if one is None or other is None or one.kind not in THREAD_RELOCATIONS:
            found.differ("computes addresses from the table of offsets")
        else:
            self._pointer(found, pair, (left, one), (right, other), taken=True)
        return True

    def _object(self, found: Found, pair: int, left: int, right: int) -> None:
        """Data from an address on, as far as code that has the address may go."""
        a, b = self.pairs[pair]
        one, other = a.image.objects.containing(left), b.image.objects.containing(right)
        if (one is None) != (other is None):
            found.differ("refers to other data")
            return
        if one is None or other is None:
            self._nameless(found, pair, left, right)
            if a.begins_text(left) and b.begins_text(right):
                return
            self._before(found, pair, left, right)
        else:
            ones, others = a.image.objects, b.image.objects
            begin, size = ones.starts[one], ones.size(one)
            if (left - begin, size) != (right - others.starts[other], others.size(other)):
                found.differ("refers to data of another size")
                return
            self._needs_data(found, pair, begin, others.starts[other], size)
            if left == begin:
                self._before(found, pair, left, right)
            if left == begin and size > MOST_BIAS_BYTES:
                return
        self._behind(found, pair, left, right)

    def _before(self, found: Found, pair: int, left: int, right: int) -> None:
        """The object that ends there, where both sides have the same one: the address may be its end."""
        a, b = self.pairs[pair]
        here, there = a.ended_by(left), b.ended_by(right)
        if here is None or there is None or a.object_name(here) != b.object_name(there):
            return
        size = min(left - here, right - there)
        self._needs_data(found, pair, left - size, right - size, size)

    def _behind(self, found: Found, pair: int, left: int, right: int) -> None:
        """The object behind, where both sides have the same one there: the address may be meant for it."""
        a, b = (side.image for side in self.pairs[pair])
        one, other = a.objects.after(left), b.objects.after(right)
        if one is None or other is None or a.objects.names[one] != b.objects.names[other]:
            return
        begin, there = a.objects.starts[one], b.objects.starts[other]
        size = a.objects.size(one)
        if begin - left != there - right or begin - left > MOST_BIAS_BYTES:
            return
        if size != b.objects.size(other):
            found.differ("refers to data of another size")
            return
        if self._corresponding(found, pair, begin, there):
            self._needs_data(found, pair, begin, there, size)

    def _nameless(self, found: Found, pair: int, left: int, right: int) -> None:
        a, b = self.pairs[pair]
        one, other = a.text(left), b.text(right)
        if one is not None and other is not None:
            if one != other and not self.folders.alike(one, other):
                found.differ("refers to another text")
            if len(one) > SHORT_TEXT:
                return
        # Where the lengths differ, one side has something behind that nobody points at. No program reads
        # beyond its own object, and both read alike up to the first difference: the shorter length will do.
        size, size_b = a.reach(left), b.reach(right)
        place = PairedPlace(PlaceKind.STRETCH, pair, left, right, min(size, size_b))
        found.goes_on.append(self._add(place))

    def _stretch(self, place: PairedPlace, found: Found) -> None:
        """A piece without a symbol ends where any code points, perhaps amid an array: goes on from there."""
        self._data(place, found)
        a, b = self.pairs[place.pair]
        left, right = place.a + place.size, place.b + place.size
        if any(side.ends_piece(address) for side, address in ((a, left), (b, right))):
            return
        if self._corresponding(found, place.pair, left, right):
            self._nameless(found, place.pair, left, right)

    def _data(self, place: PairedPlace, found: Found) -> None:
        a, b = (side.image for side in self.pairs[place.pair])
        sections = a.section_at(place.a), b.section_at(place.b)
        if all(section is not None and section.zero for section in sections):
            return
        if place.size > MOST_COMPARED_BYTES:
            found.differ("is too large to be compared")
            return
        one, other = a.read(place.a, place.size), b.read(place.b, place.size)
        slots = self._slots(place)
        if slots is None or _without(one, slots) != _without(other, slots):
            found.differ("other content")
            return
        for slot in slots:
            left, right = place.a + slot, place.b + slot
            here, there = a.relocations.get(left), b.relocations.get(right)
            self._pointer(found, place.pair, (left, here), (right, there), taken=True)

    def _slots(self, place: PairedPlace) -> list[int] | None:
        """Offsets of the pointers in an object; None where the sides have them in other places."""
        a, b = self.pairs[place.pair]
        ones = a.relocated(place.a, place.size)
        others = b.relocated(place.b, place.size)
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
        """Two places that the dynamic linker fills."""
        a, b = (side.image for side in self.pairs[pair])
        (place, one), (place_b, other) = left, right
        internal, internal_b = a.pointer(place), b.pointer(place_b)
        if one is not None and other is not None and (one.kind in THREAD_RELOCATIONS or internal is None):
            if (one.kind in THREAD_RELOCATIONS) != (other.kind in THREAD_RELOCATIONS) or (
                one.symbol,
                one.addend,
            ) != (other.symbol, other.addend):
                found.differ(f"takes {other.symbol or 'other data'} from elsewhere")
            elif one.kind in THREAD_RELOCATIONS:
                self._thread(found)
            else:
                self._elsewhere(found, pair, one, taken=taken)
            return
        if internal is None or internal_b is None:
            found.differ("takes data from elsewhere on one side only")
            return
        kinds = {item.kind for item in (one, other) if item is not None}
        if IRELATIVE in kinds and len(kinds) > 1:
            found.differ("other functions for this processor")
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
                found.differ(f"takes {name} from elsewhere on one side only")
                return
            if name in a.image.exports:
                left, right = a.image.exports[name], b.image.exports[name]
                section = a.image.section_at(left)
                if section is not None and section.is_code:
                    self._go(found, index, left, right, taken=taken)
                else:
                    self._address(found, index, left, right)
                return
        found.asks.add(name)

    def _jump_table(self, pair: int, left: int, right: int, owner: int) -> PairedPlace | None:
        """The distances from here to instructions, which a function with a computed jump may mean."""
        a, b = self.pairs[pair]
        count = a.table_entries(left)
        if not count or count != b.table_entries(right):
            return None
        return PairedPlace(PlaceKind.TABLE, pair, left, right, 4 * count, owner)

    def _table(self, place: PairedPlace, found: Found) -> None:
        a, b = self.pairs[place.pair]
        for left, right in zip(
            a.distances(place.a, place.size), b.distances(place.b, place.size), strict=True
        ):
            self._go(found, place.pair, place.a + left, place.b + right)

    def _thread_local(self, place: PairedPlace, found: Found) -> None:
        """The whole block, as offsets in it stand in the instructions."""
        a, b = (side.image for side in self.pairs[place.pair])
        if [section.size for section in a.thread_local] != [section.size for section in b.thread_local]:
            found.differ("other thread-local variables")
            return
        for one, other in zip(a.thread_local, b.thread_local, strict=True):
            if not one.zero:
                self._needs_data(found, place.pair, one.start, other.start, one.size)

    def _handlers(self, place: PairedPlace, found: Found) -> None:
        """What catches exceptions; raises ValueError for a damaged table."""
        a, b = (side.image for side in self.pairs[place.pair])
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
