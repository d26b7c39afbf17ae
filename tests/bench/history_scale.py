"""How long the page of a long history takes, and how large it is.

    python tests/bench/history_scale.py [--commits 10000] [--benchmarks 100]

Makes a history of drawn values with some changes, finds the changes and renders the page; prints time and
size beside their bars (rendering 5 s, page 5 MB). Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python")]

SECONDS, MEGABYTES = 5.0, 5.0


def made(folder: Path, commits: int, benchmarks: int) -> Path:
    """One session's file: 0.5 % of noise, a change of 2 % somewhere in each benchmark."""
    import json

    rng = np.random.default_rng(1)
    levels = np.ones((benchmarks, commits))
    for level in levels:
        level[int(rng.integers(20, commits - 20)) :] *= 1.0 + 0.02 * rng.choice((-1, 1))
    ratios = levels * np.exp(rng.normal(0.0, 0.005, levels.shape))
    header = {
        "toll_history": 1,
        "started_utc": "2026-01-01T00:00:00Z",
        "reference": f"{commits - 1:040x}",
        "reference_digest": "",
        "machine": {},
    }
    path = folder / "measured-1.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(header) + "\n")
        for place in range(commits):
            points = {
                f"BM_number_{number}/with_a_name": [
                    *(round(float(ratio * factor), 6) for factor in (1.0, 0.998, 1.002)),
                    *(20, 0.001, 100.0, round(100.0 * float(ratio), 4)),
                ]
                for number, ratio in enumerate(ratios[:, place])
            }
            line = {"commit": f"{place:040x}", "tree": f"{place:040x}", "points": points}
            file.write(json.dumps(line) + "\n")
    return path


def main() -> int:
    """Prints the figures."""
    import tempfile

    from tollbench.history.commit_range import Commit, CommitRange
    from tollbench.history.history_folder import HistoryFolder
    from tollbench.history.reading_history import read_history
    from tollbench.report.histories import history_html

    parser = argparse.ArgumentParser()
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--benchmarks", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="where the page is written")
    asked = parser.parse_args()
    row = tuple(
        Commit(
            f"{n:040x}",
            f"{n:040x}",
            "somebody",
            f"a subject of usual length, number {n}",
            "",
            1_600_000_000 + 3600 * n,
        )
        for n in range(asked.commits)
    )
    with tempfile.TemporaryDirectory() as folder:
        made(Path(folder), asked.commits, asked.benchmarks)
        began = time.perf_counter()
        sessions = HistoryFolder(Path(folder)).sessions()
        read = time.perf_counter()
        told = read_history(CommitRange(Path(), row, True), sessions, threshold=0.01).told
        found = time.perf_counter()
        page = history_html.render(told)
        rendered = time.perf_counter()
    if asked.keep is not None:
        asked.keep.write_text(page, encoding="utf-8")
    size = len(page.encode()) / 1e6
    print(f"reading the folder   {read - began:6.2f} s")
    print(f"finding {len(told.changes):4} changes {found - read:6.2f} s")
    print(f"rendering the page   {rendered - found:6.2f} s   bar {SECONDS} s")
    print(f"the page             {size:6.2f} MB  bar {MEGABYTES} MB")
    return int(rendered - found > SECONDS or size > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
