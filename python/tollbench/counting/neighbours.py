"""Objects beside an address, which compilers may mean by it, where the two sides call them differently.

`table[i - 1]` is an address before the table: in the object before it, or in the gap between both. What is
behind there on the one side and on the other is held together at once where it has one name. Else it waits
for the end of the walk, which knows what else leads to each: a table with a new name and other numbers may be
reached in no other way, while of what merely moved there each has its own counterpart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from tollbench.counting.paired_places import Found, PlaceKind, Places

OF_TYPES = "_ZT"  # tables of virtual functions and the like, which nothing indexes from before their begin


class Meaning(Enum):
    """What an address is that an object stands behind, or ends at."""

    OWN = "the begin of an object, the end of one, or a text"
    AMID = "within an object"
    NONE = "within none: but for what stands behind it, nobody would take it"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Objects of other names at one distance from an address that `found` has, by where they begin."""

    found: Found
    pair: int
    a: int
    b: int
    meaning: Meaning


def meant(places: Places, waiting: Sequence[Neighbours]) -> Iterator[Neighbours]:
    """Those that the address may be meant for: they stand for each other elsewhere, or nothing else tells."""
    ones, others = _reached(places)
    seen = set()
    for each in waiting:
        if (key := (id(each.found), each.pair, each.a, each.b, each.meaning)) in seen:
            continue
        seen.add(key)
        a, b = (side.image for side in places.pairs[each.pair])
        section, section_b = a.section_at(each.a), b.section_at(each.b)
        if section is None or section_b is None or (section.zero and section_b.zero):
            continue
        walked = zip(places.pairs[each.pair], (each.a, each.b), strict=True)
        if all(side.object_name(at).startswith(OF_TYPES) for side, at in walked):
            continue
        counterparts = ones.get((each.pair, each.a), set())
        lacking = [not counterparts, (each.pair, each.b) not in others]
        # Of variables, and where the address has a meaning of its own, a new neighbour is no reason to doubt.
        if each.meaning is Meaning.OWN or section.varies:
            doubtful = all(lacking)
        else:
            doubtful = each.meaning is Meaning.NONE or any(lacking)
        if doubtful or each.b in counterparts:
            yield each


def _reached(places: Places) -> tuple[dict[tuple[int, int], set[int]], set[tuple[int, int]]]:
    """Objects of side a, each with those of side b that it was held against; and all those of side b."""
    ones: dict[tuple[int, int], set[int]] = {}
    others: set[tuple[int, int]] = set()
    for place in places.found:
        if place.kind not in (PlaceKind.DATA, PlaceKind.STRETCH):
            continue
        a, b = (side.image.objects for side in places.pairs[place.pair])
        one, other = a.containing(place.a), b.containing(place.b)
        if one is not None and other is not None:
            ones.setdefault((place.pair, a.starts[one]), set()).add(b.starts[other])
            others.add((place.pair, b.starts[other]))
    return ones, others
