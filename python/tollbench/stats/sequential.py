"""A confidence sequence for the median of paired log ratios: look as often as you like, stop when you like.

At a look after n pairs, the interval runs from the (c+1)-th smallest to the (c+1)-th largest value. The ranks
c come from the exact distribution of a fair coin's random walk: the probability that the walk has crossed its
boundary at this look or any before it never exceeds the share of alpha that may be spent by then. What one
look does not use of its share, because counts are whole numbers, the next ones have.

Alpha is spent by pairs and without a horizon: whenever the pairs have doubled, 19 % of what was left of it is
spent. So a verdict comes after as many pairs, however many more there would have been time for. The last
look, after which nothing is measured, may use all that is left.

Assumption: under the true ratio each pair's log ratio is above it with probability 1/2, independently of the
other pairs. Where a fair coin decides for each pair which side runs first, and the sides differ by a constant
factor, the coins alone make this true: whatever the noise is (heavy tails, drift, autocorrelation, a busy
neighbour), it would have been the same with the sides swapped. That still holds where each pair is corrected
by anything that was known before its own coin was thrown (`without_order`). Where the noise of the sides has
different shapes, pairs must be independent and share one median. The moments of the looks, and which is the
last, may depend on anything but the values' signs: on time, on the number of pairs.

Sources: the sign test turned round, Dixon and Mood (1946); group-sequential boundaries by recursion,
Armitage, McPherson and Rowe (1969); alpha spending, Lan and DeMets (1983); spending over doublings without an
end, Robbins (1970), and Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic
confidence sequences (Annals of Statistics 2021), section 3.1; randomisation as the basis of inference, Fisher
(1935).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tollbench.stats.order_statistics import Floats

SPENDING_POWER = 0.3  # docs/compare-method.md has the table that this was chosen by
FIRST_PAIRS = 6  # the fewest pairs with an interval at 95 %
LOOK_GROWTH = 1.15
ORDER_WINDOW = 31  # pairs that tell what coming first does; enough for a median, few enough to follow changes
ORDER_FEWEST = 3  # of each order


class Bounds(NamedTuple):
    """An interval on the log scale; infinite where it has no end yet."""

    low: float
    high: float


def look_due(pairs: int, looked_at: int) -> bool:
    """Whether `pairs` pairs deserve a look, the last one having been at `looked_at` (0: none yet)."""
    return pairs >= max(FIRST_PAIRS, math.ceil(looked_at * LOOK_GROWTH))


def without_order(logs: ArrayLike, first_led: ArrayLike) -> Floats:
    """Log ratios without what coming first does to a side; shape (..., pairs), in order of time.

    `first_led` says in which pairs the first side ran before the other one. What coming second costs is the
    mean of two medians of log(second run / first run), in which the sides' own difference cancels: of the
    pairs that the first side led and of the others, among the 31 before this one. Nothing is corrected before
    there are 3 of each. Knowing nothing of this pair, the correction cannot favour a side: given all that was
    known before, a fair coin still decides on which side of the truth the value lies.
    """
    values = np.asarray(logs, dtype=np.float64)
    led = np.asarray(first_led, dtype=bool)
    corrected = values.copy()
    for pair in range(2 * ORDER_FEWEST, values.shape[-1]):
        before = slice(max(0, pair - ORDER_WINDOW), pair)
        seconds_cost = (
            _median_where(led[..., before], values[..., before])
            - _median_where(~led[..., before], values[..., before])
        ) / 2.0
        known = np.nan_to_num(seconds_cost)  # 0 where one order has been too rare
        corrected[..., pair] -= np.where(led[..., pair], known, -known)
    return corrected


def rarer_order(first_led: ArrayLike) -> NDArray[np.int_]:
    """How many pairs had the order that was rarer; shape (..., pairs) to (...)."""
    led = np.asarray(first_led, dtype=bool)
    rarer: NDArray[np.int_] = np.minimum(led.sum(axis=-1), (~led).sum(axis=-1))
    return rarer


def _median_where(chosen: NDArray[np.bool_], values: Floats) -> Floats:
    """Of the chosen values along the last axis; NaN where they are too few to tell."""
    count = chosen.sum(axis=-1, keepdims=True)
    ordered = np.sort(np.where(chosen, values, np.inf), axis=-1)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(ordered, np.minimum(count // 2, ordered.shape[-1] - 1), axis=-1)
    middle: Floats = np.where(count >= ORDER_FEWEST, (low + high) / 2.0, np.nan)[..., 0]
    return middle


def spent(multiple: float, power: float = SPENDING_POWER) -> float:
    """The share of alpha that may be spent by `multiple` times the fewest data that can tell anything.

    0 up to once, and then each doubling spends the share 1 - 2 ** -power of what is left: 0.19.
    """
    return 1.0 - math.pow(max(1.0, multiple), -power)


class SignBoundary:
    """The ranks of one confidence sequence; `alpha` is what all its looks together may err with."""

    def __init__(self, alpha: float, power: float = SPENDING_POWER) -> None:
        if not 0.0 < alpha < 1.0:
            raise ValueError("alpha lies between 0 and 1")
        self._alpha = alpha
        self._power = power
        self._nothing = fewest_pairs(alpha) - 1  # pairs that could not exclude anything
        self._pairs = 0
        self._walking: Floats = np.ones(1)  # P(k of the pairs lie above, no boundary crossed yet)
        self._crossed = 0.0  # P(a boundary was crossed), at most alpha

    @property
    def crossed(self) -> float:
        """What the looks so far may have erred with together."""
        return self._crossed

    def ranks(self, pairs: int, *, last: bool = False) -> int:
        """How many of the smallest values lie below the interval after `pairs` pairs; -1: no interval yet.

        `last`: nothing is measured after this look, so that it may use all that is left of alpha. Raises
        ValueError where there are fewer pairs than before.
        """
        if pairs < self._pairs:
            raise ValueError(f"{pairs} pairs after {self._pairs}")
        steps = pairs - self._pairs
        self._walking = np.convolve(self._walking, _fair_coins(steps))
        self._pairs = pairs
        usable = 1.0 if last else spent(pairs / self._nothing, self._power)
        left = self._alpha * usable - self._crossed
        below = int(np.searchsorted(2.0 * np.cumsum(self._walking[: (pairs + 1) // 2]), left, side="right"))
        if below:
            self._crossed += 2.0 * float(self._walking[:below].sum())
            self._walking[:below] = 0.0
            self._walking[-below:] = 0.0
        return below - 1


def _fair_coins(tosses: int) -> Floats:
    """P(k heads), k = 0 ... tosses: exact fractions, each rounded once. scipy.stats takes 0.4 s to import."""
    ways, all_ways, chances = 1, 1 << tosses, []
    for heads in range(tosses + 1):
        chances.append(ways / all_ways)
        ways = ways * (tosses - heads) // (heads + 1)
    return np.array(chances, np.float64)


class MedianSequence:
    """The confidence sequence itself: looks narrow what the looks before them have left (`kept`)."""

    def __init__(self, alpha: float, power: float = SPENDING_POWER) -> None:
        self._boundary = SignBoundary(alpha, power)
        self.bounds = Bounds(-math.inf, math.inf)
        self.latest = self.bounds  # of the last look that had an interval, by itself

    def look(self, logs: ArrayLike, *, last: bool = False, rarer: int | None = None) -> Bounds:
        """The interval after all `logs`, shape (pairs,), which begin with those of the look before.

        `rarer` is how many pairs had the rarer order. The first pairs are not corrected for theirs
        (`without_order`), so pairs may lie in two heaps; where both ends would lie in the commoner one, what
        coming first does would be told as a difference, and this look says nothing. It has spent its share
        all the same, so that the level does not depend on which looks these are.

        With probability 1 - alpha the truth lies within the intervals of all looks, so it lies in what they
        have in common, and in that of any one of them (`kept`).
        """
        ordered = np.sort(np.asarray(logs, dtype=np.float64))
        middle = float(np.median(ordered)) if ordered.size else 0.0
        rank = self._boundary.ranks(ordered.size, last=last)
        if rank < 0:
            return self.bounds
        if rarer is not None and rarer <= rank:
            self.bounds = kept(self.bounds, self.latest, middle)
            return self.bounds
        found = self.latest = Bounds(float(ordered[rank]), float(ordered[-1 - rank]))
        self.bounds = kept(self.bounds, found, middle)
        return self.bounds


def kept(before: Bounds, found: Bounds, middle: float) -> Bounds:
    """What a look that found `found` leaves of what was known `before`, where all values say `middle`.

    What both have in common, if `middle` lies in it. Else values that came later take back what an earlier
    look said, or the ratio changed while it was measured, and `found` alone is kept: "slower by 0.2 %, 0.3 to
    1.2 %" contradicts itself. Where that is of an earlier look too, and contradicts it as well, nothing is.
    """
    common = Bounds(max(found.low, before.low), min(found.high, before.high))
    for bounds in (common, found):
        if bounds.low <= middle <= bounds.high:
            return bounds
    return Bounds(-math.inf, math.inf)


def fewest_pairs(alpha: float) -> int:
    """Pairs without which no interval exists even where all of `alpha` may be spent at once."""
    return max(FIRST_PAIRS, math.ceil(1.0 - math.log2(alpha * (1.0 + 1e-12))))
