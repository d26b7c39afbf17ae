"""Which tables have their rounds where the time is too short for all.

The same few launches of every case would leave no ratio with an interval: a run of 1,341 cases in 19 minutes
had eight launches of each, and 843 of its 1,107 ratios had none. So as many tables as fit have the rounds
that make intervals narrow, those of a quick run first; some more have the fewest that any interval takes, and
all others a few, or one where time is shorter still. By costs alone, never by a value: intervals keep their
level whatever is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tollbench.analysis.grouping import by_setting, swept_parameters
from tollbench.measure.spending import STEADY_ROUNDS
from tollbench.measure.state import CaseState, WorkloadState

# Of the time, what the fewest rounds of all take at most for nobody to wait. Up to there cheap workloads have
# their intervals all the same (`campaign._reserved_ns`), and most tables would lose theirs for few that are
# narrow: of eight of a quick run that lacked 6 % of its time, four where seven had them.
_LITTLE_SHORT = 1.5
_TO_SPARE = 1.1  # times what launches cost by now: a table that ends one round too early has nothing
_OF_FEW_ROUNDS = 0.5  # of the time, at most, before any table has its rounds; one is had all the same


class _TableCost(NamedTuple):
    """One setting of a workload."""

    cases: Sequence[CaseState]
    begun: bool
    first: bool
    few_ns: float  # what its rows take until they have the few rounds of those who wait,
    fewest_ns: float  # those that any interval needs,
    lacking_ns: float  # and from the few on to those that it shall have

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """What has begun goes on; then those that come first; then the cheapest, which are the most."""
        return not self.begun, not self.first, self.lacking_ns


def let_wait(
    workloads: Sequence[WorkloadState],
    left_s: float,
    first: Collection[str],
    costs_ns: Mapping[int, float],
    *,
    more: bool,
) -> None:
    """Decides who waits (`WorkloadState.waiting`), from what a launch costs, by the case's id, and the time.

    `first` are the keys of cases that come first. Nobody waits where there is nearly time for the fewest
    rounds of all, or for those of no table. Unless `more`, who waits goes on waiting, and others join them
    where the fewest rounds of those that have begun do not fit any more.
    """
    left_ns = 1e9 * left_s
    if not more and not any(workload.waiting for workload in workloads):
        return
    tables = [
        table
        for workload in workloads
        for table in _tables(workload, first, costs_ns)
        if more or not all(case.id in workload.waiting for case in table.cases)
    ]
    if sum(table.fewest_ns for table in tables) <= (_LITTLE_SHORT if more else 1.0) * left_ns:
        going = {case.id for table in tables for case in table.cases}
    else:
        if not any(workload.round for workload in workloads):
            _shorten(workloads, tables, left_ns)
            tables = [table for workload in workloads for table in _tables(workload, first, costs_ns)]
        left_ns -= min(sum(table.few_ns for table in tables), _OF_FEW_ROUNDS * left_ns)
        left_ns /= _TO_SPARE if more else 1.0
        going = {case.id for table in _fitting(tables, left_ns) for case in table.cases}
    if not going and not more:
        return
    for workload in workloads:
        ids = {case.id for case in workload.active_cases}
        workload.waiting = frozenset(ids - going) if going else frozenset()


def _shorten(workloads: Sequence[WorkloadState], tables: Sequence[_TableCost], left_ns: float) -> None:
    """Where a few rounds of all would take too much, what does not come first has one."""
    few = {case.id for table in tables if not table.first for case in table.cases}
    too_much = sum(table.few_ns for table in tables) > _OF_FEW_ROUNDS * left_ns
    for workload in workloads:
        workload.once = frozenset(case.id for case in workload.cases if too_much and case.id in few)


def _lacking(workload: WorkloadState, case: CaseState, rounds: int) -> float:
    """Launches until it has had `rounds` rounds; fewer where its turns are rare."""
    had = len(case.values)
    if had >= workload.fewest:  # its turns may have been rare
        had = max(had, workload.round)
    of_all = max(0, min(rounds, workload.fewest) - had)
    return of_all + max(0, rounds - max(had, workload.fewest)) / workload.every.get(case.id, 1)


def _tables(
    workload: WorkloadState, first: Collection[str], costs_ns: Mapping[int, float]
) -> list[_TableCost]:
    """What has begun is to have its fewest rounds before anything else has any."""
    swept, active = swept_parameters([case.case for case in workload.cases]), workload.active_cases
    found = []
    for group in by_setting([case.case for case in active], swept):
        rows = [active[at] for at in group]
        begun = any(len(case.values) > workload.few_of(case) for case in rows)
        rounds = workload.fewest if begun else max(workload.fewest, STEADY_ROUNDS)
        few_ns = sum(costs_ns[case.id] * _lacking(workload, case, workload.few_of(case)) for case in rows)
        found.append(
            _TableCost(
                rows,
                begun,
                any(case.case.key in first for case in rows),
                few_ns,
                sum(costs_ns[case.id] * _lacking(workload, case, workload.fewest) for case in rows),
                sum(costs_ns[case.id] * _lacking(workload, case, rounds) for case in rows) - few_ns,
            )
        )
    return found


def _fitting(tables: Sequence[_TableCost], left_ns: float) -> list[_TableCost]:
    """Those that can have all rounds that they shall; of what is left, those that can have the fewest."""
    ranked = sorted(tables, key=lambda table: table.rank)
    costs_ns = [
        [table.lacking_ns for table in ranked],
        [table.fewest_ns - table.few_ns for table in ranked],
    ]
    found: dict[int, _TableCost] = {}
    for each_ns in costs_ns:
        for at, (table, cost_ns) in enumerate(zip(ranked, each_ns, strict=True)):
            if at not in found and cost_ns <= left_ns:
                left_ns -= cost_ns
                found[at] = table
    return list(found.values())
