"""Verdicts that contradict each other: of many tables, in some A is faster than B and in others slower.

Where the truth is the same everywhere, a few of many tables say the contrary by chance. How many, is bounded
by the level of their intervals alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tollbench.stats.order_statistics import Floats, quantile_ranks


def signs_of_many(logs: Floats, level: float) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Which pairs of columns differ within rounds, and to which side, in each of several tables.

    `logs` has shape (tables, rounds, cases), log values, NaN where a round lacks a case; `level` is that of
    one pair's interval, corrected already. Returns signs of shape (tables, cases, cases): 1 where the first
    (row) is above the second (column), -1 where it is below, 0 where they are not told apart; and whether the
    pair had enough rounds to be judged. The interval is that of `ratio_interval`; a 0 never says "equal".
    """
    tables, _, cases = logs.shape
    signs = np.zeros((tables, cases, cases), dtype=np.int8)
    judged = np.zeros((tables, cases, cases), dtype=bool)
    for i in range(1, cases):  # each column against all before it at once
        differences = logs[:, :, [i]] - logs[:, :, :i]
        known = np.isfinite(differences)
        pairs = known.sum(axis=1)
        ordered = np.sort(np.where(known, differences, np.inf), axis=1)
        for number in np.unique(pairs).tolist():
            ranks = quantile_ranks(number, 0.5, level)
            if ranks is None:
                continue
            lower, upper, _ = ranks
            these = pairs == number
            low, high = ordered[:, lower - 1, :], ordered[:, upper - 1, :]
            told = np.where(low > 0.0, 1, np.where(high < 0.0, -1, 0)).astype(np.int8)
            judged[:, i, :i] |= these
            signs[:, i, :i] = np.where(these, told, signs[:, i, :i])
    # Mirrored: what is above from one side is below from the other.
    return signs - signs.swapaxes(1, 2), judged | judged.swapaxes(1, 2)


def contrary_by_chance(above: int, below: int, tables: int, level: float) -> float:
    """Probability that so many tables contradict the others where in truth none does.

    Of `tables` independent ones `above` tell the first to be slower and `below` to be faster, each by an
    interval at `level` (0.5 to 1). If the true ratio is on the same side, or 1, in all of them, each tells
    the other side with a probability of (1 - level) / 2 at most, so that the smaller of both counts is at
    most binomial. An exact bound; 1 where one count is 0. A qualitative interaction in the sense of Gail and
    Simon 1985, tested by counts alone.
    """
    from scipy.special import bdtrc

    fewer = min(above, below)
    return 1.0 if fewer == 0 else float(bdtrc(fewer - 1, tables, (1.0 - level) / 2.0))
