"""From pairs to a verdict and a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tollbench.compare.evidence import Evidence, TimeAllowed, evidence_of
from tollbench.compare.subject import Two
from tollbench.compare.tracks import MEDIAN_SHARE, Track
from tollbench.compare.verdict_sentences import of_shapes, sentence
from tollbench.compare.verdicts import Comparison, Verdict
from tollbench.stats import equivalence
from tollbench.stats.shapes import Shapes

_FARTHEST = 700.0  # of a logarithm whose number is one

EVERYTHING = "*"  # the benchmark of a row that concerns a side as a whole


@dataclass(frozen=True, slots=True)
class Judge:
    """What all verdicts of a table share."""

    labels: tuple[str, ...]
    threshold: float
    alpha: float  # of one comparison, after the correction
    layouts: int = 0  # of each side that there are; 0: the sides as they are
    limits: TimeAllowed | None = None  # None: not known, of an older file

    def verdicts(self, track: Track, notes_of: Callable[[Two], Sequence[str]]) -> list[Comparison]:
        """Of any two sides that are to be compared, with what is noted of them."""
        return [self._verdict(track, two, notes_of(two)) for two in track.sequences]

    def nothing(self, reason: str, wanted: Iterable[Two]) -> list[Comparison]:
        """A failed row for each, where no benchmark could be asked for."""
        return [self._not_timed(EVERYTHING, two, Verdict.FAILED, reason) for two in wanted]

    def unusable(self, reasons: Mapping[Two, str]) -> list[Comparison]:
        """A failed row for any two sides of which one could not be asked."""
        return [row for two, reason in reasons.items() for row in self.nothing(reason, [two])]

    def untouched(self, benchmark: str, two: Two, told: str) -> Comparison:
        """A row whose code is the same on both sides, and which was not timed."""
        reason = "not timed: a difference would be layout or the machine, not the change"
        return self._not_timed(benchmark, two, Verdict.UNCHANGED_CODE, reason, told)

    def _not_timed(
        self, benchmark: str, two: Two, verdict: Verdict, reason: str, code: str = ""
    ) -> Comparison:
        return Comparison(
            benchmark=benchmark,
            a=self.labels[two.a],
            b=self.labels[two.b],
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

    def _verdict(self, track: Track, two: Two, notes: Sequence[str]) -> Comparison:
        logs = track.logs(two)
        bounds = track.bounds(two)
        evidence = evidence_of(track, two, self)
        failed_side = next((index for index in two if index in track.failures), None)
        if failed_side is not None:
            verdict = Verdict.FAILED
            reason = f"{self.labels[failed_side]} {track.failures[failed_side]}"
        else:
            verdict = _verdict_of(bounds.low, bounds.high, self.threshold)
            reason = sentence(verdict, bounds, self.threshold, evidence)
        shown = bool(logs) and failed_side is None
        shapes, differ = self._shapes(track, two, verdict) if shown else (None, False)
        if differ and shapes is not None:
            whose = "the first side's" if two.a == 0 else f"those of {self.labels[two.a]}"
            reason = f"{reason}{of_shapes(verdict, shapes, whose)}"
            verdict = Verdict.INCONCLUSIVE if verdict is Verdict.NO_DIFFERENCE else verdict
        return Comparison(
            benchmark=track.name,
            a=self.labels[two.a],
            b=self.labels[two.b],
            ratio=math.exp(evidence.middle) if shown else None,
            low=_end(bounds.low) if shown else None,
            high=_end(bounds.high) if shown else None,
            level=1.0 - self.alpha,
            verdict=verdict,
            launches=len(logs),
            seconds=round(track.seconds, 3),
            reason="; ".join([reason, *notes]),
            regression=verdict is Verdict.SLOWER
            and equivalence.beyond(bounds.low, bounds.high, self.threshold) > 0,
            a_ns=track.middle_ns(two.a) if shown else None,
            b_ns=track.middle_ns(two.b) if shown else None,
            b_agreeing_ns=_agreeing(track.middle_ns(two.a), evidence.middle) if shown else None,
            forecast_s=_seconds(evidence) if verdict is Verdict.INCONCLUSIVE and not differ else None,
            mean_ratio=shapes.mean_ratio if shapes is not None else None,
            tail_ratio=shapes.tail_ratio if shapes is not None else None,
            shapes_differ=differ,
            lasting=evidence.lasting if shown else None,
            layouts=evidence.layouts,
            layout_spread=evidence.spread if shown else None,
        )

    def _shapes(self, track: Track, two: Two, verdict: Verdict) -> tuple[Shapes | None, bool]:
        """How launches are spread, and whether that differs; beside what is known of the median already."""
        shapes = track.shapes(two)
        tested = shapes
        if verdict in (Verdict.SLOWER, Verdict.FASTER):
            tested = track.shapes(two, math.exp(track.middles[two])) if two in track.middles else None
        alpha = self.alpha * (1.0 - MEDIAN_SHARE)
        return shapes, tested is not None and tested.beyond(self.threshold, alpha)


def _end(log: float) -> float | None:
    """Of an interval; None where it has none on that side, or one that no number says."""
    return math.exp(log) if abs(log) <= _FARTHEST else None


def _agreeing(first_ns: float | None, middle: float) -> float | None:
    """What the other side takes by the ratio."""
    return None if first_ns is None else first_ns * math.exp(middle)


def _seconds(evidence: Evidence) -> float | None:
    """Rounded, as it is a guess."""
    return None if evidence.needed is None or evidence.offered else float(math.ceil(evidence.needed.seconds))


def _verdict_of(low: float, high: float, threshold: float) -> Verdict:
    if side := equivalence.direction(low, high):
        return Verdict.SLOWER if side > 0 else Verdict.FASTER
    return Verdict.NO_DIFFERENCE if equivalence.equivalent(low, high, threshold) else Verdict.INCONCLUSIVE
