"""What the runner itself costs, printed against its bars; a figure to read, never a test that fails.

    PYTHONPATH=python python tests/bench/launch_cost.py [BUILD_FOLDER | RUN_FILE]

With a build folder (default: the newest under build/): launches its `toll_canary` with nothing to do and
prints what a launch costs besides the contender's own set-up, beside a program that does nothing at all.
With a run file: prints the same from its launches, and the share of wall time spent outside programs.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tollbench.launching.child import Limits
from tollbench.launching.conversation import Errand
from tollbench.launching.disturbance import read_disturbance
from tollbench.launching.starting import Starter
from tollbench.measure import ProcessLauncher, SystemClock
from tollbench.measure.conversing import LaunchPlace
from tollbench.measure.recording import Recorder
from tollbench.store import Launch, RunFile
from tollbench.words import Kind, Purpose, Status

LAUNCHES = 200
LAUNCH_BAR_MS = 10.0
OUTSIDE_BAR = 0.10
TRIVIAL = """read line; echo '{"type":"stopped"}'"""
TRIVIAL = f"""echo '{{"type":"ready","protocol":1,"setup_ns":0}}'; {TRIVIAL}"""


def main(arguments: Sequence[str]) -> None:
    """Entry point."""
    path = Path(arguments[0]) if arguments else None
    if path is not None and path.is_file():
        of_run(path)
        return
    canary = find_canary(path)
    of_program("sh that only says ready and stopped", ("/bin/sh", "-c", TRIVIAL, "sh"))
    if canary is None:
        print("no canary is built: cmake --preset release && cmake --build --preset release")
    else:
        of_program(str(canary), (str(canary),))


def find_canary(build: Path | None) -> Path | None:
    """The canary in a build folder, or the newest one under build/."""
    folders = [build] if build else sorted(Path("build").glob("*"), key=lambda p: -p.stat().st_mtime)
    found = [folder / "bin" / "toll_canary" for folder in folders]
    return next((program.absolute() for program in found if program.exists()), None)


def of_program(name: str, command: tuple[str, ...]) -> None:
    """Launches without a single request: from exec to exit is all cost."""
    recorder = Recorder(Starter(ProcessLauncher(), SystemClock()), read_disturbance)
    errand = Errand(Errand.command_of(command, "toll/canary", "canary", {}), Kind.BATCH, dict(os.environ))
    launched(recorder, errand, 0)  # as in a run, the first finds the clock's frequency for the others
    costs, besides = [], []
    for seed in range(LAUNCHES):
        started = time.monotonic_ns()
        launch = launched(recorder, errand, seed)
        besides.append((time.monotonic_ns() - started - launch.wall_ns) / 1e6)
        if launch.status is not Status.OK:
            sys.exit(f"{name}: {launch.reason}")
        costs.append((launch.overhead_ns or 0) / 1e6)
    print(f"{name}: {LAUNCHES} launches")
    show("  launch besides set-up", costs, LAUNCH_BAR_MS)
    show("  runner before and after it", besides, None)


def launched(recorder: Recorder, errand: Errand, seed: int) -> Launch:
    """A launch that is asked for nothing."""
    place = LaunchPlace(None, Purpose.CANARY, 1, 0, seed)
    return recorder.launch(place, errand, Limits(10.0, 2**40), lambda _program: None).launch


def of_run(path: Path) -> None:
    """From a run file: cost of its launches, and what was spent outside programs."""
    with RunFile.open(path) as run_file:
        launches, header = run_file.all_launches(), run_file.header()
    sound = [launch for launch in launches if launch.status is Status.OK]
    print(f"{path}: profile {header.profile}, {len(launches)} launches")
    for purpose in Purpose:
        costs = [(launch.overhead_ns or 0) / 1e6 for launch in sound if launch.purpose is purpose]
        if costs:
            show(f"  {purpose}: launch besides set-up and requests", costs, LAUNCH_BAR_MS)
    outside, no_work = shares(launches)
    print(f"  wall time with no program running: {outside:.1%} (bar {OUTSIDE_BAR:.0%})")
    print(f"  ... and with starting, loading and ending programs counted as outside: {no_work:.1%}")


def shares(launches: Sequence[Launch]) -> tuple[float, float]:
    """Share of wall time between the first start and the last end in which no program ran, or did no work."""
    first, last = launches[0], launches[-1]
    span = (
        datetime.fromisoformat(last.started_utc) - datetime.fromisoformat(first.started_utc)
    ).total_seconds()
    wall_ns = span * 1e9 + last.wall_ns
    running = sum(launch.wall_ns for launch in launches)
    costs = sum(launch.overhead_ns or 0 for launch in launches)
    return 1 - running / wall_ns, 1 - (running - costs) / wall_ns


def show(name: str, values_ms: Sequence[float], bar_ms: float | None) -> None:
    """Median and 95th percentile in milliseconds."""
    middle = statistics.median(values_ms)
    high = statistics.quantiles(values_ms, n=20)[-1] if len(values_ms) > 1 else middle
    bar = f" (bar {bar_ms:g} ms)" if bar_ms is not None else ""
    print(f"{name}: median {middle:.2f} ms, p95 {high:.2f} ms{bar}")


if __name__ == "__main__":
    main(sys.argv[1:])
