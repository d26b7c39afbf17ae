"""Frameworks whose launches tell several short repetitions: the quickest quarter is the launch's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tollbench.compare.adapters.one_after_another import OneAfterAnother

# A third of REPETITION_S. What comes in between only adds time, for 50 us every few ms or for half a launch:
# of short repetitions the quickest quarter is free of it. Noise x sqrt(time) of a pair, nine operations in
# Google Benchmark: 0.56 % x sqrt(s) by the median of 7 of 1 ms, 0.29 by the quartile of 20 of 0.3 ms; six in
# Go: 1.48 by the median of 7 of 1 ms, 0.74 by the quartile of 7 of 0.3 ms (docs/compare-method.md).
SHORT_S = 0.0003
_QUIET_SHARE = 0.25


class QuietRepetitions(OneAfterAnother):
    """The lower quartile of a launch's repetitions is its value, beside their mean."""

    def values_of(self, launched: Mapping[int, Sequence[float]]) -> dict[int, float]:
        """The lower quartile: what a neighbour adds to half of a launch is no part of it.

        Of few values as of many (Hyndman and Fan 1996, 8), as sides may differ in repetitions. Where one
        has but one value, as the median that Google Benchmark itself has made, the others have theirs.
        """
        single = min(map(len, launched.values()), default=0) == 1
        share = 0.5 if single else _QUIET_SHARE
        return {
            side: float(np.quantile(numbers, share, method="median_unbiased"))
            for side, numbers in launched.items()
        }

    def mean_of(self, numbers: Sequence[float]) -> float:
        """A minority of slow repetitions is no noise where one side alone has it."""
        return float(np.mean(numbers))
