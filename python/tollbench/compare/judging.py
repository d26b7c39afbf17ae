"""From pairs to a verdict and a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tollbench import numbers
from tollbench.compare.verdicts import Comparison, Verdict
from tollbench.stats import equivalence
from tollbench.stats.sequential import ORDER_WINDOW, MedianSequence, fewest_pairs, without_order

EVERYTHING = "*"  # the benchmark of a row that concerns a side as a whole


@dataclass(slots=True)
class Track:
    """One benchmark of a comparison in progress."""

    name: str
    sequences: dict[int, MedianSequence]  # of the sides after the first that offer it
    values: list[list[float]] = field(default_factory=list)  # ns an operation of every side, a row a round
    orders: list[list[int]] = field(default_factory=list)  # sides as they were launched, of each row
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

    def look(self, share: float) -> None:
        """Narrows every side's interval."""
        self.looked_at = len(self.values)
        for side, sequence in self.sequences.items():
            if logs := self.logs(side):
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
        return [
            Comparison(
                benchmark=EVERYTHING,
                a=self.labels[0],
                b=label,
                ratio=None,
                low=None,
                high=None,
                level=1.0 - self.alpha,
                verdict=Verdict.FAILED,
                launches=0,
                seconds=0.0,
                reason=reason,
                regression=False,
            )
            for label in self.labels[1:]
        ]

    def untouched(self, benchmark: str, side: int, told: str) -> Comparison:
        """A row whose code is the same on both sides, and which was not timed."""
        return Comparison(
            benchmark=benchmark,
            a=self.labels[0],
            b=self.labels[side],
            ratio=None,
            low=None,
            high=None,
            level=1.0 - self.alpha,
            verdict=Verdict.UNCHANGED_CODE,
            launches=0,
            seconds=0.0,
            reason="not timed: a difference would be layout or the machine, not the change",
            regression=False,
            code=told,
        )

    def _verdict(self, track: Track, side: int, notes: Sequence[str]) -> Comparison:
        logs = track.logs(side)
        bounds = track.sequences[side].bounds
        failed_side = next((index for index in (0, side) if index in track.failures), None)
        if failed_side is not None:
            verdict = Verdict.FAILED
            reason = f"{self.labels[failed_side]} {track.failures[failed_side]}"
        else:
            verdict = _verdict_of(bounds.low, bounds.high, self.threshold)
            reason = self._sentence(verdict, bounds.low, bounds.high, len(logs))
        shown = bool(logs) and failed_side is None
        return Comparison(
            benchmark=track.name,
            a=self.labels[0],
            b=self.labels[side],
            ratio=math.exp(float(np.median(logs))) if shown else None,
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
        )

    def _sentence(self, verdict: Verdict, low: float, high: float, pairs: int) -> str:
        threshold = numbers.difference(self.threshold)
        largest = numbers.difference(equivalence.bound(low, high))
        if verdict in (Verdict.SLOWER, Verdict.FASTER):
            told = f"{verdict} {_by(low, high)}"
            low, high = (low, high) if verdict is Verdict.SLOWER else (-high, -low)
            if low > math.log1p(self.threshold):
                return told
            within = high <= math.log1p(self.threshold)
            return told + (
                f", within {threshold}" if within else f"; whether by more than {threshold} is open"
            )
        if verdict is Verdict.NO_DIFFERENCE:
            return f"no difference larger than {largest}"
        if not (math.isfinite(low) and math.isfinite(high)):
            needed = fewest_pairs(self.alpha)
            return (
                f"{pairs} pairs of launches fitted into the time; at least {needed} are needed:"
                " --budget, --total-budget"
            )
        return f"a difference of up to {largest} remains possible; a larger --budget narrows it"


def _by(low: float, high: float) -> str:
    """ "by 1.0 % to 3.2 %", as the table writes changes; from tenfold on "by 2,250 to 2,290 times"."""
    least, most = sorted((abs(low), abs(high)))
    if most < math.log(numbers.FACTOR) or not math.isfinite(most):
        shares = sorted(abs(math.expm1(end)) for end in (low, high))
        return f"by {numbers.difference(shares[0])} to {numbers.difference(shares[1])}"
    return f"by {numbers.plain(math.exp(least), 4)} to {numbers.plain(math.exp(most), 4)} times"


def _verdict_of(low: float, high: float, threshold: float) -> Verdict:
    if side := equivalence.direction(low, high):
        return Verdict.SLOWER if side > 0 else Verdict.FASTER
    return Verdict.NO_DIFFERENCE if equivalence.equivalent(low, high, threshold) else Verdict.INCONCLUSIVE


def _median(track: Track, side: int) -> float | None:
    values = [row[side] for row in track.values if row[side] > 0]
    return float(np.median(values)) if values else None
