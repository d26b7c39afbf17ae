"""What questions over a lake of many machines take, and what it takes on the disk.

  python tests/bench/lake_scale.py [--machines 1000] [--runs 1] [--cases 300] [--launches 10] [--keep FOLDER]

Makes a lake of drawn values: MACHINES x RUNS runs of CASES cases (30 workloads of 10 contenders) with
LAUNCHES launches each, put in through the lake's own writing and put together as `toll lake add` does. Then
each named question is asked by a fresh process, of the lake as add leaves it and again after compaction; its
wall time and memory are held against the bars. Exits 1 where a bar is missed. What adding a real run file
takes besides, its analysis, is measured with one of the same size, and as a whole command.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python/analysis")]

from tollbench.interpreters import interpreter  # noqa: E402
from tollbench.lake import compacting  # noqa: E402
from tollbench.lake.lake_folder import LakeFolder  # noqa: E402
from tollbench.lake.lake_schema import TABLES, VERSION, schema_of  # noqa: E402
from tollbench.lake.stated_machine import StatedMachine  # noqa: E402
from tollbench.lake.tables_of_run import LakeRun  # noqa: E402

CONTENDERS = 10
QUESTION_S, LARGE_QUESTION_S, ADD_MS, MEMORY_MB, DISK = 1.0, 5.0, 50.0, 1000.0, 2.0
LARGE = 5000  # runs from which on the other bar holds


def drawn_layouts(rng: np.random.Generator, launches: int) -> list[int]:
    """Of a run's rounds: each of 20 once before any comes again."""
    passes = [1 + rng.permutation(20) for _ in range(-(-launches // 20))]
    return np.concatenate(passes)[:launches].tolist()


def runs(machines: int, each: int, cases: int, launches: int) -> Iterator[LakeRun]:
    """Machines that differ by 10 % as a whole, and by 2 % in each case; 1 % of noise; a run a month."""
    rng = np.random.default_rng(1)
    common = rng.normal(4.0, 0.5, cases)
    for number in range(machines):
        machine = StatedMachine.of(
            {
                "cpu": f"simulated {number % 7}", "architecture": "x86_64", "cpus": 2 ** (1 + number % 6),
                "usable_cpus": [0, 1], "memory_bytes": 2**34, "kernel": "Linux 6.1",
                "product": f"m{number % 20}",
            },
            f"host{number:05}",
        )  # fmt: skip
        levels = common + rng.normal(0.0, 0.1) + rng.normal(0.0, 0.02, cases)
        for month in range(each):
            started = datetime(2026, 1, 1) + timedelta(days=30 * month, seconds=number)
            yield simulated(machine, UUID(int=number * 1000 + month), started, levels, rng, launches)


def simulated(
    machine: StatedMachine,
    uuid: UUID,
    started: datetime,
    levels: np.ndarray,
    rng: np.random.Generator,
    launches: int,
) -> LakeRun:
    """One run: the tables that a run file would have given."""
    cases = levels.size
    logs = levels[:, None] + rng.normal(0.0, 0.01, (cases, launches))
    everywhere = {
        "run": str(uuid), "machine": machine.id, "commit": "", "toll_version": "0.1.0",
        "schema_version": VERSION, "started_utc": started,
    }  # fmt: skip
    names = {
        "workload": [f"topic/w{k // CONTENDERS:02}" for k in range(cases)],
        "contender": [f"contender_{k % CONTENDERS}" for k in range(cases)],
        "environment": ["host"] * cases, "parameters": ['{"tasks":1000}'] * cases,
    }  # fmt: skip
    medians = np.exp(np.median(logs, axis=1))
    best = medians.reshape(-1, CONTENDERS).argmin(axis=1)
    fastest = np.zeros(cases, dtype=bool)
    fastest[np.arange(best.size) * CONTENDERS + best] = True
    summary = {
        **{name: [value] * cases for name, value in machine.label().items()},
        **names, "work": ['{"tasks":1000}'] * cases, "setting": ["{}"] * cases, "kind": ["batch"] * cases,
        "unit": ["ns"] * cases, "per": ["task"] * cases, "language": ["C++"] * cases, "role": [""] * cases,
        "status": ["ok"] * cases, "value": medians, "low": np.exp(logs.min(axis=1)),
        "high": np.exp(logs.max(axis=1)),
        "ratio": medians / medians.reshape(-1, CONTENDERS).min(axis=1).repeat(CONTENDERS),
        "fastest": fastest, "level": [0.95] * cases, "launches": [launches] * cases,
        "rounds": [list(range(launches))] * cases, "log_ns": list(logs),
        "layouts": [drawn_layouts(rng, launches)] * cases,
    }  # fmt: skip
    once = {name: [value] for name, value in machine.row().items()}
    repeated = {name: [value for value in values for _ in range(launches)] for name, values in names.items()}
    count = cases * launches
    wall = rng.integers(5_000_000, 9_000_000, count)
    launch = {
        **repeated, "launch": np.arange(count), "round": np.tile(np.arange(launches), cases),
        "purpose": ["measure"] * count, "position": rng.integers(0, cases, count),
        "seed": rng.integers(0, 2**31, count),
        "status": ["ok"] * count, "launched_utc": [started] * count, "started_ns": np.cumsum(wall),
        "wall_ns": wall,
        "clock": ['{"source":"tsc"}'] * count, "footing": ['{"threads":1}'] * count,
    }  # fmt: skip
    batch = {
        **repeated, "launch": np.arange(count), "round": np.tile(np.arange(launches), cases),
        "ordinal": [0] * count, "warmup": [False] * count, "iterations": [1] * count, "units": [1000] * count,
        "wall_ns": np.exp(logs).ravel() * 1000, "cpu_ns": np.exp(logs).ravel() * 1000,
        "counters": ["{}"] * count, "details": ["{}"] * count,
    }  # fmt: skip
    tables = {
        "run": _table(
            "run",
            everywhere,
            {
                **{name: [value] for name, value in machine.label().items()},
                "name": ["simulated"],
                "launches": [count],
                "cases": [cases],
                "workloads": [sorted(set(names["workload"]))],
            },
        ),
        "machine": _table("machine", everywhere, once),
        "environment": _table("environment", everywhere, {"environment": ["host"]}),
        "case": _table("case", everywhere, {**names, "status": ["ok"] * cases}),
        "comparison": _table(
            "comparison", everywhere, {"source": ["run"] * cases, "workload": names["workload"]}
        ),
        "launch": _table("launch", everywhere, launch),
        "batch": _table("batch", everywhere, batch),
        "summary": _table("summary", everywhere, summary),
    }
    return LakeRun(str(uuid), machine.id, started.strftime("%Y-%m"), count, True, tables)


def _table(name: str, everywhere: dict[str, Any], columns: dict[str, Any]) -> pa.Table:
    count = len(next(iter(columns.values())))
    arrays = []
    for field in TABLES[name]:
        if field.name in everywhere:
            arrays.append(pa.repeat(pa.scalar(everywhere[field.name], field.type), count))
        else:
            arrays.append(pa.array(columns.get(field.name, [None] * count), field.type))
    return pa.Table.from_arrays(arrays, schema=schema_of(name))


def asked(lake: Path, prices: Path) -> dict[str, list[str]]:
    """The named questions, as a user types them."""
    place = ["--lake", str(lake), "--json"]
    return {
        "cheapest": ["cheapest", "topic/w03", "--prices", str(prices), *place],
        "machines": ["machines", "topic/w03/contender_5", *place],
        "trend": ["trend", "topic/w03/contender_5", "--machine", "host00003", *place],
        "differ": ["differ", "topic/w03", *[f"contender_{n}" for n in range(5)], *place],
        "runs": ["runs", *place],
    }


def answered(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds of the whole command, its memory in MB (this process's, if that is more), its CPU seconds."""
    command = interpreter(str(ROOT / "python/tollbench/__main__.py"), "lake", *arguments)
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    child.returncode = status
    if status or not json.loads(text):
        raise SystemExit(f"toll lake {' '.join(arguments)} failed")
    return seconds, usage.ru_maxrss / 1000, usage.ru_utime + usage.ru_stime


def size_of(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Prints the figures beside their bars."""
    parser = argparse.ArgumentParser()
    for name, usual in (("machines", 1000), ("runs", 1), ("cases", 300), ("launches", 10)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--keep", type=Path, help="an empty folder for the lake, which stays")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return measured(given, given.keep or Path(folder) / "lake", Path(folder) / "prices.csv")


def measured(given: argparse.Namespace, place: Path, prices: Path) -> int:
    """Exit code."""
    lake, took, together, missed = LakeFolder.make(place), [], [], False
    total = given.machines * given.runs

    def told(what: str, value: float, unit: str, bar: float | None) -> None:
        nonlocal missed
        missed |= bar is not None and value > bar
        print(
            f"{what:44} {value:9.2f} {unit:3}"
            + (f"  bar {bar:g}{'  MISSED' if value > bar else ''}" if bar else "")
        )

    for run in runs(given.machines, given.runs, given.cases, given.launches):
        began = time.perf_counter()
        lake.add(run)
        took.append(time.perf_counter() - began)
        began = time.perf_counter()
        compacting.tidy(lake)
        together.append(time.perf_counter() - began)
    print(f"{total} runs, {total * given.cases * given.launches:,} launches")
    told("writing a run into the lake, median", statistics.median(took) * 1e3, "ms", ADD_MS)
    told("  the 95th of a hundred", float(np.quantile(took, 0.95)) * 1e3, "ms", None)
    told("  putting together what questions read, median", statistics.median(together) * 1e3, "ms", None)
    told("    on average", statistics.fmean(together) * 1e3, "ms", None)
    told("    the longest", max(together) * 1e3, "ms", None)
    told("  reading and analysing a run file besides", _analysed_ms(given, prices.parent), "ms", None)
    told("  adding that file as a whole command", _added_s(prices.parent) * 1e3, "ms", ADD_MS)
    prices.write_text(
        "machine,price_per_hour,currency\n"
        + "".join(f"host{n:05},{0.1 + n % 17:.2f},EUR\n" for n in range(given.machines))
    )
    limit = QUESTION_S if total < LARGE else LARGE_QUESTION_S
    _all_asked("as added", place, prices, limit, told)
    before = size_of(place)
    told("on the disk, as added", before / 1e6, "MB", None)
    began = time.perf_counter()
    command = interpreter(str(ROOT / "python/tollbench/__main__.py"), "lake", "compact", "--lake", str(place))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    told("compacting", time.perf_counter() - began, "s", None)
    told("  its memory", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000, "MB", MEMORY_MB)
    told("on the disk, over the compacted size", before / size_of(place), "x", DISK)
    _all_asked("compacted", place, prices, limit, told)
    return int(missed)


def _analysed_ms(given: argparse.Namespace, folder: Path) -> float:
    """Milliseconds of CPU from a run file of as many cases and launches to the tables of a lake."""
    from made_runs import Made, make_run

    from tollbench.lake.tables_of_run import tables_of_run
    from tollbench.store import RunFile

    rng = np.random.default_rng(2)
    cases = [
        Made(
            f"contender_{k % CONTENDERS}",
            [*np.exp(rng.normal(4.0, 0.01, given.launches))],
            {"tasks": 10 + k // 10},
        )
        for k in range(given.cases)
    ]
    path = make_run(folder / "real.toll", cases)
    found = []
    for _ in range(3):
        began = time.process_time()
        with RunFile.open(path) as run_file:
            tables_of_run(run_file)
        found.append(time.process_time() - began)
    return statistics.median(found) * 1e3


def _added_s(folder: Path) -> float:
    """Seconds of `toll lake add` with the run file that `_analysed_ms` made."""
    words = ("lake", "add", str(folder / "real.toll"), "--lake", str(folder / "real-lake"))
    began = time.perf_counter()
    command = interpreter(str(ROOT / "python/tollbench/__main__.py"), *words)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def alone(lake: Path, prices: Path) -> dict[str, float]:
    """Seconds of each question by itself, in a process that has all imported: the median of three."""
    from tollbench.lake.across_machines import across_machines
    from tollbench.lake.cheapest import Prices, cheapest
    from tollbench.lake.differing import differing
    from tollbench.lake.held_runs import held_runs
    from tollbench.lake.lake_rows import Asked
    from tollbench.lake.opened_lake import OpenedLake
    from tollbench.lake.trends import trend

    case, few = Asked.of("topic/w03/contender_5"), [f"contender_{n}" for n in range(5)]
    questions: dict[str, Callable[[OpenedLake], object]] = {
        "cheapest": lambda opened: cheapest(opened, Asked.of("topic/w03"), Prices.read(prices)),
        "machines": lambda opened: across_machines(opened, case),
        "trend": lambda opened: trend(opened, case, "host00003"),
        "differ": lambda opened: differing(opened, Asked.of("topic/w03"), few),
        "runs": held_runs,
    }
    found = {}
    for name, question in questions.items():
        took = []
        for _ in range(3):
            began = time.perf_counter()
            with OpenedLake(LakeFolder.open(lake), ("run",) if name == "runs" else ("summary",)) as opened:
                question(opened)
            took.append(time.perf_counter() - began)
        found[name] = statistics.median(took)
    return found


def _all_asked(
    state: str,
    place: Path,
    prices: Path,
    limit: float,
    told: Callable[[str, float, str, float | None], None],
) -> None:
    by_itself = alone(place, prices)
    for name, arguments in asked(place, prices).items():
        found = [answered(arguments) for _ in range(3)]
        told(f"{state}: {name}, whole command", statistics.median(one[0] for one in found), "s", limit)
        told(f"{state}: {name}, its CPU time", statistics.median(one[2] for one in found), "s", None)
        told(f"{state}: {name}, the question", by_itself[name], "s", limit)
        told(f"{state}: {name}, memory", max(one[1] for one in found), "MB", MEMORY_MB)


if __name__ == "__main__":
    sys.exit(main())
