"""What a turn of toll programs that are compared costs besides its batches, and what less there could be.

    PYTHONPATH=python .venv/bin/python tests/bench/hand_over.py PROGRAM [LAUNCHES]

PROGRAM is compared with itself; medians over all turns, µs. Then two processes of C that do nothing else hand
over to each other, by a third one in the middle, and without any: what toll could gain without Python.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tollbench.compare import MeasuringOptions, WrittenSide, resolve
from tollbench.compare.adapters.toll_program import ProgramFiles
from tollbench.launching.conversation import Conversation
from tollbench.launching.halting import cpu_ns
from tollbench.launching.protocol import Unread

SOURCE = Path(__file__).with_suffix(".c")
TURNS = 2000
WORK_NS = 280_000  # of a turn of a program


def main() -> None:
    """Prints the figures."""
    figures = of_toll(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30)
    for what, value in (figures | of_c()).items():
        print(f"{what:64} {value:8.1f} µs")


def of_toll(program: str, launches: int) -> dict[str, float]:
    """Medians over turns; the first launch finds its work, and does not count."""
    _, sides = resolve([WrittenSide(program)] * 2, "toll")
    subject = ProgramFiles(sides, MeasuringOptions(60.0))
    name = subject.survey().common[0]
    turns: list[tuple[int, int, int, Unread]] = []
    ask = Conversation.time_unread

    def asked(self: Conversation, count: int, layout: int | None, warm: int = 0) -> Unread:
        used, own, began = cpu_ns(self.pid), time.thread_time_ns(), time.monotonic_ns()
        unread = ask(self, count, layout, warm)
        took = time.monotonic_ns() - began
        turns.append((took, time.thread_time_ns() - own, cpu_ns(self.pid) - used, unread))
        return unread

    subject.round([name], 0)
    Conversation.time_unread = asked  # type: ignore[method-assign]
    for seed in range(1, launches):
        failures = subject.round([name], seed).failures
        assert not failures, failures
    took, own, used, answers = zip(*turns, strict=True)
    return {
        "a turn of a program": statistics.median(took) / 1e3,
        "its timed batch": statistics.median(answer.timed().batch.wall_ns for answer in answers) / 1e3,
        "CPU time of the program": statistics.median(used) / 1e3,
        "CPU time of Python, most of it while the program runs": statistics.median(own) / 1e3,
        "a turn without the program's CPU time": statistics.median(
            turn - spent for turn, spent in zip(took, used, strict=True)
        )
        / 1e3,
    }


def of_c() -> dict[str, float]:
    """A turn besides its work; the least of five, as neighbours only add to it."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "hand_over")
        subprocess.run(["cc", "-O2", "-std=gnu99", "-o", program, SOURCE], check=True)
        found = {}
        for way, told in (("relay", "with a third process in the middle"), ("token", "without any")):
            words = [str(program), way, str(TURNS), str(WORK_NS)]
            found[f"two processes of C, {told}"] = min(
                float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
                for _ in range(5)
            )
        return found


if __name__ == "__main__":
    main()
