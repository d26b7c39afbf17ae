"""What a launch says: its one value, and those of its blocks.

Reports, the rule that ends a run and comparisons all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.stats import tick_median, without_block_effects
from tollbench.stats.order_statistics import Floats
from tollbench.store import Launch, Samples
from tollbench.words import Batch

Cells = tuple[tuple[str, int], ...]  # consecutive samples by what they belong to: ("0>1", 1000)


@dataclass(frozen=True, slots=True)
class LaunchValue:
    """Nanoseconds a unit of work. Blocks of one number, of launches of one company, are neighbours in
    time."""

    ns: float
    blocks: Floats = field(
        default_factory=lambda: np.empty(0)
    )  # of each timed batch; none where they mix pairs
    company: int = 0  # the same for launches that took turns; 0: alone


def launch_value(launch: Launch, samples: Sequence[Samples] | None, cells: Cells) -> LaunchValue:
    """Of a launch that succeeded; `samples` has those of each timed batch, None for kind "batch"."""
    timed = [batch for batch in launch.batches if not batch.warmup]
    if samples is None:
        blocks = np.array([batch.wall_ns / batch.units for batch in timed], dtype=np.float64)
        return LaunchValue(launch_value_ns(timed, None, (), launch.clock), blocks, launch.company)
    ns = value_of_samples(np.concatenate(samples), cells, launch.clock)
    if cells:
        return LaunchValue(ns)
    medians = [value_of_samples(part, (), launch.clock) for part in samples]
    return LaunchValue(ns, np.array(medians, dtype=np.float64), launch.company)


def log_rounds(cases: Sequence[Mapping[int, LaunchValue]], last: int | None = None) -> Floats:
    """Log of each case's value in each round, shape (rounds, cases), NaN where a round has none.

    `cases` has each one's values by round, of which those after `last` are left out. Where launches of a
    round took turns, what befell single blocks is taken out of all of them, so that the differences between
    columns are those of neighbours in time.
    """
    rounds = sorted({number for case in cases for number in case if last is None or number <= last})
    logs = np.full((len(rounds), len(cases)), np.nan)
    for row, number in enumerate(rounds):
        found = {column: case[number] for column, case in enumerate(cases) if number in case}
        for column, value in found.items():
            if value.ns > 0:
                logs[row, column] = np.log(value.ns)
        for columns in _companies(found):
            logs[row, columns] = without_block_effects(np.log([found[column].blocks for column in columns]).T)
    return logs


def _companies(found: Mapping[int, LaunchValue]) -> list[list[int]]:
    """Columns of those that took turns and did as many blocks, a list for each company."""
    groups: dict[tuple[int, int], list[int]] = {}
    for column, value in found.items():
        if value.company and value.blocks.size and (value.blocks > 0).all():
            groups.setdefault((value.company, value.blocks.size), []).append(column)
    return [columns for columns in groups.values() if len(columns) > 1]


def launch_value_ns(
    batches: Sequence[Batch], samples: Samples | None, cells: Cells, clock: Mapping[str, Any]
) -> float:
    """Nanoseconds a unit of work: that of the launch's samples, or the median over its timed batches.

    `samples` are those of the timed batches, None where operations are timed in batches; `cells` is what
    consecutive ones belong to.
    """
    if samples is not None:
        return value_of_samples(samples, cells, clock)
    return float(np.median([batch.wall_ns / batch.units for batch in batches if not batch.warmup]))


def value_of_samples(samples: Samples, cells: Cells, clock: Mapping[str, Any]) -> float:
    """Nanoseconds, not below zero: the median of `samples`, shape (n,), n >= 1.

    Where they belong to cells, such as pairs of CPUs, it is the mean over cells of each one's median: what an
    operation costs between two CPUs taken at random. The median of all together would be that of a mixture,
    which lies between its humps or jumps from one to the other when the shares change a little. Such samples
    are means of several operations already, finer than the clock's ticks.
    """
    parts = _by_cell(samples, cells)
    if parts:
        return max(0.0, float(np.mean([np.median(part) for part in parts])))
    return max(0.0, tick_median(samples, resolution_ns(clock)))


def resolution_ns(clock: Mapping[str, Any]) -> float:
    """What the launch's clock can tell apart; 0 where the file does not say, or nothing sensible."""
    step = clock.get("resolution_ns", 0.0)
    return float(step) if isinstance(step, int | float) and 0 <= step <= 1e9 else 0.0


def _by_cell(samples: Samples, cells: Cells) -> list[Samples]:
    parts: dict[str, list[NDArray[np.float32]]] = {}
    start = 0
    for key, count in cells:
        if count:
            parts.setdefault(key, []).append(samples[start : start + count])
        start += count
    return [np.concatenate(pieces) for pieces in parts.values()]
