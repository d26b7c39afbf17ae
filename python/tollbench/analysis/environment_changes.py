"""What an environment brings for the same source: its rows over those of the run's first environment.

A newer compiler, another allocator or standard library may make one container faster and another slower.
So the answer is one number for the whole workload, and one for each row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tollbench.analysis.case_data import CaseData
from tollbench.analysis.results import EnvironmentChange, EnvironmentRow
from tollbench.analysis.rounds import Rounds, rounds_of
from tollbench.estimates import Estimate
from tollbench.stats import Interval, Pairs, bonferroni, pairs_in
from tollbench.stats.order_statistics import Floats

FEWEST_SHARE = 0.5  # of the rounds; rows that leave fewer to the whole are told by themselves alone

_Pair = tuple[int, int]  # columns of a row and of the same one in the first environment


def environment_changes(
    measured: Sequence[CaseData], environments: Sequence[str], level: float
) -> list[EnvironmentChange]:
    """One for each of `environments` after the first, in their order, that has rows of the first's.

    `measured` has the cases of one workload that have values. The whole is the median over rounds of each
    round's mean log ratio of the rows, so that each row weighs alike whatever it takes, and rounds are paired
    as everywhere; only rounds that have all of the rows, that their mix is the same, and without rows that
    would leave it less than half of the rounds. Which these are goes by who has a value at all.
    Intervals hold together: those of the wholes, and apart from these those of all rows.
    """
    if len(environments) < 2:
        return []
    first = environments[0]
    found = _pairs(measured, first)
    rounds = rounds_of([case.by_round for case in measured])
    rows_level = bonferroni(level, sum(map(len, found.values())))
    return [
        _change(
            environment,
            first,
            found[environment],
            measured,
            rounds,
            bonferroni(level, len(found)),
            rows_level,
        )
        for environment in environments
        if environment in found
    ]


def _pairs(measured: Sequence[CaseData], first: str) -> dict[str, list[_Pair]]:
    """By environment, for each of its rows that the first one has too."""
    names = [(case.record.contender, tuple(sorted(case.record.parameters.items()))) for case in measured]
    before = {name: at for at, name in enumerate(names) if measured[at].record.environment == first}
    found: dict[str, list[_Pair]] = defaultdict(list)
    for at, name in enumerate(names):
        environment = measured[at].record.environment
        if environment != first and name in before:
            found[environment].append((at, before[name]))
    return dict(found)


def _change(
    environment: str,
    first: str,
    pairs: Sequence[_Pair],
    measured: Sequence[CaseData],
    rounds: Rounds,
    level: float,
    rows_level: float,
) -> EnvironmentChange:
    logs = rounds.logs
    differences = np.array([logs[:, column] - logs[:, before] for column, before in pairs])
    whole = _of_enough_rounds(differences)
    kept = pairs_in(whole.mean(axis=0), np.zeros(len(logs)), rounds.layouts)  # NaN where one of them is
    return EnvironmentChange(
        environment=environment,
        against=first,
        ratio=_estimate(*kept.interval(level)) if kept.logs.size else None,
        of_rows=len(whole),
        rounds=int(kept.logs.size),
        rows=[_row(measured[column], rounds.pairs(column, before), rows_level) for column, before in pairs],
    )


def _of_enough_rounds(differences: Floats) -> Floats:
    """Without the rows that most rounds lack, one after the other, until half of the rounds have all."""
    known = np.isfinite(differences)
    enough = FEWEST_SHARE * known.any(axis=0).sum()
    kept = list(np.argsort(-known.sum(axis=1), kind="stable"))
    while len(kept) > 1 and known[kept].all(axis=0).sum() < enough:
        kept.pop()
    return differences[sorted(kept)]


def _row(case: CaseData, pairs: Pairs, level: float) -> EnvironmentRow:
    return EnvironmentRow(
        contender=case.record.contender,
        environment=case.record.environment,
        parameters=dict(case.record.parameters),
        ratio=_estimate(*pairs.interval(level)) if pairs.logs.size else None,
        rounds=int(pairs.logs.size),
    )


def _estimate(ratio: float, interval: Interval | None) -> Estimate:
    return Estimate(value=ratio, low=interval and interval.low, high=interval and interval.high)
