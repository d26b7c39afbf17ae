"""How much values scatter, from few of them and with some that are far off."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# What makes it right on average for so few normal values: Croux and Rousseeuw, table for n = 2 ... 9.
_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}


def qn_scale(values: ArrayLike) -> float:
    """Standard deviation of the normal distribution that `values`, shape (n,), any unit, may come from.

    2.2219 times the distance that about a quarter of all pairs of values lie within, made right for n. Half
    of the values may be anything; where they are normal it scatters as the standard deviation of 0.82 n
    values does, the median absolute deviation as that of 0.37 n. 0 for fewer than two values.
    Source: Rousseeuw and Croux, Alternatives to the Median Absolute Deviation (1993); Croux and Rousseeuw,
    Time-Efficient Algorithms for Two Highly Robust Estimators of Scale (1992), for small n.
    """
    ordered = np.asarray(values, dtype=np.float64)
    count = ordered.size
    if count < 2:
        return 0.0
    half = count // 2 + 1
    above, below = np.triu_indices(count, 1)
    distances = np.abs(ordered[above] - ordered[below])
    place = half * (half - 1) // 2 - 1
    right = _FEW.get(count) or count / (count + (1.4 if count % 2 else 3.8))
    return float(2.2219 * right * np.partition(distances, place)[place])
