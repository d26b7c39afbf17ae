"""Lakes with known content, made from run files as a user's are."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from made_runs import Made, make_run

from tollbench.lake.lake_folder import Added
from tollbench.lake.tables_of_run import LakeRun, tables_of_run
from tollbench.store import RunFile

CPU = {
    "cpu": "Made 1", "architecture": "x86_64", "cpus": 4, "packages": 1, "cores": 2, "threads_per_core": 2,
    "numa_nodes": 1, "usable_cpus": [0, 1, 2, 3], "memory_bytes": 2**33, "kernel": "Linux 6.1",
    "microcode": "0x1", "firmware": "made 1.0", "mitigations": {"meltdown": "Not affected"},
    "frequency_mhz": {"min": 800.0, "max": 4000.0, "now": 1234.5}, "product": "m1.large",
}  # fmt: skip
ROUNDS = 20


class Takes(Protocol):
    """A lake of any kind."""

    def add(self, run: LakeRun) -> Added: ...


def machine(**changes: Any) -> dict[str, Any]:
    return {**CPU, **changes}


def run_id(number: int) -> str:
    return str(uuid.UUID(int=number, version=4))


def noisy(seed: int, value: float, rounds: int = ROUNDS, noise: float = 0.005) -> list[float]:
    return [*(value * np.exp(np.random.default_rng(seed).normal(0.0, noise, rounds)))]


def run(folder: Path, number: int, values: Mapping[str, float], **changes: Any) -> Path:
    """A run file `run-NUMBER.toll` whose contenders cost so many ns; `changes` are of its header."""
    cases = [Made(name, noisy(100 * number + at, value)) for at, (name, value) in enumerate(values.items())]
    return run_of(folder, number, cases, **changes)


def run_of(folder: Path, number: int, cases: Sequence[Made], **changes: Any) -> Path:
    fields = {"uuid": run_id(number), "machine": machine(cpu=f"Made {number}"), "name": f"run-{number}"}
    return make_run(folder / f"run-{number}.toll", cases, **(fields | changes))


def started(month: int, day: int = 2) -> dict[str, str]:
    return {
        "started_utc": f"2026-{month:02}-{day:02}T03:04:05.000+00:00",
        "finished_utc": f"2026-{month:02}-{day:02}T03:05:05.000+00:00",
    }


def added(lake: Takes, path: Path, **options: Any) -> Added:
    with RunFile.open(path) as run_file:
        return lake.add(tables_of_run(run_file, **options))
