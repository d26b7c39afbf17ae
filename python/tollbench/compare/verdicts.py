"""What a comparison found: the contract of `toll compare --json` (schemas/compare.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from tollbench.compare.explanations import Explanation
from tollbench.compare.printed import ComparisonRecord, Finite

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Verdict(StrEnum):
    """What is known of B against A."""

    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE = "no_difference"
    UNCHANGED_CODE = "unchanged_code"
    COUNTED = "counted"  # not timed: only counts were asked for
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class CountVerdict(StrEnum):
    """What is known of a count of B against A."""

    MORE = "more"
    FEWER = "fewer"
    EQUAL = "equal"
    OPEN = "open"
    FAILED = "failed"


class CountChange(ComparisonRecord):
    """One count of one benchmark, or of a file: one side against the first, or against a stored baseline."""

    metric: str = Field(description="instructions, allocations, bytes, peak, syscalls, size")
    per: str = Field(description="iteration, run, process or file")
    a: NotNegative | None = Field(description="of the first side; null where there is none")
    b: NotNegative | None = Field(description="of the side that is judged; null where there is none")
    low: Finite | None = Field(
        default=None, description="lower end of the interval of b - a, where it scatters"
    )
    high: Finite | None = Field(
        default=None, description="upper end of the interval of b - a, where it scatters"
    )
    exact: bool = Field(
        description="every launch of a side gave the same; else the interval holds at the level"
    )
    launches: int = Field(ge=0, description="of each side")
    verdict: CountVerdict
    reason: str = Field(description="how it was counted, or why it was not")
    fails: str = Field(default="", description="the rule of --fail-on that it breaks; empty: none")
    by: str = Field(default="", description="who counted instructions: hardware or valgrind; else empty")

    @classmethod
    def missing(cls, metric: str, reason: str) -> CountChange:
        """A count that there is not."""
        return cls(
            metric=metric,
            per="",
            a=None,
            b=None,
            exact=False,
            launches=0,
            verdict=CountVerdict.FAILED,
            reason=reason,
        )


class PartChange(ComparisonRecord):
    """A part of a file whose size differs, bytes."""

    kind: str = Field(description="section or symbol")
    name: str
    a: int = Field(ge=0, description="0: the first side has none")
    b: int = Field(ge=0, description="0: the side that is judged has none")


class FileChange(ComparisonRecord):
    """How large one side's executable is in memory, against that of the first, or in all pairs of any."""

    a: str = Field(default="", description="label of the side it is held against; empty: the first")
    b: str = Field(description="label of the side that is judged")
    count: CountChange
    parts: tuple[PartChange, ...] = Field(default=(), description="what differs, the largest symbols first")


class LaunchUse(ComparisonRecord):
    """What the launches of one side used, as whole processes, and how they ended."""

    launches: int = Field(ge=1)
    wall_ns: NotNegative = Field(
        description="from start to end, but for what a Catch2 executable was held; median over launches"
    )
    cpu_ns: NotNegative = Field(description="of all threads and awaited children, median over launches")
    peak_bytes: int | None = Field(
        description="largest resident memory of a process, median over launches; null: less than toll's own,"
        " which hides it"
    )
    exit_codes: tuple[int, ...] = Field(description="each that was seen")


class Comparison(ComparisonRecord):
    """One benchmark, one side against the first, or in all pairs against one that was named before it."""

    benchmark: str
    a: str = Field(description="label of the side that ratios refer to: the first, but in all pairs")
    b: str = Field(description="label of the side that is judged")
    ratio: Positive | None = Field(
        description="time of b over time of a, median over pairs; of layouts their mean; null without any"
    )
    low: Positive | None = Field(description="lower end of the ratio's interval; null where it has none yet")
    high: Positive | None = Field(description="upper end of the ratio's interval; null where it has none yet")
    level: Finite = Field(description="with which this interval holds, however early it was looked at")
    verdict: Verdict
    launches: int = Field(ge=0, description="of each side; as many pairs")
    seconds: NotNegative = Field(description="wall time spent on this benchmark, all sides")
    reason: str = Field(description="one or more sentences on the verdict")
    regression: bool = Field(description="slower, with the whole interval beyond the threshold")
    a_ns: Positive | None = Field(
        default=None, description="nanoseconds an operation of a, median over launches"
    )
    b_ns: Positive | None = Field(
        default=None, description="nanoseconds an operation of b, median over launches"
    )
    b_agreeing_ns: Positive | None = Field(
        default=None,
        description="a_ns times ratio: what a row shows of b, as medians of sides are another number than the"
        " median of pairs",
    )
    forecast_s: NotNegative | None = Field(
        default=None,
        description="more seconds until it is known to the threshold, or, of too few pairs, until there is an"
        " interval; null: it is known, or nobody can say",
    )
    mean_ratio: Positive | None = Field(
        default=None,
        description="mean time of b over that of a, of all that launches timed; null of layouts, few pairs,"
        " lasting noise",
    )
    tail_ratio: Positive | None = Field(
        default=None, description="the time that one launch of ten of b exceeds, over that of a; likewise"
    )
    shapes_differ: bool = Field(
        default=False,
        description="mean or tail differ by more than the threshold, beside what the medians do: by a test"
        " that shares the level with the interval; never with the verdict no_difference",
    )
    lasting: Finite | None = Field(
        default=None,
        description="rank correlation of neighbouring pairs, where noise lasts and the interval is widened",
    )
    layouts: int = Field(
        default=0,
        ge=0,
        description="of each side, over which the ratio is a mean; 0: of the files as they are",
    )
    layout_spread: NotNegative | None = Field(
        default=None,
        description="standard deviation between layouts of one side, of the logarithm of its time",
    )
    code: str = Field(
        default="",
        description="what is known of the code that both sides run for this benchmark; empty: nobody looked",
    )
    counts: tuple[CountChange, ...] = Field(default=(), description="what --count asked for")
    a_used: LaunchUse | None = Field(default=None, description="by launches of a; null: nobody looked")
    b_used: LaunchUse | None = Field(default=None, description="by launches of b; null: nobody looked")


