"""What the rounds so far let expect: how long a run still takes, and where more rounds tell most.

Neither says when a workload has had enough, and both look at how values scatter, never at which is larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tollbench.measure.ratio_noise import noise_of, rounds_to
from tollbench.measure.spending import STEADY_ROUNDS
from tollbench.measure.state import WorkloadState
from tollbench.plan import Settings
from tollbench.stats import bonferroni, median_interval
from tollbench.stats.order_statistics import Floats

# Of each workload before others have what intervals need: their median is no single launch.
ROUNDS_OF_EACH = 3
STEADYING = (
    0.5  # of the time that those rounds leave over, for dear rows; the rest goes where it narrows most
)


def left_s(workloads: Sequence[WorkloadState], budget_left_s: float) -> float | None:
    """Seconds until every workload has had enough or the budget is spent; None while nothing is known.

    Called after every launch, so it takes what `rounds_wanted` found after the last round.
    """
    going = [workload for workload in workloads if not workload.stopped_by]
    if any(case.cost_ns == 0 for workload in going for case in workload.active_cases):
        return None if math.isinf(budget_left_s) else max(0.0, budget_left_s)  # not every pilot has run
    rounds_s = sum(workload.rounds_cost_ns(workload.rounds_wanted) for workload in going) / 1e9
    return max(0.0, min(budget_left_s, rounds_s))


def rounds_wanted(workload: WorkloadState, settings: Settings) -> int:
    """The look at which it will probably have had enough: intervals narrow with the root of the rounds.

    As many as allowed while no interval is known: saying 80 s and ending after 700 helps nobody.
    """
    if workload.round < workload.fewest:
        return settings.max_launches
    return rounds_to(noise_of(workload), settings) or settings.max_launches


def scatter(workload: WorkloadState, level: float) -> float:
    """How its ratios scatter from round to round: half an interval's length times the root of the rounds.

    On the log scale, the median over its ratios, and values of rows that are alone in their setting, times
    their number: a round of a workload with twelve narrows twelve intervals. 0 while none has one. By the
    intervals, because a robust standard deviation does not see the tails that an interval of few rounds ends
    at.
    """
    return _scatter(_half_lengths(workload, level), workload.round)


def look_at(workload: WorkloadState, settings: Settings) -> None:
    """What a look tells of how long a workload takes, where rounds go, and how well it is known by now."""
    found = _half_lengths(workload, settings.level)
    workload.rounds_wanted = rounds_wanted(workload, settings)
    workload.scatter = _scatter(found, workload.round)
    workload.known = math.expm1(float(np.median(found))) if found else None


def next_of(going: Sequence[WorkloadState], settings: Settings, left_s: float = math.inf) -> WorkloadState:
    """The workload that has the next round: first all up to the fewest rounds that give intervals, then all
    up to some more, then where it narrows most.

    Intervals of the fewest rounds reach to the extremes, where one disturbed launch decides: five ways to
    read an array were known to 12 and 13 % after 12 rounds, to 1.2 % after 18.
    The sum of the widths of intervals, scatter / sqrt(rounds), is least for a given time where rounds are in
    proportion to (scatter / cost of a round) ** (2 / 3): the derivative of each width by time is the same.
    """
    behind = [workload for workload in going if _needs_more(workload, settings, left_s)]
    behind = behind or [workload for workload in going if workload.round < STEADY_ROUNDS]
    if behind:
        return min(behind, key=lambda workload: workload.round)
    known = sorted(workload.scatter for workload in going if workload.scatter) or [1.0]
    usual = known[len(known) // 2]
    return min(going, key=lambda workload: workload.round / share(workload, workload.scatter or usual))


def steady_dear_rows(going: Sequence[WorkloadState], left_s: float) -> None:
    """Decides which dear rows have all turns up to the steady rounds: the cheapest, as many as fit into half
    of the time that is left over when all workloads have had those rounds.

    With fewer launches their intervals end at the farthest of them: in a table of nine rows 14 launches leave
    out none, 16 one at each end, 20 two. It goes by costs alone, never by a value.
    """
    more_ns = []
    for workload in going:
        workload.steadied = frozenset()
        lacking = max(0, STEADY_ROUNDS - max(workload.round, workload.fewest))
        for case in workload.active_cases:
            rarely = 1.0 - 1.0 / workload.every.get(case.id, 1)
            if lacking and rarely:
                more_ns.append((case.cost_ns * lacking * rarely, case.id, workload))
    needed_ns = sum(workload.rounds_cost_ns(STEADY_ROUNDS) for workload in going)
    spare_ns = STEADYING * (1e9 * left_s - needed_ns)
    for cost_ns, case_id, workload in sorted(more_ns, key=lambda one: one[:2]):
        spare_ns -= cost_ns
        if spare_ns < 0:
            break
        workload.steadied |= {case_id}


def _needs_more(workload: WorkloadState, settings: Settings, left_s: float) -> bool:
    """Whether it lacks rounds that give it intervals. More than the profile's fewest only where all of them
    fit into what is left: a large table that does not get there would cost the others theirs."""
    lacking = workload.fewest - workload.round
    fits = lacking * workload.round_cost_ns() <= 1e9 * left_s
    return lacking > 0 and (workload.round < settings.min_launches or fits)


def share(workload: WorkloadState, scatter: float) -> float:
    """What its rounds are in proportion to."""
    return float((scatter / max(1, workload.later_round_cost_ns())) ** (2 / 3))


def _scatter(half_lengths: Sequence[float], rounds: int) -> float:
    return len(half_lengths) * math.sqrt(rounds) * float(np.median(half_lengths)) if half_lengths else 0.0


def _half_lengths(workload: WorkloadState, level: float) -> list[float]:
    return [
        length / 2
        for logs, column in workload.tables()
        if column is not None or logs.shape[1] == 1
        for length in _lengths_of(logs, column, level)
        if length is not None
    ]


def _lengths_of(logs: Floats, fastest: int | None, level: float) -> list[float | None]:
    """Lengths of the intervals of a table's ratios, of a lone row's value; None: too few rounds."""
    cases = logs.shape[1]
    if cases > 1 and fastest is not None:
        logs = np.delete(logs - logs[:, [fastest]], fastest, axis=1)
    corrected = bonferroni(level, max(1, cases * (cases - 1) // 2))
    found = [median_interval(column[np.isfinite(column)], corrected) for column in logs.T]
    return [None if interval is None else interval.high - interval.low for interval in found]
