"""One comparison over all hosts: the change on each, its mean, what one more would show, and who differs.

The contract of `toll fleet compare --json` (schemas/fleet-compare.schema.json).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field
from scipy.special import ndtri

from tollbench.compare.printed import Finite
from tollbench.compare.verdicts import Comparison, Comparisons, Positive, Verdict
from tollbench.fleet.fleets import FleetRecord, FleetRun, HostName, HostRow
from tollbench.stats import bonferroni
from tollbench.stats.random_effects import FEWEST_HOSTS, across_hosts
from tollbench.text import enumerated

_TIMED = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE})
_DIFFER_P = 0.05
_FARTHEST_LOG = 700.0  # beyond it exp() overflows, or is 0, which is no ratio


class HostChange(FleetRecord):
    """One benchmark on one host."""

    host: HostName
    ratio: Positive | None = Field(description="time of b over time of a; null: not timed there")
    low: Positive | None = Field(description="lower end of its interval")
    high: Positive | None = Field(description="upper end of its interval")
    verdict: Verdict
    reason: str


class FleetChange(FleetRecord):
    """One benchmark over the fleet."""

    benchmark: str
    a: str = Field(description="label of the side that ratios refer to")
    b: str
    hosts: tuple[HostChange, ...]
    known_on: int = Field(
        default=0, ge=0, description="hosts whose change the mean is of: timed, or of unchanged code"
    )
    ratio: Positive | None = Field(
        default=None, description="mean over hosts of the ratio's logarithm, as a ratio; null: fewer than two"
    )
    low: Positive | None = Field(
        default=None,
        description="lower end of that mean's interval; null: no mean, or hosts differ beyond all numbers",
    )
    high: Positive | None = Field(default=None, description="upper end of it")
    predicted_low: Positive | None = Field(
        default=None, description="lower end of what one more such host would show, at the level"
    )
    predicted_high: Positive | None = Field(default=None, description="upper end of it")
    between: Finite | None = Field(
        default=None, description="standard deviation between hosts beyond their own scatter: 0.01 is 1 %"
    )
    agree: bool | None = Field(
        default=None,
        description="whether hosts differ by no more than their intervals explain, at 5 %; null: not known",
    )
    verdict: Verdict = Field(description="of the mean; of the one host where equal hosts share them")
    regression: bool = Field(
        default=False, description="slower, with the whole interval beyond the threshold"
    )


class FleetComparison(FleetRecord):
    """All benchmarks on all hosts."""

    made_by: Literal["toll fleet compare"] = "toll fleet compare"
    fleet: FleetRun
    level: Finite = Field(description="with which all intervals over hosts hold together")
    threshold: Finite
    benchmarks: tuple[FleetChange, ...]
    shared: bool = Field(default=False, description="whether equal hosts shared the benchmarks: --spread")
    notes: tuple[str, ...] = Field(default=(), description="what else is to know of the hosts")
    uneven: bool = Field(
        default=False,
        description="whether equal hosts did not offer the same benchmarks: some were not compared",
    )


def compared(
    fleet: FleetRun,
    found: Mapping[str, Comparisons],
    level: float,
    threshold: float,
    shared_by: Mapping[str, str] | None = None,
) -> FleetComparison:
    """Of what each host found, by its name; hosts without a result stand in `fleet`.

    `shared_by` has the kind of each host where hosts of one kind shared the benchmarks. Of a single kind each
    benchmark has the answer of the one host that compared it, whose level takes in the others' parts.
    """
    rows: dict[tuple[str, str, str], dict[str, Comparison]] = {}
    for row in _in_order(fleet.hosts, found):
        for one in found[row.host].comparisons:
            rows.setdefault((one.benchmark, one.a, one.b), {})[row.host] = one
    each = bonferroni(level, len(rows))
    alone = shared_by is not None and len(set(shared_by.values())) == 1
    changes = [_change(key, by_host, each, threshold, alone=alone) for key, by_host in rows.items()]
    return FleetComparison(
        fleet=fleet,
        level=level,
        threshold=threshold,
        benchmarks=tuple(changes),
        shared=shared_by is not None,
        uneven=shared_by is not None and bool(unlike(shared_by, found)),
        notes=tuple(_of_shares(fleet.hosts, shared_by, found)) if shared_by is not None else (),
    )


def unlike(kinds: Mapping[str, str], found: Mapping[str, Comparisons]) -> dict[str, list[str]]:
    """Kinds whose hosts did not offer the same benchmarks: some are in no host's part, some in two."""
    offered: dict[str, dict[str, str]] = defaultdict(dict)
    for host, one in found.items():
        if one.part_of:  # none where it could not be asked, which its own row tells
            offered[kinds.get(host, "")].setdefault(one.part_of, host)
    return {kind: sorted(hosts.values()) for kind, hosts in offered.items() if len(hosts) > 1}


