"""What measuring tells while it runs; measuring itself prints nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tollbench.store import Launch
from tollbench.words import Case, Status


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
class Expected:
    """What the time that is left buys for a workload."""

    workload: str
    rounds: int  # in the end
    half_width: float | None  # of the median ratio's interval, 0.01 is 1 %; None: no ratio, or few rounds


@dataclass(frozen=True, slots=True)
class TimePlanned:
    """Each workload has had its first rounds: how well its ratios will be known in the end."""

    workloads: tuple[Expected, ...]
    left_s: float  # inf: no budget


Event = LaunchDone | CaseEnded | TimePlanned
