"""A verdict in words: what is known, what it rests on, and what would make it known better."""

from __future__ import annotations

import math

from tollbench import numbers
from tollbench.compare.evidence import Evidence
from tollbench.compare.subject import LAYOUTS
from tollbench.compare.verdicts import Verdict
from tollbench.stats import equivalence
from tollbench.stats.sequential import Bounds
from tollbench.stats.shapes import Shapes

LONGEST_S = 3 * 86400.0  # of a forecast
SPENT = 0.8  # of the budget: of who had less, the time for all was the limit
SEEN = 0.001  # a spread below it is not worth its words


def sentence(verdict: Verdict, bounds: Bounds, threshold: float, evidence: Evidence) -> str:
    """On a verdict that is no failure; `bounds` on the log scale, `threshold` a share."""
    known = _known(verdict, bounds, threshold, evidence)
    return f"{known}{_of_noise(verdict, evidence)}{_of_layout(evidence)}"


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
    possible = f"a difference of up to {numbers.difference(_widest(*bounds))}{mean} remains possible"
    if not evidence.offered:
        return f"{possible}; {_forecast(evidence, least)}"
    return f"{possible}; {_what_it_takes(evidence, least)}"


def _too_few(evidence: Evidence) -> str:
    fewest, offered, pairs = evidence.fewest, evidence.offered, evidence.pairs
    if offered:
        return _too_few_layouts(evidence)
    if evidence.needed is None:
        return f"its turn did not come; {fewest} pairs of launches are needed{_total_budget(evidence)}"
    more = f"{rough(evidence.needed.seconds)} more{_options(evidence)}"
    if pairs >= fewest:
        return f"{pairs} pairs of launches have no interval yet; as many again take about {more}"
    about = "about" if pairs else "more than"
    had = f"{pairs} pairs of launches fitted into the time; at least {fewest} are needed"
    return f"{had}, which takes {about} {more}"


def _too_few_layouts(evidence: Evidence) -> str:
    fewest, offered = evidence.fewest, evidence.offered
    if offered < fewest:
        return (
            f"{offered} layouts are too few; at least {fewest} are needed at this level: --layouts {fewest}"
        )
    told = (
        f"{evidence.pairs} pairs of launches, of {evidence.layouts} of {offered} layouts, fitted into the"
        f" time; {2 * offered} are needed"
    )
    return f"{told}{_twice_each(evidence)}: --budget, --total-budget"


def _twice_each(evidence: Evidence) -> str:
    """How long it takes until each layout was launched twice, behind a sentence that asks for it."""
    if not evidence.pairs or not evidence.seconds:
        return ", and none was launched: the time is too short for one"
    more = max(1.0, evidence.seconds * (2 * evidence.offered / evidence.pairs - 1.0))
    return f", which takes about {rough(more)} more"


def _total_budget(evidence: Evidence) -> str:
    limits = evidence.limits
    if limits is None:
        return " (--total-budget)"
    return f": `--total-budget {_option(2 * limits.total_s / limits.share)}`"


def _forecast(evidence: Evidence, least: str) -> str:
    """How much more time would do, and which option gives it."""
    needed = evidence.needed
    if needed is None:
        return f"how long ± {least} takes is not known, as nobody noted what its launches took"
    if needed.seconds > LONGEST_S:
        return f"± {least} needs days more"
    return f"± {least} needs about {rough(needed.seconds)} more{_options(evidence)}"


def _options(evidence: Evidence) -> str:
    """What gives the time that is needed, behind a sentence that says how much that is."""
    had, needed, limits = evidence.seconds, evidence.needed, evidence.limits
    if needed is None or limits is None:
        return " (--budget, --total-budget)"
    options = []
    if had + needed.seconds > limits.budget_s:
        options.append(f"--budget {_option(had + needed.seconds)}")
    # What a benchmark lacks of its budget the time for all has taken: all of that grows alike.
    short_of_all = had < SPENT * limits.budget_s
    if short_of_all or had + needed.seconds > limits.total_s:
        grown = limits.total_s * (had + needed.seconds) / had if short_of_all else had + needed.seconds
        options.append(f"--total-budget {_option(grown / limits.share)}")
    return f": `{' '.join(options)}`" if options else ""


