"""What the machine did to everybody while a launch ran: stolen time and CPU pressure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STEAL_FIELD = 8  # of the line "cpu", proc(5)


class Disturbance(NamedTuple):
    """Totals since boot in nanoseconds; None where the kernel does not tell."""

    steal_ns: int | None
    pressure_ns: int | None  # time in which some task waited for a CPU

    def since(self, before: Disturbance) -> Disturbance:
        """What came between `before` and this."""
        return Disturbance(
            _difference(self.steal_ns, before.steal_ns), _difference(self.pressure_ns, before.pressure_ns)
        )


def read_disturbance(proc: Path = Path("/proc")) -> Disturbance:
    """Reads /proc/stat (ticks of 10 ms) and /proc/pressure/cpu (microseconds)."""
    return Disturbance(_steal_ns(proc / "stat"), _pressure_ns(proc / "pressure" / "cpu"))


def spare_memory_bytes(proc: Path = Path("/proc")) -> int:
    """Memory that can be used without swapping; 0 where the kernel does not tell."""
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return 0


def _steal_ns(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            return int(file.readline(512).split()[_STEAL_FIELD]) * _NS_PER_TICK
    except (OSError, ValueError, IndexError):
        return None


def _pressure_ns(path: Path) -> int | None:
    try:
        some = path.read_bytes().splitlines()[0]
        return int(some.rpartition(b"total=")[2]) * 1000
    except (OSError, ValueError, IndexError):
        return None


def _difference(after: int | None, before: int | None) -> int | None:
    # Some hypervisors let the counters step back; less than nothing was not stolen.
    return None if after is None or before is None else max(0, after - before)
