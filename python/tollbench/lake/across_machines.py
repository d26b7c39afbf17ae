"""The same contender over machines: its ratio to one reference within each machine, then its times."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from tollbench.errors import TollError
from tollbench.lake.lake_answers import AcrossMachines, OnMachine
from tollbench.lake.lake_rows import Asked, Key, LakeRow, in_one_unit, read_case, utc
from tollbench.lake.opened_lake import OpenedLake


def across_machines(opened: OpenedLake, asked: Asked, against: str = "") -> AcrossMachines:
    """The newest run of each machine that has the case.

    Ratios are to `against`, or to what most machines measured.

    Raises TollError where the lake has no such case.
    """
    wanted, rows = read_case(opened, asked)
    rows = in_one_unit(rows, wanted, opened.notes)
    reference = reference_of(rows, wanted.key, against)
    by_run: dict[str, dict[Key, LakeRow]] = defaultdict(dict)
    for row in rows:
        by_run[row.run][row.key] = row
    found = []
    for of_run in by_run.values():
        mine = of_run.get(wanted.key)
        if mine is None:
            continue
        other = None if reference is None else of_run.get(reference.key)
        comparable = other is not None and other is not mine and other.setting == mine.setting
        found.append(
            OnMachine(
                machine=mine.machine,
                run=mine.run,
                started_utc=utc(mine.started),
                commit=mine.commit,
                toll_version=mine.toll_version,
                status=mine.status,
                reason=mine.reason,
                value=mine.value,
                ratio=mine.ratio_to(other, mine.level) if comparable and other is not None else None,
            )
        )
    ratios = [row.ratio for row in found if row.ratio is not None]
    judged = [ratio for ratio in ratios if ratio.low is not None and ratio.high is not None]
    points = [ratio.value for ratio in ratios]
    return AcrossMachines(
        notes=opened.notes,
        case=wanted.case,
        unit=wanted.unit,
        per=wanted.per,
        reference=None if reference is None else reference.case,
        rows=sorted(found, key=_order),
        slower_on=sum(1 for ratio in judged if ratio.low is not None and ratio.low > 1.0),
        faster_on=sum(1 for ratio in judged if ratio.high is not None and ratio.high < 1.0),
        judged_on=len(judged),
        median_ratio=statistics.median(points) if points else None,
        lowest_ratio=min(points, default=None),
        highest_ratio=max(points, default=None),
    )


def reference_of(rows: Sequence[LakeRow], case: Key, against: str = "") -> LakeRow | None:
    """A row of what ratios of `case` are to on all machines: of its setting, measured beside it most often.

    Among those the one that is the fastest of its setting most often; what stands aside (a floor, a baseline)
    only where there is nothing else. Raises TollError where nobody measured `against` beside it.
    """
    settings = {(row.run, row.setting) for row in rows if row.key == case and row.log_ns.size}
    beside: dict[Key, list[LakeRow]] = defaultdict(list)
    for row in rows:
        if row.key != case and row.log_ns.size and (row.run, row.setting) in settings:
            beside[row.key].append(row)
    if against:
        beside = defaultdict(list, {key: each for key, each in beside.items() if key[0] == against})
        if not beside:
            raise TollError(f"no run has {against} beside {case[0]}", "name another one: --against")

    def order(key: Key) -> tuple[bool, bool, int, int, Key]:
        of_it = beside[key]
        return bool(of_it[0].role), key[1] != case[1], -len(of_it), -sum(row.fastest for row in of_it), key

    return beside[min(beside, key=order)][0] if beside else None


def _order(row: OnMachine) -> tuple[int, float, str]:
    if row.ratio is not None:
        return 0, row.ratio.value, row.machine.machine
    return (
        (1, row.value.value, row.machine.machine) if row.value is not None else (2, 0.0, row.machine.machine)
    )
