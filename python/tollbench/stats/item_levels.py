"""Where items of a row lie between its two ends, from looks that scatter: likelihoods of their levels.

A look measures an item, and both ends beside it. Its height is the value above the mean of the ends, in the
unit of the gap between them: item 0 is at -1/2, the last one at 1/2. Heights scatter as pairs of the ends do.

An item lies about the level of its stretch of the row with a spread that is not known: each of `SPREADS` is
kept beside the others. It lies normally there, and with a probability of `STRAY` anywhere at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tollbench.stats.order_statistics import Floats

# Of items about their level, as shares of the gap. Before anything is seen no size is preferred among those
# up to `CALM`, in the unit of the values (logarithms: 0.01 is 1 % of a time), which is more than most builds
# lie apart; beyond, the probability falls with the square. docs/layouts.md has measured some.
SPREADS: Floats = np.array([0.05, 0.1, 0.17, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4])
CALM = 0.01
STRAY = 0.02  # of items lie anywhere, whatever their level is
LEAST_NOISE = 0.05  # of the gap: what fewer than some dozens of looks can rule out
SMOOTHED_BY = 2.0  # a scale of n pairs is taken (1 + this / n) times as large
REFIT_GROWTH = 1.1  # pairs since the gap was taken last, before it is taken anew
FREEDOM = 4.0  # of Student's t
REACH = 2.0  # the largest height that looks are told apart up to, in gaps
STEP = 0.05  # of the grid of heights
_HALF_A_PAIR = 0.75**0.5  # item against the mean of both ends, to last against first: sqrt(3/2) to sqrt(2)
_MAD = 1.4826  # to a normal distribution's standard deviation


class ItemLevels:
    """Looks at items, and what they say of where each lies."""

    def __init__(self) -> None:
        steps = round(REACH / STEP)
        self.grid: Floats = np.arange(-steps, steps + 1, dtype=np.float64) * STEP
        apart = (self.grid[:, None] - self.grid) / SPREADS[:, None, None]
        near = np.exp(-0.5 * apart**2)
        near /= near.sum(axis=2, keepdims=True)
        # (spread, level, where an item lies)
        self.about: Floats = np.asarray((1.0 - STRAY) * near + STRAY / self.grid.size, dtype=np.float64)
        self._pairs: list[float] = []  # last - first, of every look and of pairs before any
        self._heights: dict[int, list[float]] = {}  # of item: value - mean of both ends, a look each
        self._fitted_to = 0  # pairs
        self._gap, self._noise = 1.0, 1.0
        self._likelihoods: dict[int, Floats] = {}  # log, of item over the grid
        self._evidence: dict[int, Floats] = {}  # log, of item over (spread, level)
        ends = (np.abs(self.grid - end).argmin() for end in (-0.5, 0.5))
        self._of_ends = [np.log(self.about[:, :, place]) for place in ends]

    def pair(self, first: float, last: float) -> None:
        """Both ends, close in time: tells how far they lie apart, and how looks scatter."""
        self._pairs.append(last - first)

    def look(self, item: int, first: float, value: float, last: float) -> None:
        """One look at an item, with both ends beside it. Raises ValueError where these are at one level."""
        self.pair(first, last)
        self._heights.setdefault(item, []).append(value - (first + last) / 2.0)
        self._likelihoods.pop(item, None)
        self._evidence.pop(item, None)
        self.fit()

    def forget(self, item: int) -> None:
        """As if it had never been looked at."""
        for known in (self._heights, self._likelihoods, self._evidence):
            known.pop(item, None)

    def fit(self) -> None:
        """The gap and the scatter of looks, from all pairs so far. Raises ValueError where there is none."""
        count = len(self._pairs)
        if count == 0:
            raise ValueError("nothing is known of the ends")
        if self._fitted_to and count < self._fitted_to * REFIT_GROWTH:
            return
        pairs = np.asarray(self._pairs)
        gap = float(np.median(pairs))
        if gap == 0.0:
            if self._fitted_to:
                return
            raise ValueError("the ends are at one level")
        scatter = _MAD * float(np.median(np.abs(pairs - gap))) * (1.0 + SMOOTHED_BY / count)
        self._gap, self._fitted_to = gap, count
        self._noise = max(_HALF_A_PAIR * scatter / abs(gap), LEAST_NOISE)
        self._likelihoods.clear()
        self._evidence.clear()

    @property
    def gap(self) -> float:
        """The last item above the first, in the unit of the values."""
        self.fit()
        return self._gap

    def prior(self) -> Floats:
        """log, of each spread; not normalised."""
        return -2.0 * np.log(np.maximum(SPREADS * abs(self.gap) / CALM, 1.0))

    @property
    def noise(self) -> float:
        """Of one look, in gaps."""
        self.fit()
        return self._noise

    @property
    def looked_at(self) -> tuple[int, ...]:
        """Items, in the order of the row."""
        return tuple(sorted(self._heights))

    def looks(self, item: int) -> int:
        """How many there were at an item."""
        return len(self._heights.get(item, ()))

    @property
    def all_looks(self) -> int:
        """At all items together."""
        return sum(map(len, self._heights.values()))

    def likelihood(self, item: int) -> Floats:
        """log, of an item's looks for every place of the grid where it may lie."""
        if item not in self._likelihoods:
            self._likelihoods[item] = self._likelihood(self._heights[item])
        return self._likelihoods[item]

    def _likelihood(self, heights: Sequence[float]) -> Floats:
        where = np.clip(np.asarray(heights) / self._gap, self.grid[0], self.grid[-1])
        apart = (where[:, None] - self.grid) / self._noise
        return np.asarray(-(FREEDOM + 1.0) / 2.0 * np.log1p(apart**2 / FREEDOM).sum(axis=0))

    def evidence(self) -> Floats:
        """log probability of what was seen of item 0, of each that was looked at, and of the last one, for
        each spread and each level that it may lie about; shape (items + 2, spreads, levels)."""
        self.fit()
        return np.array([self._of_ends[0], *map(self._evidence_of, self.looked_at), self._of_ends[1]])

    def _evidence_of(self, item: int) -> Floats:
        if item not in self._evidence:
            likelihood = self.likelihood(item)
            self._evidence[item] = np.log(self.about @ np.exp(likelihood - likelihood.max()))
        return self._evidence[item]


def log_sum(values: Floats, axis: int) -> Floats:
    """log of the sum of exponentials along an axis."""
    tops = values.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(values - tops).sum(axis=axis)) + np.squeeze(tops, axis=axis))
