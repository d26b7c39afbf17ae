"""The report in a terminal, or in a pipe: plain columns, no frames, numbers never cut.

Colour and bold are rich's decision (terminal or not, NO_COLOR). Names are `Text`, never markup, and hold no
control characters, so a run file cannot steer the reader's terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tollbench import numbers
from tollbench.analysis.results import Latency, PublishedValue, Results, Row, WorkloadResult
from tollbench.report import grids, matrix, percentiles
from tollbench.report.cases import Naming, by_setting, groups
from tollbench.report.claim_lines import (
    TITLE,
    VERDICTS,
    ClaimLine,
    claim_lines,
    count_sentence,
    of_verdict,
)
from tollbench.report.columns import columns
from tollbench.report.problems import troubles, troubles_in
from tollbench.report.sentences import below_table, floor_sentence, published_range, status_words
from tollbench.report.showing import C, Column, each
from tollbench.text import clean, headline, said, several
from tollbench.words import Ruling

_NAME_WIDTH = 16  # a contender's name folds within this at least
_ASKED_FOR = 2  # ranks up to here: interval and CPU time
_PARAMETER_WIDTH = 10  # a wider parameter stands in the name
_WIDE_ENOUGH = 60  # in a narrower terminal every parameter stands in the name
_BREAKS_AFTER = "_/-,:= "
_VERDICT_STYLES = {Ruling.HOLDS: "green", Ruling.DOES_NOT_HOLD: "yellow", Ruling.CANNOT_BE_TOLD: ""}
_ASCII = str.maketrans({"×": "x", "µ": "u", "–": "-", "·": "-", "…": "...", "→": "->"})


@dataclass(slots=True)
class _Column:
    """One column of text; `rank` says how early it goes where the terminal is too narrow (0: never)."""

    title: str
    cells: list[str]
    rank: int = 0
    right: bool = True

    def width(self) -> int:
        return max(map(cell_len, [*self.title.split("\n"), *self.cells]))


class _Writer:
    """Prints to one console; where its encoding lacks a character, a plainer one stands in."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.unicode = console.encoding.lower().replace("-", "").startswith("utf")

    def text(self, words: str, style: str = "") -> Text:
        if not self.unicode:
            encoding = self.console.encoding or "ascii"
            words = words.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
        return Text(words, style=style, overflow="fold")

    def line(self, words: str = "", style: str = "", indent: int = 0) -> None:
        text = self.text(words, style)
        for line in text.wrap(self.console, max(20, self.console.width - indent)) or [text]:
            line.rstrip()
            self.console.print(Text(" " * indent) + line, no_wrap=True, overflow="ignore", crop=False)

    def table(
        self,
        columns: Sequence[_Column],
        first_styles: Sequence[str] = (),
        headings: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Prints the columns that fit; `headings` stand between the rows, by the row that they precede."""
        told = [column for column in columns if not column.rank or set(column.cells) != {numbers.MISSING}]
        kept = _fitting([told[0], *map(_aligned, told[1:])], self.console.width)
        room = self.console.width - sum(column.width() + 2 for column in kept[1:])
        kept[0] = replace(kept[0], cells=["\n".join(folded(cell, max(8, room))) for cell in kept[0].cells])
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
        for index, column in enumerate(kept):
            title = self.text(column.title, "dim")
            if index == 0:
                table.add_column(title, overflow="fold")
            else:
                table.add_column(title, no_wrap=True, min_width=column.width())
        for number, cells in enumerate(zip(*(column.cells for column in kept), strict=True)):
            if heading := headings.get(number):
                table.add_row(self.text("\n".join(folded(heading, max(8, room))), "bold"))
            style = first_styles[number] if first_styles else ""
            table.add_row(*(self.text(cell, style) for cell in cells))
        self.console.print(table)


def render(results: Results, console: Console) -> None:
    """Prints the machine, the floor and what to beware of, then each workload's table with what holds for it
    alone, then what is missing."""
    writer = _Writer(console)
    whole, apart = results.warnings_by_workload()
    _head(results, whole, writer)
    _claims(claim_lines(results), writer)
    for workload in results.workloads:
        writer.line()
        _workload(workload, results.run.level, apart[workload.workload], writer)
    _problems(results, writer)


def _head(results: Results, warnings: Sequence[str], writer: _Writer) -> None:
    run, machine = results.run, results.machine
    writer.line(f"toll · {clean(run.name)}", "bold")
    facts = [
        said(machine.get("cpu")),
        _cpus(machine.get("cpus")),
        said(machine.get("os")),
        said(machine.get("kernel")),
    ]
    writer.line(" · ".join(filter(None, facts)) or "machine unknown")
    took = f" in {numbers.duration(run.seconds)}" if run.seconds is not None else ""
    writer.line(
        f"{clean(run.profile)} profile · {several(run.launches, 'launch', 'launches')}{took} · "
        f"intervals at {numbers.percent(run.level)} · toll {clean(run.toll_version)}"
    )
    writer.line(floor_sentence(results.floor), "cyan")
    if run.finished_utc is None:
        writer.line("This run was not finished; `toll run --resume` goes on from here.", "yellow")
    for warning in warnings:
        writer.line(f"! {clean(warning)}", "yellow")


def _claims(lines: Sequence[ClaimLine], writer: _Writer) -> None:
    """What documents conclude: each decided claim with its numbers, of the others the reason."""
    if not lines:
        return
    writer.line()
    writer.line(f"{TITLE}: {count_sentence(lines)}", "bold")
    for ruling, words in VERDICTS.items():
        for line in of_verdict(lines, ruling):
            writer.line(f"{words}: {line.claim}", _VERDICT_STYLES[ruling])
            told = ruling is not Ruling.CANNOT_BE_TOLD
            writer.line(f"{line.workload}: {line.numbers if told else line.reason}", "dim", 4)


def _cpus(count: object) -> str:
    return several(count, "CPU") if isinstance(count, int) else ""


def _workload(workload: WorkloadResult, level: float, warnings: Sequence[str], writer: _Writer) -> None:
    naming = Naming.of(workload)
    within = naming.within(workload)
    writer.line(clean(workload.workload), "bold")
    writer.line(clean(workload.question))
    if common := within.common():
        writer.line(" · ".join(common), "dim")
    if any(row.status == "ok" for row in workload.rows):
        _values(workload, within, level, writer)
    for warning in warnings:
        writer.line(f"! {clean(warning)}", "yellow")
    for trouble in troubles_in(workload):
        named = ", ".join(one.name for one in trouble.affected)
        writer.line(f"{named}: {status_words(trouble.status)}. {headline(trouble.reason)[0]}", "yellow", 2)
    _percentiles(workload, within, writer)
    _grids(workload, writer)
    _matrices(workload, naming, writer)
    _published(workload, writer)


def _values(workload: WorkloadResult, naming: Naming, level: float, writer: _Writer) -> None:
    together = [
        (group, row, letters)
        for group in groups(workload)
        for row, letters in zip(group.rows, group.ties, strict=True)
        if row.status == "ok"
    ]
    rows, ties = [row for _, row, _ in together], ["".join(letters) for _, _, letters in together]
    scale = numbers.time_scale((row.value for row in rows), workload.unit)
    told = _who(f"{scale.unit} per {clean(workload.per)}", rows, naming, writer.console.width)
    for column in each(columns(workload, level)):
        told += _shown(column, rows)
        if column.key == "ratio" and any(ties):
            told.append(_Column("tied", ties, right=False))
    headings = _headings([group.setting for group, _, _ in together])
    writer.table(told, ["bold green" if row.fastest else "" for row in rows], headings)
    for sentence in below_table(workload, naming):
        writer.line(sentence, "dim")


def _shown(column: Column[C], cases: Sequence[C]) -> list[_Column]:
    """The column and its interval's, as far as the terminal shows them."""
    shown = column.terminal
    if shown is None:
        return []
    found = [_Column(shown.title, [column.text(case, shown) for case in cases], shown.rank)]
    if shown.interval:
        spreads = [column.interval(case) for case in cases]
        found.append(_Column(shown.interval.title, spreads, shown.interval.rank, right=False))
    return found


def _headings(settings: Sequence[str]) -> dict[int, str]:
    """Before which rows the setting changes."""
    return {
        at: setting
        for at, setting in enumerate(settings)
        if setting and (not at or settings[at - 1] != setting)
    }


def _who(title: str, cases: Sequence[Row | Latency], naming: Naming, width: int) -> list[_Column]:
    """The contender, and in narrow columns of their own the parameters that tell its rows apart.

    A parameter with a usual value stands in the few names that have another: a column would repeat it.
    """
    usual = dict(naming.usual)
    own = {
        name: _Column(
            clean(name), list(map(_parameter, values)), right=all(isinstance(v, int) for v in values)
        )
        for name in naming.varying
        if name not in usual
        for values in [[case.parameters.get(name, "") for case in cases]]
    }
    alone = {
        name: column
        for name, column in own.items()
        if width >= _WIDE_ENOUGH and column.width() <= _PARAMETER_WIDTH
    }
    shorter = replace(naming, varying=tuple(name for name in naming.varying if name not in alone))
    names = _Column(title, [shorter.label(case) for case in cases], right=False)
    return [names, *alone.values()]


def _parameter(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else clean(value)


def _percentiles(workload: WorkloadResult, naming: Naming, writer: _Writer) -> None:
    together = [
        (setting, entry) for setting, entries in by_setting(workload, workload.latencies) for entry in entries
    ]
    entries = [entry for _, entry in together]
    if not entries:
        return
    told = _who(f"{percentiles.scale_of(entries).unit}, one by one", entries, naming, writer.console.width)
    for column in percentiles.columns(entries):
        told += _shown(column, entries)
    writer.line()
    writer.table(told, headings=_headings([setting for setting, _ in together]))


def _grids(workload: WorkloadResult, writer: _Writer) -> None:
    """What is said of each grid; the values of those that fit."""
    for grid, title in zip(workload.grids, grids.titles(workload.grids), strict=True):
        if grid.statistic != "p50":
            continue  # the tails of cells stand in the other formats
        writer.line()
        sentence = "; ".join(filter(None, (clean(grid.sentence), grids.ends(grid))))
        writer.line(f"{title}, {clean(grid.unit)}: {sentence}.")
        cells = grids.cells(grid)
        columns = [_Column("from \\ to", [clean(name) for name in grid.labels], right=False)]
        columns += [_Column(clean(name), [row[at] for row in cells]) for at, name in enumerate(grid.labels)]
        fits = sum(column.width() + 2 for column in columns) <= writer.console.width
        if len(grid.labels) <= grids.SMALL and fits:
            writer.table(columns)


def _matrices(workload: WorkloadResult, naming: Naming, writer: _Writer) -> None:
    """Contenders by environments, as many environments beside each other as fit."""
    for found in matrix.matrices(workload, naming):
        names = _Column(f"{found.unit} per {clean(workload.per)}", [line.label for line in found.lines],
                        right=False)  # fmt: skip
        columns = [
            _Column(f"{clean(name)}\n", [_matrix_cell(line.rows[at], found) for line in found.lines])
            for at, name in enumerate(found.environments)
        ]
        columns.append(_Column("calls\nan iteration", [line.calls() for line in found.lines]))
        room = max(20, writer.console.width - min(names.width(), writer.console.width // 3) - 2)
        writer.line()
        setting = f", {found.setting}" if found.setting else ""
        writer.line(f"By environment{setting}: time, and its ratio to the fastest there (*)")
        for together in _beside(columns, room):
            writer.table([replace(names), *together])


def _beside(columns: Sequence[_Column], room: int) -> list[list[_Column]]:
    groups: list[list[_Column]] = []
    left = 0
    for column in columns:
        if set(column.cells) == {numbers.MISSING}:
            continue
        if not groups or left < column.width() + 2:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= column.width() + 2
    return groups


def _matrix_cell(row: Row | None, found: matrix.Matrix) -> str:
    if row is None:
        return ""
    if row.status != "ok":
        return status_words(row.status)
    return f"{matrix.time(row, found)} {'*' if row.environment_fastest else matrix.ratio(row)}"


def _published(workload: WorkloadResult, writer: _Writer) -> None:
    """What the literature reported beside this machine's value, a table for each machine of then."""
    tables: dict[tuple[int, str, str, str], list[PublishedValue]] = {}
    for entry in workload.published:
        tables.setdefault((entry.year, entry.machine, entry.unit, entry.per), []).append(entry)
    for (year, machine, unit, per), entries in tables.items():
        writer.line()
        writer.line(f"Published {year}, {clean(machine)}", "dim")
        today = [(entry.today.value, entry.today.low, entry.today.high) if entry.today else (None,) * 3
                 for entry in entries]  # fmt: skip
        writer.table(
            [
                _Column(f"{clean(unit)} per {clean(per)}", [clean(e.label) for e in entries], right=False),
                _Column("then", [published_range(entry) for entry in entries]),
                _Column("today, here", [numbers.quantity(*triple) for triple in today]),
                _Column("interval", [numbers.interval(*triple) for triple in today], 1, right=False),
            ]
        )


def _problems(results: Results, writer: _Writer) -> None:
    if not results.problems:
        return
    writer.line()
    writer.line("Skipped or failed", "bold")
    for trouble in troubles(results):
        named = ", ".join(f"{one.workload} {one.name}" for one in trouble.affected)
        writer.line(f"{status_words(trouble.status)}: {named}", indent=2)
        writer.line(headline(trouble.reason)[0], "yellow", 4)


def _fitting(columns: Sequence[_Column], width: int) -> list[_Column]:
    """The columns that fit beside the name; those with the highest rank go first.

    A name rather folds than push out what every reader asks for, but it is not folded for the rest.
    """
    kept = list(columns)
    while (rank := max(column.rank for column in kept)) > 0:
        room = max(_NAME_WIDTH, {1: 0, _ASKED_FOR: width // 4}.get(rank, width * 3 // 8))
        if min(columns[0].width(), room) + sum(column.width() + 2 for column in kept[1:]) <= width:
            break
        kept = [column for column in kept if column.rank != rank]
    return kept


def folded(name: str, width: int) -> list[str]:
    """The name in lines of at most `width` columns, cut after "_" and the like; all but the first set in."""
    lines: list[str] = []
    rest = name
    while cell_len(rest) > (room := max(1, width - (2 if lines else 0))):
        fits = next(end for end in range(len(rest), 0, -1) if cell_len(rest[:end]) <= room or end == 1)
        cuts = [end for end in range(1, fits + 1) if rest[end - 1] in _BREAKS_AFTER or rest[end] == "("]
        end = next((cut for cut in reversed(cuts) if cut > 1), fits)
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [line if index == 0 else f"  {line}" for index, line in enumerate([*lines, rest])]


def _aligned(column: _Column) -> _Column:
    """Numbers on the right padded so that their decimal points stand under each other."""
    if not column.right:
        return column
    ranges = any(" " in cell for cell in column.cells)  # "0.7 to 0.98", "1.5 KiB": no one decimal point
    fractions = [numbers.split(cell.removesuffix("×"))[1] for cell in column.cells]
    tails = [
        len(tail) if any(map(str.isdigit, cell)) and not ranges else 0
        for tail, cell in zip(fractions, column.cells, strict=True)
    ]
    longest = max(tails, default=0)
    padded = [cell + " " * (longest - tail) for cell, tail in zip(column.cells, tails, strict=True)]
    width = replace(column, cells=padded).width()
    return replace(
        column,
        title="\n".join(_right(line, width) for line in column.title.split("\n")),
        cells=[_right(cell, width) for cell in padded],
    )


def _right(text: str, width: int) -> str:
    """Set right by blanks in front, because rich trims those behind the text that it sets right."""
    return " " * (width - cell_len(text)) + text
