"""One benchmark of a comparison in progress: its values round by round, and the intervals they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tollbench.compare.subject import Until
from tollbench.stats import cluster_sequence, equivalence, sequential
from tollbench.stats.cluster_sequence import ClusterSequence, mean_over_clusters
from tollbench.stats.lasting import Lasting, factor_to_end, lasting_noise, widened
from tollbench.stats.sequential import ORDER_WINDOW, Bounds, MedianSequence, rarer_order, without_order
from tollbench.stats.shapes import Shapes, shapes_of

Sequence_ = MedianSequence | ClusterSequence  # over pairs of launches; over layouts

_ANSWERED = {Until.ESTIMATE: equivalence.estimate_settled, Until.DIRECTION: equivalence.direction_settled}


MEDIAN_SHARE = 0.9  # of what a comparison may err with; the rest is for the shapes (`stats.shapes`)


def sequence_for(layouts: int, alpha: float) -> Sequence_:
    """What judges sides that have so many layouts each; 0: they are as they are."""
    return ClusterSequence(alpha) if layouts else MedianSequence(alpha * MEDIAN_SHARE)


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
    lasting: dict[int, Lasting | None] = field(default_factory=dict)  # by side, at the last look
    middles: dict[int, float] = field(default_factory=dict)  # median log ratio, likewise
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

    def shapes(self, side: int, ratio: float = 1.0) -> Shapes | None:
        """How the launches of a side are spread beside the first's, the side's times divided by `ratio`.

        None of layouts, and where noise lasts: neither is made by the coins.
        """
        if self.layouts or self.lasting.get(side) is not None:
            return None
        both = [(row[0], row[side] / ratio) for row in self.values if row[0] > 0 and row[side] > 0]
        return shapes_of(*zip(*both, strict=True)) if both else None

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
                    self.middles[side] = float(np.median(logs))
                    self.lasting[side] = lasting_noise(logs)
                    sequence.look(logs, last=last, rarer=int(rarer_order(first_led)))

    def bounds(self, side: int) -> Bounds:
        """What is told of a side, log scale: the interval of all looks, or a wider one where noise lasts.

        Where noise lasted on one side, looks may have been wrong, so that the last one alone is widened.
        """
        sequence, lasts = self.sequences[side], self.lasting.get(side)
        if lasts is None or not isinstance(sequence, MedianSequence):
            return sequence.bounds
        return widened(sequence.latest, self.middles[side], lasts.factor)

    def settled(self, threshold: float, until: Until) -> bool:
        """Whether the question is answered for every side, whatever noise few pairs may hide."""
        answered = _ANSWERED[until]
        return all(
            self._failure(side)
            or (
                answered(*self.bounds(side), threshold)
                and equivalence.direction_settled(*self.with_hidden(side), threshold)
            )
            for side in self.sequences
        )

    def with_hidden(self, side: int) -> Bounds:
        """The interval, as wide as it has to be able to be while pairs are few."""
        bounds, factor = self.bounds(side), factor_to_end(len(self.values))
        if factor == 1.0 or side not in self.middles or isinstance(self.sequences[side], ClusterSequence):
            return bounds
        return widened(bounds, self.middles[side], factor)

    def failed(self) -> bool:
        """Whether there is nothing left to measure."""
        return 0 in self.failures or self.sequences.keys() <= self.failures.keys()

    def _failure(self, side: int) -> str:
        return self.failures.get(0, "") or self.failures.get(side, "")
