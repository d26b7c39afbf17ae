"""Folly's benchmarks (folly/Benchmark.h) as they are: one launch runs one benchmark.

Folly finds the number of iterations by the clock and reports the quickest of its trials, less the time of an
empty loop. Versions that know --bm_max_trials make few of them; older ones take up to a second, as they are
told whole seconds only. Where two files of a program have benchmarks of one name, its report has the last one
alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tollbench.compare.adapters.whole_output import Printed, WholeOutput, json_of
from tollbench.compare.subject import Adapter, MeasuringOptions, Side
from tollbench.launching.failure import LaunchFailed

KIND = "folly"
_TRIALS = 15
_LEAST_US = 500  # of a trial
_PICOSECONDS = 1e-3  # of its JSON, in ns


class Folly(WholeOutput):
    """Existing executables, unchanged."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._counts_trials = True
        self._with_modes: set[str] = set()  # labels of sides

    def offered(self, side: Side) -> Sequence[str]:
        """Runs everything once, as no version lists what the others would."""
        helped = self.run(side, ["--helpmatch=enchmark"]).stdout
        self._counts_trials &= b"bm_max_trials" in helped
        self._with_modes |= {side.label} if b"bm_mode" in helped else set()
        return super().offered(side)

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """One, as a launch can be told which."""
        return names[:1]

    def told(self, _report: Path, names: Sequence[str] | None) -> Sequence[str]:
        """A few trials of one benchmark, or one of each."""
        arguments = ["--benchmark", "--json", "--bm_max_secs=1", f"--bm_min_usec={_LEAST_US}"]
        if self._counts_trials:
            arguments.append(f"--bm_max_trials={1 if names is None else _TRIALS}")
        if names is not None:
            arguments.append(f"--bm_regex=^%?{re.sub(r'[^A-Za-z0-9_ ]', '.', names[0])}$")
        return arguments

    def told_besides(self, side: Side) -> Sequence[str]:
        """To measure as older versions do: those that know another way say it may become the usual one."""
        return ["--bm_mode=best-of"] if side.label in self._with_modes else ()

    def read(self, report: bytes) -> Printed:
        """Picoseconds by name; a leading "%" says that the table shows it relative to another one."""
        text = report.decode("utf-8", "replace")
        found = json_of(text[max(0, text.find("{")) :].encode(), "Folly")
        if not isinstance(found, dict) or not all(isinstance(ps, int | float) for ps in found.values()):
            raise LaunchFailed("ended well, but reported nothing that Folly would report")
        return [(name.removeprefix("%"), ps * _PICOSECONDS) for name, ps in found.items() if name != "-"]


ADAPTER = Adapter(KIND, "a program with Folly's benchmarks", (b"bm_min_usec",), Folly)
