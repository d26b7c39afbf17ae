"""What the rounds so far let expect: how long a run still takes, where more rounds tell most, and how well
ratios will be known in the end.

None says when a workload has had enough, and both look at how values scatter, never at which is larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist, median

import numpy as np

from tollbench.measure.events import Expected
from tollbench.measure.state import WorkloadState
from tollbench.plan import Settings
from tollbench.stats import bonferroni, median_interval, next_look, rounds_needed
from tollbench.stats.order_statistics import Floats

STEADY_ROUNDS = 20  # an interval of theirs, in a table of ten rows, leaves out the two farthest at each end
_FEWEST_DIFFERENCES = 6  # whose deviation says anything


def left_s(workloads: Sequence[WorkloadState], budget_left_s: float) -> float | None:
    """Seconds until every workload has had enough or the budget is spent; None while nothing is known.

    Called after every launch, so it takes what `rounds_wanted` found after the last round.
    """
    going = [workload for workload in workloads if not workload.stopped_by]
    if any(case.cost_ns == 0 for workload in going for case in workload.active_cases):
        return None if math.isinf(budget_left_s) else max(0.0, budget_left_s)  # not every pilot has run
    rounds_s = sum(
        workload.later_round_cost_ns() / 1e9 * max(0, workload.rounds_wanted - workload.round)
        for workload in going
    )
    return max(0.0, min(budget_left_s, rounds_s))


def rounds_wanted(workload: WorkloadState, settings: Settings) -> int:
    """The look at which it will probably have had enough: intervals narrow with the root of the rounds.

    As many as allowed while no interval is known: saying 80 s and ending after 700 helps nobody.
    """
    width = _widest(workload, settings.level) if workload.round >= workload.fewest else None
    if width is None:
        return settings.max_launches
    needed = workload.round * (width / (2 * math.log1p(settings.precision))) ** 2
    look = next_look(workload.round)
    while look < min(needed, settings.max_launches):
        look = next_look(look)
    return min(settings.max_launches, look)


def scatter(workload: WorkloadState, level: float) -> float:
    """How its ratios scatter from round to round: half an interval's length times the root of the rounds.

    On the log scale, the median over its ratios, and values of rows that are alone in their setting, times
    their number: a round of a workload with twelve narrows twelve intervals. 0 while none has one. By the
    intervals, because a robust standard deviation does not see the tails that an interval of few rounds ends
    at.
    """
    found = [
        length / 2 * math.sqrt(workload.round)
        for logs, column in workload.tables()
        if column is not None or logs.shape[1] == 1
        for length in _lengths_of(logs, column, level)
        if length is not None
    ]
    return len(found) * float(np.median(found)) if found else 0.0


def next_of(going: Sequence[WorkloadState]) -> WorkloadState:
    """The workload that has the next round: first all up to the fewest rounds that give intervals, then all
    up to some more, then where it narrows most.

    Intervals of the fewest rounds reach to the extremes, where one disturbed launch decides: five ways to
    read an array were known to 12 and 13 % after 12 rounds, to 1.2 % after 18.
    The sum of the widths of intervals, scatter / sqrt(rounds), is least for a given time where rounds are in
    proportion to (scatter / cost of a round) ** (2 / 3): the derivative of each width by time is the same.
    """
    behind = [workload for workload in going if workload.round < workload.fewest]
    behind = behind or [workload for workload in going if workload.round < STEADY_ROUNDS]
    if behind:
        return min(behind, key=lambda workload: workload.round)
    known = sorted(workload.scatter for workload in going if workload.scatter) or [1.0]
    usual = known[len(known) // 2]
    return min(going, key=lambda workload: workload.round / _share(workload, usual))


def expected(workloads: Sequence[WorkloadState], settings: Settings, left_s: float) -> list[Expected]:
    """How well the ratios of each workload will be known where `left_s` is spent as `next_of` spends it.

    By how the rounds so far scatter around their median, at the level that the last table will have.
    """
    wanted = _rounds_bought(workloads, settings, left_s)
    found = []
    for workload, rounds in zip(workloads, wanted, strict=True):
        widths = [
            width
            for differences, level in _differences(workload, settings.level)
            if (width := _half_width(differences, rounds, level)) is not None
        ]
        found.append(Expected(workload.name, round(rounds), math.expm1(median(widths)) if widths else None))
    return found


def _rounds_bought(workloads: Sequence[WorkloadState], settings: Settings, left_s: float) -> list[float]:
    """In proportion to the shares of `next_of`, as many as the time allows, and no more than are wanted."""
    known = sorted(workload.scatter for workload in workloads if workload.scatter) or [1.0]
    usual = known[len(known) // 2]
    shares = [_share(workload, usual) for workload in workloads]

    def bought(scale: float) -> list[float]:
        found = []
        for workload, share in zip(workloads, shares, strict=True):
            most = workload.round if workload.stopped_by else max(workload.rounds_wanted, workload.round)
            found.append(min(float(most), max(float(workload.round), scale * share)))
        return found

    def takes_s(rounds: Sequence[float]) -> float:
        each = zip(workloads, rounds, strict=True)
        return sum(one.later_round_cost_ns() / 1e9 * (count - one.round) for one, count in each)

    low, high = 0.0, settings.max_launches / max(1e-300, min(shares, default=1.0))
    if takes_s(bought(high)) <= left_s:
        return bought(high)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if takes_s(bought(middle)) <= left_s else (low, middle)
    return bought(low)


def _differences(workload: WorkloadState, level: float) -> Iterator[tuple[Floats, float]]:
    """Of each ratio its logs by round, and the level of its interval."""
    for logs, column in workload.tables():
        cases = logs.shape[1]
        if cases < 2 or column is None:
            continue
        corrected = bonferroni(level, cases * (cases - 1) // 2)
        for each in np.delete(logs - logs[:, [column]], column, axis=1).T:
            yield each[np.isfinite(each)], corrected


def _half_width(differences: Floats, rounds: float, level: float) -> float | None:
    """Of an interval of the median, were noise normal in its middle: 1.25 standard errors of a mean wide.

    By the median absolute deviation, which tails do not move; n / (n - 0.8) makes it right for n values
    (Croux and Rousseeuw, 1992, from ten on).
    """
    count = differences.size
    if count < _FEWEST_DIFFERENCES or rounds < rounds_needed(level, 1):
        return None
    deviation = 1.4826 * float(np.median(np.abs(differences - np.median(differences))))
    normal = NormalDist().inv_cdf((1.0 + level) / 2.0)
    return normal * math.sqrt(math.pi / 2.0 / rounds) * deviation * count / (count - 0.8)


def _share(workload: WorkloadState, usual: float) -> float:
    return float(((workload.scatter or usual) / max(1, workload.later_round_cost_ns())) ** (2 / 3))


def _widest(workload: WorkloadState, level: float) -> float | None:
    """Length of the widest interval on the log scale, of ratios to the fastest of each setting (of values,
    where a case is alone in its setting); 0 where all cases are below the clock's step."""
    found = [_widest_of(logs, column, level) for logs, column in workload.tables()]
    known = [length for length in found if length is not None]
    return max(known, default=0.0) if len(known) == len(found) else None


def _widest_of(logs: Floats, fastest: int | None, level: float) -> float | None:
    if not logs.size or np.isnan(logs).all(axis=0).any():
        return None
    found = _lengths_of(logs, fastest, level)
    known = [length for length in found if length is not None]
    return max(known) if len(known) == len(found) else None


def _lengths_of(logs: Floats, fastest: int | None, level: float) -> list[float | None]:
    """Lengths of the intervals of a table's ratios, of a lone row's value; None: too few rounds."""
    cases = logs.shape[1]
    if cases > 1 and fastest is not None:
        logs = np.delete(logs - logs[:, [fastest]], fastest, axis=1)
    corrected = bonferroni(level, max(1, cases * (cases - 1) // 2))
    found = [median_interval(column[np.isfinite(column)], corrected) for column in logs.T]
    return [None if interval is None else interval.high - interval.low for interval in found]
