"""Rows of one setting against each other: ratios within rounds, corrected over the table, and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tollbench.analysis.case_data import CaseData
from tollbench.analysis.grouping import FLOOR, Setting, by_setting, fastest, setting_of, swept_parameters
from tollbench.analysis.rounds import Rounds, layouts_of, rounds_of
from tollbench.stats import (
    GoneOn,
    Interval,
    RatioTable,
    bonferroni,
    final_level,
    letters,
    level_shown,
    pairs_in,
    rounds_needed,
    separated_pairs,
)
from tollbench.store import CaseRecord, RunHeader


@dataclass(frozen=True, slots=True)
class Compared:
    """One row beside the fastest of its setting."""

    ratio: float | None = None
    interval: Interval | None = None
    fastest: bool = False
    tie_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingComparison:
    """All rows with numbers of one setting, lowest value first, and what could not be said about them."""

    cases: tuple[CaseData, ...]
    compared: tuple[Compared, ...]
    rounds_missing: int = 0  # more rounds that the table needs before any ratio has an interval
    too_few_layouts: bool = False  # rounds would do, but those of one layout are too alike
    setting: Setting = ()  # of the swept parameters


def comparable(data: Sequence[CaseData]) -> list[CaseData]:
    """Those with numbers that the clock could see, which alone have values and ratios."""
    return [case for case in data if case.measured and not case.below_step_ns]


def level_left(data: Sequence[CaseData], header: RunHeader, gone_on: GoneOn) -> float:
    """Level of one row's interval: what looking early has left of the run's level.

    `data` has all cases of a workload, those without numbers among them.
    """
    if header.precision <= 0:  # no looks of the schedule
        return final_level(0, header.level, gone_on)
    compared = comparable(data)
    groups = by_setting([case.record for case in compared], swept_parameters([case.record for case in data]))
    tables = (_table([compared[position] for position in group]) for group in groups)
    return level_shown(tables, tried_rounds(data), header.precision, header.level, gone_on)


@dataclass(frozen=True, slots=True)
class TableSize:
    """What a table asks of a ratio in it."""

    rows: int
    rounds: int  # of its typical row
    level: float  # of each ratio
    layouts: int = 0  # that its rounds went through; 0: none that is known


def table_sizes(data: Sequence[CaseData], level: float) -> list[TableSize]:
    """One for each setting of a workload, all of whose cases `data` has; `level` is what looks have left."""
    compared = comparable(data)
    groups = by_setting([case.record for case in compared], swept_parameters([case.record for case in data]))
    found = []
    for group in groups:
        cases = [compared[position] for position in group]
        rounds = int(np.median([len(case.counting) for case in cases]))
        layouts = {*layouts_of([case.by_round for case in cases]).values()} - {0}
        found.append(TableSize(len(cases), rounds, bonferroni(level, _pairs(len(cases))), len(layouts)))
    return found


def _pairs(rows: int) -> int:
    return rows * (rows - 1) // 2


def tried_rounds(data: Sequence[CaseData]) -> int:
    """How often the workload was gone through. No row need have been in all rounds: a dear one lacks early
    ones, one that was known soon lacks late ones."""
    return len(frozenset[int]().union(*(case.tried_rounds for case in data)))


def _table(cases: Sequence[CaseData]) -> RatioTable:
    rounds = rounds_of([case.by_round for case in cases])
    return table_of(rounds, [case.record.footing for case in cases])


def table_of(rounds: Rounds, footings: Sequence[Mapping[str, Any]]) -> RatioTable:
    """What is compared, and which column ratios are to."""
    layouts = rounds.layouts if rounds.layouts.any() else None
    return RatioTable(rounds.logs, fastest(footings, rounds.logs), layouts)


def compare_settings(
    measured: Sequence[CaseData], swept: Sequence[str], level: float
) -> list[SettingComparison]:
    """A comparison for each setting of the swept parameters, in their order; one where nothing is swept.

    A row alone in its setting has nothing to be compared with: no ratio, and it is not the fastest.
    """
    records = [case.record for case in measured]
    found = []
    for positions in by_setting(records, swept):
        group = [measured[position] for position in positions]
        setting = setting_of(group[0].record, swept)
        if swept and len(group) == 1:
            found.append(SettingComparison((group[0],), (Compared(),), setting=setting))
        else:
            found.append(replace(compare(group, level), setting=setting))
    return found


def compare(measured: Sequence[CaseData], level: float) -> SettingComparison:
    """Ratios to the fastest row, paired by round, at a `level` that holds for the whole table.

    `measured` has the cases with numbers.
    """
    cases = tuple(sorted(measured, key=lambda case: float(np.median(case.values_ns))))
    table = _table(cases)
    logs, best = table.logs, table.column
    if best is None:
        return SettingComparison(cases, tuple(Compared() for _ in cases))
    pairs = _pairs(len(cases))
    corrected = bonferroni(level, pairs)
    apart, judged = separated_pairs(logs, corrected, table.clusters)
    groups = letters(apart) if judged else [[] for _ in cases]
    compared = tuple(_one(table, index, best, corrected, tuple(groups[index])) for index in range(len(cases)))
    if judged or not pairs:
        return SettingComparison(cases, compared)
    missing = rounds_needed(level, pairs) - logs.shape[0]
    if missing <= 0 and table.clusters is not None:
        return SettingComparison(cases, compared, too_few_layouts=True)
    return SettingComparison(cases, compared, max(1, missing))


def is_floor(record: CaseRecord) -> bool:
    """Whether a case is what the work itself costs (`role = "floor"` in its footing), not a contender."""
    return record.footing.get("role") == FLOOR


def _one(table: RatioTable, index: int, fastest: int, level: float, groups: tuple[str, ...]) -> Compared:
    if index == fastest:
        return Compared(1.0, Interval(1.0, 1.0, 1.0), True, groups)
    pairs = pairs_in(table.logs[:, index], table.logs[:, fastest], table.clusters)
    if not pairs.logs.size:
        return Compared(tie_groups=groups)
    ratio, interval = pairs.interval(level)
    return Compared(ratio, interval, False, groups)
