"""Which batches count: those in which a program had its core, or the machine, to itself.

Two hardware threads of a core share its execution units. Where somebody works on the other one, a neighbour
on the same machine or another guest of the same host, the same instructions take up to twice as long, and
each program its own share longer: an uncontended std::mutex 1.3 times, a loop of additions 1.9 times. Time
on the processor holds that as well, and a ratio of two such programs has two values, which are mixed as
the neighbour works. So programs with one thread time a fixed piece of arithmetic around each batch
(`Batch.gauge_ns`), and batches whose gauge was slow are left out.

Programs with several threads want more than one processor, and take another time where somebody else has
one: beside a process that worked half of the time, a thread was started in 8.8 us on its maker's processor
and in 16.7 on another one, hardly ever in between, and two threads that contend for an integer took up to
three times as long. Around their batches toll takes a census of the others that want a processor which the
program could use (`Batch.others`), and batches with somebody in their way are left out.

What is left out is decided by gauges and the census, never by what a batch took: the choice knows nothing of
which program is quicker, and intervals keep their level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from tollbench.analysis.rounds import layouts_of
from tollbench.analysis.values import ByRound, LaunchValue
from tollbench.stats import (
    NEVER_GONE_ON,
    GoneOn,
    Integers,
    final_level,
    rounds_needed,
)
from tollbench.words import LONGEST_GAUGED_NS, SHARED_CORE

QUIETEST = 0.05  # share of a program's gauges that are taken for undisturbed
FEWEST_MOVED = 3  # launches beside others and as many without them, to say whether others move a program
# That each two programs have to have left, and two more than the table's intervals take,
FEWEST_ROUNDS = 10
FEWEST_SHARE = 1 / 4  # of all rounds, and some of each third: a faster clock at first is no quieter neighbour


def on_own_core(
    cases: Sequence[ByRound],
    environments: Sequence[str],
    tables: Sequence[Sequence[int]],
    level: float,
    gone_on: GoneOn = NEVER_GONE_ON,
) -> list[dict[int, LaunchValue]]:
    """The launches of a workload's cases, each with the batches that count.

    Of programs with one thread by their gauges, with all batches where too few would be left in one of the
    `tables`, which have positions of cases: a curve over settings would else tell what a neighbour took for
    what a setting costs. `environments` has each case's own, `level` is the run's. Programs with several
    threads occupy the other hardware thread themselves, those in other languages tell no gauge, and of
    batches as long as a neighbour's bursts two instants say too little: where a workload has such a one, only
    tables of which all rows have a census leave batches out.
    """
    as_they_are = [dict(case) for case in cases]
    if not all(_told_by_gauges(case) for case in cases):
        return _beside_nobody(as_they_are, tables, level, gone_on)
    undisturbed = [_undisturbed_ns(case) for case in cases]
    if not _of_one_core(undisturbed, environments):
        return as_they_are
    found = [
        {
            number: value.timed_by(on_cpu=value.on_cpu, own_core=value.gauges <= SHARED_CORE * ns)
            for number, value in case.items()
        }
        for case, ns in zip(cases, undisturbed, strict=True)
    ]
    for table in tables:
        _count_together([found[at] for at in table])
    enough = all(_enough([found[at] for at in table], level, gone_on) for table in tables)
    return found if enough else as_they_are


def _beside_nobody(
    cases: list[dict[int, LaunchValue]], tables: Sequence[Sequence[int]], level: float, gone_on: GoneOn
) -> list[dict[int, LaunchValue]]:
    """The cases, those of tables that have a census with the batches that had nobody in their way.

    Table by table: batches of more threads than processors are long, and keep what others took in any case.
    Where nobody was there, all count as in any other table.
    """
    found = list(cases)
    for table in tables:
        rows = [cases[at] for at in table]
        if not all(map(_has_census, rows)) or not any(map(_met_others, rows)):
            continue
        alone = [
            {
                number: value.timed_by(on_cpu=value.on_cpu, own_core=value.others == 0)
                for number, value in cases[at].items()
            }
            for at in table
        ]
        if _enough(alone, level, gone_on):
            for at, case in zip(table, alone, strict=True):
                found[at] = case
    return found


def _met_others(case: ByRound) -> bool:
    return any(value.others.any() for value in case.values())


def _has_census(case: ByRound) -> bool:
    return bool(case) and all(value.others.size for value in case.values())


def moved_by_others(table: Sequence[ByRound]) -> float:
    """By how much others move the middle one of a table's rows: the larger over the smaller of the medians of
    launches beside them and without them. 1 where a row has no census, or too few such launches."""
    if not table or not all(map(_has_census, table)):
        return 1.0
    return float(np.median([_moved(case) for case in table]))


def _moved(case: ByRound) -> float:
    sides: list[list[float]] = []
    for beside in (False, True):
        flags = [(value, (value.others > 0) == beside) for value in case.values()]
        blocks = [value.timed_by(on_cpu=value.on_cpu, own_core=which).blocks for value, which in flags]
        sides.append([float(np.median(each)) for each in blocks if each.size])
    if min(map(len, sides)) < FEWEST_MOVED:
        return 1.0
    smaller, larger = sorted(float(np.median(side)) for side in sides)
    return larger / smaller if smaller > 0 else 1.0


def beside_others_all_the_same(table: Sequence[ByRound]) -> float:
    """Share of a table's batches that had others in their way, where they count all the same; 0 where they do
    not, or where a row has no census."""
    if not table or any(value.own_core is not None for case in table for value in case.values()):
        return 0.0
    if not all(map(_has_census, table)):
        return 0.0
    return float(np.mean(np.concatenate([value.others > 0 for case in table for value in case.values()])))


def shared_all_the_same(cases: Sequence[ByRound], environments: Sequence[str]) -> float:
    """Share of a workload's batches on a shared core, where they count all the same; 0 where they do not, or
    where no gauge tells."""
    if not cases or any(value.own_core is not None for case in cases for value in case.values()):
        return 0.0
    if not all(_told_by_gauges(case) for case in cases):
        return 0.0
    quiet: dict[str, float] = {}
    for case, environment in zip(cases, environments, strict=True):
        quiet[environment] = min(_undisturbed_ns(case), quiet.get(environment, np.inf))
    flags = [
        value.gauges > SHARED_CORE * quiet[environment]
        for case, environment in zip(cases, environments, strict=True)
        for value in case.values()
    ]
    return float(np.concatenate(flags).mean())


def _told_by_gauges(case: ByRound) -> bool:
    if not case or not all(value.gauges.size for value in case.values()):
        return False
    return bool(np.median([value.batch_ns for value in case.values()]) <= LONGEST_GAUGED_NS)


def _undisturbed_ns(case: ByRound) -> float:
    """A case's own: the same arithmetic took 4 to 9 % longer in one program than in another."""
    return float(np.quantile(np.concatenate([value.gauges for value in case.values()]), QUIETEST))


