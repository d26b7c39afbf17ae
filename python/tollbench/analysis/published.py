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
        today = None if row is None else _scaled(_same_statistic("ratio", row, ()), 1)
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


def _same_statistic(
    statistic: str, row: Row, latencies: Sequence[Latency]
) -> tuple[float, float | None, float | None] | None:
    if statistic == "value" and row.value is not None:
        return row.value, row.low, row.high
    if statistic == "ratio" and row.ratio is not None:
        return row.ratio, row.ratio_low, row.ratio_high
    identity = (row.contender, row.environment, row.parameters)
    for latency in latencies:
        if (latency.contender, latency.environment, latency.parameters) == identity:
            match statistic:
                case "p50":
                    return latency.p50, latency.p50_low, latency.p50_high
                case "p90":
                    return latency.p90, latency.p90_low, latency.p90_high
                case "p99":
                    return latency.p99, latency.p99_low, latency.p99_high
                case "p999":
                    return latency.p999, latency.p999_low, latency.p999_high
                case "p9999" if latency.p9999 is not None:
                    return latency.p9999, latency.p9999_low, latency.p9999_high
                case "max":
                    return latency.max, None, None
    return None


def _scaled(found: tuple[float, float | None, float | None] | None, factor: float) -> Estimate | None:
    if found is None:
        return None
    value, low, high = found
    return Estimate(
        value=value * factor,
        low=None if low is None else low * factor,
        high=None if high is None else high * factor,
    )
