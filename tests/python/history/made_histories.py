"""Histories whose values are known: sessions as toll writes them, without a launch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.history_folder import HistoryFolder
from tollbench.history.reading_history import ReadHistory, read_history

MACHINE = {"cpu": "a processor", "cpus": 2, "compilers": [{"name": "g++", "version": "1"}]}


def commit_hash(number: int) -> str:
    return f"{number + 1:040x}"


def row(count: int) -> CommitRange:
    """Commits whose trees are their numbers, too."""
    commits = [
        Commit(commit_hash(n), commit_hash(n), "n", f"step {n}", committed_s=1_700_000_000 + 86_400 * n)
        for n in range(count)
    ]
    return CommitRange(Path(), tuple(commits), True)


def point(ratio: float, reference_ns: float = 100.0, error: float = 0.001) -> list[float]:
    return [ratio, ratio * 0.997, ratio * 1.003, 20, error, reference_ns, reference_ns * ratio]


def session(
    folder: Path,
    number: int,
    commits: Sequence[Mapping[str, Any]],
    *,
    machine: Mapping[str, Any] = MACHINE,
    digest: str = "d",
    reference: int = 0,
    commands: Mapping[str, Any] = {},
) -> Path:
    """The file of one night; each commit as a line of it."""
    folder.mkdir(exist_ok=True)
    header = {
        "toll_history": 1,
        "started_utc": f"2026-03-{number:02}T01:00:00Z",
        "reference": commit_hash(reference),
        "reference_digest": digest,
        "machine": machine,
        **commands,
    }
    path = folder / f"measured-2026-03-{number:02}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *commits)), encoding="utf-8")
    return path


def line(number: int, ratios: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """What was measured of one commit."""
    reference_ns = more.pop("reference_ns", 100.0)
    points = {name: point(ratio, reference_ns) for name, ratio in ratios.items()}
    return {"commit": commit_hash(number), "tree": commit_hash(number), "points": points, **more}


def scattered(count: int, step: Mapping[int, float] = {}, seed: int = 1) -> list[float]:
    """Ratios that scatter by 0.3 %, with steps."""
    level, ratios = 1.0, []
    for number, off in enumerate(np.random.default_rng(seed).normal(0.0, 0.003, count)):
        level *= 1.0 + step.get(number, 0.0)
        ratios.append(level * math.exp(off))
    return ratios


def read(
    folder: Path,
    count: int,
    threshold: float = 0.01,
    pattern: str = "",
    commits: CommitRange | None = None,
    commands: Mapping[str, str] | None = None,
) -> ReadHistory:
    notes: list[str] = []
    sessions = HistoryFolder(folder).sessions(notes.append)
    return read_history(
        commits or row(count),
        sessions,
        threshold=threshold,
        pattern=pattern,
        notes=notes,
        commands=commands,
    )
