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
    known: float | None = None  # half-width of its workload's median ratio so far, 0.01 is 1 %


@dataclass(frozen=True, slots=True)
class CaseEnded:
    """A case will be launched no more because of a failure."""

    case: Case
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class FileIsFull:
    """The run ends: its file holds as many launches as is read of one file."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the time that is left buys for a workload."""

    workload: str
    rounds: int  # in the end
    half_width: float | None  # of the median ratio's interval, 0.01 is 1 %; None: no ratio, or few rounds


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why not every row will have an interval, by what launches cost: told before the first round,
    or after some, where they do not keep what pilots promised."""

    round_s: float  # one launch of every case that has a pilot
    rounds: int  # the most that a workload's intervals need
    without_turn: int  # cases for whose pilot there was no time
    needed_s: float  # a budget in which all of them have their intervals, about
    waiting: int = 0  # cases that have few launches, so that others have those that intervals want


@dataclass(frozen=True, slots=True)
class TimePlanned:
    """How well each workload's ratios will be known in the end, and what it takes to know them as asked.

    Told before the first round, by what launches cost and what noise is usual; when each workload has had
    what intervals need; and whenever rounds have then taken twice as long.
    """

    workloads: tuple[Expected, ...]
    left_s: float  # inf: no budget
    after: int  # rounds that each workload has had; 0: a guess
    # Of the whole run, until all ratios are known as asked; inf: not within the most launches; None: a guess
    # cannot tell.
    needed_s: float | None
    short: Shortage | None = None  # with a guess alone


Event = LaunchDone | CaseEnded | FileIsFull | TimePlanned
