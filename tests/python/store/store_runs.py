"""Small run files for the tests of the store."""

import sqlite3
from pathlib import Path

import numpy as np

from tollbench.store import Launch, RunFile, RunHeader
from tollbench.words import (
    HOST,
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

HEADER = RunHeader(
    name="first", uuid="5f0c", toll_version="0.1.0", command_line="toll run", profile="quick",
    seed=7, level=0.95, precision=0.01, budget_s=60.0,
    plan={"settings": {}}, machine={"cpu": "x"}, conditions={"load": 0.5},
    started_utc="2026-01-01T00:00:00+00:00",
)  # fmt: skip
PUBLISHED = Published(
    "quick", "Quick 1.0", 10.0, 12.0, "ns", "task", "a PDP-11", 1975, "somewhere", "", "p50",
    differs="a lock more",
)  # fmt: skip
DETAILS = (
    DeclaredDetail("share", "Smallest share", "share", "of the thread that got least"),
    DeclaredDetail("drift", "Drift", "ns", "below zero where it came early"),
)
WORKLOAD = Workload(
    "tasks/tree", "What does a task cost?", Kind.SAMPLES, "ns", "task", "tasks", Path(), (), (),
    (PUBLISHED,), details=DETAILS,
)  # fmt: skip
CASE = Case(
    "tasks/tree",
    "quick",
    "host",
    {"tasks": 5},
    Kind.SAMPLES,
    "ns",
    "task",
    "C++",
    "std",
    2**64 - 3,
    {"threads": 2},
)
WARMUP = Batch(3, 3, 400.5, 700.0, 1, 2, 3, 4, 4096, (2**64 - 3) * 3 % 2**64, warmup=True)
TIMED = Batch(
    3, 3, 300.5, 600.0, 1, 2, 3, 4, 4096, (2**64 - 3) * 3 % 2**64,
    counters={"cycles": 9}, details={"drift": -4.5, "share": 0.25}, gauge_ns=1900.5, others=3,
)  # fmt: skip


def launch(
    case_id: int | None = 1, round: int = 1, purpose: Purpose = Purpose.MEASURE, **others: object
) -> Launch:
    values: dict[str, object] = {
        "case_id": case_id, "purpose": purpose, "round": round, "position": 0, "seed": 3, "status": Status.OK,
        "reason": "", "started_utc": "2026-01-01T00:00:01+00:00", "started_ns": 10 * round, "wall_ns": 5000,
    }  # fmt: skip
    return Launch(**(values | others))  # type: ignore[arg-type]


def measured(round: int) -> tuple[Launch, list[np.ndarray]]:
    samples = [np.array([9, 9, 9], np.float32), np.array([round, 2.5, 3], np.float32)]
    return launch(round=round, setup_ns=7, clock={"source": "tsc"}, batches=(WARMUP, TIMED)), samples


def make(path: Path, rounds: int = 2) -> RunFile:
    """A run with one case, `rounds` launches of it, a canary, a counting pass and a failed launch."""
    run_file = RunFile.create(path, HEADER)
    run_file.add_plan([WORKLOAD], [HOST], [(CASE, Status.PLANNED, "", "libstdc++ 12")])
    run_file.append(launch(case_id=None, purpose=Purpose.CANARY, batches=(TIMED,)))
    for number in range(1, rounds + 1):
        run_file.append(*measured(number))
    run_file.append(launch(purpose=Purpose.ALLOCATIONS, allocations=Allocations(1, 5, 2, 3, 4)))
    run_file.append(launch(round=rounds + 1, status=Status.FAILED, reason="crashed with SIGSEGV"))
    return run_file


def as_version_3(path: Path, seed: int = 1) -> Path:
    """What the toll before version 4 would have written: each sample by itself, in the order of taking.

    That order is lost, so that the samples of each part stand in one drawn by `seed`.
    """
    rng = np.random.default_rng(seed)
    with RunFile.open(path) as run_file:
        rows = [row for each in run_file.all_launches() for row in _as_taken(run_file, each, rng)]
    connection = sqlite3.connect(path, isolation_level=None)
    for table in ("sample_block", "gauge", "look", "census"):
        connection.execute(f"DROP TABLE {table}")
    connection.executemany(
        """INSERT INTO sample SELECT id, ?, '<f4', ? FROM batch WHERE launch_id = ? AND warmup = ?
        ORDER BY ordinal LIMIT 1 OFFSET ?""",
        rows,
    )
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    return path


def _as_taken(
    run_file: RunFile, stored: Launch, rng: np.random.Generator
) -> list[tuple[int, bytes, int, bool, int]]:
    found = []
    for warmup, batches in zip((True, False), run_file.counted_samples(stored.id), strict=True):
        for number, batch in enumerate(batches):
            samples = np.concatenate([rng.permutation(part.expanded()) for part in batch.parts])
            found.append((len(samples), samples.astype("<f4").tobytes(), stored.id, warmup, number))
    return found
