"""Which of many items in a row brought a change: a search in which every look may err, and some err for good.

Items 0 to n stand in a row. Item 0 is at one level, item n at another, and somewhere between them one item
brought the change: all before it are at the first level, it and all behind it at the last one. A look
measures an item between both ends, all three close in time, so that what the machine does to all cancels;
where the item lies on the way from the first level (-1/2) to the last (1/2) is what the look tells.

The posterior over "item k brought it" is kept, starting from all alike. Two kinds of error are in it:

- A look scatters as pairs of the ends do (their robust standard deviation, by Student's t with 4 degrees of
  freedom, so that a look that is far off says little). More looks at an item average that out.
- An item has a level of its own: where a linker puts code moves a build, however often it is launched. So an
  item lies normally about its level with a spread that is not known; each of `spreads` is tried, and what
  items show of it decides between them. The ends are such items, too. And with a probability of `STRAY` an
  item lies anywhere at all: that is the floor of what all looks at one item together can err with. So the
  search does not hammer an item that lies between the levels, or on the wrong one: it goes to its neighbours.

The next look goes to where it tells most, in expected bits, of what is not known: of an item that was never
looked at that is near the posterior's median. Of those that were looked at before, the best is preferred
unless a new one tells more than `WORTH_A_NEW_ONE` times as much, as a new item has to be built first.

An answer rests on more than its posterior: the items on both sides of it are looked at again, after another
item (what befell an item while it was visited, such as a file that was read for the first time, does not
average out within that visit), and the next items behind those at least once, so that no single item decides
alone. And there is none while items may scatter by a quarter of the change or more.

Assumptions: one change; looks that scatter independently of each other, with one scale for all items.
Sources: searching with a noisy answer by halving the posterior, Horstein (1963), Burnashev and Zigangirov
(1974); its convergence, Waeber, Frazier and Henderson, Bisection search with noisy responses (SIAM Journal on
Control and Optimization 2013); that errors that depend on the item keep the logarithmic cost, Karp and
Kleinberg, Noisy binary search and its applications (SODA 2007); that halving the posterior is the greedy
choice by information, Jedynak, Frazier and Sznitman, Twenty questions with noise (2012).
docs/bisect.md has the simulations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.order_statistics import Floats

STRAY = 0.02  # of items lie anywhere, whatever their level is
# Where items scatter by more than this share of the change about their levels, the levels are not told apart
# well enough for the posterior to mean what it says (docs/bisect.md has how often it is right).
MOST_SPREAD = 0.25
DOUBTED = 0.1  # as probable as this may a larger spread be for an answer
STILL_SUSPECT = 0.01  # where items scatter so: a group that is as probable is in the smallest set, too
WORTH_A_NEW_ONE = 2.0  # times as much as a look at an item that is there must a look at a new one tell
NOTHING_MORE = 0.001  # of what a look at the median would tell: less is not worth a look anywhere
LEAST_NOISE = 0.05  # of the change: what fewer than some dozens of looks can rule out
MOST_LOOKS = 16  # at once
AT_ONCE_SHARE = 0.02  # of all looks so far
CONFIRMING_LOOKS = 3  # at each of the two items that an answer lies between, after the first visit there
OUTER_ITEMS = 2  # behind these on either side: fewer that look calm say little of how items scatter
OUTER_LOOKS = 1  # at each of those
SMOOTHED_BY = 2.0  # a scale of n pairs is taken (1 + this / n) times as large
REFIT_GROWTH = 1.1  # pairs since the levels were taken last, before they are taken anew
_FREEDOM = 4.0  # of Student's t
_HALF_A_PAIR = 0.75**0.5  # item against the mean of both ends, to last against first: sqrt(3/2) to sqrt(2)
_GRID: Floats = np.linspace(-2.0, 2.0, 81)  # where an item may lie; the levels are at -1/2 and 1/2
# Nodes and weights of Gauss-Hermite quadrature: what a normal variable is, in standard deviations.
_OFF = {-(3.0**0.5): 1.0 / 6.0, 0.0: 2.0 / 3.0, 3.0**0.5: 1.0 / 6.0}
_MAD = 1.4826  # to a normal distribution's standard deviation


class ItemRun(NamedTuple):
    """Items in a row, one of which brought the change with this probability."""

    first: int
    last: int
    probability: float


class Bisection:
    """The search among items 1 to `count`; item 0 is at the first level, item `count` at the last one.

    `spreads` are standard deviations of items about their level, in the unit of the values that are told
    (logarithms), with how probable each is before anything is seen; the search finds out what fits. It ends
    with an answer of this `probability`.
    """

    def __init__(self, count: int, spreads: Mapping[float, float], probability: float = 0.95) -> None:
        if count < 1 or not spreads:
            raise ValueError("a row needs an item besides its first, and its spread one guess")
        self.count = count
        self.probability = probability
        # Each state: a spread, and how many of it the ends themselves lie off.
        states = np.array(list(product(spreads.items(), _OFF.items(), _OFF.items())), dtype=np.float64)
        self._spreads, self._off_first, self._off_last = states[:, :, 0].T
        self._likely = states[:, :, 1].prod(axis=1, keepdims=True)
        self._measurable = np.ones(count + 1, dtype=bool)
        self._pairs: list[float] = []  # last - first, of every look and of pairs before any
        self._heights: dict[int, list[float]] = {}  # of item: value - mean of both ends, a look each
        self._first_visit: dict[int, int] = {}  # looks in it
        self._returned_to: set[int] = set()  # items that were looked at again after another one
        self._last_item = 0  # that was looked at
        self._fitted_to = 0  # pairs
        self._gap, self._noise = 1.0, 1.0  # of the levels; of a look, in gaps
        self._likelihoods: dict[int, Floats] = {}  # log, of item over the grid

    def pair(self, first: float, last: float) -> None:
        """Both ends, close in time: tells how far the levels lie apart, and how looks scatter."""
        self._pairs.append(last - first)

    def look(self, item: int, first: float, value: float, last: float) -> None:
        """One look at an item, with both ends beside it."""
        if not 0 < item < self.count or not self._measurable[item]:
            raise ValueError(f"item {item} is no item to look at")
        self.pair(first, last)
        heights = self._heights.setdefault(item, [])
        heights.append(value - (first + last) / 2.0)
        self._note_visit(item, len(heights))
        self._fit()
        self._likelihoods[item] = self._likelihood(self._heights[item])

    def _note_visit(self, item: int, looks: int) -> None:
        """Looks in a row are one visit: only another item in between makes a second one."""
        again = self._last_item not in (0, item)
        if self._others(item):
            if again and looks > 1:
                self._returned_to.add(item)
        elif looks > CONFIRMING_LOOKS:  # the only one that there is to look at
            self._returned_to.add(item)
        if item not in self._returned_to:
            self._first_visit[item] = looks
        self._last_item = item

    def _others(self, item: int) -> list[int]:
        """Items besides this one that can be looked at, the nearest first."""
        inner = (1 + np.flatnonzero(self._measurable[1 : self.count])).tolist()
        return sorted((one for one in inner if one != item), key=lambda one: abs(one - item))

    def leave_out(self, item: int) -> None:
        """An item that cannot be looked at; whether it brought the change is as open as before."""
        if 0 < item < self.count:
            self._measurable[item] = False
            self._heights.pop(item, None)
            self._likelihoods.pop(item, None)

    @property
    def gap(self) -> float:
        """The last level above the first, in the unit of the values."""
        self._fit()
        return self._gap

    @property
    def looked_at(self) -> tuple[int, ...]:
        """Items, in the order of the row."""
        return tuple(sorted(self._heights))

    def looks(self, item: int) -> int:
        """How many there were at an item."""
        return len(self._heights.get(item, ()))

    def posterior(self) -> Floats:
        """The probability that item 1, 2, ... `count` brought the change; shape (count,)."""
        items, masses = self._masses()
        edges = np.array([0, *items, self.count])
        return np.repeat(masses / np.diff(edges), np.diff(edges))

    def groups(self) -> list[ItemRun]:
        """Items that no look can tell apart, each group with its probability: those that lie between two
        that can be looked at, with the one behind them."""
        chances = self.posterior()
        ends = np.flatnonzero(self._measurable[1:])
        starts = np.concatenate(([0], ends[:-1] + 1))
        return [
            ItemRun(int(start) + 1, int(end) + 1, float(chance))
            for start, end, chance in zip(starts, ends, np.add.reduceat(chances, starts), strict=True)
        ]

    def leading(self) -> ItemRun:
        """The group that most probably brought the change."""
        chances = self.posterior()
        ends = np.flatnonzero(self._measurable[1:])
        starts = np.concatenate(([0], ends[:-1] + 1))
        sums = np.add.reduceat(chances, starts)
        best = int(np.argmax(sums))
        return ItemRun(int(starts[best]) + 1, int(ends[best]) + 1, float(min(sums[best], 1.0)))

    def smallest_set(self, probability: float) -> list[ItemRun]:
        """The fewest items that hold the change with this probability; neighbours as one run, in order.

        Where items scatter too much for the posterior to mean what it says, all that may be it are in.
        """
        groups = sorted(self.groups(), key=lambda run: run.probability / (run.last - run.first + 1))
        chosen: list[ItemRun] = []
        while groups and sum(run.probability for run in chosen) < probability:
            chosen.append(groups.pop())
        if self.too_scattered:
            chosen += [run for run in groups if run.probability >= STILL_SUSPECT]
        runs: list[ItemRun] = []
        for run in sorted(chosen):
            if runs and runs[-1].last + 1 == run.first:
                before = runs.pop()
                run = ItemRun(before.first, run.last, before.probability + run.probability)
            runs.append(run)
        return runs

    def changed_by(self, item: int) -> float:
        """The probability that this item, or one before it, brought the change."""
        return float(min(self.posterior()[:item].sum(), 1.0))

    def answer(self) -> ItemRun | None:
        """What brought the change, where that is probable enough and was looked at twice."""
        leading = self.leading()
        known = leading.probability >= self.probability and self._unconfirmed(leading) is None
        return leading if known and not self.too_scattered else None

    @property
    def too_scattered(self) -> bool:
        """Whether items may scatter so much about their levels that no posterior is believed."""
        return self.scattered() > DOUBTED

    def scattered(self) -> float:
        """The probability that items scatter about their levels by over a quarter of the change."""
        if not self._heights:  # nothing to be seen of it, and one answer alone
            return 0.0
        large = self._spreads > MOST_SPREAD * abs(self.gap)
        return float(self._joint()[1].sum(axis=1)[large].sum())

    def _unconfirmed(self, run: ItemRun) -> int | None:
        """An item that has to be looked at before the run is believed."""
        inner = 1 + np.flatnonzero(self._measurable[1 : self.count])
        most = 1 + OUTER_ITEMS
        sides = inner[inner < run.first][::-1][:most], inner[inner >= run.last][:most]
        nearest = [int(item) for side in sides for item in side[:1]]
        outer = [int(item) for side in sides for item in side[1:]]
        wanted = [
            item for item in nearest if self.looks(item) - self._first_visit.get(item, 0) < CONFIRMING_LOOKS
        ]
        wanted += [item for item in outer if self.looks(item) < OUTER_LOOKS]
        if wanted == [self._last_item] and self._last_item not in self._returned_to:
            return next(iter(self._others(self._last_item)), self._last_item)  # one in between
        return next((item for item in wanted if item != self._last_item), wanted[0] if wanted else None)

    def next_item(self) -> int | None:
        """Where to look next; None where there is an answer, or no look would tell more."""
        self._fit()
        if (leading := self.leading()).probability >= self.probability:
            return self._unconfirmed(leading)
        reached = np.concatenate(([0.0], np.cumsum(self.posterior())))  # by item: changed by then
        known = list(self.looked_at)
        new = self._best_new(known, reached)
        if not known and not new:
            return None
        weights = self._joint()[1].sum(axis=1)
        before, after = (weights @ levels for levels in self._levels())
        rows = [np.exp(self._likelihoods[item] - self._likelihoods[item].max()) for item in known]
        rows += [np.ones_like(_GRID)] * len(new)
        items = np.array(known + new)
        gains = self._gains(np.array(rows), before, after, reached[items])
        median = self._gains(np.ones((1, _GRID.size)), before, after, np.array([0.5]))[0]
        if gains.max() < NOTHING_MORE * median:
            return None
        gains[: len(known)] *= WORTH_A_NEW_ONE
        return int(items[np.argmax(gains)])

    def looks_at_once(self) -> int:
        """How many looks at an item to make before asking again: more of noisy ones, and after many."""
        self._fit()
        looks = sum(map(len, self._heights.values()))
        return int(np.clip(np.ceil(max(self._noise**2, looks * AT_ONCE_SHARE)), 1, MOST_LOOKS))

    def _best_new(self, known: Iterable[int], reached: Floats) -> list[int]:
        """Of each stretch between items that were looked at, the one that halves the posterior best."""
        edges = [0, *known, self.count]
        found = []
        for left, right in pairwise(edges):
            inner = left + 1 + np.flatnonzero(self._measurable[left + 1 : right])
            if inner.size:
                found.append(int(inner[np.argmin(np.abs(reached[inner] - 0.5))]))
        return found

    def _fit(self) -> None:
        """The levels' distance and the scatter of looks, from all pairs so far."""
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
        self._likelihoods = {item: self._likelihood(heights) for item, heights in self._heights.items()}

    def _likelihood(self, heights: Sequence[float]) -> Floats:
        """log, of an item's looks for every place where it may lie."""
        where = np.clip(np.asarray(heights) / self._gap, _GRID[0], _GRID[-1])
        apart = (where[:, None] - _GRID) / self._noise
        return np.asarray(-(_FREEDOM + 1.0) / 2.0 * np.log1p(apart**2 / _FREEDOM).sum(axis=0))

    def _levels(self) -> tuple[Floats, Floats]:
        """Where items of the first and the last level lie, for each state; shape (states, grid)."""
        spreads = (self._spreads / abs(self._gap))[:, None]
        told = []
        for level, off in ((-0.5, self._off_first), (0.5, self._off_last)):
            apart = (_GRID - level) / spreads - off[:, None]
            exponents = 0.5 * apart**2
            near = np.exp(-(exponents - exponents.min(axis=1, keepdims=True)))
            near /= near.sum(axis=1, keepdims=True)
            told.append((1.0 - STRAY) * near + STRAY / _GRID.size)
        return told[0], told[1]

    def _evidence(self) -> Floats:
        """log probability of all looks for each state and each stretch that the change may lie in: before
        the first item that was looked at, up to behind the last; shape (states, items + 1)."""
        self._fit()
        states, items = self._spreads.size, len(self._heights)
        if not items:
            return np.zeros((states, 1))
        likelihoods = np.array([self._likelihoods[item] for item in self.looked_at])
        tops = likelihoods.max(axis=1, keepdims=True)
        shares = np.exp(likelihoods - tops).T
        unchanged, changed = (np.log(levels @ shares) for levels in self._levels())
        found = np.zeros((states, items + 1))
        found[:, 1:] += np.cumsum(unchanged, axis=1)
        found[:, :-1] += np.cumsum(changed[:, ::-1], axis=1)[:, ::-1]
        return found

    def _joint(self) -> tuple[NDArray[np.int_], Floats]:
        """The items that were looked at; the probability of each state and stretch together."""
        items = np.array(self.looked_at, dtype=np.int_)
        sizes = np.diff(np.concatenate(([0], items, [self.count])))
        evidence = self._evidence()
        joint = np.exp(evidence - evidence.max()) * sizes * self._likely
        return items, joint / joint.sum()

    def _masses(self) -> tuple[NDArray[np.int_], Floats]:
        items, joint = self._joint()
        return items, joint.sum(axis=0)

    def _gains(self, likelihoods: Floats, before: Floats, after: Floats, changed: Floats) -> Floats:
        """Expected bits of one more look at items, each with what is known of where it lies.

        `likelihoods` has shape (items, grid), `changed` is the probability that an item has the change.
        """
        reach = 4.0 * self._noise
        seen = np.linspace(_GRID[0] - reach, _GRID[-1] + reach, 121)
        kernel = (1.0 + ((_GRID[:, None] - seen) / self._noise) ** 2 / _FREEDOM) ** (-(_FREEDOM + 1.0) / 2.0)
        kernel /= kernel.sum(axis=1, keepdims=True)
        told = []
        for levels in (before, after):
            weights = likelihoods * levels
            told.append(weights / weights.sum(axis=1, keepdims=True) @ kernel)
        changed = np.clip(changed, 1e-12, 1.0 - 1e-12)
        share = changed[:, None]
        mixed = (1.0 - share) * told[0] + share * told[1]
        bits = [_bits(one, mixed) for one in told]
        return np.asarray((1.0 - changed) * bits[0] + changed * bits[1])


def _bits(told: Floats, mixed: Floats) -> Floats:
    """Kullback-Leibler divergence by rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(told > 0.0, told * np.log2(told / mixed), 0.0)
    return np.asarray(terms.sum(axis=1))
