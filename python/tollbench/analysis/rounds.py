"""The rounds of cases that are compared: their values, and which of them had the same code.

Launches of a case go through its program's layouts (`tollbench.building.code_layouts`), each once before any
comes again. Beyond that, rounds of one layout say more of that layout alone: of twenty that differ by 5 %, a
thousand launches know each to 0.1 %, and their middle no better than twenty do. So the layout is a cluster of
rounds, and what they count for follows from how alike these are (`tollbench.stats.clustered`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tollbench.analysis.values import ByRound, log_rounds
from tollbench.stats import Integers, Pairs, pairs_in
from tollbench.stats.order_statistics import Floats


class Rounds(NamedTuple):
    """Of several cases."""

    numbers: Integers  # ascending, shape (rounds,)
    logs: Floats  # of each case's value, shape (rounds, cases), NaN where a round has none
    layouts: Integers  # that each round had, shape (rounds,); 0: none that is known

    def pairs(self, above: int, below: int) -> Pairs:
        """Of two cases, by their columns."""
        return pairs_in(self.logs[:, above], self.logs[:, below], self.layouts)


def rounds_of(cases: Sequence[ByRound], last: int | None = None) -> Rounds:
    """All rounds of the cases, or those up to `last`; the logs are those of `log_rounds`."""
    layouts = layouts_of(cases)
    numbers = sorted(number for number in layouts if last is None or number <= last)
    return Rounds(
        np.array(numbers, dtype=np.int64),
        log_rounds(cases, last),
        np.array([layouts[number] for number in numbers], dtype=np.int64),
    )


def one_layout(first: Integers, second: Integers) -> Integers:
    """Of two rows' rounds: what either tells, 0 where they contradict each other."""
    apart = (first != second) & (np.minimum(first, second) > 0)
    return np.where(apart, 0, np.maximum(first, second))


def layouts_of(cases: Sequence[ByRound]) -> Mapping[int, int]:
    """Which layout each round had.

    Programs of other languages have none, so those of the others tell it. 0 where nobody does, and where a
    stranger's file has two in one round.
    """
    found: dict[int, set[int]] = {}
    for case in cases:
        for number, value in case.items():
            found.setdefault(number, set()).add(value.code_layout)
    known = {number: told - {0} for number, told in found.items()}
    return {number: next(iter(told)) if len(told) == 1 else 0 for number, told in known.items()}
