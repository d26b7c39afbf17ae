"""What the blocks of a launch say in which several programs took turns: pure functions on arrays.

Arrays have the shape (blocks, sides in order).
"""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from tollbench.launching.calibrating import FEWEST_BLOCKS
from tollbench.words import Batch

_WAITED_MORE = 0.05  # of a batch's time; a time slice of somebody else is several times as long as it
_FEWEST_OF_AN_ORDER = 3  # blocks; a median of fewer is at the mercy of one


def combined(blocks: NDArray[np.float64], places: NDArray[np.int64]) -> list[float]:
    """One value a side from blocks of shape (blocks, sides), ns; `places` says who was asked when.

    Ratios to the first side are medians of the blocks' ratios: of those in which it was asked before the
    other and of those in which it was asked after it, so that what being first does cancels in their mean.
    """
    logs = np.log(blocks)
    first = float(np.median(logs[:, 0]))
    return [
        math.exp(first + _balanced_median(logs[:, side] - logs[:, 0], places[:, side] < places[:, 0]))
        for side in range(logs.shape[1])
    ]


def ratios_after_first(
    blocks: NDArray[np.float64], places: NDArray[np.int64]
) -> dict[tuple[int, int], float]:
    """Of any two sides after the first, b over a, in the same way; by their places among the columns.

    Their `combined` values differ by as much and by what the first side scatters besides: a median of
    differences from a third one is no median of their own difference.
    """
    logs = np.log(blocks)
    return {
        (a, b): math.exp(_balanced_median(logs[:, b] - logs[:, a], places[:, b] < places[:, a]))
        for a, b in combinations(range(1, logs.shape[1]), 2)
    }


def _balanced_median(values: NDArray[np.float64], early: NDArray[np.bool_]) -> float:
    """The mean of the medians of both groups; of all values where one group has next to none."""
    groups = [values[early], values[~early]]
    if min(group.size for group in groups) < _FEWEST_OF_AN_ORDER:
        return float(np.median(values))
    return fmean(float(np.median(group)) for group in groups)


def forced(waited: NDArray[np.float64], switches: NDArray[np.float64]) -> NDArray[np.float64]:
    """`waited` without what a side may have waited by itself; shape (blocks, sides), as `switches` has.

    Where a program gave the processor back more often than in its calmest block, it went to sleep, and that
    is time of its own: a lock that is held longer now must not be left out. Such a block counts as its best.
    """
    own = switches > switches.min(axis=0)
    return np.where(own, waited.min(axis=0), waited)


def undisturbed(waited: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which blocks no side had to wait in for a processor that somebody else had; shape (blocks,).

    A side's own waiting is what it does in its best block. Where fewer than four blocks were left alone, the
    four that were left alone most. Whoever took the processor did not look which side was running: it was no
    side, as those that work out of turn are halted (`tollbench.launching.turns`).
    """
    more = (waited - waited.min(axis=0)).max(axis=1)
    fewest = min(FEWEST_BLOCKS, more.size)
    kept: NDArray[np.bool_] = more <= max(_WAITED_MORE, float(np.sort(more)[fewest - 1]))
    return kept


def waiting_share(batch: Batch) -> float:
    """Of a batch's time, what passed without CPU time; 0 for a program with several threads at work."""
    return max(0.0, 1.0 - batch.cpu_ns / batch.wall_ns) if batch.wall_ns > 0 else 0.0
