"""`toll bisect` in repositories whose answer is known: real launches of real programs.

    .venv/bin/python tests/bench/bisect_real.py [--trials 20] [--commits 1000] [--change 0.02] [--load] ...

Each trial makes a repository of so many commits, one of which, at a place drawn anew, makes a benchmark
slower by `--change` (0: none does; `--change 0.02 0.02`: two do, which `--all` looks for). Every commit moves
the benchmark's code elsewhere and changes a constant that it reads, so that no commit is proved to execute
what another one does. `--load` keeps a neighbour busy on each second CPU. A row a trial, how many were right,
and what a bisection without noise would launch: for each change log2(commits) comparisons, each with as many
launches as GOOD against BAD took. Needs g++, libbenchmark-dev. Exits 1 where fewer than 18 of 20 are right
(with --load 17), or more than 2.5 times those launches were made.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STEPS = 20_000  # of a chain of dependent operations: some 20 us
BUILD = "g++ -O2 -o bench bench.cpp -lbenchmark -lpthread"
MOST_LAUNCHES = 2.5  # times those of a bisection without noise
RIGHT, RIGHT_LOADED = 0.9, 0.85
SOURCE = """\
#include <benchmark/benchmark.h>
#include <cstdint>
__attribute__((used)) void elsewhere() {{ asm volatile(".skip {skip}, 0x90"); }}
static volatile std::uint64_t seed = {seed}u;
static void BM_chain(benchmark::State& state) {{
  for (auto _ : state) {{
    std::uint64_t value = seed;
    for (int step = 0; step < {steps}; ++step) value = value * 6364136223846793005u + 1442695040888963407u;
    benchmark::DoNotOptimize(value);
  }}
}}
BENCHMARK(BM_chain)->MinTime(0.02);
BENCHMARK_MAIN();
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one search came to; `noiseless` are the launches of a bisection that never errs."""

    right: bool
    answered: bool
    launches: int
    noiseless: int
    built: int
    seconds: float
    told: str


def repository(folder: Path, commits: int, guilty: dict[int, float], rng: random.Random) -> list[str]:
    """Commits 0 to `commits`; each `guilty` one, and all behind it, take longer by so much. Their hashes."""
    folder.mkdir()
    run(["git", "init", "-q", "-b", "main"], folder)
    stream = bytearray()
    for number in range(commits + 1):
        steps = round(STEPS * math.prod(1.0 + change for at, change in guilty.items() if number >= at))
        source = SOURCE.format(skip=rng.randrange(4096), seed=rng.randrange(2**32), steps=steps).encode()
        told = f"step {number}".encode()
        stream += b"commit refs/heads/main\nmark :%d\n" % (number + 1)
        stream += b"committer n <n> %d +0000\ndata %d\n%b\n" % (1_700_000_000 + number, len(told), told)
        stream += b"" if number == 0 else b"from :%d\n" % number
        stream += b"M 100644 inline bench.cpp\ndata %d\n%b\n" % (len(source), source)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=bytes(stream), check=True)
    return run(["git", "rev-list", "--reverse", "main"], folder).split()


def run(command: Sequence[str], folder: Path) -> str:
    """What it prints."""
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def trial(folder: Path, asked: argparse.Namespace, seed: int) -> Trial:
    """One repository, and the search in it."""
    rng = random.Random(seed)
    changes = [change for change in asked.change if change]
    # As `randrange` draws the place of one: tables of docs/bisect.md are of these seeds.
    places = [rng.randrange(1, asked.commits + 1) for _ in changes]
    while len(set(places)) < len(places):
        places = [rng.randrange(1, asked.commits + 1) for _ in changes]
    guilty = dict(zip(sorted(places), changes, strict=True))
    hashes = repository(folder, asked.commits, guilty, rng)
    words = ["bisect", hashes[0], hashes[-1], "--build", BUILD, "--program", "./bench", "--json", "--wait"]
    words += ["--budget", asked.budget, "--seed", str(seed), *["--count", "instructions"] * asked.count]
    words += ["--all"] * (len(changes) > 1)
    started = time.monotonic()
    done = subprocess.run(
        [str(ROOT / "toll"), *words],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - started
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)["found"]
    (raw,) = (folder / "runs").glob("bisect-*.jsonl")
    records = [json.loads(line) for line in raw.read_text().splitlines()]
    answered = done.returncode == 0
    named = [one["commit"] for one in found]
    noiseless = max(1, len(changes)) * math.ceil(math.log2(asked.commits)) * of_ends(records)
    path = [step for one in found for step in one["path"]]
    return Trial(
        right=answered and named == [hashes[place] for place in guilty],
        answered=answered,
        launches=sum(launches(record) for record in records),
        noiseless=noiseless,
        built=2 + len({step["commit"] for step in path}),
        seconds=seconds,
        told=done.stderr.strip().splitlines()[-1] if not answered and done.stderr.strip() else "",
    )


def launches(record: dict[str, Any]) -> int:
    """That a line of the raw file is of."""
    return len(record["amounts"]) if "counted" in record else int("side" in record)


def of_ends(records: Sequence[dict[str, Any]]) -> int:
    """Launches of GOOD against BAD, the first comparison; of counts, two of each."""
    begun = [number for number, record in enumerate(records) if "begin" in record]
    if not begun:
        return 4
    first = [record for record in records[begun[0] :] if "commit" not in record]
    of = first[: next((at for at, one in enumerate(first[1:], 1) if "begin" in one), len(first))]
    return sum(launches(record) for record in of)


@contextmanager
def neighbours(asked: bool) -> Iterator[None]:
    """A busy process on each second CPU, while it is asked for."""
    cpus = sorted(os.sched_getaffinity(0))[::2] if asked else []
    busy = ["sh", "-c", "while :; do :; done"]
    with ExitStack() as stack:
        for cpu in cpus:
            process = stack.enter_context(subprocess.Popen(["taskset", "-c", str(cpu), *busy]))
            stack.callback(process.kill)
        yield


def main() -> int:
    """Prints all of it; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--change", type=float, nargs="+", default=[0.02])
    parser.add_argument("--budget", default="20m")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--count", action="store_true", help="search by counted instructions")
    asked = parser.parse_args()
    found: list[Trial] = []
    print("| trial | right | launches | of a noiseless bisection | built | seconds | |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="bisect-real-") as scratch, neighbours(asked.load):
        for number in range(asked.trials):
            one = trial(Path(scratch) / f"{number}", asked, asked.seed + number)
            found.append(one)
            right = "yes" if one.right else "WRONG" if one.answered else "undecided"
            print(
                f"| {number + 1} | {right} | {one.launches} | {one.noiseless} | {one.built} |"
                f" {one.seconds:.0f} | {one.told} |",
                flush=True,
            )
    all_right = sum(one.right for one in found)
    times = statistics.median(one.launches / max(1, one.noiseless) for one in found)
    wrong = sum(one.answered and not one.right for one in found)
    print(f"{all_right} of {len(found)} right, {wrong} wrong;")
    print(f"{times:.2f} times the launches of a noiseless bisection, median")
    wanted = RIGHT_LOADED if asked.load else RIGHT
    return 0 if all_right >= wanted * len(found) and times <= MOST_LAUNCHES else 1


if __name__ == "__main__":
    sys.exit(main())
