"""One benchmark of a comparison in progress: its values round by round, and the intervals they make."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tollbench.compare.subject import Two, Until
from tollbench.stats import cluster_sequence, equivalence, sequential
from tollbench.stats.cluster_sequence import ClusterSequence, mean_over_clusters
from tollbench.stats.lasting import Lasting, factor_to_end, lasting_noise, widened
from tollbench.stats.sequential import ORDER_WINDOW, Bounds, MedianSequence, rarer_order, without_order
from tollbench.stats.shapes import Shapes, shapes_of

Sequence_ = MedianSequence | ClusterSequence  # over pairs of launches; over layouts

_ANSWERED = {
    Until.ESTIMATE: equivalence.estimate_settled,
    Until.DIRECTION: equivalence.direction_settled,
    Until.THRESHOLD: equivalence.threshold_settled,
}


MEDIAN_SHARE = 0.9  # of what a comparison may err with; the rest is for the shapes (`stats.shapes`)


def sequence_for(layouts: int, alpha: float) -> Sequence_:
    """What judges sides that have so many layouts each; 0: they are as they are."""
    return ClusterSequence(alpha) if layouts else MedianSequence(alpha * MEDIAN_SHARE)


@dataclass(slots=True)
class Track:
    """One benchmark of a comparison in progress."""

    name: str
    sequences: dict[Two, Sequence_]  # of those that offer it
    values: list[list[float]] = field(default_factory=list)  # ns an operation of every side, a row a round
    orders: list[list[int]] = field(default_factory=list)  # sides as they were launched, of each row
    layouts: list[int] = field(default_factory=list)  # of each row; empty where the sides have one each
    ratios: dict[int, Mapping[Two, float]] = field(default_factory=dict)  # of a row, as `Round` has them
    means: dict[int, list[float]] = field(default_factory=dict)  # likewise
    failures: dict[int, str] = field(default_factory=dict)  # side -> reason
    seconds: float = 0.0
    looked_at: int = 0
    done: bool = False
    lasting: dict[Two, Lasting | None] = field(default_factory=dict)  # at the last look
    middles: dict[Two, float] = field(default_factory=dict)  # median log ratio, likewise
    corrected: dict[Two, list[float]] = field(default_factory=dict)  # what logs() told last

    def take(
        self,
        values: list[float],
        order: list[int],
        layout: int | None = None,
        ratios: Mapping[Two, float] | None = None,
        means: list[float] | None = None,
    ) -> None:
        """A round, as `Round` has it."""
        if means:
            self.means[len(self.values)] = means
        if ratios:
            self.ratios[len(self.values)] = ratios
        self.values.append(values)
        self.orders.append(order)
        if layout is not None:
            self.layouts.append(layout)

    def logs(self, two: Two) -> list[float]:
        """log(b / a) of the rounds that have both, without what coming first did.

        Of layouts as they are: what coming first does is found from pairs that scatter by launches alone,
        and where layouts scatter more, the correction itself would be noise. There each order is followed by
        the other one (`LayoutVisits.order`).
        """
        both = self._both(two)
        if self.layouts:
            return [log for log, _ in both]
        # A pair's correction comes from the pairs before it and never changes: only new ones are corrected.
        known = self.corrected.setdefault(two, [])
        if len(both) > len(known):
            begin = max(0, len(known) - ORDER_WINDOW)
            known += without_order(*zip(*both[begin:], strict=True))[len(known) - begin :].tolist()
        return list(known)

    def _rounds(self, two: Two) -> Iterator[tuple[int, float, float]]:
        """Of the rounds that have both: its number, and ns an operation of both.

        Where blocks told the ratio of these two, both values move alike to have it: swapped sides would have
        swapped values, which is all that the coins ask for.
        """
        for number, row in enumerate(self.values):
            a_ns, b_ns = row[two.a], row[two.b]
            if a_ns > 0 and b_ns > 0:  # False for NaN
                if (ratio := self.ratios.get(number, {}).get(two)) is not None:
                    middle, half = math.sqrt(a_ns * b_ns), math.sqrt(ratio)
                    a_ns, b_ns = middle / half, middle * half
                yield number, a_ns, b_ns

    def _both(self, two: Two) -> list[tuple[float, bool]]:
        """log(b / a) of the rounds that have both, and whether a came first."""
        return [
            (math.log(b_ns / a_ns), self.orders[number].index(two.a) < self.orders[number].index(two.b))
            for number, a_ns, b_ns in self._rounds(two)
        ]

    def shapes(self, two: Two, ratio: float = 1.0) -> Shapes | None:
        """How the launches of b are spread beside those of a, the times of b divided by `ratio`.

        None of layouts, and where noise lasts: neither is made by the coins.
        """
        if self.layouts or self.lasting.get(two) is not None:
            return None
        both = []
        for number, a_ns, b_ns in self._rounds(two):
            if row := self.means.get(number):
                a_ns, b_ns = row[two.a], row[two.b]
            both.append((a_ns, b_ns / ratio))
        return shapes_of(*zip(*both, strict=True)) if both else None

    def layouts_of(self, two: Two) -> list[int]:
        """Of each of `logs`."""
        return [self.layouts[number] for number, _, _ in self._rounds(two)]

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
        """Narrows every interval; `last`: nothing is measured after this."""
        self.looked_at = len(self.values)
        for two, sequence in self.sequences.items():
            if logs := self.logs(two):
                if isinstance(sequence, ClusterSequence):
                    sequence.look(logs, self.layouts_of(two), last=last)
                else:
                    first_led = [led for _, led in self._both(two)]
                    self.middles[two] = float(np.median(logs))
                    self.lasting[two] = lasting_noise(logs)
                    sequence.look(logs, last=last, rarer=int(rarer_order(first_led)))

    def bounds(self, two: Two) -> Bounds:
        """What is told of two sides, log scale: the interval of all looks, or a wider one where noise lasts.

        Where noise lasted on one side, looks may have been wrong, so that the last one alone is widened.
        """
        sequence, lasts = self.sequences[two], self.lasting.get(two)
        if lasts is None or not isinstance(sequence, MedianSequence):
            return sequence.bounds
        return widened(sequence.latest, self.middles[two], lasts.factor)

    def settled(self, threshold: float, until: Until) -> bool:
        """Whether the question is answered for any two sides, whatever noise few pairs may hide."""
        answered = _ANSWERED[until]
        return all(
            self._failed(two)
            or (
                answered(*self.bounds(two), threshold)
                and equivalence.direction_settled(*self.with_hidden(two), threshold)
            )
            for two in self.sequences
        )

    def with_hidden(self, two: Two) -> Bounds:
        """The interval, as wide as it has to be able to be while pairs are few."""
        bounds, factor = self.bounds(two), factor_to_end(len(self.values))
        if factor == 1.0 or two not in self.middles or isinstance(self.sequences[two], ClusterSequence):
            return bounds
        return widened(bounds, self.middles[two], factor)

    def failed(self) -> bool:
        """Whether there is nothing left to measure."""
        return all(map(self._failed, self.sequences))

    def _failed(self, two: Two) -> bool:
        return two.a in self.failures or two.b in self.failures
