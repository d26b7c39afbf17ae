"""Runs of `toll run` beside each other in order of time: the same lines, changes and breaks as of commits.

Nothing was launched beside one reference here. A row's ratio to another row of the same run, paired by its
rounds, is free of what the machine was like that day; its time is not, and stands beside those of one machine
alone. No change is looked for from one machine to another, of either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from tollbench.analysis.results import NamedCase, Results
from tollbench.analysis.several import RowInTime
from tollbench.analysis.stated import stated
from tollbench.estimates import Estimate
from tollbench.history.histories import (
    BenchmarkLine,
    Histories,
    HistoryBreak,
    HistoryChange,
    HistoryCommit,
)
from tollbench.history.history_folder import machine_difference
from tollbench.history.history_parts import matching
from tollbench.stats.change_points import FALSE_ALARM, FEWEST, LevelSteps, find_steps
from tollbench.text import clean, several

LEVEL = 0.95
_Z = NormalDist().inv_cdf(0.5 + LEVEL / 2.0)


@dataclass(frozen=True, slots=True)
class _LineOfRuns:
    """One line before it is read; an entry a run."""

    name: str
    values: tuple[Estimate | None, ...]
    reference_ns: tuple[Estimate | None, ...]  # of what ratios are to
    levels: tuple[float, ...]  # of the intervals of values
    is_time: bool


def read_runs(
    found: Sequence[Results],
    rows: Sequence[RowInTime],
    *,
    threshold: float,
    pattern: str = "",
    hosts: Sequence[str] = (),
) -> Histories:
    """Runs in order of time, as `tollbench.analysis.several.in_time` read them.

    `pattern` says which lines are shown, `hosts` the host of each run where its machine has a name ("": it
    has none). Steps need eight runs on one machine.
    """
    named = hosts or [""] * len(found)
    machines, reasons = _machines(found, named, _other_for_ratios)
    for_times, reasons_for_times = _machines(found, named, _other_for_times)
    lines = list(_lines(rows))
    wanted = set(matching([line.name for line in lines], pattern))
    lines = [line for line in lines if line.name in wanted and any(line.values)]
    alarm = FALSE_ALARM / max(1, len(lines))
    read = [_line(line, for_times if line.is_time else machines, found, threshold, alarm) for line in lines]
    changes = [change for _, own in read for change in own]
    most = max((machines.count(number) for number in set(machines)), default=0)
    return Histories(
        rows_are="runs",
        reference="",
        first_session=f"{found[0].run.started_utc} {found[0].run.uuid}" if found else "",
        threshold=threshold,
        level=LEVEL,
        commits=tuple(_run(one) for one in found),
        measured=len({place for line, _ in read for place in line.place}),
        lines=tuple(line for line, _ in read),
        changes=tuple(sorted(changes, key=lambda change: (-change.place, change.benchmark))),
        breaks=_breaks(found, (machines, reasons), (for_times, reasons_for_times)),
        notes=tuple(_notes(most)),
        sessions=len(found),
    )


def _run(one: Results) -> HistoryCommit:
    return HistoryCommit(
        commit=clean(one.run.name),
        author=clean(str(one.machine.get("cpu") or "an unknown machine")),
        subject=f"toll {clean(one.run.toll_version)}",
        utc=one.run.started_utc,
    )


def _notes(most: int) -> list[str]:
    told = [
        "a ratio is of two rows of one run, paired by its rounds; a time is against the first run on its"
        " machine, and what the machine was like that day is in it"
    ]
    if most < 2 * FEWEST:
        told.append(
            f"changes are looked for from {2 * FEWEST} runs on one machine on, and there"
            f" {'is' if most == 1 else 'are'} {several(most, 'run')}"
        )
    return told


Machine = Mapping[str, Any]


def _other_for_ratios(before: Machine, now: Machine) -> str:
    """What makes it another one: not the kernel, which both rows of a ratio run on."""
    return machine_difference(before, now)


def _other_for_times(before: Machine, now: Machine) -> str:
    """A new kernel, microcode or mitigation too may be what a time changed by.

    What only one of them states says nothing: an older toll stated less, and so does a container.
    """
    one, other = stated(before), stated(now)
    changed = [name for name in one if name in other and _other(one[name], other[name])]
    words = [*machine_difference(before, now).split(", "), *(name.replace("_", " ") for name in changed)]
    return ", ".join(dict.fromkeys(filter(None, words)))


def _other(one: object, other: object) -> bool:
    """Whether both say something, and not the same."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return any(_other(one[name], other[name]) for name in one.keys() & other.keys())
    return None not in (one, other) and one != other


def _machines(
    found: Sequence[Results], hosts: Sequence[str], difference: Callable[[Machine, Machine], str]
) -> tuple[list[int], list[str]]:
    """Of each run the number of its machine, and why each is another than the most similar one before it."""

    known: list[tuple[str, dict[str, Any]]] = []  # of each machine its host, and all that its runs state
    lately: list[int] = []  # machines, the last used one behind
    machines: list[int] = []
    reasons: list[str] = []
    for one, host in zip(found, hosts, strict=True):
        told = [
            ", ".join(filter(None, ("host" if host != named else "", difference(states, one.machine))))
            for named, states in known
        ]
        machine = next((at for at in reversed(lately) if not told[at]), len(known))
        if machine == len(known):
            known.append((host, dict(one.machine)))
            reasons.append(min(told, key=lambda each: each.count(","), default=""))
        known[machine][1].update({name: each for name, each in one.machine.items() if each not in (None, "")})
        lately = [*(at for at in lately if at != machine), machine]
        machines.append(machine)
    return machines, reasons


