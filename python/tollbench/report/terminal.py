"""The report in a terminal, or in a pipe: plain columns, no frames, numbers never cut.

Colour and bold are rich's decision (terminal or not, NO_COLOR). Names are `Text`, never markup, and hold no
control characters, so a run file cannot steer the reader's terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from tollbench import numbers
from tollbench.analysis.results import Latency, PublishedValue, Results, Row, WorkloadResult
from tollbench.report import environment_lines, grids, matrix, percentiles
from tollbench.report.cases import Naming, by_setting, groups, parameter_text
from tollbench.report.claim_lines import (
    TITLE,
    VERDICTS,
    ClaimLine,
    claim_lines,
    count_sentence,
    of_verdict,
)
from tollbench.report.columns import columns
from tollbench.report.console_writer import TextColumn, Writer
from tollbench.report.problems import troubles, troubles_in
from tollbench.report.published_tables import beside_rows, in_tables, unmeasured, unmeasured_sentence
from tollbench.report.sentences import (
    below_table,
    few_rounds_sentence,
    floor_sentence,
    published_range,
    status_words,
)
from tollbench.report.showing import C, Column, each
from tollbench.text import clean, headline, said, several
from tollbench.words import Ruling

_PARAMETER_WIDTH = 10  # a wider parameter stands in the name
_WIDE_ENOUGH = 60  # in a narrower terminal every parameter stands in the name
_VERDICT_STYLES = {Ruling.HOLDS: "green", Ruling.DOES_NOT_HOLD: "yellow", Ruling.CANNOT_BE_TOLD: ""}


def render(results: Results, console: Console) -> None:
    """Prints the machine, the floor and what to beware of, the claims that are decided, then each workload's
    table with what holds for it alone, then what is missing and which claims this run leaves open."""
    writer = Writer(console)
    whole, apart = results.warnings_by_workload()
    _head(results, whole, writer)
    claims = claim_lines(results)
    if claims:
        writer.line()
        writer.line(f"{TITLE}: {count_sentence(claims)}", "bold")
    _claims(claims, (Ruling.HOLDS, Ruling.DOES_NOT_HOLD), writer)
    for workload in results.workloads:
        writer.line()
        _workload(workload, results.run.level, apart[workload.workload], writer)
    _problems(results, writer)
    if of_verdict(claims, Ruling.CANNOT_BE_TOLD):
        writer.line()
        _claims(claims, (Ruling.CANNOT_BE_TOLD,), writer)


def _head(results: Results, warnings: Sequence[str], writer: Writer) -> None:
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
        f"intervals at {numbers.probability(run.level)} · toll {clean(run.toll_version)}"
    )
    writer.line(floor_sentence(results.floor), "cyan")
    if few := few_rounds_sentence(results):
        writer.line(few, "cyan")
    for warning in warnings:
        writer.line(f"! {clean(warning)}", "yellow")


def _claims(lines: Sequence[ClaimLine], rulings: Sequence[Ruling], writer: Writer) -> None:
    """Each decided claim with its numbers, of the others the reason."""
    for ruling in rulings:
        for line in of_verdict(lines, ruling):
            writer.line(f"{VERDICTS[ruling]}: {line.claim}", _VERDICT_STYLES[ruling])
            told = ruling is not Ruling.CANNOT_BE_TOLD
            writer.line(f"{line.workload}: {line.numbers if told else line.reason}", "dim", 4)


def _cpus(count: object) -> str:
    return several(count, "CPU") if isinstance(count, int) else ""


def _workload(workload: WorkloadResult, level: float, warnings: Sequence[str], writer: Writer) -> None:
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
    _environments(workload, writer)
    _published(workload, writer)


def _values(workload: WorkloadResult, naming: Naming, level: float, writer: Writer) -> None:
    together = [
        (group, row, tied)
        for group in groups(workload)
        for row, tied in zip(group.rows, group.tie_words, strict=True)
        if row.status == "ok"
    ]
    rows, ties = [row for _, row, _ in together], [tied for _, _, tied in together]
    scale = numbers.time_scale((row.value for row in rows), workload.unit)
    told = _who(f"{scale.unit} per {clean(workload.per)}", rows, naming, writer.console.width)
    for column in each(columns(workload, level)):
        told += _shown(column, rows)
        if column.key == "ratio" and any(ties):
            told.append(TextColumn("tied", ties, right=False))
    headings = _headings([group.setting for group, _, _ in together])
    writer.table(told, ["bold green" if row.fastest else "" for row in rows], headings)
    for sentence in below_table(workload, naming):
        writer.line(sentence, "dim")


def _shown(column: Column[C], cases: Sequence[C]) -> list[TextColumn]:
    """The column and its interval's, as far as the terminal shows them."""
    shown = column.terminal
    if shown is None:
        return []
    found = [TextColumn(shown.title, [column.text(case, shown) for case in cases], shown.rank)]
    if shown.interval:
        spreads = [column.interval(case) for case in cases]
        found.append(TextColumn(shown.interval.title, spreads, shown.interval.rank, right=False))
    return found


def _headings(settings: Sequence[str]) -> dict[int, str]:
    """Before which rows the setting changes."""
    return {
        at: setting
        for at, setting in enumerate(settings)
        if setting and (not at or settings[at - 1] != setting)
    }


