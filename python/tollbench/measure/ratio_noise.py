"""How the ratios of a workload scatter from round to round, and how long their intervals will be after more.

An interval of a median ends at two of its values, whose ranks follow from their number and the level. So its
length is that of the noise between two quantiles: near its middle after many rounds, out in its tails after
few. The noise of one ratio is a scale times a shape. The scale is its own, drawn towards that of the other
ratios as far as chance explains their differences; the shape is that of all ratios together, drawn towards
the normal one as far as there are few values.

Where a ratio lies counts only for how well it has to be known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import (
    Integers,
    RatioTable,
    alike,
    bonferroni,
    level_at_look,
    look_number,
    next_look,
    pairs_in,
    planned,
    qn_scale,
    quantile_ranks,
    times_the_variance,
)
from tollbench.stats.order_statistics import Floats

_NORMAL = NormalDist()
_FEWEST_VALUES = 6  # whose scale says anything
_SCALE_VARIANCE = 0.75  # of a scale's logarithm, times the number of values; 0.61 where noise is normal
_TOGETHER = 0.75  # ratios have their reference in common: their scales differ by less than by chance alone
_PRIOR_VALUES = 8.0  # that the normal shape stands for


class Ratio(NamedTuple):
    """One ratio of a table, or the value of a row that is alone in its own, as far as it is measured."""

    differences: Floats  # logs by round, without rounds in which one of the two has no value
    comparisons: int  # pairs of rows of the table, which share what intervals may err with; 0: a lone row
    kept: float  # share of its rounds to come that will have both values
    apart: int  # rounds between those that have both, where a dear row has rare turns; else 1
    all_until: int  # the last round before that begins
    counts_as: float  # share of its values that independent ones would be; below 1 for lone rows alone
    clusters: Integers | None = None  # which layout each of these rounds had
    layouts: int = 0  # of the programs' code; 0: they have one
    alike: float = 0.0  # correlation of two rounds of one layout

    def independent(self, count: float, level: float) -> float:
        """For how many independent values so many will count in an interval of a table of this level."""
        own = bonferroni(level, max(1, self.comparisons))
        return planned(count * self.counts_as, self.layouts, self.alike, own).counts_as


@dataclass(frozen=True, slots=True)
class Known:
    """What has been learnt of one ratio."""

    ratio: Ratio
    scale: float  # robust standard deviation of a round's value, log units
    uncertainty: float  # variance of the scale's logarithm

    @property
    def doublings(self) -> float:
        """Of the ratio, 1 at least: to so many times the precision asked it has to be known."""
        return max(1.0, abs(float(np.median(self.ratio.differences))) / math.log(2.0))

    def values_at(self, rounds: float, now: int) -> float:
        """How many it will have after so many rounds, of which `now` are over."""
        often = max(now, min(rounds, self.ratio.all_until))
        turns = often - now + max(0.0, rounds - often) / self.ratio.apart
        return self.ratio.differences.size + turns * self.ratio.kept


@dataclass(frozen=True, slots=True)
class Noise:
    """That of a workload's ratios."""

    ratios: tuple[Known, ...]
    lone: tuple[Known, ...]  # values of rows that are alone in their setting
    now: int  # rounds that it was seen in
    shape: Floats  # absolute values of all ratios, centred and scaled, ascending
    complete: bool  # whether all rows of all tables have been seen often enough

    def half_length(self, known: Known, rounds: float, level: float) -> float | None:
        """Half the length of its interval after `rounds` rounds, log units; None: too few values.

        `level` is that of the whole table.
        """
        place = _place(known, known.values_at(rounds, self.now), level)
        return None if place is None else known.scale * self._reach(place)

    def chance_of(self, rounds: int, level: float, log_precision: float) -> float:
        """How probable it is that all are known to `log_precision` after `rounds` rounds.

        As if lengths were independent and lognormal, about what `half_length` expects.
        """
        chance = 1.0 if self.complete else 0.0
        for known in (*self.ratios, *self.lone) if chance else ():
            count = known.values_at(rounds, self.now)
            place = _place(known, count, level)
            if place is None:
                return 0.0
            if known.scale > 0:
                asked = log_precision * known.doublings if known.ratio.comparisons else log_precision
                error = math.sqrt(
                    known.uncertainty + _length_variance(place, known.ratio.independent(count, level))
                )
                expected = known.scale * self._reach(place)
                chance *= _NORMAL.cdf(math.log(asked / expected) / error)
        return chance

    def _reach(self, place: float) -> float:
        """How far from the middle of noise of scale 1 the share `place` of it lies beyond, on each side."""
        normal = _NORMAL.inv_cdf(1.0 - place)
        informative = self.shape.size * 2.0 * place * (1.0 - 2.0 * place)
        if informative <= 0 or normal <= 0:
            return normal
        seen = float(np.quantile(self.shape, 1.0 - 2.0 * place))
        weight = informative / (informative + _PRIOR_VALUES)
        return normal * (seen / normal) ** weight if seen > 0 else normal


