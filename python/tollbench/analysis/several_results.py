"""What several runs say of the same cases: the only thing that a report of them reads.

`toll report A B --format json` prints exactly this (schemas/report-several.schema.json is generated from it).
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from tollbench.analysis.results import Floor, NamedCase, RunInfo
from tollbench.estimates import Model

SCHEMA = "toll-report-several/1"


class OneOfSeveral(Model):
    """A run, with the letter that stands for it in tables."""

    letter: str
    run: RunInfo
    machine: dict[str, Any]
    conditions: dict[str, Any]
    floor: Floor
    warnings: list[str] = Field(default_factory=list)  # of the run as a whole


class SeveralCell(Model):
    """What one run says of a case; where `status` is not "ok", numbers are None, and `reason` says why."""

    status: str
    reason: str = ""
    parameters: dict[str, int | str]  # of this run's row: what the machine decides may differ, as `threads`
    value: float | None = None  # median over launches, in the table's `unit`
    low: float | None = None
    high: float | None = None
    counts_as: float | None = None  # as many independent launches as the interval is of; None: all of them
    within_run: str = ""  # why the value's interval holds within this run's conditions alone
    few_rounds: bool = False  # whether for no other reason than how few rounds there were
    below_step: float | None = None  # in `unit`: one operation is shorter than the clock's step
    ratio: float | None = None  # to the table's reference in the same run, paired by round
    ratio_low: float | None = None
    ratio_high: float | None = None


class SeveralRow(NamedCase):
    """A case in all runs; `parameters` are those that its runs have in common."""

    cells: list[SeveralCell | None]  # one for each run; None: the run did not ask
    ratios_differ: bool | None = None
    """Whether intervals of the ratio from two of the runs have nothing in common. None where fewer than two
    runs have one. All intervals of a table hold together, each at what its run's looks have left."""


class SeveralWarning(Model):
    """What one run says of its own table."""

    letter: str
    text: str


class SeveralTable(Model):
    """One question in one setting."""

    workload: str
    question: str
    unit: str
    per: str
    setting: dict[str, int | str]
    reference: NamedCase | None  # what ratios are to, in all runs; None where no row was measured in two
    warnings: list[SeveralWarning] = Field(default_factory=list)  # of the workload, in whichever setting
    rows: list[SeveralRow]


class SeveralRuns(Model):
    """The runs, and a table for each question that at least one of them asked."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    runs: list[OneOfSeveral]
    tables: list[SeveralTable]
    left_out: int = 0
    """Cases that only one of the runs has, in tables of which no other run has any: they are not shown."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
