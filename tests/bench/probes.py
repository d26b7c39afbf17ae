"""How loud is this machine's host? Short loops of additions, and how many took longer than they need.

    python tests/bench/probes.py [SECONDS]

A probe is a loop of 20,000 additions in Python, about half a millisecond; 2 ms of sleep lie between two.
Told is the share that took over 1.15 times the quickest of all, and how many there were. On a quiet machine
it is under a tenth; documents here name it beside what was measured in that hour. It sees whoever uses this
processor or the other hardware thread of its core at the time, in this system or in another guest of the
host, and a clock that changes; it does not see who uses caches or memory alone. It takes a fifth of one
processor meanwhile.
"""

from __future__ import annotations

import sys
import time

ADDITIONS = 20_000
SLEEP_S = 0.002
LONGER = 1.15


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    end = time.monotonic() + seconds
    took_s = [_probe()]
    while time.monotonic() < end:
        time.sleep(SLEEP_S)
        took_s.append(_probe())
    quickest_s = min(took_s)
    longer = sum(one_s > LONGER * quickest_s for one_s in took_s)
    print(
        f"{longer / len(took_s):.0%} of {len(took_s):,} probes took over {LONGER} times the quickest,"
        f" {quickest_s * 1e6:.0f} µs"
    )
    return 0


def _probe() -> float:
    began = time.perf_counter()
    total = 0
    for one in range(ADDITIONS):
        total += one
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
