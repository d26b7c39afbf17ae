"""Coverage of the intervals that toll does not use, beside those it uses (docs/method-record.md).

    python tests/bench/rejected_intervals.py        # about a minute

Nothing is timed; the share of 95 % intervals that cover the truth is counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import ndtr, stdtrit

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python/stats")]

from serial_noise import MACHINES  # noqa: E402
from test_stats_cluster import Machine  # noqa: E402

from tollbench.stats import Pooled, bonferroni, quantile_ranks, ratio_interval, serial_median_interval  # noqa: E402

LEVEL = 0.95
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def signed_rank_count(n: int, tail: float) -> int:
    """Largest c with P(signed-rank statistic <= c) <= tail, by counting subsets of 1..n."""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return int(np.count_nonzero(np.cumsum(ways) / 2.0**n <= tail)) - 1


def paired_coverage(logs: np.ndarray) -> dict[str, float]:
    """Share of trials (rows) whose 95 % interval of the median log ratio covers the truth, 0."""
    n = logs.shape[1]
    ordered = np.sort(logs, axis=1)
    ranks = quantile_ranks(n, 0.5, LEVEL)
    assert ranks is not None
    i, j = np.triu_indices(n)
    walsh = np.sort((logs[:, i] + logs[:, j]) / 2.0, axis=1)
    c = signed_rank_count(n, (1.0 - LEVEL) / 2.0)
    half = -stdtrit(n - 1, (1.0 - LEVEL) / 2.0) * logs.std(axis=1, ddof=1) / np.sqrt(n)
    mean = logs.mean(axis=1)
    found = {
        "sign": (ordered[:, ranks[0] - 1], ordered[:, ranks[1] - 1]),
        "signed rank": (walsh[:, c], walsh[:, walsh.shape[1] - 1 - c]),
        "t": (mean - half, mean + half),
    }
    return {name: float(np.mean((low <= 0.0) & (high >= 0.0))) for name, (low, high) in found.items()}


NOISE: dict[str, Draw] = {
    "same noise, normal": lambda rng, s: rng.normal(size=s) - rng.normal(size=s),
    "same noise, lognormal": lambda rng, s: np.exp(rng.normal(size=s)) - np.exp(rng.normal(size=s)),
    "lognormal against steady": lambda rng, s: np.exp(rng.normal(size=s)) + 0.1 * rng.normal(size=s),
    "bimodal against steady": lambda rng, s: 1.0 * (rng.random(s) < 0.3) + 0.1 * rng.normal(size=s),
}


def compare_paired(trials: int = 5000) -> None:
    """The sign interval beside signed-rank and t intervals."""
    for name, draw in NOISE.items():
        rng = np.random.default_rng(1)
        median = float(np.median(draw(rng, (1, 2_000_001))))
        for n in (8, 12, 20, 50):
            shares = paired_coverage(draw(rng, (trials, n)) - median)
            print(f"{name:25} n={n:2}", *(f"{key} {100 * share:.1f} %" for key, share in shares.items()))


def compare_corrections(rows: int = 15, rounds: int = 150, trials: int = 1000) -> None:
    """Share of tables of equal rows with a false difference to the row that came out fastest, 90 % level."""
    for name, comparisons in (("rows - 1", rows - 1), ("all pairs", rows * (rows - 1) // 2)):
        rng, wrong = np.random.default_rng(2), 0
        level = bonferroni(0.9, comparisons)
        for _ in range(trials):
            logs = rng.normal(size=(rounds, rows))
            fastest = int(np.argmin(np.median(logs, axis=0)))
            others = np.delete(logs, fastest, axis=1) - logs[:, [fastest]]
            found = [ratio_interval(column, level)[1] for column in others.T]
            wrong += any(one is not None and not one.low <= 1.0 <= one.high for one in found)
        print(f"corrected for {name}: wrong in {100 * wrong / trials:.1f} % of {trials} tables")


def compare_pooled(launches: int = 8, trials: int = 1000) -> None:
    """Plain and widened bootstrap and Woodruff's interval alone, beside their hull."""
    t = float(-stdtrit(launches - 1, (1.0 - LEVEL) / 2.0))
    tails = {"plain": (1.0 - LEVEL) / 2.0, "widened": float(ndtr(-t * np.sqrt(launches / (launches - 1))))}
    for machine in (Machine("normal", 0.3), Machine("bimodal", 0.3)):
        ps = (0.5, 0.9)
        truths = dict(zip(ps, machine.truths(ps), strict=True))
        rng = np.random.default_rng(3)
        hits = {(name, p): 0 for p in ps for name in (*tails, "Woodruff", "hull")}
        for _ in range(trials):
            pooled = machine.run(rng, launches)
            for p, truth in truths.items():
                for name, (low, high) in _alone(pooled, p, t, tails).items():
                    hits[name, p] += _covers(low, high, truth)
                hull = pooled.interval(p, LEVEL)
                hits["hull", p] += hull is not None and _covers(hull.low, hull.high, truth)
        for (name, p), count in hits.items():
            share = 100 * count / trials
            print(f"{machine.shape} {machine.size} n={launches} p{100 * p:g} {name}: {share:.1f} %")


