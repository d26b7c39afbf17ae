"""JMH's jars as they are (`java -jar benchmarks.jar`): one launch runs one benchmark in one fork.

A launch starts Java twice: JMH itself, and the fork, which has the options that @Fork gives it. Its warm-up
is short: what a launch tells is how fast the code is after some tenths of a second, not after minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, json_of
from tollbench.compare.subject import Adapter, MeasuringOptions, Side
from tollbench.launching.failure import LaunchFailed

KIND = "jmh"
_WARM_UP = ("-wi", "5", "-w", "100ms")
_ITERATIONS = ("-i", "5", "-r", "50ms")
_BRIEFLY = ("-wi", "0", "-i", "1", "-r", "1ms")


class Jmh(WholeOutput):
    """Existing jars, unchanged; a benchmark is called "package.Class.method: parameter=value"."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._parts: dict[str, tuple[str, dict[str, str]]] = {}  # name -> method, parameters

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """One: each has a fork of its own anyway."""
        return names[:1]

    def told(self, report: Path, names: Sequence[str] | None) -> Sequence[str]:
        """Average time in ns, whatever the source asks for; one method with its parameters."""
        arguments = [
            "-bm",
            "avgt",
            "-tu",
            "ns",
            "-f",
            "1",
            "-foe",
            "true",
            "-rf",
            "json",
            "-rff",
            str(report),
        ]
        if names is None:
            return [*arguments, *_BRIEFLY]
        method, parameters = self._parts[names[0]]
        arguments += [*_WARM_UP, *_ITERATIONS, f"^{re.escape(method)}$"]
        for name, value in parameters.items():
            arguments += ["-p", f"{name}={value}"]
        return arguments

    def read(self, report: bytes) -> Printed:
        """Every iteration of every fork."""
        found = json_of(report, "JMH")
        try:
            return [pair for one in found for pair in self._read(one)]
        except (KeyError, TypeError, AttributeError):
            raise LaunchFailed("ended well, but reported nothing that JMH would report") from None

    def _read(self, one: Any) -> Printed:
        parameters = {str(key): str(value) for key, value in (one.get("params") or {}).items()}
        told = ", ".join(f"{key}={value}" for key, value in parameters.items())
        name = f"{one['benchmark']}: {told}" if told else str(one["benchmark"])
        self._parts[name] = one["benchmark"], parameters
        in_ns = one["primaryMetric"]["scoreUnit"] == "ns/op"
        for fork in one["primaryMetric"]["rawData"]:
            for value in fork:
                yield name, float(value) if in_ns else math.nan


ADAPTER = Adapter(KIND, "a JMH jar", (b"META-INF/BenchmarkList",), Jmh, interpreters=("java",))
