"""Which rows answer one question and are compared with each other, and which of them the ratios are to.

A report and the rule that ends a run both ask here, so that a run ends when what is shown is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from toll.stats.order import Floats

Setting = tuple[tuple[str, int | str], ...]  # a value of each swept parameter

FLOOR = "floor"
_ASIDE = (FLOOR, "baseline")


class Planned(Protocol):
    """What identifies a case, stored or not."""

    @property
    def contender(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, int | str]: ...


def swept_parameters(cases: Sequence[Planned]) -> tuple[str, ...]:
    """Parameters of which one contender has several values in one environment; others are its own choice.

    `cases` is all that was planned: what failed changes nothing about the question.
    """
    seen: dict[Hashable, set[int | str]] = defaultdict(set)
    for case in cases:
        for name, value in case.parameters.items():
            seen[name, case.contender, case.environment].add(value)
    names = dict.fromkeys(name for case in cases for name in case.parameters)
    several = {key[0] for key, values in seen.items() if isinstance(key, tuple) and len(values) > 1}
    return tuple(name for name in names if name in several)


def setting_of(case: Planned, swept: Sequence[str]) -> Setting:
    """The setting that a case belongs to: its own values, whether it was swept or fixes them itself."""
    return tuple((name, case.parameters[name]) for name in swept if name in case.parameters)


def settings(cases: Sequence[Planned], swept: Sequence[str]) -> list[Setting]:
    """All settings of the plan: numbers ascending, words in the order in which they were asked for."""
    found = list(dict.fromkeys(setting_of(case, swept) for case in cases))
    words = {pair: rank for rank, pair in enumerate(dict.fromkeys(pair for one in found for pair in one))}

    def place(setting: Setting) -> list[tuple[int, int]]:
        return [(0, value) if isinstance(value, int) else (1, words[name, value]) for name, value in setting]

    return sorted(found, key=place)


def by_setting(cases: Sequence[Planned], swept: Sequence[str]) -> list[list[int]]:
    """Positions in `cases` of those that are compared with each other, a list for each setting."""
    groups: dict[Setting, list[int]] = {}
    for position, case in enumerate(cases):
        groups.setdefault(setting_of(case, swept), []).append(position)
    return [groups[setting] for setting in settings(cases, swept)]


def stands_aside(footing: Mapping[str, Any]) -> bool:
    """Whether a case is no contender (`role` in its footing), but what contenders are held against.

    "floor": what the work itself costs; "baseline": the same without what contenders compete in.
    """
    return footing.get("role") in _ASIDE


def fastest(footings: Sequence[Mapping[str, Any]], logs: Floats) -> int | None:
    """The position that ratios are to: whoever was fastest within rounds; None where nobody has a number.

    `logs` has the logs of the values, shape (rounds, rows), NaN where there is none. Each round's own median
    is taken off first, because ratios are within rounds too: by plain medians a row was "the fastest" to
    which another one, of 16 % more over the run, had a ratio of 0.994.
    What stands aside is it only where there is nothing else: every ratio to it would say how little the
    work is, not how the contenders compare.
    """
    known = ~np.isnan(logs)
    counts = known.sum(axis=0)
    measured = [position for position, count in enumerate(counts) if count and 2 * count >= counts.max()]
    if not measured:
        return None
    rounds = logs[known[:, measured].any(axis=1)][:, measured]
    within = np.nanmedian(rounds - np.nanmedian(rounds, axis=1, keepdims=True), axis=0)
    score = dict(zip(measured, within, strict=True))
    contending = [position for position in measured if not stands_aside(footings[position])]
    return min(contending or measured, key=lambda position: score[position])
