"""Comparisons of fake programs whose every number follows from the seed, and what came of them.

    PYTHONPATH=python:tests/python/compare python tests/python/compare/recorded_comparisons.py > FILE.json

recorded_comparisons.json was made before both engines were laid on one trunk, and stays as it is: the same
seeds give the same launches and the same verdicts. Make it anew only where another verdict is meant.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fake_sides import FakeClock, FakeSubject, steady

from tollbench.compare import (
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Side,
    before_confirming,
    compare,
    confirm,
)
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.adapters.toll_program import Offering, Programs
from tollbench.launching.child import End
from tollbench.launching.command import Ended
from tollbench.launching.conversation import Errand
from tollbench.words import Kind

SEEDS = range(12)
BENCHMARKS = {
    "equal": (steady(100.0), steady(100.0)),
    "slower": (steady(100.0), steady(103.0)),
    "a little": (steady(50.0, 0.004), steady(50.2, 0.004)),
    "noisy": (steady(1e6, 0.1), steady(1.05e6, 0.1)),
    "faster": (steady(7.0, 0.02), steady(3.0, 0.02)),
}


def told(found: Comparisons) -> list[list[object]]:
    """What must stay; ratios to nine digits, as another machine's logarithm may differ in the last."""
    return [
        [
            item.benchmark,
            str(item.verdict),
            item.launches,
            item.regression,
            *(
                None if number is None else float(f"{number:.9g}")
                for number in (item.ratio, item.low, item.high)
            ),
            item.reason,
        ]
        for item in found.comparisons
    ]


def launches_into(raw: list[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], None]:
    """Keeps the launches of what the raw file gets."""
    return lambda record: raw.append(record) if not record.keys() & {"survey", "values"} else None


def engine(seed: int) -> list[list[object]]:
    """Rounds, looks and stops, with functions for sides."""
    subject = FakeSubject(FakeClock(), BENCHMARKS, together=1 + seed % 3, first_gains=0.01 * (seed % 2))
    return told(
        compare(subject, ComparisonSettings(seed=seed, budget_s=30.0, total_s=90.0), clock=subject.clock)
    )


def confirmed(seed: int) -> list[list[object]]:
    """A second measurement of what differed."""
    subject = FakeSubject(FakeClock(), BENCHMARKS)
    settings = ComparisonSettings(seed=seed, budget_s=10.0, total_s=60.0)
    first = compare(subject, before_confirming(settings), clock=subject.clock)
    return told(confirm(first, subject, settings, clock=subject.clock))


class FakeChild:
    """A toll program whose batches take what the seed of its launch says; its process only waits."""

    def __init__(self, clock: FakeClock, pid: int, ns: float, rng: random.Random) -> None:
        self.clock, self.pid, self.ns, self.rng = clock, pid, ns, rng
        self.lines: list[dict[str, object]] = [
            {
                "type": "ready",
                "protocol": 1,
                "setup_ns": 5,
                "clock": {"frequency_hz": 2e9},
                "footing": {"malloc": "m"},
            }
        ]

    def write_line(self, line: bytes) -> None:
        for request in map(json.loads, line.split(b"\n")):
            self.lines.append({"type": "stopped"} if request["type"] == "stop" else self.batch(request))

    def batch(self, request: Mapping[str, int]) -> dict[str, object]:
        count = request["iterations"]
        wall_ns = self.ns * count * self.rng.gauss(1.0, 0.004)
        self.clock.ns += int(wall_ns) + (20_000 if "layout" in request else 3_000)
        waited = 0.7 if self.rng.random() < 0.1 else 1.0
        names = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults", "peak_bytes")
        return {
            "type": "batch", "iterations": count, "units": count, "wall_ns": wall_ns,
            "cpu_ns": waited * wall_ns,
            "checksum": str(3 * count), **dict.fromkeys(names, 0),
        }  # fmt: skip

    def read_line(self) -> bytes:
        return json.dumps(self.lines.pop(0)).encode()

    def read_exactly(self, count: int) -> bytes:
        raise AssertionError(count)

    def rested(self, seconds: float) -> None:
        pass

    def unread(self) -> bytes:
        return b""

    def finish(self) -> End:
        return End(0, False)

    def kill(self) -> None:
        pass


