"""From pairs to a verdict and a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tollbench.compare.verdict_sentences import Evidence, sentence
from tollbench.compare.verdicts import Comparison, Verdict
from tollbench.stats import cluster_sequence, equivalence, sequential
from tollbench.stats.cluster_sequence import (
    ClusterSequence,
    centres_of,
    clusters_needed,
    fewest_clusters,
    mean_over_clusters,
)
from tollbench.stats.cluster_sequence import spread as cluster_spread
from tollbench.stats.sequential import ORDER_WINDOW, MedianSequence, fewest_pairs, without_order

EVERYTHING = "*"  # the benchmark of a row that concerns a side as a whole
FEW_LAYOUTS = 0.25  # of the variance between layouts; of less, more launches narrow an interval as well
Sequence_ = MedianSequence | ClusterSequence  # over pairs of launches; over layouts


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
        """log(side / first) of the rounds that have both, without what coming first did."""
        both = [
            (math.log(row[side] / row[0]), order.index(0) < order.index(side))
            for row, order in zip(self.values, self.orders, strict=True)
            if row[0] > 0 and row[side] > 0  # False for NaN
        ]
        # A pair's correction comes from the pairs before it and never changes: only new ones are corrected.
        known = self.corrected.setdefault(side, [])
        if len(both) > len(known):
            begin = max(0, len(known) - ORDER_WINDOW)
            known += without_order(*zip(*both[begin:], strict=True))[len(known) - begin :].tolist()
        return list(known)

    def layouts_of(self, side: int) -> list[int]:
        """Of each of `logs`."""
        return [
            number
            for row, number in zip(self.values, self.layouts, strict=True)
            if row[0] > 0 and row[side] > 0
        ]

    def look_due(self, layouts: int) -> bool:
        """Whether the rounds so far deserve a look; `layouts` of each side, 0: the sides as they are."""
        if layouts:
            return cluster_sequence.look_due(len(self.values), self.looked_at, layouts)
        return sequential.look_due(len(self.values), self.looked_at)

    def look(self, share: float) -> None:
        """Narrows every side's interval."""
        self.looked_at = len(self.values)
        for side, sequence in self.sequences.items():
            if logs := self.logs(side):
                if isinstance(sequence, ClusterSequence):
                    sequence.look(logs, self.layouts_of(side), share)
                else:
                    sequence.look(logs, share)

    def settled(self, threshold: float) -> bool:
        """Whether measuring on could not change what is told about any side."""
        return all(
            self._failure(side) or equivalence.settled(*sequence.bounds, threshold)
            for side, sequence in self.sequences.items()
        )

    def failed(self) -> bool:
        """Whether there is nothing left to measure."""
        return 0 in self.failures or self.sequences.keys() <= self.failures.keys()

    def _failure(self, side: int) -> str:
        return self.failures.get(0, "") or self.failures.get(side, "")


