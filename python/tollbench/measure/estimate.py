"""What the rounds so far let expect: how long a run still takes, and where more rounds tell most.

Neither says when a workload has had enough. Both look at how values scatter, over how far apart they are:
what is far apart need not be known as precisely. That the level survives it is simulated, in short and in
long runs (`tests/python/measure/allocation_trials.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tollbench.measure.ratio_noise import noise_of, rounds_to
from tollbench.measure.spending import STEADY_ROUNDS
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import (
    Interval,
    Pairs,
    RatioTable,
    alike,
    all_tell_from,
    bonferroni,
    clustered_interval,
    final_level,
    independent_at,
    level_at_look,
    look_number,
    narrow,
    next_look,
    pairs_in,
    well_known,
)

# Of the time that those rounds leave over, for dear and known rows; the rest goes where it narrows most.
STEADYING = 0.5
# Of the time between the fewest rounds and the steady ones, for rounds that narrow most, where it is short.
_LEAST_NARROWING = 0.25
_MOST_NARROWING = 0.5
PREPARING_SHARE = 0.5  # of the time, for pilots, counting passes and rehearsals


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
    if workload.round < workload.fewest or workload.waiting:
        return settings.max_launches
    return rounds_to(noise_of(workload), settings) or settings.max_launches


def scatter(workload: WorkloadState, settings: Settings) -> float | None:
    """How those of its ratios scatter from round to round that are not known well enough for what they say
    (`stats.well_known`): half an interval's length times the root of the rounds.

    On the log scale, the median over these ratios, and values of rows that are alone in their setting, times
    their number: a round of a workload with twelve narrows twelve intervals. One that has no interval yet
    counts as the others do. 0 where all are known well enough, None while nothing is known of those that
    are not. By the intervals, because a robust standard deviation does not see the tails that an interval of
    few rounds ends at; at the level at which they would be shown.
    """
    found = _intervals_shown(workload, settings.level)
    return _scatter(found, workload.round, settings.precision)


def look_at(workload: WorkloadState, settings: Settings) -> None:
    """What a look tells of how long a workload takes, where rounds go, and how well it is known by now."""
    found = _intervals_shown(workload, settings.level)
    half_lengths = [(one.interval.high - one.interval.low) / 2 for one in found if one.interval is not None]
    if settings.budget_s and next_look(workload.round - 1) == workload.round:
        workload.note_known(*_known_rows(workload, settings))
    workload.rounds_wanted = rounds_wanted(workload, settings)
    workload.scatter = _scatter(found, workload.round, settings.precision)
    workload.known = math.expm1(float(np.median(half_lengths))) if half_lengths else None


def next_of(
    going: Sequence[WorkloadState], settings: Settings, left_s: float = math.inf, *, some_wait: bool = False
) -> WorkloadState:
    """The workload that has the next round: first all up to the fewest rounds that give intervals, then all
    up to some more (where that takes most of the time, beside some that narrow most), then where it narrows
    most.

    Intervals of the fewest rounds reach to the extremes, where one disturbed launch decides: five ways to
    read an array were known to 12 and 13 % after 12 rounds, to 1.2 % after 18.
    The sum of the widths of intervals, scatter / sqrt(rounds), is least for a given time where rounds are in
    proportion to (scatter / cost of a round) ** (2 / 3): the derivative of each width by time is the same.
    Widths of ratios that are known well enough for what they say do not count.
    """
    behind = [workload for workload in going if _needs_more(workload, settings, left_s)]
    if behind:
        return min(behind, key=lambda workload: workload.round)
    behind = [workload for workload in going if workload.round < STEADY_ROUNDS]
    if behind and (some_wait or not _narrows_first(going, left_s)):
        return min(behind, key=lambda workload: workload.round)
    usual = usual_scatter([workload.scatter for workload in going])

    def had(workload: WorkloadState) -> tuple[float, float]:
        return share_had(workload, workload.round, workload.scatter, usual, 1e9 * left_s)

    return min(going, key=had)


def _narrows_first(going: Sequence[WorkloadState], left_s: float) -> bool:
    """`narrows_first`, of those that had their fewest rounds: not while nothing is known of one of them."""
    begun = [one for one in going if one.round >= one.fewest]  # a large table may never get there
    if math.isinf(left_s) or not begun or any(one.scatter is None for one in begun):
        return False
    rounds = [Had(one.round, one.fewest, one.later_round_cost_ns(), one.steady_cost_ns()) for one in begun]
    return narrows_first(rounds, 1e9 * left_s)


class Had(NamedTuple):
    """Where a workload stands between its fewest rounds and the steady ones."""

    rounds: int
    fewest: int
    round_ns: float  # what a round takes
    steady_ns: float  # what those take that it still lacks to be steady


def narrows_first(going: Sequence[Had], left_ns: float) -> bool:
    """Whether the next round is one that narrows most, though some workload lacks steady ones.

    Where the steady rounds of all take more than three quarters of the time left, the others have a share of
    it: a quarter, or half where they take all of it. Beside a load they took a quick run's whole time: eight
    rows of starts of threads, which take 0.25 s a round and were known to 80 to 170 %, had 20 rounds, and so
    had fifteen word counters, which take 1.4 s and were known to some per cent.
    """
    share = min(_MOST_NARROWING, sum(one.steady_ns for one in going) / max(1.0, left_ns) - 0.5)
    if share < _LEAST_NARROWING:
        return False
    even = min(one.rounds for one in going)
    steady_ns = sum(max(0, even - one.fewest) * one.round_ns for one in going)
    more_ns = sum(max(0, one.rounds - max(even, one.fewest)) * one.round_ns for one in going)
    return more_ns * (1.0 - share) < share * steady_ns


def usual_scatter(scatters: Sequence[float | None]) -> float:
    """What a workload is taken to scatter by of which nothing is known yet: the middle one of the others."""
    known = sorted(each for each in scatters if each) or [1.0]
    return known[len(known) // 2]


def steady_rows(going: Sequence[WorkloadState], left_s: float) -> None:
    """Decides which rows have all turns up to the steady rounds though they are dear, or known well enough.

    As many as fit into half of the time that is left over when all workloads have had those rounds: first
    those that are not known, then the cheapest. Who is launched together has them together, and so have
    those of a workload that are known and not dear.

    With fewer launches their intervals end at the farthest of them: in a table of nine rows 14 launches leave
    out none, 16 one at each end, 20 two.
    """
    found = []
    for workload in going:
        workload.steadied = frozenset()
        lacking = max(0, STEADY_ROUNDS - max(workload.round, workload.fewest))
        for rows in _rare_together(workload) if lacking else ():
            known = all(workload.is_known(case) for case in rows)
            cost_ns = sum(case.cost_ns * (1.0 - 1.0 / workload.rounds_between(case)) for case in rows)
            found.append((known, lacking * cost_ns, [case.id for case in rows], workload))
    needed_ns = sum(workload.rounds_cost_ns(STEADY_ROUNDS) for workload in going)
    spare_ns = STEADYING * (1e9 * left_s - needed_ns)
    for _, cost_ns, case_ids, workload in sorted(found, key=lambda one: one[:3]):
        spare_ns -= cost_ns
        if spare_ns < 0:
            break
        workload.steadied |= set(case_ids)


def _rare_together(workload: WorkloadState) -> list[list[CaseState]]:
    """The rows that have rare turns once all have had the fewest: dear ones by who is launched with whom, and
    those that are known only."""
    groups: dict[frozenset[int], list[CaseState]] = {}
    for case in workload.going_cases:
        if workload.rounds_between(case) > 1:
            dear = workload.every.get(case.id, 1) > 1
            who = workload.companions.get(case.id, frozenset([case.id])) if dear else frozenset()
            groups.setdefault(who, []).append(case)
    return list(groups.values())


def _needs_more(workload: WorkloadState, settings: Settings, left_s: float) -> bool:
    """Whether it lacks rounds that give it intervals. More than the profile's fewest only where all of them
    fit into what is left: a large table that does not get there would cost the others theirs."""
    lacking = workload.fewest - workload.round
    fits = lacking * workload.round_cost_ns() <= 1e9 * left_s
    return lacking > 0 and (workload.round < settings.min_launches or fits)


def share_had(
    workload: WorkloadState, rounds: int, scatter: float | None, usual: float, left_ns: float = math.inf
) -> tuple[float, float]:
    """How much of its share a workload has had; the least has the next round.

    Its rounds over what they shall be in proportion to; where all are known well enough, the ns that it had.
    So it is where the next rounds narrow nothing before the time is over.
    """
    cost_ns = max(1, workload.later_round_cost_ns())
    part = ((usual if scatter is None else scatter) / cost_ns) ** (2 / 3)
    counts, lacking = _narrows_like(workload, rounds)
    if not part or lacking * cost_ns > left_ns:
        return math.inf, rounds * cost_ns
    return counts / part, rounds * cost_ns


def _narrows_like(workload: WorkloadState, rounds: int) -> tuple[float, int]:
    """The rounds after which one more narrows an interval as much as the next ones do here, and how many it
    takes before any does.

    The first rounds of layouts that come again narrow nothing (`stats.all_tell_from`): then it is what a
    second pass brings over those that it still lacks, so that a workload is slow to begin with these, and
    then goes through them. By the level of its largest table.
    """
    layouts = workload.layouts
    if not 0 < layouts <= rounds < 2 * layouts:
        return rounds, 0
    pairs = workload.most_rows * (workload.most_rows - 1) // 2
    level = bonferroni(final_level(rounds, workload.level), pairs)
    end = all_tell_from(layouts, level)
    if rounds >= end or end == layouts + 1:
        return rounds, 0
    twice = 2 * layouts
    narrower = 1.0 / math.sqrt(layouts) - 1.0 / math.sqrt(independent_at(twice, layouts, 0.0))
    return (2.0 * narrower / (twice - rounds)) ** (-2 / 3), end - rounds


class _KnownInterval(NamedTuple):
    """What is known of one ratio, of a lone row's value: log units; None: too few rounds."""

    case: CaseState
    interval: Interval | None
    lone: bool
    narrows: float = 1.0  # by how much of a per cent for a per cent more rounds that are independent


