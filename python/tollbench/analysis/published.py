"""What the literature reported, beside the row that answers the same question today."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from tollbench.analysis.beside import quotient
from tollbench.analysis.case_data import CaseData
from tollbench.analysis.results import Latency, PublishedValue, Row
from tollbench.analysis.units import checked_json
from tollbench.estimates import Estimate
from tollbench.stats import bonferroni
from tollbench.store import CaseRecord, WorkloadRecord
from tollbench.words import NANOSECONDS, Published

_OF_ITSELF = ("value", "p50", "ratio")  # what an operation below the clock's step has none of
_ASSIGNMENT = re.compile(r"\b([a-z][a-z0-9_]*)=(\w+)")
# A number by itself: those of versions, times and names (1.6.1, stack-1.0.4, x64, 99th) are no parameters,
# and "10,000 iterations" is how long the source measured. Of a processor with 4C/8T, 8 is its threads.
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,_]*(?!\d|[.,-]*\w| iterations?\b)|(?<=C/)\d+(?=T\b)")


def beside_today(
    workload: WorkloadRecord,
    rows: Sequence[Row],
    latencies: Sequence[Latency],
    measured: Sequence[CaseData],
    level: float,
) -> list[PublishedValue]:
    """Every published value with today's estimate of the same statistic, in the published unit.

    `rows` come in the order of the plan, `measured` has the cases with numbers. There is no estimate where
    no row has numbers or where units, what is counted, or the statistic have no counterpart.
    """
    ratios = _ratios(workload.published, rows, measured, level)
    return [
        _beside(published, rows, latencies, ratios.get(index))
        for index, published in enumerate(workload.published)
    ]


def parameters_named(note: str, label: str) -> dict[str, str]:
    """The parameters of the row that a published value stands beside: "tasks=100000" in its note or label."""
    return dict(_ASSIGNMENT.findall(f"{note} {label}"))


def matching_row(published: Published, rows: Sequence[Row]) -> Row | None:
    """The contender's row there whose parameters the label or the note names; else its first one there.

    "tasks=100000" in the note or the label rules out rows of another size, and its number, in the label too,
    stands for no other parameter: on a machine of 64 CPUs "/64" beside "wait_us=64" asks for no 64 threads.
    Two numbers that are both values of a parameter tell nothing of it.
    What sets the row apart from the source's program (`differs`) names numbers of both, so it is not asked. A
    row below the clock's step has a tail and CPU time, and no time of the operation itself.
    """
    fixed = parameters_named(published.note, published.label)
    named = {re.sub("[,_]", "", text) for text in _NUMBER.findall(f"{published.label} {published.note}")}
    named -= set(fixed.values())
    answer = (published.contender, published.environment)
    candidates = [
        row
        for row in rows
        if (row.contender, row.environment) == answer
        and (row.value is not None or (row.below_step is not None and published.statistic not in _OF_ITSELF))
        and all(fixed.get(name, str(value)) == str(value) for name, value in row.parameters.items())
    ]
    hinted: dict[str, set[str]] = defaultdict(set)
    for row in candidates:
        for name, value in row.parameters.items():
            hinted[name] |= {str(value)} & named
    # max takes the first of equals: plan order puts the default parameters first.
    return max(
        candidates,
        key=lambda row: sum(hinted[name] == {str(value)} for name, value in row.parameters.items()),
        default=None,
    )


def _ratios(
    published: Sequence[Published], rows: Sequence[Row], measured: Sequence[CaseData], level: float
) -> dict[int, Estimate]:
    """Today's counterpart of each published ratio, by its place; a table's ratios are to one of its rows.

    Then that was the fastest of the table, whatever its parameters; now it is the same row, or where that was
    not measured, the one that came next then, and the scale is such that its two numbers are equal. A
    table is what shares a source and a unit.
    """
    cases = {_identity(case.record): case for case in measured}
    tables: dict[Hashable, list[tuple[int, Published, CaseData]]] = defaultdict(list)
    for index, one in enumerate(published):
        row = matching_row(one, rows) if one.statistic == "ratio" else None
        case = None if row is None else cases.get(_identity(row))
        if case is not None and np.median(case.values_ns) > 0:
            tables[one.source, one.unit].append((index, one, case))
    found = {}
    for table in tables.values():
        _, best, reference = min(table, key=lambda entry: entry[1].low)
        others = {case.record.id for _, _, case in table} - {reference.record.id}
        corrected = bonferroni(level, len(others)) if others else level
        for index, _, case in table:
            ratio = (
                Estimate(value=1.0, low=1.0, high=1.0)
                if case is reference
                else quotient(case, reference, corrected)
            )
            if others and ratio is not None:
                found[index] = _scaled(ratio, best.low)
    return found


def _identity(of: Row | CaseRecord) -> tuple[str, str, frozenset[tuple[str, int | str]]]:
    return of.contender, of.environment, frozenset(of.parameters.items())


def _beside(
    published: Published, rows: Sequence[Row], latencies: Sequence[Latency], ratio: Estimate | None
) -> PublishedValue:
    checked_json([published.low, published.high], "a published value")
    row = matching_row(published, rows)
    today = None
    if published.statistic == "ratio":
        today = ratio
    elif row is not None and published.statistic in row.details:
        today = row.details[published.statistic]  # in the unit that suite.toml declares for both
    elif row is not None and row.per == published.per and {row.unit, published.unit} <= NANOSECONDS.keys():
        factor = NANOSECONDS[row.unit] / NANOSECONDS[published.unit]
        same = _same_statistic(published.statistic, row, latencies)
        today = same and _scaled(same, factor)
    return PublishedValue(
        contender=published.contender,
        label=published.label,
        low=published.low,
        high=published.high,
        unit=published.unit,
        per=published.per,
        machine=published.machine,
        year=published.year,
        source=published.source,
        note=published.note,
        statistic=published.statistic,
        today=today,
        environment=None if row is None else row.environment,
        parameters=None if row is None else row.parameters,
        differs=published.differs,
    )


def _same_statistic(statistic: str, row: Row, latencies: Sequence[Latency]) -> Estimate | None:
    if statistic == "value" and row.value is not None:
        return Estimate(value=row.value, low=row.low, high=row.high)
    if statistic == "cpu_time" and row.cpu_time is not None:
        return Estimate(value=row.cpu_time)
    identity = (row.contender, row.environment, row.parameters)
    for latency in latencies:
        if (latency.contender, latency.environment, latency.parameters) == identity:
            found = Estimate(value=latency.max) if statistic == "max" else latency.quantiles.get(statistic)
            return None if found is None or found.value < (latency.step or 0.0) else found
    return None


def _scaled(found: Estimate, factor: float) -> Estimate:
    return Estimate(
        value=found.value * factor,
        low=None if found.low is None else found.low * factor,
        high=None if found.high is None else found.high * factor,
    )
