"""Stop when precise enough, without losing coverage by having looked.

A run may look at its intervals only when the number of rounds is on a fixed schedule: 12, 18, 27,
41, 62 ..., each 1.5 times the one before. Look k may err with probability alpha / (k (k + 1)); these
add up to alpha over any number of looks, so by the union bound all looks together err with at most
alpha, for any data and whatever made the run stop. A run that ends elsewhere (its budget is spent)
gives all that is left, alpha / (looks made + 1), to its last interval.
Source: alpha spending as in Lan and DeMets (1983); the series as in Darling and Robbins (1967).
"""

from __future__ import annotations

import math

import numpy as np

from tollbench.stats.correction import bonferroni
from tollbench.stats.order_statistics import Floats, quantile_interval
from tollbench.stats.paired import paired_differences

FIRST_LOOK = 12
GROWTH = 1.5


def next_look(rounds: int) -> int:
    """The first look of the schedule that comes after `rounds` completed rounds."""
    look = FIRST_LOOK
    while look <= rounds:
        look = math.ceil(look * GROWTH)
    return look


def look_number(rounds: int) -> int:
    """How many looks the schedule has in the first `rounds` rounds, a look at `rounds` itself included."""
    count, look = 0, FIRST_LOOK
    while look <= rounds:
        count, look = count + 1, math.ceil(look * GROWTH)
    return count


def level_at_look(k: int, level: float) -> float:
    """Level of the intervals at look k = 1, 2, ... so that all looks together hold `level`."""
    if k < 1:
        raise ValueError("looks are counted from 1")
    return 1.0 - (1.0 - level) / (k * (k + 1))


def final_level(rounds: int, level: float) -> float:
    """Level of the intervals of a run that ended after `rounds` rounds, for whatever reason.

    At a look of the schedule the run may have stopped because it liked what it saw, so the look's own
    level holds. Anywhere else it ended for a reason outside the data (budget, Ctrl-C), and the
    looks before it, k of them, have spent alpha * k / (k + 1): the rest is left. Before the first
    look that is all of alpha.
    Assumption: what ended a run between looks did not depend on the values measured.
    """
    k = look_number(rounds)
    if k > 0 and next_look(rounds - 1) == rounds:
        return level_at_look(k, level)
    return 1.0 - (1.0 - level) / (k + 1)


def precise_enough(logs: Floats, precision: float, level: float, fastest: int | None = None) -> bool:
    """Whether every row's ratio to the fastest is known within +-`precision` (0.01: 1 %).

    `logs` has shape (rounds, cases): log of each case's value in each round, NaN where missing;
    `level` is that of the look (`level_at_look`), here corrected for all pairs of cases. Half an
    interval's length on the log scale is held against log(1 + precision). Call it at looks only.
    A single case has no ratio: then its own median must be known as precisely. Cases without any value
    are left out, and no case at all is not precise. `fastest` is the column that ratios are to, by
    default that of the smallest median.
    """
    kept = np.flatnonzero(np.isfinite(logs).any(axis=0))
    logs = logs[:, kept]
    cases = logs.shape[1]
    if not cases:
        return False
    corrected = bonferroni(level, cases * (cases - 1) // 2)
    if fastest is None or fastest not in kept:
        fastest = int(np.argmin(np.nanmedian(logs, axis=0)))
    else:
        fastest = int(np.searchsorted(kept, fastest))
    reference = logs[:, fastest] if cases > 1 else np.zeros(logs.shape[0])
    for case in range(cases):
        if case == fastest and cases > 1:
            continue
        found = quantile_interval(paired_differences(logs[:, case], reference), 0.5, corrected)
        if found is None or found.high - found.low > 2.0 * math.log1p(precision):
            return False
    return True
