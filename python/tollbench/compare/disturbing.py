"""Disturbances on purpose: what comparisons say while the machine is busy with something else."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from tollbench.interpreters import interpreter

DRIFT = 0.1  # the largest share of time that is added, to both sides: their middle plus and minus 5 %


class InjectedDisturbance(StrEnum):
    """A condition that `toll trust` makes."""

    LOAD = "load"
    DRIFT = "drift"


# Busy and idle for 0.05 to 1 s each, at random. It ends when the pipe to its parent does, however that ends.
_LOAD = """
import os, random, select, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
rng = random.Random(int(sys.argv[2]))
while not select.select([0], [], [], rng.uniform(0.05, 1.0))[0]:
    ends = time.monotonic() + rng.uniform(0.05, 1.0)
    while time.monotonic() < ends:
        pass
"""


@contextmanager
def load(cpu: int, seed: int) -> Iterator[subprocess.Popen[bytes]]:
    """While entered, a second process keeps `cpu` busy at random moments, about half of the time."""
    words = interpreter("-S", "-c", _LOAD, str(cpu), str(seed))
    with subprocess.Popen(words, cwd="/", stdin=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def one_of(cpus: Sequence[int], seed: int) -> int:
    """The CPU that is loaded."""
    return random.Random(f"load/{seed}").choice(cpus)
