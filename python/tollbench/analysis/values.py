"""What a launch says: its one value, and those of its blocks.

Reports, the rule that ends a run and comparisons all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median as median_of  # of a few numbers, where NumPy's takes longer
from typing import Any

import numpy as np

from tollbench.stats import tick_median, without_block_effects
from tollbench.stats.order_statistics import Floats
from tollbench.store import BatchSamples, Launch, SampleCounts, Samples
from tollbench.words import Batch


@dataclass(frozen=True, slots=True)
class LaunchValue:
    """Nanoseconds a unit of work. Blocks of one number, of launches of one company, are neighbours in
    time."""

    ns: float
    blocks: Floats = field(
        default_factory=lambda: np.empty(0)
    )  # of each timed batch; none where they mix pairs
    company: int = 0  # the same for launches that took turns; 0: alone


def launch_value(launch: Launch, samples: Sequence[BatchSamples] | None) -> LaunchValue:
    """Of a launch that succeeded; `samples` has those of each timed batch, None for kind "batch"."""
    timed = [batch for batch in launch.batches if not batch.warmup]
    if samples is None:
        blocks = np.array([batch.wall_ns / batch.units for batch in timed], dtype=np.float64)
        return LaunchValue(launch_value_ns(timed, None, launch.clock), blocks, launch.company)
    ns = value_of_samples(samples, launch.clock)
    if any(batch.keys for batch in samples):
        return LaunchValue(ns)
    medians = [value_of_samples([batch], launch.clock) for batch in samples]
    return LaunchValue(ns, np.array(medians, dtype=np.float64), launch.company)


def log_rounds(cases: Sequence[Mapping[int, LaunchValue]], last: int | None = None) -> Floats:
    """Log of each case's value in each round, shape (rounds, cases), NaN where a round has none.

    `cases` has each one's values by round, of which those after `last` are left out. Where launches of a
    round took turns, what befell single blocks is taken out of all of them, so that the differences between
    columns are those of neighbours in time.
    """
    rounds = sorted({number for case in cases for number in case if last is None or number <= last})
    logs = np.full((len(rounds), len(cases)), np.nan)
    alike: dict[tuple[int, tuple[int, ...]], list[tuple[int, list[Floats]]]] = {}  # rounds of one shape
    for row, number in enumerate(rounds):
        found = {column: case[number] for column, case in enumerate(cases) if number in case}
        for column, value in found.items():
            if value.ns > 0:
                logs[row, column] = np.log(value.ns)
        for columns in _companies(found):
            blocks = [found[column].blocks for column in columns]
            alike.setdefault((blocks[0].size, tuple(columns)), []).append((row, blocks))
    for (_, shared), together in alike.items():  # all at once: a thousand rounds take a minute by themselves
        times = np.array([blocks for _, blocks in together])
        rows = np.array([row for row, _ in together])
        logs[rows[:, None], list(shared)] = without_block_effects(np.log(times).swapaxes(-1, -2))
    return logs


def _companies(found: Mapping[int, LaunchValue]) -> list[list[int]]:
    """Columns of those that took turns and did as many blocks, a list for each company."""
    groups: dict[tuple[int, int], list[int]] = {}
    for column, value in found.items():
        if value.company and value.blocks.size and (value.blocks > 0).all():
            groups.setdefault((value.company, value.blocks.size), []).append(column)
    return [columns for columns in groups.values() if len(columns) > 1]


def launch_value_ns(batches: Sequence[Batch], samples: Samples | None, clock: Mapping[str, Any]) -> float:
    """Nanoseconds a unit of work: that of the launch's samples, or the median over its timed batches.

    `samples` are those of the one timed batch, None where operations are timed in batches.
    """
    if samples is not None:
        timed = [batch for batch in batches if not batch.warmup]
        return value_of_samples([BatchSamples.of(samples, timed[0].cells)], clock)
    return median_of([batch.wall_ns / batch.units for batch in batches if not batch.warmup])


def value_of_samples(batches: Sequence[BatchSamples], clock: Mapping[str, Any]) -> float:
    """Nanoseconds, not below zero: the median of all samples of `batches`, of which there is at least one.

    Where they belong to cells, such as pairs of CPUs, it is the mean over cells of each one's median: what an
    operation costs between two CPUs taken at random. The median of all together would be that of a mixture,
    which lies between its humps or jumps from one to the other when the shares change a little. Such samples
    are means of several operations already, finer than the clock's ticks.
    """
    parts = by_cell(batches)
    if parts:
        return max(0.0, float(np.mean([median(part) for part in parts.values()])))
    everything = SampleCounts.together([part for batch in batches for part in batch.parts])
    return max(0.0, tick_median(everything.values, resolution_ns(clock), everything.counts))


def resolution_ns(clock: Mapping[str, Any]) -> float:
    """What the launch's clock can tell apart; 0 where the file does not say, or nothing sensible."""
    step = clock.get("resolution_ns", 0.0)
    return float(step) if isinstance(step, int | float) and 0 <= step <= 1e9 else 0.0


def by_cell(batches: Sequence[BatchSamples]) -> dict[str, SampleCounts]:
    """The samples of all `batches` by what they belong to, where they belong to anything."""
    parts: dict[str, list[SampleCounts]] = {}
    for batch in batches:
        for key, part in zip(batch.keys, batch.parts, strict=bool(batch.keys)):
            if part.values.size:
                parts.setdefault(key, []).append(part)
    return {key: SampleCounts.together(pieces) for key, pieces in parts.items()}


def median(part: SampleCounts) -> np.float32:
    """That of the samples, which are at least one, rounded to their own precision."""
    last = np.cumsum(part.counts)
    middle = np.searchsorted(last, [(last[-1] - 1) // 2, last[-1] // 2], side="right")
    return np.float32(np.mean(part.values[middle]))


def quantile(part: SampleCounts, p: float) -> float:
    """The smallest of the samples, which are at least one, that a share `p` of them does not exceed."""
    last = np.cumsum(part.counts)
    place = max(0, int(np.ceil(last[-1] * p - 1)))
    return float(part.values[np.searchsorted(last, place, side="right")])
