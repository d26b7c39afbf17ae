"""Any program or command line that prints names and times as JSON or CSV: --read says where they stand.

A launch is the command as it is. A benchmark that stands in its output several times has been repeated: the
median of a launch's values is the launch's value.
"""

from __future__ import annotations

from collections.abc import Sequence

from tollbench.compare.adapters.whole_output import Printed, WholeOutput
from tollbench.compare.readings import Reading
from tollbench.compare.subject import Adapter, MeasuringOptions, Side
from tollbench.launching.failure import LaunchFailed

KIND = "read"


class ReadOutput(WholeOutput):
    """Command lines whose own numbers are compared."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._reading = Reading.of(options.read or "json")

    def read(self, report: bytes) -> Printed:
        """By what --read says."""
        found = self._reading.results(report.decode("utf-8", "replace"))
        if not found:
            names = ", ".join((*self._reading.name, self._reading.time))
            raise LaunchFailed(f"printed no {self._reading.form.upper()} with {names} (--read)")
        return found


ADAPTER = Adapter(KIND, "a program whose output is read", (), ReadOutput, is_command_line=True)
