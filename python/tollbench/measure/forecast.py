"""What the time buys: how well ratios will be known when the budget is spent, and how long it takes until
they are known as precisely as asked.

Told before the first round, when only pilots have been made, and again as rounds come in. It decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean, median
from typing import NamedTuple

from tollbench.analysis.grouping import by_setting, swept_parameters
from tollbench.launching.piloting import alike
from tollbench.measure.company import launch_ns
from tollbench.measure.estimate import (
    PREPARING_SHARE,
    STEADYING,
    Had,
    narrows_first,
    scatter_of,
    share_had,
    usual_scatter,
)
from tollbench.measure.events import Expected, Shortage
from tollbench.measure.ratio_noise import Noise, noise_of, rounds_to
from tollbench.measure.spending import ROUNDS_OF_EACH, STEADY_ROUNDS
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import (
    bonferroni,
    final_level,
    level_at_look,
    look_number,
    next_look,
    ranks_by_chance,
)

# By which ratios scatter from round to round, log units: in a quick run on a virtual machine of 2 CPUs the
# median ratios of seven workloads of one thread did by 0.4 to 1.9 %, of six with several by 3 to 14 %.
ONE_THREAD_SCALE, THREADS_SCALE = 0.015, 0.08
_TO_SPARE = 1.25  # times what launches will take, for a budget that shall be enough


class Forecast(NamedTuple):
    """Of a run that goes on."""

    workloads: tuple[Expected, ...]
    needed_s: float  # from now, until all are known as asked; inf: some will not be within the most launches


def forecast(workloads: Sequence[WorkloadState], settings: Settings, left_s: float) -> Forecast:
    """What is expected after each workload's first rounds, where `left_s` is spent as `next_of` spends it."""
    noises = [noise_of(workload) for workload in workloads]
    looks = [
        workload.round if workload.stopped_by else rounds_to(noise, settings)
        for workload, noise in zip(workloads, noises, strict=True)
    ]
    bought = _rounds_bought(workloads, noises, looks, settings, left_s * (1.0 - settings.canary_share))
    found = [
        Expected(workload.name, rounds, _half_width(workload, noise, look, rounds, settings.level))
        for workload, noise, look, rounds in zip(workloads, noises, looks, bought, strict=True)
    ]
    needed_s = sum(
        workload.rounds_cost_ns(look) / 1e9 if look else math.inf
        for workload, look in zip(workloads, looks, strict=True)
    )
    return Forecast(tuple(found), needed_s / (1.0 - settings.canary_share))


def guessed(
    workloads: Sequence[WorkloadState], settings: Settings, left_s: float, memory_bytes: int
) -> list[Expected]:
    """What `left_s` buys, before the first round: by what pilots say of the cost of launches, and as if
    ratios scattered from round to round as they were seen to elsewhere."""
    costs_ns = launch_costs_ns(workloads, settings, memory_bytes)
    few_ns = sum(
        workload.few_of(case) * costs_ns.get(case.id, 0.0)
        for workload in workloads
        for case in workload.active_cases
        if case.id in workload.waiting
    )
    left_s = max(0.0, left_s * (1.0 - settings.canary_share) - few_ns / 1e9)
    plans = _steadied([_planned(workload, settings, memory_bytes) for workload in workloads], left_s)
    bought = _first_rounds_bought(plans, settings, left_s)
    return [
        Expected(workload.name, round(rounds), _usual_half_width(plan, round(rounds), settings))
        for workload, plan, rounds in zip(workloads, plans, bought, strict=True)
    ]


def shortage(
    workloads: Sequence[WorkloadState],
    settings: Settings,
    spent_s: float,
    costs_ns: Mapping[int, float],
) -> Shortage | None:
    """What the budget lacks after `spent_s` of pilots; None: all rows get intervals.

    `workloads` are those that have a case to measure. A case without a pilot is taken to cost what the others
    do in the mean. `costs_ns`: what a launch takes, by the case's id.
    """
    if not settings.budget_s:
        return None
    rounds_s = [sum(costs_ns[case.id] for case in one.active_cases) / 1e9 for one in workloads]
    least_s = sum(each_s * one.fewest for each_s, one in zip(rounds_s, workloads, strict=True))
    least_s /= 1.0 - settings.canary_share
    cases = [case for workload in workloads for case in workload.cases]
    without_turn = sum(not case.has_turn for case in cases)
    if not without_turn and spent_s + least_s <= settings.budget_s:
        return None
    had = sum(case.work is not None for case in cases)
    all_of_them = (had + without_turn) / had
    preparing_s, least_s = spent_s * all_of_them, least_s * all_of_them
    return Shortage(
        round_s=sum(rounds_s),
        rounds=max(workload.fewest for workload in workloads),
        without_turn=without_turn,
        needed_s=_TO_SPARE * max(preparing_s + least_s, preparing_s / PREPARING_SHARE),
    )


