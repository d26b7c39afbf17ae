"""Which of many items in a row brought a change: a search in which every look may err, and some err for good.

Items 0 to n stand in a row. Item 0 is at one level, item n at another, and somewhere between them one item
brought the change: all before it are at the first level, it and all behind it at the last one. A look
measures an item between both ends, all three close in time, so that what the machine does to all cancels;
where the item lies on the way from item 0 (-1/2) to item n (1/2) is what the look tells.

The posterior over "item k brought it" is kept, starting from all alike. Two kinds of error are in it:

- A look scatters as pairs of the ends do (their robust standard deviation, by Student's t with 4 degrees of
  freedom, so that a look that is far off says little). More looks at an item average that out.
- An item has a level of its own: where a linker puts code moves a build, however often it is launched. So an
  item lies normally about its level with a spread that is not known; each of `item_levels.SPREADS` is tried,
  and what items show of it decides between them. The ends are such items, too: neither level is known, each
  may lie anywhere on the grid, and all items on its side tell where. And with a probability of `STRAY` an
  item lies anywhere at all: that is the floor of what all looks at one item together can err with. So the
  search does not hammer an item that lies between the levels, or on the wrong one: it goes to its neighbours.

The next look goes to where it tells most, in expected bits, of what is not known: of an item that was never
looked at that is near the posterior's median. Of those that were looked at before, the best is preferred
unless a new one tells more than `WORTH_A_NEW_ONE` times as much, as a new item has to be built first.

An answer rests on more than its posterior: the items on both sides of it are looked at again, after another
item (what befell an item while it was visited, such as a file that was read for the first time, does not
average out within that visit), and the next items behind those at least once, so that no single item decides
alone. And it has to hold for every spread that what was seen does not rule out (`RULED_OUT`): a posterior
that is averaged over spreads is right on average over them, and wrong wherever a large one looks calm by
chance. Items farther off are looked at until larger spreads are ruled out, or there is no answer.

Items may be known to be of one level, such as builds that execute the same code (`same`): no item between
them brought the change.

Assumptions: one change; looks that scatter independently of each other, with one scale for all items.
Sources: searching with a noisy answer by halving the posterior, Horstein (1963), Burnashev and Zigangirov
(1974); its convergence, Waeber, Frazier and Henderson, Bisection search with noisy responses (SIAM Journal on
Control and Optimization 2013); that errors that depend on the item keep the logarithmic cost, Karp and
Kleinberg, Noisy binary search and its applications (SODA 2007); that halving the posterior is the greedy
choice by information, Jedynak, Frazier and Sznitman, Twenty questions with noise (2012).
docs/bisect.md has the simulations.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.item_levels import FREEDOM, SPREADS, STEP, ItemLevels, log_sum
from tollbench.stats.order_statistics import Floats

LEAST_CHANGE = (
    0.3  # of what the ends differ by: else it is their own spreads that differ, and none is searched
)
RULED_OUT = 0.01  # spreads from one on that together are less probable
HOPELESS = 0.9  # with this probability items scatter by too much for an answer, and
NEVER_TOLD = 0.5  # a spread with which no item is told from its neighbours, however well they are known
FEWEST_FOR_HOPELESS = 8  # as many were looked at: no more are
MANY_FOR_SPREAD = 40  # items that are looked at to rule larger spreads out,
MOST_FOR_SPREAD = 80  # and where all that is near is known well
KNOWN_WELL = 0.3  # of the gap: standard error of an item's looks, from which others tell more of the spread
BORDER_KNOWN = 0.15  # the same of the two items that an answer lies between, at first,
BORDER_KNOWN_WELL = 0.1  # and where so many others do not rule out larger spreads:
FEW_FOR_SPREAD = 12
WORTH_A_NEW_ONE = 2.0  # times as much as a look at an item that is there must a look at a new one tell
NOTHING_MORE = 0.001  # of what a look at the median would tell: less is not worth a look anywhere
MOST_LOOKS = 16  # at once
AT_ONCE_SHARE = 0.02  # of all looks so far
CONFIRMING_LOOKS = 3  # at each of the two items that an answer lies between, after the first visit there
OUTER_ITEMS = 2  # behind these on either side: fewer that look calm say little of how items scatter
OUTER_LOOKS = 1  # at each of those


class ItemRun(NamedTuple):
    """Items in a row, one of which brought the change with this probability."""

    first: int
    last: int
    probability: float


class Stretches(NamedTuple):
    """What is known of the stretches between items that were looked at, both ends included."""

    ends: NDArray[np.int_]  # the last item of each stretch
    sizes: NDArray[np.int_]  # items in each that may have brought the change
    chances: Floats  # (spread, stretch): that it is in there, if items scatter so
    weights: Floats  # of each spread


class Bisection:
    """The search among items 1 to `count`; item 0 is at the first level, item `count` at the last one.

    It ends with an answer of this `probability`, or without one.
    """

    def __init__(self, count: int, probability: float = 0.95) -> None:
        if count < 1:
            raise ValueError("a row needs an item besides its first")
        self.count = count
        self.probability = probability
        self._levels = ItemLevels()
        self._measurable = np.ones(count + 1, dtype=bool)
        self._possible = np.ones(count + 1, dtype=bool)  # it may have brought the change
        self._possible[0] = False
        self._first_visit: dict[int, int] = {}  # looks in it
        self._returned_to: set[int] = set()  # items that were looked at again after another one
        self._last_item = 0  # that was looked at
        self._known: Stretches | None = None  # until the next look

    def pair(self, first: float, last: float) -> None:
        """Both ends, close in time: tells how far they lie apart, and how looks scatter."""
        self._levels.pair(first, last)
        self._known = None

    def look(self, item: int, first: float, value: float, last: float) -> None:
        """One look at an item, with both ends beside it."""
        if not 0 < item < self.count or not self._measurable[item]:
            raise ValueError(f"item {item} is no item to look at")
        self._levels.look(item, first, value, last)
        self._known = None
        self._note_visit(item, self.looks(item))

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

    def _inner(self) -> NDArray[np.int_]:
        """Items that can be looked at."""
        return 1 + np.flatnonzero(self._measurable[1 : self.count])

    def _others(self, item: int) -> list[int]:
        """Items besides this one that can be looked at, the nearest first."""
        return sorted((one for one in self._inner().tolist() if one != item), key=lambda one: abs(one - item))

    def leave_out(self, item: int) -> None:
        """An item that cannot be looked at; whether it brought the change is as open as before."""
        if 0 < item < self.count:
            self._measurable[item] = False
            self._levels.forget(item)
            self._known = None

    def same(self, item: int, other: int) -> None:
        """Two items are known to be of one level: no item behind the one, up to the other, is searched.

        That is true as far as one item brought all of the change, and levels are what two items of one level
        have in common: it is not where two in between cancel, nor where an item's own level is what changed.
        So an answer that rests on nothing else (`eliminated`) has to be measured.

        The first that is named is not looked at, unless it was already: it would tell nothing of its own.
        """
        first, last = sorted((item, other))
        if not 0 <= first < last <= self.count:
            raise ValueError(f"items {item} and {other} are no two items of the row")
        self._possible[first + 1 : last + 1] = False
        if 0 < item < self.count and not self.looks(item):
            self._measurable[item] = False
        self._known = None

    @property
    def nobody(self) -> bool:
        """Whether it is known of every item that it did not bring the change."""
        return not self._possible.any()

    @property
    def eliminated(self) -> bool:
        """Whether all but one are ruled out by what is of one level, whatever looks say of that one."""
        return self._only(self.leading())

    def _only(self, run: ItemRun) -> bool:
        """Whether nothing else is left, as one of one level with the next is all that is known."""
        return bool(
            self._possible.any() and self._possible.sum() == self._possible[run.first : run.last + 1].sum()
        )

    @property
    def gap(self) -> float:
        """The last item above the first, in the unit of the values."""
        return self._levels.gap

    @property
    def looked_at(self) -> tuple[int, ...]:
        """Items, in the order of the row."""
        return self._levels.looked_at

    def looks(self, item: int) -> int:
        """How many there were at an item."""
        return self._levels.looks(item)

    def stretches(self) -> Stretches:
        """Where the change lies: between which two items that were looked at."""
        if self._known is None:
            ends = np.array([*self.looked_at, self.count])
            reached = np.cumsum(self._possible)
            sizes = np.diff(reached[np.concatenate(([0], ends))])
            self._known = Stretches(ends, sizes, *self._judged(sizes))
        return self._known

    def _judged(self, sizes: NDArray[np.int_]) -> tuple[Floats, Floats]:
        """The chances of each stretch for each spread, and how probable the spreads are."""
        with np.errstate(divide="ignore"):
            joint = self._of_one_change() + np.log(sizes)
        if not sizes.any():  # nobody did
            return np.zeros(joint.shape), np.full(SPREADS.size, 1.0 / SPREADS.size)
        totals = log_sum(joint, axis=1)
        weights = totals + self._levels.prior()
        weights = np.exp(weights - weights.max())
        return np.exp(joint - totals[:, None]), weights / weights.sum()

    def _of_one_change(self) -> Floats:
        """log probability of all looks for each spread and stretch; (spreads, items + 1).

        Any two levels are as probable as any others, as long as the last is above the first.
        """
        reached = np.cumsum(self._levels.evidence(), axis=0)  # (items + 2, spreads, levels)
        before, after = reached[:-1], reached[-1] - reached[:-1]
        tops = [side.max(axis=2, keepdims=True) for side in (before, after)]
        low, high = np.exp(before - tops[0]), np.exp(after - tops[1])
        apart = round(LEAST_CHANGE / STEP)
        above = np.cumsum(high[:, :, ::-1], axis=2)[:, :, ::-1][:, :, apart:]
        both = np.maximum((low[:, :, :-apart] * above).sum(axis=2), np.finfo(np.float64).tiny)
        return np.asarray((np.log(both) + tops[0][:, :, 0] + tops[1][:, :, 0]).T)

    def posterior(self) -> Floats:
        """The probability that item 1, 2, ... `count` brought the change; shape (count,)."""
        known = self.stretches()
        chances = known.weights @ known.chances / np.maximum(known.sizes, 1)
        lengths = np.diff(np.concatenate(([0], known.ends)))
        return np.repeat(chances, lengths) * self._possible[1:]

    def _groups_by_spread(self) -> tuple[NDArray[np.int_], NDArray[np.int_], Floats]:
        """First and last of items that no look can tell apart, those that lie between two that can be looked
        at with the one behind them; and of each the chances by spread, (spreads, groups)."""
        known = self.stretches()
        lasts = 1 + np.flatnonzero(self._measurable[1:])
        firsts = np.concatenate(([1], lasts[:-1] + 1))
        reached = np.cumsum(self._possible)
        counts = reached[lasts] - reached[firsts - 1]
        firsts = np.searchsorted(
            reached, reached[firsts - 1], side="right"
        )  # without those that are ruled out
        lasts = np.searchsorted(reached, reached[lasts])
        some = counts > 0
        firsts, lasts, counts = firsts[some], lasts[some], counts[some]
        within = np.searchsorted(known.ends, lasts)
        each = known.chances[:, within] * counts / np.maximum(known.sizes[within], 1)
        return firsts, lasts, each

    def groups(self) -> list[ItemRun]:
        """Items that no look can tell apart, each group with its probability; without those ruled out."""
        firsts, lasts, each = self._groups_by_spread()
        chances = self.stretches().weights @ each
        return [
            ItemRun(first, last, min(chance, 1.0))
            for first, last, chance in zip(firsts.tolist(), lasts.tolist(), chances.tolist(), strict=True)
        ]

    def leading(self) -> ItemRun:
        """The group that most probably brought the change; all with a probability of 0 if nobody did."""
        firsts, lasts, each = self._groups_by_spread()
        if not firsts.size:
            return ItemRun(1, self.count, 0.0)
        chances = self.stretches().weights @ each
        best = int(np.argmax(chances))
        return ItemRun(int(firsts[best]), int(lasts[best]), min(float(chances[best]), 1.0))

    def smallest_set(self, probability: float) -> list[ItemRun]:
        """The fewest items that hold the change with this probability, whichever spread there is of those
        that are not ruled out; neighbours as one run, in order."""
        firsts, lasts, each = self._groups_by_spread()
        if not firsts.size:
            return []
        chosen = np.zeros(firsts.size, dtype=bool)
        chances = self.stretches().weights @ each
        for one in (chances, *each[self._not_ruled_out()]):
            order = np.argsort(-one / (lasts - firsts + 1), kind="stable")
            reached = np.concatenate(([0.0], np.cumsum(one[order])[:-1]))
            chosen[order[reached < probability]] = True
        runs: list[ItemRun] = []
        for place in np.flatnonzero(chosen):
            run = ItemRun(int(firsts[place]), int(lasts[place]), float(chances[place]))
            if runs and runs[-1].last + 1 == run.first:
                before = runs.pop()
                run = ItemRun(before.first, run.last, before.probability + run.probability)
            runs.append(run._replace(probability=min(run.probability, 1.0)))
        return runs

    def changed_by(self, item: int) -> float:
        """The probability that this item, or one before it, brought the change."""
        return float(min(self.posterior()[:item].sum(), 1.0))

    def answer(self) -> ItemRun | None:
        """What brought the change, where that is probable enough, whatever is not ruled out."""
        leading = self.leading()
        if self._only(leading):
            return leading
        known = leading.probability >= self.probability and self._unconfirmed(leading) is None
        return leading if known and not self._in_doubt(leading) else None

    @property
    def too_scattered(self) -> bool:
        """Whether somebody leads, but may do so only because items scatter less than they may."""
        leading = self.leading()
        return leading.probability >= 0.5 and self._in_doubt(leading)

    def _not_ruled_out(self) -> NDArray[np.bool_]:
        """Spreads up to the first beyond which there are only improbable ones."""
        weights = self.stretches().weights
        return np.asarray(np.cumsum(weights[::-1])[::-1] >= RULED_OUT)

    def _in_doubt(self, run: ItemRun) -> bool:
        """Whether there is a spread that may be, with which the run is not probable enough."""
        if not self.looked_at:  # nothing to be seen of it, and one answer alone
            return False
        return bool((self._chances_of(run) < self.probability)[self._not_ruled_out()].any())

    def _chances_of(self, run: ItemRun) -> Floats:
        """By spread."""
        firsts, _, each = self._groups_by_spread()
        return each[:, int(np.searchsorted(firsts, run.first))]

    def _unconfirmed(self, run: ItemRun) -> int | None:
        """An item that has to be looked at before the run is believed."""
        inner = self._inner()
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

    def _telling_of_spread(self, run: ItemRun) -> int | None:
        """An item that tells how items scatter, near the run; None where that would not help."""
        if not self._in_doubt(run):
            return None
        if self._hopeless(self._chances_of(run) < self.probability):
            return None
        middle = (run.first - 1 + run.last) / 2.0
        near = sorted(self._inner().tolist(), key=lambda item: abs(item - middle))
        before = [item for item in near if item < run.first][:1]
        border = before + [item for item in near if item >= run.last][:1]
        for items, error in (
            (border, BORDER_KNOWN),
            (near[:FEW_FOR_SPREAD], KNOWN_WELL),
            (border, BORDER_KNOWN_WELL),
            (near[:MANY_FOR_SPREAD], KNOWN_WELL),
            (near[:FEW_FOR_SPREAD], BORDER_KNOWN),
            (near[:FEW_FOR_SPREAD], BORDER_KNOWN_WELL),
            (near[:MOST_FOR_SPREAD], KNOWN_WELL),
        ):
            fewest = (self._levels.noise / error) ** 2
            if short := [item for item in items if self.looks(item) < fewest]:
                return int(short[0])
        return None

    def _hopeless(self, spreads: NDArray[np.bool_]) -> bool:
        """Whether items scatter by one of these, as far as can be seen."""
        enough = len(self.looked_at) >= FEWEST_FOR_HOPELESS
        return enough and bool(self.stretches().weights[spreads].sum() > HOPELESS)

    def next_item(self) -> int | None:
        """Where to look next; None where there is an answer, or no look would tell more."""
        leading = self.leading()
        if self.nobody or self._only(leading) or self._hopeless(SPREADS >= NEVER_TOLD):
            return None
        if leading.probability >= self.probability:
            unconfirmed = self._unconfirmed(leading)
            return unconfirmed if unconfirmed is not None else self._telling_of_spread(leading)
        if self.looked_at and self._chances_of(leading).max() >= self.probability:  # if items scatter little
            telling = self._telling_of_spread(leading)
            return telling if telling is not None else self._most_telling()
        return self._most_telling()

    def _most_telling(self) -> int | None:
        """By the bits that a look is expected to tell."""
        reached = np.concatenate(([0.0], np.cumsum(self.posterior())))  # by item: changed by then
        known = [item for item in self.looked_at if self._measurable[item]]
        new = self._best_new(known, reached)
        if not known and not new:
            return None
        before, after = self._levels_of_sides()
        likelihoods = [self._levels.likelihood(item) for item in known]
        rows = [np.exp(each - each.max()) for each in likelihoods]
        rows += [np.ones_like(before)] * len(new)
        items = np.array(known + new)
        gains = self._gains(np.array(rows), before, after, reached[items])
        median = self._gains(np.ones((1, before.size)), before, after, np.array([0.5]))[0]
        if gains.max() < NOTHING_MORE * median:
            return None
        gains[: len(known)] *= WORTH_A_NEW_ONE
        return int(items[np.argmax(gains)])

    def looks_at_once(self) -> int:
        """How many looks at an item to make before asking again: more of noisy ones, and after many."""
        wanted = max(self._levels.noise**2, self._levels.all_looks * AT_ONCE_SHARE)
        return int(np.clip(np.ceil(wanted), 1, MOST_LOOKS))

    def _best_new(self, known: Iterable[int], reached: Floats) -> list[int]:
        """Of each stretch between items that were looked at, the one that halves the posterior best."""
        edges = [0, *known, self.count]
        found = []
        for left, right in pairwise(edges):
            inner = left + 1 + np.flatnonzero(self._measurable[left + 1 : right])
            if inner.size and reached[right] > reached[left]:
                found.append(int(inner[np.argmin(np.abs(reached[inner] - 0.5))]))
        return found

    def _levels_of_sides(self) -> tuple[Floats, Floats]:
        """Where an item before the change, and one behind it, lies: two distributions over the grid."""
        known = self.stretches()
        reached = np.cumsum(self._levels.evidence(), axis=0)
        joint = (known.chances * known.weights[:, None]).T[:, :, None]  # (stretches, spreads, 1)
        told = []
        for side in (reached[:-1], reached[-1] - reached[:-1]):
            levels = np.exp(side - side.max(axis=2, keepdims=True))
            levels *= joint / levels.sum(axis=2, keepdims=True)
            told.append(np.einsum("sl,slw->w", levels.sum(axis=0), self._levels.about))
        return told[0] / told[0].sum(), told[1] / told[1].sum()

    def _gains(self, likelihoods: Floats, before: Floats, after: Floats, changed: Floats) -> Floats:
        """Expected bits of one more look at items, each with what is known of where it lies.

        `likelihoods` has shape (items, grid), `changed` is the probability that an item has the change.
        """
        grid, noise = self._levels.grid, self._levels.noise
        seen = np.linspace(grid[0] - 4.0 * noise, grid[-1] + 4.0 * noise, 121)
        kernel = (1.0 + ((grid[:, None] - seen) / noise) ** 2 / FREEDOM) ** (-(FREEDOM + 1.0) / 2.0)
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
