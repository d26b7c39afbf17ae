"""How a case is called within its workload: only what tells it apart from its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from toll.analysis.results import WorkloadResult
from toll.report.text import clean


class _Case(Protocol):
    @property
    def contender(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def parameters(self) -> dict[str, int | str]: ...


@dataclass(frozen=True, slots=True)
class Naming:
    """What varies between the cases of one workload, and what all of them share."""

    by_environment: bool
    varying: tuple[str, ...]
    shared: tuple[tuple[str, str], ...]
    environment: str

    @staticmethod
    def of(workload: WorkloadResult) -> Naming:
        """Reads off the rows which of environment and parameters differ."""
        rows = workload.rows
        environments = list(dict.fromkeys(row.environment for row in rows))
        names = list(dict.fromkeys(name for row in rows for name in row.parameters))
        values = {name: {str(row.parameters.get(name, "")) for row in rows} for name in names}
        return Naming(
            by_environment=len(environments) > 1,
            varying=tuple(name for name in names if len(values[name]) > 1),
            shared=tuple((clean(n), clean(next(iter(values[n])))) for n in names if len(values[n]) == 1),
            environment=clean(environments[0]) if len(environments) == 1 else "",
        )

    def qualifiers(self, case: _Case) -> tuple[str, ...]:
        """Environment and parameters, as far as they tell this case from others."""
        environment = (clean(case.environment),) if self.by_environment else ()
        return environment + tuple(
            f"{clean(name)}={clean(case.parameters[name])}"
            for name in self.varying
            if name in case.parameters
        )

    def label(self, case: _Case) -> str:
        """The contender's name with its qualifiers: "boost_fiber (clang-19, threads=2)"."""
        qualifiers = self.qualifiers(case)
        name = clean(case.contender)
        return f"{name} ({', '.join(qualifiers)})" if qualifiers else name


def shared_ties(groups: Iterable[list[str]]) -> list[list[str]]:
    """Each row's letters without those that no other row carries: a letter alone says nothing."""
    rows = [list(dict.fromkeys(letters)) for letters in groups]
    carriers = Counter(letter for letters in rows for letter in letters)
    return [[clean(letter) for letter in letters if carriers[letter] > 1] for letters in rows]
