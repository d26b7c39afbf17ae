"""False alarms and true finds of one comparison of a whole executable: the ten operations in Catch2.

    .venv/bin/python tests/peers/whole.py FILE.jsonl --budget 3600 [--equal 2] [--slowdowns 2] [--seconds 10]

A launch of Catch2 measures its clock for a second whatever it is asked to do, so that `tests/peers/run.py`,
which asks for one operation at a time, says little of it. Here a comparison is what `toll compare ./base
./new` makes of both: all operations, `--seconds` for each. Per round `--equal` comparisons of equal sides and
one of each slow-down, in random order. Each verdict is a line of FILE, and all that FILE holds are counted;
without `--budget` nothing is measured. Needs g++ and Catch2.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]

from peers.tolls import Framework, frameworks  # noqa: E402
from tollbench.compare import ComparisonSettings, Verdict, compare  # noqa: E402
from tollbench.launching.machine_lock import machine_lock  # noqa: E402
from tollbench.measure import Interrupt, SystemClock  # noqa: E402
from tollbench.stats.proportion import exact_share  # noqa: E402


def main() -> int:
    """Measures for as long as asked, then tells of all that the file holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--budget", type=float, default=0.0, help="seconds in all")
    parser.add_argument("--equal", type=int, default=2)
    parser.add_argument("--slowdowns", default="2", help="per cent, with commas")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each operation")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    slowdowns = [float(word) / 100 for word in words.slowdowns.split(",") if word]
    if words.budget:
        with Interrupt() as interrupt, machine_lock(SystemClock(), interrupt=interrupt, on_wait=print):
            tried = [0.0] * words.equal + slowdowns
            measured(words.file, words.budget, words.seconds, tried, words.seed, interrupt)
    told([json.loads(line) for line in words.file.read_text().splitlines()])
    return 0


def measured(
    file: Path, budget_s: float, seconds: float, slowdowns: list[float], seed: int, interrupt: Interrupt
) -> None:
    """Comparisons until the time is over, the last one to its end, or until Ctrl-C after the one at hand."""
    framework = replace(frameworks(None)["Catch2"], pattern="")
    program, rng, ends = framework.build(), random.Random(seed), time.monotonic() + budget_s
    while time.monotonic() < ends and not interrupt.requested:
        for slowdown in rng.sample(slowdowns, len(slowdowns)):
            if interrupt.requested:
                break
            lines = judged(framework, program, slowdown, seconds, rng.randrange(2**31))
            with file.open("a") as appended:
                appended.writelines(json.dumps(line) + "\n" for line in lines)


def judged(
    framework: Framework, program: Path, slowdown: float, seconds: float, seed: int
) -> list[dict[str, Any]]:
    """A line for each operation."""
    settings = ComparisonSettings(budget_s=seconds, total_s=100 * seconds, seed=seed)
    began = time.monotonic()
    found = compare(framework.subject(program, "", slowdown), settings).comparisons
    return [
        {
            "slowdown": slowdown,
            "seconds": time.monotonic() - began,  # of all of them
            "operation": one.benchmark.rpartition(" / ")[2],
            "verdict": one.verdict,
            "beyond": one.regression,
            "launches": one.launches,
            "low": one.low,
            "high": one.high,
            "reason": one.reason,
        }
        for one in found
    ]


def told(lines: list[dict[str, Any]]) -> None:
    """Of equal sides who were called different, of slow ones who were called slower; how wide, how long."""
    by_slowdown = defaultdict(list)
    for line in lines:
        by_slowdown[line["slowdown"]].append(line)
    for slowdown, of_it in sorted(by_slowdown.items()):
        wanted = {Verdict.SLOWER} if slowdown else {Verdict.SLOWER, Verdict.FASTER}
        hits = sum(line["verdict"] in wanted for line in of_it)
        share = exact_share(hits, len(of_it))
        what = f"+{slowdown:.1%} called slower" if slowdown else "equal sides called different"
        print(f"{what}: {hits} of {len(of_it)} ({share.low:.1%} to {share.high:.1%})")
        widths = [math.sqrt(line["high"] / line["low"]) - 1 for line in of_it if line["low"] and line["high"]]
        beyond = sum(line["beyond"] for line in of_it)
        none = sum(line["verdict"] == Verdict.NO_DIFFERENCE for line in of_it)
        launches, seconds = (median(line[key] for line in of_it) for key in ("launches", "seconds"))
        wide = median(widths or [math.nan])
        print(
            f"  beyond the threshold {beyond}, no difference {none}, no interval {len(of_it) - len(widths)}"
        )
        print(f"  medians: half-width {wide:.2%}, {launches:g} launches, {seconds:.0f} s a comparison")


if __name__ == "__main__":
    sys.exit(main())
