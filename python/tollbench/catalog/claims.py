"""Reads the claims of published.toml: what a document concludes about a workload, and what decides it.

A claim may compare with rows of another workload, so claims are read once all workloads are known.
docs/suites.md has every key, docs/method.md how a factor is read.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from tollbench.catalog import environments
from tollbench.catalog.suite_rules import NAME
from tollbench.catalog.toml_files import Entry, error_at, read, unknown_key
from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.words import (
    HOST,
    PERCENTILES,
    Claim,
    ClaimCheck,
    ClaimSide,
    Contender,
    Kind,
    Parameter,
    Parameters,
    Relation,
    Workload,
)

DOCUMENTS = "suites/documents.toml"
OF_GRIDS = ("inside", "across")  # statistics of a workload whose samples belong to pairs of CPUs
TIMES = ("ns", "us", "ms", "s")
TOLERANCE = math.sqrt(2.0)  # of a factor that the document names: "twice", "ten times"
ALIKE = 1.25  # of "similar", "as fast as"


class _Document(Entry):
    title: str
    year: int


class _Documents(Entry):
    documents: dict[str, _Document]


class _Side(Entry):
    workload: str = ""
    contender: str = ""
    environment: str = ""
    parameters: dict[str, int | str] = Field(default_factory=dict)
    statistic: str = ""
    number: float | None = None
    unit: str = ""


class _Check(Entry):
    """`environment`, `parameters` and `statistic` are of both sides, as far as one says nothing else."""

    left: str | _Side
    relation: str
    right: str | _Side
    factor: float = 1.0
    tolerance: float | None = None
    environment: str = HOST.name
    parameters: dict[str, int | str] = Field(default_factory=dict)
    statistic: str = "value"


class ClaimEntry(Entry):
    """One `[[claims]]` as it is written."""

    name: str
    claim: str
    document: str
    place: str
    checks: list[_Check]
    note: str = ""


def documents(root: Path) -> Mapping[str, tuple[str, int]]:
    """Title and year of each document that claims may come from, by its short name."""
    file = root / DOCUMENTS
    if not file.is_file():
        return {}
    return {name: (each.title, each.year) for name, each in read(file, _Documents).documents.items()}


def usual_tolerance(relation: Relation, factor: float) -> float:
    """How much a factor gives way where the claim says nothing else.

    Half way, on a logarithmic scale, between the factor and no difference at all, and never more than the
    root of 2. "Alike" is within a quarter; a bare direction or bound gives way to nothing.
    """
    if factor == 1.0:
        return ALIKE if relation is Relation.ABOUT else 1.0
    return min(TOLERANCE, math.sqrt(max(factor, 1.0 / factor)))


def claims_of(
    file: Path,
    entries: Sequence[ClaimEntry],
    workload: Workload,
    others: Mapping[str, Workload],
    known: Mapping[str, tuple[str, int]],
) -> tuple[Claim, ...]:
    """The claims that `file` makes about `workload`. Raises TollError for what no run could ever decide."""
    return tuple(_ClaimReader(file, workload, others, entry).claim(known) for entry in entries)


class _ClaimReader:
    """One claim's way from text to record; every mistake names the file and the claim's line."""

    def __init__(
        self, file: Path, workload: Workload, others: Mapping[str, Workload], entry: ClaimEntry
    ) -> None:
        self.file = file
        self.workload = workload
        self.others = others
        self.entry = entry

    def claim(self, known: Mapping[str, tuple[str, int]]) -> Claim:
        entry = self.entry
        if not NAME.fullmatch(entry.name):
            raise self._wrong("has a name that is none", "use a-z, 0-9 and _, a letter first")
        if not entry.claim.strip() or not entry.place.strip() or not entry.checks:
            raise self._wrong("has no sentence, no place or no check", "a reader can do nothing with it")
        if entry.document not in known:
            raise unknown_key(self.file, entry.document, known, f"the claim {entry.name} has no document")
        title, year = known[entry.document]
        checks = tuple(self._check(each) for each in entry.checks)
        return Claim(
            name=entry.name,
            workload=self.workload.name,
            claim=entry.claim,
            document=title,
            year=year,
            place=entry.place,
            checks=checks,
            command=self._command([side for one in checks for side in (one.left, one.right)]),
            note=entry.note,
        )

    def _check(self, check: _Check) -> ClaimCheck:
        if check.relation not in tuple(Relation):
            raise unknown_key(
                self.file, check.relation, tuple(Relation), f"the claim {self.entry.name} has no relation"
            )
        relation = Relation(check.relation)
        left, right = self._side(check.left, check), self._side(check.right, check)
        if not 0 < check.factor < math.inf:
            raise self._wrong("has no possible factor", "write for example factor = 2.0")
        usual = usual_tolerance(relation, check.factor)
        tolerance = usual if check.tolerance is None else check.tolerance
        if left.number is not None and right.number is not None:
            raise self._wrong("compares two numbers of the document", "one side has to be a row")
        if not 1 <= tolerance < math.inf:
            raise self._wrong("has no possible tolerance", "write for example tolerance = 1.25")
        if relation is Relation.LESS and check.factor != 1:
            raise self._wrong('says "less" and a factor', 'write relation = "at_most"')
        units = self._unit(left), self._unit(right)
        if units[0] != units[1] and not {*units} <= {*TIMES}:
            raise self._wrong(f"compares {units[0]!r} with {units[1]!r}", "compare what has one unit")
        return ClaimCheck(left, relation, right, check.factor, tolerance)

    def _side(self, written: str | _Side, check: _Check) -> ClaimSide:
        side = _Side(contender=written) if isinstance(written, str) else written
        if side.number is not None:
            if side.contender or not 0 < side.number < math.inf or not side.unit:
                raise self._wrong("has a side that is no number", 'write { number = 300, unit = "us" }')
            return ClaimSide(number=side.number, unit=side.unit)
        workload = self.others.get(side.workload or self.workload.name)
        if workload is None:
            raise unknown_key(self.file, side.workload, self.others, f"{self.entry.name}: no workload")
        contenders = {each.name: each for each in workload.contenders}
        if side.contender not in contenders:
            what = f"{self.entry.name}: {workload.name} has no contender"
            raise unknown_key(self.file, side.contender, contenders, what)
        shared = check.parameters if not side.workload else {}
        found = ClaimSide(
            workload=workload.name,
            contender=side.contender,
            environment=side.environment or check.environment,
            parameters={**shared, **side.parameters},
            statistic=side.statistic or check.statistic,
        )
        self._possible(found, workload, contenders[side.contender])
        return replace(found, usual=_usual(found, workload, contenders[side.contender]))

    def _possible(self, side: ClaimSide, workload: Workload, contender: Contender) -> None:
        """The row can exist, and it is one row alone in a run with the workload's own parameters."""
        declared = {each.name: each for each in workload.parameters}
        for name in side.parameters:
            if name not in declared:
                raise unknown_key(self.file, name, declared, f"{self.entry.name}: no parameter")
        swept = [
            name for name, each in declared.items() if _is_swept(each) and name not in contender.parameters
        ]
        open_ = [name for name in swept if name not in side.parameters]
        if open_:
            raise self._wrong(
                f"leaves {open_[0]} of {workload.name} open, which has several values",
                f"write parameters = {{ {open_[0]} = ... }}",
            )
        try:
            takes = environments.named(side.environment).languages
        except TollError as error:
            raise self._wrong(f"names no environment: {side.environment}", error.next_step) from None
        if takes and contender.language not in takes:
            raise self._wrong(f"measures {contender.name} in {side.environment}", "it is for other languages")
        details = [each.name for each in workload.details]
        percentiles = [each.key for each in PERCENTILES] if workload.kind is Kind.SAMPLES else []
        statistics = ("value", *percentiles, *OF_GRIDS, *details)
        if side.statistic not in statistics:
            raise unknown_key(self.file, side.statistic, statistics, f"{self.entry.name}: no statistic")

    def _unit(self, side: ClaimSide) -> str:
        """What the side counts; all times are one."""
        if side.number is not None:
            return side.unit
        workload = self.others[side.workload]
        detail = next((each for each in workload.details if each.name == side.statistic), None)
        return detail.unit if detail else workload.unit

    def _command(self, sides: Iterable[ClaimSide]) -> str:
        """`toll run` of just these rows; what each measures by itself needs no option."""
        rows = [side for side in sides if side.number is None]
        words = list(dict.fromkeys(f"{side.workload}/{side.contender}" for side in rows))
        values: dict[str, dict[str, None]] = {}  # of parameters of which some value is not measured by itself
        elsewhere = False
        for side in rows:
            workload = self.others[side.workload]
            contender = next(each for each in workload.contenders if each.name == side.contender)
            elsewhere |= side.environment not in contender.environments
            for parameter in workload.parameters:
                value = side.parameters.get(parameter.name)
                if value is not None and not _measured_anyway(parameter, contender.parameters, value):
                    values[parameter.name] = {}
        for side in rows:
            settings = {**side.usual, **side.parameters}  # --set holds for rows that leave it open as well
            for name in values.keys() & settings.keys():
                values[name][str(settings[name])] = None
        options = ["--set " + shlex.quote(f"{name}={','.join(asked)}") for name, asked in values.items()]
        if elsewhere:
            options.append(f"--env {','.join(dict.fromkeys(side.environment for side in rows))}")
        return " ".join([f"{COMMAND} run", *words, *options])

    def _wrong(self, what: str, next_step: str) -> TollError:
        return error_at(self.file, self.entry.name, f"the claim {self.entry.name} {what}", next_step)


def _is_swept(parameter: Parameter) -> bool:
    return len(parameter.defaults) > 1 or str(parameter.defaults[0]).startswith("1..")


def _usual(side: ClaimSide, workload: Workload, contender: Contender) -> Parameters:
    """What the side leaves open, as a run without --set has it: one value, else it was refused before."""
    return {
        each.name: contender.parameters.get(each.name, each.defaults[0])
        for each in workload.parameters
        if each.name not in side.parameters
    }


def _measured_anyway(parameter: Parameter, own: Parameters, value: int | str) -> bool:
    """Whether a run without --set has a row with this value, in short profiles too."""
    usual = parameter.defaults if parameter.quick is None else (parameter.quick,)
    defaults = (own[parameter.name],) if parameter.name in own else usual
    if any(str(default).startswith("1..") for default in defaults):
        return value in (1, 2)  # whatever the number of CPUs
    return value in defaults
