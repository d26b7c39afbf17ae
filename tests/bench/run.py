"""Every benchmark of toll itself in one table: figure, bar, met; the same in build/bench/figures.json.

    .venv/bin/python tests/bench/run.py [GROUP ...]

Groups: library and wakeup (C++), handoff, list, report, page (of the whole catalogue, in Chromium), run (a
quick run of it), clone (from a fresh clone to the first table), hundred (`toll compare` of an executable with
100 benchmarks; needs libbenchmark-dev). Without a group all of them, about 27 minutes. Exits 1 where a bar is
missed.
Figures want a quiet machine; its load is printed above them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python/analysis"), str(ROOT / "tests/bench")]

from tollbench.interpreters import interpreter  # noqa: E402

BUILD = ROOT / "build/bench"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure; `bar` is what it may be at most, None where it is only shown."""

    group: str
    what: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def met(self) -> bool:
        return self.bar is None or self.value <= self.bar


def library() -> Iterator[Figure]:
    """What measuring itself costs."""
    yield from cxx("empty_batch", "sample_cost", "dependent_chains")


def wakeup() -> Iterator[Figure]:
    """How many parked wake-ups a second, beside designs that make a thread for each."""
    yield from cxx("wakeup_rate")


def cxx(*names: str) -> Iterator[Figure]:
    """C++ programs of this folder; each prints one JSON object."""
    configure = ["cmake", "--preset", "release", "-B", str(BUILD), "-DTOLL_TESTS=OFF", "-DTOLL_SUITES=OFF"]
    quietly(configure)
    quietly(["cmake", "--build", str(BUILD), "--target", *(f"bench_{name}" for name in names)])
    for name in names:
        program = BUILD / f"bench/bench_{name}"
        done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        for figure in found["figures"]:
            yield Figure(found["bench"], figure["what"], figure["value"], figure["unit"], figure["bar"])


def handoff() -> Iterator[Figure]:
    """A spinlock's hand-off as latency/wakeup and as latency/core_to_core measure it."""
    import handoff as bench

    build = BUILD / "suites"
    quietly(["cmake", "--preset", "release", "-B", str(build), "-DTOLL_TESTS=OFF"])
    quietly(["cmake", "--build", str(build), "--target", *bench.targets()])
    for what, value, unit, bar in bench.figures(build):
        yield Figure("handoff", what, value, unit, bar)


