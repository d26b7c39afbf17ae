"""What all formats show of a lake's answer: a sheet of sentences and one table of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tollbench import numbers
from tollbench.estimates import Estimate
from tollbench.lake.lake_answers import (
    AcrossMachines,
    CheapestMachine,
    DifferingVerdicts,
    LakeAnswer,
    LakeCase,
    LakeCases,
    LakeMachine,
    LakeRuns,
    LakeTable,
    LakeTrend,
    TrendStep,
)
from tollbench.report.sentences import status_words
from tollbench.text import clean, several
from tollbench.words import HOST

_SHORT_ID = 8
_OWN = "Each interval holds by itself, at its own run's level."
_NO_POOLING = (
    "A ratio is of two rows of one run, paired by its rounds; no time of one machine is divided by another's."
)


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """One column of text. `links` has, for a page that offers them, what each cell leads to."""

    title: str
    cells: list[str]
    right: bool = True
    rank: int = 0  # how early it goes where a terminal is too narrow; 0: never
    links: list[Mapping[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LakeSheet:
    """An answer in words and one table, whose first column names the row."""

    title: str
    sentences: list[str]
    columns: list[SheetColumn]
    notes: list[str]
    warnings: list[str]
    marked: list[bool] = field(default_factory=list)  # of each row


def sheet(answer: LakeAnswer) -> LakeSheet:
    """Any answer."""
    lines: Mapping[type, Callable[[Any], LakeSheet]] = {
        AcrossMachines: _across,
        CheapestMachine: _cheapest,
        DifferingVerdicts: _differing,
        LakeTrend: _trend,
        LakeRuns: _runs,
        LakeCases: _cases,
        LakeTable: _table,
    }
    return lines[type(answer)](answer)


def machine_text(machine: LakeMachine) -> str:
    """The host's name, or what it is, with enough of the identity to type."""
    return f"{clean(machine.label)} ({machine.machine[:_SHORT_ID]})"


def case_text(case: LakeCase) -> str:
    """The contender, and what else tells it apart."""
    told = [clean(case.environment)] if case.environment != HOST.name else []
    told += [f"{clean(name)}={clean(value)}" for name, value in case.parameters.items()]
    return f"{clean(case.contender)} ({', '.join(told)})" if told else clean(case.contender)


def case_link(case: LakeCase, page: str, **more: str) -> dict[str, str]:
    """Of a page about the case: its name, and what is asked."""
    parameters = " ".join(f"{name}={value}" for name, value in case.parameters.items())
    asked = {"case": f"{case.workload}/{case.contender}", "environment": case.environment}
    return {"page": page, **asked, "parameters": parameters, **more}


def _beside(found: AcrossMachines, reference: str) -> str:
    if not found.judged_on:
        return f"No machine has launches enough of it and of {reference} for their ratio's interval."
    return (
        f"It takes longer than {reference} on {found.slower_on} of {found.judged_on} machines, less on"
        f" {found.faster_on}, and could not be told apart on"
        f" {found.judged_on - found.slower_on - found.faster_on}."
    )


def _unit(scale: numbers.Scale, per: str) -> str:
    """ "ns per task"; neither is known to be harmless."""
    return f"{clean(scale.unit)} per {clean(per)}"


def _across(found: AcrossMachines) -> LakeSheet:
    scale = numbers.time_scale((row.value.value if row.value else None for row in found.rows), found.unit)
    sentences = [f"{several(len(found.rows), 'machine')} measured it; the newest run of each is shown."]
    columns = [
        SheetColumn(
            "machine",
            [machine_text(row.machine) for row in found.rows],
            right=False,
            links=[case_link(found.case, "trend", machine=row.machine.machine) for row in found.rows],
        ),
    ]
    if found.reference is not None:
        reference = case_text(found.reference)
        sentences.append(_beside(found, reference))
        if found.median_ratio is not None:
            sentences.append(
                f"The ratio on the middle machine is {numbers.ratio(found.median_ratio)}; it goes from"
                f" {numbers.ratio(found.lowest_ratio)} to {numbers.ratio(found.highest_ratio)}."
            )
        columns += _ratios([row.ratio for row in found.rows])
    columns += [
        *_times(_unit(scale, found.per), [row.value for row in found.rows], scale),
        SheetColumn("", [_why(row.status, row.reason) for row in found.rows], right=False, rank=6),
        SheetColumn("date", [row.started_utc[:10] for row in found.rows], right=False, rank=5),
        SheetColumn("commit", [clean(row.commit)[:12] for row in found.rows], right=False, rank=4),
    ]
    return LakeSheet(
        f"{clean(found.case.workload)}: {case_text(found.case)} over machines",
        sentences,
        _without_empty(columns),
        [f"{_NO_POOLING} {_OWN}"],
        list(found.notes),
    )


