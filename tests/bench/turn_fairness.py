"""By simulation: how often a check sees that turns cost one side more than the other, of 80 pairs.

    PYTHONPATH=python .venv/bin/python tests/bench/turn_fairness.py [TRIALS]

What an interrupted side pays anew in each turn of length L, as a share of it, is a t/L (1 - exp(-L/t)): all
is back after some t. Compared are the check that is built (each sixth pair launched one after another), and
one by turns of 1 ms in place of 4 (each sixth pair), whose ratio differs from the others' by three times what
4 ms cost, where t is short. Noise of a side: 0.8 %, tails of three degrees of freedom, as of short launches.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from tollbench.stats.order_statistics import Floats

PAIRS = 80
ANOTHER_WAY = 6  # each such pair
NOISE = 0.008
UNFAIR, CERTAIN = 0.003, 4.0  # as tollbench.compare.ways has them
LONG_MS, SHORT_MS = 4.0, 1.0
REFILLS_MS = (0.1, 1.0, 4.0)  # t
QUIETER = 0.5  # noise of turns, beside that of launches one after another, where they are worth taking


def main() -> None:
    """Prints the table."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    chance = np.random.default_rng(7)
    print("cost in 4 ms  noise in turns  refill ms   whole   lengths   either")
    for cost in (0.0, 0.005, 0.01, 0.02, 0.05):
        for quieter in (1.0, QUIETER):
            for refill_ms in REFILLS_MS:
                whole, lengths, either = 0, 0, 0
                for _ in range(trials):
                    by_whole, by_lengths = _seen(chance, cost, quieter, refill_ms)
                    whole += by_whole
                    lengths += by_lengths
                    either += by_whole or by_lengths
                shares = "".join(f"{count / trials:9.1%}" for count in (whole, lengths, either))
                print(f"{cost:12.1%}  {quieter * NOISE:14.2%}  {refill_ms:9.1f}{shares}")


def _seen(chance: np.random.Generator, cost: float, quieter: float, refill_ms: float) -> tuple[bool, bool]:
    """By each of the two checks, which share the pairs in turns of 4 ms."""
    fewer = PAIRS // ANOTHER_WAY
    usual = _logs(chance, PAIRS - fewer, quieter) + cost
    short_cost = cost * _share(SHORT_MS, refill_ms) / _share(LONG_MS, refill_ms)
    whole = _logs(chance, fewer, 1.0)
    short = _logs(chance, fewer, quieter) + short_cost
    shorter_pays = LONG_MS / SHORT_MS - 1  # times what a turn of 4 ms costs, at most
    return (
        _shift(usual, whole) > UNFAIR + CERTAIN * _error(usual, whole),
        _shift(usual, short) / shorter_pays > UNFAIR + CERTAIN * _error(usual, short) / shorter_pays,
    )


def _share(length_ms: float, refill_ms: float) -> float:
    return refill_ms / length_ms * (1.0 - math.exp(-length_ms / refill_ms))


def _logs(chance: np.random.Generator, pairs: int, quieter: float) -> Floats:
    sides: Floats = quieter * NOISE * chance.standard_t(3, size=(pairs, 2))
    return sides[:, 1] - sides[:, 0]


def _shift(one: Floats, other: Floats) -> float:
    return abs(float(np.median(one) - np.median(other)))


def _error(one: Floats, other: Floats) -> float:
    """As tollbench.compare.ways estimates it, from median deviations."""
    return 1.25 * 1.48 * math.hypot(*(_deviation(logs) for logs in (one, other)))


def _deviation(logs: Floats) -> float:
    return float(np.median(np.abs(logs - np.median(logs)))) / math.sqrt(logs.size)


if __name__ == "__main__":
    main()
