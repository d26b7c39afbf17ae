"""What the parts of a comparison hand to each other."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from tollbench.compare.around import NOTHING_AROUND, Around
from tollbench.errors import TollError
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.text import shown

MOST_OFFERED = 20_000  # benchmarks in one table; more are a mistake, or want a --filter
LAYOUTS = range(2, 1025)  # of too few no interval is told; more fill the disk


class Until(StrEnum):
    """Which question ends the measuring of a benchmark."""

    ESTIMATE = "estimate"  # how large is the difference, and does it matter?
    DIRECTION = "direction"  # is there one, or none that matters? A gate's
    THRESHOLD = "threshold"  # does it lie beyond the threshold, or within? A search's


class Two(NamedTuple):
    """Two sides that are held against each other, by their places; a ratio is the time of b over a's."""

    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the things that are compared, as it is launched."""

    label: str
    command: tuple[str, ...]
    folder: Path | None = None  # where it runs; None: in a fresh temporary folder each time
    environment: Mapping[str, str] = field(default_factory=own_environment)
    malloc: str = ""  # the file that is preloaded to serve malloc, of which toll programs tell; "": none
    layouts: tuple[str, ...] = ()  # the executable with its functions elsewhere; of all sides equally many
    unusable: str = ""  # why there is nothing to launch, in a sentence with its label: it was not built

    def in_layout(self, number: int | None) -> Side:
        """The side as one launch of it runs; None: as it was built."""
        return self if number is None else replace(self, command=(self.layouts[number], *self.command[1:]))


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """How a comparison is made; seconds, shares (0.01 is 1 %), counts."""

    level: float = 0.95  # with which all intervals of the table hold together (each alone: `corrected` False)
    threshold: float = 0.01  # a difference beyond it matters
    budget_s: float = 60.0  # a benchmark
    total_s: float = 600.0  # all benchmarks together; each gets less than `budget_s` where they are many
    share_of_total: float = 1.0  # that `total_s` is of what the user gave: `confirm` measures twice
    seed: int = 1
    corrected: bool = True  # for the number of comparisons in the table
    most_rounds: int = 100_000  # a benchmark
    layouts: int = 0  # of each side, over which ratios are averaged; 0: the sides as they are
    until: Until = Until.ESTIMATE
    all_pairs: bool = False  # each side is judged against each other one, not against the first alone

    def check(self) -> None:
        """Raises TollError for numbers that no comparison can be made with."""
        rules = {
            # Closer to 1, its share for one of many is lost to rounding. `confirm` halves what is left.
            "level": (0.5 <= self.level <= 0.9999996, "0.5 to 0.999999"),
            # What no clock tells apart is no threshold; and what is squared stays a number.
            "threshold": (1e-6 <= self.threshold < 10.0, "at least 1e-6 (0.0001 %), below 10"),
            "budget": (0.0 < self.budget_s < 1e9, "above 0, below 1e9 seconds"),
            "total budget": (0.0 < self.total_s < 1e9, "above 0, below 1e9 seconds"),
            "number of layouts": (self.layouts in (0, *LAYOUTS), f"0, or {LAYOUTS[0]} to {LAYOUTS[-1]}"),
        }
        for name, (holds, told) in rules.items():
            if not holds:
                raise TollError(
                    f"the {name} has a value that no comparison can be made with; it can be {told}",
                    "write for example --level 0.95 --threshold 0.01 --budget 60s"
                    + (" --layouts 16" if self.layouts else ""),
                )


@dataclass(frozen=True, slots=True)
class Survey:
    """What the sides offer; one of three sides that lacks a benchmark leaves it to the other two."""

    common: tuple[str, ...]  # benchmarks that the first side and another one offer, in the order of the first
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # benchmark -> labels that lack it
    # Side -> why it could not even be asked; in all pairs the others go on without it.
    unusable: Mapping[int, str] = field(default_factory=dict)
    part_of: str = ""  # where this is a share: a digest of all names, which who has another share has too
    shared: bool = True  # whether sides have any benchmark in common, in this share or in another
    failing: frozenset[str] = frozenset()  # benchmarks that are known to fail on a side: equal code or not


@dataclass(slots=True)
class Round:
    """One pass over all sides for some benchmarks, close together in time and in random order."""

    values: dict[str, list[float]] = field(default_factory=dict)  # ns an operation; NaN where a side failed
    order: dict[str, list[int]] = field(default_factory=dict)  # sides as they were launched; of each value
    layouts: dict[str, int] = field(default_factory=dict)  # which one each value is of, where there are some
    # Of sides after the first, b over a, where blocks tell more of two sides than their values do.
    ratios: dict[str, dict[Two, float]] = field(default_factory=dict)
    # As values, over all of a launch: where a value is of its quiet part, and something slow may hide.
    means: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, dict[int, str]] = field(default_factory=dict)  # benchmark -> side -> reason
    raw: list[dict[str, Any]] = field(default_factory=list)  # every launch as it was, for the raw file


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of the code that one benchmark runs on one side, against the first side."""

    unchanged: bool
    told: str  # "both sides execute the same code ...", "changed: f (other ...)", "... not compared: ..."


LookAtCode = Callable[[Mapping[str, Sequence[int]]], Mapping[tuple[str, int], Standing]]


class Subject(Protocol):
    """What is compared: sides that offer benchmarks and can be measured a round at a time."""

    kind: str
    labels: tuple[str, ...]

    def survey(self) -> Survey:
        """Asks the sides what they offer. Raises LaunchFailed where one cannot answer at all."""

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """Which of `waiting`, the neediest first, the next round measures; at least one."""

    def round(self, names: Sequence[str], seed: int) -> Round:
        """Measures `names` on every side. A name in neither `values` nor `failures` has to come again."""

    def notes(self, name: str, side: int, against: int = 0) -> Sequence[str]:
        """What a reader must know where `side` is held against another one, a sentence each."""


