"""One hand-off of a spinlock, measured in two ways: latency/wakeup (hot) times it from CPU to CPU by their
clocks, latency/core_to_core halves a round trip. Launches of the two alternate in random order.

    .venv/bin/python tests/bench/handoff.py FOLDER     FOLDER/programs/latency/... of a release build
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LAUNCHES = 24  # of each
SAMPLES = 4000
BAR_PERCENT = 10.0


@dataclass(frozen=True, slots=True)
class Side:
    """One way of measuring: the words after `serve`."""

    name: str
    words: tuple[str, ...]

    def program(self, build: Path) -> Path:
        return build / "programs" / self.words[0] / self.words[1]


SPINLOCK = Side("core_to_core spinlock_handoff", ("latency/core_to_core", "spinlock_handoff"))
WAKEUP = Side("wakeup spinlock, hot", ("latency/wakeup", "spinlock", "mode=hot"))
LINE = Side("core_to_core load_store", ("latency/core_to_core", "load_store"))


def targets() -> list[str]:
    """What has to be built, as CMake calls it."""
    return ["-".join((*side.words[0].split("/"), side.words[1])) for side in (SPINLOCK, WAKEUP, LINE)]


def median_ns(side: Side, build: Path, pair: tuple[str, str] | None = None) -> tuple[float, tuple[str, str]]:
    """The median hand-off of one launch, and its pair of CPUs; of `pair` alone where one is given."""
    command = [str(side.program(build)), "serve", *side.words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        ready = answer_of(child.stdout.readline())
        values = np.empty(0, np.float32)
        cells: list[dict[str, Any]] = []
        for _ in range(2):  # the first one is the warm-up
            child.stdin.write(json.dumps({"type": "samples", "count": SAMPLES}).encode() + b"\n")
            child.stdin.flush()
            header = answer_of(child.stdout.readline())
            values = np.frombuffer(child.stdout.read(int(header["bytes"])), "<f4")
            cells = header.get("cells", [])
        child.stdin.write(b'{"type": "stop"}\n')
        child.stdin.flush()
        answer_of(child.stdout.readline())
    if pair is None:
        first, second = str(ready["footing"]["pinned_cpus"]).split(",")
        return float(np.median(values)), (first, second)
    ends = np.cumsum([cell["count"] for cell in cells])
    wanted = {f"{pair[0]}>{pair[1]}", f"{pair[1]}>{pair[0]}"}
    parts = [
        values[end - cell["count"] : end]
        for cell, end in zip(cells, ends, strict=True)
        if cell["key"] in wanted
    ]
    return float(np.median(np.concatenate(parts))), pair


def answer_of(line: bytes) -> dict[str, Any]:
    """One message; RuntimeError for an error of the program's."""
    message: dict[str, Any] = json.loads(line)
    if message["type"] == "error":
        raise RuntimeError(message["message"])
    return message


def figures(build: Path) -> list[tuple[str, float, str, float | None]]:
    """(what, value, unit, bar): the medians and how far they are from each other."""
    medians: dict[str, list[float]] = {SPINLOCK.name: [], WAKEUP.name: [], LINE.name: []}
    order = random.Random(1)
    _, pair = median_ns(WAKEUP, build)  # which two CPUs it takes; whoever comes first finds an idle machine
    for _ in range(LAUNCHES):
        sides = [WAKEUP, SPINLOCK, LINE]
        order.shuffle(sides)
        for side in sides:
            medians[side.name].append(median_ns(side, build, None if side is WAKEUP else pair)[0])
    ratios = [a / b for a, b in zip(medians[WAKEUP.name], medians[SPINLOCK.name], strict=True)]
    ratio = statistics.median(ratios)
    found: list[tuple[str, float, str, float | None]] = [
        (name, statistics.median(values), "ns", None) for name, values in medians.items()
    ]
    quarters = statistics.quantiles(ratios, n=4)
    return [
        *found,
        ("wakeup over core_to_core, paired, lower quarter", quarters[0], "", None),
        ("the same, upper quarter", quarters[2], "", None),
        ("the same, median: distance from 1", 100 * abs(ratio - 1), "%", BAR_PERCENT),
    ]


if __name__ == "__main__":
    for what, value, unit, bar in figures(Path(sys.argv[1])):
        print(f"{what:55} {value:10.4g} {unit:3} {'' if bar is None else f'at most {bar:g}'}")
