"""The machine's own pulse: what the canary between the launches says about this run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from math import exp

import numpy as np

from tollbench import numbers
from tollbench.analysis.case_data import CaseData, beat
from tollbench.analysis.own_core import on_own_core
from tollbench.analysis.results import Floor
from tollbench.analysis.units import DAMAGED
from tollbench.analysis.values import LaunchValue, by_one_clock, log_rounds
from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.stats import Drift, drift, resolvable_log_ratio
from tollbench.stats.floor import FEWEST_PAIRS
from tollbench.store import Launch, RunHeader
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
    canary: Sequence[Launch], cases: Sequence[CaseData], header: RunHeader
) -> tuple[Floor, Drift | None]:
    """The smallest difference that one comparison at the run's level, with this run's rounds, could find.

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
    rounds = [len(case.counting) for case in cases if case.measured]
    typical = int(np.median(rounds)) if rounds else 0
    resolvable = resolvable_log_ratio(pairs, typical, header.level)
    drifted = drift(values)
    return (
        Floor(
            ratio=None if resolvable is None else exp(min(resolvable, 700.0)),
            launches=len(values),
            drift=None if drifted is None else drifted.ratio,
            canary_ns=values,
            canary_at_s=[seconds_between(header.started_utc, launch.started_utc) for launch, _ in beats],
            reason="" if resolvable is not None else _why_no_floor(len(pairs), typical, header.level),
        ),
        drifted,
    )


def _pairs(beats: Sequence[LaunchValue]) -> list[float]:
    """Log ratios of two that took turns; of neighbours in time where each ran alone, as in older files."""
    companies: dict[int, list[LaunchValue]] = defaultdict(list)
    for value in beats:
        companies[value.company].append(value)
    alone = companies.pop(0, [])
    couples = [*companies.values(), *(alone[start : start + 2] for start in range(0, len(alone), 2))]
    rounds = [log_rounds([{0: each} for each in couple])[0] for couple in couples if len(couple) == 2]
    return [float(logs[1] - logs[0]) for logs in rounds]


def _why_no_floor(pairs: int, rounds: int, level: float) -> str:
    if not rounds:
        return "no case was measured"
    if pairs < FEWEST_PAIRS:
        return f"the canary ran {2 * pairs} times; {2 * FEWEST_PAIRS} are needed"
    return f"{rounds} launches a case are too few for an interval at {100.0 * level:.0f} %"


def machine_warnings(
    found: Floor, drifted: Drift | None, launches: Sequence[Launch], header: RunHeader
) -> list[str]:
    """Sentences on what the machine did meanwhile: drift, stolen time, a floor above the asked precision."""
    warnings = []
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
        warnings.append(
            f"The hypervisor took {steal / 1e9:.2f} s of CPU time during {wall / 1e9:.1f} s of launches"
            f" ({numbers.percent(steal / wall)}): other guests share this machine, and tail"
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
