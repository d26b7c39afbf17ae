"""In which order the functions run that run before and after main, and where that is all one.

The order of files in an executable is that in which they are linked, and their initialisers go with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tollbench.counting.image import INITIALISERS
from tollbench.counting.paired_places import Found, PairedPlace, PlaceKind, Places
from tollbench.counting.walked_image import WalkedImage

# What an initialiser may ask of other files without minding when: memory, constants (tables of virtual
# functions, types), trees that it hands over itself, and to be registered. The order in which benchmarks are
# registered is that in which they are listed.
ORDERLESS = re.compile(
    r"_Zn[wa]|_Zd[la]|malloc$|free$|mem(cpy|set|move|cmp)$|str(len|cmp)$"
    r"|__cxa_(atexit|finalize|guard|begin|end|re|pure_virtual$)|_ZT[VSI]N(9benchmark|10__cxxabiv1)"
    r"|_ZNK?9benchmark|_ZNSt8ios_base4Init|_Unwind_Resume|_ZNSt7__cxx1112basic_string|_ZSt\d+__throw_"
    r"|_ZSt\d+_Rb_tree_|__stack_chk_fail|_ITM_|__gmon_start__|_ZSt9terminatev"
)
# Variables of libraries that nobody writes to once they are there: types, and whether there are threads.
CONSTANT = re.compile(r"_ZT[VSI]|__libc_single_threaded")
# Calls at once what it is given.
CALLS_BACK = re.compile(r"_ZN9benchmark8internal9Benchmark5Apply")


@dataclass(frozen=True, slots=True)
class Initialiser:
    """A function of side a, the one of side b that it is held against, and when that one runs there."""

    a: int
    b: int
    turn: int


@dataclass(frozen=True, slots=True)
class Reordered:
    """Initialisers that run in another order on side b, in the order of side a, each with its turn there."""

    found: Found
    places: Sequence[tuple[int, PairedPlace]]


def paired_initialisers(a: WalkedImage, b: WalkedImage, found: Found) -> Iterator[list[Initialiser]]:
    """Those of each section in the order of side a; ends, with a difference, where one side has more."""
    for section in (*INITIALISERS, ".init", ".fini"):
        ones = a.image.initialisers.get(section, [])
        others = b.image.initialisers.get(section, [])
        if len(ones) != len(others):
            found.differ(f"one side has {len(ones)} initialisers, the other one {len(others)}")
            return
        turns = _turns(a, b, ones, others)
        yield [Initialiser(one, others[turn], turn) for one, turn in zip(ones, turns, strict=True)]


def _turns(a: WalkedImage, b: WalkedImage, ones: Sequence[int], others: Sequence[int]) -> list[int]:
    """By name where these are told apart, else each with the first that looks like it."""
    by_name = {b.image.function_name(address): turn for turn, address in enumerate(others)}
    names = [a.image.function_name(address) for address in ones]
    if len(set(names)) == len(by_name) == len(ones) and set(names) == by_name.keys():
        return [by_name[name] for name in names]
    left = list(range(len(others)))
    found = []
    for one in ones:
        wanted = a.looks(one)
        alike = next((turn for turn in left if b.looks(others[turn]) == wanted), left[0])
        left.remove(alike)
        found.append(alike)
    return found


def any_order(places: Places, reordered: Reordered) -> bool:
    """Whether those whose order changed touch nothing in common and ask for nothing that has an order."""
    for index, (turn, place) in enumerate(reordered.places):
        for later, other in reordered.places[index + 1 :]:
            if later < turn:
                ones, others = _touches(places, place), _touches(places, other)
                if ones is None or others is None or ones & others:
                    return False
    return True


def _touches(places: Places, start: PairedPlace) -> set[tuple[int, str | int]] | None:
    """The variables that a function and what it calls may write to; None where nobody knows.

    What it merely has the address of, such as the body of a benchmark, is called later, unless something
    there calls a computed address: that may be any of these.
    """
    seen = _reached(places, start, taken=False)
    if any(_calls_taken(places.found[place]) for place in seen):
        seen = _reached(places, start, taken=True)
    touched: set[tuple[int, str | int]] = set()
    for place in seen:
        found = places.found[place]
        if place.kind is PlaceKind.THREAD or any(not ORDERLESS.match(name) for name in found.asks):
            return None
        touched |= {(0, name) for name in found.copied if not CONSTANT.match(name)}
        touched |= {(place.pair, f"thread-local {begin}") for begin in found.threads}
        image = places.pairs[place.pair][0].image
        section = image.section_at(place.a) if place.kind in (PlaceKind.DATA, PlaceKind.STRETCH) else None
        if section is not None and section.varies:
            index = image.objects.containing(place.a)
            touched.add((place.pair, place.a if index is None else image.objects.starts[index]))
    return touched


def _calls_taken(found: Found) -> bool:
    return found.calls_computed or any(CALLS_BACK.match(name) for name in found.asks)


def _reached(places: Places, start: PairedPlace, *, taken: bool) -> set[PairedPlace]:
    """All that a function leads to, with functions whose address is taken if `taken`."""
    seen, waiting = {start}, [start]
    while waiting:
        found = places.found[waiting.pop()]
        targets = (*found.goes_on, *found.takes) if taken else found.goes_on
        more = {target for target in targets if target not in seen}
        seen |= more
        waiting += more
    return seen
