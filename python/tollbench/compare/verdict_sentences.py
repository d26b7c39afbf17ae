"""A verdict in words: what is known, what it rests on, and what would make it known better."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tollbench import numbers
from tollbench.compare.verdicts import Verdict
from tollbench.stats import equivalence
from tollbench.stats.sequential import Bounds

SEEN = 0.001  # a spread below it cannot be told from none


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one verdict rests on."""

    middle: float  # log ratio; NaN without pairs
    pairs: int
    fewest: int  # pairs, or layouts, without which there is no interval
    layouts: int = 0  # of each side that were launched; 0: the sides as they are
    spread: float | None = None  # standard deviation between layouts of one side, log scale; None: not known
    needed_layouts: int = 0  # to know the ratio to the threshold; 0: more launches of these are enough
    needed_s: float = 0.0  # wall time that either would take


def sentence(verdict: Verdict, bounds: Bounds, threshold: float, evidence: Evidence) -> str:
    """On a verdict that is no failure; `bounds` on the log scale, `threshold` a share."""
    known = _known(verdict, bounds, threshold, evidence)
    return f"{known}{_of_layout(evidence)}"


def _known(verdict: Verdict, bounds: Bounds, threshold: float, evidence: Evidence) -> str:
    least = numbers.difference(threshold)
    largest = numbers.difference(equivalence.bound(*bounds))
    mean = f" on average over {evidence.layouts} layouts" if evidence.layouts else ""
    if verdict in (Verdict.SLOWER, Verdict.FASTER):
        told = f"{verdict} {_by(*bounds)}{mean}"
        low, high = bounds if verdict is Verdict.SLOWER else (-bounds.high, -bounds.low)
        if low > math.log1p(threshold):
            return told
        within = high <= math.log1p(threshold)
        return told + (f", within {least}" if within else f"; whether by more than {least} is open")
    if verdict is Verdict.NO_DIFFERENCE:
        return f"no difference larger than {largest}{mean}"
    if not (math.isfinite(bounds.low) and math.isfinite(bounds.high)):
        return _too_few(evidence)
    possible = f"a difference of up to {largest}{mean} remains possible"
    if not evidence.layouts:
        return f"{possible}; a larger --budget narrows it"
    return f"{possible}; to know it to ± {least} takes about {_what_it_takes(evidence)}"


def _too_few(evidence: Evidence) -> str:
    if not evidence.layouts:
        return (
            f"{evidence.pairs} pairs of launches fitted into the time; at least {evidence.fewest} are needed:"
            " --budget, --total-budget"
        )
    if evidence.layouts < evidence.fewest:
        return (
            f"{evidence.layouts} layouts were measured; at least {evidence.fewest} are needed at this level:"
            f" --layouts {evidence.fewest}, --budget, --total-budget"
        )
    return f"{evidence.pairs} pairs of launches fitted into the time: --budget, --total-budget"


def _what_it_takes(evidence: Evidence) -> str:
    """As options. What launches scatter by goes with more of them; what layouts do, with more layouts."""
    budget = f"--budget {math.ceil(evidence.needed_s)}s"
    return f"--layouts {evidence.needed_layouts} {budget}" if evidence.needed_layouts else budget


def _of_layout(evidence: Evidence) -> str:
    """What layout does to one side, which is not what the change does."""
    if not evidence.layouts or evidence.spread is None:
        return ""
    spread = math.expm1(evidence.spread)
    if spread < SEEN:
        return "; layout alone does not move this benchmark visibly"
    return f"; layout alone moves this benchmark by ± {numbers.difference(spread)}"


def _by(low: float, high: float) -> str:
    """ "by 1.0 % to 3.2 %", as the table writes changes; from tenfold on "by 2,250 to 2,290 times"."""
    least, most = sorted((abs(low), abs(high)))
    if most < math.log(numbers.FACTOR) or not math.isfinite(most):
        shares = sorted(abs(math.expm1(end)) for end in (low, high))
        return f"by {numbers.difference(shares[0])} to {numbers.difference(shares[1])}"
    return f"by {numbers.plain(math.exp(least), 4)} to {numbers.plain(math.exp(most), 4)} times"
