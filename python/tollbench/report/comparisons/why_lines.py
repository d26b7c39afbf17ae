"""The words and numbers of an explanation, the same in every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tollbench import numbers
from tollbench.compare.explanations import Amounts, Explanation, Explanations, FunctionChange
from tollbench.report.comparisons.early_ends import early_end
from tollbench.text import clean

SIMULATED = (
    "Instructions, calls and allocations are counted under Valgrind; misses and mispredicted branches are"
    " simulated (callgrind --cache-sim=yes --branch-sim=yes), and nothing is timed."
)
DOING = (
    "“Its doing” is the part of the change that began in a function: more instructions of its own, and calls"
    " that it added with all they take. What it gains as it is called more often is its caller's doing."
)


@dataclass(frozen=True, slots=True)
class WhyLine:
    """One function as text."""

    item: FunctionChange
    function: str
    where: str  # "inlined into f", "in libc.so.6", "parse.cpp:12-20"
    doing: str  # "+56 (92 %)"
    own: str  # "1,234 → 1,290"
    calls: str
    allocations: str
    misses: str
    code: str


def headline(found: Explanations) -> str:
    """The sentence of the only benchmark, or how many there are."""
    if len(found.explanations) == 1:
        return clean(found.explanations[0].sentence)
    told = [(sum(bool(each.functions) for each in found.explanations), "explained")]
    told += [(sum(bool(each.unchanged_code) for each in found.explanations), "of unchanged code")]
    told += [(sum(each.failed for each in found.explanations), "failed")]
    return f"{len(found.explanations)} benchmarks: " + ", ".join(f"{n} {word}" for n, word in told if n)


def footnotes(explanations: Iterable[Explanation]) -> Sequence[str]:
    """What holds for all tables of functions."""
    return (DOING, SIMULATED) if any(each.functions for each in explanations) else ()


def closing(found: Explanations) -> Sequence[str]:
    """What stands below everything."""
    sandbox = [f"All sides ran in a sandbox of {clean(found.sandbox)}."] if found.sandbox else []
    ended = [early] if (early := early_end(found)) else []
    return (*footnotes(found.explanations), *map(clean, found.notes), *sandbox, *ended)


def lines(found: Explanation) -> list[WhyLine]:
    """The likeliest function first."""
    return [_line(each) for each in found.functions]


def _line(item: FunctionChange) -> WhyLine:
    places = [f"in {item.file}"] if item.file else []
    if item.inlined_into:
        places.append("inlined into " + ", ".join(clean(each) for each in item.inlined_into[:3]))
    if item.source:
        places.append(_short(item.source))
    share = f" ({numbers.percent(item.share)})" if item.share is not None else ""
    return WhyLine(
        item,
        function=clean(item.called),
        where=clean("; ".join(places)),
        doing=f"{signed(item.doing)}{share if item.doing else ''}",
        own=both(item.instructions),
        calls=both(item.calls) if item.calls is not None else numbers.MISSING,
        allocations=both(item.allocations),
        misses=misses(item),
        code=clean(state(item)),
    )


def misses(item: FunctionChange | Explanation) -> str:
    """Those that changed, by name."""
    told = []
    for amounts, name in (
        (item.data_misses, "data"),
        (item.memory_misses, "last level"),
        (item.mispredicted, "branches"),
    ):
        if amounts is not None and abs(amounts.more) >= 0.01:
            told.append(f"{name} {signed(amounts.more)}")
    return ", ".join(told) or numbers.MISSING


def state(item: FunctionChange) -> str:
    """Of its code."""
    if item.changed is None:
        return "not compared"
    return f"changed: {item.code}" if item.changed else "unchanged"


def totals(found: Explanation) -> list[tuple[str, Amounts]]:
    """What the benchmark takes in all."""
    named = (
        ("instructions", found.instructions),
        ("allocations", found.allocations),
        ("data misses, first level (simulated)", found.data_misses),
        ("misses, last level (simulated)", found.memory_misses),
        ("mispredicted branches (simulated)", found.mispredicted),
        ("system calls", found.system_calls),
    )
    return [(name, amounts) for name, amounts in named if amounts is not None]


def notes(found: Explanation) -> Sequence[str]:
    """Sentences below the table."""
    told = [f"code: {found.code}"] if found.code else []
    return [clean(each) for each in (*told, *found.notes)]


def both(amounts: Amounts) -> str:
    """Before and after, once where they are the same."""
    if abs(amounts.more) < 1e-6:
        return number(amounts.b)
    return f"{number(amounts.a)} → {number(amounts.b)}"


def number(value: float) -> str:
    """Whole numbers in full, others with two decimals."""
    if abs(value - round(value)) < 1e-6 or abs(value) >= 1000:
        return numbers.fixed(float(round(value)), 0)
    return numbers.fixed(value, 2)


def signed(value: float) -> str:
    """With its sign."""
    text = number(abs(value))
    return "0" if text in ("0", "0.00") else f"{'+' if value > 0 else '−'}{text}"


def _short(source: str) -> str:
    return source.rsplit("/", 1)[-1]
