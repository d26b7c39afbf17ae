"""A distribution function as a histogram with bins that are equally wide on a logarithmic axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tollbench.stats.order_statistics import Floats

MOST_BINS = 80
NARROWEST = 1.004  # ratio of a bin's ends; the grid of `Pooled` is four times finer


@dataclass(frozen=True, slots=True)
class LogHistogram:
    """`shares[i]` of all samples lie in (edges[i], edges[i + 1]]; shape (n,) and (n + 1,)."""

    edges: Floats
    shares: Floats
    below: float  # share at or below the first edge
    beyond: float  # share above the last edge


def log_histogram(values: Floats, p: Floats, step: float = 0.0, upto: float = 0.999) -> LogHistogram | None:
    """Histogram of a distribution function: `p[i]` of all samples are at most `values[i]`, both ascending.

    It reaches from the smallest positive value to the `upto`-quantile, so that a long tail does not squeeze
    everything else into one bin; the tail's share is `beyond`. No bin is narrower than twice `step`, the
    clock's resolution in the values' unit: narrower ones would show the clock's ticks, not the operation.
    None where no value is positive.
    """
    positive = np.flatnonzero(values > 0.0)
    if not positive.size:
        return None
    low = float(values[positive[0]])
    high = float(values[min(int(np.searchsorted(p, upto - 1e-12)), values.size - 1)])
    low, high = low / np.sqrt(NARROWEST), max(high, low) * np.sqrt(NARROWEST)
    width = np.log(max(NARROWEST, 1.0 + 2.0 * step / low))
    count = int(np.clip(np.floor(np.log(high / low) / width), 1, MOST_BINS))
    edges = np.geomspace(low, high, count + 1)
    reached = np.concatenate([[0.0], p])[np.searchsorted(values, edges, side="right")]
    return LogHistogram(edges, np.diff(reached), float(reached[0]), float(1.0 - reached[-1]))
