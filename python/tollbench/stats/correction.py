"""What many comparisons in one table cost, and which rows could not be told apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tollbench.stats.order_statistics import Floats

MOST_GROUPS = 400


def bonferroni(level: float, comparisons: int) -> float:
    """Level of each interval so that all `comparisons` hold together with probability >= `level`.

    Assumption: none, whatever the dependence between the comparisons. A table compares with its
    fastest row, which the data chose; only all pairs, rows * (rows - 1) / 2, keep the promise
    whichever row that is. Source: Dunn (1961).
    """
    return 1.0 - (1.0 - level) / max(1, comparisons)


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p-values, shape as given, in [0, 1], for any dependence between the comparisons.

    Rejecting those <= alpha raises any false alarm at all with probability <= alpha. Never weaker than
    Bonferroni, but it has no simultaneous intervals; tables use intervals.
    Source: Holm (1979).
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (p.size - np.arange(p.size)))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def letters(apart: NDArray[np.bool_]) -> list[list[str]]:
    """Compact letter display: two rows share a letter exactly where they could not be told apart.

    `apart` is symmetric, shape (rows, rows), True where a corrected comparison separated the two.
    Each row gets one letter or more; "a" goes to the group of the first row. More than 26 groups
    go on with "aa", "ab". Sharing a letter says "no difference resolved", never "equal".
    A pattern that takes more than 400 groups gets no letters (each row's list is empty): nobody could read
    them, and their number may grow as 3**(rows / 3).
    Source: the insert-and-absorb algorithm of Piepho (2004), J. Comput. Graph. Stat. 13, 456-466.
    """
    rows = apart.shape[0]
    groups = [(1 << rows) - 1] if rows else []  # a group is a set of rows: bit i is row i
    for i in range(rows):
        for j in range(i):
            if apart[i, j]:
                groups = _insert_and_absorb(groups, 1 << i, 1 << j)
                if len(groups) > MOST_GROUPS:
                    return [[] for _ in range(rows)]
    members = sorted([row for row in range(rows) if group >> row & 1] for group in groups)
    names: list[list[str]] = [[] for _ in range(rows)]
    for index, group in enumerate(members):
        for row in group:
            names[row].append(_letter(index))
    return names


def _insert_and_absorb(groups: list[int], one: int, other: int) -> list[int]:
    """Split each group that holds both rows; drop halves that lie within a group.

    Groups that are not split lay within no other before, so they lie within no half either.
    """
    both = one | other
    kept = [group for group in groups if group & both != both]
    halves = {group & ~row for group in groups if group & both == both for row in (one, other)}
    for half in sorted(halves, key=int.bit_count, reverse=True):
        if all(half & ~group for group in kept):
            kept.append(half)
    return kept


def _letter(index: int) -> str:
    name = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        name = chr(ord("a") + digit) + name
    return name