class Lacking(ComparisonRecord):
    """A benchmark that not every side offers."""

    benchmark: str
    missing_in: tuple[str, ...] = Field(description="labels of the sides without it")

    @classmethod
    def of(cls, missing: Mapping[str, tuple[str, ...]]) -> tuple[Lacking, ...]:
        """By benchmark, the labels of the sides without it."""
        return tuple(cls(benchmark=name, missing_in=labels) for name, labels in missing.items())


class OrderedSide(ComparisonRecord):
    """One side in an order."""

    side: str = Field(description="label")
    ns: Positive | None = Field(description="nanoseconds an operation, median over launches; null: not timed")
    groups: tuple[str, ...] = Field(description="letters: sides that share one were not told apart")


class Order(ComparisonRecord):
    """The sides of a benchmark, fastest first, as the verdicts on all pairs of them have it."""

    benchmark: str
    places: tuple[OrderedSide, ...]


class Comparisons(ComparisonRecord):
    """All that one `toll compare` found. Fields may be added."""

    made_by: Literal["toll compare"] = Field(
        default="toll compare", description="the first field: by which a file is known"
    )
    comparisons: tuple[Comparison, ...]
    lacking: tuple[Lacking, ...] = ()
    part_of: str = Field(
        default="",
        description="digest of the names of all benchmarks of which --share took a part; empty: all of them",
    )
    shared: bool = Field(
        default=True,
        description="whether sides have any benchmark in common, in this share or another",
    )
    kind: str = Field(description="what was compared: command, google-benchmark, catch2, toll")
    sides: tuple[str, ...] = Field(description="labels, the first is what others are compared with")
    all_pairs: bool = Field(
        default=False, description="each side was judged against each other one, not against the first alone"
    )
    level: Finite = Field(description="with which all intervals of the table hold together")
    threshold: Finite = Field(description="a difference beyond it matters: 0.01 is 1 %")
    layouts: int = Field(
        default=0, ge=0, description="that each side was linked in; 0: the files as they are"
    )
    until: str = Field(
        default="",
        description="which question ended a benchmark's measuring: estimate, direction; empty: none",
    )
    confirm_power: Finite | None = Field(
        default=None,
        description="how often --confirm finds what one measurement of all the time finds in 98 %; null: time"
        " was left, or nothing was confirmed",
    )
    seconds: NotNegative = Field(description="wall time of all measuring")
    interrupted: bool = False
    no_room: str = Field(
        default="", description="of an interrupted one: which disk was full, where that is what ended it"
    )
    meanwhile: tuple[str, ...] = Field(
        default=(), description="what befell the machine while it measured: a suspend, other CPUs, a halt"
    )
    raw: str = Field(default="", description="file with every launch, JSON lines")
    toll_version: str = ""
    command_line: str = ""
    started_utc: str = ""
    machine: str = Field(default="", description="processor, CPUs, kernel")
    sandbox: str = Field(
        default="", description="what all sides ran in, and what it allows; empty: without a sandbox"
    )
    fail_on: tuple[str, ...] = Field(default=(), description="rules of --fail-on, as they were written")
    files: tuple[FileChange, ...] = Field(default=(), description="what --count size asked for")
    why: tuple[Explanation, ...] = Field(
        default=(), description="what --why found of rows that differ by more than the threshold"
    )
    count_notes: tuple[str, ...] = Field(default=(), description="what holds for all counts of the table")
    orders: tuple[Order, ...] = Field(
        default=(), description="of all pairs of three sides or more, where the verdicts make an order"
    )

    @property
    def crosswise(self) -> bool:
        """Whether sides after the first are held against each other, so that a row has to name both."""
        return self.all_pairs and len(self.sides) > 2

    def all_counts(self) -> list[CountChange]:
        """Of all benchmarks and files."""
        of_benchmarks = [count for item in self.comparisons for count in item.counts]
        return [*of_benchmarks, *(file.count for file in self.files)]
