"""Permalinks: the same case has the same #anchor in every report of the same selection."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tollbench.analysis.results import NamedCase, Results, WorkloadResult
from tollbench.text import clean

_Key = tuple[str, ...]
# What the page's template calls its own parts: a stranger's workload may be called so.
_OF_THE_PAGE = (
    *("top", "workloads", "filter", "by-library", "fold-all", "no-match", "no-charts", "filter-count"),
    *("claims", "missing", "floor", "canary", "machine", "reading", "data", "charts", "some-charts"),
    *("claims-title", "workloads-title", "missing-title", "floor-title", "machine-title", "reading-title"),
)


def _key(workload: WorkloadResult, case: NamedCase) -> _Key:
    values = (f"{name}={value}" for name, value in sorted(case.parameters.items()))
    return (workload.workload, case.contender, case.environment, *values)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Letters, digits, "-" and "_" only, and each only once in a page."""

    workloads: dict[str, str]
    rows: dict[_Key, str]
    topics: dict[str, str]

    @staticmethod
    def of(results: Results) -> Anchors:
        """Gives every workload and row its anchor."""
        used = set(_OF_THE_PAGE)
        workloads: dict[str, str] = {}
        rows: dict[_Key, str] = {}
        for workload in results.workloads:
            own = workloads.setdefault(workload.workload, _unique(slug(workload.workload), used))
            used |= {f"{own}-title", f"{own}-latency"}  # of its parts
            cases: list[NamedCase] = [*workload.rows, *workload.latencies]
            for case in cases:
                key = _key(workload, case)
                if key not in rows:
                    rows[key] = _unique(f"{own}--{slug(case.contender)}", used)
        # Last, so that no case of an older report has another anchor here.
        topics: dict[str, str] = {}
        for workload in results.workloads:
            topic = topic_of(workload)
            topics[topic] = topics.get(topic) or _unique(f"topic-{slug(topic)}", used)
        return Anchors(workloads, rows, topics)

    def workload(self, workload: WorkloadResult) -> str:
        return self.workloads[workload.workload]

    def row(self, workload: WorkloadResult, case: NamedCase) -> str:
        return self.rows[_key(workload, case)]

    def case(self, workload: WorkloadResult, case: NamedCase) -> str | None:
        """The same; None for a case that the page does not show."""
        return self.rows.get(_key(workload, case))


def topic_of(workload: WorkloadResult) -> str:
    """ "tasks" of "tasks/skynet"; "" of a stranger's workload whose name has no topic."""
    return clean(workload.workload).rpartition("/")[0]


def slug(name: str) -> str:
    """ "tasks/skynet" -> "tasks-skynet"; what no anchor may hold becomes "-"."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:60] or "x"


def _unique(wanted: str, used: set[str]) -> str:
    name, number = wanted, 2
    while name in used:
        name, number = f"{wanted}-{number}", number + 1
    used.add(name)
    return name
