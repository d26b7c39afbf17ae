"""How sharp is the price list of a quick run, quiet and beside a load? Figures held against their bars.

    .venv/bin/python tests/bench/quick_bars.py FOLDER [--loaded | --standard] [--runs 1] [--seed N]
                                               [-- WORDS OF TOLL RUN]
    .venv/bin/python tests/bench/quick_bars.py FOLDER --read     # measures nothing, tells of what is there

Runs the headline by this checkout's `./toll run` (another's by `--toll`), keeps run file, JSON report and
what was seen from outside in FOLDER as `quiet-N`, `loaded-N` or `standard-N`, and tells of all that FOLDER
holds. What the start script builds the first time is part of that run's wall time. Of two runs of a kind it
tells how many ratios have intervals that overlap, and how many medians are within 4 %, where both have the
same fastest row: of the first and the last.

`--loaded`: beside a process that works and sleeps in turn, each for 1 to 200 ms at random, wherever the
kernel puts it. A half-width is sqrt(high / low) - 1, of each ratio's interval as the report shows it; a ratio
without an interval has none, so the share that has one is told beside it. Peak memory is the largest sum, by
looks four times a second, of what each living process of toll had at most until then, as resident; pages
that processes share count for each. Exits 1 where a bar is missed. Five minutes a run with what is around it.

`--standard`: the same headline by the standard profile, in a quiet hour; 22 minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHORTEST_S, LONGEST_S = 0.001, 0.2  # of the load's work and of its sleep
LOOKS_EVERY_S = 0.25
WIDEST = 8  # ratios that are named
NEAR = 1.04  # medians of two runs
BARS: dict[str, dict[str, float]] = {  # at most, shares are at least
    "quiet": {"median": 4.0, "90th percentile": 12.0, "floor": 3.0, "wall": 180.0},
    "loaded": {"median": 8.0, "90th percentile": 25.0, "floor": 6.0, "wall": 180.0},
    "standard": {"median": 1.5},
}
LAUNCHES_BAR, OVERLAP_BAR, NEAR_BAR = 20, 0.95, 0.80

Report = dict[str, Any]  # as `toll report --json` tells it


def main() -> int:
    """Measures what is asked for, then tells of all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--loaded", action="store_const", const="loaded", dest="kind")
    kinds.add_argument("--standard", action="store_const", const="standard", dest="kind")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, help="of the first run; the others have the next ones")
    parser.add_argument("--toll", type=Path, default=ROOT / "toll", help="start script")
    parser.add_argument("--read", action="store_true", help="tell of the runs in FOLDER only")
    mine, words = _divided(sys.argv[1:])
    asked = parser.parse_args(mine)
    asked.folder.mkdir(parents=True, exist_ok=True)
    kind = asked.kind or "quiet"
    for _ in range(0 if asked.read else asked.runs):
        number = 1 + max((run.number for run in runs_in(asked.folder, kind)), default=0)
        file = asked.folder.resolve() / f"{kind}-{number}.toll"
        seed = asked.seed + number - 1 if asked.seed is not None else number
        measure(asked.toll.resolve(), file, seed, words, kind)
    met = [tell(asked.folder, each) for each in BARS]
    return 0 if all(met) else 1


