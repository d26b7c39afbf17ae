"""What a run file holds, as typed records. Times are nanoseconds, sizes bytes, instants UTC in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Self

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
class SampleCounts:
    """Samples without their order: each value once, ascending, with how often it occurred.

    Every quantile of them is exactly that of the samples themselves.
    """

    values: Samples
    counts: NDArray[np.int64]  # of the same shape, each at least 1

    @classmethod
    def of(cls, samples: Samples) -> Self:
        """Of nanoseconds, shape (n,), finite; n may be 0."""
        values, counts = np.unique(samples + np.float32(0.0), return_counts=True)  # + 0: no negative zero
        return cls(values.astype(np.float32, copy=False), counts.astype(np.int64, copy=False))

    @classmethod
    def together(cls, parts: Sequence[SampleCounts]) -> SampleCounts:
        """All of `parts` as one."""
        if len(parts) == 1:
            return parts[0]
        values = np.concatenate([np.empty(0, np.float32), *(part.values for part in parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
        if not values.size:
            return cls(values, counts)
        order = np.argsort(values)
        values, counts = values[order], counts[order]
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        return cls(values[first], np.add.reduceat(counts, first))

    @property
    def total(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    def expanded(self) -> Samples:
        """The samples themselves, ascending, shape (total,)."""
        return np.repeat(self.values, self.counts)


@dataclass(frozen=True, slots=True)
class BatchSamples:
    """The samples of one batch, in parts where they belong to something, such as pairs of CPUs."""

    parts: tuple[SampleCounts, ...]
    keys: tuple[str, ...] = ()  # what each part belongs to; none: the one part belongs to nothing

    @classmethod
    def of(cls, samples: Samples, cells: Sequence[tuple[str, int]] = ()) -> Self:
        """`cells` is what consecutive ones of `samples` belong to, and adds up to their number."""
        if not cells:
            return cls((SampleCounts.of(samples),))
        ends = np.cumsum([count for _, count in cells])
        parts = np.split(samples, ends[:-1])
        return cls(tuple(map(SampleCounts.of, parts)), tuple(key for key, _ in cells))

    @property
    def total(self) -> int:
        """Number of samples."""
        return sum(part.total for part in self.parts)

    @property
    def cells(self) -> tuple[tuple[str, int], ...]:
        """What consecutive samples belong to, as the program said it."""
        return tuple((key, part.total) for key, part in zip(self.keys, self.parts, strict=bool(self.keys)))


MEANWHILE = "meanwhile"  # the key of the conditions
MOST_SENTENCES = 12  # three kinds, of a run and of those that went on with it


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

    @property
    def meanwhile(self) -> tuple[str, ...]:
        """Sentences on what befell the machine while it measured, which stand among its conditions."""
        told = self.conditions.get(MEANWHILE)
        found = [each for each in told if isinstance(each, str)] if isinstance(told, list) else []
        return tuple(found[:MOST_SENTENCES])


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


class Launch(NamedTuple):
    """One fresh process and what it reported. `id` is 0 until it is stored.

    Not a dataclass: thousands of a run are made and changed, each in a fifth of the time.
    """

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
    clock: Mapping[str, Any] = MappingProxyType({})
    footing: Mapping[str, Any] = MappingProxyType({})  # as the program observed it
    batches: tuple[Batch, ...] = ()  # in order; the warm-up batches are marked
    allocations: Allocations | None = None
    company: int = 0  # the first launch's id of those that took turns with it; 0: it was alone
    id: int = 0