def rough(seconds: float) -> str:
    """ "45 s", "12 min", "3 h"; as rough as a forecast is."""
    if seconds < 100:
        return f"{_two_digits(seconds)} s"
    return f"{_two_digits(seconds / 60)} min" if seconds < 6000 else f"{_two_digits(seconds / 3600)} h"


def _option(seconds: float) -> str:
    """A length of time as options take it, rounded up."""
    seconds = round(seconds, 6)  # what is divided by a share and multiplied again is no longer whole
    if seconds <= 120:
        return f"{max(1, math.ceil(seconds / 5) * 5)}s"
    return f"{math.ceil(seconds / 60)}m" if seconds <= 7200 else f"{math.ceil(seconds / 3600)}h"


def _two_digits(value: float) -> int:
    return max(1, math.ceil(value)) if value < 100 else math.ceil(value / 10) * 10


def _what_it_takes(evidence: Evidence, least: str) -> str:
    """What launches scatter by goes with more of them; what layouts do, with more layouts."""
    needed = evidence.needed
    if needed is None:
        return f"what narrows it is known once each layout was launched twice{_twice_each(evidence)}"
    if needed.layouts > LAYOUTS[-1]:
        return f"to know it to ± {least} takes more than {LAYOUTS[-1]:,} layouts"
    layouts = f"--layouts {needed.layouts}" if needed.layouts else ""
    time = f"{max(1, math.ceil(needed.seconds)):,} s a benchmark (--budget, --total-budget)"
    takes = " and ".join(filter(None, [layouts, time if needed.seconds or not layouts else ""]))
    return f"to know it to ± {least} takes about {takes}"


def of_shapes(verdict: Verdict, shapes: Shapes, whose: str) -> str:
    """Where mean or tail differ otherwise than the medians do; `whose` launches are the other ones."""
    mean, tail = _change(shapes.mean_ratio), _change(shapes.tail_ratio)
    told = f"the mean changed by {mean}, the slowest tenth by {tail}"
    if verdict is Verdict.NO_DIFFERENCE:
        return (
            f" of medians, but some of its launches are not like {whose}: {told};"
            " that is what there is to know, and more time gives no other verdict"
        )
    return f"; its launches are spread otherwise: {told}"


def _change(ratio: float) -> str:
    return f"{'+' if ratio >= 1.0 else '−'}{numbers.difference(abs(ratio - 1.0))}"


def _of_noise(verdict: Verdict, evidence: Evidence) -> str:
    """Noise of one side that lasts over pairs is what a coin for each pair does not turn."""
    if evidence.lasting is not None:
        return (
            f"; noise lasts from pair to pair (correlation {evidence.lasting:.2f}), as if one side alone"
            " had a neighbour: the interval is widened for it"
        )
    if evidence.hidden and verdict is not Verdict.INCONCLUSIVE:
        return f"; {evidence.pairs} pairs could not show noise of one side that lasts"
    return ""


def _of_layout(evidence: Evidence) -> str:
    """What layout does to one side, which is not what the change does."""
    if evidence.spread is None:
        return ""
    spread = math.expm1(evidence.spread)
    if spread < SEEN:
        return "; what layout alone does cannot be told from what launches scatter by"
    return f"; layout alone moves this benchmark by ± {numbers.difference(spread)}"


def _widest(low: float, high: float) -> float:
    """The larger end, as the table writes it: of "-41 % to +14 %" 41 %, and not the way back, 70 %."""
    if max(-low, high) < math.log(numbers.FACTOR):
        return max(-math.expm1(low), math.expm1(high))
    return equivalence.bound(low, high)


def _by(low: float, high: float) -> str:
    """ "by 1.0 % to 3.2 %", as the table writes changes; from tenfold on "by 2,250 to 2,290 times"."""
    least, most = sorted((abs(low), abs(high)))
    if most < math.log(numbers.FACTOR) or not math.isfinite(most):
        shares = sorted(abs(math.expm1(end)) for end in (low, high))
        return f"by {numbers.difference(shares[0])} to {numbers.difference(shares[1])}"
    return f"by {numbers.plain(math.exp(least), 4)} to {numbers.plain(math.exp(most), 4)} times"
