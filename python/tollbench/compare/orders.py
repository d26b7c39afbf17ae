"""The sides of a benchmark, fastest first: what the verdicts on all pairs of them say together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tollbench.compare.verdicts import Comparison, Comparisons, Order, OrderedSide, Verdict
from tollbench.stats import letters

_APART = {Verdict.FASTER: -1, Verdict.SLOWER: 1}


def with_orders(found: Comparisons) -> Comparisons:
    """With the orders that follow from its verdicts; of all pairs alone."""
    if not found.crosswise:
        return found
    by_name: dict[str, list[Comparison]] = {}
    for item in found.comparisons:
        if item.verdict not in (Verdict.FAILED, Verdict.COUNTED):
            by_name.setdefault(item.benchmark, []).append(item)
    orders = (_order(name, items, found.sides) for name, items in by_name.items())
    return found.model_copy(update={"orders": tuple(order for order in orders if order is not None)})


def _order(name: str, items: Sequence[Comparison], labels: Sequence[str]) -> Order | None:
    """None of two sides, where a pair has no verdict or was never launched, and where verdicts make none.

    Medians of pairs are no total order: of three sides each could be slower than the next. Nor are there
    letters for every pattern (`tollbench.stats.letters`).
    """
    sides = [label for label in labels if any(label in (item.a, item.b) for item in items)]
    if len(sides) < 3 or len(items) != len(sides) * (len(sides) - 1) // 2:
        return None
    if any(item.ratio is None and item.verdict is not Verdict.UNCHANGED_CODE for item in items):
        return None
    place = {label: number for number, label in enumerate(sides)}
    signs = np.zeros((len(sides), len(sides)), dtype=np.int64)  # 1: the row's side is the slower one
    ns: dict[str, float] = {}
    for item in items:
        a, b = place[item.a], place[item.b]
        signs[b, a] = _APART.get(item.verdict, 0)
        signs[a, b] = -signs[b, a]
        ns |= {label: value for label, value in ((item.a, item.a_ns), (item.b, item.b_ns)) if value}
    slower_than = signs.sum(axis=1)
    ranked = sorted(range(len(sides)), key=lambda side: (slower_than[side], ns.get(sides[side], 0.0)))
    signs = signs[np.ix_(ranked, ranked)]
    if (np.triu(signs) > 0).any():
        return None
    groups = letters(signs != 0)
    if not all(groups):
        return None
    return Order(
        benchmark=name,
        places=tuple(
            OrderedSide(side=sides[side], ns=ns.get(sides[side]), groups=tuple(group))
            for side, group in zip(ranked, groups, strict=True)
        ),
    )