def _who(title: str, cases: Sequence[Row | Latency], naming: Naming, width: int) -> list[TextColumn]:
    """The contender, and in narrow columns of their own the parameters that tell its rows apart.

    A parameter with a usual value stands in the few names that have another: a column would repeat it.
    """
    usual = dict(naming.usual)
    own = {
        name: TextColumn(
            clean(name), list(map(parameter_text, values)), right=all(isinstance(v, int) for v in values)
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
    names = TextColumn(title, [shorter.label(case) for case in cases], right=False)
    return [names, *alone.values()]


def _percentiles(workload: WorkloadResult, naming: Naming, writer: Writer) -> None:
    together = [
        (setting, entry) for setting, entries in by_setting(workload, workload.latencies) for entry in entries
    ]
    entries = [entry for _, entry in together]
    if not entries:
        return
    told = _who(f"{percentiles.scale_of(entries).unit}, one by one", entries, naming, writer.console.width)
    for column in each(percentiles.columns(entries)):
        told += _shown(column, entries)
    writer.line()
    writer.table(told, headings=_headings([setting for setting, _ in together]))


def _grids(workload: WorkloadResult, writer: Writer) -> None:
    """What is said of each grid; the values of those that fit."""
    for grid, title in zip(workload.grids, grids.titles(workload.grids), strict=True):
        if grid.statistic != "p50":
            continue  # the tails of cells stand in the other formats
        writer.line()
        sentence = "; ".join(filter(None, (clean(grid.sentence), grids.ends(grid))))
        writer.line(f"{title}, {clean(grid.unit)}: {sentence}.")
        cells = grids.cells(grid)
        columns = [TextColumn("from \\ to", [clean(name) for name in grid.labels], right=False)]
        columns += [
            TextColumn(clean(name), [row[at] for row in cells]) for at, name in enumerate(grid.labels)
        ]
        fits = sum(column.width() + 2 for column in columns) <= writer.console.width
        if len(grid.labels) <= grids.SMALL and fits:
            writer.table(columns)


def _matrices(workload: WorkloadResult, naming: Naming, writer: Writer) -> None:
    """Contenders by environments, as many environments beside each other as fit."""
    for found in matrix.matrices(workload, naming):
        names = TextColumn(f"{found.unit} per {clean(workload.per)}", [line.label for line in found.lines],
                        right=False)  # fmt: skip
        columns = [
            TextColumn(f"{clean(name)}\n", [_matrix_cell(line.rows[at], found) for line in found.lines])
            for at, name in enumerate(found.environments)
        ]
        columns.append(TextColumn("calls\nan iteration", [line.calls() for line in found.lines]))
        room = max(20, writer.console.width - min(names.width(), writer.console.width // 3) - 2)
        writer.line()
        setting = f", {found.setting}" if found.setting else ""
        writer.line(f"By environment{setting}: time, and its ratio to the fastest there (*)")
        for together in _beside(columns, room):
            writer.table([replace(names), *together])


def _environments(workload: WorkloadResult, writer: Writer) -> None:
    if not (lines := environment_lines.environment_lines(workload)):
        return
    writer.line()
    writer.line(f"Beside {environment_lines.against(workload)}. {environment_lines.MEANING}")
    writer.table(
        [
            TextColumn("", [line.environment for line in lines], right=False),
            TextColumn("ratio", [line.ratio for line in lines]),
            TextColumn("interval", [line.interval for line in lines], right=False),
            TextColumn("of", [line.of_rows for line in lines]),
            TextColumn("gains most", [line.gains for line in lines], 1, right=False),
            TextColumn("gains least", [line.loses for line in lines], 1, right=False),
        ]
    )


def _beside(columns: Sequence[TextColumn], room: int) -> list[list[TextColumn]]:
    groups: list[list[TextColumn]] = []
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


def _published(workload: WorkloadResult, writer: Writer) -> None:
    """What the literature reported beside this machine's value, a table for each machine of then; of what was
    not measured here, how much there is."""
    for entries in in_tables(beside_rows(workload)):
        first = entries[0]
        writer.line()
        writer.line(f"Published {_years(entries)}, {clean(first.machine)}", "dim")
        today = [(entry.today.value, entry.today.low, entry.today.high) if entry.today else (None,) * 3
                 for entry in entries]  # fmt: skip
        unit = f"{clean(first.unit)} per {clean(first.per)}"
        writer.table(
            [
                TextColumn(unit, [clean(entry.label) for entry in entries], right=False),
                TextColumn("then", [published_range(entry) for entry in entries]),
                TextColumn("today, here", [numbers.quantity(*triple) for triple in today]),
                TextColumn("interval", [numbers.interval(*triple) for triple in today], 1, right=False),
            ]
        )
    if others := unmeasured(workload):
        writer.line()
        writer.line(f"Published: {unmeasured_sentence(others)}; the page lists them", "dim")


def _years(entries: Sequence[PublishedValue]) -> str:
    """One source may hold several years."""
    return ", ".join(str(year) for year in sorted({entry.year for entry in entries}))


def _problems(results: Results, writer: Writer) -> None:
    if not results.problems:
        return
    writer.line()
    writer.line("Skipped or failed", "bold")
    for trouble in troubles(results):
        named = ", ".join(f"{one.workload} {one.name}" for one in trouble.affected)
        writer.line(f"{status_words(trouble.status)}: {named}", indent=2)
        writer.line(headline(trouble.reason)[0], "yellow", 4)
