"""What launches used beside the time that is compared: CPU time, memory, how they ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tollbench.compare.verdicts import LaunchUse


@dataclass
class Usage:
    """Gathered over the launches of a comparison, by benchmark and side. One of several counts for each."""

    _launches: dict[tuple[str, str], list[Mapping[str, Any]]] = field(default_factory=dict)

    def take(self, launches: Iterable[Mapping[str, Any]]) -> None:
        """Launches as a round has them for the raw file."""
        for launch in launches:
            if "exit_code" not in launch:  # failed, or a program that toll talks to
                continue
            for name in launch["ns"]:
                self._launches.setdefault((name, launch["side"]), []).append(launch)

    def of(self, benchmark: str, side: str) -> LaunchUse | None:
        """None where there was no launch that tells."""
        launches = self._launches.get((benchmark, side))
        if not launches:
            return None
        peaks = [launch["peak_bytes"] for launch in launches]
        return LaunchUse(
            launches=len(launches),
            wall_ns=median(launch["wall_ns"] for launch in launches),
            cpu_ns=median(launch["cpu_ns"] for launch in launches),
            peak_bytes=None if None in peaks else round(median(peaks)),
            exit_codes=tuple(sorted({launch["exit_code"] for launch in launches})),
        )
