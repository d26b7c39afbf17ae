"""Percentiles of operations timed one by one, row beside row: p99 of two locks in the same rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tollbench.analysis.case_data import CaseData
from tollbench.analysis.comparison import SettingComparison
from tollbench.analysis.results import Estimate, Latency
from tollbench.stats import LaunchCounts, bonferroni, quantile_log_ratios, ratio_interval
from tollbench.words import PERCENTILES

TAILS = tuple(each for each in PERCENTILES if each.probability > 0.5)  # the median's ratio is the row's own


def beside_fastest(
    latencies: Mapping[int, Latency], comparisons: Sequence[SettingComparison], level: float
) -> list[Latency]:
    """The latencies, by their cases' ids, each with its percentiles' ratios to those of the fastest row.

    That row is the fastest by its median; its own ratios are 1, and another's p99 may well be lower. Each
    percentile is a table of its own: `level` holds for all of its ratios together, corrected over all pairs
    of rows as the ratios of values are. A percentile that the clock cannot see has none.
    """
    ratios: dict[int, dict[str, Estimate]] = {}
    for comparison in comparisons:
        best = next((at for at, one in enumerate(comparison.compared) if one.fastest), None)
        if best is None or not latencies:
            continue
        rows = len(comparison.cases)
        fastest, corrected = comparison.cases[best], bonferroni(level, rows * (rows - 1) // 2)
        for case in comparison.cases:
            both = [latencies[one.record.id] for one in (case, fastest)]
            told = [each for each in TAILS if all(_seen(one, each.key) for one in both)]
            ratios[case.record.id] = {
                each.key: found
                for each in told
                if (found := _ratio(case, fastest, each.probability, corrected)) is not None
            }
    return [one.model_copy(update={"ratios": ratios.get(id, {})}) for id, one in latencies.items()]


def _seen(latency: Latency, key: str) -> bool:
    found = latency.quantiles.get(key)
    return found is not None and found.value > 0.0 and found.value >= (latency.step or 0.0)


def _ratio(case: CaseData, fastest: CaseData, probability: float, level: float) -> Estimate | None:
    if case is fastest:
        return Estimate(value=1.0, low=1.0, high=1.0)
    logs = quantile_log_ratios(_by_round(case), _by_round(fastest), probability)
    if not logs.size:
        return None
    ratio, interval = ratio_interval(logs, level)
    return Estimate(value=ratio, low=interval and interval.low, high=interval and interval.high)


def _by_round(case: CaseData) -> dict[int, list[LaunchCounts]]:
    found = defaultdict(list)
    for launch, counts in zip(case.launches, case.counts, strict=True):
        found[launch.round].append(counts)
    return found
