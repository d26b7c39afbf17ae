"""False alarms and true finds of toll compare and of other tools, in one table, in the same hour.

    .venv/bin/python tests/peers/run.py --budget 3600 [--nanobench FOLDER] [--disturb load,drift]

Every tool judges the ten operations of suites/reference/operations (Go six of them, Rust eight, both without
the memory-bound one): the same code on both sides, or with a slow-down of known size on the second. What is
tried comes in random order; tools get equal time.

- Google Benchmark: 10 repetitions a side, back to back, judged by the U test of its compare.py at 5 %: by the
  script itself where Debian's libbenchmark-tools is installed, else by scipy's mannwhitneyu as the script
  calls it. "Any two of eight" judges every pair of each operation's first eight runs without slow-down; these
  verdicts share runs, so they have no interval.
- hyperfine: one call with both command lines of about 50 ms and its default number of runs, judged by Welch's
  t test at 5 %, as its scripts/welch_ttest.py does, and called slower or faster by the means.
- nanobench: compare() with 52 rounds, as its documentation advises, where nanobench.h is in FOLDER.
- toll compare: on toll programs, on the same command lines, and on executables of each framework in reach:
  the same Google Benchmark executable (and once more by --read), nanobench, Catch2, Go and Criterion.rs.

Needs g++; a tool that is missing is a row with the reason. `--only 'toll compare' --slowdowns 2 --equal 4`
counts false alarms of every kind of side, and what is found of 2 %.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Protocol, Self

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]

from scipy.stats import mannwhitneyu, ttest_ind  # noqa: E402

from peers.programs import (  # noqa: E402
    BUILD,
    OPERATIONS,
    CommandLines,
    Judgement,
    Missing,
    compiled,
    per_mille,
    words_of,
)
from peers.tolls import frameworks, toll_on, toll_on_commands, toll_on_programs  # noqa: E402
from tollbench.catalog import machine  # noqa: E402
from tollbench.cli import trusting  # noqa: E402
from tollbench.compare import ComparisonSettings  # noqa: E402
from tollbench.compare.disturbing import DRIFT, InjectedDisturbance, load, one_of  # noqa: E402
from tollbench.compare.subject import Until  # noqa: E402
from tollbench.launching.machine_lock import LOCK_FILES, machine_lock  # noqa: E402
from tollbench.measure import Interrupt, SystemClock  # noqa: E402
from tollbench.stats.proportion import exact_share  # noqa: E402

PERCENT = "0.5,1,2,5"
EQUAL = 2
SCRIPT = Path("/usr/share/benchmark/compare.py")
REPETITIONS = 10
ALPHA = 0.05
EIGHT = 8


# How a tool can fail that is not this script's own.
FAILURES = (Missing, OSError, ValueError, LookupError, TypeError, StopIteration)


class Tool(Protocol):
    """Judges the second side of two."""

    name: str
    operations: tuple[str, ...]

    def judge(self, operation: str, slowdown: float) -> Judgement:
        """One verdict. Raises Missing where a program fails."""


def welch(first: Sequence[float], second: Sequence[float]) -> int:
    """Slower or faster by the means, which Welch's t test compares."""
    p_value = float(ttest_ind(first, second, equal_var=False).pvalue)
    return direction(p_value, fmean(second) - fmean(first))


def direction(p_value: float, difference: float) -> int:
    """What a test says by its own statistic: a sign from another one could contradict it."""
    return int(math.copysign(1, difference)) if p_value < ALPHA and difference else 0


def more_often_above(first: Sequence[float], second: Sequence[float]) -> int:
    """The U test's statistic, centred: how many pairs have the second above, less those below."""
    return sum((b > a) - (b < a) for a, b in itertools.product(first, second))


