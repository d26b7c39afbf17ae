"""pyperf scripts as they are (`python bench.py`): one launch runs all benchmarks that the script has.

pyperf finds by the clock how many loops fill a value, and starts Python anew to calibrate and to measure: a
launch takes three starts of Python. It passes few variables of the environment on to those, and is told to
pass what toll sets: else glibc's malloc would be compared with itself under the name of another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, json_of
from tollbench.compare.subject import Adapter, Side
from tollbench.launching.failure import LaunchFailed

KIND = "pyperf"
_VALUES = 5
_VALUE_S = 0.005
_PASSED_ON = ("LD_PRELOAD", "GLIBC_TUNABLES", "TOLL_PADDING")  # --env, and where its stack begins
_INHERIT = "--inherit-environ"


class Pyperf(WholeOutput):
    """Existing scripts, unchanged."""

    def told(self, report: Path, names: Sequence[str] | None) -> Sequence[str]:
        """One process, some short values."""
        values = 1 if names is None else _VALUES
        length = ["--processes=1", f"--values={values}", "--warmups=1", f"--min-time={_VALUE_S}"]
        return [*length, "--quiet", "-o", str(report)]

    def told_besides(self, side: Side) -> Sequence[str]:
        """Variables that its processes have, with the last list of the side's own words: one list counts."""
        own = re.findall(rf"(?:^|\n){_INHERIT}[=\n](.*)", "\n".join(side.command))
        return [f"{_INHERIT}={','.join([*_PASSED_ON, *own[-1:]])}"]

    def read(self, report: bytes) -> Printed:
        """Of each benchmark all values of all processes."""
        found = json_of(report, "pyperf")
        try:
            return list(_values(found))
        except (KeyError, TypeError, AttributeError):
            raise LaunchFailed("ended well, but reported nothing that pyperf would report") from None


def _values(found: Any) -> Iterator[tuple[str, float]]:
    shared = found.get("metadata", {})  # of all benchmarks; a single one's name stands here
    for benchmark in found["benchmarks"]:
        about = {**shared, **benchmark.get("metadata", {})}
        if about.get("unit", "second") != "second":
            continue  # memory, or a number of its own
        for run in benchmark["runs"]:
            for value in run.get("values", ()):
                yield str(about["name"]), 1e9 * value


ADAPTER = Adapter(
    KIND,
    "a pyperf script",
    (b"pyperf.Runner", b"from pyperf import", b"import pyperf"),
    Pyperf,
    interpreters=("python", "pypy"),
)
