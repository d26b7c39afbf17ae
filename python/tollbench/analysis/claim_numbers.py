"""The numbers that claims speak of, taken from one workload's data while all of it is at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tollbench.analysis.case_data import CaseData, told_by
from tollbench.analysis.comparison import comparable
from tollbench.analysis.grid import make_grid, ordered
from tollbench.analysis.percentile_ratios import of_two_rows
from tollbench.analysis.results import Floor
from tollbench.analysis.rounds import layouts_of
from tollbench.analysis.spells import following, reaching, valued
from tollbench.analysis.units import nanoseconds_per
from tollbench.analysis.values import PLAINLY, LaunchValue, Timed
from tollbench.stats import Interval, bonferroni
from tollbench.stats.order_statistics import Floats
from tollbench.store import RunHeader, WorkloadRecord
from tollbench.words import PERCENTILES, Claim, ClaimCheck, ClaimSide, Parameters, Status

_PROBABILITY = {each.key: each.probability for each in PERCENTILES}
_ACROSS = {"inside": False, "across": True}
Place = tuple[str, int, str]  # a claim's name, which of its checks, "left" or "right"


@dataclass(frozen=True, slots=True)
class SideNumber:
    """One side of a check as this run has it; without a `value` where `missing` says why."""

    side: ClaimSide
    parameters: Parameters
    unit: str = ""
    value: float | None = None  # in `unit`
    interval: Interval | None = None  # of the value, at `level`
    level: float = 0.0  # of the check: what looking early and the claim's other checks have left
    values: Mapping[int, LaunchValue] = field(default_factory=dict)  # by round; of a plain value alone
    by_round: Mapping[int, float] = field(default_factory=dict)  # of what else each launch has one of
    layouts: Mapping[int, int] = field(default_factory=dict)  # that each of these rounds had; 0: not known
    # Of the left side, where both are one percentile of two rows: the ratio, paired by rounds, at `level`.
    over_right: tuple[float, Interval] | None = None
    launches: int = 0
    missing: str = ""  # "was not measured in this run"
    would_tell: bool = True  # whether measuring it, or for longer, would tell
    within_run: bool = False  # whether `interval` holds within this run's conditions alone
    timed: Timed = PLAINLY
    otherwise: Mapping[Timed, SideNumber] = field(default_factory=dict)  # the same with less left out


def numbers_in(
    workload: WorkloadRecord,
    data: Sequence[CaseData],
    header: RunHeader,
    level: float,
    claims: Sequence[Claim],
    in_batches: str = "",
) -> dict[Place, SideNumber]:
    """Every side that one of `claims` has in this workload.

    `data` has its cases in plan order, with the counts of their samples; `level` is what
    looking early has left; `in_batches` names the workload that times many of its operations at once.
    """
    units = {one.name: one.unit for one in workload.details}
    alike = following(comparable(data))
    found: dict[Place, SideNumber] = {}
    for place, side, check, checks in sides(claims):
        if side.workload == workload.name:
            own, unit = bonferroni(level, checks), units.get(side.statistic, workload.unit)
            found[place] = _below_step(side, data, unit, header, in_batches) or _number(
                side, check, data, own, unit, header, alike
            )
    for claim in claims:
        for index, check in enumerate(claim.checks):
            left, right = (found.get((claim.name, index, name)) for name in ("left", "right"))
            if left and right and left.value is not None and right.value is not None:
                beside = _percentiles_of_two_rows(check, data, left.level, header)
                found[claim.name, index, "left"] = replace(left, over_right=beside)
    return found


def _percentiles_of_two_rows(
    check: ClaimCheck, data: Sequence[CaseData], level: float, header: RunHeader
) -> tuple[float, Interval] | None:
    """Their ratio as tables have it, which a claim must not contradict; None for all else.

    Two percentiles of one row, its p99 over its median, are not paired: blocks of rounds would tell of the
    usual stretch of a second, where a document speaks of all its samples (docs/method.md).
    """
    left, right = check.left, check.right
    if left.statistic != right.statistic or left.statistic not in _PROBABILITY:
        return None
    first, second = _case(left, data, header), _case(right, data, header)
    if first is None or second is None or first is second or not first.counts or not second.counts:
        return None
    return of_two_rows(first, second, _PROBABILITY[left.statistic], level)


def sides_not_below_floor(found: Mapping[Place, SideNumber], floor: Floor) -> dict[Place, SideNumber]:
    """Their intervals reach as far as those of rows do (`tollbench.analysis.spells.not_below_floor`).

    Ratios that are paired by round are made without them.
    """
    ratio = floor.ratio
    if ratio is None:
        return dict(found)
    return {place: _reaching(number, ratio) for place, number in found.items()}


def _reaching(number: SideNumber, ratio: float) -> SideNumber:
    otherwise = {timed: _reaching(one, ratio) for timed, one in number.otherwise.items()}
    interval = number.interval
    if number.within_run and interval is not None and number.value is not None:
        ends = reaching(number.value, interval.low, interval.high, ratio, number.unit)
        interval = Interval(*ends, interval.level)
    return replace(number, interval=interval, otherwise=otherwise)


def sides(claims: Sequence[Claim]) -> Iterator[tuple[Place, ClaimSide, ClaimCheck, int]]:
    """Each side with its place, its check, and how many checks its claim has."""
    for claim in claims:
        for index, check in enumerate(claim.checks):
            for name, side in (("left", check.left), ("right", check.right)):
                yield (claim.name, index, name), side, check, len(claim.checks)


def _below_step(
    side: ClaimSide, data: Sequence[CaseData], unit: str, header: RunHeader, in_batches: str
) -> SideNumber | None:
    """The side without a number, where it asks for that of an operation that the clock cannot see.

    Measuring for longer would tell no more.
    """
    case = _case(side, data, header)
    if case is None or side.statistic not in ("value", "p50"):
        return None
    if not case.below_step_ns or _unusual(side, case, header):
        return None
    where = f"; {in_batches} times many at once" if in_batches else ""
    missing = f"is shorter than {case.below_step_ns:.3g} ns, the clock's step{where}"
    return SideNumber(side, dict(case.record.parameters), unit, missing=missing, would_tell=False)


def _number(
    side: ClaimSide,
    check: ClaimCheck,
    data: Sequence[CaseData],
    level: float,
    unit: str,
    header: RunHeader,
    alike: Collection[int],
) -> SideNumber:
    case = _case(side, data, header)
    if case is None:
        return SideNumber(side, side.parameters, unit, missing="was not measured in this run")
    if lacking := _unusual(side, case, header):
        usual = ", ".join(f"{name}={value}" for name, value in lacking.items())
        return SideNumber(side, side.parameters, unit, missing=f"was not measured at {usual} in this run")
    parameters = dict(case.record.parameters)
    if not case.measured:
        missing = f"has no numbers ({case.status}: {case.reason})"
        return SideNumber(side, parameters, unit, missing=missing, would_tell=case.status is Status.PLANNED)
    # A quotient of two intervals holds where both do; one of a number that is exact needs only the other.
    measured = sum(each.number is None for each in (check.left, check.right))
    own = bonferroni(level, measured)
    scale = nanoseconds_per(case.record.unit, case.record.workload)
    launches = len(case.launches)
    if side.statistic in _PROBABILITY:
        pooled, p = case.pooled, _PROBABILITY[side.statistic]
        interval = _scaled(pooled.interval(p, own), scale)
        value = pooled.quantile(p) / scale
        return SideNumber(side, parameters, unit, value, interval, level, launches=launches)
    if side.statistic == "value":
        plainly = SideNumber(side, parameters, unit, level=level, launches=launches)
        by_timed = {
            rounds.timed: _of_rounds(plainly, rounds, scale, own, following=case.record.id in alike)
            for rounds in case.timed_less_strictly()
        }
        return replace(by_timed[case.timed], otherwise=by_timed)
    by_round, missing = _each_launch(side.statistic, case, scale, header)
    if not by_round:
        return SideNumber(side, parameters, unit, missing=missing, would_tell=False)
    array: Floats = np.array(list(by_round.values()))
    layouts = layouts_of([case.by_round])
    own_interval = valued(array, own, layouts=[layouts.get(number, 0) for number in by_round])
    return SideNumber(
        side,
        parameters,
        unit,
        float(np.median(array)),
        own_interval.interval,
        level,
        by_round=by_round,
        layouts=layouts,
        launches=len(by_round),
        within_run=bool(own_interval.within_run),
    )


def _of_rounds(
    plainly: SideNumber, rounds: CaseData, scale: float, level: float, *, following: bool
) -> SideNumber:
    """The value of those rounds; `following` says that the runs test told of its case."""
    values = rounds.values_ns / scale
    own = valued(values, level, following=following, layouts=rounds.layouts)
    return replace(
        plainly,
        value=float(np.median(values)),
        interval=own.interval,
        within_run=bool(own.within_run),
        values=rounds.by_round,
        timed=rounds.timed,
    )


def _case(side: ClaimSide, data: Sequence[CaseData], header: RunHeader) -> CaseData | None:
    """The case that is as the claim says; better one that is as usual in all else, and has numbers."""
    fitting = [
        case
        for case in data
        if (case.record.contender, case.record.environment) == (side.contender, side.environment)
        and _has(case, side.parameters)
    ]
    meant = [case for case in fitting if not _unusual(side, case, header)] or fitting
    return next((case for case in meant if case.measured), meant[0] if meant else None)


def _unusual(side: ClaimSide, case: CaseData, header: RunHeader) -> Parameters:
    """What the claim leaves open and the case has not as a run without --set would: the usual values."""
    cpus = header.machine.get("usable_cpus")
    count = len(cpus) if isinstance(cpus, list) else "cpus"  # the run does not tell how many it had
    usual = {name: count if value == "cpus" else value for name, value in side.usual.items()}
    return {name: value for name, value in usual.items() if value != "cpus" and not _has(case, {name: value})}


def _has(case: CaseData, parameters: Parameters) -> bool:
    return all(str(case.record.parameters.get(name)) == str(value) for name, value in parameters.items())


def _each_launch(
    statistic: str, case: CaseData, scale: float, header: RunHeader
) -> tuple[dict[int, float], str]:
    """A detail, or the time inside or across groups of CPUs, of each launch by its round; or why not."""
    if statistic in _ACROSS:
        return _between_groups(case, scale, header, across=_ACROSS[statistic])
    told = {launch.round: told_by(launch) for launch in case.launches}
    by_round = {number: details[statistic] for number, details in told.items() if statistic in details}
    return by_round, "" if by_round else f"told no {statistic}"


def _between_groups(
    case: CaseData, scale: float, header: RunHeader, *, across: bool
) -> tuple[dict[int, float], str]:
    """Median time between CPUs of one group, or of two, launch by launch: the coarsest groups of the grid."""
    cells = case.cells.values["p50"]
    whole = {pair: values for pair, values in cells.items() if len(values) == len(case.launches)}
    names = ordered({name for pair in whole for name in pair}, header.machine)
    if len(names) < 2:
        return {}, "has no times between CPUs"
    medians = {pair: float(np.median(values)) / scale for pair, values in whole.items()}
    grid = make_grid(names, medians, title="", unit="ns")
    group_of = {names[member]: at for at, group in enumerate(grid.groups) for member in group}
    pairs = [
        pair
        for pair in whole
        if set(pair) <= set(group_of) and (group_of[pair[0]] != group_of[pair[1]]) is across
    ]
    if not pairs:
        return {}, f"shows no groups among its {len(names)} CPUs"
    each: Floats = np.median(np.array([whole[pair] for pair in pairs]), axis=0) / scale
    # Not the keys of case.by_round: a stranger's file may have two launches of one round.
    return {launch.round: value for launch, value in zip(case.launches, each.tolist(), strict=True)}, ""


def _scaled(interval: Interval | None, scale: float) -> Interval | None:
    if interval is None:
        return None
    return Interval(interval.low / scale, interval.high / scale, interval.level)
