"""Rounds beside each other that are alike: what that makes of the interval of a value, and what is said.

A machine's slow states last longer than a round. The series is that of the rounds that count: where others
shared the core some are left out (`tollbench.analysis.own_core`), and those on both sides are neighbours.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tollbench.analysis.case_data import CaseData
from tollbench.analysis.results import (
    TELLING_ROUNDS,
    DetailEstimate,
    Floor,
    PublishedValue,
    Row,
    WorkloadResult,
)
from tollbench.estimates import Estimate
from tollbench.stats import Interval, clustered_interval, few_runs, serial_median_interval
from tollbench.stats.order_statistics import Floats
from tollbench.text import several

FOLLOWING_LEVEL = 0.01  # that rows of a workload are told in error to follow their neighbours in time
NAMED = 5  # contenders that a sentence names; a longer list is not read


@dataclass(frozen=True, slots=True)
class Valued:
    """The interval of a value, and how it was made."""

    interval: Interval | None = None
    counts_as: float | None = None  # independent launches; None: as many as there are
    within_run: str = ""  # why it holds within this run's conditions alone
    few_rounds: bool = False  # whether for no other reason than how few rounds there were


def valued(
    values: ArrayLike, level: float, *, following: bool = False, layouts: Sequence[int] = ()
) -> Valued:
    """Of launches in the order of rounds; `following` says that the runs test told of them, `layouts` which
    of its program's each had.

    The interval reaches as far as those for both reasons that values may be alike.
    """
    series = np.asarray(values, dtype=np.float64)
    found = serial_median_interval(series, level)
    if found is None:
        return Valued()
    if (over := _over_layouts(series, layouts, level)) is not None:
        low, high = min(over.low, found.interval.low), max(over.high, found.interval.high)
        found = found._replace(interval=Interval(low, high, found.interval.level))
    seen = found.counts_as is not None or following
    if found.resolved and (found.counts_as is not None or not seen):
        return Valued(found.interval, found.counts_as)
    if not seen and np.ptp(series) == 0.0:  # a count that is always the same has no spells
        return Valued(found.interval)
    if not seen:
        few = f"{series.size} rounds are too few to tell whether those beside each other are alike"
        return Valued(found.interval, None, f"{few} ({TELLING_ROUNDS} may)", few_rounds=True)
    alike = "rounds beside each other are alike"
    if found.counts_as is None:
        return Valued(found.interval, None, f"{alike}, for how long does not show")
    return Valued(
        found.interval,
        found.counts_as,
        f"{alike}: they count for about {found.counts_as:.1f} independent ones, too few to tell how long"
        " the machine's slow and fast spells last",
    )


def _over_layouts(series: Floats, layouts: Sequence[int], level: float) -> Interval | None:
    """The interval of values that are alike where their layouts are the same; all of them where they count
    for too few. None where no layout is known."""
    if len(layouts) != series.size or not any(layouts):
        return None
    found = clustered_interval(series, np.array(layouts, dtype=np.int64), level)
    return found or Interval(float(series.min()), float(series.max()), level)


def following(cases: Sequence[CaseData]) -> set[int]:
    """Those of a workload's cases whose rounds are more like their neighbours than chance makes them, by id.

    A runs test, corrected over the cases.
    """
    return {
        case.record.id for case in cases if few_runs(case.values_ns) < FOLLOWING_LEVEL / max(1, len(cases))
    }


def spells_told(rows: Sequence[Row], following: Collection[int]) -> list[str]:
    """The sentence on the rows at these positions, in the plan's order; none where there are none."""
    if not following:
        return []
    found = [rows[position] for position in sorted(following)]
    within = [row.contender for row in found if row.within_run and not row.few_rounds]
    measured = sum(row.value is not None for row in rows)
    told = (
        f"Rounds beside each other are alike (runs test, {several(len(found), 'row')} of {measured}:"
        f" {named([row.contender for row in found])}): the machine had slow and fast spells."
    )
    if wider := [row.contender for row in found if row.counts_as is not None]:
        told += f" Intervals of the values of {named(wider)} are wider for it."
    if within:
        told += (
            f" Those of {named(within)} hold within this run's conditions: another run may well lie outside."
        )
    return [f"{told} Ratios, paired by round, are not concerned as far as a spell slows both sides alike."]


def named(names: Sequence[str]) -> str:
    """The first few, each once."""
    once = list(dict.fromkeys(names))
    return ", ".join(once[:NAMED]) + (", ..." if len(once) > NAMED else "")


def not_below_floor(workload: WorkloadResult, floor: Floor) -> WorkloadResult:
    """Intervals that hold within this run alone reach at least as far as the run could tell apart."""
    if floor.ratio is None or not any(_within(row) for row in workload.rows):
        return workload
    units = {one.name: one.unit for one in workload.details}
    rows = [_reaching(row, floor.ratio, units) for row in workload.rows]
    by_identity = {_identity(row): row for row in rows if _within(row)}
    published = [_beside(entry, by_identity.get(_identity(entry))) for entry in workload.published]
    return workload.model_copy(update={"rows": rows, "published": published})


def reaching(value: float, low: float, high: float, ratio: float, unit: str) -> tuple[float, float]:
    """The ends of an interval, moved as far as `ratio` from the value where they are nearer.

    No share of a whole becomes more than that.
    """
    # A stranger's canary may scatter by more than there are numbers for.
    largest = 1.0 if unit == "share" else sys.float_info.max
    ends = (value / ratio, max(-sys.float_info.max, min(value * ratio, largest)))
    return min(low, *ends), max(high, *ends)


def _within(row: Row) -> bool:
    return bool(row.within_run) or any(one.within_run for one in row.details.values())


def _reaching(row: Row, ratio: float, units: Mapping[str, str]) -> Row:
    changes: dict[str, Any] = {
        "details": {name: _detail_reaching(one, ratio, units[name]) for name, one in row.details.items()}
    }
    if row.within_run and row.value is not None and row.low is not None and row.high is not None:
        changes["low"], changes["high"] = reaching(row.value, row.low, row.high, ratio, row.unit)
    return row.model_copy(update=changes)


def _detail_reaching(one: DetailEstimate, ratio: float, unit: str) -> DetailEstimate:
    if not one.within_run or one.low is None or one.high is None:
        return one
    low, high = reaching(one.value, one.low, one.high, ratio, unit)
    return one.model_copy(update={"low": low, "high": high})


def _beside(entry: PublishedValue, row: Row | None) -> PublishedValue:
    """Today's value in the unit of the source, with the row's interval."""
    if row is None or entry.today is None:
        return entry
    if entry.statistic != "ratio" and (detail := row.details.get(entry.statistic)) is not None:
        return entry.model_copy(update={"today": detail})  # as it was, in the unit of both
    if entry.statistic != "value" or not row.value:
        return entry
    factor = entry.today.value / row.value
    low, high = (
        None if end is None else min(end * factor, sys.float_info.max) for end in (row.low, row.high)
    )
    return entry.model_copy(update={"today": Estimate(value=entry.today.value, low=low, high=high)})


def _identity(of: Row | PublishedValue) -> tuple[str, str | None, frozenset[tuple[str, int | str]]]:
    return of.contender, of.environment, frozenset((of.parameters or {}).items())
