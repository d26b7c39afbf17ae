"""What a history found: the contract of `toll history --json` (schemas/history.schema.json)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tollbench.compare.printed import ComparisonRecord
from tollbench.compare.verdicts import NotNegative, Positive
from tollbench.stats import change_points

LEAST_SCATTER, MOST_CERTAIN = change_points.LEAST_SCATTER, change_points.MOST_CERTAIN
Place = Annotated[int, Field(ge=0)]
Certainty = Annotated[float, Field(ge=0.0, le=1.0)]


class HistoryCommit(ComparisonRecord):
    """One commit of the row."""

    commit: str
    author: str
    subject: str
    utc: str = Field(description="when it was committed, ISO 8601")
    name: str = Field(default="", description="the tag by which it was asked for")
    reason: str = Field(
        default="", description="why it could not be measured; empty: it could, or was not yet"
    )


class HistoryChange(ComparisonRecord):
    """A change of one benchmark that lasted."""

    benchmark: str
    commit: str = Field(description="most probably the first with the new level, of those that were measured")
    place: Place = Field(description="of that one in `commits`")
    first: Place = Field(description="it came with this commit at the earliest, at the level of intervals")
    last: Place = Field(description="and with this one at the latest")
    range: str = Field(description="the same as git writes it, A..B")
    unmeasured: Place = Field(description="commits from first to last that were not measured")
    unbuilt: Place = Field(default=0, description="and others of them that do not build or run")
    ratio: Positive = Field(description="level behind it over level before it")
    low: Positive = Field(description="lower end of that ratio's interval")
    high: Positive = Field(description="upper end")
    certainty: Certainty = Field(
        description="posterior probability that it is a change and not scatter, 0.9 at most"
    )
    part: Place = Field(description="of the history, between two breaks")
    found_utc: str = Field(description="when the session began by which both levels had four values")


class HistoryBreak(ComparisonRecord):
    """From here on values are not comparable with those before."""

    utc: str = Field(description="when the session began that is the first of the new part")
    place: Place = Field(description="of the newest commit that was measured before it")
    reason: str
    of: Literal["all", "times"] = Field(
        default="all", description="times: of runs on what is another machine for times alone; ratios go on"
    )


class BenchmarkLine(ComparisonRecord):
    """One benchmark over commits: columns of equal length, an entry a commit and part."""

    benchmark: str
    is_time: bool = Field(
        default=False, description="of runs: a time, against that of the first run on its machine"
    )
    place: tuple[Place, ...] = Field(description="of the commit in `commits`")
    part: tuple[Place, ...] = Field(description="of the history, between two breaks")
    ratio: tuple[Positive, ...] = Field(description="time of the commit over that of the reference")
    low: tuple[Positive | None, ...] = Field(
        description="lower end of the ratio's interval; null where launches were too few for one"
    )
    high: tuple[Positive | None, ...] = Field(description="upper end")
    visits: tuple[int, ...] = Field(description="sessions in which it was measured")
    outliers: tuple[int, ...] = Field(default=(), description="entries that are far off their level")
    latest: Place = Field(
        default=0, description="the part that is shown as the present: that of the newest session with it"
    )
    reference_ns: Positive | None = Field(
        description="nanoseconds an operation of the reference, latest part; null where it has no time of its"
        " own"
    )
    scatter: NotNegative | None = Field(
        description="of commits around their level besides the error of measuring, relative, latest part;"
        " null where fewer than three values tell none, 0.0001 where none is seen besides that error"
    )
    recent: int = Field(
        default=0, description="how many of the last commits are off, too few for a change yet"
    )
    since: str = Field(default="", description="the first commit with it, where those before it have it not")
    until: str = Field(default="", description="the first commit without it, where it is gone")


class Histories(ComparisonRecord):
    """All that is known of the row. Fields may be added."""

    made_by: Literal["toll history"] = Field(default="toll history", description="by which a file is known")
    rows_are: Literal["commits", "runs"] = Field(
        default="commits",
        description="what `commits` are; of runs `commit` is the run's name, `author` its machine, `utc` when"
        " it began, and a line of ratios is to another row of the same run, one of times to the first run on"
        " that machine",
    )
    reference: str = Field(
        description="the commit that all others are measured against, latest part; runs have none"
    )
    first_session: str = Field(default="", description="when it began, and its reference: the same for ever")
    threshold: Positive = Field(description="smaller changes are not told: 0.01 is 1 %")
    level: Positive = Field(description="of all intervals, each alone")
    commits: tuple[HistoryCommit, ...] = Field(description="oldest first")
    measured: int = Field(ge=0, description="commits of the row that have values")
    lines: tuple[BenchmarkLine, ...]
    changes: tuple[HistoryChange, ...] = Field(description="newest first")
    breaks: tuple[HistoryBreak, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="what a reader has to know besides")
    sessions: int = Field(default=0, ge=0)
    interrupted: bool = False
    toll_version: str = ""
    machine: str = ""
