"""Whether what documents conclude holds in this run: each claim is a test of its own.

Its rows were named by a document, not chosen by looking at the table, so nothing is paid for the table's
other pairs; a claim of several checks pays for these (docs/method.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tollbench import numbers
from tollbench.analysis.claim_numbers import Place, SideNumber
from tollbench.analysis.results import ClaimNumber, ClaimPart, ClaimVerdict
from tollbench.analysis.rounds import one_layout, rounds_of
from tollbench.stats import (
    Interval,
    Pairs,
    Region,
    quotient_interval,
    rounds_needed,
)
from tollbench.store import RunHeader
from tollbench.text import several
from tollbench.words import NANOSECONDS, PERCENTILES, Claim, ClaimCheck, ClaimSide, Relation, Ruling

_PERCENTILES = {each.key for each in PERCENTILES}
_BELOW_ONE = math.nextafter(1.0, 0.0)


def judged(
    claims: Sequence[Claim], found: Mapping[Place, SideNumber], header: RunHeader
) -> list[ClaimVerdict]:
    """A verdict for each claim, in their order; what is not `found` is of a workload not in the run."""
    return [_judged(claim, found, header) for claim in claims]


def region_of(check: ClaimCheck) -> Region:
    """The ratios of left to right with which the check holds."""
    low, high = check.factor / check.tolerance, check.factor * check.tolerance
    match check.relation:
        case Relation.LESS:
            return Region(0.0, _BELOW_ONE)  # a number that equals the other one is not less
        case Relation.AT_LEAST:
            return Region(low, math.inf)
        case Relation.AT_MOST:
            return Region(0.0, high)
        case Relation.ABOUT:
            return Region(low, high)


def _judged(claim: Claim, found: Mapping[Place, SideNumber], header: RunHeader) -> ClaimVerdict:
    longer = f"`{claim.command} --profile {'standard' if _is_short(header) else 'thorough'}`"
    parts, distances = [], []
    for index, check in enumerate(claim.checks):
        left, right = (
            found.get((claim.name, index, name), SideNumber(side, side.parameters))
            for name, side in (("left", check.left), ("right", check.right))
        )
        part, distance = _part(check, left, right, longer, header)
        parts.append(part)
        distances.append(distance)
    rulings = [part.verdict for part in parts]
    # One check that fails is enough, one that cannot be told leaves all open; else the closest call.
    ruling = next(
        (one for one in (Ruling.DOES_NOT_HOLD, Ruling.CANNOT_BE_TOLD) if one in rulings), Ruling.HOLDS
    )
    at = min(
        (place for place, one in enumerate(rulings) if one == ruling), key=lambda place: distances[place]
    )
    decided = parts[at]
    return ClaimVerdict(
        name=claim.name,
        claim=claim.claim,
        document=claim.document,
        year=claim.year,
        place=claim.place,
        workload=claim.workload,
        verdict=str(ruling),
        left=decided.left.value,
        right=decided.right.value,
        ratio=decided.ratio,
        low=decided.low,
        high=decided.high,
        reason=decided.reason,
        note=claim.note,
        decided_by=at,
        parts=parts,
    )


def _is_short(header: RunHeader) -> bool:
    return header.profile in ("check", "quick")


def _part(
    check: ClaimCheck, left: SideNumber, right: SideNumber, longer: str, header: RunHeader
) -> tuple[ClaimPart, float]:
    """What one check says, and how far from its nearest boundary the interval lies (log ratio)."""
    region = region_of(check)
    left, right = _by_one_clock(left, right)
    ratio, interval, missing = _ratio(left, right)
    if missing:
        tells = all(side.value is not None or side.would_tell for side in (left, right))
        ratio, interval, reason = None, None, f"{missing}: {longer} measures it" if tells else missing
    elif header.profile == "check":
        interval, reason = None, f"a check says nothing about time: {longer} measures it"
    elif interval is None:
        reason = f"{_too_few(left, right)}: {longer} has the time for them"
    else:
        reason = ""
    holds = region.holds(interval) if interval else None
    if interval and holds is None:
        low, boundary, high = numbers.apart(interval.low, _boundary(region, interval), interval.high)
        between = f"between {low} and {high}, on both sides of {boundary}"
        reason = f"the ratio lies {between}: {longer} measures for longer"
    ruling = {True: Ruling.HOLDS, False: Ruling.DOES_NOT_HOLD, None: Ruling.CANNOT_BE_TOLD}[holds]
    part = ClaimPart(
        verdict=str(ruling),
        left=_told(left),
        right=_told(right),
        relation=str(check.relation),
        factor=check.factor,
        tolerance=check.tolerance,
        at_least=region.low or None,
        at_most=None if math.isinf(region.high) else 1.0 if region.high == _BELOW_ONE else region.high,
        ratio=ratio,
        low=interval and interval.low,
        high=interval and interval.high,
        level=interval and interval.level,
        reason=reason,
    )
    return part, region.distance(interval) if interval else math.inf


def _by_one_clock(left: SideNumber, right: SideNumber) -> tuple[SideNumber, SideNumber]:
    """Times that were not taken alike, as those of different workloads may be, by what both were taken by."""
    measured = [side for side in (left, right) if side.side.number is None]
    if len(measured) < 2 or left.timed == right.timed:
        return left, right
    both = (left.timed[0] and right.timed[0], left.timed[1] and right.timed[1])
    return left.otherwise.get(both, left), right.otherwise.get(both, right)


def _told(side: SideNumber) -> ClaimNumber:
    asked = side.side
    if asked.number is not None:
        return ClaimNumber(contender="", environment="", parameters={}, value=asked.number, unit=asked.unit)
    return ClaimNumber(
        workload=asked.workload,
        contender=asked.contender,
        environment=asked.environment,
        parameters=dict(side.parameters),
        statistic=asked.statistic,
        value=side.value,
        unit=side.unit,
    )


def _ratio(left: SideNumber, right: SideNumber) -> tuple[float | None, Interval | None, str]:
    """Left over right with its interval; or why there is no ratio.

    Paired by round where both were measured in the same rounds, so that what befell a round cancels; else
    the quotient of the two numbers with both their intervals.
    """
    for side in (left, right):
        if side.side.number is None and side.value is None:
            return None, None, f"{_named(side.side)} {side.missing or 'was not measured in this run'}"
    if left.over_right is not None:
        return *left.over_right, ""
    pairs = _paired(left, right)
    if pairs is not None and pairs.logs.size < rounds_needed(left.level, 1):
        # Of two tables: a core of their own they hardly had in the same rounds.
        pairs = _paired(_of_all_batches(left), _of_all_batches(right))
    if pairs is not None and pairs.logs.size:
        return *pairs.interval(left.level), ""
    above, below = _in_one_unit(left), _in_one_unit(right)
    if not above[0] > 0.0 or not below[0] > 0.0:
        return None, None, "a number that is not above 0 has no ratio"
    ends = above[1], below[1]
    interval = quotient_interval(ends[0], ends[1]) if ends[0] and ends[1] else None
    return above[0] / below[0], interval, ""


def _of_all_batches(side: SideNumber) -> SideNumber:
    return side.otherwise.get((side.timed[0], False), side)


def _paired(left: SideNumber, right: SideNumber) -> Pairs | None:
    if left.side.workload != right.side.workload:
        return None
    if left.values and right.values:
        return rounds_of([left.values, right.values]).pairs(0, 1)
    if left.by_round and right.by_round and left.unit == right.unit:
        both = [
            number
            for number, one in left.by_round.items()
            if one > 0.0 and right.by_round.get(number, 0.0) > 0.0
        ]
        logs = [math.log(left.by_round[number] / right.by_round[number]) for number in both]
        layouts = (
            np.array([side.layouts.get(number, 0) for number in both], dtype=np.int64)
            for side in (left, right)
        )
        return Pairs(np.array(logs), one_layout(*layouts))
    return None


def _in_one_unit(side: SideNumber) -> tuple[float, Interval | None]:
    """The number and its interval, nanoseconds where it is a time; a document's number is exact."""
    exact = side.side.number
    value = exact if exact is not None else side.value or 0.0
    scale = NANOSECONDS.get(side.side.unit if exact is not None else side.unit, 1.0)
    interval = Interval(value, value, 1.0) if exact is not None else side.interval
    scaled = interval and Interval(interval.low * scale, interval.high * scale, interval.level)
    return value * scale, scaled


def _too_few(left: SideNumber, right: SideNumber) -> str:
    """Why there is no interval: a percentile has further conditions than a median."""
    measured = [side for side in (left, right) if side.side.number is None]
    fewest = min(measured, key=lambda side: side.launches)
    needed = rounds_needed(fewest.level, 1)
    if fewest.launches < needed:
        count = several(fewest.launches, "launch", "launches")
        verb = "is" if fewest.launches == 1 else "are"
        return f"{count} {verb} too few for an interval, which takes {needed}"
    if not any(side.side.statistic in _PERCENTILES for side in measured):
        return "too few rounds have both numbers for an interval"
    return "too few operations, or launches, were timed for an interval of that percentile"


def _boundary(region: Region, interval: Interval) -> float:
    """The end of the region that lies inside the interval."""
    end = region.low if interval.low < region.low else region.high
    return 1.0 if end == _BELOW_ONE else end


def _named(side: ClaimSide) -> str:
    """ "boost_map (tcmalloc, group=100)"."""
    told = [side.environment] if side.environment != "host" else []
    told += [f"{name}={value}" for name, value in side.parameters.items()]
    return f"{side.contender} ({', '.join(told)})" if told else side.contender
