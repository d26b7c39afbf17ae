"""Years ago and today: what stands beside a row of this run, and the rest, told by its number."""

from __future__ import annotations

from collections.abc import Sequence

from tollbench.analysis.results import PublishedValue, WorkloadResult
from tollbench.text import clean, several


def beside_rows(workload: WorkloadResult) -> list[PublishedValue]:
    """Those that have a number of today, in the order of their file."""
    return [entry for entry in workload.published if entry.today is not None]


def unmeasured(workload: WorkloadResult) -> list[PublishedValue]:
    """Those without, in the order of their file."""
    return [entry for entry in workload.published if entry.today is None]


def unmeasured_sentence(entries: Sequence[PublishedValue]) -> str:
    """How many published rows have nothing of today beside them."""
    were = "was" if len(entries) == 1 else "were"
    return f"{several(len(entries), 'row')} {were} not measured in this run"


def in_tables(entries: Sequence[PublishedValue]) -> list[list[PublishedValue]]:
    """A table for each machine of then, source and unit; tables and rows in the order of the file."""
    tables: dict[tuple[str, ...], list[PublishedValue]] = {}
    for entry in entries:
        shared = (clean(entry.machine), clean(entry.source), clean(entry.unit), clean(entry.per))
        tables.setdefault(shared, []).append(entry)
    return list(tables.values())
