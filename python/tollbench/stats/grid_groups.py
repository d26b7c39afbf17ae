"""Groups of CPUs found from their latencies alone: hyperthreads, core complexes, sockets.

Nothing here is told how the machine is built. A level is a partition into groups whose cells differ from the
cells between groups. It is believed when three things hold together (`_Cut`): the cells inside and those
between groups leave a gap that is wide beside the noise; hardly any cell between groups looks like one
inside (a mesh, where distance grows smoothly, fails here); and as many low cells, placed at random, would
hardly ever form complete groups (a few lucky cells fail here).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.order_statistics import Floats

FEWEST_CPUS = 3  # two CPUs have one cell between them: nothing to tell apart
OUTLIERS = 0.1  # share of the cells on either side of a gap that may lie wrong
LOOKALIKES = 0.15  # share of the cells as good as those inside that may lie between groups
CHANCE = 0.05  # probability that random cells would form such groups
GAP = 3.0  # in units of the noise
LONE_GAP = 8.0  # where there are too few CPUs for `CHANCE` to decide,
LONE_RATIO = 1.3  # and at least this factor
LEAST_RATIO = 1.04  # a smaller difference is none that anybody needs to know
LEAST_NOISE = 0.005  # no clock measures better than this
_CANDIDATES = 24

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """One way in which the CPUs fall into groups. `inside` and `across` are in the unit of the grid.

    `groups` are those that this level adds, and those as large that were there before: two or more members
    each, ascending, ordered by their first. No group stands at two levels. CPUs that it puts in none are
    `others`. `inside` is the median of the cells within these groups that no finer level explains; `across`
    that of the cells from a group to what the next coarser level joins it to.
    """

    groups: tuple[Group, ...]
    others: Group
    inside: float
    across: float


@dataclass(frozen=True, slots=True)
class Clusters:
    """The levels, coarsest first; none where the grid is flat. `middle` is the median of all cells."""

    levels: tuple[Level, ...]
    middle: float
    low: float  # a tenth of the cells is lower,
    high: float  # a tenth higher


def find_clusters(grid: NDArray[np.float64]) -> Clusters | None:
    """Groups of the CPUs of `grid`, shape (n, n), positive, NaN where not measured; the diagonal is ignored.

    The two directions of a pair are averaged (of their logarithms); one of them is enough. None where
    nothing was measured. The result does not depend on how the CPUs are numbered, besides the names in it.
    """
    matrix = symmetric_log(grid)
    cells = matrix[np.triu_indices(len(matrix), 1)]
    cells = cells[np.isfinite(cells)]
    if not cells.size:
        return None
    labellings = _labellings(matrix, max(_noise(matrix), _disagreement(grid)))
    low, middle, high = np.exp(np.quantile(cells, (0.1, 0.5, 0.9)))
    return Clusters(tuple(_levels(matrix, labellings)), float(middle), float(low), float(high))


def symmetric_log(grid: NDArray[np.float64]) -> Floats:
    """The logarithm of a grid, shape (n, n), both directions of a pair averaged, NaN on the diagonal."""
    values = np.where(np.isfinite(grid) & (grid > 0), grid, np.nan)
    np.fill_diagonal(values, np.nan)
    logs = np.stack([np.log(values), np.log(values).T])
    known = np.isfinite(logs)
    count = known.sum(axis=0)
    total = np.where(known, logs, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _labellings(matrix: Floats, noise: float) -> list[NDArray[np.int64]]:
    """Every believed partition as one label a row of `matrix`, finest first."""
    count = len(matrix)
    if count < FEWEST_CPUS:
        return []
    labels = _best_cut(matrix, noise)
    if labels is None:  # some cores are slower among themselves than to others: small cores behind one port
        labels = _best_cut(-matrix, noise)
        if labels is None or _groups(labels) < 2:
            return []
    inside = np.where(labels[:, None] == labels[None, :], matrix, np.nan)
    coarser = _labellings(_between(matrix, labels), noise)
    finer = _finer(inside, labels, max(noise, *_noise_within(matrix, labels)))
    return [*finer, labels, *(outer[labels] for outer in coarser)]


def _noise_within(matrix: Floats, labels: NDArray[np.int64]) -> list[float]:
    """The noise within each group that has enough members: one die may be used by others, and be noisier."""
    members = [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]
    return [0.0, *(_noise(matrix[np.ix_(each, each)]) for each in members if each.size > FEWEST_CPUS)]


def _finer(inside: Floats, labels: NDArray[np.int64], noise: float) -> list[NDArray[np.int64]]:
    """Levels within the groups of `labels`: the cells between them are unknown in `inside`."""
    cut = _best_cut(inside, noise, labels)
    if cut is None:
        return []
    between = np.where((cut[:, None] != cut[None, :]), inside, np.nan)
    within = np.where((cut[:, None] == cut[None, :]), inside, np.nan)
    middle = _between(between, cut)
    outer = np.array([labels[cut == group][0] for group in range(cut.max() + 1)])
    return [*_finer(within, cut, noise), cut, *(found[cut] for found in _finer(middle, outer, noise))]


def _best_cut(
    matrix: Floats, noise: float, parents: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """The believed cut of the dendrogram with the widest gap between heights, as labels; None for none."""
    merges = _average_linkage(matrix)
    heights = np.array([height for _, _, height in merges])
    steps = np.diff(heights)
    chosen = np.argsort(-steps, kind="stable")[:_CANDIDATES]
    parents = np.zeros(len(matrix), dtype=np.int64) if parents is None else parents
    for step in chosen:
        if steps[step] < math.log(LEAST_RATIO) / 2:
            return None
        labels = _labels(len(matrix), merges[: int(step) + 1])
        if _Cut(matrix, labels, parents).believed(noise):
            return labels
    return None


class _Cut:
    """The evidence for one partition: cells within its groups against cells between them."""

    def __init__(self, matrix: Floats, labels: NDArray[np.int64], parents: NDArray[np.int64]) -> None:
        rows, columns = np.triu_indices(len(matrix), 1)
        values = matrix[rows, columns]
        known = np.isfinite(values)
        same = labels[rows] == labels[columns]
        self.within: Floats = values[known & same]
        self.across: Floats = values[known & ~same]
        self._labels, self._parents = labels, parents

    def believed(self, noise: float) -> bool:
        if not self.within.size or not self.across.size:
            return False
        top = float(np.quantile(self.within, 1 - OUTLIERS, method="lower"))
        bottom = float(np.quantile(self.across, OUTLIERS, method="higher"))
        gap = bottom - top
        if gap < math.log(LEAST_RATIO) or gap < GAP * noise:
            return False
        lookalikes = int(np.sum(self.across < (top + bottom) / 2))
        if lookalikes > LOOKALIKES * self.within.size:
            return False
        # A single CPU that is slow to all others makes "the others" a group too: that needs more.
        if _groups(self._labels) < 2 and gap < math.log(LONE_RATIO):
            return False
        if self._log_chance((top + bottom) / 2) <= math.log(CHANCE):
            return True
        few = len(self._labels) <= FEWEST_CPUS + 1
        return few and gap >= LONE_GAP * noise and gap >= math.log(LONE_RATIO)

    def _log_chance(self, border: float) -> float:
        """Log of a bound on the probability that random cells below `border` would fill such groups as well.

        The number of ways to form groups of these sizes, times the hypergeometric probability that as many of
        the cells within them are low as were seen.
        """
        ways = 0.0
        shapes: Counter[tuple[int, ...]] = Counter()
        for parent in np.unique(self._parents):
            sizes = np.unique(self._labels[self._parents == parent], return_counts=True)[1]
            shapes[tuple(sorted(sizes.tolist()))] += 1
            ways += _log_ways(sizes.tolist())
        alike = Counter(sum(shape) for shape in shapes.elements())
        ways += sum(map(_log_factorial, alike.values())) - sum(map(_log_factorial, shapes.values()))
        inside, low_inside = self.within.size, int(np.sum(self.within < border))
        outside, low_outside = self.across.size, int(np.sum(self.across < border))
        placed = _log_choices(inside, low_inside) + _log_choices(outside, low_outside)
        return ways + placed - _log_choices(inside + outside, low_inside + low_outside)


def _groups(labels: NDArray[np.int64]) -> int:
    """How many groups have two or more members."""
    return int(np.sum(np.bincount(labels) > 1))


def _log_ways(sizes: Sequence[int]) -> float:
    """Log of the number of ways in which that many members fall into groups of these sizes."""
    ways = _log_factorial(sum(sizes)) - sum(map(_log_factorial, sizes))
    return ways - sum(map(_log_factorial, Counter(sizes).values()))


def _log_choices(total: int, chosen: int) -> float:
    return _log_factorial(total) - _log_factorial(chosen) - _log_factorial(total - chosen)


def _log_factorial(number: int) -> float:
    return math.lgamma(number + 1)


def _average_linkage(matrix: Floats) -> list[tuple[int, int, float]]:
    """Merges (kept row, absorbed row, height) by average linkage (UPGMA), heights ascending.

    SciPy's linkage takes no missing cells; here a pair of clusters is as far apart as the mean of the cells
    known between them, and clusters without any are never merged.
    """
    known = np.isfinite(matrix)
    total, count = np.where(known, matrix, 0.0), known.astype(np.float64)
    distance = np.where(known, matrix, np.inf)
    np.fill_diagonal(distance, np.inf)
    merges: list[tuple[int, int, float]] = []
    for _ in range(len(matrix) - 1):
        first, second = divmod(int(np.argmin(distance)), len(matrix))
        height = float(distance[first, second])
        if not math.isfinite(height):
            break
        merges.append((first, second, max(height, merges[-1][2]) if merges else height))
        total[first] += total[second]
        count[first] += count[second]
        row = np.where(count[first] > 0, total[first] / np.maximum(count[first], 1), np.inf)
        row = np.where(np.isfinite(distance[first]) | np.isfinite(distance[second]), row, np.inf)
        row[[first, second]] = np.inf
        total[:, first], count[:, first] = total[first], count[first]
        distance[first], distance[:, first] = row, row
        distance[second], distance[:, second] = np.inf, np.inf
    return merges


def _labels(count: int, merges: Iterable[tuple[int, int, float]]) -> NDArray[np.int64]:
    """The group of each row after the merges, groups numbered by their first member."""
    owner = np.arange(count)
    for kept, absorbed, _ in merges:
        owner[owner == owner[absorbed]] = owner[kept]
    _, first, labels = np.unique(owner, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[labels]


def _between(matrix: Floats, labels: NDArray[np.int64]) -> Floats:
    """The median of the cells between each two groups, shape (groups, groups): outliers drop out here."""
    groups = int(labels.max()) + 1
    members = [np.flatnonzero(labels == group) for group in range(groups)]
    between = np.full((groups, groups), np.nan)
    for a in range(groups):
        for b in range(a + 1, groups):
            cells = matrix[np.ix_(members[a], members[b])]
            cells = cells[np.isfinite(cells)]
            if cells.size:
                between[a, b] = between[b, a] = np.median(cells)
    return between


def _noise(matrix: Floats) -> float:
    """The standard deviation of one cell's logarithm, from each CPU and the CPU most like it.

    Two CPUs of one group see all others alike but for noise: the median difference of their rows is
    0.954 standard deviations of a cell. The structure of the machine drops out, whatever it is.
    """
    found: list[float] = []
    for row in matrix:
        difference = np.abs(matrix - row)
        known = np.isfinite(difference)
        rows = difference[known.sum(axis=1) >= max(1, min(3, len(matrix) - 2))]
        if len(rows) > 1:
            found.append(
                float(np.partition(np.nanmedian(rows, axis=1), 1)[1])
            )  # the nearest is the row itself
    return max(LEAST_NOISE, float(np.median(found)) / 0.954) if found else LEAST_NOISE


def _disagreement(grid: NDArray[np.float64]) -> float:
    """The same from the two directions of each pair, as far as both were measured; of their mean."""
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.log(grid / grid.T)[np.triu_indices(len(grid), 1)]
    known = np.abs(difference[np.isfinite(difference)])
    return float(np.median(known)) / 0.954 / math.sqrt(2.0) if known.size else 0.0


def _levels(matrix: Floats, labellings: Sequence[NDArray[np.int64]]) -> list[Level]:
    """One Level a labelling (finest first), with the groups that it adds; coarsest first.

    A group stands at the coarsest level that adds one of its size: equal dies are named alike, though one of
    them was found at a finer level, as it was quieter or has no pairs of its own.
    """
    count = len(matrix)
    partitions = [
        _members(labels) for labels in (np.arange(count), *labellings, np.zeros(count, dtype=np.int64))
    ]
    since = {group: at for at in range(len(partitions) - 1, -1, -1) for group in partitions[at]}
    listed: set[Group] = set()
    levels: list[Level] = []
    for number in range(len(labellings), 0, -1):
        added = [group for group in partitions[number] if since[group] == number]
        sizes = {len(group) for group in added if len(group) > 1}
        groups = [group for group in partitions[number] if len(group) in sizes and group not in listed]
        inside, across = (
            _median(matrix, cells)
            for cells in (
                _within(count, groups) & ~_explained(count, groups, partitions, since),
                _around(count, groups, partitions[number + 1 :]),
            )
        )
        if groups and inside is not None and across is not None:
            listed |= set(groups)
            rest = sorted(set(range(count)) - {cpu for group in groups for cpu in group})
            levels.append(Level(tuple(sorted(groups)), tuple(rest), inside, across))
    return levels


def _members(labels: NDArray[np.int64]) -> list[Group]:
    return [tuple(np.flatnonzero(labels == group).tolist()) for group in np.unique(labels)]


def _within(count: int, groups: Iterable[Group]) -> NDArray[np.bool_]:
    """The cells that lie within one of `groups`."""
    chosen: NDArray[np.bool_] = np.zeros((count, count), dtype=np.bool_)
    for group in groups:
        chosen[np.ix_(group, group)] = True
    return chosen


def _explained(
    count: int, groups: Iterable[Group], partitions: Sequence[Sequence[Group]], since: dict[Group, int]
) -> NDArray[np.bool_]:
    """The cells of `groups` that lie within a group of what each of them was put together from."""
    chosen: NDArray[np.bool_] = np.zeros((count, count), dtype=np.bool_)
    for group in groups:
        parts = (part for part in partitions[since[group] - 1] if set(part) <= set(group))
        chosen |= _within(count, parts)
    return chosen


def _around(count: int, groups: Iterable[Group], coarser: Sequence[Sequence[Group]]) -> NDArray[np.bool_]:
    """The cells from each of `groups` to what the next coarser partition joins to it."""
    chosen: NDArray[np.bool_] = np.zeros((count, count), dtype=np.bool_)
    for group in groups:
        larger = (whole for partition in coarser for whole in partition if set(group) < set(whole))
        joined = next(larger, None)
        if joined is not None:
            chosen[np.ix_(group, sorted(set(joined) - set(group)))] = True
    return chosen


def _same(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray(labels[:, None] == labels[None, :])


def _median(matrix: Floats, chosen: NDArray[np.bool_]) -> float | None:
    cells = matrix[chosen & np.isfinite(matrix)]
    return float(np.exp(np.median(cells))) if cells.size else None
