"""A launch's one value. Reports, the rule that ends a run and comparisons all ask here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.stats import tick_median
from tollbench.store import Samples
from tollbench.words import Batch

Cells = tuple[tuple[str, int], ...]  # consecutive samples by what they belong to: ("0>1", 1000)


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
