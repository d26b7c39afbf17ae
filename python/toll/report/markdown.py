"""Markdown for a pull request: GitHub's dialect, names inert.

Names stand in code spans, where nothing is markup, nobody is mentioned and no issue is linked. Sentences are
escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toll.analysis.results import Results, Row, WorkloadResult
from toll.report import numbers
from toll.report.cases import Naming, shared_ties
from toll.report.columns import created
from toll.report.sentences import (
    bare_work_sentence,
    floor_sentence,
    grouped,
    harness_note,
    published_range,
    status_words,
)
from toll.report.text import clean, headline, said, several

_MARKUP = re.compile(r"([\\`*_{}\[\]#!|~$^]|^[-+](?= )|(?<=^\d)[.)])")
_REFERENCE = re.compile(r"(?<=[@#])(?=\w)|(?<=GH-)(?=\d)", re.IGNORECASE)


def render(results: Results) -> str:
    """One heading a workload, a table of its rows, percentiles where there are any, then what is missing."""
    blocks = [*_head(results)]
    for workload in results.workloads:
        blocks += _workload(workload, results.run.level)
    if results.problems:
        blocks.append("### Skipped or failed")
        blocks.append(
            "\n".join(
                f"- {', '.join(code(f'{p.workload} {p.contender}') for p in problems)}: "
                f"{prose(status_words(status))}. {prose(headline(reason)[0])}"
                for (status, reason), problems in grouped(results.problems).items()
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


def _head(results: Results) -> list[str]:
    run = results.run
    facts = [said(results.machine.get(name)) for name in ("cpu", "os", "kernel")]
    lines = [
        f"{prose(', '.join(filter(None, facts)) or 'Machine unknown')}. "
        f"{several(run.launches, 'launch', 'launches')}, {prose(run.profile)} profile, "
        f"intervals at {numbers.percent(run.level)}, toll {prose(run.toll_version)}.",
        prose(floor_sentence(results.floor)) + ".",
    ]
    warnings = [f"> {prose(warning)}" for warning in results.warnings]
    return [f"## toll: {code(run.name)}", *lines, *(["\n>\n".join(warnings)] if warnings else [])]


def _workload(workload: WorkloadResult, level: float) -> list[str]:
    naming = Naming.of(workload)
    common = naming.common()
    blocks = [f"### {code(workload.workload)}", prose(workload.question)]
    if common:
        blocks.append(" · ".join(code(item) for item in common))
    blocks.append(_values(workload, naming, level))
    if any(shared_ties(row.tie_groups for row in workload.rows)):
        blocks.append("Rows that share a letter could not be told apart by this run.")
    if floor := bare_work_sentence(naming.label(row) for row in workload.rows if row.floor):
        blocks.append(prose(floor))
    if workload.latencies:
        blocks.append(_percentiles(workload, naming))
    if workload.published:
        blocks.append(_published(workload))
    return blocks


def _values(workload: WorkloadResult, naming: Naming, level: float) -> str:
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    ties = shared_ties(row.tie_groups for row in workload.rows)
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
        _cells(row, "".join(letters), scale, naming) for row, letters in zip(workload.rows, ties, strict=True)
    ]
    alignment = "lrlrllrr"
    if any(row.created_value is not None for row in workload.rows):
        titles += [f"{scale.unit} per unit created", "memory per unit created"]
        alignment += "rr"
        body = [cells + _per_unit(row, scale) for cells, row in zip(body, workload.rows, strict=True)]
    return _table(titles, body, alignment)


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


def _percentiles(workload: WorkloadResult, naming: Naming) -> str:
    entries = workload.latencies
    scale = numbers.time_scale((entry.p50 for entry in entries), entries[0].unit)
    body = []
    for entry in entries:
        cells = [code(naming.label(entry))]
        for name in ("p50", "p90", "p99", "p999"):
            triple = [scale.of(getattr(entry, name + end)) for end in ("", "_low", "_high")]
            spread = numbers.interval(triple[0], triple[1], triple[2])
            value = numbers.quantity(triple[0], triple[1], triple[2])
            cells.append(value if spread == numbers.MISSING else f"{value} {spread}")
        body.append([*cells, numbers.plain(scale.of(entry.max)), f"{entry.count:,}"])
    titles = [f"{scale.unit}, one by one", "p50", "p90", "p99", "p99.9", "max", "count"]
    return _table(titles, body, "lrrrrrr")


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
