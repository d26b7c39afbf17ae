"""Noise of pairs of launches as machines make it, and comparisons stopped by the rule of `toll compare`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollbench.stats import equivalence
from tollbench.stats.lasting import factor_to_end, lasting_noise, widened
from tollbench.stats.sequential import Bounds, SignBoundary, look_due, rarer_order, without_order

Floats = NDArray[np.float64]
Settled = Callable[[float, float, float], bool]  # ends of an interval, threshold -> whether to stop
Draw = Callable[[np.random.Generator, int, int], Floats]  # trials, launches in time -> log values


def normal(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    return rng.normal(0.0, 0.02, (trials, launches))


def laplace(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    return rng.laplace(0.0, 0.02, (trials, launches))


def skewed_with_outliers(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    """Lognormal excess, and one launch of twenty hit by something that makes it up to five times slower."""
    noise = 0.02 * np.exp(rng.normal(size=(trials, launches)))
    hit = rng.random((trials, launches)) < 0.05
    return noise + np.where(hit, rng.uniform(0.0, 1.6, hit.shape), 0.0)


def bimodal(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    """Three layouts of ten are 10 % slower."""
    return rng.normal(0.0, 0.01, (trials, launches)) + 0.1 * (rng.random((trials, launches)) < 0.3)


def drifting(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    """20 % slower from the first launch to the last, in half of the trials with a jump in the middle."""
    trend = np.linspace(0.0, 0.2, launches) + 0.2 * (np.arange(launches) > launches / 2) * (
        rng.random((trials, 1)) < 0.5
    )
    return rng.normal(0.0, 0.01, (trials, launches)) + trend


def autocorrelated(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    """A neighbour that comes and goes: each launch's noise is 0.9 of the one before it, and some own."""
    steps = rng.normal(0.0, 0.01, (trials, launches))
    noise = np.empty_like(steps)
    noise[:, 0] = steps[:, 0]
    for launch in range(1, launches):
        noise[:, launch] = 0.9 * noise[:, launch - 1] + steps[:, launch]
    return noise


