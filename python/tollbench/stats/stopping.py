"""Stop when precise enough, without losing coverage by having looked.

A run may look at its intervals only when the number of rounds is on a fixed schedule: 12, 18, 27,
41, 62 ..., each 1.5 times the one before. All looks together may err with a fifth of alpha, look k with
alpha / (5 k (k + 1)), which add up to that over any number of looks. A run that has not stopped at a look
gives all that is left, at least four fifths of alpha, to its last interval. So by the union bound all of
them together err with at most alpha, for any data, where the end without a look does not depend on the
values: a budget, or whoever did not read them.

Whoever reads the results of a run that has not ended, and goes on with it, has looked as well. The four
fifths are for these looks and the end: each time that a run is gone on with, 19 % of what was left of them is
spent, as confidence sequences do when pairs double (`tollbench.stats.sequential`), so they may be many.
Assumption: when it is broken off again does not depend on the values, as nobody has read those since.

The looks have little because few runs stop at one: at half of alpha for the first look and 1 / (looks + 1)
of it for the end, a table of ten rows had intervals at alpha / 225 after 41 rounds, and 14 of 12 rounds
would have been needed for any.
Source: alpha spending as in Lan and DeMets (1983); the series as in Darling and Robbins (1967).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tollbench.stats.clustered import Integers, clustered_interval
from tollbench.stats.correction import bonferroni
from tollbench.stats.order_statistics import Floats, Interval
from tollbench.stats.paired import Pairs, pairs_in
from tollbench.stats.sequential import SPENDING_POWER
from tollbench.stats.serial import serial_median_interval

FIRST_LOOK = 12
GROWTH = 1.5
LOOKS_SHARE = 0.2  # of alpha
KEPT: float = 2.0**-SPENDING_POWER  # of what is left for the end, each time that a run is gone on with


class RatioTable(NamedTuple):
    """What a workload's rows of one setting took."""

    logs: Floats  # of the values, shape (rounds, cases), NaN where a round has none
    column: int | None = None  # that ratios are to
    clusters: Integers | None = None  # of each round, shape (rounds,), as for `ratio_interval`


class GoneOn(NamedTuple):
    """How often a run was gone on with after its results could be read."""

    times: int = 0
    ended: bool = True  # False: it may be gone on with once more


NEVER_GONE_ON = GoneOn()


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
    """Level of the intervals at look k = 1, 2, ... so that all looks together err with their share."""
    if k < 1:
        raise ValueError("looks are counted from 1")
    return 1.0 - LOOKS_SHARE * (1.0 - level) / (k * (k + 1))


def final_level(rounds: int, level: float, gone_on: GoneOn = NEVER_GONE_ON) -> float:
    """Level of the intervals of a run that ended after `rounds` rounds without having stopped at a look.

    The looks up to then, k of them, that of these rounds included, have spent a fifth of alpha * k / (k + 1):
    the rest is left, less what reading it before going on with it has spent. One that has not ended spends no
    more than the next such reading. Assumption: what ended the run (its budget, Ctrl-C) did not depend on the
    values.
    """
    k = look_number(rounds)
    left = (1.0 - LOOKS_SHARE) * KEPT**gone_on.times  # of alpha, for the end and all readings to come
    if not gone_on.ended:
        return 1.0 - (1.0 - level) * left * (1.0 - KEPT)
    return 1.0 - (1.0 - level) * (left + LOOKS_SHARE - LOOKS_SHARE * k / (k + 1))


def level_shown(
    tables: Iterable[RatioTable],
    rounds: int,
    precision: float,
    level: float,
    gone_on: GoneOn = NEVER_GONE_ON,
) -> float:
    """Level of the intervals that are shown after `rounds` rounds; `tables` are read only if they are a look.

    That of the look where these rounds are one and the rule stops there, else what is left.
    """
    k = look_number(rounds)
    if k and next_look(rounds - 1) == rounds:
        looked = level_at_look(k, level)
        if all_precise(tables, precision, looked):
            return looked
    return final_level(rounds, level, gone_on)


def all_precise(tables: Iterable[RatioTable], precision: float, level: float) -> bool:
    """Whether all rows of all tables have values, and all ratios are known well enough."""
    return all(
        not np.isnan(table.logs).all(axis=0).any() and precise_enough(table, precision, level)
        for table in tables
    )


def precise_enough(table: RatioTable, precision: float, level: float) -> bool:
    """Whether every row's ratio to the fastest is known well enough for `precision` (0.01: 1 %).

    `level` is that of the look (`level_at_look`), here corrected for all pairs of cases. Each interval is
    held against what it says (`well_known`). Call it at looks only.
    A single case has no ratio: then its own median must be known as precisely, rounds beside each other
    that are alike counted for fewer (`serial_median_interval`), and those of one cluster. Cases without any
    value are left out, and no case at all is not precise. Ratios are to the table's column, by default
    that of the smallest median.
    """
    kept = np.flatnonzero(np.isfinite(table.logs).any(axis=0))
    logs, fastest = table.logs[:, kept], table.column
    cases = logs.shape[1]
    if not cases:
        return False
    corrected = bonferroni(level, cases * (cases - 1) // 2)
    if fastest is None or fastest not in kept:
        fastest = int(np.argmin(np.nanmedian(logs, axis=0)))
    else:
        fastest = int(np.searchsorted(kept, fastest))
    if cases == 1:
        return _value_is_known(
            pairs_in(logs[:, 0], np.zeros(len(logs)), table.clusters), precision, corrected
        )
    for case in range(cases):
        if case == fastest:
            continue
        pairs = pairs_in(logs[:, case], logs[:, fastest], table.clusters)
        found = clustered_interval(*pairs, corrected)
        if found is None or not well_known(found, precision):
            return False
    return True


def _value_is_known(values: Pairs, precision: float, level: float) -> bool:
    by_time, by_cluster = serial_median_interval(values.logs, level), clustered_interval(*values, level)
    return (
        by_time is not None
        and by_cluster is not None
        and narrow(by_time.interval, precision)
        and narrow(by_cluster, precision)
    )


def well_known(log_ratio: Interval, precision: float) -> bool:
    """Whether a ratio is known as precisely as what it says asks for: up to 2 to +-`precision`, farther away
    to as many times that as it has doublings (of 1 %: 4 to 2 %, 47 to 5.6 %).

    It is held against the nearest ratio that the interval, of logarithms, leaves possible.
    """
    return log_ratio.high - log_ratio.low <= 2.0 * math.log1p(precision) * doublings(log_ratio)


def doublings(log_ratio: Interval) -> float:
    """Of the nearest ratio to 1 in the interval, above it or below, 1 at least."""
    return max(1.0, log_ratio.low / math.log(2.0), -log_ratio.high / math.log(2.0))


def narrow(found: Interval, precision: float) -> bool:
    """Whether an interval, of logarithms, is that of +-`precision` at most, whatever it lies around."""
    return found.high - found.low <= 2.0 * math.log1p(precision)