class FakeLauncher:
    """Starts children without processes; a launch's layout follows from the padding of its environment."""

    def __init__(self, clock: FakeClock, pid: int) -> None:
        self.clock, self.pid = clock, pid
        self.environments: list[dict[str, str]] = []

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: object,
        folder: Path | None = None,
    ) -> FakeChild:
        told = {name: value for name, value in environment.items() if name != "TOLL_PADDING"}
        self.environments.append(told)
        rng = random.Random(f"{list(command)}{len(environment['TOLL_PADDING'])}")
        return FakeChild(self.clock, self.pid, float(command[0]) * rng.gauss(1.0, 0.01), rng)


@contextmanager
def waiting_process() -> Iterator[int]:
    """One that sleeps, for those who look at what a program does out of turn."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    time.sleep(0.5)  # it begins, and that is work
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def toll_programs(seed: int, pid: int) -> list[object]:
    """Three sides that are alive at the same time."""
    clock = FakeClock()
    launcher = FakeLauncher(clock, pid)
    offerings = [
        Offering(
            label,
            {
                "one": Errand(
                    Errand.command_of((ns,), "a/b", "one", {}), Kind.BATCH, folder=Path("/"), answer=3
                )
            },
        )
        for label, ns in (("old", "100.0"), ("new", "102.0"), ("newer", "250.0"))
    ]
    subject = Programs(offerings, MeasuringOptions(9.0), launcher=launcher, clock=clock)
    raw: list[Mapping[str, Any]] = []
    settings = ComparisonSettings(seed=seed, budget_s=20.0, most_rounds=60)
    found = compare(subject, settings, clock=clock, keep=launches_into(raw))
    first = {name: raw[0].get(name) for name in ("benchmark", "iterations", "order", "places", "failed")}
    return [*told(found), first, launcher.environments[:2], len(launcher.environments)]


class FakeGoogleBenchmark(GoogleBenchmark):
    """Every launch is answered here, and no program is there that could be halted."""

    launch_all = OneAfterAnother.launch_all

    def run(self, side: Side, arguments: Sequence[str] = (), seed: int | None = None) -> Ended:
        options = dict(argument[2:].partition("=")[::2] for argument in arguments)
        out = b""
        if "help" in options:
            out = b"--benchmark_min_time=`<integer>x` OR `<float>s`"
        elif "benchmark_list_tests" in options:
            out = b"sum\nsort/64\n"
        else:
            self.report(side, options, random.Random(f"{side.label}{seed}"))
        return Ended(0, 3_000_000, 2_000_000, out, b"", 1)

    def report(self, side: Side, options: Mapping[str, str], rng: random.Random) -> None:
        names = [
            name
            for name in ("sum", "sort/64")
            if name.replace("/", ".") in options["benchmark_filter"].replace("/", ".")
        ]
        launch = rng.gauss(1.0, 0.01)
        rows = [
            {
                "run_name": name, "run_type": "iteration", "time_unit": "ns", "iterations": 4096,
                "real_time": (taken := 100.0 * float(side.command[1]) * launch * rng.gauss(1.0, 0.003)),
                "cpu_time": taken * (0.5 if rng.random() < 0.1 else 1.0),
            }
            for name in names
            for _ in range(int(options.get("benchmark_repetitions", 1)))
        ]  # fmt: skip
        Path(options["benchmark_out"]).write_text(json.dumps({"context": {}, "benchmarks": rows}))


def google_benchmark(seed: int) -> list[object]:
    """Launches one after another, several benchmarks in each."""
    sides = [Side("old", ("old", "1.0"), Path("/")), Side("new", ("new", "1.02"), Path("/"))]
    clock = FakeClock()
    raw: list[Mapping[str, Any]] = []
    subject = FakeGoogleBenchmark(sides, MeasuringOptions(9.0))
    found = compare(
        subject, ComparisonSettings(seed=seed, most_rounds=60), clock=clock, keep=launches_into(raw)
    )
    return [*told(found), {name: raw[0][name] for name in ("position", "side", "seed", "ns")}, len(raw)]


def everything() -> dict[str, object]:
    """All that is recorded."""
    parts: dict[str, Callable[[int], object]] = {
        "engine": engine,
        "confirmed": confirmed,
        "google benchmark": google_benchmark,
    }
    found: dict[str, object] = {name: [one(seed) for seed in SEEDS] for name, one in parts.items()}
    with waiting_process() as pid:
        found["toll programs"] = [toll_programs(seed, pid) for seed in SEEDS]
    return found


if __name__ == "__main__":
    json.dump(everything(), sys.stdout, indent=1)
    print()
