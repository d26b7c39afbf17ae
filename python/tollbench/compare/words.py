"""What the parts of a comparison hand to each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tollbench.errors import TollError


def own_environment() -> dict[str, str]:
    """What programs get: this process's environment without what the start script added for Python."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the things that are compared, as it is launched."""

    label: str
    command: tuple[str, ...]
    folder: Path | None = None  # where it runs; None: in a fresh temporary folder each time
    environment: Mapping[str, str] = field(default_factory=own_environment)
    malloc: str = ""  # the file that is preloaded to serve malloc, of which toll programs tell; "": none


@dataclass(frozen=True, slots=True)
class Settings:
    """How a comparison is made; seconds, shares (0.01 is 1 %), counts."""

    level: float = 0.95  # with which all intervals of the table hold together (each alone: `corrected` False)
    threshold: float = 0.01  # a difference beyond it matters
    budget_s: float = 60.0  # a benchmark
    total_s: float = 600.0  # all benchmarks together; each gets less than `budget_s` where they are many
    seed: int = 1
    corrected: bool = True  # for the number of comparisons in the table
    most_rounds: int = 100_000  # a benchmark

    def check(self) -> None:
        """Raises TollError for numbers that no comparison can be made with."""
        rules = {
            # Closer to 1, its share for one of many is lost to rounding. `confirm` halves what is left.
            "level": (0.5 <= self.level <= 0.9999996, "0.5 to 0.999999"),
            "threshold": (0.0 < self.threshold < 10.0, "above 0, below 10"),
            "budget": (0.0 < self.budget_s < 1e9, "above 0, below 1e9 seconds"),
            "total budget": (0.0 < self.total_s < 1e9, "above 0, below 1e9 seconds"),
        }
        for name, (holds, told) in rules.items():
            if not holds:
                raise TollError(
                    f"the {name} has a value that no comparison can be made with; it can be {told}",
                    "write for example --level 0.95 --threshold 0.01 --budget 60s",
                )


class SideFailed(Exception):  # an outcome, not a fault of toll
    """A launch that yields no numbers, with a reason for people to read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Survey:
    """What the sides offer; one of three sides that lacks a benchmark leaves it to the other two."""

    common: tuple[str, ...]  # benchmarks that the first side and another one offer, in the order of the first
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # benchmark -> labels that lack it


@dataclass(slots=True)
class Round:
    """One pass over all sides for some benchmarks, close together in time and in random order."""

    values: dict[str, list[float]] = field(default_factory=dict)  # ns an operation; NaN where a side failed
    order: dict[str, list[int]] = field(default_factory=dict)  # sides as they were launched; of each value
    failures: dict[str, dict[int, str]] = field(default_factory=dict)  # benchmark -> side -> reason
    raw: list[dict[str, Any]] = field(default_factory=list)  # every launch as it was, for the raw file


class Subject(Protocol):
    """What is compared: sides that offer benchmarks and can be measured a round at a time."""

    kind: str
    labels: tuple[str, ...]

    def survey(self) -> Survey:
        """Asks the sides what they offer. Raises SideFailed where one cannot answer at all."""

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """Which of `waiting`, the neediest first, the next round measures; at least one."""

    def round(self, names: Sequence[str], seed: int) -> Round:
        """Measures `names` on every side. A name in neither `values` nor `failures` has to come again."""

    def notes(self, name: str) -> Sequence[str]:
        """What a reader must know about this benchmark's launches, a sentence each."""


@dataclass(frozen=True, slots=True)
class Step:
    """Where a comparison stands, for a progress bar."""

    elapsed_s: float
    left_s: float
    decided: int
    benchmarks: int
    benchmark: str


OnStep = Callable[[Step], None]
Keep = Callable[[Mapping[str, Any]], None]  # stores one raw launch