def noise_of(workload: WorkloadState) -> Noise:
    """What the rounds so far tell."""
    ratios: list[Ratio] = []
    lone: list[Ratio] = []
    complete = True
    for cases, table in workload.tables_of_cases():
        logs = table.logs
        seen = np.isfinite(logs).any(axis=0)
        complete = complete and bool(seen.all())
        if logs.shape[1] == 1:
            lone.append(_lone_value(table))
        elif table.column is not None:
            ratios += _ratios_of(workload, cases, table, table.column)
    ratios, lone = _by_layout(workload, ratios), _by_layout(workload, lone)
    told = [one for one in ratios if one.differences.size >= _FEWEST_VALUES]
    alone = [one for one in lone if one.differences.size >= _FEWEST_VALUES]
    complete = complete and len(told) == len(ratios) and len(alone) == len(lone)
    known = _together(told)
    values = [known for one in alone for known in _together([one])]  # of another kind than ratios
    scaled = [_distances(one.ratio.differences) / one.scale for one in known or values if one.scale > 0]
    shape = np.sort(np.concatenate(scaled)) if scaled else np.empty(0)
    return Noise(tuple(known), tuple(values), workload.round, shape, complete)


def _by_layout(workload: WorkloadState, ratios: Sequence[Ratio]) -> list[Ratio]:
    """With what all of them tell together of how alike rounds of one layout are."""
    told = [alike(one.differences, one.clusters) for one in ratios if one.clusters is not None]
    if not workload.layouts or not told:
        return list(ratios)
    return [one._replace(layouts=workload.layouts, alike=float(np.mean(told))) for one in ratios]


def rounds_to(noise: Noise, settings: Settings) -> int | None:
    """The look at which all are more probably than not known as precisely as asked; None: at none of those
    that a run may come to.

    The first of those to come; of a workload without ratios and values the next.
    """
    look = next_look(max(noise.now, settings.min_launches - 1))
    while look <= settings.max_launches:
        at_look = level_at_look(look_number(look), settings.level)
        if noise.chance_of(look, at_look, math.log1p(settings.precision)) >= 0.5:
            return look
        look = next_look(look)
    return None


def _lone_value(table: RatioTable) -> Ratio:
    values = pairs_in(table.logs[:, 0], np.zeros(len(table.logs)), table.clusters)
    return Ratio(values.logs, 0, 1.0, 1, 0, 1.0 / times_the_variance(values.logs), values.clusters)


def _ratios_of(
    workload: WorkloadState, cases: Sequence[CaseState], table: RatioTable, column: int
) -> Iterator[Ratio]:
    """To the row in `column`, of the others of a table."""
    reference = cases[column]
    for at, case in enumerate(cases):
        if at == column:
            continue
        pairs = pairs_in(table.logs[:, at], table.logs[:, column], table.clusters)
        differences = pairs.logs
        # Rare turns are powers of two apart: the rarer one's are turns of both.
        apart = max(workload.rounds_between(one) for one in (case, reference))
        launched = sum(number in reference.values for number in case.values if number <= workload.round)
        kept = differences.size / launched if launched else 1.0
        all_until = min(workload.all_turns_until(one) for one in (case, reference))
        comparisons = len(cases) * (len(cases) - 1) // 2
        yield Ratio(differences, comparisons, min(1.0, kept), apart, all_until, 1.0, pairs.clusters)


def _distances(values: Floats) -> Floats:
    """Of each value from the median of the others, as much smaller as that one is off itself.

    From the median of all, every second value of twelve would lie too close: it is that median nearly.
    """
    ordered, count, half = np.sort(values), values.size, values.size // 2
    if count % 2:
        below, above = ordered[half : half + 2].mean(), ordered[half - 1 : half + 1].mean()
        found = np.concatenate([below - ordered[:half], ordered[half + 1 :] - above])
        found = np.append(found, abs(ordered[half] - (ordered[half - 1] + ordered[half + 1]) / 2))
    else:
        found = np.concatenate([ordered[half] - ordered[:half], ordered[half:] - ordered[half - 1]])
    return np.asarray(found / math.sqrt(1.0 + math.pi / 2.0 / (count - 1)), dtype=np.float64)


def _together(ratios: Sequence[Ratio]) -> list[Known]:
    """Scales of ratios of one workload: each its own, as far as chance does not explain how they differ.

    Empirical Bayes on logarithms of scales (Efron and Morris, Data Analysis Using Stein's Estimator and its
    Generalizations, Journal of the American Statistical Association 70, 1975).
    """
    own = [qn_scale(one.differences) for one in ratios]
    logs = np.log([scale for scale in own if scale > 0])
    chance = [_SCALE_VARIANCE / one.differences.size for one in ratios]
    if logs.size < 2:
        return [Known(*one) for one in zip(ratios, own, chance, strict=True)]
    mean = float(logs.mean())
    typical = float(np.mean(chance))
    between = max(0.0, float(logs.var(ddof=1)) - _TOGETHER * typical)
    found = []
    for ratio, scale, variance in zip(ratios, own, chance, strict=True):
        own_share = between / (between + variance)
        if scale > 0:
            scale = math.exp(mean + own_share * (math.log(scale) - mean))
        found.append(Known(ratio, scale, own_share * variance + (1.0 - own_share) * typical / logs.size))
    return found


def _place(known: Known, count: float, level: float) -> float | None:
    """The share of a ratio's noise that lies below its interval, made of so many values; None: of too few."""
    independent = math.floor(known.ratio.independent(count, level) + 1e-9)
    ranks = quantile_ranks(independent, 0.5, bonferroni(level, max(1, known.ratio.comparisons)))
    return None if ranks is None else ranks[0] / (independent + 1)


def _length_variance(place: float, count: float) -> float:
    """Of the logarithm of an interval's length between quantiles of `count` values, were they normal.

    David and Nagaraja, Order Statistics, 3rd ed., section 10.2: two quantiles are jointly normal.
    """
    reach = _NORMAL.inv_cdf(1.0 - place)
    return place * (1.0 - 2.0 * place) / (2.0 * count * (_NORMAL.pdf(reach) * reach) ** 2)