class GoogleBenchmark:
    """Two runs back to back."""

    name = "Google Benchmark, U test, back to back"
    operations = OPERATIONS

    def __init__(self, min_time_s: float) -> None:
        self._program = compiled("google_benchmark", "-lbenchmark")
        self._min_time_s = min_time_s
        self._folder = Path(tempfile.mkdtemp(prefix="toll-peers-"))
        self._number = itertools.count()
        self.unslowed: dict[str, list[Path]] = {}  # operation -> runs without slow-down

    def judge(self, operation: str, slowdown: float) -> Judgement:
        first, second = self._run(operation, 0.0), self._run(operation, slowdown)
        self.unslowed.setdefault(operation, []).append(first)
        return Judgement(u_test(first, second))

    def _run(self, operation: str, slowdown: float) -> Path:
        out = self._folder / f"{next(self._number)}.json"
        words_of(
            self._program,
            f"--benchmark_filter=^{operation}$",
            f"--benchmark_repetitions={REPETITIONS}",
            f"--benchmark_min_time={self._min_time_s}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
            PEERS_SLOWDOWN=per_mille(slowdown),
        )
        return out

    def close(self) -> None:
        """Removes the runs."""
        shutil.rmtree(self._folder, ignore_errors=True)


def u_test(first: Path, second: Path) -> int:
    """What compare.py says of two files: significant by the wall time's p value at 5 %."""
    before, after = real_times(first), real_times(second)
    if SCRIPT.exists():
        out = second.with_suffix(".compared")
        words_of(
            sys.executable,
            SCRIPT,
            "--no-color",
            "--dump_to_json",
            out,
            "benchmarks",
            first,
            second,
            NO_COLOR=1,
        )
        p_value = next(row["utest"]["time_pvalue"] for row in json.loads(out.read_text()) if row["utest"])
    else:
        p_value = mannwhitneyu(before, after, alternative="two-sided").pvalue
    return direction(float(p_value), more_often_above(before, after))


def real_times(path: Path) -> list[float]:
    """Of the repetitions, not of their mean and median."""
    rows = json.loads(path.read_text())["benchmarks"]
    return [float(row["real_time"]) for row in rows if row["run_type"] == "iteration"]


class Hyperfine:
    """Both command lines in one call."""

    name = "hyperfine, Welch's t test"
    operations = OPERATIONS

    def __init__(self) -> None:
        if shutil.which("hyperfine") is None:
            raise Missing("hyperfine is not installed")
        self._lines = CommandLines()

    def judge(self, operation: str, slowdown: float) -> Judgement:
        lines = [shlex.join(self._lines.words(operation, share)) for share in (0.0, slowdown)]
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            words_of("hyperfine", "-N", "--style", "none", "--export-json", out.name, *lines)
            results = json.loads(Path(out.name).read_text())["results"]
        first, second = (result["times"] for result in results)
        return Judgement(welch(first, second))


class Nanobench:
    """Both sides in one process."""

    name = "nanobench, compare()"
    operations = OPERATIONS

    def __init__(self, folder: Path | None) -> None:
        header = folder / "nanobench.h" if folder else None
        if header is None or not header.is_file():
            raise Missing("no nanobench.h: --nanobench FOLDER")
        if "CompareResult compare(" not in header.read_text(encoding="utf-8"):
            raise Missing("this nanobench.h has no compare() yet")
        self._program = compiled("nanobench", f"-I{folder}")

    def judge(self, operation: str, slowdown: float) -> Judgement:
        return Judgement(int(words_of(self._program, operation, per_mille(slowdown))))


@dataclass
class Row:
    """One tool and its verdicts."""

    name: str
    tool: Tool | None
    reason: str = ""
    verdicts: list[tuple[str, float, Judgement, float]] = field(default_factory=list)  # ..., seconds
    trials: Iterator[tuple[str, float]] = field(default_factory=lambda: iter(()))
    seconds: float = 0.0
    dearest_s: float = 0.0


def in_passes(
    rng: random.Random, operations: Sequence[str], slowdowns: Sequence[float], equal: int
) -> Iterator[tuple[str, float]]:
    """Operations and slow-downs, each pass in a random order of its own; `equal` times without slow-down."""
    one_pass = list(itertools.product(operations, (*[0.0] * equal, *slowdowns)))
    while True:
        rng.shuffle(one_pass)
        yield from one_pass


