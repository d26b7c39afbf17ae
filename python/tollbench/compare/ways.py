"""Which way of launching tells a benchmark's ratio soonest: found while it is measured, from all pairs alike.

A way is judged by noise x sqrt(time): the scatter of its pairs' log ratios, times the root of what a pair
costs. That is the half-width which a second of measuring buys, so the smallest is the best. Each way has a
few pairs first, and all pairs count for the answer; then the one goes on that may be the best, given how
little a few pairs say (optimism under uncertainty, Lai and Robbins 1985), so that a bad start is forgotten.

The choice may depend on all that was measured before: given that, a fair coin still decides on which side of
the truth the next pair lies (`tollbench.stats.sequential`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tollbench.numbers import percent
from tollbench.stats.order_statistics import Floats

FIRST_PAIRS = 3  # of each way
# By simulation with tails of two degrees of freedom and the best way's noise half that of the others: after
# 30, 100, 300 pairs 59, 77, 89 % of what the best way alone would know; without it 59, 76, 85 %, and in one
# of ten comparisons 27 % (with it 76 %).
_OPTIMISM = 0.6
_MOVED = 0.05  # of the time: what turns cost a benchmark that a launch by itself does not
_CERTAIN = 4.0  # standard errors
_UNFAIR = 0.003  # of the ratio: what turns may cost one side more than another
_WHOLE_AGAIN = 6  # each such pair is launched one after another, to tell what turns cost


@dataclass(frozen=True, slots=True)
class Way:
    """How the sides of a pair are launched."""

    in_turns: bool  # alive together, one runs while the others are halted; else one after another
    stretch: int = 1  # times as many repetitions as the shortest launch has


WHOLE = Way(in_turns=False)
# Where launches differ, by their layouts, more than their length explains, the shortest tell soonest. Turns
# are 4 ms long, twice a shortest launch: in turns it would have none.
WHOLE_WAYS = (WHOLE, Way(in_turns=False, stretch=3))
WAYS = (*WHOLE_WAYS, Way(in_turns=True, stretch=3), Way(in_turns=True, stretch=9))


@dataclass(slots=True)
class _Tried:
    """What the pairs of one way said."""

    logs: list[list[float]] = field(default_factory=list)  # a pair: of each other side to the first
    levels: list[float] = field(default_factory=list)  # mean log time of the sides
    seconds: float = 0.0

    def noise(self, middles: Floats, of_all: int) -> float:
        """Of a second's measuring, as little as it may well be, `of_all` pairs having been measured."""
        pairs = len(self.levels)
        scatter = float(np.median(np.abs(np.array(self.logs) - middles)))
        return (
            scatter
            * math.sqrt(self.seconds / pairs)
            * math.exp(-_OPTIMISM * math.sqrt(math.log(of_all) / pairs))
        )


class Ways:
    """What was tried for one benchmark."""

    def __init__(self, ways: Sequence[Way] = WAYS) -> None:
        self._tried = {way: _Tried() for way in ways}

    @property
    def in_turns(self) -> bool:
        """Whether the sides may be alive together."""
        return any(way.in_turns for way in self._tried)

    def __contains__(self, way: Way) -> bool:
        return way in self._tried

    def choose(self, rng: random.Random) -> Way:
        """For the next pair."""
        fewest = min(len(tried.levels) for tried in self._tried.values())
        if fewest < FIRST_PAIRS:
            return rng.choice([way for way, tried in self._tried.items() if len(tried.levels) == fewest])
        everything = np.array([logs for tried in self._tried.values() for logs in tried.logs])
        middles: Floats = np.median(everything, axis=0)  # each side's own: sides may differ by much
        if self.in_turns and len(everything) % _WHOLE_AGAIN == 0:
            return WHOLE
        of_all = sum(len(tried.levels) for tried in self._tried.values())
        return min(self._tried, key=lambda way: self._tried[way].noise(middles, of_all))

    def took(self, way: Way, values: Sequence[float], seconds: float) -> None:
        """A pair: ns an operation of those sides that have a value, the first side's first, and its cost."""
        if way not in self._tried or len(values) < 2:
            return
        if any(len(logs) != len(values) - 1 for one in self._tried.values() for logs in one.logs):
            self._tried = {one: _Tried() for one in self._tried}  # a side is out from now on
        logs = np.log(values)
        tried = self._tried[way]
        tried.logs.append((logs[1:] - logs[0]).tolist())
        tried.levels.append(float(logs.mean()))
        tried.seconds += seconds

    def keep_whole(self) -> None:
        """From now on every side is launched by itself."""
        self._tried = {way: tried for way, tried in self._tried.items() if not way.in_turns}

    def moved(self) -> str:
        """What turns cost the benchmark itself, "" for nothing that matters.

        One whose data fills the caches loses them with its turn, and one that would use all processors has
        but one. (Less time means nothing: it is by the CPU clock, and a launch by itself by the wall's, on a
        machine that may be busy.)
        """
        turned, whole = self._levels(in_turns=True), self._levels(in_turns=False)
        if min(turned.size, whole.size) < 2 * FIRST_PAIRS:
            return ""
        shift = float(np.median(turned) - np.median(whole))
        # Of a normal, 1.48 makes the median deviation the standard one, and a median errs 1.25 times a mean.
        error = 1.25 * 1.48 * math.hypot(_deviation(turned), _deviation(whole))
        if shift > _MOVED + _CERTAIN * error:
            return f"takes {percent(math.expm1(shift))} longer in turns"
        return self._unfair()

    def _unfair(self) -> str:
        """Where turns cost one side more than another: ratios differ by the way they were measured."""
        ways = [
            np.array(
                [logs for way, tried in self._tried.items() if way.in_turns is kind for logs in tried.logs]
            )
            for kind in (True, False)
        ]
        for turned, whole in zip(ways[0].T, ways[1].T, strict=True):
            shift = abs(float(np.median(turned) - np.median(whole)))
            error = 1.25 * 1.48 * math.hypot(_deviation(turned), _deviation(whole))
            if shift > _UNFAIR + _CERTAIN * error:
                return f"costs one side {percent(math.expm1(shift))} more than another in turns"
        return ""

    def _levels(self, *, in_turns: bool) -> Floats:
        return np.array(
            [
                level
                for way, tried in self._tried.items()
                if way.in_turns is in_turns
                for level in tried.levels
            ]
        )


def _deviation(values: Floats) -> float:
    """The median one, as small as the median's own gets by their number."""
    return float(np.median(np.abs(values - np.median(values)))) / math.sqrt(values.size)