def _half_width(
    workload: WorkloadState, noise: Noise, look: int | None, rounds: int, level: float
) -> float | None:
    """Of the median ratio after so many rounds, at the level of the table that is shown then."""
    shown = final_level(rounds, level)
    if rounds == look and workload.stopped_by in ("", "precision") and next_look(rounds - 1) == rounds:
        shown = level_at_look(look_number(rounds), level)
    found = [noise.half_length(known, rounds, shown) for known in noise.ratios]
    lengths = [length for length in found if length is not None]
    return math.expm1(median(lengths)) if lengths else None


def _scatter(noise: Noise, rounds: int, settings: Settings) -> float | None:
    """What `estimate.scatter` will say after so many rounds."""
    level = final_level(rounds, settings.level)
    found = [(noise.half_length(one, rounds, level), one.doublings) for one in noise.ratios]
    found += [(noise.half_length(one, rounds, level), 1.0) for one in noise.lone]
    known = [(length, doublings) for length, doublings in found if length is not None]
    asked = math.log1p(settings.precision)
    wide = [length for length, doublings in known if length > asked * doublings]
    return scatter_of(wide, len(found) - len(known), rounds)


def _rounds_bought(
    workloads: Sequence[WorkloadState],
    noises: Sequence[Noise],
    looks: Sequence[int | None],
    settings: Settings,
    left_s: float,
) -> list[int]:
    """Round by round as `next_of` and the looks decide, while there is time, and no more than are wanted."""
    left_ns = 1e9 * left_s
    rounds = [workload.round for workload in workloads]
    scatters = [_scatter(noise, max(1, had), settings) for noise, had in zip(noises, rounds, strict=True)]
    going = [at for at, workload in enumerate(workloads) if not workload.stopped_by]
    while going:
        usual = usual_scatter([scatters[at] for at in going])
        behind = [at for at in going if rounds[at] < STEADY_ROUNDS]
        if behind and not _narrows_first(workloads, going, rounds, scatters, left_ns):
            at = min(behind, key=lambda at: rounds[at])
        else:
            had = {at: share_had(workloads[at], rounds[at], scatters[at], usual, left_ns) for at in going}
            at = min(going, key=lambda at: had[at])
        cost_ns = workloads[at].rounds_cost_ns(rounds[at] + 1) - workloads[at].rounds_cost_ns(rounds[at])
        if cost_ns > left_ns or rounds[at] >= (looks[at] or settings.max_launches):
            going.remove(at)
            continue
        left_ns -= cost_ns
        rounds[at] += 1
        if next_look(rounds[at] - 1) == rounds[at]:
            scatters[at] = _scatter(noises[at], rounds[at], settings)
    return rounds


def _narrows_first(
    workloads: Sequence[WorkloadState],
    going: Sequence[int],
    rounds: Sequence[int],
    scatters: Sequence[float | None],
    left_ns: float,
) -> bool:
    """As `estimate.next_of` will decide after so many rounds."""
    begun = [at for at in going if rounds[at] >= workloads[at].fewest]
    if math.isinf(left_ns) or not begun or any(one.waiting for one in workloads):
        return False
    if any(scatters[at] is None for at in begun):
        return False
    had = [
        Had(rounds[at], one.fewest, one.later_round_cost_ns(), one.steady_cost_ns(rounds[at]))
        for at, one in ((at, workloads[at]) for at in begun)
    ]
    return narrows_first(had, left_ns)


def launch_costs_ns(
    workloads: Sequence[WorkloadState], settings: Settings, memory_bytes: int
) -> dict[int, float]:
    """What a launch of each case will take by what pilots saw, by id."""
    found: dict[int, float] = {}
    for workload in workloads:
        for company in (one for setting in workload.companies(memory_bytes) for one in setting):
            works = alike([state.work for state in company if state.work], company[0].case.kind)
            found |= dict.fromkeys((state.id for state in company), launch_ns(works, settings))
    return found


class _Piloted(NamedTuple):
    """What is known of a workload before its first round."""

    tables: tuple[tuple[int, float], ...]  # of each its rows, and what its ratios are taken to scatter by
    first_s: float  # a round of all
    later_s: float  # a round on average, once dear cases have rare turns
    fewest: int  # rounds that intervals need
    of_all: int  # rounds that all rows have, dear ones as well
    layouts: int  # of the code, which come again after as many rounds; 0: none do

    def takes_s(self, rounds: float) -> float:
        return self.first_s * min(rounds, self.of_all) + self.later_s * max(0.0, rounds - self.of_all)


