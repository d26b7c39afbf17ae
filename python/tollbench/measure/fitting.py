"""Which tables have their rounds where the time is too short for all.

The same few launches of every case would leave no ratio with an interval: a run of 1,341 cases in 19 minutes
had eight launches of each, and 843 of its 1,107 ratios had none. So as many tables as fit have the rounds
that make intervals narrow, those of a quick run first, and all others the few of which a median is made.
By costs alone, never by a value: intervals keep their level whatever is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from tollbench.analysis.grouping import by_setting, swept_parameters
from tollbench.measure.spending import ROUNDS_OF_EACH, STEADY_ROUNDS
from tollbench.measure.state import CaseState, WorkloadState

_OF_FEW_LAUNCHES = 0.5  # of the time, at most, before any table has its rounds


class _TableCost(NamedTuple):
    """One setting of a workload."""

    cases: Sequence[CaseState]
    begun: bool
    first: bool
    lacking_ns: float  # what it takes from the few rounds of all to those that it shall have

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """What has begun goes on; then those that come first; then the cheapest, which are the most."""
        return not self.begun, not self.first, self.lacking_ns


def let_wait(
    workloads: Sequence[WorkloadState],
    left_s: float,
    first: Collection[str],
    cost_ns: Callable[[CaseState], float],
    *,
    more: bool,
) -> None:
    """Decides who waits (`WorkloadState.waiting`), from what a launch of each costs and the time left.

    `first` are the keys of cases that come first. Nobody waits where there is time for the fewest rounds of
    all, or for those of no table. Unless `more`, who waits goes on waiting, and others join them only where
    the fewest rounds of those that have begun do not fit any more.
    """
    asked = [
        [case for case in workload.active_cases if more or case.id not in workload.waiting]
        for workload in workloads
    ]
    everyone = [(workload, case) for workload, cases in zip(workloads, asked, strict=True) for case in cases]
    left_ns = 1e9 * left_s
    fewest_ns = sum(cost_ns(case) * _lacking(workload, case, workload.fewest) for workload, case in everyone)
    if fewest_ns <= left_ns:
        going = {case.id for _, case in everyone}
    else:
        few_ns = sum(cost_ns(case) * _lacking(workload, case, ROUNDS_OF_EACH) for workload, case in everyone)
        left_ns -= min(few_ns, _OF_FEW_LAUNCHES * left_ns)
        tables = [
            table
            for workload, cases in zip(workloads, asked, strict=True)
            for table in _tables(workload, cases, first, cost_ns)
        ]
        going = {case.id for table in _fitting(tables, left_ns) for case in table.cases}
    if not going and not more:
        return
    for workload in workloads:
        ids = {case.id for case in workload.active_cases}
        workload.waiting = frozenset(ids - going) if going else frozenset()


def _lacking(workload: WorkloadState, case: CaseState, rounds: int) -> float:
    """Launches until it has had `rounds` rounds; fewer where its turns are rare."""
    had = len(case.values)
    if had >= workload.fewest:  # its turns may have been rare
        had = max(had, workload.round)
    of_all = max(0, min(rounds, workload.fewest) - had)
    return of_all + max(0, rounds - max(had, workload.fewest)) / workload.every.get(case.id, 1)


def _tables(
    workload: WorkloadState,
    cases: Sequence[CaseState],
    first: Collection[str],
    cost_ns: Callable[[CaseState], float],
) -> list[_TableCost]:
    """What has begun is to have its fewest rounds before anything else has any."""
    swept = swept_parameters([case.case for case in workload.cases])
    found = []
    for group in by_setting([case.case for case in cases], swept):
        rows = [cases[at] for at in group]
        begun = any(len(case.values) > ROUNDS_OF_EACH for case in rows)
        rounds = workload.fewest if begun else max(workload.fewest, STEADY_ROUNDS)
        lacking = [
            _lacking(workload, case, rounds) - _lacking(workload, case, ROUNDS_OF_EACH) for case in rows
        ]
        lacking_ns = sum(cost_ns(case) * launches for case, launches in zip(rows, lacking, strict=True))
        found.append(_TableCost(rows, begun, any(case.case.key in first for case in rows), lacking_ns))
    return found


def _fitting(tables: Sequence[_TableCost], left_ns: float) -> list[_TableCost]:
    found = []
    for table in sorted(tables, key=lambda table: table.rank):
        if table.lacking_ns <= left_ns:
            left_ns -= table.lacking_ns
            found.append(table)
    return found