def _of_shares(
    hosts: Sequence[HostRow], kinds: Mapping[str, str], found: Mapping[str, Comparisons]
) -> Iterator[str]:
    """Parts that nobody compared, and hosts that are said to be equal and state something else."""
    for names in unlike(kinds, found).values():
        yield (
            f"{enumerated(names)} do not offer the same benchmarks, so that some were compared on none of"
            " them: give them different kinds"
        )
    for row in hosts:
        if row.host not in found:
            yield f"{row.host} has no result, and its part of the benchmarks none on hosts of its kind"
    by_kind: dict[str, dict[str, str]] = defaultdict(dict)
    for row in hosts:
        if row.machine:
            by_kind[kinds.get(row.host, "")].setdefault(row.machine, row.host)
    for kind, machines in by_kind.items():
        if len(machines) > 1:
            told = "; ".join(f"{host}: {machine}" for machine, host in machines.items())
            yield f"hosts of {f'kind {kind}' if kind else 'one kind'} are no equal machines ({told})"


def _in_order(hosts: Sequence[HostRow], found: Mapping[str, Comparisons]) -> list[HostRow]:
    return [row for row in hosts if row.host in found]


def _change(
    key: tuple[str, str, str],
    by_host: Mapping[str, Comparison],
    level: float,
    threshold: float,
    *,
    alone: bool = False,
) -> FleetChange:
    benchmark, a, b = key
    hosts = tuple(
        HostChange(
            host=host, ratio=one.ratio, low=one.low, high=one.high, verdict=one.verdict, reason=one.reason
        )
        for host, one in by_host.items()
    )
    known = [(log, _error(one)) for one in by_host.values() if (log := _log_change(one)) is not None]
    told = FleetChange(
        benchmark=benchmark, a=a, b=b, hosts=hosts, known_on=len(known), verdict=_untimed(hosts)
    )
    if alone and len(by_host) == 1:
        (one,) = by_host.values()
        known_there = {"ratio": one.ratio, "low": one.low, "high": one.high, "verdict": one.verdict}
        return told.model_copy(update={**known_there, "regression": one.regression})
    if len(known) < FEWEST_HOSTS or told.verdict is Verdict.UNCHANGED_CODE:
        return told
    summary = across_hosts([log for log, _ in known], [error for _, error in known], level)
    low, high = _interval(summary.low, summary.high)
    predicted_low, predicted_high = _interval(summary.predicted_low, summary.predicted_high)
    verdict, regression = _judged(low, high, threshold)
    return told.model_copy(
        update={
            "ratio": _interval(summary.mean, summary.mean)[0],
            "low": low,
            "high": high,
            "predicted_low": predicted_low,
            "predicted_high": predicted_high,
            "between": summary.between,
            "agree": None if math.isnan(summary.agree_p) else summary.agree_p >= _DIFFER_P,
            "verdict": verdict,
            "regression": regression,
        }
    )


def _log_change(one: Comparison) -> float | None:
    """Logarithm of the change on a host; 0 where both sides execute the same code; None: it is not known.

    Leaving unchanged hosts out would tell only of those where something changed.
    """
    if one.verdict is Verdict.UNCHANGED_CODE:
        return 0.0
    return math.log(one.ratio) if one.ratio is not None and one.verdict in _TIMED else None


def _untimed(hosts: Sequence[HostChange]) -> Verdict:
    """Where no mean can be had: what all hosts say alike, else that it is open."""
    verdicts = {one.verdict for one in hosts}
    return verdicts.pop() if len(verdicts) == 1 and not verdicts & _TIMED else Verdict.INCONCLUSIVE


def _error(one: Comparison) -> float:
    """Standard error of a host's log ratio, by the width of its interval; NaN where it has none."""
    if one.low is None or one.high is None:
        return math.nan
    return (math.log(one.high) - math.log(one.low)) / (2 * float(ndtri(0.5 + one.level / 2)))


def _interval(low: float, high: float) -> tuple[float, float] | tuple[None, None]:
    """Of logarithms as ratios; none where a float holds none so large: it would say nothing.

    With two hosts and a hundred thousand benchmarks t is over a million.
    """
    if not (abs(low) < _FARTHEST_LOG and abs(high) < _FARTHEST_LOG):
        return None, None
    return math.exp(low), math.exp(high)


def _judged(low: float | None, high: float | None, threshold: float) -> tuple[Verdict, bool]:
    """As a comparison on one host is: (verdict, whether it is a regression)."""
    if low is None or high is None:
        return Verdict.INCONCLUSIVE, False
    if low > 1.0:
        return Verdict.SLOWER, low > 1.0 + threshold
    if high < 1.0:
        return Verdict.FASTER, False
    within = high <= 1.0 + threshold and low >= 1.0 / (1.0 + threshold)
    return (Verdict.NO_DIFFERENCE if within else Verdict.INCONCLUSIVE), False