def _divided(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands before `--` is for this program, the rest for `toll run`."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def measure(toll: Path, file: Path, seed: int, words: Sequence[str], kind: str) -> None:
    """One run; what it says of itself stays in a log, and what was seen from outside in a file, beside it."""
    profile = "standard" if kind == "standard" else "quick"
    command = [str(toll), "run", *words, "--profile", profile, "--seed", str(seed)]
    command += ["--no-html", "--wait", "--output", str(file)]
    with beside_load(seed) if kind == "loaded" else beside_nothing():
        load, began_s = os.getloadavg()[0], time.monotonic()
        with file.with_suffix(".log").open("w") as log:
            run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            peak_bytes = 0
            while run.poll() is None:
                peak_bytes = max(peak_bytes, held_bytes(run.pid))
                time.sleep(LOOKS_EVERY_S)
        wall_s = time.monotonic() - began_s
    if run.returncode != 0:
        sys.exit(f"toll run ended with {run.returncode}: {file.with_suffix('.log')}")
    seen = {"wall_s": wall_s, "peak_bytes": peak_bytes, "load_before": load}
    file.with_suffix(".seen.json").write_text(json.dumps(seen))
    report = [str(toll), "report", str(file), "--json"]
    answer = subprocess.run(report, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    file.with_suffix(".json").write_bytes(answer.stdout)


@contextmanager
def beside_nothing() -> Iterator[None]:
    """A quiet hour, as far as this program can bring one."""
    yield


@contextmanager
def beside_load(seed: int) -> Iterator[None]:
    """The load lives from here to there, and no longer than its parent."""
    load = multiprocessing.Process(target=work_and_sleep, args=(seed, os.getpid()), daemon=True)
    load.start()
    try:
        yield
        if not load.is_alive():
            sys.exit("the load ended before the run did")
    finally:
        load.kill()
        load.join()


def work_and_sleep(seed: int, parent: int) -> None:
    """Works, sleeps, and so on, until its parent is gone."""
    rng = random.Random(f"load/{seed}")
    while os.getppid() == parent:
        ends_s = time.monotonic() + rng.uniform(SHORTEST_S, LONGEST_S)
        while time.monotonic() < ends_s:
            pass
        time.sleep(rng.uniform(SHORTEST_S, LONGEST_S))


def held_bytes(leader: int) -> int:
    """What a process and its descendants had resident, each at most until now."""
    total, family = 0, [leader]
    for pid in family:  # grows meanwhile
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            for thread in Path(f"/proc/{pid}/task").iterdir():
                family += map(int, (thread / "children").read_text().split())
        except OSError:
            continue  # it has ended
        total += sum(1024 * int(line.split()[1]) for line in status.splitlines() if line[:6] == "VmHWM:")
    return total


@dataclass(frozen=True)
class QuickRun:
    """One run that is there, as its report and its onlooker tell of it."""

    number: int
    report: Report
    seen: dict[str, float]

    def rows(self) -> Iterator[tuple[str, Report]]:
        """Each row with the name of its table."""
        for workload in self.report["workloads"]:
            for row in workload["rows"]:
                setting = [row["parameters"].get(name) for name in workload["swept"]]
                yield f"{workload['workload']} {row['environment']} {setting}", row

    def ratios(self) -> dict[tuple[str, str, str], Report]:
        """Rows that have a ratio to another, by table, contender and the row that it is to."""
        to = {table: row["contender"] for table, row in self.rows() if row["fastest"]}
        return {
            (table, f"{row['contender']} {row['parameters']}", to.get(table, "")): row
            for table, row in self.rows()
            if row["ratio"] is not None and not row["fastest"]
        }

    def half_widths(self) -> list[float]:
        """In percent, smallest first."""
        known = [row for row in self.ratios().values() if row["ratio_low"] is not None]
        return sorted(100 * (math.sqrt(row["ratio_high"] / row["ratio_low"]) - 1) for row in known)

    def launches_of(self, workload: str) -> list[int]:
        """Of each row of a workload that has a value."""
        return sorted(row["launches"] for table, row in self.rows() if table.split()[0] == workload)


def runs_in(folder: Path, kind: str) -> list[QuickRun]:
    """The runs of a kind that a folder holds, oldest first."""
    found = []
    for path in folder.glob(f"{kind}-*.seen.json"):
        name = path.name.removesuffix(".seen.json")
        report = json.loads((folder / f"{name}.json").read_text())
        found.append(QuickRun(int(name.removeprefix(f"{kind}-")), report, json.loads(path.read_text())))
    return sorted(found, key=lambda run: run.number)


def tell(folder: Path, kind: str) -> bool:
    """A block for each run of a kind, one for the first beside the last; whether all bars are met."""
    runs, missed = runs_in(folder, kind), 0
    for run in runs:
        told = run.report["run"]
        measured = f"seed {told['seed']}, {told['seconds']:.0f} s of measuring, ended by {told['stopped_by']}"
        print(
            f"{kind}-{run.number}: {told['started_utc'][:16]}, load {run.seen['load_before']:.1f}, {measured}"
        )
        missed += sum(not line(*figure) for figure in figures_of(run, kind))
    if len(runs) > 1:
        print(f"{kind}-{runs[0].number} beside {kind}-{runs[-1].number}:")
        missed += sum(not line(*figure) for figure in of_two(runs[0], runs[-1]))
    return missed == 0


Figure = tuple[str, float, str, float | None, bool]  # what, value, unit, bar, whether it is the least


def figures_of(run: QuickRun, kind: str) -> Iterator[Figure]:
    """Of one run."""
    rows = [row for _, row in run.rows()]
    ratios, widths = run.ratios(), run.half_widths()
    yield "cases", len(rows), "", None, True
    yield "  of them with a value", sum(row["value"] is not None for row in rows), "", None, True
    yield "ratios", len(ratios), "", None, True
    yield "  of them with an interval", len(widths), "", len(ratios), True
    if len(widths) > 1:
        yield "half-width, median", statistics.median(widths), "%", BARS[kind]["median"], False
        tenth = statistics.quantiles(widths, n=10, method="inclusive")[-1]
        yield "half-width, 90th percentile", tenth, "%", BARS[kind].get("90th percentile"), False
    floor = run.report["floor"]["ratio"]
    yield "floor", math.inf if floor is None else 100 * (floor - 1), "%", BARS[kind].get("floor"), False
    if counted := run.launches_of("containers/count_words"):
        yield "launches of count_words, least", counted[0], "", LAUNCHES_BAR, True
        yield "launches of count_words, median", statistics.median(counted), "", None, True
    yield "wall time", run.seen["wall_s"], "s", BARS[kind].get("wall"), False
    half_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2e6
    yield "peak memory of all", run.seen["peak_bytes"] / 1e6, "MB", half_mb, False
    widest = sorted(ratios.items(), key=lambda item: -_width(item[1]))
    for (table, name, _), row in widest[:WIDEST]:
        what = f"{table.split()[0]} {name}, {row['launches']} launches"
        yield f"  {what}"[:64], _width(row), "%", None, False


def _width(row: Report) -> float:
    if row["ratio_low"] is None:
        return math.inf
    return 100 * (math.sqrt(row["ratio_high"] / row["ratio_low"]) - 1)


def of_two(first: QuickRun, last: QuickRun) -> Iterator[Figure]:
    """How far two runs agree, of ratios to the same fastest row."""
    ones, others = first.ratios(), last.ratios()
    both = [(ones[key], others[key]) for key in ones if key in others]
    known = [pair for pair in both if all(row["ratio_low"] is not None for row in pair)]
    overlap = [
        one["ratio_low"] <= other["ratio_high"] and other["ratio_low"] <= one["ratio_high"]
        for one, other in known
    ]
    near = [1 / NEAR <= one["ratio"] / other["ratio"] <= NEAR for one, other in both]
    yield "ratios to the same fastest row", len(both), "", None, True
    if known:
        yield "intervals that overlap", 100 * sum(overlap) / len(overlap), "%", 100 * OVERLAP_BAR, True
        yield f"medians within {NEAR - 1:.0%}", 100 * sum(near) / len(near), "%", 100 * NEAR_BAR, True


def line(what: str, value: float, unit: str, bar: float | None, least: bool) -> bool:
    """Prints a figure; whether it meets its bar."""
    met = bar is None or (value >= bar if least else value <= bar)
    told = "" if bar is None else f"bar {bar:g} {'met' if met else 'MISSED'}"
    print(f"  {what:64} {value:8.4g} {unit:3} {told}", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
