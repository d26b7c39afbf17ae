"""What does a round trip through shared memory cost beside two bare hand-offs of a cache line?

    PYTHONPATH=python .venv/bin/python tests/bench/ring_hand_off.py [--pairs 31]

Launches `ring_spinning` and `line_spinning` of ipc/round_trip (polling, 8 and 64 bytes) and `load_store`,
`load_store_one_trip` and `two_lines` of latency/core_to_core in rounds, each round in a new random order, all
on the first two CPUs that may be used. A launch's value is the median of its samples, a hand-off being half
of a round trip. Prints the median over rounds of (a round trip / twice a hand-off) with its 95 % interval,
the hand-off by load and store, each trip timed alone as those through shared memory are. Exits 1 where that
median is over 1.15 for 8 bytes of `line_spinning`, whose message and answer share one line, or over 2.3 for
64 bytes of `ring_spinning`, which has two. Half a minute, once these are built:

    ./toll run ipc/round_trip/ring_spinning ipc/round_trip/line_spinning latency/core_to_core/load_store \
        latency/core_to_core/load_store_one_trip latency/core_to_core/two_lines --profile check --no-html
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from tollbench.stats import median_interval

PROGRAMS = Path(__file__).resolve().parents[2] / "build/host/programs"
SAMPLES = 2000
BARE = ("latency/core_to_core", "load_store_one_trip", ())
LAUNCHED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    **{name: ("latency/core_to_core", name, ()) for name in ("load_store", "two_lines")},
    **{
        f"{name}, {size} bytes": ("ipc/round_trip", name, (f"bytes={size}", "waiter=polling"))
        for name in ("line_spinning", "ring_spinning")
        for size in (8, 64)
    },
}
BARS = {"line_spinning, 8 bytes": 1.15, "ring_spinning, 64 bytes": 2.3}


def main() -> int:
    """Prints a line for each of them; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=31)
    rounds = parser.parse_args().pairs
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    trips: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        order = random.sample(["", *LAUNCHED], len(LAUNCHED) + 1)
        seen = {name: round_trip_ns(*LAUNCHED.get(name, BARE)) for name in order}
        for name, trip_ns in seen.items():
            trips[name].append(trip_ns)
    bare = np.array(trips.pop(""))
    print(f"load_store_one_trip: {np.median(bare) / 2:.1f} ns a hand-off, median of {rounds} launches")
    missed = False
    for name in LAUNCHED:
        values = trips[name]
        ratios = np.array(values) / bare
        interval = median_interval(ratios, 0.95)
        told = f"[{interval.low:.2f}, {interval.high:.2f}]" if interval else "(too few rounds)"
        over = float(np.median(ratios)) > BARS.get(name, np.inf)
        missed |= over
        wanted = f" (wanted: at most {BARS[name]:.2f}{', missed' if over else ''})" if name in BARS else ""
        print(f"{name}: {np.median(values):.0f} ns, {np.median(ratios):.2f} {told}{wanted}")
    return int(missed)


def round_trip_ns(workload: str, contender: str, setting: tuple[str, ...]) -> float:
    """The median of a launch's samples; twice that where a sample is a hand-off."""
    shared = "ipc/shared" if workload.startswith("ipc/") else workload
    program = PROGRAMS / shared / contender
    words = [str(program), "serve", workload, contender, *setting]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        _answer(child.stdout.readline())
        request = {"type": "samples", "count": SAMPLES, "layout": random.randrange(1, 2**31)}
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        answer = _answer(child.stdout.readline())
        values = np.frombuffer(child.stdout.read(answer["bytes"]), dtype="<f4")
        child.stdin.write(b'{"type": "stop"}\n')
        child.stdin.flush()
        child.stdout.readline()
    if int(answer["checksum"]) != SAMPLES:  # each is checked by the program, and counts one
        sys.exit(f"ring_hand_off: {contender} had wrong answers")
    hand_offs = 1 if workload.startswith("ipc/") else 2
    return float(np.median(values)) * hand_offs


def _answer(line: bytes) -> dict[str, int]:
    """Ends the program where the child tells of an error instead."""
    answer = json.loads(line or b'{"type": "error", "message": "no answer: is it built?"}')
    if answer["type"] == "error":
        sys.exit(f"ring_hand_off: {answer['message']}")
    return dict(answer)


if __name__ == "__main__":
    sys.exit(main())
