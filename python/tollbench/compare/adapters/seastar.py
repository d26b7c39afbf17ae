"""Seastar's performance tests (seastar/testing/perf_tests.hh) as they are: one launch runs one test.

A test runs for as long as it is told and counts its iterations; the median of its runs is reported. How many
processors and how much memory Seastar takes is written with the side: './rpc_perf -c 1 -m 1G'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, json_of
from tollbench.compare.subject import Adapter
from tollbench.launching.failure import LaunchFailed

KIND = "seastar"
_RUNS = 5
_RUN_S = 0.01


class Seastar(WholeOutput):
    """Existing executables, unchanged; a benchmark is called "group.test"."""

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """One, as a launch can be told which."""
        return names[:1]

    def told(self, report: Path, names: Sequence[str] | None) -> Sequence[str]:
        """Short runs; the report goes into a file, as the table on standard output rounds."""
        arguments = ["--json-output", str(report), "--no-stdout", "--duration", f"{_RUN_S:g}"]
        arguments += ["--runs", str(1 if names is None else _RUNS)]
        if names is not None:
            arguments += ["--test", f"^{re.sub(r'[^A-Za-z0-9_]', '.', names[0])}$"]
        return arguments

    def read(self, report: bytes) -> Printed:
        """Nanoseconds an iteration."""
        found = json_of(report, "Seastar's perf_tests")
        try:
            return [(str(name), float(one["median"])) for name, one in found["results"].items()]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise LaunchFailed("ended well, but reported nothing that Seastar's perf_tests would") from None


ADAPTER = Adapter(
    KIND, "a program with Seastar's performance tests", (b"fail-on-high-overhead", b"mad-columns"), Seastar
)
