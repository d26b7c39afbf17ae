"""Populations with known quantiles, and the verdict on a counted coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, norm

Floats = NDArray[np.float64]
Shape = Literal["skewed", "bimodal", "drifting"]
SHAPES: tuple[Shape, ...] = ("skewed", "bimodal", "drifting")
LEVELS = (0.9, 0.95, 0.99)
SIZES = (6, 8, 12, 20, 50)
UNLIKELY = 1e-5  # some hundred verdicts are given per test run


@dataclass(frozen=True)
class Population:
    """Log values of launches: `trend` is what the machine does to all cases alike from first to last."""

    shape: Shape

    def draw(self, rng: np.random.Generator, trials: int, launches: int) -> Floats:
        noise = rng.normal(size=(trials, launches))
        if self.shape == "skewed":
            return 0.1 * np.exp(noise)
        if self.shape == "bimodal":
            return 0.01 * noise + 0.3 * (rng.random(noise.shape) < 0.3)
        return 0.05 * noise + self.trend(launches)

    def trend(self, launches: int) -> Floats:
        return np.linspace(0.0, 0.2 if self.shape == "drifting" else 0.0, launches)

    def quantile(self, p: float, launches: int) -> float:
        """Of the mean distribution of the launches."""
        if self.shape == "skewed":
            return float(0.1 * np.exp(norm.ppf(p)))
        if self.shape == "bimodal":

            def below(x: float) -> float:
                return float(0.7 * norm.cdf(x / 0.01) + 0.3 * norm.cdf((x - 0.3) / 0.01))
        else:

            def below(x: float) -> float:
                return float(np.mean(norm.cdf((x - self.trend(launches)) / 0.05)))

        return float(brentq(lambda x: below(x) - p, -1.0, 2.0, xtol=1e-12))


def assert_covers(hits: int, trials: int, level: float) -> None:
    """Fails where so few hits would be a one-in-100,000 event for intervals that hold their level."""
    chance = float(binom.cdf(hits, trials, level))
    assert chance > UNLIKELY, f"covered {hits / trials:.4f} of {trials} trials, promised {level}"


def covers_too_little(hits: int, trials: int, level: float) -> bool:
    """Whether `assert_covers` would fail: tests of the tests use it on methods known to be wrong."""
    return float(binom.cdf(hits, trials, level)) <= UNLIKELY
