"""What does a round trip through shared memory cost beside two bare hand-offs of a cache line?

    PYTHONPATH=python .venv/bin/python tests/bench/ring_hand_off.py [--rounds 31]

Launches `ring_spinning` and `line_spinning` of ipc/round_trip (polling, 8 and 64 bytes) and `load_store`,
`load_store_one_trip` and `two_lines` of latency/core_to_core in rounds, each in a new random order, all on
the first two CPUs that may be used. A launch's value is the median of its samples, a hand-off being half of a
round trip. Prints medians over rounds of (round trip / twice a hand-off) with 95 % intervals, by two
hand-offs: `load_store`, a mean of eight trips in a row, and `load_store_one_trip`, whose trips are timed one
by one as those through shared memory are. Exits 1 where by `load_store` `line_spinning` with 8 bytes, whose
message and answer share one line, is over 1.15, or `ring_spinning` with 64, which has two lines, over twice
that. Some seconds, once these are built:

    ./toll run ipc/round_trip/ring_spinning ipc/round_trip/line_spinning latency/core_to_core/load_store \
        latency/core_to_core/load_store_one_trip latency/core_to_core/two_lines --profile check --no-html
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from built_rows import BuiltRows

from tollbench.launching.failure import LaunchFailed
from tollbench.stats import median_interval
from tollbench.words import Kind

BUILD = Path(__file__).resolve().parents[2] / "build/host"
SAMPLES = 2000
HAND_OFFS = ("load_store", "load_store_one_trip")
BARS = {("line_spinning", 8): 1.15, ("ring_spinning", 64): 2.3}  # by the first of these
LAUNCHED: tuple[tuple[str, int], ...] = (  # contender, bytes of a message; 0: a hand-off
    *((name, 0) for name in (*HAND_OFFS, "two_lines")),
    *((name, size) for name in ("line_spinning", "ring_spinning") for size in (8, 64)),
)


def main() -> int:
    """Prints a line for each of them; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    rows = BuiltRows(BUILD)
    trips: dict[tuple[str, int], list[float]] = defaultdict(list)
    try:
        for _ in range(rounds):
            for launched in random.sample(LAUNCHED, len(LAUNCHED)):
                trips[launched].append(round_trip_ns(rows, *launched))
    except LaunchFailed as failure:
        sys.exit(f"ring_hand_off: {failure}")
    print(f"{'':26}{'ns':>7}  {'  '.join(f'beside twice {name}' for name in HAND_OFFS)}   {rounds} rounds")
    met = [tell(launched, trips) for launched in LAUNCHED]
    return 0 if all(met) else 1


def round_trip_ns(rows: BuiltRows, contender: str, size: int) -> float:
    """The median of a launch's samples, ns; twice that where a sample is a hand-off. Raises LaunchFailed."""
    workload = "ipc/round_trip" if size else "latency/core_to_core"
    parameters = {"bytes": str(size), "waiter": "polling"} if size else {}
    with rows.started(workload, contender, parameters, Kind.SAMPLES) as talk:
        timed = talk.time(SAMPLES, random.randrange(1, 2**31))
    assert timed.samples is not None  # of this kind they are
    return float(np.median(timed.samples)) * (1 if size else 2)


def tell(launched: tuple[str, int], trips: dict[tuple[str, int], list[float]]) -> bool:
    """One line; whether the bar is met, where there is one."""
    name, size = launched
    cells = [beside(trips[launched], trips[(hand_off, 0)]) for hand_off in HAND_OFFS]
    ratio = float(np.median(np.divide(trips[launched], trips[(HAND_OFFS[0], 0)])))
    bar = BARS.get(launched)
    met = bar is None or ratio <= bar
    wanted = "" if bar is None else f"  at most {bar}: {'met' if met else 'MISSED'} by {HAND_OFFS[0]}"
    told = f"{name}, {size} bytes" if size else name
    print(f"{told:26}{np.median(trips[launched]):7.0f}  {cells[0]:>23}  {cells[1]:>32}{wanted}")
    return met


def beside(trips: Sequence[float], others: Sequence[float]) -> str:
    """The median of the ratios of a round with its interval."""
    ratios = np.divide(trips, others)
    interval = median_interval(ratios, 0.95)
    within = f"[{interval.low:.2f}, {interval.high:.2f}]" if interval else "(too few rounds)"
    return f"{np.median(ratios):.2f} {within}"


if __name__ == "__main__":
    sys.exit(main())
