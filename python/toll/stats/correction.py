"""What many comparisons in one table cost, and which rows could not be told apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toll.stats.order import Floats


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
    Source: the insert-and-absorb algorithm of Piepho (2004), J. Comput. Graph. Stat. 13, 456-466.
    """
    rows = apart.shape[0]
    groups: list[frozenset[int]] = [frozenset(range(rows))] if rows else []
    for i in range(rows):
        for j in range(i):
            if apart[i, j]:
                groups = _absorb(_insert(groups, i, j))
    groups.sort(key=lambda group: sorted(group))
    named = [(_letter(index), group) for index, group in enumerate(groups)]
    return [[name for name, group in named if row in group] for row in range(rows)]


def _insert(groups: list[frozenset[int]], i: int, j: int) -> list[frozenset[int]]:
    """Split each group that holds both i and j into one without i and one without j."""
    out: list[frozenset[int]] = []
    for group in groups:
        out += [group - {i}, group - {j}] if i in group and j in group else [group]
    return out


def _absorb(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Drop groups that lie within another one."""
    unique = sorted(set(groups), key=lambda group: (-len(group), sorted(group)))
    kept: list[frozenset[int]] = []
    for group in unique:
        if not any(group <= other for other in kept):
            kept.append(group)
    return kept


def _letter(index: int) -> str:
    name = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        name = chr(ord("a") + digit) + name
    return name
