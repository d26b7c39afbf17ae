"""How often 2 % more work is found through layouts: two revisions of injected.cpp, 1,000 and 1,020 units.

    .venv/bin/python tests/bench/layouts/injected.py [--times 4] [--layouts 16] [--budget 60] \\
        [--compiler 'clang++-19 -fuse-ld=lld']

Each time is one `toll compare --layouts` as a user types it, builds included. Needs libbenchmark-dev.
It takes as long as it says; figures want a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "python")]

from tollbench.interpreters import interpreter_with_path  # noqa: E402

BUILD = 'COMPILER -O2 -std=c++20 -DUNITS="$(cat units)" injected.cpp -o injected -lbenchmark -lpthread'
UNITS = (1000, 1020)


def repository(folder: Path) -> None:
    """Two commits that differ in one number."""
    git = ["git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    shutil.copy(HERE / "injected.cpp", folder)
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    for units in UNITS:
        (folder / "units").write_text(f"{units}\n")
        subprocess.run([*git, "add", "."], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-qm", f"{units} units"], cwd=folder, check=True)


def compared(folder: Path, compiler: str, layouts: int, budget_s: int) -> list[dict[str, object]]:
    """The rows of one comparison."""
    build = BUILD.replace("COMPILER", compiler)
    command = interpreter_with_path("-m", "tollbench", "compare", "HEAD~1", "HEAD", "--build", build)
    command += ["--program", "./injected", "--layouts", str(layouts), "--budget", f"{budget_s}s"]
    command += ["--total-budget", "1h", "--json", "--wait", "--raw", str(folder / f"{time.time_ns()}.jsonl")]
    environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    rows: list[dict[str, object]] = json.loads(done.stdout)["comparisons"]
    return rows


def main() -> None:
    """Prints a line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--layouts", type=int, default=16)
    parser.add_argument("--budget", type=int, default=60, help="seconds a benchmark")
    parser.add_argument("--compiler", default="g++", help="with what it needs to choose its linker")
    asked = parser.parse_args()
    rows: dict[str, list[dict[str, object]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="toll-injected-") as scratch:
        repository(Path(scratch))
        for number in range(asked.times):
            for row in compared(Path(scratch), asked.compiler, asked.layouts, asked.budget):
                rows[str(row["benchmark"])].append(row)
            print(f"{number + 1} of {asked.times} done", file=sys.stderr)
    print(f"{asked.layouts} layouts, at most {asked.budget} s a benchmark; 2 % more work in each")
    for name, found in rows.items():
        slower = sum(row["verdict"] == "slower" for row in found)
        covered = sum(
            isinstance(row["low"], float)
            and isinstance(row["high"], float)
            and row["low"] <= 1.02 <= row["high"]
            for row in found
        )
        spreads = sorted(row["layout_spread"] for row in found if isinstance(row["layout_spread"], float))
        spread = f"{spreads[len(spreads) // 2]:.2%}" if spreads else "unknown"
        seconds = sum(float(str(row["seconds"])) for row in found) / len(found)
        print(
            f"{name:15} slower in {slower} of {len(found)}, interval holds 1.02 in {covered};"
            f" spread of layouts {spread}, {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
