"""What two addresses lead to, one of each side: the same place of both, or a difference.

Code leads to the function that holds it, data to as much of it as whoever has the address may read. Variables
that the program may write to have to correspond one to one: of two that begin with the same content, code
that takes the other one is other code.
"""

from __future__ import annotations

from tollbench.counting.image import IRELATIVE, Extents, Image, Relocation
from tollbench.counting.neighbours import OF_TYPES, Meaning, Neighbours
from tollbench.counting.paired_places import Found, PairedPlace, PlaceKind, Places
from tollbench.counting.texts import Folders
from tollbench.counting.walked_image import WalkedImage

THREAD_RELOCATIONS = (16, 17, 18)  # R_X86_64_DTPMOD64, DTPOFF64, TPOFF64
# The processor's abilities as libgcc and compiler-rt keep them.
ABILITIES = ("__cpu_model", "__cpu_features2", "__cpu_indicator_init", "__aarch64_cpu_features")
# Compilers fold `table[i - 1]` into an address before the table. One that lies in an object, or at its begin
# where it is no larger than this, may mean the object behind it.
MOST_BIAS_BYTES = 128
SHORT_TEXT = 3  # letters, which a number may look like


class Correspondence:
    """Which variable and which folder of the one side stands for which of the other."""

    def __init__(self) -> None:
        self.folders = Folders()
        self.neighbours: list[Neighbours] = []  # that wait for the end of the walk
        self._moved: dict[tuple[int, bool, int], int] = {}  # (pair, from side a, address) -> other's address
        self._threads: dict[tuple[int, bool, int], int] = {}  # the same for thread-local variables
        self._shifts: dict[tuple[int, str], int] = {}  # (pair, section) -> distance, without symbols

    def one_for_one(self, pair: int, a: WalkedImage, b: WalkedImage, left: int, right: int) -> bool:
        """Whether two places in variables may stand for each other: the same place in variables that do."""
        if a.copied(left) is not None:
            return True
        if a.image.stripped or b.image.stripped:
            # Nothing tells one variable from the next: all of a section have to lie as they lay, but for the
            # first of .bss, which is the runtime's.
            if left == a.mark_of_the_end or right == b.mark_of_the_end:
                return (left, right) == (a.mark_of_the_end, b.mark_of_the_end)
            section = a.image.section_at(left)
            assert section is not None
            return self._shifts.setdefault((pair, section.name), right - left) == right - left
        ones, others = a.image.objects, b.image.objects
        one, other = ones.containing(left), others.containing(right)
        if (one is None) != (other is None):
            return False
        if one is not None and other is not None:
            if ones.within(one, left) != others.within(other, right):
                return False
            left, right = ones.starts[one], others.starts[other]
        here = self._moved.setdefault((pair, True, left), right)
        there = self._moved.setdefault((pair, False, right), left)
        return (here, there) == (right, left)

    def one_thread_variable(self, pair: int, left: int, right: int) -> bool:
        """Whether two thread-local variables, by where they begin, may stand for each other."""
        here = self._threads.setdefault((pair, True, left), right)
        there = self._threads.setdefault((pair, False, right), left)
        return (here, there) == (right, left)

    def threads_moved(self, pair: int) -> bool:
        """Whether a thread-local variable lies elsewhere on the other side."""
        return any(own == pair and here != there for (own, _, here), there in self._threads.items())