def _scatter(found: Sequence[_KnownInterval], rounds: int, precision: float) -> float | None:
    known = [(one.interval, one.lone, one.narrows) for one in found if one.interval is not None]
    lengths = [
        narrows * (interval.high - interval.low) / 2
        for interval, lone, narrows in known
        if not (narrow(interval, precision) if lone else well_known(interval, precision))
    ]
    return scatter_of(lengths, len(found) - len(known), rounds)


def scatter_of(wide: Sequence[float], unknown: int, rounds: int) -> float | None:
    """What `scatter` says, log units, of half the `wide` intervals' lengths and of `unknown` ratios that have
    no interval."""
    if wide:
        return (len(wide) + unknown) * math.sqrt(rounds) * float(np.median(wide))
    return None if unknown else 0.0


def _intervals_shown(workload: WorkloadState, level: float) -> list[_KnownInterval]:
    """Of all ratios of all tables and values of lone rows, as a run of this level would show them now."""
    shown = final_level(workload.round, level)
    return [
        found
        for cases, table in workload.tables_of_cases()
        if table.column is not None or len(cases) == 1
        for found in _of_table(cases, table, shown)
    ]


def _of_table(cases: Sequence[CaseState], table: RatioTable, level: float) -> Iterator[_KnownInterval]:
    logs, column, layouts = table
    corrected = bonferroni(level, max(1, len(cases) * (len(cases) - 1) // 2))
    for at, case in enumerate(cases):
        if at == column and len(cases) > 1:
            continue
        beside = np.zeros(len(logs)) if column is None or len(cases) == 1 else logs[:, column]
        pairs = pairs_in(logs[:, at], beside, layouts)
        yield _KnownInterval(case, clustered_interval(*pairs, corrected), len(cases) == 1, _narrows(pairs))


def _narrows(pairs: Pairs) -> float:
    """Of n rounds that count for n / (1 + (n / k - 1) r) independent ones, by how much of a per cent these
    grow with a per cent more rounds."""
    count = pairs.logs.size
    if pairs.clusters is None or not count:
        return 1.0
    layouts = np.unique(pairs.clusters[pairs.clusters > 0]).size
    more = count / layouts - 1.0 if layouts else 0.0
    if not more > 0.0:
        return 1.0
    same = alike(pairs.logs, pairs.clusters)
    return (1.0 - same) / (1.0 + more * same)


def _known_rows(workload: WorkloadState, settings: Settings) -> tuple[frozenset[int], frozenset[int]]:
    """Ids of rows that need no more rounds for what their ratios say, and of those that ratios are to, which
    need none where no other row of their table does."""
    level = level_at_look(look_number(workload.round), settings.level)
    known, references = set[int](), set[int]()
    for cases, table in workload.tables_of_cases():
        if table.column is None or len(cases) < 2:
            continue
        found = list(_of_table(cases, table, level))
        precise = {
            one.case.id
            for one in found
            if one.interval is not None and well_known(one.interval, settings.precision)
        }
        known |= precise
        references.add(cases[table.column].id)
        if len(precise) == len(found):
            known.add(cases[table.column].id)
    return frozenset(known), frozenset(references)
