"""What documents conclude beside what this run says of it, in the words that all formats share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tollbench import numbers
from tollbench.analysis.results import ClaimNumber, ClaimPart, ClaimVerdict, Results, WorkloadResult
from tollbench.report.cases import Naming
from tollbench.text import clean, several
from tollbench.words import PERCENTILES, Relation, Ruling

TITLE = "What the documents claim"
VERDICTS = {
    Ruling.HOLDS: "holds here",
    Ruling.DOES_NOT_HOLD: "does not hold here",
    Ruling.CANNOT_BE_TOLD: "cannot be told in this run",
}
_STATISTICS = {each.key: each.title for each in PERCENTILES} | {
    "p50": "median",
    "inside": "inside groups",
    "across": "across groups",
}
_MEASURES = re.compile(r": `[^`]*` [^`]*$")  # the end of a reason: the command that would tell


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """One claim as text: its verdict, and the two numbers and the interval of the check that decided it."""

    name: str
    verdict: str
    claim: str
    workload: str
    document: str
    year: int
    place: str
    left: str  # "std_mutex 3.02 µs"; without a number only who it is
    right: str
    where: str  # what both rows have: "mode=hot"; may be empty
    ratio: str
    interval: str
    wanted: str  # "at least 7.07×"
    reason: str
    note: str
    other_checks: int  # besides the one that decided
    cases: tuple[ClaimNumber, ...]  # the rows of that check, for links

    @property
    def numbers(self) -> str:
        """ "mode=hot: std_mutex 3.02 µs, spinlock 61.5 ns: 49× [45, 53], at least 7.07× wanted"."""
        where = f"{self.where}: " if self.where else ""
        return f"{where}{self.left}, {self.right}: {self.ratio} {self.interval}, {self.wanted} wanted"


def claim_lines(results: Results) -> list[ClaimLine]:
    """All claims of the run: what holds, what does not, what cannot be told; in the workloads' order."""
    names = {workload.workload: Naming.of(workload) for workload in results.workloads}
    tables = {workload.workload: workload for workload in results.workloads}
    ranked = sorted(results.claims, key=lambda claim: [*VERDICTS].index(Ruling(claim.verdict)))
    return [_line(claim, names, tables) for claim in ranked]


def of_verdict(lines: Sequence[ClaimLine], ruling: Ruling) -> list[ClaimLine]:
    """Those with one verdict."""
    return [line for line in lines if line.verdict == ruling]


def count_sentence(lines: Sequence[ClaimLine]) -> str:
    """ "11 of 66 published claims hold here, 7 do not, 48 cannot be told in this run"; "" without any."""
    if not lines:
        return ""
    held, failed, rest = (len(of_verdict(lines, ruling)) for ruling in VERDICTS)
    of_all = f"{held} of {several(len(lines), 'published claim')} {_hold(held, failed)}"
    return f"{of_all}, {rest} cannot be told in this run"


def open_sentence(lines: Sequence[ClaimLine], tells_more: str) -> str:
    """The same in a line, with the command that decides more; "" without one, or where all are decided."""
    held, failed, rest = (len(of_verdict(lines, ruling)) for ruling in VERDICTS)
    if not (rest and tells_more):
        return ""
    of_all = several(len(lines), "published claim")
    return f"{of_all}: {held} {_hold(held, failed)}; {rest} open: {tells_more}"


def _hold(held: int, failed: int) -> str:
    return f"{'holds' if held == 1 else 'hold'} here, {failed} {'does' if failed == 1 else 'do'} not"


def why_not_told(reason: str) -> str:
    """The reason without the command behind it."""
    return _MEASURES.sub("", clean(reason))


def _line(claim: ClaimVerdict, names: dict[str, Naming], tables: dict[str, WorkloadResult]) -> ClaimLine:
    part = claim.parts[claim.decided_by]
    sides = (part.left, part.right)
    qualifiers = [_qualifiers(side, names) for side in sides]
    both = [word for word in qualifiers[0] if word in qualifiers[1]]
    left, right = (
        _side(side, [word for word in own if word not in both], tables.get(side.workload))
        for side, own in zip(sides, qualifiers, strict=True)
    )
    return ClaimLine(
        name=clean(claim.name),
        verdict=claim.verdict,
        claim=clean(claim.claim),
        workload=clean(claim.workload),
        document=clean(claim.document),
        year=claim.year,
        place=clean(claim.place),
        left=left,
        right=right,
        where=", ".join(both),
        ratio=numbers.ratio(part.ratio, part.low, part.high),
        interval=numbers.ratio_interval(part.ratio, part.low, part.high),
        wanted=wanted(part),
        reason=clean(claim.reason),
        note=clean(claim.note),
        other_checks=len(claim.parts) - 1,
        cases=tuple(side for side in sides if side.contender and side.workload in tables),
    )


def wanted(part: ClaimPart) -> str:
    """Where the interval has to lie: "at least 7.07×"."""
    low, high = (None if end is None else numbers.ratio(end) for end in (part.at_least, part.at_most))
    if part.relation == Relation.LESS:
        return f"below {high}"
    if low is None or high is None:
        return f"at least {low}" if high is None else f"at most {high}"
    return f"{low.removesuffix('×')} to {high}"


def _qualifiers(side: ClaimNumber, names: dict[str, Naming]) -> list[str]:
    """What tells the row from others of its workload; what was asked for where there is no row."""
    naming = names.get(side.workload)
    if naming is not None:
        return list(naming.qualifiers(side))
    return [f"{clean(name)}={clean(value)}" for name, value in side.parameters.items()]


def _side(side: ClaimNumber, qualifiers: Sequence[str], table: WorkloadResult | None) -> str:
    value = "" if side.value is None else _number(side.value, side.unit)
    if not side.contender:
        return value
    told = f"{clean(side.contender)} ({', '.join(qualifiers)})" if qualifiers else clean(side.contender)
    details = {detail.name: detail.title for detail in table.details} if table else {}
    statistic = "" if side.statistic == "value" else {**_STATISTICS, **details}.get(side.statistic, "")
    return " ".join(filter(None, (told, clean(statistic), value)))


def _number(value: float, unit: str) -> str:
    scale = numbers.time_scale([value], unit)
    return f"{numbers.plain(scale.of(value))} {clean(scale.unit)}".rstrip()
