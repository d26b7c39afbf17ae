"""Which items of a row brought a change, where several did: the same looks and levels as a bisection's.

The row is cut into pieces, each at a level of its own, and an item lies about the level of its piece with
the spread of all items (`tollbench.stats.item_levels`). Between two neighbours among the items that were
looked at there is a change or none: how probable it is, over all ways to cut the row and all spreads, is
summed exactly, from both ends to the middle (Fearnhead, Exact and efficient Bayesian inference for multiple
changepoint problems, Statistics and Computing 2006). Beforehand each item is as likely as any other to have
brought one, and `EXPECTED` are expected in the row. Levels have a uniform prior over the grid, so that a cut
that is not needed is improbable.

Changes that cancel between two neighbours, of which nothing is seen at either, are not looked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.bisection import Bisection, ItemRun
from tollbench.stats.item_levels import log_sum
from tollbench.stats.order_statistics import Floats

EXPECTED = 2.0  # changes in the row
MOST_EACH = 0.5  # what is expected of one item
WORTH_A_LOOK = 0.02  # the chance of a stretch, below which nothing is looked for in it
MOST_AGAIN = 4.0  # looks at an item, in those that make it known well: more tell no more of a stretch


class SeveralChanges(Bisection):
    """The search for all of them; `found` and `open_runs` take the place of one answer."""

    reach = 4.0  # levels in between may lie beyond both ends

    def _judged(self, sizes: NDArray[np.int_]) -> tuple[Floats, Floats]:
        evidence = self._levels.evidence()  # (items + 2, spreads, levels)
        each = min(MOST_EACH, EXPECTED / self.count)
        changed = 1.0 - (1.0 - each) ** sizes
        with np.errstate(divide="ignore"):
            cut, uncut = np.log(changed), np.log1p(-changed)
        pieces = _pieces(evidence, uncut)
        forward = _reached(pieces, cut)  # items 0 to j, and a piece that ends with j
        backward = _reached(pieces[:, ::-1, ::-1].swapaxes(1, 2), cut[::-1])[:, ::-1]
        whole = forward[:, -1:]
        chances = np.exp(np.minimum(forward[:, :-1] + cut + backward[:, 1:] - whole, 0.0))
        weights = whole[:, 0] + self._levels.prior()
        weights = np.exp(weights - weights.max())
        return chances, weights / weights.sum()

    def changed_by(self, item: int) -> float:
        """The probability that this item, or one before it, brought a change."""
        known = self.stretches()
        chances = known.weights @ known.chances
        within = int(np.searchsorted(known.ends, item))
        whole = float(np.prod(1.0 - chances[:within]))
        return 1.0 - whole * (1.0 - float(self.posterior()[:item][self._stretch_of(within)[:item]].sum()))

    def _stretch_of(self, number: int) -> NDArray[np.bool_]:
        """Which items from 1 on lie in a stretch."""
        ends = self.stretches().ends
        before = int(ends[number - 1]) if number else 0
        places = np.arange(1, self.count + 1)
        return np.asarray((places > before) & (places <= ends[number]))

    def found(self) -> list[ItemRun]:
        """What each brought a change: probable enough, whatever is not ruled out, and confirmed."""
        return [run for run in self._likely() if self._is_known(run)]

    def open_runs(self) -> list[ItemRun]:
        """Where there may be others: one probable enough that saying nothing of it would be wrong."""
        known = {run[:2] for run in self.found()}
        chances = 1.0 - self.probability
        told = []
        stretches = self.stretches()
        for left, right, chance in zip(
            [0, *stretches.ends[:-1].tolist()],
            stretches.ends.tolist(),
            (stretches.weights @ stretches.chances).tolist(),
            strict=True,
        ):
            inner = [run for run in self.groups() if left < run.first and run.last <= right]
            if chance > chances and inner and not any(run[:2] in known for run in inner):
                told.append(ItemRun(inner[0].first, inner[-1].last, min(chance, 1.0)))
        return told

    def no_other(self) -> float:
        """The probability that nothing else in the row changed it, as far as stretches are independent."""
        stretches = self.stretches()
        chances = stretches.weights @ stretches.chances
        known = {int(np.searchsorted(stretches.ends, run.last)) for run in self.found()}
        others = [chance for place, chance in enumerate(chances.tolist()) if place not in known]
        return float(np.prod(1.0 - np.minimum(others, 1.0)))

    def answer(self) -> ItemRun | None:
        """None: there is more than one, see `found`."""
        return None

    def next_item(self) -> int | None:
        """Where to look next: in the stretch that is most likely to hold a change that is not yet known."""
        stretches = self.stretches()
        chances = stretches.weights @ stretches.chances
        edges = np.concatenate(([0], stretches.ends))
        for place in np.argsort(-chances, kind="stable"):
            if chances[place] < WORTH_A_LOOK:
                break
            left, right = int(edges[place]), int(edges[place + 1])
            if (item := self._in_stretch(left, right)) is not None:
                return item
        return None

    def _likely(self) -> list[ItemRun]:
        return [run for run in self.groups() if run.probability >= self.probability]

    def _is_known(self, run: ItemRun) -> bool:
        return self._unconfirmed(run) is None and not self._in_doubt(run)

    def _in_stretch(self, left: int, right: int) -> int | None:
        """Its middle; where it has none, what makes its neighbours known better."""
        inner = left + 1 + np.flatnonzero(self._measurable[left + 1 : right])
        if inner.size:
            reached = np.cumsum(self._possible)
            halves = np.abs(reached[inner] - (reached[left] + reached[right]) / 2.0)
            return int(inner[np.argmin(halves)])
        run = next((one for one in self.groups() if left < one.first and one.last <= right), None)
        if run is None:
            return None
        if run.probability >= self.probability:
            unconfirmed = self._unconfirmed(run)
            return unconfirmed if unconfirmed is not None else self._telling_of_spread(run)
        enough = MOST_AGAIN * max(1.0, (self._levels.noise / 0.3) ** 2)
        near = [item for item in (left, right) if 0 < item < self.count]
        short = [item for item in near if self.looks(item) < enough]
        if short:
            return min(short, key=self.looks)
        return self._telling_of_spread(run)


def _pieces(evidence: Floats, uncut: Floats) -> Floats:
    """log probability of items i to j at one level, with no change in between; (spreads, i, j), -inf for i
    behind j."""
    count, spreads, levels = evidence.shape
    reached = np.concatenate((np.zeros((1, spreads, levels)), np.cumsum(evidence, axis=0)))
    whole = np.concatenate(([0.0], np.cumsum(uncut)))
    found = np.full((spreads, count, count), -np.inf)
    for first in range(count):
        each = log_sum(reached[first + 1 :] - reached[first], axis=2) - np.log(levels)
        found[:, first, first:] = (each + (whole[first:] - whole[first])[:, None]).T
    return found


def _reached(pieces: Floats, cut: Floats) -> Floats:
    """log probability of items 0 to j, cut anyhow, with a cut or the end behind j; (spreads, items)."""
    spreads, count, _ = pieces.shape
    found = np.zeros((spreads, count))
    for last in range(count):
        ways = pieces[:, : last + 1, last].copy()
        ways[:, 1:] += found[:, :last] + cut[:last]
        found[:, last] = log_sum(ways, axis=1)
    return found
