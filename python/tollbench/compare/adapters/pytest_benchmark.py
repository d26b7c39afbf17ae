"""pytest with pytest-benchmark (`pytest tests/bench.py`): one launch runs all benchmarks that it collects.

The plug-in calibrates by the clock how many calls make a round. What a test's own marker fixes holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, json_of
from tollbench.compare.subject import Adapter
from tollbench.launching.failure import LaunchFailed

KIND = "pytest-benchmark"


class PytestBenchmark(WholeOutput):
    """Existing tests, unchanged; a benchmark's name is its whole path, as pytest prints it."""

    def told(self, report: Path, names: Sequence[str] | None) -> Sequence[str]:
        """Few short rounds; nothing is written into the folder of the tests.

        Its cache is elsewhere, and there: projects may have --lf or --cache-clear among their options.
        """
        longest = 0.001 if names is None else 0.02
        length = [
            "--benchmark-min-rounds=5",
            f"--benchmark-max-time={longest}",
            "--benchmark-min-time=0.0005",
        ]
        quiet = ["--benchmark-only", "--benchmark-disable-gc", "-q"]
        elsewhere = ["-o", f"cache_dir={report.parent / 'cache'}", f"--benchmark-json={report}"]
        return [*quiet, *length, *elsewhere]

    def read(self, report: bytes) -> Printed:
        """The median of each benchmark's rounds."""
        found = json_of(report, "pytest-benchmark")
        try:
            return [(str(one["fullname"]), 1e9 * one["stats"]["median"]) for one in found["benchmarks"]]
        except (KeyError, TypeError):
            raise LaunchFailed("ended well, but reported nothing that pytest-benchmark would") from None


ADAPTER = Adapter(
    KIND, "pytest with pytest-benchmark", (), PytestBenchmark, interpreters=("pytest", "py.test")
)
