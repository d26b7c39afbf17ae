"""What a lake answers: the only thing that reports of it read.

`toll lake ... --json` prints exactly these (schemas/lake.schema.json is generated from them). A ratio is of
two rows of one run, paired by its rounds; a time of one machine over a time of another one is never formed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, RootModel

from tollbench.estimates import Estimate, Model

SCHEMA = "toll-lake/1"


class LakeMachine(Model):
    """A machine as runs state it."""

    machine: str  # its identity: of all that it states
    host: str  # as somebody named it when the run was added; "" where nobody did
    cpu: str
    product: str = ""
    cpus: int | None = None
    memory_bytes: int | None = None
    kernel: str = ""

    @property
    def label(self) -> str:
        """One line for a table: the host's name, else the processor."""
        return self.host or (f"{self.cpu} x {self.cpus}" if self.cpus else self.cpu) or self.machine


class LakeCase(Model):
    """A case in the same words for all machines: without what the machine decides by default."""

    workload: str
    contender: str
    environment: str
    parameters: dict[str, int | str]


class _Answer(Model):
    schema_: str = Field(default=SCHEMA, alias="schema")
    notes: list[str] = Field(default_factory=list)  # what was left out, and why

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class OnMachine(Model):
    """What the newest run of one machine says of a case; without numbers, `reason` says why."""

    machine: LakeMachine
    run: str
    started_utc: str
    commit: str = ""
    toll_version: str = ""
    status: str
    reason: str = ""
    value: Estimate | None = None  # in the answer's `unit`, at the run's own level
    ratio: Estimate | None = None  # to the answer's reference in the same run


class AcrossMachines(_Answer):
    """The same contender over machines, the largest ratio last."""

    question: Literal["machines"] = "machines"
    case: LakeCase
    unit: str
    per: str
    reference: LakeCase | None  # what ratios are to, on all machines; None where nothing else was measured
    rows: list[OnMachine]
    slower_on: int  # machines on which it is slower than the reference: the interval lies above 1
    faster_on: int
    judged_on: int  # machines on which the ratio has an interval
    median_ratio: float | None = None  # over machines, each once
    lowest_ratio: float | None = None
    highest_ratio: float | None = None


class PricedRow(Model):
    """What a workload costs on one machine."""

    machine: LakeMachine
    run: str
    started_utc: str
    contender: str
    environment: str
    parameters: dict[str, int | str]
    value: Estimate  # time of a unit of work, in the answer's `unit`
    price_per_hour: float
    cost: Estimate  # of `per_units` units of work, in the currency of the prices


class CheapestMachine(_Answer):
    """Machines by what a workload costs on each, with the fastest contender there or the one asked for."""

    question: Literal["cheapest"] = "cheapest"
    workload: str
    setting: dict[str, int | str]
    contender: str  # "" : each machine's fastest
    unit: str
    per: str
    per_units: float
    currency: str
    rows: list[PricedRow]  # the least cost first
    overlapping: int  # rows besides the first whose interval of the cost meets that of the first
    unpriced: list[LakeMachine] = Field(default_factory=list)  # measured, and the prices do not name them


class ContraryPair(Model):
    """Two rows of one setting of which machines say the contrary."""

    setting: dict[str, int | str]
    first: LakeCase
    second: LakeCase
    first_faster_on: int
    second_faster_on: int
    judged_on: int
    chance: float
    """Probability that so many machines contradict the others by chance, for all pairs of this answer
    together (Bonferroni); 1 where that is nothing unusual."""
    differs: bool  # chance <= 1 - level
    fewer: list[LakeMachine]  # those on the side of fewer machines, 20 at most


class DifferingVerdicts(_Answer):
    """Pairs of which some machines call one faster and others the other."""

    question: Literal["differ"] = "differ"
    workload: str
    machines: int
    pairs: int  # compared on two machines at least
    judged: int  # of these, with rounds enough for an interval on two machines at least
    level: float
    rows: list[ContraryPair]  # the least chance first


class TrendPoint(Model):
    """One run of a machine."""

    run: str
    started_utc: str
    machine: str
    commit: str
    toll_version: str
    value: Estimate
    ratio: Estimate | None = None


class TrendStep(Model):
    """A change that stayed: from this run on, the level is another."""

    of: Literal["ratio", "value"]
    run: str
    started_utc: str
    first_utc: str  # it begins at this run at the earliest
    last_utc: str  # and at this one at the latest
    change: Estimate  # level behind it over the level before; 1.02 is 2 % more
    certainty: float


class TrendBreak(Model):
    """From this run on the host states another machine: values on both sides are not comparable."""

    run: str
    started_utc: str
    before: str
    after: str
    differs: list[str]  # what it states otherwise: "kernel: Linux 6.1 -> Linux 6.8"


class LakeTrend(_Answer):
    """One case on one machine over months."""

    question: Literal["trend"] = "trend"
    case: LakeCase
    unit: str
    per: str
    machine: LakeMachine  # as it states itself in the newest run
    reference: LakeCase | None
    points: list[TrendPoint]  # the oldest first
    steps: list[TrendStep]
    breaks: list[TrendBreak]


class LakeRunLine(Model):
    """One run of a lake."""

    run: str
    machine: LakeMachine
    started_utc: str
    name: str
    commit: str
    toll_version: str
    cases: int
    launches: int


class LakeRuns(_Answer):
    """What a lake holds, the newest run first."""

    question: Literal["runs"] = "runs"
    runs: list[LakeRunLine]
    left_out: int = 0  # older runs, which are not listed
    machines: int
    workloads: list[str]


class HeldCase(Model):
    """A case that runs of a lake have."""

    case: LakeCase
    machines: int
    runs: int
    fastest_in: int  # runs in which it is the fastest of its setting
    newest_utc: str


class LakeCases(_Answer):
    """What a lake has of a workload."""

    question: Literal["cases"] = "cases"
    workload: str
    rows: list[HeldCase]


class LakeTable(_Answer):
    """What a query answers."""

    question: Literal["query"] = "query"
    columns: list[str]
    rows: list[list[str | int | float | bool | None]]
    left_out: int = 0  # rows beyond the limit


LakeAnswer = (
    AcrossMachines | CheapestMachine | DifferingVerdicts | LakeTrend | LakeRuns | LakeCases | LakeTable
)


class LakeAnswers(RootModel[Annotated[LakeAnswer, Field(discriminator="question")]]):
    """Any of them, by `question`."""
