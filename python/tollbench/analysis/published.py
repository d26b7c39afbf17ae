"""What the literature reported, beside the row that answers the same question today."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tollbench.analysis.results import Estimate, Latency, PublishedValue, Row
from tollbench.analysis.units import NANOSECONDS, checked_json
from tollbench.store import WorkloadRecord
from tollbench.words import Published

_ASSIGNMENT = re.compile(r"\b([a-z][a-z0-9_]*)=(\w+)")
_NUMBER = re.compile(r"\d[\d,_]*")


def beside_today(
    workload: WorkloadRecord, rows: Sequence[Row], latencies: Sequence[Latency]
) -> list[PublishedValue]:
    """Every published value with today's estimate of the same statistic, in the published unit.

    `rows` come in the order of the plan. There is no estimate where no row has numbers or where
    units, what is counted, or the statistic have no counterpart.
    """
    return [_beside(published, rows, latencies) for published in workload.published]


def matching_row(published: Published, rows: Sequence[Row]) -> Row | None:
    """The contender's row there whose parameters the label or the note names; else its first one there.

    "tasks=100000" in the note or the label rules out rows of another size.
    """
    fixed = dict(_ASSIGNMENT.findall(f"{published.note} {published.label}"))
    named = {re.sub("[,_]", "", text) for text in _NUMBER.findall(f"{published.label} {published.note}")}
    answer = (published.contender, published.environment)
    candidates = [
        row
        for row in rows
        if (row.contender, row.environment) == answer
        and row.value is not None
        and all(fixed.get(name, str(value)) == str(value) for name, value in row.parameters.items())
    ]
    # max takes the first of equals: plan order puts the default parameters first.
    return max(
        candidates,
        key=lambda row: sum(str(value) in named for value in row.parameters.values()),
        default=None,
    )


def _beside(published: Published, rows: Sequence[Row], latencies: Sequence[Latency]) -> PublishedValue:
    checked_json([published.low, published.high], "a published value")
    row = matching_row(published, rows)
    today = None
    if published.statistic == "ratio":
        today = None if row is None else _same_statistic("ratio", row, ())
    elif row is not None and published.statistic in row.details:
        today = row.details[published.statistic]  # in the unit that suite.toml declares for both
    elif row is not None and row.per == published.per and {row.unit, published.unit} <= NANOSECONDS.keys():
        factor = NANOSECONDS[row.unit] / NANOSECONDS[published.unit]
        today = _scaled(_same_statistic(published.statistic, row, latencies), factor)
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
    )


def _same_statistic(statistic: str, row: Row, latencies: Sequence[Latency]) -> Estimate | None:
    if statistic == "value" and row.value is not None:
        return Estimate(value=row.value, low=row.low, high=row.high)
    if statistic == "ratio" and row.ratio is not None:
        return Estimate(value=row.ratio, low=row.ratio_low, high=row.ratio_high)
    identity = (row.contender, row.environment, row.parameters)
    for latency in latencies:
        if (latency.contender, latency.environment, latency.parameters) == identity:
            return Estimate(value=latency.max) if statistic == "max" else latency.quantiles.get(statistic)
    return None


def _scaled(found: Estimate | None, factor: float) -> Estimate | None:
    if found is None:
        return None
    return Estimate(
        value=found.value * factor,
        low=None if found.low is None else found.low * factor,
        high=None if found.high is None else found.high * factor,
    )
