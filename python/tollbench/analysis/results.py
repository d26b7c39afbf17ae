"""What a run says, computed once: the only thing that reports read.

`toll report RUN --format json` prints exactly this (schemas/report.schema.json is generated from it).
Fields may be added; none may be renamed or removed within one `schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, create_model

from tollbench.estimates import Estimate, Model
from tollbench.stats import LONG_ENOUGH
from tollbench.words import PERCENTILES

SCHEMA = "toll-report/1"
IMPRECISE = "are not known to"  # in a workload's warning: its ratios, as precisely as was asked for
TELLING_ROUNDS = LONG_ENOUGH  # fewer do not tell whether those beside each other are alike


class DetailEstimate(Estimate):
    """The same of one of a workload's own numbers."""

    within_run: str = ""  # why the interval holds within this run's conditions alone; empty: it does not


class Memory(Model):
    """The counting pass, per unit of work (`per`), and the highest resident set of any launch."""

    calls: float | None = None
    bytes: float | None = None
    heap_peak_bytes: int | None = None  # of one iteration, by the counting pass
    peak_bytes: int | None = None  # resident set, whole process
    reason: str = ""  # why calls and bytes are missing
    calls_in_passes: list[float] = Field(default_factory=list)  # per iteration, of each counting launch
    exact_calls: int | None = None
    """Calls per iteration where at least two counting launches saw the same whole number of them."""


class NamedCase(Model):
    """What tells a case from others of its workload."""

    contender: str
    environment: str
    parameters: dict[str, int | str]


