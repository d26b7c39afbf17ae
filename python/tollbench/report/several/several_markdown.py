"""Several runs as Markdown: a table a question."""

from __future__ import annotations

from tollbench.analysis.several_results import SeveralRuns
from tollbench.report.comparisons.markdown_text import escaped
from tollbench.report.several.several_lines import TableLines, footnotes, run_lines, table_lines
from tollbench.text import clean


def render(found: SeveralRuns) -> str:
    """The whole text."""
    parts = ["<!-- toll report of several runs -->", "", "| | run |", "| --- | --- |"]
    parts += [f"| {letter} | {escaped(' · '.join(facts))} |" for letter, facts in run_lines(found)]
    letters = [one.letter for one in found.runs]
    for one in found.runs:
        parts += ["", *(f"> {one.letter}: {escaped(clean(warning))}" for warning in one.warnings)]
    for table in found.tables:
        parts += _table(table_lines(table, letters), letters)
    parts += ["", *(f"{escaped(note)}  " for note in footnotes(found))]
    return "\n".join(parts) + "\n"


def _table(told: TableLines, letters: list[str]) -> list[str]:
    titles = [f"{letter}, ratio" for letter in letters] if told.reference else []
    titles += [f"{letter}, {told.unit}" for letter in letters]
    head = [told.unit.split(" per ")[-1], *titles]
    parts = ["", f"## {escaped(told.title)}", "", escaped(clean(told.table.question)), ""]
    if told.reference:
        parts += [f"Ratios are to {escaped(told.reference)} of the same run.", ""]
    parts += [f"| {' | '.join(map(escaped, head))} |", f"| --- |{' ---: |' * len(titles)}"]
    for line in told.lines:
        ratios = [f"{cell.ratio} {cell.interval}".strip() for cell in line.cells] if told.reference else []
        values = [f"{cell.value} {cell.spread}".strip() for cell in line.cells]
        differs = f" **({line.differs})**" if line.differs else ""
        cells = [f"{escaped(line.label)}{differs}", *map(escaped, (*ratios, *values))]
        parts.append(f"| {' | '.join(cells)} |")
    for reason in told.reasons:
        parts += ["", f"> {escaped(reason)}"]
    for warning in told.table.warnings:
        parts += ["", f"> {warning.letter}: {escaped(clean(warning.text))}"]
    return parts
