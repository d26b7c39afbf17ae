"""Years ago and today, as the page sets it: tables of what stands beside a row, then the rest, folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tollbench import numbers
from tollbench.analysis.results import PublishedValue, WorkloadResult
from tollbench.report.cases import Naming
from tollbench.report.published_tables import beside_rows, in_tables, unmeasured, unmeasured_sentence
from tollbench.report.sentences import published_notes, published_range
from tollbench.text import clean


def published_section(workload: WorkloadResult, naming: Naming) -> dict[str, Any]:
    """`rest` is "" where every row has a number of today; empty where nothing was published."""
    if not workload.published:
        return {}
    beside, others = beside_rows(workload), unmeasured(workload)
    return {
        "beside": [_table(entries, workload, naming) for entries in in_tables(beside)],
        "others": [_table(entries, workload, naming) for entries in in_tables(others)],
        "rest": unmeasured_sentence(others) if others else "",
    }


def _table(entries: Sequence[PublishedValue], workload: WorkloadResult, naming: Naming) -> dict[str, Any]:
    """What its entries share stands in its caption."""
    note, notes = published_notes(entries)
    source = clean(entries[0].source)
    return {
        "machine": clean(entries[0].machine),
        "source": source,
        "link": source if source.startswith(("https://", "http://")) and " " not in source else "",
        "note": clean(note),
        "unit": f"{clean(entries[0].unit)} per {clean(entries[0].per)}",
        "rows": [
            _row(entry, _here(entry, workload, naming), own)
            for entry, own in zip(entries, notes, strict=True)
        ],
    }


def _here(entry: PublishedValue, workload: WorkloadResult, naming: Naming) -> str:
    """The row whose number stands for today, by the name that its table gives it."""
    matched = (entry.contender, entry.environment, entry.parameters)
    rows = (row for row in workload.rows if (row.contender, row.environment, row.parameters) == matched)
    return next(map(naming.label, rows), clean(entry.contender))


def _row(entry: PublishedValue, here: str, note: str) -> dict[str, Any]:
    today = entry.today
    return {
        "year": entry.year,
        "label": clean(entry.label),
        "contender": here,
        "then": published_range(entry),
        "today": numbers.quantity(today.value, today.low, today.high) if today else "",
        "today_interval": numbers.interval(today.value, today.low, today.high) if today else "",
        "note": clean(note),
    }
