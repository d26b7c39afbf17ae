"""What all formats show of several runs: a line a run, and a line a case with its cells as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tollbench import numbers
from tollbench.analysis.results import NamedCase
from tollbench.analysis.several_results import (
    OneOfSeveral,
    SeveralCell,
    SeveralRow,
    SeveralRuns,
    SeveralTable,
)
from tollbench.home import COMMAND
from tollbench.report.cases import parameter_text
from tollbench.report.sentences import few_rounds_told, status_words
from tollbench.report.showing import ALIKE
from tollbench.text import clean, headline, said, several
from tollbench.words import HOST

DIFFER = "differ"
APART = "ratios whose intervals have nothing in common between two of the runs"


@dataclass(frozen=True, slots=True)
class CellText:
    """Of one run; "" where it did not ask."""

    ratio: str = ""
    interval: str = ""
    value: str = ""
    spread: str = ""  # interval of the value


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One case."""

    label: str
    row: SeveralRow
    cells: tuple[CellText, ...]
    reference: bool

    @property
    def differs(self) -> str:
        """ "differ" where the runs' ratios certainly do."""
        return DIFFER if self.row.ratios_differ else ""


@dataclass(frozen=True, slots=True)
class TableLines:
    """One question in one setting."""

    table: SeveralTable
    title: str  # workload, and its setting
    unit: str  # of the times shown
    reference: str  # the name of the row that ratios are to, "" for none
    lines: tuple[CaseLine, ...]
    reasons: tuple[str, ...]  # why cells have no number, a line for each run and reason


def run_lines(found: SeveralRuns) -> list[tuple[str, list[str]]]:
    """Letter and facts of each run."""
    return [(one.letter, list(_facts(one))) for one in found.runs]


def _facts(one: OneOfSeveral) -> Iterator[str]:
    run, machine = one.run, one.machine
    yield clean(run.name)
    cpus = machine.get("cpus")
    facts = [
        said(machine.get("cpu")),
        several(cpus, "CPU") if isinstance(cpus, int) else "",
        said(machine.get("os")),
        said(machine.get("kernel")),
        said(machine.get("libc")),
    ]
    yield ", ".join(filter(None, facts)) or "machine unknown"
    took = f" in {numbers.duration(run.seconds)}" if run.seconds is not None else ""
    yield f"{clean(run.started_utc)[:10]}, {clean(run.profile)} profile{took}, toll {clean(run.toll_version)}"
    floor = one.floor.ratio
    yield "floor unknown" if floor is None else f"floor {numbers.percent(floor - 1)}"


def table_lines(table: SeveralTable, letters: Sequence[str]) -> TableLines:
    """The table as text, in one unit of time; `letters` are the runs'."""
    cells = [cell for row in table.rows for cell in row.cells if cell is not None]
    scale = numbers.time_scale((cell.value for cell in cells), table.unit)
    varying = _varying(table)
    lines = tuple(_line(row, table, varying, scale) for row in table.rows)
    setting = ", ".join(f"{clean(name)}={parameter_text(value)}" for name, value in table.setting.items())
    named = next((line.label for line in lines if line.reference), "")
    title = f"{clean(table.workload)}{f', {setting}' if setting else ''}"
    unit = f"{clean(scale.unit)} per {clean(table.per)}"
    return TableLines(table, title, unit, named, lines, tuple(_reasons(lines, letters)))


def _reasons(lines: Sequence[CaseLine], letters: Sequence[str]) -> Iterator[str]:
    """ "B: std_mutex, spinlock: failed. crashed: SIGSEGV"."""
    for at, letter in enumerate(letters):
        found: dict[tuple[str, str], list[str]] = {}
        for line in lines:
            cell = line.row.cells[at]
            if cell is not None and cell.status != "ok":
                found.setdefault((status_words(cell.status), headline(cell.reason)[0]), []).append(line.label)
        for (status, reason), labels in found.items():
            yield f"{letter}: {', '.join(labels)}: {status}{f'. {reason}' if reason else ''}"


