"""The words and numbers of a comparison, the same in every format."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tollbench import numbers
from tollbench.compare.verdicts import (
    Comparison,
    Comparisons,
    Lacking,
    LaunchUse,
    Order,
    OrderedSide,
    Verdict,
)
from tollbench.report.comparisons import count_lines
from tollbench.report.comparisons.early_ends import early_end
from tollbench.report.comparisons.side_names import which_sides
from tollbench.text import clean

WORDS = {
    Verdict.SLOWER: "slower",
    Verdict.FASTER: "faster",
    Verdict.NO_DIFFERENCE: "no difference",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.FAILED: "failed",
    Verdict.UNCHANGED_CODE: "unchanged code",
    Verdict.COUNTED: "counted",
}
_WHOLE = ("command",)  # benchmarks that are a whole launch, so that what it used is theirs
_NOT_TIMED = (Verdict.UNCHANGED_CODE, Verdict.COUNTED)
_WORST_FIRST = (
    Verdict.SLOWER,
    Verdict.FAILED,
    Verdict.INCONCLUSIVE,
    Verdict.FASTER,
    Verdict.NO_DIFFERENCE,
    Verdict.UNCHANGED_CODE,
    Verdict.COUNTED,
)


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """One row of a table, as text; missing numbers are a dash."""

    item: Comparison
    benchmark: str
    b: str  # in all pairs "B against A"
    a_time: str
    b_time: str
    change: str  # "+2.1 %", "2,270 times as long"
    interval: str  # "+1.0 % to +3.2 %"
    verdict: str
    reason: str


def timed(found: Comparisons) -> list[ComparisonLine]:
    """Without rows of which nothing but counts was asked for."""
    return [line for line in lines(found) if line.item.verdict is not Verdict.COUNTED]


def lines(found: Comparisons) -> list[ComparisonLine]:
    """Regressions first, then what failed or is open, then the rest; else in the order of the benchmarks."""
    ordered = sorted(
        found.comparisons, key=lambda item: (not item.regression, _WORST_FIRST.index(item.verdict))
    )
    return [_line(item, found) for item in ordered]


def _line(item: Comparison, found: Comparisons) -> ComparisonLine:
    a_time, b_time = _times(item)
    return ComparisonLine(
        item,
        benchmark=clean(item.benchmark),
        b=which_sides(item.a, item.b, crosswise=found.crosswise),
        a_time=a_time,
        b_time=b_time,
        change=numbers.MISSING if item.verdict in _NOT_TIMED else change(item.ratio),
        interval=between(item.low, item.high) if item.ratio is not None else numbers.MISSING,
        verdict="REGRESSION" if item.regression else WORDS[item.verdict],
        reason=clean(_sentence(item, found)),
    )


def _sentence(item: Comparison, found: Comparisons) -> str:
    """On the verdict, with what is known of the code."""
    if item.verdict is Verdict.UNCHANGED_CODE:
        return f"{item.code}; {item.reason}"
    of_two = "second side" if len(found.sides) == 2 else "other side"
    a, b = (item.a, item.b) if found.crosswise else ("first side", of_two)
    used = "; ".join(filter(None, (_used(a, item.a_used), _used(b, item.b_used))))
    told = f"{item.reason}; {used}" if used and item.benchmark in _WHOLE else item.reason
    code = f"code {item.code}" if item.code.startswith("changed: ") else item.code
    return f"{told}; {code}" if code else told


def _used(which: str, used: LaunchUse | None) -> str:
    """CPU time, memory and exit codes of one side's launches."""
    if used is None:
        return ""
    memory = f", {numbers.size(used.peak_bytes)} of memory" if used.peak_bytes is not None else ""
    codes = ", ".join(map(str, used.exit_codes))
    return f"{which}: {time(used.cpu_ns)} of CPU time{memory}, exit code {codes}"


def time(ns: float | None, places: int | None = None) -> str:
    """Nanoseconds in a unit that fits them, to so many decimals of a nanosecond or to four digits."""
    if ns is None:
        return numbers.MISSING
    scale = numbers.time_scale([ns], "ns")
    if places is None or ns < 1e-6:
        return f"{numbers.plain(scale.of(ns), 4)} {scale.unit}"
    return f"{numbers.fixed(scale.of(ns), places - round(math.log10(scale.factor)))} {scale.unit}"


def _times(item: Comparison) -> tuple[str, str]:
    """Both to the place that the ratio's interval supports for the shorter one, so that their change is the
    one that stands beside them. Of sides that differ manifold each has its own place."""
    a, b = item.a_ns, item.b_agreeing_ns or item.b_ns
    places = [_places(ns, item) for ns in (a, b)]
    if item.ratio is not None and not _is_factor(item.ratio):
        places = [max((place for place in places if place is not None), default=None)] * 2
    return time(a, places[0]), time(b, places[1])


def _places(ns: float | None, item: Comparison) -> int | None:
    """Decimals of a nanosecond."""
    if ns is None:
        return None
    if item.ratio is None or item.low is None or item.high is None or not item.low < item.high:
        # Nor of an interval of one point: `decimals` takes it for a count, which is known to its last digit.
        return numbers.decimals(ns, None, None)
    # Two digits, of 1.5 and 2.2, would tell another change than that of 50 %.
    return numbers.decimals(ns, ns * item.low / item.ratio, ns * item.high / item.ratio, least=3)


