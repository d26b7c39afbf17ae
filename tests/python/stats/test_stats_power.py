"""The price of confirming, against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tollbench.stats.power import OFTEN, power_of_both


@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_both_find_as_often_as_simulated(alpha: float) -> None:
    rng = np.random.default_rng(51)
    difference = norm.isf(alpha / 2.0) + norm.ppf(OFTEN)
    alone = rng.normal(difference, 1.0, 20_000) > norm.isf(alpha / 2.0)
    assert np.mean(alone) == pytest.approx(OFTEN, abs=0.005)
    first, second = (
        rng.normal(difference * np.sqrt(share), 1.0, 20_000) > norm.isf(alpha / 4.0)
        for share in (2.0 / 3.0, 1.0 / 3.0)
    )
    told = power_of_both(alpha, 2.0 / 3.0, 1.0 / 3.0)
    assert np.mean(first & second) == pytest.approx(told, abs=0.015)
    assert 0.2 < told < 0.55
