"""What a search among commits found: the contract of `toll bisect --json` (schemas/bisect.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tollbench.compare.printed import ComparisonRecord
from tollbench.compare.verdicts import Comparison, Lacking, NotNegative, Positive
from tollbench.history.commit_range import Commit

Chance = Annotated[float, Field(ge=0.0, le=1.0)]


class SearchStep(ComparisonRecord):
    """One commit that the search asked for, and what was known afterwards."""

    commit: str = Field(description="that was launched, or could not be")
    rounds: int = Field(ge=0, description="in which it, GOOD and BAD were launched; 0: it was left out")
    changed: Chance = Field(description="probability that the change came with this commit or before it")
    leading: str = Field(
        description="the commit that most probably brought it; where commits in between cannot be measured, a"
        " range A..B of git"
    )
    probability: Chance = Field(description="of that one")
    reason: str = Field(default="", description="why it was left out; empty: it was launched")
    same_as: str = Field(
        default="",
        description="a commit whose code it executes, so that it was not launched; empty: none is known",
    )


class Between(StrEnum):
    """Which two a change was measured between."""

    COMMITS = "commits"
    ENDS = "ends"


class FoundChange(ComparisonRecord):
    """A commit, or a run of commits, that brought a change with some probability."""

    commit: str = Field(
        description="its hash; a range A..B of git, without A, where the change is in one of several commits"
    )
    probability: Chance | None = Field(
        description="the posterior of the search; below --probability: undecided. By counts 1. Null for"
        " commits that were not halved to the end, or between which no build was measured"
    )
    benchmark: str
    ratio: Positive | None = Field(
        description="time of the commit over time of the one before it, measured at the end; of BAD over GOOD"
        " where `between` says so, with --all those of the part of the row that was searched"
    )
    low: Positive | None = Field(description="lower end of the ratio's interval; null where it has none")
    high: Positive | None = Field(description="upper end of the ratio's interval; null where it has none")
    between: Between = Field(
        description="what the ratio is of: the commit and the one before it, of a merge its first parent"
        " (commits), or GOOD and BAD (ends): undecided, or too little time was left to tell the two apart"
    )
    decided: bool = Field(
        description="whether the search ended with it as its answer; false: it is of the smallest set that"
        " holds the change (with --all others may be decided), or was not looked at to the end"
    )
    ends: tuple[str, str] = Field(
        description="GOOD and BAD of the search: with --all by time those of a part of the row"
    )
    launches: int = Field(ge=0, description="of all programs in the whole search")
    seconds: NotNegative = Field(description="wall time of the whole search, builds included")
    path: tuple[SearchStep, ...] = Field(description="in order of time")


class Bisections(ComparisonRecord):
    """All that one `toll bisect` found; empty: no change beyond the threshold, or (exit code 3) undecided."""

    found: tuple[FoundChange, ...]


class SearchEnd(StrEnum):
    """How a search ended."""

    FOUND = "found"
    NO_CHANGE = "no_change"
    UNDECIDED = "undecided"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class BisectionOutcome:
    """What was found, with what people are told about it."""

    end: SearchEnd
    printed: Bisections
    suspects: tuple[tuple[Commit, ...], ...]  # of each that was found: its commits
    reason: str = ""  # why it ended so, where it did not find
    changes: tuple[Comparison, ...] = ()  # between GOOD and BAD beyond the threshold, the searched one first
    left_out: tuple[SearchStep, ...] = ()  # commits that could not be measured
    commits: int = 0  # in the range, without GOOD
    launches: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()  # what befell the machine meanwhile
    raw: str = ""
    lacking: tuple[Lacking, ...] = ()  # benchmarks that GOOD or BAD does not have
    by_counts: bool = False  # exact: no probability
    explained: float | None = None  # by counts: share of the change, in logarithms, that was found
    path: tuple[SearchStep, ...] = ()  # also where nothing was found
    goes_on: bool = False  # with more time it would be known better
    places: Mapping[str, int] = field(default_factory=dict)  # of commits in the row that was searched
    why: tuple[str, ...] = ()  # of each that was found: a command that explains it
    ends: tuple[Commit, Commit] | None = None  # GOOD and BAD
    part: bool = False  # they are those of a part of the row
    no_room: str = ""  # of an interrupted one: which disk was full, where that is what ended it
    searches: tuple[BisectionOutcome, ...] = ()  # --all by time: in parts of the row, whose order they have
