"""Percentiles of operations timed one by one, row beside row: p99 of two locks in the same rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tollbench.analysis.case_data import CaseData
from tollbench.analysis.comparison import SettingComparison
from tollbench.analysis.results import Latency
from tollbench.analysis.rounds import layouts_of
from tollbench.estimates import Estimate
from tollbench.stats import (
    Interval,
    LaunchCounts,
    block_quantiles,
    bonferroni,
    pairs_of,
    shared_blocks,
)
from tollbench.stats.block_quantiles import Blocks
from tollbench.stats.order_statistics import Floats
from tollbench.words import PERCENTILES, Percentile

TAILS = tuple(each for each in PERCENTILES if each.probability > 0.5)  # the median's ratio is the row's own


def beside_fastest(
    latencies: Mapping[int, Latency], comparisons: Sequence[SettingComparison], level: float
) -> list[Latency]:
    """The latencies, by their cases' ids, each with its percentiles' ratios to those of the fastest row.

    That row is the one that the ratios of values are to; its own are 1, and another's p99 may well be lower.
    Each percentile is a table of its own: `level` holds for all of its ratios together, corrected over all
    pairs of rows as the ratios of values are. None where the clock cannot see a percentile, or rounds are
    too few.
    """
    ratios: dict[int, dict[str, Estimate]] = {}
    for comparison in comparisons:
        best = next((at for at, one in enumerate(comparison.compared) if one.fastest), None)
        if best is None or not latencies:
            continue
        rows = len(comparison.cases)
        layouts = layouts_of([case.by_round for case in comparison.cases])
        beside = _Fastest(comparison.cases[best], bonferroni(level, rows * (rows - 1) // 2), layouts)
        for case in comparison.cases:
            ratios[case.record.id] = {
                each.key: found
                for each in TAILS
                if (found := _ratio(case, each, beside, latencies)) is not None
            }
    return [one.model_copy(update={"ratios": ratios.get(id, {})}) for id, one in latencies.items()]


class _Fastest:
    """The row that others of its table are held against."""

    def __init__(self, case: CaseData, level: float, layouts: Mapping[int, int]) -> None:
        self.case, self.level, self.layouts = case, level, layouts
        self.launches = _by_round(case)
        self._known: dict[tuple[float, Blocks], Floats] = {}

    def quantiles(self, blocks: Blocks, p: float) -> Floats:
        """Once for all rows that share its blocks: a stranger's file may have a thousand rows."""
        if (p, blocks) not in self._known:
            self._known[p, blocks] = block_quantiles(self.launches, blocks, p)
        return self._known[p, blocks]


def _ratio(
    case: CaseData, percentile: Percentile, fastest: _Fastest, latencies: Mapping[int, Latency]
) -> Estimate | None:
    both = [latencies[one.record.id] for one in (case, fastest.case)]
    if not all(_seen(one, percentile.key) for one in both):
        return None
    if case is fastest.case:
        return Estimate(value=1.0, low=1.0, high=1.0)
    launches, p = _by_round(case), percentile.probability
    blocks = shared_blocks(launches, fastest.launches, p, fastest.layouts)
    quantiles = block_quantiles(launches, blocks, p), fastest.quantiles(blocks, p)
    ratio, interval = pairs_of(*quantiles, blocks, fastest.layouts).interval(fastest.level)
    if interval is None:
        return None
    ends = no_finer_than(interval, *(_step_share(one, percentile.key) for one in both))
    return Estimate(value=ratio, low=ends.low, high=ends.high)


def of_two_rows(first: CaseData, second: CaseData, p: float, level: float) -> tuple[float, Interval] | None:
    """The p-quantile of the first over that of the second, of the same blocks of rounds, as tables have it.

    None where the clock cannot see one of them, and where blocks are too few for an interval at `level`.
    """
    shares = []
    for case in (first, second):
        pooled = case.pooled.quantile(p)
        if not pooled > 0.0 or pooled < case.tick_ns:
            return None
        shares.append(case.tick_ns / (2.0 * pooled))
    sides = _by_round(first), _by_round(second)
    layouts = layouts_of([first.by_round, second.by_round])
    blocks = shared_blocks(*sides, p, layouts)
    above, below = (block_quantiles(side, blocks, p) for side in sides)
    ratio, interval = pairs_of(above, below, blocks, layouts).interval(level)
    return (ratio, no_finer_than(interval, *shares)) if interval else None


def no_finer_than(interval: Interval, *step_shares: float) -> Interval:
    """The interval of a quotient of quantiles, each a whole number of the clock's steps: the true one lies
    within half a step of it, which is that share of it."""
    wider = math.prod(1.0 + share for share in step_shares)
    return Interval(interval.low / wider, interval.high * wider, interval.level)


def _seen(latency: Latency, key: str) -> bool:
    found = latency.quantiles.get(key)
    return found is not None and found.value > 0.0 and found.value >= (latency.step or 0.0)


def _step_share(latency: Latency, key: str) -> float:
    """Half a step of the clock, as a share of the percentile."""
    return (latency.step or 0.0) / (2.0 * latency.quantiles[key].value)


def _by_round(case: CaseData) -> dict[int, LaunchCounts]:
    """The last of each round, as values are: a stranger's file may have two launches of one."""
    return {launch.round: counts for launch, counts in zip(case.launches, case.counts, strict=True)}