def rows_of(options: argparse.Namespace, drift: float, interrupt: Interrupt) -> list[Row]:
    """Tools are built here, a minute or two; after Ctrl-C the rest is not."""
    settings = ComparisonSettings(budget_s=options.trial_budget, until=options.until)
    makers: list[tuple[str, Callable[[], Tool]]] = [
        (GoogleBenchmark.name, lambda: GoogleBenchmark(options.min_time)),
        (Hyperfine.name, Hyperfine),
        (Nanobench.name, lambda: Nanobench(options.nanobench)),
        ("toll compare, the same command lines", lambda: toll_on_commands(settings)),
        ("toll compare, toll programs", lambda: toll_on_programs(settings, drift)),
    ]
    for name, framework in frameworks(options.nanobench).items():
        makers.append((f"toll compare, {name}", partial(toll_on, name, framework, settings, drift)))
    rng = random.Random(options.seed)
    rows = []
    for name, make in makers:
        if options.only not in name or interrupt.requested:
            continue
        try:
            tool = make()
            trials = in_passes(rng, tool.operations, options.slowdowns, options.equal)
            rows.append(Row(tool.name, tool, trials=trials))
        except Missing as missing:
            rows.append(Row(name, None, str(missing)))
    return rows


def measure(
    rows: Sequence[Row], budget_s: float, keep: Callable[[dict[str, object]], None], interrupt: Interrupt
) -> None:
    """Whoever has had least time is next; nobody begins what the budget would cut short."""
    ends = time.monotonic() + budget_s
    while waiting := [
        row for row in rows if row.tool and not row.reason and time.monotonic() + row.dearest_s < ends
    ]:
        row = min(waiting, key=lambda row: row.seconds)
        assert row.tool is not None
        operation, slowdown = next(row.trials)
        began = time.monotonic()
        try:
            judged, reason = row.tool.judge(operation, slowdown), ""
        except FAILURES as error:
            judged, reason = Judgement(0), failed(error)
        if interrupt.requested:  # the programs heard it too: this verdict is none
            break
        if reason:
            row.reason = reason
            continue
        seconds = time.monotonic() - began
        row.seconds += seconds
        row.dearest_s = max(row.dearest_s, seconds)
        row.verdicts.append((operation, slowdown, judged, seconds))
        keep(
            {
                "tool": row.name,
                "operation": operation,
                "slowdown": slowdown,
                "verdict": judged.direction,
                "seconds": seconds,
                **judged.more,
            }
        )


def failed(error: BaseException) -> str:
    """The reason in a row."""
    told = " ".join(str(error).split()) or type(error).__name__
    return f"failed: {told[-200:]}"


def any_two(tool: GoogleBenchmark) -> tuple[int, int]:
    """Of the first eight runs of each operation without slow-down: how many pairs differ, and of how many."""
    verdicts = [
        u_test(first, second)
        for runs in tool.unslowed.values()
        for first, second in itertools.combinations(runs[:EIGHT], 2)
    ]
    return sum(verdict != 0 for verdict in verdicts), len(verdicts)


def cell(count: int, trials: int, *, interval: bool = True) -> str:
    if not trials:
        return "–"
    share = exact_share(count, trials)
    ends = f" ({share.low:.1%} to {share.high:.1%})" if interval else ""
    return f"{count}/{trials} = {share.value:.1%}{ends}"