def _cheapest(found: CheapestMachine) -> LakeSheet:
    scale = numbers.time_scale((row.value.value for row in found.rows), found.unit)
    first = found.rows[0]
    units = f"{found.per_units:,.0f} {numbers.plural(clean(found.per))}"
    currency = f" {clean(found.currency)}" if found.currency else ""
    sentences = [
        f"{machine_text(first.machine)} is the cheapest: {numbers.plain(first.cost.value)}{currency}"
        f" for {units}, with {clean(first.contender)}."
    ]
    if found.overlapping:
        sentences.append(
            f"The intervals of {several(found.overlapping, 'other machine')} meet its own: it may as well be"
            " one of them."
        )
    if found.unpriced:
        names = ", ".join(machine_text(one) for one in found.unpriced[:5])
        sentences.append(f"{several(len(found.unpriced), 'machine')} without a price left out: {names}.")
    rows = found.rows
    columns = [
        SheetColumn("machine", [machine_text(row.machine) for row in rows], right=False),
        SheetColumn("contender", [clean(row.contender) for row in rows], right=False),
        SheetColumn(f"cost{currency}", [numbers.plain(row.cost.value) for row in rows]),
        SheetColumn("interval", [_plain_interval(row.cost) for row in rows], right=False, rank=1),
        SheetColumn("an hour", [numbers.reported(row.price_per_hour) for row in rows], rank=2),
        *_times(_unit(scale, found.per), [row.value for row in rows], scale),
        SheetColumn("date", [row.started_utc[:10] for row in rows], right=False, rank=5),
    ]
    setting = ", ".join(f"{clean(name)}={clean(value)}" for name, value in found.setting.items())
    what = "each machine's fastest contender" if not found.contender else clean(found.contender)
    return LakeSheet(
        f"{clean(found.workload)}{f', {setting}' if setting else ''}: the cheapest machine",
        sentences,
        columns,
        [
            f"The cost is the price of the whole machine for as long as {what} takes, without what neighbours"
            f" took from work that waits for nobody. {_OWN} The first of many is chosen by its value:"
            " measured again, it mostly costs more."
        ],
        list(found.notes),
    )


def _differing(found: DifferingVerdicts) -> LakeSheet:
    certain = sum(row.differs for row in found.rows)
    sentences = [
        f"Of {several(found.pairs, 'pair')} on {several(found.machines, 'machine')}, verdicts differ in"
        f" {certain}; {several(len(found.rows) - certain, 'more pair')} may do so by chance."
    ]
    if found.judged < found.pairs:
        sentences.append(
            f"{several(found.pairs - found.judged, 'pair')} could not be judged: too few rounds for so many"
            " rows. Name fewer contenders behind the workload."
        )
    rows = found.rows
    columns = [
        SheetColumn("one", [case_text(row.first) for row in rows], right=False),
        SheetColumn("the other", [case_text(row.second) for row in rows], right=False),
        SheetColumn("faster on", [f"{row.first_faster_on:,}" for row in rows]),
        SheetColumn("slower on", [f"{row.second_faster_on:,}" for row in rows]),
        SheetColumn("of machines", [f"{row.judged_on:,}" for row in rows]),
        SheetColumn("by chance", [_chance(row.chance) for row in rows]),
        SheetColumn("", ["differ" if row.differs else "" for row in rows], right=False),
        SheetColumn("fewer on", [_named(row.fewer) for row in rows], right=False, rank=5),
    ]
    return LakeSheet(
        f"{clean(found.workload)}: verdicts that differ between machines",
        sentences,
        _without_empty(columns) if rows else [],
        [
            "All intervals of one machine's table hold together at its run's level. By chance: how probable"
            " it is that so many machines contradict the others where none does, for all pairs together."
        ],
        list(found.notes),
        [row.differs for row in rows],
    )


def _trend(found: LakeTrend) -> LakeSheet:
    scale = numbers.time_scale((point.value.value for point in found.points), found.unit)
    reference = "" if found.reference is None else case_text(found.reference)
    sentences = [f"{several(len(found.points), 'run')} of {machine_text(found.machine)}."]
    for step in found.steps:
        what = f"its ratio to {reference}" if step.of == "ratio" else "its time"
        ends = step.change.value, step.change.low, step.change.high
        sentences.append(
            f"Since {_when(step)} {what}"
            f" is {numbers.ratio(*ends)} {numbers.ratio_interval(*ends)} of what it was."
        )
    if not found.steps:
        sentences.append("No change that stayed was found.")
    sentences += [
        f"Break on {each.started_utc[:10]}: the host states another machine than before"
        f" ({clean('; '.join(each.differs))[:400]}). Values on both sides are not compared."
        for each in found.breaks
    ]
    columns = [
        SheetColumn(
            "date", [point.started_utc[:16].replace("T", " ") for point in found.points], right=False
        ),
        *_ratios([point.ratio for point in found.points]),
        *_times(_unit(scale, found.per), [point.value for point in found.points], scale),
        SheetColumn("commit", [clean(point.commit)[:12] for point in found.points], right=False, rank=2),
        SheetColumn("toll", [clean(point.toll_version) for point in found.points], right=False, rank=5),
        SheetColumn("run", [clean(point.run)[:_SHORT_ID] for point in found.points], right=False, rank=4),
    ]
    changed = {step.run for step in found.steps} | {each.run for each in found.breaks}
    return LakeSheet(
        f"{clean(found.case.workload)}: {case_text(found.case)} on {machine_text(found.machine)}",
        sentences,
        _without_empty(columns),
        [
            f"{_NO_POOLING} {_OWN} Where the time changed and the ratio did not, the machine became another,"
            " not the contender."
        ],
        list(found.notes),
        [point.run in changed for point in found.points],
    )