@dataclass(frozen=True, slots=True)
class NameShare:
    """One of several equal parts of all benchmarks: what one of several machines compares."""

    index: int = 0  # from 0
    count: int = 1

    def of(self, names: Sequence[str]) -> Sequence[str]:
        """Every `count`-th name, so that neighbours, which are often alike, come to different parts."""
        return names[self.index :: self.count]


ALL_OF_THEM: Final = NameShare()


@dataclass(frozen=True, slots=True)
class MeasuringOptions:
    """What all kinds of sides are told about their measuring."""

    limit_s: float  # the longest that one launch may take
    interrupt: Interrupt | None = None
    pattern: str = ""  # a regular expression that benchmarks' names match
    any_exit_code: bool = False  # command lines may end with a code other than 0
    read: str = ""  # where names and times stand in what a program prints, as --read has it
    around: Around = NOTHING_AROUND
    turns: bool = False  # Google Benchmark's sides may be alive together (`tollbench.launching.in_turns`)
    looking_s: float = math.inf  # the longest that looking at code may take, all benchmarks together
    all_pairs: bool = False  # where the first side fails, the others are still measured
    threshold: float = 0.01  # a smaller change is none: what pairs need not tell, launches are not long for
    share: NameShare = ALL_OF_THEM  # of the benchmarks that match


@dataclass(frozen=True, slots=True)
class Adapter:
    """A kind of side: its word for --kind, its name in a sentence, how it is known, what measures it.

    `marks` are bytes that an executable of this kind holds: options that it must know, or the library that it
    loads. Reading them runs nothing, and so harms nothing.
    """

    kind: str  # "google-benchmark"
    name: str  # "a Google Benchmark executable"
    marks: tuple[bytes, ...]
    subject_of: Callable[[Sequence[Side], MeasuringOptions], Subject]
    priority: int = 0  # where an executable holds the marks of several kinds, the highest wins
    is_command_line: bool = False  # runs in the current folder, through a shell where its words need one
    interpreters: tuple[str, ...] = ()  # programs that run files of this kind: "java", which has jars


@dataclass(frozen=True, slots=True)
class ComparisonStep:
    """Where a comparison stands, for a progress bar."""

    elapsed_s: float
    left_s: float
    decided: int
    benchmarks: int
    benchmark: str


OnStep = Callable[[ComparisonStep], None]
Keep = Callable[[Mapping[str, Any]], None]  # stores one raw launch


def survey_of(
    labels: Sequence[str],
    offers: Sequence[Sequence[str] | LaunchFailed],
    pattern: str = "",
    if_none: str = "",
    *,
    all_pairs: bool = False,
    share: NameShare = ALL_OF_THEM,
) -> Survey:
    """What the first side has in common with others, and who lacks what: of `share` of all benchmarks.

    `if_none` is what to do where a side offers nothing and no pattern says why. Raises LaunchFailed for a
    side that offers nothing, or could not be asked; in all pairs only where fewer than two are left.
    """
    unusable = {
        side: reason
        for side, (label, names) in enumerate(zip(labels, offers, strict=True))
        if (reason := _unusable(label, names, pattern, if_none))
    }
    usable = [
        (label, names)
        for side, (label, names) in enumerate(zip(labels, offers, strict=True))
        if side not in unusable and not isinstance(names, LaunchFailed)
    ]
    if unusable and (not all_pairs or len(usable) < 2):
        raise LaunchFailed(next(iter(unusable.values())))
    together = list(dict.fromkeys(name for _, names in usable for name in names))
    everywhere = share.of(together)
    offered = [(label, frozenset(names)) for label, names in usable]
    lacking = {name: tuple(label for label, names in offered if name not in names) for name in everywhere}
    two_have = Counter(name for _, names in offered for name in names)
    (_, first), *others = offered
    return Survey(
        tuple(name for name in usable[0][1] if name in lacking and len(lacking[name]) < len(usable) - 1),
        {name: lacking_sides for name, lacking_sides in lacking.items() if lacking_sides},
        unusable,
        _digest(together) if share.count > 1 else "",
        max(two_have.values()) > 1 if all_pairs else any(first & names for _, names in others),
    )


def _digest(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(names).encode("utf-8", "replace")).hexdigest()[:16]


def _unusable(label: str, names: Sequence[str] | LaunchFailed, pattern: str, if_none: str) -> str:
    """Why nothing of a side can be compared, "" where something can."""
    if isinstance(names, LaunchFailed):
        return names.reason
    matching = f" that matches {shown(pattern)!r}" if pattern else ""
    if not names:
        return f"{label} offers no benchmark{matching or if_none}"
    if len(names) > MOST_OFFERED:
        most = f"a table has {MOST_OFFERED} at most: choose some with --filter"
        return f"{label} offers {len(names)} benchmarks{matching}; {most}"
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        return f"{label} offers {twice[0]} twice: no result could be told from the other"
    return ""


class Unusable:
    """Sides that cannot be asked, with the reason: a revision that does not build."""

    kind = "unknown"

    def __init__(self, labels: Sequence[str], reason: str) -> None:
        self.labels = tuple(labels)
        self._reason = reason

    def survey(self) -> Survey:
        """Raises LaunchFailed, always."""
        raise LaunchFailed(self._reason)

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """Never asked."""
        return waiting[:1]

    def round(self, _names: Sequence[str], _seed: int) -> Round:
        """Never asked."""
        return Round()

    def notes(self, _name: str, _side: int, _against: int = 0) -> Sequence[str]:
        """None."""
        return ()