def _covers(low: float, high: float, truth: float) -> bool:
    return bool(low <= truth * 1.001 and high >= truth / 1.001)  # the grid's bins are 0.1 % wide


def _alone(pooled: Pooled, p: float, t: float, tails: dict[str, float]) -> dict[str, tuple[float, float]]:
    drawn = np.sort(pooled._bootstrap(p))
    found = {}
    for name, tail in tails.items():
        cut = int(tail * drawn.size)
        found[name] = (pooled.values[drawn[cut]], pooled.values[drawn[drawn.size - 1 - cut]])
    error = t * pooled._standard_error(pooled._index(p))
    found["Woodruff"] = (pooled.values[pooled._index(p - error)], pooled.values[pooled._index(p + error)])
    return found


def flat_top(signs: np.ndarray) -> float:
    """Long-run over plain variance, lags cut off where correlations end (Politis and White 2004)."""
    count = signs.size
    centred = signs - signs.mean()
    spectrum = np.fft.rfft(centred, 2 * count)
    lagged = np.fft.irfft(spectrum * spectrum.conj(), 2 * count)[:count]
    if not lagged[0]:
        return 1.0
    correlations = lagged / lagged[0]
    small = np.abs(correlations[1:]) < 2.0 * np.sqrt(np.log10(count) / count)
    ends = np.flatnonzero(np.convolve(small, np.ones(5), "valid") == 5)
    most = min(count // 2, 2 * max(1, int(ends[0]) if ends.size else count))
    lags = np.arange(1, most + 1)
    return max(1.0, 1.0 + 2.0 * float(np.minimum(1.0, 2.0 * (1.0 - lags / most)) @ correlations[lags]))


def block_means(signs: np.ndarray) -> float:
    """The same from as many blocks as each has signs (Carlstein 1986)."""
    length = round(np.sqrt(signs.size))
    means = signs[: signs.size // length * length].reshape(-1, length).mean(axis=1)
    return max(1.0, float(length * means.var(ddof=1) / max(signs.var(), 1e-9)))


def as_of(values: np.ndarray, factor: float) -> tuple[float, float]:
    """The interval of the median that so many times the variance of independent signs makes."""
    count = values.size
    ranks = quantile_ranks(int(count / factor), 0.5, LEVEL)
    rank = 1 if ranks is None else max(1, int(ranks[0] * factor))
    ordered = np.sort(values)
    return ordered[rank - 1], ordered[count - rank]


def compare_serial(trials: int = 1000) -> None:
    """Intervals of medians of rounds that follow each other: by sums of lags, by one block, and as used."""
    for rounds in (50, 200):
        for machine in MACHINES:
            truth, drawn = machine.truth(), machine.draw(np.random.default_rng(4), trials, rounds)
            ends: dict[str, list[tuple[float, float]]] = {"flat top": [], "one block": [], "used": []}
            for values in drawn:
                signs = np.sign(values - np.median(values))
                ends["flat top"].append(as_of(values, flat_top(signs)))
                ends["one block"].append(as_of(values, block_means(signs)))
                used = serial_median_interval(values, LEVEL)
                assert used is not None
                ends["used"].append((used.interval.low, used.interval.high))
            told = (
                f"{name} {100 * np.mean([low <= truth <= high for low, high in found]):.1f} %,"
                f" {np.median([high - low for low, high in found]):.2f} ns"
                for name, found in ends.items()
            )
            print(f"{rounds} rounds, {machine.name}:", *told)


if __name__ == "__main__":
    compare_serial()
    compare_paired()
    compare_corrections()
    compare_pooled()