def _when(step: TrendStep) -> str:
    """The date, and between which two it surely lies where that is not the one."""
    on, first, last = step.started_utc[:10], step.first_utc[:10], step.last_utc[:10]
    return on if first == last else f"{on} (between {first} and {last})"


def _runs(found: LakeRuns) -> LakeSheet:
    total = len(found.runs) + found.left_out
    columns = [
        SheetColumn("run", [clean(run.run)[:_SHORT_ID] for run in found.runs], right=False),
        SheetColumn("name", [clean(run.name) for run in found.runs], right=False, rank=5),
        SheetColumn("machine", [machine_text(run.machine) for run in found.runs], right=False),
        SheetColumn("date", [run.started_utc[:16].replace("T", " ") for run in found.runs], right=False),
        SheetColumn("cases", [f"{run.cases:,}" for run in found.runs]),
        SheetColumn("launches", [f"{run.launches:,}" for run in found.runs], rank=4),
        SheetColumn("commit", [clean(run.commit)[:12] for run in found.runs], right=False, rank=2),
        SheetColumn("toll", [clean(run.toll_version) for run in found.runs], right=False, rank=6),
    ]
    left = [f"{several(found.left_out, 'older run')} not listed."] if found.left_out else []
    return LakeSheet(
        f"{several(total, 'run')} of {several(found.machines, 'machine')}",
        [f"Workloads: {', '.join(map(clean, found.workloads)) or 'none'}."],
        _without_empty(columns),
        left,
        list(found.notes),
    )


def _cases(found: LakeCases) -> LakeSheet:
    rows = found.rows
    columns = [
        SheetColumn(
            "contender",
            [case_text(row.case) for row in rows],
            right=False,
            links=[case_link(row.case, "machines") for row in rows],
        ),
        SheetColumn("machines", [f"{row.machines:,}" for row in rows]),
        SheetColumn("runs", [f"{row.runs:,}" for row in rows]),
        SheetColumn("fastest in", [f"{row.fastest_in:,}" for row in rows]),
        SheetColumn("newest", [row.newest_utc[:10] for row in rows], right=False),
    ]
    return LakeSheet(
        f"{clean(found.workload)}", [], columns, ["Fastest in: runs, of its setting."], list(found.notes)
    )


def _table(found: LakeTable) -> LakeSheet:
    columns = [
        SheetColumn(
            clean(name),
            [_value(row[at]) for row in found.rows],
            right=bool(found.rows) and all(isinstance(row[at], int | float | None) for row in found.rows),
        )
        for at, name in enumerate(found.columns)
    ]
    left = (
        [f"{several(found.left_out, 'more row')} left out: ask for them with --limit."]
        if found.left_out
        else []
    )
    return LakeSheet("", [], columns if found.rows else [], left, list(found.notes))


def _value(value: str | int | float | bool | None) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else clean(value)


def _ratios(ratios: Sequence[Estimate | None]) -> list[SheetColumn]:
    told = [(one.value, one.low, one.high) if one else (None, None, None) for one in ratios]
    return [
        SheetColumn("ratio", ["" if ends[0] is None else numbers.ratio(*ends) for ends in told]),
        SheetColumn(
            "interval",
            ["" if ends[1] is None else numbers.ratio_interval(*ends) for ends in told],
            right=False,
            rank=1,
        ),
    ]


def _times(title: str, values: Sequence[Estimate | None], scale: numbers.Scale) -> list[SheetColumn]:
    told = [(scale.of(one.value), scale.of(one.low), scale.of(one.high)) if one else None for one in values]
    return [
        SheetColumn(title, ["" if ends is None else numbers.quantity(*ends) for ends in told]),
        SheetColumn(
            "interval ",
            ["" if ends is None or ends[1] is None else numbers.interval(*ends) for ends in told],
            right=False,
            rank=3,
        ),
    ]


def _plain_interval(cost: Estimate) -> str:
    if cost.low is None or cost.high is None:
        return ""
    return f"[{numbers.plain(cost.low)}, {numbers.plain(cost.high)}]"


def _chance(chance: float) -> str:
    return "< 0.01 %" if chance < 1e-4 else numbers.percent(chance)


def _named(machines: Sequence[LakeMachine]) -> str:
    more = f" and {len(machines) - 3} more" if len(machines) > 3 else ""
    return ", ".join(machine_text(one) for one in machines[:3]) + more


def _why(status: str, reason: str) -> str:
    if status == "ok":
        return ""
    return f"{status_words(status)}: {clean(reason)[:120]}" if reason else status_words(status)


def _without_empty(columns: Sequence[SheetColumn]) -> list[SheetColumn]:
    return [column for at, column in enumerate(columns) if at == 0 or any(column.cells)]
