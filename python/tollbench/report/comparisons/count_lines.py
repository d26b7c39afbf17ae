"""The words and numbers of counts, alike in every format: rows for what differs, a line for what is equal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tollbench import numbers
from tollbench.compare.verdicts import Comparisons, CountChange, CountVerdict
from tollbench.report.comparisons.side_names import which_sides
from tollbench.text import clean

_WORDS = {
    CountVerdict.MORE: "more",
    CountVerdict.FEWER: "fewer",
    CountVerdict.EQUAL: "equal",
    CountVerdict.OPEN: "open",
    CountVerdict.FAILED: "not counted",
}
_IN_BYTES = ("bytes", "peak", "size")
_FULL = 1e15  # below it every whole number stands in full


@dataclass(frozen=True, slots=True)
class CountLine:
    """One count that a reader has to look at."""

    item: CountChange
    benchmark: str
    b: str
    metric: str  # "instructions an iteration"
    a_count: str
    b_count: str
    change: str  # "+1 (+0.30 %)"
    verdict: str
    reason: str


@dataclass(frozen=True, slots=True)
class EqualLine:
    """The counts of one benchmark that are the same on both sides."""

    benchmark: str
    b: str
    told: str  # "instructions 334, allocations 0"


OF_FILE = "(file)"  # in place of a benchmark's name


def any_counts(found: Comparisons) -> bool:
    """Whether anything was to be counted."""
    return bool(found.all_counts())


def _by_row(found: Comparisons) -> Iterator[tuple[str, str, Sequence[CountChange]]]:
    for item in found.comparisons:
        yield item.benchmark, which_sides(item.a, item.b, crosswise=found.crosswise), item.counts
    for file in found.files:
        yield OF_FILE, which_sides(file.a, file.b, crosswise=found.crosswise), (file.count,)


def changed(found: Comparisons) -> list[CountLine]:
    """What breaks a rule first, then what differs or is open, then what was not counted; no equal ones."""
    lines = [
        _line(benchmark, b, each)
        for benchmark, b, counts in _by_row(found)
        for each in counts
        if not _is_equal(each)
    ]
    return sorted(lines, key=lambda line: (not line.item.fails, line.item.verdict is CountVerdict.FAILED))


def equal(found: Comparisons) -> Iterator[EqualLine]:
    """A line for each benchmark and side."""
    for benchmark, b, counts in _by_row(found):
        told = [f"{_metric(count)} {_number(count.b, count)}" for count in counts if _is_equal(count)]
        if told:
            yield EqualLine(clean(benchmark), b, ", ".join(told))


def headline(found: Comparisons) -> str:
    """How many counts of each verdict, and how many break a rule; "" where nothing was counted."""
    counts = found.all_counts()
    if not counts:
        return ""
    many = [(sum(each.verdict is verdict for each in counts), word) for verdict, word in _WORDS.items()]
    told = "counts: " + ", ".join(f"{number} {word}" for number, word in many if number)
    broken = sum(bool(each.fails) for each in counts)
    if broken:
        return f"{broken} {'count breaks' if broken == 1 else 'counts break'} --fail-on ({told})"
    return told


def footnotes(found: Comparisons) -> Sequence[str]:
    """What holds for all counts."""
    if not any_counts(found):
        return [*map(clean, found.count_notes)]
    gate = (
        f"The exit code is 1 where a count breaks {' or '.join(map(clean, found.fail_on))}."
        if found.fail_on
        else "Counts are told and do not change the exit code: --fail-on makes them a gate."
    )
    return [gate, *map(clean, found.count_notes)]


def sentence(counts: Sequence[CountChange]) -> str:
    """All counts of a row in one text, for formats without a table of them."""
    return "; ".join(map(_told, counts))


def _told(count: CountChange) -> str:
    if count.verdict is CountVerdict.FAILED:
        return f"{count.metric} not counted: {clean(count.reason)}"
    numbers_told = f"{_metric(count)} {_number(count.a, count)} to {_number(count.b, count)}"
    broken = f", breaks {clean(count.fails)}" if count.fails else ""
    return f"{numbers_told}, {_WORDS[count.verdict]}{broken}"


def _is_equal(count: CountChange) -> bool:
    return count.verdict is CountVerdict.EQUAL and not count.fails


def _line(benchmark: str, b: str, count: CountChange) -> CountLine:
    return CountLine(
        count,
        benchmark=clean(benchmark),
        b=b,
        metric=_metric(count),
        a_count=_number(count.a, count),
        b_count=_number(count.b, count),
        change=_change(count),
        verdict=f"BREAKS {clean(count.fails)}" if count.fails else _WORDS[count.verdict],
        reason=clean(count.reason),
    )


def _metric(count: CountChange) -> str:
    return f"{count.metric} a{'n' * (count.per == 'iteration')} {count.per}" if count.per else count.metric


def _number(value: float | None, count: CountChange) -> str:
    """A whole number in full; a mean of iterations with three decimals."""
    if value is None:
        return numbers.MISSING
    whole = value.is_integer() and abs(value) < _FULL
    return numbers.fixed(value, 0 if whole else 3) + (" B" if count.metric in _IN_BYTES else "")


def _change(count: CountChange) -> str:
    if count.a is None or count.b is None:
        return numbers.MISSING
    if not count.exact and count.low is not None and count.high is not None:
        return f"{_signed(count.low)} to {_signed(count.high)}"
    difference = count.b - count.a
    share = f" ({'+' if difference > 0 else '−'}{_percent(abs(difference) / count.a)})" if count.a else ""
    return f"{_signed(difference)}{share if difference else ''}"


def _percent(share: float) -> str:
    return numbers.percent(share) if math.isfinite(share) else "any amount"


def _signed(value: float) -> str:
    text = numbers.fixed(abs(value), 0 if value.is_integer() else 3)
    return "0" if not value else f"{'+' if value > 0 else '−'}{text}"