class Row(NamedCase):
    """One case. Where `status` is not "ok", every number is None and `reason` says why.

    Where `below_step` is a number, one operation is shorter than the clock's step: the row was measured, but
    has no value of its own, and so no ratio and no rank.
    """

    language: str
    library: str
    library_version: str
    footing: dict[str, Any]  # declared, overlaid by what the launches observed
    status: str
    reason: str
    value: float | None = None  # median over launches, in `unit` per `per`
    low: float | None = None
    high: float | None = None
    counts_as: float | None = None
    """For how many independent launches they count in the interval of `value`, where those of rounds beside
    each other are alike; None where they count as they are."""
    within_run: str = ""
    """Why the interval of `value` holds within this run's conditions alone; empty where that is not so."""
    few_rounds: bool = False
    """Whether it does for no other reason than that so few rounds do not tell whether they are alike."""
    unit: str
    per: str
    below_step: float | None = None  # the clock's step that one operation is shorter than, in `unit`
    ratio: float | None = None
    """To the fastest row of the same setting of the swept parameters (`WorkloadResult.swept`), paired by
    round; None where a row is alone in its setting."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    fastest: bool = False  # of its setting
    floor: bool = False  # what the work costs without any contender's machinery: never the fastest
    baseline: bool = False  # the same without what the contenders compete in: never the fastest
    tie_groups: list[str] = Field(default_factory=list)
    """Rows of one setting that share a letter could not be told apart."""
    created_value: float | None = None
    """Time per concurrency unit (thread, fiber, task) created, in `unit`: `value` x units of work in one
    iteration / `units_created` that the pilot or else the launches observed (`footing`). None where none was
    seen or made."""
    memory_per_unit_bytes: float | None = None
    """`memory.peak_bytes` / `units_alive_peak` where the launches observed how many units were alive at most;
    else / `units_created` of one iteration, a lower bound for what a live unit holds. The resident set, not
    the heap: stacks often come from mmap and other languages pass by malloc; the process itself (some
    MiB) is in it, so there is none below 1,000 units. The pilot counts what is alive at most."""
    cpu_time: float | None = None  # all threads, same unit and per as value
    cpus_busy: float | None = None  # cpu_time / time by the wall clock, also where `value` is CPU time
    efficiency: Estimate | None = None
    """Floor / this row, paired by round: which part of the time the bare work would take by itself (1 is all
    of it; several threads may do better). None without a floor row of the same parameters but `threads`."""
    environment_ratio: Estimate | None = None
    """To the fastest row of the same environment and swept parameters, paired by round; None where the
    workload was measured in one environment alone."""
    environment_fastest: bool = False
    voluntary_switches: float | None = None  # per unit of work
    involuntary_switches: float | None = None
    faults: float | None = None
    memory: Memory = Field(default_factory=Memory)
    counters: dict[str, Any] = Field(default_factory=dict)
    cold: float | None = None  # first batch of a launch, same unit
    launches: int = 0
    failed_launches: int = 0
    spread: float | None = None  # standard deviation of the log of launch values (robust)
    layout_spread: float | None = None
    """Standard deviation of the log of the value between layouts of its program's code, without what launches
    of one layout scatter by; 0 where it cannot be told from that, None where fewer than eight had two."""
    launch_values: list[float] = Field(default_factory=list)  # raw replicates, for dot charts
    details: dict[str, DetailEstimate] = Field(default_factory=dict)
    """What the workload declares in `WorkloadResult.details`, as far as this row's program tells it: median
    over launches (of each launch's median over its batches) in the detail's own unit."""


class Cdf(Model):
    """A distribution function thinned for drawing; value[i] is exceeded by 1 - p[i] of the samples."""

    value: list[float]
    p: list[float]


class Histogram(Model):
    """`share[i]` of all samples lie in (edges[i], edges[i + 1]]; the bins are equally wide on a log axis."""

    edges: list[float]
    share: list[float]
    below: float  # share at or below the first edge
    beyond: float  # share above the last edge


class _TimedOneByOne(NamedCase):
    """The case whose operations they are, and how many."""

    unit: str
    count: int
    launches: int


if TYPE_CHECKING:
    _WithPercentiles = _TimedOneByOne  # Python reads `Latency.quantiles`; the flat fields are JSON's
else:
    _WithPercentiles = create_model(
        "_WithPercentiles",
        __base__=_TimedOneByOne,
        **{
            f"{percentile.key}{end}": (float | None, None) if end or percentile.fewest_beyond else float
            for percentile in PERCENTILES
            for end in ("", "_low", "_high")
        },
    )


def flat(quantiles: Mapping[str, Estimate]) -> dict[str, Any]:
    """The fields of a `Latency` that hold them: p50, p50_low, p50_high and so on."""
    return {
        f"{key}{end}": number
        for key, told in quantiles.items()
        for end, number in (("", told.value), ("_low", told.low), ("_high", told.high))
    }


class Latency(_WithPercentiles):
    """The distribution of operations timed one by one; intervals by cluster bootstrap over launches."""

    step: float | None = None  # of the clock, in `unit`: what is shorter is not known any closer than that
    max: float  # the longest of `count`: grows with their number, so that no interval bounds it
    launch_max: Estimate | None = None  # the longest of one launch: median over launches
    # Of percentiles above the median to those of the fastest row of the table, by key: paired by round.
    ratios: dict[str, Estimate] = Field(default_factory=dict)
    cdf: Cdf
    histogram: Histogram | None = None  # up to p99.9

    @property
    def quantiles(self) -> dict[str, Estimate]:
        """In `unit`, by the keys of PERCENTILES; without those that too few samples lie beyond."""
        return {
            each.key: Estimate(
                value=value, low=getattr(self, f"{each.key}_low"), high=getattr(self, f"{each.key}_high")
            )
            for each in PERCENTILES
            if (value := getattr(self, each.key)) is not None
        }


class PublishedValue(Model):
    """What the literature reported, beside the row that answers it today (contender may be absent)."""

    contender: str
    label: str
    low: float
    high: float
    unit: str
    per: str
    machine: str
    year: int
    source: str
    note: str = ""
    statistic: str = "value"  # or "max" or the key of a percentile of a latency; "ratio" to the fastest row
    today: Estimate | None = None  # in `unit`, of the row on this machine
    environment: str | None = None  # of the row that stands for it; None where no row has numbers
    parameters: dict[str, int | str] | None = None
    differs: str = ""  # what sets that row apart from the source's own program


class Detail(Model):
    """What a number of `Row.details` is; `unit` is one of time, "bytes", "share" (0 to 1), a noun or ""."""

    name: str
    title: str
    unit: str
    meaning: str


class GridLevel(Model):
    """One way in which the rows of a grid fall into groups, found from the values alone."""

    groups: list[list[int]]  # positions in `labels`; two or more each; positions in none belong to no group
    inside: float  # median of the cells within a group that no finer level explains, in the grid's unit
    across: float  # median of the cells from a group to what the next coarser level joins it with


class Grid(Model):
    """Times between each two of several things, such as CPUs: `values[row][column]` is from row to column."""

    title: str
    contender: str
    environment: str
    parameters: dict[str, int | str]
    unit: str
    statistic: str  # "p50" or "p99" of a launch's samples of the cell; then the median over launches
    launches: int
    labels: list[str]  # names of the rows, neighbours in the machine beside each other
    values: list[list[float | None]]  # None: not measured, and the diagonal
    groups: list[list[int]] = Field(default_factory=list)  # of the coarsest level
    levels: list[GridLevel] = Field(default_factory=list)  # coarsest first; none where the grid is flat
    sentence: str = ""  # what the groups say, in words


class EnvironmentRow(NamedCase):
    """A contender with its parameters in one environment, over the same in the run's first one."""

    ratio: Estimate | None  # of times, paired by round; below 1 it is faster; None: no round has both
    rounds: int


class EnvironmentChange(Model):
    """What an environment brings for the same source, beside the run's first one."""

    environment: str
    against: str  # the first one
    ratio: Estimate | None
    """Of the workload as a whole: the median over rounds of the mean (of logarithms) over rows, each row
    weighing alike; None where no round has all of them."""
    of_rows: int  # that are in it: without those that would leave it less than half of the rounds
    rounds: int  # that have all of these
    rows: list[EnvironmentRow]


class WorkloadResult(Model):
    """One question with its table."""

    workload: str
    question: str
    kind: str
    unit: str
    per: str
    in_batches: str = ""  # the workload that times many of these operations at once
    rows: list[Row]  # below the clock's step, ok rows by value, then the others by status and name
    latencies: list[Latency] = Field(default_factory=list)
    grids: list[Grid] = Field(default_factory=list)  # of workloads that measure between each two CPUs
    published: list[PublishedValue] = Field(default_factory=list)
    details: list[Detail] = Field(default_factory=list)  # those that some row has
    swept: list[str] = Field(default_factory=list)
    """Parameters of which one contender has several values in one environment. Rows with other values of
    these answer another question and are not compared; other parameters are a contender's own choice."""
    settings: list[dict[str, int | str]] = Field(default_factory=list)
    """The values of `swept` that were planned, in the order of reports; empty where nothing is swept."""
    environments: list[str] = Field(default_factory=list)
    """Of the rows, in the order of the plan: those on offer (`toll env list`), then compilers as they were
    asked for. Empty where several machines' rows stand together."""
    environment_changes: list[EnvironmentChange] = Field(default_factory=list)
    """Of each of `environments` but the first, in their order."""


class Floor(Model):
    """The smallest difference that this machine, during this run, could resolve."""

    ratio: float | None  # 1.012: of programs like the canary less than 1.2 % was out of reach
    rows: int | None = None  # of the typical table, which it was computed for
    rounds: int | None = None  # that table's
    level: float | None = None  # of each of its ratios: what looks left, corrected for all of its pairs
    launches: int
    drift: float | None = None  # canary's slowest over fastest tenth of the run
    canary_ns: list[float] = Field(default_factory=list)  # in order of time
    canary_at_s: list[float] = Field(default_factory=list)  # seconds since the run's start
    reason: str = ""


class Problem(Model):
    """One thing that was skipped or failed, and what to do about it."""

    workload: str
    contender: str
    environment: str
    parameters: dict[str, int | str]
    status: str
    reason: str


class ClaimNumber(NamedCase):
    """One side of a check: a row's number, or one that the document names (then `contender` is "").

    `parameters` are the row's, or those that the claim names where there is no row.
    """

    workload: str = ""
    statistic: str = "value"  # or the key of a percentile, a detail, "inside" or "across" a grid's groups
    value: float | None = None  # in `unit`; None where it was not measured
    unit: str = ""


class ClaimPart(Model):
    """One comparison that a claim rests on: `left` over `right`, with the interval that decides."""

    verdict: str
    left: ClaimNumber
    right: ClaimNumber
    relation: str  # "less", "at_least", "at_most", "about"
    factor: float
    tolerance: float  # by which the factor gives way
    at_least: float | None  # it holds where the ratio's interval lies at or above this
    at_most: float | None  # and at or below this
    ratio: float | None = None  # paired by round where both sides are of one workload
    low: float | None = None
    high: float | None = None
    level: float | None = None  # of the interval
    reason: str = ""  # why it cannot be told, and the command that would tell


class ClaimVerdict(Model):
    """A conclusion of a published document, held against this run (docs/method.md)."""

    name: str
    claim: str  # in toll's words
    document: str
    year: int
    place: str  # where in the document
    workload: str  # whose table shows the numbers
    verdict: str  # "holds", "does_not_hold", "cannot_be_told"
    left: float | None = None  # of the part that decided, as are the four below
    right: float | None = None
    ratio: float | None = None
    low: float | None = None  # the interval of the ratio of left to right
    high: float | None = None
    reason: str = ""
    note: str = ""  # what differs between the document's programs and the rows
    decided_by: int = 0  # place in `parts`
    parts: list[ClaimPart]  # it holds where all of them do


class RunInfo(Model):
    """What was asked, when, and how the run ended."""

    name: str
    uuid: str
    toll_version: str
    command_line: str
    profile: str
    level: float
    precision: float
    seed: int
    started_utc: str
    finished_utc: str | None
    stopped_by: str | None
    seconds: float | None  # wall time of the run so far
    seconds_in_programs: float | None
    launches: int
    looks: int = 0  # times that it was gone on with after launches of it could be read


class Results(Model):
    """All that a run says."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    run: RunInfo
    machine: dict[str, Any]
    conditions: dict[str, Any]
    floor: Floor
    workloads: list[WorkloadResult]
    problems: list[Problem] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)  # sentences about the machine or the run
    claims: list[ClaimVerdict] = Field(default_factory=list)
    """What documents conclude about the workloads of this run, as far as the toll that reports knows."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def warnings_by_workload(self) -> tuple[list[str], dict[str, list[str]]]:
        """The warnings that hold for the whole run; and by workload those that hold for its table alone,
        which need not repeat its name there."""
        names = sorted((each.workload for each in self.workloads), key=len, reverse=True)
        whole: list[str] = []
        apart: dict[str, list[str]] = {name: [] for name in names}
        for warning in self.warnings:
            name = next((name for name in names if warning.startswith(about(name, ""))), None)
            if name is None:
                whole.append(warning)
            else:
                apart[name].append(warning.removeprefix(about(name, "")))
        return whole, apart


def about(workload: str, sentence: str) -> str:
    """A warning that holds for one workload's table alone."""
    return f"{workload}: {sentence}"
