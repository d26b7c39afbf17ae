"""Places that two programs have in common, and what is known of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from tollbench.counting.image import Image
from tollbench.counting.walked_image import WalkedImage

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
    calls_computed: bool = False  # calls an address of which nobody knows where it comes from
    # Variables without a place of their own: names of those that the executable has for a library, and where
    # in the pair's block thread-local ones begin.
    copied: set[str] = field(default_factory=set)
    threads: set[int] = field(default_factory=set)
    asks: set[str] = field(default_factory=set)  # symbols of other files that it needs

    def differ(self, why: str) -> None:
        """Notes a difference; the first one is told."""
        self.difference = self.difference or why


class Places:
    """All places that were reached, in pairs of images, and those of them that nobody has looked at yet."""

    def __init__(self, pairs: Sequence[tuple[Image, Image]]) -> None:
        self.pairs = [(WalkedImage(a), WalkedImage(b)) for a, b in pairs]
        self.found: dict[PairedPlace, Found] = {}
        self._waiting: deque[PairedPlace] = deque()

    def add(self, place: PairedPlace) -> None:
        """A place that somebody leads to."""
        if place not in self.found:
            self.found[place] = Found()
            self._waiting.append(place)

    def next(self) -> PairedPlace | None:
        """One to look at; None where all were."""
        return self._waiting.popleft() if self._waiting else None
