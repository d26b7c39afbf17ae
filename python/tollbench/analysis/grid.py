"""From samples that belong to cells, such as pairs of CPUs, to a grid and what its groups say in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tollbench.analysis.results import Grid, GridLevel
from tollbench.analysis.units import nanoseconds_per
from tollbench.analysis.values import by_cell, quantile
from tollbench.stats.grid_groups import Clusters, Level, find_clusters
from tollbench.store import BatchSamples, CaseRecord, RunHeader, SampleCounts

STATISTICS = {"p50": (0.5, "median"), "p99": (0.99, "99th percentile")}
MOST_NAMES = 1024  # rows of a grid
_KEY = re.compile(r"(\d{1,6})>(\d{1,6})")
_FEW = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)

Pair = tuple[int, int]


@dataclass(slots=True)
class CellValues:
    """What the launches of one case say of each cell: one number a launch and statistic, nanoseconds."""

    launches: int = 0
    values: dict[str, dict[Pair, list[float]]] = field(
        default_factory=lambda: {statistic: {} for statistic in STATISTICS}
    )

    def take(self, batches: Sequence[BatchSamples]) -> None:
        """Takes in one launch; the parts of a batch belong to pairs of CPUs.

        Parts that belong to no pair of CPUs are left out: a run file may come from a stranger.
        """
        parts: dict[Pair, list[SampleCounts]] = {}
        for key, part in by_cell(batches).items():
            if pair := _KEY.fullmatch(key):
                parts.setdefault((int(pair[1]), int(pair[2])), []).append(part)
        self.launches += bool(parts)
        for place, pieces in parts.items():
            together = SampleCounts.together(pieces)
            for statistic, (p, _) in STATISTICS.items():
                value = quantile(together, p)
                self.values[statistic].setdefault(place, []).append(max(0.0, value))


def grids(record: CaseRecord, found: CellValues, header: RunHeader) -> list[Grid]:
    """The grids of one case, one a statistic; none where its samples belong to no cells."""
    scale = nanoseconds_per(record.unit, record.workload)
    medians = {
        statistic: {pair: float(np.median(values)) / scale for pair, values in cells.items()}
        for statistic, cells in found.values.items()
    }
    names = ordered({name for pair in medians["p50"] for name in pair}, header.machine)
    if len(names) < 2:
        return []
    return [
        make_grid(
            names,
            cells,
            title=f"{record.contender}, {STATISTICS[statistic][1]}",
            unit=record.unit,
            statistic=statistic,
            launches=found.launches,
            contender=record.contender,
            environment=record.environment,
            parameters=dict(record.parameters),
        )
        for statistic, cells in medians.items()
    ]


def ordered(names: Iterable[int], machine: Mapping[str, Any]) -> list[int]:
    """CPUs in the order of the machine's topology, as far as the run file tells one; at most `MOST_NAMES`."""
    told = machine.get("cpu_order")
    listed = [name for name in told if isinstance(name, int)] if isinstance(told, list) else []
    rank = {name: place for place, name in reversed(list(enumerate(listed)))}
    return sorted(names, key=lambda name: (rank.get(name, len(listed)), name))[:MOST_NAMES]


def make_grid(
    names: Sequence[int],
    cells: Mapping[Pair, float],
    *,
    title: str,
    unit: str,
    statistic: str = "p50",
    launches: int = 0,
    contender: str = "",
    environment: str = "",
    parameters: Mapping[str, int | str] | None = None,
) -> Grid:
    """A grid of `cells` (from, to) in `unit`, rows in the order of `names`, with the groups found in it."""
    place = {name: number for number, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    for (start, end), value in cells.items():
        if start in place and end in place and start != end:
            values[place[start], place[end]] = value
    # The tail of a cell is a matter of interruptions, not of how the machine is built.
    clusters = find_clusters(values) if statistic == "p50" else None
    levels = clusters.levels if clusters else ()
    return Grid(
        title=title,
        contender=contender,
        environment=environment,
        parameters=dict(parameters or {}),
        unit=unit,
        statistic=statistic,
        launches=launches,
        labels=[str(name) for name in names],
        values=[[None if np.isnan(value) else float(value) for value in row] for row in values],
        groups=_listed(levels[0].groups) if levels else [],
        levels=[
            GridLevel(groups=_listed(level.groups), inside=level.inside, across=level.across)
            for level in levels
        ],
        sentence=sentence(clusters, len(names), unit) if clusters else "",
    )


def sentence(clusters: Clusters, count: int, unit: str) -> str:
    """What was found, as a reader says it: "two groups of 8: 24 ns inside, 92 ns across"."""
    if not clusters.levels:
        if count == 2:
            return f"{_number(clusters.middle)} {unit} between the two CPUs"
        spread = f"{_number(clusters.low)} to {_number(clusters.high)} {unit} in eight of ten pairs"
        return f"one group: {_number(clusters.middle)} {unit} ({spread})"
    return "; ".join(_level(level, unit) for level in clusters.levels)


def _level(level: Level, unit: str) -> str:
    sizes = Counter(map(len, level.groups))
    named = " and ".join(_groups(times, size) for size, times in sorted(sizes.items(), reverse=True))
    inside, across = f"{_number(level.inside)} {unit} inside", f"{_number(level.across)} {unit}"
    if len(level.groups) == 1:
        return f"{named}: {inside}, {across} to the other {len(level.others)}"
    rest = f" ({len(level.others)} CPUs are in none)" if level.others else ""
    return f"{named}{rest}: {inside}, {across} across"


def _groups(times: int, size: int) -> str:
    many = _FEW[times] if times < len(_FEW) else str(times)
    if size == 2:
        return f"{many} pair{'s' if times > 1 else ''}"
    return f"{many} group{'s' if times > 1 else ''} of {size}"


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _listed(groups: Iterable[tuple[int, ...]]) -> list[list[int]]:
    return [list(group) for group in groups]