_Parts = tuple[Sequence[int], Sequence[str]]  # of each run its machine, of each machine what is new of it


def _breaks(found: Sequence[Results], of_all: _Parts, of_times: _Parts) -> tuple[HistoryBreak, ...]:
    """Where a machine is used for the first time: one that is new for ratios is so for times."""
    breaks = []
    for at in range(1, len(found)):
        for (machines, reasons), what in ((of_all, "all"), (of_times, "times")):
            if machines[at] in machines[:at]:
                continue
            another = "another machine or compiler" if what == "all" else "another machine for times"
            told = f"{another}: {reasons[machines[at]]}"
            breaks.append(
                HistoryBreak(utc=found[at].run.started_utc, place=at - 1, reason=told, of=what)  # type: ignore[arg-type]
            )
            break
    return tuple(breaks)


def _lines(rows: Sequence[RowInTime]) -> Iterable[_LineOfRuns]:
    """Of each row its ratio to the reference, and its time."""
    by_name = {(row.workload, row.setting, _told(row.row)): row for row in rows}
    for row in rows:
        setting = "".join(f" {name}={value}" for name, value in row.setting)
        if row.reference is not None and any(row.ratios):
            against = by_name[row.workload, row.setting, _told(row.reference)]
            name = f"{row.workload}{setting}: {_told(row.row)} / {_told(row.reference)}"
            levels = (LEVEL,) * len(row.ratios)
            yield _LineOfRuns(name, row.ratios, against.times_ns, levels, is_time=False)
        name = f"{row.workload}{setting}: {_told(row.row)}, time"
        yield _LineOfRuns(name, row.times_ns, row.times_ns, row.time_levels, is_time=True)


def _told(row: NamedCase) -> str:
    where = f" [{row.environment}]" if row.environment != "host" else ""
    return clean(
        row.contender + where + "".join(f" {name}={value}" for name, value in row.parameters.items())
    )


def _line(
    line: _LineOfRuns, machines: Sequence[int], found: Sequence[Results], threshold: float, alarm: float
) -> tuple[BenchmarkLine, list[HistoryChange]]:
    columns: dict[str, list[float | None]] = {
        key: [] for key in ("place", "part", "ratio", "low", "high", "visits")
    }
    outliers: list[int] = []
    changes: list[HistoryChange] = []
    steps_of: dict[int, LevelSteps] = {}
    bases: dict[int, float] = {}
    newest = max(at for at, value in enumerate(line.values) if value is not None)
    for machine in dict.fromkeys(machines):
        known = [
            (at, value)
            for at, value in enumerate(line.values)
            if value is not None and machines[at] == machine
        ]
        if not known:
            continue
        bases[machine] = known[0][1].value if line.is_time else 1.0
        logs = [math.log(value.value / bases[machine]) for _, value in known]
        errors = [_error(value, line.levels[at]) for at, value in known]
        steps = steps_of[machine] = find_steps(logs, errors, LEVEL, math.log1p(threshold), alarm=alarm)
        outliers += [len(columns["place"]) + place for place in steps.outliers]
        places = [at for at, _ in known]
        for key, values in (
            ("place", places),
            ("part", [machine] * len(places)),
            ("ratio", [math.exp(log) for log in logs]),
            ("low", [_end(log, -error) for log, error in zip(logs, errors, strict=True)]),
            ("high", [_end(log, error) for log, error in zip(logs, errors, strict=True)]),
            ("visits", [1] * len(places)),
        ):
            columns[key] += values
        changes += _changes(line.name, machine, places, steps, found)
    latest = machines[newest]
    told = BenchmarkLine(
        benchmark=line.name,
        is_time=line.is_time,
        **{key: tuple(values) for key, values in columns.items()},  # type: ignore[arg-type]
        outliers=tuple(outliers),
        latest=latest,
        reference_ns=bases[latest] if line.is_time else _value(line.reference_ns[newest]),
        scatter=steps_of[latest].scatter,
        recent=steps_of[latest].recent,
    )
    return told, changes


def _changes(
    name: str, machine: int, places: Sequence[int], steps: LevelSteps, found: Sequence[Results]
) -> list[HistoryChange]:
    return [
        HistoryChange(
            benchmark=name,
            commit=clean(found[places[step.place]].run.name),
            place=places[step.place],
            first=places[step.first],
            last=places[step.last],
            range="..".join(clean(found[places[at]].run.name) for at in (step.first - 1, step.last)),
            unmeasured=0,
            ratio=math.exp(step.size),
            low=math.exp(step.low),
            high=math.exp(step.high),
            certainty=step.certainty,
            part=machine,
            found_utc=found[places[min(step.place + FEWEST, len(places)) - 1]].run.started_utc,
        )
        for step in steps.steps
    ]


def _end(log: float, error: float) -> float | None:
    """Of the interval; None where there is none."""
    return None if math.isnan(error) else math.exp(log + _Z * error)


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _error(value: Estimate, level: float) -> float:
    """Standard error of the logarithm, from the interval at that level; NaN where there is none."""
    if value.low is None or value.high is None or value.low <= 0.0:
        return math.nan
    return max(math.log(value.high / value.low) / (2.0 * NormalDist().inv_cdf(0.5 + level / 2.0)), 1e-5)
