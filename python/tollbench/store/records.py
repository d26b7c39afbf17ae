"""What a run file holds, as typed records. Times are nanoseconds, sizes bytes, instants UTC in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.words import (
    Allocations,
    Batch,
    DeclaredDetail,
    Kind,
    Parameters,
    Published,
    Purpose,
    Status,
    canonical,
)

Samples = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The one row of table `run`."""

    name: str
    uuid: str
    toll_version: str
    command_line: str
    profile: str
    seed: int
    level: float  # confidence level of every interval, 0.95
    precision: float  # asked half-width of a ratio's interval, 0.01 is 1 %
    budget_s: float  # 0 where there is none
    plan: Mapping[str, Any]  # what resuming needs beyond the case table
    machine: Mapping[str, Any]
    conditions: Mapping[str, Any]
    started_utc: str
    finished_utc: str | None = None  # None: still running, interrupted or killed
    stopped_by: str | None = None  # "precision", "budget", "interrupt", "launches"


@dataclass(frozen=True, slots=True)
class WorkloadRecord:
    """A question as it stood when it was measured."""

    id: int
    name: str
    question: str
    kind: Kind
    unit: str
    per: str
    published: tuple[Published, ...]
    details: tuple[DeclaredDetail, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """A case with what became of it; joins its workload's and environment's names."""

    id: int
    workload: str
    environment: str
    contender: str
    parameters: Parameters
    kind: Kind
    unit: str
    per: str
    language: str
    library: str
    library_version: str
    footing: Mapping[str, Any]  # as declared
    answer: int  # of one iteration, modulo 2**64
    iterations: int  # per batch, or samples per request; 0: pilot not run yet
    status: Status
    reason: str

    @property
    def key(self) -> str:
        """The same text as `tollbench.words.Case.key`: identity across runs."""
        return "|".join((self.workload, self.contender, self.environment, canonical(self.parameters)))


@dataclass(frozen=True, slots=True)
class Launch:
    """One fresh process and what it reported. `id` is 0 until it is stored."""

    case_id: int | None  # None: the canary
    purpose: Purpose
    round: int
    position: int  # order within the round
    seed: int  # of the layout variation
    status: Status
    reason: str
    started_utc: str
    started_ns: int  # monotonic clock, orders launches of one boot
    wall_ns: int  # from exec to exit
    setup_ns: int | None = None  # the contender's own set-up
    overhead_ns: int | None = None  # launch cost besides set-up and requests
    steal_ns: int | None = None
    pressure_ns: int | None = None
    clock: Mapping[str, Any] = field(default_factory=dict)
    footing: Mapping[str, Any] = field(default_factory=dict)  # as the program observed it
    batches: tuple[Batch, ...] = ()  # in order; the warm-up batches are marked
    allocations: Allocations | None = None
    company: int = 0  # the first launch's id of those that took turns with it; 0: it was alone
    id: int = 0
