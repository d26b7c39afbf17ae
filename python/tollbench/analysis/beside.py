"""A row beside the floor of its workload, and beside the others of its own environment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from tollbench.analysis.case_data import CaseData
from tollbench.analysis.comparison import Compared, compare, is_floor
from tollbench.analysis.grouping import setting_of
from tollbench.analysis.rounds import rounds_of
from tollbench.analysis.values import by_one_clock, timed_in_one_way
from tollbench.estimates import Estimate
from tollbench.stats import bonferroni, rounds_needed
from tollbench.store import CaseRecord

NOT_OF_THE_WORK = ("threads",)  # the bare work is the same however many threads share it


def efficiencies(measured: Sequence[CaseData], level: float) -> dict[int, Estimate]:
    """Floor over measured by case id: which part of a row's time the bare work would take by itself.

    Paired by round; intervals hold together for all rows. A row is held against the floor of its own
    environment (else that of "host") with its own parameters, the number of threads excepted.
    """
    floors = [case for case in measured if is_floor(case.record) and np.median(case.values_ns) > 0]
    others = [case for case in measured if not is_floor(case.record) and np.median(case.values_ns) > 0]
    found = {case.record.id: _floor_of(case.record, floors) for case in others}
    corrected = bonferroni(level, sum(floor is not None for floor in found.values()))
    return {
        case.record.id: estimate
        for case in others
        if (floor := found[case.record.id]) is not None
        and (estimate := quotient(floor, case, corrected)) is not None
    }


def _floor_of(record: CaseRecord, floors: Sequence[CaseData]) -> CaseData | None:
    def distance(floor: CaseRecord) -> tuple[bool, bool]:
        return floor.environment != record.environment, floor.parameters != record.parameters

    fitting = [
        floor
        for floor in floors
        if floor.record.environment in (record.environment, "host")
        and _work(floor.record.parameters) == _work(record.parameters)
    ]
    return min(fitting, key=lambda floor: distance(floor.record), default=None)


def _work(parameters: Mapping[str, int | str]) -> Mapping[str, int | str]:
    return {name: value for name, value in parameters.items() if name not in NOT_OF_THE_WORK}


def quotient(above: CaseData, below: CaseData, level: float) -> Estimate | None:
    """One row's value over another's, paired by round."""
    pairs = rounds_of(timed_in_one_way([above.by_round, below.by_round])).pairs(0, 1)
    if pairs.logs.size < rounds_needed(level, 1):  # a core of their own they hardly had in the same rounds
        pairs = rounds_of(by_one_clock([above.by_round, below.by_round])).pairs(0, 1)
    if not pairs.logs.size:
        return None
    ratio, interval = pairs.interval(level)
    return Estimate(value=ratio, low=interval and interval.low, high=interval and interval.high)


def within_environments(
    measured: Sequence[CaseData], swept: Sequence[str], level: float
) -> dict[int, Compared]:
    """Each row against the fastest of its environment and of the parameters that are swept; by case id.

    Empty where the workload was measured in one environment alone: `Row.ratio` says it all there.
    """
    if len({case.record.environment for case in measured}) < 2:
        return {}
    groups: dict[Hashable, list[CaseData]] = defaultdict(list)
    for case in measured:
        groups[case.record.environment, setting_of(case.record, swept)].append(case)
    found = {}
    for group in groups.values():
        comparison = compare(group, level)
        for case, compared in zip(comparison.cases, comparison.compared, strict=True):
            found[case.record.id] = compared
    return found
