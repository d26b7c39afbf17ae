"""Whether the machine changed its speed while a run went on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.order_statistics import Floats

TENTHS = 10
FEWEST_VALUES = 20
SHUFFLES = 999
_AT_ONCE = 100_000  # values


class Drift(NamedTuple):
    """`ratio`: slowest over fastest tenth; `chance`: how often shuffled values show as large a ratio."""

    ratio: float
    chance: float


def drift(values: ArrayLike, seed: int = 0) -> Drift | None:
    """Slowest over fastest tenth (by median) of `values`, shape (launches,), positive, in order of time.

    The ratio is above 1 by noise alone; `chance` is the p-value of a permutation test of "the order
    in time does not matter", at least 1 / 1000. Assumption under that hypothesis: exchangeable
    values. None for fewer than 20. Source: Pitman (1937), permutation tests.
    """
    ordered = np.asarray(values, dtype=np.float64)
    if ordered.size < FEWEST_VALUES:
        return None
    seen, rng = float(_ratio(ordered[None, :])[0]), np.random.default_rng(seed)
    # A few at a time: all of them together would take gigabytes in a run of days.
    at_once, as_large = max(1, _AT_ONCE // ordered.size), 0
    for begin in range(0, SHUFFLES, at_once):
        rows = min(at_once, SHUFFLES - begin)
        shuffled = rng.permuted(np.tile(ordered, (rows, 1)), axis=1)
        as_large += int(np.count_nonzero(_ratio(shuffled) >= seen * (1.0 - 1e-12)))
    return Drift(seen, (1 + as_large) / (SHUFFLES + 1))


def _ratio(values: Floats) -> Floats:
    tenths = np.stack([np.median(part, axis=1) for part in np.array_split(values, TENTHS, axis=1)])
    ratio: Floats = tenths.max(axis=0) / tenths.min(axis=0)
    return ratio
