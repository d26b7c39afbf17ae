"""Reads suites/<topic>/<workload>/suite.toml and published.toml.

Strict: a key that nobody reads is an error with its line and the nearest right key, because a misspelt
`footing` would otherwise quietly measure something else than its author meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from tollbench.catalog import environments
from tollbench.catalog.claims import ClaimEntry, claims_of, documents
from tollbench.catalog.suite_rules import LANGUAGES, LIBRARY, NAME, source_of
from tollbench.catalog.toml_files import Entry, error_at, read, unknown_key
from tollbench.errors import TollError
from tollbench.text import enumerated
from tollbench.words import (
    HOST,
    NANOSECONDS,
    PERCENTILES,
    SETTINGS_OF,
    Contender,
    DeclaredDetail,
    Kind,
    Parameter,
    Published,
    Workload,
)

AS_PUBLISHED = "nothing"  # differs: the row has the form of the source's own program
# Of a published value.
STATISTICS = ("value", *(each.key for each in PERCENTILES), "max", "ratio", "cpu_time")


class _Parameter(Entry):
    default: int | str | list[int | str]  # several: all are measured unless one is asked for
    unit: str
    meaning: str
    values: list[int | str] = Field(default_factory=list)
    quick: int | str | None = None  # of several defaults the one that short profiles measure
    apart: bool = False  # whether its values are tables of their own even where each contender has but one


class _Contender(Entry):
    library: str = LIBRARY
    language: str = ""  # told by the source's suffix
    source: str = ""  # as source_of() has it
    needs: list[str] = Field(default_factory=list)
    parameters: dict[str, int | str] = Field(default_factory=dict)
    footing: dict[str, int | str] = Field(default_factory=dict)
    environments: list[str] = Field(default_factory=list)  # those of the suite, where it says nothing
    note: str = ""


class _Detail(Entry):
    title: str
    unit: str
    meaning: str


class _Suite(Entry):
    question: str
    kind: str
    unit: str
    per: str
    answer: str
    parameters: dict[str, _Parameter] = Field(default_factory=dict)
    footing: dict[str, int | str] = Field(default_factory=dict)
    environments: list[str] = Field(default_factory=lambda: [HOST.name])
    headline: list[str] = Field(default_factory=list)
    by_name_only: bool = False
    in_batches: str = ""
    details: dict[str, _Detail] = Field(default_factory=dict)
    contenders: dict[str, _Contender] = Field(default_factory=dict)


class _Source(Entry):
    """What all values of a file share; a value may say otherwise."""

    source: str = ""
    machine: str = ""
    year: int = 0
    unit: str = ""
    per: str = ""
    note: str = ""
    differs: str | list[str] = ""  # AS_PUBLISHED; what sets the row apart; or names of the file's differences


class _PublishedValue(_Source):
    label: str
    contender: str = ""
    environment: str = HOST.name
    statistic: str = "value"  # one of STATISTICS, or a detail that suite.toml declares
    value: float | None = None  # either this, or low and high
    low: float | None = None
    high: float | None = None


class _PublishedFile(Entry):
    source: _Source = Field(default_factory=_Source)
    differences: dict[str, str] = Field(default_factory=dict)  # sentences that `differs` may name
    published: list[_PublishedValue] = Field(default_factory=list)
    claims: list[ClaimEntry] = Field(default_factory=list)


def load(root: Path) -> tuple[Workload, ...]:
    """All workloads of the checkout at `root`, by name. Raises TollError with the file and line."""
    files = sorted((root / "suites").glob("*/*/suite.toml"))
    if not files:
        raise TollError(
            f"no workloads in {root / 'suites'}: no <topic>/<workload>/suite.toml there",
            "run toll from a complete checkout",
        )
    claims: dict[str, Sequence[ClaimEntry]] = {}
    workloads: dict[str, Workload] = {}
    for file in files:
        found, entries = _workload(file)
        workloads[found.name], claims[found.name] = found, entries
    for workload in workloads.values():
        if workload.in_batches and workload.in_batches not in workloads:
            file = workload.directory / "suite.toml"
            raise unknown_key(file, workload.in_batches, workloads, "in_batches: there is no workload")
    known = documents(root)
    told = tuple(
        replace(found, claims=claims_of(_published_file(found), claims[name], found, workloads, known))
        for name, found in workloads.items()
    )
    seen: dict[str, str] = {}
    for workload in told:
        for claim in workload.claims:
            if claim.name in seen:
                what = f"a claim of {seen[claim.name]} has that name already: {claim.name}"
                raise error_at(_published_file(workload), claim.name, what, "give it another name")
            seen[claim.name] = workload.name
    return told


def _published_file(workload: Workload) -> Path:
    return workload.directory / "published.toml"


def _workload(file: Path) -> tuple[Workload, Sequence[ClaimEntry]]:
    """The workload, and its claims as they are written: they may be about rows of workloads read later."""
    suite = read(file, _Suite)
    directory = file.parent
    name = f"{directory.parent.name}/{directory.name}"
    if suite.kind not in tuple(Kind):
        raise error_at(
            file, "kind", f'kind = "{suite.kind}" is not a kind', f"write one of: {', '.join(Kind)}"
        )
    if suite.unit not in NANOSECONDS:
        what = f'unit = "{suite.unit}" is not a unit of time'
        raise error_at(file, "unit", what, f"write one of: {', '.join(NANOSECONDS)}")
    _check_environments(file, name, suite.environments)
    for contender in suite.headline:
        if contender not in suite.contenders:
            raise unknown_key(file, contender, suite.contenders, f"headline: {name} has no contender")
    about = directory / "published.toml"
    content = read(about, _PublishedFile) if about.exists() else _PublishedFile()
    found = Workload(
        name=name,
        question=suite.question,
        kind=Kind(suite.kind),
        unit=suite.unit,
        per=suite.per,
        answer=suite.answer,
        directory=directory,
        parameters=tuple(_parameter(file, key, entry) for key, entry in suite.parameters.items()),
        contenders=tuple(_contender(file, name, suite, key) for key in suite.contenders),
        published=_published(about, content, suite),
        headline=tuple(suite.headline),
        by_name_only=suite.by_name_only,
        in_batches=suite.in_batches,
        details=tuple(_detail(file, key, entry) for key, entry in suite.details.items()),
    )
    return found, content.claims


def _parameter(file: Path, name: str, entry: _Parameter) -> Parameter:
    defaults = _several(entry.default)
    if not defaults:
        raise error_at(file, name, f"parameters.{name} has no default", "write default = 1, or [1, 2]")
    if entry.quick is not None and entry.quick not in defaults:
        what = f"parameters.{name}: quick = {entry.quick!r} is none of its defaults"
        raise error_at(file, "quick", what, f"write one of: {', '.join(map(str, defaults))}")
    return Parameter(name, defaults, entry.unit, entry.meaning, tuple(entry.values), entry.quick)


def _detail(file: Path, name: str, entry: _Detail) -> DeclaredDetail:
    if not NAME.fullmatch(name):
        raise error_at(file, name, f"{name!r} is not a detail's name", "use a-z, 0-9 and _, a letter first")
    if not entry.title.strip() or not entry.meaning.strip():
        what = f"details.{name} has an empty title or meaning"
        raise error_at(file, name, what, "say what the number is: readers see nothing else of it")
    return DeclaredDetail(name, entry.title, entry.unit, entry.meaning)


def _contender(file: Path, workload: str, suite: _Suite, name: str) -> Contender:
    entry = suite.contenders[name]
    if not NAME.fullmatch(name):
        raise error_at(
            file, name, f"{name!r} is not a contender's name", "use a-z, 0-9 and _, a letter first"
        )
    source = file.parent / source_of(name, entry.source)
    if not source.is_file():
        raise error_at(
            file, name, f"the source of {workload} {name} is missing: {source.name}",
            f'write it, or name another one: source = "..." (toll new {workload} {name} starts one)',
        )  # fmt: skip
    for parameter in entry.parameters:
        if parameter not in suite.parameters:
            raise unknown_key(file, parameter, suite.parameters, f"{workload} has no parameter")
    language = entry.language or LANGUAGES.get(source.suffix, "")
    if not language:
        raise error_at(file, name, f"the language of {source.name} is unknown", 'say it: language = "..."')
    _check_environments(file, f"{workload} {name}", entry.environments, language)
    return Contender(
        workload=workload,
        name=name,
        language=language,
        library=entry.library,
        source=source,
        needs=tuple(entry.needs),
        parameters=entry.parameters,
        footing={**_settings(suite), **suite.footing, **entry.footing},
        note=entry.note,
        environments=tuple(environments.named(one).name for one in entry.environments or suite.environments),
    )


def _settings(suite: _Suite) -> dict[str, str]:
    """Which parameters are kept apart, as a footing has it: it goes with each case into the run file."""
    apart = [name for name, entry in suite.parameters.items() if entry.apart]
    return {SETTINGS_OF: ", ".join(apart)} if apart else {}


def _check_environments(file: Path, where: str, asked: list[str], language: str = "") -> None:
    """All have a meaning; a contender's own ones also do something for its language ("": any)."""
    for name in asked:
        try:
            takes = environments.named(name).languages
        except TollError as error:
            what = f"{where} names an environment that does not exist: {name}"
            raise error_at(file, name, what, error.next_step[0].lower() + error.next_step[1:]) from None
        if language and takes and language not in takes:
            what = f"{where} is {language}, which does not take the environment {name}"
            raise error_at(file, name, what, f"leave it out; it is for {enumerated(takes)}")