def list_of_50() -> Iterator[Figure]:
    """`./toll list` in a copy of the checkout whose suites hold 50 contenders."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "toll"
        copy.mkdir()
        for name in ("python", "suites", "toll", "requirements.lock", "requirements-test.lock"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
        (copy / ".venv").symlink_to(ROOT / ".venv")
        suite = copy / "suites/tasks/skynet/suite.toml"
        rows = len(
            json.loads(subprocess.run([str(copy / "toll"), "list", "--json"], stdout=subprocess.PIPE).stdout)
        )
        more = (f'copy_{index} = {{ source = "std_thread.cpp" }}\n' for index in range(50 - rows))
        suite.write_text(suite.read_text(encoding="utf-8") + "".join(more), encoding="utf-8")
        listed = json.loads(
            subprocess.run([str(copy / "toll"), "list", "--json"], stdout=subprocess.PIPE).stdout
        )
        if len(listed) != 50:
            raise RuntimeError(f"the copy lists {len(listed)} programs")
        yield Figure(
            "list",
            "toll list with 50 programs, median of 9",
            timed([str(copy / "toll"), "list"], 9),
            "s",
            1.0,
        )
        bare = timed(interpreter("-c", "pass"), 9)
        yield Figure("list", "an interpreter that does nothing", bare, "s")


def report() -> Iterator[Figure]:
    """Analysis and HTML of 10 million samples, in a fresh process."""
    import report_scale

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scale.toll"
        report_scale.make(path, 10_000_000, 20, 20)
        command = interpreter(str(ROOT / "tests/bench/report_scale.py"), "--measure", str(path))
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    if found["samples"] != 10_000_000:
        raise RuntimeError(f"the report saw {found['samples']:,.0f} samples instead of 10 million")
    yield Figure(
        "report", "analysis and HTML of 10 million samples", found["total_s"], "s", report_scale.SECONDS
    )
    yield Figure("report", "its peak memory", found["peak_gb"], "GB", report_scale.GIGABYTES)
    yield Figure("report", "the HTML file", found["html_mb"], "MB", 5.0)


def catalogue_page() -> Iterator[Figure]:
    """The page of the whole catalogue: its size, and how long a browser takes to open it."""
    import catalogue_page as bench

    for what, value, unit, bar in bench.figures(bench.CPUS, bench.LAUNCHES, bench.OPENED):
        yield Figure("page", what, value, unit, bar)


def quick_run() -> Iterator[Figure]:
    """The whole catalogue, quick profile: what launching costs, and what is spent outside programs."""
    import launch_cost

    from tollbench.store import RunFile
    from tollbench.words import Purpose, Status

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quick.toll"
        # The build is a figure of "clone", not of this one.
        warm = ["run", "--budget", "1s", "--no-html", "--wait", "--output", f"{folder}/warm.toll"]
        subprocess.run([str(ROOT / "toll"), *warm], capture_output=True, check=False)
        started = time.monotonic()
        quietly([str(ROOT / "toll"), "run", "--wait", "--output", str(path)])
        total_s = time.monotonic() - started
        with RunFile.open(path) as run_file:
            launches = run_file.all_launches()
    sound = [launch for launch in launches if launch.status is Status.OK]
    costs = [
        launch.overhead_ns / 1e6
        for launch in sound
        if launch.purpose is Purpose.MEASURE and launch.overhead_ns is not None
    ]
    yield Figure("run", "quick run of the whole catalogue, report included", total_s, "s", 180.0)
    yield Figure("run", "a launch besides set-up and requests, median", statistics.median(costs), "ms", 10.0)
    yield Figure("run", "the same, 95th percentile", statistics.quantiles(costs, n=20)[-1], "ms")
    outside, _ = launch_cost.shares(launches)
    yield Figure("run", "wall time outside the programs, while measuring", 100 * outside, "%", 10.0)
    in_programs = sum(launch.wall_ns for launch in launches) / 1e9
    yield Figure(
        "run", "the same, from ./toll run to the prompt", 100 * (1 - in_programs / total_s), "%", 10.0
    )


def fresh_clone() -> Iterator[Figure]:
    """Set-up, build and the first table of a fresh clone, two starts and a repair included."""
    done = subprocess.run(
        ["bash", str(ROOT / "tests/fresh_clone.sh")], capture_output=True, text=True, check=False
    )
    told = re.search(r"to the first table: (\d+) s", done.stdout)
    if done.returncode != 0 or told is None:
        raise RuntimeError(f"tests/fresh_clone.sh failed: {(done.stderr or done.stdout)[-300:]}")
    yield Figure("clone", "from a fresh clone to the first table", float(told.group(1)), "s", 480.0)


def hundred() -> Iterator[Figure]:
    """Verdicts on 100 benchmarks, of which the second side runs every other one 5 % slower."""
    program = BUILD / "hundred"
    BUILD.mkdir(parents=True, exist_ok=True)
    source = str(ROOT / "tests/bench/hundred.cpp")
    quietly(["g++", "-std=c++20", "-O2", source, "-o", str(program), "-lbenchmark", "-pthread"])
    sides = [str(program), f"{program} --slower_per_mille=50"]
    options = [
        "--threshold",
        "0.05",
        "--total-budget",
        "10m",
        "--json",
        "--raw",
        str(BUILD / "hundred.jsonl"),
    ]
    started = time.monotonic()
    done = subprocess.run([str(ROOT / "toll"), "compare", *sides, *options], capture_output=True, text=True)
    total_s = time.monotonic() - started
    try:
        found = json.loads(done.stdout)["comparisons"]
    except (ValueError, KeyError):
        raise RuntimeError(f"toll compare: {(done.stderr or done.stdout)[-300:]}") from None
    if len(found) != 100:
        raise RuntimeError(f"toll compare tells of {len(found)} benchmarks")
    listed = subprocess.run(
        [str(program), "--benchmark_list_tests"], capture_output=True, text=True, check=True
    )
    slowed = set(listed.stdout.split()[1::2])
    verdicts = [
        (one["verdict"], "slower" if one["benchmark"] in slowed else "no_difference") for one in found
    ]
    unknown = ("inconclusive", "failed")
    yield Figure("hundred", "verdicts on 100 benchmarks", total_s, "s", 600.0)
    yield Figure(
        "hundred", "of which none was reached", sum(said in unknown for said, _ in verdicts), "", 0.0
    )
    yield Figure(
        "hundred", "50 that are 5 % slower: called anything else", missed_of(verdicts, "slower"), "", 2.0
    )
    yield Figure("hundred", "50 equal: called different", missed_of(verdicts, "no_difference"), "", 0.0)


def missed_of(verdicts: Sequence[tuple[str, str]], right: str) -> int:
    """How many of those whose truth is `right` got another verdict; none reached is counted apart."""
    return sum(said not in (truth, "inconclusive", "failed") for said, truth in verdicts if truth == right)


GROUPS: dict[str, Callable[[], Iterator[Figure]]] = {
    "library": library,
    "wakeup": wakeup,
    "handoff": handoff,
    "list": list_of_50,
    "report": report,
    "page": catalogue_page,
    "run": quick_run,
    "clone": fresh_clone,
    "hundred": hundred,
}


def quietly(command: Sequence[str]) -> None:
    """Runs a command that has to succeed; its output is shown only where it does not."""
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-500:]}{done.stderr[-500:]}"
        )


def timed(command: Sequence[str], count: int) -> float:
    """Median wall time in seconds."""
    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def shown(figure: Figure) -> str:
    bar = f"{figure.bar:g}" if figure.bar is not None else ""
    met = "" if figure.bar is None else ("met" if figure.met else "MISSED")
    return f"{figure.group:17} {figure.what:58} {figure.value:10.4g} {figure.unit:5} {bar:>7} {met}"


def main(names: Sequence[str]) -> int:
    """Runs the groups, prints a line a figure, writes the JSON."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"no group {unknown[0]}; groups: {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    print(f"load {os.getloadavg()[0]:.2f} on {len(os.sched_getaffinity(0))} CPUs")
    print(f"{'bench':17} {'figure':58} {'value':>10} {'unit':5} {'bar':>7}")
    figures: list[Figure] = []
    broken = 0
    for name in names or GROUPS:
        try:
            for figure in GROUPS[name]():
                figures.append(figure)
                print(shown(figure), flush=True)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            broken += 1
            print(f"{name:17} FAILED: {error}", flush=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / "figures.json"
    target.write_text(json.dumps([asdict(f) | {"met": f.met} for f in figures], indent=1), encoding="utf-8")
    barred = [figure for figure in figures if figure.bar is not None]
    missed = sum(not figure.met for figure in barred)
    print(f"{len(barred) - missed} of {len(barred)} bars met, {broken} benchmarks failed")
    return 1 if missed or broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
