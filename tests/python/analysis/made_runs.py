"""Run files with known content, made through the store as a run would make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tollbench.store import Launch, RunFile, RunHeader
from tollbench.words import (
    CODE_LAYOUT,
    HOST,
    TURNS_ON_CPU,
    Allocations,
    Batch,
    Case,
    DeclaredDetail,
    Kind,
    Published,
    Purpose,
    Status,
    Workload,
)

STARTED = "2026-01-02T03:04:05.000+00:00"


def header(**changes: Any) -> RunHeader:
    fields: dict[str, Any] = {
        "name": "made", "uuid": "00000000-0000-4000-8000-000000000000", "toll_version": "0.1.0",
        "command_line": "toll run", "profile": "quick", "seed": 7, "level": 0.95, "precision": 0.01,
        "budget_s": 60.0, "plan": {}, "machine": {"cpu": "made"}, "conditions": {"load": 0.5},
        "started_utc": STARTED, "finished_utc": "2026-01-02T03:05:05.000+00:00", "stopped_by": "budget",
    }  # fmt: skip
    return RunHeader(**(fields | changes))


def batch(wall_ns: float, *, units: int = 100, warmup: bool = False, **changes: Any) -> Batch:
    fields: dict[str, Any] = {
        "iterations": 1, "units": units, "wall_ns": wall_ns, "cpu_ns": 2.0 * wall_ns, "voluntary_switches": 3,
        "involuntary_switches": 1, "minor_faults": 4, "major_faults": 1, "peak_bytes": 1 << 20,
        "checksum": 0, "warmup": warmup, "counters": {},
    }  # fmt: skip
    return Batch(**(fields | changes))


@dataclass
class Made:
    """One case and its launches, by round: values in ns per unit, a Status for a failed launch."""

    contender: str
    launches: Sequence[float | Status | None]  # None: not launched in that round
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    status: Status = Status.OK
    reason: str = ""
    samples: Sequence[np.ndarray] = ()  # of each OK launch, kind "samples"
    allocations: Allocations | Sequence[Allocations] = ()  # of each counting launch
    warm_up_factor: float = 3.0
    counters: Mapping[str, Any] = field(default_factory=dict)  # of the pilot's last request
    footing: Mapping[str, Any] = field(default_factory=dict)  # observed besides the threads
    tied: int = 0  # rounds from the first on in which it shared a CPU with others
    layouts: Sequence[int] = ()  # of its program's code, by round; 0: as it was linked
    counted: Mapping[str, int] = field(default_factory=dict)  # observed by the pilot
    iterations: int = 1  # of a batch, which always has 100 units of work
    environment: str = "host"
    details: Sequence[Mapping[str, float]] = ()  # of each OK launch in turn
    batches: Mapping[str, Any] = field(default_factory=dict)  # what timed batches have otherwise


def make_run(
    path: Path,
    cases: Sequence[Made],
    *,
    kind: Kind = Kind.BATCH,
    canary: Sequence[float] = (),
    published: Sequence[Published] = (),
    unit: str = "ns",
    details: Sequence[DeclaredDetail] = (),
    launch_changes: Mapping[str, Any] | None = None,
    **header_changes: Any,
) -> Path:
    workload = Workload(
        "tasks/made", "What does it cost?", kind, unit, "task", "1", path.parent, (), (), tuple(published),
        details=tuple(details),
    )  # fmt: skip
    with RunFile.create(path, header(**header_changes)) as run_file:
        names = dict.fromkeys(["host", *(made.environment for made in cases)])
        environments = [replace(HOST, name=name) for name in names]
        planned = [(_case(made, kind, unit), made.status, made.reason, "1.0") for made in cases]
        ids = run_file.add_plan([workload], environments, planned)
        for made, (case, *_) in zip(cases, planned, strict=True):
            _add_launches(run_file, made, ids[case.key], kind, launch_changes or {})
        for index, value in enumerate(canary):
            started = f"2026-01-02T03:{4 + (5 + index) // 60:02}:{(5 + index) % 60:02}.000+00:00"
            run_file.append(
                launch(None, Purpose.CANARY, index, batches=(batch(100 * value),), started_utc=started)
            )
    return path


def of_the_runs_test_alone() -> list[float]:
    """24 values more like their neighbours by the runs test, but not so by how much their ranks correlate."""
    noise = np.random.default_rng(485).standard_normal(24)
    spells = np.where((np.arange(24) // 3) % 2 == 0, 0.2, -0.2)
    return [*(100.0 + spells + 0.4 * noise)]


def published(label: str, note: str = "", **changes: object) -> Published:
    fields: dict[str, object] = {
        "contender": "a", "label": label, "low": 1.0, "high": 2.0, "unit": "us", "per": "task",
        "machine": "old", "year": 2016, "source": "a table", "note": note,
    }  # fmt: skip
    return Published(**(fields | changes))  # type: ignore[arg-type]


def launch(case_id: int | None, purpose: Purpose, round_: int, **changes: Any) -> Launch:
    fields: dict[str, Any] = {
        "position": 0, "seed": 1, "status": Status.OK, "reason": "",
        "started_utc": STARTED, "started_ns": 1000 + round_, "wall_ns": 5_000_000,
    }  # fmt: skip
    return Launch(case_id=case_id, purpose=purpose, round=round_, **(fields | changes))


def _case(made: Made, kind: Kind, unit: str) -> Case:
    return Case(
        "tasks/made", made.contender, made.environment, made.parameters, kind, unit, "task", "C++", "std", 1,
        {"threads": "declared", "pinning": "none", **made.footing},
    )  # fmt: skip


def _add_launches(
    run_file: RunFile, made: Made, case_id: int, kind: Kind, launch_changes: Mapping[str, Any]
) -> None:
    arrays, told = iter(made.samples), iter(made.details)
    pilot = (batch(1e6, counters={"instructions": 1}), batch(2e6, counters=made.counters))
    run_file.append(launch(case_id, Purpose.PILOT, 0, batches=pilot, footing={"threads": 1, **made.counted}))
    for round_, value in enumerate(made.launches):
        if value is None:
            continue
        if isinstance(value, Status):
            failed = launch(case_id, Purpose.MEASURE, round_, status=value, reason=f"it {value} here")
            run_file.append(failed)
            continue
        warm_up = batch(100 * value * made.warm_up_factor, warmup=True)
        # Three batches whose median is the value: a mean or a first batch would give another number.
        timed = [
            batch(100 * value * factor, **{"iterations": made.iterations, **made.batches})
            for factor in (1.0, 0.5, 40.0)
        ]
        if (numbers := next(told, None)) is not None:
            warm_up = warm_up._replace(details=dict.fromkeys(numbers, -1e9))  # never part of a result
            factors = (1.0, 0.5, 40.0)  # as of the times: the median is the value
            timed = [
                each._replace(details={name: number * factor for name, number in numbers.items()})
                for each, factor in zip(timed, factors, strict=False)
            ]
        samples: list[np.ndarray | None] = []
        if kind is Kind.SAMPLES:
            array = next(arrays).astype(np.float32)
            samples, timed = [array[:5] * 3, array], timed[:1]
        on_cpu = {TURNS_ON_CPU: round_ % 2} if round_ < made.tied else {}
        layout = {CODE_LAYOUT: made.layouts[round_]} if made.layouts and made.layouts[round_] else {}
        run_file.append(
            launch(
                case_id, Purpose.MEASURE, round_, batches=(warm_up, *timed),
                footing={"threads": 2, **on_cpu, **layout, **made.footing}, **launch_changes,
            ),
            samples,
        )  # fmt: skip
    counted = [made.allocations] if isinstance(made.allocations, Allocations) else made.allocations
    for number, allocations in enumerate(counted):
        run_file.append(launch(case_id, Purpose.ALLOCATIONS, number, allocations=allocations))
