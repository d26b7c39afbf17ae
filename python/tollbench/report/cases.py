"""How a case is called within its workload: only what tells it apart from its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tollbench.analysis.results import NamedCase, Row, WorkloadResult
from tollbench.text import clean

_HOST = "host"  # the environment that goes without saying
_UNLESS = "unless a row says otherwise"

_Setting = tuple[str, str, str, tuple[tuple[str, str], ...]]  # parameter, contender, environment, the others


_C = TypeVar("_C", bound=NamedCase)


@dataclass(frozen=True, slots=True)
class Naming:
    """What varies between the cases of one workload, what all of them share, and what most of them do."""

    by_environment: bool
    varying: tuple[str, ...]
    shared: tuple[tuple[str, str], ...]
    usual: tuple[tuple[str, str], ...]  # of `varying`: the value that more than half of the rows have
    apart: frozenset[_Setting]  # where rows of one contender differ in this parameter alone
    environment: str  # of all rows, or "host" where some rows are in another; "" where neither is so

    @staticmethod
    def of(workload: WorkloadResult) -> Naming:
        """Reads off the rows which of environment and parameters differ."""
        rows = workload.rows
        environments = list(dict.fromkeys(row.environment for row in rows))
        names = list(dict.fromkeys(name for row in rows for name in row.parameters))
        values = {name: Counter(_value(row, name) for row in rows) for name in names}
        varying = tuple(name for name in names if len(values[name]) > 1)
        most = {name: values[name].most_common(1)[0] for name in names}
        usual = tuple(
            (name, most[name][0]) for name in varying if most[name][0] and 2 * most[name][1] > len(rows)
        )
        alone = environments[0] if len(environments) == 1 else ""
        return Naming(
            by_environment=len(environments) > 1,
            varying=varying,
            shared=tuple((clean(n), clean(most[n][0])) for n in names if n not in varying),
            usual=usual,
            apart=_apart(rows, [name for name, _ in usual]),
            environment=clean(alone or (_HOST if _HOST in environments else "")),
        )

    def within(self, workload: WorkloadResult) -> Naming:
        """The same below a heading that names the setting, as the rows of `by_setting` stand."""
        if not is_split(workload):
            return self
        return replace(
            self,
            varying=tuple(name for name in self.varying if name not in workload.swept),
            usual=tuple((name, value) for name, value in self.usual if name not in workload.swept),
        )

    def common(self, equals: str = "=") -> list[str]:
        """What holds for all rows, piece by piece; last what holds "unless a row says otherwise"."""
        environment = [self.environment] if self.environment else []
        shared = [f"{name}{equals}{value}" for name, value in self.shared]
        usual = [f"{clean(name)}{equals}{clean(value)}" for name, value in self.usual]
        if self.by_environment:
            environment, usual = [], environment + usual
        return environment + shared + ([f"{', '.join(usual)} {_UNLESS}"] if usual else [])

    def qualifiers(self, case: NamedCase) -> tuple[str, ...]:
        """Environment and parameters, as far as they tell this case from others."""
        named = self.by_environment and case.environment != _HOST
        environment = (clean(case.environment),) if named else ()
        return environment + tuple(
            f"{clean(name)}={clean(case.parameters[name])}"
            if name in case.parameters
            else f"no {clean(name)}"
            for name in self.varying
            if self._tells(case, name)
        )

    def _tells(self, case: NamedCase, name: str) -> bool:
        usual = dict(self.usual).get(name)
        if usual is None:
            return name in case.parameters
        return _value(case, name) != usual or _setting(case, name) in self.apart

    def label(self, case: NamedCase) -> str:
        """The contender's name with its qualifiers: "boost_fiber (clang-19, threads=2)"."""
        qualifiers = self.qualifiers(case)
        name = clean(case.contender)
        return f"{name} ({', '.join(qualifiers)})" if qualifiers else name


def _value(case: NamedCase, name: str) -> str:
    return str(case.parameters.get(name, ""))


def _setting(case: NamedCase, name: str) -> _Setting:
    others = sorted((key, str(value)) for key, value in case.parameters.items() if key != name)
    return name, case.contender, case.environment, tuple(others)


