"""What each environment brings for the same source, in words: beside the run's first one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tollbench import numbers
from tollbench.analysis.results import EnvironmentChange, EnvironmentRow, WorkloadResult
from tollbench.estimates import Estimate
from tollbench.report.cases import Naming
from tollbench.text import clean, several

MEANING = (
    "Time over that of the same row there, paired by round; below 1 it takes less. The whole is the mean over"
    " its rows, each weighing alike."
)

MOST_TOLD = 6  # on the screen


@dataclass(frozen=True, slots=True)
class EnvironmentLine:
    """One environment, as texts."""

    environment: str
    ratio: str  # "0.962×"
    interval: str  # "[0.951, 0.970]", "–" where there are too few rounds
    of_rows: str  # "12 rows", "6 of 24 rows"
    gains: str  # the row that gains most: "std_vector 0.71× [0.69, 0.74]"
    loses: str  # the one that gains least
    decided: int  # -1: it takes less time for certain, 1: more, 0: neither


def against(workload: WorkloadResult) -> str:
    """The environment that the others stand beside; "" where there are no others."""
    return clean(workload.environment_changes[0].against) if workload.environment_changes else ""


def environment_lines(workload: WorkloadResult) -> list[EnvironmentLine]:
    """In the order of the plan."""
    naming = replace(Naming.of(workload), by_environment=False)
    return [_line(change, naming) for change in workload.environment_changes]


def sentence(workload: WorkloadResult, most: int = MOST_TOLD) -> str:
    """Those that are of several rows in one, for the screen; "" where there are none with a number.

    One row in several environments is told by its table.
    """
    lines = environment_lines(workload)
    told = [
        line
        for line, change in zip(lines, workload.environment_changes, strict=True)
        if change.ratio is not None and change.of_rows > 1
    ]
    if not told:
        return ""
    alike = len({line.of_rows for line in told}) == 1
    named = [
        f"{line.environment} {_joined(line.ratio, line.interval)}{'' if alike else f' ({line.of_rows})'}"
        for line in told[:most]
    ]
    named += [f"{len(told) - most} more"] if len(told) > most else []
    return f"{f'{told[0].of_rows} ' if alike else ''}beside {against(workload)}: {', '.join(named)}"


def _line(change: EnvironmentChange, naming: Naming) -> EnvironmentLine:
    known = sorted((row.ratio.value, at) for at, row in enumerate(change.rows) if row.ratio is not None)
    ends = _triple(change.ratio)
    return EnvironmentLine(
        environment=clean(change.environment),
        ratio=numbers.ratio(*ends),
        interval=numbers.ratio_interval(*ends),
        of_rows=_rows(change),
        gains=_row(change.rows[known[0][1]], naming) if known else numbers.MISSING,
        loses=_row(change.rows[known[-1][1]], naming) if known else numbers.MISSING,
        decided=_decided(change.ratio),
    )


def _rows(change: EnvironmentChange) -> str:
    """ "6 rows", or "6 of 24 rows" where the others left too few rounds."""
    every = several(len(change.rows), "row")
    return every if change.of_rows == len(change.rows) else f"{change.of_rows} of {every}"


def _row(row: EnvironmentRow, naming: Naming) -> str:
    ends = _triple(row.ratio)
    return f"{naming.label(row)} {_joined(numbers.ratio(*ends), numbers.ratio_interval(*ends))}"


def _joined(ratio: str, interval: str) -> str:
    return ratio if interval == numbers.MISSING else f"{ratio} {interval}"


def _triple(ratio: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (ratio.value, ratio.low, ratio.high) if ratio else (None, None, None)


def _decided(ratio: Estimate | None) -> int:
    if ratio is None or ratio.low is None or ratio.high is None:
        return 0
    return -1 if ratio.high < 1 else 1 if ratio.low > 1 else 0