def _planned(workload: WorkloadState, settings: Settings, memory_bytes: int) -> _Piloted:
    swept, cases = swept_parameters([state.case for state in workload.cases]), workload.going_cases
    costs_ns = launch_costs_ns([workload], settings, memory_bytes)
    first_ns = sum(costs_ns.get(state.id, 0.0) for state in cases)
    later_ns = sum(costs_ns.get(state.id, 0.0) / workload.every.get(state.id, 1) for state in cases)
    groups = by_setting([state.case for state in cases], swept)
    tables = [(len(group), _usual_scale([cases[at] for at in group])) for group in groups]
    fewest = workload.fewest
    return _Piloted(tuple(tables), first_ns / 1e9, later_ns / 1e9, fewest, fewest, workload.layouts)


def _steadied(plans: Sequence[_Piloted], left_s: float) -> list[_Piloted]:
    """With all turns of dear rows up to the steady rounds where there is time for those of all workloads."""
    steadied = [plan._replace(of_all=max(plan.fewest, STEADY_ROUNDS)) for plan in plans]
    needed_s = sum(plan.takes_s(max(plan.fewest, STEADY_ROUNDS)) for plan in plans)
    more_s = sum(plan.takes_s(plan.of_all) for plan in steadied) - needed_s
    return steadied if more_s <= STEADYING * (left_s - needed_s) else list(plans)


def _usual_scale(table: Sequence[CaseState]) -> float:
    one_thread = sum(state.one_thread for state in table)
    return ONE_THREAD_SCALE if 2 * one_thread > len(table) else THREADS_SCALE


def _first_rounds_bought(plans: Sequence[_Piloted], settings: Settings, left_s: float) -> list[float]:
    """The fewest rounds first, of what is cheap before what is dear where time is short, as a run has them;
    then in proportion to what narrows intervals most, were all ratios as noisy."""
    rounds = [0.0] * len(plans)
    left_first_s = left_s
    for most in (float(ROUNDS_OF_EACH), math.inf):
        for at in sorted(range(len(plans)), key=lambda at: plans[at].first_s):
            cost_s = max(1e-9, plans[at].first_s)
            more = min(min(most, plans[at].fewest) - rounds[at], max(0.0, left_first_s // cost_s))
            rounds[at] += more
            left_first_s -= more * cost_s
    if any(had < plan.fewest for had, plan in zip(rounds, plans, strict=True)):
        return rounds
    narrowed = [sum(rows * scale for rows, scale in plan.tables) for plan in plans]
    shares = [(one / max(1e-9, plan.later_s)) ** (2 / 3) for one, plan in zip(narrowed, plans, strict=True)]

    def bought(scale: float) -> list[float]:
        found = []
        for plan, part in zip(plans, shares, strict=True):
            wanted = _wanted(scale, part)
            found.append(min(float(settings.max_launches), max(float(plan.fewest), wanted)))
        return found

    def takes_s(wanted: Sequence[float]) -> float:
        return sum(plan.takes_s(count) for plan, count in zip(plans, wanted, strict=True))

    largest = 1.0 + settings.max_launches / max(1e-300, min(shares, default=1.0))
    return _as_many_as_fit(bought, takes_s, largest, left_s)


def _usual_half_width(plan: _Piloted, rounds: int, settings: Settings) -> float | None:
    found = []
    for rows, scale in plan.tables:
        level = bonferroni(final_level(rounds, settings.level), rows * (rows - 1) // 2)
        kept, ranks = ranks_by_chance(rounds, plan.layouts, level) if rows > 1 else (0, [0])
        if all(ranks):
            reach = fmean(-NormalDist().inv_cdf(rank / (kept + 1)) for rank in ranks)
            found += [scale * reach] * (rows - 1)
    return math.expm1(median(found)) if found else None


def _wanted(scale: float, part: float) -> float:
    """Rounds of a workload whose share is `part`: up to some all have as many, then each in proportion."""
    return min(1.0, scale) * STEADY_ROUNDS + max(0.0, (scale - 1.0) * part - STEADY_ROUNDS)


def _as_many_as_fit(
    bought: Callable[[float], list[float]],
    takes_s: Callable[[Sequence[float]], float],
    largest: float,
    left_s: float,
) -> list[float]:
    """What the largest scale buys that the time allows, at most `largest`."""
    low, high = 0.0, largest
    if takes_s(bought(high)) <= left_s:
        return bought(high)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if takes_s(bought(middle)) <= left_s else (low, middle)
    return bought(low)