def _line(row: SeveralRow, table: SeveralTable, varying: Sequence[str], scale: numbers.Scale) -> CaseLine:
    reference = table.reference is not None and _same(row, table.reference)
    cells = tuple(_text(cell, scale, reference=reference) for cell in row.cells)
    return CaseLine(_label(row, varying), row, cells, reference)


def footnotes(found: SeveralRuns) -> list[str]:
    """How the tables are to be read."""
    levels = sorted({one.run.level for one in found.runs})
    notes = [
        "A ratio is of two rows of one run, paired by its rounds; the same row is the reference in all runs."
        f" Intervals of a table's ratios hold together at {numbers.probability(levels[0])}."
        f" {DIFFER}: {APART}."
        " No time of one run is divided by a time of another one."
    ]
    cells = [cell for table in found.tables for row in table.rows for cell in row.cells if cell is not None]
    if few := few_rounds_told(cells):
        notes.append(few)
    if any(map(_marked, cells)):
        notes.append(
            f"{ALIKE.strip()} stands behind the interval of a time whose rounds are like those beside them:"
            " it is wider for that, or holds within that run's conditions alone."
        )
    if found.left_out:
        notes.append(
            f"{several(found.left_out, 'case')} of questions or settings that one run alone has"
            f" {'is' if found.left_out == 1 else 'are'} not shown: `{COMMAND} report` of that run shows them."
        )
    return notes


def _marked(cell: SeveralCell) -> bool:
    return cell.counts_as is not None or (bool(cell.within_run) and not cell.few_rounds)


def _ratio(cell: SeveralCell, *, reference: bool) -> tuple[str, str]:
    if cell.ratio is None or reference:
        return "1" if reference else "", ""
    ends = cell.ratio, cell.ratio_low, cell.ratio_high
    return numbers.ratio(*ends), "" if cell.ratio_low is None else numbers.ratio_interval(*ends)


def _text(cell: SeveralCell | None, scale: numbers.Scale, *, reference: bool) -> CellText:
    if cell is None:
        return CellText()
    if cell.below_step is not None:
        return CellText(value=f"< {numbers.plain(scale.of(cell.below_step))}")
    if cell.status != "ok" or cell.value is None:
        return CellText(value=status_words(cell.status))
    ratio, spread = _ratio(cell, reference=reference)
    value, low, high = scale.of(cell.value), scale.of(cell.low), scale.of(cell.high)
    mark = ALIKE if _marked(cell) else ""
    return CellText(
        ratio,
        spread,
        numbers.quantity(value, low, high),
        "" if low is None else numbers.interval(value, low, high) + mark,
    )


def _varying(table: SeveralTable) -> list[str]:
    names = dict.fromkeys(name for row in table.rows for name in row.parameters if name not in table.setting)
    return [name for name in names if len({row.parameters.get(name) for row in table.rows}) > 1]


def _label(row: SeveralRow, varying: Sequence[str]) -> str:
    told = [clean(row.environment)] if row.environment != HOST.name else []
    told += [
        f"{clean(name)}={parameter_text(row.parameters[name])}" for name in varying if name in row.parameters
    ]
    told += _of_machines(row)
    return f"{clean(row.contender)} ({', '.join(told)})" if told else clean(row.contender)


def _of_machines(row: SeveralRow) -> list[str]:
    """What the machines decided differently: "threads=2, 16", in the order of the runs."""
    cells = [cell for cell in row.cells if cell is not None]
    names = dict.fromkeys(name for cell in cells for name in cell.parameters if name not in row.parameters)
    told = {name: [parameter_text(cell.parameters.get(name, "?")) for cell in cells] for name in names}
    return [f"{clean(name)}={', '.join(values)}" for name, values in told.items() if len(set(values)) > 1]


def _same(row: NamedCase, other: NamedCase) -> bool:
    return (row.contender, row.environment, row.parameters) == (
        other.contender,
        other.environment,
        other.parameters,
    )
