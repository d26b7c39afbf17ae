"""Markdown for a pull request: GitHub's dialect, names inert.

Names stand in code spans, where nothing is markup, nobody is mentioned and no issue is linked. Sentences are
escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from tollbench import numbers
from tollbench.analysis.results import Latency, Results, Row, WorkloadResult
from tollbench.report import details, grids, matrix, percentiles
from tollbench.report.cases import Group, Naming, by_setting, groups
from tollbench.report.columns import created, efficiency, exact_calls
from tollbench.report.problems import troubles
from tollbench.report.sentences import (
    below_table,
    floor_sentence,
    harness_note,
    published_range,
    status_words,
)
from tollbench.text import clean, headline, said, several

_MARKUP = re.compile(r"([\\`*_{}\[\]#!|~$^]|^[-+](?= )|(?<=^\d)[.)])")
_REFERENCE = re.compile(r"(?<=[@#])(?=\w)|(?<=GH-)(?=\d)", re.IGNORECASE)


# Columns that stand where some row has the number: title, the number, its text.
_WHERE_ANY: tuple[tuple[str, Callable[[Row], object], Callable[[Row], str]], ...] = (
    ("efficiency, % floor", lambda row: row.efficiency, lambda row: numbers.quantity(*efficiency(row))),
    ("calls per iteration", lambda row: row.memory.exact_calls, exact_calls),
)


def render(results: Results) -> str:
    """One heading a workload, a table of its rows, percentiles where there are any, then what is missing."""
    whole, apart = results.warnings_by_workload()
    blocks = [*_head(results, whole)]
    for workload in results.workloads:
        blocks += _workload(workload, results.run.level, apart[workload.workload])
    if results.problems:
        blocks.append("### Skipped or failed")
        blocks.append(
            "\n".join(
                f"- {', '.join(code(f'{one.workload} {one.name}') for one in trouble.affected)}: "
                f"{prose(status_words(trouble.status))}. {prose(headline(trouble.reason)[0])}"
                for trouble in troubles(results)
            )
        )
    return "\n\n".join(blocks) + "\n"


def code(text: str) -> str:
    """A code span that holds the text whatever it is; fit for a table cell."""
    text = clean(text).replace("|", "\\|") or " "
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    if not longest:
        return f"`{text}`"
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}"


def prose(text: str) -> str:
    """A sentence in which nothing is markup, a mention or a link; commands in backquotes stay code."""
    pieces = re.split(r"`([^`]+)`", clean(text))
    return "".join(code(piece) if index % 2 else _escaped(piece) for index, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    text = _REFERENCE.sub("\u200b", text)  # a zero-width space: GitHub links after it has unescaped
    return _MARKUP.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _head(results: Results, warnings: Sequence[str]) -> list[str]:
    run = results.run
    facts = [said(results.machine.get(name)) for name in ("cpu", "os", "kernel")]
    lines = [
        f"{prose(', '.join(filter(None, facts)) or 'Machine unknown')}. "
        f"{several(run.launches, 'launch', 'launches')}, {prose(run.profile)} profile, "
        f"intervals at {numbers.percent(run.level)}, toll {prose(run.toll_version)}.",
        prose(floor_sentence(results.floor)) + ".",
    ]
    return [f"## toll: {code(run.name)}", *lines, *_quoted(warnings)]


def _quoted(warnings: Sequence[str]) -> list[str]:
    """One block for all warnings, or none."""
    lines = [f"> {prose(warning)}" for warning in warnings]
    return ["\n>\n".join(lines)] if lines else []


def _workload(workload: WorkloadResult, level: float, warnings: Sequence[str]) -> list[str]:
    naming = Naming.of(workload)
    within = naming.within(workload)
    common = within.common()
    blocks = [f"### {code(workload.workload)}", prose(workload.question)]
    if common:
        blocks.append(" · ".join(code(item) for item in common))
    for group in groups(workload):
        if group.setting:
            blocks.append(f"**{code(group.setting)}**{_fastest(group, within)}")
        blocks.append(_values(workload, group, within, level))
    blocks += [prose(sentence) for sentence in below_table(workload, within)] + _quoted(warnings)
    if workload.latencies:
        blocks += [*_percentiles(workload, within), f"{percentiles.MAX_NOTE.capitalize()}."]
    blocks += [*_grids(workload), *_matrices(workload, naming)]
    if workload.published:
        blocks.append(_published(workload))
    return blocks


def _fastest(group: Group, naming: Naming) -> str:
    return f": fastest is {code(naming.label(group.best))}" if group.best else ""


def _values(workload: WorkloadResult, group: Group, naming: Naming, level: float) -> str:
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    titles = [
        "contender",
        f"{scale.unit} per {prose(workload.per)}",
        f"{numbers.percent(level)} interval",
        "ratio",
        "interval of ratio",
        "tied",
        ", ".join(filter(None, (f"CPU {scale.unit}", harness_note(workload)))),
        "launches",
    ]
    body = [
        _cells(row, "".join(letters), scale, naming)
        for row, letters in zip(group.rows, group.ties, strict=True)
    ]
    alignment = "lrlrllrr"
    if any(row.created_value is not None for row in workload.rows):
        titles += [f"{scale.unit} per unit created", "memory per unit created"]
        alignment += "rr"
        body = [cells + _per_unit(row, scale) for cells, row in zip(body, group.rows, strict=True)]
    for title, raw, write in _WHERE_ANY:
        if any(raw(row) is not None for row in workload.rows):
            titles += [title]
            alignment += "r"
            body = [
                [*cells, write(row) if row.status == "ok" else ""]
                for cells, row in zip(body, group.rows, strict=True)
            ]
    for one in details.written(workload):
        titles += [prose(", ".join(filter(None, (one.title, one.head))))]
        alignment += "r"
        body = [[*cells, _detail(row, one)] for cells, row in zip(body, group.rows, strict=True)]
    return _table(titles, body, alignment)


def _detail(row: Row, one: details.WrittenDetail) -> str:
    spread = one.interval(row)
    return one.text(row) if spread == numbers.MISSING else f"{one.text(row)} {prose(spread)}"


def _per_unit(row: Row, scale: numbers.Scale) -> list[str]:
    if row.status != "ok":
        return ["", ""]
    return [numbers.quantity(*created(row, scale)), numbers.size(row.memory_per_unit_bytes)]


def _cells(row: Row, ties: str, scale: numbers.Scale, naming: Naming) -> list[str]:
    name = code(naming.label(row))
    if row.status != "ok":
        said_why = f"{prose(status_words(row.status))}: {prose(headline(row.reason)[0])}"
        return [name, numbers.MISSING, said_why, *[""] * 5]
    triple = (scale.of(row.value), scale.of(row.low), scale.of(row.high))
    value = numbers.quantity(*triple)
    failed = f" ({row.failed_launches} failed)" if row.failed_launches else ""
    return [
        name,
        f"**{value}**" if row.fastest else value,
        numbers.interval(*triple),
        numbers.ratio(row.ratio, row.ratio_low, row.ratio_high),
        numbers.ratio_interval(row.ratio, row.ratio_low, row.ratio_high),
        prose(ties),
        numbers.plain(scale.of(row.cpu_time)),
        f"{row.launches}{failed}",
    ]


def _percentiles(workload: WorkloadResult, naming: Naming) -> list[str]:
    blocks = []
    for setting, entries in by_setting(workload, workload.latencies):
        blocks += [f"**{code(setting)}**"] if setting else []
        blocks.append(_percentile_table(workload, entries, naming))
    return blocks


def _percentile_table(workload: WorkloadResult, entries: Sequence[Latency], naming: Naming) -> str:
    scale = percentiles.scale_of(workload.latencies)
    told = percentiles.shown(workload.latencies)
    body = []
    for entry in entries:
        cells = [code(naming.label(entry))]
        for _, name in told:
            triple = percentiles.triple(entry, name, scale)
            cells.append(_with_interval(numbers.quantity(*triple), numbers.interval(*triple)))
        body.append([*cells, _with_interval(*percentiles.longest(entry, scale)), f"{entry.count:,}"])
    titles = [f"{scale.unit}, one by one", *(title for title, _ in told), "max", "count"]
    return _table(titles, body, "l" + "r" * (len(titles) - 1))


def _with_interval(value: str, spread: str) -> str:
    return value if spread == numbers.MISSING else f"{value} {spread}"


def _grids(workload: WorkloadResult) -> list[str]:
    """Small grids as tables, of the others what is said of them."""
    blocks = []
    for grid, title in zip(workload.grids, grids.titles(workload.grids), strict=True):
        sentence = "; ".join(filter(None, (clean(grid.sentence), grids.ends(grid))))
        blocks.append(f"{prose(title)}, {prose(grid.unit)}: {prose(sentence)}.")
        if len(grid.labels) <= grids.SMALL:
            body = [[code(name), *row] for name, row in zip(grid.labels, grids.cells(grid), strict=True)]
            titles = ["from \\ to", *map(code, grid.labels)]
            blocks.append(_table(titles, body, "l" + "r" * len(grid.labels)))
    return blocks


def _matrices(workload: WorkloadResult, naming: Naming) -> list[str]:
    """Contenders by environments: time, and its ratio to the fastest of that environment (bold)."""
    blocks = []
    for found in matrix.matrices(workload, naming):
        body = [
            [code(line.label), *(_matrix_cell(row, found) for row in line.rows), line.calls()]
            for line in found.lines
        ]
        titles = [f"{found.unit} per {prose(workload.per)}", *map(code, found.environments), "calls"]
        setting = f" ({prose(found.setting)})" if found.setting else ""
        blocks.append(
            f"By environment{setting}: time and its ratio to the fastest of that environment, which is bold;"
            " allocation calls an iteration where every launch agreed."
        )
        blocks.append(_table(titles, body, "l" + "r" * (len(titles) - 1)))
    return blocks


def _matrix_cell(row: Row | None, found: matrix.Matrix) -> str:
    if row is None:
        return ""
    if row.status != "ok":
        return prose(status_words(row.status))
    text = f"{matrix.time(row, found)} {matrix.ratio(row)}"
    return f"**{text}**" if row.environment_fastest else text


def _published(workload: WorkloadResult) -> str:
    body = []
    for entry in workload.published:
        unit = f"{prose(entry.unit)} per {prose(entry.per)}"
        today = entry.today
        body.append(
            [
                str(entry.year),
                prose(entry.label),
                f"{published_range(entry)} {unit}",
                f"{numbers.quantity(today.value, today.low, today.high)} {prose(entry.unit)}"
                if today
                else numbers.MISSING,
                prose(entry.machine),
                prose(entry.source),
            ]
        )
    return _table(["year", "published", "then", "today, here", "machine of then", "source"], body, "rlrrll")


def _table(titles: Sequence[str], body: Iterable[Sequence[str]], alignment: str) -> str:
    rule = ["---:" if side == "r" else ":---" for side in alignment]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (titles, rule, *body))
