"""The interval of a median whose values follow each other in time, where neighbours are alike.

Order statistics take the number of values below the median for that of tossed coins. Where a machine's slow
states last over several values it strays farther, by the long-run variance of the signs about the median over
that of independent ones (Gastwirth and Rubin, Effect of Dependence on the Level of Some One-Sample Tests,
Journal of the American Statistical Association 66, 1971). So n values count as fewer independent ones (Bayley
and Hammersley 1946), and the ranks are taken at the same shares of n as for as many.

How many depends on correlations that fall off slowly, of a series that is short. The largest of these counts:

- the correlation of neighbouring ranks, taken for that of a Gaussian series of first order (Pearson 1907),
  whose signs correlate by 2/pi asin(rho) (Sheppard 1898);
- means of blocks of 2, 4, 8 ... signs, as long as there are 16 of them, taken for a series of first order in
  turn (batch means with serial correlation: Fishman, Grouping Observations in Digital Simulation, Management
  Science 24, 1978). Slow states with noise of their own on top show there, not in neighbours.

Each correlation is corrected for what it loses in a short series (Kendall 1954) and raised by half a standard
error. All this is approximate; docs/method-record.md has the simulations that the constants were chosen by.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.lasting import SEEN, centred_ranks
from tollbench.stats.order_statistics import Floats, Interval, quantile_ranks

CAUTION = 0.5  # standard errors that a correlation may be larger than it looks
MOST = 0.97  # correlation: of more, no run is long enough to tell by how much
FEWEST_BLOCKS = 16
LONG_ENOUGH = 50  # values: of fewer the correlation is not known well enough
ENOUGH_INDEPENDENT = 10  # as many as the values have to count for


class Serial(NamedTuple):
    """An interval of a median, and what its values counted for."""

    interval: Interval
    counts_as: float | None  # independent values; None: all, as neighbours are no more alike than by chance
    resolved: bool  # False: too few values to tell whether neighbours are alike, or for how long


def serial_median_interval(values: ArrayLike, level: float) -> Serial | None:
    """Interval of the median of `values`, shape (n,), any unit, in the order of time.

    Where neighbours are no more alike than one in ten independent series shows, that of `median_interval`,
    exactly. Where they count for too few independent values it reaches from the smallest to the largest.
    None where even independent values were too few.
    Assumption: one distribution all along, and correlations that fall off geometrically, at one or two rates.
    """
    series = np.asarray(values, dtype=np.float64)
    count = series.size
    ranks = quantile_ranks(count, 0.5, level)
    if ranks is None:
        return None
    fewer = count / times_the_variance(series)
    if fewer < count:
        found = quantile_ranks(math.floor(fewer), 0.5, level)
        rank = 1 if found is None else max(1, min(ranks[0], math.floor(found[0] * count / fewer)))
        ranks = rank, count + 1 - rank, level if found is None else found[2]
    ordered = np.sort(series)
    interval = Interval(float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1]), ranks[2])
    if fewer == count:
        return Serial(interval, None, count >= LONG_ENOUGH)
    return Serial(interval, float(fewer), count >= LONG_ENOUGH and fewer >= ENOUGH_INDEPENDENT)


def times_the_variance(values: Floats) -> float:
    """By what factor the share of `values` below their median varies more than that of independent ones."""
    count = values.size
    if count < 4:
        return 1.0
    ranks = centred_ranks(values)
    products = ranks[1:] * ranks[:-1]
    if not float(products.sum()) > SEEN * math.sqrt(float(products @ products)):
        return 1.0
    pearson = 2.0 * math.sin(math.pi / 6.0 * _larger(float(products.sum() / (ranks @ ranks)), count))
    found = [1.0, _of_gaussian_signs(min(MOST, pearson))]
    signs = np.sign(values - np.median(values))
    signs -= signs.mean()
    variance = float(signs @ signs) / count
    length = 2
    while variance and count // length >= FEWEST_BLOCKS:
        found.append(_of_blocks(signs, length) / variance)
        length *= 2
    return max(found)


def _of_gaussian_signs(correlation: float) -> float:
    """Long-run over plain variance of the signs of a Gaussian series of first order."""
    if correlation <= 0.0:
        return 1.0
    lags = np.arange(1, math.ceil(math.log(1e-4) / math.log(correlation)) + 1)
    return 1.0 + 2.0 * float((2.0 / math.pi * np.arcsin(correlation**lags)).sum())


def _of_blocks(signs: Floats, length: int) -> float:
    """Long-run variance of the signs, from means of the last whole blocks of so many."""
    blocks = signs.size // length
    means = signs[signs.size - blocks * length :].reshape(blocks, length).mean(axis=1)
    means -= means.mean()
    squares = float(means @ means)
    if not squares:
        return 0.0
    correlation = max(0.0, _larger(float(means[1:] @ means[:-1]) / squares, blocks))
    return length * squares / (blocks - 1) * (1.0 + correlation) / (1.0 - correlation)


def _larger(correlation: float, count: int) -> float:
    """What the correlation of neighbours may be, of which so many values showed `correlation`."""
    error = math.sqrt(max(0.0, 1.0 - correlation**2) / count)
    return min(MOST, correlation + (1.0 + 3.0 * correlation) / count + CAUTION * error)
