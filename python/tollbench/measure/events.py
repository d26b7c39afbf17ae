"""What measuring tells while it runs; measuring itself prints nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tollbench.store import Launch
from tollbench.words import Case, Status


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Measuring begins. `budget_s` is 0 where there is none; `launches` were stored before a resume."""

    cases: int  # that will be measured
    budget_s: float
    launches: int


@dataclass(frozen=True, slots=True)
class LaunchStarting:
    """A program is about to run: what a progress bar names."""

    case: Case | None  # None: the canary
    purpose: str
    round: int


@dataclass(frozen=True, slots=True)
class LaunchDone:
    """A launch is stored. `left_s` estimates what remains of the whole run; None: not known yet."""

    case: Case | None
    launch: Launch
    launches: int  # stored so far
    elapsed_s: float
    left_s: float | None


@dataclass(frozen=True, slots=True)
class CaseEnded:
    """A case will be launched no more because of a failure."""

    case: Case
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class RoundDone:
    """All cases of a workload have been launched once more."""

    workload: str
    round: int


@dataclass(frozen=True, slots=True)
class WorkloadDone:
    """A workload is measured to its end: "precision", "launches", "budget" or "failures"."""

    workload: str
    rounds: int
    stopped_by: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has ended: "precision", "launches", "budget" or "interrupt"."""

    stopped_by: str
    launches: int
    elapsed_s: float


Event = RunStarted | LaunchStarting | LaunchDone | CaseEnded | RoundDone | WorkloadDone | Finished