def _apart(rows: Sequence[Row], names: Iterable[str]) -> frozenset[_Setting]:
    """Settings in which a contender has several rows: these show the parameter even at its usual value."""
    counts = Counter(_setting(row, name) for name in names for row in rows)
    return frozenset(setting for setting, count in counts.items() if count > 1)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are compared with each other, and with no others of their workload."""

    setting: str  # "mode=hot"; "" where all rows of the workload are one group
    rows: tuple[Row, ...]  # in the order of the workload

    @property
    def best(self) -> Row | None:
        """The row that the others' ratios are to; None where there is nothing to compare."""
        return next((row for row in self.rows if row.fastest), None)

    @property
    def unseen(self) -> str:
        """How many rows the clock cannot see, which may be faster than the best: words behind its name."""
        below = sum(row.below_step is not None for row in self.rows)
        return f" (of those that the clock sees; {below} below its step)" if below else ""

    @property
    def ties(self) -> list[list[str]]:
        """Each row's letters, as far as another row of the group carries them."""
        return shared_ties(row.tie_groups for row in self.rows)

    @property
    def tie_words(self) -> list[str]:
        """The same as words: "abc", or "b c aa" where more groups than letters would make "bcaa" of it."""
        ties = self.ties
        apart = " " if any(len(name) > 1 for own in ties for name in own) else ""
        return [apart.join(own) for own in ties]

    @property
    def with_ties(self) -> list[tuple[Row, bool]]:
        """Each row, and whether it could not be told from the fastest."""
        letters = self.ties
        best = {letter for row, own in zip(self.rows, letters, strict=True) if row.fastest for letter in own}
        return [
            (row, bool(best.intersection(own)) and not row.fastest)
            for row, own in zip(self.rows, letters, strict=True)
        ]

    @property
    def measured(self) -> list[Row]:
        """The rows that have numbers."""
        return [row for row in self.rows if row.status == "ok"]


def groups(workload: WorkloadResult) -> list[Group]:
    """The rows of each setting of what is swept, in the order of the settings; one group of all where no
    setting has two rows."""
    return [Group(setting, tuple(rows)) for setting, rows in by_setting(workload, workload.rows)]


def by_setting(workload: WorkloadResult, cases: Sequence[_C]) -> list[tuple[str, list[_C]]]:
    """Rows or latencies below the words of their setting, empty settings left out."""
    return in_settings(workload, workload.swept if is_split(workload) else (), cases)


def in_settings(
    workload: WorkloadResult, swept: Sequence[str], cases: Sequence[_C]
) -> list[tuple[str, list[_C]]]:
    """Cases by their values of `swept`, some of the workload's swept parameters, in the settings' order."""
    placed: dict[str, list[_C]] = {_words(swept, setting): [] for setting in workload.settings}
    for case in cases:
        placed.setdefault(_words(swept, case.parameters), []).append(case)
    return [(words, members) for words, members in placed.items() if members]


def is_split(workload: WorkloadResult) -> bool:
    """Whether rows stand in groups by setting: not where each setting has one row, which no heading helps."""
    if not workload.swept:
        return False
    counts = Counter(_words(workload.swept, row.parameters) for row in workload.rows)
    return len(counts) > 1 and max(counts.values()) > 1


def _words(swept: Sequence[str], parameters: Mapping[str, int | str]) -> str:
    told = ((name, parameters[name]) for name in swept if name in parameters)
    return ", ".join(f"{clean(name)}={parameter_text(value)}" for name, value in told)


def parameter_text(value: int | str) -> str:
    """The value of a parameter where it stands in words or cells: "100,000"."""
    return f"{value:,}" if isinstance(value, int) else clean(value)


def shared_ties(groups: Iterable[list[str]]) -> list[list[str]]:
    """Each row's letters without those that no other row carries: a letter alone says nothing."""
    rows = [list(dict.fromkeys(letters)) for letters in groups]
    carriers = Counter(letter for letters in rows for letter in letters)
    return [[clean(letter) for letter in letters if carriers[letter] > 1] for letters in rows]
