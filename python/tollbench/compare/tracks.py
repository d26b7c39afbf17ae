"""One benchmark of a comparison in progress: its values round by round, and the intervals they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tollbench.compare.subject import Until
from tollbench.stats import cluster_sequence, equivalence, sequential
from tollbench.stats.cluster_sequence import ClusterSequence, mean_over_clusters
from tollbench.stats.sequential import ORDER_WINDOW, MedianSequence, rarer_order, without_order

Sequence_ = MedianSequence | ClusterSequence  # over pairs of launches; over layouts

_ANSWERED = {Until.ESTIMATE: equivalence.estimate_settled, Until.DIRECTION: equivalence.direction_settled}


def sequence_for(layouts: int) -> type[Sequence_]:
    """Which kind judges sides that have so many layouts each; 0: they are as they are."""
    return ClusterSequence if layouts else MedianSequence


@dataclass(slots=True)
class Track:
    """One benchmark of a comparison in progress."""

    name: str
    sequences: dict[int, Sequence_]  # of the sides after the first that offer it
    values: list[list[float]] = field(default_factory=list)  # ns an operation of every side, a row a round
    orders: list[list[int]] = field(default_factory=list)  # sides as they were launched, of each row
    layouts: list[int] = field(default_factory=list)  # of each row; empty where the sides have one each
    failures: dict[int, str] = field(default_factory=dict)  # side -> reason
    seconds: float = 0.0
    looked_at: int = 0
    done: bool = False
    corrected: dict[int, list[float]] = field(default_factory=dict)  # side -> what logs() told last

    def logs(self, side: int) -> list[float]:
        """log(side / first) of the rounds that have both, without what coming first did.

        Of layouts as they are: what coming first does is found from pairs that scatter by launches alone,
        and where layouts scatter more, the correction itself would be noise. There each order is followed by
        the other one (`LayoutVisits.order`).
        """
        both = self._both(side)
        if self.layouts:
            return [log for log, _ in both]
        # A pair's correction comes from the pairs before it and never changes: only new ones are corrected.
        known = self.corrected.setdefault(side, [])
        if len(both) > len(known):
            begin = max(0, len(known) - ORDER_WINDOW)
            known += without_order(*zip(*both[begin:], strict=True))[len(known) - begin :].tolist()
        return list(known)

    def _both(self, side: int) -> list[tuple[float, bool]]:
        """log(side / first) of the rounds that have both, and whether the first side came first."""
        return [
            (math.log(row[side] / row[0]), order.index(0) < order.index(side))
            for row, order in zip(self.values, self.orders, strict=True)
            if row[0] > 0 and row[side] > 0  # False for NaN
        ]

    def layouts_of(self, side: int) -> list[int]:
        """Of each of `logs`."""
        return [
            number
            for row, number in zip(self.values, self.layouts, strict=True)
            if row[0] > 0 and row[side] > 0
        ]

    def side_logs(self, side: int) -> tuple[list[float], list[int]]:
        """log(ns an operation) of one side's launches, and the layout of each, where there are some."""
        numbers = self.layouts or [0] * len(self.values)
        known = [
            (math.log(row[side]), number)
            for row, number in zip(self.values, numbers, strict=True)
            if row[side] > 0
        ]
        return [log for log, _ in known], [number for _, number in known]

    def middle_ns(self, side: int) -> float | None:
        """The median over launches; of layouts the mean of theirs, as the ratio is one of layouts, too."""
        logs, numbers = self.side_logs(side)
        return math.exp(mean_over_clusters(logs, numbers)) if logs else None

    def look_due(self, layouts: int) -> bool:
        """Whether the rounds so far deserve a look; `layouts` of each side, 0: the sides as they are."""
        if layouts:
            return cluster_sequence.look_due(len(self.values), self.looked_at, layouts)
        return sequential.look_due(len(self.values), self.looked_at)

    def look(self, *, last: bool = False) -> None:
        """Narrows every side's interval; `last`: nothing is measured after this."""
        self.looked_at = len(self.values)
        for side, sequence in self.sequences.items():
            if logs := self.logs(side):
                if isinstance(sequence, ClusterSequence):
                    sequence.look(logs, self.layouts_of(side), last=last)
                else:
                    first_led = [led for _, led in self._both(side)]
                    sequence.look(logs, last=last, rarer=int(rarer_order(first_led)))

    def settled(self, threshold: float, until: Until) -> bool:
        """Whether the question is answered for every side."""
        answered = _ANSWERED[until]
        return all(
            self._failure(side) or answered(*sequence.bounds, threshold)
            for side, sequence in self.sequences.items()
        )

    def failed(self) -> bool:
        """Whether there is nothing left to measure."""
        return 0 in self.failures or self.sequences.keys() <= self.failures.keys()

    def _failure(self, side: int) -> str:
        return self.failures.get(0, "") or self.failures.get(side, "")
