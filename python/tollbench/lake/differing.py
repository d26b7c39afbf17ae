"""Which verdicts differ between machines: of two rows, some call one faster and others the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tollbench.errors import TollError
from tollbench.lake.lake_answers import ContraryPair, DifferingVerdicts, LakeCase, LakeMachine
from tollbench.lake.lake_rows import Asked, Key, LakeRow, checked_parameters, options, read_rows
from tollbench.lake.opened_lake import OpenedLake
from tollbench.stats import bonferroni, contrary_by_chance, signs_of_many

LEVEL: Final = 0.95
MOST_NAMED: Final = 20
MOST_PAIRS: Final = 500  # rows of an answer
Shape = tuple[str, tuple[Key, ...], float]  # setting, cases in order, level left of the run's
Pair = tuple[str, Key, Key]


@dataclass(slots=True)
class _Counted:
    first_faster: list[str] = field(default_factory=list)  # machines
    second_faster: list[str] = field(default_factory=list)
    judged: int = 0
    compared: int = 0
    level: float = 1.0  # the least of one pair's intervals


def differing(opened: OpenedLake, asked: Asked, contenders: Sequence[str] = ()) -> DifferingVerdicts:
    """Of each machine's newest run that has two of them every two rows of a setting, or of `contenders`.

    All intervals of a machine's table hold together. Raises TollError where the lake has no such workload.
    """
    works = _works(opened, asked)
    rows = _rows_to_compare(opened, asked.workload, contenders, works) or read_rows(opened, asked.workload)
    there = {row.case.contender for row in rows}
    if lacking := [name for name in contenders if name not in there]:
        raise TollError(
            f"the lake has no contender {lacking[0]} of {asked.workload}",
            f"there are: {', '.join(sorted(there)[:40])}",
        )
    wanted = [
        row
        for row in rows
        if row.log_ns.size
        and not row.role
        and (not contenders or row.case.contender in contenders)
        and asked.matches(row.case.parameters)
    ]
    cases = {row.key: row.case for row in wanted}
    counted = _counted(wanted)
    compared = {pair: one for pair, one in counted.items() if one.compared > 1}
    contrary = {pair: one for pair, one in compared.items() if one.first_faster and one.second_faster}
    named = {row.machine.machine: row.machine for row in wanted}
    told = [_told(pair, one, len(compared), cases, named) for pair, one in contrary.items()]
    told.sort(key=lambda pair: (pair.chance, -min(pair.first_faster_on, pair.second_faster_on)))
    return DifferingVerdicts(
        notes=opened.notes,
        workload=asked.workload,
        machines=len(named),
        pairs=len(compared),
        judged=sum(one.judged > 1 for one in compared.values()),
        level=LEVEL,
        rows=told[:MOST_PAIRS],
    )


def _works(opened: OpenedLake, asked: Asked) -> list[str]:
    """The parameters, as they are stored, of what is asked for. Raises TollError where there is none."""
    sql = "SELECT DISTINCT work FROM summary WHERE workload = $workload ORDER BY work"
    stored = opened.ask(sql, {"workload": asked.workload})["work"].to_pylist()
    works = {work: checked_parameters(work, asked.workload) for work in stored}
    if not works:
        raise TollError(f"the lake has no workload {asked.workload}", "what it has: toll lake runs")
    if fitting := [work for work, parameters in works.items() if asked.matches(parameters)]:
        return fitting
    offered = options(list(works.values()))
    raise TollError(
        f"{asked.workload}: the lake has no such row", f"choose one: {'; '.join(filter(None, offered[:12]))}"
    )


def _rows_to_compare(
    opened: OpenedLake, workload: str, contenders: Sequence[str], works: Sequence[str]
) -> list[LakeRow]:
    """Of the newest run of each machine that has several such rows: one alone says nothing."""
    named = "AND contender IN (SELECT unnest($contenders))" if contenders else ""
    where = f"""run IN (SELECT run FROM summary WHERE workload = $workload AND value IS NOT NULL
        AND coalesce(role, '') = '' AND work IN (SELECT unnest($works)) {named}
        GROUP BY run, setting HAVING count(*) > 1)"""
    arguments = {"works": works, **({"contenders": contenders} if contenders else {})}
    return read_rows(opened, workload, where, arguments=arguments)


def _counted(rows: Sequence[LakeRow]) -> dict[Pair, _Counted]:
    tables: dict[tuple[str, str], list[LakeRow]] = defaultdict(list)  # by run and setting
    for row in rows:
        tables[row.run, row.setting].append(row)
    alike: dict[Shape, list[list[LakeRow]]] = defaultdict(list)  # tables of the same rows: judged together
    for (_, setting), table in tables.items():
        if len(table) > 1:
            table.sort(key=lambda row: row.key)
            alike[setting, tuple(row.key for row in table), table[0].level].append(table)
    counted: dict[Pair, _Counted] = defaultdict(_Counted)
    for (setting, keys, level), group in alike.items():
        corrected = bonferroni(level, len(keys) * (len(keys) - 1) // 2)
        logs, layouts = _stacked(group)
        signs, judged = signs_of_many(logs, corrected, layouts)
        names = np.array([table[0].machine.machine for table in group])
        for i in range(len(keys)):
            for j in range(i):
                one = counted[setting, keys[j], keys[i]]
                one.compared += len(group)
                one.judged += int(judged[:, i, j].sum())
                one.level = min(one.level, corrected)
                # 1: row i is above row j, so that the first, j, is the faster.
                one.first_faster += names[signs[:, i, j] > 0].tolist()
                one.second_faster += names[signs[:, i, j] < 0].tolist()
    return counted


def _stacked(group: Sequence[Sequence[LakeRow]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Of tables of the same rows log ns, shape (tables, rounds, rows), NaN where a round lacks a row; and the
    layout of each round, shape (tables, rounds), 0 where none is known."""
    numbers = [np.unique(np.concatenate([row.rounds for row in table])) for table in group]
    longest = max(rounds.size for rounds in numbers)
    logs = np.full((len(group), longest, len(group[0])), np.nan)
    layouts = np.zeros((len(group), longest), dtype=np.int64)
    for number, (table, rounds) in enumerate(zip(group, numbers, strict=True)):
        apart = np.zeros(longest, dtype=bool)  # rows that contradict each other: a stranger's
        for column, row in enumerate(table):
            places = np.searchsorted(rounds, row.rounds)
            logs[number, places, column] = row.log_ns
            told = layouts[number, places]
            apart[places] |= (told != row.layouts) & (np.minimum(told, row.layouts) > 0)
            layouts[number, places] = np.maximum(told, row.layouts)
        layouts[number, apart] = 0
    return logs, layouts


def _fewer(one: _Counted) -> list[str]:
    return min(one.first_faster, one.second_faster, key=len)


def _told(
    pair: Pair, one: _Counted, pairs: int, cases: Mapping[Key, LakeCase], named: Mapping[str, LakeMachine]
) -> ContraryPair:
    setting, first, second = pair
    chance = contrary_by_chance(len(one.second_faster), len(one.first_faster), one.judged, one.level)
    together = min(1.0, chance * pairs)
    return ContraryPair(
        setting=checked_parameters(setting, "a setting"),
        first=cases[first],
        second=cases[second],
        first_faster_on=len(one.first_faster),
        second_faster_on=len(one.second_faster),
        judged_on=one.judged,
        chance=together,
        differs=together <= 1.0 - LEVEL,
        fewer=[named[name] for name in _fewer(one)[:MOST_NAMED]],
    )