def _of_one_core(undisturbed_ns: Sequence[float], environments: Sequence[str]) -> bool:
    """Whether what programs of an environment take for undisturbed is that.

    Where one's differs by more than what tells a shared core, it hardly ever had one to itself.
    """
    by_environment: dict[str, list[float]] = defaultdict(list)
    for environment, ns in zip(environments, undisturbed_ns, strict=True):
        by_environment[environment].append(ns)
    return all(max(each) <= SHARED_CORE * min(each) for each in by_environment.values())


def _count_together(cases: Sequence[dict[int, LaunchValue]]) -> None:
    """Of those who took turns a block counts for all or for nobody: neighbours in time are compared."""
    members: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for at, case in enumerate(cases):
        for number, value in case.items():
            if value.company:
                members[value.company].append((at, number))
    for together in members.values():
        flags = [cases[at][number].own_core for at, number in together]
        known = [each for each in flags if each is not None]
        alike = len({each.size for each in known}) == 1
        for at, number in together:
            changes = {"own_core": np.logical_and.reduce(known)} if alike else {"company": 0}
            cases[at][number] = cases[at][number]._replace(**changes)


def _enough(cases: Sequence[ByRound], level: float, gone_on: GoneOn) -> bool:
    """Whether each two of the cases have rounds enough in which batches of both count, all along the run.

    And whether none has lost so much more than the others that it cannot be what ratios are to
    (`tollbench.analysis.grouping.fastest`), and each two keep an interval, were rounds of one layout of the
    code all the same (`tollbench.stats.clustered`).
    """
    rounds = sorted({number for case in cases for number in case})
    counting = np.array(
        [[number in case and case[number].counts for number in rounds] for case in cases], dtype=int
    )
    launched = np.array([[number in case for number in rounds] for case in cases], dtype=int)
    shared, both = counting @ counting.T, launched @ launched.T  # rounds of each two
    left = final_level(len(rounds), level, gone_on)
    taken = rounds_needed(left, max(1, len(cases) * (len(cases) - 1) // 2))
    shares = shared.diagonal() / np.maximum(1, both.diagonal())  # of its own launches: dear rows have fewer
    if shared.min() < max(FEWEST_ROUNDS, taken + 2) or 2 * shares.min() < shares.max():
        return False
    thirds = np.array_split(counting, 3, axis=1)
    if not (shared >= FEWEST_SHARE * both).all() or not all((part @ part.T).all() for part in thirds):
        return False
    layouts = layouts_of(cases)
    code = np.array([layouts[number] for number in rounds])
    pairs = combinations_with_replacement(counting.astype(bool), 2)
    return all(_independent(code[one & other]) >= taken for one, other in pairs)


def _independent(layouts: Integers) -> float:
    """For how many rounds these count at least; 0: a layout that nobody knows, and another one in each."""
    _, sizes = np.unique(layouts[layouts > 0], return_counts=True)
    more = float((sizes * (sizes - 1)).sum()) / max(1, layouts.size)
    return layouts.size / (1.0 + more)