def tied(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    """A clock with large ticks: times are whole per cents, and about a quarter of all pairs are ties."""
    return np.round(rng.normal(0.0, 0.01, (trials, launches)), 2)


def first_is_faster(rng: np.random.Generator, trials: int, launches: int) -> Floats:
    """Who comes first in a pair is 3 to 5 % faster, and next to nothing else happens."""
    noise = rng.normal(0.0, 0.001, (trials, launches))
    noise[:, ::2] -= rng.uniform(0.03, 0.05, noise[:, ::2].shape)
    return noise


def one_sided(rng: np.random.Generator, trials: int, pairs: int, correlation: float) -> Floats:
    """Log ratios of equal sides of which one alone has noise of 2 % that lasts from pair to pair."""
    steps = rng.normal(0.0, 0.02, (trials, pairs))
    noise = np.empty_like(steps)
    noise[:, 0] = steps[:, 0]
    for pair in range(1, pairs):
        noise[:, pair] = correlation * noise[:, pair - 1] + np.sqrt(1.0 - correlation**2) * steps[:, pair]
    return noise


SCENARIOS: dict[str, Draw] = {
    "normal": normal,
    "Laplace": laplace,
    "skewed, outliers": skewed_with_outliers,
    "bimodal": bimodal,
    "drifting": drifting,
    "autocorrelated": autocorrelated,
    "ties": tied,
    "first is faster": first_is_faster,
}


def pairs_of(rng: np.random.Generator, draw: Draw, trials: int, pairs: int, effect: float) -> Floats:
    """Log ratios of pairs: which of two neighbouring launches was B is a coin's decision."""
    noise = draw(rng, trials, 2 * pairs)
    sign = np.where(rng.random((trials, pairs)) < 0.5, 1.0, -1.0)
    return effect + sign * (noise[:, 1::2] - noise[:, ::2])


def corrected_pairs_of(
    rng: np.random.Generator, draw: Draw, trials: int, pairs: int, effect: float
) -> Floats:
    """The same as `toll compare` judges them: without what coming first does."""
    return ordered_pairs_of(rng, draw, trials, pairs, effect)[0]


def ordered_pairs_of(
    rng: np.random.Generator, draw: Draw, trials: int, pairs: int, effect: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """`corrected_pairs_of`, and in which pairs the first side came first."""
    noise = draw(rng, trials, 2 * pairs)
    first_led = rng.random((trials, pairs)) < 0.5
    second_costs = noise[:, 1::2] - noise[:, ::2]
    return without_order(effect + np.where(first_led, second_costs, -second_costs), first_led), first_led


_Bounds = tuple[Floats, Floats]  # of each trial, low and high


@dataclass(frozen=True)
class Ends:
    """How all trials of one scenario ended; each array has shape (trials,)."""

    low: Floats
    high: Floats
    pairs: Floats

    def covered(self, effect: float) -> int:
        return int(np.count_nonzero((self.low <= effect) & (effect <= self.high)))

    def called_different(self) -> int:
        return int(np.count_nonzero((self.low > 0) | (self.high < 0)))

    def called_regression(self, threshold: float) -> int:
        return int(np.count_nonzero(self.low > np.log1p(threshold)))


def _kept(before: _Bounds, found: _Bounds, middle: Floats) -> _Bounds:
    """What `tollbench.stats.sequential.kept` does, for each trial."""
    low, high = np.maximum(before[0], found[0]), np.minimum(before[1], found[1])
    agree = (low <= middle) & (middle <= high)
    alone = (found[0] <= middle) & (middle <= found[1])
    return (
        np.where(agree, low, np.where(alone, found[0], -np.inf)),
        np.where(agree, high, np.where(alone, found[1], np.inf)),
    )


def stopped(
    logs: Floats,
    alpha: float,
    threshold: float,
    *,
    worst_case: float | None = None,
    first_led: NDArray[np.bool_] | None = None,
    settled: Settled = equivalence.estimate_settled,
    lasting: bool = False,
) -> Ends:
    """Every trial is looked at while it grows and ends when it is settled or at the last pair.

    With `first_led` ends lie in pairs of both orders, as `toll compare` has it. With `worst_case` a trial
    ends at the first look whose interval excludes that value: when it is wrong, if it ever is. With
    `lasting` noise that lasts is looked for, and few pairs may hide it, as `toll compare` has it.
    """
    trials, pairs = logs.shape
    boundary = SignBoundary(alpha)
    low, high = np.full(trials, -np.inf), np.full(trials, np.inf)
    latest = low.copy(), high.copy()
    ends = Ends(low.copy(), high.copy(), np.zeros(trials))
    going = np.ones(trials, dtype=bool)
    looked_at = 0
    for count in range(1, pairs + 1):
        if not look_due(count, looked_at) and count < pairs:
            continue
        looked_at = count
        rank = boundary.ranks(count, last=count == pairs)
        if rank >= 0:
            ordered = np.sort(logs[:, :count], axis=1)
            told = np.ones(trials, bool) if first_led is None else rarer_order(first_led[:, :count]) > rank
            latest = (
                np.where(told, ordered[:, rank], latest[0]),
                np.where(told, ordered[:, -1 - rank], latest[1]),
            )
            low, high = _kept((low, high), latest, np.median(ordered, axis=1))
        shown, hidden = (low, high), (low, high)
        if lasting:
            shown, hidden = _where_noise_lasts(logs[:, :count], (low, high), latest, going)
        done = np.ones(trials, dtype=bool)
        if count < pairs:
            done = _done(*shown, threshold, worst_case, settled) & _done(
                *hidden, threshold, worst_case, settled
            )
        new = done & going
        ends.low[new], ends.high[new], ends.pairs[new] = shown[0][new], shown[1][new], count
        going &= ~done
    return ends


def _where_noise_lasts(
    logs: Floats, bounds: tuple[Floats, Floats], latest: tuple[Floats, Floats], going: NDArray[np.bool_]
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """What is told of each trial, and how wide it must be able to be (`Track.bounds`, `with_hidden`)."""
    shown, hidden = np.array(bounds), np.array(bounds)
    few = factor_to_end(logs.shape[1])
    for trial in np.flatnonzero(going):
        middle = float(np.median(logs[trial]))
        if (lasts := lasting_noise(logs[trial])) is not None:
            shown[:, trial] = widened(Bounds(latest[0][trial], latest[1][trial]), middle, lasts.factor)
        hidden[:, trial] = widened(Bounds(*shown[:, trial]), middle, few)
    return (shown[0], shown[1]), (hidden[0], hidden[1])


def _done(
    low: Floats, high: Floats, threshold: float, worst_case: float | None, settled: Settled
) -> NDArray[np.bool_]:
    if worst_case is not None:
        return (low > worst_case) | (high < worst_case)
    return np.array([settled(*ends, threshold) for ends in zip(low, high, strict=True)])
