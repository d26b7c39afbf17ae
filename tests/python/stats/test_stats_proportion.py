"""The exact interval of a share covers with at least its level, whatever the share is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta
from simulate import assert_covers, covers_too_little

from tollbench.stats.proportion import exact_share

TRIALS = 4_000
SHARES = (0.001, 0.01, 0.05, 0.3, 0.5, 0.95, 0.999)


def hits(share: float, size: int, level: float) -> int:
    successes = np.random.default_rng((size, round(share * 1e4))).binomial(size, share, TRIALS)
    intervals = {int(count): exact_share(int(count), size, level) for count in np.unique(successes)}
    return sum(intervals[int(count)].low <= share <= intervals[int(count)].high for count in successes)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("size", [5, 40, 1_000])
@pytest.mark.parametrize("share", SHARES)
def test_it_covers(share: float, size: int, level: float) -> None:
    assert_covers(hits(share, size, level), TRIALS, level)


def test_the_textbook_interval_would_not() -> None:
    """What the simulation above is able to see: p plus and minus 1.96 standard errors, of rare events."""
    successes = np.random.default_rng(1).binomial(40, 0.01, TRIALS) / 40
    half = 1.96 * np.sqrt(successes * (1 - successes) / 40)
    covered = int(np.count_nonzero((successes - half <= 0.01) & (successes + half >= 0.01)))
    assert covers_too_little(covered, TRIALS, 0.95)


def test_its_ends_are_those_of_the_beta_distribution() -> None:
    share = exact_share(3, 50)
    assert share.value == 0.06
    assert share.low == pytest.approx(beta.ppf(0.025, 3, 48))
    assert share.high == pytest.approx(beta.ppf(0.975, 4, 47))


def test_the_extremes() -> None:
    assert exact_share(0, 10)[1:] == pytest.approx((0.0, 1 - 0.025**0.1))
    assert exact_share(10, 10)[1:] == pytest.approx((0.025**0.1, 1.0))
    nothing = exact_share(0, 0)
    assert math.isnan(nothing.value)
    assert nothing[1:] == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_counts_that_cannot_be(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="successes of"):
        exact_share(successes, trials)
