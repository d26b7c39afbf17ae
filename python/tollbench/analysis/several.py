"""Several runs beside each other: machines, compilers or dates.

A ratio is of two rows of one run, paired by its rounds; the ratios of the runs are held beside each other.
A time of one machine over a time of another one is never formed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from tollbench.analysis import results
from tollbench.analysis.beside import NOT_OF_THE_WORK, quotient
from tollbench.analysis.case_data import CaseData
from tollbench.analysis.comparison import comparable
from tollbench.analysis.grouping import Planned, Setting, setting_of, stands_aside, swept_parameters
from tollbench.analysis.results import NamedCase, Results, Row, WorkloadResult
from tollbench.analysis.several_results import (
    OneOfSeveral,
    SeveralCell,
    SeveralRow,
    SeveralRuns,
    SeveralTable,
    SeveralWarning,
)
from tollbench.analysis.units import nanoseconds_per
from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.stats import bonferroni
from tollbench.store import RunFile

MOST_RUNS = len(ascii_uppercase)
Key = tuple[str, str, Setting]  # contender, environment, parameters but for what the machine decides
Place = tuple[str, str, str, Setting]  # workload, unit, per; values of what any of the runs sweeps


class _Identified(Planned, Protocol):
    @property
    def footing(self) -> Mapping[str, Any]: ...


class Beside(Protocol):
    """A case with numbers, wherever they are stored."""

    @property
    def record(self) -> _Identified: ...


C = TypeVar("C", bound=Beside)
Over = Callable[[C, C, float], Estimate | None]  # one's value over another's of the same run, at a level


@dataclass(slots=True)
class _PlacedRun(Generic[C]):
    """One run, by table and case."""

    results: Results
    rows: dict[Place, dict[Key, Row]] = field(default_factory=dict)
    data: dict[Place, dict[Key, C]] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)  # by workload: what looks have left


@dataclass(slots=True)
class ReadRun(Generic[C]):
    """One run before the others are known."""

    results: Results
    data: dict[str, list[C]]  # by workload; of those with numbers
    levels: dict[str, float]  # by workload: what looks have left


def several(
    run_files: Sequence[RunFile], on_launch: Callable[[int, int], None] = lambda *_: None
) -> SeveralRuns:
    """What the runs say of the same cases. Raises TollError where a file is no sound run, or they are many.

    `on_launch` is told how many launches of the run that is being read have been read, of how many.
    """
    if not 2 <= len(run_files) <= MOST_RUNS:
        raise TollError(
            f"{len(run_files)} runs cannot stand beside each other", f"name 2 to {MOST_RUNS} run files"
        )
    return beside_each_other([_read(run_file, on_launch) for run_file in run_files], quotient)


def beside_each_other(read: Sequence[ReadRun[C]], over: Over[C]) -> SeveralRuns:
    """Runs that have been read, whatever from: at least one, and as many as there are letters."""
    swept = _swept([one.results for one in read])
    runs = [_placed(one, swept) for one in read]
    places = list(dict.fromkeys(place for run in runs for place in run.rows))
    apart = [run.results.warnings_by_workload()[1] for run in runs]
    shared = [place for place in places if sum(place in run.rows for run in runs) > 1]
    alone = [place for place in places if place not in shared]
    return SeveralRuns(
        runs=[_one(letter, run.results) for letter, run in zip(ascii_uppercase, runs, strict=False)],
        tables=[_table(place, runs, apart, over) for place in shared],
        left_out=sum(len(run.rows.get(place, ())) for place in alone for run in runs),
    )


@dataclass(frozen=True, slots=True)
class RowInTime:
    """One row over several runs, an entry a run; None where that run has no number of it."""

    workload: str
    setting: Setting
    row: NamedCase
    reference: NamedCase | None  # the row of the same table that ratios are to; None where none is shared
    ratios: tuple[Estimate | None, ...]  # to the reference in the same run, paired by its rounds; unit: 1
    times_ns: tuple[Estimate | None, ...]
    time_levels: tuple[float, ...]  # of the intervals of times_ns, one a run


def in_time(
    run_files: Iterable[RunFile],
    level: float,
    on_launch: Callable[[int, int], None] = lambda *_: None,
) -> tuple[list[Results], list[RowInTime]]:
    """What each run says, in the order that is given, and each row over all runs.

    Ratios have intervals at `level`, each alone, and times those of their run. Each file is done with before
    the next one is asked for, so that they need not all be open. Raises TollError where a file is no sound
    run, and `on_launch` is as for `several`.
    """
    read = [_read(run_file, on_launch) for run_file in run_files]
    swept = _swept([one.results for one in read])
    runs = [_placed(one, swept) for one in read]
    places = dict.fromkeys(place for run in runs for place in run.rows)
    rows = [row for place in places for row in _rows_in_time(place, runs, level)]
    return [run.results for run in runs], rows


def _rows_in_time(place: Place, runs: Sequence[_PlacedRun[CaseData]], level: float) -> list[RowInTime]:
    """Those of one table."""
    keys = list(dict.fromkeys(key for run in runs for key in run.rows.get(place, {})))
    reference = _reference(place, keys, runs)
    return [
        RowInTime(
            workload=place[0],
            setting=place[3],
            row=_named(key),
            reference=None if reference is None else _named(reference),
            ratios=tuple(_ratio_alone(run.data.get(place, {}), key, reference, level) for run in runs),
            times_ns=tuple(_time_ns(run.rows.get(place, {}).get(key), place) for run in runs),
            time_levels=tuple(run.levels.get(place[0], run.results.run.level) for run in runs),
        )
        for key in keys
    ]


def _ratio_alone(
    data: Mapping[Key, CaseData], key: Key, reference: Key | None, level: float
) -> Estimate | None:
    if reference is None or key == reference or not {key, reference} <= data.keys():
        return None
    return quotient(data[key], data[reference], level)


def _time_ns(row: Row | None, place: Place) -> Estimate | None:
    if row is None or row.value is None or row.value <= 0.0:
        return None
    ns = nanoseconds_per(place[1], place[0])
    ends = [None if end is None else end * ns for end in (row.low, row.high)]
    return Estimate(value=row.value * ns, low=ends[0], high=ends[1])


def _read(run_file: RunFile, on_launch: Callable[[int, int], None]) -> ReadRun[CaseData]:
    data: dict[str, list[CaseData]] = {}
    levels: dict[str, float] = {}

    def keep(workload: str, cases: Sequence[CaseData], level: float) -> None:
        levels[workload] = level
        data[workload] = [case for case in comparable(cases) if np.median(case.values_ns) > 0]

    return ReadRun(results(run_file, on_launch, on_cases=keep), data, levels)


def _swept(several_results: Sequence[Results]) -> dict[str, tuple[str, ...]]:
    """By workload: parameters of which one contender has several values in any of the runs."""
    rows: dict[str, list[list[Row]]] = defaultdict(list)
    for one in several_results:
        for workload in one.workloads:
            rows[workload.workload].append(workload.rows)
    return {
        workload: tuple(dict.fromkeys(name for run in runs for name in swept_parameters(run)))
        for workload, runs in rows.items()
    }


def _placed(read: ReadRun[C], swept: Mapping[str, Sequence[str]]) -> _PlacedRun[C]:
    run: _PlacedRun[C] = _PlacedRun(read.results, levels=read.levels)
    for workload in read.results.workloads:
        names = swept[workload.workload]
        for row in workload.rows:
            place, key = _place(workload, row, names), _key(row, names)
            run.rows.setdefault(place, {})[key] = row
        for case in read.data.get(workload.workload, ()):
            place, key = _place(workload, case.record, names), _key(case.record, names)
            run.data.setdefault(place, {})[key] = case
    return run


def _place(workload: WorkloadResult, case: Planned, swept: Sequence[str]) -> Place:
    return workload.workload, workload.unit, workload.per, setting_of(case, swept)


def _key(case: Planned, swept: Sequence[str]) -> Key:
    """How many threads a machine gives by default is no other question, unless somebody asked for it."""
    own = {
        name: value for name, value in case.parameters.items() if name in swept or name not in NOT_OF_THE_WORK
    }
    return case.contender, case.environment, tuple(sorted(own.items()))


def _one(letter: str, found: Results) -> OneOfSeveral:
    whole, _ = found.warnings_by_workload()
    return OneOfSeveral(
        letter=letter,
        run=found.run,
        machine=found.machine,
        conditions=found.conditions,
        floor=found.floor,
        warnings=whole,
    )


def _table(
    place: Place, runs: Sequence[_PlacedRun[C]], apart: Sequence[Mapping[str, Sequence[str]]], over: Over[C]
) -> SeveralTable:
    workload, unit, per, setting = place
    keys = list(dict.fromkeys(key for run in runs for key in run.rows.get(place, {})))
    reference = _reference(place, keys, runs)
    ratios = _ratios(place, keys, reference, runs, over)
    first = next(run for run in runs if place in run.rows)
    question = next(one.question for one in first.results.workloads if one.workload == workload)
    return SeveralTable(
        workload=workload,
        question=question,
        unit=unit,
        per=per,
        setting=dict(setting),
        reference=None if reference is None else _named(reference),
        rows=[_row(place, key, runs, ratios) for key in keys],
        warnings=[
            SeveralWarning(letter=letter, text=text)
            for letter, told in zip(ascii_uppercase, apart, strict=False)
            for text in told.get(workload, ())
        ],
    )


def _named(key: Key) -> NamedCase:
    contender, environment, parameters = key
    return NamedCase(contender=contender, environment=environment, parameters=dict(parameters))


def _reference(place: Place, keys: Sequence[Key], runs: Sequence[_PlacedRun[C]]) -> Key | None:
    """The row that ratios are to in all runs: measured in as many as any, and there the fastest of the first.

    That is the one which the first run's own table calls so, if it is among them. What stands aside (a floor,
    a baseline) is it only where there is nothing else, as there.
    """
    measured = {key: [run for run in runs if key in run.data.get(place, {})] for key in keys}
    most = max(map(len, measured.values()), default=0)
    if most < 2:
        return None
    often = [key for key in keys if len(measured[key]) == most]
    rivals = [
        key for key in often if not stands_aside(measured[key][0].data[place][key].record.footing)
    ] or often

    def place_in_first(key: Key) -> tuple[bool, float]:
        row = measured[key][0].rows[place][key]
        return not row.fastest, math.inf if row.value is None else row.value

    return min(rivals, key=place_in_first)


def _ratios(
    place: Place, keys: Sequence[Key], reference: Key | None, runs: Sequence[_PlacedRun[C]], over: Over[C]
) -> list[dict[Key, Estimate]]:
    """Of each run: each row over the reference, all intervals of the table together at the level."""
    if reference is None:
        return [{} for _ in runs]
    asked = [
        [key for key in keys if key != reference and {key, reference} <= run.data.get(place, {}).keys()]
        for run in runs
    ]
    # The first run chose the reference by its values: all its pairs are paid for, as in its own table.
    chooser = next(at for at, run in enumerate(runs) if reference in run.data.get(place, {}))
    rows = len(asked[chooser]) + 1
    chosen_among = rows * (rows - 1) // 2 - len(asked[chooser])
    together = max(1, sum(map(len, asked)) + chosen_among)
    found: list[dict[Key, Estimate]] = []
    for run, wanted in zip(runs, asked, strict=True):
        ratios: dict[Key, Estimate] = {}
        for key in wanted:
            data, corrected = run.data[place], bonferroni(run.levels[place[0]], together)
            if (ratio := over(data[key], data[reference], corrected)) is not None:
                ratios[key] = ratio
        if reference in run.data.get(place, {}):
            ratios[reference] = Estimate(value=1.0, low=1.0, high=1.0)
        found.append(ratios)
    return found


def _row(
    place: Place, key: Key, runs: Sequence[_PlacedRun[C]], ratios: Sequence[Mapping[Key, Estimate]]
) -> SeveralRow:
    cells = [
        None if (row := run.rows.get(place, {}).get(key)) is None else _cell(row, told.get(key))
        for run, told in zip(runs, ratios, strict=True)
    ]
    return SeveralRow(**dict(_named(key)), cells=cells, ratios_differ=_differ(cells))


def _cell(row: Row, ratio: Estimate | None) -> SeveralCell:
    return SeveralCell(
        status=row.status,
        reason=row.reason,
        parameters=row.parameters,
        value=row.value,
        low=row.low,
        high=row.high,
        counts_as=row.counts_as,
        within_run=row.within_run,
        few_rounds=row.few_rounds,
        below_step=row.below_step,
        ratio=None if ratio is None else ratio.value,
        ratio_low=None if ratio is None else ratio.low,
        ratio_high=None if ratio is None else ratio.high,
    )


def _differ(cells: Sequence[SeveralCell | None]) -> bool | None:
    ends = [
        (cell.ratio_low, cell.ratio_high)
        for cell in cells
        if cell is not None and cell.ratio_low is not None and cell.ratio_high is not None
    ]
    if len(ends) < 2:
        return None
    return max(low for low, _ in ends) > min(high for _, high in ends)
