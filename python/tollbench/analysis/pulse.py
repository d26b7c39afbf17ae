"""The machine's own pulse: what the canary between the launches says about this run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from math import exp, inf, log
from statistics import fmean

from tollbench import numbers
from tollbench.analysis.case_data import beat
from tollbench.analysis.comparison import TableSize
from tollbench.analysis.own_core import on_own_core
from tollbench.analysis.results import Floor
from tollbench.analysis.units import DAMAGED
from tollbench.analysis.values import LaunchValue, by_one_clock, log_rounds
from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.stats import Drift, drift, resolvable_log_ratio
from tollbench.stats.floor import FEWEST_PAIRS
from tollbench.store import Launch, RunHeader
from tollbench.text import as_text
from tollbench.words import HOST

DRIFT_CHANCE = 0.01
NOTABLE_DRIFT = 1.02
NOTABLE_STEAL = 0.01


def seconds_between(start_utc: str, end_utc: str) -> float:
    """Seconds from one instant in ISO 8601 to another; without a zone it is UTC. TollError for other text."""
    return (_instant(end_utc) - _instant(start_utc)).total_seconds()


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise TollError(
            f"The run file holds {text[:40]!r} where an instant in ISO 8601 belongs.",
            DAMAGED,
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def floor(
    canary: Sequence[Launch], tables: Sequence[TableSize], header: RunHeader
) -> tuple[Floor, Drift | None]:
    """The smallest difference that a ratio of this run's typical table could find, at its level there.

    Typical is the table of the row in the middle, rows ordered by what their table could find; rows that are
    compared with nobody count where there are no others, and so do those of tables without any interval.

    The canary never waits, so it counts by its time on the processor, while it has its core to itself, as
    tables of such programs do: a bound from below for those that wait.
    """
    valued = {at: value for at, launch in enumerate(canary) if (value := beat(launch)) is not None}
    (by_clock,) = by_one_clock([valued])
    beats = [(canary[at], value) for at, value in by_clock.items() if value.ns > 0]
    values = [value.ns for _, value in beats]
    (counting,) = on_own_core([by_clock], [HOST.name], [[0]], header.level)
    pairs = _pairs([value for value in counting.values() if value.counts and value.ns > 0])
    if len(pairs) < FEWEST_PAIRS:
        pairs = _pairs([value for _, value in beats])
    resolvable, typical = _typical(pairs, tables)
    drifted = drift(by_beat(beats))
    return (
        Floor(
            ratio=None if resolvable is None else exp(min(resolvable, 700.0)),
            rows=None if typical is None else typical.rows,
            rounds=None if typical is None else typical.rounds,
            level=None if typical is None else typical.level,
            launches=len(values),
            drift=None if drifted is None else drifted.ratio,
            canary_ns=values,
            canary_at_s=[seconds_between(header.started_utc, launch.started_utc) for launch, _ in beats],
            reason="" if resolvable is not None else _why_no_floor(len(pairs), typical),
        ),
        drifted,
    )


def by_beat(beats: Sequence[tuple[Launch, LaunchValue]]) -> list[float]:
    """One value a beat, in order of time: two launches that took turns had the same moment, and a test that
    shuffles each by itself would take moments that differ for a change of the machine."""
    found: dict[int, list[float]] = defaultdict(list)
    for launch, value in beats:
        found[launch.round].append(value.ns)
    return [exp(fmean(map(log, each))) for each in found.values()]


def _pairs(beats: Sequence[LaunchValue]) -> list[float]:
    """Log ratios of two that took turns; of neighbours in time where each ran alone, as in older files."""
    companies: dict[int, list[LaunchValue]] = defaultdict(list)
    for value in beats:
        companies[value.company].append(value)
    alone = companies.pop(0, [])
    couples = [*companies.values(), *(alone[start : start + 2] for start in range(0, len(alone), 2))]
    rounds = [log_rounds([{0: each} for each in couple])[0] for couple in couples if len(couple) == 2]
    return [float(logs[1] - logs[0]) for logs in rounds]


def _typical(pairs: Sequence[float], tables: Sequence[TableSize]) -> tuple[float | None, TableSize | None]:
    """What the table of the row in the middle could find, and that table; of two the one that finds less."""
    compared = [table for table in tables if table.rows > 1] or tables
    found = [
        (resolvable_log_ratio(pairs, table.rounds, table.level, layouts=table.layouts), table)
        for table in compared
    ]
    # Where time is short most tables wait with three launches: of a run with 2,700 canaries nothing was told.
    found = [each for each in found if each[0] is not None] or found
    by_row = [each for each in found for _ in range(each[1].rows)]
    by_row.sort(key=lambda each: inf if each[0] is None else each[0])
    return by_row[len(by_row) // 2] if by_row else (None, None)


def _why_no_floor(pairs: int, typical: TableSize | None) -> str:
    if typical is None:
        return "no case was measured"
    if pairs < FEWEST_PAIRS:
        return f"the canary ran {2 * pairs} times; {2 * FEWEST_PAIRS} are needed"
    of_rows = f" in a table of {typical.rows} rows" if typical.rows > 1 else ""
    return f"{typical.rounds} launches a case are too few for an interval{of_rows}"


def machine_warnings(
    found: Floor, drifted: Drift | None, launches: Sequence[Launch], header: RunHeader
) -> list[str]:
    """Sentences on what the machine did meanwhile: a suspend, drift, stolen time, too high a floor."""
    warnings = [as_text(sentence) for sentence in header.meanwhile]
    if drifted is not None and drifted.chance <= DRIFT_CHANCE and drifted.ratio >= NOTABLE_DRIFT:
        warnings.append(
            f"The machine changed its speed during the run: the canary's slowest tenth took"
            f" {numbers.percent(drifted.ratio - 1)} longer than its fastest. Ratios are paired within rounds"
            " and suffer little; values do not hold for every minute of the run."
            f" `{COMMAND} doctor` names what helps."
        )
    known = [launch for launch in launches if launch.steal_ns is not None]
    wall = sum(launch.wall_ns for launch in known)
    steal = sum(launch.steal_ns or 0 for launch in known)
    if wall and steal / wall >= NOTABLE_STEAL:
        cpus = header.machine.get("cpus")  # of all of which it is told together
        of_many = f" of one CPU's, on {cpus} of them" if isinstance(cpus, int) and cpus > 1 else ""
        warnings.append(
            f"The hypervisor took {steal / 1e9:.2f} s of CPU time during {wall / 1e9:.1f} s of launches"
            f" ({numbers.percent(steal / wall)}{of_many}): other guests share this machine, and tail"
            " latencies show it. Measure again at a quieter hour, or on a machine of your own."
        )
    asked = header.precision if header.profile != "check" else 0.0  # a check measures nothing
    if found.ratio is not None and 0 < asked < found.ratio - 1:
        warnings.append(
            f"Differences under {numbers.percent(found.ratio - 1)} were out of reach in this run for programs"
            f" like the canary, and {numbers.percent(header.precision)} was asked for. A quieter machine or"
            f" more launches (`{COMMAND} run --profile thorough`) would resolve more;"
            f" `{COMMAND} doctor` names what makes noise."
        )
    return warnings