def change(ratio: float | None) -> str:
    """1.021 -> "+2.1 %"; 2270 -> "2,270 times as long"; "?" where an interval has no end."""
    if ratio is None:
        return "?"
    if _is_factor(ratio):
        return f"{_factor(ratio)} as {'long' if ratio > 1.0 else 'fast'}"
    sign = "+" if ratio >= 1.0 else "−"
    return sign + numbers.difference(abs(ratio - 1.0))


def between(low: float | None, high: float | None) -> str:
    """Both ends alike, where both lie on one side: "+1.0 % to +3.2 %", "2,250 to 2,290 times as long"."""
    if (
        low is None
        or high is None
        or low <= 1.0 <= high
        or (low > 1.0 / numbers.FACTOR and high < numbers.FACTOR)
    ):
        return f"{change(low)} to {change(high)}"
    ends = (low, high) if low > 1.0 else (high, low)  # the smaller change first
    least, most = (_factor(end).removesuffix(" times") for end in ends)
    return f"{least} to {most} times as {'long' if low > 1.0 else 'fast'}"


def _is_factor(ratio: float) -> bool:
    return not 1.0 / numbers.FACTOR < ratio < numbers.FACTOR


def _factor(ratio: float) -> str:
    """How many times as long, or as fast."""
    if not 0.0 < ratio < math.inf:
        return "countless times"
    return f"{numbers.plain(max(ratio, 1.0 / ratio), 3)} times"


def headline(found: Comparisons) -> str:
    """One sentence: how many of each verdict."""
    regressions = sum(item.regression for item in found.comparisons)
    counts = [
        (len([item for item in found.comparisons if item.verdict is verdict]), WORDS[verdict])
        for verdict in _WORST_FIRST
    ]
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    threshold = numbers.difference(found.threshold)
    of_counts = count_lines.headline(found)
    if of_counts and not timed(found):
        return of_counts
    more = f"; {of_counts}" if of_counts else ""
    if regressions:
        what = "regression" if regressions == 1 else "regressions"
        return f"{regressions} {what} beyond {threshold} ({told}){more}"
    if all(item.verdict is Verdict.FAILED for item in found.comparisons):
        return f"nothing was compared ({told}){more}" if told else "nothing was compared"
    return f"no regression beyond {threshold} found ({told}){more}"


def order_of(order: Order) -> str:
    """A sentence: who is fastest, and who cannot be told apart."""
    groups = [group for place in order.places for group in place.groups]
    if len(set(groups)) == 1:
        return f"not told apart: {', '.join(_place(place, lettered=False) for place in order.places)}"
    shared = len(set(groups)) < len(groups)
    told = ", ".join(_place(place, lettered=shared) for place in order.places)
    return f"fastest first: {told}" + ("; who shares a letter is not told apart" if shared else "")


def _place(place: OrderedSide, *, lettered: bool) -> str:
    named = f"{clean(place.side)} {time(place.ns)}" if place.ns is not None else clean(place.side)
    return f"{named} ({clean(' '.join(place.groups))})" if lettered and place.groups else named


def _about(layouts: int) -> str:
    """What an interval is about."""
    if layouts:
        return (
            "An interval is about the code and not about one file of it: each side was linked"
            f" {layouts} times with its functions in another order, and the ratio is a mean over these"
            " layouts."
        )
    return (
        "An interval is about these very files: where the linker put their code is a part of it, which"
        " alone can move a benchmark by several per cent. With --build, and of C++ contenders in one"
        " environment, --layouts 16 tells the two apart."
    )


def _twin(item: Lacking, lacking: Sequence[Lacking]) -> str:
    """A benchmark that other sides lack, and that would be the same one but for its letters."""
    for other in lacking:
        if other is not item and _folded(other.benchmark) == _folded(item.benchmark):
            return f" {clean(other.benchmark)} differs from it in case or encoding alone."
    return ""


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def footnotes(found: Comparisons) -> Sequence[str]:
    """What holds for the whole table."""
    against = "of a side against the one behind it" if found.crosswise else f"against {clean(found.sides[0])}"
    notes = [
        f"Changes are of time, {against}; with probability"
        f" {numbers.probability(found.level)} or more all intervals of this table hold together,"
        " although they were looked at while measuring.",
    ]
    if count_lines.any_counts(found) and not timed(found):
        notes = []
    notes += count_lines.footnotes(found)
    if any(item.ratio is not None for item in found.comparisons):
        notes.append(_about(found.layouts))
    if found.sandbox:
        notes.append(f"All sides ran in a sandbox of {clean(found.sandbox)}.")
    compared = {item.benchmark for item in found.comparisons}
    notes += [
        f"{clean(item.benchmark)} is missing in {clean(', '.join(item.missing_in))} and was not compared"
        + (" there." if item.benchmark in compared else ".")
        + _twin(item, found.lacking)
        for item in found.lacking
    ]
    if found.confirm_power is not None:
        notes.append(
            "--confirm has its price where the time is spent: what one measurement of the whole time"
            f" finds in 98 % of comparisons is found by both in {numbers.percent(found.confirm_power)}."
            " A larger --total-budget buys it back."
        )
    notes += map(clean, found.meanwhile)
    if ended := early_end(found):
        notes.append(ended)
    return notes