@dataclass(frozen=True, slots=True)
class Judge:
    """What all verdicts of a table share."""

    labels: tuple[str, ...]
    threshold: float
    alpha: float  # of one comparison, after the correction

    def verdicts(self, track: Track, notes: Sequence[str]) -> list[Comparison]:
        """Every side that has the benchmark against the first."""
        return [self._verdict(track, side, notes) for side in track.sequences]

    def nothing(self, reason: str) -> list[Comparison]:
        """A failed row for every side where no benchmark could be asked for."""
        sides = range(1, len(self.labels))
        return [self._not_timed(EVERYTHING, side, Verdict.FAILED, reason) for side in sides]

    def untouched(self, benchmark: str, side: int, told: str) -> Comparison:
        """A row whose code is the same on both sides, and which was not timed."""
        reason = "not timed: a difference would be layout or the machine, not the change"
        return self._not_timed(benchmark, side, Verdict.UNCHANGED_CODE, reason, told)

    def _not_timed(
        self, benchmark: str, side: int, verdict: Verdict, reason: str, code: str = ""
    ) -> Comparison:
        return Comparison(
            benchmark=benchmark,
            a=self.labels[0],
            b=self.labels[side],
            ratio=None,
            low=None,
            high=None,
            level=1.0 - self.alpha,
            verdict=verdict,
            launches=0,
            seconds=0.0,
            reason=reason,
            regression=False,
            code=code,
        )

    def _verdict(self, track: Track, side: int, notes: Sequence[str]) -> Comparison:
        logs = track.logs(side)
        bounds = track.sequences[side].bounds
        evidence = self._evidence(track, side)
        failed_side = next((index for index in (0, side) if index in track.failures), None)
        if failed_side is not None:
            verdict = Verdict.FAILED
            reason = f"{self.labels[failed_side]} {track.failures[failed_side]}"
        else:
            verdict = _verdict_of(bounds.low, bounds.high, self.threshold)
            reason = sentence(verdict, bounds, self.threshold, evidence)
        shown = bool(logs) and failed_side is None
        return Comparison(
            benchmark=track.name,
            a=self.labels[0],
            b=self.labels[side],
            ratio=math.exp(evidence.middle) if shown else None,
            low=math.exp(bounds.low) if shown and math.isfinite(bounds.low) else None,
            high=math.exp(bounds.high) if shown and math.isfinite(bounds.high) else None,
            level=1.0 - self.alpha,
            verdict=verdict,
            launches=len(logs),
            seconds=round(track.seconds, 3),
            reason="; ".join([reason, *notes]),
            regression=verdict is Verdict.SLOWER
            and equivalence.beyond(bounds.low, bounds.high, self.threshold) > 0,
            a_ns=_median(track, 0) if shown else None,
            b_ns=_median(track, side) if shown else None,
            layouts=evidence.layouts,
            layout_spread=evidence.spread if shown else None,
        )

    def _evidence(self, track: Track, side: int) -> Evidence:
        logs = track.logs(side)
        if not track.layouts or not logs:
            middle = float(np.median(logs)) if logs else math.nan
            return Evidence(middle, len(logs), fewest_pairs(self.alpha))
        numbers_of = track.layouts_of(side)
        needed = clusters_needed(logs, numbers_of, self.alpha, math.log1p(self.threshold))
        return Evidence(
            mean_over_clusters(logs, numbers_of),
            len(logs),
            fewest_clusters(self.alpha),
            layouts=(layouts := len(set(numbers_of))),
            spread=_spread_of(track, (0, side)),
            needed_layouts=needed if _by_layouts(logs, numbers_of) else 0,
            needed_s=track.seconds * needed / layouts,
        )


def _verdict_of(low: float, high: float, threshold: float) -> Verdict:
    if side := equivalence.direction(low, high):
        return Verdict.SLOWER if side > 0 else Verdict.FASTER
    return Verdict.NO_DIFFERENCE if equivalence.equivalent(low, high, threshold) else Verdict.INCONCLUSIVE


def _median(track: Track, side: int) -> float | None:
    values = [row[side] for row in track.values if row[side] > 0]
    return float(np.median(values)) if values else None


def _spread_of(track: Track, sides: Sequence[int]) -> float | None:
    """The standard deviation between layouts of one and the same side, the mean of `sides`; log scale."""
    found = []
    for side in sides:
        known = [
            (math.log(row[side]), number)
            for row, number in zip(track.values, track.layouts, strict=True)
            if row[side] > 0
        ]
        if known and (spread := cluster_spread(*zip(*known, strict=True))) is not None:
            found.append(spread.between)
    return float(np.mean(found)) if found else None


def _by_layouts(logs: Sequence[float], layouts: Sequence[int]) -> bool:
    """Whether a good part of what ratios scatter by is the layouts': more launches would not narrow it."""
    found = cluster_spread(logs, layouts)
    centres = centres_of(logs, layouts)
    return found is not None and found.between**2 > FEW_LAYOUTS * float(centres.var())
