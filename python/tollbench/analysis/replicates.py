"""What is replicated where a program has several layouts of its code: the layout, not the launch.

Launches of a case go through its program's layouts (`tollbench.building.code_layouts`). As long as each has
been launched once, a round is a replicate of its own. Beyond that, rounds of one layout say more of that
layout alone, so they become one: of twenty layouts that differ by 5 %, a thousand launches know each to
0.1 %, and their middle no better than twenty do. It is what `toll compare --layouts` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.analysis.values import ByRound, log_rounds
from tollbench.stats import without_row_effects
from tollbench.stats.order_statistics import Floats

# Of larger tables intervals ask for more replicates than programs have layouts (20: `plan.settings`): their
# rounds count. In a standard run of everything they have fewer rounds than layouts.
MOST_ROWS = 80

Integers = NDArray[np.int64]


class Replicates(NamedTuple):
    """Of several cases, shape (replicates, cases): the log of each one's value, NaN where it has none."""

    numbers: Integers  # of each one's first round, ascending
    logs: Floats


def log_replicates(cases: Sequence[ByRound], last: int | None = None) -> Floats:
    """The logs of `replicates`."""
    return replicates(cases, last).logs


def replicates(cases: Sequence[ByRound], last: int | None = None) -> Replicates:
    """Of cases that are compared with each other; rounds after `last` are left out.

    Rounds, as `log_rounds` has them, where no layout comes twice, or some round has none that is known.
    """
    rounds, layouts = _layouts(cases, last)
    logs = log_rounds(cases, last)
    of_layouts, first = np.unique(layouts, return_index=True)
    if len(cases) > MOST_ROWS or not layouts.all() or not 1 < of_layouts.size < layouts.size:
        return Replicates(rounds, logs)
    first = np.sort(first)
    merged = [without_row_effects(logs[layouts == layouts[at]]) for at in first]
    return Replicates(rounds[first], np.array(merged))


def _layouts(cases: Sequence[ByRound], last: int | None) -> tuple[Integers, Integers]:
    """The rounds, ascending, and which layout each had, shape (rounds,); 0: none that is known.

    Programs of other languages have none, so those of the others tell it. 0 too where a stranger's file has
    two in one round.
    """
    found: dict[int, set[int]] = {}
    for case in cases:
        for number, value in case.items():
            if last is None or number <= last:
                found.setdefault(number, set()).add(value.code_layout)
    rounds = sorted(found)
    known = [found[number] - {0} for number in rounds]
    told = [next(iter(each)) if len(each) == 1 else 0 for each in known]
    return np.array(rounds, dtype=np.int64), np.array(told, dtype=np.int64)
