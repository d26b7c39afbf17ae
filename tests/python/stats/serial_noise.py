"""Rounds of a run on machines whose slow states last: values in ns, rounded to the clock's step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
VALUE_NS, STEP_NS = 100.0, 0.02


def first_order(rng: np.random.Generator, trials: int, rounds: int, correlation: float) -> Floats:
    """Normal, each round `correlation` of the one before."""
    noise = rng.standard_normal((trials, rounds))
    for at in range(1, rounds):
        noise[:, at] = correlation * noise[:, at - 1] + np.sqrt(1.0 - correlation**2) * noise[:, at]
    return noise


def spells(rng: np.random.Generator, trials: int, rounds: int, share: float, length: float) -> Floats:
    """1 while a neighbour works, who does so for `share` of the time and `length` rounds at once."""
    ends, begins = 1.0 / length, share / length / (1.0 - share)
    drawn = rng.random((trials, rounds))
    slow = np.empty((trials, rounds), dtype=bool)
    slow[:, 0] = drawn[:, 0] < share
    for at in range(1, rounds):
        slow[:, at] = np.where(slow[:, at - 1], drawn[:, at] >= ends, drawn[:, at] < begins)
    return slow.astype(np.float64)


@dataclass(frozen=True)
class Machine:
    """What it does to the logarithm of a value."""

    name: str
    noise: Callable[[np.random.Generator, int, int], Floats]

    def draw(self, rng: np.random.Generator, trials: int, rounds: int) -> Floats:
        """Nanoseconds, shape (trials, rounds)."""
        exact = VALUE_NS * np.exp(self.noise(rng, trials, rounds))
        return np.round(exact / STEP_NS) * STEP_NS

    def truth(self) -> float:
        """Median of what the machine does in the long run."""
        return float(np.median(self.draw(np.random.default_rng(99), 200_000, 1)))


def of_first_order(correlation: float) -> Machine:
    return Machine(
        f"correlation {correlation:g}",
        lambda rng, trials, rounds: 0.02 * first_order(rng, trials, rounds, correlation),
    )


def skewed(correlation: float) -> Machine:
    return Machine(
        f"skewed, correlation {correlation:g}",
        lambda rng, trials, rounds: 0.02 * np.exp(first_order(rng, trials, rounds, correlation)),
    )


def half_of_it_lasts(correlation: float) -> Machine:
    return Machine(
        f"half of the variance {correlation:g}, half of it each round's own",
        lambda rng, trials, rounds: (
            0.014 * (first_order(rng, trials, rounds, correlation) + rng.standard_normal((trials, rounds)))
        ),
    )


def neighbour(share: float, length: float) -> Machine:
    return Machine(
        f"30 % slower for {length:g} rounds at once, {100 * share:g} % of the time",
        lambda rng, trials, rounds: (
            0.26 * spells(rng, trials, rounds, share, length) + 0.02 * rng.standard_normal((trials, rounds))
        ),
    )


MACHINES = (
    *(of_first_order(correlation) for correlation in (0.0, 0.3, 0.5, 0.8, 0.95)),
    skewed(0.5),
    half_of_it_lasts(0.9),
    neighbour(0.3, 3),
    neighbour(0.3, 10),
    neighbour(0.3, 30),
)
