"""A run in a notebook: `toll.open("runs/x.toll")` gives its samples as NumPy, Arrow or pandas.

import tollbench as toll
run = toll.open("runs/monday.toll")
run.samples("latency/wakeup", "std_mutex", mode="hot")    # NumPy, nanoseconds
run.pandas("batches").groupby("contender").wall_ns.median()
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from tollbench.errors import TollError
from tollbench.store import CaseRecord, Launch, RunFile
from tollbench.words import Purpose

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from tollbench.analysis.results import Results


class Run:
    """One run, read-only. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path) -> None:
        """Raises TollError where the file is not a sound run file."""
        self.file = RunFile.open(path)

    @cached_property
    def results(self) -> Results:
        """What `toll report` shows: values, intervals, ratios, percentiles.

        Without verdicts on claims, which are of the suites and not of the run: `toll report --json`.
        """
        from tollbench.analysis import results

        return results(self.file)

    def cases(self) -> tuple[CaseRecord, ...]:
        """Every case of the run and what became of it."""
        return self.file.cases()

    def samples(
        self, workload: str, contender: str, environment: str = "", **parameters: int | str
    ) -> NDArray[np.float32]:
        """Operations timed one by one, nanoseconds, shape (n,), launch after launch; warm-up left out.

        `environment` and `parameters` choose where it has several cases. Raises TollError where the choice is
        not of exactly one case, or where its operations were timed in batches.
        """
        case = self._case(workload, contender, environment, parameters)
        parts = [self.file.samples(launch.id) for launch in self._launches(case)]
        found = np.concatenate(parts) if parts else np.empty(0, np.float32)
        if not len(found) and case.kind == "batch":
            step = f'call run.batches("{workload}", "{contender}")'
            raise TollError(f"{workload} is timed in batches", step)
        return found

    def batches(
        self, workload: str, contender: str, environment: str = "", **parameters: int | str
    ) -> NDArray[np.float64]:
        """Wall time per unit of work of each batch, nanoseconds, shape (n,); warm-up left out."""
        case = self._case(workload, contender, environment, parameters)
        times = [
            batch.wall_ns / batch.units
            for launch in self._launches(case)
            for batch in launch.batches
            if not batch.warmup and batch.units
        ]
        return np.array(times, np.float64)

    def arrow(self, table: str = "samples") -> pyarrow.Table:
        """One of the tables cases, launches, batches, samples. Raises TollError for another name."""
        from tollbench.export.tables import TABLES

        known = {found.name: found for found in TABLES}
        if table not in known:
            raise TollError(f"there is no table {table!r}", f"tables: {', '.join(known)}")
        return known[table].read(self.file)

    def pandas(self, table: str = "samples") -> pandas.DataFrame:
        """The same as a data frame; needs pandas, which toll itself does not."""
        frame: pandas.DataFrame = self.arrow(table).to_pandas()
        return frame

    def close(self) -> None:
        """Closes the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launches(self, case: CaseRecord) -> tuple[Launch, ...]:
        return self.file.launches(case.id, Purpose.MEASURE, ok_only=True)

    def _case(
        self, workload: str, contender: str, environment: str, parameters: dict[str, int | str]
    ) -> CaseRecord:
        found = [
            case
            for case in self.file.cases()
            if (case.workload, case.contender) == (workload, contender)
            and environment in ("", case.environment)
            and all(case.parameters.get(name) == value for name, value in parameters.items())
        ]
        if len(found) == 1:
            return found[0]
        if not found:
            there = ", ".join(sorted({f"{case.workload} {case.contender}" for case in self.file.cases()}))
            asked = f"{workload} {contender} {parameters or ''}".strip()
            raise TollError(f"the run has no case {asked}", f"it has: {there}")
        choices = "; ".join(f"{case.environment} {dict(case.parameters)}" for case in found)
        step = f"choose by environment or parameters: {choices}"
        raise TollError(f"{workload} {contender} has {len(found)} cases", step)
