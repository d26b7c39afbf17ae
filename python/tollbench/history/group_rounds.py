"""The rounds of a group: what each commit is beside both launches of the reference, and how that scatters.

Sides are as `CommitSession` launches them: the reference, the reference once more, then commits. A commit's
value is its ratio to the mean of both launches, which halves what the reference's own scatter adds to it: a
control is worth more launches than each of what is compared with it (Dunnett 1955, "A multiple comparison
procedure for comparing several treatments with a control").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.compare.subject import Keep
from tollbench.stats.sequential import without_order

REFERENCES = 2  # sides that are the reference
USUAL_SHARE = 1.0 / (1.0 + REFERENCES)  # of a ratio's variance that is the reference's: all scatter alike
_MEDIAN_ERROR = 1.2533  # of a median over the standard error of a mean, of normal values
_MAD = 1.4826  # to a normal distribution's standard deviation
_FEW_PAIRS = 4  # of fewer the scatter of one commit alone says nothing
_UNKNOWN_ERROR = 0.05  # log scale, where there are too few pairs to say

Floats = NDArray[np.float64]


class GroupRounds:
    """Hears what a comparison keeps, and knows from it what each commit is to the reference."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._records: dict[str, list[Mapping[str, Any]]] = {}
        self._known: dict[str, tuple[int, Floats]] = {}

    def __call__(self, record: Mapping[str, Any]) -> None:
        self._keep(record)
        values = record.get("values")
        if isinstance(values, Mapping):
            for name in values:
                self._records.setdefault(name, []).append(record)

    @property
    def rounds(self) -> int:
        """Of the benchmark that has most of them."""
        return max(map(len, self._records.values()), default=0)

    def ratio(self, name: str, side: int) -> float | None:
        """A commit to the reference: the median over rounds; None where no round has both."""
        logs = self._logs(name)
        known = logs[np.isfinite(logs[:, side - REFERENCES]), side - REFERENCES] if logs.size else logs
        return math.exp(float(np.median(known))) if known.size else None

    def shared(self, name: str) -> float:
        """The share of the variance of log ratios that is common to all commits: that of the reference.

        By covariances of the commits' rounds, each from median absolute deviations of sums and differences
        (Gnanadesikan and Kettenring 1972, "Robust estimates, residuals, and outlier detection").
        """
        logs = self._logs(name)
        return _common(logs) if logs.size else USUAL_SHARE

    def error(self, name: str, side: int) -> float:
        """Standard error of the logarithm of `ratio`.

        The scatter is that of all commits together, where one has few rounds.
        """
        logs = self._logs(name)
        if logs.size == 0:
            return _UNKNOWN_ERROR
        off = [_off_middle(column) for column in logs.T]
        own, pool = off[side - REFERENCES], np.concatenate(off)
        chosen = own if own.size >= 4 * _FEW_PAIRS else pool
        if not own.size or chosen.size < _FEW_PAIRS:
            return _UNKNOWN_ERROR
        scatter = _MAD * float(np.median(np.abs(chosen)))
        rounds = max(2, logs.shape[0])
        return _MEDIAN_ERROR * scatter / math.sqrt(own.size) * math.sqrt(rounds / (rounds - 1))

    def _logs(self, name: str) -> Floats:
        """log(commit / reference), shape (rounds, commits); NaN where a round lacks it."""
        records = self._records.get(name, [])
        if name in self._known and self._known[name][0] == len(records):
            return self._known[name][1]
        sides = range(REFERENCES, max((len(record["values"][name]) for record in records), default=0))
        columns = [_mean_of_known([_pairs(records, name, a, b) for a in range(REFERENCES)]) for b in sides]
        logs = np.array(columns, dtype=np.float64).T if columns else np.empty((0, 0))
        self._known[name] = (len(records), logs)
        return logs


def _pairs(records: Sequence[Mapping[str, Any]], name: str, a: int, b: int) -> Floats:
    """log(b / a) of every round, without what coming first does; NaN where it lacks either."""
    logs = np.full(len(records), np.nan)
    led = np.zeros(len(records), dtype=bool)
    for number, record in enumerate(records):
        a_ns, b_ns = (_nanoseconds(record["values"][name][side]) for side in (a, b))
        if a_ns > 0.0 and b_ns > 0.0:
            logs[number] = math.log(b_ns / a_ns)
            order = record.get("order", {}).get(name, ())
            led[number] = a in order and b in order and order.index(a) < order.index(b)
    known = np.isfinite(logs)
    logs[known] = without_order(logs[known], led[known])
    return logs


def _nanoseconds(value: float | None) -> float:
    return math.nan if value is None else value


def _mean_of_known(rows: Sequence[Floats]) -> Floats:
    """Of the reference's launches, those that a round has."""
    stacked = np.array(rows)
    known = np.isfinite(stacked)
    count = known.sum(axis=0)
    told: Floats = np.where(
        count > 0, np.where(known, stacked, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan
    )
    return told


def _off_middle(logs: Floats) -> Floats:
    """Of the rounds that a commit has: by how much each is off its median."""
    known = logs[np.isfinite(logs)]
    return known - np.median(known) if known.size else known


def _common(logs: Floats) -> float:
    """Of rounds (rows) and commits: the middle correlation of two; the usual one where few rounds tell."""
    found = []
    for first, second in combinations(logs.T, 2):
        both = np.isfinite(first) & np.isfinite(second)
        if both.sum() >= 2 * _FEW_PAIRS:
            one, other = _off_middle(first[both]), _off_middle(second[both])
            together, apart = (float(np.median(np.abs(one + sign * other))) ** 2 for sign in (1.0, -1.0))
            if together + apart > 0.0:
                found.append((together - apart) / (together + apart))
    return min(max(float(np.median(found)), 0.0), 1.0) if found else USUAL_SHARE
