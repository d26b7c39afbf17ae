"""How long the analysis and the HTML report of 10 million samples take, and how much memory.

    python tests/bench/report_scale.py [--samples 10000000] [--cases 20] [--launches 20]

Makes a run file in a temporary folder, then analyses and renders it in a fresh process and prints time
and peak resident memory beside their bars (10 s, 1 GB). Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python/analysis")]

from tollbench.interpreters import interpreter  # noqa: E402

SECONDS, GIGABYTES = 10.0, 1.0


def make(path: Path, samples: int, cases: int, launches: int) -> None:
    """A run file of latencies: `samples` operations in all, over `cases` x `launches`."""
    from made_runs import Made, make_run

    from tollbench.words import Kind

    rng = np.random.default_rng(1)
    each = samples // (cases * launches)
    made = []
    for case in range(cases):
        arrays = [rng.lognormal(6 + 0.1 * case + rng.normal(0, 0.03), 0.6, each) for _ in range(launches)]
        made.append(
            Made(f"contender_{case}", [1.0] * launches, samples=[a.astype(np.float32) for a in arrays])
        )
    make_run(path, made, kind=Kind.SAMPLES, canary=list(rng.lognormal(4, 0.02, 2 * launches)))


def measure(path: Path) -> dict[str, float]:
    """Seconds of each stage and peak gigabytes of this process, interpreter and imports included."""
    started = time.perf_counter()
    from tollbench import analysis
    from tollbench.store import RunFile

    imported = time.perf_counter()
    with RunFile.open(path) as run_file:
        opened = time.perf_counter()
        results = analysis.results(run_file)
    analysed = time.perf_counter()
    found = {
        "samples": float(sum(latency.count for one in results.workloads for latency in one.latencies)),
        "imports_s": imported - started,
        "open_and_check_s": opened - imported,
        "analysis_s": analysed - opened,
    }
    try:
        from tollbench.report import html
    except ImportError:
        print("tollbench.report.html is not there: the analysis alone was measured", file=sys.stderr)
    else:
        page = html.render(results)
        found["html_s"] = time.perf_counter() - analysed
        found["html_mb"] = len(page.encode()) / 1e6
    found["total_s"] = time.perf_counter() - started
    found["peak_gb"] = peak_bytes() / 1e9
    return found


def peak_bytes() -> int:
    """Peak resident set of this program; getrusage would count what the parent held before exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def main() -> int:
    """Makes the file, measures in a fresh process, prints, compares with the bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--launches", type=int, default=20)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.measure)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scale.toll"
        make(path, asked.samples, asked.cases, asked.launches)
        command = interpreter(__file__, "--measure", str(path))
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(done.stderr, end="")
        found = json.loads(done.stdout)
        print(
            f"run file: {path.stat().st_size / 1e6:.0f} MB, {asked.cases} cases x {asked.launches} launches"
        )
    for name, value in found.items():
        print(f"{name:>18} {value:14,.3f}")
    met = found["total_s"] <= SECONDS and found["peak_gb"] <= GIGABYTES
    print(f"bars: {SECONDS:g} s, {GIGABYTES:g} GB: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