def table(rows: Sequence[Row], slowdowns: Sequence[float]) -> str:
    heads = [
        "tool",
        "false alarms (95 %)",
        *(f"+{slowdown:.1%} found" for slowdown in slowdowns),
        "time a verdict",
    ]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in rows:
        if row.verdicts:
            lines.append([row.name, *cells(row, slowdowns)])
        if row.reason:
            lines.append([f"{row.name}: {row.reason}", *[""] * (len(heads) - 1)])
        if isinstance(row.tool, GoogleBenchmark) and any(
            len(runs) > 1 for runs in row.tool.unslowed.values()
        ):
            try:
                shown = cell(*any_two(row.tool), interval=False)
            except FAILURES as error:  # the other rows have been paid for
                shown = failed(error)
            lines.append(["Google Benchmark, U test, any two of eight", shown, *[""] * (len(heads) - 2)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cells(row: Row, slowdowns: Sequence[float]) -> Iterator[str]:
    same = [judged for _, slowdown, judged, _ in row.verdicts if slowdown == 0]
    yield alarms(same)
    for wanted in slowdowns:
        slowed = [judged for _, slowdown, judged, _ in row.verdicts if slowdown == wanted]
        yield cell(sum(judged.direction == 1 for judged in slowed), len(slowed), interval=False)
    yield f"{median(seconds for *_, seconds in row.verdicts):.1f} s"


def alarms(same: Sequence[Judgement]) -> str:
    """How many were called different, and how many of a tool with a threshold beyond that."""
    beyond = [judged.more["beyond"] for judged in same if "beyond" in judged.more]
    told = f", beyond the threshold {sum(beyond)}" if beyond else ""
    return cell(sum(judged.direction != 0 for judged in same), len(same)) + told


def shares(percents: str) -> tuple[float, ...]:
    """Of "0.5,1", sorted; of nothing none."""
    found = tuple(sorted(float(percent) / 100 for percent in percents.split(",") if percent))
    if any(not 0 < share < 1 or per_mille(share) != round(1e6 * share) / 1e3 for share in found):
        raise argparse.ArgumentTypeError("slow-downs are between 0 and 100 %, in steps of 0.1 %")
    return found


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=3600.0, help="seconds for all tools together")
    parser.add_argument("--trial-budget", type=float, default=10.0, help="of toll compare, seconds a verdict")
    parser.add_argument(
        "--until", type=Until, choices=list(Until), default=Until.ESTIMATE, help="as of toll compare"
    )
    parser.add_argument("--min-time", type=float, default=0.5, help="Google Benchmark's; 0.5 is its default")
    parser.add_argument("--nanobench", type=Path, help="the folder of a nanobench.h with compare()")
    parser.add_argument("--disturb", default="", help="load, drift or both: as of toll trust")
    parser.add_argument(
        "--raw",
        type=Path,
        default=BUILD / f"{datetime.now().astimezone():%Y-%m-%d-%H%M%S}.jsonl",
        help="a new file for every verdict, a JSON object a line; build/peers/DATE.jsonl if not given",
    )
    parser.add_argument("--slowdowns", type=shares, default=PERCENT, help="in percent")
    parser.add_argument("--equal", type=int, default=EQUAL, help="trials without slow-down, of each with one")
    parser.add_argument("--only", default="", help="of the tools, those whose rows have this in their name")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.equal < 0 or not (options.equal or options.slowdowns):
        parser.error("nothing to try: give --slowdowns or --equal")
    return options


class Kept:
    """A file for every verdict; on standard output is what it takes no more."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            told = f"cannot keep the verdicts in {path}: {error.strerror}; give another --raw"
            raise SystemExit(told) from None

    def __call__(self, record: dict[str, object]) -> None:
        line = json.dumps(record)
        try:
            left = f"{line}\n".encode()
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            print(f"not kept ({error.strerror}): {line}", flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def main() -> int:
    """Prints the table; after Ctrl-C, with what is known by then."""
    options = parsed()
    disturbances = trusting.disturbances(options.disturb)
    drift = DRIFT if InjectedDisturbance.DRIFT in disturbances else 0.0
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_lock(SystemClock(), interrupt=interrupt, on_wait=print, files=LOCK_FILES))
        keep = stack.enter_context(Kept(options.raw))
        rows = rows_of(options, drift, interrupt)
        if not rows and not interrupt.requested:
            raise SystemExit(f"no tool has {options.only!r} in its name; leave out --only to see all names")
        for row in rows:
            if isinstance(row.tool, GoogleBenchmark):
                stack.callback(row.tool.close)
        if InjectedDisturbance.LOAD in disturbances:
            stack.enter_context(load(one_of(machine.usable_cpus(), options.seed), options.seed))
        os.environ["PEERS_DRIFT"] = str(per_mille(drift))
        print(
            f"load {os.getloadavg()[0]:.2f} on {len(machine.usable_cpus())} CPUs, {options.budget:g} s;"
            f" every verdict goes to {options.raw}",
            flush=True,
        )
        measure(rows, options.budget, keep, interrupt)
        judge = "its compare.py" if SCRIPT.exists() else "scipy's mannwhitneyu, as its compare.py calls it"
        print(f"{table(rows, options.slowdowns)}\n\nThe U test: {judge}. Found: called slower.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
