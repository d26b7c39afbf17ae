"""What was skipped or failed: each reason once, below it each contender once with the cases it holds for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tollbench.analysis.results import Problem, Results, Row, WorkloadResult
from tollbench.text import clean

_MOST_VALUES = 6  # of a parameter, and
_MOST_CASES = 4  # that are listed one by one


_Lacking = Row | Problem  # a case without numbers, and why


@dataclass(frozen=True, slots=True)
class Affected:
    """A contender of a workload; `where` is "" where it has one case alone."""

    workload: str
    contender: str
    where: str  # "all 6 cases", "threads=2, 4; mode=hot"

    @property
    def name(self) -> str:
        """ "std_mutex (threads=8)"."""
        return f"{self.contender} ({self.where})" if self.where else self.contender


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason and all that it holds for."""

    status: str
    reason: str
    affected: tuple[Affected, ...]


def troubles(results: Results) -> list[Trouble]:
    """All that has no numbers, in the order of the first of each reason."""
    rows = {workload.workload: workload.rows for workload in results.workloads}
    return _grouped(
        (problem.workload, problem, rows.get(problem.workload, [])) for problem in results.problems
    )


def troubles_in(workload: WorkloadResult) -> list[Trouble]:
    """The same of one workload's table."""
    return _grouped((workload.workload, row, workload.rows) for row in workload.rows if row.status != "ok")


def _grouped(cases: Iterable[tuple[str, _Lacking, Sequence[_Lacking]]]) -> list[Trouble]:
    found: dict[tuple[str, str], dict[tuple[str, str], list[_Lacking]]] = {}
    everything: dict[tuple[str, str], list[_Lacking]] = {}
    for workload, case, all_rows in cases:
        who = (workload, case.contender)
        found.setdefault((case.status, case.reason), {}).setdefault(who, []).append(case)
        if who not in everything:
            everything[who] = [row for row in all_rows if row.contender == case.contender]
    return [
        Trouble(
            status,
            reason,
            tuple(
                Affected(clean(who[0]), clean(who[1]), where(held, everything[who] or held))
                for who, held in members.items()
            ),
        )
        for (status, reason), members in found.items()
    ]


def where(held: Sequence[_Lacking], own: Sequence[_Lacking]) -> str:
    """Which of a contender's `own` cases are `held`, in as few words as say it exactly."""
    if len(own) < 2:
        return ""
    if len(held) >= len(own):
        return f"all {len(own)} cases"
    axes = [
        _environment,
        *(_reader(name) for name in dict.fromkeys(n for one in own for n in one.parameters)),
    ]
    told = [axis for axis in axes if len({axis(one) for one in own}) > 1]
    seen = [list(dict.fromkeys(axis(one) for one in held)) for axis in told]
    if prod(map(len, seen)) == len(held):  # every combination of what each parameter was
        return "; ".join(map(_values, seen))
    listed = [", ".join(_values([axis(one)]) for axis in told) for one in held[:_MOST_CASES]]
    rest = len(held) - len(listed)
    return " or ".join(listed) + (f" or {rest} more" if rest else "")


_Value = tuple[str, str]  # name and value; no name for an environment


def _environment(case: _Lacking) -> _Value:
    return "", clean(case.environment)


def _reader(name: str) -> Callable[[_Lacking], _Value]:
    def read(case: _Lacking) -> _Value:
        return clean(name), clean(case.parameters[name]) if name in case.parameters else ""

    return read


def _values(values: Sequence[_Value]) -> str:
    name = values[0][0]
    shown = [value or "none" for _, value in values]
    told = ", ".join(shown)
    if len(shown) > _MOST_VALUES:
        told = f"{', '.join(shown[: _MOST_VALUES - 1])} and {len(shown) - _MOST_VALUES + 1} more"
    return f"{name}={told}" if name else told
