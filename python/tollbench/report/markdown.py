"""Markdown for a pull request: GitHub's dialect, names inert.

Names stand in code spans, where nothing is markup, nobody is mentioned and no issue is linked. Sentences are
escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tollbench import numbers
from tollbench.analysis.results import Latency, PublishedValue, Results, Row, WorkloadResult
from tollbench.report import environment_lines, grids, matrix, percentiles
from tollbench.report.cases import Group, Naming, by_setting, groups
from tollbench.report.claim_lines import TITLE, VERDICTS, claim_lines, count_sentence, of_verdict
from tollbench.report.columns import columns
from tollbench.report.comparisons.markdown_text import unlinked
from tollbench.report.problems import troubles
from tollbench.report.published_tables import beside_rows, unmeasured, unmeasured_sentence
from tollbench.report.sentences import (
    below_table,
    few_rounds_sentence,
    floor_sentence,
    published_range,
    status_words,
)
from tollbench.report.showing import Column, Shown, each
from tollbench.text import clean, headline, said, several
from tollbench.words import Ruling

MADE_BY = "<!-- toll report -->"  # by which a later report knows that it may replace the file
_MARKUP = re.compile(r"([\\`*_{}\[\]#!|~$^]|^[-+](?= )|(?<=^\d)[.)])")


def render(results: Results) -> str:
    """One heading a workload, a table of its rows, percentiles where there are any, then what is missing."""
    whole, apart = results.warnings_by_workload()
    blocks = [*_head(results, whole), *_claims(results)]
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
    return f"{MADE_BY}\n" + "\n\n".join(blocks) + "\n"


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
    text = unlinked(text)
    return _MARKUP.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _head(results: Results, warnings: Sequence[str]) -> list[str]:
    run = results.run
    facts = [said(results.machine.get(name)) for name in ("cpu", "os", "kernel")]
    lines = [
        f"{prose(', '.join(filter(None, facts)) or 'Machine unknown')}. "
        f"{several(run.launches, 'launch', 'launches')}, {prose(run.profile)} profile, "
        f"intervals at {numbers.probability(run.level)}, toll {prose(run.toll_version)}.",
        prose(floor_sentence(results.floor)) + ".",
        prose(few_rounds_sentence(results)),
    ]
    return [f"## toll: {code(run.name)}", *filter(None, lines), *_quoted(warnings)]


def _claims(results: Results) -> list[str]:
    """A table of what was decided; what was not, by name."""
    lines = claim_lines(results)
    decided = [line for line in lines if line.verdict != Ruling.CANNOT_BE_TOLD]
    open_ = of_verdict(lines, Ruling.CANNOT_BE_TOLD)
    if not lines:
        return []
    blocks = [f"### {TITLE}", f"{prose(count_sentence(lines))}."]
    if decided:
        body = [
            [
                f"**{VERDICTS[Ruling(line.verdict)]}**",
                prose(line.claim),
                ", ".join(code(part) for part in (line.where, line.left, line.right) if part),
                f"{line.ratio} {line.interval}, {line.wanted} wanted",
                code(line.workload),
                f"{prose(line.document)} ({line.year}), {prose(line.place)}",
            ]
            for line in decided
        ]
        titles = ["verdict", "claim", "of", "ratio", "table", "document"]
        blocks.append(_table(titles, body, "llllll"))
    if open_:
        told = ", ".join(code(line.name) for line in open_)
        blocks.append(f"{len(open_)} cannot be told in this run (JSON and the page say why): {told}.")
    return blocks


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
        blocks += [*_percentiles(workload, within), f"{percentiles.note(workload.latencies).capitalize()}."]
    blocks += [*_grids(workload), *_matrices(workload, naming), *_environments(workload)]
    return blocks + _published(workload)


def _fastest(group: Group, naming: Naming) -> str:
    return f": fastest is {code(naming.label(group.best))}{group.unseen}" if group.best else ""


def _values(workload: WorkloadResult, group: Group, naming: Naming, level: float) -> str:
    """A table with a column a number; what a row without numbers says stands in the first two."""
    heads, ties = [("contender", "l")], group.tie_words
    told = [[code(naming.label(row)) for row in group.rows]]
    for column, shown in _chosen(columns(workload, level), workload.rows):
        heads.append((prose(shown.title), "r"))
        told.append([_cell(row, column, shown) for row in group.rows])
        if shown.interval:
            heads.append((prose(shown.interval.title), "l"))
            told.append([column.interval(row) if row.status == "ok" else "" for row in group.rows])
        if column.key == "ratio":
            heads.append(("tied", "l"))
            told.append([prose(letters) for letters in ties])
    body = [list(cells) for cells in zip(*told, strict=True)]
    for row, cells in zip(group.rows, body, strict=True):
        if row.status != "ok":
            said_why = f"{prose(status_words(row.status))}: {prose(headline(row.reason)[0])}"
            cells[1:3] = [numbers.MISSING, said_why]
    return _table([title for title, _ in heads], body, "".join(side for _, side in heads))


def _chosen(columns: Iterable[Column[Row]], rows: Sequence[Row]) -> list[tuple[Column[Row], Shown[Row]]]:
    """By rank, as far as some row has the number or, of a pair, the first of the two."""
    found = [
        (one, one.markdown)
        for column in columns
        for one in (column, column.below)
        if one and one.markdown and (one.markdown.rank == 0 or column.known(rows))
    ]
    return sorted(found, key=lambda pair: pair[1].rank)


def _cell(row: Row, column: Column[Row], shown: Shown[Row]) -> str:
    if shown.joined:
        return _with_interval(column.text(row), prose(column.interval(row)))
    if row.status != "ok":
        return ""
    text = prose(column.text(row, shown)) if column.words else column.text(row, shown)
    return f"**{text}**" if column.key == "value" and row.fastest else text


def _percentiles(workload: WorkloadResult, naming: Naming) -> list[str]:
    blocks = []
    for setting, entries in by_setting(workload, workload.latencies):
        blocks += [f"**{code(setting)}**"] if setting else []
        blocks.append(_percentile_table(workload, entries, naming))
    return blocks


def _percentile_table(workload: WorkloadResult, entries: Sequence[Latency], naming: Naming) -> str:
    shown = list(each(percentiles.columns(workload.latencies)))
    titles = [f"{percentiles.scale_of(workload.latencies).unit}, one by one", *(one.title for one in shown)]
    body = [
        [code(naming.label(entry)), *(_with_interval(one.text(entry), one.interval(entry)) for one in shown)]
        for entry in entries
    ]
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


def _environments(workload: WorkloadResult) -> list[str]:
    """What each environment brings beside the first."""
    if not (lines := environment_lines.environment_lines(workload)):
        return []
    body = [
        [
            code(line.environment),
            line.ratio,
            line.interval,
            line.of_rows,
            prose(line.gains),
            prose(line.loses),
        ]
        for line in lines
    ]
    titles = ["environment", "ratio", "interval", "of", "gains most", "gains least"]
    head = f"Beside {code(environment_lines.against(workload))}. {environment_lines.MEANING}"
    return [head, _table(titles, body, "lrlrll")]


def _matrix_cell(row: Row | None, found: matrix.Matrix) -> str:
    if row is None:
        return ""
    if row.status != "ok":
        return prose(status_words(row.status))
    text = f"{matrix.time(row, found)} {matrix.ratio(row)}"
    return f"**{text}**" if row.environment_fastest else text


def _published(workload: WorkloadResult) -> list[str]:
    """A table of what stands beside a row of today, and folded one of the rest."""
    beside, others = beside_rows(workload), unmeasured(workload)
    blocks = [f"Years ago and today:\n\n{_published_table(beside)}"] if beside else []
    if others:
        folded = f"<details><summary>Published: {unmeasured_sentence(others)}</summary>"
        blocks += [folded, _published_table(others), "</details>"]
    return blocks


def _published_table(entries: Sequence[PublishedValue]) -> str:
    body = []
    for entry in entries:
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