class Addresses:
    """Addresses that one place has in the images of one pair; what they lead to goes to its `Found`."""

    def __init__(self, places: Places, known: Correspondence, pair: int, found: Found) -> None:
        self._places, self._known, self._pair, self._found = places, known, pair, found
        self._a, self._b = places.pairs[pair]

    def data(self, left: int, right: int, size: int, kind: PlaceKind = PlaceKind.DATA) -> None:
        """Bytes that are needed."""
        self._need(PairedPlace(kind, self._pair, left, right, size))

    def thread_local(self) -> None:
        """Thread-local variables of any file: which one's it is stands in no instruction."""
        for pair in range(len(self._places.pairs)):
            self._need(PairedPlace(PlaceKind.THREAD, pair, 0, 0))

    def thread_variable(self, left: int, right: int, size: int) -> None:
        """A place in the thread-local data of both executables: `size` bytes are used, 0: its address is.

        An address where one variable ends and none begins, or another one, may be that of the end.
        """
        a, b = self._a.image, self._b.image
        ones, others = a.thread_objects, b.thread_objects
        one, other = ones.containing(left), others.containing(right)
        ended = size == 0 and _ending(ones, left) is not None and _ending(others, right) is not None
        if one is None and other is None and ended:
            left, right = left - 1, right - 1
            one, other = ones.containing(left), others.containing(right)
            ended = False
        if one is None or other is None or ones.within(one, left) != others.within(other, right):
            self._found.differ("refers to another thread-local variable")
            return
        begins = ones.starts[one], others.starts[other]
        if left + size > ones.ends[one] or not self._known.one_thread_variable(self._pair, *begins):
            self._found.differ("refers to another thread-local variable")
            return
        self._found.threads.add(begins[0])
        here, there = a.thread_start + begins[0], b.thread_start + begins[1]
        kinds = [self._initial(side, start) for side, start in ((a, here), (b, there))]
        if kinds[0] != kinds[1]:
            self._found.differ("refers to a thread-local variable with another initial value")
        elif kinds[0]:
            self.data(here, there, ones.size(one))
        if ended and left == begins[0]:
            self._thread_variable_before(left, right)

    def _thread_variable_before(self, left: int, right: int) -> None:
        """The variable that ends there, where both sides have the same one there, as in `_before`."""
        ones, others = self._a.image.thread_objects, self._b.image.thread_objects
        one, other = _ending(ones, left), _ending(others, right)
        if one is not None and other is not None and ones.names[one] == others.names[other]:
            size = min(ones.size(one), others.size(other))
            self.thread_variable(left - size, right - size, size)

    @staticmethod
    def _initial(image: Image, start: int) -> bool:
        """Whether a thread-local variable has an initial value in the file: in .tdata, not in .tbss."""
        return any(part.start <= start < part.end and not part.zero for part in image.thread_local)

    def code(self, left: int, right: int, *, taken: bool = False) -> PairedPlace | None:
        """Code that is called or jumped to, or with `taken` might be; None where it differs or is missing."""
        one, other = self._a.place_in_code(left), self._b.place_in_code(right)
        if one is None and other is None and left == right == 0:
            return None  # a function that may be missing, and is: a weak symbol that nobody defines
        if one is None or other is None or one[1] != other[1]:
            self._found.differ("goes to the middle of other code")
            return None
        if taken and self._a.unknown_code(left) != self._b.unknown_code(right):
            self._found.differ("takes the address of code of unknown length")
            return None
        target = PairedPlace(PlaceKind.CODE, self._pair, one[0], other[0])
        self._places.add(target)
        (self._found.takes if taken else self._found.goes_on).append(target)
        return target

    def read(self, left: int, right: int, size: int) -> None:
        """Data of which an instruction reads or writes so many bytes."""
        a, b = self._a, self._b
        if not self.corresponding(left, right):
            return
        if (copied := a.copied(left)) is not None:
            self._found.copied.add(copied[0])
        elif a.image.section_at(left) is not None:
            self.data(left, right, size)
            self._found.dispatches |= a.object_name(left) in ABILITIES or b.object_name(right) in ABILITIES

    def called_through(self, left: int, right: int) -> None:
        """A call or jump to what is stored at an address: a function of another file, or a variable's."""
        a, b = self._a.image, self._b.image
        section = a.section_at(left)
        filled = left in a.relocations and right in b.relocations
        if not filled or section is None or section.varies:
            self._found.calls_computed = True
            self.read(left, right, 8)
        else:
            self.pointer(left, right, taken=False)

    def corresponding(self, left: int, right: int) -> bool:
        """Whether two addresses may stand for each other; notes that they do."""
        a, b = self._a, self._b
        if left == right and a.image.in_header(left) and b.image.in_header(right):
            return True
        one, other = a.image.section_at(left), b.image.section_at(right)
        if one is None or other is None or one.is_code != other.is_code or one.varies != other.varies:
            self._found.differ("refers to other data")
            return False
        if a.copied(left) != b.copied(right):
            self._found.differ("refers to another variable of a library")
            return False
        if one.varies and not self._known.one_for_one(self._pair, a, b, left, right):
            self._found.differ("refers to another variable")
            return False
        return True

    def any_use(self, left: int, right: int, *, owner: int | None = None) -> None:
        """Addresses of code that may be called later, or of data of unknown length.

        `owner` is a function that jumps to computed addresses, and may find them in a table there.
        """
        a, b = self._a, self._b
        if a.marks_the_file(left) and b.marks_the_file(right):
            return  # nobody reads it
        if a.known_otherwise(left) or b.known_otherwise(right):
            if a.known_otherwise(left) != b.known_otherwise(right):
                self._found.differ("refers to other data")
            return
        one, other = a.image.section_at(left), b.image.section_at(right)
        if one is None and other is None and left == right:
            return
        if (one is None or other is None) and a.ends(left) == b.ends(right) != "":
            return
        if one is not None and other is not None and one.is_code and other.is_code:
            self.code(left, right, taken=True)
            return
        if not self.corresponding(left, right):
            return
        if (copied := a.copied(left)) is not None:
            self._found.copied.add(copied[0])
            return
        if self._whole_section(left, right) or self._global_offsets(left, right):
            return
        if owner is not None and (table := self._jump_table(left, right, owner)) is not None:
            self._need(table)
            return
        self._found.dispatches |= a.object_name(left) in ABILITIES
        self._object(left, right)

    def nameless(self, left: int, right: int) -> None:
        """Data without a symbol, which ends nobody knows where."""
        a, b = self._a, self._b
        one, other = a.text(left), b.text(right)
        if one is not None and other is not None:
            if one != other and not self._known.folders.alike(one, other):
                self._found.differ("refers to another text")
            if len(one) > SHORT_TEXT:
                return
        # Where the lengths differ, one side has something behind that nobody points at. No program reads
        # beyond its own object, and both read alike up to the first difference: the shorter length will do.
        self.data(left, right, min(a.reach(left), b.reach(right)), PlaceKind.STRETCH)

    def pointer(self, left: int, right: int, *, taken: bool) -> None:
        """Two places that the dynamic linker fills; with `taken` nobody knows what is done with that."""
        a, b = self._a.image, self._b.image
        one, other = a.relocations.get(left), b.relocations.get(right)
        internal, internal_b = a.pointer(left), b.pointer(right)
        if one is not None and other is not None:
            of_thread = one.kind in THREAD_RELOCATIONS or other.kind in THREAD_RELOCATIONS
            if of_thread or internal is None:
                self._symbol(one, other, taken=taken)
                return
        if internal is None or internal_b is None:
            self._found.differ("takes data from elsewhere on one side only")
            return
        kinds = {item.kind for item in (one, other) if item is not None}
        if IRELATIVE in kinds and len(kinds) > 1:
            self._found.differ("other functions for this processor")
            return
        if IRELATIVE in kinds:
            self._found.dispatches = True
            self.code(internal, internal_b)
            return
        section = a.section_at(internal)
        if not taken and section is not None and section.is_code:
            self.code(internal, internal_b)
        else:
            self.any_use(internal, internal_b)

    def _need(self, place: PairedPlace) -> None:
        self._places.add(place)
        self._found.goes_on.append(place)

    def _whole_section(self, left: int, right: int) -> bool:
        """A section with a name of C: linkers define its bounds, and a program may walk between them."""
        here, there = self._a.image.section_named_in_c(left), self._b.image.section_named_in_c(right)
        if here is None and there is None:
            return False
        if here is None or there is None or (here.name, here.size) != (there.name, there.size):
            self._found.differ("refers to a section of another size")
        else:
            self.data(here.start, there.start, here.size)
        return True

    def _global_offsets(self, left: int, right: int) -> bool:
        """The table of what other files define: thread-local variables, or a code model that adds to it."""
        a, b = self._a.image, self._b.image
        section = a.section_at(left)
        if section is None or not section.name.startswith(".got"):
            return False
        one, other = a.relocations.get(left), b.relocations.get(right)
        if one is None or other is None or one.kind not in THREAD_RELOCATIONS:
            self._found.differ("computes addresses from the table of offsets")
        else:
            self.pointer(left, right, taken=True)
        return True

    def _jump_table(self, left: int, right: int, owner: int) -> PairedPlace | None:
        """The distances from here to instructions, which a function with a computed jump may mean."""
        count = self._a.table_entries(left)
        if not count or count != self._b.table_entries(right):
            return None
        return PairedPlace(PlaceKind.TABLE, self._pair, left, right, 4 * count, owner)

    def _object(self, left: int, right: int) -> None:
        """Data from an address on, as far as code that has the address may go."""
        a, b = self._a, self._b
        ones, others = a.image.objects, b.image.objects
        one, other = ones.containing(left), others.containing(right)
        if (one is None) != (other is None):
            self._found.differ("refers to other data")
            return
        if one is None or other is None:
            self.nameless(left, right)
            if a.text(left) and a.begins_text(left) and b.begins_text(right):
                return  # an empty one may be the gap before an object
            self._before(left, right)
        else:
            if ones.within(one, left) != others.within(other, right):
                self._found.differ("refers to data of another size")
                return
            begin, size = ones.starts[one], ones.size(one)
            self.data(begin, others.starts[other], size)
            if left == begin:
                self._before(left, right)
            if left == begin and size > MOST_BIAS_BYTES:
                return
        self._behind(left, right)

    def _before(self, left: int, right: int) -> None:
        """The object that ends there: the address may be its end."""
        a, b = self._a, self._b
        here, there = a.ended_by(left), b.ended_by(right)
        if here is None or there is None:
            return
        if a.object_name(here) != b.object_name(there):
            self._wait_for(left, here, there)
            return
        size = min(left - here, right - there)
        self.data(left - size, right - size, size)

    def _behind(self, left: int, right: int) -> None:
        """The object behind: the address may be meant for it."""
        ones, others = self._a.image.objects, self._b.image.objects
        one, other = ones.after(left), others.after(right)
        if one is None or other is None:
            return
        begin, there = ones.starts[one], others.starts[other]
        if begin - left != there - right or begin - left > MOST_BIAS_BYTES:
            return
        if self._a.object_name(left).startswith(OF_TYPES):
            return  # each constructor has such an address, and nothing behind it is meant
        if ones.names[one] != others.names[other]:
            self._wait_for(left, begin, there)
        else:
            self.object_beside(begin, there)

    def _wait_for(self, address: int, begin: int, there: int) -> None:
        index = self._a.image.objects.containing(address)
        if index is not None:
            own = self._a.image.objects.starts[index] == address
            meaning = Meaning.OWN if own else Meaning.AMID
        else:  # a text that is empty may be the gap before an object
            own = bool(self._a.text(address)) or self._a.ended_by(address) is not None
            meaning = Meaning.OWN if own else Meaning.NONE
        self._known.neighbours.append(Neighbours(self._found, self._pair, begin, there, meaning))

    def object_beside(self, begin: int, there: int) -> None:
        """Two objects, of which the places that this is about may have an address outside of them."""
        ones, others = self._a.image.objects, self._b.image.objects
        one, other = ones.containing(begin), others.containing(there)
        size = ones.size(one) if one is not None else 0
        if other is None or size != others.size(other):
            self._found.differ("refers to data of another size")
        elif self.corresponding(begin, there):
            self.data(begin, there, size)

    def _symbol(self, one: Relocation, other: Relocation, *, taken: bool) -> None:
        """What another file defines, or a thread-local variable."""
        kinds = [item.kind in THREAD_RELOCATIONS for item in (one, other)]
        if kinds[0] != kinds[1] or (one.symbol, one.addend) != (other.symbol, other.addend):
            self._found.differ(f"takes {other.symbol or 'other data'} from elsewhere")
        elif kinds[0]:
            self.thread_local()
        else:
            self._elsewhere(one, taken=taken)

    def _elsewhere(self, relocation: Relocation, *, taken: bool) -> None:
        """A symbol of another file: of one of the pairs, or of one that is the same on both sides."""
        name = relocation.symbol.partition("@")[0]
        for pair, (a, b) in enumerate(self._places.pairs):
            if pair == self._pair or (name not in a.image.exports and name not in b.image.exports):
                continue
            left, right = a.image.exports.get(name), b.image.exports.get(name)
            if left is None or right is None:
                self._found.differ(f"takes {name} from elsewhere on one side only")
                return
            there = Addresses(self._places, self._known, pair, self._found)
            section = a.image.section_at(left)
            if section is not None and section.is_code:
                there.code(left, right, taken=taken)
            else:
                there.any_use(left, right)
            return
        self._found.asks.add(name)


def _ending(extents: Extents, address: int) -> int | None:
    """The one that ends at an address."""
    index = extents.containing(address - 1)
    return index if index is not None and extents.ends[index] == address else None
