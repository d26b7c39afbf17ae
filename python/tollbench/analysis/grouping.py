"""Which rows answer one question and are compared with each other, and which of them the ratios are to.

A report and the rule that ends a run both ask here, so that a run ends when what is shown is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tollbench.stats import FIRST_LOOK
from tollbench.stats.order_statistics import Floats
from tollbench.words import SETTINGS_OF

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
    @property
    def footing(self) -> Mapping[str, Any]: ...


def swept_parameters(cases: Sequence[Planned], *, keep_apart: bool = True) -> tuple[str, ...]:
    """Parameters of which one contender has several values in one environment; others are its own choice.

    But for those that the workload keeps apart (`SETTINGS_OF` in the footing): cases with different values of
    one are never in one table, in a profile either that measures one value of each contender. Not so with
    `keep_apart` False, where somebody names who is compared with whom. `cases` is all that was planned: what
    failed changes nothing about the question.
    """
    seen: dict[Hashable, set[int | str]] = defaultdict(set)
    for case in cases:
        for name, value in case.parameters.items():
            seen[name, case.contender, case.environment].add(value)
    names = dict.fromkeys(name for case in cases for name in case.parameters)
    several = {key[0] for key, values in seen.items() if isinstance(key, tuple) and len(values) > 1}
    if keep_apart:
        apart = {name for case in cases for name in str(case.footing.get(SETTINGS_OF, "")).split(", ")}
        several |= {name for name in names if name in apart and len(_values(name, cases)) > 1}
    return tuple(name for name in names if name in several)


def _values(name: str, cases: Sequence[Planned]) -> set[int | str]:
    return {case.parameters[name] for case in cases if name in case.parameters}


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
    """The position that ratios are to: the row that no other one beats within rounds; None without numbers.

    `logs` has the logs of the values, shape (rounds, rows), NaN where there is none. Within rounds because
    ratios are: by plain medians a row was "the fastest" to which another one, of 16 % more over the run, had
    a ratio of 0.994. Where rows beat each other in a circle, it is the one that is beaten by least.
    What stands aside is it only where there is nothing else: every ratio to it would say how little the
    work is, not how the contenders compare.
    """
    known = ~np.isnan(logs)
    counts = known.sum(axis=0)
    # Dear rows are launched in fewer rounds than others, and none in fewer than any needs.
    enough = min(counts.max(initial=0) / 2, FIRST_LOOK)
    measured = [position for position, count in enumerate(counts) if count and count >= enough]
    rivals = [position for position in measured if not stands_aside(footings[position])] or measured
    if not rivals:
        return None
    rounds = logs[:, rivals]
    margins: dict[int, float] = {}
    for column in np.argsort(np.nanmedian(rounds, axis=0)).tolist():  # the first one nearly always
        margins[column] = _margin(column, rounds)
        if margins[column] >= 0:
            break
    return rivals[max(margins, key=lambda column: margins[column])]


def _margin(column: int, logs: Floats) -> float:
    """Log ratio of its strongest rival to it, by the median over their rounds; below 0 where it is beaten."""
    behind = logs - logs[:, [column]]
    return float(np.nanmedian(behind[:, ~np.isnan(behind).all(axis=0)], axis=0).min())