def _several(default: int | str | list[int | str]) -> tuple[int | str, ...]:
    return tuple(default) if isinstance(default, list) else (default,)


def _published(file: Path, content: _PublishedFile, suite: _Suite) -> tuple[Published, ...]:
    """Values of the literature; they may name contenders that suite.toml lacks: what is absent today."""
    for entry in content.published:
        known = (*STATISTICS, *suite.details)
        if entry.statistic not in known:
            raise unknown_key(file, entry.statistic, known, f'"{entry.label}" has an unknown statistic:')
    return tuple(_published_value(file, content, entry) for entry in content.published)


def _published_value(file: Path, content: _PublishedFile, entry: _PublishedValue) -> Published:
    low = entry.low if entry.low is not None else entry.value
    high = entry.high if entry.high is not None else entry.value
    if low is None or high is None or not -math.inf < low <= high < math.inf:
        what = f'"{entry.label}" has neither a value nor an ordered low and high'
        raise error_at(file, entry.label, what, "write value = 12.5, or low = 10.0 and high = 15.0")
    _check_environments(file, f'"{entry.label}"', [entry.environment])
    own = {name: getattr(entry, name) or getattr(content.source, name) for name in _Source.model_fields}
    for name in ("source", "machine", "year", "unit", "per"):
        if not own[name]:
            what = f'"{entry.label}" has no {name}'
            raise error_at(file, entry.label, what, f"write {name} = ... there or in [source]")
    own["differs"] = _differs(file, content.differences, own["differs"])
    return Published(
        contender=entry.contender,
        label=entry.label,
        low=low,
        high=high,
        statistic=entry.statistic,
        environment=environments.named(entry.environment).name,
        **own,
    )


def _differs(file: Path, differences: Mapping[str, str], told: str | list[str]) -> str:
    """What sets the row apart from the source's program, as readers see it; "" where nothing does."""
    if isinstance(told, str):
        return "" if told == AS_PUBLISHED else told
    for name in told:
        if name not in differences:
            raise unknown_key(file, name, differences, "differs: [differences] has no sentence")
    return "; ".join(differences[name] for name in told)
